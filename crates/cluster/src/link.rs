//! One worker's connection with all others: a dataflow of timely's with an input, an exchange and a
//! probe. Times are levels; a level is over when the probe says that no message of it is on its way.
//!
//! Queues are bounded: whoever has sent [`WINDOW`] bytes to a worker that has not taken them yet waits,
//! and takes what comes meanwhile. Whoever takes bytes says so.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use timely::communication::Allocator;
use timely::communication::allocator::zero_copy::allocator::TcpBuilder;
use timely::container::{CapacityContainerBuilder, NoopBuilder};
use timely::dataflow::InputHandle;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::probe::Handle as Probe;
use timely::dataflow::operators::{Input, Probe as _};
use timely::worker::Worker;
use weakspot_core::Limit;
use weakspot_explore::Link;

use crate::parcel::{Carrier, Kind, Parcel};
use crate::watch::Health;

/// Bytes that may be on their way from one worker to another.
const WINDOW: u64 = 1 << 20;

/// How long a worker waits before it looks around, if nothing wakes it up.
const PAUSE: Duration = Duration::from_millis(20);

/// What has come and was not received yet.
#[derive(Default)]
struct Arrived {
    at_once: VecDeque<(usize, Vec<u8>)>,
    /// Messages of levels, in the order of their arrival: of the current one and of the next.
    in_level: VecDeque<(u64, usize, Vec<u8>)>,
    /// Per worker how many bytes it has taken of what was sent, since that was asked for.
    taken: Vec<u64>,
    bytes: usize,
}

/// The link of one worker.
pub(crate) struct TimelyLink {
    worker: Worker,
    /// `None` once it is closed.
    input: Option<InputHandle<u64, NoopBuilder<Parcel>>>,
    probe: Probe<u64>,
    arrived: Rc<RefCell<Arrived>>,
    level: u64,
    /// Per worker how many bytes were sent that it has not taken.
    on_their_way: Vec<u64>,
    /// Per worker how many bytes were received from it since it was told.
    received: Vec<u64>,
    health: Arc<Health>,
}

impl TimelyLink {
    /// To be called by the thread that uses it.
    pub(crate) fn new(builder: TcpBuilder, health: Arc<Health>) -> TimelyLink {
        let allocator = Allocator::Tcp(builder.build());
        let config = timely::WorkerConfig::default();
        let mut worker = Worker::new(config, allocator, Some(Instant::now()));
        let peers = worker.peers();
        let arrived = Arrived { taken: vec![0; peers], ..Arrived::default() };
        let arrived = Rc::new(RefCell::new(arrived));
        let mut input = InputHandle::new_with_builder();
        let probe = worker.dataflow::<u64, _, _>(|scope| {
            let arrived = Rc::clone(&arrived);
            let received =
                scope.input_from(&mut input).unary::<CapacityContainerBuilder<Vec<()>>, _, _, _>(
                    DistributorPact(|_| Carrier),
                    "receive",
                    |_, _| {
                        move |input, _| {
                            input.for_each(|level, parcel| {
                                arrived.borrow_mut().add(*level.time(), std::mem::take(parcel));
                            });
                        }
                    },
                );
            received.probe().0
        });
        TimelyLink {
            worker,
            input: Some(input),
            probe,
            arrived,
            level: 0,
            on_their_way: vec![0; peers],
            received: vec![0; peers],
            health,
        }
    }

    fn post(&mut self, to: usize, kind: Kind, bytes: Vec<u8>) {
        let from = self.worker.index() as u32;
        if let Some(input) = &mut self.input {
            input.send_batch(&mut Parcel { from, to: to as u32, kind, bytes });
        }
    }

    /// Tells workers how much was taken of what they have sent, where that is much.
    fn tell_taken(&mut self) {
        for from in 0..self.received.len() {
            if self.received[from] >= WINDOW / 4 {
                let bytes = std::mem::take(&mut self.received[from]).to_le_bytes();
                self.post(from, Kind::Taken, bytes.to_vec());
            }
        }
    }
}

impl Arrived {
    fn add(&mut self, level: u64, parcel: Parcel) {
        let Parcel { from, kind, bytes, .. } = parcel;
        let from = from as usize;
        if from >= self.taken.len() {
            return;
        }
        match kind {
            Kind::Taken => {
                let taken = bytes.try_into().map_or(0, u64::from_le_bytes);
                if let Some(sum) = self.taken.get_mut(from) {
                    *sum += taken;
                }
            }
            Kind::AtOnce => self.at_once.push_back((from, bytes)),
            Kind::InLevel => {
                self.bytes += bytes.len();
                self.in_level.push_back((level, from, bytes));
            }
        }
    }

    /// The first message of a level.
    fn take(&mut self, level: u64) -> Option<(usize, Vec<u8>)> {
        if let Some(message) = self.at_once.pop_front() {
            return Some(message);
        }
        // Messages of the next level may have come in between, from those who are quicker.
        let at = self.in_level.iter().position(|m| m.0 <= level)?;
        let (_, from, bytes) = self.in_level.remove(at)?;
        self.bytes -= bytes.len();
        Some((from, bytes))
    }
}

impl Link for TimelyLink {
    fn send(&mut self, to: usize, at_once: bool, message: Vec<u8>) {
        if at_once {
            self.post(to, Kind::AtOnce, message);
        } else {
            self.on_their_way[to] += message.len() as u64;
            self.post(to, Kind::InLevel, message);
        }
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        let message = self.arrived.borrow_mut().take(self.level);
        match &message {
            Some((from, bytes)) => self.received[*from] += bytes.len() as u64,
            None => self.tell_taken(),
        }
        message
    }

    fn has_room(&self) -> bool {
        self.on_their_way.iter().all(|&bytes| bytes < WINDOW)
    }

    fn end_level(&mut self) {
        if let Some(input) = &mut self.input {
            let next = *input.time() + 1;
            input.advance_to(next);
        }
    }

    fn is_level_over(&self) -> bool {
        !self.probe.less_equal(&self.level)
    }

    fn next_level(&mut self) {
        self.level += 1;
    }

    fn step(&mut self, may_wait: bool) {
        self.worker.step_or_park(Some(if may_wait { PAUSE } else { Duration::ZERO }));
        let mut arrived = self.arrived.borrow_mut();
        for (waits, taken) in self.on_their_way.iter_mut().zip(&mut arrived.taken) {
            *waits = waits.saturating_sub(std::mem::take(taken));
        }
    }

    fn lost(&self) -> Option<Limit> {
        self.health.lost()
    }

    fn bytes(&self) -> usize {
        let sent: u64 = self.on_their_way.iter().sum();
        self.arrived.borrow().bytes + sent as usize
    }
}

impl Drop for TimelyLink {
    /// Others wait for the end of this worker's input.
    fn drop(&mut self) {
        self.input = None;
        while self.health.lost().is_none() && self.worker.has_dataflows() {
            self.worker.step_or_park(Some(PAUSE));
        }
    }
}
