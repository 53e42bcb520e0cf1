//! What threads and memory are called in one execution.
//!
//! A thread is called by the function that it executes and its number, `worker#2`; a variable by its name;
//! a part of the heap by what the result of its allocation is assigned to there, and which part of that it
//! is, as far as the debug information says so: `node->next`, `*data`, otherwise by the line that
//! allocated it: `heap(list.c:12)+8`. A variable on the stack is called by its name, too.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use weakspot_live::OpKind;
use weakspot_live::wire::{Place, StackFrame, TracedStep};

use crate::facts::lines::Lines;
use crate::facts::symbols::{Frame, Symbols};
use crate::facts::variables::{Local, Scalar};

/// What was allocated: the first byte, how many, and where.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) addr: u64,
    pub(crate) len: u64,
    /// The calls that led there, the innermost first.
    pub(crate) places: Vec<Place>,
}

/// The functions that have variables which steps use, as they have begun.
#[derive(Default)]
pub(crate) struct Owners {
    frames: Vec<StackFrame>,
    /// Their places there.
    known: HashMap<StackFrame, usize>,
    /// By address: which ones, in the course of an execution.
    of: HashMap<u64, Vec<usize>>,
}

impl Owners {
    /// A step uses an address, which is a variable of this function then.
    pub(crate) fn add(&mut self, addr: u64, owner: StackFrame) {
        let at = *self.known.entry(owner).or_insert(self.frames.len());
        if at == self.frames.len() {
            self.frames.push(owner);
        }
        let of = self.of.entry(addr).or_default();
        if !of.contains(&at) {
            of.push(at);
        }
    }
}

/// What things are called in an execution.
pub(crate) struct Names<'a> {
    symbols: &'a Symbols,
    threads: HashMap<u16, String>,
    /// Blocks of the heap, sorted by address.
    blocks: Vec<(Block, OnceName)>,
    owners: &'a Owners,
    /// The variables of each function that owns some.
    owned: Vec<OnceCell<Vec<Local>>>,
    /// By name: the addresses that it was given to.
    given: RefCell<HashMap<String, Vec<u64>>>,
    /// Cached names of local variables.
    locals: RefCell<HashMap<(u64, u64), Option<String>>>,
    sources: RefCell<Lines>,
}

/// What threads are called if nothing is known of them: in the order in which they were created.
fn thread_name(thread: u16) -> String {
    if thread == 0 { "main".to_owned() } else { format!("T{thread}") }
}

/// A name that is found when it is asked for first.
type OnceName = OnceCell<String>;

