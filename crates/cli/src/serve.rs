//! `weakspot serve`.

use std::io::Write;

use anyhow::{Context, Result};
use weakspot_input::{CHECKED_ENDINGS, expand};
use weakspot_report::page_to_ask;
use weakspot_serve::{EXAMPLES, Options, Server};

use crate::args::ServeArgs;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::signed::TOOL;

/// Serves until a signal comes.
pub(crate) fn run(args: ServeArgs) -> Result<Exit> {
    interrupt::watch();
    let ServeArgs { files, listen, timeout, memory, threads } = args;
    let mut names = Vec::new();
    let mut paths = Vec::new();
    for input in expand(&files, None, &CHECKED_ENDINGS)? {
        // The folder that one is in may change, for others.
        let path = std::path::absolute(&input.path)?;
        std::fs::metadata(&path).with_context(|| format!("failed to read {}", input.name()))?;
        names.push(input.name());
        paths.push(path);
    }
    let server = Server::bind(Options {
        listen,
        page: page_to_ask(&TOOL, &EXAMPLES.map(|example| example.0), &names),
        files: paths,
        command: std::env::current_exe().context("failed to find this program")?,
        timeout,
        memory,
        questions: threads,
    });
    let server = server.with_context(|| format!("failed to listen at {listen}"))?;
    if !listen.ip().is_loopback() {
        eprintln!(
            "warning: {listen} can be reached from other machines; whoever sees the address below\n\
             can ask questions and read the files that were named"
        );
    }
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.address())?;
    out.flush()?;
    server.run(interrupt::asked);
    Ok(Exit::Holds)
}
