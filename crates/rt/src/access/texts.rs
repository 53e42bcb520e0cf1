//! Functions of libstdc++ that read strings of the program, as keys of tables and as messages of exceptions: they are compiled into
//! the library, so these announce what is read.

use core::ffi::c_void;

use crate::access::strings::{Text, announce};
use crate::entry::frame::{entry, latest};
use crate::entry::guest::Guest;
use crate::entry::native::native;

entry! {
    _ZSt11_Hash_bytesPKvmm => hash_bytes;
}

/// A hash of some bytes, such as those of a string.
extern "C" fn hash_bytes(bytes: Text, len: usize, seed: usize) -> usize {
    announce(bytes, len, false, latest());
    let from: *const c_void = bytes.pointer().cast();
    native!(_ZSt11_Hash_bytesPKvmm(from: *const c_void, len: usize, seed: usize) -> usize)
}

/// A `std::string`: where its bytes are, and how many.
type Words = Guest<[usize; 2]>;

fn reads(text: Words) {
    let call = latest();
    // SAFETY: the program says that there is a string.
    let at = |addr: usize| unsafe { Guest::at(addr) };
    announce(at(text.addr()), size_of::<[usize; 2]>(), false, call);
    let [bytes, len] = text.get();
    announce(at(bytes), len, false, call);
}

/// Constructors of exceptions with a message.
macro_rules! messages {
    ($($name:ident)*) => {$(
        const _: () = {
            extern "C" fn constructs(this: usize, text: Words) {
                reads(text);
                native!($name(this: usize, text: Words));
            }
            entry! {
                $name => constructs;
            }
        };
    )*};
}

messages! {
    _ZNSt13runtime_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt13runtime_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt11logic_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt11logic_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt16invalid_argumentC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt16invalid_argumentC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt12domain_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt12domain_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt12length_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt12length_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt12out_of_rangeC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt12out_of_rangeC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt11range_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt11range_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt14overflow_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt14overflow_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt15underflow_errorC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZNSt15underflow_errorC2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
}
