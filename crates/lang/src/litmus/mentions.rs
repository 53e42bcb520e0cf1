//! Where locations and registers are mentioned outside of the code: in the initial state, in
//! `locations`, the filter and the condition.

use super::ast::{Frame, InitValue, Prop, RegRef, Symbol, Target, Term};

/// The locations that the initial state sets, declares or points to.
pub(super) fn each_init_symbol<'a>(frame: &'a Frame, visit: &mut impl FnMut(&'a Symbol)) {
    for item in &frame.init {
        if let Target::Loc(s) | Target::Array(s) = &item.target {
            visit(s);
        }
        each_address(item.value.as_ref(), visit);
    }
}

/// The locations whose addresses registers and memory are set to.
pub(super) fn each_init_address<'a>(frame: &'a Frame, visit: &mut impl FnMut(&'a Symbol)) {
    for item in &frame.init {
        each_address(item.value.as_ref(), visit);
    }
}

fn each_address<'a>(value: Option<&'a InitValue>, visit: &mut impl FnMut(&'a Symbol)) {
    match value {
        Some(InitValue::Address(s)) => visit(s),
        Some(InitValue::List(values, _)) => {
            for value in values {
                if let InitValue::Address(s) = value {
                    visit(s);
                }
            }
        }
        _ => {}
    }
}

/// What `locations`, the filter and the condition are about, with both sides of each equation.
pub(super) fn each_asked_term<'a>(frame: &'a Frame, visit: &mut impl FnMut(&'a Term)) {
    for listed in &frame.locations {
        visit(&listed.what);
    }
    for prop in frame.filter.iter().chain(frame.condition.iter().map(|c| &c.prop)) {
        each_term(prop, visit);
    }
}

/// The registers that the frame mentions.
pub(super) fn each_frame_register<'a>(frame: &'a Frame, visit: &mut impl FnMut(&'a RegRef)) {
    for item in &frame.init {
        if let Target::Reg(r) = &item.target {
            visit(r);
        }
    }
    each_asked_term(frame, &mut |term| {
        if let Term::Reg(r) = term {
            visit(r);
        }
    });
}

/// The registers of a proposition.
pub(super) fn each_register<'a>(prop: &'a Prop, visit: &mut impl FnMut(&'a RegRef)) {
    each_term(prop, &mut |term| {
        if let Term::Reg(r) = term {
            visit(r);
        }
    });
}

/// The location in a term.
pub(super) fn each_term_symbol<'a>(term: &'a Term, visit: &mut impl FnMut(&'a Symbol)) {
    if let Term::Name(s) | Term::Content(s) | Term::Address(s) = term {
        visit(s);
    }
}

fn each_term<'a>(prop: &'a Prop, visit: &mut impl FnMut(&'a Term)) {
    match prop {
        Prop::True | Prop::False => {}
        Prop::Atom(atom) => {
            visit(&atom.left);
            visit(&atom.right);
        }
        Prop::Not(p) | Prop::Paren(p) => each_term(p, visit),
        Prop::And(parts) | Prop::Or(parts) => parts.iter().for_each(|p| each_term(p, visit)),
        Prop::Implies(l, r, _) => {
            each_term(l, visit);
            each_term(r, visit);
        }
    }
}
