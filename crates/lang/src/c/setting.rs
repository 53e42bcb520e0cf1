//! What a program in C means besides its text: the macros that the command line defines, and the text of its headers.

use std::io;
use std::path::{Path, PathBuf};

/// Headers whose functions and types are known, or refused by their names.
const HEADERS: [&str; 36] = [
    "assert.h",
    "pthread.h",
    "stdatomic.h",
    "stdint.h",
    "stdlib.h",
    "stdio.h",
    "stdbool.h",
    "stddef.h",
    "sched.h",
    "unistd.h",
    "limits.h",
    "inttypes.h",
    "string.h",
    "errno.h",
    "time.h",
    "sys/types.h",
    "emmintrin.h",
    "xmmintrin.h",
    "immintrin.h",
    "x86intrin.h",
    "threads.h",
    "semaphore.h",
    "signal.h",
    "stdalign.h",
    "memory.h",
    "malloc.h",
    "strings.h",
    "stdnoreturn.h",
    "sys/time.h",
    "sys/syscall.h",
    "sys/mman.h",
    "linux/futex.h",
    "ctype.h",
    "math.h",
    "features.h",
    "sys/cdefs.h",
];

/// Whether a header is one of the system, whose functions and types are known.
pub(super) fn is_of_system(header: &str) -> bool {
    HEADERS.contains(&header)
}

/// What compilers are told by `-D`, `-U` and `-I`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct COptions {
    /// Directives that stand before the text, one on a line.
    directives: String,
    /// Where headers are looked for besides the folder of who includes them.
    folders: Vec<PathBuf>,
}

impl COptions {
    /// From what follows `-D`, `-U` and `-I`. Names that are undefined are so whatever is defined.
    ///
    /// # Errors
    ///
    /// Something is no name of a macro.
    pub fn new(
        define: &[String],
        undefine: &[String],
        folders: Vec<PathBuf>,
    ) -> Result<COptions, String> {
        let mut directives = String::new();
        for given in define {
            let (name, value) = given.split_once('=').unwrap_or((given, "1"));
            let is_macro = name.split_once('(').map_or(is_name(name), |(name, parameters)| {
                is_name(name) && parameters.ends_with(')')
            });
            if !is_macro || given.contains('\n') {
                return Err(format!("-D {given}: expected NAME or NAME=VALUE"));
            }
            directives += &format!("#define {name} {value}\n");
        }
        for name in undefine {
            if !is_name(name) {
                return Err(format!("-U {name}: expected a name"));
            }
            directives += &format!("#undef {name}\n");
        }
        Ok(COptions { directives, folders })
    }
}

fn is_name(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What the text of a program in C is compiled with; nothing for other languages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    pub(super) directives: String,
    /// Names of headers as they are included, and their texts.
    headers: Vec<(String, String)>,
}

/// So much text headers have at most, and so many there are.
const MOST_BYTES: usize = 4 << 20;
const MOST_HEADERS: usize = 1_000;

impl Setting {
    /// What these options mean for a text that stands in this file. Headers that cannot be read are left out: who compiles
    /// the text says that they are missing, if it is so far that they matter.
    pub fn of(
        text: &str,
        path: &Path,
        options: &COptions,
        read: &mut dyn FnMut(&Path) -> io::Result<String>,
    ) -> Setting {
        let mut setting = Setting { directives: options.directives.clone(), headers: Vec::new() };
        let folder = |path: &Path| path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let mut texts = vec![(folder(path), included(text))];
        let mut bytes = 0;
        while let Some((own, names)) = texts.pop() {
            for (name, quoted) in names {
                let known = setting.headers.iter().any(|(header, _)| *header == name);
                if known || setting.headers.len() >= MOST_HEADERS || is_of_system(&name) {
                    continue;
                }
                let own = Some(&own).filter(|_| quoted);
                let mut places = own.into_iter().chain(&options.folders).map(|f| f.join(&name));
                let found = places.find_map(|path| Some((read(&path).ok()?, path)));
                let Some((text, path)) = found else { continue };
                bytes += text.len();
                if bytes > MOST_BYTES {
                    return setting;
                }
                texts.push((folder(&path), included(&text)));
                setting.headers.push((name, text));
            }
        }
        setting
    }

    /// The text of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, text)| text.as_str())
    }

    /// What a program is known by: its text, with all that it is compiled with if that is anything.
    #[must_use]
    pub fn identity<'a>(&self, text: &'a str) -> std::borrow::Cow<'a, str> {
        if *self == Setting::default() {
            return text.into();
        }
        let mut all = format!("{text}\0{}", self.directives);
        for (name, text) in &self.headers {
            all += &format!("\0{name}\0{text}");
        }
        all.into()
    }
}

/// The headers that a text may include, and whether their names stand in quotes.
fn included(text: &str) -> Vec<(String, bool)> {
    let header = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = rest.strip_prefix("include")?.trim_start();
        let (open, close) = if rest.starts_with('"') { ('"', '"') } else { ('<', '>') };
        let (name, _) = rest.strip_prefix(open)?.split_once(close)?;
        Some((name.to_owned(), open == '"'))
    };
    text.lines().filter_map(header).collect()
}
