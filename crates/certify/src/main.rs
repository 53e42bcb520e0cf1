//! The program `weakspot-certify`: witness files against their inputs, and nothing else. It shares no
//! code with the engines, so that whoever trusts it need not trust them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use weakspot_certify::{Asked, End, Formats, Said, certify_all, file};
use weakspot_lang::COptions;

const HELP: &str = "\
Check the witnesses of answers by the definitions alone.

Usage: weakspot-certify [--max-states N] [--json] INPUT WITNESS
       weakspot-certify [--max-states N] [--json] FILE...

-D NAME[=VALUE], -U NAME and -I FOLDER are those that a program in C was asked
about with.

Of several files, those that are witnesses are checked, each against the input
with the hash that it names. Exit codes: 0 all are certified, 1 one is rejected,
2 one cannot be read, 3 one takes more than N states to check.
";

fn main() -> ExitCode {
    let mut files = Vec::new();
    let (mut max_states, mut json) = (None, false);
    let (mut define, mut undefine, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("-h" | "--help") => return print(HELP, ExitCode::SUCCESS),
            Some("-V" | "--version") => {
                let version = concat!("weakspot-certify ", env!("CARGO_PKG_VERSION"), "\n");
                return print(version, ExitCode::SUCCESS);
            }
            Some("--json") => json = true,
            Some("--max-states") => {
                let n = args.next().and_then(|n| n.to_str()?.parse().ok());
                let Some(n) = n else { return usage("--max-states wants a number") };
                max_states = Some(n);
            }
            Some(option) if ["-D", "-U", "-I"].iter().any(|known| option.starts_with(known)) => {
                let (option, attached) = option.split_at(2);
                let next = || args.next().and_then(|next| next.into_string().ok());
                let value = Some(attached.to_owned()).filter(|v| !v.is_empty()).or_else(next);
                let Some(value) = value else { return usage(&format!("{option} wants a value")) };
                match option {
                    "-D" => define.push(value),
                    "-U" => undefine.push(value),
                    _ => folders.push(PathBuf::from(value)),
                }
            }
            Some(option) if option.starts_with('-') && option.len() > 1 => {
                return usage(&format!("there is no option {option}"));
            }
            _ => files.push(PathBuf::from(arg)),
        }
    }
    if files.len() < 2 {
        return usage("an input and a witness are needed");
    }
    let options = match COptions::new(&define, &undefine, folders) {
        Ok(options) => options,
        Err(why) => return usage(&why),
    };
    let asked = |input, witness| Asked {
        input,
        witness,
        max_states,
        formats: Formats::default(),
        options: &options,
        open: &file,
        execute: None,
    };
    let many = files.len() > 2;
    let mut stdout = std::io::stdout().lock();
    let end = certify_all(&files, &file, &asked, &mut |said: &Said<'_>| {
        // A reader that has gone is no reason to stop: the exit code says the same.
        let _ = stdout.write_all(said.line(json, many).as_bytes());
    });
    end.code().into()
}

fn print(text: &str, code: ExitCode) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    code
}

fn usage(why: &str) -> ExitCode {
    let _ = write!(std::io::stderr(), "error: {why}\n\n{HELP}");
    End::Bad.code().into()
}
