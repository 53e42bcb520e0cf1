//! Cheap executions of a trace, looked at by the monitor for executions: most traces that are not
//! serializable show it in one of them, and a cycle of directed ties shows in any.

use std::collections::VecDeque;

use weakspot_core::serial::{Question, Trace, TxnCycle};
use weakspot_core::{Limit, TxnEvent, TxnKind};
use weakspot_sat::Meter;

use crate::online::Online;
use crate::tidy::tidy;

/// How long stores stay in the buffers: per thread the number of events, of any thread, after which
/// they are committed.
type Delays = Vec<usize>;

/// A violating execution and its cycle, if one of those that are tried is one.
pub(crate) fn violating_run(
    trace: &Trace<'_>,
    which: Which,
    meter: &mut Meter<'_>,
) -> Result<Option<(Vec<TxnEvent>, TxnCycle)>, Limit> {
    let (skip, most) = match which {
        Which::First => (0, 1),
        Which::Others => (1, usize::MAX),
    };
    for delays in delays(trace).into_iter().skip(skip).take(most) {
        if let Some((beginning, cycle)) = run(trace, &delays, meter)? {
            // If there was nothing, that would be a defect, which the checker of evidence notices.
            let found = tidy(trace, &beginning, &cycle, meter);
            return Ok(Some(found.unwrap_or((beginning, cycle))));
        }
    }
    Ok(None)
}

/// Which executions are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// The one in which all stores are in memory at once.
    First,
    /// All others.
    Others,
}

/// What is tried: all stores at once, all as late as possible, one thread late or early, and some
/// times in between.
fn delays(trace: &Trace<'_>) -> Vec<Delays> {
    let threads = trace.events.iter().map(|e| e.thread as usize + 1).max().unwrap_or(0);
    let mut all = vec![vec![0; threads], vec![usize::MAX; threads]];
    for one in 0..threads.min(8) {
        for (own, other) in [(usize::MAX, 0), (0, usize::MAX)] {
            let mut delays = vec![other; threads];
            delays[one] = own;
            all.push(delays);
        }
    }
    all.extend([1, 2, 4, 8, 16, 64].map(|delay| vec![delay; threads]));
    all
}

/// The executions that are tried, in full.
pub(crate) fn executions(trace: &Trace<'_>) -> impl Iterator<Item = Vec<TxnEvent>> {
    delays(trace).into_iter().map(move |delays| {
        let mut events = Vec::new();
        let mut buffers: Vec<VecDeque<usize>> = vec![VecDeque::new(); delays.len()];
        let commit = |write: usize| TxnEvent { kind: TxnKind::Commit, ..trace.events[write] };
        for (at, &e) in trace.events.iter().enumerate() {
            for (buffer, &delay) in buffers.iter_mut().zip(&delays) {
                while let Some(&write) = buffer.front()
                    && write.saturating_add(delay) < at
                {
                    buffer.pop_front();
                    events.push(commit(write));
                }
            }
            let buffer = &mut buffers[e.thread as usize];
            if e.kind.drains() {
                events.extend(buffer.drain(..).map(commit));
            }
            events.push(e);
            if e.kind == TxnKind::Write {
                buffer.push_back(at);
            }
        }
        events.extend(buffers.into_iter().flatten().map(commit));
        events
    })
}

/// One execution until the first cycle, and the cycle, if there is one.
fn run(
    trace: &Trace<'_>,
    delays: &Delays,
    meter: &mut Meter<'_>,
) -> Result<Option<(Vec<TxnEvent>, TxnCycle)>, Limit> {
    let question = Question::TsoSerializable(trace.mode.buffered_reads());
    let mut run = Run { online: Online::new(question), events: Vec::new(), cycle: None };
    let mut buffers: Vec<VecDeque<usize>> = vec![VecDeque::new(); delays.len()];
    // Threads whose stores wait for a time, those that wait longest first.
    let mut timed: VecDeque<(usize, u32)> = VecDeque::new();
    for (at, &e) in trace.events.iter().enumerate() {
        while let Some(&(then, thread)) = timed.front()
            && then.saturating_add(delays[thread as usize]) < at
        {
            timed.pop_front();
            let buffer = &mut buffers[thread as usize];
            if buffer.front() == Some(&then) {
                buffer.pop_front();
                run.commit(trace.events[then]);
            }
        }
        let buffer = &mut buffers[e.thread as usize];
        if e.kind.drains() {
            buffer.drain(..).for_each(|write| run.commit(trace.events[write]));
        }
        run.event(e);
        if e.kind == TxnKind::Write {
            match delays[e.thread as usize] {
                0 => run.commit(e),
                delay => {
                    buffer.push_back(at);
                    if delay < usize::MAX {
                        timed.push_back((at, e.thread));
                    }
                }
            }
        }
        if run.cycle.is_some() {
            break;
        }
        meter.work(32, || run.bytes())?;
    }
    for write in buffers.into_iter().flatten() {
        run.commit(trace.events[write]);
        meter.work(32, || run.bytes())?;
    }
    Ok(run.cycle.map(|cycle| (run.events, cycle)))
}

struct Run {
    online: Online,
    events: Vec<TxnEvent>,
    cycle: Option<TxnCycle>,
}

impl Run {
    fn event(&mut self, event: TxnEvent) {
        if self.cycle.is_none() {
            self.events.push(event);
            // What is refused is no execution, and none of these is refused.
            self.cycle = self.online.event(event).unwrap_or(None);
        }
    }

    fn commit(&mut self, write: TxnEvent) {
        self.event(TxnEvent { kind: TxnKind::Commit, ..write });
    }

    fn bytes(&self) -> u64 {
        self.online.bytes() + (self.events.capacity() * size_of::<TxnEvent>()) as u64
    }
}
