//! `weakspot print`.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use weakspot_report::{Severity, render};

use crate::args::PrintArgs;
use crate::exit::Exit;
use crate::input::expand;

/// Prints one program in canonical form.
pub(crate) fn run(args: &PrintArgs) -> Result<Exit> {
    let inputs =
        expand(std::slice::from_ref(&args.file), args.input_format.map(Into::into), &["weak"])?;
    for input in inputs {
        let source = input.read().with_context(|| input.name())?;
        match weakspot_lang::reprint(source.format, &source.text) {
            Ok(text) => print!("{text}"),
            Err(diagnostic) => {
                let color = std::io::stderr().is_terminal();
                eprint!(
                    "{}",
                    render(&input.name(), &source.text, &diagnostic, Severity::Error, color)
                );
                return Ok(Exit::Bad);
            }
        }
    }
    Ok(Exit::Holds)
}
