//! How many SC executions a program has: the number of ways through its states to an end, where a
//! way is told from another by who moves when, and by the choices of threads.
//!
//! Each state is counted once, after all that follow it. A state that follows itself means that
//! there are executions without end.

use rustc_hash::FxHashMap;
use weakspot_core::machine::Machine;
use weakspot_core::{Limits, Model, Program, Progress, Value};

use crate::answer::NoAnswer;
use crate::meter::Meter;

use super::runner::{Move, Runner, Saved};

/// The number of interleavings of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interleavings {
    /// As many; `u128::MAX` stands for that and more.
    Exactly(u128),
    /// There are executions without end.
    Endless,
    /// There are too many states to count them.
    NotCounted,
}

/// States that are looked at before giving up.
const STATES: usize = 1_000_000;
/// Steps of a thread that memory does not see, in all of an execution.
const STEPS: usize = 1_000_000;

/// A state on the way.
struct Open {
    saved: Saved,
    moves: Vec<Move>,
    next: usize,
    count: u128,
}

/// Counts the SC executions of `program`.
pub fn interleavings(
    program: &Program,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Interleavings, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut runner = Runner::new(program);
    runner.waits = false;
    let each = 80 + 8 * runner_words(program);
    // `None` while a state is open.
    let mut known: FxHashMap<Vec<Value>, Option<u128>> = FxHashMap::default();
    let mut total: u128 = 0;
    for init in (Machine { program, model: Model::Sc }).initial_values() {
        runner.start(&init);
        let mut stack: Vec<Open> = Vec::new();
        let mut moves = Vec::new();
        // What the state that was just left counts for.
        let mut done: Option<u128> = None;
        loop {
            meter.states += 1;
            let bytes = (known.len() + stack.len()) * each;
            if meter.work(|| (stack.len() as u64, bytes as u64)).is_err() || known.len() > STATES {
                return Ok(Interleavings::NotCounted);
            }
            let count = match done.take() {
                Some(count) => Some(count),
                None => {
                    if runner.moves(STEPS, &mut moves).map_err(NoAnswer::Fault)? {
                        return Ok(Interleavings::NotCounted);
                    }
                    match known.get(runner.words()) {
                        Some(None) => return Ok(Interleavings::Endless),
                        Some(&Some(count)) => Some(count),
                        None if moves.is_empty() => Some(1),
                        None => {
                            known.insert(runner.words().to_vec(), None);
                            let mut open = Open {
                                saved: Saved::default(),
                                moves: Vec::new(),
                                next: 0,
                                count: 0,
                            };
                            runner.save(&mut open.saved);
                            std::mem::swap(&mut open.moves, &mut moves);
                            stack.push(open);
                            None
                        }
                    }
                }
            };
            let Some(open) = stack.last_mut() else {
                total = total.saturating_add(count.unwrap_or(0));
                break;
            };
            open.count = open.count.saturating_add(count.unwrap_or(0));
            runner.restore(&open.saved);
            if open.next == open.moves.len() {
                let count = open.count;
                known.insert(runner.words().to_vec(), Some(count));
                stack.pop();
                done = Some(count);
            } else {
                let taken = open.moves[open.next].clone();
                open.next += 1;
                runner.take(&taken).map_err(NoAnswer::Fault)?;
            }
        }
    }
    Ok(Interleavings::Exactly(total))
}

fn runner_words(program: &Program) -> usize {
    program.threads.iter().map(|t| 3 + t.regs.len()).sum::<usize>() + program.locs.len()
}
