//! A connection to one process, for messages of any kind: those of a sweep, where inputs are handed out
//! and answers come back. Each message has an authentication code of its own, so that nobody between
//! two processes can change, repeat or leave out an answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weakspot_core::LostProcess;

use crate::watch::SILENCE;

/// What both ends of one connection know, and nobody else.
pub(crate) type Key = [u8; 32];

/// How long [`Peer::receive`] waits.
const TICK: Duration = Duration::from_millis(100);
/// Before a message: what kind it is of, and its length. After it: its code.
const HEAD: usize = 9;
const CODE: usize = 32;
/// No message is longer: it would not fit into memory.
const MOST: usize = usize::MAX >> 20;

/// A process at the other end of a connection.
pub struct Peer {
    process: usize,
    socket: TcpStream,
    key: Key,
    /// This process has the greater number: its messages have other codes than those of the other end.
    is_greater: bool,
    /// How many messages were sent.
    sent: Mutex<u64>,
    heard: Mutex<Heard>,
}

/// Who has come to a sweep.
pub struct Joined {
    /// Process 0 has all others here, and the others have process 0.
    pub peers: Vec<Peer>,
    /// Processes that did not connect.
    pub absent: Vec<usize>,
}

/// What has come.
#[derive(Default)]
struct Heard {
    bytes: Vec<u8>,
    /// How many messages.
    messages: u64,
    /// For how many ticks nothing has come.
    silent: u32,
}

impl Peer {
    pub(crate) fn new(
        (own, process): (usize, usize),
        socket: TcpStream,
        key: Key,
    ) -> io::Result<Peer> {
        socket.set_read_timeout(Some(TICK))?;
        let (sent, heard) = (Mutex::default(), Mutex::default());
        Ok(Peer { process, socket, key, is_greater: own > process, sent, heard })
    }

    /// The number of the process at the other end.
    #[must_use]
    pub fn process(&self) -> usize {
        self.process
    }

    /// The code of a message, of which so many came before.
    fn code(
        &self,
        by_greater: bool,
        number: u64,
        head: &[u8],
        bytes: &[u8],
    ) -> Option<Hmac<Sha256>> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        code.update(&[u8::from(by_greater)]);
        code.update(&number.to_le_bytes());
        code.update(head);
        code.update(bytes);
        Some(code)
    }

    /// Sends a message; waits while the other end is too slow.
    ///
    /// # Errors
    ///
    /// The connection has ended.
    pub fn send(&self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        let head = [&[kind][..], &(bytes.len() as u64).to_le_bytes()].concat();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let code =
            self.code(self.is_greater, *sent, &head, bytes).ok_or(ErrorKind::InvalidInput)?;
        *sent += 1;
        let message = [&head[..], bytes, &code.finalize().into_bytes()].concat();
        (&self.socket).write_all(&message)
    }

    /// The next message with its kind; `None` if none comes within a tenth of a second. Only one thread
    /// may listen.
    ///
    /// # Errors
    ///
    /// The process is lost: the connection has ended, nothing was heard for long, or what was heard is
    /// not what the other end has said.
    pub fn receive(&self) -> Result<Option<(u8, Vec<u8>)>, LostProcess> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(message) = self.whole(&mut heard)? {
                return Ok(Some(message));
            }
            let mut bytes = [0; 1 << 14];
            match (&self.socket).read(&mut bytes) {
                Ok(0) => return Err(LostProcess::Gone),
                Ok(n) => {
                    heard.silent = 0;
                    heard.bytes.extend_from_slice(&bytes[..n]);
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    // Ticks are counted, not time: whoever was kept from listening has missed nothing.
                    heard.silent += 1;
                    return match heard.silent * TICK > SILENCE {
                        true => Err(LostProcess::Silent),
                        false => Ok(None),
                    };
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(LostProcess::Gone),
            }
        }
    }

    /// The first message of what has come, once all of it is there.
    fn whole(&self, heard: &mut Heard) -> Result<Option<(u8, Vec<u8>)>, LostProcess> {
        let Some(head) = heard.bytes.first_chunk::<HEAD>().copied() else { return Ok(None) };
        let length = head[1..].try_into().map_or(u64::MAX, u64::from_le_bytes);
        let length = usize::try_from(length).ok().filter(|&length| length <= MOST);
        let end = HEAD + length.ok_or(LostProcess::Garbled)? + CODE;
        if heard.bytes.len() < end {
            return Ok(None);
        }
        let bytes = heard.bytes[HEAD..end - CODE].to_vec();
        let code = self.code(!self.is_greater, heard.messages, &head, &bytes);
        let is_right =
            code.is_some_and(|code| code.verify_slice(&heard.bytes[end - CODE..end]).is_ok());
        heard.bytes.drain(..end);
        heard.messages += 1;
        if is_right { Ok(Some((head[0], bytes))) } else { Err(LostProcess::Garbled) }
    }

    /// Says nothing more; what was said arrives.
    pub fn finish(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Ends the connection; whoever waits to send or to hear goes on.
    pub fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (Peer, Peer) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let a = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (b, _) = listener.accept().expect("connected");
        let peer = |ends, socket| Peer::new(ends, socket, [7; 32]).expect("a peer");
        (peer((1, 0), a), peer((0, 1), b))
    }

    #[test]
    fn messages_arrive_in_order() {
        let (a, b) = pair();
        let long = vec![5; 1 << 17];
        a.send(1, b"one").expect("sent");
        a.send(2, &long).expect("sent");
        b.send(3, b"").expect("sent");
        assert_eq!(b.receive(), Ok(Some((1, b"one".to_vec()))));
        assert_eq!(b.receive(), Ok(Some((2, long))));
        assert_eq!(b.receive(), Ok(None));
        assert_eq!(a.receive(), Ok(Some((3, Vec::new()))));
        a.finish();
        assert_eq!(b.receive(), Err(LostProcess::Gone));
    }

    /// What was changed, repeated or sent back is not heard.
    #[test]
    fn what_others_say_is_garbled() {
        for what in ["changed", "repeated", "sent back"] {
            let (a, b) = pair();
            let head = [&[1][..], &3u64.to_le_bytes()].concat();
            let (by_greater, number) = (what != "sent back", u64::from(what == "repeated"));
            let code = a.code(by_greater, number, &head, b"one").expect("a code");
            let said = if what == "changed" { b"two" } else { b"one" };
            let message = [&head[..], said, &code.finalize().into_bytes()].concat();
            (&a.socket).write_all(&message).expect("sent");
            assert_eq!(b.receive(), Err(LostProcess::Garbled), "{what}");
        }
    }
}
