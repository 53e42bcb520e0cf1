//! What calls do to memory.

use weakspot_core::{BinOp, Expr, Fence, Instr, RegId, UnOp};

use super::ast::{self, ExprKind};
use super::calls::{self, Call, Combine, Operand, Order, Outcome};
use super::fold::folded;
use super::lower::{Lower, Lowering};
use super::types::Ty;
use super::value::{Place, binary};
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic, Name};

/// The value of a call that gives none.
const NOTHING: (Expr, Ty) = (Expr::Const(0), Ty::INT);

impl Lower<'_> {
    /// Does a call; its value, which will be assigned to `to`.
    pub(super) fn call(
        &mut self,
        to: Option<RegId>,
        name: &Name,
        args: &[ast::Expr],
        place: At,
    ) -> Lowering<(Expr, Ty)> {
        let Some(call) = calls::decode(&name.text) else { return Err(unknown(name)) };
        let arity = |least: usize, most: usize| match args.len() {
            n if (least..=most).contains(&n) => Ok(()),
            n => Err(Diagnostic::new(
                place.0,
                format!("`{}` takes {} but {n} were given", name.text, arguments(least, most)),
                "",
            )),
        };
        // With `_explicit`, the orders follow.
        let orders = |n: usize| if name.text.ends_with("_explicit") { n } else { 0 };
        match call {
            Call::Load { place: how, order } => {
                let more = if order == Order::Argument { orders(1) } else { 0 };
                arity(1 + more, 1 + more)?;
                for order in &args[1..] {
                    memory_order(order)?;
                }
                let from = self.argument(&args[0], how)?;
                Ok(self.load(from, to))
            }
            Call::Store { place: how, order } => {
                let more = if order == Order::Argument { orders(1) } else { 0 };
                arity(2 + more, 2 + more)?;
                let order = match (order, args.get(2)) {
                    (Order::Argument, Some(arg)) => memory_order(arg)?,
                    (Order::Argument, None) => Order::Full,
                    (order, _) => order,
                };
                self.store(&args[0], how, &args[1], order)?;
                Ok(NOTHING)
            }
            Call::Fence(fence) => {
                let argument = usize::from(name.text == "atomic_signal_fence");
                arity(argument, argument)?;
                match fence {
                    Some(fence) => self.fence(fence),
                    None => self.step(Instr::Nop),
                }
                Ok(NOTHING)
            }
            Call::ThreadFence => {
                arity(1, 1)?;
                match memory_order(&args[0])? {
                    Order::Full | Order::Argument => self.fence(Fence::Full),
                    Order::Release => self.fence(Fence::StoreStore),
                    Order::Relaxed => self.step(Instr::Nop),
                }
                Ok(NOTHING)
            }
            Call::Update { op, operand, result } => {
                let count = if operand == Operand::One { 1 } else { 2 };
                arity(count + orders(1), count + orders(1))?;
                let operand = match operand {
                    Operand::One => None,
                    Operand::Either => Some((&args[0], &args[1])),
                };
                self.update(to, &args[0], operand, op, result)
            }
            Call::Exchange => {
                arity(2 + orders(1), 2 + orders(1))?;
                let (addr, ty) = self.pointer(&args[0])?;
                let (new, from) = self.value(&args[1])?;
                let new = ty.convert(new, from);
                let reg = self.target(to, ty, &[&new]);
                self.step(Instr::Update { reg, addr, value: new });
                Ok((Expr::Reg(reg), ty))
            }
            Call::CompareExchange => {
                arity(3 + orders(2), 3 + orders(2))?;
                let (addr, ty) = self.pointer(&args[0])?;
                let (old, from) = self.value(&args[1])?;
                let old = ty.convert(old, from);
                let (new, from) = self.value(&args[2])?;
                let new = ty.convert(new, from);
                let reg = self.target(to, ty, &[&old, &new]);
                self.compare_exchange(reg, addr, old, new);
                Ok((Expr::Reg(reg), ty))
            }
            Call::TryExchange => {
                arity(3 + orders(2), 3 + orders(2))?;
                self.try_exchange(args)
            }
            Call::AddUnless { fixed, old } => {
                let count = if fixed.is_some() { 1 } else { 3 };
                arity(count, count)?;
                self.add_unless(args, fixed, old)
            }
            Call::Lock | Call::Unlock | Call::TryLock | Call::IsLocked => {
                arity(1, 1)?;
                let (addr, ty) = self.pointer(&args[0])?;
                self.lock(call, addr, ty)
            }
            Call::Same => {
                arity(1, 1)?;
                self.value_for(to, &args[0])
            }
        }
    }

    /// The place that an argument stands for.
    fn argument(&mut self, arg: &ast::Expr, how: calls::Place) -> Lowering<Place> {
        match how {
            calls::Place::Itself => self.place(arg),
            calls::Place::Pointer => {
                let (addr, ty) = self.pointer(arg)?;
                Ok(Place::Memory(addr, ty))
            }
        }
    }

    /// The address that an argument is, and the type of what is there.
    fn pointer(&mut self, arg: &ast::Expr) -> Lowering<(Expr, Ty)> {
        let (addr, ty) = self.value(arg)?;
        if matches!(addr, Expr::Const(a) if self.layout.find(a).is_none()) {
            return Err(Diagnostic::new(
                arg.place.0,
                "this is not the address of a location",
                "expected a pointer, such as `x` or `&x`",
            ));
        }
        Ok((addr, ty.pointee()))
    }

    fn store(
        &mut self,
        to: &ast::Expr,
        how: calls::Place,
        value: &ast::Expr,
        order: Order,
    ) -> Lowering<()> {
        let (value, from) = self.value(value)?;
        match self.argument(to, how)? {
            Place::Reg(reg) => {
                let ty = self.type_of(reg);
                self.assign(reg, ty.convert(value, from));
            }
            Place::Memory(addr, ty) => {
                if order != Order::Relaxed {
                    self.fence(Fence::StoreStore);
                }
                self.step(Instr::Store { addr, value: ty.convert(value, from) });
                if matches!(order, Order::Full | Order::Argument) {
                    self.fence(Fence::Full);
                }
            }
        }
        Ok(())
    }

    /// The register for the old value of an update whose new value is made of `used`: the update
    /// has changed the register when its new value is computed.
    fn target(&mut self, to: Option<RegId>, ty: Ty, used: &[&Expr]) -> RegId {
        let is_used = |reg: RegId| {
            let mut found = false;
            used.iter().for_each(|e| e.for_each_reg(&mut |r| found |= r == reg));
            found
        };
        match to {
            Some(reg) if self.type_of(reg).holds(ty) && !is_used(reg) => reg,
            _ => self.temp(),
        }
    }

    fn update(
        &mut self,
        to: Option<RegId>,
        first: &ast::Expr,
        both: Option<(&ast::Expr, &ast::Expr)>,
        op: Combine,
        result: Outcome,
    ) -> Lowering<(Expr, Ty)> {
        let (addr, ty, operand) = match both {
            None => {
                let (addr, ty) = self.pointer(first)?;
                (addr, ty, (Expr::Const(1), Ty::INT))
            }
            Some((a, b)) => {
                // The kernel has the operand first, C11 the pointer.
                let (a_value, b_value) = (self.value(a)?, self.value(b)?);
                let kernel = b_value.1.is_pointer() && !a_value.1.is_pointer();
                let (pointer, operand) =
                    if kernel { (b_value, a_value) } else { (a_value, b_value) };
                if !pointer.1.is_pointer() {
                    let message = "none of the arguments is a pointer";
                    return Err(Diagnostic::new(a.place.0, message, "expected a location"));
                }
                (pointer.0, pointer.1.pointee(), operand)
            }
        };
        let reg = match result {
            Outcome::Old => self.target(to, ty, &[&operand.0]),
            _ => self.temp(),
        };
        let old = (Expr::Reg(reg), ty);
        let (new, from) = match op {
            Combine::With(op) => binary(op, old, operand),
            Combine::AndNot => {
                let (e, t) = operand;
                binary(BinOp::BitAnd, old, (folded(Expr::unary(UnOp::BitNot, e)), t))
            }
        };
        let new = ty.convert(new, from);
        self.step(Instr::Update { reg, addr, value: new.clone() });
        Ok(match result {
            Outcome::Old => (Expr::Reg(reg), ty),
            Outcome::New => (new, ty),
            Outcome::IsZero => (Expr::binary(BinOp::Eq, new, Expr::Const(0)), Ty::INT),
            Outcome::IsNegative => (Expr::binary(BinOp::Lt, new, Expr::Const(0)), Ty::INT),
        })
    }

    fn compare_exchange(&mut self, reg: RegId, addr: Expr, old: Expr, new: Expr) {
        let same = Expr::binary(BinOp::Eq, Expr::Reg(reg), old);
        let value = Expr::select(same, new, Expr::Reg(reg));
        self.step(Instr::Update { reg, addr, value });
    }

    /// What is expected stands in a local variable or in memory, and is changed on failure.
    fn try_exchange(&mut self, args: &[ast::Expr]) -> Lowering<(Expr, Ty)> {
        let (addr, ty) = self.pointer(&args[0])?;
        let expected = match &args[1].kind {
            ExprKind::AddressOf(inner) if !matches!(&inner.kind, ExprKind::Name(n) if self.params.contains_key(n.as_str())) => {
                self.place(inner)?
            }
            _ => {
                let (addr, ty) = self.pointer(&args[1])?;
                Place::Memory(addr, ty)
            }
        };
        let (old, from) = self.load(expected.clone(), None);
        let old = ty.convert(old, from);
        let (new, from) = self.value(&args[2])?;
        let new = ty.convert(new, from);
        let (found, done) = (self.temp(), self.temp());
        self.compare_exchange(found, addr, old.clone(), new);
        self.assign(done, Expr::binary(BinOp::Eq, Expr::Reg(found), old));
        let (failed, behind) = (self.new_point(), self.new_point());
        self.fork(Expr::Reg(done), behind, failed);
        self.resume(failed);
        match expected {
            Place::Reg(reg) => {
                let to = self.type_of(reg);
                self.assign(reg, to.convert(Expr::Reg(found), ty));
            }
            Place::Memory(addr, to) => {
                self.step(Instr::Store { addr, value: to.convert(Expr::Reg(found), ty) });
            }
        }
        self.go_to(behind);
        self.resume(behind);
        Ok((Expr::Reg(done), Ty::INT))
    }

    /// A load that suffices if the value is the one that is left alone, else a locked instruction.
    fn add_unless(
        &mut self,
        args: &[ast::Expr],
        fixed: Option<(i64, i64)>,
        gives_old: bool,
    ) -> Lowering<(Expr, Ty)> {
        let (addr, ty) = self.pointer(&args[0])?;
        let (add, unless) = match fixed {
            Some((add, unless)) => ((Expr::Const(add), Ty::INT), (Expr::Const(unless), Ty::INT)),
            None => (self.value(&args[1])?, self.value(&args[2])?),
        };
        let unless = ty.convert(unless.0, unless.1);
        let old = self.temp();
        let is = |e: &Expr| Expr::binary(BinOp::Eq, Expr::Reg(old), e.clone());
        let (sum, from) = binary(BinOp::Add, (Expr::Reg(old), ty), add);
        let value = Expr::select(is(&unless), Expr::Reg(old), ty.convert(sum, from));
        let (locked, behind) = (self.new_point(), self.new_point());
        self.step(Instr::Load { reg: old, addr: addr.clone() });
        self.fork(is(&unless), behind, locked);
        self.resume(locked);
        self.step(Instr::Update { reg: old, addr, value });
        self.go_to(behind);
        self.resume(behind);
        match gives_old {
            true => Ok((Expr::Reg(old), ty)),
            false => Ok((Expr::binary(BinOp::Ne, Expr::Reg(old), unless), Ty::INT)),
        }
    }

    fn lock(&mut self, call: Call, addr: Expr, ty: Ty) -> Lowering<(Expr, Ty)> {
        let old = self.temp();
        let value = Expr::Const(1);
        match call {
            Call::Lock => {
                let (again, taken) = (self.new_point(), self.new_point());
                self.go_to(again);
                self.resume(again);
                self.step(Instr::Update { reg: old, addr, value });
                self.fork(Expr::Reg(old), again, taken);
                self.resume(taken);
                Ok(NOTHING)
            }
            Call::Unlock => {
                self.fence(Fence::StoreStore);
                self.step(Instr::Store { addr, value: Expr::Const(0) });
                Ok(NOTHING)
            }
            Call::TryLock => {
                let (free, behind) = (self.new_point(), self.new_point());
                self.step(Instr::Load { reg: old, addr: addr.clone() });
                self.fork(Expr::Reg(old), behind, free);
                self.resume(free);
                self.step(Instr::Update { reg: old, addr, value });
                self.go_to(behind);
                self.resume(behind);
                Ok((Expr::unary(UnOp::Not, Expr::Reg(old)), Ty::INT))
            }
            _ => {
                let (value, _) = self.load(Place::Memory(addr, ty), None);
                Ok((Expr::binary(BinOp::Ne, value, Expr::Const(0)), Ty::INT))
            }
        }
    }
}

fn arguments(least: usize, most: usize) -> String {
    let s = if most == 1 { "" } else { "s" };
    if least == most {
        format!("{most} argument{s},")
    } else {
        format!("{least} to {most} arguments,")
    }
}

/// What an order of C11 is on these machines.
fn memory_order(arg: &ast::Expr) -> Lowering<Order> {
    let found = match &arg.kind {
        ExprKind::Name(name) => calls::order_named(name),
        _ => None,
    };
    found.ok_or_else(|| {
        let expected = "expected an order such as `memory_order_release`";
        Diagnostic::new(arg.place.0, "this is no order of C11", expected)
    })
}

fn unknown(name: &Name) -> Diagnostic {
    let text = &name.text;
    if let Some(why) = calls::refused(text) {
        return Diagnostic::new(name.at.0, format!("`{text}` is not supported"), why);
    }
    let message = format!("unknown function `{text}`");
    let expected = "expected a function of the kernel or of C11";
    did_you_mean(Diagnostic::new(name.at.0, message, expected), text, calls::known())
}
