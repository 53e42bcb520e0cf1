//! `weakspot certify`.

use std::io::IsTerminal;

use anyhow::Result;
use weakspot_certify::{Checked, check};
use weakspot_core::Names;
use weakspot_report::limit_text;

use crate::args::CertifyArgs;
use crate::exit::Exit;
use crate::interrupt;
use crate::terminal::colored;
use crate::within::within;

/// Checks a witness against its input, within limits.
pub(crate) fn run(args: CertifyArgs) -> Result<Exit> {
    let name = args.input.display().to_string();
    let color = colored(args.bounds.color, std::io::stderr().is_terminal());
    let checked = within(args.bounds, move || check(&args, interrupt::stop(None), color))?;
    let checked = checked.unwrap_or_else(|limit| {
        Checked::Unknown(format!("{name}: {}", limit_text(&limit, &Names::default())))
    });
    Ok(match checked {
        Checked::Certified(how) => {
            println!("certified: {how}");
            Exit::Holds
        }
        Checked::Unknown(why) => {
            println!("unknown: {why}");
            Exit::Unknown
        }
        Checked::Rejected(why) => {
            println!("rejected: {why}");
            Exit::Violated
        }
        Checked::Refused(text) => {
            eprint!("{text}");
            Exit::Bad
        }
    })
}
