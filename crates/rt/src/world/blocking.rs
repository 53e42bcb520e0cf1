//! Calls that wait for somebody.
//!
//! Threads of a program may talk to each other by way of the kernel, through pipes and sockets. So
//! a call that would block is a step that waits until it would not. If nobody else can do anything, the
//! outside world is waited for, which cannot be controlled: that is reported, with the place of the
//! call.

use weakspot_live::{Op, OpKind, Order};

use crate::access::plain::access;
use crate::entry::frame::stand_in;
use crate::entry::guest::{Area, Guest, Question};
use crate::entry::native::native;
use crate::execution::ends::{refuse, refused};
use crate::execution::monitors::Event;
use crate::execution::panics::parts_of;
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::wait;
use crate::sys;
use crate::world::clock::sleep_for;
use crate::world::descriptors;
use crate::world::kept::{Kept, change, look};
use crate::{LIVE, Rt};

/// All that goes through the kernel is one object to the strategy.
fn op(kind: OpKind) -> Op {
    Op { kind, len: 8, addr: &raw const LIVE as u64 }
}

/// A call that asks which descriptors are ready.
#[derive(Clone, Copy)]
struct Wanted {
    call: i64,
    args: [usize; 6],
}

/// The largest set of descriptors that `select` takes.
type Set = [u8; 128];

impl Wanted {
    /// A question about descriptors for `poll`, which takes no time.
    fn poll(fds: usize, n: usize) -> Wanted {
        let args = [fds, n, &raw const NO_TIME as usize, 0, 8, 0];
        Wanted { call: libc::SYS_ppoll, args }
    }

    /// Whether the call has an answer.
    fn answers(wanted: Guest<Wanted>) -> bool {
        let Wanted { call, args } = wanted.get();
        // What the kernel writes there must not be there if it is asked again.
        let sets = if call == libc::SYS_pselect6 { &args[1..4] } else { &[] };
        // SAFETY: `choose` has made these sets, with room for all descriptors.
        let sets = || sets.iter().map(|&set| unsafe { Guest::<Set>::at(set) }.given());
        let kept: Vec<Option<Set>> = sets().map(|set| set.map(Guest::get)).collect();
        // SAFETY: the program asks for this, with addresses of its own, or `choose` with copies.
        let answer = unsafe { sys::call(call, args) };
        if answer == 0 {
            for (set, kept) in sets().zip(kept) {
                if let (Some(set), Some(kept)) = (set, kept) {
                    set.set(kept);
                }
            }
        }
        answer != 0
    }
}

/// Waits until a call has an answer, and then until it is this thread's turn.
fn until(rt: &mut Rt, wanted: &mut Wanted, patience: Patience, what: &'static str, pc: usize) {
    // SAFETY: it stays on this stack until the thread has waited, and nobody else writes to it.
    let wanted: Guest<Wanted> = unsafe { Guest::at(&raw mut *wanted as usize) };
    let answers = Until::Object(Question::about(wanted, Wanted::answers));
    let ready = wait(rt, op(OpKind::Acquire), answers, patience);
    if !ready && patience == Patience::Last {
        refuse(rt, what, pc);
    }
    let kind = if ready { OpKind::Acquire } else { OpKind::Compare };
    rt.record(Event::new(op(kind), Order::SeqCst, pc));
}

/// Where bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the thread that calls.
    In,
    /// From it.
    Out,
}

/// Before a call that may block on a descriptor.
pub fn before(rt: &mut Rt, fd: i32, direction: Direction, what: &'static str) {
    ready(rt, fd, direction, what);
    if direction == Direction::Out {
        sent(rt, fd);
    }
}

/// The current thread is about to write to a descriptor.
pub fn writes_to(fd: i32, what: &'static str) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        before(&mut rt, fd, Direction::Out, what);
    }
}

/// Whoever receives what the current thread sends comes after what it did before.
fn sent(rt: &mut Rt, fd: i32) {
    if descriptors::blocks(fd) {
        let pc = rt.pc();
        rt.release_for_races(op(OpKind::Release), pc);
    }
}

