//! What variables start with.

use std::collections::BTreeMap;

use weakspot_core::{BinOp, Expr, Span, Value};

use super::{Lower, Lowering, Place};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind, Init, ObjectId, Unit, Variable};
use crate::c::list::walk;
use crate::c::memory::{Memory, cell};
use crate::c::naming::Label;
use crate::c::parse::ELSEWHERE;
use crate::c::types::{Field, Struct, Type, TypeKind};
use crate::litmus::c::folded;

/// A scalar of a variable and what it starts with, if that is said.
type Part<'a> = (Value, Type, Option<&'a ast::Expr>);

/// Memory for all variables outside of functions, with what they start with.
pub(in crate::c) fn globals(unit: &Unit, memory: &mut Memory) -> Lowering<()> {
    for Variable { name, ty, at, .. } in &unit.globals {
        // A variable may be declared several times.
        if !memory.globals.contains_key(name) {
            let label = Label { at: *at, ..Label::only(name.clone()) };
            let addr = memory.allocate(ty, label, &unit.structs)?;
            memory.globals.insert(name.clone(), (addr, ty.clone()));
        }
    }
    for Variable { name, init, id, .. } in &unit.globals {
        let (Some(init), Some((addr, ty))) = (init, memory.globals.get(name).cloned()) else {
            continue;
        };
        Lower::new(unit, memory, "", true).initialise_static(addr, &ty, init)?;
        if memory.frozen.contains(id) {
            memory.freeze(addr, &ty, &unit.structs);
        }
    }
    Ok(())
}

impl Lower<'_> {
    /// Gives a variable of static storage its value, which is a constant.
    pub(super) fn initialise_static(
        &mut self,
        addr: Value,
        ty: &Type,
        init: &Init,
    ) -> Lowering<()> {
        let all = parts(init, ty, &self.unit.structs)?;
        for (offset, ty, e) in all {
            let Some(e) = e else { continue };
            let (value, from) = self.value(e)?;
            let value = self.converted(value, &from, &ty);
            let (Expr::Const(value), Expr::Const(cell)) =
                (value, cell(Expr::Const(addr + offset), &ty))
            else {
                return Err(Diagnostic::new(e.at, "this is no constant", "expected a constant"));
            };
            self.memory.set(cell, value);
        }
        Ok(())
    }

    /// Gives a variable of a function its value.
    pub(super) fn initialise(&mut self, place: Place, init: &Init) -> Lowering<()> {
        let (addr, ty) = match (place, init) {
            (Place::Reg(reg, ty), Init::Value(e)) => {
                let (value, from) = self.value_for(Some((reg, &ty)), e)?;
                self.write(Place::Reg(reg, ty), value, &from);
                return Ok(());
            }
            (Place::Memory(addr, ty), _) => (addr, ty),
            (place @ Place::Reg(..), Init::List(items, at)) => match items.first() {
                Some((none, item)) if items.len() == 1 && none.is_empty() => {
                    return self.initialise(place, item);
                }
                _ => return Err(Diagnostic::new(*at, "this is no single value", "")),
            },
        };
        if let (TypeKind::Struct(_), Init::Value(e)) = (&ty.kind, init)
            && !matches!(e.kind, ExprKind::Literal(..))
        {
            let source = self.place(e)?;
            return self.copy(&Place::Memory(addr, ty), source, e);
        }
        let Expr::Const(base) = addr else { return Ok(()) };
        let all = parts(init, &ty, &self.unit.structs)?;
        for (offset, ty, e) in all {
            let (value, from) = match e {
                Some(e) => self.value(e)?,
                None => (Expr::Const(0), Type::INT),
            };
            let plain = Type { atomic: false, ..ty };
            self.write(Place::Memory(Expr::Const(base + offset), plain), value, &from);
        }
        Ok(())
    }

    /// `to = (struct s){1, 2}`: all values, then the stores.
    pub(super) fn assign_literal(&mut self, (to, ty): (&Expr, &Type), init: &Init) -> Lowering<()> {
        let all = parts(init, ty, &self.unit.structs)?;
        let mut stores = Vec::new();
        for (offset, ty, e) in all {
            let (value, from) = match e {
                Some(e) => self.value(e)?,
                None => (Expr::Const(0), Type::INT),
            };
            let value = self.converted(value, &from, &ty);
            let value = match value {
                Expr::Const(_) => value,
                value => {
                    let reg = self.temp();
                    self.assign(reg, value);
                    Expr::Reg(reg)
                }
            };
            stores.push((offset, Type { atomic: false, ..ty }, value));
        }
        for (offset, ty, value) in stores {
            let at = folded(Expr::binary(BinOp::Add, to.clone(), Expr::Const(offset)));
            self.write(Place::Memory(at, ty.clone()), value, &ty);
        }
        Ok(())
    }

    /// The object of a literal, with its values.
    pub(super) fn literal(
        &mut self,
        id: ObjectId,
        (ty, init): (&Type, &Init),
        at: Span,
    ) -> Lowering<Place> {
        let label = Label { at, ..Label::only("literal".to_owned()) };
        if self.frames.is_empty() {
            // Outside of functions it is there from the start.
            let addr = self.memory.allocate(ty, label, &self.unit.structs)?;
            self.initialise_static(addr, ty, init)?;
            return Ok(Place::Memory(Expr::Const(addr), ty.clone()));
        }
        let addr = match self.objects.get(&id) {
            Some(addr) => *addr,
            None => {
                let label = self.own(label);
                let addr = self.memory.allocate(ty, label, &self.unit.structs)?;
                self.objects.insert(id, addr);
                addr
            }
        };
        let place = Place::Memory(Expr::Const(addr), ty.clone());
        self.initialise(place.clone(), init)?;
        Ok(place)
    }
}

