//! What addresses of a program are called in its source.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use addr2line::Loader;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use weakspot_live::wire::{Place, StackFrame};

use crate::facts::Code;
use crate::facts::lines::Lines;
use crate::facts::naming::Naming;
use crate::facts::variables::{Local, Scalar, Variables};
use crate::{Error, Result};

/// The files that are mapped into a program.
#[derive(Default)]
pub(crate) struct Symbols {
    modules: Vec<Module>,
    naming: Naming,
    /// What was asked for before: many steps are in the same places.
    known: RefCell<HashMap<Place, Vec<Frame>>>,
}

struct Module {
    base: u64,
    end: u64,
    path: String,
    file: Rc<File>,
}

/// A file that is mapped. Each part is read when it is first asked for; `None` if it cannot be.
#[derive(Default)]
pub(crate) struct File {
    /// What is known of its code, as a program in C and as one in Rust.
    code: [OnceCell<Rc<Code>>; 2],
    loader: OnceCell<Option<Loader>>,
    /// Whether its addresses are absolute, since it is not relocatable.
    absolute: OnceCell<Option<bool>>,
    variables: OnceCell<Option<Variables>>,
}

/// A file as it was when it was read: which one it is, how long, and when it was changed.
#[derive(PartialEq, Eq, Hash)]
struct Version(u64, u64, u64, i64, i64);

/// Maximum number of files that are remembered.
const MOST_FILES: usize = 16;

thread_local! {
    /// Files that were read before: the tests of a crate are the same program, whose debug information takes
    /// longer to read than most tests.
    static FILES: RefCell<HashMap<Version, Rc<File>>> = RefCell::default();
}

impl File {
    pub(crate) fn at(path: &Path) -> Rc<File> {
        let Ok(meta) = std::fs::metadata(path) else { return Rc::default() };
        let version = Version(meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        FILES.with_borrow_mut(|files| {
            if files.len() >= MOST_FILES && !files.contains_key(&version) {
                files.clear();
            }
            Rc::clone(files.entry(version).or_default())
        })
    }

    /// What is known of its code; it is at this path.
    pub(crate) fn code(&self, path: &Path, rust: bool) -> Result<Rc<Code>> {
        let known = &self.code[usize::from(rust)];
        if let Some(code) = known.get() {
            return Ok(Rc::clone(code));
        }
        let code = Rc::new(Code::of(path, rust)?);
        Ok(Rc::clone(known.get_or_init(|| code)))
    }

    /// Its debug information; it is at this path.
    fn loader(&self, path: &Path) -> Option<&Loader> {
        self.loader.get_or_init(|| Loader::new(path).ok()).as_ref()
    }
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// Whether it is in the standard library of Rust.
    pub(crate) library: bool,
    pub(crate) column: Option<u32>,
    /// The file with all of its folders.
    pub(crate) path: Option<String>,
}

impl Frame {
    /// Whether it is in code that people have written themselves.
    pub(crate) fn is_own(&self) -> bool {
        self.file.is_some() && !self.library
    }
}

impl Symbols {
    /// Those of a program, whose sources have these names.
    pub(crate) fn with_names(naming: Naming) -> Symbols {
        Symbols { naming, ..Symbols::default() }
    }

    /// The files that are mapped: first byte, end and path of each. They are the same in all runs.
    pub(crate) fn fill(&mut self, modules: Vec<(u64, u64, String)>) {
        if self.modules.is_empty() {
            let module = |(base, end, path): (u64, u64, String)| {
                let file = File::at(Path::new(&path));
                Module { base, end, path, file }
            };
            self.modules = modules.into_iter().map(module).collect();
        }
    }

    /// The files that are mapped.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.modules.iter().map(|module| Path::new(&module.path))
    }

