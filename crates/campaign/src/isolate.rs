//! Whether memory that is put back is as good as a new process: the first executions are done in
//! both ways and compared. Steps carry what was read and written, so they differ as soon as something
//! was left over that matters.

use std::time::Duration;

use weakspot_live::wire::{Config, Message};

use crate::{Campaign, Isolate, Result, Start, Strategy};

/// How many executions are compared, of how many steps.
const EXECUTIONS: u64 = 4;
const STEPS: u64 = 2000;
/// How long each of the two may take; who takes longer is not compared.
const TIME: Duration = Duration::from_secs(1);

/// Decides whether each execution needs a process of its own; what the user should know about that.
pub(crate) fn decide(campaign: &Campaign<'_>, base: &mut Config) -> Result<Option<String>> {
    let question = campaign.question;
    let replays = matches!(question.strategy, Strategy::Replay(_));
    base.fork = match question.isolate {
        Isolate::Memory => false,
        Isolate::Fork => true,
        Isolate::Auto if replays => false,
        Isolate::Auto => {
            let memory = first_steps(campaign, base, false)?;
            let fork = if memory.is_some() { first_steps(campaign, base, true)? } else { None };
            fork.is_some() && memory != fork
        }
    };
    let found = base.fork && question.isolate == Isolate::Auto;
    Ok(found.then(|| {
        "each execution has a process of its own (--isolate fork), because the first ones did \
         something else when they shared one"
            .to_owned()
    }))
}

/// What the first executions do; nothing if that takes too long.
fn first_steps(campaign: &Campaign<'_>, base: &Config, fork: bool) -> Result<Option<Vec<Message>>> {
    let config = Config {
        fork,
        trace: true,
        executions: EXECUTIONS,
        steps: STEPS.min(base.steps),
        hang: 200,
        timeout: TIME.as_millis() as u64,
        ..base.clone()
    };
    let mut heard = Vec::new();
    let mut whole = false;
    let stop = || campaign.control.interrupted();
    let start = Start { config: &config, output: false, most: TIME, stop: &stop };
    campaign.runtime.run(&start, &mut |mut message| {
        match message {
            Message::Done { ref how, .. } => whole = how != "timeout",
            Message::Step(_) => heard.push(message),
            // Calls are found on the stack, where some may be left from others.
            Message::Failure { ref mut related, .. } => {
                related.clear();
                heard.push(message);
            }
            _ => {}
        }
        false
    })?;
    Ok(whole.then_some(heard))
}
