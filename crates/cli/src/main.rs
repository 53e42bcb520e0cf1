//! The program `weakspot`: arguments to jobs to answers to an exit code.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is the crate that prints")]

mod args;
mod bench;
mod cargo;
mod certify;
mod compile;
mod convert;
mod convert_history;
mod exit;
mod fence;
mod follow;
mod generate;
mod history;
mod history_files;
mod input;
mod job;
mod litmus;
mod log;
mod monitor;
mod monitor_program;
mod output;
mod pool;
mod print;
mod reach;
mod record;
mod robust;
mod run;
mod serial;

use std::process::ExitCode;

use args::{BenchCommand, CargoCommand, Cli, Command, GenCommand};
use clap::Parser;
use exit::Exit;
use weakspot_build::Language;

/// Thousands of small searches allocate a lot; this allocator makes them a quarter faster.
#[cfg(feature = "fast")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Bad } else { Exit::Holds }.into();
        }
    };
    let result = match cli.command {
        Command::Cc(args) => return compiled(compile::run(Language::C, &args)),
        Command::Cxx(args) => return compiled(compile::run(Language::Cxx, &args)),
        Command::Litmus(args) => litmus::run(&args),
        Command::Certify(args) => certify::run(&args),
        Command::Print(args) => print::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Gen(GenCommand::Family(args)) => generate::family(&args),
        Command::Gen(GenCommand::History(args)) => generate::history(&args),
        Command::Record(args) => record::run(&args),
        Command::Bench(BenchCommand::Litmus { timeout }) => bench::litmus::run(timeout),
        Command::Bench(BenchCommand::Monitor(args)) => bench::monitor::run(&args),
        Command::Bench(BenchCommand::History(args)) => bench::history::run(&args),
        Command::Bench(BenchCommand::HistoryCell { task, timeout }) => {
            bench::history::cell(&task, timeout)
        }
        Command::Bench(BenchCommand::Serial(args)) => bench::serial::run(&args),
        Command::Bench(BenchCommand::Real(args)) => bench::real::run(&args),
        Command::Bench(BenchCommand::Programs(args)) => bench::programs::run(&args),
        Command::Bench(BenchCommand::Cell { program, question, timeout }) => {
            bench::cell::run(&program, &question, timeout)
        }
        Command::Run(args) => run::run(&args),
        Command::Cargo(CargoCommand::Test(args)) => cargo::test(&args),
        Command::Cargo(CargoCommand::Run(args)) => cargo::run(&args),
        Command::Reach(args) => reach::run(&args),
        Command::Robust(args) => robust::run(&args),
        Command::Fence(args) => fence::run(&args),
        Command::History(args) => history::run(&args),
        Command::Serial(args) => serial::run(&args),
        Command::Monitor(args) => monitor::run(&args.with_models()),
    };
    match result {
        Ok(exit) => exit.into(),
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if is_broken_pipe(&error) => Exit::Holds.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            Exit::Bad.into()
        }
    }
}

/// A compiler has exit codes of its own.
fn compiled(code: anyhow::Result<u8>) -> ExitCode {
    match code {
        Ok(code) => code.into(),
        Err(error) => {
            eprintln!("weakspot: error: {error:#}");
            Exit::Bad.into()
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
