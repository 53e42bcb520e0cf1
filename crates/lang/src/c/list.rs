//! Which value of a list in braces is for which part of an object: designators, and inner braces that are left out.

use weakspot_core::{Span, Value};

use super::ast::{Designator, Expr, ExprKind, Init, Item};
use super::types::{MOST_BYTES, Struct, Type, TypeKind};
use crate::Diagnostic;

/// An array, struct or union of which one part comes next.
pub(super) struct Level {
    pub(super) ty: Type,
    /// Where it begins.
    offset: Value,
    pub(super) index: Value,
}

impl Level {
    /// Where the part is that comes next, and its type.
    fn part(&self, structs: &[Struct]) -> Option<(Value, Type)> {
        match &self.ty.kind {
            // The size of an array may follow from its values.
            TypeKind::Array(of, n) if (0..*n).contains(&self.index) || *n < 0 => {
                let offset = self.index.saturating_mul(of.size(structs));
                Some((self.offset.saturating_add(offset), Type::clone(of)))
            }
            TypeKind::Struct(s) => {
                let fields = structs[*s].fields.as_ref()?;
                let field = fields.get(usize::try_from(self.index).ok()?)?;
                Some((self.offset + field.offset, field.ty.clone()))
            }
            _ => None,
        }
    }

    /// Goes on behind the part. A union has one.
    fn advance(&mut self, structs: &[Struct]) {
        self.index = match &self.ty.kind {
            TypeKind::Struct(s) if structs[*s].is_union => Value::MAX,
            _ => self.index.saturating_add(1),
        };
    }
}

/// Takes a value, where its part begins and of which type it is, and what the part is in.
pub(super) type Visit<'v, 'a> =
    &'v mut dyn FnMut((Value, Type), &'a Init, &[Level]) -> Result<(), Diagnostic>;

/// The structs of the text, and who knows the types of expressions.
pub(super) type Types<'t> = (&'t [Struct], &'t mut dyn FnMut(&Expr) -> Option<Type>);

/// The text that an array of characters starts with, which may stand in braces.
pub(super) fn text_for<'a>(init: &'a Init, ty: &Type) -> Option<&'a [u8]> {
    ty.characters()?;
    match init {
        Init::Value(Expr { kind: ExprKind::Text(text), .. }) => Some(text),
        Init::List(items, _) => match items.as_slice() {
            [(designators, item @ Init::Value(_))] if designators.is_empty() => text_for(item, ty),
            _ => None,
        },
        Init::Value(_) => None,
    }
}

/// Calls `visit` with each value of a list. Returns how many elements an array of the type has at least.
pub(super) fn walk<'a>(
    (items, at): (&'a [Item], Span),
    ty: &Type,
    (structs, type_of): Types<'_>,
    visit: Visit<'_, 'a>,
) -> Result<Value, Diagnostic> {
    let mut levels = vec![Level { ty: ty.clone(), offset: 0, index: 0 }];
    let mut count = 0;
    for (designators, init) in items {
        if !designators.is_empty() {
            designate(&mut levels, designators, structs)?;
        }
        let part = loop {
            let last = &levels[levels.len() - 1];
            let part = last.part(structs).filter(|_| levels[0].index < MOST_BYTES);
            let Some((offset, ty)) = part else {
                return Err(Diagnostic::new(at, "more values than there are members", ""));
            };
            if is_for(init, &ty, type_of) {
                break (offset, ty);
            }
            levels.push(Level { ty, offset, index: 0 });
        };
        count = count.max(levels[0].index + 1);
        visit(part, init, &levels)?;
        loop {
            let inner = levels.len() - 1;
            levels[inner].advance(structs);
            if inner == 0 || levels[inner].part(structs).is_some() {
                break;
            }
            levels.pop();
        }
    }
    Ok(count)
}

/// Goes to the part that designators name.
fn designate(
    levels: &mut Vec<Level>,
    designators: &[Designator],
    structs: &[Struct],
) -> Result<(), Diagnostic> {
    levels.truncate(1);
    for (i, designator) in designators.iter().enumerate() {
        if i > 0 {
            enter(levels, structs);
        }
        let last = levels.len() - 1;
        let ty = &levels[last].ty;
        match (designator, &ty.kind) {
            (Designator::Index(index, _), TypeKind::Array(..)) => levels[last].index = *index,
            (Designator::Member(name, at), TypeKind::Struct(s)) => {
                let Some(path) = structs[*s].path(name, structs) else {
                    let message = format!("`{}` has no member `{name}`", ty.describe(structs));
                    return Err(Diagnostic::new(*at, message, ""));
                };
                for (j, index) in path.into_iter().enumerate() {
                    if j > 0 {
                        enter(levels, structs);
                    }
                    let last = levels.len() - 1;
                    levels[last].index = index as Value;
                }
            }
            (Designator::Index(_, at) | Designator::Member(_, at), _) => {
                let message = format!("`{}` has no such part", ty.describe(structs));
                return Err(Diagnostic::new(*at, message, ""));
            }
        }
    }
    Ok(())
}

/// What comes next is in the part that came next.
fn enter(levels: &mut Vec<Level>, structs: &[Struct]) {
    let (offset, ty) = levels[levels.len() - 1].part(structs).unwrap_or((0, Type::VOID));
    levels.push(Level { ty, offset, index: 0 });
}

/// Whether a value is for a part as a whole; otherwise it is for the first part of it.
fn is_for(init: &Init, ty: &Type, type_of: &mut dyn FnMut(&Expr) -> Option<Type>) -> bool {
    let of_parts = matches!(ty.kind, TypeKind::Array(..) | TypeKind::Struct(_));
    match init {
        Init::List(..) => true,
        Init::Value(_) if !of_parts => true,
        Init::Value(e) => match &e.kind {
            ExprKind::Literal(_, own, _) => own.kind == ty.kind,
            ExprKind::Text(_) => ty.characters().is_some(),
            // A struct that is copied.
            _ => {
                matches!(ty.kind, TypeKind::Struct(_))
                    && type_of(e).is_some_and(|own| own.kind == ty.kind)
            }
        },
    }
}
