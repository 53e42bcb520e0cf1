//! The network: queues of messages between nodes, in classes that do not get in each other's way.
//!
//! Buffers are bounded: each node may have so many messages of a class on their way. A message is
//! only taken in when there is room for all that it may send on. It sends only messages of later
//! classes, and those of the last class send nothing, so the bounds can never make a circle of
//! nodes that wait for each other.

use std::collections::VecDeque;

use weakspot_core::testing::Rng;

use super::cache::{Data, EMPTY};

/// The classes of messages, in the order in which one may cause the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Net {
    /// From caches to the home of a line.
    Request,
    /// From the home to caches.
    Forward,
    /// What caches answer to forwards.
    Answer,
    /// From the home to memory.
    Memory,
    /// From memory to the home.
    Fill,
    /// From the home to the cache that asked.
    Data,
    /// From the cache that asked to the home: the transaction is over.
    Unblock,
}

const NETS: usize = 7;

/// What a message says; each protocol uses some and says what they mean there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    GetS,
    GetM,
    Upgrade,
    Put,
    FwdGetS,
    FwdGetM,
    Inv,
    Recall,
    PutAck,
    Data,
    SharedData,
    ExclusiveData,
    Ack,
    SharedAck,
    Copyback,
    Late,
    PutData,
    PutNothing,
    Read,
    Write,
    Unblock,
    ExclusiveUnblock,
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) net: Net,
    pub(super) kind: MessageKind,
    pub(super) line: u32,
    pub(super) from: usize,
    pub(super) to: usize,
    /// The cache that asked for what this message is a part of.
    pub(super) asker: usize,
    /// Which of the asker's requests that was. Sound protocols never see two of them mixed up.
    pub(super) tag: u32,
    pub(super) data: Data,
    /// How many acknowledgements the asker should wait for.
    pub(super) acks: u32,
    /// Whether the data differs from what is behind its sender.
    pub(super) dirty: bool,
}

impl Message {
    /// A request of a cache, without data.
    pub(super) fn request(kind: MessageKind, line: u32, cpu: usize, home: usize) -> Message {
        Message {
            net: Net::Request,
            kind,
            line,
            from: cpu,
            to: home,
            asker: cpu,
            tag: 0,
            data: EMPTY,
            acks: 0,
            dirty: false,
        }
    }

    /// What the receiver of this message sends, on behalf of the same asker.
    pub(super) fn react(&self, net: Net, kind: MessageKind, to: usize) -> Message {
        Message { net, kind, from: self.to, to, ..*self }
    }

    /// What the receiver of a forward sends to the asker.
    pub(super) fn answer(&self, kind: MessageKind, data: Data) -> Message {
        Message { data, ..self.react(Net::Answer, kind, self.asker) }
    }

    /// A note of the receiver to itself: do later what should have been done now. Only bugs do so.
    pub(super) fn later(&self) -> Message {
        self.react(Net::Answer, MessageKind::Late, self.to)
    }
}

pub(super) struct Network {
    nodes: usize,
    /// Nodes below this are caches.
    cpus: usize,
    /// By class, sender and receiver.
    queues: Vec<VecDeque<Message>>,
    ordered: [bool; NETS],
    /// The queues that are not empty, and per queue its place there.
    busy: Vec<u32>,
    place: Vec<u32>,
    /// By class and sender: how many messages are on their way.
    sent: Vec<u32>,
}

/// How many messages of a class a cache may have on their way.
const CACHE_ROOM: u32 = 4;

impl Network {
    pub(super) fn new(nodes: usize, cpus: usize, ordered_nets: &[Net]) -> Network {
        let mut ordered = [false; NETS];
        for &net in ordered_nets {
            ordered[net as usize] = true;
        }
        Network {
            nodes,
            cpus,
            queues: vec![VecDeque::new(); NETS * nodes * nodes],
            ordered,
            busy: Vec::new(),
            place: vec![0; NETS * nodes * nodes],
            sent: vec![0; NETS * nodes],
        }
    }

    pub(super) fn send(&mut self, message: Message) {
        let queue = (message.net as usize * self.nodes + message.from) * self.nodes + message.to;
        if self.queues[queue].is_empty() {
            self.place[queue] = self.busy.len() as u32;
            self.busy.push(queue as u32);
        }
        self.queues[queue].push_back(message);
        self.sent[message.net as usize * self.nodes + message.from] += 1;
    }

    /// Whether a cache may send requests: one for what it wants, one for what it evicts.
    pub(super) fn room_to_ask(&self, cpu: usize) -> bool {
        self.sent[Net::Request as usize * self.nodes + cpu] + 2 <= CACHE_ROOM
    }

    /// Whether the receiver of a message has room for whatever it may send then.
    pub(super) fn room_to_react(&self, message: &Message) -> bool {
        let cpus = self.cpus as u32;
        // In one step a home forwards to all caches at most, and sends two other messages at most;
        // caches send no more than two. A home may have a few such steps on their way.
        let (most, room) =
            if message.to < self.cpus { (2, CACHE_ROOM) } else { (cpus.max(2), 4 * cpus.max(2)) };
        (message.net as usize + 1..NETS).all(|net| {
            let need = if net == Net::Forward as usize { most } else { 2 };
            self.sent[net * self.nodes + message.to] + need <= room
        })
    }

    /// How many queues have messages.
    pub(super) fn busy(&self) -> usize {
        self.busy.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.busy.is_empty()
    }

    /// The message of a busy queue that may arrive next: the first, or any if order is not kept.
    pub(super) fn choose(&self, busy: usize, rng: &mut Rng) -> (usize, usize) {
        let queue = self.busy[busy] as usize;
        let waiting = self.queues[queue].len();
        if waiting == 1 || self.ordered[queue / (self.nodes * self.nodes)] {
            (queue, 0)
        } else {
            (queue, rng.below(waiting))
        }
    }

    /// All messages that may arrive next.
    pub(super) fn all(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for &queue in &self.busy {
            let queue = queue as usize;
            let ordered = self.ordered[queue / (self.nodes * self.nodes)];
            let some = if ordered { 1 } else { self.queues[queue].len() };
            all.extend((0..some).map(|index| (queue, index)));
        }
        all
    }

    pub(super) fn message(&self, queue: usize, index: usize) -> &Message {
        &self.queues[queue][index]
    }

    pub(super) fn remove(&mut self, queue: usize, index: usize) {
        let removed = if self.ordered[queue / (self.nodes * self.nodes)] {
            self.queues[queue].pop_front()
        } else {
            self.queues[queue].swap_remove_back(index)
        };
        let Some(message) = removed else { return };
        self.sent[message.net as usize * self.nodes + message.from] -= 1;
        if self.queues[queue].is_empty() {
            let place = self.place[queue] as usize;
            self.busy.swap_remove(place);
            if let Some(&moved) = self.busy.get(place) {
                self.place[moved as usize] = place as u32;
            }
        }
    }

    /// The messages on their way, for errors.
    pub(super) fn describe(&self) -> String {
        let on_their_way: usize = self.busy.iter().map(|&q| self.queues[q as usize].len()).sum();
        let mut text = format!("{on_their_way} messages on their way");
        for &queue in self.busy.iter().take(8) {
            let m = &self.queues[queue as usize][0];
            text += &format!(", {:?} of line {} from {} to {}", m.kind, m.line, m.from, m.to);
        }
        text
    }
}
