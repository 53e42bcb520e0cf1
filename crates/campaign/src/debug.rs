//! `weakspot run --replay N --gdb`: an execution again, in a debugger that stops at a store that is late, or
//! where the execution fails.
//!
//! The runtime library calls a function when the step is taken; from there on it is a breakpoint at the
//! place of the step in the program that stops it, so that people find themselves in their own code.

use std::process::{Command, ExitStatus};

use weakspot_live::wire::{Config, Place, TracedStep};
use weakspot_live::{Choices, OpKind, Plan, late};

use crate::answer::Stop;
use crate::child::Child;
use crate::config::merged;
use crate::explore::Explored;
use crate::replay::Replays;
use crate::{Error, Result};

/// Longer than anybody debugs, in milliseconds.
const LONG: u64 = 1 << 40;

/// Where the debugger stops in an execution.
pub(crate) fn stop(
    schedule: &Choices,
    base: &Config,
    explored: &Explored,
    replays: &Replays<'_>,
) -> Result<Stop> {
    let traced = replays.trace(&schedule.to_string(), explored.shared.len())?;
    let steps = traced.ok_or_else(|| Error::new("there was no time to execute it again"))?.steps;
    let (at, what) = step(&steps, explored)
        .ok_or_else(|| Error::new("nothing in this execution is a place to stop at"))?;
    let place = steps[at].place;
    let address = place.and_then(|place| explored.symbols.address(place));
    Ok(Stop {
        what: format!("{what} at {}", place.map_or(String::new(), |p| explored.symbols.text(p))),
        address: address.ok_or_else(|| Error::new("it is not known where the step is"))?,
        config: Config {
            plan: Plan::Replay(schedule.clone()),
            trace: true,
            stop: at as u64 + 1,
            executions: 1,
            timeout: LONG,
            hang: LONG,
            shared: merged(&explored.shared),
            report: Some("/dev/null".to_owned()),
            ..base.clone()
        },
    })
}

/// The step, and what it is: a store that is late; the store of a pair; the last step of who fails.
fn step(steps: &[TracedStep], explored: &Explored) -> Option<(usize, &'static str)> {
    if let Some(&(store, _)) = late(steps).first() {
        return Some((store, "the store that is late"));
    }
    let last = |is: &dyn Fn(&TracedStep) -> bool| {
        let seen = |step: &TracedStep| step.kind != OpKind::Commit && step.place.is_some();
        steps.iter().rposition(|step| seen(step) && is(step))
    };
    let findings = &explored.findings;
    if let Some(failure) = findings.failures.first() {
        let thread = |step: &TracedStep| failure.thread.is_none_or(|t| t == step.thread);
        let own = |place: Place| explored.symbols.frames(place).iter().any(|f| f.is_own());
        let at = last(&|step| thread(step) && step.place.is_some_and(own));
        return at.or_else(|| last(&thread)).map(|at| (at, "the last step before the failure"));
    }
    let pair = findings.overtakings.first()?;
    last(&|step| step.place == Some(pair.store)).map(|at| (at, "the store that may be late"))
}

impl Child<'_> {
    /// Lets the user look at the program in gdb, from there on.
    ///
    /// # Errors
    ///
    /// There is no gdb, or it cannot be started.
    pub fn debug(&self, stop: &Stop) -> Result<ExitStatus> {
        let run = self.command(&stop.config, true)?;
        let mut gdb = Command::new("gdb");
        gdb.args(["-q", "-ex", "set confirm off", "-ex", "set pagination off"]);
        for (name, value) in run.get_envs() {
            if let Some(value) = value {
                let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
                gdb.args(["-ex", &format!("set environment {name} {value}")]);
            }
        }
        // Executions have a process of their own, in which some instructions are trapped.
        for command in [
            "set startup-with-shell off".to_owned(),
            "set follow-fork-mode child".to_owned(),
            "set breakpoint pending on".to_owned(),
            "handle SIGSEGV SIGILL nostop noprint pass".to_owned(),
            "break __weakspot_stop".to_owned(),
            "run".to_owned(),
            "delete".to_owned(),
            format!("tbreak *{:#x}", stop.address),
            "continue".to_owned(),
        ] {
            gdb.args(["-ex", &command]);
        }
        if let Some(folder) = run.get_current_dir() {
            gdb.current_dir(folder);
        }
        gdb.arg("--args").arg(run.get_program()).args(run.get_args());
        match gdb.status() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::new(
                "--gdb needs gdb, and there is none: install it, or leave --gdb out",
            )),
            status => status.map_err(Error::because("failed to start gdb")),
        }
    }
}
