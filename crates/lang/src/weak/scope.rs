//! What the names outside of threads stand for.

pub(super) mod constant;

use super::syntax::*;
use crate::Diagnostic;
use crate::suggest::did_you_mean;
use constant::Constants;
use std::collections::BTreeMap;
use weakspot_core::{Location, Value};

/// How many cells of shared memory a program may have.
const CELLS: usize = 10_000;
/// How many threads a program may have.
const THREADS: usize = 64;
/// How many values `choose` may have.
pub(super) const CHOICES: Value = 1_000;

/// The declarations of a file.
#[derive(Debug, Default)]
pub(super) struct Globals<'f> {
    names: BTreeMap<&'f str, Global>,
    /// The declared threads, in the order of the text.
    pub threads: Vec<ThreadDecl<'f>>,
    /// The memory.
    pub locs: Vec<Location>,
    /// The names of the memory cells.
    pub loc_names: Vec<String>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Global {
    /// A constant; `None` before its declaration has been reached.
    Const(Option<Value>),
    /// A shared variable or array.
    Shared(Shared),
    /// A thread: an index into `Globals::threads`.
    Thread(usize),
}

/// A shared variable or array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// The address of its first cell.
    pub base: Value,
    /// The number of cells, if it is an array.
    pub size: Option<Value>,
    /// Inclusive bounds of its values.
    pub range: Option<(Value, Value)>,
}

/// A thread or an array of threads.
#[derive(Debug)]
pub(super) struct ThreadDecl<'f> {
    /// As it was written.
    pub syntax: &'f Thread,
    /// The number of copies, if it is replicated.
    pub count: Option<usize>,
    /// The index of the first copy among all threads.
    pub first: usize,
}

impl<'f> Globals<'f> {
    /// Everything that is declared outside of threads.
    pub(super) fn collect(file: &'f File) -> Result<Globals<'f>, Diagnostic> {
        let mut globals = Globals::default();
        for item in &file.items {
            globals.declare(&item.kind)?;
        }
        for item in &file.items {
            if let ItemKind::Const(all) = &item.kind {
                for c in all {
                    let value = Constants::without_addresses(&globals).eval(&c.value)?;
                    globals.names.insert(&c.name.text, Global::Const(Some(value)));
                }
            }
        }
        let shared = || {
            file.items.iter().flat_map(|item| match &item.kind {
                ItemKind::Shared(all) => all.as_slice(),
                _ => &[],
            })
        };
        for cell in shared() {
            globals.place(cell)?;
        }
        for cell in shared() {
            globals.initialise(cell)?;
        }
        globals.count_threads()?;
        Ok(globals)
    }

    /// What a name stands for.
    pub(super) fn get(&self, name: &str) -> Option<Global> {
        self.names.get(name).copied()
    }

    /// All names of variables and constants, for suggestions.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let variable = |(_, g): &(&&'f str, &Global)| !matches!(g, Global::Thread(_));
        self.names.iter().filter(variable).map(|(name, _)| *name)
    }

