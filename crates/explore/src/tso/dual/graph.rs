//! What each thread can do on its own, if its loads return any value that anybody may ever store.
//!
//! A thread-modular over-approximation, forwards: per location the set of values that some thread
//! may store there, per thread the local states (control point and live registers) that it may be
//! in when its loads return any of them. Both grow until nothing is added. Every run of the
//! program is a run of these graphs, so a goal that they do not contain cannot be reached; and
//! the backward search needs no local states and values besides theirs. Data that do not stay
//! within a bound are not finite as far as this procedure is concerned.
//!
//! Values come in rounds. In round k loads see the values of round k. What a store outside of all
//! loops stores then is a value of round k + 1; what is stored in a loop is one of round k at once.
//! Values cause others only through stores that are issued later, and a store outside of loops is
//! taken once, so there are no more rounds than such stores. That keeps a counter finite that is
//! incremented outside of loops, as behind a spin lock.

use rustc_hash::{FxHashMap, FxHashSet};
use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{Instr, Limit, Model, PointId, Program, Thread, ThreadId, Value};

use crate::flow::components;
use crate::intern::Interner;
use crate::liveness::live_registers;
use crate::memory::Memories;
use crate::meter::Meter;

/// The number of a location with a value: a message of the dual semantics.
pub(crate) type Item = u32;

/// The threads of a program, as graphs over their local states.
pub(crate) struct Graphs<'p> {
    pub(crate) program: &'p Program,
    pub(super) model: Model,
    pub(crate) threads: Vec<Graph>,
    pub(crate) arcs: Vec<Arc>,
    pub(crate) atomics: Vec<Atomic>,
    pub(crate) moments: Vec<Moment>,
    pub(crate) items: Vec<(u32, Value)>,
    /// Per location the items that a load may see.
    pub(crate) seen: Vec<Vec<Item>>,
    pub(super) mems: Memories,
    numbers: FxHashMap<(u32, Value), Item>,
    /// Per location where it is loaded: to be looked at again when there are more values.
    readers: Vec<FxHashSet<Reader>>,
    visible: FxHashSet<Item>,
    /// Per thread, points with the same number are on a cycle together.
    cycles: Vec<Vec<u32>>,
    next_round: Vec<Item>,
    known_arcs: FxHashSet<(u32, u32, u32, Label)>,
    known_atomics: FxHashSet<(u32, u32, u32, Reads, Writes)>,
    known_moments: FxHashSet<(u32, u32, Reads, Writes, Drains, What)>,
    todo: Vec<Task>,
    /// How much more may be done before the data count as infinite.
    left: usize,
}

/// One thread.
pub(crate) struct Graph {
    pub(crate) init: u32,
    /// Per local state the arcs that lead to it.
    pub(crate) into: Vec<Vec<u32>>,
    locals: Interner<Value>,
    pub(super) live: Vec<Vec<bool>>,
}

/// A step of a thread from one local state to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arc {
    pub(crate) thread: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) label: Label,
    /// The step of the machine; for an atomic block the first one.
    pub(crate) step: Step,
}

/// What a step has to do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Label {
    /// Nothing, or nothing that matters: also a load into a register that nobody looks at.
    Silent,
    /// A load that returns the value of the item.
    Load(Item),
    /// A store.
    Store(Item),
    /// A store-store fence, where it matters.
    Barrier,
    /// An access to memory itself, which needs an empty buffer: an index into the atomics.
    Atomic(u32),
}

/// What memory has to hold before, sorted.
pub(crate) type Reads = Vec<Item>;
/// What memory holds after, sorted.
pub(crate) type Writes = Vec<Item>;

/// Reads and writes that take place at once: of a fence none, of an update one each, of an atomic
/// block those that are visible from outside.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) reads: Reads,
    pub(crate) writes: Writes,
    pub(crate) drains: Drains,
    pub(crate) steps: Vec<Step>,
}

/// What has to be in memory before a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Drains {
    Nothing,
    /// All earlier stores of the thread.
    All,
    /// Those to this location, and those before a store-store fence.
    Own(u32),
}

