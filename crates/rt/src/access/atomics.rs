//! Atomic operations, which the library does itself: natively while the program runs on its own,
//! and as single steps of its thread under control, where plain loads and stores do, because there
//! is one thread of the system.

use core::arch::asm;
use core::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst, compiler_fence, fence,
};

use weakspot_core::Model;
use weakspot_live::{Op, OpKind, Order, Sync};

use crate::access::pending::{Pending, settle};
use crate::access::plain::read_step;
use crate::entry::frame::{Call, entry, latest};
use crate::entry::guest::{Area, Guest};
use crate::execution::monitors::Event;
use crate::memory::check::check;
use crate::memory::errors::Use;
use crate::schedule::threads::Varying;
use crate::schedule::turns::{step, store_step};
use crate::sync::words::{
    WRITER_WAITS, turn_to_free, turn_to_free_mutex, wait_for_mutex, wait_to_read, wait_to_write,
};
use crate::{Rt, Runtime};

/// An integer that operations are done on.
trait Word: Copy + PartialEq {
    /// Its bits.
    fn bits(self) -> u128;
    /// The word with these bits.
    fn from_bits(bits: u128) -> Self;
    /// Compares and exchanges, for real; what was there.
    fn exchange(word: Guest<Self>, expected: Self, new: Self) -> Self;
}

