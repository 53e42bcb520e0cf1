//! `weakspot compare`.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weakspot_input::{LitmusLog, LogDifference, compare_litmus_logs, read_litmus_log};

use crate::args::{CompareArgs, OutputFormat};
use weakspot_jobs::compared;
use weakspot_jobs::exit::Exit;

/// Says how two logs of litmus tests differ.
pub(crate) fn run(args: &CompareArgs) -> Result<Exit> {
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    let differences = compare_litmus_logs(&first, &second);
    let all = differences.len();
    let different = differences.iter().filter(|(_, d)| !matches!(d, LogDifference::Same(_)));
    let different = different.count();
    if args.format != OutputFormat::Text {
        let [first, second] = [&args.first, &args.second].map(|path| path.display().to_string());
        print!("{}", compared::table(args.format, &differences, [&first, &second]));
        return Ok(if different == 0 { Exit::Holds } else { Exit::Violated });
    }
    let (a, b) = (args.first.display(), args.second.display());
    let mut out = String::new();
    for (name, difference) in &differences {
        match difference {
            LogDifference::Same(_) => continue,
            LogDifference::OnlyFirst => writeln!(out, "{name}: only in {a}")?,
            LogDifference::OnlySecond => writeln!(out, "{name}: only in {b}")?,
            LogDifference::OtherTest => {
                writeln!(out, "{name}: two tests of one name, the hashes differ")?;
            }
            LogDifference::States { first, second } => {
                for (states, log) in [(first, &a), (second, &b)] {
                    if !states.is_empty() {
                        writeln!(out, "{name}: states that only {log} has")?;
                    }
                    states.iter().try_for_each(|state| writeln!(out, "  {state}"))?;
                }
            }
        }
    }
    let tests = if all == 1 { "test" } else { "tests" };
    match different {
        0 => writeln!(out, "{all} {tests}, no difference")?,
        1 => writeln!(out, "1 of {all} {tests} differs")?,
        _ => writeln!(out, "{different} of {all} {tests} differ")?,
    }
    print!("{out}");
    Ok(if different == 0 { Exit::Holds } else { Exit::Violated })
}

fn read(path: &Path) -> Result<LitmusLog> {
    const MOST_BYTES: u64 = 1 << 30;
    let mut bytes = Vec::new();
    let log = std::fs::File::open(path).and_then(|f| f.take(MOST_BYTES).read_to_end(&mut bytes));
    if log.with_context(|| path.display().to_string())? as u64 == MOST_BYTES {
        bail!("{}: longer than 1 GiB", path.display());
    }
    match read_litmus_log(&String::from_utf8_lossy(&bytes)) {
        Ok(log) => Ok(log),
        Err(bad) => bail!("{}:{}: {}", path.display(), bad.line, bad.message),
    }
}
