//! Threads of C11's `threads.h`, which are those of pthreads with other names and results.

use core::ffi::c_void;

use weakspot_live::{Op, OpKind};

use crate::entry::frame::{caller, entry, frame};
use crate::entry::native::native;
use crate::runtime::live;
use crate::schedule::threads::{Patience, step};
use crate::sync::locks::{self, Mutex};
use crate::sync::pthread;
use crate::sync::unwind;
use crate::sync::waits;

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

unsafe extern "C" fn create(handle: *mut usize, f: usize, arg: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(thrd_create(handle: *mut usize, f: usize, arg: usize) -> i32);
    }
    let pc = caller();
    *handle = pthread::create(rt, f, arg, pc);
    SUCCESS
}

unsafe extern "C" fn join(handle: usize, value: *mut i32) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(thrd_join(handle: usize, value: *mut i32) -> i32);
    }
    let pc = caller();
    match pthread::join(rt, handle, pc) {
        Ok(returned) => {
            if !value.is_null() {
                *value = returned as i32;
            }
            SUCCESS
        }
        Err(error) => result(error),
    }
}

unsafe extern "C" fn detach(handle: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(thrd_detach(handle: usize) -> i32);
    }
    result(pthread::detach(rt, handle))
}

unsafe extern "C" fn exit(value: i32) {
    let rt = live();
    if rt.is_null() {
        return native!(thrd_exit(value: i32));
    }
    unwind::exit(rt, value as usize)
}

unsafe extern "C" fn yield_inner() {
    let rt = live();
    if !rt.is_null() {
        step(rt, Op::plain(OpKind::Yield));
    }
}

unsafe extern "C" fn lock(mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(mtx_lock(mutex: *mut Mutex) -> i32);
    }
    result(locks::lock(rt, mutex, Patience::Endless, frame()))
}

unsafe extern "C" fn timed_lock(mutex: *mut Mutex, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(mtx_timedlock(mutex: *mut Mutex, until: usize) -> i32);
    }
    result(locks::lock(rt, mutex, Patience::Timed, frame()))
}

unsafe extern "C" fn try_lock(mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(mtx_trylock(mutex: *mut Mutex) -> i32);
    }
    result(locks::try_lock(rt, mutex, frame()))
}

unsafe extern "C" fn unlock(mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(mtx_unlock(mutex: *mut Mutex) -> i32);
    }
    let pc = caller();
    result(locks::unlock(rt, mutex, pc))
}

unsafe extern "C" fn wait(condition: usize, mutex: *mut Mutex) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(cnd_wait(condition: usize, mutex: *mut Mutex) -> i32);
    }
    result(waits::condition_wait(rt, condition, mutex, Patience::Endless, frame()))
}

unsafe extern "C" fn timed_wait(condition: usize, mutex: *mut Mutex, until: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(cnd_timedwait(condition: usize, mutex: *mut Mutex, until: usize) -> i32);
    }
    result(waits::condition_wait(rt, condition, mutex, Patience::Timed, frame()))
}

unsafe extern "C" fn signal(condition: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(cnd_signal(condition: usize) -> i32);
    }
    let pc = caller();
    waits::condition_wake(rt, condition, 1, pc);
    SUCCESS
}

unsafe extern "C" fn broadcast(condition: usize) -> i32 {
    let rt = live();
    if rt.is_null() {
        return native!(cnd_broadcast(condition: usize) -> i32);
    }
    let pc = caller();
    waits::condition_wake(rt, condition, u32::MAX, pc);
    SUCCESS
}

unsafe extern "C" fn destroy(condition: usize) {
    if live().is_null() {
        native!(cnd_destroy(condition: usize));
    }
}

unsafe extern "C-unwind" fn once(control: *mut i32, f: usize) {
    let rt = live();
    if rt.is_null() {
        return native!(call_once(control: *mut i32, f: usize));
    }
    let pc = caller();
    pthread::once(rt, control, f, pc);
}

type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

unsafe extern "C" fn key_create(key: *mut u32, destructor: Destructor) -> i32 {
    result(pthread::key_create(key, destructor))
}

unsafe extern "C" fn key_delete(key: u32) {
    pthread::key_delete(key);
}

unsafe extern "C" fn set(key: u32, value: usize) -> i32 {
    result(pthread::set_specific(key, value))
}

entry! {
    thrd_create => create;
    thrd_join => join;
    thrd_detach => detach;
    thrd_exit => exit;
    thrd_yield => yield_inner;
    mtx_lock => lock;
    mtx_timedlock => timed_lock;
    mtx_trylock => try_lock;
    mtx_unlock => unlock;
    cnd_wait => wait;
    cnd_timedwait => timed_wait;
    cnd_signal => signal;
    cnd_broadcast => broadcast;
    cnd_destroy => destroy;
    call_once => once;
    tss_create => key_create;
    tss_delete => key_delete;
    tss_set => set;
    tss_get => pthread::get_specific;
}
