//! Which changes of a source put a fence between two places of a program, or make an order stronger.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use weakspot_build::source::{Edit, FenceKind, Source, Statement, Wanted, edited};
use weakspot_live::Order;
use weakspot_live::wire::{Place, PlacedFence};

use crate::facts::symbols::{Frame, Symbols};

/// A change of a source; the cheapest kinds come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// The atomic operation whose order is at this byte of a file gets another one.
    Order { file: usize, at: usize, order: Wanted },
    /// A fence at this byte.
    Fence { file: usize, at: usize, kind: FenceKind },
    /// What cannot be written down.
    Inside(PlacedFence),
}

impl Change {
    /// What counts is the number of changes, then how little they cost when they are executed.
    pub(crate) fn cost(self) -> u64 {
        1000 + match self {
            Change::Fence { kind: FenceKind::StoreStore, .. } => 2,
            Change::Fence { kind: FenceKind::Full, .. } => 3,
            // On machines that costs less than a fence, but C11 and Rust keep a store before a load
            // only if both are sequentially consistent, and a fence does it alone.
            Change::Order { order: Wanted::SeqCst, .. } => 4,
            Change::Order { .. } => 1,
            // Only if nothing else is left, however many others that saves.
            Change::Inside(_) => 1 << 20,
        }
    }

    /// Whether it does all that another one does.
    pub(crate) fn includes(self, other: Change) -> bool {
        match (self, other) {
            (
                Change::Fence { file, at, kind: FenceKind::Full },
                Change::Fence { file: f, at: a, .. },
            ) => (file, at) == (f, a),
            (
                Change::Order { file, at, order: Wanted::AcqRel },
                Change::Order { file: f, at: a, order: Wanted::Acquire | Wanted::Release },
            )
            | (
                Change::Order { file, at, order: Wanted::SeqCst },
                Change::Order { file: f, at: a, order: Wanted::Release },
            ) => (file, at) == (f, a),
            _ => self == other,
        }
    }
    /// Where it is, by file and byte.
    pub(crate) fn position(&self) -> (usize, usize) {
        match *self {
            Change::Fence { file, at, .. } | Change::Order { file, at, .. } => (file, at),
            Change::Inside(_) => (usize::MAX, 0),
        }
    }
}

/// A file before and after its changes.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Where it is.
    pub path: PathBuf,
    /// Its text as it is.
    pub before: String,
    /// With the changes.
    pub after: String,
}

/// The sources of a program, as far as somebody asked for them.
pub(crate) struct Sources<'a> {
    symbols: &'a Symbols,
    files: RefCell<Vec<Rc<File>>>,
    known: RefCell<HashMap<Place, Option<Rc<Located>>>>,
}

pub(crate) struct File {
    path: PathBuf,
    /// As it is shown.
    pub(crate) name: String,
    /// Nothing if it cannot be read, or is none of the user's.
    source: Option<Source>,
    changed: Option<SystemTime>,
}

