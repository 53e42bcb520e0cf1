//! The threads of a program under SC as tables: what each can do in each of its local states.
//!
//! A local state is a control point with its live registers. Steps that memory does not see are
//! collapsed: a thread is only ever met where it has an *act* to choose, an access to memory or
//! the like, where it has come to its end, or at a point that the question names. Values are
//! numbered per location in the order in which they are met, so that a state of the whole program
//! is a row of small numbers. The tables are filled as a search asks for them.

use rustc_hash::{FxHashMap, FxHashSet};
use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{
    Edge, Expr, Fence, Instr, PointId, Program, RegId, Thread, ThreadId, Undeclared, Value,
};

use crate::eval::eval;
use crate::intern::{Interner, hash, table_bytes};
use crate::liveness::live_registers;
use crate::memory::{in_range, loc_bit};
use crate::sc::symmetry::Class;

/// What a thread can do that others, or the question, may notice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Act {
    pub(crate) kind: ActKind,
    /// The location of an access.
    pub(crate) loc: u32,
    /// The number of the value that a store stores.
    pub(crate) value: u32,
    /// The edge that is taken.
    pub(crate) edge: u32,
    /// The choice, for a silent act that chooses.
    pub(crate) choice: Value,
    /// For acts that read, the row of `after`; for others the range of `targets`.
    at: (u32, u32),
}

/// The kinds of acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActKind {
    Read,
    Write,
    Update,
    Fence(Fence),
    Lock,
    Unlock,
    /// An assertion fails.
    Assertion,
    /// A step that memory does not see, where there were too many to collapse.
    Silent,
}

impl ActKind {
    /// Whether the owner of the global lock, a thread's number plus 1 or 0 for none, blocks the act.
    pub(crate) fn has_to_wait(self, owner: u32) -> bool {
        match self {
            ActKind::Lock => owner != 0,
            ActKind::Unlock => owner == 0,
            _ => false,
        }
    }
}

/// The program as tables.
#[derive(Clone, Debug)]
pub(crate) struct Threads<'p> {
    pub(crate) locs: Locs,
    tables: Vec<Table<'p>>,
    /// What local states of interchangeable threads look like.
    shapes: Interner<Value>,
    /// Per shape a number made of nothing but the shape.
    looks: Vec<u64>,
    /// Per shape whether a register names another member.
    knows_others: Vec<bool>,
}

/// One thread.
#[derive(Clone, Debug)]
struct Table<'p> {
    thread: ThreadId,
    code: &'p Thread,
    live: Vec<Vec<bool>>,
    /// Points that the question names.
    named: Vec<bool>,
    /// Whether fences are acts.
    fences: bool,
    states: Interner<Value>,
    /// Per local state the range of its acts, or `UNKNOWN`.
    ranges: Vec<(u32, u32)>,
    acts: Vec<Act>,
    /// Local states that acts lead to.
    targets: Vec<u32>,
    /// Local states from which not all silent steps were collapsed.
    capped: FxHashSet<u32>,
    /// Per local state its shape, or `u32::MAX`.
    shapes: Vec<u32>,
    /// Per shape that names no other member the local state that looks so, or `u32::MAX`.
    twins: Vec<u32>,
    /// Per reading act and value seen, where known: the value stored and the range of `targets`.
    after: Vec<Vec<Option<After>>>,
    /// How many entries there is room for in all of these.
    after_room: usize,
}

/// Where a reading act leads.
#[derive(Clone, Copy, Debug)]
struct After {
    stored: u32,
    targets: (u32, u32),
}

/// The locations and the values that they were seen to hold. The value with number 0 is the
/// first initial value.
#[derive(Clone, Debug)]
pub(crate) struct Locs {
    addrs: Vec<Value>,
    ranges: Vec<Option<(Value, Value)>>,
    number: FxHashMap<Value, u32>,
    values: Vec<Vec<Value>>,
    value_number: FxHashMap<(u32, Value), u32>,
    undeclared: Undeclared,
    /// So many are known from the program's text.
    known_at_once: u32,
}

/// An entry that the tables lack.
#[derive(Clone, Debug)]
pub(crate) enum Missing {
    /// What a local state of a thread in a class looks like.
    Shape(Box<Class>, usize, u32),
    /// The local state of another member that looks like one of this thread.
    Twin(Box<Class>, usize, u32, usize),
    /// A local state of a thread.
    Local(usize, PointId, Vec<Value>),
    /// The number of a value at a location.
    Number(u32, Value),
    /// The acts of a local state of a thread.
    Acts(usize, u32),
    /// Where an act of a local state of a thread leads when it sees a value.
    After(usize, u32, u32, u32),
}

