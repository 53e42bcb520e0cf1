//! The program `weakspot`: arguments to jobs to answers to an exit code.

#[macro_use]
extern crate weakspot_jobs;

mod bench;
mod certify;
mod cluster;
mod compare;
mod convert;
mod fence;
mod generate;
mod history;
mod litmus;
mod monitor;
mod print;
mod reach;
#[cfg(feature = "real")]
mod real;
mod record;
mod robust;
mod selfcheck;
mod serial;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "show")]
mod show;

#[cfg(feature = "real")]
use std::path::Path;
use std::process::ExitCode;

use weakspot_args as args;
#[cfg(feature = "real")]
use weakspot_args::CargoCommand;
use weakspot_args::{BenchCommand, ClusterCommand, Command, GenCommand, Stop};
#[cfg(feature = "real")]
use weakspot_build::Language;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::output;
use weakspot_jobs::terminal::{colored, is_terminal};
use weakspot_jobs::within;

/// Thousands of small searches allocate a lot; this allocator makes them a quarter faster.
#[cfg(feature = "fast")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why nothing is compiled or run.
#[cfg(not(feature = "real"))]
const RUNS_NONE: &str =
    "this weakspot runs no programs: it was built with --no-default-features (feature `real`)";

fn main() -> ExitCode {
    #[cfg(feature = "real")]
    if let Some(language) = compiler() {
        return compiled(real::compile::run_for_build_script(
            language,
            std::env::args_os().skip(1),
        ));
    }
    output::hear_of_large_files();
    let command = match args::read(std::env::args_os()) {
        Ok(command) => command,
        Err(Stop::Clap(error)) if error.use_stderr() => {
            // In lines that fit, like all messages.
            let text = error.render();
            match colored(args::When::Auto, is_terminal()) {
                true => eprint!("{}", text.ansi()),
                false => eprint!("{text}"),
            }
            return Exit::Bad.into();
        }
        Err(Stop::Clap(help)) => {
            let _ = help.print();
            return Exit::Holds.into();
        }
        Err(Stop::Usage(usage)) => {
            eprintln!("error: {usage}");
            return Exit::Bad.into();
        }
    };
    let result = match command {
        #[cfg(feature = "real")]
        Command::Cc(args) => return compiled(real::compile::run(Language::C, &args)),
        #[cfg(feature = "real")]
        Command::Cxx(args) => return compiled(real::compile::run(Language::Cxx, &args)),
        Command::Litmus(args) => litmus::run(&args),
        Command::Reach(args) => reach::run(&args),
        Command::Robust(args) => robust::run(&args),
        Command::Fence(args) => fence::run(&args),
        Command::Monitor(args) if args.program => monitor::program::run(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Serial(args) => serial::run(&args),
        Command::History(args) if args.follow => history::follow::run(&args),
        Command::History(args) => history::run(&args),
        Command::Certify(args) => certify::run(args),
        Command::Compare(args) => compare::run(&args),
        #[cfg(feature = "show")]
        Command::Show(args) => show::run(&args),
        Command::Print(args) => print::run(args),
        Command::Convert(args) => convert::run(&args),
        Command::Gen(GenCommand::Family(args)) => generate::family(&args),
        Command::Gen(GenCommand::Litmus(args)) => generate::litmus(&args),
        Command::Gen(GenCommand::History(args)) => {
            within::written(move || generate::history(&args))
        }
        Command::Record(args) => within::written(move || record::run(&args)),
        #[cfg(feature = "real")]
        Command::Run(args) => real::run::run(&args),
        #[cfg(feature = "real")]
        Command::Cargo(CargoCommand::Test(args)) => real::cargo::test(&args),
        #[cfg(feature = "real")]
        Command::Cargo(CargoCommand::Run(args)) => real::cargo::run(&args),
        #[cfg(not(feature = "real"))]
        Command::Cc(_)
        | Command::Cxx(_)
        | Command::Run(_)
        | Command::Cargo(_)
        | Command::Bench(BenchCommand::Real(_)) => Err(anyhow::anyhow!(RUNS_NONE)),
        Command::Selfcheck(args) => selfcheck::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        Command::Cluster(ClusterCommand::Local(args)) => cluster::run(&args),
        Command::Bench(BenchCommand::Litmus(args)) => bench::litmus(&args),
        Command::Bench(BenchCommand::Programs(args)) => bench::programs(&args),
        Command::Bench(BenchCommand::Monitor(args)) => bench::monitor(&args),
        Command::Bench(BenchCommand::History(args)) => bench::history(&args),
        Command::Bench(BenchCommand::Serial(args)) => bench::serial(&args),
        #[cfg(feature = "real")]
        Command::Bench(BenchCommand::Real(args)) => bench::real(&args),
        Command::Bench(BenchCommand::HistoryCell(args)) => bench::history_cell(&args),
        Command::Bench(BenchCommand::Cell(args)) => bench::cell(&args),
        #[cfg(feature = "shell")]
        Command::Completions(args) => {
            print!("{}", String::from_utf8_lossy(&args.text));
            Ok(Exit::Holds)
        }
        #[cfg(feature = "shell")]
        Command::Man(args) => output::write_all(&args.pages, &args.folder).map(|()| Exit::Holds),
    };
    match result {
        Ok(exit) => exit.into(),
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if output::is_broken_pipe(&error) => Exit::Holds.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            Exit::Bad.into()
        }
    }
}

/// The compiler that this program is called as, by build scripts.
#[cfg(feature = "real")]
fn compiler() -> Option<Language> {
    let name = std::env::args_os().next()?;
    match Path::new(&name).file_name()?.to_str()? {
        "weakspot-cc" => Some(Language::C),
        "weakspot-cxx" => Some(Language::Cxx),
        _ => None,
    }
}

/// A compiler has exit codes of its own.
#[cfg(feature = "real")]
fn compiled(code: anyhow::Result<u8>) -> ExitCode {
    match code {
        Ok(code) => code.into(),
        Err(error) => {
            eprintln!("weakspot: error: {error:#}");
            Exit::Bad.into()
        }
    }
}
