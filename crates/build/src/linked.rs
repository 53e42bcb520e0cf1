//! What of a linked program no compiler of ours has made. The linker says which files it takes, members of
//! archives one by one; each of them that has code has to have our note in it.

use std::fs;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};

/// The note in an object that says who compiled it.
pub const COMPILED: &str = "weakspot cc";

/// Lets a linker say which files it takes.
pub(crate) const TRACE: &str = "-Wl,--trace,--trace";

/// Parts of compilers and of libc, whose effects are known.
const KNOWN: [&str; 6] =
    ["libgcc.a", "libgcc_eh.a", "libc_nonshared.a", "libpthread.a", "libstdc++.a", "libsupc++.a"];

/// What a linker has said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Traced {
    /// Objects with code that is not instrumented.
    pub(crate) foreign: Vec<String>,
    /// What it said besides the names of files.
    pub(crate) rest: Vec<String>,
}

/// What a linker has said while it was told to trace. `sources`: what the compiler made objects of that are
/// gone by now.
pub(crate) fn traced(output: &str, sources: &[&str]) -> Traced {
    let mut found = Traced::default();
    for line in output.lines() {
        let (path, member) = named(line);
        let file = Path::new(path);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if is_of_compiler(&name) {
            continue;
        }
        match (fs::read(file), member) {
            (Ok(bytes), Some(member)) => {
                if is_foreign_member(&bytes, member) {
                    found.foreign.push(format!("{path}({member})"));
                }
            }
            (Ok(bytes), None) => {
                if !is_archive(&bytes) && is_foreign(&bytes) {
                    found.foreign.push(path.to_owned());
                }
            }
            (Err(_), _) if name.ends_with(".o") => {
                let sources = sources.iter().map(|source| source.to_string());
                found.foreign.extend(sources);
            }
            (Err(_), _) => found.rest.push(line.to_owned()),
        }
    }
    found.foreign.sort();
    found.foreign.dedup();
    found
}

/// The file that a line is about, and which member of it: `archive(member)`, or `(archive)member`.
fn named(line: &str) -> (&str, Option<&str>) {
    if let Some((archive, member)) = line.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        return (archive, Some(member));
    }
    match line.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((archive, member)) => (archive, Some(member)),
        None => (line, None),
    }
}

fn is_of_compiler(name: &str) -> bool {
    let start = name.trim_start_matches(['S', 'M', 'g', 'r']);
    KNOWN.contains(&name) || start.starts_with("crt") && name.ends_with(".o")
}

fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n")
}

/// Whether a member with this name has code that is not ours; what cannot be read may.
fn is_foreign_member(archive: &[u8], member: &str) -> bool {
    let Ok(parsed) = ArchiveFile::parse(archive) else { return true };
    let members = parsed.members().flatten().filter(|m| m.name() == member.as_bytes());
    members.map(|m| m.data(archive).map_or(true, is_foreign)).fold(None, or).unwrap_or(true)
}

fn or(before: Option<bool>, next: bool) -> Option<bool> {
    Some(before.unwrap_or(false) || next)
}

/// Whether an object has code and nothing in it says that we have compiled it. Shared libraries are looked
/// at when the program runs.
fn is_foreign(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else {
        // Scripts of the linker name other files; all else that cannot be read may be code.
        return str::from_utf8(bytes).is_err();
    };
    if file.kind() != object::ObjectKind::Relocatable {
        return false;
    }
    let comment = file.section_by_name(".comment").and_then(|section| section.data().ok());
    let mut comments = comment.unwrap_or(&[]).split(|byte| *byte == 0);
    let ours = comments.any(|text| text == COMPILED.as_bytes())
        || file.symbols().any(|s| s.name_bytes().is_ok_and(|name| name.starts_with(b"__tsan_")));
    // Several objects that became one are ours if each of them is: each has a name, and calls the runtime
    // library when the program starts.
    let files = file.symbols().filter(|s| s.kind() == object::SymbolKind::File).count();
    let begins = |name: &[u8]| name.starts_with(b"_sub_I_00099_") || name == b"tsan.module_ctor";
    let started = file.symbols().filter(|s| s.name_bytes().is_ok_and(begins)).count();
    let ours = ours && (files < 2 || started >= files);
    let is_code = |section: object::Section<'_, '_>| {
        let late = section.name_bytes().is_ok_and(|name| name.starts_with(b".gnu.lto_"));
        late || section.kind() == SectionKind::Text && section.size() > 0
    };
    !ours && file.sections().any(is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_members() {
        for (line, expected) in [
            ("/lib/libc.so.6", ("/lib/libc.so.6", None)),
            ("(./libfoo.a)foo.o", ("./libfoo.a", Some("foo.o"))),
            ("./libfoo.a(foo.o)", ("./libfoo.a", Some("foo.o"))),
        ] {
            assert_eq!(named(line), expected);
        }
        assert!(is_of_compiler("Scrt1.o") && is_of_compiler("crtbeginS.o"));
        assert!(!is_of_compiler("crypt.o") && !is_of_compiler("sort.o"));
    }

    #[test]
    fn what_is_said_besides_is_kept() {
        let output = "no such file or folder\n/tmp/no-such-object.o\n";
        let found = traced(output, &["fast.S"]);
        assert_eq!(found.rest, ["no such file or folder"]);
        assert_eq!(found.foreign, ["fast.S"]);
    }
}
