//! Expressions: the values of registers, and loads where memory is read.

use weakspot_core::{BinOp, Expr, Fence, Instr, PointId, RegId, UnOp, Value};

use super::ast::{self, ExprKind};
use super::fold::{folded, truth};
use super::lower::{Lower, Lowering};
use super::types::Ty;
use crate::Diagnostic;
use crate::litmus::ast::Symbol;
use crate::litmus::fold::not;

/// Where something is stored.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Reg(RegId),
    Memory(Expr, Ty),
}

impl<'a> Lower<'a> {
    /// The value of an expression and its type. What it reads from memory is read now.
    pub(super) fn value(&mut self, e: &ast::Expr) -> Lowering<(Expr, Ty)> {
        self.value_for(None, e)
    }

    /// The same; the value will be assigned to `to`, which nothing else changes or reads before.
    pub(super) fn value_for(&mut self, to: Option<RegId>, e: &ast::Expr) -> Lowering<(Expr, Ty)> {
        match &e.kind {
            ExprKind::Number(n) => {
                let ty = if i32::try_from(*n).is_ok() { Ty::INT } else { Ty::LONG };
                match crate::litmus::layout::pattern(*n, 64) {
                    Some(value) => Ok((Expr::Const(value), ty)),
                    None => Err(Diagnostic::new(e.place.0, "this number is too large", "")),
                }
            }
            ExprKind::Name(name) if self.params.contains_key(name.as_str()) => {
                let (addr, ty) = self.params[name.as_str()];
                if ty.is_pointer() {
                    return Ok((Expr::Const(addr), ty));
                }
                Ok(self.load(Place::Memory(Expr::Const(addr), ty), to))
            }
            ExprKind::Name(_) | ExprKind::Deref(_) | ExprKind::Index(_) => {
                let place = self.place(e)?;
                Ok(self.load(place, to))
            }
            ExprKind::AddressOf(inner) => {
                // A parameter is the address of a location already, and `&x` is often written.
                if let ExprKind::Name(name) = &inner.kind
                    && let Some((addr, ty)) = self.params.get(name.as_str())
                {
                    let ty = if ty.is_pointer() { *ty } else { ty.pointer() };
                    return Ok((Expr::Const(*addr), ty));
                }
                match self.place(inner)? {
                    Place::Memory(addr, ty) => Ok((addr, ty.pointer())),
                    Place::Reg(_) => Err(Diagnostic::new(
                        e.place.0,
                        "a local variable has no address",
                        "expected a location",
                    )),
                }
            }
            ExprKind::Cast(t, inner) => {
                let (value, from) = self.value(inner)?;
                let ty = Ty::of(t);
                Ok((ty.convert(value, from), ty))
            }
            ExprKind::Unary(UnOp::Not, inner) => {
                let (value, _) = self.value(inner)?;
                Ok((not(value), Ty::INT))
            }
            ExprKind::Unary(op, inner) => {
                let (value, from) = self.value(inner)?;
                let ty = from.common(Ty::INT);
                Ok((ty.wrap(folded(Expr::unary(*op, value))), ty))
            }
            ExprKind::Binary(BinOp::And | BinOp::Or, parts) if reads_memory(&parts.1, self) => {
                self.decided(e)
            }
            ExprKind::Binary(op, parts) => {
                let left = self.value(&parts.0)?;
                let right = self.value(&parts.1)?;
                match undefined_shift(*op, left.1, &right.0) {
                    Some(why) => Err(Diagnostic::new(parts.1.place.0, why, "")),
                    None => Ok(binary(*op, left, right)),
                }
            }
            ExprKind::Select(parts)
                if reads_memory(&parts.1, self) || reads_memory(&parts.2, self) =>
            {
                self.selected(parts)
            }
            ExprKind::Select(parts) => {
                let (cond, _) = self.value(&parts.0)?;
                let (yes, from_yes) = self.value(&parts.1)?;
                let (no, from_no) = self.value(&parts.2)?;
                let ty = from_yes.common(from_no);
                let (yes, no) = (ty.convert(yes, from_yes), ty.convert(no, from_no));
                Ok((folded(Expr::select(cond, yes, no)), ty))
            }
            ExprKind::Call(name, args) => self.call(to, name, args, e.place),
        }
    }

    /// 0 or 1, where the second operand is evaluated only if it counts.
    fn decided(&mut self, e: &ast::Expr) -> Lowering<(Expr, Ty)> {
        let reg = self.temp();
        let (yes, no, behind) = (self.new_point(), self.new_point(), self.new_point());
        self.condition(e, yes, no)?;
        for (point, value) in [(yes, 1), (no, 0)] {
            self.resume(point);
            self.assign(reg, Expr::Const(value));
            self.go_to(behind);
        }
        self.resume(behind);
        Ok((Expr::Reg(reg), Ty::INT))
    }

