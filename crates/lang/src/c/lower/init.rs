//! What variables start with.

use std::collections::BTreeMap;

use weakspot_core::{Expr, Span, Value};

use super::structs::Parts;
use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind, Init, ObjectId, Unit, Variable};
use crate::c::list::{Types, text_for, walk};
use crate::c::memory::{Memory, cell};
use crate::c::naming::Label;
use crate::c::parse::ELSEWHERE;
use crate::c::types::{Field, Struct, Type, TypeKind};
use crate::c::visit::is_in_memory;

/// A scalar of a variable, or a struct in it that is copied, and what it starts with.
type Part<'a> = (Value, Type, Source<'a>);

/// What a part starts with.
#[derive(Clone, Copy)]
enum Source<'a> {
    Expr(&'a ast::Expr),
    /// Of a text.
    Character(u8),
    /// Nothing is said: 0.
    Nothing,
}

/// Memory for all variables outside of functions, with what they start with.
pub(in crate::c) fn globals(unit: &Unit, memory: &mut Memory) -> Lowering<()> {
    let shared = || unit.globals.iter().filter(|v| !v.per_thread);
    for Variable { name, ty, at, .. } in shared() {
        // A variable may be declared several times.
        if !memory.globals.contains_key(name) {
            let label = Label { at: *at, ..Label::only(name.clone()) };
            let addr = memory.allocate(ty, label, &unit.structs)?;
            memory.globals.insert(name.clone(), (addr, ty.clone()));
        }
    }
    for Variable { name, init, id, .. } in shared() {
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
        for (offset, ty, source) in self.parts(init, ty)? {
            let no_constant = |source: Source<'_>| {
                let at = if let Source::Expr(e) = source { e.at } else { Span::default() };
                Diagnostic::new(at, "this is no constant", "expected a constant")
            };
            if let TypeKind::Struct(_) = ty.kind {
                return Err(no_constant(source));
            }
            let (value, from) = match source {
                Source::Nothing => continue,
                source => self.source_value(source)?,
            };
            let value = self.converted(value, &from, &ty);
            let (Expr::Const(value), Expr::Const(cell)) =
                (value, cell(Expr::Const(addr + offset), &ty))
            else {
                return Err(no_constant(source));
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
            (place @ Place::Parts(..), Init::Value(e))
                if !matches!(e.kind, ExprKind::Literal(..)) =>
            {
                return self.assign_struct(&place, e);
            }
            (place @ Place::Parts(..), init) => {
                let parts = self.literal_parts(place.ty(), init)?;
                self.write_struct(&place, parts);
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
            let place = Place::Memory(addr, ty);
            if !is_in_memory(e) {
                return self.assign_struct(&place, e);
            }
            let source = self.place(e)?;
            return self.copy(&place, source, e);
        }
        let Expr::Const(base) = addr else { return Ok(()) };
        for (offset, ty, source) in self.parts(init, &ty)? {
            if let (TypeKind::Struct(_), Source::Expr(e)) = (&ty.kind, &source) {
                self.assign_struct(&Place::Memory(Expr::Const(base + offset), ty), e)?;
                continue;
            }
            let (value, from) = self.source_value(source)?;
            let plain = Type { atomic: false, ..ty };
            self.write(Place::Memory(Expr::Const(base + offset), plain), value, &from);
        }
        Ok(())
    }

    /// The values of `(struct s){1, 2}`.
    pub(super) fn literal_parts(&mut self, ty: &Type, init: &Init) -> Lowering<Parts> {
        let mut parts = Vec::new();
        for (offset, ty, source) in self.parts(init, ty)? {
            if let (TypeKind::Struct(_), Source::Expr(e)) = (&ty.kind, &source) {
                let inner = self.struct_value(e)?.1.into_iter();
                parts.extend(inner.map(|(at, ty, value)| (offset + at, ty, value)));
                continue;
            }
            let (value, from) = self.source_value(source)?;
            let value = match self.converted(value, &from, &ty) {
                value @ Expr::Const(_) => value,
                value => {
                    let reg = self.temp();
                    self.assign(reg, value);
                    Expr::Reg(reg)
                }
            };
            parts.push((offset, Type { atomic: false, ..ty }, value));
        }
        Ok(parts)
    }

    fn source_value(&mut self, source: Source<'_>) -> Lowering<Typed> {
        match source {
            Source::Expr(e) => self.value(e),
            Source::Character(c) => Ok((Expr::Const(c.into()), Type::INT)),
            Source::Nothing => Ok((Expr::Const(0), Type::INT)),
        }
    }

    /// The scalars of a type, and structs that are copied as a whole, each with its value.
    fn parts<'a>(&mut self, init: &'a Init, ty: &Type) -> Lowering<Vec<Part<'a>>> {
        let structs = &self.unit.structs;
        let mut all = BTreeMap::new();
        let mut type_of = |e: &ast::Expr| self.type_of(e).ok();
        fill(init, (0, ty), (structs, &mut type_of), &mut all)?;
        Ok(all.into_iter().map(|(offset, (ty, e))| (offset, ty, e)).collect())
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

/// The same of a part at an offset. What comes later counts.
fn fill<'a>(
    init: &'a Init,
    (offset, ty): (Value, &Type),
    (structs, type_of): Types<'_>,
    all: &mut BTreeMap<Value, (Type, Source<'a>)>,
) -> Lowering<()> {
    let none = |all: &mut BTreeMap<Value, (Type, Source<'a>)>| {
        ty.each_scalar(structs, (offset, ""), &mut |offset, _, ty| {
            all.insert(offset, (ty.clone(), Source::Nothing));
        });
    };
    if let (Some(text), Some(n)) = (text_for(init, ty), ty.characters()) {
        none(all);
        if text.len() as Value > n {
            let (Init::Value(ast::Expr { at, .. }) | Init::List(_, at)) = init;
            return Err(Diagnostic::new(*at, "this text is longer than the array", ""));
        }
        for ((_, (_, source)), c) in all.range_mut(offset..).zip(text) {
            *source = Source::Character(*c);
        }
        return Ok(());
    }
    let (items, at) = match init {
        Init::Value(ast::Expr { kind: ExprKind::Literal(_, own, init), .. })
            if own.kind == ty.kind && !ty.is_scalar() =>
        {
            return fill(init, (offset, ty), (structs, type_of), all);
        }
        Init::Value(e) if ty.is_scalar() => {
            if let Some((start, (whole, _))) = all.range(..=offset).next_back()
                && matches!(whole.kind, TypeKind::Struct(_))
                && offset < start + whole.size(structs)
            {
                let message = "a member of a struct that is copied as a whole";
                return Err(Diagnostic::new(e.at, message, "").help(ELSEWHERE));
            }
            all.insert(offset, (ty.clone(), Source::Expr(e)));
            return Ok(());
        }
        // A struct in a list, which is copied.
        Init::Value(e)
            if matches!(ty.kind, TypeKind::Struct(_))
                && type_of(e).is_some_and(|own| own.kind == ty.kind) =>
        {
            all.retain(|at, _| !(offset..offset + ty.size(structs)).contains(at));
            all.insert(offset, (ty.clone(), Source::Expr(e)));
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
                fill(item, (offset, ty), (structs, type_of), all)
            }
            _ => Err(Diagnostic::new(at, "several values for one", "")),
        };
    }
    none(all);
    let mut found = Vec::new();
    walk((items, at), ty, (structs, type_of), &mut |(inner, ty), item, levels| {
        for level in levels {
            if let (TypeKind::Struct(s), Ok(index)) = (&level.ty.kind, usize::try_from(level.index))
                && structs[*s].is_union
            {
                // All members are 0 if one is, whatever was there before.
                if is_zero(item) {
                    found.push((inner, ty, None));
                    return Ok(());
                }
                use_member((*s, index), structs, at)?;
            }
        }
        found.push((inner, ty, Some(item)));
        Ok(())
    })?;
    for (inner, ty, item) in found {
        let start = offset + inner;
        match item {
            Some(item) => fill(item, (start, &ty), (structs, type_of), all)?,
            None => {
                let there = all.range_mut(start..start + ty.size(structs).max(1));
                there.for_each(|(_, (_, source))| *source = Source::Nothing);
            }
        }
    }
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
