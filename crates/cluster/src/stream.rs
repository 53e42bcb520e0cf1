//! The connection of a search, as timely uses it. timely ends the program when a connection ends; here
//! the process at the other end is noted as lost, and timely's thread waits for the end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use timely::communication::allocator::zero_copy::stream::Stream;
use weakspot_core::LostProcess;

use crate::watch::Health;

/// A connection to one process.
pub(crate) struct Pipe {
    pub(crate) socket: TcpStream,
    pub(crate) process: usize,
    pub(crate) health: Arc<Health>,
    /// How many bytes that were read last are 0: timely's last message has only such.
    zeros: usize,
}

/// The bytes of timely's last message.
const LAST: usize = 48;

impl Pipe {
    pub(crate) fn new(socket: TcpStream, process: usize, health: &Arc<Health>) -> Pipe {
        Pipe { socket, process, health: Arc::clone(health), zeros: 0 }
    }

    /// Notes the loss; this thread has nothing more to do.
    fn lost(&self) -> ! {
        self.health.lose(self.process, LostProcess::Gone);
        loop {
            std::thread::park();
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(buffer) {
                Ok(0) if self.zeros >= LAST => return Ok(0),
                Ok(0) => self.lost(),
                Ok(n) => {
                    let zeros = buffer[..n].iter().rev().take_while(|&&byte| byte == 0).count();
                    self.zeros = if zeros == n { self.zeros.saturating_add(n) } else { zeros };
                    return Ok(n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.lost(),
            }
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self.socket.write(buffer) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => self.lost(),
            written_or_interrupted => written_or_interrupted,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Pipe {
    fn try_clone(&self) -> io::Result<Pipe> {
        Ok(Pipe::new(self.socket.try_clone()?, self.process, &self.health))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        // The other end may be gone already.
        let _ = self.socket.shutdown(how);
        Ok(())
    }
}
