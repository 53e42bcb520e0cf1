//! The functions that compilers call for `-fsanitize=thread`, all but the atomic ones: a table from
//! their names to what they announce.

use crate::access::plain::{bits, quick, read_range, slow, slow_both, slow_volatile, write_range};
use crate::access::strings;
use crate::entry::frame::{access_entry, entry};
use crate::entry::guest::Guest;

access_entry! {
    __tsan_read1: quick::<1, false>, slow::<1, false>;
    __tsan_write1: quick::<1, true>, slow::<1, true>;
    __tsan_read2: quick::<2, false>, slow::<2, false>;
    __tsan_write2: quick::<2, true>, slow::<2, true>;
    __tsan_read4: quick::<4, false>, slow::<4, false>;
    __tsan_write4: quick::<4, true>, slow::<4, true>;
    __tsan_read8: quick::<8, false>, slow::<8, false>;
    __tsan_write8: quick::<8, true>, slow::<8, true>;
    __tsan_read16: quick::<16, false>, slow::<16, false>;
    __tsan_write16: quick::<16, true>, slow::<16, true>;
    __tsan_unaligned_read2: quick::<2, false>, slow::<2, false>;
    __tsan_unaligned_write2: quick::<2, true>, slow::<2, true>;
    __tsan_unaligned_read4: quick::<4, false>, slow::<4, false>;
    __tsan_unaligned_write4: quick::<4, true>, slow::<4, true>;
    __tsan_unaligned_read8: quick::<8, false>, slow::<8, false>;
    __tsan_unaligned_write8: quick::<8, true>, slow::<8, true>;
    __tsan_unaligned_read16: quick::<16, false>, slow::<16, false>;
    __tsan_unaligned_write16: quick::<16, true>, slow::<16, true>;
    __tsan_volatile_read1: quick::<1, false>, slow_volatile::<1, false>;
    __tsan_volatile_write1: quick::<1, true>, slow_volatile::<1, true>;
    __tsan_volatile_read2: quick::<2, false>, slow_volatile::<2, false>;
    __tsan_volatile_write2: quick::<2, true>, slow_volatile::<2, true>;
    __tsan_volatile_read4: quick::<4, false>, slow_volatile::<4, false>;
    __tsan_volatile_write4: quick::<4, true>, slow_volatile::<4, true>;
    __tsan_volatile_read8: quick::<8, false>, slow_volatile::<8, false>;
    __tsan_volatile_write8: quick::<8, true>, slow_volatile::<8, true>;
    __tsan_volatile_read16: quick::<16, false>, slow_volatile::<16, false>;
    __tsan_volatile_write16: quick::<16, true>, slow_volatile::<16, true>;
    __tsan_unaligned_volatile_read2: quick::<2, false>, slow_volatile::<2, false>;
    __tsan_unaligned_volatile_write2: quick::<2, true>, slow_volatile::<2, true>;
    __tsan_unaligned_volatile_read4: quick::<4, false>, slow_volatile::<4, false>;
    __tsan_unaligned_volatile_write4: quick::<4, true>, slow_volatile::<4, true>;
    __tsan_unaligned_volatile_read8: quick::<8, false>, slow_volatile::<8, false>;
    __tsan_unaligned_volatile_write8: quick::<8, true>, slow_volatile::<8, true>;
    __tsan_unaligned_volatile_read16: quick::<16, false>, slow_volatile::<16, false>;
    __tsan_unaligned_volatile_write16: quick::<16, true>, slow_volatile::<16, true>;
    __tsan_read_write1: quick::<1, true>, slow_both::<1>;
    __tsan_read_write2: quick::<2, true>, slow_both::<2>;
    __tsan_read_write4: quick::<4, true>, slow_both::<4>;
    __tsan_read_write8: quick::<8, true>, slow_both::<8>;
    __tsan_read_write16: quick::<16, true>, slow_both::<16>;
    __tsan_unaligned_read_write2: quick::<2, true>, slow_both::<2>;
    __tsan_unaligned_read_write4: quick::<4, true>, slow_both::<4>;
    __tsan_unaligned_read_write8: quick::<8, true>, slow_both::<8>;
    __tsan_unaligned_read_write16: quick::<16, true>, slow_both::<16>;
    __tsan_vptr_update: quick::<8, true>, slow::<8, true>;
    __tsan_vptr_read: quick::<8, false>, slow::<8, false>;
}

entry! {
    __weakspot_bits1 => bits::<1>;
    __weakspot_bits2 => bits::<2>;
    __weakspot_bits4 => bits::<4>;
    __weakspot_bits8 => bits::<8>;
    __tsan_read_range => read_range;
    __tsan_write_range => write_range;
    __wrap_memcpy => memmove;
    __wrap_memmove => memmove;
    __wrap_memset => memset;
    __tsan_memcpy => memmove;
    __tsan_memmove => memmove;
    __tsan_memset => memset;
}

/// Announced as a load and a store of all bytes, then done.
extern "C" fn memmove(to: Guest<u8>, from: Guest<u8>, len: usize) -> Guest<u8> {
    strings::moves(to, from, len);
    to
}

/// Announced as a store to all bytes, then done.
extern "C" fn memset(to: Guest<u8>, byte: i32, len: usize) -> Guest<u8> {
    strings::fills(to, byte as u8, len);
    to
}

macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[doc = concat!("Stands in for `", stringify!($name), "`, which says nothing that matters.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )*};
}

nothing! {
    __tsan_init
    __tsan_ignore_thread_begin
    __tsan_ignore_thread_end
}