    /// The thread of a name.
    pub(super) fn thread(&self, name: &Name) -> Result<&ThreadDecl<'f>, Diagnostic> {
        if let Some(Global::Thread(index)) = self.get(&name.text)
            && let Some(thread) = self.threads.get(index)
        {
            return Ok(thread);
        }
        let message = format!("unknown thread `{}`", name.text);
        let error = Diagnostic::new(name.at.0, message, "expected the name of a thread");
        let threads = self.threads.iter().map(|t| t.syntax.name.text.as_str());
        Err(did_you_mean(error, &name.text, threads))
    }

    /// The threads that are meant by a name and an optional index, as indices among all threads
    /// with what each is called.
    pub(super) fn instances(
        &self,
        name: &Name,
        index: Option<&Expr>,
    ) -> Result<Vec<(usize, String)>, Diagnostic> {
        let thread = self.thread(name)?;
        let copy = |i: usize| (thread.first + i, format!("{}[{i}]", name.text));
        match (thread.count, index) {
            (None, None) => Ok(vec![(thread.first, name.text.clone())]),
            (Some(count), None) => Ok((0..count).map(copy).collect()),
            (None, Some(index)) => Err(Diagnostic::new(
                index.at.0,
                format!("thread `{}` has no copies", name.text),
                "expected no index",
            )),
            (Some(count), Some(index)) => {
                let value = Constants::without_addresses(self).eval(index)?;
                match usize::try_from(value) {
                    Ok(i) if i < count => Ok(vec![copy(i)]),
                    _ => Err(Diagnostic::new(
                        index.at.0,
                        format!("thread `{}` has no copy {value}", name.text),
                        format!("expected 0 to {}", count.saturating_sub(1)),
                    )),
                }
            }
        }
    }

    /// Reserves the names of an item.
    fn declare(&mut self, item: &'f ItemKind) -> Result<(), Diagnostic> {
        match item {
            ItemKind::Const(all) => {
                for c in all {
                    self.insert(&c.name, Global::Const(None))?;
                }
            }
            ItemKind::Shared(all) => {
                for cell in all {
                    let shared = Shared { base: 0, size: None, range: None };
                    self.insert(&cell.name, Global::Shared(shared))?;
                }
            }
            ItemKind::Thread(syntax) => {
                self.insert(&syntax.name, Global::Thread(self.threads.len()))?;
                self.threads.push(ThreadDecl { syntax, count: None, first: 0 });
            }
            ItemKind::Final(..)
            | ItemKind::NeverAt(_)
            | ItemKind::NeverTwo(_)
            | ItemKind::Observe(_) => {}
        }
        Ok(())
    }

    fn insert(&mut self, name: &'f Name, global: Global) -> Result<(), Diagnostic> {
        match self.names.insert(&name.text, global) {
            None => Ok(()),
            Some(before) => Err(Diagnostic::new(
                name.at.0,
                format!("`{}` is already {}", name.text, before.described()),
                "expected another name",
            )),
        }
    }

    /// Gives a variable its addresses, which follow those of the variables before it.
    fn place(&mut self, cell: &'f SharedDecl) -> Result<(), Diagnostic> {
        let size = match &cell.size {
            None => None,
            Some(size) => {
                let value = Constants::without_addresses(self).eval(size)?;
                if value < 1 {
                    let message = format!("array `{}` has {value} cells", cell.name.text);
                    return Err(Diagnostic::new(size.at.0, message, "expected at least 1"));
                }
                Some(value)
            }
        };
        let count = usize::try_from(size.unwrap_or(1)).unwrap_or(usize::MAX);
        if count > CELLS - self.locs.len() {
            let at = cell.size.as_ref().map_or(cell.name.at, |s| s.at);
            let expected = format!("expected at most {CELLS} in all");
            return Err(Diagnostic::new(at.0, "too many cells of shared memory", expected));
        }
        let base = self.locs.len() as Value + 1;
        for i in 0..count {
            self.locs.push(Location { addr: base + i as Value, init: vec![0], range: None });
            self.loc_names.push(match size {
                Some(_) => format!("{}[{i}]", cell.name.text),
                None => cell.name.text.clone(),
            });
        }
        self.names.insert(&cell.name.text, Global::Shared(Shared { base, size, range: None }));
        Ok(())
    }

    /// Gives a variable its initial values and its range.
    fn initialise(&mut self, cell: &'f SharedDecl) -> Result<(), Diagnostic> {
        let Some(Global::Shared(mut shared)) = self.get(&cell.name.text) else { return Ok(()) };
        let count = shared.size.unwrap_or(1) as usize;
        let constants = Constants::new(self);
        let range = match &cell.range {
            Some((low, high)) => Some(constants.range(low, high)?),
            None => None,
        };
        let mut inits = match &cell.init {
            Init::Zero => vec![(vec![0], cell.name.at)],
            Init::All(value) => vec![(constants.initial(value)?, value.at)],
            Init::Each(values, at) => {
                if shared.size.is_none() {
                    let message = format!("`{}` is not an array", cell.name.text);
                    return Err(Diagnostic::new(at.0, message, "expected one value"));
                }
                if values.len() != count {
                    let message = format!("{} initial values for {count} cells", values.len());
                    return Err(Diagnostic::new(at.0, message, "expected one value per cell"));
                }
                let each = values.iter().map(|v| Ok((constants.initial(v)?, v.at)));
                each.collect::<Result<Vec<_>, Diagnostic>>()?
            }
        };
        if let Some((low, high)) = range {
            for (values, at) in &inits {
                if let Some(value) = values.iter().find(|v| !(low..=high).contains(v)) {
                    let message = format!("initial value {value} is outside of {low}..{high}");
                    let expected = "expected a value of the range";
                    return Err(Diagnostic::new(at.0, message, expected));
                }
            }
        }
        if inits.len() == 1 {
            inits.resize(count, inits[0].clone());
        }
        let first = shared.base as usize - 1;
        for (loc, (init, _)) in self.locs.iter_mut().skip(first).zip(inits) {
            loc.init = init;
            loc.range = range;
        }
        shared.range = range;
        self.names.insert(&cell.name.text, Global::Shared(shared));
        Ok(())
    }

    fn count_threads(&mut self) -> Result<(), Diagnostic> {
        let mut first = 0;
        for i in 0..self.threads.len() {
            let syntax = self.threads[i].syntax;
            let mut at = syntax.name.at;
            let mut count = None;
            if let Some(copies) = &syntax.count {
                at = copies.at;
                let value = Constants::without_addresses(self).eval(copies)?;
                if value < 1 {
                    let message = format!("thread `{}` has {value} copies", syntax.name.text);
                    return Err(Diagnostic::new(at.0, message, "expected at least 1"));
                }
                count = Some(usize::try_from(value).unwrap_or(usize::MAX));
            }
            if count.unwrap_or(1) > THREADS - first {
                let expected = format!("expected at most {THREADS} in all");
                return Err(Diagnostic::new(at.0, "too many threads", expected));
            }
            self.threads[i].count = count;
            self.threads[i].first = first;
            first += count.unwrap_or(1);
        }
        Ok(())
    }
}

impl Global {
    /// The kind of thing, with its article.
    pub(super) fn described(self) -> &'static str {
        match self {
            Global::Const(_) => "a constant",
            Global::Shared(Shared { size: Some(_), .. }) => "a shared array",
            Global::Shared(_) => "a shared variable",
            Global::Thread(_) => "a thread",
        }
    }
}
