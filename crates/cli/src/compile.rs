//! `weakspot cc` and `weakspot c++`.

use anyhow::{Result, anyhow};
use weakspot_build::{Language, Remark, compile, runtime};

use crate::args::CompilerArgs;

/// Compiles and links; the exit code of the compiler that failed, or 0.
pub(crate) fn run(language: Language, args: &CompilerArgs) -> Result<u8> {
    let folder = runtime::unpack().map_err(|message| anyhow!(message))?;
    let code =
        compile(language, &args.args, &folder, &mut tell).map_err(|message| anyhow!(message))?;
    Ok(u8::try_from(code).unwrap_or(1))
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
