//! Few directed ties from which all others follow.

use std::collections::HashMap;

use super::{Trace, TxnKind};

/// What a thread did so far.
#[derive(Default)]
struct Thread {
    /// The last read of memory, fence or update: all that follows comes after it.
    read: Option<usize>,
    /// The last write or fence or update: writes, fences and updates come after it.
    write: Option<usize>,
    /// Reads of the buffer since then.
    loose: Vec<usize>,
    /// Per variable the last access since the last fence, if there was a write.
    near: HashMap<u32, usize>,
    /// What is not settled, to be settled by the next fence.
    open: Vec<usize>,
}

/// What a thread did to a variable that is settled.
#[derive(Clone, Copy, Default)]
struct Settled {
    write: Option<usize>,
    read: Option<usize>,
}

/// Gives pairs away as they are found.
struct Sink<'a>(&'a mut dyn FnMut(usize, usize));

impl Sink<'_> {
    fn extend(&mut self, pairs: impl IntoIterator<Item = (usize, usize)>) {
        pairs.into_iter().for_each(|(from, to)| (self.0)(from, to));
    }
}

/// See [`Trace::each_directed`].
///
/// Of what a thread did to a variable and that is settled, only the last write and the last read
/// after it need ties to other threads: the others lead to these.
pub(super) fn each_directed(trace: &Trace<'_>, each: &mut dyn FnMut(usize, usize)) {
    let mut edges = Sink(each);
    let mut threads: Vec<Thread> = (0..trace.threads).map(|_| Thread::default()).collect();
    // Per variable what which thread did to it.
    let mut vars: Vec<Vec<(u32, Settled)>> = vec![Vec::new(); trace.vars];
    for (at, e) in trace.events.iter().enumerate() {
        if e.kind.is_access() {
            for &(thread, settled) in &vars[e.var as usize] {
                if thread == e.thread {
                    continue;
                }
                edges.extend(settled.write.map(|w| (w, at)));
                if trace.writes(at) {
                    edges.extend(settled.read.map(|r| (r, at)));
                }
            }
        }
        let state = &mut threads[e.thread as usize];
        edges.extend(state.read.map(|read| (read, at)));
        match e.kind {
            TxnKind::Read => {
                edges.extend(state.near.get(&e.var).map(|&near| (near, at)));
                if trace.own(at).is_some() {
                    state.near.insert(e.var, at);
                    state.loose.push(at);
                    state.open.push(at);
                } else {
                    state.read = Some(at);
                    settle(&mut vars[e.var as usize], e.thread, at, false);
                }
            }
            TxnKind::Write => {
                edges.extend(state.write.map(|write| (write, at)));
                edges.extend(state.loose.drain(..).map(|read| (read, at)));
                state.write = Some(at);
                state.near.insert(e.var, at);
                state.open.push(at);
            }
            TxnKind::Update | TxnKind::Fence => {
                edges.extend(state.write.map(|write| (write, at)));
                edges.extend(state.loose.drain(..).map(|read| (read, at)));
                (state.read, state.write) = (Some(at), Some(at));
                state.near.clear();
                for open in state.open.drain(..) {
                    let event = &trace.events[open];
                    let writes = event.kind == TxnKind::Write;
                    settle(&mut vars[event.var as usize], e.thread, open, writes);
                }
                if e.kind == TxnKind::Update {
                    settle(&mut vars[e.var as usize], e.thread, at, true);
                }
            }
            TxnKind::Commit => {}
        }
    }
}

fn settle(of_var: &mut Vec<(u32, Settled)>, thread: u32, at: usize, writes: bool) {
    let place = of_var.iter().position(|&(other, _)| other == thread).unwrap_or_else(|| {
        of_var.push((thread, Settled::default()));
        of_var.len() - 1
    });
    let settled = &mut of_var[place].1;
    match writes {
        true => *settled = Settled { write: Some(at), read: None },
        false => settled.read = Some(at),
    }
}
