//! Memory of the program, by the addresses that it hands in.
//!
//! A C function trusts its caller to pass addresses of what it expects. So do the functions that
//! stand in for those of libc: what they get is a [`Guest`], which can only be made by whoever
//! vouches for the address, and is then read and written freely. If the program has lied, this
//! crashes as libc's own function would have, and is reported as a crash of the program. No
//! references are made, only copies: other threads of the program change what is there whenever
//! coroutines are switched.

use core::arch::asm;

use weakspot_live::{Op, OpKind};

/// An object of the program: its address, as the program passed it.
#[repr(transparent)]
pub struct Guest<T>(*mut T);

impl<T> Clone for Guest<T> {
    fn clone(&self) -> Guest<T> {
        *self
    }
}

impl<T> Copy for Guest<T> {}

impl<T: Copy> Guest<T> {
    /// The object at this address.
    ///
    /// # Safety
    /// The program says that it has such an object there, and the library has none. Any bytes are a
    /// value of it, as for objects of C.
    pub unsafe fn at(addr: usize) -> Guest<T> {
        Guest(addr as *mut T)
    }

    /// No object.
    pub fn null() -> Guest<T> {
        Guest(core::ptr::null_mut())
    }

    /// Its address.
    pub fn addr(self) -> usize {
        self.0 as usize
    }

    /// The object, unless the program passed a null pointer for "none".
    pub fn given(self) -> Option<Guest<T>> {
        (!self.0.is_null()).then_some(self)
    }

    /// What is there now.
    pub fn get(self) -> T {
        probe(self.addr(), size_of::<T>());
        // SAFETY: who made `self` vouches for the address and the type.
        unsafe { self.0.read_unaligned() }
    }

    /// Writes to it.
    pub fn set(self, value: T) {
        // SAFETY: who made `self` vouches for the address, and nobody has references to it.
        unsafe { self.0.write_unaligned(value) };
    }

    /// Its bytes.
    pub fn area(self) -> Area {
        Area { addr: self.addr(), len: size_of::<T>() as u32 }
    }

    /// The pointer itself, for functions that want one.
    pub fn pointer(self) -> *mut T {
        self.0
    }
}

/// Reads the first of some bytes. Where the program has no memory, as at a null pointer, this is where it crashes:
/// to copy from there would be an error of the library, which is looked for where it is tested.
#[inline(always)]
fn probe(addr: usize, len: usize) {
    if len > 0 {
        // SAFETY: who hands in the address vouches for it, and a read changes nothing.
        unsafe {
            asm!(
                "mov {byte}, byte ptr [{addr}]",
                addr = in(reg) addr,
                byte = out(reg_byte) _,
                options(nostack, readonly, preserves_flags),
            );
        }
    }
}

/// Bytes of the program that an access of it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    addr: usize,
    len: u32,
}

impl Area {
    /// So many bytes from this address on.
    ///
    /// # Safety
    /// The program has said that it accesses them, and the library does not.
    pub unsafe fn at(addr: usize, len: usize) -> Area {
        Area { addr, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// Bytes that stand for something and are never looked at.
    pub const fn nowhere(addr: usize, len: u32) -> Area {
        Area { addr, len }
    }

    /// A place that stands for an object; none of its bytes are looked at.
    pub fn place(addr: usize) -> Area {
        Area { addr, len: 0 }
    }

    /// The first address.
    pub fn addr(self) -> usize {
        self.addr
    }

    /// How many bytes.
    pub fn len(self) -> u32 {
        self.len
    }

    /// A step that is about them.
    pub fn op(self, kind: OpKind) -> Op {
        Op { kind, len: self.len, addr: self.addr as u64 }
    }

    /// Whether the two have a byte in common.
    pub fn overlaps(self, other: Area) -> bool {
        self.addr < other.addr + other.len as usize && other.addr < self.addr + self.len as usize
    }

    /// What is in memory, as a number: the bytes themselves if there are at most eight, otherwise
    /// a hash of them.
    pub fn value(self) -> u64 {
        let Area { addr, len } = self;
        probe(addr, len as usize);
        // SAFETY: who made `self` vouches for the bytes; they are copied before anybody else runs.
        unsafe {
            match len {
                1 => u64::from((addr as *const u8).read_volatile()),
                2 => u64::from((addr as *const u16).read_unaligned()),
                4 => u64::from((addr as *const u32).read_unaligned()),
                8 => (addr as *const u64).read_unaligned(),
                len if len < 8 => {
                    let mut bytes = [0; 8];
                    (addr as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), len as usize);
                    u64::from_le_bytes(bytes)
                }
                len => {
                    let bytes = core::slice::from_raw_parts(addr as *const u8, len as usize);
                    bytes.iter().fold(0, |hash, &b| {
                        (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5)
                    })
                }
            }
        }
    }

    /// At most sixteen bytes of memory, as a number.
    pub fn bits(self) -> u128 {
        if self.len == 16 {
            // SAFETY: who made `self` vouches for the bytes.
            unsafe { (self.addr as *const u128).read_unaligned() }
        } else {
            self.value().into()
        }
    }

    /// A copy of the bytes.
    pub fn copy(self) -> Bytes {
        let (from, len) = (self.addr as *const u8, self.len as usize);
        probe(self.addr, len);
        if len > FEW {
            // SAFETY: who made `self` vouches for the bytes; they are copied before anybody else
            // runs.
            return Bytes::Many(unsafe { core::slice::from_raw_parts(from, len) }.into());
        }
        let mut few = [0; FEW];
        // SAFETY: as above, and there is room for that many.
        unsafe { from.copy_to_nonoverlapping(few.as_mut_ptr(), len) };
        Bytes::Few(few)
    }

    /// Writes bytes that were copied from an area of this size.
    pub fn restore(self, bytes: &Bytes) {
        let from = match bytes {
            Bytes::Few(few) => &few[..],
            Bytes::Many(many) => many,
        };
        let len = from.len().min(self.len as usize);
        // SAFETY: who made `self` vouches for the bytes, and nobody has references to them.
        unsafe { from.as_ptr().copy_to_nonoverlapping(self.addr as *mut u8, len) };
    }
}

const FEW: usize = 16;

/// Bytes of an [`Area`], in place if there are few.
pub enum Bytes {
    /// At most so many.
    Few([u8; FEW]),
    /// More.
    Many(Box<[u8]>),
}

/// A question about an object of the program, which is asked again whenever the answer matters.
pub struct Question<R> {
    of: Guest<()>,
    ask: fn(Guest<()>) -> R,
}

impl<R> Clone for Question<R> {
    fn clone(&self) -> Question<R> {
        *self
    }
}

impl<R> Copy for Question<R> {}

impl<R> Question<R> {
    /// This question about this object.
    pub fn about<T>(of: Guest<T>, ask: fn(Guest<T>) -> R) -> Question<R> {
        // SAFETY: a `Guest` is a pointer, whatever it points to, so that the two types of functions
        // are called alike; and the function gets the object that it was given with.
        let ask = unsafe { core::mem::transmute::<fn(Guest<T>) -> R, fn(Guest<()>) -> R>(ask) };
        Question { of: Guest(of.0.cast()), ask }
    }

    /// The answer now.
    pub fn answer(self) -> R {
        (self.ask)(self.of)
    }
}
