//! Compiled Memorax programs against a direct reading of Memorax's rules: random processes without
//! jumps, run statement by statement, have to reach the same states at their labels.
//!
//! In the direct reading a statement is one step that happens as a whole or not at all.

use std::collections::{BTreeMap, HashSet};

use crate::states::states;
use weakspot_core::Model;
use weakspot_core::machine::{Entry, Local};
use weakspot_core::testing::Rng;
use weakspot_lang::memorax::{
    self, BoolExpr, BoolKind, Comparison, Expr, ExprKind, FenceKind, File, Place, PlaceKind, Stmt,
    StmtKind, WriteKind,
};

/// Every variable and register has this domain.
const HIGH: i64 = 2;
const VARIABLES: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    memory: Vec<i64>,
    processes: Vec<Process>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    at: usize,
    regs: BTreeMap<String, i64>,
    buffer: Vec<(usize, i64)>,
}

/// The states that the statements reach.
fn direct(file: &File, tso: bool) -> HashSet<State> {
    let process = |p: &memorax::Process| Process {
        at: 0,
        regs: p.registers.iter().map(|d| (d.name.text.clone(), d.init.unwrap_or(0))).collect(),
        buffer: Vec::new(),
    };
    let start = State {
        memory: file.data.iter().map(|d| d.init.unwrap_or(0)).collect(),
        processes: file.processes.iter().map(process).collect(),
    };
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let mut next = Vec::new();
        for (pid, p) in file.processes.iter().enumerate() {
            if !state.processes[pid].buffer.is_empty() {
                let mut after = state.clone();
                let (var, value) = after.processes[pid].buffer.remove(0);
                after.memory[var] = value;
                next.push(after);
            }
            if let Some(s) = p.text.get(state.processes[pid].at) {
                for mut after in run(&state, pid, &s.kind, tso, false) {
                    after.processes[pid].at += 1;
                    next.push(after);
                }
            }
        }
        for state in next {
            if seen.insert(state.clone()) {
                open.push(state);
            }
        }
    }
    seen
}

/// The states after one statement, none if it blocks.
fn run(state: &State, pid: usize, s: &StmtKind, tso: bool, locked: bool) -> Vec<State> {
    let me = &state.processes[pid];
    let fits = |v: i64| (0..=HIGH).contains(&v);
    let one = |ok: bool, change: &dyn Fn(&mut State)| {
        let mut after = state.clone();
        if ok {
            change(&mut after);
        }
        Vec::from_iter(ok.then_some(after))
    };
    let read = |var: usize| {
        let own = me.buffer.iter().rev().find(|(v, _)| *v == var);
        own.map_or(state.memory[var], |(_, value)| *value)
    };
    match s {
        StmtKind::Nop => vec![state.clone()],
        StmtKind::Assign { reg, value } => {
            let value = number(me, value);
            one(fits(value), &|s| {
                s.processes[pid].regs.insert(reg.text.clone(), value);
            })
        }
        StmtKind::Assume(b) => one(truth(me, b), &|_| {}),
        StmtKind::ReadAssert { place, value } => {
            one(var(me, place).is_some_and(|v| read(v) == number(me, value)), &|_| {})
        }
        StmtKind::ReadAssign { reg, place } => {
            let value = var(me, place).map(read);
            one(value.is_some_and(fits), &|s| {
                s.processes[pid].regs.insert(reg.text.clone(), value.unwrap_or(0));
            })
        }
        StmtKind::Write { kind: WriteKind::Plain, place, value } => {
            let (target, value) = (var(me, place), number(me, value));
            one(target.is_some() && fits(value), &|s| match target {
                Some(v) if locked || !tso => s.memory[v] = value,
                Some(v) => s.processes[pid].buffer.push((v, value)),
                None => {}
            })
        }
        StmtKind::Write { place, value, .. } => {
            let plain = StmtKind::Write {
                kind: WriteKind::Plain,
                place: place.clone(),
                value: value.clone(),
            };
            if me.buffer.is_empty() { run(state, pid, &plain, tso, true) } else { Vec::new() }
        }
        StmtKind::Cas { place, old, new } => {
            let equal = var(me, place).is_some_and(|v| state.memory[v] == number(me, old));
            let (target, new) = (var(me, place), number(me, new));
            one(me.buffer.is_empty() && equal && fits(new), &|s| {
                s.memory[target.unwrap_or(0)] = new;
            })
        }
        StmtKind::Fence(FenceKind::Full) => one(me.buffer.is_empty(), &|_| {}),
        StmtKind::Fence(_) => vec![state.clone()],
        StmtKind::Locked(branches) => {
            if contains_write(s) && !me.buffer.is_empty() {
                return Vec::new();
            }
            let branch = |list: &Vec<Stmt>| {
                list.iter().fold(vec![state.clone()], |states, s| {
                    states.iter().flat_map(|state| run(state, pid, &s.kind, tso, true)).collect()
                })
            };
            branches.iter().flat_map(branch).collect()
        }
        other => panic!("not generated: {other:?}"),
    }
}