const UNKNOWN: (u32, u32) = (u32::MAX, u32::MAX);
/// How many silent steps are collapsed at once at most.
const SILENT: usize = 1_000;

impl<'p> Threads<'p> {
    /// Tables for `program`; `fences` says whether fences are acts, or else silent.
    pub(crate) fn new(program: &'p Program, fences: bool) -> Threads<'p> {
        let table = |t: usize| {
            let thread = ThreadId::new(t);
            let code = &program.threads[t];
            let mut named = vec![false; code.points.len()];
            for point in program.forbidden.iter().filter_map(|f| f.get(t).copied().flatten()) {
                named[point.index()] = true;
            }
            Table {
                thread,
                code,
                live: live_registers(program, thread),
                named,
                fences,
                states: Interner::new(),
                ranges: Vec::new(),
                acts: Vec::new(),
                targets: Vec::new(),
                capped: FxHashSet::default(),
                shapes: Vec::new(),
                twins: Vec::new(),
                after: Vec::new(),
                after_room: 0,
            }
        };
        let mut locs = Locs::new(program);
        let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        for addr in edges.filter_map(|e| address(&e.instr)) {
            // Constant addresses are numbered first, whether they turn out to be good or not.
            if let Expr::Const(addr) = addr {
                let _ = locs.loc(*addr);
            }
        }
        locs.known_at_once = locs.len() as u32;
        let tables = (0..program.threads.len()).map(table).collect();
        Threads {
            locs,
            tables,
            shapes: Interner::new(),
            looks: Vec::new(),
            knows_others: Vec::new(),
        }
    }

    /// The bits of the locations that an instruction may access, see [`loc_bit`]; all if its
    /// address is computed.
    pub(crate) fn may_access(&self, instr: &Instr) -> u64 {
        match address(instr) {
            None => 0,
            Some(Expr::Const(addr)) => self.locs.number.get(addr).map_or(0, |&l| loc_bit(l)),
            Some(_) => u64::MAX,
        }
    }

    pub(crate) fn fences_are_acts(&self) -> bool {
        self.tables.iter().any(|t| t.fences)
    }

    /// What `local` of thread `t`, a member of `class`, looks like: equal for local states that
    /// differ only in which member it is.
    fn shape(&self, class: &Class, t: usize, local: u32) -> Result<u32, Missing> {
        match self.tables[t].shapes.get(local as usize) {
            Some(&shape) if shape != u32::MAX => Ok(shape),
            _ => Err(Missing::Shape(Box::new(class.clone()), t, local)),
        }
    }

    /// What a local state of a thread in a class looks like, as a number that depends on nothing
    /// else: not on what was met before.
    pub(crate) fn look(&self, class: &Class, t: usize, local: u32) -> Result<u64, Missing> {
        Ok(self.looks[self.shape(class, t, local)? as usize])
    }

    /// The local state of thread `to` that looks like `local` of thread `t`, both of them members
    /// of `class`; `None` if `local` knows of other members.
    pub(crate) fn twin(
        &self,
        class: &Class,
        t: usize,
        local: u32,
        to: usize,
    ) -> Result<Option<u32>, Missing> {
        let shape = self.shape(class, t, local)?;
        if self.knows_others[shape as usize] {
            return Ok(None);
        }
        match self.tables[to].twins.get(shape as usize) {
            Some(&twin) if twin != u32::MAX => Ok(Some(twin)),
            _ => Err(Missing::Twin(Box::new(class.clone()), t, local, to)),
        }
    }

    /// The local state of thread `to` that is like `local` of thread `t` with its values mapped.
    pub(crate) fn counterpart(
        &self,
        class: &Class,
        t: usize,
        local: u32,
        to: usize,
        value: &dyn Fn(Value) -> Value,
    ) -> Result<u32, Missing> {
        let table = &self.tables[t];
        let point = table.point(local);
        let regs = table.regs(local).iter().enumerate();
        let regs = regs.map(|(reg, &v)| if class.has_number(t, reg) { value(v) } else { v });
        let regs: Vec<Value> = regs.collect();
        match self.tables[to].find(point, &regs) {
            Some(local) => Ok(local),
            None => Err(Missing::Local(to, point, regs)),
        }
    }

    /// What local state `local` of thread `t` stands for: its point and registers, and whether it goes
    /// on by single silent steps.
    pub(crate) fn entry(&self, t: usize, local: u32) -> (bool, &[Value]) {
        (self.is_capped(t, local), self.tables[t].states.get(local))
    }

    /// Whether a local state goes on by single silent steps. Hardly any does.
    pub(crate) fn is_capped(&self, t: usize, local: u32) -> bool {
        let capped = &self.tables[t].capped;
        !capped.is_empty() && capped.contains(&local)
    }

    /// The local state of thread `t` that another process knows as this; `None` if there is none such.
    pub(crate) fn meet(&mut self, t: usize, capped: bool, contents: &[Value]) -> Option<u32> {
        let table = self.tables.get_mut(t)?;
        let (&point, regs) = contents.split_first()?;
        let point = usize::try_from(point).ok().filter(|&p| p < table.code.points.len())?;
        if regs.len() != table.code.regs.len() {
            return None;
        }
        let local = table.intern(PointId::new(point), regs);
        if capped && table.capped.insert(local) {
            table.ranges[local as usize] = UNKNOWN;
        }
        Some(local)
    }

    /// How many local states of thread `t` are known.
    pub(crate) fn known_locals(&self, t: usize) -> u32 {
        self.tables[t].states.len() as u32
    }

    /// Where thread `t` may stand at the start.
    pub(crate) fn initial(&mut self, t: usize) -> Result<Vec<u32>, Failure> {
        let table = &mut self.tables[t];
        let start = table.intern(table.code.entry, &table.code.regs);
        let range = table.collapse(start)?;
        Ok(table.targets[range.0 as usize..range.1 as usize].to_vec())
    }

    /// The local state in which thread `t` starts, before silent steps.
    pub(crate) fn start(&self, t: usize) -> Option<u32> {
        self.tables[t].find(self.tables[t].code.entry, &self.tables[t].code.regs)
    }

    pub(crate) fn point(&self, t: usize, local: u32) -> PointId {
        self.tables[t].point(local)
    }

    /// What thread `t` can do in `local`.
    pub(crate) fn acts(&self, t: usize, local: u32) -> Result<&[Act], Missing> {
        let table = &self.tables[t];
        match table.ranges[local as usize] {
            UNKNOWN => Err(Missing::Acts(t, local)),
            (start, end) => Ok(&table.acts[start as usize..end as usize]),
        }
    }

    /// Where `act` number `i` of `local` leads if its location holds value number `seen`: the
    /// number of the value that is then there, and the next local states.
    pub(crate) fn after(
        &self,
        t: usize,
        local: u32,
        i: usize,
        act: Act,
        seen: u32,
    ) -> Result<(u32, &[u32]), Missing> {
        let table = &self.tables[t];
        let (stored, (start, end)) = match act.kind {
            ActKind::Read | ActKind::Update => {
                match table.after[act.at.0 as usize].get(seen as usize).copied().flatten() {
                    Some(after) => (after.stored, after.targets),
                    None => return Err(Missing::After(t, local, i as u32, seen)),
                }
            }
            ActKind::Write => (act.value, act.at),
            _ => (seen, act.at),
        };
        Ok((stored, &table.targets[start as usize..end as usize]))
    }

    /// Adds what is missing.
    pub(crate) fn resolve(&mut self, missing: Missing) -> Result<(), Failure> {
        let Threads { tables, locs, .. } = self;
        match missing {
            Missing::Shape(class, t, local) => {
                let shape = shape(&class, &tables[t], t, local);
                let others = shape[2..].iter().skip(1).step_by(2).any(|&kind| kind == 2);
                let look = hash(&shape);
                let (shape, new) = self.shapes.insert(&shape);
                if new {
                    self.knows_others.push(others);
                    self.looks.push(look);
                }
                let known = &mut tables[t].shapes;
                if known.len() <= local as usize {
                    known.resize(local as usize + 1, u32::MAX);
                }
                known[local as usize] = shape;
                Ok(())
            }
            Missing::Twin(class, t, local, to) => {
                let place = |t| class.members.iter().position(|&m| m == t);
                let id = |t| place(t).and_then(|i| class.ids.get(i)).copied();
                let own = |(reg, &v): (usize, &Value)| match id(to) {
                    Some(other) if Some(v) == id(t) && class.has_number(t, reg) => other,
                    _ => v,
                };
                let point = tables[t].point(local);
                let regs: Vec<Value> = tables[t].regs(local).iter().enumerate().map(own).collect();
                let shape = tables[t].shapes[local as usize] as usize;
                let twin = tables[to].intern(point, &regs);
                let twins = &mut tables[to].twins;
                if twins.len() <= shape {
                    twins.resize(shape + 1, u32::MAX);
                }
                twins[shape] = twin;
                Ok(())
            }
            Missing::Local(t, point, regs) => {
                tables[t].intern(point, &regs);
                Ok(())
            }
            Missing::Number(loc, value) => {
                locs.number(loc, value);
                Ok(())
            }
            Missing::Acts(t, local) => tables[t].decode(local, locs),
            Missing::After(t, local, i, seen) => tables[t].see(local, i, seen, locs),
        }
    }

    /// The steps by which thread `t` gets from `from`, which need not be a place where threads are
    /// met, to `to` without an act, or with no other acts than fences.
    pub(crate) fn silent_path(&self, t: usize, from: u32, to: u32, fences: bool) -> Vec<Step> {
        let table = &self.tables[t];
        let mut seen = vec![(from, 0, None)];
        let mut known = FxHashSet::from_iter([from]);
        let mut next = 0;
        while next < seen.len() && !known.contains(&to) {
            let local = seen[next].0;
            for (to, step) in table.known_silent(local, fences) {
                if known.insert(to) {
                    seen.push((to, next, Some(step)));
                }
            }
            next += 1;
        }
        let mut steps = Vec::new();
        let mut at = seen.iter().position(|s| s.0 == to).unwrap_or(0);
        while let (_, before, Some(step)) = seen[at] {
            steps.push(step);
            at = before;
        }
        steps.reverse();
        steps
    }

    /// The local state of `t` right after edge `edge` of `local`, before silent steps, if the
    /// edge's location holds value number `seen`.
    pub(crate) fn right_after(&self, t: usize, local: u32, act: Act, seen: u32) -> Option<u32> {
        let table = &self.tables[t];
        let edge = &table.edges(local)[act.edge as usize];
        let mut regs = table.regs(local).to_vec();
        match &edge.instr {
            Instr::Load { reg, .. } | Instr::Update { reg, .. } => {
                regs[reg.index()] = self.locs.value(act.loc, seen);
            }
            Instr::Assign { reg, value } => regs[reg.index()] = value.eval(&regs).ok()?,
            Instr::Choose { reg, .. } => regs[reg.index()] = act.choice,
            _ => {}
        }
        table.find(edge.to, &regs)
    }

    pub(crate) fn bytes(&self) -> usize {
        let table = |t: &Table<'_>| {
            t.states.bytes()
                + t.ranges.capacity() * size_of::<(u32, u32)>()
                + t.acts.capacity() * size_of::<Act>()
                + (t.targets.capacity() + t.shapes.capacity() + t.twins.capacity()) * 4
                + t.after.capacity() * size_of::<Vec<Option<After>>>()
                + t.after_room * size_of::<Option<After>>()
                + table_bytes(t.capped.capacity(), 4)
        };
        self.tables.iter().map(table).sum::<usize>()
            + self.shapes.bytes()
            + self.looks.capacity() * 8
            + self.knows_others.capacity()
            + self.locs.bytes()
    }
}

