//! What addresses of a program are called in its source.

use std::cell::OnceCell;
use std::path::Path;

use addr2line::Loader;
use weakspot_live::wire::Place;

/// The files that are mapped into a program.
#[derive(Default)]
pub(crate) struct Symbols {
    modules: Vec<Module>,
}

struct Module {
    base: u64,
    end: u64,
    path: String,
    /// Read when it is first asked for; `None` if it cannot be.
    debug: OnceCell<Option<Debug>>,
}

struct Debug {
    loader: Loader,
    /// What has to be added to offsets: programs that are not relocatable have absolute addresses.
    start: u64,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

impl Symbols {
    pub(crate) fn add(&mut self, base: u64, end: u64, path: String) {
        self.modules.push(Module { base, end, path, debug: OnceCell::new() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.modules.is_empty()
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

    /// The source of a place, innermost function first, then those that it was inlined into. The
    /// place is where a call returns to; what is meant is the call.
    pub(crate) fn frames(&self, place: Place) -> Vec<Frame> {
        let Some(module) = place.module.and_then(|m| self.modules.get(m as usize)) else {
            return Vec::new();
        };
        let Some(Debug { loader, start }) = module.debug() else { return Vec::new() };
        let mut frames = Vec::new();
        if let Ok(mut found) = loader.find_frames((start + place.offset).saturating_sub(1)) {
            while let Ok(Some(frame)) = found.next() {
                let location = frame.location.as_ref();
                frames.push(Frame {
                    function: frame
                        .function
                        .and_then(|name| name.demangle().ok().map(|name| name.into_owned())),
                    file: location.and_then(|l| l.file).map(shorter),
                    line: location.and_then(|l| l.line),
                });
            }
        }
        frames
    }

    /// A place as `file:line`, or as what is known of it.
    pub(crate) fn text(&self, place: Place) -> String {
        let frames = self.frames(place);
        if let Some(Frame { file: Some(file), line: Some(line), .. }) = frames.first() {
            return format!("{file}:{line}");
        }
        let module = place.module.and_then(|m| self.modules.get(m as usize));
        let name = module.and_then(|m| Path::new(&m.path).file_name()?.to_str());
        match (frames.first().and_then(|f| f.function.clone()), name) {
            (Some(function), _) => function,
            (None, Some(name)) => format!("{name}+{:#x}", place.offset),
            (None, None) => format!("{:#x}", place.offset),
        }
    }

    /// What is at an address of data: a variable, and how many bytes into it.
    pub(crate) fn data(&self, address: u64) -> Option<String> {
        let module = self.modules.iter().find(|m| (m.base..m.end).contains(&address))?;
        let Debug { loader, start } = module.debug()?;
        let probe = start + (address - module.base);
        let symbol = loader.find_symbol_info(probe)?;
        let name = addr2line::demangle_auto(symbol.name().into(), None);
        match probe - symbol.address() {
            0 => Some(name.into_owned()),
            offset => Some(format!("{name}+{offset}")),
        }
    }
}

impl Module {
    fn debug(&self) -> Option<&Debug> {
        self.debug.get_or_init(|| self.load()).as_ref()
    }

    fn load(&self) -> Option<Debug> {
        let loader = Loader::new(&self.path).ok()?;
        // ELF: the type of the file is its 17th byte; 2 is a program that is not relocatable.
        let mut head = [0; 18];
        let mut file = std::fs::File::open(&self.path).ok()?;
        std::io::Read::read_exact(&mut file, &mut head).ok()?;
        let start = if head[16] == 2 { self.base } else { 0 };
        Some(Debug { loader, start })
    }
}

/// The path from the current folder, if it is below.
fn shorter(path: &str) -> String {
    let below = std::env::current_dir().ok().and_then(|here| {
        Path::new(path).strip_prefix(here).ok().map(|rest| rest.display().to_string())
    });
    below.unwrap_or_else(|| path.to_owned())
}
