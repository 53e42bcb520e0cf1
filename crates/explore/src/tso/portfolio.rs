//! Several algorithms for one question: no single one is best everywhere.
//!
//! The search of the store buffers comes first, alone, for some thousand states: most questions are
//! answered then. After that it goes on beside the others, each in a thread of its own, and the first that
//! knows the answer stops the rest:
//! - *eager* ends on every program whose buffers are bounded;
//! - *lazy* asks about SC and robustness: it finds violations behind long buffers or few late
//!   stores, and knows robust programs to be safe;
//! - *late* finds violations that one thread's late stores lead to, however many threads there are;
//! - *dual* ends on every program with finite data;
//! - *counters* ends on many programs whose counters grow for ever, and is the only one that does.
//!   It is asked under SC, too, where such programs have no end otherwise.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use weakspot_core::{Limit, Limits, Model, Program, Progress, Snapshot, Verdict};

use crate::abstraction;
use crate::answer::{NoAnswer, Reach};
use crate::buffers::outcomes::Strategy;
use crate::buffers::reach::{by_sc, eager};
use crate::tso::{dual, late, lazy};

/// As long as it has visited fewer states, the search of the store buffers is alone. It is not a time,
/// so that what answers most questions does not depend on how busy the machine is.
const ALONE: u64 = 20_000;

/// Nor is it alone once it holds so many bytes: few states with long buffers are as good a reason.
const ALONE_BYTES: u64 = 1 << 27;

/// Answers everything that `program` asks.
pub(crate) fn reach(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let limits = &limits.begin();
    let counts = abstraction::is_for(program);
    if model == Model::Sc && !counts {
        return by_sc(program, limits, progress);
    }
    let workers = limits.workers;
    let states = |limits: &Limits, progress: &mut dyn Progress| match model {
        // The search that most programs need keeps its workers.
        Model::Sc => by_sc(program, &Limits { workers, ..*limits }, progress),
        _ => eager(program, model, Strategy::Auto, limits, progress),
    };
    let mut alone = Alone { progress, is_over: false };
    let first = states(limits, &mut alone)?;
    let is_over = alone.is_over;
    // A search that met a limit of memory or of buffers meets it again.
    let eager_goes_on = match &first.verdict {
        Verdict::Unknown(Limit::Interrupted) if is_over => true,
        Verdict::Unknown(Limit::Interrupted | Limit::Time(_)) => return Ok(first),
        Verdict::Unknown(_) => false,
        _ => return Ok(first),
    };
    let buffers: Racer<'_> = &|limits, progress| states(limits, progress).map(Some);
    let counting: Racer<'_> =
        &|limits, progress| abstraction::decided(program, model, limits, progress);
    let lazily: Racer<'_> =
        &|limits, progress| lazy::lazy(program, model, limits, progress).map(Some);
    let late: Racer<'_> = &|limits, progress| Ok(late::decided(program, model, limits, progress));
    let dually: Racer<'_> = &|limits, progress| dual::decided(program, model, limits, progress);
    let mut racers = if model == Model::Sc { vec![] } else { vec![late, lazily, dually] };
    if counts {
        racers.push(counting);
    }
    if eager_goes_on {
        racers.push(buffers);
    }
    let mut unknown = first;
    let (answers, interrupted) = race(&racers, limits, progress);
    for (racer, answer) in answers {
        match answer {
            Ok(Some(Reach { verdict: Verdict::Unknown(limit), states, .. })) => {
                unknown.states += states;
                // What stopped the search of the buffers says most.
                if eager_goes_on && racer + 1 == racers.len() {
                    unknown.verdict = Verdict::Unknown(limit);
                }
            }
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(error) => return Err(error),
        }
    }
    if interrupted {
        unknown.verdict = Verdict::Unknown(Limit::Interrupted);
    }
    Ok(unknown)
}

/// Ends a search that has visited [`ALONE`] states, or takes [`ALONE_BYTES`].
struct Alone<'a> {
    progress: &'a mut dyn Progress,
    is_over: bool,
}

impl Progress for Alone<'_> {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        let go_on = self.progress.tick(snapshot);
        let much = snapshot.states >= ALONE || snapshot.memory >= ALONE_BYTES;
        self.is_over |= go_on && much;
        go_on && !self.is_over
    }
}

/// `None` if an algorithm cannot tell.
type Answer = Result<Option<Reach>, NoAnswer>;
type Racer<'a> = &'a (dyn Fn(&Limits, &mut dyn Progress) -> Answer + Sync);

