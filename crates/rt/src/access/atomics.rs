//! Atomic operations, which the library does itself: natively while the program runs on its own,
//! and as single steps of its thread under control, where plain loads and stores do, because there
//! is one thread of the system.

use core::arch::asm;
use core::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst, compiler_fence, fence,
};

use weakspot_core::Model;
use weakspot_live::{Op, OpKind};

use crate::access::plain::{Order, Pending, buffer, read_step};
use crate::entry::frame::{Frame, entry, frame};
use crate::memory::shadow::{Seen, Shadow};
use crate::runtime::{Runtime, live};
use crate::schedule::threads::{Varying, changed, happened, learn, step};

/// An integer that operations are done on.
pub trait Word: Copy + PartialEq {
    /// Its size in bytes.
    const LEN: u32;
    /// Its bits.
    fn bits(self) -> u128;
    /// The word with these bits.
    fn from_bits(bits: u128) -> Self;
    /// Compares and exchanges, for real; what was there.
    unsafe fn exchange(addr: *mut Self, expected: Self, new: Self) -> Self;
}

macro_rules! words {
    ($($t:ty, $atomic:ty;)*) => {$(
        impl Word for $t {
            const LEN: u32 = size_of::<$t>() as u32;
            fn bits(self) -> u128 {
                self.into()
            }
            fn from_bits(bits: u128) -> $t {
                bits as $t
            }
            unsafe fn exchange(addr: *mut $t, expected: $t, new: $t) -> $t {
                let word = <$atomic>::from_ptr(addr);
                match word.compare_exchange(expected, new, SeqCst, SeqCst) {
                    Ok(old) | Err(old) => old,
                }
            }
        }
    )*};
}

words! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

