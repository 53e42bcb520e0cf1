//! Searches and sweeps in files, so that they can go on another time.
//!
//! A checkpoint begins with what it is and which question it belongs to: the version of the format and of
//! the program that wrote it, the question with what matters of its options, the SHA-256 of the input. Then comes
//! what the search says, or the answers so far. A SHA-256 over all of that and a mark make the end. The file is written
//! beside its place, synced and renamed, so that whoever is killed leaves the last one whole. It is
//! checked to its end before anything of it is used.
//!
//! A search is written so often that it takes less than a tenth of the time.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use sha2::{Digest, Sha256};
use weakspot_args::{CheckpointArgs, VERSION};
use weakspot_explore::Keep;

use crate::interrupt;
use crate::output::{self, NewFile, spare_inputs};

const BEGIN: &[u8; 20] = b"weakspot checkpoint\n";
const END: &[u8; 8] = b"the end\n";
/// Changes whenever something else is written.
const FORMAT: u32 = 3;
/// The bytes of a SHA-256.
const SUM: usize = 32;
/// Words of the head are not longer than this.
const MOST_OF_A_WORD: usize = 4096;

/// Pauses are at least so long, and so many times as long as the last file took to write.
const PAUSE: Duration = Duration::from_millis(500);
const TIMES: u32 = 15;

/// Refuses to write where an input, or anything else that is no checkpoint, would be lost.
pub(crate) fn check<P: AsRef<Path>>(args: Option<&CheckpointArgs>, inputs: &[P]) -> Result<()> {
    let path = args.and_then(|args| args.write.as_deref());
    spare_inputs("--checkpoint", path, inputs)?;
    let Some(path) = path else { return Ok(()) };
    let name = path.display();
    match std::fs::metadata(path) {
        Ok(data) if !data.is_file() => bail!("--checkpoint {name}: that is no file"),
        Ok(data) if data.len() > 0 && !begins(path)? => {
            bail!("--checkpoint {name}: that file is no checkpoint, and would be overwritten")
        }
        _ => Ok(()),
    }
}

/// Whether a file begins as checkpoints do.
fn begins(path: &Path) -> Result<bool> {
    let failed = || format!("failed to read {}", path.display());
    let mut begin = Vec::new();
    let file = File::open(path).with_context(failed)?;
    file.take(BEGIN.len() as u64).read_to_end(&mut begin).with_context(failed)?;
    Ok(begin == BEGIN)
}

/// What a checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    tool: String,
    question: String,
    input: [u8; SUM],
}

/// The question of checkpoints that have answers.
const SEVERAL: &str = "several files";

impl Head {
    /// Of a question about an input, by its SHA-256.
    pub(crate) fn new(question: String, input: [u8; SUM]) -> Head {
        Head { tool: format!("weakspot {VERSION}"), question, input }
    }

    /// Of answers about several files. `asked` is all that they depend on, but for the files.
    pub(crate) fn of_answers(asked: &str) -> Head {
        Head::new(SEVERAL.to_owned(), Sha256::digest(asked.as_bytes()).into())
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(BEGIN)?;
        to.write_all(&FORMAT.to_le_bytes())?;
        for word in [&self.tool, &self.question] {
            to.write_all(&(word.len() as u32).to_le_bytes())?;
            to.write_all(word.as_bytes())?;
        }
        to.write_all(&self.input)
    }

