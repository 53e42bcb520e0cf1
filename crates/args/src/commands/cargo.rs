//! `weakspot cargo`.

use std::time::Duration;

use clap::Args;

use crate::explore::{self, EXPLORING_THREADS, Explore, NO_BUFFER_LIMIT, NO_TEXT, RunArgs, alone};
use crate::list::{Means, Usage, commands};
use crate::refused::ABOUT_KEEPING;
use crate::typed;
use crate::values::explored;

commands! {
    /// Explore the tests or a program of an unmodified Rust crate.
    Cargo => CargoCommand lacks &[
        (ABOUT_KEEPING, "each program is explored within its --timeout; `weakspot run` can be kept"),
        NO_TEXT,
        NO_BUFFER_LIMIT,
    ];
    Test(CargoTest => CargoTestArgs),
    Run(CargoRun => CargoRunArgs),
}

/// What do TSO and PSO do to the tests of a Rust crate? Each is explored on its own.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cargo test
  weakspot cargo test --model tso --timeout 60s --release -p my-crate queue
  weakspot cargo test -- --exact tests::push_and_pop
  weakspot cargo test --replay SCHEDULE --log push.wslog -- --exact tests::push",
    after_help = "\
The crate is built as `cargo test` would, with instrumentation, in
target/weakspot; nothing in it changes. Each #[test] is explored as `weakspot
run` explores a program: a test that panics is a failure, with the schedule that
shows it. Options of `cargo test` are taken, too, in any order; after `--` come
names of tests, --exact, --skip, --ignored, --include-ignored and --list. Tests
in documentation, tests without the usual harness and those of procedural macros
are left out, with a note. Code inside of the standard library is not seen
unless it is generic or inlined.

`cargo weakspot test` is the same, and `weakspot cargo +TOOLCHAIN test` takes
another toolchain.",
    mut_arg("format", |a| a.value_parser(explored())),
    mut_arg("timeout", |a| a.help("Give up on a test after this time [default: 10s]")),
    mut_arg("threads", |a| a.help(
        "How many tests to explore, and jobs of cargo to run, at a time; by default one per processor"
    ))
)]
pub(crate) struct CargoTest {
    /// Only build the tests.
    #[arg(long)]
    no_run: bool,
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    explore: Explore,
    /// What `cargo test` gets.
    #[arg(allow_hyphen_values = true, value_name = "CARGO_ARG")]
    args: Vec<String>,
    /// After `--`: what selects tests.
    #[arg(last = true, allow_hyphen_values = true, value_name = "ARG")]
    rest: Vec<String>,
}

#[derive(Debug)]
pub struct CargoTestArgs {
    /// Only build.
    pub no_run: bool,
    pub run: RunArgs,
    pub args: Vec<String>,
    pub rest: Vec<String>,
}

/// The same for one of many tests.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

impl Means<CargoTestArgs> for CargoTest {
    fn meant(self) -> Result<CargoTestArgs, Usage> {
        let CargoTest { no_run, witness, explore, mut args, rest } = self;
        if let Some(jobs) = explore.threads.threads {
            args.insert(0, format!("--jobs={jobs}"));
        }
        let run = explore::explore(explore, witness, TEST_TIMEOUT)?;
        Ok(CargoTestArgs { no_run, run, args, rest })
    }
}

/// What do TSO and PSO do to a program of a Rust crate?
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot cargo run
  weakspot cargo run --model tso --example queue -- 3 4",
    after_help = "\
The crate is built as `cargo run` would, with instrumentation, in
target/weakspot; nothing in it changes. The program is explored as by `weakspot
run`; an exit code that is not 0 is a failure, too. Options of `cargo run` are
taken, too, in any order; after `--` come arguments of the program.",
    mut_arg("format", |a| a.value_parser(explored())),
    mut_arg("threads", |a| a.help(EXPLORING_THREADS))
)]
pub(crate) struct CargoRun {
    #[command(flatten)]
    witness: typed::Witness,
    #[command(flatten)]
    explore: Explore,
    /// What `cargo run` gets.
    #[arg(allow_hyphen_values = true, value_name = "CARGO_ARG")]
    args: Vec<String>,
    /// After `--`: the arguments of the program.
    #[arg(last = true, allow_hyphen_values = true, value_name = "ARG")]
    rest: Vec<String>,
}

#[derive(Debug)]
pub struct CargoRunArgs {
    pub run: RunArgs,
    pub args: Vec<String>,
    pub rest: Vec<String>,
}

impl Means<CargoRunArgs> for CargoRun {
    fn meant(self) -> Result<CargoRunArgs, Usage> {
        let CargoRun { witness, explore, args, rest } = self;
        Ok(CargoRunArgs { run: alone(explore, witness)?, args, rest })
    }
}
