//! Which tests there are. Programs say so themselves, and are not under control when they do: so only
//! those are asked that have the usual harness.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use weakspot_build::runtime;
use weakspot_campaign::{has_harness, libraries, status_text};

use crate::{Built, TargetKind};

/// How long a program may take to list its tests.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// What there is.
#[derive(Debug)]
pub struct Listed<'a> {
    /// Tests, each with the program that it is in.
    pub tests: Vec<(&'a Built, String)>,
    /// What is left out, and why.
    pub skipped: Vec<String>,
    /// What could not be asked: the program, and what went wrong.
    pub failed: Vec<(String, String)>,
}

/// The tests of all programs that are selected.
#[must_use]
pub fn tests<'a>(binaries: &'a [Built], selection: &[String]) -> Listed<'a> {
    let mut listed = Listed { tests: Vec::new(), skipped: Vec::new(), failed: Vec::new() };
    for built in binaries {
        let id = built.id();
        if built.kind == TargetKind::Macro {
            listed.skipped.push(format!("{id}: a procedural macro runs inside of the compiler"));
            continue;
        }
        match has_harness(&built.file) {
            Ok(true) => match selected(built, selection) {
                Ok(names) => listed.tests.extend(names.into_iter().map(|name| (built, name))),
                Err(error) => listed.failed.push((id, format!("{error:#}"))),
            },
            Ok(false) => listed.skipped.push(format!("{id}: it has a harness of its own")),
            Err(error) => listed.failed.push((id, error.to_string())),
        }
    }
    listed
}

/// The tests of a program that are selected.
fn selected(binary: &Built, selection: &[String]) -> Result<Vec<String>> {
    let has = |flag: &str| selection.iter().any(|word| word == flag);
    let all = list(binary, selection, &[])?;
    if has("--ignored") || has("--include-ignored") {
        return Ok(all);
    }
    let ignored = list(binary, selection, &["--ignored"])?;
    Ok(all.into_iter().filter(|test| !ignored.contains(test)).collect())
}

fn list(binary: &Built, selection: &[String], more: &[&str]) -> Result<Vec<String>> {
    let runtime = runtime::unpack().map_err(|message| anyhow!(message))?;
    let failed = || "failed to list its tests".to_owned();
    let mut child = Command::new(&binary.file)
        .args(["--list", "--format", "terse"])
        .args(more)
        .args(selection)
        .current_dir(&binary.folder)
        .envs(binary.variables())
        .env("LD_LIBRARY_PATH", libraries(&runtime))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(failed)?;
    let mut stdout = child.stdout.take().with_context(failed)?;
    let reader = std::thread::spawn(move || {
        let mut listed = Vec::new();
        stdout.read_to_end(&mut listed).map(|_| listed)
    });
    // Code before `main` may do anything.
    let until = Instant::now() + LIST_TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait().with_context(failed)? {
            break status;
        }
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{}: it takes too long", failed());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if !status.success() {
        bail!("{}: it {}", failed(), status_text(status));
    }
    let listed = reader.join().ok().with_context(failed)?.with_context(failed)?;
    let listed = String::from_utf8_lossy(&listed);
    Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
