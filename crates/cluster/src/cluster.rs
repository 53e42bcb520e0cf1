//! The processes of a search or a sweep and their connections. Each process listens at its own address, connects
//! to all before it in the list and waits for all after it; on every connection both ends first show
//! who they are, see [`handshake`](crate::handshake).
//!
//! There is a connection between each two processes by which they watch each other, and another one
//! per search, which timely gets. In a sweep there is one to process 0, and no other.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use timely::communication::Hooks;
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::allocator::TcpBuilder;
use timely::communication::allocator::zero_copy::initialize::{
    CommsGuard, initialize_networking_from_sockets,
};
use weakspot_core::{Limit, LostProcess};
use weakspot_explore::{Link, Team};

use crate::handshake::{Asked, Purpose, Refused, greet, welcome};
use crate::hosts::Hosts;
use crate::link::TimelyLink;
use crate::peer::{Joined, Key, Peer};
use crate::stream::Pipe;
use crate::token::Token;
use crate::watch::{Health, watch};

/// Which process of which this one is.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where all of them are.
    pub hosts: Hosts,
    /// Which one this is.
    pub process: usize,
    /// What they know each other by.
    pub token: Token,
    /// How long others may take to come.
    pub patience: Duration,
    /// Whether somebody has asked for an end.
    pub asked_to_stop: fn() -> bool,
}

/// This process and its connections to the others.
pub struct Cluster {
    place: Place,
    asked: Asked,
    /// The addresses that connections may come from, as far as their names were looked up.
    known: Mutex<Vec<IpAddr>>,
    listener: TcpListener,
    health: Arc<Health>,
    watchers: Vec<std::thread::JoinHandle<()>>,
    search: Mutex<Search>,
}

/// The search that is under way.
#[derive(Default)]
struct Search {
    number: u32,
    builders: HashMap<usize, TcpBuilder>,
    guard: Option<CommsGuard>,
    /// Connections that came before this process asked for them.
    early: Vec<(Purpose, TcpStream)>,
}

/// Why there is no connection to the others.
enum NotConnected {
    /// Something is wrong with what this process was told.
    Bad(String),
    Lost(usize, LostProcess),
    Stopped,
}

/// How long a stranger may take to show who he is.
const SHOW: Duration = Duration::from_secs(2);
/// The number of a connection for a sweep, which is no search.
const SWEEP: u32 = u32::MAX;
/// Between two looks whether somebody has come.
const LOOK: Duration = Duration::from_millis(5);

impl Cluster {
    /// Connects this process, which was asked this, with all others. If one does not come, searches
    /// will say so.
    ///
    /// # Errors
    ///
    /// What was wrong with what this process was told, or that another one was told something else.
    pub fn join(place: Place, asked: Asked) -> Result<Cluster, String> {
        let mut cluster = Cluster::open(place, asked)?;
        match cluster.connect(0, &mut Search::default()) {
            Ok(sockets) => {
                for (process, socket) in sockets.into_iter().enumerate() {
                    let Some(socket) = socket else { continue };
                    let health = Arc::clone(&cluster.health);
                    let watcher = std::thread::spawn(move || watch(socket, process, &health));
                    cluster.watchers.push(watcher);
                }
                Ok(cluster)
            }
            Err(NotConnected::Bad(why)) => Err(why),
            Err(NotConnected::Lost(process, why)) => {
                cluster.health.lose(process, why);
                Ok(cluster)
            }
            // Searches notice it themselves.
            Err(NotConnected::Stopped) => {
                cluster.health.lose(cluster.place.process, LostProcess::Absent);
                Ok(cluster)
            }
        }
    }

    /// Connects process 0 with all others, as many as come.
    pub(crate) fn star(place: Place, asked: Asked) -> Result<Joined, String> {
        let cluster = Cluster::open(place, asked)?;
        let Place { hosts, process: own, patience, .. } = &cluster.place;
        let until = Instant::now() + *patience;
        let broken = |e: io::Error| format!("failed to use a connection: {e}");
        if *own > 0 {
            return match cluster.reach(0, SWEEP, until) {
                Ok((stream, key)) => {
                    let peer = Peer::new((*own, 0), stream, key).map_err(broken)?;
                    Ok(Joined { peers: vec![peer], absent: Vec::new() })
                }
                Err(NotConnected::Bad(why)) => Err(why),
                Err(_) => Ok(Joined { peers: Vec::new(), absent: vec![0] }),
            };
        }
        let mut absent: Vec<usize> = (1..hosts.0.len()).collect();
        let mut peers = Vec::new();
        while let Some(&first) = absent.first() {
            if cluster.go_on(first, until).is_err() {
                break;
            }
            match cluster.accept() {
                Ok(Some((purpose, stream, key))) => {
                    let process = purpose.connects as usize;
                    absent.retain(|&other| other != process);
                    // Whoever comes again has lost his first connection.
                    peers.retain(|peer: &Peer| peer.process() != process);
                    peers.push(Peer::new((0, process), stream, key).map_err(broken)?);
                }
                Err(NotConnected::Bad(why)) => return Err(why),
                Ok(None) | Err(_) => {}
            }
        }
        Ok(Joined { peers, absent })
    }

