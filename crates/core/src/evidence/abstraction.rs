//! Counters that grow for ever: finitely many states that stand for infinitely many, and the check
//! that nothing bad is among them.
//!
//! Some registers and locations are *counters*: their values are only copied, compared with each
//! other and moved by plain numbers. Counters that meet are one *class*. Of the values of a class
//! at some moment only their order matters, and the gaps between neighbours up to a size `gap`: two
//! states are alike if they differ only in how large their large gaps are. (Where a program never
//! compares a class with fixed numbers nor sets it to one, only differences matter; else 0 has
//! its place among the values.) A state stands for all that are like it, and is kept in *canonical*
//! form: each large gap is `gap`, and the least value, or 0, keeps its place.
//!
//! **A step from all states that are like a canonical one.** Say that an instruction moves values
//! by `n` at most, the sum of all plain numbers in it. Then whatever a state does that is like
//! the canonical one, some *representative* does, too: one whose large gaps are between `gap` and
//! `gap + n`. For take the one whose gaps are those of the state, cut at `gap + n`. Distances between
//! values are then the same in both, or at least `gap + n` in both, so that comparisons that move
//! values by `n` come out the same. A new value lies at most `n` beside an old one, so its distances
//! to the others are the same in both or at least `gap` in both. So the states behind the step are
//! alike. The machine itself takes the step from each representative.
//!
//! Registers that will be written before they are read do not matter and are 0 in canonical form.
//!
//! So the canonical states found from the initial ones include one like each state that the machine
//! reaches. Where a thread stands at a quiet point (`quiet.rs`), only its steps are followed: that depends on
//! control points only, which are the same in states that are alike. Counters are integers here. The machine's have 64 bits, which is the same for all runs
//! in which no counter leaves them.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use crate::evidence::live::live;
use crate::evidence::quiet::quiet_points;
use crate::evidence::reference::{GoOn, is_forbidden, work_of};
use crate::evidence::rejected::Rejected;
use crate::machine::{Entry, Machine, Outcome, State, Step};
use crate::{
    BinOp, Edge, Expr, Instr, LocId, Model, Observable, PointId, Program, Quantifier, RegId, UnOp,
    Undeclared, Value,
};

/// Which values are counters, and how much of them is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abstraction {
    /// Per thread, control point and register, which class of counters it belongs to, if any. A
    /// register that does not matter at a point belongs to none there.
    pub regs: Vec<Vec<Vec<Option<u32>>>>,
    /// The same for the declared locations.
    pub locs: Vec<Option<u32>>,
    /// Per class, whether 0 has a place among its values.
    pub zero: Vec<bool>,
    /// Gaps between neighbouring values are told apart below this size, which is at least 1.
    pub gap: Value,
}

/// More representatives of one state are not looked at.
const MOST_REPRESENTATIVES: usize = 100_000;

