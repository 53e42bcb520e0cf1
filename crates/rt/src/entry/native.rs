//! libc's own functions, for programs that are not under control.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The address of the function of this name that comes after ours.
macro_rules! found {
    ($name:ident) => {{
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes())
            {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero byte"),
            };
        static NATIVE: $crate::entry::native::Native = $crate::entry::native::Native::new(NAME);
        NATIVE.find()
    }};
}

/// Calls the function of this name that comes after ours: `native!(name(arg: type, ...) -> type)`. Where it is
/// may be said behind that.
macro_rules! native {
    ($name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)?) => {
        $crate::entry::native::native!(
            $name($($arg: $t),*) $(-> $r)?, $crate::entry::native::found!($name)
        )
    };
    ($name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)?, $found:expr) => {{
        let f = $found;
        // SAFETY: libc's function of this name has this type, and gets what the program has given
        // to ours, or what its documentation asks for.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($t),*) $(-> $r)?>(f)($($arg),*)
        }
    }};
}

pub(crate) use {found, native};

/// A function of libc, looked up when it is called for the first time.
pub struct Native {
    name: &'static CStr,
    found: AtomicUsize,
}

impl Native {
    /// The function of this name.
    pub const fn new(name: &'static CStr) -> Native {
        Native { name, found: AtomicUsize::new(0) }
    }

    /// Its address.
    pub fn find(&self) -> usize {
        match self.found.load(Ordering::Relaxed) {
            0 => {
                let f = look_up(self.name);
                self.found.store(f, Ordering::Relaxed);
                f
            }
            f => f,
        }
    }
}

/// Where the next function of a name is. A program cannot call what is nowhere, so this ends it.
fn look_up(name: &CStr) -> usize {
    // SAFETY: the name ends with a zero byte, as `dlsym` wants it.
    let f = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if f.is_null() {
        crate::sys::write_all(2, b"weakspot: libc lacks ");
        crate::sys::write_all(2, name.to_bytes());
        crate::sys::write_all(2, b"\n");
        crate::sys::quit(127);
    }
    f as usize
}