fn contains_write(s: &StmtKind) -> bool {
    match s {
        StmtKind::Write { .. } | StmtKind::Cas { .. } => true,
        StmtKind::Locked(branches) => branches.iter().flatten().any(|s| contains_write(&s.kind)),
        _ => false,
    }
}

fn var(me: &Process, place: &Place) -> Option<usize> {
    match &place.kind {
        PlaceKind::Global(name) => Some(if name == "x" { 0 } else { 1 }),
        PlaceKind::Pointer(e) => usize::try_from(number(me, e)).ok().filter(|v| *v < VARIABLES),
        other => panic!("not generated: {other:?}"),
    }
}

fn number(me: &Process, e: &Expr) -> i64 {
    match &e.kind {
        ExprKind::Int(value) => *value,
        ExprKind::Reg(name) => me.regs[name],
        ExprKind::Neg(inner) => -number(me, inner),
        ExprKind::Add(l, r) => number(me, l) + number(me, r),
        ExprKind::Sub(l, r) => number(me, l) - number(me, r),
    }
}

fn truth(me: &Process, b: &BoolExpr) -> bool {
    match &b.kind {
        BoolKind::Const(value) => *value,
        BoolKind::Compare(c, l, r) => {
            let (l, r) = (number(me, l), number(me, r));
            match c {
                Comparison::Eq => l == r,
                Comparison::Ne => l != r,
                Comparison::Lt => l < r,
                Comparison::Gt => l > r,
                Comparison::Le => l <= r,
                Comparison::Ge => l >= r,
            }
        }
        BoolKind::Not(inner) => !truth(me, inner),
        BoolKind::And(l, r) => truth(me, l) && truth(me, r),
        BoolKind::Or(l, r) => truth(me, l) || truth(me, r),
    }
}

/// The same from the compiled program: the states in which all processes are at labels.
fn compiled(file: &File, parsed: &weakspot_lang::Parsed, model: Model) -> HashSet<State> {
    let process = |t: usize, local: &Local| {
        let label = &parsed.names.points[t][local.point.index()];
        let at = label.strip_prefix('L')?.parse::<usize>().ok()?;
        let declared = file.processes[t].registers.iter().map(|d| d.name.text.clone());
        let regs = declared.zip(local.regs.iter().copied()).collect();
        let store = |entry: &Entry| match *entry {
            Entry::Store { addr, value } => Some((usize::try_from(addr).ok()?, value)),
            Entry::Barrier => None,
        };
        let buffer = local.buffer.iter().filter_map(store).collect();
        Some(Process { at, regs, buffer })
    };
    states(&parsed.program, model)
        .iter()
        .filter_map(|state| {
            let locals = state.threads.iter().enumerate();
            let processes = locals.map(|(t, local)| process(t, local)).collect::<Option<_>>()?;
            Some(State {
                memory: state.memory.iter().map(|(_, &value)| value).collect(),
                processes,
            })
        })
        .collect()
}

/// A maker of random programs.
struct Random(Rng);

impl Random {
    fn pick(&mut self, choices: &[&str]) -> String {
        choices[self.0.below(choices.len())].to_owned()
    }

    fn expr(&mut self) -> String {
        self.pick(&["0", "1", "2", "$r", "$s", "$r + 1", "$s - 1", "1 - $r", "$r + $s"])
    }

