//! libc's own functions, for programs that are not under control.

/// Calls the function of this name that comes after ours: `native!(name(arg: type, ...) -> type)`.
macro_rules! native {
    ($name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)?) => {{
        static FOUND: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        let mut f = FOUND.load(core::sync::atomic::Ordering::Relaxed);
        if f == 0 {
            f = $crate::entry::native::find(concat!(stringify!($name), "\0"));
            FOUND.store(f, core::sync::atomic::Ordering::Relaxed);
        }
        let f: unsafe extern "C" fn($($t),*) $(-> $r)? = core::mem::transmute(f);
        f($($arg),*)
    }};
}

pub(crate) use native;

/// Where the next function of a name is. A program cannot call what is nowhere, so this ends it.
pub unsafe fn find(name: &str) -> usize {
    let f = libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast());
    if f.is_null() {
        crate::sys::write_all(2, b"weakspot: libc lacks ");
        crate::sys::write_all(2, name.as_bytes());
        crate::sys::write_all(2, b"\n");
        crate::sys::quit(127);
    }
    f as usize
}