/// Something that can be the end of a run without being a local state: it is reached from local
/// state `from` when memory holds `reads`.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) thread: usize,
    pub(crate) from: u32,
    pub(crate) reads: Reads,
    pub(crate) writes: Writes,
    pub(crate) drains: Drains,
    pub(crate) steps: Vec<Step>,
    pub(crate) what: What,
}

/// What happens at a [`Moment`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// The thread is at this point inside of an atomic block.
    Inside(PointId),
    /// The thread has terminated inside of an atomic block, with these registers.
    Ended(Vec<Value>),
    /// The last step fails: at this point, on this edge.
    Fails(PointId, u32, Fault),
}

/// [`FailureKind`], for use as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    Assertion,
    BadAddress(Value),
    OutOfRange(Value),
    DivisionByZero,
}

/// Why there are no graphs.
#[derive(Debug)]
pub(crate) enum NoGraphs {
    /// A limit was reached.
    Limit(Limit),
    /// The data are not finite, or there are too many of them.
    NotFinite,
}

/// A location that may hold more values than this counts as unbounded.
const VALUES: usize = 1 << 12;

/// A load, update or atomic block: thread, local state, edge, and whether it is a block.
type Reader = (u32, u32, u32, bool);

enum Task {
    Local(u32, u32),
    Access(Reader, Item),
}

/// The graphs of `program`, if local states, steps between them and visits inside of atomic
/// blocks together are at most `bound`. What matters in final states is what `asked` observes,
/// which is the same program otherwise.
pub(crate) fn graphs<'p>(
    program: &'p Program,
    asked: &Program,
    model: Model,
    bound: usize,
    meter: &mut Meter<'_>,
) -> Result<Graphs<'p>, NoGraphs> {
    let mut graphs = Graphs::new(program, asked, model, bound);
    let mut rounds = graphs.stores_outside_of_loops();
    loop {
        while let Some(task) = graphs.todo.pop() {
            graphs.spend(1)?;
            meter.work(|| (graphs.todo.len() as u64, graphs.bytes())).map_err(NoGraphs::Limit)?;
            match task {
                Task::Local(t, q) => graphs.explore(t, q)?,
                Task::Access((t, q, edge, true), _) => graphs.block(t, q, edge, meter)?,
                Task::Access((t, q, edge, false), item) => graphs.access(t, q, edge, item),
            }
        }
        if graphs.next_round.is_empty() || rounds == 0 {
            return Ok(graphs);
        }
        rounds -= 1;
        for item in std::mem::take(&mut graphs.next_round) {
            graphs.becomes_visible(item);
        }
    }
}

impl<'p> Graphs<'p> {
    fn new(program: &'p Program, asked: &Program, model: Model, bound: usize) -> Graphs<'p> {
        let mut graphs = Graphs {
            program,
            model,
            threads: Vec::new(),
            arcs: Vec::new(),
            atomics: Vec::new(),
            moments: Vec::new(),
            items: Vec::new(),
            seen: Vec::new(),
            mems: Memories::new(program),
            numbers: FxHashMap::default(),
            readers: Vec::new(),
            visible: FxHashSet::default(),
            cycles: program.threads.iter().map(components).collect(),
            next_round: Vec::new(),
            known_arcs: FxHashSet::default(),
            known_atomics: FxHashSet::default(),
            known_moments: FxHashSet::default(),
            todo: Vec::new(),
            left: bound,
        };
        if let Some(last) = program.locs.len().checked_sub(1) {
            graphs.make_room(last as u32);
        }
        for (t, code) in program.threads.iter().enumerate() {
            graphs.threads.push(Graph {
                init: 0,
                into: Vec::new(),
                locals: Interner::new(),
                live: live_registers(asked, ThreadId::new(t)),
            });
            graphs.threads[t].init = graphs.local(t as u32, code.entry, &code.regs);
        }
        graphs
    }

    pub(crate) fn code(&self, t: usize) -> &'p Thread {
        &self.program.threads[t]
    }