/// A local state with its own number and those of other members marked and left out.
fn shape(class: &Class, table: &Table<'_>, t: usize, local: u32) -> Vec<Value> {
    let own = class.members.iter().position(|&m| m == t).and_then(|i| class.ids.get(i));
    let mut shape = vec![class.members[0] as Value, Value::from(table.point(local).0)];
    let live = &table.live[table.point(local).index()];
    for (reg, (&v, &live)) in table.regs(local).iter().zip(live).enumerate() {
        let live = live && class.has_number(t, reg);
        shape.extend(match () {
            () if live && Some(&v) == own => [0, 1],
            () if live && class.ids.contains(&v) => [0, 2],
            () => [v, 0],
        });
    }
    shape
}

fn address(instr: &Instr) -> Option<&Expr> {
    match instr {
        Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
            Some(addr)
        }
        _ => None,
    }
}

impl<'p> Table<'p> {
    fn intern(&mut self, point: PointId, regs: &[Value]) -> u32 {
        let row = self.normal(point, regs);
        let (id, new) = self.states.insert(&row);
        if new {
            self.ranges.push(UNKNOWN);
        }
        id
    }

    fn find(&self, point: PointId, regs: &[Value]) -> Option<u32> {
        self.states.find(&self.normal(point, regs))
    }

