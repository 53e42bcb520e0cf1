//! MOESI directory: the directory knows the owner and the sharers of a line, asks only them, and
//! collects their answers itself.
//!
//! After Gem5's `MOESI_AMD_Base`: caches talk to the directory only, which probes those that may
//! have the line, waits for all of them, and then gives the asker the owner's data, or memory's.
//! One transaction per line at a time, until the asker unblocks it.
//!
//! The states of caches are in `moesi.rs`.
//!
//! | directory | means |
//! |---|---|
//! | idle | with an owner (E, O or M there) or none, and sharers (in S, or gone silently) |
//! | probing | waits for so many answers, on behalf of an asker |
//! | granted | waits for the asker's unblock |
//!
//! Messages: `GetS`, `GetM`, `Put` (with data) from caches to the directory; `FwdGetS` (to the
//! owner: copy the line, keep it), `FwdGetM` (to all that may have it: give it up), `PutAck` from
//! the directory to caches; `Data`, `Ack` (no data) from caches to the directory; `SharedData`,
//! `ExclusiveData`, `Upgrade` (write what you have) from the directory to the asker; `Unblock` from
//! the asker to the directory. Nothing has to keep the order.

use super::cache::{Cache, Data, EMPTY, Entry, bits};
use super::moesi::{self, State};
use super::network::{Message, MessageKind, Net};
use super::{Access, Copied, Protocol, World};
use crate::Bug;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Probing(Probe),
    Granted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    asker: usize,
    tag: u32,
    writes: bool,
    missing: u32,
    /// Whether the owner is among those that were asked.
    of_owner: bool,
    data: Option<Data>,
}

#[derive(Clone, Debug)]
struct Line {
    phase: Phase,
    owner: Option<usize>,
    sharers: u64,
    memory: Data,
}

/// The caches and the directory.
pub(crate) struct Directory {
    caches: Vec<Cache<State>>,
    lines: Vec<Line>,
}

impl Directory {
    fn home(&self) -> usize {
        self.caches.len()
    }

    fn home_receives(&mut self, message: &Message, world: &mut World) -> bool {
        let line = &mut self.lines[message.line as usize];
        match (line.phase, message.kind) {
            (Phase::Idle, MessageKind::GetS | MessageKind::GetM) => line.ask(message, world),
            (Phase::Idle, MessageKind::Put) => line.take_back(message, world),
            (_, MessageKind::GetS | MessageKind::GetM | MessageKind::Put) => return false,
            (Phase::Probing(probe), MessageKind::Ack | MessageKind::Data)
                if probe.tag == message.tag =>
            {
                line.answered(probe, message, world);
            }
            (Phase::Granted, MessageKind::Unblock) => line.phase = Phase::Idle,
            (phase, _) => world.surprise(message, &phase),
        }
        true
    }

    fn cache_receives(&mut self, message: &Message, world: &mut World) {
        let home = self.home();
        let cache = &mut self.caches[message.to];
        let found = cache.find(message.line);
        match message.kind {
            MessageKind::FwdGetS => {
                let (kind, data, dirty) = match found {
                    Some(index) => read_by_other(&mut cache.entries[index], message, world),
                    None => {
                        world.surprise(message, &"I");
                        (MessageKind::Ack, EMPTY, false)
                    }
                };
                let answer = message.react(Net::Answer, kind, home);
                world.network.send(Message { data, dirty, ..answer });
            }
            MessageKind::FwdGetM => written_by_other(cache, found, message, world),
            MessageKind::PutAck => match found {
                Some(index) if matches!(cache.entries[index].state, State::MI | State::II) => {
                    cache.remove(index);
                }
                _ => world.surprise(message, &found),
            },
            MessageKind::Late => moesi::invalidate_late(cache, found),
            _ => match found {
                Some(index) => granted(&mut cache.entries[index], home, message, world),
                None => world.surprise(message, &"I"),
            },
        }
    }
}

impl Line {
    /// Probes those that may have the line, or grants it at once.
    fn ask(&mut self, message: &Message, world: &mut World) {
        let writes = message.kind == MessageKind::GetM;
        let owner = self.owner.filter(|&owner| owner != message.asker);
        let mut whom = owner.map_or(0, |owner| 1 << owner);
        if writes {
            let mut sharers = self.sharers & !(1 << message.asker) & !whom;
            if world.has(Bug::ForgottenSharer) {
                sharers &= sharers.wrapping_sub(1);
            }
            whom |= sharers;
        }
        let kind = if writes { MessageKind::FwdGetM } else { MessageKind::FwdGetS };
        for cpu in bits(whom) {
            world.network.send(message.react(Net::Forward, kind, cpu));
        }
        let missing = whom.count_ones();
        let probe = Probe {
            asker: message.asker,
            tag: message.tag,
            writes,
            missing,
            of_owner: owner.is_some(),
            data: None,
        };
        self.phase = Phase::Probing(probe);
        self.grant_if_ready(probe, message, world);
    }

