//! Time and chance, made the same in each execution: clocks go forward by a microsecond or more
//! whenever they are read, and by the whole time when somebody sleeps; random bytes come from the seed.

use core::ffi::c_void;

use weakspot_live::{Op, OpKind};

use crate::access::plain::access;
use crate::entry::frame::stand_in;
use crate::entry::guest::{Area, Guest};
use crate::entry::native::native;
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::wait;
use crate::schedule::yields::give_way;
use crate::world::kept::{Kept, change};
use crate::{Rt, Runtime};

/// When an execution begins, in seconds since 1970.
const START: u64 = 1_700_000_000;
const SECOND: u64 = 1_000_000_000;

/// Stand for loops in which time passes, and for somebody who looks at it: no program has anything there.
const PASSES: Area = Area::nowhere(0x1028, 8);
const LOOKS: Area = Area::nowhere(0x1030, 8);

/// Virtual time, and chance.
pub struct Clock {
    /// Nanoseconds since the execution began.
    now: u64,
    /// State of what is random for the program.
    random: u64,
    /// Somebody asked for the time in this execution, and not only in order to say how long to wait.
    looked_at: bool,
    /// Who has slept in this execution, and the calls on its stack then: the first time of each thread.
    slept: Vec<(usize, Vec<usize>)>,
}

impl Clock {
    /// Before the first execution.
    pub fn new() -> Clock {
        libcs::find();
        Clock { now: 0, random: 0, looked_at: false, slept: Vec::new() }
    }

    /// Before an execution.
    pub fn clear(&mut self, seed: u64) {
        self.now = 0;
        self.looked_at = false;
        self.random = seed;
        self.slept.clear();
    }

    /// Who has slept in this execution, with the calls on its stack.
    pub fn slept(&self) -> &[(usize, Vec<usize>)] {
        &self.slept
    }

    /// A number that changes whenever time passes or something random is asked for.
    pub fn state(&self) -> u64 {
        self.now ^ self.random
    }

    /// The time since the execution began, in nanoseconds, which passes by being asked for: the faster, the more
    /// often the thread has asked, so that a loop until a deadline has some hundred rounds.
    fn passed(&mut self, asked: u64) -> u64 {
        self.now = self.now.saturating_add(1000 << (asked / 16).min(24));
        self.now
    }

    /// The time, as a number of nanoseconds.
    fn read(&mut self, asked: u64) -> libc::timespec {
        let t = (START * SECOND).saturating_add(self.passed(asked));
        libc::timespec { tv_sec: (t / SECOND) as i64, tv_nsec: (t % SECOND) as i64 }
    }

    fn sleep(&mut self, span: u64) {
        self.now = self.now.saturating_add(span.min(SECOND << 32));
    }

    /// Fills memory with bytes from the seed; how many.
    pub fn fill(&mut self, to: Guest<u8>, len: usize) -> isize {
        for i in 0..len {
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let state = self.random;
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            // SAFETY: the program wants so many bytes there to be filled.
            let byte: Guest<u8> = unsafe { Guest::at(to.addr() + i) };
            byte.set((mixed ^ mixed >> 27) as u8);
        }
        len as isize
    }
}

/// Sleeps: others may run.
pub fn sleep_for(rt: &mut Rt, span: u64) {
    remember(rt);
    rt.threads.me_mut().spin.undone.passes();
    if rt.config.virtual_time && !rt.threads.alone() {
        let deadline = rt.clock.now.saturating_add(span.min(SECOND << 32));
        rt.threads.me_mut().deadline = Some(deadline);
        let never = Until::Known(|_, _, _| false, 0);
        wait(rt, Op::plain(OpKind::Yield), never, Patience::Last);
        rt.is_late(deadline);
        return;
    }
    let pc = rt.pc();
    give_way(rt, pc);
    rt.clock.sleep(span);
}

/// The current thread asks for the time. How often it has.
fn asks(rt: &mut Rt) -> u64 {
    let harness = rt.config.harness && rt.threads.current() == 0;
    let rt: &mut Runtime = rt;
    let spin = &mut rt.threads.me_mut().spin;
    if harness {
        return spin.asks();
    }
    rt.clock.looked_at |= spin.undone.has_asked_time();
    spin.asks_time()
}

/// The time, for the current thread.
fn now(rt: &mut Rt) -> libc::timespec {
    let asked = asks(rt);
    rt.clock.read(asked)
}