    /// Registers that nobody will look at again are 0.
    fn normal(&self, point: PointId, regs: &[Value]) -> Vec<Value> {
        let live = regs.iter().zip(&self.live[point.index()]);
        std::iter::once(Value::from(point.0))
            .chain(live.map(|(&v, &live)| if live { v } else { 0 }))
            .collect()
    }

    fn point(&self, local: u32) -> PointId {
        PointId(self.states.get(local)[0] as u32)
    }

    fn regs(&self, local: u32) -> &[Value] {
        &self.states.get(local)[1..]
    }

    fn edges(&self, local: u32) -> &'p [Edge] {
        &self.code.points[self.point(local).index()].edges
    }

    fn failure(&self, edge: &Edge, kind: FailureKind) -> Failure {
        Failure { thread: self.thread, span: edge.span, kind }
    }

    /// Whether an edge is taken without anybody noticing.
    fn is_silent(&self, instr: &Instr) -> bool {
        match instr {
            Instr::Nop | Instr::Assign { .. } | Instr::Choose { .. } => true,
            Instr::Assume(_) | Instr::Assert(_) => true,
            Instr::Fence(_) => !self.fences,
            _ => false,
        }
    }

    /// The silent steps from `local`: the registers after each. An assertion that fails has none.
    fn silent(&self, local: u32) -> Result<Vec<(Vec<Value>, PointId, Step)>, Failure> {
        let regs = self.regs(local);
        let mut found = Vec::new();
        for (i, edge) in self.edges(local).iter().enumerate() {
            let mut go = |reg: Option<(&RegId, Value)>, choice| {
                let mut regs = regs.to_vec();
                if let Some((reg, value)) = reg {
                    regs[reg.index()] = value;
                }
                let step = Step::Execute { thread: self.thread, edge: i as u32, choice };
                found.push((regs, edge.to, step));
            };
            let value = |e| eval(e, regs).map_err(|kind| self.failure(edge, kind));
            match &edge.instr {
                Instr::Nop => go(None, 0),
                Instr::Fence(_) if !self.fences => go(None, 0),
                Instr::Assign { reg, value: e } => go(Some((reg, value(e)?)), 0),
                Instr::Choose { reg, low, high } => {
                    for choice in *low..=*high {
                        go(Some((reg, choice)), choice);
                    }
                }
                Instr::Assume(e) | Instr::Assert(e) if value(e)? != 0 => go(None, 0),
                _ => {}
            }
        }
        Ok(found)
    }

    /// The silent steps, and fences if wanted, from `local` to local states that are known.
    fn known_silent(&self, local: u32, fences: bool) -> Vec<(u32, Step)> {
        let mut steps = self.silent(local).unwrap_or_default();
        for (i, edge) in self.edges(local).iter().enumerate() {
            if self.fences && fences && matches!(edge.instr, Instr::Fence(_)) {
                let step = Step::Execute { thread: self.thread, edge: i as u32, choice: 0 };
                steps.push((self.regs(local).to_vec(), edge.to, step));
            }
        }
        steps
            .into_iter()
            .filter_map(|(regs, to, step)| Some((self.find(to, &regs)?, step)))
            .collect()
    }

    /// The local states, among those that silent steps lead to from `start`, in which the thread
    /// is met; as a range of `targets`.
    fn collapse(&mut self, start: u32) -> Result<(u32, u32), Failure> {
        let mut seen = vec![start];
        let mut known = FxHashSet::from_iter([start]);
        let mut next = 0;
        let mut met = Vec::new();
        while next < seen.len() {
            let local = seen[next];
            next += 1;
            if next > SILENT {
                if self.capped.insert(local) {
                    self.ranges[local as usize] = UNKNOWN;
                }
                met.push(local);
                continue;
            }
            let silent = self.silent(local)?;
            let edges = self.edges(local);
            let fails = self.failing(local);
            let stays = edges.iter().any(|e| !self.is_silent(&e.instr))
                || silent.is_empty()
                || fails.is_some()
                || self.named[self.point(local).index()];
            if stays {
                met.push(local);
            }
            for (regs, to, _) in silent {
                let to = self.intern(to, &regs);
                if known.insert(to) {
                    seen.push(to);
                }
            }
        }
        if met.is_empty() {
            // The thread can only run in silent circles; the others go on without it.
            met.push(start);
        }
        let from = self.targets.len() as u32;
        self.targets.extend(met);
        Ok((from, self.targets.len() as u32))
    }

    /// The edge of an assertion that fails in `local`.
    fn failing(&self, local: u32) -> Option<u32> {
        let regs = self.regs(local);
        let fails = |e: &Edge| matches!(&e.instr, Instr::Assert(e) if e.eval(regs) == Ok(0));
        self.edges(local).iter().position(fails).map(|i| i as u32)
    }

    /// Finds the acts of `local`.
    fn decode(&mut self, local: u32, locs: &mut Locs) -> Result<(), Failure> {
        let regs = self.regs(local).to_vec();
        let mut acts = Vec::new();
        if let Some(edge) = self.failing(local) {
            let kind = ActKind::Assertion;
            acts.push(Act { kind, loc: 0, value: 0, edge, choice: 0, at: (0, 0) });
        }
        for (i, edge) in self.edges(local).iter().enumerate() {
            let fail = |kind| Failure { thread: self.thread, span: edge.span, kind };
            let mut act = Act {
                kind: ActKind::Silent,
                loc: 0,
                value: 0,
                edge: i as u32,
                choice: 0,
                at: (0, 0),
            };
            match &edge.instr {
                Instr::Load { addr, .. } | Instr::Update { addr, .. } => {
                    act.loc = eval(addr, &regs).and_then(|a| locs.loc(a)).map_err(fail)?;
                    act.at.0 = self.after.len() as u32;
                    self.after.push(Vec::new());
                    act.kind = match &edge.instr {
                        Instr::Load { .. } => ActKind::Read,
                        _ => ActKind::Update,
                    };
                }
                Instr::Store { addr, value } => {
                    let value = eval(value, &regs);
                    act.loc = eval(addr, &regs).and_then(|a| locs.loc(a)).map_err(fail)?;
                    let value = value.map_err(fail)?;
                    locs.check(act.loc, value).map_err(fail)?;
                    act.value = locs.number(act.loc, value);
                    act.kind = ActKind::Write;
                }
                Instr::Fence(f) if self.fences => act.kind = ActKind::Fence(*f),
                Instr::Lock => act.kind = ActKind::Lock,
                Instr::Unlock => act.kind = ActKind::Unlock,
                _ => continue,
            }
            if !matches!(act.kind, ActKind::Read | ActKind::Update) {
                let to = self.intern(edge.to, &regs);
                act.at = self.collapse(to)?;
            }
            acts.push(act);
        }
        // A local state where collapsing gave up goes on by single silent steps.
        if self.capped.contains(&local) {
            for (regs, to, step) in self.silent(local)? {
                let Step::Execute { edge, choice, .. } = step else { continue };
                let to = self.intern(to, &regs);
                let at = self.collapse(to)?;
                acts.push(Act { kind: ActKind::Silent, loc: 0, value: 0, edge, choice, at });
            }
        }
        let start = self.acts.len() as u32;
        self.acts.extend(acts);
        self.ranges[local as usize] = (start, self.acts.len() as u32);
        Ok(())
    }

    /// Finds where act `i` of `local` leads when it sees value number `seen`.
    fn see(&mut self, local: u32, i: u32, seen: u32, locs: &mut Locs) -> Result<(), Failure> {
        let act = self.acts[(self.ranges[local as usize].0 + i) as usize];
        let edge = &self.edges(local)[act.edge as usize];
        let mut regs = self.regs(local).to_vec();
        let mut stored = seen;
        match &edge.instr {
            Instr::Load { reg, .. } => regs[reg.index()] = locs.value(act.loc, seen),
            Instr::Update { reg, value, .. } => {
                regs[reg.index()] = locs.value(act.loc, seen);
                let fail = |kind| self.failure(edge, kind);
                let new = eval(value, &regs).map_err(fail)?;
                locs.check(act.loc, new).map_err(fail)?;
                stored = locs.number(act.loc, new);
            }
            _ => {}
        }
        let to = self.intern(edge.to, &regs);
        let targets = self.collapse(to)?;
        let after = &mut self.after[act.at.0 as usize];
        if after.len() <= seen as usize {
            self.after_room -= after.capacity();
            after.resize(seen as usize + 1, None);
            self.after_room += after.capacity();
        }
        after[seen as usize] = Some(After { stored, targets });
        Ok(())
    }
}