    fn place(&mut self) -> String {
        self.pick(&["x", "x", "y", "y", "[$r]", "[1 - $s]"])
    }

    fn simple(&mut self) -> String {
        match self.0.below(12) {
            0 => self.pick(&["nop", "fence"]),
            1 | 2 => format!("{} := {}", self.pick(&["$r", "$s"]), self.expr()),
            3 => {
                format!("assume: {} {} {}", self.expr(), self.pick(&["=", "!=", "<="]), self.expr())
            }
            4 | 5 => format!("read: {} = {}", self.place(), self.expr()),
            6 | 7 => format!("read: {} := {}", self.pick(&["$r", "$s"]), self.place()),
            8 => format!("locked write: {} := {}", self.place(), self.expr()),
            9 => format!("cas({}, {}, {})", self.place(), self.expr(), self.expr()),
            _ => format!("write: {} := {}", self.place(), self.expr()),
        }
    }

    /// A block of a shape that is compiled in a way of its own.
    fn shaped_block(&mut self) -> String {
        let (place, e) = (self.place(), self.expr());
        let simple = self.simple();
        match self.0.below(4) {
            0 => format!(
                "locked {{ $s := {e}; read: $r := {place}; {simple}; write: {place} := $s }}"
            ),
            1 => format!(
                "locked {{ read: $s := {place}; $r := $s; write: {place} := {e}; {simple} }}"
            ),
            2 => format!(
                "locked {{ read: {place} = {e} or {simple}; write: x := 1; write: y := 0 }}"
            ),
            _ => {
                format!("locked {{ write: {place} := {e}; {simple}; read: $s := {place} or nop }}")
            }
        }
    }

    fn block(&mut self, depth: u32) -> String {
        let branch = |random: &mut Random| {
            let parts: Vec<String> = (0..=random.0.below(4))
                .map(|_| match random.0.below(8) {
                    0 if depth > 0 => random.block(depth - 1),
                    _ => random.simple(),
                })
                .collect();
            parts.join("; ")
        };
        let mut text = format!("locked {{ {}", branch(self));
        if self.0.below(3) == 0 {
            text = format!("{text} or {}", branch(self));
        }
        format!("{text} }}")
    }

    fn program(&mut self) -> String {
        let mut text = "forbidden L0 L0 data x = 0 : [0:2] y = 1 : [0:2]\n".to_owned();
        for _ in 0..2 {
            text += "process registers $r = 0 : [0:2] $s = 1 : [0:2] text\n";
            let count = 2 + self.0.below(3);
            for i in 0..count {
                let s = match self.0.below(6) {
                    0 | 1 => self.block(1),
                    2 | 3 => self.shaped_block(),
                    4 => format!("write: {} := {}", self.place(), self.expr()),
                    _ => self.simple(),
                };
                text += &format!("  L{i}: {s};\n");
            }
            text += &format!("  L{count}: nop\n");
        }
        text
    }
}

#[test]
fn compiled_programs_do_what_the_rules_say() {
    let mut random = Random(Rng::new(1));
    let (mut compared, mut refused) = (0, 0);
    while compared < 500 {
        let text = random.program();
        let file = memorax::parse(&text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
        let parsed = match memorax::compile(&file) {
            Ok(parsed) => parsed,
            Err(d) => {
                assert!(d.message.contains("reads more than once"), "{d:?}\n{text}");
                refused += 1;
                continue;
            }
        };
        for (model, tso) in [(Model::Sc, false), (Model::Tso, true)] {
            let mut expected = direct(&file, tso);
            // The direct reading goes on after the last label.
            let done = |(p, s): (&memorax::Process, &Process)| s.at == p.text.len();
            expected.retain(|s| !file.processes.iter().zip(&s.processes).any(done));
            let found = compiled(&file, &parsed, model);
            let missing: Vec<&State> = expected.difference(&found).collect();
            let extra: Vec<&State> = found.difference(&expected).collect();
            assert!(missing.is_empty(), "{model:?} misses {missing:?}\n{text}");
            assert!(extra.is_empty(), "{model:?} adds {extra:?}\n{text}");
        }
        compared += 1;
    }
    assert!(refused < compared, "{refused} programs were refused");
}
