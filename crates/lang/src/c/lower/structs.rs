//! Structs as values: what is assigned, given to functions and given back, one number or pointer after the other.

use weakspot_core::{BinOp, Expr, RegId, Value};

use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind};
use crate::c::types::{Type, TypeKind};
use crate::c::visit::{is_in_memory, is_place};
use crate::litmus::c::folded;

/// The numbers and pointers of a struct: where they are in it, their types and values.
pub(super) type Parts = Vec<(Value, Type, Expr)>;

/// What a function is given.
#[derive(Clone, Debug)]
pub(super) enum Argument {
    Value(Typed),
    Struct(Type, Parts),
}

impl Lower<'_> {
    /// The value of an expression that is a struct. What it reads from memory is read now.
    pub(super) fn struct_value(&mut self, e: &ast::Expr) -> Lowering<(Type, Parts)> {
        match &e.kind {
            ExprKind::Call(f, args) => {
                let ((_, ty), parts) = self.call_with_parts(None, f, args, e)?;
                self.expect_struct(&ty, e)?;
                Ok((ty, parts))
            }
            ExprKind::Comma(both) => {
                self.effect(&both.0)?;
                self.struct_value(&both.1)
            }
            ExprKind::Literal(_, ty, init) => {
                self.expect_struct(ty, e)?;
                Ok((ty.clone(), self.literal_parts(ty, init)?))
            }
            ExprKind::Assign(None, both) => {
                self.effect(e)?;
                self.struct_value(&both.0)
            }
            ExprKind::Select(all) => self.selected_struct(all),
            ExprKind::Member(inner, name) if !is_in_memory(inner) => {
                let (whole, parts) = self.struct_value(inner)?;
                let (offset, ty) = self.member_of(&whole, name, e)?;
                self.expect_struct(&ty, e)?;
                let end = offset + ty.size(&self.unit.structs);
                let inside = parts.into_iter().filter(|(at, ..)| (offset..end).contains(at));
                Ok((ty, inside.map(|(at, ty, value)| (at - offset, ty, value)).collect()))
            }
            _ if is_place(e) => {
                let place = self.place(e)?;
                let ty = place.ty().clone();
                self.expect_struct(&ty, e)?;
                let addr = match place {
                    Place::Memory(addr, _) => addr,
                    Place::Parts(parts, _) => return Ok((ty, self.read_parts(parts))),
                    Place::Reg(..) => {
                        return Err(Diagnostic::new(e.at, "this is no struct", ""));
                    }
                };
                let mut parts = Vec::new();
                for (offset, ty) in self.scalars(&ty) {
                    let at = moved(&addr, offset);
                    let (value, ty) = self.load(Place::Memory(at, ty), None, e)?;
                    parts.push((offset, ty, value));
                }
                Ok((ty, parts))
            }
            _ => Err(Diagnostic::new(e.at, "this is no struct that is supported here", "")),
        }
    }

    /// The values of a struct in registers, which may change before they are used.
    fn read_parts(&mut self, parts: Vec<(Value, Type, RegId)>) -> Parts {
        let mut values = Vec::new();
        for (offset, ty, reg) in parts {
            let value = self.temp();
            self.assign(value, Expr::Reg(reg));
            values.push((offset, ty, Expr::Reg(value)));
        }
        values
    }

    /// A member of a struct in registers.
    pub(super) fn part(
        &self,
        (parts, whole): (&[(Value, Type, RegId)], &Type),
        name: &str,
        e: &ast::Expr,
    ) -> Lowering<Place> {
        let (offset, ty) = self.member_of(whole, name, e)?;
        let end = offset + ty.size(&self.unit.structs);
        let inside = parts.iter().filter(|(at, ..)| (offset..end).contains(at));
        let inside = inside.map(|(at, ty, reg)| (at - offset, ty.clone(), *reg));
        match (inside.collect::<Vec<_>>(), &ty.kind) {
            (inside, TypeKind::Struct(_)) => Ok(Place::Parts(inside, ty)),
            (inside, _) => match inside.into_iter().next() {
                Some((_, ty, reg)) => Ok(Place::Reg(reg, ty)),
                None => Err(Diagnostic::new(e.at, "this is no struct", "")),
            },
        }
    }

    fn selected_struct(
        &mut self,
        all: &(ast::Expr, ast::Expr, ast::Expr),
    ) -> Lowering<(Type, Parts)> {
        let ty = self.type_of(&all.1)?;
        self.expect_struct(&ty, &all.1)?;
        let regs: Vec<_> =
            self.scalars(&ty).into_iter().map(|(offset, ty)| (offset, ty, self.temp())).collect();
        let (yes, no, behind) = (self.new_point(), self.new_point(), self.new_point());
        self.condition(&all.0, yes, no)?;
        for (point, e) in [(yes, &all.1), (no, &all.2)] {
            self.resume(point);
            let (own, parts) = self.struct_value(e)?;
            self.expect_same(&ty, &own, e)?;
            self.assign_parts(&regs, parts);
            self.go_to(behind);
        }
        self.resume(behind);
        Ok((ty, regs.into_iter().map(|(at, ty, reg)| (at, ty, Expr::Reg(reg))).collect()))
    }

    /// A member of a struct that is not in memory, as `f().x`.
    pub(super) fn member_value(
        &mut self,
        inner: &ast::Expr,
        name: &str,
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        let (whole, parts) = self.struct_value(inner)?;
        let (offset, ty) = self.member_of(&whole, name, e)?;
        let found = parts.into_iter().find(|(at, ..)| *at == offset && ty.is_scalar());
        let Some((_, ty, value)) = found else {
            let what = ty.describe(&self.unit.structs);
            let message = format!("values of the type `{what}` are not supported here");
            return Err(Diagnostic::new(e.at, message, "expected a number or a pointer"));
        };
        Ok((value, ty))
    }

    fn member_of(&self, whole: &Type, name: &str, e: &ast::Expr) -> Lowering<(Value, Type)> {
        let TypeKind::Struct(s) = whole.kind else {
            return Err(Diagnostic::new(e.at, "this is no struct", ""));
        };
        match self.member((Expr::Const(0), s), name, e)? {
            Place::Memory(Expr::Const(offset), ty) => Ok((offset, ty)),
            _ => Err(Diagnostic::new(e.at, "this is no struct", "")),
        }
    }

    /// Puts the parts of a struct into the registers for them.
    pub(super) fn assign_parts(&mut self, regs: &[(Value, Type, RegId)], parts: Parts) {
        for (offset, _, value) in parts {
            if let Some((_, _, reg)) = regs.iter().find(|(at, ..)| *at == offset) {
                self.assign(*reg, value);
            }
        }
    }

    /// Writes a struct.
    pub(super) fn write_struct(&mut self, to: &Place, parts: Parts) {
        let (to, ty) = match to {
            Place::Memory(to, ty) => (to, ty),
            Place::Parts(regs, _) => return self.assign_parts(regs, parts),
            Place::Reg(..) => return,
        };
        let scalars = self.scalars(ty);
        for (offset, part, value) in parts {
            // In the member that a union is used as, if it is one.
            if scalars.iter().any(|(at, _)| *at == offset) {
                self.write(Place::Memory(moved(to, offset), part.clone()), value, &part);
            }
        }
    }

    /// Assigns a struct, of which all is read before the first is written.
    pub(super) fn assign_struct(&mut self, to: &Place, from: &ast::Expr) -> Lowering<()> {
        let (own, parts) = self.struct_value(from)?;
        self.assign_value(to, &own, parts, from)
    }

    /// The same of a struct whose parts are known.
    pub(super) fn assign_value(
        &mut self,
        to: &Place,
        own: &Type,
        parts: Parts,
        from: &ast::Expr,
    ) -> Lowering<()> {
        self.expect_same(to.ty(), own, from)?;
        self.write_struct(to, parts);
        Ok(())
    }

    /// Copies a struct, one number or pointer after the other.
    pub(super) fn copy(&mut self, to: &Place, from: Place, e: &ast::Expr) -> Lowering<()> {
        self.expect_same(to.ty(), from.ty(), e)?;
        for (offset, ty) in self.scalars(to.ty()) {
            let used = self.used;
            let (Some(source), Some(to)) = (at(&from, (offset, &ty)), at(to, (offset, &ty))) else {
                return Err(Diagnostic::new(e.at, "this is no struct", ""));
            };
            let value = self.load(source, None, e)?;
            self.write(to, value.0, &value.1);
            self.used = used;
        }
        Ok(())
    }

    /// Where the numbers and pointers of a type are, with types whose accesses have no order.
    pub(super) fn scalars(&self, ty: &Type) -> Vec<(Value, Type)> {
        let mut all = Vec::new();
        ty.each_scalar(&self.unit.structs, (0, ""), &mut |offset, _, ty| {
            all.push((offset, Type { atomic: false, ..ty.clone() }));
        });
        all
    }

    fn expect_struct(&self, ty: &Type, e: &ast::Expr) -> Lowering<()> {
        match ty.kind {
            TypeKind::Struct(_) => Ok(()),
            _ => Err(Diagnostic::new(e.at, "this is no struct", "")),
        }
    }

    fn expect_same(&self, ty: &Type, own: &Type, e: &ast::Expr) -> Lowering<()> {
        if ty.kind == own.kind {
            return Ok(());
        }
        let what = own.describe(&self.unit.structs);
        Err(Diagnostic::new(e.at, format!("this has the type `{what}`"), ""))
    }
}

/// The number or pointer at an offset of a struct.
fn at(whole: &Place, (offset, ty): (Value, &Type)) -> Option<Place> {
    match whole {
        Place::Memory(addr, _) => Some(Place::Memory(moved(addr, offset), ty.clone())),
        Place::Parts(parts, _) => {
            let (_, ty, reg) = parts.iter().find(|(at, ..)| *at == offset)?;
            Some(Place::Reg(*reg, ty.clone()))
        }
        Place::Reg(..) => None,
    }
}

/// An address so many bytes further.
fn moved(e: &Expr, by: Value) -> Expr {
    folded(Expr::binary(BinOp::Add, e.clone(), Expr::Const(by)))
}