macro_rules! words {
    ($($t:ty, $atomic:ty;)*) => {$(
        impl Word for $t {
            fn bits(self) -> u128 {
                self.into()
            }
            fn from_bits(bits: u128) -> $t {
                bits as $t
            }
            fn exchange(word: Guest<$t>, expected: $t, new: $t) -> $t {
                // SAFETY: the program says that it has an atomic variable there.
                let word = unsafe { <$atomic>::from_ptr(word.pointer()) };
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
    fn bits(self) -> u128 {
        self
    }
    fn from_bits(bits: u128) -> u128 {
        bits
    }
    fn exchange(word: Guest<u128>, expected: u128, new: u128) -> u128 {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        // rbx belongs to the compiler, so the low half of the new value gets there by exchange. The others are named: any
        // other could be rbx.
        // SAFETY: the program says that it has an atomic variable there; rbx is put back.
        unsafe {
            asm!(
                "xchg rbx, rsi",
                "lock cmpxchg16b [rdi]",
                "mov rbx, rsi",
                in("rdi") word.pointer(),
                inout("rsi") new as u64 => _,
                in("rcx") (new >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack),
            );
        }
        let _ = (&mut low, &mut high);
        u128::from(high) << 64 | u128::from(low)
    }
}

/// The order that a compiler passes as this number.
fn order_of(number: i32) -> Order {
    match number & 0x7fff {
        0 => Order::Relaxed,
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcqRel,
        _ => Order::SeqCst,
    }
}

/// Announces an atomic operation; returns when it may be done. It is a scheduling point even for
/// bytes of one thread: it empties the thread's store buffer, which others may notice.
fn announce(rt: &mut Rt, kind: OpKind, area: Area, call: Call, varying: Option<Varying>) {
    rt.touch_by_step(area, kind != OpKind::Read);
    read_step(rt, area, area.op(kind), call, varying);
    check(rt, area, Use::of(kind != OpKind::Read), call.pc());
}

/// Updates of Rust's standard library of which it is known what they are there for.
#[derive(Clone, Copy)]
enum Known {
    /// A mutex is freed, or taken.
    Mutex,
    /// A read-write lock is freed, or taken.
    RwLock,
    /// A count of which only the last update is noticed.
    Count,
}

/// What an update does to a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// It becomes larger.
    Add,
    /// It becomes smaller.
    Subtract,
    /// Either, and the result is not used.
    Unused,
    /// Anything else.
    Other,
}

/// What an addition is to others that may be exchanged with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Addition {
    /// Nothing.
    None,
    /// Its result is not used.
    Unused,
    /// A reference is taken.
    Taken,
    /// A reference is dropped: whether it is the last matters.
    Dropped,
}

impl Addition {
    fn at(rt: &Rt, pc: usize, change: Change) -> Addition {
        if change == Change::Other || !rt.lets_steps_commute() {
            return Addition::None;
        }
        match change {
            Change::Unused => Addition::Unused,
            _ if rt.unused.hold(pc) => Addition::Unused,
            _ if !rt.lets_counts_commute() || !rt.references.hold(pc) => Addition::None,
            Change::Add => Addition::Taken,
            _ => Addition::Dropped,
        }
    }

    /// On what the kind of the step depends.
    fn varying(self, area: Area) -> Option<Varying> {
        (self == Addition::Dropped).then_some(Varying::Known(drops, area.addr()))
    }

    fn kind(self, rt: &Rt, area: Area) -> OpKind {
        match self {
            Addition::None => OpKind::Update,
            Addition::Unused | Addition::Taken => OpKind::Add,
            Addition::Dropped => drops(rt, area.addr()),
        }
    }
}

/// What it is to drop a reference that is counted in the word there.
fn drops(_rt: &Runtime, count: usize) -> OpKind {
    // SAFETY: the program is about to update the word.
    let count: Guest<usize> = unsafe { Guest::at(count) };
    if count.get() == 1 { OpKind::Update } else { OpKind::Add }
}

impl Known {
    /// What frees something, or is a lock that both takes and frees.
    fn at(rt: &Rt, pc: usize) -> Option<Known> {
        match () {
            () if rt.unlocks.hold(pc) => Some(Known::Mutex),
            () if rt.rwlocks.hold(pc) => Some(Known::RwLock),
            () if rt.counts.hold(pc) => Some(Known::Count),
            () => None,
        }
    }
}

/// Reports what was done: `new` is what was written, if anything was.
fn done<T: Word>(rt: &mut Rt, op: (OpKind, Area), order: i32, pc: usize, new: Option<T>, old: T) {
    let noticed = !rt.threads.alone() || rt.shadow.is_shared(op.1);
    if noticed && new.is_some_and(|new| new != old) {
        rt.threads.me_mut().spin.stored();
    }
    record(rt, op, order, pc, new, old);
}

/// The same for a mutex.
fn record<T: Word>(rt: &mut Rt, op: (OpKind, Area), order: i32, pc: usize, new: Option<T>, old: T) {
    let (kind, area) = op;
    let undone = &mut rt.threads.me_mut().spin.undone;
    match new {
        Some(new) => undone.changed(area, old.bits() as u64, new.bits() as u64),
        None => undone.nothing(),
    }
    if rt.threads.alone() && !rt.shadow.is_shared(area) {
        return;
    }
    let seen = old.bits() as u64;
    let (value, old) = match new {
        Some(new) => (new.bits() as u64, Some(seen)),
        None => (seen, None),
    };
    rt.record(Event::new(area.op(kind), order_of(order), pc).with(value, old));
}

extern "C" fn load<T: Word>(word: Guest<T>, order: i32) -> T {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else {
        let zero = T::from_bits(0);
        if size_of::<T>() == 16 {
            return T::exchange(word, zero, zero);
        }
        // SAFETY: the program says that it has an atomic variable there, of a size that processors
        // read in one piece.
        return unsafe { word.pointer().read_volatile() };
    };
    let call = rt.call();
    if rt.rwlocks.hold(call.pc()) {
        rt.touch_by_step(word.area(), true);
        wait_to_read(&mut rt, word.area(), call);
        check(&mut rt, word.area(), Use::Read, call.pc());
        return word.get();
    }
    announce(&mut rt, OpKind::Read, word.area(), call, None);
    let seen = word.get();
    done(&mut rt, (OpKind::Read, word.area()), order, call.pc(), None, seen);
    if rt.tries.hold(call.pc()) && rt.owners.is_wanted(word.addr()) {
        rt.threads.me_mut().spin.sees_writer(word.addr());
        return T::from_bits(seen.bits() | WRITER_WAITS);
    }
    seen
}

/// A store. What its order demands is left to the monitors, unless stores are buffered now.
extern "C" fn store<T: Word>(word: Guest<T>, new: T, order: i32) {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else {
        update_natively(word, |_| new);
        return;
    };
    let rt = &mut rt;
    let pc = rt.pc();
    let area = word.area();
    rt.touch_by_step(area, true);
    let strength = order_of(order);
    let buffers = rt.stores_are_buffered();
    match strength {
        // It waits for those before it, and nothing of its thread comes before it is in memory.
        Order::SeqCst if buffers => step(rt, area.op(OpKind::Update)),
        Order::Release | Order::AcqRel if buffers && rt.config.under != Model::Tso => {
            full(rt, OpKind::StoreFence, strength, pc);
            store_step(rt, area, pc);
        }
        _ => store_step(rt, area, pc),
    }
    check(rt, area, Use::Write, pc);
    let old = word.get();
    let buffered = strength != Order::SeqCst && rt.buffer(area, strength, pc);
    word.set(new);
    if buffered {
        rt.threads.me_mut().buffer.settle();
    }
    done(rt, (OpKind::Write, area), order, pc, Some(new), old);
}

fn update_natively<T: Word>(word: Guest<T>, f: impl Fn(T) -> T) -> T {
    let mut seen = word.get();
    loop {
        let old = T::exchange(word, seen, f(seen));
        if old == seen {
            return old;
        }
        seen = old;
    }
}

fn update<T: Word>(word: Guest<T>, order: i32, change: Change, f: impl Fn(T) -> T) -> T {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { return update_natively(word, f) };
    let call = rt.call();
    let known = Known::at(&rt, call.pc());
    let addition = match known {
        Some(_) => Addition::None,
        None => Addition::at(&rt, call.pc(), change),
    };
    if known.is_some() {
        rt.touch_by_step(word.area(), true);
    }
    match known {
        Some(Known::Mutex) => turn_to_free_mutex(&mut rt, word.area()),
        Some(Known::RwLock) => turn_to_free(&mut rt, word.area()),
        // Nobody notices in which order.
        Some(Known::Count) => {}
        None => {
            let area = word.area();
            if rt.parks.hold(call.pc()) {
                rt.words.add_parker(area.addr());
            }
            let kind = if addition == Addition::None { OpKind::Update } else { OpKind::Add };
            let varying = addition.varying(area).or_else(|| rt.waking(area));
            announce(&mut rt, kind, area, call, varying);
            rt.updated_word(area);
        }
    }
    if known.is_some() {
        check(&mut rt, word.area(), Use::Write, call.pc());
    }
    let kind = addition.kind(&rt, word.area());
    let old = word.get();
    let new = f(old);
    word.set(new);
    if kind == OpKind::Add && addition != Addition::Unused {
        let (before, taken) = (old.bits() as u64, addition == Addition::Taken);
        if !rt.threads.alone() || rt.shadow.is_shared(word.area()) {
            let spin = &mut rt.threads.me_mut().spin;
            spin.stored();
            spin.undone.changed(word.area(), before, new.bits() as u64);
            let event = Event::new(word.area().op(kind), order_of(order), call.pc());
            let event = event.with(new.bits() as u64, Some(before));
            rt.record(event.orders(Sync::Count { before, taken }));
        }
        return old;
    }
    let report = if known.is_some() { record } else { done };
    report(&mut rt, (kind, word.area()), order, call.pc(), Some(new), old);
    old
}

extern "C" fn exchange<T: Word>(word: Guest<T>, new: T, order: i32) -> T {
    update(word, order, Change::Other, |_| new)
}

macro_rules! updates {
    ($($name:ident, $change:ident: $f:expr;)*) => {$(
        extern "C" fn $name<T: Word>(word: Guest<T>, by: T, order: i32) -> T {
            let f: fn(u128, u128) -> u128 = $f;
            update(word, order, Change::$change, |old| T::from_bits(f(old.bits(), by.bits())))
        }
    )*};
}

updates! {
    fetch_add, Add: u128::wrapping_add;
    fetch_sub, Subtract: u128::wrapping_sub;
    add, Unused: u128::wrapping_add;
    subtract, Unused: u128::wrapping_sub;
    fetch_and, Other: |a, b| a & b;
    fetch_or, Other: |a, b| a | b;
    fetch_xor, Other: |a, b| a ^ b;
    fetch_nand, Other: |a, b| !(a & b);
}

/// Compares and swaps with these orders: of the update, and of the load if it fails.
fn compare_and_swap<T: Word>(
    word: Guest<T>,
    expected: T,
    new: T,
    (order, failed): (i32, i32),
) -> T {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { return T::exchange(word, expected, new) };
    let call = rt.call();
    let area = word.area();
    let reads = rt.owners.reading.take() == Some(area.addr());
    let known = match Known::at(&rt, call.pc()) {
        known @ Some(Known::RwLock) if reads || expected.bits() == 0 => known,
        _ if rt.locks.hold(call.pc()) && expected.bits() == 0 => Some(Known::Mutex),
        _ => None,
    };
    if known.is_some() {
        rt.touch_by_step(area, true);
    }
    match known {
        Some(Known::Mutex) => wait_for_mutex(&mut rt, area, Some(call)),
        Some(Known::RwLock) if !reads => wait_to_write(&mut rt, area, Some(call)),
        _ => {}
    }
    if known.is_some() {
        check(&mut rt, area, Use::Write, call.pc());
    } else {
        let varying = Some(Varying::Exchange(area, expected.bits()));
        announce(&mut rt, OpKind::Update, area, call, varying);
        // Who takes a mutex by trying is not told apart from other updates.
        rt.owners.free(area.addr());
    }
    let old = word.get();
    if old == expected {
        word.set(new);
        let report = if known.is_some() { record } else { done };
        report(&mut rt, (OpKind::Update, area), order, call.pc(), Some(new), old);
    } else {
        done(&mut rt, (OpKind::Compare, area), failed, call.pc(), None, old);
    }
    old
}

extern "C" fn compare_value<T: Word>(
    word: Guest<T>,
    expected: T,
    new: T,
    order: i32,
    failed: i32,
) -> T {
    compare_and_swap(word, expected, new, (order, failed))
}

/// The same, for two values of two registers each: there is none left for the last argument.
extern "C" fn compare_value_128(word: Guest<u128>, expected: u128, new: u128, order: i32) -> u128 {
    // SAFETY: the program passes seven words, the last of which is on its stack.
    let failed = unsafe { latest().stack_argument(0) } as i32;
    compare_and_swap(word, expected, new, (order, failed))
}

extern "C" fn compare<T: Word>(
    word: Guest<T>,
    expected: Guest<T>,
    new: T,
    order: i32,
    failed: i32,
) -> bool {
    let want = expected.get();
    let old = compare_and_swap(word, want, new, (order, failed));
    if old != want {
        expected.set(old);
    }
    old == want
}

/// An atomic update that the program does itself when this returns.
pub fn update_follows(rt: &mut Rt, area: Area) {
    let call = rt.call();
    announce(rt, OpKind::Update, area, call, None);
    if !rt.threads.alone() || rt.shadow.is_shared(area) {
        let (pc, old) = (call.pc(), area.value());
        let order = Order::SeqCst;
        // It is in assembly.
        let sync = Sync::Volatile;
        let pending = Pending { area, update: true, order, pc, old, sync, buffered: false };
        rt.threads.me_mut().pending = Some(pending);
    }
}

/// An atomic operation on an object of any size.
fn object(
    addr: Guest<u8>,
    len: usize,
    kind: OpKind,
    (order, failed): (i32, i32),
    f: impl FnOnce() -> OpKind,
) {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else {
        // As libatomic does it: one at a time.
        static TAKEN: AtomicU8 = AtomicU8::new(0);
        while TAKEN.swap(1, SeqCst) != 0 {
            core::hint::spin_loop();
        }
        f();
        return TAKEN.store(0, SeqCst);
    };
    let rt = &mut rt;
    let call = rt.call();
    // SAFETY: the program says that it has an object of this size there.
    let area = unsafe { Area::at(addr.addr(), len) };
    // A store of many bytes is in memory at once.
    let waits = rt.scheduler.buffered() && kind == OpKind::Write;
    let announced = if waits { OpKind::Update } else { kind };
    announce(rt, announced, area, call, None);
    let old = area.value();
    let kind = f();
    let new = area.value();
    if new != old {
        rt.threads.me_mut().spin.changed();
    }
    let old = (kind == OpKind::Update).then_some(old);
    let order = if kind == OpKind::Compare { failed } else { order };
    rt.record(Event::new(area.op(kind), order_of(order), call.pc()).with(new, old));
}

/// Copies an object.
fn copy(to: Guest<u8>, from: Guest<u8>, len: usize) {
    // SAFETY: the program says that there are objects of this size at both addresses.
    unsafe { from.pointer().copy_to(to.pointer(), len) };
}

extern "C" fn object_load(len: usize, addr: Guest<u8>, to: Guest<u8>, order: i32) {
    object(addr, len, OpKind::Read, (order, order), || {
        copy(to, addr, len);
        OpKind::Read
    });
}

extern "C" fn object_store(len: usize, addr: Guest<u8>, from: Guest<u8>, order: i32) {
    object(addr, len, OpKind::Write, (order, order), || {
        copy(addr, from, len);
        OpKind::Write
    });
}

extern "C" fn object_exchange(
    len: usize,
    addr: Guest<u8>,
    from: Guest<u8>,
    to: Guest<u8>,
    order: i32,
) {
    object(addr, len, OpKind::Update, (order, order), || {
        copy(to, addr, len);
        copy(addr, from, len);
        OpKind::Update
    });
}

extern "C" fn object_compare(
    len: usize,
    addr: Guest<u8>,
    expected: Guest<u8>,
    new: Guest<u8>,
    order: i32,
    failed: i32,
) -> bool {
    let mut equal = false;
    object(addr, len, OpKind::Update, (order, failed), || {
        // SAFETY: the program says that there are objects of this size at both addresses.
        let differ = unsafe { libc::memcmp(addr.pointer().cast(), expected.pointer().cast(), len) };
        equal = differ == 0;
        if equal {
            copy(addr, new, len);
            OpKind::Update
        } else {
            copy(expected, addr, len);
            OpKind::Compare
        }
    });
    equal
}

/// A fence: full, or between stores, or nothing that TSO and PSO would know.
extern "C" fn thread_fence(order: i32) {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::live() }) else { return fence(SeqCst) };
    let kind = match order_of(order) {
        Order::SeqCst => OpKind::Fence,
        Order::Release | Order::AcqRel => OpKind::StoreFence,
        // Who waits for nothing but its own loads takes no step.
        order => {
            settle(&mut rt);
            rt.trace_load_fence(order);
            return rt.fence_for_races(order);
        }
    };
    let pc = rt.pc();
    full(&mut rt, kind, order_of(order), pc);
}

