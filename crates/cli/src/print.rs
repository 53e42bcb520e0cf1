//! `weakspot print`.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use weakspot_core::Names;
use weakspot_input::expand;
use weakspot_report::{Severity, limit_text, render};

use crate::args::PrintArgs;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::output::{Sink, spare_inputs};
use weakspot_jobs::terminal::colored;
use weakspot_jobs::within::within;

/// Prints programs in canonical form.
pub(crate) fn run(args: PrintArgs) -> Result<Exit> {
    let inputs = expand(std::slice::from_ref(&args.file), args.input_format, &["weak"])?;
    spare_inputs("-o", args.output.as_deref(), &inputs)?;
    let mut sink = Sink::create(args.output.as_deref())?;
    for input in inputs {
        let name = input.name();
        let printed = within(args.bounds, move || {
            let source = input.read().with_context(|| input.name())?;
            Ok(match weakspot_lang::reprint(source.format, &source.text) {
                Ok(text) => Ok(text),
                Err(diagnostic) => Err((source, diagnostic)),
            })
        })?;
        match printed {
            Ok(Ok(text)) => std::io::Write::write_all(&mut sink, text.as_bytes())?,
            Ok(Err((source, diagnostic))) => {
                let color = colored(args.bounds.color, std::io::stderr().is_terminal());
                eprint!("{}", render(&name, &source.text, &diagnostic, Severity::Error, color));
                return Ok(Exit::Bad);
            }
            Err(limit) => {
                eprintln!("{name}: not printed: {}", limit_text(&limit, &Names::default()));
                return Ok(Exit::Unknown);
            }
        }
    }
    sink.finish()?;
    Ok(Exit::Holds)
}
