//! Whether the other processes are there: a connection to each of them beside those of the search, on
//! which everybody says now and then that he is alive.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weakspot_core::{Limit, LostProcess};

/// How often a process says that it is alive, and after which time without a word it is given up.
const BEAT: Duration = Duration::from_millis(500);
pub(crate) const SILENCE: Duration = Duration::from_secs(8);

// What processes say.
const ALIVE: u8 = 1;
/// The process has its answer; the connection ends.
const BYE: u8 = 2;
/// Another process is lost: its number follows, and how.
const LOST: u8 = 3;

/// What is known of the other processes.
#[derive(Default)]
pub(crate) struct Health {
    is_lost: AtomicBool,
    lost: Mutex<Option<(usize, LostProcess)>>,
    /// This process is done.
    done: AtomicBool,
}

impl Health {
    /// Notes that a process is lost. The first one counts: others follow from it.
    pub(crate) fn lose(&self, process: usize, why: LostProcess) {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert((process, why));
        self.is_lost.store(true, Ordering::Release);
    }

    /// Why searches cannot go on, if so.
    pub(crate) fn lost(&self) -> Option<Limit> {
        if !self.is_lost.load(Ordering::Acquire) {
            return None;
        }
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.map(|(process, why)| Limit::Process { process, why })
    }

    pub(crate) fn end(&self) {
        self.done.store(true, Ordering::Release);
    }
}

/// Watches one process until this one is done. Says goodbye then, or who is lost.
pub(crate) fn watch(mut socket: TcpStream, process: usize, health: &Arc<Health>) {
    let (mut heard, mut said) = (Instant::now(), None::<Instant>);
    let mut is_over = socket.set_read_timeout(Some(BEAT / 5)).is_err();
    let mut words = Vec::new();
    // A process may say goodbye long before this one is done.
    let mut gone = false;
    while !is_over {
        if said.is_none_or(|said| said.elapsed() > BEAT) {
            said = Some(Instant::now());
            let _ = socket.write_all(&[ALIVE]);
        }
        let mut bytes = [0; 64];
        match if gone { pause() } else { socket.read(&mut bytes) } {
            Ok(0) => {
                if !gone {
                    health.lose(process, LostProcess::Gone);
                }
                gone = true;
            }
            Ok(n) => {
                heard = Instant::now();
                words.extend_from_slice(&bytes[..n]);
                gone |= hear(&mut words, health);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if !gone && heard.elapsed() > SILENCE {
                    health.lose(process, LostProcess::Silent);
                    gone = true;
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => {
                health.lose(process, LostProcess::Gone);
                gone = true;
            }
        }
        is_over = health.done.load(Ordering::Acquire);
    }
    let lost = *health.lost.lock().unwrap_or_else(PoisonError::into_inner);
    let last = match lost {
        Some((lost, why)) => [&[LOST, how(why)][..], &(lost as u32).to_le_bytes()].concat(),
        None => vec![BYE],
    };
    let _ = socket.write_all(&last);
}

/// Nothing to read for a while.
fn pause() -> std::io::Result<usize> {
    std::thread::sleep(BEAT / 5);
    Err(ErrorKind::WouldBlock.into())
}

/// Hears whole words. Whether the last one was said.
fn hear(words: &mut Vec<u8>, health: &Health) -> bool {
    loop {
        match words[..] {
            [] => return false,
            [BYE, ..] => return true,
            [LOST, why, a, b, c, d, ..] => {
                let why = if why == 1 { LostProcess::Silent } else { LostProcess::Gone };
                health.lose(u32::from_le_bytes([a, b, c, d]) as usize, why);
                return true;
            }
            [LOST, ..] => return false,
            _ => {
                words.remove(0);
            }
        }
    }
}

fn how(why: LostProcess) -> u8 {
    u8::from(why == LostProcess::Silent)
}
