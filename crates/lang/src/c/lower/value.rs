//! Expressions: the values of registers, and loads where memory is read.

use weakspot_core::{BinOp, Expr, Instr, RegId, UnOp, Value};

use super::calls::OwnCall;
use super::init::use_member;
use super::structs::Parts;
use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{self, ExprKind};
use crate::c::memory::{FUNCTION_SIZE, FUNCTIONS, TEXTS, cell};
use crate::c::types::{Type, TypeKind};
use crate::c::visit::{is_in_memory, is_place, parts};
use crate::litmus::c::{binary, folded, not, undefined_shift};
use crate::suggest::did_you_mean;

pub(super) use crate::litmus::c::truth;

impl Lower<'_> {
    /// The value of an expression. What it reads from memory is read now.
    pub(super) fn value(&mut self, e: &ast::Expr) -> Lowering<Typed> {
        self.value_for(None, e)
    }

    /// The same; the value will be assigned to `to`, a register of this type.
    pub(super) fn value_for(
        &mut self,
        to: Option<(RegId, &Type)>,
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        let (value, ty) = self.any_value(to, e)?;
        match ty.kind {
            TypeKind::Struct(_) => Err(self.no_single(&ty, e)),
            _ => Ok((value, ty)),
        }
    }

    /// The same, of an expression that may be a struct, whose value is left out.
    pub(super) fn any_value(
        &mut self,
        to: Option<(RegId, &Type)>,
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        if let Some(address) = self.function_address(e) {
            return Ok((Expr::Const(address), Type::VOID.pointer()));
        }
        if let Some(saved) = self.saved_value(e)? {
            return Ok(saved);
        }
        match &e.kind {
            ExprKind::Number(n, ty) => Ok((Expr::Const(*n), ty.clone())),
            // Where a text is; it cannot be read.
            ExprKind::Text(_) => {
                let addr = TEXTS + Value::from(e.at.start);
                Ok((Expr::Const(addr), Type::int(1, true).pointer()))
            }
            ExprKind::Member(inner, name) if !is_in_memory(inner) => {
                self.member_value(inner, name, e)
            }
            ExprKind::Name(_) | ExprKind::Member(..) | ExprKind::Index(_) | ExprKind::Deref(_) => {
                let place = self.place(e)?;
                self.load(place, to, e)
            }
            ExprKind::Literal(_, ty, init) if ty.is_scalar() => {
                let reg = self.temp();
                self.initialise(Place::Reg(reg, ty.clone()), init)?;
                Ok((Expr::Reg(reg), Type { atomic: false, ..ty.clone() }))
            }
            ExprKind::Literal(..) => {
                let place = self.place(e)?;
                self.load(place, to, e)
            }
            ExprKind::AddressOf(inner) => match self.place(inner)? {
                Place::Memory(addr, ty) => Ok((addr, ty.pointer())),
                Place::Reg(..) | Place::Parts(..) => {
                    Err(Diagnostic::new(e.at, "the address of this is not supported here", ""))
                }
            },
            ExprKind::Cast(ty, inner) if ty.kind == TypeKind::Void => {
                self.effect(inner)?;
                Ok((Expr::Const(0), Type::VOID))
            }
            ExprKind::Cast(ty, inner) => {
                let (value, from) = self.value(inner)?;
                self.known_type(ty, e)?;
                Ok((self.converted(value, &from, ty), Type { atomic: false, ..ty.clone() }))
            }
            ExprKind::Unary(UnOp::Not, inner) => {
                let (value, _) = self.value(inner)?;
                Ok((folded(not(truth(value))), Type::INT))
            }
            ExprKind::Unary(op, inner) => {
                let (value, from) = self.value(inner)?;
                let ty = from.machine().common(Type::INT.machine());
                let value = ty.convert(value, from.machine());
                Ok((ty.wrap(folded(Expr::unary(*op, value))), Type::of_machine(ty)))
            }
            ExprKind::Binary(BinOp::And | BinOp::Or, both) if !self.is_pure(&both.1) => {
                self.decided(e)
            }
            ExprKind::Binary(op, both) => {
                let left = self.value(&both.0)?;
                let right = self.value(&both.1)?;
                defined(*op, &left.1, (&right.0, &both.1))?;
                Ok(self.combined(*op, left, right))
            }
            ExprKind::Select(all) => self.selected(all),
            ExprKind::Assign(op, both) => self.assigned(*op, &both.0, &both.1),
            ExprKind::Step { target, by, old } => self.stepped(target, *by, *old),
            ExprKind::Comma(both) => {
                self.effect(&both.0)?;
                self.value_for(to, &both.1)
            }
            ExprKind::SizeOfType(ty) => {
                self.known_type(ty, e)?;
                Ok((Expr::Const(ty.size(&self.unit.structs)), Type::SIZE))
            }
            ExprKind::SizeOf(inner) => {
                let ty = self.type_of(inner)?;
                Ok((Expr::Const(ty.size(&self.unit.structs)), Type::SIZE))
            }
            ExprKind::Call(f, args) => Ok(self.call_with_parts(to, f, args, e)?.0),
            ExprKind::Statements(block, _) => self.statements(block),
        }
    }

    /// Refuses a struct whose members are not known, and numbers that are none.
    fn known_type(&self, ty: &Type, e: &ast::Expr) -> Lowering<()> {
        match &ty.kind {
            TypeKind::Struct(s) if self.unit.structs[*s].fields.is_none() => {
                Err(Diagnostic::new(e.at, "the size of this type is not known", ""))
            }
            _ => Ok(()),
        }
    }

    /// The number that stands for a function, where `f` or `&f` is one.
    pub(super) fn function_address(&self, e: &ast::Expr) -> Option<Value> {
        let name = match &e.kind {
            ExprKind::Name(name) => name,
            ExprKind::AddressOf(inner) => match &inner.kind {
                ExprKind::Name(name) => name,
                _ => return None,
            },
            _ => return None,
        };
        if self.find(name).is_some() {
            return None;
        }
        let index = self.unit.functions.iter().position(|f| f.name == *name)?;
        Some(FUNCTIONS + FUNCTION_SIZE * index as Value)
    }

    /// The type of an expression, which is not evaluated. It is the same wherever the expression stands, and looked for
    /// once: what is looked at again at each level would be looked at exponentially often.
    pub(super) fn type_of(&mut self, e: &ast::Expr) -> Lowering<Type> {
        let key = std::ptr::from_ref(e);
        if let Some(ty) = self.types.get(&key) {
            return Ok(ty.clone());
        }
        let saved = self.saved.take();
        let ty = self.type_of_new(e);
        self.saved = saved;
        let ty = ty?;
        self.types.insert(key, ty.clone());
        Ok(ty)
    }

    fn type_of_new(&mut self, e: &ast::Expr) -> Lowering<Type> {
        match &e.kind {
            ExprKind::Text(text) => return Ok(Type::text(text)),
            ExprKind::Statements(_, Some(ty)) => return Ok(ty.clone()),
            ExprKind::Call(f, _) => {
                if let Some(f) = self.called(f) {
                    return Ok(Type { atomic: false, ..self.unit.functions[f].result.clone() });
                }
            }
            _ => {}
        }
        let (points, at, used) = (self.draft.points.len(), self.at, self.used);
        let steps = self.draft.points[at].len();
        let place = match &e.kind {
            _ if self.function_address(e).is_some() => Type::VOID.pointer(),
            ExprKind::Member(inner, name) if !is_in_memory(inner) => {
                self.member_value(inner, name, e)?.1
            }
            ExprKind::Name(_) | ExprKind::Member(..) | ExprKind::Index(_) | ExprKind::Deref(_) => {
                self.place(e)?.ty().clone()
            }
            ExprKind::Literal(_, ty, _) => ty.clone(),
            _ => self.any_value(None, e)?.1,
        };
        self.draft.points.truncate(points);
        self.draft.points[at].truncate(steps);
        (self.at, self.used) = (at, used);
        Ok(place)
    }

    /// Whether an expression only computes, and always can.
    pub(super) fn is_pure(&self, e: &ast::Expr) -> bool {
        let here = match &e.kind {
            ExprKind::Name(name) => {
                matches!(self.find(name), Some(Place::Reg(..)))
            }
            ExprKind::Number(..)
            | ExprKind::Cast(..)
            | ExprKind::Unary(..)
            | ExprKind::Select(_)
            | ExprKind::SizeOfType(_) => true,
            ExprKind::Binary(op, _) => !matches!(op, BinOp::Div | BinOp::Rem),
            _ => false,
        };
        let mut pure = here;
        if here {
            parts(e, &mut |part| pure &= self.is_pure(part));
        }
        pure
    }

    /// 0 or 1, where the second operand is evaluated only if it counts.
    fn decided(&mut self, e: &ast::Expr) -> Lowering<Typed> {
        let reg = self.temp();
        let (yes, no, behind) = (self.new_point(), self.new_point(), self.new_point());
        self.condition(e, yes, no)?;
        for (point, value) in [(yes, 1), (no, 0)] {
            self.resume(point);
            self.assign(reg, Expr::Const(value));
            self.go_to(behind);
        }
        self.resume(behind);
        Ok((Expr::Reg(reg), Type::INT))
    }

    fn selected(&mut self, all: &(ast::Expr, ast::Expr, ast::Expr)) -> Lowering<Typed> {
        let ty = Type::of_either(self.type_of(&all.1)?, self.type_of(&all.2)?);
        if let TypeKind::Struct(_) = ty.kind {
            return Ok((Expr::Const(0), ty));
        }
        let reg = self.temp();
        let (yes, no, behind) = (self.new_point(), self.new_point(), self.new_point());
        self.condition(&all.0, yes, no)?;
        for (point, e) in [(yes, &all.1), (no, &all.2)] {
            self.resume(point);
            let (value, from) = self.value(e)?;
            if ty.kind != TypeKind::Void {
                let value = self.converted(value, &from, &ty);
                self.assign(reg, value);
            }
            self.go_to(behind);
        }
        self.resume(behind);
        Ok((Expr::Reg(reg), ty))
    }

    /// Goes to `yes` if the expression is not 0, else to `no`.
    pub(super) fn condition(&mut self, e: &ast::Expr, yes: usize, no: usize) -> Lowering<()> {
        match &e.kind {
            ExprKind::Unary(UnOp::Not, inner) => self.condition(inner, no, yes),
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), both) if !self.is_pure(&both.1) => {
                let second = self.new_point();
                match op {
                    BinOp::And => self.condition(&both.0, second, no)?,
                    _ => self.condition(&both.0, yes, second)?,
                }
                self.resume(second);
                self.condition(&both.1, yes, no)
            }
            _ => {
                let (value, _) = self.value(e)?;
                self.fork(value, yes, no);
                Ok(())
            }
        }
    }

    /// Two operands combined as C does.
    pub(super) fn combined(&self, op: BinOp, (l, lt): Typed, (r, rt): Typed) -> Typed {
        let structs = &self.unit.structs;
        let made = |op, l, r| folded(Expr::binary(op, l, r));
        match (op, lt.pointee(), rt.pointee()) {
            (BinOp::Add | BinOp::Sub, Some(to), None) => {
                let size = Expr::Const(to.size(structs));
                (made(op, l, scaled(r, size)), lt)
            }
            (BinOp::Add, None, Some(to)) => {
                let size = Expr::Const(to.size(structs));
                (made(op, scaled(l, size), r), rt)
            }
            (BinOp::Sub, Some(to), Some(_)) => {
                let size = to.size(structs).max(1);
                (made(BinOp::Div, made(op, l, r), Expr::Const(size)), Type::LONG)
            }
            _ => {
                let (value, ty) = binary(op, (l, lt.machine()), (r, rt.machine()));
                (value, Type::of_machine(ty))
            }
        }
    }

    /// The place that a name stands for.
    pub(super) fn find(&self, name: &str) -> Option<Place> {
        let local = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        let local = local.or_else(|| self.own.get(name)).cloned();
        local.or_else(|| {
            let (addr, ty) = self.memory.globals.get(name)?;
            Some(Place::Memory(Expr::Const(*addr), ty.clone()))
        })
    }

    /// The place that an expression names.
    pub(super) fn place(&mut self, e: &ast::Expr) -> Lowering<Place> {
        match &e.kind {
            ExprKind::Name(name) => self.find(name).ok_or_else(|| self.unknown(name, e)),
            ExprKind::Literal(id, ty, init) => self.literal(*id, (ty, init), e.at),
            ExprKind::Deref(inner) => {
                let (addr, ty) = self.value(inner)?;
                match ty.pointee() {
                    Some(to) if to.kind != TypeKind::Void => Ok(Place::Memory(addr, to.clone())),
                    _ => Err(self.no_pointer(inner, &ty)),
                }
            }
            ExprKind::Index(both) => {
                // `1[a]` is `a[1]`.
                let ((base, of, count), (index, from)) = match self.is_index(&both.0) {
                    true => {
                        let index = self.value(&both.0)?;
                        (self.array(&both.1)?, index)
                    }
                    false => (self.array(&both.0)?, self.value(&both.1)?),
                };
                let index = Type::LONG.machine().convert(index, from.machine());
                let size = Expr::Const(of.size(&self.unit.structs));
                let at = folded(Expr::binary(BinOp::Add, base, scaled(index.clone(), size)));
                Ok(Place::Memory(inside(at, &index, count), of))
            }
            ExprKind::Member(inner, name) => {
                let (addr, ty) = match self.place(inner)? {
                    Place::Memory(addr, ty) => (addr, ty),
                    Place::Parts(parts, ty) => return self.part((&parts, &ty), name, e),
                    Place::Reg(..) => {
                        return Err(Diagnostic::new(inner.at, "this is no struct", ""));
                    }
                };
                let TypeKind::Struct(s) = &ty.kind else {
                    return Err(Diagnostic::new(inner.at, "this is no struct", ""));
                };
                let volatile = ty.volatile;
                let place = self.member((addr, *s), name, e)?;
                Ok(match place {
                    Place::Memory(addr, ty) => {
                        Place::Memory(addr, Type { volatile: volatile || ty.volatile, ..ty })
                    }
                    place => place,
                })
            }
            _ => Err(Diagnostic::new(e.at, "this is no place in memory", "expected a variable")),
        }
    }

    /// Whether what stands before brackets is the index, and the array in them.
    fn is_index(&self, e: &ast::Expr) -> bool {
        match &e.kind {
            ExprKind::Number(_, ty) | ExprKind::Cast(ty, _) => ty.is_number(),
            ExprKind::Name(name) => {
                let place = self.find(name);
                place.is_some_and(|place| place.ty().is_number())
            }
            _ => false,
        }
    }

    /// A member of a struct that begins at an address.
    pub(super) fn member(
        &self,
        (addr, s): (Expr, usize),
        name: &str,
        e: &ast::Expr,
    ) -> Lowering<Place> {
        let structs = &self.unit.structs;
        let Some(path) = structs[s].path(name, structs) else {
            let message = format!("`{}` has no member `{name}`", structs[s].describe());
            let known = structs[s].fields.iter().flatten().map(|f| f.name.as_str());
            return Err(did_you_mean(Diagnostic::new(e.at, message, ""), name, known));
        };
        let (mut offset, mut ty) = (0, Type::plain(TypeKind::Struct(s)));
        for index in path {
            let TypeKind::Struct(s) = ty.kind else { break };
            use_member((s, index), structs, e.at)?;
            if let Some(field) = structs[s].fields.iter().flatten().nth(index) {
                (offset, ty) = (offset + field.offset, field.ty.clone());
            }
        }
        Ok(Place::Memory(folded(Expr::binary(BinOp::Add, addr, Expr::Const(offset))), ty))
    }

    /// What is indexed: where it begins, the type of its elements, and how many there are if that
    /// is known.
    fn array(&mut self, e: &ast::Expr) -> Lowering<(Expr, Type, Option<Value>)> {
        let (addr, ty) = if is_place(e) || matches!(e.kind, ExprKind::Literal(..)) {
            let ty = self.type_of(e)?;
            if let TypeKind::Array(of, n) = ty.kind
                && let Place::Memory(addr, _) = self.place(e)?
            {
                // An array without a size ends where the memory of its struct does.
                return Ok((addr, Type::clone(&of), Some(n).filter(|n| *n > 0)));
            }
            self.value(e)?
        } else {
            self.value(e)?
        };
        match ty.pointee() {
            Some(to) if to.kind != TypeKind::Void => Ok((addr, to.clone(), None)),
            _ => Err(self.no_pointer(e, &ty)),
        }
    }

    fn no_pointer(&self, e: &ast::Expr, ty: &Type) -> Diagnostic {
        let message = format!("this has the type `{}`", ty.describe(&self.unit.structs));
        Diagnostic::new(e.at, message, "expected a pointer to a known type")
    }

    fn unknown(&self, name: &str, e: &ast::Expr) -> Diagnostic {
        if self.unit.functions.iter().any(|f| f.name == name) {
            let message = format!("the address of the function `{name}` is not supported here");
            return Diagnostic::new(e.at, message, "").help(crate::c::parse::ELSEWHERE);
        }
        let known = self.scopes.iter().flat_map(|s| s.keys());
        let known = known.chain(self.memory.globals.keys()).map(String::as_str);
        let diagnostic = Diagnostic::new(e.at, format!("`{name}` is not declared"), "");
        did_you_mean(diagnostic, name, known)
    }

    /// Reads a place, into `to` where that is possible.
    pub(super) fn load(
        &mut self,
        from: Place,
        to: Option<(RegId, &Type)>,
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        match from {
            Place::Reg(reg, ty) => Ok((Expr::Reg(reg), ty)),
            // The value of an array is where it begins.
            Place::Memory(addr, Type { kind: TypeKind::Array(of, _), .. }) => {
                Ok((addr, Type::clone(&of).pointer()))
            }
            Place::Memory(addr, ty)
                if ty.is_number() || matches!(ty.kind, TypeKind::Pointer(_)) =>
            {
                let plain = Type { atomic: false, ..ty };
                let reg = match to {
                    Some((reg, own)) if holds(own, &plain) => reg,
                    _ => self.temp(),
                };
                self.instr(Instr::Load { reg, addr: cell(addr, &plain) });
                Ok((Expr::Reg(reg), plain))
            }
            Place::Memory(_, ty) | Place::Parts(_, ty) => Err(self.no_single(&ty, e)),
        }
    }

    fn no_single(&self, ty: &Type, e: &ast::Expr) -> Diagnostic {
        let what = ty.describe(&self.unit.structs);
        let message = format!("values of the type `{what}` are not supported here");
        Diagnostic::new(e.at, message, "expected a number or a pointer")
    }

    pub(super) fn assigned(
        &mut self,
        op: Option<BinOp>,
        to: &ast::Expr,
        from: &ast::Expr,
    ) -> Lowering<Typed> {
        if let (ExprKind::Name(name), None) = (&to.kind, op)
            && let Some(Place::Reg(reg, ty)) = self.find(name)
        {
            let (value, source) = self.value_for(Some((reg, &ty)), from)?;
            self.write(Place::Reg(reg, ty.clone()), value, &source);
            return Ok((Expr::Reg(reg), ty));
        }
        if let (None, ExprKind::Literal(_, own, init), true) = (op, &from.kind, is_place(to)) {
            let ty = self.type_of(to)?;
            if let TypeKind::Struct(_) = ty.kind {
                let place = self.place(to)?;
                if ty.kind != own.kind {
                    let what = own.describe(&self.unit.structs);
                    return Err(Diagnostic::new(
                        from.at,
                        format!("this has the type `{what}`"),
                        "",
                    ));
                }
                let parts = self.literal_parts(&ty, init)?;
                self.write_struct(&place, parts);
                return Ok((Expr::Const(0), ty));
            }
        }
        if op.is_none() && is_place(to) {
            let ty = self.type_of(to)?;
            if let TypeKind::Struct(_) = ty.kind {
                return self.assigned_struct(to, from).map(|()| (Expr::Const(0), ty));
            }
        }
        if let Some(op) = op {
            return self.combined_assignment(op, to, from);
        }
        let moved = self.moved(to, from)?;
        let call = moved.and_then(|inner| self.own_call(inner));
        let (right, place) = match (moved, call) {
            (_, Some(call)) => {
                self.before_commas(from)?;
                let (place, (value, _)) = self.place_and_call(to, call)?;
                (value, place)
            }
            // Where the value is comes first of all, and it is read last.
            (Some(inner), None) => {
                self.before_commas(from)?;
                let source = match &inner.kind {
                    ExprKind::Assign(op, both) => self.assigned_place(*op, &both.0, &both.1)?,
                    _ => self.place(inner)?,
                };
                let place = self.place(to)?;
                (self.load(source, None, inner)?, place)
            }
            (None, None) => {
                let right = self.value(from)?;
                (right, self.place(to)?)
            }
        };
        self.store(place, right, to)
    }

    fn assigned_struct(&mut self, to: &ast::Expr, from: &ast::Expr) -> Lowering<()> {
        if is_place(from) && is_in_memory(from) {
            let source = self.place(from)?;
            let place = self.place(to)?;
            return self.copy(&place, source, from);
        }
        if let Some(call) = self.own_call(from) {
            let (place, ((_, own), parts)) = self.place_and_call(to, call)?;
            return self.assign_value(&place, &own, parts, from);
        }
        match &from.kind {
            ExprKind::Assign(None, both) => {
                let source = self.assigned_place(None, &both.0, &both.1)?;
                let place = self.place(to)?;
                self.copy(&place, source, from)
            }
            _ => {
                let place = self.place(to)?;
                self.assign_struct(&place, from)
            }
        }
    }

    /// The place to which the result of a call of a function of the text goes, and the result. C leaves open what comes
    /// first; gcc has the values of arguments, then the place, and then calls.
    fn place_and_call(
        &mut self,
        to: &ast::Expr,
        call: OwnCall<'_>,
    ) -> Lowering<(Place, (Typed, Parts))> {
        // Only what has effects in the place is saved, to be done once.
        let around = self.saved.take();
        let values = self.arguments(call.args);
        self.saved = around;
        let values = values?;
        let place = self.place(to)?;
        let around = self.saved.take();
        let result = self.inline(call.function, values, call.at);
        self.saved = around;
        Ok((place, result?))
    }

    /// What is moved by an assignment that computes and converts nothing: a call, or what is read. C leaves open what
    /// comes first; gcc then looks for the place on the left before it reads the value, and otherwise after that.
    fn moved<'e>(
        &mut self,
        to: &ast::Expr,
        from: &'e ast::Expr,
    ) -> Lowering<Option<&'e ast::Expr>> {
        if !is_place(to) {
            return Ok(None);
        }
        let ty = self.type_of(to)?;
        let (mut inner, mut is_cast) = (from, false);
        loop {
            inner = match &inner.kind {
                ExprKind::Comma(both) => &both.1,
                // As many bits, which mean something else.
                ExprKind::Cast(as_type, e) if is_number_like(as_type, &ty) => {
                    is_cast = true;
                    e
                }
                _ => break,
            };
        }
        let own = match &inner.kind {
            ExprKind::Call(f, _) if !is_cast => {
                self.called(f).map(|f| self.unit.functions[f].result.clone())
            }
            _ if self.function_address(inner).is_some() => None,
            _ if is_place(inner) && is_in_memory(inner) => Some(self.type_of(inner)?),
            // What was assigned is read again, which tells a difference where the place on the left has effects.
            ExprKind::Assign(_, both) if is_place(&both.0) && self.has_effects(to)? => {
                Some(self.type_of(&both.0)?).filter(|ty| ty.is_scalar() && !ty.volatile)
            }
            _ => None,
        };
        let is_moved = own.is_some_and(|own| !own.atomic && !ty.atomic && own.kind == ty.kind);
        Ok(is_moved.then_some(inner))
    }

    /// What is done before the value of an expression with commas is looked for.
    fn before_commas(&mut self, e: &ast::Expr) -> Lowering<()> {
        match &e.kind {
            ExprKind::Comma(both) => {
                self.effect(&both.0)?;
                self.before_commas(&both.1)
            }
            ExprKind::Cast(_, inner) => self.before_commas(inner),
            _ => Ok(()),
        }
    }

    /// `++` and `--`.
    pub(super) fn stepped(&mut self, target: &ast::Expr, by: Value, old: bool) -> Lowering<Typed> {
        let place = self.place(target)?;
        self.changed(place, BinOp::Add, (Expr::Const(by), Type::INT), old, target)
    }

    /// `place op= right`; the old value or the new one.
    pub(super) fn changed(
        &mut self,
        place: Place,
        op: BinOp,
        right: Typed,
        old: bool,
        e: &ast::Expr,
    ) -> Lowering<Typed> {
        match place {
            Place::Memory(addr, ty) if ty.atomic => Ok(self.update(addr, &ty, op, right, old)),
            Place::Reg(reg, ty) => {
                let (sum, from) = self.combined(op, (Expr::Reg(reg), ty.clone()), right);
                if old {
                    let before = self.temp();
                    self.assign(before, Expr::Reg(reg));
                    self.write(Place::Reg(reg, ty.clone()), sum, &from);
                    return Ok((Expr::Reg(before), ty));
                }
                self.write(Place::Reg(reg, ty.clone()), sum, &from);
                Ok((Expr::Reg(reg), ty))
            }
            Place::Memory(..) | Place::Parts(..) => {
                let (before, ty) = self.load(place.clone(), None, e)?;
                let (sum, from) = self.combined(op, (before.clone(), ty.clone()), right);
                let sum = self.converted(sum, &from, &ty);
                self.write(place, sum.clone(), &ty);
                Ok((if old { before } else { sum }, ty))
            }
        }
    }
}

