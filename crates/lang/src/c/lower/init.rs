//! What variables start with.

use weakspot_core::{BinOp, Expr, Span, Value};

use super::{Lower, Lowering, Place};
use crate::Diagnostic;
use crate::c::ast::{self, Designator, ExprKind, Init, ObjectId, Unit, Variable};
use crate::c::memory::{Memory, cell};
use crate::c::types::{Struct, Type, TypeKind};
use crate::litmus::c::folded;

/// A scalar of a variable and what it starts with, if that is said.
type Part<'a> = (Value, Type, Option<&'a ast::Expr>);

/// Memory for all variables outside of functions, with what they start with.
pub(in crate::c) fn globals(unit: &Unit, memory: &mut Memory) -> Lowering<()> {
    for Variable { name, ty, at, .. } in &unit.globals {
        // A variable may be declared several times.
        if !memory.globals.contains_key(name) {
            let addr = memory.allocate(ty, name, &unit.structs, *at)?;
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
        let mut all = Vec::new();
        parts(init, ty, 0, &self.unit.structs, &mut all)?;
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
                Some((None, item)) if items.len() == 1 => return self.initialise(place, item),
                _ => return Err(Diagnostic::new(*at, "this is no single value", "")),
            },
        };
        if let (TypeKind::Struct(_), Init::Value(e)) = (&ty.kind, init)
            && !matches!(e.kind, ExprKind::Literal(..))
        {
            return self.copy(&Place::Memory(addr, ty), e);
        }
        let Expr::Const(base) = addr else { return Ok(()) };
        let mut all = Vec::new();
        parts(init, &ty, 0, &self.unit.structs, &mut all)?;
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
        let mut all = Vec::new();
        parts(init, ty, 0, &self.unit.structs, &mut all)?;
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
        let name = "literal";
        if self.frames.is_empty() {
            // Outside of functions it is there from the start.
            let addr = self.memory.allocate(ty, name, &self.unit.structs, at)?;
            self.initialise_static(addr, ty, init)?;
            return Ok(Place::Memory(Expr::Const(addr), ty.clone()));
        }
        let addr = match self.objects.get(&id) {
            Some(addr) => *addr,
            None => {
                let own = format!("{}:{name}", self.thread);
                let addr = self.memory.allocate(ty, &own, &self.unit.structs, at)?;
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
fn parts<'a>(
    init: &'a Init,
    ty: &Type,
    offset: Value,
    structs: &[Struct],
    all: &mut Vec<Part<'a>>,
) -> Lowering<()> {
    let (items, at) = match init {
        Init::Value(ast::Expr { kind: ExprKind::Literal(_, own, init), .. })
            if own.kind == ty.kind && !ty.is_scalar() =>
        {
            return parts(init, ty, offset, structs, all);
        }
        Init::Value(e) if ty.is_scalar() => {
            all.push((offset, ty.clone(), Some(e)));
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
            [(None, item)] => parts(item, ty, offset, structs, all),
            _ => Err(Diagnostic::new(at, "several values for one", "")),
        };
    }
    let members: Vec<(Value, Type, &str)> = match &ty.kind {
        TypeKind::Array(of, n) => {
            let size = of.size(structs);
            (0..*n).map(|i| (offset + i * size, Type::clone(of), "")).collect()
        }
        TypeKind::Struct(s) => {
            let fields = structs[*s].fields.iter().flatten();
            fields.map(|f| (offset + f.offset, f.ty.clone(), f.name.as_str())).collect()
        }
        _ => Vec::new(),
    };
    let mut given: Vec<Option<&Init>> = vec![None; members.len()];
    let mut next = 0;
    for (designator, item) in items {
        match designator {
            Some(Designator::Index(i)) => next = usize::try_from(*i).unwrap_or(usize::MAX),
            Some(Designator::Member(name, at)) => {
                next = members.iter().position(|(_, _, n)| n == name).ok_or_else(|| {
                    let message = format!("`{}` has no member `{name}`", ty.describe(structs));
                    Diagnostic::new(*at, message, "")
                })?;
            }
            None => {}
        }
        let Some(slot) = given.get_mut(next) else {
            return Err(Diagnostic::new(at, "more values than there are members", ""));
        };
        *slot = Some(item);
        next += 1;
    }
    for ((offset, ty, _), init) in members.into_iter().zip(given) {
        match init {
            Some(init) => parts(init, &ty, offset, structs, all)?,
            None => ty.each_scalar(structs, (offset, ""), &mut |offset, _, ty| {
                all.push((offset, ty.clone(), None));
            }),
        }
    }
    Ok(())
}