impl<'a> Names<'a> {
    /// `calls`: those that led to steps, by the numbers of these, as far as they are known.
    pub(crate) fn new(
        steps: &[TracedStep],
        calls: &HashMap<usize, Vec<Place>>,
        mut blocks: Vec<Block>,
        owners: &'a Owners,
        symbols: &'a Symbols,
    ) -> Names<'a> {
        blocks.sort_by_key(|block| block.addr);
        Names {
            symbols,
            threads: threads(steps, calls, symbols),
            blocks: blocks.into_iter().map(|block| (block, OnceName::new())).collect(),
            given: RefCell::default(),
            locals: RefCell::default(),
            owners,
            owned: owners.frames.iter().map(|_| OnceCell::new()).collect(),
            sources: RefCell::new(Lines::default()),
        }
    }

    /// A thread.
    pub(crate) fn thread(&self, thread: u16) -> String {
        self.threads.get(&thread).cloned().unwrap_or_else(|| thread_name(thread))
    }

    /// Words in which the runtime library has named threads by their numbers.
    pub(crate) fn in_words(&self, text: &str) -> String {
        let mut out = String::new();
        for (i, word) in text.split_inclusive([' ', ',']).enumerate() {
            let (name, rest) = word.split_at(word.trim_end_matches([' ', ',']).len());
            let number = name.strip_prefix('T').and_then(|number| number.parse().ok());
            // What a program says begins with a place, and is left as it is.
            match number.filter(|_| i == 0 || !text.contains(':')) {
                Some(number) => out += &self.thread(number),
                None => out += name,
            }
            out += rest;
        }
        out
    }

    /// Bytes. What has the same name at another place is numbered.
    pub(crate) fn data(&self, addr: u64, len: u64) -> String {
        let name = self.symbols.data(addr, len).or_else(|| self.heap(addr, len));
        let Some(name) = name.or_else(|| self.local(addr, len)) else {
            return format!("{addr:#x}");
        };
        let mut given = self.given.borrow_mut();
        let places = given.entry(name.clone()).or_default();
        let at = places.iter().position(|&place| place == addr).unwrap_or_else(|| {
            places.push(addr);
            places.len() - 1
        });
        if at == 0 { name } else { format!("{name}#{}", at + 1) }
    }

    /// A value of these bytes, which are called `location` if memory has them: what an address points to, or what its type
    /// says. Nothing if neither is known.
    pub(crate) fn value_in_words(
        &self,
        addr: u64,
        len: u32,
        value: u64,
        location: Option<&str>,
    ) -> Option<String> {
        match Some(value).filter(|_| len == 8).and_then(|value| self.pointer(value)) {
            // What a pointer points to is called as the pointer.
            Some(to) if Some(to.as_str()) == location => Some(format!("&*{to}")),
            Some(to) => Some(to),
            None => self.value(addr, len, value).filter(|_| location.is_some()),
        }
    }

    /// A value as its type says, if that is known and a number would not say the same.
    fn value(&self, addr: u64, len: u32, value: u64) -> Option<String> {
        let bytes = u64::from(len);
        let scalar = self.symbols.scalar(addr, bytes).or_else(|| {
            let Some((block, base)) = self.base(addr) else {
                return self.local_scalar(addr, bytes);
            };
            let pointer = base.split('#').next().unwrap_or(base);
            self.symbols.scalar_pointed_to(pointer, (addr - block.addr, bytes), block.len)
        });
        scalar?.shown(value, len)
    }

    /// How the bytes of variables on the stack are read, if all that are at this place agree.
    fn local_scalar(&self, addr: u64, len: u64) -> Option<Scalar> {
        let of = self.owners.of.get(&addr)?;
        let frames = &self.owners.frames;
        let mut scalars = of.iter().filter(|&&i| frames[i].sp <= addr).flat_map(|&i| {
            let locals = self.owned[i].get_or_init(|| self.symbols.locals(&frames[i]));
            let here = locals.iter().filter(move |local| local.holds(addr, len));
            here.map(move |local| self.symbols.scalar_of(&frames[i], local, addr, len))
        });
        let first = scalars.next()??;
        scalars.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    /// A block of the heap as a whole, by what the result of its allocation was assigned to.
    pub(crate) fn block(&self, addr: u64) -> String {
        self.base(addr).map_or_else(|| format!("{addr:#x}"), |(_, base)| base.to_owned())
    }

    /// What a value points to, if it is the address of a block of the heap or of a variable.
    pub(crate) fn pointer(&self, value: u64) -> Option<String> {
        if let Some((block, base)) = self.base(value) {
            return Some(match value - block.addr {
                0 => base.to_owned(),
                offset => format!("{base}+{offset}"),
            });
        }
        // Small numbers are no addresses.
        let value = Some(value).filter(|&value| value > u64::from(u32::MAX))?;
        let variable = self.symbols.data(value, 1).or_else(|| self.local(value, 0));
        variable.map(|name| format!("&{name}"))
    }

    /// The block that a byte is in, and what that is called.
    fn base(&self, addr: u64) -> Option<(&Block, &str)> {
        let at = self.blocks.partition_point(|(block, _)| block.addr <= addr).checked_sub(1)?;
        let (block, name) = &self.blocks[at];
        let offset = addr - block.addr;
        if offset >= block.len.max(1) {
            return None;
        }
        let frame = self.frame(block)?;
        // Several blocks may come from one line.
        let same = |(other, _): &&(Block, OnceName)| {
            let line = self.frame(other).map(|f| (f.file, f.line));
            line == Some((frame.file.clone(), frame.line))
        };
        let base = name.get_or_init(|| {
            let base = self.assigned(&frame).unwrap_or_else(|| {
                let file = frame.file.as_deref().unwrap_or("");
                let file = match frame.library {
                    true => file.trim_start_matches("library/"),
                    false => file.rsplit('/').next().unwrap_or(file),
                };
                format!("heap({file}:{})", frame.line.unwrap_or(0))
            });
            match self.blocks[..at].iter().filter(same).count() {
                0 => base,
                before => format!("{base}#{}", before + 1),
            }
        });
        Some((block, base))
    }

    fn heap(&self, addr: u64, len: u64) -> Option<String> {
        let (block, base) = self.base(addr)?;
        let offset = addr - block.addr;
        if base.starts_with("heap(") {
            return Some(if offset == 0 { base.to_owned() } else { format!("{base}+{offset}") });
        }
        let counted = block.places.iter().any(|&place| {
            let is = |f: &Frame| f.function.as_ref().is_some_and(|name| is_counted(name));
            self.symbols.frames(place).iter().any(is)
        });
        let part = || {
            let pointer = base.split('#').next().unwrap_or(base);
            self.symbols.pointed_to(pointer, base, (offset, len), block.len)
        };
        // What is counted is the third part of its block.
        let data = || {
            let part = part()?;
            let of_data = part.strip_prefix(base)?.strip_prefix("->data")?;
            (!of_data.is_empty()).then(|| format!("{base}{of_data}"))
        };
        Some(match (counted, offset) {
            (true, 0) => format!("{base}.strong"),
            (true, 8) => format!("{base}.weak"),
            (true, 16) => data().unwrap_or_else(|| format!("*{base}")),
            (true, offset) if offset > 16 => {
                data().unwrap_or_else(|| format!("*{base}+{}", offset - 16))
            }
            (true, offset) => format!("{base}+{offset}"),
            (false, offset) => part().unwrap_or_else(|| match offset {
                0 => format!("*{base}"),
                offset => format!("*{base}+{offset}"),
            }),
        })
    }

    /// A variable of a function, or which part of it these bytes are. Two that are at the same place, one after
    /// the other, are both named; more are not.
    fn local(&self, addr: u64, len: u64) -> Option<String> {
        if let Some(known) = self.locals.borrow().get(&(addr, len)) {
            return known.clone();
        }
        let name = self.find_local(addr, len);
        self.locals.borrow_mut().insert((addr, len), name.clone());
        name
    }

    fn find_local(&self, addr: u64, len: u64) -> Option<String> {
        // What is no variable of a step may be one of any function.
        let of: Vec<usize> = match self.owners.of.get(&addr) {
            Some(of) => of.clone(),
            None => (0..self.owners.frames.len()).collect(),
        };
        let frames = &self.owners.frames;
        let mut names = of.iter().filter(|&&i| frames[i].sp <= addr).flat_map(|&i| {
            let frame = &frames[i];
            let locals = self.owned[i].get_or_init(|| self.symbols.locals(frame));
            let here = locals.iter().filter(move |local| local.holds(addr, len));
            // Several calls have variables with the same name.
            let calls = frames[..i].iter().filter(|f| f.place == frame.place).count();
            here.filter_map(move |local| {
                let name = self.symbols.local(frame, local, addr, len)?;
                Some(if calls == 0 { name } else { format!("{name}#{}", calls + 1) })
            })
        });
        let first = names.next()?;
        let others: HashSet<String> = names.filter(|name| *name != first).collect();
        let mut others = others.into_iter();
        match (others.next(), others.next()) {
            (None, _) => Some(first),
            (Some(second), None) => Some(format!("{first}|{second}")),
            _ => None,
        }
    }

    /// Where the user's own code allocates a block.
    fn frame(&self, block: &Block) -> Option<Frame> {
        let own = |&place: &Place| self.symbols.frames(place).into_iter().find(Frame::is_own);
        block.places.iter().find_map(own)
    }

    /// What the result of an allocation is assigned to, by the text of its line.
    fn assigned(&self, frame: &Frame) -> Option<String> {
        let mut sources = self.sources.borrow_mut();
        assigned(sources.line(frame.path.clone()?, frame.line?)?)
    }
}

