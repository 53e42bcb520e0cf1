//! Inputs with transactions: which are programs and which are logs, and which lines of programs belong to one.

use std::path::PathBuf;

use anyhow::{Result, bail};
use weakspot_args::{Lines, SerialArgs};
use weakspot_core::ThreadId;
use weakspot_input::{
    Input, LOG_ENDINGS, PROGRAM_ENDINGS, Source, expand, expand_logs, is_log, no_file,
};
use weakspot_lang::Parsed;

/// The inputs that are programs, and those that are logs. A folder stands for both.
///
/// # Errors
///
/// Where there is nothing of either.
pub fn sort(args: &SerialArgs) -> Result<(Vec<Input>, Vec<PathBuf>)> {
    if args.language.is_some() {
        return Ok((expand(&args.files, args.language, &PROGRAM_ENDINGS)?, Vec::new()));
    }
    if args.log_format.is_some() {
        return Ok((Vec::new(), expand_logs(&args.files)?));
    }
    let (mut programs, mut logs) = (Vec::new(), Vec::new());
    for path in &args.files {
        if path.is_dir() {
            let folder = std::slice::from_ref(path);
            let more = expand(folder, None, &PROGRAM_ENDINGS).ok();
            let more_logs = expand_logs(folder).ok();
            if more.is_none() && more_logs.is_none() {
                let endings = PROGRAM_ENDINGS.into_iter().chain(LOG_ENDINGS).collect::<Vec<_>>();
                bail!("{}", no_file(&endings, path));
            }
            programs.extend(more.into_iter().flatten());
            logs.extend(more_logs.into_iter().flatten());
            continue;
        }
        let ending = path.extension();
        if !is_log(path) && ending.is_some_and(|e| PROGRAM_ENDINGS.iter().any(|&w| e == w)) {
            programs.extend(expand(std::slice::from_ref(path), None, &PROGRAM_ENDINGS)?);
        } else {
            logs.push(path.clone());
        }
    }
    // Standard input can be read only once.
    Ok((programs, expand_logs(&logs)?))
}

/// Marks the lines that the user named.
///
/// # Errors
///
/// Where there is no such thread, or nothing on these lines.
pub fn mark(parsed: &mut Parsed, source: &Source, all: &[Lines]) -> Result<(), String> {
    for lines in all {
        let Parsed { program, names, transactions, .. } = parsed;
        if let Some(wanted) = &lines.thread
            && !names.threads.iter().any(|name| is_called(name, wanted))
        {
            let known = names.threads.join(", ");
            return Err(format!("no thread is called `{wanted}`; expected one of {known}"));
        }
        let threads = |t: ThreadId| match &lines.thread {
            Some(wanted) => names.threads.get(t.index()).is_some_and(|n| is_called(n, wanted)),
            None => true,
        };
        let (first, last) = (lines.first, lines.last);
        if !transactions.mark_lines(program, &source.text, &threads, first..=last) {
            let of = lines.thread.as_ref().map_or(String::new(), |t| format!(" of {t}"));
            return Err(format!("no instruction{of} stands on lines {first} to {last}"));
        }
    }
    Ok(())
}

/// Whether a thread has this name. All copies of a thread have that of the thread, and those of a
/// litmus test go by their numbers, too.
fn is_called(name: &str, wanted: &str) -> bool {
    let number = name.strip_prefix('P').filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let copy = name.split_once('[').map(|(thread, _)| thread);
    name == wanted || number == Some(wanted) || copy == Some(wanted)
}
