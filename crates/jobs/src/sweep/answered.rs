//! Many inputs, of which the answers so far are kept: who goes on from there asks only about the others.
//!
//! An answer belongs to the name of its input and to the SHA-256 of its contents, so that an input that has
//! changed is asked about again. What an interrupted question came to is no answer.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use weakspot_args::{CheckpointArgs, Shared};
use weakspot_explore::Keep;
use weakspot_report::Row;

use super::digest_file;
use super::message::{number, put_answer, take, take_answer, take_text, text};
use crate::checkpoint::file::{CheckpointFile, Head};
use crate::exit::Exit;
use crate::interrupt;
use crate::pool::{self, Answer, Named};

/// [`pool::run_in_parts`] with answers that are kept. `asked` is all that they depend on, but for the inputs.
pub(super) fn run<I: Named + AsRef<Path>, T: Send + Row>(
    inputs: &[I],
    shared: &Shared,
    time: Option<Duration>,
    (args, asked): (&CheckpointArgs, &str),
    job: impl Fn(&I, &mut dyn FnMut(Answer<T>)) + Sync,
) -> Result<(Exit, Vec<T>)> {
    let file = CheckpointFile::new(args, Head::of_answers(asked))?;
    let known = match file.earlier() {
        None => Known::default(),
        Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {
            bail!("interrupted while the checkpoint was read");
        }
        Some(earlier) => read::<T>(earlier).map_err(|why| {
            let path = args.resume.as_deref().unwrap_or(Path::new(""));
            anyhow!("{} is damaged: {why}", path.display())
        })?,
    };
    let answered = Answered { file, known: Mutex::new(known) };
    let (mut exit, results) = pool::run_in_parts(inputs, shared, time, |input, part| {
        answered.ask(input, &job, part);
    })?;
    answered.keep();
    let Some(path) = &args.write else { return Ok((exit, results)) };
    match (answered.file.end(), interrupt::asked()) {
        ((_, Some(why)), true) => {
            crate::eprintln!("error: {why:#}");
            exit = Exit::Bad;
        }
        ((_, Some(why)), false) => crate::eprintln!("warning: {why:#}"),
        ((true, None), true) if !shared.quiet => {
            crate::eprintln!("--resume {} goes on from here", path.display());
        }
        _ => {}
    }
    Ok((exit, results))
}

/// By the name of the input: the SHA-256 of its contents, and the parts of the answer, packed.
type Known = BTreeMap<String, (String, Vec<Vec<u8>>)>;

struct Answered {
    file: CheckpointFile,
    known: Mutex<Known>,
}

impl Answered {
    /// Says what is known about an input, or asks.
    fn ask<I: Named + AsRef<Path>, T: Row>(
        &self,
        input: &I,
        job: &impl Fn(&I, &mut dyn FnMut(Answer<T>)),
        part: &mut dyn FnMut(Answer<T>),
    ) {
        let (name, digest) = (input.name(), digest_file(input.as_ref()));
        if let Ok(digest) = &digest
            && let Some(parts) = self.find(&name, digest)
        {
            return parts.into_iter().for_each(part);
        }
        let mut parts = Vec::new();
        job(input, &mut |answer| {
            let mut packed = Vec::new();
            put_answer(&mut packed, &answer);
            parts.push(packed);
            part(answer);
        });
        // What can be read once only, such as a pipe, is not there the next time; and what may include other files
        // may be something else then.
        let Ok(digest) = digest else { return };
        if interrupt::asked() {
            return;
        }
        self.known().insert(name, (digest, parts));
        if self.file.is_due() {
            self.keep();
        }
    }

    fn find<T: Row>(&self, name: &str, digest: &str) -> Option<Vec<Answer<T>>> {
        let known = self.known();
        let (_, parts) = known.get(name).filter(|(of, _)| of == digest)?;
        parts.iter().map(|part| take_answer(&mut &part[..])).collect()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self) {
        let known = self.known();
        self.file.keep(&mut |to| {
            let mut bytes = Vec::new();
            number(&mut bytes, known.len() as u64);
            for (name, (digest, parts)) in &*known {
                text(&mut bytes, name);
                text(&mut bytes, digest);
                number(&mut bytes, parts.len() as u64);
                for part in parts {
                    number(&mut bytes, part.len() as u64);
                    bytes.extend_from_slice(part);
                }
                to.write_all(&bytes)?;
                bytes.clear();
            }
            to.write_all(&bytes)
        });
    }
}

/// What was kept.
fn read<T: Row>(from: io::Result<Box<dyn Read + '_>>) -> Result<Known> {
    let mut bytes = Vec::new();
    from.and_then(|mut from| from.read_to_end(&mut bytes))?;
    match unpacked::<T>(&bytes) {
        Some(known) => Ok(known),
        None => bail!("it has a good checksum, but is not what a sweep writes"),
    }
}

fn unpacked<T: Row>(mut bytes: &[u8]) -> Option<Known> {
    let from = &mut bytes;
    let mut known = Known::new();
    for _ in 0..take(from)? {
        let (name, digest) = (take_text(from)?, take_text(from)?);
        let mut parts = Vec::new();
        for _ in 0..take(from)? {
            let length = usize::try_from(take(from)?).ok()?;
            let (part, rest) = from.split_at_checked(length)?;
            *from = rest;
            let mut whole = part;
            take_answer::<T>(&mut whole).filter(|_| whole.is_empty())?;
            parts.push(part.to_vec());
        }
        known.insert(name, (digest, parts));
    }
    bytes.is_empty().then_some(known)
}
