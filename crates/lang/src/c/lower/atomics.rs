//! Atomics of C11 and of the compilers. Orders are those of the machine, as in litmus tests.

use weakspot_core::{BinOp, Expr, Fence, Instr, RegId};

use super::calls::arity;
use super::value::holds;
use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind};
use crate::c::memory::cell;
use crate::c::types::{Type, TypeKind};
use crate::litmus::c::{Order, order_named};

const NOTHING: Typed = (Expr::Const(0), Type::VOID);

/// What a call does. `order` is the number of the argument that is the order; without one the access
/// is sequentially consistent.
enum Call {
    Load,
    Store(Order),
    Exchange,
    /// The result is whether it was done; what is expected is at an address.
    CompareExchange,
    /// The expected value itself is given; the result is whether it was done, or the old value.
    CompareAndSwap {
        old: bool,
    },
    /// The result is the value before, or behind.
    Update {
        op: BinOp,
        old: bool,
    },
    TestAndSet,
    Clear,
    ThreadFence,
    Fence(Option<Fence>),
}

/// What a function does, how many arguments it has and which of them is the order.
fn decode(name: &str) -> Option<(Call, usize, Option<usize>)> {
    match name {
        "__sync_synchronize" | "_mm_mfence" => {
            return Some((Call::Fence(Some(Fence::Full)), 0, None));
        }
        "_mm_sfence" => return Some((Call::Fence(Some(Fence::StoreStore)), 0, None)),
        "_mm_lfence" => return Some((Call::Fence(None), 0, None)),
        "__atomic_signal_fence" | "atomic_signal_fence" => {
            return Some((Call::Fence(None), 1, None));
        }
        "__atomic_thread_fence" | "atomic_thread_fence" => {
            return Some((Call::ThreadFence, 1, Some(0)));
        }
        "atomic_init" => return Some((Call::Store(Order::Relaxed), 2, None)),
        "__sync_lock_release" => return Some((Call::Clear, 1, None)),
        "__sync_lock_test_and_set" => return Some((Call::Exchange, 2, None)),
        "__sync_bool_compare_and_swap" => {
            return Some((Call::CompareAndSwap { old: false }, 3, None));
        }
        "__sync_val_compare_and_swap" => {
            return Some((Call::CompareAndSwap { old: true }, 3, None));
        }
        "__atomic_compare_exchange_n" => return Some((Call::CompareExchange, 6, None)),
        "__atomic_test_and_set" => return Some((Call::TestAndSet, 2, None)),
        "__atomic_clear" => return Some((Call::Clear, 2, Some(1))),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("__sync_") {
        let (word, old) = match rest.strip_prefix("fetch_and_") {
            Some(word) => (word, true),
            None => (rest.strip_suffix("_and_fetch")?, false),
        };
        let op = operation(word)?;
        return Some((Call::Update { op, old }, 2, None));
    }
    if let Some(rest) = name.strip_prefix("__atomic_") {
        match rest {
            "load_n" => return Some((Call::Load, 2, None)),
            "store_n" => return Some((Call::Store(Order::Full), 3, Some(2))),
            "exchange_n" => return Some((Call::Exchange, 3, None)),
            _ => {}
        }
        let (word, old) = match rest.strip_prefix("fetch_") {
            Some(word) => (word, true),
            None => (rest.strip_suffix("_fetch")?, false),
        };
        let op = operation(word)?;
        return Some((Call::Update { op, old }, 3, None));
    }
    let rest = name.strip_prefix("atomic_")?;
    let (rest, more) = match rest.strip_suffix("_explicit") {
        Some(rest) => (rest, 1),
        None => (rest, 0),
    };
    let order = |n: usize| (more == 1).then_some(n);
    Some(match rest {
        "load" => (Call::Load, 1 + more, None),
        "store" => (Call::Store(Order::Full), 2 + more, order(2)),
        "exchange" => (Call::Exchange, 2 + more, None),
        "compare_exchange_strong" | "compare_exchange_weak" => {
            (Call::CompareExchange, 3 + 2 * more, None)
        }
        "flag_test_and_set" => (Call::TestAndSet, 1 + more, None),
        "flag_clear" => (Call::Clear, 1 + more, order(1)),
        _ => {
            let op = operation(rest.strip_prefix("fetch_")?)?;
            (Call::Update { op, old: true }, 2 + more, None)
        }
    })
}

fn operation(word: &str) -> Option<BinOp> {
    Some(match word {
        "add" => BinOp::Add,
        "sub" => BinOp::Sub,
        "or" => BinOp::BitOr,
        "and" => BinOp::BitAnd,
        "xor" => BinOp::BitXor,
        _ => return None,
    })
}

impl Lower<'_> {
    /// Does what a function on atomics does; `None` if it is none.
    pub(super) fn atomic(
        &mut self,
        to: Option<(RegId, &Type)>,
        name: &str,
        args: &[ast::Expr],
        e: &ast::Expr,
    ) -> Lowering<Option<Typed>> {
        let Some((call, count, order)) = decode(name) else { return Ok(None) };
        arity(name, args, count, e)?;
        let order = order.map(|n| memory_order(&args[n])).transpose()?;
        let done = match call {
            Call::Load => {
                let place = self.pointed(&args[0])?;
                self.load(place, to, e)?
            }
            Call::Store(default) => {
                let (place, [right]) = self.place_and_values(name, args)?;
                self.ordered_store(place, right, order.unwrap_or(default));
                NOTHING
            }
            Call::Clear => {
                let place = self.pointed(&args[0])?;
                let default = match name {
                    "__sync_lock_release" => Order::Release,
                    _ => Order::Full,
                };
                let zero = (Expr::Const(0), Type::INT);
                self.ordered_store(place, zero, order.unwrap_or(default));
                NOTHING
            }
            Call::ThreadFence => {
                match order {
                    Some(Order::Relaxed) => self.instr(Instr::Nop),
                    Some(Order::Release) => self.fence(Fence::StoreStore),
                    _ => self.fence(Fence::Full),
                }
                NOTHING
            }
            Call::Fence(None) => {
                self.instr(Instr::Nop);
                NOTHING
            }
            Call::Fence(Some(fence)) => {
                self.fence(fence);
                NOTHING
            }
            Call::Exchange => {
                let (place, [(value, from)]) = self.place_and_values(name, args)?;
                let (addr, ty) = atomic_at(place, &args[0])?;
                let value = self.converted(value, &from, &ty);
                let reg = self.target(to, &ty, &[&value]);
                self.instr(Instr::Update { reg, addr: cell(addr, &ty), value });
                (Expr::Reg(reg), ty)
            }
            Call::TestAndSet => {
                let (addr, ty) = atomic_at(self.pointed(&args[0])?, &args[0])?;
                let reg = self.target(to, &ty, &[]);
                let addr = cell(addr, &ty);
                self.instr(Instr::Update { reg, addr, value: Expr::Const(1) });
                (Expr::Reg(reg), ty)
            }
            Call::Update { op, old } => {
                let (place, [(operand, mut from)]) = self.place_and_values(name, args)?;
                let (addr, ty) = atomic_at(place, &args[0])?;
                if ty.pointee().is_some() {
                    return Err(Diagnostic::new(
                        e.at,
                        "atomic arithmetic on pointers is not supported here",
                        "",
                    ));
                }
                if from.pointee().is_some() {
                    from = Type::SIZE;
                }
                self.update(addr, &ty, op, (operand, from), old)
            }
            Call::CompareAndSwap { old } => {
                let (place, [(expected, own), (new, from)]) = self.place_and_values(name, args)?;
                let (addr, ty) = atomic_at(place, &args[0])?;
                let expected = self.converted(expected, &own, &ty);
                let new = self.converted(new, &from, &ty);
                let reg = self.temp();
                self.compare_exchange(reg, cell(addr, &ty), expected.clone(), new);
                match old {
                    true => (Expr::Reg(reg), ty),
                    false => {
                        let same = Expr::binary(BinOp::Eq, Expr::Reg(reg), expected);
                        (same, Type::INT)
                    }
                }
            }
            Call::CompareExchange => self.expected_exchange(name, args, e)?,
        };
        Ok(Some(done))
    }

    /// The atomic that the first argument points to, and the values of those behind it. C leaves open what comes first:
    /// gcc's own functions take the last one first, and its macros that stand for C11's the place.
    fn place_and_values<const N: usize>(
        &mut self,
        name: &str,
        args: &[ast::Expr],
    ) -> Lowering<(Place, [Typed; N])> {
        let mut place = None;
        if is_macro(name) {
            place = Some(self.pointed(&args[0])?);
        }
        let mut values: [Typed; N] = std::array::from_fn(|_| NOTHING);
        for i in 0..N {
            let i = if is_macro(name) { i } else { N - 1 - i };
            values[i] = self.value(&args[1 + i])?;
        }
        let place = match place {
            Some(place) => place,
            None => self.pointed(&args[0])?,
        };
        Ok((place, values))
    }

    /// The register for the old value of an update whose new value is made of `used`: the update
    /// has changed the register when its new value is computed.
    fn target(&mut self, to: Option<(RegId, &Type)>, ty: &Type, used: &[&Expr]) -> RegId {
        let is_used = |reg: RegId| {
            let mut found = false;
            used.iter().for_each(|e| e.for_each_reg(&mut |r| found |= r == reg));
            found
        };
        match to {
            Some((reg, own)) if holds(own, ty) && !is_used(reg) => reg,
            _ => self.temp(),
        }
    }

    /// An atomic update; the old value or the new one.
    pub(super) fn update(
        &mut self,
        addr: Expr,
        ty: &Type,
        op: BinOp,
        operand: Typed,
        old: bool,
    ) -> Typed {
        let ty = Type { atomic: false, ..ty.clone() };
        let reg = self.temp();
        let (new, from) = self.combined(op, (Expr::Reg(reg), ty.clone()), operand);
        let new = self.converted(new, &from, &ty);
        self.instr(Instr::Update { reg, addr: cell(addr, &ty), value: new.clone() });
        (if old { Expr::Reg(reg) } else { new }, ty)
    }

    pub(super) fn compare_exchange(&mut self, reg: RegId, addr: Expr, old: Expr, new: Expr) {
        let same = Expr::binary(BinOp::Eq, Expr::Reg(reg), old);
        let value = Expr::select(same, new, Expr::Reg(reg));
        self.instr(Instr::Update { reg, addr, value });
    }

    /// What is expected stands in a variable, and is changed on failure.
    fn expected_exchange(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        let mut place = None;
        if is_macro(name) {
            place = Some(self.pointed(&args[0])?);
        }
        let (new, own) = self.value(&args[2])?;
        let expected = self.pointed(&args[1])?;
        let place = match place {
            Some(place) => place,
            None => self.pointed(&args[0])?,
        };
        let (addr, ty) = atomic_at(place, &args[0])?;
        let (old, from) = self.load(expected.clone(), None, e)?;
        let old = self.converted(old, &from, &ty);
        let new = self.converted(new, &own, &ty);
        let (found, done) = (self.temp(), self.temp());
        self.compare_exchange(found, cell(addr, &ty), old.clone(), new);
        self.assign(done, Expr::binary(BinOp::Eq, Expr::Reg(found), old));
        let (failed, behind) = (self.new_point(), self.new_point());
        self.fork(Expr::Reg(done), behind, failed);
        self.resume(failed);
        self.write(expected, Expr::Reg(found), &ty);
        self.go_to(behind);
        self.resume(behind);
        Ok((Expr::Reg(done), Type::plain(TypeKind::Bool)))
    }

    /// `=`: sequentially consistent to atomics, else with no order.
    pub(super) fn store(&mut self, place: Place, right: Typed, e: &ast::Expr) -> Lowering<Typed> {
        let ty = place.ty().clone();
        if !ty.is_number() && ty.pointee().is_none() {
            let what = ty.describe(&self.unit.structs);
            let message = format!("assignments to `{what}` are not supported here");
            return Err(Diagnostic::new(e.at, message, "expected a number or a pointer"));
        }
        let value = self.converted(right.0, &right.1, &ty);
        let order = if ty.atomic { Order::Full } else { Order::Relaxed };
        let plain = Type { atomic: false, ..ty };
        self.ordered_store(place, (value.clone(), plain.clone()), order);
        Ok((value, plain))
    }

    fn ordered_store(&mut self, place: Place, (value, from): Typed, order: Order) {
        if let Place::Reg(..) = place {
            return self.write(place, value, &from);
        }
        if order != Order::Relaxed {
            self.fence(Fence::StoreStore);
        }
        self.write(place, value, &from);
        if matches!(order, Order::Full | Order::Argument) {
            self.fence(Fence::Full);
        }
    }
}

/// Whether gcc's `stdatomic.h` has this as a macro with variables for its arguments.
fn is_macro(name: &str) -> bool {
    name.starts_with("atomic_") && !name.starts_with("atomic_fetch_")
}

/// The address of an atomic and its type.
fn atomic_at(place: Place, arg: &ast::Expr) -> Lowering<(Expr, Type)> {
    match place {
        Place::Memory(addr, ty) if ty.is_number() || matches!(ty.kind, TypeKind::Pointer(_)) => {
            Ok((addr, Type { atomic: false, ..ty }))
        }
        _ => Err(Diagnostic::new(arg.at, "this is no number or pointer in memory", "")),
    }
}

/// What an order is on these machines.
fn memory_order(arg: &ast::Expr) -> Lowering<Order> {
    let found = match &arg.kind {
        ExprKind::Name(name) => order_named(name),
        // As gcc's headers have them.
        ExprKind::Number(n, _) => usize::try_from(*n).ok().and_then(|n| {
            let names = ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"];
            order_named(&format!("memory_order_{}", names.get(n)?))
        }),
        _ => None,
    };
    found.ok_or_else(|| {
        let expected = "expected an order such as `memory_order_release`";
        Diagnostic::new(arg.at, "this is no order of C11", expected)
    })
}
