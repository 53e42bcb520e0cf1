//! A debugger in the middle of an execution that was found: at the store that is late.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use weakspot_live::wire::{Config, TracedStep};
use weakspot_live::{Choices, OpKind, late};

use crate::explore::Explored;
use crate::replay::{Replays, Traced};
use crate::runtime::child::{find, name_of};
use crate::{Child, Error, Result};

/// So many milliseconds pass while somebody looks at a program that stands still; the library counts
/// ten times that.
const PATIENCE: u64 = u64::MAX / 100;

/// Goes up to code that is not of Rust's standard library, which is inlined everywhere.
const OWN: &str = "python
frame = gdb.selected_frame()
while frame and frame.find_sal().symtab and frame.find_sal().symtab.filename.startswith('/rustc/'):
    frame = frame.older()
if frame:
    frame.select()
gdb.execute('frame')
end
";

/// Where a debugger stops.
#[derive(Clone, Debug)]
pub struct Stop {
    config: Config,
    /// What happens at the stop, in words.
    what: String,
}

/// Where to stop in an execution that is replayed; nothing if there was no time to execute it, or if
/// nothing happens in it.
pub(crate) fn stop(
    schedule: &Choices,
    explored: &Explored,
    replays: &Replays<'_>,
) -> Result<Option<Stop>> {
    let known = explored.shared.len();
    let Some(traced) = replays.trace(&schedule.to_string(), known)? else { return Ok(None) };
    let Some((step, what)) = stopping(&traced, explored) else { return Ok(None) };
    let names = traced.names(&explored.symbols);
    let TracedStep { thread, addr, len, place, .. } = traced.steps[step];
    let thread = names.thread(thread);
    let at = traced.own_place(step, &explored.symbols).or(place);
    let at = at.map_or(String::new(), |place| format!(" at {}", explored.symbols.text(place)));
    let stores = || format!("{thread} stores to {}{at}", names.data(addr, len.into()));
    let what = match what {
        Stopping::Late => format!("{}, which is late", stores()),
        Stopping::Undelayed => format!("{}, which could be late", stores()),
        Stopping::Last => format!("the last step of {thread}{at}"),
    };
    let config = Config {
        stop: step as u64 + 1,
        timeout: 0,
        hang: PATIENCE,
        ..replays.config(schedule.clone(), known)
    };
    Ok(Some(Stop { config, what }))
}

enum Stopping {
    Late,
    /// The store may be delayed, but was not yet.
    Undelayed,
    Last,
}

/// The first late store; or the last one that could be late, as the monitors say; or the last step before
/// something goes wrong, of the thread that does it.
fn stopping(traced: &Traced, explored: &Explored) -> Option<(usize, Stopping)> {
    let steps = &traced.steps;
    if let Some(&(store, _)) = late(steps).first() {
        return Some((store, Stopping::Late));
    }
    for found in &explored.findings.overtakings {
        let access = steps.iter().rposition(|step| step.place == Some(found.access));
        let Some(access) = access else { continue };
        let thread = steps[access].thread;
        let is_store = |s: &TracedStep| s.thread != thread && s.place == Some(found.store);
        if let Some(store) = steps[..access].iter().rposition(is_store) {
            return Some((store, Stopping::Undelayed));
        }
    }
    let failed = explored.findings.failures.first();
    let until = failed.and_then(|failed| traced.failure(failed)).map_or(steps.len(), |f| f.steps);
    let thread = failed.and_then(|failed| failed.thread);
    let is_its = |s: &TracedStep| {
        s.kind != OpKind::Commit && s.place.is_some() && thread.is_none_or(|t| t == s.thread)
    };
    let last = steps[..until.min(steps.len())].iter().rposition(is_its)?;
    Some((last, Stopping::Last))
}

impl Child<'_> {
    /// Executes it in gdb, which has the terminal until its user leaves it.
    pub fn debug(&self, stop: &Stop) -> Result<()> {
        let (mut reader, writer) =
            std::io::pipe().map_err(Error::because("failed to make a pipe"))?;
        let config = Config { report: Some(name_of(&writer)), ..stop.config.clone() };
        let [program, args @ ..] = &self.program.command[..] else {
            return Err(Error::new("no program was named"));
        };
        let mut file = tempfile::Builder::new().prefix("weakspot-").suffix(".gdb").tempfile();
        let file = file.as_mut().map_err(|error| {
            Error::new(format!("failed to write to the temporary folder: {error}"))
        })?;
        let script = script(&self.environment(&config), stop, self.program.rust);
        std::io::Write::write_all(file, script.as_bytes())
            .map_err(Error::because("failed to write to the temporary folder"))?;
        let mut gdb = Command::new("gdb");
        gdb.arg("-q").arg("-x").arg(file.path()).arg("--args").arg(find(program)?).args(args);
        if let Some(folder) = &self.program.folder {
            gdb.current_dir(folder);
        }
        // Drain the pipe: the runtime would block on a full one, and die of SIGPIPE on a closed one.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while reader.read(&mut buffer).is_ok_and(|len| len > 0) {}
        });
        let status = gdb.status().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new("there is no gdb: --gdb needs it (on Debian the package gdb)")
            }
            _ => Error::because("failed to start gdb")(error),
        })?;
        drop(writer);
        match status.signal() {
            Some(signal) => Err(Error::new(format!("gdb was ended by signal {signal}"))),
            None => Ok(()),
        }
    }
}

/// What gdb does before its user can type: it stops in the library, and goes on until that returns to the
/// program. The library needs signals of its own; the program runs in a process
/// that it starts.
fn script(variables: &[(&str, OsString)], Stop { what, .. }: &Stop, rust: bool) -> String {
    let mut script = String::from(
        "set breakpoint pending on\n\
         set follow-fork-mode child\n\
         set startup-with-shell off\n\
         set print inferior-events off\n\
         set print thread-events off\n\
         set debuginfod enabled off\n\
         |handle SIGSEGV SIGBUS SIGILL SIGFPE nostop noprint pass | cat > /dev/null\n\
         |handle SIGUSR1 SIGUSR2 SIGALRM SIG34 SIG35 nostop noprint pass | cat > /dev/null\n\
         break weakspot_stops_here\n\
         commands\nsilent\nend\n",
    );
    for (name, value) in variables {
        let _ = match &*value.to_string_lossy() {
            "" => writeln!(script, "unset environment {name}"),
            value => writeln!(script, "set environment {name} = {value}"),
        };
    }
    // Other threads may come to the same place first, on stacks of their own.
    script += "run\n\
               set $weakspot_sp = $rsi\n\
               tbreak *$rdi if $sp == $weakspot_sp\n\
               commands\nsilent\nend\n\
               continue\n";
    let quoted = what.replace('\\', "\\\\");
    let _ = writeln!(script, "echo \\n{quoted}; gdb stands behind it:\\n");
    script += if rust { OWN } else { "frame\n" };
    script
}