    /// The location of an item.
    pub(crate) fn loc(&self, item: Item) -> u32 {
        self.items[item as usize].0
    }

    pub(crate) fn value(&self, item: Item) -> Value {
        self.items[item as usize].1
    }

    pub(crate) fn addr(&self, item: Item) -> Value {
        self.mems.addr(self.loc(item))
    }

    pub(crate) fn locations(&self) -> usize {
        self.seen.len()
    }

    /// Whether memory may start like that.
    pub(crate) fn is_initial(&self, item: Item) -> bool {
        self.initial(self.loc(item)).contains(&self.value(item))
    }

    pub(crate) fn point(&self, t: usize, local: u32) -> PointId {
        PointId(self.threads[t].locals.get(local)[0] as u32)
    }

    pub(crate) fn regs(&self, t: usize, local: u32) -> &[Value] {
        &self.threads[t].locals.get(local)[1..]
    }

    /// The number of local states of thread `t`.
    pub(crate) fn count(&self, t: usize) -> usize {
        self.threads[t].locals.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        // Rows of registers, and about 100 bytes per arc with its places in the tables.
        let locals: usize = self.threads.iter().map(|t| t.locals.bytes() + 24 * t.into.len()).sum();
        (locals + 100 * self.arcs.len() + 300 * (self.atomics.len() + self.moments.len())) as u64
    }

    /// Counts work that only finite data keep bounded.
    pub(super) fn spend(&mut self, work: usize) -> Result<(), NoGraphs> {
        self.left = self.left.checked_sub(work).ok_or(NoGraphs::NotFinite)?;
        Ok(())
    }

    fn initial(&self, loc: u32) -> &[Value] {
        self.program.locs.get(loc as usize).map_or(&[0], |l| &l.init)
    }

    pub(super) fn item(&mut self, loc: u32, value: Value) -> Item {
        let next = self.items.len() as Item;
        let item = *self.numbers.entry((loc, value)).or_insert(next);
        if item == next {
            self.items.push((loc, value));
        }
        item
    }

    /// The location at `addr`.
    pub(super) fn location(&mut self, addr: Value) -> Result<u32, FailureKind> {
        let loc = self.mems.loc(addr)?;
        self.make_room(loc);
        Ok(loc)
    }

    fn make_room(&mut self, loc: u32) {
        while self.seen.len() <= loc as usize {
            let new = self.seen.len() as u32;
            self.seen.push(Vec::new());
            self.readers.push(FxHashSet::default());
            for value in self.initial(new).to_vec() {
                let item = self.item(new, value);
                self.becomes_visible(item);
            }
        }
    }

    fn becomes_visible(&mut self, item: Item) {
        if !self.visible.insert(item) {
            return;
        }
        let loc = self.loc(item) as usize;
        self.seen[loc].push(item);
        if self.seen[loc].len() > VALUES {
            self.left = 0;
        }
        self.todo.extend(self.readers[loc].iter().map(|&r| Task::Access(r, item)));
    }

    /// Thread `t` may store `value` at `loc` by taking this edge.
    pub(super) fn stored(&mut self, t: u32, q: u32, edge: u32, loc: u32, value: Value) -> Item {
        let item = self.item(loc, value);
        let point = self.point(t as usize, q);
        let to = self.code(t as usize).points[point.index()].edges[edge as usize].to;
        if self.is_in_a_loop(t as usize, point, to) {
            self.becomes_visible(item);
        } else if !self.visible.contains(&item) {
            self.next_round.push(item);
        }
        item
    }

    fn is_in_a_loop(&self, t: usize, from: PointId, to: PointId) -> bool {
        self.cycles[t][from.index()] == self.cycles[t][to.index()]
    }

