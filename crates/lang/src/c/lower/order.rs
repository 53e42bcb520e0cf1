//! What comes first in `a op= b`. C leaves it open; this is what gcc does: the right side first if it has effects, and
//! otherwise the left one. Where the place on the left has effects, its address is computed again for the store, with
//! what has effects done once.

use std::collections::HashMap;

use weakspot_core::{BinOp, Expr};

use super::value::defined;
use super::{Lower, Lowering, Place, Typed};
use crate::c::ast::{self, ExprKind};
use crate::c::types::Type;
use crate::c::visit::{is_place, parts};

impl Lower<'_> {
    /// `to op= from`.
    pub(super) fn combined_assignment(
        &mut self,
        op: BinOp,
        to: &ast::Expr,
        from: &ast::Expr,
    ) -> Lowering<Typed> {
        Ok(self.combined_at(op, to, from)?.0)
    }

    /// The same, with the place that was changed.
    fn combined_at(
        &mut self,
        op: BinOp,
        to: &ast::Expr,
        from: &ast::Expr,
    ) -> Lowering<(Typed, Place)> {
        let ty = self.type_of(to)?;
        let in_memory = is_place(to) && !self.is_register(to);
        if !in_memory || ty.atomic {
            let right = self.value(from)?;
            defined(op, &ty, (&right.0, from))?;
            let place = self.place(to)?;
            return Ok((self.changed(place.clone(), op, right, false, to)?, place));
        }
        let mut right = None;
        if self.has_effects(from)? {
            right = Some(self.value(from)?);
        }
        let again = self.has_effects(to)?;
        let around = std::mem::replace(&mut self.saved, again.then(HashMap::new));
        let before =
            self.place(to).and_then(|place| Ok((self.load(place.clone(), None, to)?, place)));
        let saved = std::mem::replace(&mut self.saved, around);
        let (before, mut place) = before?;
        let right = match right {
            Some(right) => right,
            None => self.value(from)?,
        };
        defined(op, &ty, (&right.0, from))?;
        let (sum, from) = self.combined(op, before, right);
        let plain = Type { atomic: false, ..ty };
        let sum = self.converted(sum, &from, &plain);
        if again {
            let around = std::mem::replace(&mut self.saved, saved);
            let found = self.place(to);
            self.saved = around;
            place = found?;
        }
        self.write(place.clone(), sum.clone(), &plain);
        Ok(((sum, plain), place))
    }

    /// An assignment; the place that was changed.
    pub(super) fn assigned_place(
        &mut self,
        op: Option<BinOp>,
        to: &ast::Expr,
        from: &ast::Expr,
    ) -> Lowering<Place> {
        if let Some(op) = op {
            return Ok(self.combined_at(op, to, from)?.1);
        }
        // What has effects in the place is done once: the place is looked for again with its values.
        let around = self.saved.replace(HashMap::new());
        let done = self.assigned(None, to, from);
        let place = done.and_then(|_| self.place(to));
        self.saved = around;
        place
    }

    fn is_register(&self, e: &ast::Expr) -> bool {
        match &e.kind {
            ExprKind::Name(name) => {
                matches!(self.find(name), Some(Place::Reg(..) | Place::Parts(..)))
            }
            ExprKind::Member(inner, _) => self.is_register(inner),
            _ => false,
        }
    }

    /// Whether an expression does more than to compute and to read what nobody else changes.
    pub(super) fn has_effects(&mut self, e: &ast::Expr) -> Lowering<bool> {
        let here = match &e.kind {
            ExprKind::Call(..)
            | ExprKind::Assign(..)
            | ExprKind::Step { .. }
            | ExprKind::Literal(..)
            | ExprKind::Statements(..) => true,
            ExprKind::SizeOf(_) => return Ok(false),
            _ if is_place(e) && self.function_address(e).is_none() => {
                let ty = self.type_of(e)?;
                ty.is_scalar() && (ty.volatile || ty.atomic)
            }
            _ => false,
        };
        if here {
            return Ok(true);
        }
        let mut inner = Vec::new();
        match &e.kind {
            // Where something is, is not read.
            ExprKind::AddressOf(place) if is_place(place) => parts(place, &mut |e| inner.push(e)),
            _ => parts(e, &mut |e| inner.push(e)),
        }
        for e in inner {
            if self.has_effects(e)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The value of an expression that was saved, or is to be.
    pub(super) fn saved_value(&mut self, e: &ast::Expr) -> Lowering<Option<Typed>> {
        let Some(saved) = &self.saved else { return Ok(None) };
        let key = std::ptr::from_ref(e);
        if let Some(value) = saved.get(&key) {
            return Ok(Some(value.clone()));
        }
        let is_whole = match &e.kind {
            ExprKind::Binary(BinOp::And | BinOp::Or | BinOp::Div | BinOp::Rem, _) => true,
            ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Cast(..) => false,
            _ => true,
        };
        if !is_whole || !self.has_effects(e)? {
            return Ok(None);
        }
        let around = self.saved.take();
        let value = self.any_value(None, e);
        self.saved = around;
        let (mut value, ty) = value?;
        if !matches!(value, Expr::Const(_)) {
            let reg = self.temp();
            self.assign(reg, value);
            value = Expr::Reg(reg);
        }
        let value = (value, ty);
        if let Some(saved) = &mut self.saved {
            saved.insert(key, value.clone());
        }
        Ok(Some(value))
    }
}