impl Locs {
    fn new(program: &Program) -> Locs {
        let addrs: Vec<Value> = program.locs.iter().map(|l| l.addr).collect();
        let mut locs = Locs {
            ranges: program.locs.iter().map(|l| l.range).collect(),
            number: addrs.iter().enumerate().map(|(i, &a)| (a, i as u32)).collect(),
            values: vec![Vec::new(); addrs.len()],
            addrs,
            value_number: FxHashMap::default(),
            undeclared: program.undeclared,
            known_at_once: 0,
        };
        for (i, loc) in program.locs.iter().enumerate() {
            for &value in &loc.init {
                locs.number(i as u32, value);
            }
        }
        locs
    }

    pub(crate) fn len(&self) -> usize {
        self.addrs.len()
    }

    /// So many locations are known from the program's text, and so have the same numbers always.
    pub(crate) fn known_at_once(&self) -> u32 {
        self.known_at_once
    }

    pub(crate) fn addr(&self, loc: u32) -> Value {
        self.addrs[loc as usize]
    }

    /// The values of `loc` by their numbers.
    pub(crate) fn values(&self, loc: u32) -> &[Value] {
        &self.values[loc as usize]
    }

    /// The value with number `n` at `loc`.
    pub(crate) fn value(&self, loc: u32, n: u32) -> Value {
        self.values[loc as usize][n as usize]
    }