    fn stores_outside_of_loops(&self) -> usize {
        let mut stores = 0;
        for (t, code) in self.program.threads.iter().enumerate() {
            for (p, point) in code.points.iter().enumerate() {
                let is_store = |i: &Instr| {
                    matches!(i, Instr::Store { .. } | Instr::Update { .. } | Instr::Lock)
                };
                let once = |to| !self.is_in_a_loop(t, PointId::new(p), to);
                stores += point.edges.iter().filter(|e| is_store(&e.instr) && once(e.to)).count();
            }
        }
        stores
    }

    /// The values at `loc` that `reader` may see now; it is called again for others.
    pub(super) fn seen_by(&mut self, loc: u32, reader: Reader) -> Vec<Item> {
        self.readers[loc as usize].insert(reader);
        self.seen[loc as usize].clone()
    }

    /// The atomic block on this edge is to be run.
    pub(super) fn run_later(&mut self, t: u32, q: u32, edge: u32) {
        self.todo.push(Task::Access((t, q, edge, true), 0));
    }

    pub(super) fn local(&mut self, t: u32, point: PointId, regs: &[Value]) -> u32 {
        let mut row = vec![Value::from(point.0)];
        row.extend(self.masked(t, point, regs));
        let graph = &mut self.threads[t as usize];
        let (id, new) = graph.locals.insert(&row);
        if new {
            graph.into.push(Vec::new());
            self.todo.push(Task::Local(t, id));
        }
        id
    }

    /// The registers, with 0 for those that nobody looks at any more.
    pub(super) fn masked(&self, t: u32, point: PointId, regs: &[Value]) -> Vec<Value> {
        let live = &self.threads[t as usize].live[point.index()];
        regs.iter().zip(live).map(|(&v, &live)| if live { v } else { 0 }).collect()
    }

    pub(super) fn arc(&mut self, arc: Arc) {
        if self.known_arcs.insert((arc.thread, arc.from, arc.to, arc.label)) {
            self.left = self.left.saturating_sub(1);
            let id = self.arcs.len() as u32;
            self.arcs.push(arc);
            self.threads[arc.thread as usize].into[arc.to as usize].push(id);
        }
    }

    pub(super) fn atomic(&mut self, t: u32, from: u32, to: u32, atomic: Atomic) {
        let key = (t, from, to, atomic.reads.clone(), atomic.writes.clone());
        if self.known_atomics.insert(key)
            && let Some(&step) = atomic.steps.first()
        {
            let label = Label::Atomic(self.atomics.len() as u32);
            self.atomics.push(atomic);
            self.arc(Arc { thread: t, from, to, label, step });
        }
    }

    pub(super) fn moment(&mut self, moment: Moment) {
        let Moment { thread, from, reads, writes, drains, what, .. } = &moment;
        let (reads, writes) = (reads.clone(), writes.clone());
        let key = (*thread as u32, *from, reads, writes, *drains, what.clone());
        if self.known_moments.insert(key) {
            self.moments.push(moment);
        }
    }

    /// What went wrong at a moment, if something did.
    pub(crate) fn failure(&self, moment: &Moment) -> Option<Failure> {
        let What::Fails(point, edge, fault) = &moment.what else { return None };
        let thread = ThreadId::new(moment.thread);
        let span = self.program.edge(thread, *point, *edge as usize).span;
        Some(Failure { thread, span, kind: (*fault).into() })
    }
}

impl From<Fault> for FailureKind {
    fn from(fault: Fault) -> FailureKind {
        match fault {
            Fault::Assertion => FailureKind::Assertion,
            Fault::BadAddress(a) => FailureKind::BadAddress(a),
            Fault::OutOfRange(v) => FailureKind::OutOfRange(v),
            Fault::DivisionByZero => FailureKind::DivisionByZero,
        }
    }
}

impl From<FailureKind> for Fault {
    fn from(kind: FailureKind) -> Fault {
        match kind {
            FailureKind::Assertion => Fault::Assertion,
            FailureKind::BadAddress(a) => Fault::BadAddress(a),
            FailureKind::OutOfRange(v) => Fault::OutOfRange(v),
            FailureKind::DivisionByZero => Fault::DivisionByZero,
        }
    }
}
