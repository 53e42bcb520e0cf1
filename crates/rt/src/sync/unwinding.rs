//! What is known of a thread that may end in the middle of its functions, see `unwind.rs`.

/// How a thread ends in the middle of its functions.
#[derive(Default)]
pub struct Unwinding {
    /// The last of what its functions have registered to be cleaned up: its address, or 0.
    pub(super) cleanup: usize,
    /// Where on its stack the functions of the program begin.
    pub(super) first: usize,
    /// By which it ends in the middle of them, where the unwinder finds it again.
    pub(super) exception: Option<Box<Exception>>,
}

impl Unwinding {
    /// The functions of the program begin here.
    pub fn begin_at(&mut self, addr: usize) {
        self.first = addr;
    }
}

/// What the unwinder wants to know of an exception.
#[repr(C, align(16))]
pub struct Exception {
    pub(super) class: u64,
    pub(super) cleanup: usize,
    pub(super) private: [u64; 4],
}
