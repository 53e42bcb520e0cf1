//! Tables that nobody changes: arrays and structs of functions and numbers that are given their values where they are
//! declared, of which only elements are read. What they hold is known in every run, so that threads can be started and
//! functions be called by them.
//!
//! Uses are looked for by name, in the whole text: who has the name of a variable that is changed may be
//! taken to be changed as well.

use std::collections::HashSet;

use weakspot_core::Value;

use super::ast::{Expr, ExprKind, Init, ObjectId, Stmt, StmtKind, Unit, Variable};
use super::types::{Struct, Type, TypeKind};
use super::visit::{each_statement, each_whole_expr, in_init, parts};

/// All such tables.
pub(super) fn frozen(unit: &Unit) -> HashSet<ObjectId> {
    let mut locals: Vec<&Variable> = Vec::new();
    let mut names: HashSet<&str> = unit.globals.iter().map(|v| v.name.as_str()).collect();
    for f in &unit.functions {
        names.extend(f.params.iter().map(|p| p.name.as_str()));
        each_statement(&f.body.stmts, &mut |stmt: &Stmt| {
            if let StmtKind::Declare(variables) = &stmt.kind {
                locals.extend(variables);
            }
        });
    }
    names.extend(locals.iter().map(|v| v.name.as_str()));
    let is_table = |v: &&Variable| {
        let of_parts = matches!(v.ty.kind, TypeKind::Array(..) | TypeKind::Struct(_));
        of_parts && !v.per_thread && matches!(v.init, Some(Init::List(..)))
    };
    // What is declared several times is left alone.
    let once = |v: &&Variable| unit.globals.iter().filter(|g| g.name == v.name).count() == 1;
    let globals = unit.globals.iter().filter(once).filter(is_table);
    // Those of functions must not depend on anything either.
    let is_constant = |v: &&Variable| {
        let init = v.init.as_ref();
        v.is_static || init.is_some_and(|init| is_constant_list(init, unit, &names))
    };
    let locals = locals.iter().copied().filter(is_table).filter(is_constant);
    let tables = globals.chain(locals).filter(|v| is_only_read(v, unit));
    tables.map(|v| v.id).collect()
}

fn is_constant_list(init: &Init, unit: &Unit, names: &HashSet<&str>) -> bool {
    match init {
        Init::Value(e) => is_constant(e, unit, names),
        Init::List(items, _) => items.iter().all(|(_, item)| is_constant_list(item, unit, names)),
    }
}

fn is_constant(e: &Expr, unit: &Unit, names: &HashSet<&str>) -> bool {
    match &e.kind {
        ExprKind::Number(..) => true,
        ExprKind::Name(name) => {
            unit.functions.iter().any(|f| f.name == *name) && !names.contains(name.as_str())
        }
        ExprKind::Cast(_, inner) | ExprKind::Unary(_, inner) | ExprKind::AddressOf(inner) => {
            is_constant(inner, unit, names)
        }
        _ => false,
    }
}

fn is_only_read(v: &Variable, unit: &Unit) -> bool {
    let mut read = true;
    let mut look = |e: &Expr| read &= reads(e, v, &unit.structs);
    for init in unit.globals.iter().filter_map(|g| g.init.as_ref()) {
        in_init(init, &mut look);
    }
    for stmt in unit.functions.iter().flat_map(|f| &f.body.stmts) {
        each_whole_expr(stmt, &mut look);
    }
    read
}

/// Whether an expression whose value is taken only reads elements of a variable.
fn reads(e: &Expr, v: &Variable, structs: &[Struct]) -> bool {
    let is_element = |e: &Expr| root(e) == Some(v.name.as_str());
    match &e.kind {
        ExprKind::SizeOf(_) => return true,
        ExprKind::Assign(_, both) if is_element(&both.0) => return false,
        ExprKind::Step { target: changed, .. } | ExprKind::AddressOf(changed)
            if is_element(changed) =>
        {
            return false;
        }
        // The value of an array would be its address.
        _ if is_element(e) => return is_value(e, &v.ty, structs) && reads_indices(e, v, structs),
        _ => {}
    }
    let mut fine = true;
    parts(e, &mut |part| fine &= reads(part, v, structs));
    fine
}

/// The same of the indices of an element.
fn reads_indices(e: &Expr, v: &Variable, structs: &[Struct]) -> bool {
    match &e.kind {
        ExprKind::Index(both) => reads(&both.1, v, structs) && reads_indices(&both.0, v, structs),
        ExprKind::Member(inner, _) => reads_indices(inner, v, structs),
        _ => true,
    }
}

/// The variable of which an expression is an element, or all.
pub(super) fn root(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Index(both) => root(&both.0),
        ExprKind::Member(inner, _) => root(inner),
        _ => None,
    }
}

/// The type of an element, by the type of the variable.
fn element<'t>(e: &Expr, ty: &'t Type, structs: &'t [Struct]) -> Option<&'t Type> {
    match &e.kind {
        ExprKind::Name(_) => Some(ty),
        ExprKind::Index(both) => match &element(&both.0, ty, structs)?.kind {
            TypeKind::Array(of, _) => Some(of),
            _ => None,
        },
        ExprKind::Member(inner, name) => match &element(inner, ty, structs)?.kind {
            TypeKind::Struct(s) => {
                let fields = structs[*s].fields.as_deref()?;
                fields.iter().find(|f| f.name == *name).map(|f| &f.ty)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether an element is a number, a pointer or a struct, which are copied when they are read.
fn is_value(e: &Expr, ty: &Type, structs: &[Struct]) -> bool {
    let found = element(e, ty, structs);
    found.is_some_and(|ty| ty.is_scalar() || matches!(ty.kind, TypeKind::Struct(_)))
}

/// Where the elements are that an expression may name, whatever the indices are.
pub(super) fn elements(e: &Expr, ty: &Type, structs: &[Struct]) -> Vec<(Value, Type)> {
    match &e.kind {
        ExprKind::Name(_) => vec![(0, ty.clone())],
        ExprKind::Index(both) => {
            let arrays = elements(&both.0, ty, structs).into_iter();
            let each = arrays.filter_map(|(offset, ty)| match ty.kind {
                TypeKind::Array(of, n) => Some((offset, of, n)),
                _ => None,
            });
            each.flat_map(|(offset, of, n)| {
                let size = of.size(structs);
                (0..n).map(move |i| (offset + i * size, Type::clone(&of)))
            })
            .collect()
        }
        ExprKind::Member(inner, name) => {
            let all = elements(inner, ty, structs).into_iter();
            let member = |(offset, ty): (Value, Type)| match ty.kind {
                TypeKind::Struct(s) => {
                    let field = structs[s].fields.as_ref()?.iter().find(|f| f.name == *name)?;
                    Some((offset + field.offset, field.ty.clone()))
                }
                _ => None,
            };
            all.filter_map(member).collect()
        }
        _ => Vec::new(),
    }
}
