//! Sets of states that show that nothing bad is reached: all initial states are in them, no step leads out
//! of them, and nothing bad is in them. To check that takes one pass over the set and no search.
//!
//! The set is either one of states of the machine under the model, or one of states of the SC machine,
//! each with what is known of a guessed store (`pending.rs`). The second kind shows that a program is robust, also where
//! it fills its buffers without bound; and because the states without a guess are all those of SC, it also shows
//! that what holds in them holds under the model: in a program without atomic blocks, every run under the model can
//! be drained, and then does what a run under SC does.
//!
//! Registers that do not matter are 0 in a set (`live.rs`), and where a thread stands at a quiet point, only its steps are
//! followed (`quiet.rs`). A guess changes nothing about that: it looks at accesses and fences only, of which a quiet
//! point has store-store fences, and these change what is known only to later steps of the same thread. A failed
//! assertion ends a run. That is bad where the program's questions are asked; robustness asks none, so
//! that assertions are conditions there, which may make a thread wait.

use std::collections::HashSet;

use crate::evidence::live::live;
use crate::evidence::packing::{Node, next_member, pack, push_member, unpack};
use crate::evidence::pending::{self, Pending, Seen};
use crate::evidence::quiet::quiet_points;
use crate::evidence::reference::is_forbidden;
use crate::evidence::rejected::Rejected;
use crate::machine::{Machine, Outcome, State, Step};
use crate::{Instr, Model, Program, Quantifier, Value};

/// A set of states, packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSet {
    /// What its members are.
    pub over: Over,
    /// How many there are.
    pub states: u64,
    /// All of them, see `packing.rs`.
    pub packed: Vec<u8>,
}

/// What the members of a set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// States of the machine.
    Machine,
    /// States of the SC machine, with what is known of a guessed store.
    Pending,
}

/// What a set is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Everything holds that the program asks.
    Everything,
    /// The program is robust.
    Robust,
}

/// Sets that take more bytes when they are unpacked are not looked at.
const MOST_BYTES: usize = 1 << 32;

/// Checks that a set shows what it is to show.
pub fn inductive(
    program: &Program,
    model: Model,
    shows: Shows,
    set: &StateSet,
) -> Result<(), Rejected> {
    inductive_within(program, model, shows, set, MOST_BYTES)
}

/// The same, as long as `go_on` says so, which is asked now and then.
pub fn inductive_while(
    program: &Program,
    model: Model,
    shows: Shows,
    set: &StateSet,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), Rejected> {
    check(program, model, shows, set, (MOST_BYTES, go_on))
}

/// The same, for a set that takes so many bytes at most when it is unpacked.
pub fn inductive_within(
    program: &Program,
    model: Model,
    shows: Shows,
    set: &StateSet,
    most_bytes: usize,
) -> Result<(), Rejected> {
    check(program, model, shows, set, (most_bytes, &mut || true))
}

