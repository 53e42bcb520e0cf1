//! The shared cache of MESI, with the directory, and memory behind it.
//!
//! | shared cache | means |
//! |---|---|
//! | Absent | only memory has the line |
//! | Only | no private cache has it |
//! | Shared | the sharers may have it, the shared cache's data is good |
//! | Owned | one private cache has it in E or M |
//! | Fetching | waits for memory, on behalf of an asker |
//! | Busy | a transaction is under way: waits for the asker's unblock, perhaps for a copy, too |
//! | Recalling | takes the line back to make room: waits for acknowledgements or the copy |

use crate::Bug;
use crate::simulate::World;
use crate::simulate::cache::{Data, EMPTY, bits};
use crate::simulate::network::{Message, MessageKind, Net};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Only,
    Shared,
    Owned(usize),
    Fetching,
    Busy { unblocked: bool, copied: bool },
    Recalling { missing: u32 },
}

#[derive(Clone, Debug)]
struct Line {
    state: State,
    /// Who may have it in S; while busy, who may when the transaction is over.
    sharers: u64,
    /// Who will own it when the transaction is over.
    heir: Option<usize>,
    data: Data,
    dirty: bool,
}

/// The shared cache and memory.
pub(super) struct Shared {
    lines: Vec<Line>,
    /// The lines that are not absent.
    present: Vec<u32>,
    capacity: usize,
    memory: Vec<Data>,
    home: usize,
}

impl Shared {
    pub(super) fn new(cpus: usize, lines: usize) -> Shared {
        let absent =
            Line { state: State::Absent, sharers: 0, heir: None, data: EMPTY, dirty: false };
        Shared {
            lines: vec![absent; lines],
            present: Vec::new(),
            capacity: (2 * cpus).max(8),
            memory: vec![EMPTY; lines],
            home: cpus,
        }
    }

    pub(super) fn receive(&mut self, message: &Message, world: &mut World) -> bool {
        if message.to != self.home {
            self.memory_receives(message, world);
            return true;
        }
        match message.kind {
            MessageKind::GetS | MessageKind::GetM | MessageKind::Upgrade => {
                self.request(message, world)
            }
            MessageKind::Put => self.put(message, world),
            MessageKind::Data => {
                let line = &mut self.lines[message.line as usize];
                line.data = message.data;
                line.dirty = false;
                self.grant_exclusive(message, world);
                true
            }
            _ => {
                self.step(message, world);
                true
            }
        }
    }

    fn memory_receives(&mut self, message: &Message, world: &mut World) {
        let data = &mut self.memory[message.line as usize];
        if message.kind == MessageKind::Write {
            *data = message.data;
        } else {
            let fill = message.react(Net::Fill, MessageKind::Data, self.home);
            world.network.send(Message { data: *data, ..fill });
        }
    }

    fn request(&mut self, message: &Message, world: &mut World) -> bool {
        let asker = message.asker;
        let line = &mut self.lines[message.line as usize];
        let reads = message.kind == MessageKind::GetS;
        match line.state {
            State::Absent if self.present.len() >= self.capacity => {
                self.make_room(message, world);
                return false;
            }
            State::Absent => {
                line.state = State::Fetching;
                self.present.push(message.line);
                world.network.send(message.react(Net::Memory, MessageKind::Read, self.home + 1));
            }
            State::Shared if reads => {
                line.state = State::Busy { unblocked: false, copied: true };
                line.sharers |= 1 << asker;
                let reply = message.react(Net::Data, MessageKind::SharedData, asker);
                world.network.send(Message { data: line.data, acks: 0, ..reply });
            }
            State::Shared => {
                line.state = State::Busy { unblocked: false, copied: true };
                line.heir = Some(asker);
                let mut others = line.sharers & !(1 << asker);
                if world.has(Bug::ForgottenSharer) {
                    others &= others.wrapping_sub(1);
                }
                for cpu in bits(others) {
                    world.network.send(message.react(Net::Forward, MessageKind::Inv, cpu));
                }
                let has_it = message.kind == MessageKind::Upgrade && line.sharers & 1 << asker != 0;
                let kind = if has_it { MessageKind::Upgrade } else { MessageKind::ExclusiveData };
                let reply = message.react(Net::Data, kind, asker);
                world.network.send(Message { data: line.data, acks: others.count_ones(), ..reply });
                line.sharers = 0;
            }
            State::Owned(owner) if owner != asker => {
                line.state = State::Busy { unblocked: false, copied: !reads };
                if reads {
                    line.sharers = 1 << owner | 1 << asker;
                } else {
                    line.heir = Some(asker);
                }
                let kind = if reads { MessageKind::FwdGetS } else { MessageKind::FwdGetM };
                world.network.send(message.react(Net::Forward, kind, owner));
            }
            // An owner that asks has lost its line: that is a bug's doing.
            State::Only | State::Owned(_) => self.grant_exclusive(message, world),
            State::Fetching | State::Busy { .. } | State::Recalling { .. } => return false,
        }
        true
    }

