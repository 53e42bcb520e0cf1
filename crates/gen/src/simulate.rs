//! Cache coherence protocols, message by message.
//!
//! The question: what do the CPUs of a client read when their memory is a cache coherence protocol
//! with a slow network, small caches and perhaps a bug? The protocols are those of section 5 of
//! "Gradual Consistency Checking" (Zennou, Bouajjani, Enea, Erradi), which ran them in Gem5; ours
//! are written from the textbook descriptions of such protocols, one file each.
//!
//! There is no clock. In each step a random agent moves: a CPU goes on with its program, a store
//! buffer drains, a cache evicts a line for no reason, or a message arrives. Messages therefore
//! take random times and overtake each other wherever the protocol lets them. A move that is not
//! possible (the message has to wait, the CPU is waiting) is given up, and another one is tried;
//! when none is possible at all, that is a deadlock, found exactly by trying each of them.
//!
//! Whatever happens in one step happens at once, so the order of steps is the order in which
//! accesses take effect, and without a bug it explains the history ([`crate::explains`]).
//!
//! Cost: some ten steps per operation, each of them a few dozen nanoseconds.

mod cache;
mod cpus;
mod directory;
mod hammer;
mod mesi;
mod mi;
mod moesi;
mod network;

use std::fmt;

use weakspot_core::History;
use weakspot_core::testing::Rng;

pub(crate) use directory::Directory;
pub(crate) use hammer::Hammer;
pub(crate) use mesi::Mesi;
pub(crate) use mi::Mi;

use crate::{Bug, Recorded, Run};
use cache::Data;
use cpus::{Cpus, Who};
use network::{Message, Network};

/// Directories keep sharers as bits of a word.
pub(crate) const MOST_CPUS: usize = 64;

/// The lines of a private cache.
const LINES: usize = 4;

/// A CPU that may move evicts a line instead, once in so many times.
const EVICT_ONE_IN: usize = 24;

/// So many steps without an operation done are taken for a livelock.
const PATIENCE: usize = 2_000_000;

/// What a protocol is to the simulation: private caches with a CPU each, and what is behind them.
trait Protocol {
    /// Which of the networks keep the order of messages from one node to another.
    const ORDERED: &'static [network::Net];

    /// All caches empty; nodes from `cpus` on are the protocol's own.
    fn new(cpus: usize, lines: usize) -> Self;

    /// How many nodes the network has.
    fn nodes(&self) -> usize;

    /// The CPU, or its store buffer, wants to do the operation.
    fn access(&mut self, cpu: usize, op: u32, world: &mut World) -> Access;

    /// Starts the eviction of some line; false if there is none to evict.
    fn evict(&mut self, cpu: usize, world: &mut World) -> bool;

    /// A message arrives; false if it has to wait.
    fn receive(&mut self, message: &Message, world: &mut World) -> bool;

    /// Appends the copies of a line that caches may read or write now.
    fn copies(&self, line: u32, copies: &mut Vec<Copied>);
}

/// What became of an access.
enum Access {
    /// Done.
    Hit,
    /// Asked for; the protocol will do it.
    Asked,
    /// Not now, but something has been done about it.
    MadeRoom,
    /// It has to wait.
    Stall,
}

/// A copy of a line in a cache.
struct Copied {
    writable: bool,
    data: Data,
}

/// What a protocol works with.
struct World {
    cpus: Cpus,
    network: Network,
    rng: Rng,
    bug: Option<Bug>,
    surprise: Option<String>,
    /// Set by what has to wait, but has done something that will help.
    helped: bool,
    /// How many requests there have been.
    tags: u32,
}

impl World {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// A number for a request.
    fn tag(&mut self) -> u32 {
        self.tags = self.tags.wrapping_add(1);
        self.tags
    }

    /// A message that no transition is for. A sound protocol never gets here; one with a bug may,
    /// and does what it can.
    #[cold]
    fn surprise(&mut self, message: &Message, state: &dyn fmt::Debug) {
        if self.bug.is_none() && self.surprise.is_none() {
            self.surprise = Some(format!("{message:?} in state {state:?}"));
        }
    }
}

/// Why a simulation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No agent can move.
    Deadlock(String),
    /// Agents move, but operations do not get done.
    Livelock(String),
    /// A message arrived that no transition is for.
    Unexpected(String),
    /// Two writers, a writer and a reader, or an old copy.
    Incoherent(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Deadlock(state) => write!(f, "deadlock: {state}"),
            Failure::Livelock(state) => write!(f, "no operation gets done: {state}"),
            Failure::Unexpected(what) => write!(f, "unexpected message: {what}"),
            Failure::Incoherent(what) => write!(f, "incoherent caches: {what}"),
        }
    }
}

