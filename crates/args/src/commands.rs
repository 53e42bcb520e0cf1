//! The commands: what is typed for each, and what it means.

mod bench;
mod cargo;
mod certify;
mod cluster;
mod compare;
mod compiler;
mod convert;
mod fence;
mod generate;
mod history;
mod litmus;
mod monitor;
mod print;
mod reach;
mod record;
mod robust;
mod run;
mod selfcheck;
mod serial;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "show")]
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::meant::Usage;
use crate::values::OutputFormat;
pub use bench::*;
pub use cargo::*;
pub use certify::*;
pub use cluster::*;
pub use compare::*;
pub use compiler::*;
pub use convert::*;
pub use fence::*;
pub use generate::*;
pub use history::*;
pub use litmus::*;
pub use monitor::*;
pub use print::*;
pub use reach::*;
pub use record::*;
pub use robust::*;
pub use run::*;
pub use selfcheck::*;
pub use serial::*;
#[cfg(feature = "serve")]
pub use serve::*;
#[cfg(feature = "show")]
pub use show::*;

/// What does a memory weaker than sequential consistency do to concurrent code, and where?
#[derive(Debug, Parser)]
#[command(name = "weakspot", version = crate::VERSION, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Example:
  weakspot litmus --model tso --show corpus/litmus/SB.litmus

Exit code: 0 every question asked holds; 1 at least one is violated; 2 bad input
or usage; 3 no violation, but at least one question was given up at a limit.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Typed,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum Typed {
    Litmus(Litmus),
    Reach(Reach),
    Robust(Robust),
    Fence(Fence),
    Monitor(Monitor),
    Serial(Serial),
    History(History),
    Certify(Certify),
    Compare(Compare),
    #[cfg(feature = "show")]
    Show(Show),
    Print(Print),
    Convert(Convert),
    #[command(subcommand)]
    Gen(Gen),
    Record(Record),
    Run(Run),
    #[command(subcommand)]
    Cargo(Cargo),
    Cc(Compiler),
    /// Compile C++ so that `weakspot run` can control it: takes the arguments of g++ or clang++.
    #[command(name = "c++")]
    Cxx(Compiler),
    Selfcheck(Selfcheck),
    #[cfg(feature = "serve")]
    Serve(Serve),
    #[command(subcommand)]
    Cluster(Cluster),
    #[command(subcommand)]
    Bench(Bench),
    /// Print what completes command lines in a shell.
    #[cfg(feature = "shell")]
    #[command(before_help = "\
Example:
  source <(weakspot completions bash)")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write a man page for each command to a folder.
    #[cfg(feature = "shell")]
    #[command(hide = true)]
    Man {
        /// Where they go.
        folder: PathBuf,
    },
}

/// What is to be done.
#[derive(Debug)]
pub enum Command {
    Litmus(LitmusArgs),
    Reach(ReachArgs),
    Robust(RobustArgs),
    Fence(FenceArgs),
    Monitor(MonitorArgs),
    Serial(SerialArgs),
    History(HistoryCheckArgs),
    Certify(CertifyArgs),
    Compare(CompareArgs),
    #[cfg(feature = "show")]
    Show(ShowArgs),
    Print(PrintArgs),
    Convert(ConvertArgs),
    GenFamily(FamilyArgs),
    GenLitmus(CycleArgs),
    GenHistory(HistoryArgs),
    Record(RecordArgs),
    Run(RunProgramArgs),
    CargoTest(CargoTestArgs),
    CargoRun(CargoRunArgs),
    Cc(CompilerArgs),
    Cxx(CompilerArgs),
    Selfcheck(SelfcheckArgs),
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    ClusterLocal(LocalArgs),
    BenchLitmus(OutputFormat, Duration),
    BenchPrograms(ProgramsArgs),
    BenchMonitor(BenchMonitorArgs),
    BenchHistory(BenchHistoryArgs),
    BenchSerial(BenchSerialArgs),
    BenchReal(BenchRealArgs),
    HistoryCell {
        task: String,
        timeout: Duration,
    },
    Cell {
        program: String,
        question: String,
        timeout: Duration,
    },
    /// To print this.
    Completions(Vec<u8>),
    /// Pages by the names of their files, and the folder for them.
    Man(Vec<(String, Vec<u8>)>, PathBuf),
}