    fn selected(&mut self, parts: &(ast::Expr, ast::Expr, ast::Expr)) -> Lowering<(Expr, Ty)> {
        let reg = self.temp();
        let (yes, no, behind) = (self.new_point(), self.new_point(), self.new_point());
        self.condition(&parts.0, yes, no)?;
        let mut ty = Ty::INT;
        for (point, value) in [(yes, &parts.1), (no, &parts.2)] {
            self.resume(point);
            let (value, from) = self.value(value)?;
            ty = ty.common(from);
            self.assign(reg, value);
            self.go_to(behind);
        }
        self.resume(behind);
        Ok((ty.wrap(Expr::Reg(reg)), ty))
    }

    /// Goes to `yes` if the expression is not 0, else to `no`.
    pub(super) fn condition(&mut self, e: &ast::Expr, yes: PointId, no: PointId) -> Lowering<()> {
        match &e.kind {
            ExprKind::Unary(UnOp::Not, inner) => self.condition(inner, no, yes),
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), parts)
                if reads_memory(&parts.1, self) =>
            {
                let second = self.new_point();
                match op {
                    BinOp::And => self.condition(&parts.0, second, no)?,
                    _ => self.condition(&parts.0, yes, second)?,
                }
                self.resume(second);
                self.condition(&parts.1, yes, no)
            }
            _ => {
                let (value, _) = self.value(e)?;
                self.fork(value, yes, no);
                Ok(())
            }
        }
    }

    /// The place that an expression names.
    pub(super) fn place(&mut self, e: &ast::Expr) -> Lowering<Place> {
        match &e.kind {
            ExprKind::Name(name) => self.named(name, e),
            ExprKind::Deref(inner) => {
                let (addr, ty) = self.value(inner)?;
                Ok(Place::Memory(addr, ty.pointee()))
            }
            ExprKind::Index(parts) => {
                let base = self.value(&parts.0)?;
                let index = self.value(&parts.1)?;
                let (addr, ty) = binary(BinOp::Add, base, index);
                Ok(Place::Memory(addr, ty.pointee()))
            }
            _ => Err(Diagnostic::new(
                e.place.0,
                "this is no place in memory",
                "expected a location, such as `*x`",
            )),
        }
    }

    fn named(&self, name: &str, e: &ast::Expr) -> Lowering<Place> {
        if let Some(reg) = self.local(name) {
            return Ok(Place::Reg(reg));
        }
        if let Some((addr, ty)) = self.params.get(name) {
            if !ty.is_pointer() {
                return Ok(Place::Memory(Expr::Const(*addr), *ty));
            }
            let message = format!("`{name}` is the address of a location here");
            return Err(Diagnostic::new(e.place.0, message, format!("expected `*{name}`")));
        }
        if self.layout.knows(name) {
            let symbol = Symbol { name: name.to_owned(), index: None, place: e.place };
            let cell = self.layout.cell(&symbol)?;
            let ty = Ty::of_view(self.layout.cells[cell].view());
            return Ok(Place::Memory(Expr::Const(self.layout.address(&symbol)?), ty));
        }
        let diagnostic = Diagnostic::new(
            e.place.0,
            format!("`{name}` is not declared"),
            "expected a parameter or a local variable of this thread",
        );
        let known = self.params.keys().copied();
        let known = known.chain(self.vars.iter().filter(|v| v.is_local).map(|v| v.name.as_str()));
        Err(crate::suggest::did_you_mean(diagnostic, name, known))
    }

    /// Reads a place, into `to` where that is possible.
    pub(super) fn load(&mut self, from: Place, to: Option<RegId>) -> (Expr, Ty) {
        match from {
            Place::Reg(reg) => (Expr::Reg(reg), self.type_of(reg)),
            Place::Memory(addr, ty) => {
                let reg = match to {
                    Some(reg) if self.type_of(reg).holds(ty) => reg,
                    _ => self.temp(),
                };
                self.step(Instr::Load { reg, addr });
                (Expr::Reg(reg), ty)
            }
        }
    }

    /// Writes to a place that an expression names.
    pub(super) fn write(&mut self, to: &ast::Expr, value: Expr, from: Ty) -> Lowering<()> {
        match self.place(to)? {
            Place::Reg(reg) => {
                let ty = self.type_of(reg);
                self.assign(reg, ty.convert(value, from));
            }
            Place::Memory(addr, ty) => {
                self.step(Instr::Store { addr, value: ty.convert(value, from) });
            }
        }
        Ok(())
    }

    pub(super) fn fence(&mut self, fence: Fence) {
        self.step(Instr::Fence(fence));
    }
}

/// Whether evaluating an expression does more than to compute.
fn reads_memory(e: &ast::Expr, lower: &Lower<'_>) -> bool {
    let reads = |e: &ast::Expr| reads_memory(e, lower);
    match &e.kind {
        ExprKind::Number(_) | ExprKind::AddressOf(_) => false,
        ExprKind::Name(name) => {
            lower.local(name).is_none()
                && lower.params.get(name.as_str()).is_none_or(|(_, ty)| !ty.is_pointer())
        }
        ExprKind::Deref(_) | ExprKind::Index(_) | ExprKind::Call(..) => true,
        ExprKind::Cast(_, e) | ExprKind::Unary(_, e) => reads(e),
        ExprKind::Binary(_, parts) => reads(&parts.0) || reads(&parts.1),
        ExprKind::Select(parts) => reads(&parts.0) || reads(&parts.1) || reads(&parts.2),
    }
}

