//! MESI with two levels: private caches over a shared cache that holds the directory, over memory.
//!
//! After Gem5's `MESI_Two_Level`: the shared cache (the home) has a copy of whatever a private
//! cache has, knows who has it, and works at one transaction per line at a time, from the request
//! until the asker says that it is done (`Unblock`). Other requests for the line wait. The shared
//! cache is small, too: to make room it takes lines back from private caches (`Recall`, `Inv`).
//! This file is the private caches, `shared.rs` what is behind them.
//!
//! | cache | means |
//! |---|---|
//! | S | may read; goes away silently |
//! | E | may read, nobody else has it |
//! | M | may write, nobody else has it |
//! | IS, IM | has asked for the line, to read or to write |
//! | SM | has S, has asked to write (`Upgrade`); becomes IM when it is invalidated meanwhile |
//! | MI | is giving E or M back |
//! | II | is giving it back, but it was taken away meanwhile |
//!
//! Messages: `GetS`, `GetM`, `Upgrade`, `Put` (with data) from caches to the home; `FwdGetS`,
//! `FwdGetM` (to the owner: answer the asker), `Inv` (acknowledge to the asker), `Recall` (to the
//! owner: give the line back), `PutAck` from the home to caches; `SharedData`, `ExclusiveData`
//! (with the number of acknowledgements to wait for) from the home or the owner to the asker,
//! `Upgrade` the same without data; `Ack` from those that were invalidated to the asker; `Copyback`
//! from the owner to the home, when its line is read by another or recalled; `Unblock`,
//! `ExclusiveUnblock` from the asker to the home. Only the way to memory has to keep the order.

mod shared;

use weakspot_core::OpKind;

use super::cache::{Cache, EMPTY, Entry, line_of};
use super::network::{Message, MessageKind, Net};
use super::{Access, Copied, Protocol, World};
use crate::Bug;
use shared::Shared;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    S,
    E,
    M,
    IS,
    IM,
    SM,
    MI,
    II,
}

/// The private caches and the shared one.
pub(crate) struct Mesi {
    caches: Vec<Cache<State>>,
    shared: Shared,
}

impl Mesi {
    fn home(&self) -> usize {
        self.caches.len()
    }

    fn cache_receives(&mut self, message: &Message, world: &mut World) {
        let home = self.home();
        let cache = &mut self.caches[message.to];
        let found = cache.find(message.line);
        match message.kind {
            MessageKind::Inv => invalidate(cache, found, message, world),
            MessageKind::FwdGetS | MessageKind::FwdGetM | MessageKind::Recall => {
                hand_on(cache, found, home, message, world);
            }
            MessageKind::PutAck => match found {
                Some(i) if matches!(cache.entries[i].state, State::MI | State::II) => {
                    cache.remove(i);
                }
                _ => world.surprise(message, &found),
            },
            MessageKind::Late => {
                if let Some(i) = found.filter(|&i| cache.entries[i].doomed) {
                    match cache.entries[i].state {
                        State::S => cache.remove(i),
                        State::SM => cache.entries[i].state = State::IM,
                        _ => {}
                    }
                }
            }
            _ => match found {
                Some(i) => filled(&mut cache.entries[i], home, message, world),
                None => world.surprise(message, &"I"),
            },
        }
    }
}

/// An invalidation: always acknowledged at once, also by those that no longer have the line.
fn invalidate(
    cache: &mut Cache<State>,
    found: Option<usize>,
    message: &Message,
    world: &mut World,
) {
    world.network.send(message.answer(MessageKind::Ack, EMPTY));
    let Some(index) = found else { return };
    let entry = &mut cache.entries[index];
    match entry.state {
        State::S | State::SM if world.has(Bug::EarlyAck) => {
            entry.doomed = true;
            world.network.send(message.later());
        }
        State::S => cache.remove(index),
        State::SM => entry.state = State::IM,
        State::IS | State::IM | State::II => {}
        State::E | State::M | State::MI => world.surprise(message, &entry.state),
    }
}

/// The owner is asked for its line.
fn hand_on(
    cache: &mut Cache<State>,
    found: Option<usize>,
    home: usize,
    message: &Message,
    world: &mut World,
) {
    let (data, dirty) = match found.map(|index| &cache.entries[index]) {
        Some(entry) if matches!(entry.state, State::E | State::M) => {
            (entry.to_hand_on(world), entry.state == State::M)
        }
        Some(entry) if entry.state == State::MI => (entry.to_hand_on_late(world), entry.dirty),
        other => {
            world.surprise(message, &other.map(|entry| entry.state));
            (EMPTY, false)
        }
    };
    if message.kind != MessageKind::Recall {
        let shared = message.kind == MessageKind::FwdGetS;
        let kind = if shared { MessageKind::SharedData } else { MessageKind::ExclusiveData };
        world.network.send(Message { acks: 0, ..message.answer(kind, data) });
    }
    if message.kind != MessageKind::FwdGetM {
        let copy = message.react(Net::Answer, MessageKind::Copyback, home);
        world.network.send(Message { data, dirty, ..copy });
    }
    let Some(index) = found else { return };
    let entry = &mut cache.entries[index];
    match entry.state {
        State::E | State::M if message.kind == MessageKind::FwdGetS => entry.state = State::S,
        State::E | State::M => cache.remove(index),
        State::MI => entry.state = State::II,
        _ => {}
    }
}

