//! Process 0: hands out, listens to the others, and prints.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::Result;
use weakspot_args::Shared;
use weakspot_cluster::Peer;
use weakspot_core::LostProcess;
use weakspot_report::Row;

use super::handout::{Handout, Who};
use super::message::{Message, pack, unpack};
use super::{digest_file, lost};
use crate::exit::Exit;
use crate::interrupt;
use crate::pool::{self, Answer, Named, News, Post};
use crate::terminal;

/// How often processes say that they are alive.
pub(super) const BEAT: Duration = Duration::from_millis(500);
/// Between two looks whether there is something to do.
const TICK: Duration = Duration::from_millis(100);
/// How long others may take to go in the end.
const GOODBYE: Duration = Duration::from_secs(2);

/// Answers with the help of others.
pub(super) fn lead<I: Named + AsRef<Path>, T: Send + Row>(
    inputs: &[I],
    shared: &Shared,
    time: Option<Duration>,
    peers: &[Peer],
    job: &(impl Fn(&I, &mut dyn FnMut(Answer<T>)) + Sync),
) -> Result<(Exit, Vec<T>)> {
    let handout = &Handout::new(inputs.len(), peers.len());
    let screen = terminal::screen(shared.color);
    for peer in peers {
        // One that is gone is noticed by who listens to it.
        let _ = say(peer, &Message::<T>::Screen(screen));
    }
    pool::print_all(inputs, shared, time, |post| {
        std::thread::scope(|scope| {
            for _ in 0..pool::at_a_time(inputs, shared) {
                scope.spawn(|| answer(inputs, handout, &post, job));
            }
            for (number, peer) in peers.iter().enumerate() {
                let (free, frees) = mpsc::channel();
                let lead = Lead { inputs, shared, handout, number, peer };
                let post = &post;
                scope.spawn(move || lead.listen(post, &free));
                scope.spawn(move || lead.hand_out::<T>(&frees));
            }
            scope.spawn(|| beat::<T>(handout, peers));
        });
    })
}

/// Does something if this thread ends by a defect of weakspot.
pub(super) struct OnDefect<F: Fn()>(pub(super) F);

impl<F: Fn()> Drop for OnDefect<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

/// One of this process's own threads.
fn answer<I, T>(
    inputs: &[I],
    handout: &Handout,
    post: &Post<T>,
    job: &impl Fn(&I, &mut dyn FnMut(Answer<T>)),
) {
    // The others would wait for what this thread has.
    let _defect = OnDefect(|| handout.close());
    while let Some(i) = handout.next(Who::Here) {
        let since = Instant::now();
        job(&inputs[i], &mut |part| {
            if handout.is_new(i) {
                let _ = post.send((i, News::Part(part)));
            }
        });
        end(handout, post, Who::Here, i, since.elapsed());
    }
}

/// An input is answered. Nobody listens any more when printing failed: then the rest is no use.
fn end<T>(handout: &Handout, post: &Post<T>, who: Who, i: usize, time: Duration) {
    if post.send((i, News::End(time))).is_err() {
        handout.close();
    }
    handout.end(who, i);
}

fn say<T: Row>(peer: &Peer, message: &Message<T>) -> std::io::Result<()> {
    let (kind, bytes) = pack(message);
    peer.send(kind, &bytes)
}

/// Says to all that this process is alive, and that somebody has asked for an end, if so.
fn beat<T: Row>(handout: &Handout, peers: &[Peer]) {
    let (mut told, mut said) = (false, Instant::now());
    while !handout.wait_for_end(TICK) {
        if interrupt::asked() && !told {
            told = true;
            for peer in peers {
                let _ = say(peer, &Message::<T>::Stop);
            }
        }
        if said.elapsed() >= BEAT {
            said = Instant::now();
            for peer in peers {
                let _ = say(peer, &Message::<T>::Alive(pool::Figures::default()));
            }
        }
    }
}

/// What process 0 does for one of the others.
struct Lead<'l, I> {
    inputs: &'l [I],
    shared: &'l Shared,
    handout: &'l Handout,
    /// Which of those that came.
    number: usize,
    peer: &'l Peer,
}

impl<I> Clone for Lead<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Lead<'_, I> {}

