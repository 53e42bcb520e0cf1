//! MOESI hammer: nobody knows who has a line, so everybody is asked.
//!
//! After Gem5's `MOESI_hammer`, which is after AMD's first Opterons: the home of a line sends each
//! request on to all other caches and the asker what memory holds; each cache answers the asker,
//! which takes the owner's data if there was any, else memory's, and tells the home when it has all
//! answers. Until then other requests for the line wait. Lines are written back in three steps, so
//! that the home never takes data of a cache that has lost its line meanwhile.
//!
//! The states of caches are in `moesi.rs`. The home of a line is idle, or busy with a transaction
//! or a writeback.
//!
//! Messages: `GetS`, `GetM`, `Put` from caches to the home; `FwdGetS`, `FwdGetM` (to all others:
//! answer the asker), `PutAck` from the home to caches; `Data` (memory's) from the home to the
//! asker; `SharedData` (of an owner that keeps a copy), `ExclusiveData` (of one that does not),
//! `SharedAck` (no data, but a copy), `Ack` (nothing) from caches to the asker; `PutData`,
//! `PutNothing` (the line was taken away meanwhile) from the cache that gives a line back to the
//! home; `Unblock` from the asker to the home. Nothing has to keep the order.

use super::cache::{Cache, Data, EMPTY, Entry};
use super::moesi::{self, State};
use super::network::{Message, MessageKind, Net};
use super::{Access, Copied, Protocol, World};
use crate::Bug;

/// The caches and the home of all lines.
pub(crate) struct Hammer {
    caches: Vec<Cache<State>>,
    busy: Vec<bool>,
    memory: Vec<Data>,
}

impl Hammer {
    fn home(&self) -> usize {
        self.caches.len()
    }

    fn cache_receives(&mut self, message: &Message, world: &mut World) {
        let home = self.home();
        let cache = &mut self.caches[message.to];
        let found = cache.find(message.line);
        match message.kind {
            MessageKind::FwdGetS => {
                let (kind, data) = match found {
                    Some(index) => read_by_other(&mut cache.entries[index], world),
                    None => (MessageKind::Ack, EMPTY),
                };
                world.network.send(message.answer(kind, data));
            }
            MessageKind::FwdGetM => written_by_other(cache, found, message, world),
            MessageKind::PutAck => put_back(cache, found, message, world),
            MessageKind::Late => moesi::invalidate_late(cache, found),
            _ => match found {
                Some(index) => answered(&mut cache.entries[index], home, message, world),
                None => world.surprise(message, &"I"),
            },
        }
    }

    fn home_receives(&mut self, message: &Message, world: &mut World) -> bool {
        let (cpus, home) = (self.caches.len(), self.home());
        let line = message.line as usize;
        match message.kind {
            MessageKind::GetS | MessageKind::GetM | MessageKind::Put if self.busy[line] => {
                return false;
            }
            MessageKind::GetS | MessageKind::GetM => {
                self.busy[line] = true;
                let writes = message.kind == MessageKind::GetM;
                let kind = if writes { MessageKind::FwdGetM } else { MessageKind::FwdGetS };
                let forgotten = (writes && cpus > 1 && world.has(Bug::ForgottenSharer))
                    .then(|| (message.asker + 1 + world.rng.below(cpus - 1)) % cpus);
                for cpu in (0..cpus).filter(|&cpu| cpu != message.asker) {
                    if forgotten == Some(cpu) {
                        world.network.send(message.react(
                            Net::Data,
                            MessageKind::Ack,
                            message.asker,
                        ));
                    } else {
                        world.network.send(message.react(Net::Forward, kind, cpu));
                    }
                }
                let reply = message.react(Net::Data, MessageKind::Data, message.asker);
                world.network.send(Message { data: self.memory[line], ..reply });
            }
            MessageKind::Put => {
                self.busy[line] = true;
                world.network.send(message.react(Net::Forward, MessageKind::PutAck, message.from));
            }
            MessageKind::PutData => {
                self.busy[line] = false;
                if message.dirty && !world.has(Bug::DroppedWriteback) {
                    self.memory[line] = message.data;
                }
            }
            MessageKind::PutNothing | MessageKind::Unblock => self.busy[line] = false,
            _ => world.surprise(message, &home),
        }
        true
    }
}