/// Runs a client to its end, and the network until it is empty.
#[expect(
    private_bounds,
    reason = "the protocols are named by their types, not by what they can do"
)]
pub(crate) fn run<P: Protocol>(client: &History, run: &Run) -> Result<Recorded, Failure> {
    let n = client.threads();
    let lines = client.vars().div_ceil(cache::PER_LINE);
    let protocol = P::new(n, lines);
    let network = Network::new(protocol.nodes(), n, P::ORDERED);
    let world = World {
        cpus: Cpus::new(client, run.store_buffer),
        network,
        rng: Rng::new(run.seed),
        bug: run.bug,
        surprise: None,
        helped: false,
        tags: 0,
    };
    let mut sim = Simulation { protocol, world, n, check: run.check && run.bug.is_none() };
    let mut failed = 0;
    let mut steps = 0;
    let mut done = 0;
    while !sim.world.cpus.all_done() || !sim.world.network.is_empty() {
        if sim.step()? {
            failed = 0;
        } else {
            failed += 1;
            if failed > 1000 + 100 * n {
                failed = 0;
                if !sim.try_everything()? {
                    return Err(Failure::Deadlock(sim.describe()));
                }
            }
        }
        steps += 1;
        if sim.world.cpus.done() > done {
            done = sim.world.cpus.done();
            steps = 0;
        } else if steps > PATIENCE {
            return Err(Failure::Livelock(sim.describe()));
        }
    }
    Ok(sim.world.cpus.into_recorded())
}

struct Simulation<P> {
    protocol: P,
    world: World,
    n: usize,
    check: bool,
}

impl<P: Protocol> Simulation<P> {
    /// Lets a random agent move; false if it could not.
    fn step(&mut self) -> Result<bool, Failure> {
        let world = &mut self.world;
        let queues = world.network.busy();
        let agents = if world.cpus.buffered() { 2 * self.n } else { self.n };
        let pick = world.rng.below(agents + queues);
        if pick < agents {
            let cpu = pick % self.n;
            // Nobody evicts for fun once everybody is done, or the network would never be empty.
            if world.rng.one_in(EVICT_ONE_IN) && !world.cpus.all_done() {
                let room = world.network.room_to_ask(cpu);
                let evicted = room && self.protocol.evict(cpu, world);
                self.judge(None)?;
                return Ok(evicted);
            }
            return self.access(cpu, if pick < self.n { Who::Cpu } else { Who::Buffer });
        }
        let (queue, index) = world.network.choose(pick - agents, &mut world.rng);
        self.deliver(queue, index)
    }

    /// Every move that there is, one after the other; false if none was possible.
    fn try_everything(&mut self) -> Result<bool, Failure> {
        let mut moved = false;
        for cpu in 0..self.n {
            moved |= self.access(cpu, Who::Cpu)?;
            moved |= self.world.cpus.buffered() && self.access(cpu, Who::Buffer)?;
        }
        for (queue, index) in self.world.network.all() {
            // What has been delivered moves the rest; one move is enough.
            if moved {
                break;
            }
            moved = self.deliver(queue, index)?;
        }
        Ok(moved)
    }

    fn access(&mut self, cpu: usize, who: Who) -> Result<bool, Failure> {
        let world = &mut self.world;
        let Some(op) = world.cpus.wants(cpu, who) else { return Ok(false) };
        if world.cpus.does_alone(cpu, op, who) {
            return Ok(true);
        }
        if !world.cpus.may_access(cpu, op, who) || !world.network.room_to_ask(cpu) {
            return Ok(false);
        }
        let line = cache::line_of(world.cpus.var(op));
        let moved = match self.protocol.access(cpu, op, world) {
            Access::Hit | Access::MadeRoom => true,
            Access::Asked => {
                world.cpus.wait(cpu, who);
                true
            }
            Access::Stall => false,
        };
        self.judge(Some(line))?;
        Ok(moved)
    }

    fn deliver(&mut self, queue: usize, index: usize) -> Result<bool, Failure> {
        let world = &mut self.world;
        let message = *world.network.message(queue, index);
        if !world.network.room_to_react(&message) {
            return Ok(false);
        }
        if !self.protocol.receive(&message, world) {
            self.judge(None)?;
            return Ok(std::mem::take(&mut self.world.helped));
        }
        self.world.network.remove(queue, index);
        self.judge(Some(message.line))?;
        Ok(true)
    }

    /// After each step: was there a surprise; and if asked for, are the copies of the line that
    /// moved coherent, that is, is there one writer or many readers, all with the last values?
    fn judge(&mut self, line: Option<u32>) -> Result<(), Failure> {
        if let Some(surprise) = self.world.surprise.take() {
            return Err(Failure::Unexpected(surprise));
        }
        let Some(line) = line.filter(|_| self.check) else { return Ok(()) };
        let mut copies = Vec::new();
        self.protocol.copies(line, &mut copies);
        let latest = self.world.cpus.latest(line);
        let writers = copies.iter().filter(|copy| copy.writable).count();
        if writers > 1 || (writers == 1 && copies.len() > 1) {
            let all = copies.len();
            return Err(Failure::Incoherent(format!(
                "line {line}: {writers} writers among {all} copies"
            )));
        }
        match copies.iter().find(|copy| copy.data != latest) {
            Some(old) => Err(Failure::Incoherent(format!(
                "line {line} holds {:?} instead of {latest:?}",
                old.data
            ))),
            None => Ok(()),
        }
    }

    fn describe(&self) -> String {
        format!("{}; {}", self.world.cpus.describe(), self.world.network.describe())
    }
}
