//! `weakspot serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::list::{Lacks, Means, Usage};
use crate::refused::NO_SEARCH;
use crate::values::{duration, size};

/// Ask questions about programs in a browser: a page on this machine, with an editor.
#[derive(Debug, Args)]
#[command(
    before_help = "\
Example:
  weakspot serve
  weakspot serve corpus/programs corpus/litmus",
    after_help = "\
Prints an address with a secret in it. Whoever has that can ask questions and
read the files that were named, and nothing else. Ctrl-C ends it.

Exit code: 0, or 2 if the address cannot be used."
)]
pub(crate) struct Serve {
    /// Programs for the menu, or folders of them.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The address to listen at; port 0 is any that is free. All but those of this machine let others in [default: 127.0.0.1:0].
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Give up on a question after this time [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Give up on a question that needs more memory [default: 1GiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// How many questions to work on at a time; more are refused [default: 2].
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: Option<u16>,
}

#[derive(Debug)]
pub struct ServeArgs {
    pub files: Vec<PathBuf>,
    pub listen: SocketAddr,
    pub timeout: Duration,
    pub memory: u64,
    pub threads: usize,
}

impl Means<ServeArgs> for Serve {
    const LACKS: Lacks = &[
        NO_SEARCH,
        (
            "model input-format witness buffer-limit fail-fast",
            "what is asked is chosen on the page",
        ),
        (
            "format output quiet verbose color progress",
            "it prints an address and nothing else: answers are on the page",
        ),
    ];

    fn meant(self) -> Result<ServeArgs, Usage> {
        let Serve { files, listen, timeout, memory, threads } = self;
        let listen = listen.unwrap_or_else(|| "127.0.0.1:0".to_owned());
        let bad = || Usage(format!("bad address `{listen}` for --listen: expected 127.0.0.1:8080"));
        Ok(ServeArgs {
            files,
            listen: listen.parse().map_err(|_| bad())?,
            timeout: timeout.unwrap_or(Duration::from_secs(10)),
            memory: memory.unwrap_or(1 << 30),
            threads: threads.map_or(2, usize::from),
        })
    }
}
