//! MI: a line is in one cache at most, whether it is read or written there.
//!
//! After Gem5's `MI_example`, which is the simplest directory protocol of textbooks: the directory
//! does not wait for the end of a transaction, it only remembers who asked last and lets the chain
//! of owners hand the line on.
//!
//! | cache | means |
//! |---|---|
//! | M | has the line |
//! | IM | has asked for it |
//! | MI | is giving it back, still has it |
//! | II | is giving it back, but handed it to another cache meanwhile |
//!
//! | home | means |
//! |---|---|
//! | no owner | memory has the line |
//! | owner | that cache has it, or will get it |
//!
//! Messages: `GetM`, `Put` (with data) from caches to the home; `FwdGetM` (hand the line to the
//! asker), `PutAck` from the home to caches, in order, so that an acknowledgement does not overtake
//! a forward; `Data` from the owner or the home to the asker. A forward that finds its cache in IM
//! waits there for the data.

use super::cache::{Cache, Data, EMPTY, line_of};
use super::network::{Message, MessageKind, Net};
use super::{Access, Copied, Protocol, World};
use crate::Bug;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    M,
    IM,
    MI,
    II,
}

/// The caches and the home of all lines.
pub(crate) struct Mi {
    caches: Vec<Cache<State>>,
    owner: Vec<Option<usize>>,
    memory: Vec<Data>,
}

impl Mi {
    fn home(&self) -> usize {
        self.caches.len()
    }

    fn cache_receives(&mut self, message: &Message, world: &mut World) -> bool {
        let (cpu, line) = (message.to, message.line);
        let cache = &mut self.caches[cpu];
        let Some(index) = cache.find(line) else {
            if message.kind != MessageKind::Late {
                world.surprise(message, &"I");
            }
            if message.kind == MessageKind::FwdGetM {
                world.network.send(message.answer(MessageKind::Data, EMPTY));
            }
            return true;
        };
        let entry = &mut cache.entries[index];
        match (entry.state, message.kind) {
            (State::IM, MessageKind::Data) => {
                entry.state = State::M;
                entry.data = message.data;
                entry.complete(cpu, world);
            }
            (State::IM, MessageKind::FwdGetM) => return false,
            (State::M, MessageKind::FwdGetM) => {
                world.network.send(message.answer(MessageKind::Data, entry.to_hand_on(world)));
                if world.has(Bug::EarlyAck) {
                    entry.doomed = true;
                    world.network.send(message.later());
                } else {
                    cache.remove(index);
                }
            }
            (State::MI, MessageKind::FwdGetM) => {
                entry.state = State::II;
                world.network.send(message.answer(MessageKind::Data, entry.to_hand_on_late(world)));
            }
            (State::MI | State::II, MessageKind::PutAck) => cache.remove(index),
            (State::M, MessageKind::Late) if entry.doomed => cache.remove(index),
            (_, MessageKind::Late) => {}
            (state, kind) => {
                world.surprise(message, &state);
                if kind == MessageKind::FwdGetM {
                    world.network.send(message.answer(MessageKind::Data, entry.data));
                }
            }
        }
        true
    }

    fn home_receives(&mut self, message: &Message, world: &mut World) {
        let line = message.line as usize;
        let owner = self.owner[line];
        match message.kind {
            MessageKind::GetM => {
                self.owner[line] = Some(message.from);
                world.network.send(match owner {
                    Some(owner) => message.react(Net::Forward, MessageKind::FwdGetM, owner),
                    None => Message {
                        data: self.memory[line],
                        ..message.react(Net::Data, MessageKind::Data, message.from)
                    },
                });
            }
            MessageKind::Put => {
                if owner == Some(message.from) || world.has(Bug::LateWriteback) {
                    self.owner[line] = None;
                    if !world.has(Bug::DroppedWriteback) {
                        self.memory[line] = message.data;
                    }
                }
                world.network.send(message.react(Net::Forward, MessageKind::PutAck, message.from));
            }
            _ => world.surprise(message, &owner),
        }
    }
}

impl Protocol for Mi {
    const ORDERED: &'static [Net] = &[Net::Forward];

    fn new(cpus: usize, lines: usize) -> Mi {
        Mi {
            caches: vec![Cache::new(); cpus],
            owner: vec![None; lines],
            memory: vec![EMPTY; lines],
        }
    }

    fn nodes(&self) -> usize {
        self.caches.len() + 1
    }

    fn access(&mut self, cpu: usize, op: u32, world: &mut World) -> Access {
        let line = line_of(world.cpus.var(op));
        let home = self.home();
        let cache = &mut self.caches[cpu];
        if let Some(index) = cache.find(line) {
            let entry = &mut cache.entries[index];
            if entry.state != State::M {
                return Access::Stall;
            }
            world.cpus.perform(cpu, op, &mut entry.data);
            return Access::Hit;
        }
        if cache.is_full() {
            let leaving = |e: &super::cache::Entry<State>| matches!(e.state, State::MI | State::II);
            let evicts = !cache.entries.iter().any(leaving) && self.evict(cpu, world);
            return if evicts { Access::MadeRoom } else { Access::Stall };
        }
        cache.insert(line, State::IM, op, 0);
        world.network.send(Message::request(MessageKind::GetM, line, cpu, home));
        Access::Asked
    }

    fn evict(&mut self, cpu: usize, world: &mut World) -> bool {
        let home = self.home();
        let cache = &mut self.caches[cpu];
        let Some(index) = cache.victim(&mut world.rng, |state| state == State::M) else {
            return false;
        };
        let entry = &mut cache.entries[index];
        entry.state = State::MI;
        let put = Message::request(MessageKind::Put, entry.line, cpu, home);
        world.network.send(Message { data: entry.data, dirty: true, ..put });
        true
    }

    fn receive(&mut self, message: &Message, world: &mut World) -> bool {
        if message.to == self.home() {
            self.home_receives(message, world);
            true
        } else {
            self.cache_receives(message, world)
        }
    }

    fn copies(&self, line: u32, copies: &mut Vec<Copied>) {
        for cache in &self.caches {
            let entry = cache.find(line).map(|index| &cache.entries[index]);
            if let Some(entry) = entry.filter(|e| e.state == State::M) {
                copies.push(Copied { writable: true, data: entry.data });
            }
        }
    }
}
