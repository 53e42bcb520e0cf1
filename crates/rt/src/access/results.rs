//! Functions of libc and libm that return more than one thing, and store the rest where the program says: it is
//! announced as in `strings.rs`. They write into memory of ours first.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use crate::Rt;
use crate::access::plain::access;
use crate::access::strings::{Text, reads};
use crate::entry::frame::{Call, entry, latest};
use crate::entry::guest::Guest;
use crate::entry::native::native;

entry! {
    __wrap_frexp => frexp;
    __wrap_frexpf => frexpf;
    __wrap_modf => modf;
    __wrap_modff => modff;
    __wrap_sincos => sincos;
    __wrap_sincosf => sincosf;
    __wrap_remquo => remquo;
    __wrap_lgamma_r => lgamma_r;
    __wrap_mktime => mktime;
    __wrap_timegm => timegm;
    __wrap_stat => stat;
    __wrap_lstat => lstat;
    __wrap_fstat => fstat;
    __wrap_fstatat => fstatat;
    __wrap_stat64 => stat;
    __wrap_lstat64 => lstat;
    __wrap_fstat64 => fstat;
    __wrap_fstatat64 => fstatat;
    __wrap_sigemptyset => sigemptyset;
    __wrap_sigfillset => sigfillset;
    __wrap_sigaddset => sigaddset;
    __wrap_sigdelset => sigdelset;
    __wrap_sigismember => sigismember;
}

fn announce<T: Copy>(object: Guest<T>, write: bool, call: Call) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        access(&mut rt, object.area(), write, call);
    }
}

fn get<T: Copy>(from: Guest<T>, call: Call) -> T {
    announce(from, false, call);
    from.get()
}

fn put<T: Copy>(to: Guest<T>, value: T, call: Call) {
    announce(to, true, call);
    to.set(value);
}

/// Functions of numbers that store one more: `name(x: type) -> type, stored;`.
macro_rules! split {
    ($($name:ident($($x:ident: $t:ty),*) -> $r:ty, $stored:ty;)*) => {$(
        extern "C" fn $name($($x: $t,)* to: Guest<$stored>) -> $r {
            let call = latest();
            let mut stored: $stored = Default::default();
            let place: *mut $stored = &raw mut stored;
            let result = native!($name($($x: $t,)* place: *mut $stored) -> $r);
            put(to, stored, call);
            result
        }
    )*};
}

split! {
    frexp(x: f64) -> f64, c_int;
    frexpf(x: f32) -> f32, c_int;
    modf(x: f64) -> f64, f64;
    modff(x: f32) -> f32, f32;
    remquo(x: f64, y: f64) -> f64, c_int;
    lgamma_r(x: f64) -> f64, c_int;
}

extern "C" fn sincos(x: f64, sine: Guest<f64>, cosine: Guest<f64>) {
    let call = latest();
    let mut both = [0.0; 2];
    let [s, c]: [*mut f64; 2] = both.each_mut().map(|number| &raw mut *number);
    native!(sincos(x: f64, s: *mut f64, c: *mut f64));
    put(sine, both[0], call);
    put(cosine, both[1], call);
}

extern "C" fn sincosf(x: f32, sine: Guest<f32>, cosine: Guest<f32>) {
    let call = latest();
    let mut both = [0.0; 2];
    let [s, c]: [*mut f32; 2] = both.each_mut().map(|number| &raw mut *number);
    native!(sincosf(x: f32, s: *mut f32, c: *mut f32));
    put(sine, both[0], call);
    put(cosine, both[1], call);
}

/// Reads the fields of a time, and writes them as they should be.
fn mends_time(
    fields: Guest<libc::tm>,
    natively: unsafe extern "C" fn(*mut libc::tm) -> i64,
) -> i64 {
    let call = latest();
    let mut time = get(fields, call);
    // SAFETY: libc reads and writes the fields, which are ours.
    let seconds = unsafe { natively(&raw mut time) };
    put(fields, time, call);
    seconds
}

extern "C" fn mktime(fields: Guest<libc::tm>) -> i64 {
    mends_time(fields, libc::mktime)
}

extern "C" fn timegm(fields: Guest<libc::tm>) -> i64 {
    mends_time(fields, libc::timegm)
}

type Status = Guest<libc::stat>;

/// Writes what is known of a file, if there is one.
fn status(to: Status, call: Call, ask: impl FnOnce(*mut libc::stat) -> c_int) -> c_int {
    let mut found: MaybeUninit<libc::stat> = MaybeUninit::zeroed();
    let answer = ask(found.as_mut_ptr());
    if answer == 0 {
        // SAFETY: it is plain numbers.
        put(to, unsafe { found.assume_init() }, call);
    }
    answer
}

extern "C" fn stat(path: Text, to: Status) -> c_int {
    let call = latest();
    reads(path, usize::MAX, call);
    // SAFETY: the program says that it is a string, and there is room.
    status(to, call, |place| unsafe { libc::stat(path.pointer().cast(), place) })
}

extern "C" fn lstat(path: Text, to: Status) -> c_int {
    let call = latest();
    reads(path, usize::MAX, call);
    // SAFETY: the program says that it is a string, and there is room.
    status(to, call, |place| unsafe { libc::lstat(path.pointer().cast(), place) })
}

extern "C" fn fstat(fd: c_int, to: Status) -> c_int {
    // SAFETY: there is room.
    status(to, latest(), |place| unsafe { libc::fstat(fd, place) })
}

extern "C" fn fstatat(fd: c_int, path: Text, to: Status, flags: c_int) -> c_int {
    let call = latest();
    reads(path, usize::MAX, call);
    // SAFETY: the program says that it is a string, and there is room.
    status(to, call, |place| unsafe { libc::fstatat(fd, path.pointer().cast(), place, flags) })
}

/// What a set of signals has of signals: libc leaves the rest of it alone.
type Signals = Guest<u64>;

/// A set of signals, for libc.
fn signals(bits: u64) -> libc::sigset_t {
    // SAFETY: it is plain numbers.
    let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
    // SAFETY: it begins with those of the signals.
    unsafe { (&raw mut set).cast::<u64>().write(bits) };
    set
}

/// Changes a set of signals by a function of libc; `reads` what is there.
fn changes(set: Signals, reads: bool, change: impl FnOnce(*mut libc::sigset_t) -> c_int) -> c_int {
    let call = latest();
    let mut own = signals(if reads { get(set, call) } else { 0 });
    let answer = change(&raw mut own);
    if answer == 0 {
        // SAFETY: as in `signals`.
        put(set, unsafe { (&raw const own).cast::<u64>().read() }, call);
    }
    answer
}

extern "C" fn sigemptyset(set: Signals) -> c_int {
    // SAFETY: it gets a set.
    changes(set, false, |set| unsafe { libc::sigemptyset(set) })
}

extern "C" fn sigfillset(set: Signals) -> c_int {
    // SAFETY: it gets a set.
    changes(set, false, |set| unsafe { libc::sigfillset(set) })
}

extern "C" fn sigaddset(set: Signals, signal: c_int) -> c_int {
    // SAFETY: it gets a set.
    changes(set, true, |set| unsafe { libc::sigaddset(set, signal) })
}

extern "C" fn sigdelset(set: Signals, signal: c_int) -> c_int {
    // SAFETY: it gets a set.
    changes(set, true, |set| unsafe { libc::sigdelset(set, signal) })
}

extern "C" fn sigismember(set: Signals, signal: c_int) -> c_int {
    let own = signals(get(set, latest()));
    // SAFETY: it gets a set.
    unsafe { libc::sigismember(&raw const own, signal) }
}