/// Whether a function makes a block with counts of references.
fn is_counted(function: &str) -> bool {
    // Others may have it among their types.
    let function = function.trim_start_matches('<');
    function.starts_with("alloc::sync::Arc<") || function.starts_with("alloc::rc::Rc<")
}

/// The name that the value of a line is assigned to.
fn assigned(line: &str) -> Option<String> {
    let (left, right) = line.split_once('=')?;
    if right.starts_with('=') || left.ends_with(['!', '<', '>', '+', '-', '*']) {
        return None;
    }
    // In the body of a closure, something else is assigned.
    if ["|", "[&", "[=", "[this"].iter().any(|closure| left.contains(closure)) {
        return None;
    }
    // `let mut a: A =`, `struct node *n =`, `q->head =`.
    let left = match left.trim_start().strip_prefix("let ") {
        Some(left) => left.split(':').next().unwrap_or(left),
        None => left,
    };
    let name = left.trim_end().rsplit([' ', '*', '\t']).next()?;
    let name = name.trim_end_matches("[]");
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.->[]".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (begins && name.chars().all(is_name)).then(|| name.to_owned())
}

/// What threads are called, as far as it is known what they execute.
fn threads(
    steps: &[TracedStep],
    calls: &HashMap<usize, Vec<Place>>,
    symbols: &Symbols,
) -> HashMap<u16, String> {
    let mut functions: HashMap<u16, String> = HashMap::new();
    for step in steps.iter().filter(|step| step.kind == OpKind::Spawn) {
        if let (Ok(thread), Some(address)) = (u16::try_from(step.addr), step.value) {
            functions.extend(symbols.function(address).map(|function| (thread, function)));
        }
    }
    // The function that a thread of Rust begins with is one of the standard library, and the closure that
    // this calls may itself only call others.
    let is_closure = |function: &String| function.contains("{closure");
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.kind != OpKind::Commit) {
        let known = functions.get(&step.thread);
        if known.is_some_and(is_closure) {
            continue;
        }
        // The outermost function is the one that the thread was started with.
        let calls = calls.get(&i).into_iter().flatten().filter(|&&call| !is_edge(call, symbols));
        let places: Vec<&Place> = step.place.iter().chain(calls).collect();
        let function = places.into_iter().rev().find_map(|&place| {
            let frames = symbols.frames(place);
            let own = frames.iter().rev().find(|frame| frame.is_own());
            own.and_then(|frame| frame.function.clone())
        });
        let better = function.filter(|function| known.is_none() || is_closure(function));
        functions.extend(better.map(|function| (step.thread, function)));
    }
    let name =
        |(thread, function): (u16, String)| (thread, format!("{}#{thread}", short(&function)));
    functions.into_iter().filter(|(thread, _)| *thread > 0).map(name).collect()
}