    /// The source of a place in lines for people, innermost function first.
    pub(crate) fn lines(&self, place: Place) -> Vec<String> {
        let line = |frame: &Frame| {
            let file = match (&frame.file, frame.line) {
                (Some(file), Some(line)) => format!("{file}:{line}"),
                (Some(file), None) => file.clone(),
                (None, _) => String::new(),
            };
            match &frame.function {
                Some(function) => format!("{file} in {function}").trim_start().to_owned(),
                None => file,
            }
        };
        let frames = self.frames(place);
        if frames.is_empty() { vec![self.text(place)] } else { frames.iter().map(line).collect() }
    }

    /// The same for calls that have led somewhere, the innermost first: for the first of them that is in
    /// the user's own code.
    pub(crate) fn own_lines(&self, places: &[Place]) -> Vec<String> {
        let own = |&&place: &&Place| self.frames(place).iter().any(Frame::is_own);
        let place = places.iter().find(own).or(places.first());
        place.map_or(Vec::new(), |&place| self.lines(place))
    }

    /// The same as [`Symbols::text`] does.
    pub(crate) fn own_text(&self, places: &[Place]) -> Option<String> {
        let own = |&&place: &&Place| self.frames(place).iter().any(Frame::is_own);
        places.iter().find(own).or(places.first()).map(|&place| self.text(place))
    }

    /// The source of a place, innermost function first, then those that it was inlined into. The
    /// place is where a call returns to; what is meant is the call.
    pub(crate) fn frames(&self, place: Place) -> Vec<Frame> {
        if let Some(known) = self.known.borrow().get(&place) {
            return known.clone();
        }
        let frames = self.find_frames(place);
        self.known.borrow_mut().insert(place, frames.clone());
        frames
    }

    fn find_frames(&self, place: Place) -> Vec<Frame> {
        let Some(module) = place.module.and_then(|m| self.modules.get(m as usize)) else {
            return Vec::new();
        };
        let (Some(loader), Some(start)) = (module.loader(), module.start()) else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        if let Ok(mut found) = loader.find_frames((start + place.offset).saturating_sub(1)) {
            while let Ok(Some(frame)) = found.next() {
                let location = frame.location.as_ref();
                frames.push(Frame {
                    function: frame
                        .function
                        .and_then(|name| name.demangle().ok().map(|name| name.into_owned())),
                    file: location.and_then(|l| l.file).map(|file| self.shorter(file)),
                    line: location.and_then(|l| l.line),
                    library: location.and_then(|l| l.file).is_some_and(is_library),
                    column: location.and_then(|l| l.column),
                    path: location.and_then(|l| l.file).map(str::to_owned),
                });
            }
        }
        frames
    }

    /// A place as `file:line`, or as what is known of it.
    pub(crate) fn text(&self, place: Place) -> String {
        let frames = self.frames(place);
        let file_line = |frame: &Frame| Some(format!("{}:{}", frame.file.as_ref()?, frame.line?));
        // What a standard library has inlined is about the place that called it.
        let own = frames.iter().find(|frame| frame.is_own());
        if let Some(text) = own.and_then(file_line).or_else(|| frames.iter().find_map(file_line)) {
            return text;
        }
        let module = place.module.and_then(|m| self.modules.get(m as usize));
        let name = module.and_then(|m| Path::new(&m.path).file_name()?.to_str());
        match (frames.first().and_then(|f| f.function.clone()), name) {
            (Some(function), _) => function,
            (None, Some(name)) => format!("{name}+{:#x}", place.offset),
            (None, None) => format!("{:#x}", place.offset),
        }
    }