    /// The location at `addr`, if it was met.
    pub(crate) fn find(&self, addr: Value) -> Option<u32> {
        self.number.get(&addr).copied()
    }

    /// The number of `value` at `loc`.
    pub(crate) fn find_number(&self, loc: u32, value: Value) -> Result<u32, Missing> {
        self.value_number.get(&(loc, value)).copied().ok_or(Missing::Number(loc, value))
    }

    /// The location at `addr`, which is met if it was not before.
    pub(crate) fn loc(&mut self, addr: Value) -> Result<u32, FailureKind> {
        match (self.number.get(&addr), self.undeclared) {
            (Some(&loc), _) => Ok(loc),
            (None, Undeclared::Fault) => Err(FailureKind::BadAddress(addr)),
            (None, Undeclared::Zero) => {
                let loc = self.addrs.len() as u32;
                self.addrs.push(addr);
                self.ranges.push(None);
                self.values.push(Vec::new());
                self.number.insert(addr, loc);
                self.number(loc, 0);
                Ok(loc)
            }
        }
    }

    fn bytes(&self) -> usize {
        // A value is listed, too, in a list that may be twice as long as it has to be.
        let values = table_bytes(self.value_number.capacity(), size_of::<((u32, Value), u32)>())
            + self.value_number.len() * 2 * size_of::<Value>();
        let locs = table_bytes(self.number.capacity(), size_of::<(Value, u32)>())
            + self.addrs.capacity() * size_of::<Value>()
            + self.ranges.capacity() * size_of::<Option<(Value, Value)>>()
            + self.values.capacity() * size_of::<Vec<Value>>();
        values + locs
    }

    fn check(&self, loc: u32, value: Value) -> Result<(), FailureKind> {
        in_range(self.ranges[loc as usize], value)
    }

    /// The number of `value` at `loc`, which is met if it was not before.
    pub(crate) fn number(&mut self, loc: u32, value: Value) -> u32 {
        let values = &mut self.values[loc as usize];
        *self.value_number.entry((loc, value)).or_insert_with(|| {
            values.push(value);
            values.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables for threads that are alike grow with the local states, so they count for the limit.
    #[test]
    fn what_local_states_look_like_takes_memory() {
        let text = "shared x = 0\nthread p[2] { var a; a = x; assert(a == 0) }";
        let parsed = weakspot_lang::parse(weakspot_lang::Format::Weak, text);
        let program = parsed.expect("a good program").program;
        let mut threads = Threads::new(&program, false);
        let before = threads.bytes();
        for shape in 0..1_000 {
            threads.shapes.insert(&[shape, 0, 1]);
        }
        let between = threads.bytes();
        assert!(between - before >= 24_000, "{before} {between}");
        threads.tables.iter_mut().for_each(|table| table.twins.resize(1_000, 0));
        let after = threads.bytes();
        assert!(after - between >= 8_000, "{between} {after}");
    }
}