impl Runtime {
    /// The current thread is about to wait until then at most, by any of the clocks, or for so long.
    pub fn wait_until(&mut self, time: usize, relative: bool) {
        if time != 0 {
            // SAFETY: the program says that there is a time.
            let time = span(unsafe { Guest::at(time) });
            let now = self.clock.now;
            let deadline = match relative {
                true => now.saturating_add(time),
                false => time.saturating_sub(START * SECOND).max(now),
            };
            self.threads.me_mut().timeout = Some(deadline);
        }
    }

    /// The current thread goes on after it may have asked for the time: if it did, that was not in order to wait.
    pub fn has_looked_at_time(&mut self) {
        if self.threads.me_mut().spin.undone.looks_at_time() {
            self.clock.looked_at = true;
        }
    }

    /// Whether rounds of loops may be left out in which time passes: if nobody looks at it. Some were seen.
    pub fn may_forget_time(&mut self) -> bool {
        if self.shadow.is_shared(LOOKS) {
            return false;
        }
        let known = self.shadow.is_shared(PASSES);
        if !known {
            // All who explore have to know.
            self.note(PASSES);
        }
        known
    }

    /// After an execution: if somebody has looked at the time, and rounds in which it passes were left out, the exploration
    /// starts again with them.
    pub fn look_for_time(&mut self) {
        let looked = self.clock.looked_at
            || self.threads.iter().any(|thread| thread.spin.undone.has_asked_time());
        let learns = self.shadow.is_shared(PASSES) && !self.shadow.is_shared(LOOKS);
        if looked && learns && !self.exploration.learning() {
            self.note(LOOKS);
        }
    }

    fn note(&mut self, what: Area) {
        let (addr, len) = (what.addr(), what.len() as usize);
        self.shadow.set_shared(addr, len);
        self.learn(addr, len);
    }

    /// It is at least this late.
    pub fn is_late(&mut self, time: u64) {
        self.clock.now = self.clock.now.max(time);
    }
}

/// Remembers where the current thread has slept first.
fn remember(rt: &mut Rt) {
    /// Threads that are remembered.
    const MOST: usize = 4;
    let me = rt.threads.current();
    let known = rt.clock.slept.iter().any(|(thread, _)| *thread == me);
    if known || rt.clock.slept.len() >= MOST {
        return;
    }
    let calls = rt.calls();
    rt.clock.slept.push((me, calls));
}

type Time = Guest<libc::timespec>;

/// How long the program wants to sleep, in nanoseconds: a step if others use the time.
fn asked_span(rt: &mut Rt, t: Time) -> u64 {
    let call = rt.call();
    access(rt, t.area(), false, call);
    span(t)
}

/// Nanoseconds.
fn span(t: Time) -> u64 {
    let t = t.get();
    let seconds = t.tv_sec.clamp(0, 1 << 32) as u64;
    seconds * SECOND + t.tv_nsec.clamp(0, SECOND as i64) as u64
}

/// Stores what the program has asked for: a step if others use the bytes.
fn put<T: Copy>(rt: &mut Rt, to: Guest<T>, value: T) {
    let call = rt.call();
    access(rt, to.area(), true, call);
    to.set(value);
}

