//! Does the order in which operations took effect explain a history?
//!
//! A source that knows when each operation took effect has, if it works, a linearisation of the
//! history at hand: under SC every read sees the last write before it; under TSO and PSO the place
//! of a write is its commit, and a read sees the youngest write of its own thread that is still to
//! be committed, if there is one. That the order explains the history proves the history right.
//! That it does not proves nothing: another order may. Cost: linear, times the writes that are
//! pending at once.

use weakspot_core::{History, INITIAL, Model, OpKind};

/// Where an order fails to explain a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// The order lacks operations, or has some twice, or has some that do not exist.
    Incomplete,
    /// This operation took effect too early or too late for the model.
    Misplaced(u32),
    /// This read or update did not see the write that it should have seen.
    Value(u32),
}

/// Whether `order` explains the history under the model.
///
/// # Errors
/// The first breach along the order.
pub fn explains(ops: &History, order: &[u32], model: Model) -> Result<(), Breach> {
    if order.len() != ops.len() {
        return Err(Breach::Incomplete);
    }
    let mut done = vec![false; ops.len()];
    let mut last = vec![INITIAL; ops.vars()];
    // Per thread: no write before this is left to be done, and none of the other operations.
    let mut writes: Vec<u32> = (0..ops.threads()).map(|t| ops.of_thread(t).start).collect();
    let mut others = writes.clone();
    for &op in order {
        if op as usize >= ops.len() || done[op as usize] {
            return Err(Breach::Incomplete);
        }
        let t = ops.thread_of(op);
        let (kind, var) = (ops.kind(op), ops.var(op));
        let is_write = |o: u32| ops.kind(o) == OpKind::Write;
        while writes[t] < op && (done[writes[t] as usize] || !is_write(writes[t])) {
            writes[t] += 1;
        }
        while others[t] < op && (done[others[t] as usize] || is_write(others[t])) {
            others[t] += 1;
        }
        let pending =
            |range: std::ops::Range<u32>| range.rev().filter(|&w| is_write(w) && !done[w as usize]);
        let earlier_writes_are_done = writes[t] >= op;
        let earlier_others_are_done = others[t] >= op;
        let in_place = match (model, kind) {
            (Model::Sc, _) => earlier_writes_are_done && earlier_others_are_done,
            (Model::Tso, OpKind::Write) => earlier_writes_are_done && earlier_others_are_done,
            (Model::Pso(_), OpKind::Write) => {
                earlier_others_are_done && !pending(writes[t]..op).any(|w| ops.var(w) == var)
            }
            (_, OpKind::Read) => earlier_others_are_done,
            (_, OpKind::Update | OpKind::Fence) => {
                earlier_writes_are_done && earlier_others_are_done
            }
        };
        if !in_place {
            return Err(Breach::Misplaced(op));
        }
        if ops.reads(op) {
            let own = pending(writes[t].min(op)..op).find(|&w| ops.var(w) == var);
            let seen = own.or(Some(last[var as usize]).filter(|&w| w != INITIAL));
            if ops.from(op) != seen {
                return Err(Breach::Value(op));
            }
        }
        if ops.writes(op) {
            last[var as usize] = op;
        }
        done[op as usize] = true;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weakspot_core::Drain;

    use super::*;

    /// Store buffering: `w x, r y ‖ w y, r x`, both reads of initial values.
    fn store_buffering() -> History {
        let mut ops = History::new();
        for (w, r) in [(0, 1), (1, 0)] {
            ops.thread();
            ops.push(OpKind::Write, w, INITIAL);
            ops.push(OpKind::Read, r, INITIAL);
        }
        ops
    }

    #[test]
    fn an_order_explains_under_some_models() {
        let ops = store_buffering();
        let late = [1, 3, 0, 2];
        assert_eq!(explains(&ops, &late, Model::Sc), Err(Breach::Misplaced(1)));
        assert_eq!(explains(&ops, &late, Model::Tso), Ok(()));
        assert_eq!(explains(&ops, &[0, 1, 2, 3], Model::Sc), Err(Breach::Value(3)));
        assert_eq!(explains(&ops, &[0, 1, 2], Model::Sc), Err(Breach::Incomplete));
        assert_eq!(explains(&ops, &[0, 1, 2, 2], Model::Sc), Err(Breach::Incomplete));
    }

    #[test]
    fn writes_to_different_variables_overtake_each_other_under_pso_only() {
        let mut ops = History::new();
        ops.thread();
        ops.push(OpKind::Write, 0, INITIAL);
        ops.push(OpKind::Write, 1, INITIAL);
        ops.push(OpKind::Write, 0, INITIAL);
        ops.thread();
        ops.push(OpKind::Read, 1, 1);
        ops.push(OpKind::Read, 0, INITIAL);
        let order = [1, 3, 4, 0, 2];
        assert_eq!(explains(&ops, &order, Model::Tso), Err(Breach::Misplaced(1)));
        assert_eq!(explains(&ops, &order, Model::Pso(Drain::All)), Ok(()));
        let swapped = [1, 3, 4, 2, 0];
        let pso = Model::Pso(Drain::All);
        assert_eq!(explains(&ops, &swapped, pso), Err(Breach::Misplaced(2)));
    }

    #[test]
    fn fences_wait_for_commits() {
        let mut ops = History::new();
        ops.thread();
        ops.push(OpKind::Write, 0, INITIAL);
        ops.push(OpKind::Fence, 0, INITIAL);
        ops.push(OpKind::Read, 0, 0);
        assert_eq!(explains(&ops, &[1, 2, 0], Model::Tso), Err(Breach::Misplaced(1)));
        assert_eq!(explains(&ops, &[0, 1, 2], Model::Tso), Ok(()));
    }
}