/// Refuses shifts that C gives no meaning.
pub(super) fn defined(op: BinOp, left: &Type, (count, e): (&Expr, &ast::Expr)) -> Lowering<()> {
    match undefined_shift(op, left.machine(), count) {
        Some(why) => Err(Diagnostic::new(e.at, why, "")),
        None => Ok(()),
    }
}

/// Whether a register of the type `to` can hold every value of `from` as it is.
pub(super) fn holds(to: &Type, from: &Type) -> bool {
    let bools = (to.kind == TypeKind::Bool) == (from.kind == TypeKind::Bool);
    bools && to.machine().holds(from.machine())
}

fn scaled(index: Expr, size: Expr) -> Expr {
    match size {
        Expr::Const(1) => index,
        size => folded(Expr::binary(BinOp::Mul, index, size)),
    }
}

/// The address, or 0 if the index is not one of the array.
fn inside(at: Expr, index: &Expr, count: Option<Value>) -> Expr {
    let Some(count) = count else { return at };
    if let Expr::Const(i) = index {
        return if (0..count).contains(i) { at } else { Expr::Const(0) };
    }
    let low = Expr::binary(BinOp::Ge, index.clone(), Expr::Const(0));
    let high = Expr::binary(BinOp::Lt, index.clone(), Expr::Const(count));
    Expr::select(Expr::binary(BinOp::And, low, high), at, Expr::Const(0))
}

/// Whether both are integers of the same size.
fn is_number_like(a: &Type, b: &Type) -> bool {
    match (&a.kind, &b.kind) {
        (TypeKind::Int { bytes: a, .. }, TypeKind::Int { bytes: b, .. }) => a == b,
        _ => false,
    }
}
