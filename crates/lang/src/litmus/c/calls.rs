//! The functions that a test may call, and what they are on a machine. The table for users is in
//! `docs/reference/litmus-c.md`.

use weakspot_core::{BinOp, Fence};

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Reads a place.
    Load { place: Place, order: Order },
    /// Writes a place.
    Store { place: Place, order: Order },
    /// A fence, or nothing on these machines.
    Fence(Option<Fence>),
    /// The fence of C11, whose order is its argument.
    ThreadFence,
    /// Combines what is at a pointer with an operand; the operand is 1 if there is `none` in the call.
    Update { op: Combine, operand: Operand, result: Outcome },
    /// `xchg(p, new)`.
    Exchange,
    /// `cmpxchg(p, old, new)`, the old value.
    CompareExchange,
    /// `try_cmpxchg(p, &old, new)`, whether it was done; else `old` is what was there.
    TryExchange,
    /// Adds unless there is a certain value; the result is whether it was done, or the old value.
    AddUnless { fixed: Option<(i64, i64)>, old: bool },
    /// Takes a lock, waiting for it.
    Lock,
    /// Frees a lock.
    Unlock,
    /// Takes a lock if it is free; the result is whether it was.
    TryLock,
    /// Whether a lock is taken.
    IsLocked,
    /// The value of its argument, such as `likely(c)`.
    Same,
}

/// How a place is named in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// As itself, `READ_ONCE(*x)`.
    Itself,
    /// By its address, `smp_load_acquire(x)`.
    Pointer,
}

/// The order of an access, as far as the three machines can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// No order of its own.
    Relaxed,
    /// Stores before it stay before it.
    Release,
    /// It is in memory before anything later is done.
    Full,
    /// As the argument of the call says; sequentially consistent if there is none.
    Argument,
}

/// What an update stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// Old value, operator, operand.
    With(BinOp),
    /// Old value and not operand.
    AndNot,
}

/// Where the operand of an update stands in the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// It is 1, and the pointer is the only argument.
    One,
    /// Before the pointer or behind it: the kernel and C11 differ.
    Either,
}

/// What an update gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The value before, or nothing.
    Old,
    /// The value after.
    New,
    /// Whether the value after is 0.
    IsZero,
    /// Whether the value after is negative.
    IsNegative,
}

/// Functions whose meaning is one entry of a table.
const PLAIN: [(&str, Call); 43] = {
    use Call::{Fence as F, Load as L, Store as S};
    use Order::{Argument, Full, Relaxed, Release};
    use Place::{Itself, Pointer};
    [
        ("READ_ONCE", L { place: Itself, order: Relaxed }),
        ("ACCESS_ONCE", L { place: Itself, order: Relaxed }),
        ("rcu_dereference", L { place: Itself, order: Relaxed }),
        ("rcu_dereference_raw", L { place: Itself, order: Relaxed }),
        ("lockless_dereference", L { place: Itself, order: Relaxed }),
        ("smp_load_acquire", L { place: Pointer, order: Relaxed }),
        ("atomic_read", L { place: Pointer, order: Relaxed }),
        ("atomic_read_acquire", L { place: Pointer, order: Relaxed }),
        ("atomic_load", L { place: Pointer, order: Argument }),
        ("WRITE_ONCE", S { place: Itself, order: Relaxed }),
        ("rcu_assign_pointer", S { place: Itself, order: Release }),
        ("smp_store_release", S { place: Pointer, order: Release }),
        ("smp_store_mb", S { place: Itself, order: Full }),
        ("set_mb", S { place: Itself, order: Full }),
        ("atomic_set", S { place: Pointer, order: Relaxed }),
        ("atomic_set_release", S { place: Pointer, order: Release }),
        ("atomic_init", S { place: Pointer, order: Relaxed }),
        ("atomic_store", S { place: Pointer, order: Argument }),
        ("smp_mb", F(Some(Fence::Full))),
        ("mb", F(Some(Fence::Full))),
        ("__sync_synchronize", F(Some(Fence::Full))),
        ("smp_wmb", F(Some(Fence::StoreStore))),
        ("wmb", F(Some(Fence::StoreStore))),
        ("smp_rmb", F(None)),
        ("rmb", F(None)),
        ("barrier", F(None)),
        ("smp_read_barrier_depends", F(None)),
        ("smp_acquire__after_ctrl_dep", F(None)),
        ("smp_mb__before_atomic", F(None)),
        ("smp_mb__after_atomic", F(None)),
        ("smp_mb__before_spinlock", F(None)),
        ("smp_mb__after_spinlock", F(None)),
        ("smp_mb__after_unlock_lock", F(None)),
        ("cpu_relax", F(None)),
        ("atomic_thread_fence", Call::ThreadFence),
        ("atomic_signal_fence", F(None)),
        ("spin_lock", Call::Lock),
        ("spin_unlock", Call::Unlock),
        ("spin_trylock", Call::TryLock),
        ("spin_is_locked", Call::IsLocked),
        ("likely", Call::Same),
        ("unlikely", Call::Same),
        ("rcu_access_pointer", L { place: Itself, order: Relaxed }),
    ]
};

