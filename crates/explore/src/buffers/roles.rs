//! What each location is for: who accesses it, and who looks at what was stored there. Most of
//! memory need not be shared state of a search at all.
//!
//! All of this is found out beforehand and for the whole program. Where an address is computed
//! from what was read, every location is an ordinary one.

use weakspot_core::{
    BinOp, Expr, Instr, LocId, Observable, Program, RegId, Thread, ThreadId, Value,
};

use crate::flow::{in_loop, postorder};
use crate::liveness::live_registers;

/// What a location is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Threads see there what others do.
    Shared,
    /// One thread alone accesses it; which of its own cells it is. It is like a register.
    Own(usize),
    /// Nobody looks at what is stored there. At the end it holds this value, if that is observed.
    Unread(Value),
    /// It is stored to by several threads and rarely read, see [`Sample`](crate::memory::Sample).
    Sampled,
}

/// What the locations of a program are for.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    roles: Vec<Role>,
    /// Per thread the locations that only it accesses.
    pub(crate) own: Vec<Vec<LocId>>,
}

/// How a location is accessed, in all of the program.
#[derive(Clone, Debug, Default)]
struct Use {
    /// Which threads access it, and which of them store to it.
    threads: Vec<usize>,
    writers: Vec<usize>,
    /// How many loads and updates look at it, and how many stores and updates change it.
    reads: usize,
    writes: usize,
    /// What is stored, as long as it is one constant.
    value: Option<Value>,
    values_differ: bool,
    /// An update stores what depends on what it has read, which goes nowhere else.
    counts: bool,
    /// An access that may go elsewhere, too, or that takes several locations at once.
    vague: bool,
    observed: bool,
}

/// How much an access in a loop counts.
const IN_A_LOOP: usize = 1_000;

/// How many words the cells of one thread may take at all of its points.
const MOST_WORDS: usize = 50_000_000;

impl Roles {
    /// What the locations of `program` are for, if its final states are asked for.
    pub(crate) fn of(program: &Program) -> Roles {
        let mut roles = Roles {
            roles: vec![Role::Shared; program.locs.len()],
            own: vec![Vec::new(); program.threads.len()],
        };
        let Some(uses) = uses(program) else { return roles };
        let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        let has_blocks = edges.into_iter().any(|e| e.instr == Instr::Lock);
        for (l, used) in uses.iter().enumerate() {
            let location = &program.locs[l];
            if used.vague || used.threads.is_empty() {
                continue;
            }
            roles.roles[l] = match used.threads[..] {
                [t] if location.init.len() == 1 => {
                    let cells = &mut roles.own[t];
                    if (cells.len() + 1) * program.threads[t].points.len() > MOST_WORDS {
                        continue;
                    }
                    cells.push(LocId::new(l));
                    Role::Own(cells.len() - 1)
                }
                _ if used.reads == 0 && !used.observed && location.range.is_none() => {
                    Role::Unread(0)
                }
                _ => match settled(program, l, used) {
                    Some(value) => Role::Unread(value),
                    None if used.is_rarely_read() && !has_blocks => Role::Sampled,
                    None => Role::Shared,
                },
            };
        }
        roles
    }

    /// What `loc`, a location or a wide place, is for.
    pub(crate) fn role(&self, loc: u32) -> Role {
        self.roles.get(loc as usize).copied().unwrap_or(Role::Shared)
    }

    /// The locations that are sampled.
    pub(crate) fn sampled(&self) -> Vec<u32> {
        (0..self.roles.len() as u32).filter(|&l| self.role(l) == Role::Sampled).collect()
    }

    /// Whether stores to `loc` are kept out of the buffers of a search.
    pub(crate) fn is_quiet(&self, loc: u32) -> bool {
        matches!(self.role(loc), Role::Own(_) | Role::Unread(_))
    }

    /// Whether there are such locations.
    pub(crate) fn has_quiet(&self) -> bool {
        (0..self.roles.len() as u32).any(|l| self.is_quiet(l))
    }
}

impl Use {
    fn by(list: &mut Vec<usize>, t: usize) {
        // Threads come in order.
        if list.last() != Some(&t) {
            list.push(t);
        }
    }

    fn stores(&mut self, t: usize, value: &Expr, times: usize) {
        Use::by(&mut self.writers, t);
        self.writes += times;
        match (value, self.value) {
            (Expr::Const(v), None) => self.value = Some(*v),
            (Expr::Const(v), Some(known)) if *v == known => {}
            _ => self.values_differ = true,
        }
    }

    /// Whether far more is stored than read, by several threads.
    fn is_rarely_read(&self) -> bool {
        self.writers.len() > 1 && self.writes >= 2 * self.reads + 3
    }
}