/// A call on a descriptor, which others may close, and which goes on from where the last one ended. What is printed to standard
/// streams is left alone. Calls that may have to wait are in order by that.
fn uses(rt: &mut Rt, fd: i32, direction: Direction) {
    if descriptors::blocks(fd) {
        look(rt, Kept::Descriptor(fd));
        // A loop that sends or receives is not where it was.
        rt.threads.me_mut().spin.changed();
    } else if fd > 2 || direction == Direction::In {
        change(rt, Kept::Descriptor(fd));
    }
}

/// Waits until a call on a descriptor would not block.
fn ready(rt: &mut Rt, fd: i32, direction: Direction, what: &'static str) {
    uses(rt, fd, direction);
    if !descriptors::blocks(fd) {
        return;
    }
    let pc = rt.pc();
    let events = if direction == Direction::In { libc::POLLIN } else { libc::POLLOUT };
    let mut poll = libc::pollfd { fd, events, revents: 0 };
    let mut wanted = Wanted::poll(&raw mut poll as usize, 1);
    until(rt, &mut wanted, Patience::Last, what, pc);
}

/// A note about a file that is written: the next execution finds it.
fn note_file(rt: &mut Rt, fd: i32) {
    if descriptors::is_file(fd) {
        // It grows.
        rt.threads.me_mut().spin.undone.clear();
        rt.changes_outside("writes to a file");
    }
}

static NO_TIME: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

macro_rules! blocking {
    ($($name:ident, $events:expr, ($($arg:ident: $t:ty),*) -> $r:ty;)*) => {
        stand_in! {$(
            fn $name(rt, fd: i32 $(, $arg: $t)*) -> $r {
                before(rt, fd, $events, stringify!($name));
                native!($name(fd: i32 $(, $arg: $t)*) -> $r)
            }
        )*}
    };
}

blocking! {
    recvfrom, Direction::In, (to: usize, len: usize, flags: i32, addr: usize, n: usize) -> isize;
    recvmsg, Direction::In, (message: usize, flags: i32) -> isize;
    sendto, Direction::Out, (from: usize, len: usize, flags: i32, addr: usize, n: u32) -> isize;
    sendmsg, Direction::Out, (message: usize, flags: i32) -> isize;
    accept, Direction::In, (addr: usize, len: usize) -> i32;
    accept4, Direction::In, (addr: usize, len: usize, flags: i32) -> i32;
}

/// Gets bytes from the kernel, into memory of ours first, so that it is known how many they are before
/// they are written.
fn receive(rt: &mut Rt, to: Guest<u8>, len: usize, get: impl FnOnce(Guest<u8>) -> isize) -> isize {
    let call = rt.call();
    // A loop that reads comes to the end of what there is.
    rt.threads.me_mut().spin.changed();
    let mut bytes: Vec<u8> = Vec::new();
    if bytes.try_reserve_exact(len).is_err() {
        return get(to);
    }
    // SAFETY: there is that much room.
    let here: Guest<u8> = unsafe { Guest::at(bytes.as_mut_ptr() as usize) };
    let got = get(here);
    if let Ok(n) = usize::try_from(got) {
        access(rt, area(to, n), true, call);
        // SAFETY: the program wants its bytes to be overwritten.
        unsafe { here.pointer().copy_to(to.pointer(), n) };
    }
    got
}

/// Bytes that the program passes to the kernel.
fn area(bytes: Guest<u8>, len: usize) -> Area {
    // SAFETY: the program says that it has so many bytes there.
    unsafe { Area::at(bytes.addr(), len) }
}

/// Passes bytes to the kernel.
fn sends(rt: &mut Rt, fd: i32, from: Guest<u8>, len: usize, what: &'static str) {
    let call = rt.call();
    ready(rt, fd, Direction::Out, what);
    access(rt, area(from, len), false, call);
    sent(rt, fd);
}