/// The scalars of a type, each with its value.
fn parts<'a>(init: &'a Init, ty: &Type, structs: &[Struct]) -> Lowering<Vec<Part<'a>>> {
    let mut all = BTreeMap::new();
    fill(init, (0, ty), structs, &mut all)?;
    Ok(all.into_iter().map(|(offset, (ty, e))| (offset, ty, e)).collect())
}

/// The same of a part at an offset. What comes later counts.
fn fill<'a>(
    init: &'a Init,
    (offset, ty): (Value, &Type),
    structs: &[Struct],
    all: &mut BTreeMap<Value, (Type, Option<&'a ast::Expr>)>,
) -> Lowering<()> {
    let (items, at) = match init {
        Init::Value(ast::Expr { kind: ExprKind::Literal(_, own, init), .. })
            if own.kind == ty.kind && !ty.is_scalar() =>
        {
            return fill(init, (offset, ty), structs, all);
        }
        Init::Value(e) if ty.is_scalar() => {
            all.insert(offset, (ty.clone(), Some(e)));
            return Ok(());
        }
        Init::Value(e) => {
            let message = format!("a value for `{}`", ty.describe(structs));
            return Err(Diagnostic::new(e.at, message, "expected `{`"));
        }
        Init::List(items, at) => (items, *at),
    };
    if ty.is_scalar() {
        return match items.as_slice() {
            [] => Ok(()),
            [(designators, item)] if designators.is_empty() => {
                fill(item, (offset, ty), structs, all)
            }
            _ => Err(Diagnostic::new(at, "several values for one", "")),
        };
    }
    ty.each_scalar(structs, (offset, ""), &mut |offset, _, ty| {
        all.insert(offset, (ty.clone(), None));
    });
    walk((items, at), ty, structs, &mut |(inner, ty), item, levels| {
        for level in levels {
            if let (TypeKind::Struct(s), Ok(index)) = (&level.ty.kind, usize::try_from(level.index))
                && structs[*s].is_union
            {
                // All members are 0 if one is, whatever was there before.
                if is_zero(item) {
                    let start = offset + inner;
                    let there = all.range_mut(start..start + ty.size(structs).max(1));
                    there.for_each(|(_, (_, e))| *e = None);
                    return Ok(());
                }
                use_member((*s, index), structs, at)?;
            }
        }
        fill(item, (offset + inner, &ty), structs, all)
    })?;
    Ok(())
}

fn is_zero(init: &Init) -> bool {
    match init {
        Init::Value(e) => matches!(e.kind, ExprKind::Number(0, _)),
        Init::List(items, _) => items.iter().all(|(_, item)| is_zero(item)),
    }
}

/// Uses a member of a struct or union.
pub(super) fn use_member((s, index): (usize, usize), structs: &[Struct], at: Span) -> Lowering<()> {
    let whole = &structs[s];
    whole.use_member(index, structs).map_err(|stored| {
        let name = |field: &Field| match field.name.as_str() {
            "" => "a member without a name".to_owned(),
            name => format!("`{name}`"),
        };
        let own = whole.fields.iter().flatten().nth(index).map(name).unwrap_or_default();
        let message = format!("{own} of a union that is used as {}, too", name(stored));
        let expected = "reading another member than was written is not supported here";
        Diagnostic::new(at, message, expected).help(ELSEWHERE)
    })
}
