//! Threads of C11's `threads.h`, which are those of pthreads with other names and results.

use crate::Rt;
use crate::entry::frame::{entry, stand_in};
use crate::entry::guest::Guest;
use crate::entry::native::native;
use crate::schedule::threads::{Function, Patience};
use crate::sync::keys::{self, Destructor};
use crate::sync::locks;
use crate::sync::mutex::Mutex;
use crate::sync::pthread;
use crate::sync::waits::{Condition, condition_destroy, condition_wait, condition_wake};

const SUCCESS: i32 = 0;
const BUSY: i32 = 1;
const ERROR: i32 = 2;
const NO_MEMORY: i32 = 3;
const TIMED_OUT: i32 = 4;

fn result(error: i32) -> i32 {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ETIMEDOUT => TIMED_OUT,
        libc::ENOMEM => NO_MEMORY,
        _ => ERROR,
    }
}

stand_in! {
    fn thrd_create(rt, handle: Guest<usize>, f: Function, arg: usize) -> i32 {
        handle.set(pthread::create(rt, f, arg));
        SUCCESS
    }

    fn thrd_join(rt, handle: usize, value: Guest<i32>) -> i32 {
        match pthread::join(rt, handle) {
            Ok(returned) => {
                if let Some(value) = value.given() {
                    value.set(returned as i32);
                }
                SUCCESS
            }
            Err(error) => result(error),
        }
    }

    fn thrd_detach(rt, handle: usize) -> i32 {
        result(pthread::detach(rt, handle))
    }

    fn mtx_lock(rt, mutex: Guest<Mutex>) -> i32 {
        result(locks::lock(rt, mutex, Patience::Endless))
    }

    fn mtx_timedlock(rt, mutex: Guest<Mutex>, until: usize) -> i32 {
        let _ = until;
        result(locks::lock(rt, mutex, Patience::Timed))
    }

    fn mtx_trylock(rt, mutex: Guest<Mutex>) -> i32 {
        result(locks::try_lock(rt, mutex))
    }

    fn mtx_unlock(rt, mutex: Guest<Mutex>) -> i32 {
        let pc = rt.pc();
        result(locks::unlock(rt, mutex, pc))
    }

    fn cnd_wait(rt, condition: Condition, mutex: Guest<Mutex>) -> i32 {
        result(condition_wait(rt, condition, mutex, Patience::Endless))
    }

    fn cnd_timedwait(rt, condition: Condition, mutex: Guest<Mutex>, until: usize) -> i32 {
        rt.wait_until(until, false);
        result(condition_wait(rt, condition, mutex, Patience::Timed))
    }

    fn cnd_signal(rt, condition: Condition) -> i32 {
        condition_wake(rt, condition, 1);
        SUCCESS
    }

    fn cnd_broadcast(rt, condition: Condition) -> i32 {
        condition_wake(rt, condition, u32::MAX);
        SUCCESS
    }

    fn cnd_destroy(rt, condition: Condition) {
        let pc = rt.pc();
        condition_destroy(rt, condition, pc);
    }

    fn mtx_destroy(rt, mutex: Guest<Mutex>) {
        let pc = rt.pc();
        locks::destroy(rt, mutex, pc);
    }
}

extern "C-unwind" fn once(control: Guest<i32>, f: extern "C-unwind" fn()) {
    // SAFETY: entered from the program, see `Rt::live`.
    match unsafe { Rt::live() } {
        Some(mut rt) => pthread::once(&mut rt, control, f),
        None => native!(call_once(control: Guest<i32>, f: extern "C-unwind" fn())),
    }
}

extern "C" fn key_create(key: Guest<u32>, destructor: Destructor) -> i32 {
    result(keys::create(key, destructor))
}

extern "C" fn key_delete(key: u32) {
    keys::delete(key);
}

extern "C" fn set(key: u32, value: usize) -> i32 {
    result(keys::set(key, value))
}

entry! {
    call_once => once;
    tss_create => key_create;
    tss_delete => key_delete;
    tss_set => set;
    tss_get => keys::get;
}