/// How each location is accessed; `None` if an address may be anything.
fn uses(program: &Program) -> Option<Vec<Use>> {
    let mut uses = vec![Use::default(); program.locs.len()];
    for observed in &program.observed {
        if let Observable::Loc(l) = observed.what {
            match program.wide(l) {
                None => uses[l.index()].observed = true,
                Some(wide) => {
                    wide.cells.iter().for_each(|part| uses[part.loc.index()].vague = true);
                }
            }
        }
    }
    for (t, code) in program.threads.iter().enumerate() {
        let known = known_values(code);
        let live = live_registers(program, ThreadId::new(t));
        let loops = in_loop(code);
        for (p, point) in code.points.iter().enumerate() {
            let times = if loops[p] { IN_A_LOOP } else { 1 };
            for edge in &point.edges {
                let (Instr::Load { addr, .. }
                | Instr::Store { addr, .. }
                | Instr::Update { addr, .. }) = &edge.instr
                else {
                    continue;
                };
                let addrs = addresses(addr, &known)?;
                let is_live = |reg: &RegId| live[edge.to.index()][reg.index()];
                for &addr in &addrs {
                    // An address that is none is a fault where it happens.
                    let Some(loc) = program.loc_at(addr) else { continue };
                    if let Some(wide) = program.wide(loc) {
                        wide.cells.iter().for_each(|part| uses[part.loc.index()].vague = true);
                        continue;
                    }
                    let used = &mut uses[loc.index()];
                    used.vague |= addrs.len() > 1;
                    Use::by(&mut used.threads, t);
                    match &edge.instr {
                        Instr::Load { reg, .. } => {
                            used.reads += if is_live(reg) { times } else { 0 };
                        }
                        Instr::Store { value, .. } => used.stores(t, value, times),
                        Instr::Update { reg, value, .. } => {
                            used.stores(t, value, times);
                            if is_live(reg) || mentions(value, *reg) && divides(value) {
                                used.reads += times;
                            } else if mentions(value, *reg) {
                                used.counts = true;
                                used.reads += if used.observed { times } else { 0 };
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    // What only an update looks at, to store what comes of it, matters if anyone else looks.
    for used in uses.iter_mut().filter(|u| u.counts && u.reads > 0) {
        used.reads += used.writes;
    }
    Some(uses)
}

/// Whether an update of this edge reads what its location holds.
pub(crate) fn update_reads(reg: RegId, value: &Expr, live: bool) -> bool {
    live || mentions(value, reg)
}

/// Per register the values that it may hold, if these are few and written in the program.
fn known_values(code: &Thread) -> Vec<Option<Vec<Value>>> {
    let mut known: Vec<Option<Vec<Value>>> = code.regs.iter().map(|&v| Some(vec![v])).collect();
    for edge in code.points.iter().flat_map(|p| &p.edges) {
        match &edge.instr {
            Instr::Assign { reg, value: Expr::Const(v) } => {
                if let Some(values) = &mut known[reg.index()]
                    && !values.contains(v)
                {
                    values.push(*v);
                }
            }
            Instr::Assign { reg, .. }
            | Instr::Choose { reg, .. }
            | Instr::Load { reg, .. }
            | Instr::Update { reg, .. } => known[reg.index()] = None,
            _ => {}
        }
    }
    known
}

/// The values that an address may have; `None` if they are not known.
fn addresses(addr: &Expr, known: &[Option<Vec<Value>>]) -> Option<Vec<Value>> {
    if let Expr::Const(addr) = addr {
        return Some(vec![*addr]);
    }
    let mut regs: Vec<RegId> = Vec::new();
    addr.for_each_reg(&mut |r| {
        if !regs.contains(&r) {
            regs.push(r);
        }
    });
    let mut rows = vec![vec![0; known.len()]];
    for reg in regs {
        let values = known[reg.index()].as_ref()?;
        if rows.len() * values.len() > 64 {
            return None;
        }
        let with = |row: &Vec<Value>, v: Value| {
            let mut row = row.clone();
            row[reg.index()] = v;
            row
        };
        rows = rows.iter().flat_map(|row| values.iter().map(move |&v| with(row, v))).collect();
    }
    // A division by zero is a fault where it happens.
    let mut found: Vec<Value> = rows.iter().filter_map(|row| addr.eval(row).ok()).collect();
    found.sort_unstable();
    found.dedup();
    Some(found)
}

fn mentions(e: &Expr, reg: RegId) -> bool {
    let mut found = false;
    e.for_each_reg(&mut |r| found |= r == reg);
    found
}

/// Whether an expression has a division or remainder, which may fault.
pub(crate) fn divides(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Reg(_) => false,
        Expr::Unary(_, e) => divides(e),
        Expr::Binary(op, l, r) => matches!(op, BinOp::Div | BinOp::Rem) || divides(l) || divides(r),
        Expr::Select(parts) => divides(&parts.0) || divides(&parts.1) || divides(&parts.2),
    }
}

/// The value that a location holds in every final state, because nobody looks at it before, all
/// store the same, and some thread stores it on every way to its end.
fn settled(program: &Program, loc: usize, used: &Use) -> Option<Value> {
    let value = used.value.filter(|_| !used.values_differ && used.reads == 0)?;
    let addr = program.locs[loc].addr;
    let in_range = |(low, high)| (low..=high).contains(&value);
    if !program.locs[loc].range.is_none_or(in_range) {
        return None;
    }
    let always = |&t: &usize| {
        let code = &program.threads[t];
        let stores = |instr: &Instr| match instr {
            Instr::Store { addr: e, .. } | Instr::Update { addr: e, .. } => *e == Expr::Const(addr),
            _ => false,
        };
        let mut must = vec![true; code.points.len()];
        let order = postorder(code);
        loop {
            let mut changed = false;
            for &p in &order {
                let edges = &code.points[p].edges;
                let now = !edges.is_empty()
                    && edges.iter().all(|e| stores(&e.instr) || must[e.to.index()]);
                changed |= now != must[p];
                must[p] = now;
            }
            if !changed {
                return must[code.entry.index()];
            }
        }
    };
    used.writers.iter().any(always).then_some(value)
}