fn check(
    program: &Program,
    model: Model,
    shows: Shows,
    set: &StateSet,
    (most_bytes, go_on): (usize, &mut dyn FnMut() -> bool),
) -> Result<(), Rejected> {
    let rules = Rules::new(program, model, shows, set.over)?;
    // The members one behind the other, and where each ends.
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let (mut rest, mut member) = (&set.packed[..], Vec::new());
    while !rest.is_empty() {
        let at = ends.len() as u64;
        next_member(&mut rest, &mut member)
            .ok_or(Rejected::Set(at, "it does not come after the one before it, or is cut off"))?;
        bytes.extend(&member);
        ends.push(bytes.len());
        if bytes.len() > most_bytes {
            return Err(Rejected::TooLarge(ends.len()));
        }
    }
    if ends.len() as u64 != set.states {
        return Err(Rejected::Set(ends.len() as u64, "there are more or less than it says"));
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let members = || starts.clone().zip(&ends).map(|(start, &end)| &bytes[start..end]);
    let known: HashSet<&[u8]> = members().collect();
    for init in rules.machine().initial_values() {
        if !known.contains(&rules.initial(&init)[..]) {
            return Err(Rejected::Set(0, "an initial state is missing"));
        }
    }
    for (at, member) in members().enumerate() {
        if at.is_multiple_of(1024) && !go_on() {
            return Err(Rejected::TooLarge(at));
        }
        let at = at as u64;
        let node = unpack(&rules.program, member)
            .ok_or(Rejected::Set(at, "it is no state of the program"))?;
        let mut leaves = false;
        let is_fine = rules.follow(&node, &mut |next| {
            leaves |= !known.contains(&next[..]);
            !leaves
        });
        match (is_fine, leaves) {
            (false, _) => return Err(Rejected::Set(at, "it is bad, or a step from it is")),
            (true, true) => return Err(Rejected::Set(at, "a step from it leads out of the set")),
            (true, false) => {}
        }
    }
    Ok(())
}

/// The states that are reached, as a set that shows what it is to show, if it does; `None` if not, or if `go_on`
/// said no, which hears now and then how many bytes are kept.
#[must_use]
pub fn reached(
    program: &Program,
    model: Model,
    (shows, over): (Shows, Over),
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Option<StateSet> {
    let rules = Rules::new(program, model, shows, over).ok()?;
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut todo: Vec<Vec<u8>> = Vec::new();
    let (mut kept, mut looked) = (0u64, 0u32);
    let mut add = |next: Vec<u8>, todo: &mut Vec<Vec<u8>>| {
        looked = looked.wrapping_add(1);
        if !seen.contains(&next) {
            // The bytes are kept twice, and a table around them.
            kept += 2 * next.len() as u64 + 80;
            seen.insert(next.clone());
            todo.push(next);
        }
        !looked.is_multiple_of(1024) || go_on(kept)
    };
    for init in rules.machine().initial_values() {
        if !add(rules.initial(&init), &mut todo) {
            return None;
        }
    }
    while let Some(packed) = todo.pop() {
        let node = unpack(&rules.program, &packed)?;
        let mut goes_on = true;
        let is_fine = rules.follow(&node, &mut |next| {
            goes_on = add(next, &mut todo);
            goes_on
        });
        if !is_fine || !goes_on {
            return None;
        }
    }
    let mut members: Vec<Vec<u8>> = seen.into_iter().collect();
    members.sort_unstable();
    let mut packed = Vec::new();
    let mut before: &[u8] = &[];
    for member in &members {
        push_member(&mut packed, before, member);
        before = member;
    }
    Some(StateSet { over, states: members.len() as u64, packed })
}

/// Whether sets of states can show this of a program at all.
#[must_use]
pub fn can_show(program: &Program, model: Model, shows: Shows) -> bool {
    let is_for = |over| Rules::new(program, model, shows, over).is_ok();
    is_for(Over::Pending) || is_for(Over::Machine)
}

/// What follows on a state, and what is bad.
struct Rules {
    program: Program,
    model: Model,
    over: Over,
    /// Nothing is asked but robustness.
    robust_only: bool,
    live: Vec<Vec<Vec<bool>>>,
    quiet: Vec<Vec<bool>>,
}

impl Rules {
    fn new(program: &Program, model: Model, shows: Shows, over: Over) -> Result<Rules, Rejected> {
        let mut program = program.clone();
        let edges = || program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        let has_blocks = edges().any(|e| e.instr == Instr::Lock);
        let is_weak = model != Model::Sc;
        let fits = match (shows, over) {
            (Shows::Everything, Over::Machine) => true,
            (Shows::Everything, Over::Pending) => {
                is_weak && !has_blocks && pending::is_for(&program)
            }
            (Shows::Robust, Over::Pending) => is_weak && pending::is_for(&program),
            (Shows::Robust, Over::Machine) => false,
        };
        let exists = program.condition.as_ref().is_some_and(|c| c.quantifier == Quantifier::Exists);
        if !fits || shows == Shows::Everything && exists {
            return Err(Rejected::WrongKind);
        }
        if shows == Shows::Robust {
            program.forbidden.clear();
            program.condition = None;
            program.observed.clear();
            let points = program.threads.iter_mut().flat_map(|t| &mut t.points);
            for edge in points.flat_map(|p| &mut p.edges) {
                if let Instr::Assert(e) = &edge.instr {
                    edge.instr = Instr::Assume(e.clone());
                }
            }
        }
        let machine_model = if over == Over::Pending { Model::Sc } else { model };
        let (live, quiet) = (live(&program), quiet_points(&program, machine_model));
        Ok(Rules { program, model, over, robust_only: shows == Shows::Robust, live, quiet })
    }

    fn machine(&self) -> Machine<'_> {
        let model = if self.over == Over::Pending { Model::Sc } else { self.model };
        Machine { program: &self.program, model }
    }

    fn initial(&self, init: &[Value]) -> Vec<u8> {
        self.packed(self.machine().initial_state(init), None)
    }

    fn packed(&self, mut state: State, pending: Option<Pending>) -> Vec<u8> {
        for (local, live) in state.threads.iter_mut().zip(&self.live) {
            for (value, live) in local.regs.iter_mut().zip(&live[local.point.index()]) {
                *value = if *live { *value } else { 0 };
            }
        }
        pack(&self.program, &Node { state, pending })
    }

    /// Tells of every state that follows on `node`, until it is told to stop; false if the node is bad, or a step
    /// from it is.
    fn follow(&self, node: &Node, each: &mut dyn FnMut(Vec<u8>) -> bool) -> bool {
        let (machine, state) = (self.machine(), &node.state);
        if !self.robust_only && (is_forbidden(&self.program, state) || self.ends_badly(state)) {
            return false;
        }
        let first = (0..state.threads.len()).find(|&t| {
            state.lock.is_none_or(|owner| owner.index() == t)
                && self.quiet[t][state.threads[t].point.index()]
        });
        for step in machine.steps(state) {
            let is_followed = match (first, step) {
                (None, _) => true,
                (Some(t), Step::Execute { thread, .. }) => thread.index() == t,
                (Some(_), Step::Commit { .. }) => false,
            };
            if !is_followed {
                continue;
            }
            let next = match machine.take(state, step) {
                Outcome::Blocked => continue,
                Outcome::Failed(_) => return false,
                Outcome::Next(next) => next,
            };
            let Some(guesses) = self.guesses(node, step) else { return false };
            for pending in guesses {
                if !each(self.packed(next.clone(), pending)) {
                    return true;
                }
            }
        }
        true
    }

    /// What is known of a guessed store after a step; `None` if that closes a cycle.
    fn guesses(&self, node: &Node, step: Step) -> Option<Vec<Option<Pending>>> {
        let (Over::Pending, Step::Execute { thread, edge, .. }) = (self.over, step) else {
            return Some(vec![None]);
        };
        let local = &node.state.threads[thread.index()];
        let instr = &self.program.edge(thread, local.point, edge as usize).instr;
        let addr = match instr {
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                addr.eval(&local.regs).ok()
            }
            _ => None,
        };
        let Some(pending) = &node.pending else {
            let guess = Pending::guess(thread, instr, addr, node.state.lock.is_some());
            return Some([Some(None), guess.map(Some)].into_iter().flatten().collect());
        };
        match pending.after(self.model, thread, instr, addr) {
            Seen::Cycle => None,
            Seen::Pending(all) => Some(all.into_iter().map(Some).collect()),
        }
    }

    fn ends_badly(&self, state: &State) -> bool {
        let machine = self.machine();
        self.program.condition.as_ref().is_some_and(|condition| {
            let wanted = condition.quantifier == Quantifier::Forall;
            machine.is_final(state) && condition.prop.holds(&machine.observe(state)) != wanted
        })
    }
}