    fn answered(&mut self, mut probe: Probe, message: &Message, world: &mut World) {
        probe.missing = probe.missing.saturating_sub(1);
        if message.kind == MessageKind::Data {
            probe.data = Some(message.data);
        }
        if !probe.writes && !message.dirty {
            // The owner had it in E, so memory is as good, and it is a sharer now.
            self.owner = None;
            self.sharers |= 1 << message.from;
        }
        self.phase = Phase::Probing(probe);
        self.grant_if_ready(probe, message, world);
    }

    fn grant_if_ready(&mut self, probe: Probe, message: &Message, world: &mut World) {
        let early = world.has(Bug::LostAck)
            && probe.writes
            && probe.missing == 1
            && (!probe.of_owner || probe.data.is_some());
        if probe.missing > 0 && !early {
            return;
        }
        let asker = probe.asker;
        let kind = if probe.writes {
            // The owner itself needs no data: it has the last there is.
            let owns = self.owner == Some(asker);
            self.owner = Some(asker);
            self.sharers = 0;
            if owns { MessageKind::Upgrade } else { MessageKind::ExclusiveData }
        } else if self.owner.is_none_or(|owner| owner == asker) && self.sharers == 0 {
            self.owner = Some(asker);
            MessageKind::ExclusiveData
        } else {
            self.sharers |= 1 << asker;
            MessageKind::SharedData
        };
        let data = probe.data.unwrap_or(self.memory);
        world.network.send(Message { data, asker, ..message.react(Net::Data, kind, asker) });
        self.phase = Phase::Granted;
    }

    fn take_back(&mut self, message: &Message, world: &mut World) {
        if self.owner == Some(message.from) || world.has(Bug::LateWriteback) {
            self.owner = None;
            if message.dirty && !world.has(Bug::DroppedWriteback) {
                self.memory = message.data;
            }
        }
        self.sharers &= !(1 << message.from);
        world.network.send(message.react(Net::Forward, MessageKind::PutAck, message.from));
    }
}

/// Another cache wants to read what this one owns: the answer's kind and data, and whether this
/// cache stays the owner.
fn read_by_other(
    entry: &mut Entry<State>,
    message: &Message,
    world: &mut World,
) -> (MessageKind, Data, bool) {
    match entry.state {
        State::M if world.has(Bug::LostOwner) => {
            entry.state = State::S;
            (MessageKind::Data, entry.data, false)
        }
        State::M => {
            entry.state = State::O;
            (MessageKind::Data, entry.to_hand_on(world), true)
        }
        State::E => {
            entry.state = State::S;
            (MessageKind::Data, entry.data, false)
        }
        State::O | State::OM => (MessageKind::Data, entry.to_hand_on(world), true),
        State::MI => (MessageKind::Data, entry.to_hand_on_late(world), entry.dirty),
        state => {
            world.surprise(message, &state);
            (MessageKind::Ack, EMPTY, false)
        }
    }
}

/// Another cache wants to write.
fn written_by_other(
    cache: &mut Cache<State>,
    found: Option<usize>,
    message: &Message,
    world: &mut World,
) {
    let ack = message.react(Net::Answer, MessageKind::Ack, message.from);
    let with = |data| Message { kind: MessageKind::Data, data, ..ack };
    let mut answer = ack;
    if let Some(index) = found {
        let entry = &mut cache.entries[index];
        match entry.state {
            State::M | State::O | State::E => {
                answer = with(entry.to_hand_on(world));
                cache.remove(index);
            }
            State::OM => {
                answer = with(entry.to_hand_on(world));
                entry.state = State::IM;
            }
            State::MI => {
                answer = with(entry.to_hand_on_late(world));
                entry.state = State::II;
            }
            State::S | State::SM => moesi::invalidate(cache, index, message, world),
            State::IS | State::IM | State::II => {}
        }
    }
    world.network.send(answer);
}

/// The directory has what the asker wants.
fn granted(entry: &mut Entry<State>, home: usize, message: &Message, world: &mut World) {
    match (entry.state, message.kind) {
        (State::IS, MessageKind::SharedData) => entry.state = State::S,
        (State::IS, MessageKind::ExclusiveData) => entry.state = State::E,
        (State::IM | State::SM | State::OM, MessageKind::ExclusiveData | MessageKind::Upgrade) => {
            entry.state = State::M;
        }
        (state, _) => {
            world.surprise(message, &state);
            return;
        }
    }
    if message.kind != MessageKind::Upgrade {
        entry.data = message.data;
    }
    entry.complete(message.to, world);
    world.network.send(message.react(Net::Unblock, MessageKind::Unblock, home));
}

impl Protocol for Directory {
    const ORDERED: &'static [Net] = &[];

    fn new(cpus: usize, lines: usize) -> Directory {
        let line = Line { phase: Phase::Idle, owner: None, sharers: 0, memory: EMPTY };
        Directory { caches: vec![Cache::new(); cpus], lines: vec![line; lines] }
    }

    fn nodes(&self) -> usize {
        self.caches.len() + 1
    }

    fn access(&mut self, cpu: usize, op: u32, world: &mut World) -> Access {
        let home = self.home();
        moesi::access(&mut self.caches[cpu], cpu, op, (home, 0), world)
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