    /// What stands in the source at a place of the user's own code.
    pub(crate) fn source(&self, place: Place, lines: &mut Lines) -> Option<String> {
        let frame = self.frames(place).into_iter().find(|frame| !frame.library)?;
        let text = lines.line(frame.path?, frame.line?)?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The function of the user's own code that begins at an address.
    pub(crate) fn function(&self, address: u64) -> Option<String> {
        let number = self.modules.iter().position(|m| (m.base..m.end).contains(&address))?;
        let module = Some(u16::try_from(number).ok()?);
        // Places are where calls return to, so that the byte before is looked at.
        let place = Place { module, offset: address - self.modules[number].base + 1 };
        let frames = self.frames(place);
        let outermost = frames.last().filter(|frame| !frame.library && frame.file.is_some())?;
        outermost.function.clone()
    }

    /// What a file is called: from `library` on, if it is the standard library of Rust.
    fn shorter(&self, path: &str) -> String {
        if let Some((_, rest)) = path.strip_prefix(LIBRARY).and_then(|rest| rest.split_once('/')) {
            return rest.to_owned();
        }
        if let Some(rest) = path.strip_prefix(DEPENDENCIES) {
            return format!("library/{rest}");
        }
        self.naming.name(path)
    }

    /// What a program says of itself when it panics, with the names that its sources have here.
    pub(crate) fn said(&self, text: &str) -> String {
        self.naming.said(text)
    }

    /// Whether a place may be called so: `file:line`, in any folder that the file may be named from.
    pub(crate) fn is_called(&self, place: Place, text: &str) -> bool {
        let frames = self.frames(place);
        let own = frames.iter().find(|frame| frame.is_own());
        let called = |frame: &Frame| {
            let (path, line) = (frame.path.as_ref()?, frame.line?);
            let (file, at) = text.rsplit_once(':')?;
            let names = self.naming.names(path);
            // From a folder above it has more in front.
            let whole = Path::new(&names[2]);
            let above = |name: &str| file.ends_with(&format!("/{name}")) && whole.ends_with(file);
            let is_name = names.iter().any(|name| name == file || above(name));
            Some(at.parse() == Ok(line) && is_name)
        };
        self.text(place) == text || own.and_then(called).unwrap_or(false)
    }

    /// Which part these bytes are of so many that a pointer with this name points to, if it is known what
    /// that is.
    pub(crate) fn pointed_to(
        &self,
        pointer: &str,
        shown: &str,
        bytes: (u64, u64),
        all: u64,
    ) -> Option<String> {
        let last = pointer.rsplit(['.', '>']).next()?.split('[').next()?;
        let own = self.modules.iter().filter(|m| !m.path.starts_with("/usr/lib"));
        own.filter_map(Module::variables).find_map(|v| v.pointed_to(last, shown, bytes, all))
    }

    /// The variables that a function has on the stack.
    pub(crate) fn locals(&self, frame: &StackFrame) -> Vec<Local> {
        let found = self
            .variables_at(frame.place)
            .and_then(|(variables, at)| variables.locals(at, frame.sp, frame.bp));
        found.unwrap_or_default()
    }

    /// What bytes of a variable on the stack are called.
    pub(crate) fn local(
        &self,
        frame: &StackFrame,
        local: &Local,
        addr: u64,
        len: u64,
    ) -> Option<String> {
        let (variables, _) = self.variables_at(frame.place)?;
        Some(variables.part_of(local, addr, len))
    }

    /// How the bytes of a variable on the stack are read.
    pub(crate) fn scalar_of(
        &self,
        frame: &StackFrame,
        local: &Local,
        addr: u64,
        len: u64,
    ) -> Option<Scalar> {
        self.variables_at(frame.place)?.0.scalar_of(local, addr, len)
    }

    /// How the bytes at an address of data are read.
    pub(crate) fn scalar(&self, address: u64, len: u64) -> Option<Scalar> {
        let module = self.modules.iter().find(|m| (m.base..m.end).contains(&address))?;
        module.variables()?.scalar(module.start()? + (address - module.base), len)
    }

    /// The same for what a pointer points to, as in [`Symbols::pointed_to`].
    pub(crate) fn scalar_pointed_to(
        &self,
        pointer: &str,
        bytes: (u64, u64),
        all: u64,
    ) -> Option<Scalar> {
        let last = pointer.rsplit(['.', '>']).next()?.split('[').next()?;
        let own = self.modules.iter().filter(|m| !m.path.starts_with("/usr/lib"));
        own.filter_map(Module::variables).find_map(|v| v.scalar_pointed_to(last, bytes, all))
    }

    /// The variables of the file that a place is in, and where in that file it is.
    fn variables_at(&self, place: Place) -> Option<(&Variables, u64)> {
        let module = self.modules.get(usize::from(place.module?))?;
        Some((module.variables()?, module.start()? + place.offset))
    }

    /// What is at an address of data: a variable, and which part of it, or how many bytes into it.
    pub(crate) fn data(&self, address: u64, len: u64) -> Option<String> {
        let module = self.modules.iter().find(|m| (m.base..m.end).contains(&address))?;
        let (loader, start) = (module.loader()?, module.start()?);
        let probe = start + (address - module.base);
        if let Some(name) = module.variables().and_then(|all| all.name(probe, len)) {
            return Some(name);
        }
        let symbol = loader.find_symbol_info(probe)?;
        // Short names of C would be taken for types of C++.
        let name = match symbol.name() {
            mangled if mangled.starts_with("_Z") || mangled.starts_with("_R") => {
                addr2line::demangle_auto(mangled.into(), None)
            }
            name => name.into(),
        };
        let name = shortened(&name);
        match probe - symbol.address() {
            0 => Some(name),
            offset => Some(format!("{name}+{offset}")),
        }
    }
}

impl Module {
    fn loader(&self) -> Option<&Loader> {
        self.file.loader(Path::new(&self.path))
    }