/// A place of a program in its source.
struct Located {
    file: usize,
    function: Option<String>,
    statement: Statement,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(symbols: &'a Symbols) -> Sources<'a> {
        Sources { symbols, files: RefCell::default(), known: RefCell::default() }
    }

    /// The changes any one of which has the effect of a fence or of an order at places.
    pub(crate) fn changes(&self, fence: PlacedFence) -> Vec<Change> {
        let (a, b, kind) = match fence {
            PlacedFence::Full(a, b) => (a, b, FenceKind::Full),
            PlacedFence::Stores(a, b) => (a, b, FenceKind::StoreStore),
            PlacedFence::Order(at, order) => {
                return self.order(at, wanted(order)).into_iter().collect();
            }
        };
        let points = self.points(a, b);
        points.into_iter().map(|(file, at)| Change::Fence { file, at, kind }).collect()
    }

    /// Whether fences are between places of a standard library, and of nothing else.
    pub(crate) fn are_of_library(&self, fences: &[PlacedFence]) -> bool {
        let is_library = |place: Place| {
            let frames = self.symbols.frames(place);
            frames.iter().any(|frame| frame.library) && !frames.iter().any(Frame::is_own)
        };
        let places = fences.iter().flat_map(|&fence| match fence {
            PlacedFence::Full(a, b) | PlacedFence::Stores(a, b) => [a, b],
            PlacedFence::Order(at, _) => [at, at],
        });
        !fences.is_empty() && places.clone().all(is_library)
    }

    /// Where in a source a statement is executed whenever a thread goes from one place to another.
    fn points(&self, a: Place, b: Place) -> Vec<(usize, usize)> {
        if let Some((from, to)) = self.parted(a, b) {
            let points = self.points_between(&Some(from), &Some(to), false);
            if !points.is_empty() {
                return points;
            }
        }
        self.points_between(&self.locate(a), &self.locate(b), a == b)
    }

    /// The statements at which the calls part that lead to two places: what has to stand between two calls
    /// of functions that were inlined belongs to their caller, not into these, which others call, too.
    fn parted(&self, a: Place, b: Place) -> Option<(Rc<Located>, Rc<Located>)> {
        let (from, to) = self.parting(a, b)?;
        let located = |frame| self.of_frame(frame).flatten().map(Rc::new);
        Some((located(from)?, located(to)?))
    }

    fn parting(&self, a: Place, b: Place) -> Option<(Frame, Frame)> {
        let (from, to) = (self.symbols.frames(a), self.symbols.frames(b));
        // Outermost function first.
        let mut both = from.into_iter().rev().zip(to.into_iter().rev());
        let (from, to) = both.find(|(from, to)| from != to)?;
        (from.function == to.function && from.path == to.path).then_some((from, to))
    }

    /// Which of two places are in a function that was inlined below where the calls that lead to them part.
    pub(crate) fn wrapped(&self, a: Place, b: Place) -> [bool; 2] {
        let Some((from, to)) = self.parting(a, b) else { return [false; 2] };
        let inner = |place: Place| self.symbols.frames(place).into_iter().find(Frame::is_own);
        let below = |place, frame| inner(place).is_some_and(|own| own != frame);
        [below(a, from), below(b, to)]
    }

    fn points_between(
        &self,
        from: &Option<Rc<Located>>,
        to: &Option<Rc<Located>>,
        same_place: bool,
    ) -> Vec<(usize, usize)> {
        let same = match (from, to) {
            (Some(from), Some(to)) => from.file == to.file && from.function == to.function,
            _ => false,
        };
        let mut points = Vec::new();
        let outside = |of: &Located, other: &Option<Rc<Located>>| {
            let at = other.as_ref().map_or(0, |other| other.statement.range.start);
            same && !of.statement.range.contains(&at) && !self.calls_itself(of)
        };
        let elsewhere = |s: &Statement| !same && !s.calls && !s.operators;
        // The same again: all of the statement is between.
        let again = |s: &Statement| same_place && s.simple && !s.calls;
        if let Some(from) = from
            && let Some(point) = from.statement.after
            && (outside(from, to) || elsewhere(&from.statement) || again(&from.statement))
        {
            points.push((from.file, point));
        }
        if let Some(to) = to
            && let Some(point) = to.statement.before
            && (outside(to, from) || elsewhere(&to.statement) || again(&to.statement))
        {
            points.push((to.file, point));
        }
        points.sort_unstable();
        points.dedup();
        points
    }

    /// Whether a statement has the name of the function that it is in.
    fn calls_itself(&self, located: &Located) -> bool {
        let file = self.file(located.file);
        let Some(function) = &located.function else { return true };
        let name = function.split(['(', '<']).next().unwrap_or("");
        let name = name.rsplit("::").next().unwrap_or(name);
        let mentions = |source: &Source| source.mentions(&located.statement, name);
        located.statement.calls && file.source.as_ref().is_none_or(mentions)
    }

    fn order(&self, at: Place, order: Wanted) -> Option<Change> {
        let located = self.locate(at)?;
        let file = self.file(located.file);
        let change = file.source.as_ref()?.order(&located.statement, order)?;
        Some(Change::Order { file: located.file, at: change.at.start, order })
    }

    fn locate(&self, place: Place) -> Option<Rc<Located>> {
        if let Some(known) = self.known.borrow().get(&place) {
            return known.clone();
        }
        let found = self.symbols.frames(place).into_iter().find_map(|frame| self.of_frame(frame));
        let found = found.flatten().map(Rc::new);
        self.known.borrow_mut().insert(place, found.clone());
        found
    }

    /// The statement of a frame; nothing if its file is none of the user's, and `Some(None)` if it
    /// is not certain which one it is.
    fn of_frame(&self, frame: Frame) -> Option<Option<Located>> {
        let Frame { function, file, line, column, path, .. } = frame;
        let (path, name) = (path?, file?);
        let file = self.number(Path::new(&path), name);
        let opened = self.file(file);
        let source = opened.source.as_ref()?;
        let statement = line.and_then(|line| source.statement(line, column));
        Some(statement.map(|statement| Located { file, function, statement }))
    }

    /// The number of a file.
    fn number(&self, path: &Path, name: String) -> usize {
        let mut files = self.files.borrow_mut();
        if let Some(known) = files.iter().position(|file| file.path == path) {
            return known;
        }
        let text = if is_of_system(path) { None } else { std::fs::read_to_string(path).ok() };
        let source = text.and_then(|text| Source::new(path, text));
        let changed = std::fs::metadata(path).and_then(|data| data.modified()).ok();
        files.push(Rc::new(File { path: path.to_owned(), name, source, changed }));
        files.len() - 1
    }

    fn file(&self, number: usize) -> Rc<File> {
        self.files.borrow()[number].clone()
    }

    /// The file and line of a change, and what is done there.
    pub(crate) fn described(&self, change: Change) -> (String, u32, String) {
        match change {
            Change::Fence { file, at, kind } => {
                let file = self.file(file);
                let line = file.source.as_ref().map_or(0, |s| s.line(at.saturating_sub(1)));
                let fence = file.source.as_ref().map_or("", |s| s.fence(kind));
                (file.name.clone(), line, format!("behind it `{fence}`"))
            }
            Change::Order { file, at, order } => {
                let file = self.file(file);
                let line = file.source.as_ref().map_or(0, |s| s.line(at));
                let order = named(order);
                (file.name.clone(), line, format!("its order at least {order}"))
            }
            Change::Inside(fence) => {
                let (ends, kind) = match fence {
                    PlacedFence::Full(a, b) => ([a, b], "a fence"),
                    PlacedFence::Stores(a, b) => ([a, b], "a store-store fence"),
                    PlacedFence::Order(at, _) => ([at, at], "a stronger order"),
                };
                let own = |&place: &Place| self.symbols.frames(place).iter().any(Frame::is_own);
                let place = ends.into_iter().find(own).unwrap_or(ends[0]);
                let frames = self.symbols.frames(place);
                let first = frames.iter().find(|frame| frame.is_own()).or(frames.first());
                let name = first.and_then(|f| f.file.clone());
                let name = name.unwrap_or_else(|| self.symbols.text(place));
                let line = first.and_then(|f| f.line).unwrap_or(0);
                (name, line, format!("{kind} between two accesses of this line"))
            }
        }
    }

    /// What has to be changed in the sources.
    pub(crate) fn patches(&self, changes: &[Change]) -> Vec<Patch> {
        let mut patches = Vec::new();
        for (number, file) in self.files.borrow().iter().enumerate() {
            let Some(source) = &file.source else { continue };
            let edits: Vec<Edit> =
                changes.iter().filter_map(|&change| self.edit(change, number)).collect();
            if !edits.is_empty() {
                patches.push(Patch {
                    path: file.path.clone(),
                    before: source.text().to_owned(),
                    after: edited(source, &edits),
                });
            }
        }
        patches
    }

    /// A change, if it is one of this file.
    fn edit(&self, change: Change, number: usize) -> Option<Edit> {
        match change {
            Change::Fence { file, at, kind } if file == number => Some(Edit::Fence(at, kind)),
            Change::Order { file, at, order } if file == number => {
                let known = self.known.borrow();
                let mut places = known.values().flatten().filter(|l| l.file == number);
                let file = self.file(number);
                let source = file.source.as_ref()?;
                places.find_map(|located| {
                    let change = source.order(&located.statement, order)?;
                    (change.at.start == at).then_some(Edit::Order(change))
                })
            }
            _ => None,
        }
    }

    /// The files that were changed after the program was built.
    pub(crate) fn newer_than(&self, program: &Path) -> Vec<String> {
        let built = std::fs::metadata(program).and_then(|data| data.modified()).ok();
        let files = self.files.borrow();
        let newer =
            files.iter().filter(|f| f.source.is_some() && built.is_some() && f.changed > built);
        newer.map(|file| file.name.clone()).collect()
    }
}

/// An order that is to be written into a source.
pub(crate) fn wanted(order: Order) -> Wanted {
    match order {
        Order::SeqCst => Wanted::SeqCst,
        Order::AcqRel => Wanted::AcqRel,
        Order::Acquire => Wanted::Acquire,
        Order::Plain | Order::Relaxed | Order::Release => Wanted::Release,
    }
}

/// An order, in the word of C.
pub(crate) fn named(order: Wanted) -> &'static str {
    match order {
        Wanted::Acquire => "acquire",
        Wanted::Release => "release",
        Wanted::AcqRel => "acq_rel",
        Wanted::SeqCst => "seq_cst",
    }
}

/// Whether a file belongs to a compiler or to a library, where nobody puts fences.
fn is_of_system(path: &Path) -> bool {
    let system = ["/usr/include", "/usr/lib", "/usr/local/include", "/usr/local/lib", "/rustc"];
    let registry =
        path.components().any(|part| part.as_os_str() == ".cargo" || part.as_os_str() == ".rustup");
    registry || system.iter().any(|folder| path.starts_with(folder))
}
