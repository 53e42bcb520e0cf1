//! Whether memory that is put back is as good as a new process: the first executions are done in
//! both ways and compared. Steps carry what was read and written, so they differ as soon as something
//! was left over that matters.

use std::time::Duration;

use weakspot_live::OpKind;
use weakspot_live::wire::{Config, Message, TracedStep};

use crate::{Campaign, Isolate, Result, Start, Strategy};

/// How many executions are compared, of how many steps.
const EXECUTIONS: u64 = 4;
const STEPS: u64 = 2000;
/// How many bytes an instruction stores at most; more are copied.
const LARGEST: u32 = 16;
/// How long each of the two may take; who takes longer is not compared.
const TIME: Duration = Duration::from_secs(1);

/// Decides whether each execution needs a process of its own; what the user should know about that.
pub(crate) fn decide(campaign: &Campaign<'_>, base: &mut Config) -> Result<Option<String>> {
    let question = campaign.question;
    let replays = matches!(question.strategy, Strategy::Replay(_));
    base.fork = match question.isolate {
        Isolate::Memory => false,
        Isolate::Fork => true,
        Isolate::Auto if replays || campaign.control.interrupted() => false,
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
            Message::Step(step) => heard.push(Message::Step(comparable(step))),
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

/// A step as it is compared. What is stored by copying many bytes may have some that nobody has ever written,
/// such as the slots of a channel's block, which Rust moves from the stack: those are whatever was left there by
/// the library itself. Who looks at them does that by a step that is compared, too. The same holds for what is overwritten.
fn comparable(step: TracedStep) -> TracedStep {
    let copied = step.kind == OpKind::Write && step.len > LARGEST;
    let old = step.old.filter(|_| step.kind != OpKind::Write);
    TracedStep { value: step.value.filter(|_| !copied), old, ..step }
}

#[cfg(test)]
mod tests {
    use super::{OpKind, TracedStep, comparable};
    use weakspot_live::Order;

    #[test]
    fn only_copies_are_compared_without_values() {
        let step = |kind, len| {
            let (order, value) = (Order::Plain, Some(7));
            TracedStep { thread: 1, kind, order, addr: 8, len, old: None, value, place: None }
        };
        assert_eq!(comparable(step(OpKind::Write, 512)).value, None);
        for (kind, len) in [(OpKind::Write, 8), (OpKind::Write, 16), (OpKind::Read, 512)] {
            assert_eq!(comparable(step(kind, len)).value, Some(7));
        }
    }
}
