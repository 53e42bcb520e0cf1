//! `weakspot certify`: is the evidence for an answer good?

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use anyhow::Result;
use weakspot_certify::{Asked, Checked, End, Execute, Formats, Said, certify_all};
use weakspot_core::Names;
use weakspot_input::source;
use weakspot_report::{RunWitness, Severity, limit_text, render};

use crate::args::{CertifyArgs, InputFormat, OutputFormat};
#[cfg(feature = "real")]
use crate::real::run::witness;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::signed::signed;
use weakspot_jobs::terminal::{colored, fitted};
use weakspot_jobs::within::within;

/// Checks witnesses against their inputs, within limits.
pub(crate) fn run(args: CertifyArgs) -> Result<Exit> {
    let color = colored(args.bounds.color, std::io::stderr().is_terminal());
    let json = args.json;
    let format = if json { OutputFormat::Json } else { OutputFormat::Text };
    let name = |file: Option<&PathBuf>| file.cloned().unwrap_or_default();
    let (first, last) = (name(args.files.first()), name(args.files.last()));
    let many = args.files.len() > 2;
    // What is said before a limit is said, whatever comes of the rest.
    let (sender, said) = channel();
    let bounds = args.bounds;
    let done = within(bounds, move || {
        let open = |path: &Path| source(path, interrupt::stop(None));
        let formats = Formats {
            language: args.input_format.and_then(InputFormat::language),
            log: args.input_format.and_then(InputFormat::log),
            history: args.input_format.and_then(InputFormat::history),
        };
        let max_states = args.max_states;
        #[cfg(feature = "real")]
        let execute =
            |program: &Path, witness: &RunWitness| witness::check(program, witness, bounds);
        #[cfg(not(feature = "real"))]
        let execute = |_: &Path, _: &RunWitness| Err(anyhow::anyhow!(crate::RUNS_NONE));
        let execute = Some(&execute as Execute<'_>);
        let (open, options) = (&open, &args.options);
        let asked =
            |input, witness| Asked { input, witness, max_states, formats, options, open, execute };
        Ok(certify_all(&args.files, open, &asked, &mut |said| {
            let _ = sender.send(shown(said, json, many, color));
        }))
    });
    let fit =
        |text: &str| if json { signed(format, text) } else { fitted(text, false) }.into_owned();
    for Shown { text, is_error } in said.try_iter() {
        match is_error {
            true => eprint!("{text}"),
            false => print!("{}", fit(&text)),
        }
    }
    Ok(match done? {
        Ok(End::Certified) => Exit::Holds,
        Ok(End::Unknown) => Exit::Unknown,
        Ok(End::Rejected) => Exit::Violated,
        Ok(End::Bad) => Exit::Bad,
        Err(limit) => {
            let why = limit_text(&limit, &Names::default());
            let checked = Ok(Checked::Unknown(format!("{}: {why}", first.display())));
            let said = Said { witness: &last, input: None, claim: None, checked };
            print!("{}", fit(&said.line(json, many)));
            Exit::Unknown
        }
    })
}

struct Shown {
    text: String,
    is_error: bool,
}

/// What is said about a witness. Errors go where errors go, unless a script reads them.
fn shown(said: &Said<'_>, json: bool, many: bool, color: bool) -> Shown {
    match &said.checked {
        Ok(Checked::Refused { text, why }) if !json => {
            let name = said.input.map_or_else(String::new, |input| input.display().to_string());
            Shown { text: render(&name, text, why, Severity::Error, color), is_error: true }
        }
        Err(error) if !json => {
            let of = if many { format!("{}: ", said.witness.display()) } else { String::new() };
            Shown { text: format!("error: {of}{error:#}\n"), is_error: true }
        }
        _ => Shown { text: said.line(json, many), is_error: false },
    }
}
