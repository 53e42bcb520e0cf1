//! `weakspot certify`: is the evidence for an answer good?

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use anyhow::Result;
use weakspot_certify::{Asked, Checked, End, Execute, Formats, Said, certify_all, witnesses};
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
    let files = args.files.clone();
    let many = files.len() > 2;
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
    let (mut end, mut left) = (End::Certified, witnesses(&files));
    for Shown { text, is_error, witness, end: of_witness } in said.try_iter() {
        match is_error {
            true => eprint!("{text}"),
            false => print!("{}", fit(&text)),
        }
        end = end.max(of_witness);
        // One that is named twice has two lines.
        left.iter().position(|other| *other == witness).map(|at| left.remove(at));
    }
    let done = done?;
    if let Err(limit) = &done {
        end = end.max(End::Unknown);
        for witness in left {
            let checked = Ok(Checked::Unknown(limit_text(limit, &Names::default())));
            let said = Said { witness, input: None, claim: None, checked };
            print!("{}", fit(&said.line(json, many)));
        }
    }
    Ok(match done.unwrap_or(end) {
        End::Certified => Exit::Holds,
        End::Unknown => Exit::Unknown,
        End::Rejected => Exit::Violated,
        End::Bad => Exit::Bad,
    })
}

struct Shown {
    text: String,
    is_error: bool,
    witness: PathBuf,
    end: End,
}

/// What is said about a witness. Errors go where errors go, unless a script reads them.
fn shown(said: &Said<'_>, json: bool, many: bool, color: bool) -> Shown {
    let (text, is_error) = match &said.checked {
        Ok(Checked::Refused { text, why }) if !json => {
            let name = said.input.map_or_else(String::new, |input| input.display().to_string());
            (render(&name, text, why, Severity::Error, color), true)
        }
        Err(error) if !json => {
            let of = if many { format!("{}: ", said.witness.display()) } else { String::new() };
            (format!("error: {of}{error:#}\n"), true)
        }
        _ => (said.line(json, many), false),
    };
    Shown { text, is_error, witness: said.witness.to_owned(), end: said.end() }
}
