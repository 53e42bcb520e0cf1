//! What the program has registered to be called at its end, or at the end of a thread.

use core::ffi::c_void;

use crate::Rt;
use crate::entry::frame::stand_in;
use crate::sync::keys;

/// A function to be called at the end of the program or of a thread.
#[derive(Clone, Copy)]
pub struct AtExit {
    f: extern "C" fn(*mut c_void),
    /// The argument of `f`.
    arg: *mut c_void,
}

impl AtExit {
    fn call(self, rt: &mut Rt) {
        rt.run_program(|| (self.f)(self.arg));
    }
}

/// Functions to be called at the end of the program.
pub struct Exits {
    registered: Vec<AtExit>,
    /// How many of them come from before `main`.
    before: usize,
    /// The same for `quick_exit`.
    quick: Vec<AtExit>,
    quick_before: usize,
    /// Functions of the program's own table, which come after those.
    finishers: Vec<extern "C" fn()>,
    /// How many of these have not been called.
    left: usize,
    /// A thread is about to end the program, when others have done what they can.
    leaving: bool,
    /// The current thread ends the program.
    exiting: bool,
}

impl Exits {
    /// Without registered functions.
    pub fn new() -> Exits {
        Exits {
            registered: Vec::new(),
            before: 0,
            quick: Vec::new(),
            quick_before: 0,
            finishers: Vec::new(),
            left: 0,
            leaving: false,
            exiting: false,
        }
    }

    /// Those that are registered now come from before `main`.
    pub fn keep(&mut self) {
        self.before = self.registered.len();
        self.quick_before = self.quick.len();
        self.finishers = finishers();
    }

    /// A function is to be called at the end.
    pub fn register(&mut self, f: extern "C" fn(*mut c_void), arg: *mut c_void) {
        self.registered.push(AtExit { f, arg });
    }

    /// The same for `quick_exit`.
    pub fn register_quick(&mut self, f: extern "C" fn(*mut c_void)) {
        self.quick.push(AtExit { f, arg: core::ptr::null_mut() });
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.registered.truncate(self.before);
        self.quick.truncate(self.quick_before);
        self.left = self.finishers.len();
        self.leaving = false;
        self.exiting = false;
    }

    /// A thread is about to end the program.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// Whether a thread is about to end the program.
    pub fn leaving(&self) -> bool {
        self.leaving
    }

    /// Whether a thread is ending the program.
    pub fn exiting(&self) -> bool {
        self.exiting
    }
}

/// The current thread ends the program: calls what was registered for that.
pub fn program_functions(rt: &mut Rt) {
    rt.exits.exiting = true;
    thread_functions(rt);
    while let Some(f) = rt.exits.registered.pop() {
        f.call(rt);
    }
    while let Some(left) = rt.exits.left.checked_sub(1) {
        rt.exits.left = left;
        let f = rt.exits.finishers[left];
        rt.run_program(|| f());
    }
}

/// Calls what was registered for `quick_exit`.
pub fn quick_functions(rt: &mut Rt) {
    while let Some(f) = rt.exits.quick.pop() {
        f.call(rt);
    }
}

/// Calls what the current thread has registered for its end.
pub fn thread_functions(rt: &mut Rt) {
    while let Some(f) = rt.threads.me_mut().at_exit.pop() {
        f.call(rt);
    }
    keys::destructors(rt);
}

/// The functions in the program's table of those to be run at its end, unless it is only the one that
/// compilers put there for libc.
fn finishers() -> Vec<extern "C" fn()> {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        to: *mut c_void,
    ) -> i32 {
        const DT_FINI_ARRAY: usize = 26;
        const DT_FINI_ARRAYSZ: usize = 28;
        // SAFETY: the dynamic linker describes a program that is mapped, whose tables are where its
        // headers say; `to` is what was passed below.
        unsafe {
            let to = &mut *to.cast::<Vec<extern "C" fn()>>();
            let base = (*info).dlpi_addr as usize;
            let (mut table, mut bytes) = (0, 0);
            for i in 0..(*info).dlpi_phnum as usize {
                let header = &*(*info).dlpi_phdr.add(i);
                if header.p_type != libc::PT_DYNAMIC {
                    continue;
                }
                let mut entry = (base + header.p_vaddr as usize) as *const [usize; 2];
                while (*entry)[0] != 0 {
                    match (*entry)[0] {
                        DT_FINI_ARRAY => table = base + (*entry)[1],
                        DT_FINI_ARRAYSZ => bytes = (*entry)[1],
                        _ => {}
                    }
                    entry = entry.add(1);
                }
            }
            let n = bytes / size_of::<usize>();
            if n > 1 && table != 0 {
                let table = table as *const extern "C" fn();
                to.extend_from_slice(core::slice::from_raw_parts(table, n));
            }
        }
        // The program itself comes first, and only it matters.
        1
    }
    let mut found: Vec<extern "C" fn()> = Vec::new();
    // SAFETY: `first` gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    found
}

stand_in! {
    fn __cxa_thread_atexit_impl(
        rt, f: extern "C" fn(*mut c_void), arg: *mut c_void, dso: *mut c_void,
    ) -> i32 {
        let _ = dso;
        rt.threads.me_mut().at_exit.push(AtExit { f, arg });
        0
    }
}