stand_in! {
    fn read(rt, fd: i32, to: Guest<u8>, len: usize) -> isize {
        before(rt, fd, Direction::In, "read");
        receive(rt, to, len, |to| native!(read(fd: i32, to: Guest<u8>, len: usize) -> isize))
    }

    fn readv(rt, fd: i32, parts: Guest<libc::iovec>, n: i32) -> isize {
        before(rt, fd, Direction::In, "readv");
        let all = parts_of(parts, n);
        let Some(len) = all.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.1)) else {
            return native!(readv(fd: i32, parts: Guest<libc::iovec>, n: i32) -> isize);
        };
        let mut bytes: Vec<u8> = Vec::new();
        if len == 0 || usize::try_from(n) != Ok(all.len()) || bytes.try_reserve_exact(len).is_err() {
            return native!(readv(fd: i32, parts: Guest<libc::iovec>, n: i32) -> isize);
        }
        // SAFETY: there is that much room.
        let here: Guest<u8> = unsafe { Guest::at(bytes.as_mut_ptr() as usize) };
        let got = native!(read(fd: i32, here: Guest<u8>, len: usize) -> isize);
        let call = rt.call();
        let (mut from, mut left) = (here.addr(), usize::try_from(got).unwrap_or(0));
        for (to, room) in all {
            let n = room.min(left);
            access(rt, area(to, n), true, call);
            // SAFETY: so many bytes have come, and the program wants its own to be overwritten.
            unsafe { (from as *const u8).copy_to(to.pointer(), n) };
            (from, left) = (from + n, left - n);
        }
        got
    }

    fn recv(rt, fd: i32, to: Guest<u8>, len: usize, flags: i32) -> isize {
        before(rt, fd, Direction::In, "recv");
        receive(rt, to, len, |to| {
            native!(recv(fd: i32, to: Guest<u8>, len: usize, flags: i32) -> isize)
        })
    }

    fn pread(rt, fd: i32, to: Guest<u8>, len: usize, at: i64) -> isize {
        look(rt, Kept::Descriptor(fd));
        receive(rt, to, len, |to| {
            native!(pread(fd: i32, to: Guest<u8>, len: usize, at: i64) -> isize)
        })
    }

    fn pwrite(rt, fd: i32, from: Guest<u8>, len: usize, at: i64) -> isize {
        let call = rt.call();
        uses(rt, fd, Direction::Out);
        access(rt, area(from, len), false, call);
        native!(pwrite(fd: i32, from: Guest<u8>, len: usize, at: i64) -> isize)
    }

    fn send(rt, fd: i32, from: Guest<u8>, len: usize, flags: i32) -> isize {
        sends(rt, fd, from, len, "send");
        native!(send(fd: i32, from: Guest<u8>, len: usize, flags: i32) -> isize)
    }

    fn write(rt, fd: i32, from: Guest<u8>, len: usize) -> isize {
        rt.hear(fd, from, len);
        note_file(rt, fd);
        sends(rt, fd, from, len, "write");
        native!(write(fd: i32, from: Guest<u8>, len: usize) -> isize)
    }

    fn eventfd_read(rt, fd: i32, to: Guest<u8>) -> i32 {
        before(rt, fd, Direction::In, "eventfd_read");
        let len = size_of::<u64>();
        let got = receive(rt, to, len, |to| {
            native!(read(fd: i32, to: Guest<u8>, len: usize) -> isize)
        });
        if got == len as isize { 0 } else { -1 }
    }

    fn eventfd_write(rt, fd: i32, value: u64) -> i32 {
        before(rt, fd, Direction::Out, "eventfd_write");
        native!(eventfd_write(fd: i32, value: u64) -> i32)
    }

    fn writev(rt, fd: i32, from: Guest<libc::iovec>, n: i32) -> isize {
        rt.hear_parts(fd, from, n);
        note_file(rt, fd);
        let call = rt.call();
        ready(rt, fd, Direction::Out, "writev");
        for (part, len) in parts_of(from, n) {
            access(rt, area(part, len), false, call);
        }
        sent(rt, fd);
        native!(writev(fd: i32, from: Guest<libc::iovec>, n: i32) -> isize)
    }
}

/// Waits for one of several descriptors, `span` milliseconds, or for ever if that is less than 0;
/// `none`: there are none, so that this is only a way to sleep.
fn several(rt: &mut Rt, wanted: &mut Wanted, none: bool, span: i64, what: &'static str) {
    let pc = rt.pc();
    if none && span >= 0 {
        return sleep_for(rt, span as u64 * 1_000_000);
    }
    let patience = if span < 0 { Patience::Last } else { Patience::Timed };
    until(rt, wanted, patience, what, pc);
}