    /// Listens, and is connected with nobody yet.
    fn open(place: Place, asked: Asked) -> Result<Cluster, String> {
        let Place { hosts, process, .. } = &place;
        if *process >= hosts.0.len() {
            return Err(format!(
                "there is no process {process}: the list of hosts has {}, from 0 on",
                hosts.0.len()
            ));
        }
        let own = &hosts.0[*process];
        let listener = TcpListener::bind(&hosts.addresses(*process)?[..])
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|e| format!("failed to listen at {own}: {e}"))?;
        Ok(Cluster {
            place,
            asked,
            known: Mutex::default(),
            listener,
            health: Arc::default(),
            watchers: Vec::new(),
            search: Mutex::default(),
        })
    }

    /// A connection to each other process, for a search or to watch each other.
    fn connect(
        &self,
        search: u32,
        state: &mut Search,
    ) -> Result<Vec<Option<TcpStream>>, NotConnected> {
        let Place { hosts, process: own, patience, .. } = &self.place;
        let until = Instant::now() + *patience;
        let mut sockets: Vec<Option<TcpStream>> = hosts.0.iter().map(|_| None).collect();
        for (process, socket) in sockets.iter_mut().enumerate().take(*own) {
            *socket = Some(self.reach(process, search, until)?.0);
        }
        let is_now = |(purpose, _): &(Purpose, TcpStream)| purpose.search == search;
        let (now, later) = std::mem::take(&mut state.early).into_iter().partition(is_now);
        state.early = later;
        for (purpose, stream) in Vec::from_iter::<Vec<(Purpose, TcpStream)>>(now) {
            sockets[purpose.connects as usize] = Some(stream);
        }
        while let Some(absent) = (own + 1..sockets.len()).find(|&p| sockets[p].is_none()) {
            self.go_on(absent, until)?;
            let Some((purpose, stream, _)) = self.accept()? else { continue };
            let process = purpose.connects as usize;
            match purpose.search == search {
                true => sockets[process] = Some(stream),
                // Somebody is quicker.
                false => state.early.push((purpose, stream)),
            }
        }
        Ok(sockets)
    }

    /// Whether it is worth waiting for a process.
    fn go_on(&self, process: usize, until: Instant) -> Result<(), NotConnected> {
        if let Some(Limit::Process { process, why }) = self.health.lost() {
            return Err(NotConnected::Lost(process, why));
        }
        if (self.place.asked_to_stop)() {
            return Err(NotConnected::Stopped);
        }
        match Instant::now() < until {
            true => Ok(()),
            false => Err(NotConnected::Lost(process, LostProcess::Absent)),
        }
    }

    /// Connects to a process before this one in the list.
    fn reach(
        &self,
        process: usize,
        search: u32,
        until: Instant,
    ) -> Result<(TcpStream, Key), NotConnected> {
        let Place { hosts, process: own, token, .. } = &self.place;
        loop {
            // The name of a machine may not be known before it is up.
            let addresses = hosts.addresses(process);
            match (self.go_on(process, until), &addresses) {
                (Err(NotConnected::Lost(_, LostProcess::Absent)), Err(unknown)) => {
                    return Err(NotConnected::Bad(unknown.clone()));
                }
                (go_on, _) => go_on?,
            }
            // A machine that is down may not answer at all.
            let connect = |address: &SocketAddr| TcpStream::connect_timeout(address, SHOW).ok();
            let addresses = addresses.unwrap_or_default();
            let Some(mut stream) = addresses.iter().find_map(connect) else {
                std::thread::sleep(10 * LOOK);
                continue;
            };
            // It may be busy with others that came before.
            let left = until.saturating_duration_since(Instant::now()).max(LOOK);
            let ready = stream.set_read_timeout(Some(left)).and(stream.set_nodelay(true));
            let purpose = Purpose { search, connects: *own as u32, accepts: process as u32 };
            let greeted = match ready {
                Ok(()) => greet(&mut stream, purpose, token, &self.asked),
                Err(_) => Err(Refused::Broken),
            };
            match greeted {
                Ok(key) => return Ok((stream, key)),
                Err(Refused::Differs(why)) => return Err(NotConnected::Bad(why)),
                Err(Refused::Stranger) => {
                    return Err(NotConnected::Bad(format!(
                        "whoever listens at {} has another token than this process",
                        hosts.0[process]
                    )));
                }
                // It may not be up yet, or has ended.
                Err(Refused::Broken) => std::thread::sleep(10 * LOOK),
            }
        }
    }

    /// A connection that has come, if it is one of the search.
    fn accept(&self) -> Result<Option<(Purpose, TcpStream, Key)>, NotConnected> {
        let Place { hosts, process: own, token, .. } = &self.place;
        let (mut stream, from) = match self.listener.accept() {
            Ok(came) => came,
            Err(e) => {
                if e.kind() == ErrorKind::WouldBlock {
                    std::thread::sleep(LOOK);
                }
                return Ok(None);
            }
        };
        let ready = stream
            .set_nonblocking(false)
            .and(stream.set_read_timeout(Some(SHOW)))
            .and(stream.set_nodelay(true));
        if ready.is_err() || !self.knows(from.ip().to_canonical()) {
            return Ok(None);
        }
        let until = Instant::now() + SHOW;
        match welcome(&mut Within { stream: &mut stream, until }, *own as u32, token, &self.asked) {
            Ok((purpose, key))
                if (own + 1..hosts.0.len()).contains(&(purpose.connects as usize)) =>
            {
                Ok(Some((purpose, stream, key)))
            }
            // It has the token: whatever it was asked, it will not come again.
            Err(Refused::Differs(why)) => Err(NotConnected::Bad(why)),
            _ => Ok(None),
        }
    }

    /// Whether a connection may come from an address. Names are looked up when somebody comes: a
    /// machine that is not up yet may have none.
    fn knows(&self, from: IpAddr) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&from) {
            let hosts = &self.place.hosts;
            let found = (0..hosts.0.len()).filter_map(|process| hosts.addresses(process).ok());
            *known = found.flatten().map(|address| address.ip().to_canonical()).collect();
        }
        known.contains(&from)
    }
}