    /// The head of a file whose beginning and format were checked.
    fn read(from: &mut dyn Read) -> io::Result<Head> {
        let mut words = [const { String::new() }; 2];
        for word in &mut words {
            let length = number(from)? as usize;
            if length > MOST_OF_A_WORD {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut bytes = vec![0; length];
            from.read_exact(&mut bytes)?;
            *word = String::from_utf8_lossy(&bytes).into_owned();
        }
        let mut input = [0; SUM];
        from.read_exact(&mut input)?;
        let [tool, question] = words;
        Ok(Head { tool, question, input })
    }
}

fn number(from: &mut dyn Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// The files of a search, or of a sweep.
pub struct CheckpointFile {
    head: Head,
    write: Option<PathBuf>,
    /// A file, and where what the search says begins, and how long that is, unless a signal came before the file
    /// was checked.
    resume: Option<(PathBuf, Option<(u64, u64)>)>,
    state: Mutex<State>,
}

struct State {
    due: Instant,
    /// Whether something was written, and why the last attempt failed, if it did.
    written: bool,
    failed: Option<anyhow::Error>,
}

impl CheckpointFile {
    pub(crate) fn new(args: &CheckpointArgs, head: Head) -> Result<CheckpointFile> {
        let resume = match &args.resume {
            None => None,
            Some(path) => {
                let part = checked(path, &head).with_context(|| format!("{}", path.display()))?;
                Some((path.clone(), part))
            }
        };
        if let Some(path) = &args.write {
            output::sweep_up(path);
            // Somebody who may not write there hears of it now, not in an hour.
            NewFile::create(path)?;
        }
        let state = State { due: Instant::now() + PAUSE, written: false, failed: None };
        Ok(CheckpointFile { head, write: args.write.clone(), resume, state: Mutex::new(state) })
    }

    /// Where it is written, for people.
    pub(crate) fn name(&self) -> String {
        self.write.as_ref().map_or(String::new(), |path| path.display().to_string())
    }

    /// Whether something was written, and why the last attempt failed, if it did.
    pub(crate) fn end(self) -> (bool, Option<anyhow::Error>) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (state.written, state.failed)
    }

    fn written(
        &self,
        path: &Path,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let failed = || format!("failed to write {}", path.display());
        let mut file = NewFile::create(path)?;
        let mut summed = Summed { to: &mut file, sum: Sha256::new() };
        self.head.write(&mut summed).and_then(|()| write(&mut summed)).with_context(failed)?;
        let sum = summed.sum.finalize();
        file.write_all(&sum).and_then(|()| file.write_all(END)).with_context(failed)?;
        file.finish()
    }
}

impl Keep for CheckpointFile {
    fn earlier(&self) -> Option<io::Result<Box<dyn Read + '_>>> {
        let (path, part) = self.resume.as_ref()?;
        let Some((start, length)) = part else {
            return Some(Err(io::ErrorKind::Interrupted.into()));
        };
        Some(File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(*start))?;
            Ok(Box::new(file.take(*length)) as Box<dyn Read>)
        }))
    }

    fn is_due(&self) -> bool {
        self.write.is_some()
            && Instant::now() >= self.state.lock().unwrap_or_else(PoisonError::into_inner).due
    }

    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        let Some(path) = &self.write else { return };
        let began = Instant::now();
        let written = self.written(path, write);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => (state.written, state.failed) = (true, None),
            // What was to be written is not there any more: it says itself why.
            Err(why) if is_interrupted(&why) => {}
            Err(why) => state.failed = Some(why),
        }
        state.due = Instant::now() + PAUSE.max(began.elapsed() * TIMES);
    }
}

fn is_interrupted(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
    })
}

/// What is written, with its sum.
struct Summed<'w> {
    to: &'w mut dyn Write,
    sum: Sha256,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Where the contents of a checkpoint begin, and how long they are, if it is whole and belongs to what
/// `expected` says; nothing if a signal came before that was known.
fn checked(path: &Path, expected: &Head) -> Result<Option<(u64, u64)>> {
    let metadata = std::fs::metadata(path).map_err(|error| anyhow!("failed to read: {error}"))?;
    if !metadata.is_file() {
        bail!("no checkpoint of weakspot: this is no file");
    }
    let file = File::open(path).map_err(|error| anyhow!("failed to read: {error}"))?;
    check_whole(file, metadata.len(), expected)
}

