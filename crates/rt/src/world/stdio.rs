//! Locks of files of `stdio`, which threads hold across calls: libc's own would wait for real.

use weakspot_live::{OpKind, Order};

use crate::entry::frame::stand_in;
use crate::entry::guest::{Area, Guest};
use crate::execution::monitors::Event;
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::{step, wait};
use crate::{Rt, Runtime};

/// A file that is locked.
struct Locked {
    file: usize,
    owner: usize,
    times: u32,
}

/// Files that are locked.
pub struct Files(Vec<Locked>);

impl Files {
    /// None.
    pub fn new() -> Files {
        Files(Vec::new())
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether a thread can lock a file.
    fn is_free(&self, thread: usize, file: usize) -> bool {
        self.0.iter().all(|lock| lock.file != file || lock.owner == thread)
    }

    fn take(&mut self, thread: usize, file: usize) {
        match self.0.iter_mut().find(|lock| lock.file == file) {
            Some(lock) => lock.times += 1,
            None => self.0.push(Locked { file, owner: thread, times: 1 }),
        }
    }

    fn free(&mut self, file: usize) {
        if let Some(i) = self.0.iter().position(|lock| lock.file == file) {
            self.0[i].times -= 1;
            if self.0[i].times == 0 {
                self.0.swap_remove(i);
            }
        }
    }
}

/// A file of libc, by its address.
pub type File = Guest<()>;

fn area(file: File) -> Area {
    // SAFETY: the program says that there is a file, which is larger than this.
    unsafe { Area::at(file.addr(), 8) }
}

fn is_free(rt: &Runtime, thread: usize, file: usize) -> bool {
    rt.files.is_free(thread, file)
}

fn done(rt: &mut Runtime, kind: OpKind, file: File, pc: usize) {
    rt.record(Event::new(area(file).op(kind), Order::SeqCst, pc));
}

/// Takes the lock of a file, after waiting for it.
pub fn lock(rt: &mut Rt, file: File) {
    let pc = rt.pc();
    let op = area(file).op(OpKind::Acquire);
    wait(rt, op, Until::Known(is_free, file.addr()), Patience::Endless);
    let me = rt.threads.current();
    rt.files.take(me, file.addr());
    done(rt, OpKind::Acquire, file, pc);
}

/// Frees it.
pub fn unlock(rt: &mut Rt, file: File) {
    let pc = rt.pc();
    step(rt, area(file).op(OpKind::Release));
    rt.files.free(file.addr());
    done(rt, OpKind::Release, file, pc);
}

stand_in! {
    fn flockfile(rt, file: File) {
        lock(rt, file);
    }

    fn ftrylockfile(rt, file: File) -> i32 {
        let pc = rt.pc();
        step(rt, area(file).op(OpKind::Update));
        let me = rt.threads.current();
        let free = rt.files.is_free(me, file.addr());
        if free {
            rt.files.take(me, file.addr());
        }
        done(rt, if free { OpKind::Acquire } else { OpKind::Compare }, file, pc);
        i32::from(!free)
    }

    fn funlockfile(rt, file: File) {
        unlock(rt, file);
    }
}
