//! `weakspot cc` and `weakspot c++`.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use weakspot_build::{Language, Remark, compile, runtime};
use weakspot_cargo::{is_for_host, plain_compiler};

use crate::args::CompilerArgs;

/// Compiles and links; the exit code of the compiler that failed, or 0.
pub(crate) fn run(language: Language, args: &CompilerArgs) -> Result<u8> {
    let folder = runtime::unpack().map_err(|message| anyhow!(message))?;
    let code =
        compile(language, &args.args, &folder, &mut tell).map_err(|message| anyhow!(message))?;
    Ok(u8::try_from(code).unwrap_or(1))
}

/// The same for a build script: what it compiles for itself, or for macros, is not instrumented.
pub(crate) fn run_for_build_script(
    language: Language,
    args: impl Iterator<Item = OsString>,
) -> Result<u8> {
    if !is_for_host() {
        let args: std::result::Result<_, OsString> = args.map(OsString::into_string).collect();
        let args = args.map_err(|arg| anyhow!("{} is not UTF-8", arg.display()))?;
        return run(language, &CompilerArgs { args });
    }
    let (variable, usual) = match language {
        Language::C => ("WEAKSPOT_CC", "cc"),
        Language::Cxx => ("WEAKSPOT_CXX", "c++"),
    };
    let compiler = plain_compiler(variable, usual);
    let status = Command::new(&compiler).args(args).status();
    let status = status.with_context(|| format!("cannot start {}", compiler.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn tell(remark: Remark) {
    match remark {
        Remark::Note(note) => eprintln!("weakspot: warning: {note}"),
        Remark::Unseen(unseen) => {
            let place =
                unseen.place.map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default();
            eprintln!(
                "{place}warning: this assembly {}: {} [weakspot]",
                unseen.why, unseen.instruction
            );
        }
    }
}