/// Milliseconds of a span of time, or -1 for ever.
fn milliseconds(span: Guest<libc::timespec>) -> i64 {
    let Some(span) = span.given() else { return -1 };
    let span = span.get();
    span.tv_sec.clamp(0, 1 << 32) * 1000 + span.tv_nsec / 1_000_000
}

/// Waits as `select` does. The answer is asked for on copies: the sets are overwritten by it.
fn choose(rt: &mut Rt, n: usize, sets: [Guest<Set>; 3], span: i64, what: &'static str) -> i32 {
    let mut time = NO_TIME;
    let mut copies: [Set; 3] = [[0; 128]; 3];
    let mut asked = [0; 3];
    for ((copy, set), asked) in copies.iter_mut().zip(sets).zip(&mut asked) {
        if let Some(set) = set.given() {
            let len = 128.min(n.div_ceil(64) * 8);
            // SAFETY: the program has a set there that is large enough for `n` descriptors.
            unsafe { set.pointer().cast::<u8>().copy_to_nonoverlapping(copy.as_mut_ptr(), len) };
            *asked = copy.as_mut_ptr() as usize;
        }
    }
    let call = libc::SYS_pselect6;
    let time = &raw mut time as usize;
    let args = |[a, b, c]: [usize; 3]| [n, a, b, c, time, 0];
    several(rt, &mut Wanted { call, args: args(asked) }, n == 0, span, what);
    // SAFETY: the program asks for this, with sets of its own, and no time.
    sys::to_c(unsafe { sys::call(call, args(sets.map(Guest::addr))) }) as i32
}

stand_in! {
    fn poll(rt, fds: usize, n: usize, span: i32) -> i32 {
        several(rt, &mut Wanted::poll(fds, n), n == 0, span.into(), "poll");
        let span = 0;
        native!(poll(fds: usize, n: usize, span: i32) -> i32)
    }

    fn ppoll(rt, fds: usize, n: usize, span: Guest<libc::timespec>, mask: usize) -> i32 {
        several(rt, &mut Wanted::poll(fds, n), n == 0, milliseconds(span), "ppoll");
        let span = &raw const NO_TIME;
        native!(ppoll(fds: usize, n: usize, span: *const libc::timespec, mask: usize) -> i32)
    }

    fn select(
        rt, n: i32, read: Guest<Set>, write: Guest<Set>, bad: Guest<Set>, span: Guest<libc::timeval>,
    ) -> i32 {
        let span = span.given().map_or(-1, |span| {
            let span = span.get();
            span.tv_sec.clamp(0, 1 << 32) * 1000 + span.tv_usec / 1000
        });
        choose(rt, n as usize, [read, write, bad], span, "select")
    }

    fn pselect(
        rt, n: i32, read: Guest<Set>, write: Guest<Set>, bad: Guest<Set>,
        span: Guest<libc::timespec>, mask: usize,
    ) -> i32 {
        let _ = mask;
        choose(rt, n as usize, [read, write, bad], milliseconds(span), "pselect")
    }

    fn epoll_wait(rt, fd: i32, events: usize, n: i32, span: i32) -> i32 {
        // An epoll descriptor is itself readable when it has events, and asking does not consume
        // them.
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut wanted = Wanted::poll(&raw mut poll as usize, 1);
        several(rt, &mut wanted, false, span.into(), "epoll_wait");
        let span = 0;
        native!(epoll_wait(fd: i32, events: usize, n: i32, span: i32) -> i32)
    }

    fn alarm(rt, seconds: u32) -> u32 {
        if seconds > 0 {
            let pc = rt.pc();
            refuse(rt, "alarm", pc);
        }
        0
    }
}

refused! {
    pause, "pause";
    sigwait, "sigwait";
    sigwaitinfo, "sigwaitinfo";
    sigtimedwait, "sigtimedwait";
    sigsuspend, "sigsuspend";
    setitimer, "setitimer";
    timer_create, "timer_create";
    sem_open, "sem_open";
    mq_receive, "mq_receive";
    msgrcv, "msgrcv";
}