/// What the function called `name` does; `None` if it is not known.
pub(super) fn decode(name: &str) -> Option<Call> {
    let kernel = normal(name);
    let name = kernel.as_str();
    if let Some((_, call)) = PLAIN.iter().find(|(n, _)| *n == name) {
        return Some(*call);
    }
    // The orders of read-modify-writes make no difference: each is a locked instruction.
    let name = name.strip_suffix("_explicit").unwrap_or(name);
    if let Some((_, call)) = PLAIN.iter().find(|(n, _)| *n == name && name.starts_with("atomic_")) {
        return Some(*call);
    }
    let base = ["_relaxed", "_acquire", "_release"]
        .iter()
        .find_map(|order| name.strip_suffix(order))
        .unwrap_or(name);
    match base {
        "xchg" | "atomic_xchg" | "atomic_exchange" => return Some(Call::Exchange),
        "cmpxchg" | "atomic_cmpxchg" => return Some(Call::CompareExchange),
        "try_cmpxchg"
        | "atomic_try_cmpxchg"
        | "atomic_compare_exchange_strong"
        | "atomic_compare_exchange_weak" => return Some(Call::TryExchange),
        "atomic_add_unless" => return Some(Call::AddUnless { fixed: None, old: false }),
        "atomic_fetch_add_unless" | "__atomic_add_unless" => {
            return Some(Call::AddUnless { fixed: None, old: true });
        }
        "atomic_inc_not_zero" => return Some(Call::AddUnless { fixed: Some((1, 0)), old: false }),
        _ => {}
    }
    let rest = base.strip_prefix("atomic_")?;
    let (rest, result) = if let Some(rest) = rest.strip_prefix("fetch_") {
        (rest, Outcome::Old)
    } else if let Some(rest) = rest.strip_suffix("_return") {
        (rest, Outcome::New)
    } else if let Some(rest) = rest.strip_suffix("_and_test") {
        (rest, Outcome::IsZero)
    } else if let Some(rest) = rest.strip_suffix("_negative") {
        (rest, Outcome::IsNegative)
    } else {
        (rest, Outcome::Old)
    };
    let (op, operand) = match rest {
        "inc" => (Combine::With(BinOp::Add), Operand::One),
        "dec" => (Combine::With(BinOp::Sub), Operand::One),
        "add" => (Combine::With(BinOp::Add), Operand::Either),
        "sub" => (Combine::With(BinOp::Sub), Operand::Either),
        "and" => (Combine::With(BinOp::BitAnd), Operand::Either),
        "or" => (Combine::With(BinOp::BitOr), Operand::Either),
        "xor" => (Combine::With(BinOp::BitXor), Operand::Either),
        "andnot" => (Combine::AndNot, Operand::Either),
        _ => return None,
    };
    Some(Call::Update { op, operand, result })
}

/// What an order of C11, or of the compilers that have it, is on these machines.
pub(crate) fn order_named(name: &str) -> Option<Order> {
    let compilers = name.strip_prefix("__ATOMIC_").map(str::to_ascii_lowercase);
    let name = name.strip_prefix("memory_order_").unwrap_or(name);
    match compilers.as_deref().unwrap_or(name) {
        "relaxed" | "consume" | "acquire" => Some(Order::Relaxed),
        "release" | "acq_rel" => Some(Order::Release),
        "seq_cst" => Some(Order::Full),
        _ => None,
    }
}

/// The name without what does not matter: the width of the atomic and the raw variants.
fn normal(name: &str) -> String {
    for (prefix, plain) in
        [("raw_atomic_", "atomic_"), ("atomic64_", "atomic_"), ("atomic_long_", "atomic_")]
    {
        if let Some(rest) = name.strip_prefix(prefix) {
            return format!("{plain}{rest}");
        }
    }
    name.to_owned()
}

/// Why a function that people know is refused.
pub(super) fn refused(name: &str) -> Option<&'static str> {
    let rcu = name.contains("rcu")
        || matches!(name, "synchronize_sched" | "call_rcu" | "kfree" | "kfree_rcu");
    if rcu {
        return Some("read-copy-update is a protocol of the kernel, not an instruction");
    }
    if name.contains("memb") {
        return Some("barriers that reach into other threads are no instructions");
    }
    if matches!(name, "spin_unlock_wait" | "down_read" | "up_read" | "down_write" | "up_write") {
        return Some("of locks, spin_lock, spin_unlock, spin_trylock and spin_is_locked are");
    }
    None
}

/// Names for suggestions.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    let more = [
        "xchg",
        "cmpxchg",
        "atomic_add",
        "atomic_inc",
        "atomic_dec",
        "atomic_add_return",
        "atomic_fetch_add",
        "atomic_dec_and_test",
        "atomic_load_explicit",
        "atomic_store_explicit",
        "atomic_exchange_explicit",
        "atomic_compare_exchange_strong_explicit",
        "atomic_fetch_add_explicit",
    ];
    PLAIN.iter().map(|(name, _)| *name).chain(more)
}