impl<I: Named + AsRef<Path>> Lead<'_, I> {
    /// Hands out an input for each thread that is free.
    fn hand_out<T: Row>(self, frees: &Receiver<()>) {
        std::thread::scope(|scope| {
            while !self.handout.is_over() {
                match frees.recv_timeout(TICK) {
                    // Side by side: a file may be long.
                    Ok(()) => {
                        scope.spawn(move || self.hand_out_one::<T>());
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    // It is lost.
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        let _ = say(self.peer, &Message::<T>::Done);
        self.peer.finish();
    }

    fn hand_out_one<T: Row>(self) {
        let Lead { inputs, handout, number, peer, .. } = self;
        while let Some(i) = handout.next(Who::There(number)) {
            if let Ok(digest) = digest_file(inputs[i].as_ref()) {
                let _ = say(peer, &Message::<T>::Input(i, digest));
                return;
            }
            // What cannot be read, or only once, is for this process.
            handout.keep_here(number, i);
        }
    }

    /// Listens until the process goes.
    fn listen<T: Row>(self, post: &Post<T>, free: &Sender<()>) {
        let mut over = None;
        let why = loop {
            match self.peer.receive() {
                Ok(Some((kind, bytes))) => match self.hear(kind, &bytes, post, free) {
                    Ok(()) => {}
                    Err(why) => break why,
                },
                Ok(None) if self.handout.is_over() => {
                    let since: &mut Instant = over.get_or_insert_with(Instant::now);
                    if since.elapsed() > GOODBYE {
                        break LostProcess::Silent;
                    }
                }
                Ok(None) => {}
                Err(why) => break why,
            }
        };
        let process = self.peer.process();
        self.peer.close();
        pool::note_figures(process, None);
        if let Some(inputs) = self.handout.lose(self.number)
            && !self.shared.quiet
            && !interrupt::asked()
        {
            let had = match inputs {
                0 => "others go on".to_owned(),
                1 => "others answer for the input that it had".to_owned(),
                n => format!("others answer for the {n} inputs that it had"),
            };
            eprintln!("warning: {}; {had}", lost(process, why));
        }
    }

    fn hear<T: Row>(
        self,
        kind: u8,
        bytes: &[u8],
        post: &Post<T>,
        free: &Sender<()>,
    ) -> Result<(), LostProcess> {
        let Lead { handout, number, .. } = self;
        let has = |i| if handout.has(number, i) { Ok(()) } else { Err(LostProcess::Garbled) };
        match unpack(kind, bytes).ok_or(LostProcess::Garbled)? {
            Message::Alive(figures) => pool::note_figures(self.peer.process(), Some(figures)),
            Message::Free => {
                let _ = free.send(());
            }
            Message::Part(i, part) => {
                has(i)?;
                if handout.is_new(i) {
                    let _ = post.send((i, News::Part(part)));
                }
            }
            Message::End(i, time) => {
                has(i)?;
                end(handout, post, Who::There(number), i, time);
            }
            Message::Differs(i) => {
                has(i)?;
                if !self.shared.quiet {
                    let (process, name) = (self.peer.process(), self.inputs[i].name());
                    eprintln!("warning: {name} is not the same in process {process}");
                }
                return Err(LostProcess::Gone);
            }
            _ => return Err(LostProcess::Garbled),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use weakspot_args::Command;
    use weakspot_report::ProgramResult;

    use super::*;

    /// A thread that ends by a defect ends all, as in one process; nobody waits for what it had.
    #[test]
    fn a_defect_is_not_waited_for() {
        let words = ["weakspot", "litmus", "--threads", "2", "a"].map(std::ffi::OsString::from);
        let Ok(Command::Litmus(args)) = weakspot_args::read(words) else { panic!("no command") };
        let inputs: Vec<PathBuf> = (0..9).map(|i| PathBuf::from(i.to_string())).collect();
        let job = |input: &PathBuf, part: &mut dyn FnMut(Answer<ProgramResult>)| {
            assert!(input.as_os_str() != "4", "a defect");
            part(Answer::new());
        };
        let ended = std::panic::catch_unwind(|| {
            lead(&inputs, &args.common.shared, None, &[], &job).map(|(exit, _)| exit)
        });
        assert!(ended.is_err());
    }
}
