//! What may be typed for more than one command. Nothing here has a default or a conflict, see [`super::meant`].

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use weakspot_core::Model;

use crate::values::{
    InputFormat, OutputFormat, Takes, When, common, duration, format_of, model, size,
};

/// Options that all questions about programs share.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// Memory models: sc, tso, pso; pso-own is PSO where an atomic update drains only its own address [default: sc,tso,pso].
    #[arg(long, short, value_name = "MODEL", value_delimiter = ',', value_parser = model)]
    pub(crate) model: Vec<Model>,
    /// Read the inputs as this language, whatever their ending.
    #[arg(long, value_name = "LANGUAGE", value_parser = format_of(Takes::Programs))]
    pub(crate) input_format: Option<InputFormat>,
    #[command(flatten)]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// For programs in C, as compilers take them.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct InC {
    /// In programs in C: define a macro, as 1 if no value is given.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) define: Vec<String>,
    /// In programs in C: do not define this macro.
    #[arg(short = 'U', value_name = "NAME")]
    pub(crate) undefine: Vec<String>,
    /// In programs in C: look for headers in this folder, too.
    #[arg(short = 'I', value_name = "FOLDER")]
    pub(crate) include: Vec<PathBuf>,
}

/// For questions that store buffers are explored for.
#[derive(Clone, Debug, Args)]
pub(crate) struct Buffers {
    /// Entries (stores, store-store fences) that a buffer may hold at most in a thread that stores in a loop [default: 1024].
    #[arg(long, value_name = "N")]
    pub(crate) buffer_limit: Option<usize>,
}

/// For questions whose answers have evidence that a file can hold.
#[derive(Clone, Debug, Args)]
pub(crate) struct Witness {
    /// Write the answer's evidence to this file, for `weakspot certify` (one file, one model).
    #[arg(long, value_name = "FILE.json")]
    pub(crate) witness: Option<PathBuf>,
}

/// For searches that can be kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Checkpoint {
    /// Save progress to this file from time to time, and when a limit or a signal ends the search.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

/// For searches that may take less memory.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Storage {
    /// Keep a hash of each state instead of the state; what is not found then is no proof [default bits: 64].
    #[arg(long, value_name = "BITS", num_args = 0..=1, require_equals = true, default_missing_value = "64",
        value_parser = clap::value_parser!(u32).range(40..=64), help_heading = "Memory",
        long_help = "Keep a hash of each state instead of the state, of 40 to 64 bits [default: 64]. A state \
whose hash is that of another is left out, and how probable that is gets printed. A violation is as certain as without; if \
nothing is found, the answer is unknown (exit code 3).")]
    pub(crate) hash_compact: Option<u32>,
    /// Put states that --memory has no room for into files in this folder; slower, but the same answer.
    #[arg(long, value_name = "FOLDER", help_heading = "Memory")]
    pub(crate) disk: Option<PathBuf>,
}

impl Storage {
    /// Whether anything of it was typed.
    pub(crate) fn is_typed(&self) -> bool {
        self.hash_compact.is_some() || self.disk.is_some()
    }
}

/// For what can be done side by side.
#[derive(Clone, Debug, Args)]
pub(crate) struct Threads {
    /// How many files to work on at a time; by default one per processor.
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
}

/// Options that all questions share.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    /// What to print [default: text].
    #[arg(long, short, value_name = "FORMAT", value_parser = common())]
    pub(crate) format: Option<OutputFormat>,
    /// Write the answers as a page to look at, too: one HTML file that needs no network.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Give up on a question after this time, from opening its file [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Give up on a question when its search needs more memory than this [default: 4GiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// No warnings, summary or drawings.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Say on standard error which limits hold, and how long each input took.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Show progress on standard error [default: auto].
    #[arg(long, value_name = "WHEN")]
    pub(crate) progress: Option<When>,
    /// Colours; NO_COLOR is heeded, too [default: auto].
    #[arg(long, value_name = "WHEN")]
    pub(crate) color: Option<When>,
    /// Draw with ASCII only, as where the locale is not UTF-8.
    #[arg(long)]
    pub(crate) ascii: bool,
}

/// For one search, or many files, and several processes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Processes {
    /// Answer together with other processes: a file with a line HOST:PORT for each.
    #[arg(long, value_name = "FILE", help_heading = "Several processes")]
    pub(crate) hosts: Option<PathBuf>,
    /// Which of them this is, from 0 on; process 0 prints the answer.
    #[arg(long, value_name = "N", help_heading = "Several processes")]
    pub(crate) process: Option<u16>,
    /// A file with what they know each other by, which only its owner may read.
    #[arg(long, value_name = "FILE", help_heading = "Several processes")]
    pub(crate) token: Option<PathBuf>,
}

/// For commands that read one file and say one thing about it.
#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// Give up after this time [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Give up when more memory than this is needed [default: 4GiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Colours in messages; NO_COLOR is heeded, too [default: auto].
    #[arg(long, value_name = "WHEN")]
    pub(crate) color: Option<When>,
}

/// What --threads is for where one file is searched by several.
pub(crate) const SEARCHING_THREADS: &str = "How many files to work on at a time, or, with one file, how many \
threads search; by default one per processor";