stand_in! {
    fn clock_gettime(rt, id: i32, to: Time) -> i32 {
        let _ = id;
        let now = now(rt);
        put(rt, to, now);
        0
    }

    fn timespec_get(rt, to: Time, base: i32) -> i32 {
        let now = now(rt);
        put(rt, to, now);
        base
    }

    fn gettimeofday(rt, to: Guest<libc::timeval>, zone: *mut c_void) -> i32 {
        let _ = zone;
        let t = now(rt);
        if let Some(to) = to.given() {
            put(rt, to, libc::timeval { tv_sec: t.tv_sec, tv_usec: t.tv_nsec / 1000 });
        }
        0
    }

    fn time(rt, to: Guest<i64>) -> i64 {
        let t = now(rt).tv_sec;
        if let Some(to) = to.given() {
            put(rt, to, t);
        }
        t
    }

    fn clock(rt) -> i64 {
        let asked = asks(rt);
        rt.clock.passed(asked) as i64 / 1000
    }

    fn sleep(rt, seconds: u32) -> u32 {
        sleep_for(rt, u64::from(seconds) * SECOND);
        0
    }

    fn usleep(rt, micros: u32) -> i32 {
        sleep_for(rt, u64::from(micros) * 1000);
        0
    }

    fn nanosleep(rt, t: Time, left: Time) -> i32 {
        let _ = left;
        let span = asked_span(rt, t);
        sleep_for(rt, span);
        0
    }

    fn thrd_sleep(rt, t: Time, left: Time) -> i32 {
        let _ = left;
        let span = asked_span(rt, t);
        sleep_for(rt, span);
        0
    }

    fn clock_nanosleep(rt, id: i32, flags: i32, t: Time, left: Time) -> i32 {
        let _ = (id, left);
        let mut span = asked_span(rt, t);
        if flags & libc::TIMER_ABSTIME != 0 {
            span = span.saturating_sub((START * SECOND).saturating_add(rt.clock.now));
        }
        sleep_for(rt, span);
        0
    }

    fn getrandom(rt, to: Guest<u8>, len: usize, flags: u32) -> isize {
        let _ = flags;
        fills(rt, to, len)
    }

    fn getentropy(rt, to: Guest<u8>, len: usize) -> i32 {
        fills(rt, to, len);
        0
    }

    fn arc4random_buf(rt, to: Guest<u8>, len: usize) {
        fills(rt, to, len);
    }

    fn arc4random(rt) -> u32 {
        any(rt)
    }

    fn arc4random_uniform(rt, below: u32) -> u32 {
        any(rt).checked_rem(below).unwrap_or(0)
    }
}

/// A random number.
fn any(rt: &mut Rt) -> u32 {
    rt.threads.me_mut().spin.asks();
    let mut number = 0;
    // SAFETY: there is that much room.
    rt.clock.fill(unsafe { Guest::at(&raw mut number as usize) }, size_of_val(&number));
    number
}

/// Fills bytes of the program with random ones.
fn fills(rt: &mut Rt, to: Guest<u8>, len: usize) -> isize {
    let call = rt.call();
    rt.threads.me_mut().spin.asks();
    // SAFETY: the program says that it has so many bytes there.
    access(rt, unsafe { Area::at(to.addr(), len) }, true, call);
    rt.clock.fill(to, len)
}

stand_in! {
    fn srand(rt, seed: u32) {
        change(rt, Kept::Random);
        native!(srand(seed: u32))
    }

    fn srandom(rt, seed: u32) {
        change(rt, Kept::Random);
        native!(srandom(seed: u32))
    }

    fn srand48(rt, seed: i64) {
        change(rt, Kept::Random);
        native!(srand48(seed: i64))
    }
}

/// Functions of libc that return another number each time: what they keep is memory of their own, which is
/// the same at the start of each execution, and not looked at when a thread seems to do the same again.
macro_rules! random {
    ($($name:ident($($arg:ident: Guest<$t:ty>)?) -> $r:ty;)*) => {
        /// Where they are in libc.
        mod libcs {
            use crate::entry::native::found;

            $(pub(super) fn $name() -> usize {
                found!($name)
            })*

            /// Looks them up, so that no execution does that.
            pub(super) fn find() {
                $($name();)*
            }
        }

        stand_in! {$(
            fn $name(rt $(, $arg: Guest<$t>)?) -> $r {
                rt.threads.me_mut().spin.asks();
                // Without an argument, it goes on in the sequence of all threads.
                let own: &[&str] = &[$(stringify!($arg))?];
                if own.is_empty() {
                    change(rt, Kept::Random);
                }
                $(
                    // What was announced is done with what was read.
                    let call = rt.call();
                    access(rt, $arg.area(), false, call);
                    let mut kept = $arg.get();
                    access(rt, $arg.area(), true, call);
                    let to = $arg;
                    let $arg: *mut $t = &raw mut kept;
                )?
                let number = native!($name($($arg: *mut $t)?) -> $r, libcs::$name());
                $(to.set(kept); let _ = $arg;)?
                number
            }
        )*}
    };
}

random! {
    rand() -> i32;
    rand_r(seed: Guest<u32>) -> i32;
    random() -> i64;
    drand48() -> f64;
    erand48(seed: Guest<[u16; 3]>) -> f64;
    lrand48() -> i64;
    nrand48(seed: Guest<[u16; 3]>) -> i64;
    mrand48() -> i64;
    jrand48(seed: Guest<[u16; 3]>) -> i64;
}
