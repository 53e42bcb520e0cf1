//! Code of a program that nobody has instrumented, although it is neither libc nor the standard library of
//! Rust: objects and archives that build scripts link in, shared libraries, assembly of C that `weakspot cc`
//! could not see through.

use std::collections::HashSet;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol};
use weakspot_build::{COMPILED, UNSEEN};

use crate::Result;
use crate::facts::symbols::unread;
use crate::runtime::child::Linked;

/// Shared libraries whose effects are known: those of the system, and ours.
const KNOWN: [&str; 11] = [
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libutil.so",
    "ld-linux",
    "libgcc_s.so",
    "libstdc++.so",
    "libweakspot_rt.so",
    "linux-vdso.so",
];

/// What is not instrumented in a program, by name.
pub(crate) fn unseen(program: &Path, linked: &Linked) -> Result<Vec<String>> {
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let mut found = noted(&file);
    let defined: HashSet<&[u8]> =
        file.symbols().filter(|s| !s.is_undefined()).filter_map(|s| s.name_bytes().ok()).collect();
    let own = linked.assembly.iter().filter(|(function, _)| defined.contains(function.as_bytes()));
    found.extend(own.map(|(_, what)| what.clone()));
    for path in &linked.archives {
        // What is not there was not linked.
        let Ok(bytes) = std::fs::read(path) else { continue };
        let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match ArchiveFile::parse(&*bytes) {
            Ok(archive) => {
                for member in archive.members().flatten() {
                    let name = String::from_utf8_lossy(member.name()).into_owned();
                    if member.data(&*bytes).is_ok_and(|data| is_unseen(data, &defined)) {
                        found.push(format!("{shown}({name})"));
                    }
                }
            }
            Err(_) if is_unseen(&bytes, &defined) => found.push(shown),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Whether a program has steps that may be exchanged: readers of locks, semaphores that are raised, and what `weakspot cc` calls by other names because
/// nobody is told in which order it comes.
pub(crate) fn has_steps_in_no_order(program: &Path) -> Result<bool> {
    const CALLS: [&[u8]; 3] = [b"__weakspot_barrier_wait", b"pthread_rwlock_rdlock", b"sem_post"];
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let in_no_order = |name: &[u8]| CALLS.contains(&name) || name.starts_with(b"__weakspot_atomic");
    let called = |s: object::Symbol<'_, '_>| s.name_bytes().is_ok_and(in_no_order);
    Ok(file.dynamic_symbols().any(called))
}

/// Whether an object is part of a program that defines these symbols, and was made by another compiler.
fn is_unseen(object: &[u8], defined: &HashSet<&[u8]>) -> bool {
    let Ok(file) = object::File::parse(object) else { return false };
    let ours = comments(&file).iter().any(|comment| comment.starts_with(COMPILED))
        || file.symbols().any(|s| s.name_bytes().is_ok_and(|name| name.starts_with(b"__tsan_")));
    let has_code = |s: &object::Symbol<'_, '_>| {
        s.kind() == object::SymbolKind::Text && s.is_global() && !s.is_undefined()
    };
    let mut functions = file.symbols().filter(has_code);
    !ours && functions.any(|s| s.name_bytes().is_ok_and(|name| defined.contains(name)))
}

/// Assembly in C that could not be seen through, and objects of other compilers: ours has left a note.
fn noted(file: &object::File<'_>) -> Vec<String> {
    let mut found: Vec<String> = comments(file)
        .iter()
        .filter_map(|comment| comment.strip_prefix(UNSEEN))
        .map(|what| what.trim().to_owned())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// What compilers say about themselves.
fn comments(file: &object::File<'_>) -> Vec<String> {
    let section = file.section_by_name(".comment");
    let data = section.and_then(|section| section.data().ok()).unwrap_or(&[]);
    data.split(|byte| *byte == 0)
        .filter(|text| !text.is_empty())
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect()
}

/// The same for each of the files that are mapped into a program.
pub(crate) fn unseen_in_libraries<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let files: Vec<&Path> = files.collect();
    let is_atomic = |file: &Path| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libatomic.so"))
    };
    // Atomic accesses are calls of ours: it has functions for the others only, such as those of many bytes.
    let is_used = || files.iter().any(|file| !is_atomic(file) && imports(file, b"__atomic_"));
    let counts = |file: &Path| !is_atomic(file) || is_used();
    files.iter().filter(|file| counts(file)).flat_map(|file| unseen_in_library(file)).collect()
}

/// Functions of libc that read or write memory of the program, and are not among those that announce it.
const SILENT: [&str; 104] = [
    "asctime_r",
    "bsearch",
    "ctime_r",
    "drand48_r",
    "fgetws",
    "fputws",
    "frexpl",
    "fscanf",
    "__isoc23_fscanf",
    "__isoc99_fscanf",
    "fstatvfs",
    "__fxstat",
    "getcwd",
    "getdelim",
    "gethostname",
    "getline",
    "getpeername",
    "getrlimit",
    "getrusage",
    "getsockname",
    "getsockopt",
    "hsearch_r",
    "iconv",
    "inet_ntop",
    "inet_pton",
    "initstate_r",
    "lfind",
    "lgammaf_r",
    "lsearch",
    "__lxstat",
    "mbrtowc",
    "mbsrtowcs",
    "mbstowcs",
    "memccpy",
    "memfrob",
    "memmem",
    "modfl",
    "pread64",
    "preadv",
    "preadv64",
    "pwrite64",
    "pwritev",
    "pwritev64",
    "qsort_r",
    "random_r",
    "rawmemchr",
    "readlink",
    "realpath",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "regexec",
    "remquof",
    "scanf",
    "__isoc23_scanf",
    "__isoc99_scanf",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "setbuf",
    "setbuffer",
    "setvbuf",
    "sincosl",
    "socketpair",
    "srandom_r",
    "statvfs",
    "statx",
    "stpncpy",
    "strcasestr",
    "strchrnul",
    "strcoll",
    "strerror_r",
    "__xpg_strerror_r",
    "strfmon",
    "strftime",
    "strptime",
    "strsep",
    "strtold",
    "strverscmp",
    "strxfrm",
    "swab",
    "tdelete",
    "tfind",
    "times",
    "tsearch",
    "twalk",
    "uname",
    "wcrtomb",
    "wcscat",
    "wcschr",
    "wcscmp",
    "wcscpy",
    "wcslen",
    "wcsncmp",
    "wcsncpy",
    "wcsrtombs",
    "wcsstr",
    "wcstombs",
    "wmemchr",
    "wmemcmp",
    "wmemcpy",
    "wmemmove",
    "wmemset",
    "__xstat",
];

/// Classes of libstdc++ whose objects are read and written by functions that are compiled into the library: how the names of
/// these functions begin, and what the class is called.
const SILENT_CLASSES: [(&str, &str); 9] = [
    ("_ZNSt7__cxx1118basic_stringstream", "std::stringstream"),
    ("_ZNSt7__cxx1119basic_ostringstream", "std::ostringstream"),
    ("_ZNSt7__cxx1119basic_istringstream", "std::istringstream"),
    ("_ZNSt7__cxx1115basic_stringbuf", "std::stringbuf"),
    ("_ZNSt13basic_fstream", "std::fstream"),
    ("_ZNSt14basic_ofstream", "std::ofstream"),
    ("_ZNSt14basic_ifstream", "std::ifstream"),
    ("_ZNSt10filesystem7__cxx114path", "std::filesystem::path"),
    ("_ZNSt3pmr", "std::pmr"),
];

/// What a program calls that announces nothing.
#[derive(Default)]
pub(crate) struct Silent {
    /// Functions of libc.
    pub(crate) libc: Vec<&'static str>,
    /// Classes of libstdc++.
    pub(crate) classes: Vec<&'static str>,
}

/// Which of these a program calls, by name.
pub(crate) fn silent_functions(program: &Path) -> Silent {
    let Ok(bytes) = std::fs::read(program) else { return Silent::default() };
    let Ok(file) = object::File::parse(&*bytes) else { return Silent::default() };
    let wanted: HashSet<&[u8]> = file
        .dynamic_symbols()
        .filter(|s| s.is_undefined())
        .filter_map(|s| s.name_bytes().ok())
        .collect();
    let begins = |with: &str| wanted.iter().any(|name| name.starts_with(with.as_bytes()));
    let classes = SILENT_CLASSES.into_iter().filter(|(with, _)| begins(with));
    Silent {
        libc: SILENT.into_iter().filter(|name| wanted.contains(name.as_bytes())).collect(),
        classes: classes.map(|(_, class)| class).collect(),
    }
}

/// Whether a file wants functions of others whose names begin like this.
fn imports(file: &Path, names: &[u8]) -> bool {
    let Ok(bytes) = std::fs::read(file) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    file.dynamic_symbols()
        .any(|s| s.is_undefined() && s.name_bytes().is_ok_and(|name| name.starts_with(names)))
}

/// What is not instrumented in a file that is mapped into a program: all of a shared library that nobody has
/// instrumented and whose effects are not known, or what one of ours has notes about.
fn unseen_in_library(path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.contains(".so") || KNOWN.iter().any(|known| name.starts_with(known)) {
        return Vec::new();
    }
    let whole = || vec![path.display().to_string()];
    let Ok(bytes) = std::fs::read(path) else { return whole() };
    let Ok(file) = object::File::parse(&*bytes) else { return whole() };
    let is_ours =
        |s: object::Symbol<'_, '_>| s.name_bytes().is_ok_and(|name| name.starts_with(b"__tsan_"));
    if file.dynamic_symbols().any(is_ours) { noted(&file) } else { whole() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{silent_functions, unseen_in_libraries};

    #[test]
    fn functions_that_announce_nothing() {
        let own = silent_functions(Path::new("/proc/self/exe"));
        assert!(own.libc.contains(&"getcwd") && !own.libc.contains(&"wcslen"), "{:?}", own.libc);
        assert!(own.classes.is_empty(), "{:?}", own.classes);
    }

    #[test]
    fn a_library_that_nobody_calls() {
        let of = |files: [&str; 2]| unseen_in_libraries(files.into_iter().map(Path::new));
        let own = "/proc/self/exe";
        assert!(of([own, "/nowhere/libatomic.so.1"]).is_empty());
        assert_eq!(of([own, "/nowhere/libother.so.1"]), ["/nowhere/libother.so.1"]);
    }
}