    fn variables(&self) -> Option<&Variables> {
        self.file.variables.get_or_init(|| Variables::of(Path::new(&self.path))).as_ref()
    }

    /// What has to be added to offsets in the file.
    fn start(&self) -> Option<u64> {
        let absolute = self.file.absolute.get_or_init(|| {
            // ELF: the type of the file is its 17th byte; 2 is a program that is not relocatable.
            let mut head = [0; 18];
            let mut file = std::fs::File::open(&self.path).ok()?;
            std::io::Read::read_exact(&mut file, &mut head).ok()?;
            Some(head[16] == 2)
        });
        absolute.map(|absolute| if absolute { self.base } else { 0 })
    }
}

/// A name of C++ without the types of its templates, if it would not fit a line.
fn shortened(name: &str) -> String {
    const LONG: usize = 40;
    if name.len() <= LONG || !name.contains('<') {
        return name.to_owned();
    }
    let mut out = String::new();
    let mut depth = 0_u32;
    for (at, c) in name.char_indices() {
        match c {
            '<' if !name[..at].ends_with("operator") => depth += 1,
            '>' if depth > 0 && !name[..at].ends_with('-') => depth -= 1,
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// Refuses a program whose accesses to memory would not be seen.
pub(crate) fn check_instrumented(program: &Path) -> Result<()> {
    let shown = program.display();
    // Devices and pipes have no end.
    if !program.metadata().map_err(unread(program))?.is_file() {
        return Err(Error::new(format!("{shown} is no compiled program: it is no file")));
    }
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(|_| {
        let compiler = match program.extension().and_then(|ending| ending.to_str()) {
            Some("c") => Some("cc"),
            Some("cc" | "cpp" | "cxx") => Some("c++"),
            _ => None,
        };
        let expected = match compiler {
            Some(compiler) => {
                let source = program.strip_prefix(".").unwrap_or(program);
                let made = source.with_extension("");
                let (source, made) = (source.display(), made.display());
                format!("compile it first: weakspot {compiler} -g -pthread '{source}' -o '{made}'")
            }
            None => "expected one that `weakspot cc` made".to_owned(),
        };
        Error::new(format!("{shown} is no compiled program; {expected}"))
    })?;
    let mut names = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok());
    if !names.any(|name| name.starts_with("__tsan_")) {
        return Err(Error::new(format!(
            "{shown} was not compiled by `weakspot cc` or `weakspot c++`: nothing of it is seen"
        )));
    }
    Ok(())
}

/// Whether a program has the harness that Rust's compiler gives to tests.
pub fn has_harness(program: &Path) -> Result<bool> {
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let mut names = file.symbols().filter_map(|symbol| symbol.name().ok());
    Ok(names.any(|name| name.contains("4test") && name.contains("test_main_static")))
}

/// Where the function of a test is, in a program with the harness of Rust: how far from the beginning.
pub(crate) fn test_function(program: &Path, test: &str) -> Result<Option<u64>> {
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let last = test.rsplit("::").next().unwrap_or(test);
    let mut closure = None;
    for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
        let Ok(mangled) = symbol.name() else { continue };
        if !mangled.contains(last) {
            continue;
        }
        let plain = addr2line::demangle_auto(mangled.into(), None);
        // Behind the name of the crate; if it was inlined, it is in what the harness calls.
        let Some((_, path)) = plain.trim_start_matches('<').split_once("::") else { continue };
        let offset = symbol.address() - base;
        match path.strip_prefix(test) {
            Some("") => return Ok(Some(offset)),
            Some(rest)
                if rest.starts_with("::{closure#0} as ") && rest.ends_with("::call_once") =>
            {
                closure = Some((symbol.address(), symbol.size()));
            }
            _ => {}
        }
    }
    let known = File::at(program);
    let (Some((from, len)), Some(loader)) = (closure, known.loader(program)) else {
        return Ok(None);
    };
    let is_inside = |address: &u64| is_within(loader, *address, test);
    Ok((from..from + len).find(is_inside).map(|address| address - base))
}

/// Whether an address belongs to the function of a test, or to one that was inlined into it.
fn is_within(loader: &Loader, address: u64, test: &str) -> bool {
    let Ok(mut frames) = loader.find_frames(address) else { return false };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|name| name.demangle().ok());
        if name.is_some_and(|name| name.split_once("::").is_some_and(|(_, path)| path == test)) {
            return true;
        }
    }
    false
}