    /// Nobody else has the line: the asker gets it, whatever it wants it for.
    fn grant_exclusive(&mut self, message: &Message, world: &mut World) {
        let line = &mut self.lines[message.line as usize];
        line.state = State::Busy { unblocked: false, copied: true };
        line.heir = Some(message.asker);
        line.sharers = 0;
        let reply = message.react(Net::Data, MessageKind::ExclusiveData, message.asker);
        world.network.send(Message { data: line.data, acks: 0, ..reply });
    }

    fn put(&mut self, message: &Message, world: &mut World) -> bool {
        let line = &mut self.lines[message.line as usize];
        let late = world.has(Bug::LateWriteback);
        match line.state {
            State::Fetching | State::Busy { .. } | State::Recalling { .. } => return false,
            State::Owned(owner) if owner == message.from || late => line.take_back(message, world),
            State::Shared if late => line.take_back(message, world),
            State::Shared => {
                line.sharers &= !(1 << message.from);
                if line.sharers == 0 {
                    line.state = State::Only;
                }
            }
            State::Absent | State::Only | State::Owned(_) => {}
        }
        world.network.send(message.react(Net::Forward, MessageKind::PutAck, message.from));
        true
    }

    /// What ends transactions and recalls.
    fn step(&mut self, message: &Message, world: &mut World) {
        let line = &mut self.lines[message.line as usize];
        match (line.state, message.kind) {
            (State::Busy { copied, .. }, MessageKind::Unblock | MessageKind::ExclusiveUnblock) => {
                line.state = State::Busy { unblocked: true, copied };
            }
            (State::Busy { unblocked, copied: false }, MessageKind::Copyback) => {
                if message.dirty && !world.has(Bug::LostCopyback) {
                    line.data = message.data;
                    line.dirty = true;
                }
                line.state = State::Busy { unblocked, copied: true };
            }
            (State::Recalling { missing }, MessageKind::Copyback | MessageKind::Ack) => {
                if message.kind == MessageKind::Copyback && message.dirty {
                    line.data = message.data;
                    line.dirty = true;
                }
                line.state = State::Recalling { missing: missing.saturating_sub(1) };
            }
            (state, _) => world.surprise(message, &state),
        }
        match line.state {
            State::Busy { unblocked: true, copied: true } => {
                line.state = line.heir.take().map_or(State::Shared, State::Owned);
            }
            State::Recalling { missing: 0 } => self.drop_line(message, world),
            _ => {}
        }
    }

    /// Starts to take some line back, unless that is being done already.
    fn make_room(&mut self, message: &Message, world: &mut World) {
        let lines = &self.lines;
        let state = |line: u32| lines[line as usize].state;
        if self.present.iter().any(|&line| matches!(state(line), State::Recalling { .. })) {
            return;
        }
        let fit = |line: u32| matches!(state(line), State::Only | State::Shared | State::Owned(_));
        let stable: Vec<u32> = self.present.iter().copied().filter(|&line| fit(line)).collect();
        if stable.is_empty() {
            return;
        }
        world.helped = true;
        let victim = stable[world.rng.below(stable.len())];
        let line = &mut self.lines[victim as usize];
        // What is sent in answer to this goes to the home: the home is who asks.
        let recall = Message { line: victim, asker: self.home, ..*message };
        let (kind, whom) = match line.state {
            State::Owned(owner) => (MessageKind::Recall, 1 << owner),
            State::Shared => (MessageKind::Inv, line.sharers),
            _ => (MessageKind::Inv, 0),
        };
        for cpu in bits(whom) {
            world.network.send(recall.react(Net::Forward, kind, cpu));
        }
        line.state = State::Recalling { missing: whom.count_ones() };
        if whom == 0 {
            self.drop_line(&recall, world);
        }
    }

    fn drop_line(&mut self, message: &Message, world: &mut World) {
        let line = &mut self.lines[message.line as usize];
        if line.dirty {
            let write = message.react(Net::Memory, MessageKind::Write, self.home + 1);
            world.network.send(Message { data: line.data, ..write });
        }
        line.state = State::Absent;
        line.sharers = 0;
        line.dirty = false;
        self.present.retain(|&present| present != message.line);
    }
}

impl Line {
    fn take_back(&mut self, message: &Message, world: &World) {
        if message.dirty && !world.has(Bug::DroppedWriteback) {
            self.data = message.data;
            self.dirty = true;
        }
        self.state = State::Only;
        self.sharers = 0;
    }
}