/// Checks that under `model` nothing that `program` forbids is reached, by following the steps of
/// all canonical states, at most `max_states`.
pub(crate) fn check_within(
    program: &Program,
    model: Model,
    abstraction: &Abstraction,
    max_states: usize,
    go_on: GoOn<'_>,
) -> Result<(), Rejected> {
    let machine = Machine { program, model };
    let check = Check { program, abstraction, live: live(program) };
    check.well_formed()?;
    let too_large = || Rejected::TooLarge(max_states);
    let starts = program.locs.iter().try_fold(1usize, |n, l| n.checked_mul(l.init.len()));
    if starts.is_none_or(|n| n > max_states) {
        return Err(too_large());
    }
    let work = work_of(program, go_on).ok_or_else(too_large)?;
    let quiet = quiet_points(program, model);
    let initial = machine.initial_states().into_iter().map(|s| check.canonical(s));
    let mut seen: HashSet<State> = initial.collect::<Result<_, _>>()?;
    let mut todo: VecDeque<State> = seen.iter().cloned().collect();
    while let Some(state) = todo.pop_front() {
        if seen.len() > max_states {
            return Err(too_large());
        }
        if is_forbidden(program, &state) || check.ends_badly(machine, &state)? {
            return Err(Rejected::Coarse);
        }
        let first = (0..state.threads.len()).find(|&t| {
            state.lock.is_none_or(|owner| owner.index() == t)
                && quiet[t][state.threads[t].point.index()]
        });
        let is_followed = |step: &Step| match (first, step) {
            (None, _) => true,
            (Some(t), Step::Execute { thread, .. }) => thread.index() == t,
            (Some(_), Step::Commit { .. }) => false,
        };
        for step in machine.steps(&state).into_iter().filter(is_followed) {
            for representative in check.representatives(&state, step)? {
                if !go_on(2 * work) {
                    return Err(too_large());
                }
                match machine.take(&representative, step) {
                    Outcome::Blocked => {}
                    Outcome::Failed(_) => return Err(Rejected::Coarse),
                    Outcome::Next(next) => {
                        let next = check.canonical(next)?;
                        if !seen.contains(&next) {
                            seen.insert(next.clone());
                            todo.push_back(next);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// What an expression gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number that has nothing to do with counters.
    Pure,
    /// A number that depends on how counters compare.
    Compared,
    /// A counter of this class.
    Counter(u32),
    /// A difference of two counters of this class, moved by a plain number.
    Difference(u32),
}

struct Check<'a> {
    program: &'a Program,
    abstraction: &'a Abstraction,
    /// Per thread, point and register whether its value matters.
    live: Vec<Vec<Vec<bool>>>,
}

/// Counters are integers here, and have 64 bits where the program runs. Those that begin within this, and are moved
/// by less than this, take long to leave them.
const FAR: u64 = 1 << 40;

/// Why a program is not for abstractions whose counters are farther from 0, or are moved farther at once.
pub const FAR_COUNTER: Rejected = Rejected::Abstraction("a counter is too far from 0");

const MISUSED: Rejected = Rejected::Abstraction("a counter is used like a plain number");

impl Check<'_> {
    /// The parts of a program whose meaning does not depend on the state.
    fn well_formed(&self) -> Result<(), Rejected> {
        let Check { program, abstraction, .. } = self;
        let wrong = |why| Err(Rejected::Abstraction(why));
        if !program.wides.is_empty() || program.undeclared != Undeclared::Fault {
            return wrong("counters need declared memory with accesses of one width");
        }
        let of_thread = |(regs, thread): (&Vec<Vec<_>>, &crate::Thread)| {
            regs.len() == thread.points.len() && regs.iter().all(|r| r.len() == thread.regs.len())
        };
        let sizes = abstraction.regs.len() == program.threads.len()
            && abstraction.regs.iter().zip(&program.threads).all(of_thread)
            && abstraction.locs.len() == program.locs.len();
        let classes: BTreeSet<usize> = (abstraction.regs.iter().flatten().flatten())
            .chain(&abstraction.locs)
            .flatten()
            .map(|&class| class as usize)
            .collect();
        if !sizes || !classes.into_iter().eq(0..abstraction.zero.len()) {
            return wrong("the classes of counters do not fit the program");
        }
        if !(1..=1 << 20).contains(&abstraction.gap) {
            return wrong("gaps are told apart below 1, or too far");
        }
        let ranged =
            |(class, loc): (&Option<u32>, &crate::Location)| class.is_some() && loc.range.is_some();
        if abstraction.locs.iter().zip(&program.locs).any(ranged) {
            return wrong("a counter has a range");
        }
        if program.condition.as_ref().is_some_and(|c| c.quantifier == Quantifier::Exists) {
            return Err(Rejected::WrongKind);
        }
        for (t, thread) in program.threads.iter().enumerate() {
            for (p, point) in thread.points.iter().enumerate() {
                for edge in &point.edges {
                    self.well_formed_edge(t, PointId::new(p), edge)?;
                }
            }
        }
        Ok(())
    }

    fn well_formed_edge(&self, t: usize, from: PointId, edge: &Edge) -> Result<(), Rejected> {
        let class = |r: RegId| self.class(t, from, r);
        let kind = |e| self.kind(e, &class);
        let written = match &edge.instr {
            Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => None,
            Instr::Assign { reg, value } => {
                self.flows_to(kind(value)?, t, edge.to, *reg)?;
                Some(*reg)
            }
            Instr::Choose { reg, .. } => {
                self.flows_to(Kind::Pure, t, edge.to, *reg)?;
                Some(*reg)
            }
            Instr::Assume(e) | Instr::Assert(e) => {
                self.compare(kind(e)?, Kind::Pure)?;
                None
            }
            // What goes where is known when the address is.
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                if kind(addr)? != Kind::Pure {
                    return Err(MISUSED);
                }
                match edge.instr {
                    Instr::Load { reg, .. } | Instr::Update { reg, .. } => Some(reg),
                    _ => None,
                }
            }
        };
        let stays = |r: usize| {
            let reg = RegId::new(r);
            let is_kept = self.live[t][edge.to.index()][r] && written != Some(reg);
            !is_kept || class(reg) == self.class(t, edge.to, reg)
        };
        match (0..self.program.threads[t].regs.len()).all(stays) {
            true => Ok(()),
            false => Err(Rejected::Abstraction("a register changes its class")),
        }
    }

    fn class(&self, t: usize, point: PointId, reg: RegId) -> Option<u32> {
        self.abstraction.regs[t][point.index()][reg.index()]
    }

    /// Whether a value of this kind may go to a register, if that matters.
    fn flows_to(&self, kind: Kind, t: usize, to: PointId, reg: RegId) -> Result<(), Rejected> {
        match self.live[t][to.index()][reg.index()] {
            true => self.flows(kind, self.class(t, to, reg)),
            false => Ok(()),
        }
    }

    /// Whether a register may take what is in memory in a place of this class.
    fn takes(&self, from: Option<u32>, t: usize, to: PointId, reg: RegId) -> Result<(), Rejected> {
        match self.live[t][to.index()][reg.index()] && self.class(t, to, reg) != from {
            true => Err(MISUSED),
            false => Ok(()),
        }
    }

    /// Whether a value of this kind may go to a place of that class.
    fn flows(&self, kind: Kind, class: Option<u32>) -> Result<(), Rejected> {
        let fits = match (kind, class) {
            (Kind::Pure, Some(class)) => self.abstraction.zero[class as usize],
            (Kind::Counter(from), Some(to)) => from == to,
            (Kind::Pure | Kind::Compared, None) => true,
            _ => false,
        };
        if fits { Ok(()) } else { Err(MISUSED) }
    }

    fn compare(&self, left: Kind, right: Kind) -> Result<Kind, Rejected> {
        match (left, right) {
            (Kind::Pure, Kind::Pure) => Ok(Kind::Pure),
            (Kind::Pure | Kind::Compared, Kind::Pure | Kind::Compared) => Ok(Kind::Compared),
            (Kind::Counter(a), Kind::Counter(b)) if a == b => Ok(Kind::Compared),
            (Kind::Counter(a), Kind::Pure) | (Kind::Pure, Kind::Counter(a))
                if self.abstraction.zero[a as usize] =>
            {
                Ok(Kind::Compared)
            }
            (Kind::Difference(_), Kind::Pure) | (Kind::Pure, Kind::Difference(_)) => {
                Ok(Kind::Compared)
            }
            _ => Err(MISUSED),
        }
    }

    fn kind(&self, e: &Expr, class: &dyn Fn(RegId) -> Option<u32>) -> Result<Kind, Rejected> {
        use Kind::{Compared, Counter, Difference, Pure};
        Ok(match e {
            Expr::Const(_) => Pure,
            Expr::Reg(r) => class(*r).map_or(Pure, Counter),
            Expr::Unary(UnOp::Not, e) => self.compare(self.kind(e, class)?, Pure)?,
            Expr::Unary(_, e) => match self.kind(e, class)? {
                kind @ (Pure | Compared) => kind,
                _ => return Err(MISUSED),
            },
            Expr::Binary(op, l, r) => match (op, self.kind(l, class)?, self.kind(r, class)?) {
                (BinOp::And | BinOp::Or, l, r) => {
                    match (self.compare(l, Pure)?, self.compare(r, Pure)?) {
                        (Pure, Pure) => Pure,
                        _ => Compared,
                    }
                }
                (
                    BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge,
                    left,
                    right,
                ) => self.compare(left, right)?,
                (_, Pure, Pure) => Pure,
                (_, Pure | Compared, Pure | Compared) => Compared,
                (BinOp::Add | BinOp::Sub, kind @ (Counter(_) | Difference(_)), Pure)
                | (BinOp::Add, Pure, kind @ (Counter(_) | Difference(_))) => kind,
                (BinOp::Sub, Counter(a), Counter(b)) if a == b => Difference(a),
                _ => return Err(MISUSED),
            },
            Expr::Select(parts) => {
                let (c, yes, no) = &**parts;
                let test = self.compare(self.kind(c, class)?, Pure)?;
                match (self.kind(yes, class)?, self.kind(no, class)?) {
                    (Pure, Pure) => test,
                    (Pure | Compared, Pure | Compared) => Compared,
                    (Counter(a), Counter(b)) if a == b => Counter(a),
                    (Counter(a), Pure) | (Pure, Counter(a))
                        if self.abstraction.zero[a as usize] =>
                    {
                        Counter(a)
                    }
                    _ => return Err(MISUSED),
                }
            }
        })
    }

    /// The states from which the machine takes `step`, for all that are like `state`.
    fn representatives(&self, state: &State, step: Step) -> Result<Vec<State>, Rejected> {
        let Step::Execute { thread, edge, choice } = step else { return Ok(vec![state.clone()]) };
        let (t, local) = (thread.index(), &state.threads[thread.index()]);
        let class = |r: RegId| self.class(t, local.point, r);
        let regs = &local.regs;
        let loc_at = |addr: &Expr| {
            // Where there is no location, the step is a fault, whatever counters are.
            addr.eval(regs).ok().and_then(|addr| self.program.loc_at(addr)).map(LocId::index)
        };
        let Edge { instr, to, .. } = self.program.edge(thread, local.point, edge as usize);
        let moves = match instr {
            Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => Moves::default(),
            Instr::Choose { reg, .. } => {
                Moves::to(self.class(t, *to, *reg), &Expr::Const(choice), regs, &class)
            }
            Instr::Assign { reg, value } => {
                Moves::to(self.class(t, *to, *reg), value, regs, &class)
            }
            Instr::Assume(e) | Instr::Assert(e) => Moves::to(None, e, regs, &class),
            Instr::Load { reg, addr } => {
                if let Some(loc) = loc_at(addr) {
                    self.takes(self.abstraction.locs[loc], t, *to, *reg)?;
                }
                Moves::default()
            }
            Instr::Store { addr, value } => match loc_at(addr) {
                None => Moves::default(),
                Some(loc) => {
                    let to = self.abstraction.locs[loc];
                    self.flows(self.kind(value, &class)?, to)?;
                    Moves::to(to, value, regs, &class)
                }
            },
            Instr::Update { reg, addr, value } => match loc_at(addr) {
                None => Moves::default(),
                Some(loc) => {
                    let of_loc = self.abstraction.locs[loc];
                    self.takes(of_loc, t, *to, *reg)?;
                    // What is stored sees the value that was just read.
                    let class = |r: RegId| if r == *reg { of_loc } else { class(r) };
                    let mut regs = regs.clone();
                    regs[reg.index()] = state.memory[&self.program.locs[loc].addr];
                    self.flows(self.kind(value, &class)?, of_loc)?;
                    Moves::to(of_loc, value, &regs, &class)
                }
            },
        };
        self.spread(state, &moves)
    }

    /// Whether some final state like this one is one that the condition does not allow.
    fn ends_badly(&self, machine: Machine<'_>, state: &State) -> Result<bool, Rejected> {
        let Some(condition) = self.program.condition.as_ref().filter(|_| machine.is_final(state))
        else {
            return Ok(false);
        };
        let observed = &self.program.observed;
        let class = |r: RegId| match observed[r.index()].what {
            Observable::Reg(t, r) => self.class(t.index(), state.threads[t.index()].point, r),
            Observable::Loc(l) => self.abstraction.locs[l.index()],
        };
        for (i, o) in observed.iter().enumerate() {
            if !o.view.is_whole() && class(RegId::new(i)).is_some() {
                return Err(MISUSED);
            }
        }
        self.compare(self.kind(&condition.prop, &class)?, Kind::Pure)?;
        let moves = Moves::to(None, &condition.prop, &machine.observe(state), &class);
        let wanted = condition.quantifier == Quantifier::Forall;
        let states = self.spread(state, &moves)?;
        Ok(states.iter().any(|s| condition.prop.holds(&machine.observe(s)) != wanted))
    }

    /// The canonical state like `state`.
    fn canonical(&self, mut state: State) -> Result<State, Rejected> {
        for (local, live) in state.threads.iter_mut().zip(&self.live) {
            for (value, live) in local.regs.iter_mut().zip(&live[local.point.index()]) {
                *value = if *live { *value } else { 0 };
            }
        }
        for class in 0..self.abstraction.zero.len() {
            let places = self.places(&mut state, class as u32, |gap| gap.min(self.abstraction.gap));
            if places.keys().any(|value| value.unsigned_abs() > FAR) {
                return Err(FAR_COUNTER);
            }
            self.put(&mut state, class as u32, &places);
        }
        Ok(state)
    }

    /// `state` with each large gap of the classes that are moved from `gap` to `gap` and as much as
    /// they are moved.
    fn spread(&self, state: &State, moves: &Moves) -> Result<Vec<State>, Rejected> {
        if !moves.classes.is_empty() && moves.amount > FAR {
            return Err(FAR_COUNTER);
        }
        let mut states = vec![state.clone()];
        let most = Rejected::TooLarge(MOST_REPRESENTATIVES);
        for &class in moves.classes.iter().filter(|_| moves.amount > 0) {
            let mut large = 0u32;
            self.places(&mut states[0], class, |gap| {
                large += u32::from(gap >= self.abstraction.gap);
                gap
            });
            let sizes = usize::try_from(moves.amount).map_err(|_| most.clone())?.saturating_add(1);
            let all = sizes.checked_pow(large).and_then(|n| n.checked_mul(states.len()));
            if all.is_none_or(|n| n > MOST_REPRESENTATIVES) {
                return Err(most);
            }
            let before = std::mem::take(&mut states);
            for (state, choice) in
                before.iter().flat_map(|s| (0..sizes.pow(large)).map(move |choice| (s, choice)))
            {
                let (mut state, mut left) = (state.clone(), choice);
                let places = self.places(&mut state, class, |gap| {
                    if gap < self.abstraction.gap {
                        return gap;
                    }
                    let more = left % sizes;
                    left /= sizes;
                    self.abstraction.gap + more as Value
                });
                self.put(&mut state, class, &places);
                states.push(state);
            }
        }
        Ok(states)
    }

    /// The values of a class and the places that they get if each gap becomes `size(gap)`.
    fn places(
        &self,
        state: &mut State,
        class: u32,
        mut size: impl FnMut(Value) -> Value,
    ) -> BTreeMap<Value, Value> {
        let zero = self.abstraction.zero[class as usize];
        let mut values: BTreeSet<Value> = zero.then_some(0).into_iter().collect();
        self.for_each(state, class, |value| {
            values.insert(*value);
        });
        let (mut place, mut before) = (0, None);
        let mut places = BTreeMap::new();
        for value in values {
            place += before.map_or(0, |before| size(value.saturating_sub(before)));
            before = Some(value);
            places.insert(value, place);
        }
        let shift = if zero { places[&0] } else { 0 };
        places.values_mut().for_each(|place| *place -= shift);
        places
    }

    fn put(&self, state: &mut State, class: u32, places: &BTreeMap<Value, Value>) {
        self.for_each(state, class, |value| *value = places[value]);
    }

    /// All values of a class that matter.
    fn for_each(&self, state: &mut State, class: u32, mut visit: impl FnMut(&mut Value)) {
        let is_at = |addr: Value| {
            let at = self.program.loc_at(addr);
            at.is_some_and(|l| self.abstraction.locs[l.index()] == Some(class))
        };
        for (t, local) in state.threads.iter_mut().enumerate() {
            let live = &self.live[t][local.point.index()];
            for (r, value) in local.regs.iter_mut().enumerate() {
                if live[r] && self.abstraction.regs[t][local.point.index()][r] == Some(class) {
                    visit(value);
                }
            }
            for entry in &mut local.buffer {
                if let Entry::Store { addr, value } = entry
                    && is_at(*addr)
                {
                    visit(value);
                }
            }
        }
        for (addr, value) in state.memory.iter_mut() {
            if is_at(*addr) {
                visit(value);
            }
        }
    }
}

/// By how much a step moves counters, and of which classes.
#[derive(Default)]
struct Moves {
    amount: u64,
    classes: BTreeSet<u32>,
}

impl Moves {
    /// A value goes to a place of class `to`, or is only looked at: all its plain parts together, if
    /// counters have to do with it.
    fn to(
        to: Option<u32>,
        value: &Expr,
        regs: &[Value],
        class: &dyn Fn(RegId) -> Option<u32>,
    ) -> Moves {
        let mut classes: BTreeSet<u32> = to.into_iter().collect();
        value.for_each_reg(&mut |r| classes.extend(class(r)));
        let amount = if classes.is_empty() { 0 } else { plain_parts(value, regs, class) };
        Moves { amount, classes }
    }
}

/// The sum of the largest parts of an expression that have nothing to do with counters.
fn plain_parts(e: &Expr, regs: &[Value], class: &dyn Fn(RegId) -> Option<u32>) -> u64 {
    let mut is_plain = true;
    e.for_each_reg(&mut |r| is_plain &= class(r).is_none());
    let sum = |parts: &[&Expr]| {
        parts.iter().fold(0u64, |sum, e| sum.saturating_add(plain_parts(e, regs, class)))
    };
    match e {
        // A division by zero ends the step, whatever counters are.
        _ if is_plain => e.eval(regs).map_or(0, Value::unsigned_abs),
        Expr::Const(_) | Expr::Reg(_) => 0,
        Expr::Unary(_, e) => sum(&[e]),
        Expr::Binary(_, l, r) => sum(&[l, r]),
        Expr::Select(parts) => sum(&[&parts.0, &parts.1, &parts.2]),
    }
}