impl Word for u128 {
    const LEN: u32 = 16;
    fn bits(self) -> u128 {
        self
    }
    fn from_bits(bits: u128) -> u128 {
        bits
    }
    unsafe fn exchange(addr: *mut u128, expected: u128, new: u128) -> u128 {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        // rbx belongs to the compiler, so the low half of the new value gets there by exchange.
        asm!(
            "xchg rbx, {new}",
            "lock cmpxchg16b [{addr}]",
            "mov rbx, {new}",
            addr = in(reg) addr,
            new = inout(reg) new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
        let _ = (&mut low, &mut high);
        u128::from(high) << 64 | u128::from(low)
    }
}

/// Announces an atomic operation; returns when it may be done. It is a scheduling point even for
/// bytes of one thread: it empties the thread's store buffer, which others may notice.
unsafe fn announce(
    rt: *mut Runtime,
    kind: OpKind,
    addr: usize,
    len: u32,
    frame: *const Frame,
    varying: Option<Varying>,
) -> Op {
    touch(rt, addr, len, kind != OpKind::Read);
    let op = Op { kind, len, addr: addr as u64 };
    read_step(rt, op, frame, varying);
    op
}

/// Remembers who touches what.
unsafe fn touch(rt: *mut Runtime, addr: usize, len: u32, write: bool) {
    let me = (*rt).current;
    if !(*rt).alone
        && (*rt).config.filter
        && (*rt).shadow.touch(me, addr, len as usize, write) == Seen::News
    {
        learn(rt, addr, len as usize);
    }
}

/// Tells what was done.
unsafe fn done<T: Word>(rt: *mut Runtime, op: Op, order: i32, pc: usize, new: Option<T>, old: T) {
    let me = (*rt).current;
    if (*rt).alone && !Shadow::is_shared(op.addr as usize, op.len as usize) {
        return;
    }
    if new.is_some_and(|new| new != old) {
        changed(rt, me);
    }
    let seen = old.bits() as u64;
    let (value, old) = match new {
        Some(new) if op.kind == OpKind::Update => (new.bits() as u64, Some(seen)),
        Some(new) => (new.bits() as u64, None),
        None => (seen, None),
    };
    happened(rt, me, op, Order::of(order), pc, Some(value), old);
}

unsafe extern "C" fn load<T: Word>(addr: *mut T, order: i32) -> T {
    let rt = live();
    if rt.is_null() {
        let zero = T::from_bits(0);
        return if T::LEN == 16 { T::exchange(addr, zero, zero) } else { addr.read_volatile() };
    }
    let frame = frame();
    let pc = (*frame).pc;
    let op = announce(rt, OpKind::Read, addr as usize, T::LEN, frame, None);
    let seen = addr.read_unaligned();
    done(rt, op, order, pc, None, seen);
    seen
}

/// A store. What its order demands of buffers is the business of those who are told, unless there are
/// some.
unsafe extern "C" fn store<T: Word>(addr: *mut T, new: T, order: i32) {
    let rt = live();
    if rt.is_null() {
        update_natively(addr, |_| new);
        return;
    }
    let frame = frame();
    let pc = (*frame).pc;
    touch(rt, addr as usize, T::LEN, true);
    let op = Op { kind: OpKind::Write, len: T::LEN, addr: addr as u64 };
    let strength = Order::of(order);
    let buffers = (*rt).buffered && !(*rt).alone;
    match strength {
        // It waits for those before it, and nothing of its thread comes before it is in memory.
        Order::Strong if buffers => step(rt, Op { kind: OpKind::Update, ..op }),
        Order::Release | Order::AcquireRelease if buffers && (*rt).config.under != Model::Tso => {
            full(rt, Op::plain(OpKind::StoreFence), strength, pc);
            step(rt, op);
        }
        _ => step(rt, op),
    }
    let old = addr.read_unaligned();
    let buffered = strength != Order::Strong && buffer(rt, op, strength, pc);
    addr.write_unaligned(new);
    if buffered {
        let me = (*rt).current;
        (&mut (*rt).threads)[me].buffer.settle();
    }
    done(rt, op, order, pc, Some(new), old);
}

unsafe fn update_natively<T: Word>(addr: *mut T, f: impl Fn(T) -> T) -> T {
    let mut seen = addr.read_volatile();
    loop {
        let old = T::exchange(addr, seen, f(seen));
        if old == seen {
            return old;
        }
        seen = old;
    }
}

unsafe fn update<T: Word>(addr: *mut T, order: i32, f: impl Fn(T) -> T) -> T {
    let rt = live();
    if rt.is_null() {
        return update_natively(addr, f);
    }
    let frame = frame();
    let pc = (*frame).pc;
    let op = announce(rt, OpKind::Update, addr as usize, T::LEN, frame, None);
    let old = addr.read_unaligned();
    let new = f(old);
    addr.write_unaligned(new);
    done(rt, op, order, pc, Some(new), old);
    old
}

unsafe extern "C" fn exchange<T: Word>(addr: *mut T, new: T, order: i32) -> T {
    update(addr, order, |_| new)
}

macro_rules! updates {
    ($($name:ident: $f:expr;)*) => {$(
        unsafe extern "C" fn $name<T: Word>(addr: *mut T, by: T, order: i32) -> T {
            let f: fn(u128, u128) -> u128 = $f;
            update(addr, order, |old| T::from_bits(f(old.bits(), by.bits())))
        }
    )*};
}

updates! {
    fetch_add: u128::wrapping_add;
    fetch_sub: u128::wrapping_sub;
    fetch_and: |a, b| a & b;
    fetch_or: |a, b| a | b;
    fetch_xor: |a, b| a ^ b;
    fetch_nand: |a, b| !(a & b);
}

unsafe extern "C" fn compare_value<T: Word>(addr: *mut T, expected: T, new: T, order: i32) -> T {
    let rt = live();
    if rt.is_null() {
        return T::exchange(addr, expected, new);
    }
    let frame = frame();
    let pc = (*frame).pc;
    let varying = Some(Varying::Exchange(addr as usize, T::LEN, expected.bits()));
    let op = announce(rt, OpKind::Update, addr as usize, T::LEN, frame, varying);
    let old = addr.read_unaligned();
    if old == expected {
        addr.write_unaligned(new);
        done(rt, op, order, pc, Some(new), old);
    } else {
        done(rt, Op { kind: OpKind::Compare, ..op }, order, pc, None, old);
    }
    old
}

unsafe extern "C" fn compare<T: Word>(addr: *mut T, expected: *mut T, new: T, order: i32) -> bool {
    let want = expected.read_unaligned();
    let old = compare_value(addr, want, new, order);
    if old != want {
        expected.write_unaligned(old);
    }
    old == want
}

/// An atomic update that the program does itself when this returns.
pub unsafe fn update_follows(addr: usize, len: u32) {
    let rt = live();
    if rt.is_null() {
        return;
    }
    let frame = frame();
    let pc = (*frame).pc;
    let op = announce(rt, OpKind::Update, addr, len, frame, None);
    if !(*rt).alone || Shadow::is_shared(addr, len as usize) {
        let old = crate::access::plain::value(addr, len);
        let me = (*rt).current;
        let pending = Pending { op, order: Order::Strong, pc, old, buffered: false };
        (&mut (*rt).threads)[me].pending = Some(pending);
    }
}

/// Atomic operations on objects of any size.
unsafe fn object(addr: usize, len: usize, kind: OpKind, order: i32, f: impl FnOnce() -> OpKind) {
    let rt = live();
    if rt.is_null() {
        // As libatomic does it: one at a time.
        static TAKEN: AtomicU8 = AtomicU8::new(0);
        while TAKEN.swap(1, SeqCst) != 0 {
            core::hint::spin_loop();
        }
        f();
        return TAKEN.store(0, SeqCst);
    }
    let frame = frame();
    let pc = (*frame).pc;
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    // A store of many bytes is in memory at once.
    let waits = (*rt).buffered && kind == OpKind::Write;
    let announced = if waits { OpKind::Update } else { kind };
    let op = announce(rt, announced, addr, len, frame, None);
    let old = crate::access::plain::value(addr, len);
    let op = Op { kind: f(), ..op };
    let new = crate::access::plain::value(addr, len);
    let me = (*rt).current;
    if new != old {
        changed(rt, me);
    }
    let was = (op.kind == OpKind::Update).then_some(old);
    happened(rt, me, op, Order::of(order), pc, Some(new), was);
}

unsafe extern "C" fn object_load(len: usize, addr: *const u8, to: *mut u8, order: i32) {
    object(addr as usize, len, OpKind::Read, order, || {
        addr.copy_to(to, len);
        OpKind::Read
    });
}

unsafe extern "C" fn object_store(len: usize, addr: *mut u8, from: *const u8, order: i32) {
    object(addr as usize, len, OpKind::Write, order, || {
        from.copy_to(addr, len);
        OpKind::Write
    });
}

unsafe extern "C" fn object_exchange(
    len: usize,
    addr: *mut u8,
    from: *const u8,
    to: *mut u8,
    order: i32,
) {
    object(addr as usize, len, OpKind::Update, order, || {
        addr.copy_to(to, len);
        from.copy_to(addr, len);
        OpKind::Update
    });
}

unsafe extern "C" fn object_compare(
    len: usize,
    addr: *mut u8,
    expected: *mut u8,
    new: *const u8,
    order: i32,
) -> bool {
    let mut equal = false;
    object(addr as usize, len, OpKind::Update, order, || {
        let bytes = |at: *const u8| core::slice::from_raw_parts(at, len);
        equal = bytes(addr) == bytes(expected);
        if equal {
            new.copy_to(addr, len);
            OpKind::Update
        } else {
            addr.copy_to(expected, len);
            OpKind::Compare
        }
    });
    equal
}

/// A fence: full, or between stores, or nothing that TSO and PSO would know.
unsafe extern "C" fn thread_fence(order: i32) {
    let rt = live();
    if rt.is_null() {
        fence(SeqCst);
        return;
    }
    let pc = (*frame()).pc;
    let kind = match Order::of(order) {
        Order::Strong => OpKind::Fence,
        Order::Release | Order::AcquireRelease => OpKind::StoreFence,
        _ => return,
    };
    full(rt, Op::plain(kind), Order::of(order), pc);
}

unsafe fn full(rt: *mut Runtime, op: Op, order: Order, pc: usize) {
    step(rt, op);
    let me = (*rt).current;
    if op.kind == OpKind::StoreFence {
        (&mut (*rt).threads)[me].buffer.fence();
    }
    happened(rt, me, op, order, pc, None, None);
}

unsafe extern "C" fn signal_fence(_order: i32) {
    compiler_fence(SeqCst);
}

/// A fence that the compiler wrapper found in inline assembly: 0 for a full one, 1 for one between
/// stores.
unsafe extern "C" fn assembly_fence(kind: i32) {
    let rt = live();
    if !rt.is_null() {
        let kind = if kind == 0 { OpKind::Fence } else { OpKind::StoreFence };
        let pc = (*frame()).pc;
        full(rt, Op::plain(kind), Order::Strong, pc);
    }
}

entry! {
    __tsan_atomic_thread_fence => thread_fence;
    __tsan_atomic_signal_fence => signal_fence;
    weakspot_fence => assembly_fence;
    __atomic_load => object_load;
    __atomic_store => object_store;
    __atomic_exchange => object_exchange;
    __atomic_compare_exchange => object_compare;
    __tsan_atomic8_load => load::<u8>;
    __tsan_atomic8_store => store::<u8>;
    __tsan_atomic8_exchange => exchange::<u8>;
    __tsan_atomic8_fetch_add => fetch_add::<u8>;
    __tsan_atomic8_fetch_sub => fetch_sub::<u8>;
    __tsan_atomic8_fetch_and => fetch_and::<u8>;
    __tsan_atomic8_fetch_or => fetch_or::<u8>;
    __tsan_atomic8_fetch_xor => fetch_xor::<u8>;
    __tsan_atomic8_fetch_nand => fetch_nand::<u8>;
    __tsan_atomic8_compare_exchange_strong => compare::<u8>;
    __tsan_atomic8_compare_exchange_weak => compare::<u8>;
    __tsan_atomic8_compare_exchange_val => compare_value::<u8>;
    __tsan_atomic16_load => load::<u16>;
    __tsan_atomic16_store => store::<u16>;
    __tsan_atomic16_exchange => exchange::<u16>;
    __tsan_atomic16_fetch_add => fetch_add::<u16>;
    __tsan_atomic16_fetch_sub => fetch_sub::<u16>;
    __tsan_atomic16_fetch_and => fetch_and::<u16>;
    __tsan_atomic16_fetch_or => fetch_or::<u16>;
    __tsan_atomic16_fetch_xor => fetch_xor::<u16>;
    __tsan_atomic16_fetch_nand => fetch_nand::<u16>;
    __tsan_atomic16_compare_exchange_strong => compare::<u16>;
    __tsan_atomic16_compare_exchange_weak => compare::<u16>;
    __tsan_atomic16_compare_exchange_val => compare_value::<u16>;
    __tsan_atomic32_load => load::<u32>;
    __tsan_atomic32_store => store::<u32>;
    __tsan_atomic32_exchange => exchange::<u32>;
    __tsan_atomic32_fetch_add => fetch_add::<u32>;
    __tsan_atomic32_fetch_sub => fetch_sub::<u32>;
    __tsan_atomic32_fetch_and => fetch_and::<u32>;
    __tsan_atomic32_fetch_or => fetch_or::<u32>;
    __tsan_atomic32_fetch_xor => fetch_xor::<u32>;
    __tsan_atomic32_fetch_nand => fetch_nand::<u32>;
    __tsan_atomic32_compare_exchange_strong => compare::<u32>;
    __tsan_atomic32_compare_exchange_weak => compare::<u32>;
    __tsan_atomic32_compare_exchange_val => compare_value::<u32>;
    __tsan_atomic64_load => load::<u64>;
    __tsan_atomic64_store => store::<u64>;
    __tsan_atomic64_exchange => exchange::<u64>;
    __tsan_atomic64_fetch_add => fetch_add::<u64>;
    __tsan_atomic64_fetch_sub => fetch_sub::<u64>;
    __tsan_atomic64_fetch_and => fetch_and::<u64>;
    __tsan_atomic64_fetch_or => fetch_or::<u64>;
    __tsan_atomic64_fetch_xor => fetch_xor::<u64>;
    __tsan_atomic64_fetch_nand => fetch_nand::<u64>;
    __tsan_atomic64_compare_exchange_strong => compare::<u64>;
    __tsan_atomic64_compare_exchange_weak => compare::<u64>;
    __tsan_atomic64_compare_exchange_val => compare_value::<u64>;
    __tsan_atomic128_load => load::<u128>;
    __tsan_atomic128_store => store::<u128>;
    __tsan_atomic128_exchange => exchange::<u128>;
    __tsan_atomic128_fetch_add => fetch_add::<u128>;
    __tsan_atomic128_fetch_sub => fetch_sub::<u128>;
    __tsan_atomic128_fetch_and => fetch_and::<u128>;
    __tsan_atomic128_fetch_or => fetch_or::<u128>;
    __tsan_atomic128_fetch_xor => fetch_xor::<u128>;
    __tsan_atomic128_fetch_nand => fetch_nand::<u128>;
    __tsan_atomic128_compare_exchange_strong => compare::<u128>;
    __tsan_atomic128_compare_exchange_weak => compare::<u128>;
    __tsan_atomic128_compare_exchange_val => compare_value::<u128>;
}