/// Another cache wants to read.
fn read_by_other(entry: &mut Entry<State>, world: &World) -> (MessageKind, Data) {
    match entry.state {
        State::M => {
            entry.state = if world.has(Bug::LostOwner) { State::S } else { State::O };
            (MessageKind::SharedData, entry.to_hand_on(world))
        }
        State::E => {
            entry.state = State::S;
            (MessageKind::SharedData, entry.data)
        }
        State::O | State::OM => (MessageKind::SharedData, entry.to_hand_on(world)),
        State::MI => (MessageKind::SharedData, entry.to_hand_on_late(world)),
        State::S | State::SM => (MessageKind::SharedAck, EMPTY),
        State::IS | State::IM | State::II => (MessageKind::Ack, EMPTY),
    }
}

/// Another cache wants to write.
fn written_by_other(
    cache: &mut Cache<State>,
    found: Option<usize>,
    message: &Message,
    world: &mut World,
) {
    let mut answer = message.answer(MessageKind::Ack, EMPTY);
    if let Some(index) = found {
        let entry = &mut cache.entries[index];
        match entry.state {
            State::M | State::O | State::E => {
                answer = message.answer(MessageKind::ExclusiveData, entry.to_hand_on(world));
                cache.remove(index);
            }
            State::OM => {
                answer = message.answer(MessageKind::ExclusiveData, entry.to_hand_on(world));
                entry.state = State::IM;
                entry.has_data = false;
            }
            State::MI => {
                answer = message.answer(MessageKind::ExclusiveData, entry.to_hand_on_late(world));
                entry.state = State::II;
            }
            State::S | State::SM => moesi::invalidate(cache, index, message, world),
            State::IS | State::IM | State::II => {}
        }
    }
    world.network.send(answer);
}

/// The home is ready to take a line back.
fn put_back(cache: &mut Cache<State>, found: Option<usize>, message: &Message, world: &mut World) {
    let entry = found.map(|index| cache.entries[index].clone());
    let reply = message.react(Net::Answer, MessageKind::PutNothing, message.from);
    match entry {
        Some(Entry { state: State::II, .. }) if !world.has(Bug::LateWriteback) => {
            world.network.send(reply);
        }
        Some(Entry { state: State::MI | State::II, data, dirty, .. }) => {
            world.network.send(Message { kind: MessageKind::PutData, data, dirty, ..reply });
        }
        other => {
            world.surprise(message, &other.map(|entry| entry.state));
            world.network.send(reply);
            return;
        }
    }
    if let Some(index) = found {
        cache.remove(index);
    }
}

/// One of the answers arrives at the asker.
fn answered(entry: &mut Entry<State>, home: usize, message: &Message, world: &mut World) {
    let waits = matches!(entry.state, State::IS | State::IM | State::SM | State::OM);
    if !waits || message.tag != entry.tag {
        world.surprise(message, &entry.state);
        return;
    }
    match message.kind {
        MessageKind::Data => {
            entry.memory_came = true;
            if !entry.has_data {
                entry.data = message.data;
            }
        }
        MessageKind::SharedData | MessageKind::ExclusiveData => {
            entry.data = message.data;
            entry.has_data = true;
            entry.shared |= message.kind == MessageKind::SharedData;
        }
        MessageKind::SharedAck => entry.shared = true,
        MessageKind::Ack => {}
        _ => {
            world.surprise(message, &entry.state);
            return;
        }
    }
    entry.missing -= 1;
    let early = world.has(Bug::LostAck)
        && entry.missing == 1
        && entry.state != State::IS
        && (entry.has_data || entry.memory_came);
    if entry.missing <= 0 || early {
        entry.state = match entry.state {
            State::IS if entry.shared => State::S,
            State::IS => State::E,
            _ => State::M,
        };
        entry.complete(message.to, world);
        world.network.send(message.react(Net::Unblock, MessageKind::Unblock, home));
    }
}

impl Protocol for Hammer {
    const ORDERED: &'static [Net] = &[];

    fn new(cpus: usize, lines: usize) -> Hammer {
        Hammer {
            caches: vec![Cache::new(); cpus],
            busy: vec![false; lines],
            memory: vec![EMPTY; lines],
        }
    }

    fn nodes(&self) -> usize {
        self.caches.len() + 1
    }

    fn access(&mut self, cpu: usize, op: u32, world: &mut World) -> Access {
        // All other caches and memory answer.
        let home = self.home();
        moesi::access(&mut self.caches[cpu], cpu, op, (home, home as i64), world)
    }

    fn evict(&mut self, cpu: usize, world: &mut World) -> bool {
        let home = self.home();
        moesi::evict(&mut self.caches[cpu], cpu, home, world)
    }

    fn receive(&mut self, message: &Message, world: &mut World) -> bool {
        if message.to == self.home() {
            return self.home_receives(message, world);
        }
        self.cache_receives(message, world);
        true
    }

    fn copies(&self, line: u32, copies: &mut Vec<Copied>) {
        moesi::copies(&self.caches, line, copies);
    }
}