/// A fence of this kind.
pub fn full(rt: &mut Rt, kind: OpKind, order: Order, pc: usize) {
    let op = Op::plain(kind);
    step(rt, op);
    if kind == OpKind::StoreFence {
        rt.threads.me_mut().buffer.fence();
    }
    rt.record(Event::new(op, order, pc));
}

extern "C" fn signal_fence(_order: i32) {
    compiler_fence(SeqCst);
}

/// A fence in inline assembly: 0 a full one, otherwise between stores.
extern "C" fn assembly_fence(kind: i32) {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        let kind = if kind == 0 { OpKind::Fence } else { OpKind::StoreFence };
        let pc = rt.pc();
        full(&mut rt, kind, Order::SeqCst, pc);
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
    __weakspot_atomic8_add => add::<u8>;
    __weakspot_atomic8_sub => subtract::<u8>;
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
    __weakspot_atomic16_add => add::<u16>;
    __weakspot_atomic16_sub => subtract::<u16>;
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
    __weakspot_atomic32_add => add::<u32>;
    __weakspot_atomic32_sub => subtract::<u32>;
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
    __weakspot_atomic64_add => add::<u64>;
    __weakspot_atomic64_sub => subtract::<u64>;
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
    __tsan_atomic128_compare_exchange_val => compare_value_128;
}
