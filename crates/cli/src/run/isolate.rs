//! Whether memory that is put back is as good as a new process: the first executions are done in
//! both ways and compared. Steps carry what was read and written, so they differ as soon as something
//! was left over that matters.

use std::time::Duration;

use anyhow::Result;
use weakspot_live::wire::Message;

use super::child::Start;
use super::{Exploration, child};
use crate::args::{Isolate, ProgramOutput};

/// How many executions are compared, of how many steps.
const EXECUTIONS: u64 = 4;
const STEPS: u64 = 2000;
/// How long each of the two may take; who takes longer is not compared.
const TIME: Duration = Duration::from_secs(1);

impl Exploration<'_> {
    /// Decides whether each execution needs a process of its own.
    pub(super) fn find_isolation(&mut self) -> Result<()> {
        self.fork = match self.args.isolate {
            Isolate::Memory => false,
            Isolate::Fork => true,
            Isolate::Auto if self.args.replay.is_some() => false,
            Isolate::Auto => {
                let memory = self.first_steps("memory")?;
                let fork = if memory.is_some() { self.first_steps("fork")? } else { None };
                fork.is_some() && memory != fork
            }
        };
        if self.fork && self.args.isolate == Isolate::Auto {
            self.remark(
                "each execution has a process of its own (--isolate fork), because the first ones \
                 did something else when they shared one"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// What the first executions do; nothing if that takes too long.
    fn first_steps(&self, how: &str) -> Result<Option<Vec<Message>>> {
        let config = format!(
            "strategy=bounded isolate={how} trace=on executions={EXECUTIONS} steps={STEPS} hang=200 \
             timeout={} memory={} {} {}",
            TIME.as_millis(),
            self.memory(),
            self.marked(),
            self.under()
        );
        let mut heard = Vec::new();
        let mut whole = false;
        let start = Start { output: ProgramOutput::None, ..self.start(TIME) };
        child::run(&start, &config, &mut |message| {
            match message {
                Message::Done { ref how, .. } => whole = how != "timeout",
                Message::Step(_) | Message::Failure { .. } => heard.push(message),
                _ => {}
            }
            false
        })?;
        Ok(whole.then_some(heard))
    }
}