/// Data, a grant or an acknowledgement arrives at the asker.
fn filled(entry: &mut Entry<State>, home: usize, message: &Message, world: &mut World) {
    let cpu = message.to;
    if message.tag != entry.tag {
        world.surprise(message, &entry.state);
        return;
    }
    let unblock = |kind| message.react(Net::Unblock, kind, home);
    match (entry.state, message.kind) {
        (State::IS, MessageKind::SharedData | MessageKind::ExclusiveData) => {
            entry.data = message.data;
            let shared = message.kind == MessageKind::SharedData;
            entry.state = if shared { State::S } else { State::E };
            entry.complete(cpu, world);
            let kind = if shared { MessageKind::Unblock } else { MessageKind::ExclusiveUnblock };
            world.network.send(unblock(kind));
            return;
        }
        (State::IM | State::SM, MessageKind::ExclusiveData | MessageKind::SharedData) => {
            entry.data = message.data;
            entry.has_data = true;
            entry.missing += i64::from(message.acks);
        }
        (State::IM | State::SM, MessageKind::Upgrade) => {
            entry.has_data = true;
            entry.missing += i64::from(message.acks);
        }
        (State::IM | State::SM, MessageKind::Ack) => entry.missing -= 1,
        (state, _) => {
            world.surprise(message, &state);
            return;
        }
    }
    if entry.has_data && entry.missing <= i64::from(world.has(Bug::LostAck)) {
        entry.state = State::M;
        entry.complete(cpu, world);
        world.network.send(unblock(MessageKind::ExclusiveUnblock));
    }
}

impl Protocol for Mesi {
    const ORDERED: &'static [Net] = &[Net::Memory];

    fn new(cpus: usize, lines: usize) -> Mesi {
        Mesi { caches: vec![Cache::new(); cpus], shared: Shared::new(cpus, lines) }
    }

    fn nodes(&self) -> usize {
        self.caches.len() + 2
    }

    fn access(&mut self, cpu: usize, op: u32, world: &mut World) -> Access {
        let line = line_of(world.cpus.var(op));
        let kind = world.cpus.kind(op);
        let reads = kind == OpKind::Read;
        let home = self.home();
        let cache = &mut self.caches[cpu];
        if let Some(index) = cache.find(line) {
            let entry = &mut cache.entries[index];
            match entry.state {
                State::S if reads || world.has(Bug::StoreInShared) => {}
                State::E | State::M => {
                    if !reads {
                        entry.state = State::M;
                    }
                }
                State::S => {
                    if kind == OpKind::Update && world.has(Bug::SplitUpdate) {
                        world.cpus.peek(cpu, op, &entry.data);
                    }
                    entry.state = State::SM;
                    entry.op = op;
                    (entry.missing, entry.has_data) = (0, false);
                    entry.tag = world.tag();
                    let upgrade = Message::request(MessageKind::Upgrade, line, cpu, home);
                    world.network.send(Message { tag: entry.tag, ..upgrade });
                    return Access::Asked;
                }
                _ => return Access::Stall,
            }
            world.cpus.perform(cpu, op, &mut entry.data);
            return Access::Hit;
        }
        if cache.is_full() {
            let leaving = |e: &Entry<State>| matches!(e.state, State::MI | State::II);
            let evicts = !cache.entries.iter().any(leaving) && self.evict(cpu, world);
            return if evicts { Access::MadeRoom } else { Access::Stall };
        }
        let tag = world.tag();
        cache.insert(line, if reads { State::IS } else { State::IM }, op, tag);
        let kind = if reads { MessageKind::GetS } else { MessageKind::GetM };
        world.network.send(Message { tag, ..Message::request(kind, line, cpu, home) });
        Access::Asked
    }

    fn evict(&mut self, cpu: usize, world: &mut World) -> bool {
        let home = self.home();
        let cache = &mut self.caches[cpu];
        let may_go = |state| matches!(state, State::S | State::E | State::M);
        let Some(index) = cache.victim(&mut world.rng, may_go) else { return false };
        let entry = &mut cache.entries[index];
        if entry.state == State::S {
            cache.remove(index);
            return true;
        }
        entry.dirty = entry.state == State::M;
        entry.state = State::MI;
        let put = Message::request(MessageKind::Put, entry.line, cpu, home);
        world.network.send(Message { data: entry.data, dirty: entry.dirty, ..put });
        true
    }

    fn receive(&mut self, message: &Message, world: &mut World) -> bool {
        if message.to >= self.home() {
            return self.shared.receive(message, world);
        }
        self.cache_receives(message, world);
        true
    }

    fn copies(&self, line: u32, copies: &mut Vec<Copied>) {
        for cache in &self.caches {
            if let Some(entry) = cache.find(line).map(|index| &cache.entries[index])
                && matches!(entry.state, State::S | State::E | State::M)
            {
                copies.push(Copied { writable: entry.state != State::S, data: entry.data });
            }
        }
    }
}