/// A place as `file:line`. In a standard library it is where the function is that others call, not where that has got its
/// parts from.
pub(crate) fn site(place: Place, symbols: &Symbols) -> String {
    let frames = symbols.frames(place);
    let file_line = |frame: &Frame| Some(format!("{}:{}", frame.file.as_ref()?, frame.line?));
    let outermost = || frames.iter().rev().find_map(file_line);
    match frames.iter().any(Frame::is_own) {
        true => symbols.text(place),
        false => outermost().unwrap_or_else(|| symbols.text(place)),
    }
}

/// Whether another function begins where a call would return to. The address of a function, as the harness has that of the
/// test on its stack, looks like a call that ends the function before it.
fn is_edge(call: Place, symbols: &Symbols) -> bool {
    let function = |offset: u64| {
        let frames = symbols.frames(Place { offset, ..call });
        frames.last().and_then(|outermost| outermost.function.clone())
    };
    // Places are where calls return to, and the byte before is looked at.
    function(call.offset + 1).is_some_and(|next| function(call.offset) != Some(next))
}

/// The last word of the name of a function, without its types, or of the one that it is a closure of.
fn short(function: &str) -> String {
    let mut path = String::new();
    let mut depth = 0_u32;
    for c in function.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            c if depth == 0 => path.push(c),
            _ => {}
        }
    }
    let mut words = path.rsplit("::");
    let word = words.find(|word| !word.starts_with('{') && !word.is_empty());
    word.unwrap_or(function).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{assigned, short};

    #[test]
    fn names_from_lines() {
        let check = |line: &str, name: Option<&str>| assert_eq!(assigned(line).as_deref(), name);
        check("    struct node *n = malloc(sizeof *n);", Some("n"));
        check("q->head = calloc(1, 8);", Some("q->head"));
        check("let mut data: Arc<A> = Arc::new(a);", Some("data"));
        check("let (a, b) = (Box::new(1), Box::new(2));", None);
        check("if (a == malloc(1))", None);
        check("push(malloc(1));", None);
        check("std::thread t([&] { r = x.load(); });", None);
        assert_eq!(short("psop::tests::mp::{closure#0}"), "mp");
        assert_eq!(short("worker"), "worker");
        assert_eq!(short("queue<int>::push(int)"), "push");
        assert_eq!(short("<spin::once::Once<i32>>::call_once::<f<u8>>"), "call_once");
        assert_eq!(short("<a::B>::run::{closure#1}"), "run");
    }
}