/// For a program that cannot be read.
pub(crate) fn unread<E: std::fmt::Display>(program: &Path) -> impl FnOnce(E) -> Error {
    Error::because(format!("failed to read {}", program.display()))
}

/// Where functions with one of these names are in a program: how far from its beginning, and how
/// many bytes.
pub(crate) fn functions(program: &Path, names: &[String]) -> Result<Vec<(u64, u64)>> {
    let shown = program.display();
    let bytes = std::fs::read(program).map_err(unread(program))?;
    let file = object::File::parse(&*bytes).map_err(unread(program))?;
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
    let mut found = Vec::new();
    for name in names {
        let before = found.len();
        let mut like: Option<String> = None;
        for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
            let Ok(mangled) = symbol.name() else { continue };
            let plain = addr2line::demangle_auto(mangled.into(), None);
            // With or without its types, and its hash in Rust.
            let short = plain.split(['(', '<']).next().unwrap_or("");
            if mangled == name || plain == *name || short == name {
                found.push((symbol.address() - base, symbol.size()));
            } else if short.strip_suffix(name.as_str()).is_some_and(|path| path.ends_with("::")) {
                like = Some(short.to_owned());
            }
        }
        if found.len() == before {
            let why = match like {
                Some(like) => format!("expected its whole name, such as `{like}`"),
                None => "a function that was inlined everywhere is not there any more".to_owned(),
            };
            return Err(Error::new(format!("there is no function `{name}` in {shown}; {why}")));
        }
    }
    Ok(found)
}

/// Where the standard library was when it was compiled; a hash and `library` follow.
const LIBRARY: &str = "/rustc/";
/// The same of what it is made of, such as the hash tables of `hashbrown`.
const DEPENDENCIES: &str = "/rust/deps/";

/// Whether a source belongs to a standard library or to the compiler: what it has inlined is about
/// the place that called it.
fn is_library(file: &str) -> bool {
    const SYSTEM: [&str; 4] = [DEPENDENCIES, "/usr/include/", "/usr/lib/", "/usr/local/include/"];
    file.starts_with(LIBRARY) || SYSTEM.iter().any(|folder| file.starts_with(folder))
}