/// A connection on which all has to be said by a certain time, not only each word of it.
struct Within<'s> {
    stream: &'s mut TcpStream,
    until: Instant,
}

impl Read for Within<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

impl Write for Within<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Team for Cluster {
    fn place(&self) -> (usize, usize) {
        (self.place.hosts.0.len(), self.place.process)
    }

    fn begin(&self, threads: usize) -> Result<(), Limit> {
        let own = self.place.process;
        let gone = |process| Limit::Process { process, why: LostProcess::Gone };
        if (self.place.asked_to_stop)() {
            return Err(Limit::Interrupted);
        }
        if let Some(limit) = self.health.lost() {
            return Err(limit);
        }
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        search.number += 1;
        let number = search.number;
        let sockets = match self.connect(number, &mut search) {
            Ok(sockets) => sockets,
            Err(NotConnected::Stopped) => return Err(Limit::Interrupted),
            Err(NotConnected::Lost(process, why)) => {
                self.health.lose(process, why);
                return Err(Limit::Process { process, why });
            }
            // It was asked the same when it came first.
            Err(NotConnected::Bad(_)) => return Err(gone(own)),
        };
        let mut pipes = Vec::new();
        for (process, socket) in sockets.into_iter().enumerate() {
            if let Some(socket) = &socket {
                socket.set_read_timeout(None).map_err(|_| gone(process))?;
            }
            pipes.push(socket.map(|socket| Pipe::new(socket, process, &self.health)));
        }
        let hooks = Hooks::default();
        let inside = ProcessBuilder::new_typed_vector(threads, hooks.refill.clone(), None);
        let (builders, guard) =
            initialize_networking_from_sockets(inside, pipes, own, threads, hooks)
                .map_err(|_| gone(own))?;
        search.builders = builders.into_iter().enumerate().collect();
        search.guard = Some(guard);
        Ok(())
    }

    fn link(&self, thread: usize) -> Result<Box<dyn Link>, Limit> {
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let builder = search.builders.remove(&thread);
        drop(search);
        let gone = Limit::Process { process: self.place.process, why: LostProcess::Gone };
        let builder = builder.ok_or(gone)?;
        Ok(Box::new(TimelyLink::new(builder, Arc::clone(&self.health))))
    }

    fn end(&self) {
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(guard) = search.guard.take() {
            match self.health.lost() {
                None => drop(guard),
                // Its threads wait for what will not come; they end with the process.
                Some(_) => std::mem::forget(guard),
            }
        }
    }
}

impl Drop for Cluster {
    /// Says goodbye, or who is lost.
    fn drop(&mut self) {
        self.health.end();
        for watcher in self.watchers.drain(..) {
            let _ = watcher.join();
        }
    }
}
