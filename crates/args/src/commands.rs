//! The commands. A new one is a file and a line in this list. The file has what may be typed, as clap reads it, and
//! with [`crate::list::Means`] the options of all commands that this one lacks, and what is meant: every default
//! and every conflict of options. A test holds the defaults that the help texts name against the real ones.

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
#[cfg(feature = "shell")]
mod shell;
#[cfg(feature = "show")]
mod show;

use clap::Parser;

use crate::list::commands;

commands! {
    /// The questions.
    Typed => Command lacks &[];
    Litmus(Litmus => LitmusArgs) in litmus,
    Reach(Reach => ReachArgs) in reach,
    Robust(Robust => RobustArgs) in robust,
    Fence(Fence => FenceArgs) in fence,
    Monitor(Monitor => MonitorArgs) in monitor,
    Serial(Serial => SerialArgs) in serial,
    History(History => HistoryCheckArgs) in history,
    Certify(Certify => CertifyArgs) in certify,
    Compare(Compare => CompareArgs) in compare,
    #[cfg(feature = "show")]
    Show(Show => ShowArgs) in show,
    Print(Print => PrintArgs) in print,
    Convert(Convert => ConvertArgs) in convert,
    #[command(subcommand)]
    Gen(Gen => GenCommand) in generate,
    Record(Record => RecordArgs) in record,
    Run(Run => RunProgramArgs) in run,
    #[command(subcommand)]
    Cargo(Cargo => CargoCommand) in cargo,
    Cc(Compiler => CompilerArgs) in compiler,
    #[command(name = "c++")]
    Cxx(Cxx => CompilerArgs),
    Selfcheck(Selfcheck => SelfcheckArgs) in selfcheck,
    #[cfg(feature = "serve")]
    Serve(Serve => ServeArgs) in serve,
    #[command(subcommand)]
    Cluster(Cluster => ClusterCommand) in cluster,
    #[command(subcommand)]
    Bench(Bench => BenchCommand) in bench,
    #[cfg(feature = "shell")]
    Completions(Completions => CompletionsArgs) in shell,
    #[cfg(feature = "shell")]
    Man(Man => ManArgs),
}

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
