//! Files that are written: all at once or not at all, and never over one that is read.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};

/// Writes a file. If that fails, the file is as it was before.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes.as_ref()).with_context(|| failed(path))?;
    file.finish()
}

/// Writes files, by name, to a folder, which is made if it is not there.
pub fn write_all(files: &[(String, Vec<u8>)], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("failed to make {}", folder.display()))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        write(&path, bytes)?;
    }
    Ok(())
}

/// Whether a reader has gone who has seen enough, as in `| head`.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    })
}

/// Where the product of a command goes: a file, or standard output for `-` and for no path.
pub enum Sink {
    /// A file.
    File(NewFile),
    /// Standard output.
    Stdout(BufWriter<io::Stdout>),
}

impl Sink {
    /// Opens it: standard output where no path is given.
    pub fn create(path: Option<&Path>) -> Result<Sink> {
        match path {
            Some(path) if path.as_os_str() != "-" => Ok(Sink::File(NewFile::create(path)?)),
            _ => Ok(Sink::Stdout(BufWriter::new(io::stdout()))),
        }
    }

    /// Everything is written.
    pub fn finish(self) -> Result<()> {
        match self {
            Sink::File(file) => file.finish(),
            Sink::Stdout(mut out) => Ok(out.flush()?),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes).map_err(|error| file.named(&error)),
            Sink::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush().map_err(|error| file.named(&error)),
            Sink::Stdout(out) => out.flush(),
        }
    }
}

/// A file that is written beside the one whose place it takes when it is finished; dropped before
/// that, it leaves nothing behind.
pub struct NewFile {
    /// The path as the user named it.
    path: PathBuf,
    out: BufWriter<File>,
    /// The temporary file and its place in the end; none if there is nothing to be saved, because
    /// what is written to is a device or a pipe.
    beside: Option<(Temporary, PathBuf)>,
}

impl NewFile {
    /// Begins a file beside its place.
    pub fn create(path: &Path) -> Result<NewFile> {
        let (file, beside) = open(path).with_context(|| failed(path))?;
        Ok(NewFile { path: path.to_owned(), out: BufWriter::new(file), beside })
    }

    /// An error, with the file that it is about.
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", failed(&self.path)))
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<()> {
        let NewFile { path, out, beside } = self;
        let put = || -> io::Result<()> {
            let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            if let Some((temporary, place)) = beside {
                // Some file systems find out only now that they are full.
                file.sync_all()?;
                std::fs::rename(&temporary.0, &place)?;
            }
            Ok(())
        };
        put().with_context(|| failed(&path))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn failed(path: &Path) -> String {
    format!("failed to write {}", path.display())
}

/// Opens a file beside `path`; or, if there is nothing that a file could take the place of, `path`
/// itself.
fn open(path: &Path) -> io::Result<(File, Option<(Temporary, PathBuf)>)> {
    let directly = || OpenOptions::new().write(true).create(true).truncate(true).open(path);
    let old = match path.metadata() {
        Ok(old) if !old.is_file() => return Ok((directly()?, None)),
        Ok(old) => {
            // Who may not write the file may not replace it either.
            OpenOptions::new().write(true).open(path)?;
            Some(old)
        }
        // A link that leads nowhere: what it names is created through it.
        Err(_) if path.is_symlink() => return Ok((directly()?, None)),
        Err(_) => None,
    };
    // A link stays, and what it leads to is replaced.
    let place = if old.is_some() { path.canonicalize()? } else { path.to_owned() };
    let (file, temporary) = match Temporary::create(&place) {
        Ok(made) => made,
        // A folder that takes no new files may have files that can be written.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && old.is_some() => {
            return Ok((directly()?, None));
        }
        Err(error) => return Err(error),
    };
    if let Some(old) = old {
        keep_owner(&file, &old);
        file.set_permissions(old.permissions())?;
    }
    Ok((file, Some((temporary, place))))
}

/// Gives a file the owner of the one that it replaces, as far as that is allowed.
fn keep_owner(file: &File, old: &std::fs::Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    #[cfg(not(unix))]
    let _ = (file, old);
}

/// A file that goes away with its owner, unless it has been renamed.
struct Temporary(PathBuf);

/// Those that there are now, to be removed when the program ends without their owners.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is not finished, before the program ends.
pub fn abandon() {
    for path in temporaries().drain(..) {
        let _ = std::fs::remove_file(path);
    }
}

/// A file that grows beyond `ulimit -f` is an error like a full disk, and not the end of the program. That holds
/// for standard output as well, so it is called first of all.
pub fn hear_of_large_files() {
    #[cfg(unix)]
    {
        let nobody = std::sync::Arc::default();
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, nobody);
    }
}

impl Temporary {
    fn create(place: &Path) -> io::Result<(File, Temporary)> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = place.file_name().ok_or(ErrorKind::InvalidFilename)?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{number}.part", std::process::id()));
            let path = place.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    temporaries().push(path.clone());
                    return Ok((file, Temporary(path)));
                }
                // Left behind by a process of the same number that was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        temporaries().retain(|path| *path != self.0);
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Removes what processes that are no more have left behind beside `path`: those that write large files again
/// and again, and are killed, would fill the disk.
pub fn sweep_up(path: &Path) {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Some(name), Ok(entries)) = (path.file_name(), std::fs::read_dir(folder)) else { return };
    let begin = format!(".{}.", name.to_string_lossy());
    // Only where it is known who is alive.
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| {
            let (process, number) =
                name.strip_prefix(&begin)?.strip_suffix(".part")?.split_once('-')?;
            number.parse::<u32>().ok()?;
            process.parse::<u32>().ok()
        });
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Refuses to write what `option` asks for over one of the inputs.
pub fn spare_inputs<P: AsRef<Path>>(
    option: &str,
    output: Option<&Path>,
    inputs: &[P],
) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    if inputs.iter().any(|input| is_same_file(input.as_ref(), output)) {
        bail!("{option} {} would overwrite the input", output.display());
    }
    Ok(())
}

/// Whether two paths, perhaps over links, lead to one file.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok().filter(|p| p.is_file());
    real(a).is_some_and(|a| real(b) == Some(a))
}

#[cfg(test)]
mod tests;
