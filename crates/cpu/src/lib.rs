//! Litmus tests on this CPU: a test is made into C with its own instructions, compiled by gcc in a
//! folder of its own, and run on real threads in a child process, which counts the final states.
//!
//! A test for x86 is run as it is written, instruction by instruction. Of a test in C, each access is
//! the instruction that the models take it for, and the compiler reorders nothing.
//!
//! # The files
//!
//! `assembly.rs` makes C of the assembly that `lang/src/litmus/x86/assemble.rs` has of a test,
//! `functions.rs` of the program of a test in C; `harness.c` runs it, `child.rs` compiles that and
//! hears what it counts, `judge.rs` says what it means.

mod assembly;
mod child;
mod functions;
mod judge;
mod source;

use std::collections::BTreeMap;

use weakspot_core::{Diagnostic, Limit, Program, Value};
use weakspot_lang::litmus::{self, Code};

pub use child::{Asked, CannotRun, run};
pub use judge::judge;

/// A test that can be run.
#[derive(Clone, Debug)]
pub struct Runnable {
    /// All of it, in C.
    pub source: String,
    /// How many components a final state has.
    components: usize,
}

/// How often a test ended in which final state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The states, as the models have them, with how often each was seen.
    pub states: BTreeMap<Vec<Value>, u64>,
    /// How often the test was run. Runs that did not end, or that `filter` discards, have no state.
    pub runs: u64,
    /// What ended this before all runs were done.
    pub stopped: Option<Limit>,
}

/// What runs a litmus test of this text, whose program is `program`.
///
/// # Errors
///
/// It does something that cannot be run here.
pub fn runnable(text: &str, program: &Program) -> Result<Runnable, Diagnostic> {
    let test = litmus::parse(text)?;
    let source = match &test.code {
        Code::X86(_) => match litmus::assemble(&test)? {
            Some(assembly) => assembly::source(&assembly, program),
            None => String::new(),
        },
        Code::C(_) => functions::source(program)?,
        Code::Riscv(_) => {
            return Err(Diagnostic::new(
                weakspot_core::Span::default(),
                "a test for RISC-V cannot be run on this CPU, which is an x86",
                "expected a test for X86 or X86_64, or in C",
            ));
        }
    };
    Ok(Runnable { source, components: program.observed.len() })
}
