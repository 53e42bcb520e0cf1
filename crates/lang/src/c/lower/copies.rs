//! Functions that copy memory.

use weakspot_core::{BinOp, Expr, Instr};

use super::calls::arity;
use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind};
use crate::c::memory::cell;
use crate::c::parse::ELSEWHERE;
use crate::c::types::{MOST_BYTES, Type, TypeKind};
use crate::litmus::c::folded;

impl Lower<'_> {
    /// `memcpy` of whole objects, one number or pointer after the other.
    pub(super) fn copy_memory(&mut self, args: &[ast::Expr], e: &ast::Expr) -> Lowering<Typed> {
        arity("memcpy", args, 3, e)?;
        // As gcc does.
        let (bytes, _) = self.value(&args[2])?;
        let (from, other) = self.value(without_casts(&args[1]))?;
        let (to, ty) = self.value(without_casts(&args[0]))?;
        let (Some(object), Some(source), Expr::Const(bytes)) =
            (ty.pointee(), other.pointee(), bytes)
        else {
            return Err(no_whole(e));
        };
        let size = object.size(&self.unit.structs);
        let fits = size > 0 && bytes % size == 0 && (0..=MOST_BYTES).contains(&bytes);
        if object.kind != source.kind || !fits {
            return Err(no_whole(e));
        }
        let at = |base: &Expr, i| {
            let addr = folded(Expr::binary(BinOp::Add, base.clone(), Expr::Const(i * size)));
            Place::Memory(addr, object.clone())
        };
        for i in 0..bytes / size {
            self.copy(&at(&to, i), at(&from, i), e)?;
        }
        Ok((to, ty))
    }

    /// `strcpy`: characters up to the first that is 0.
    pub(super) fn copy_text(&mut self, args: &[ast::Expr], e: &ast::Expr) -> Lowering<Typed> {
        arity("strcpy", args, 2, e)?;
        let (to, ty) = self.characters(&args[0])?;
        let Some(of) = ty.pointee().cloned() else { return Err(no_whole(e)) };
        let at = |base: &Expr, i: Expr| folded(Expr::binary(BinOp::Add, base.clone(), i));
        if let ExprKind::Text(text) = &args[1].kind {
            for (i, c) in text.iter().chain(&[0]).enumerate() {
                let place = Place::Memory(at(&to, Expr::Const(i as i64)), of.clone());
                self.write(place, Expr::Const((*c).into()), &Type::INT);
            }
            return Ok((to, ty));
        }
        // Of an array it is known how many there are.
        let count = match self.type_of(without_casts(&args[1]))?.kind {
            TypeKind::Array(_, n) => Some(n),
            _ => None,
        };
        let (from, source) = self.characters(&args[1])?;
        let Some(source) = source.pointee().cloned() else { return Err(no_whole(e)) };
        let (index, c) = (self.temp(), self.temp());
        if let Some(count) = count {
            let behind = self.new_point();
            for i in 0..count {
                let addr = cell(at(&from, Expr::Const(i)), &source);
                self.instr(Instr::Load { reg: c, addr });
                let place = Place::Memory(at(&to, Expr::Const(i)), of.clone());
                self.write(place, Expr::Reg(c), &source);
                let next = self.new_point();
                self.fork(Expr::Reg(c), next, behind);
                self.resume(next);
            }
            // There is no 0 in it.
            self.instr(Instr::Load { reg: c, addr: Expr::Const(0) });
            self.go_to(behind);
            self.resume(behind);
            return Ok((to, ty));
        }
        self.assign(index, Expr::Const(0));
        let (again, behind) = (self.new_point(), self.new_point());
        self.go_to(again);
        self.resume(again);
        let addr = cell(at(&from, Expr::Reg(index)), &source);
        self.instr(Instr::Load { reg: c, addr });
        self.write(Place::Memory(at(&to, Expr::Reg(index)), of), Expr::Reg(c), &source);
        self.assign(index, Expr::binary(BinOp::Add, Expr::Reg(index), Expr::Const(1)));
        self.fork(Expr::Reg(c), again, behind);
        self.resume(behind);
        Ok((to, ty))
    }

    /// A pointer to characters.
    fn characters(&mut self, e: &ast::Expr) -> Lowering<Typed> {
        let (addr, ty) = self.value(without_casts(e))?;
        let is_text =
            ty.pointee().is_some_and(|to| to.size(&self.unit.structs) == 1 && to.is_number());
        if is_text { Ok((addr, Type { atomic: false, ..ty })) } else { Err(no_whole(e)) }
    }
}

fn without_casts(mut e: &ast::Expr) -> &ast::Expr {
    while let ExprKind::Cast(_, inner) = &e.kind {
        e = inner;
    }
    e
}

fn no_whole(e: &ast::Expr) -> Diagnostic {
    let message = "this copy is not supported here";
    Diagnostic::new(e.at, message, "expected whole objects of one type").help(ELSEWHERE)
}