/// What is meant by what was typed.
pub(crate) fn command(typed: Typed) -> Result<Command, Usage> {
    Ok(match typed {
        Typed::Litmus(typed) => Command::Litmus(litmus::meant(typed)?),
        Typed::Reach(typed) => Command::Reach(reach::reach(typed)?),
        Typed::Robust(typed) => Command::Robust(robust::robust(typed)?),
        Typed::Fence(typed) => Command::Fence(fence::fence(typed)?),
        Typed::Monitor(typed) => Command::Monitor(monitor::monitor(typed)?),
        Typed::Serial(typed) => Command::Serial(serial::serial(typed)?),
        Typed::History(typed) => Command::History(history::history(typed)?),
        Typed::Certify(typed) => Command::Certify(certify::certify(typed)?),
        Typed::Compare(typed) => Command::Compare(compare::compare(typed)),
        #[cfg(feature = "show")]
        Typed::Show(typed) => Command::Show(show::show(typed)?),
        Typed::Print(typed) => Command::Print(print::print(typed)),
        Typed::Convert(typed) => Command::Convert(convert::convert(typed)?),
        Typed::Gen(Gen::Family(typed)) => Command::GenFamily(generate::family(typed)?),
        Typed::Gen(Gen::Litmus(typed)) => Command::GenLitmus(generate::litmus_of_cycle(typed)?),
        Typed::Gen(Gen::History(typed)) => Command::GenHistory(generate::history(typed)?),
        Typed::Record(typed) => Command::Record(record::record(typed)?),
        Typed::Run(typed) => Command::Run(run::run(typed)?),
        Typed::Cargo(Cargo::Test(typed)) => Command::CargoTest(cargo::cargo_test(typed)?),
        Typed::Cargo(Cargo::Run(typed)) => Command::CargoRun(cargo::cargo_run(typed)?),
        Typed::Cc(typed) => Command::Cc(CompilerArgs { args: typed.args }),
        Typed::Cxx(typed) => Command::Cxx(CompilerArgs { args: typed.args }),
        Typed::Selfcheck(typed) => Command::Selfcheck(selfcheck::selfcheck(typed)?),
        #[cfg(feature = "serve")]
        Typed::Serve(typed) => Command::Serve(serve::serve(typed)?),
        Typed::Cluster(Cluster::Local(typed)) => Command::ClusterLocal(cluster::local(typed)?),
        Typed::Bench(Bench::Litmus(typed)) => {
            let (format, timeout) = bench::litmus(&typed);
            Command::BenchLitmus(format, timeout)
        }
        Typed::Bench(Bench::Programs(typed)) => Command::BenchPrograms(bench::programs(typed)?),
        Typed::Bench(Bench::Monitor(typed)) => Command::BenchMonitor(bench::monitor(typed)),
        Typed::Bench(Bench::History(typed)) => Command::BenchHistory(bench::history(typed)?),
        Typed::Bench(Bench::Serial(typed)) => Command::BenchSerial(bench::serial(typed)?),
        Typed::Bench(Bench::Real(typed)) => Command::BenchReal(bench::real(&typed)),
        Typed::Bench(Bench::HistoryCell { task, timeout }) => {
            Command::HistoryCell { task, timeout }
        }
        Typed::Bench(Bench::Cell { program, question, timeout }) => {
            Command::Cell { program, question, timeout }
        }
        #[cfg(feature = "shell")]
        Typed::Completions { shell } => Command::Completions(crate::shell::completions(shell)),
        #[cfg(feature = "shell")]
        Typed::Man { folder } => Command::Man(crate::shell::man_pages(), folder),
    })
}