fn check_whole(
    mut file: impl Read + Seek,
    length: u64,
    expected: &Head,
) -> Result<Option<(u64, u64)>> {
    let failed = |error: io::Error| anyhow!("failed to read: {error}");
    let short = || anyhow!("cut short: the end of the checkpoint is missing");
    let mut begin = Vec::new();
    (&mut file).take(BEGIN.len() as u64).read_to_end(&mut begin).map_err(failed)?;
    if begin.is_empty() || !BEGIN.starts_with(&begin) {
        bail!("no checkpoint of weakspot");
    }
    let tail = (SUM + END.len()) as u64;
    let Some(summed) = length.checked_sub(tail) else { return Err(short()) };
    let format = number(&mut file).map_err(|_| short())?;
    if format != FORMAT {
        bail!("a checkpoint of format {format}, and this version of weakspot has format {FORMAT}");
    }
    file.seek(SeekFrom::Start(summed)).map_err(failed)?;
    let mut end = [0; SUM + END.len()];
    file.read_exact(&mut end).map_err(failed)?;
    if end[SUM..] != *END {
        return Err(short());
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut sum = Sha256::new();
    let mut block = vec![0; 1 << 16];
    let mut rest = (&mut file).take(summed);
    loop {
        match rest.read(&mut block).map_err(failed)? {
            0 => break,
            n => sum.update(&block[..n]),
        }
        if interrupt::asked() {
            return Ok(None);
        }
    }
    if sum.finalize()[..] != end[..SUM] {
        bail!("damaged: its checksum is wrong");
    }
    let after_format = (BEGIN.len() + 4) as u64;
    file.seek(SeekFrom::Start(after_format)).map_err(failed)?;
    let mut file = BufReader::new(file.take(summed.saturating_sub(after_format)));
    let head = Head::read(&mut file).map_err(|_| anyhow!("damaged: its head makes no sense"))?;
    let read = (2 * 4 + head.tool.len() + head.question.len() + SUM) as u64;
    if head.tool != expected.tool {
        bail!("a checkpoint of {}, and this is {}", head.tool, expected.tool);
    }
    if head.question != expected.question {
        bail!("a checkpoint of `{}`, and asked is `{}`", head.question, expected.question);
    }
    if head.input != expected.input && head.question == SEVERAL {
        bail!("a checkpoint of another command: other files, models or options were asked about");
    }
    if head.input != expected.input {
        let hex = |sum: &[u8; SUM]| sum[..8].iter().map(|b| format!("{b:02x}")).collect::<String>();
        let (its, ours) = (hex(&head.input), hex(&expected.input));
        bail!("a checkpoint of another input, whose SHA-256 begins with {its}, not with {ours}");
    }
    let start = after_format + read;
    Ok(Some((start, summed.saturating_sub(start))))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn head() -> Head {
        Head { tool: "weakspot 1".into(), question: "reach SC Weak".into(), input: [7; SUM] }
    }

    fn whole(head: &Head) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut summed = Summed { to: &mut bytes, sum: Sha256::new() };
        head.write(&mut summed).expect("memory takes all");
        summed.write_all(b"what was searched").expect("memory takes all");
        let sum = summed.sum.finalize();
        bytes.extend_from_slice(&sum);
        bytes.extend_from_slice(END);
        bytes
    }

    fn said(bytes: &[u8]) -> String {
        match check_whole(Cursor::new(bytes), bytes.len() as u64, &head()) {
            Ok(None) => "a signal has come".to_owned(),
            Ok(Some((start, length))) => {
                String::from_utf8_lossy(&bytes[start as usize..][..length as usize]).into_owned()
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_whole_one_is_taken() {
        assert_eq!(said(&whole(&head())), "what was searched");
    }

    #[test]
    fn others_are_refused_with_the_reason() {
        let tool = Head { tool: "weakspot 0".into(), ..head() };
        assert_eq!(said(&whole(&tool)), "a checkpoint of weakspot 0, and this is weakspot 1");
        let question = Head { question: "robust TSO Weak".into(), ..head() };
        assert_eq!(
            said(&whole(&question)),
            "a checkpoint of `robust TSO Weak`, and asked is `reach SC Weak`"
        );
        let input = Head { input: [9; SUM], ..head() };
        assert_eq!(
            said(&whole(&input)),
            "a checkpoint of another input, whose SHA-256 begins with 0909090909090909, not with \
             0707070707070707"
        );
        let mut format = whole(&head());
        format[BEGIN.len()] = 99;
        assert_eq!(
            said(&format),
            "a checkpoint of format 99, and this version of weakspot has format 3"
        );
        assert_eq!(said(b""), "no checkpoint of weakspot");
        assert_eq!(said(b"something else entirely, and longer"), "no checkpoint of weakspot");
    }

    /// Whatever is cut off or changed is noticed.
    #[test]
    fn damage_is_noticed_everywhere() {
        let good = whole(&head());
        for length in 1..good.len() {
            assert_eq!(said(&good[..length]), "cut short: the end of the checkpoint is missing");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            let said = said(&bad);
            let expected = match at {
                _ if at < BEGIN.len() => "no checkpoint of weakspot",
                _ if at < BEGIN.len() + 4 => "a checkpoint of format",
                _ if at >= good.len() - END.len() => "cut short",
                _ => "damaged: its checksum is wrong",
            };
            assert!(said.starts_with(expected), "{at}: {said}");
        }
    }
}
