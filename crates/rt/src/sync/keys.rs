//! Keys of thread-specific values, of pthreads and of C11.

use core::ffi::c_void;

use crate::entry::frame::entry;
use crate::entry::guest::Guest;
use crate::entry::native::native;
use crate::{Rt, Runtime};

/// Keys from here on are ours; those before were made before the library was asked.
const OUR_KEYS: usize = 512;
const ALL_KEYS: usize = 1024;
/// How often destructors of keys are called if they set values again.
const ROUNDS: usize = 4;

/// What is called with a thread's value of a key when the thread ends.
pub type Destructor = Option<extern "C" fn(*mut c_void)>;

/// The keys of the program.
pub struct Keys {
    destructors: Vec<Destructor>,
    /// How many of them come from before `main`.
    before: usize,
    /// What the first thread set them to, before `main`.
    first: Values,
}

/// A thread's values of keys.
#[derive(Default)]
pub struct Values(Vec<usize>);

impl Values {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Keys {
    /// None.
    pub fn new() -> Keys {
        Keys { destructors: Vec::new(), before: 0, first: Values::default() }
    }

    /// Those that are there now come from before `main`.
    pub fn keep(&mut self) {
        self.before = self.destructors.len();
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.destructors.truncate(self.before);
    }

    /// The first thread has the values that were set before `main`.
    pub fn values_before(&self, values: &mut Values) {
        values.0.extend_from_slice(&self.first.0);
    }
}

impl Runtime {
    /// The values of the current thread.
    fn values(&mut self, live: bool) -> &mut Vec<usize> {
        if live { &mut self.threads.me_mut().values.0 } else { &mut self.keys.first.0 }
    }
}

/// Calls the destructors of the current thread's keys.
pub fn destructors(rt: &mut Rt) {
    for _ in 0..ROUNDS {
        let mut any = false;
        for i in 0..rt.values(true).len() {
            let value = core::mem::take(&mut rt.values(true)[i]);
            let destructor = rt.keys.destructors.get(i).copied().flatten();
            if let (true, Some(destructor)) = (value != 0, destructor) {
                any = true;
                rt.run_program(|| destructor(value as *mut c_void));
            }
        }
        if !any {
            return;
        }
    }
}

/// The number of a key among ours, if it is one of them.
fn ours(key: u32) -> Option<usize> {
    (key as usize).checked_sub(OUR_KEYS)
}

/// `pthread_key_create`.
pub extern "C" fn create(key: Guest<u32>, destructor: Destructor) -> i32 {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::home() }) else {
        return native!(pthread_key_create(key: Guest<u32>, destructor: Destructor) -> i32);
    };
    let i = rt.keys.destructors.len();
    if OUR_KEYS + i >= ALL_KEYS {
        return libc::EAGAIN;
    }
    rt.keys.destructors.push(destructor);
    key.set((OUR_KEYS + i) as u32);
    0
}

/// `pthread_key_delete`.
pub extern "C" fn delete(key: u32) -> i32 {
    // SAFETY: entered from the program, see `Rt::live`.
    let (Some(mut rt), Some(i)) = (unsafe { Rt::home() }, ours(key)) else {
        return native!(pthread_key_delete(key: u32) -> i32);
    };
    if let Some(destructor) = rt.keys.destructors.get_mut(i) {
        *destructor = None;
    }
    0
}

/// `pthread_setspecific`.
pub extern "C" fn set(key: u32, value: usize) -> i32 {
    // SAFETY: entered from the program, see `Rt::live`.
    let (Some(mut rt), Some(i)) = (unsafe { Rt::home() }, ours(key)) else {
        return native!(pthread_setspecific(key: u32, value: usize) -> i32);
    };
    if i >= rt.keys.destructors.len() {
        return libc::EINVAL;
    }
    let live = rt.is_live();
    let values = rt.values(live);
    if values.len() <= i {
        values.resize(i + 1, 0);
    }
    values[i] = value;
    0
}

/// `pthread_getspecific`.
pub extern "C" fn get(key: u32) -> usize {
    // SAFETY: entered from the program, see `Rt::live`.
    let (Some(mut rt), Some(i)) = (unsafe { Rt::home() }, ours(key)) else {
        return native!(pthread_getspecific(key: u32) -> usize);
    };
    let live = rt.is_live();
    rt.values(live).get(i).copied().unwrap_or(0)
}

entry! {
    pthread_key_create => create;
    pthread_key_delete => delete;
    pthread_setspecific => set;
    pthread_getspecific => get;
}