/// Whether a place is in a function of C++ by which threads share something: `std::atomic`, locks, conditions.
pub(crate) fn is_of_atomics(frames: &[Frame]) -> bool {
    const CLASSES: [&str; 12] = [
        "std::atomic",
        "std::__atomic",
        "std::lock_guard<",
        "std::unique_lock<",
        "std::scoped_lock<",
        "std::shared_lock<",
        "std::mutex::",
        "std::recursive_mutex::",
        "std::shared_mutex::",
        "std::__shared_mutex",
        "std::condition_variable",
        "__gthread_mutex_",
    ];
    let function = frames.first().filter(|frame| frame.library).and_then(|f| f.function.as_deref());
    function.is_some_and(|function| CLASSES.iter().any(|class| function.starts_with(class)))
}

/// The function of Rust's standard library that the user's own code called and that is about threads, such as
/// `Mutex::lock`, by the calls that led somewhere, the innermost first.
pub(crate) fn called(calls: &[Place], symbols: &Symbols) -> Option<String> {
    let is_of_threads = |function: &&str| {
        let path = function.trim_start_matches('<');
        path.starts_with("std::sync::") || path == "std::thread::park"
    };
    let outermost = |frames: &[Frame]| {
        let functions = frames.iter().rev().filter_map(|frame| frame.function.as_deref());
        functions.filter(is_of_threads).map(last_words).next()
    };
    // Where it waits is certain; of what led there, words may be left from calls that are over.
    let innermost = symbols.frames(*calls.first()?);
    let before_own = innermost.iter().position(Frame::is_own).unwrap_or(innermost.len());
    outermost(&innermost[..before_own]).or_else(|| {
        let frames: Vec<Frame> = calls.iter().flat_map(|&place| symbols.frames(place)).collect();
        let own = frames.iter().position(Frame::is_own)?;
        outermost(&frames[..own])
    })
}

/// The function of a channel of Rust's standard library that the user's own code called, such as `Receiver::recv`.
pub(crate) fn channel_call(calls: &[Place], symbols: &Symbols) -> Option<String> {
    let frames: Vec<Frame> = calls.iter().flat_map(|&place| symbols.frames(place)).collect();
    let own = frames.iter().position(Frame::is_own)?;
    let functions = frames[..own].iter().rev().filter_map(|frame| frame.function.as_deref());
    let is_channel = |function: &&str| {
        let path = function.trim_start_matches('<');
        path.starts_with("std::sync::mpsc::") || path.starts_with("std::sync::mpmc::")
    };
    // `<std::sync::mpsc::Sender<u8> as core::ops::drop::Drop>::drop` is what drops a sender.
    let words = |function: &str| {
        let dropped = function.split_once(" as core::ops::drop::Drop>").map(|(dropped, _)| dropped);
        Some(match dropped {
            Some(dropped) => format!("{}::drop", last_words(dropped).rsplit("::").next()?),
            None => last_words(function),
        })
    };
    functions.filter(is_channel).find_map(words)
}

/// The last two words of the name of a function, without types: `Mutex::lock`, `thread::park`.
fn last_words(function: &str) -> String {
    let mut words: Vec<String> = vec![String::new()];
    let mut depth = 0_u32;
    // A name may begin with its type in angle brackets.
    let name = function.strip_prefix('<');
    let mut open = name.is_some();
    for c in name.unwrap_or(function).chars() {
        match c {
            '<' | '{' | '(' => depth += 1,
            '>' if depth == 0 && open => open = false,
            '>' | '}' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => words.push(String::new()),
            c if depth == 0 => {
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
            _ => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words[words.len().saturating_sub(2)..].join("::")
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn functions_in_short() {
        let check = |function: &str, words: &str| assert_eq!(last_words(function), words);
        check("<std::sync::poison::mutex::Mutex<i32>>::lock", "Mutex::lock");
        check("std::sync::poison::mutex::Mutex<T>::lock", "Mutex::lock");
        check("std::thread::park", "thread::park");
        check("<std::sync::once::Once>::call_once::<f::{closure#0}>", "Once::call_once");
        check("main", "main");
    }
}
