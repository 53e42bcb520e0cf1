//! A process that answers what process 0 hands out, and prints nothing.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use weakspot_args::Shared;
use weakspot_cluster::Peer;
use weakspot_core::LostProcess;
use weakspot_report::Row;

use super::lead::{BEAT, OnDefect};
use super::message::{Message, pack, unpack};
use super::{digest_file, lost};
use crate::exit::Exit;
use crate::interrupt;
use crate::pool::{self, Answer, Named};
use crate::terminal;

/// Helps until there is nothing left to do.
pub(super) fn help<I: Named + AsRef<Path>, T: Send + Row>(
    inputs: &[I],
    shared: &Shared,
    leader: Option<&Peer>,
    job: &(impl Fn(&I, &mut dyn FnMut(Answer<T>)) + Sync),
) -> Exit {
    let Some(leader) = leader else {
        if !interrupt::asked() {
            eprintln!("error: {}", lost(0, LostProcess::Absent));
        }
        return Exit::Unknown;
    };
    let (by_leader, over, differs) =
        (AtomicBool::new(false), AtomicBool::new(false), OnceLock::new());
    let goes = AtomicBool::new(false);
    let helper = Helper { inputs, leader, by_leader: &by_leader, goes, differs: &differs };
    let (hand_in, handed) = mpsc::channel();
    let (helper, handed) = (&helper, &Mutex::new(handed));
    let ended = std::thread::scope(|scope| {
        for _ in 0..pool::at_a_time(inputs, shared) {
            scope.spawn(move || {
                // Process 0 would wait for what this thread has.
                let _defect = OnDefect(|| helper.goes.store(true, Ordering::Release));
                while helper.answer(handed, job).is_some() {}
            });
        }
        let beat = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = helper.say(&Message::<T>::Alive(pool::figures()));
                std::thread::park_timeout(BEAT);
            }
        });
        let ended = helper.listen::<T>(&hand_in);
        drop(hand_in);
        // What is still worked on is of no use.
        interrupt::ask();
        leader.close();
        over.store(true, Ordering::Relaxed);
        beat.thread().unpark();
        ended
    });
    match (ended, differs.get()) {
        (_, Some(name)) => {
            eprintln!(
                "error: {name} is not the same as in process 0; the others answer without it"
            );
            Exit::Unknown
        }
        (Ended::Done, None) => Exit::Holds,
        (Ended::Asked, None) => Exit::Unknown,
        (Ended::Lost(why), None) => {
            eprintln!("error: {}", lost(0, why));
            Exit::Unknown
        }
    }
}

enum Ended {
    /// Everything is answered.
    Done,
    /// A signal was for this process alone: the others go on.
    Asked,
    Lost(LostProcess),
}

struct Helper<'h, I> {
    inputs: &'h [I],
    leader: &'h Peer,
    /// It was process 0 that has asked for an end.
    by_leader: &'h AtomicBool,
    /// A signal was for this process.
    goes: AtomicBool,
    /// The name of an input that is not the same here.
    differs: &'h OnceLock<String>,
}

impl<I: Named + AsRef<Path>> Helper<'_, I> {
    fn say<T: Row>(&self, message: &Message<T>) -> Option<()> {
        let (kind, bytes) = pack(message);
        self.leader.send(kind, &bytes).ok()
    }

    /// Whether this process goes, and takes with it what it has not finished. It does not change its mind: an answer
    /// may have been left out already.
    fn goes(&self) -> bool {
        if interrupt::asked() && !self.by_leader.load(Ordering::Acquire) {
            self.goes.store(true, Ordering::Release);
        }
        self.goes.load(Ordering::Acquire)
    }

    /// Answers the next input that is handed out, if there is one.
    fn answer<T: Row>(
        &self,
        handed: &Mutex<Receiver<(usize, String)>>,
        job: &impl Fn(&I, &mut dyn FnMut(Answer<T>)),
    ) -> Option<()> {
        self.say(&Message::<T>::Free)?;
        let next = handed.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let (i, digest) = next.ok()?;
        let input = &self.inputs[i];
        if digest_file(input.as_ref()).ok() != Some(digest) {
            let _ = self.differs.set(input.name());
            self.say(&Message::<T>::Differs(i))?;
            return None;
        }
        let since = Instant::now();
        job(input, &mut |part| {
            // An answer that was broken off is not one.
            if !self.goes() {
                self.say(&Message::Part(i, part));
            }
        });
        (!self.goes()).then_some(())?;
        self.say(&Message::<T>::End(i, since.elapsed()))
    }

    /// Listens to process 0 until the end.
    fn listen<T: Row>(&self, hand_in: &mpsc::Sender<(usize, String)>) -> Ended {
        loop {
            if self.goes() || self.differs.get().is_some() {
                return Ended::Asked;
            }
            let (kind, bytes) = match self.leader.receive() {
                Ok(Some(message)) => message,
                Ok(None) => continue,
                Err(why) => return Ended::Lost(why),
            };
            match unpack::<T>(kind, &bytes) {
                Some(Message::Alive(_)) => {}
                Some(Message::Screen(screen)) => terminal::write_for(screen),
                Some(Message::Input(i, digest)) if i < self.inputs.len() => {
                    let _ = hand_in.send((i, digest));
                }
                Some(Message::Stop) => {
                    self.by_leader.store(true, Ordering::Release);
                    interrupt::ask();
                }
                Some(Message::Done) => return Ended::Done,
                _ => return Ended::Lost(LostProcess::Garbled),
            }
        }
    }
}
