//! What is known about a program before it runs: from its file, and from who built it.

pub(crate) mod channels;
mod imported;
pub(crate) mod lines;
pub(crate) mod locks;
pub(crate) mod naming;
pub(crate) mod native;
pub(crate) mod symbols;
pub(crate) mod unseen;
mod unused;
pub(crate) mod variables;

use std::path::{Path, PathBuf};

use crate::facts::locks::Locks;
use crate::facts::naming::Naming;
use crate::facts::unseen as hidden;
use crate::runtime::child::{Program, find};
use crate::{Error, Marks, Question, Result};

/// What is known.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What the program is called.
    pub name: String,
    /// Its file.
    pub file: Option<PathBuf>,
    /// What its sources are called.
    pub naming: Naming,
    /// Whether it was written in Rust, and made by cargo.
    pub rust: bool,
    /// Whether it is one test in its harness.
    pub harness: bool,
    /// Where the function of that test is: how far from the beginning of the program.
    pub test: Option<u64>,
    /// Where its transactions are: how far from its beginning, and how many bytes.
    pub transactions: Option<Vec<(u64, u64)>>,
    /// Atomic updates that are not instrumented, in the same way.
    pub traps: Vec<(u64, u64)>,
    /// Those of them that are only fences.
    pub quiet_traps: Vec<(u64, u64)>,
    /// Functions of the standard library that read what they get: where, and how many bytes.
    pub reads: Vec<(u64, u64)>,
    /// What of it is not instrumented, by name.
    pub unseen: Vec<String>,
    /// Whether all that it changes is announced, or known to be nothing that ends a loop.
    pub announced: bool,
    /// Whether it has additions, barriers, semaphores or readers of which nobody is told in what order they come.
    pub in_no_order: bool,
    /// Those of both that a jump may stand for, with the bytes that it stands for.
    pub jumps: Vec<(u64, u64)>,
    /// Calls from loops in which Rust's channels wait, in the same way.
    pub patient: Vec<(u64, u64)>,
    /// Functions that are operations of these channels.
    pub channels: Vec<(u64, u64)>,
    /// Where locks of Rust are taken and freed, in the same way.
    pub locks: Locks,
}

impl Facts {
    /// Nothing but what it is called, for a program that is not going to be run: to look at one takes longer
    /// than to run it once.
    #[must_use]
    pub fn unread(program: &Program) -> Facts {
        Facts {
            name: program.name.clone(),
            naming: program.naming(),
            rust: program.rust,
            harness: program.harness,
            ..Facts::default()
        }
    }

    /// Looks at a program.
    pub fn of(program: &Program, question: &Question) -> Result<Facts> {
        let Some(name) = program.command.first() else {
            return Err(Error::new("no program was named"));
        };
        let file = find(name)?;
        let code = symbols::File::at(&file).code(&file, program.rust)?;
        let transactions = match &question.transactions {
            None => None,
            Some(Marks::Marked) => Some(Vec::new()),
            Some(Marks::Functions(names)) => Some(symbols::functions(&file, names)?),
        };
        let unseen = native::unseen(&file, &program.linked)?;
        let test = match program.command.get(1).and_then(|test| test.to_str()) {
            Some(test) if program.harness => symbols::test_function(&file, test)?,
            _ => None,
        };
        Ok(Facts {
            announced: unseen.is_empty() && code.announced,
            unseen,
            in_no_order: code.in_no_order,
            name: program.name.clone(),
            file: Some(file),
            naming: program.naming(),
            rust: program.rust,
            harness: program.harness,
            test,
            transactions,
            traps: code.updates.seen.clone(),
            quiet_traps: code.updates.quiet.clone(),
            reads: code.updates.reads.clone(),
            jumps: code.updates.jumps.clone(),
            patient: code.patient.clone(),
            channels: code.channels.clone(),
            locks: code.locks.clone(),
        })
    }
}

/// What the code of a file says, whatever part of it runs: all tests of a crate are one file, which takes longer to
/// look at than most of them take to be explored.
#[derive(Debug)]
pub(crate) struct Code {
    updates: hidden::Updates,
    patient: Vec<(u64, u64)>,
    channels: Vec<(u64, u64)>,
    locks: Locks,
    in_no_order: bool,
    announced: bool,
}

impl Code {
    fn of(file: &Path, rust: bool) -> Result<Code> {
        symbols::check_instrumented(file)?;
        let mut code = Code {
            updates: hidden::Updates::default(),
            patient: Vec::new(),
            channels: Vec::new(),
            locks: Locks::default(),
            in_no_order: native::has_steps_in_no_order(file)?,
            announced: imported::is_announced(file)?,
        };
        if rust {
            code.updates = hidden::updates(file)?;
            code.patient = channels::waits(file)?;
            code.channels = channels::operations(file)?;
            code.locks = Locks::of(file, &code.updates.seen)?;
            code.in_no_order |= !code.locks.unused.is_empty();
        }
        Ok(code)
    }
}