/// Runs all side by side until one knows the answer; what each said, that one first, and whether
/// the listener asked to stop.
///
/// They share the limits. When all of them together use too much memory, one that uses more than
/// its share ends; what it used is then there for the others.
fn race(
    racers: &[Racer<'_>],
    limits: &Limits,
    progress: &mut dyn Progress,
) -> (Vec<(usize, Answer)>, bool) {
    let track = Track {
        limits: *limits,
        stop: AtomicBool::new(false),
        running: AtomicU64::new(racers.len() as u64),
        counts: racers.iter().map(|_| Default::default()).collect(),
    };
    let mut answers = Vec::new();
    let mut interrupted = false;
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for (lane, racer) in racers.iter().enumerate() {
            let (sender, track) = (sender.clone(), &track);
            scope.spawn(move || {
                let mut lane = Lane { track, lane, over: false };
                let limits = Limits { workers: 1, ..track.limits };
                let answer = racer(&limits, &mut lane);
                let _ = sender.send((lane.lane, lane.end(answer)));
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(Duration::from_millis(20)) {
                Ok((lane, answer)) => {
                    let known = match &answer {
                        Ok(Some(answer)) => !matches!(answer.verdict, Verdict::Unknown(_)),
                        Ok(None) => false,
                        Err(_) => true,
                    };
                    if known && !track.stop.swap(true, Ordering::Relaxed) {
                        answers.insert(0, (lane, answer));
                    } else {
                        answers.push((lane, answer));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let (states, frontier) = (track.sum(0), track.sum(1));
                    if !progress.tick(Snapshot { states, frontier, memory: track.sum(2), kept: 0 })
                    {
                        interrupted = !track.stop.swap(true, Ordering::Relaxed) || interrupted;
                    }
                }
            }
        }
    });
    (answers, interrupted)
}

/// What the racers know of each other.
struct Track {
    limits: Limits,
    stop: AtomicBool,
    /// How many have not ended.
    running: AtomicU64,
    /// Per racer the states, waiting states and bytes.
    counts: Vec<[AtomicU64; 3]>,
}

impl Track {
    fn sum(&self, i: usize) -> u64 {
        self.counts.iter().map(|counts| counts[i].load(Ordering::Relaxed)).sum()
    }
}

/// What one of the racers hears and tells.
struct Lane<'a> {
    track: &'a Track,
    lane: usize,
    /// Whether it had to end for the sake of memory.
    over: bool,
}

impl Lane<'_> {
    /// Makes room for the others; `answer` with the limit that was reached.
    fn end(&self, mut answer: Answer) -> Answer {
        self.track.counts[self.lane][2].store(0, Ordering::Relaxed);
        self.track.running.fetch_sub(1, Ordering::Relaxed);
        if let (true, Some(most)) = (self.over, self.track.limits.memory)
            && let Ok(Some(Reach { verdict: Verdict::Unknown(limit), .. })) = &mut answer
        {
            *limit = Limit::Memory(most);
        }
        answer
    }
}

impl Progress for Lane<'_> {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        let Track { limits, stop, running, counts } = self.track;
        let Snapshot { states, frontier, memory, .. } = snapshot;
        for (count, now) in counts[self.lane].iter().zip([states, frontier, memory]) {
            count.store(now, Ordering::Relaxed);
        }
        if let Some(left) = limits.memory_left() {
            let share = left / running.load(Ordering::Relaxed).max(1);
            self.over |= memory > share && self.track.sum(2) > left;
        }
        !self.over && !stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::{Drain, Silent};

    use super::*;
    use crate::robust::{self, Decide};

    /// The block of q sees y but not x. It fails before its end, so the program is robust.
    #[test]
    fn robustness_says_nothing_about_assertions_in_blocks() {
        let text = "
            shared x = 0, y = 0
            thread p { x = 1; y = 1 }
            thread q { var r, s; atomic { r = y; s = x; assert(r == 0 || s == 1) } }
        ";
        let parsed = weakspot_lang::parse(weakspot_lang::Format::Weak, text);
        let program = parsed.expect("a good program").program;
        let limits =
            Limits { time: None, memory: None, buffer: 16, workers: 1, ..Limits::UNLIMITED };
        let model = Model::Pso(Drain::All);
        let robust = robust::decided(&program, model, Decide::Pending, &limits, &mut Silent);
        assert_eq!(robust.expect("an answer").verdict, Verdict::Holds);
        let answer = lazy::lazy(&program, model, &limits, &mut Silent).expect("no fault");
        assert_eq!((answer.verdict, answer.algorithm), (Verdict::Violated, "eager"));
        let answer = reach(&program, model, &limits, &mut Silent);
        assert_eq!(answer.expect("an answer").verdict, Verdict::Violated);
    }

    /// One that uses more than its share ends when all together use too much, and says why.
    #[test]
    fn racers_share_the_memory() {
        let limits = Limits { memory: Some(1000), ..Limits::UNLIMITED };
        let ended = AtomicBool::new(false);
        let using = |memory| Snapshot { memory, ..Snapshot::default() };
        let greedy: Racer<'_> = &|_, progress| {
            let mut memory = 0;
            while progress.tick(using(memory)) {
                memory += 100;
            }
            ended.store(true, Ordering::Relaxed);
            let verdict = Verdict::Unknown(Limit::Interrupted);
            let algorithm = "greedy";
            Ok(Some(Reach { verdict, violation: None, evidence: None, states: 0, algorithm }))
        };
        let modest: Racer<'_> = &|_, progress| {
            while !ended.load(Ordering::Relaxed) {
                assert!(progress.tick(using(400)));
            }
            Ok(None)
        };
        let (answers, interrupted) = race(&[greedy, modest], &limits, &mut Silent);
        assert!(!interrupted);
        for (racer, answer) in answers {
            let verdict = answer.expect("no fault").map(|reach| reach.verdict);
            let expected = (racer == 0).then_some(Verdict::Unknown(Limit::Memory(1000)));
            assert_eq!(verdict, expected);
        }
    }
}
