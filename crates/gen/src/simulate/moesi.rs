//! What the private caches of both MOESI protocols have in common: their states, and what their
//! CPUs make them do. What messages make them do is in `hammer.rs` and `directory.rs`.
//!
//! | cache | means |
//! |---|---|
//! | S | may read; goes away silently |
//! | E | may read, nobody else has it |
//! | O | may read, others may, too; memory is old, this cache answers for it |
//! | M | may write, nobody else has it |
//! | IS, IM | has asked for the line, to read or to write |
//! | SM, OM | has S or O, has asked to write; becomes IM when it is invalidated meanwhile |
//! | MI | is giving E, O or M back |
//! | II | is giving it back, but it was taken away meanwhile |

use weakspot_core::OpKind;

use super::cache::{Cache, Entry, line_of};
use super::network::{Message, MessageKind};
use super::{Access, Copied, World};
use crate::Bug;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    S,
    E,
    O,
    M,
    IS,
    IM,
    SM,
    OM,
    MI,
    II,
}

/// An access of a CPU to its cache. `answers` is how many answers a request will get, if that is
/// known beforehand.
pub(super) fn access(
    cache: &mut Cache<State>,
    cpu: usize,
    op: u32,
    (home, answers): (usize, i64),
    world: &mut World,
) -> Access {
    let line = line_of(world.cpus.var(op));
    let kind = world.cpus.kind(op);
    let reads = kind == OpKind::Read;
    let Some(index) = cache.find(line) else {
        if cache.is_full() {
            let leaving = |e: &Entry<State>| matches!(e.state, State::MI | State::II);
            let evicts = !cache.entries.iter().any(leaving) && evict(cache, cpu, home, world);
            return if evicts { Access::MadeRoom } else { Access::Stall };
        }
        let tag = world.tag();
        cache.insert(line, if reads { State::IS } else { State::IM }, op, tag);
        if let Some(entry) = cache.entries.last_mut() {
            entry.missing = answers;
        }
        let kind = if reads { MessageKind::GetS } else { MessageKind::GetM };
        world.network.send(Message { tag, ..Message::request(kind, line, cpu, home) });
        return Access::Asked;
    };
    let entry = &mut cache.entries[index];
    match entry.state {
        State::S | State::O if reads || world.has(Bug::StoreInShared) => {}
        State::E | State::M => {
            if !reads {
                entry.state = State::M;
            }
        }
        State::S | State::O => {
            if kind == OpKind::Update && world.has(Bug::SplitUpdate) {
                world.cpus.peek(cpu, op, &entry.data);
            }
            entry.state = if entry.state == State::S { State::SM } else { State::OM };
            entry.op = op;
            entry.missing = answers;
            // Its own copy is as good as what an owner may send, and better than memory's.
            (entry.has_data, entry.shared, entry.memory_came) = (true, false, false);
            entry.tag = world.tag();
            let request = Message::request(MessageKind::GetM, line, cpu, home);
            world.network.send(Message { tag: entry.tag, ..request });
            return Access::Asked;
        }
        _ => return Access::Stall,
    }
    world.cpus.perform(cpu, op, &mut entry.data);
    Access::Hit
}

/// Starts to evict some line.
pub(super) fn evict(cache: &mut Cache<State>, cpu: usize, home: usize, world: &mut World) -> bool {
    let may_go = |state| matches!(state, State::S | State::E | State::O | State::M);
    let Some(index) = cache.victim(&mut world.rng, may_go) else { return false };
    let entry = &mut cache.entries[index];
    if entry.state == State::S {
        cache.remove(index);
        return true;
    }
    entry.dirty = entry.state != State::E;
    entry.state = State::MI;
    let put = Message::request(MessageKind::Put, entry.line, cpu, home);
    world.network.send(Message { data: entry.data, dirty: entry.dirty, ..put });
    true
}

/// Invalidates a shared line, or, with the bug, puts that off.
pub(super) fn invalidate(
    cache: &mut Cache<State>,
    index: usize,
    message: &Message,
    world: &mut World,
) {
    let entry = &mut cache.entries[index];
    if world.has(Bug::EarlyAck) {
        entry.doomed = true;
        world.network.send(message.later());
    } else if entry.state == State::S {
        cache.remove(index);
    } else {
        entry.state = State::IM;
        entry.has_data = false;
    }
}

/// Does what had been put off.
pub(super) fn invalidate_late(cache: &mut Cache<State>, found: Option<usize>) {
    let Some(index) = found.filter(|&index| cache.entries[index].doomed) else { return };
    let entry = &mut cache.entries[index];
    match entry.state {
        State::S => cache.remove(index),
        State::SM => entry.state = State::IM,
        _ => {}
    }
}

/// The copies of a line that may be read or written.
pub(super) fn copies(caches: &[Cache<State>], line: u32, copies: &mut Vec<Copied>) {
    for cache in caches {
        if let Some(entry) = cache.find(line).map(|index| &cache.entries[index])
            && matches!(entry.state, State::S | State::E | State::O | State::M)
        {
            let writable = matches!(entry.state, State::E | State::M);
            copies.push(Copied { writable, data: entry.data });
        }
    }
}