/// Two operands combined as C does.
pub(crate) fn binary(op: BinOp, left: (Expr, Ty), right: (Expr, Ty)) -> (Expr, Ty) {
    let ((l, lt), (r, rt)) = (left, right);
    let ty = lt.common(rt);
    let combined = |op, l, r| folded(Expr::binary(op, l, r));
    match op {
        BinOp::And | BinOp::Or => (combined(op, truth(l), truth(r)), Ty::INT),
        BinOp::Eq | BinOp::Ne => (combined(op, ty.convert(l, lt), ty.convert(r, rt)), Ty::INT),
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
            let (mut l, mut r) = (ty.convert(l, lt), ty.convert(r, rt));
            if ty.bytes() == 8 && !ty.signed() {
                // Unsigned numbers of 64 bits compare as signed ones with their first bit flipped.
                let flip = |e| combined(BinOp::BitXor, e, Expr::Const(Value::MIN));
                (l, r) = (flip(l), flip(r));
            }
            (combined(op, l, r), Ty::INT)
        }
        BinOp::Add | BinOp::Sub if lt.is_pointer() != rt.is_pointer() => {
            let size = Expr::Const(Value::from(ty.pointee().bytes()));
            let scaled = |e| combined(BinOp::Mul, e, size.clone());
            let (l, r) = if lt.is_pointer() { (l, scaled(r)) } else { (scaled(l), r) };
            (combined(op, l, r), ty)
        }
        BinOp::Shl | BinOp::Sar => {
            let ty = lt.common(Ty::INT);
            let op = if op == BinOp::Sar && !ty.signed() { BinOp::Shr } else { op };
            // As the machines do, which look at the low bits of the count only.
            let count = match (ty.bytes(), r) {
                (8, r) => r,
                (_, r) => combined(BinOp::BitAnd, r, Expr::Const(31)),
            };
            (ty.wrap(combined(op, ty.convert(l, lt), count)), ty)
        }
        BinOp::Div | BinOp::Rem if ty.bytes() == 8 && !ty.signed() => {
            (unsigned_division(op, ty.convert(l, lt), ty.convert(r, rt)), ty)
        }
        _ => (ty.wrap(combined(op, ty.convert(l, lt), ty.convert(r, rt))), ty),
    }
}

/// Why a shift by a constant has no meaning in C: it is by a negative number, or by all bits or more.
pub(crate) fn undefined_shift(op: BinOp, left: Ty, count: &Expr) -> Option<String> {
    let (BinOp::Shl | BinOp::Sar, &Expr::Const(by)) = (op, count) else { return None };
    let bits = 8 * Value::from(left.common(Ty::INT).bytes());
    let undefined = !(0..bits).contains(&by);
    undefined.then(|| format!("a shift of {bits} bits by {by} is undefined in C"))
}

/// Division of unsigned numbers of 64 bits.
fn unsigned_division(op: BinOp, l: Expr, by: Expr) -> Expr {
    let made = |op, l, r| folded(Expr::binary(op, l, r));
    if let Expr::Const(by) = by
        && by > 0
        && by.count_ones() == 1
    {
        return match op {
            BinOp::Div => made(BinOp::Shr, l, Expr::Const(Value::from(by.trailing_zeros()))),
            _ => made(BinOp::BitAnd, l, Expr::Const(by - 1)),
        };
    }
    let flip = |e| made(BinOp::BitXor, e, Expr::Const(Value::MIN));
    let at_least = |l: &Expr| made(BinOp::Ge, flip(l.clone()), flip(by.clone()));
    let rest_of = |l: Expr, times| made(BinOp::Sub, l, made(BinOp::Mul, times, by.clone()));
    // By a number that is not negative as one with a sign: half of what is divided is not negative
    // either, and its quotient is at most one too small when doubled.
    let half = made(BinOp::Div, made(BinOp::Shr, l.clone(), Expr::Const(1)), by.clone());
    let low = made(BinOp::Shl, half, Expr::Const(1));
    let rest = rest_of(l.clone(), low.clone());
    let more = at_least(&rest);
    let small = match op {
        BinOp::Div => made(BinOp::Add, low, more),
        _ => rest_of(rest, more),
    };
    // By one of 2^63 or more: it fits once or not at all.
    let once = at_least(&l);
    let large = match op {
        BinOp::Div => once,
        _ => rest_of(l, once),
    };
    match made(BinOp::Lt, by.clone(), Expr::Const(0)) {
        Expr::Const(0) => small,
        Expr::Const(_) => large,
        is_large => Expr::select(is_large, large, small),
    }
}
