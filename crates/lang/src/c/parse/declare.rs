//! Declarations: the types of variables, structs and functions.

use weakspot_core::{Span, Value};

use super::{Parser, Parsing};
use crate::Diagnostic;
use crate::c::ast::{Designator, Expr, ExprKind, Init, Variable};
use crate::c::list::{text_for, walk};
use crate::c::token::Kind;
use crate::c::types::{DEEPEST_TYPE, MOST_BYTES, Struct, Type, TypeKind, named, struct_of};

/// What a declaration begins with.
pub(super) struct Specifiers {
    pub(super) ty: Type,
    pub(super) is_typedef: bool,
    is_static: bool,
    /// `__auto_type`: the type is that of the value.
    is_auto: bool,
    per_thread: bool,
    is_extern: Option<Span>,
}

/// A name with its type; with parameters it is a function and the type that of its result.
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) at: Span,
    pub(super) ty: Type,
    pub(super) params: Option<Vec<Variable>>,
}

/// Words that change nothing here.
const IGNORED: [&str; 14] = [
    "const",
    "register",
    "inline",
    "__inline",
    "__inline__",
    "restrict",
    "__restrict",
    "__restrict__",
    "auto",
    "_Noreturn",
    "__extension__",
    "__const",
    "noreturn",
    "__signed",
];

const VOLATILE: [&str; 3] = ["volatile", "__volatile__", "__volatile"];

/// Words for variables that each thread has for itself.
const PER_THREAD: [&str; 3] = ["_Thread_local", "__thread", "thread_local"];

/// Words for the type of what follows in parentheses.
const TYPE_OF: [&str; 3] = ["typeof", "__typeof__", "__typeof"];

/// Words of types.
const WORDS: [&str; 13] = [
    "void",
    "char",
    "short",
    "int",
    "long",
    "signed",
    "unsigned",
    "_Bool",
    "struct",
    "union",
    "enum",
    "_Atomic",
    "__signed__",
];

impl Parser {
    /// Whether a declaration or the name of a type begins here.
    pub(super) fn is_type(&self) -> bool {
        let Kind::Name(n) = self.peek() else { return false };
        let n = n.as_str();
        if n == "__extension__" && *self.ahead(1) == Kind::Sign("(") {
            return false;
        }
        let storage = ["static", "typedef", "extern", "_Alignas", "__auto_type"];
        let refused = ["float", "double"];
        IGNORED.contains(&n)
            || VOLATILE.contains(&n)
            || WORDS.contains(&n)
            || storage.contains(&n)
            || refused.contains(&n)
            || PER_THREAD.contains(&n)
            || TYPE_OF.contains(&n)
            || n == "__attribute__"
            || n == "alignas"
            || self.typedefs.contains_key(n)
            || named(n).is_some()
    }

    pub(super) fn specifiers(&mut self) -> Parsing<Specifiers> {
        let start = self.span();
        let (mut is_typedef, mut is_static, mut is_extern) = (false, false, None);
        let (mut is_auto, mut per_thread) = (false, false);
        let (mut atomic, mut volatile) = (false, false);
        let mut words: Vec<String> = Vec::new();
        let mut ty: Option<Type> = None;
        while let Kind::Name(word) = self.peek() {
            let (word, span) = (word.clone(), self.span());
            match word.as_str() {
                "typedef" => is_typedef = true,
                "static" => is_static = true,
                "extern" => is_extern = Some(span),
                w if PER_THREAD.contains(&w) => per_thread = true,
                w if TYPE_OF.contains(&w) => {
                    self.at += 1;
                    ty = Some(self.type_of_something()?);
                }
                "__auto_type" => (is_auto, ty) = (true, Some(Type::INT)),
                "float" | "double" => return Err(self.refused(span, "floating point is")),
                "_Atomic" => {
                    atomic = true;
                    if *self.ahead(1) == Kind::Sign("(") {
                        self.at += 2;
                        ty = Some(self.type_name()?);
                        if !self.is(")") {
                            return Err(self.unexpected("`)`"));
                        }
                    }
                }
                "__attribute__" | "_Alignas" | "alignas" => {
                    self.at += 1;
                    self.skip_parens()?;
                    continue;
                }
                "struct" | "union" => {
                    self.at += 1;
                    ty = Some(self.struct_type(word == "union")?);
                    continue;
                }
                "enum" => {
                    self.at += 1;
                    ty = Some(self.enum_type()?);
                    continue;
                }
                w if VOLATILE.contains(&w) => volatile = true,
                w if IGNORED.contains(&w) => {}
                w if WORDS.contains(&w) => words.push(word),
                w if ty.is_none() && words.is_empty() => {
                    let known = self.typedefs.get(w).cloned().or_else(|| named(w));
                    let Some(known) = known else { break };
                    ty = Some(known);
                }
                _ => break,
            }
            self.at += 1;
        }
        let mut ty = match (ty, words.is_empty()) {
            (Some(ty), true) => ty,
            (None, false) => of_words(&words),
            (None, true) => {
                let message = match self.peek() {
                    Kind::Name(n) => format!("unknown type `{n}`"),
                    _ => self.unexpected("").message,
                };
                return Err(Diagnostic::new(self.span(), message, "expected a declaration")
                    .help(super::ELSEWHERE));
            }
            (Some(_), false) => return Err(Diagnostic::new(start, "this is no type", "")),
        };
        ty.atomic |= atomic;
        ty.volatile |= volatile;
        Ok(Specifiers { ty, is_typedef, is_static, is_auto, per_thread, is_extern })
    }

    /// A type without a name, as in a cast.
    pub(super) fn type_name(&mut self) -> Parsing<Type> {
        let specifiers = self.specifiers()?;
        let mut ty = self.stars(specifiers.ty)?;
        if self.is("(") {
            ty = self.pointer(ty)?.2;
        } else if self.is("[") {
            ty = self.arrays(ty)?;
        }
        Ok(ty)
    }

    fn stars(&mut self, mut ty: Type) -> Parsing<Type> {
        loop {
            match self.peek() {
                Kind::Sign("*") if ty.depth(&self.structs) >= DEEPEST_TYPE => {
                    return Err(self.too_deep());
                }
                Kind::Sign("*") => ty = ty.pointer(),
                Kind::Name(n) if n == "_Atomic" => ty.atomic = true,
                Kind::Name(n) if VOLATILE.contains(&n.as_str()) => ty.volatile = true,
                Kind::Name(n) if IGNORED.contains(&n.as_str()) => {}
                Kind::Name(n) if n == "__attribute__" => {
                    self.at += 1;
                    self.skip_parens()?;
                    continue;
                }
                _ => return Ok(ty),
            }
            self.at += 1;
        }
    }

    pub(super) fn declarator(&mut self, base: Type) -> Parsing<Declared> {
        let ty = self.stars(base)?;
        if self.is("(") {
            let (name, at, ty) = self.pointer(ty)?;
            return Ok(Declared { name, at, ty, params: None });
        }
        let (name, at) = self.name()?;
        if self.is("(") {
            let params = Some(self.params()?);
            self.attributes()?;
            return Ok(Declared { name, at, ty, params });
        }
        let ty = self.arrays(ty)?;
        self.attributes()?;
        if ty.size(&self.structs) > MOST_BYTES {
            let message = format!("`{name}` has more than {MOST_BYTES} bytes");
            return Err(
                Diagnostic::new(at, message, "too much memory to search").help(super::ELSEWHERE)
            );
        }
        Ok(Declared { name, at, ty, params: None })
    }

    /// `(*name)[2]`, `(*name)(int, int)`, or an array of such. Where a function is called by a pointer, it is known which
    /// one, so that it does not matter what the pointer says that it takes.
    fn pointer(&mut self, base: Type) -> Parsing<(String, Span, Type)> {
        let start = self.span();
        self.expect("(")?;
        if !self.is("*") {
            return Err(self.refused(start, "such declarations are"));
        }
        // What it is a pointer to stands behind the name: numbers until then.
        let own = self.stars(Type::INT)?;
        let (name, at) = match self.peek() {
            Kind::Name(_) => self.name()?,
            _ => (String::new(), self.span()),
        };
        let own = self.arrays(own)?;
        if !self.is(")") {
            return Err(self.refused(start, "such declarations are"));
        }
        self.expect(")")?;
        let to = if self.is("(") {
            self.skip_parens()?;
            Type::VOID
        } else {
            self.arrays(base)?
        };
        self.attributes()?;
        let ty = with_base(own, to);
        if ty.depth(&self.structs) >= DEEPEST_TYPE {
            return Err(self.too_deep());
        }
        Ok((name, at, ty))
    }

    fn too_deep(&self) -> Diagnostic {
        let message = format!("a type that nests more than {DEEPEST_TYPE} deep");
        Diagnostic::new(self.span(), message, "")
    }

    fn attributes(&mut self) -> Parsing<()> {
        while self.take_word("__attribute__") {
            self.skip_parens()?;
        }
        Ok(())
    }

    /// `[n][m]` behind a name.
    fn arrays(&mut self, ty: Type) -> Parsing<Type> {
        if !self.take("[") {
            return Ok(ty);
        }
        let span = self.span();
        // The size may follow from what the array starts with.
        let n = match self.is("]") {
            true => -1,
            false => {
                let e = self.expression()?;
                self.constant_value(&e)?
            }
        };
        if !(-1..=MOST_BYTES).contains(&n) {
            return Err(Diagnostic::new(span, format!("an array of {n} elements"), ""));
        }
        self.expect("]")?;
        let of = self.nested(|p| p.arrays(ty))?;
        if of.depth(&self.structs) >= DEEPEST_TYPE {
            return Err(self.too_deep());
        }
        if matches!(of.kind, TypeKind::Array(_, -1)) || Self::is_void(&of) {
            return Err(Diagnostic::new(span, "the size of the elements is not known", ""));
        }
        Ok(Type::plain(TypeKind::Array(of.into(), n)))
    }

    fn params(&mut self) -> Parsing<Vec<Variable>> {
        self.expect("(")?;
        let mut params = Vec::new();
        if self.take(")") {
            return Ok(params);
        }
        if self.is_word("void") && *self.ahead(1) == Kind::Sign(")") {
            self.at += 2;
            return Ok(params);
        }
        loop {
            if self.is("...") {
                return Err(self.refused(self.span(), "functions with variable arguments are"));
            }
            let specifiers = self.specifiers()?;
            let mut ty = self.stars(specifiers.ty)?;
            let (mut name, mut at) = (String::new(), self.span());
            if let Kind::Name(n) = self.peek() {
                name.clone_from(n);
                at = self.span();
                self.at += 1;
            } else if self.is("(") {
                (name, at, ty) = self.pointer(ty)?;
            }
            if self.is("[") {
                // An array that is given to a function is a pointer.
                ty = match self.arrays(ty)?.kind {
                    TypeKind::Array(of, _) => Type::clone(&of).pointer(),
                    kind => Type::plain(kind),
                };
            }
            self.attributes()?;
            let id = self.object();
            let (is_static, per_thread) = (false, false);
            params.push(Variable { name, ty, init: None, is_static, per_thread, at, id });
            if self.take(")") {
                return Ok(params);
            }
            self.expect(",")?;
        }
    }

    /// A variable with what it starts with.
    pub(super) fn variable(
        &mut self,
        specifiers: &Specifiers,
        declared: Declared,
    ) -> Parsing<Variable> {
        let Declared { name, at, mut ty, .. } = declared;
        self.declare(&name, &ty);
        let init = if self.take("=") { Some(self.init()?) } else { None };
        if let (true, Some(Init::Value(e))) = (specifiers.is_auto, &init) {
            ty = self.type_of(e)?.decayed();
        }
        if !self.is_sized_by(&mut ty, init.as_ref())? {
            return Err(Diagnostic::new(at, format!("the size of `{name}` is not known"), ""));
        }
        if let (Some(span), None) = (specifiers.is_extern, &init) {
            return Err(self.refused(span, "variables of other files are"));
        }
        self.declare(&name, &ty);
        let id = self.object();
        let &Specifiers { is_static, per_thread, .. } = specifiers;
        Ok(Variable { name, ty, init, is_static, per_thread, at, id })
    }

    /// Whether the size of a type is known, that of an array by its values if it is not said.
    fn is_sized_by(&self, ty: &mut Type, init: Option<&Init>) -> Parsing<bool> {
        if let (TypeKind::Array(of, -1), Some(init)) = (&ty.kind, init) {
            let size = match (init, text_for(init, ty)) {
                (_, Some(text)) => text.len() as Value + 1,
                (Init::List(items, at), None) => {
                    let mut type_of = |e: &Expr| self.type_of(e).ok();
                    walk((items, *at), ty, (&self.structs, &mut type_of), &mut |_, _, _| Ok(()))?
                }
                _ => -1,
            };
            ty.kind = TypeKind::Array(of.clone(), size);
        }
        Ok(match &ty.kind {
            TypeKind::Void | TypeKind::Array(_, -1) => false,
            TypeKind::Struct(s) => self.structs[*s].fields.is_some(),
            _ => true,
        })
    }

    /// `{1, 2}` behind a type in parentheses.
    pub(super) fn literal(&mut self, start: Span, mut ty: Type) -> Parsing<ExprKind> {
        let init = self.init()?;
        let is_known = self.is_sized_by(&mut ty, Some(&init))?;
        if !is_known || ty.size(&self.structs) > MOST_BYTES {
            return Err(Diagnostic::new(start, "the size of this is not known, or too large", ""));
        }
        Ok(ExprKind::Literal(self.object(), ty, Box::new(init)))
    }

    fn init(&mut self) -> Parsing<Init> {
        let start = self.span();
        if !self.take("{") {
            return Ok(Init::Value(self.assignment()?));
        }
        let mut items = Vec::new();
        while !self.take("}") {
            let designators = self.designators()?;
            let item = self.nested(Parser::init)?;
            items.push((designators, item));
            if !self.take(",") && !self.is("}") {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        Ok(Init::List(items, self.since(start)))
    }

    /// `.name[2] =`, if that stands here.
    fn designators(&mut self) -> Parsing<Vec<Designator>> {
        let mut all = Vec::new();
        loop {
            self.short(all.len())?;
            if self.take(".") {
                let (name, at) = self.name()?;
                all.push(Designator::Member(name, at));
            } else if self.take("[") {
                let e = self.expression()?;
                all.push(Designator::Index(self.constant_value(&e)?, e.at));
                self.expect("]")?;
            } else {
                break;
            }
        }
        if !all.is_empty() {
            self.expect("=")?;
        }
        Ok(all)
    }

    fn struct_type(&mut self, is_union: bool) -> Parsing<Type> {
        self.attributes()?;
        let mut number = None;
        let mut name = String::new();
        if let Kind::Name(n) = self.peek() {
            name.clone_from(n);
            self.at += 1;
            number = self.tags.get(&name).copied();
        }
        let number = number.unwrap_or_else(|| {
            self.structs.push(Struct::new(name.clone(), is_union));
            let number = self.structs.len() - 1;
            if !name.is_empty() {
                self.tags.insert(name.clone(), number);
            }
            number
        });
        if !self.is("{") {
            return Ok(Type::plain(TypeKind::Struct(number)));
        }
        let open = self.span();
        if self.structs[number].fields.is_some() {
            return Err(Diagnostic::new(
                open,
                format!("`{}` is defined twice", self.structs[number].describe()),
                "",
            ));
        }
        self.at += 1;
        let mut members: Vec<(String, Type)> = Vec::new();
        while !self.take("}") {
            let specifiers = self.specifiers()?;
            let unnamed = matches!(&specifiers.ty.kind, TypeKind::Struct(s) if self.structs[*s].name.is_empty());
            if unnamed && self.take(";") {
                members.push((String::new(), specifiers.ty));
                continue;
            }
            loop {
                let mut declared = self.declarator(specifiers.ty.clone())?;
                if self.is(":") {
                    return Err(self.refused(self.span(), "bit-fields are"));
                }
                // An array without a size ends a struct; how long it is depends on the allocation.
                if let TypeKind::Array(of, -1) = &declared.ty.kind
                    && *self.ahead(1) == Kind::Sign("}")
                    && !members.is_empty()
                {
                    declared.ty = Type::plain(TypeKind::Array(of.clone(), 0));
                }
                let unknown = match &declared.ty.kind {
                    TypeKind::Void | TypeKind::Array(_, -1) => true,
                    TypeKind::Struct(s) => self.structs[*s].fields.is_none(),
                    _ => declared.params.is_some(),
                };
                if unknown {
                    let message = format!("the size of `{}` is not known", declared.name);
                    return Err(Diagnostic::new(declared.at, message, ""));
                }
                members.push((declared.name, declared.ty));
                if !self.take(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        self.attributes()?;
        let made = struct_of((name, is_union), members, &self.structs);
        if made.size > MOST_BYTES {
            return Err(Diagnostic::new(open, format!("more than {MOST_BYTES} bytes"), ""));
        }
        if made.depth >= DEEPEST_TYPE {
            return Err(self.too_deep());
        }
        self.structs[number] = made;
        Ok(Type::plain(TypeKind::Struct(number)))
    }

    fn enum_type(&mut self) -> Parsing<Type> {
        let mut tag = None;
        if let Kind::Name(name) = self.peek() {
            tag = Some(name.clone());
            self.at += 1;
        }
        let mut whole = tag.as_ref().and_then(|tag| self.enum_types.get(tag).cloned());
        if self.take("{") {
            let (mut next, mut unsigned): (Value, bool) = (0, false);
            let (mut wide, mut negative) = (false, false);
            while !self.take("}") {
                let (name, _) = self.name()?;
                if self.take("=") {
                    let e = self.assignment()?;
                    let (value, ty) = self.constant(&e)?;
                    (next, unsigned) = (value, !ty.signed());
                }
                // An `int` if it is one, otherwise wider, as gcc does.
                let ty = match next {
                    _ if i32::try_from(next).is_ok() && !(unsigned && next < 0) => Type::INT,
                    _ if u32::try_from(next).is_ok() => Type::int(4, false),
                    _ if unsigned => Type::SIZE,
                    _ => Type::LONG,
                };
                wide |= !matches!(ty.kind, TypeKind::Int { bytes: 4, .. });
                negative |= next < 0 && ty.kind != Type::SIZE.kind;
                self.enums.insert(name, (next, ty));
                next = next.wrapping_add(1);
                if !self.take(",") && !self.is("}") {
                    return Err(self.unexpected("`,` or `}`"));
                }
            }
            let ty = Type::int(if wide { 8 } else { 4 }, negative);
            if let Some(tag) = tag {
                self.enum_types.insert(tag, ty.clone());
            }
            whole = Some(ty);
        }
        // As gcc does; one that is not known yet is used by pointers alone.
        Ok(whole.unwrap_or(Type::INT))
    }
}

/// The type that words such as `unsigned long` stand for.
fn of_words(words: &[String]) -> Type {
    let has = |w: &str| words.iter().any(|x| x == w);
    if has("void") {
        return Type::VOID;
    }
    if has("_Bool") {
        return Type::plain(TypeKind::Bool);
    }
    let bytes = match () {
        () if has("char") => 1,
        () if has("short") => 2,
        () if has("long") => 8,
        () => 4,
    };
    Type::int(bytes, !has("unsigned"))
}

/// The type with another one in the place of the one that it is made from by pointers and arrays.
fn with_base(ty: Type, base: Type) -> Type {
    match ty.kind {
        TypeKind::Pointer(to) => {
            let to = with_base(Type::clone(&to), base);
            Type { atomic: ty.atomic, ..to.pointer() }
        }
        TypeKind::Array(of, n) => {
            Type::plain(TypeKind::Array(with_base(Type::clone(&of), base).into(), n))
        }
        _ => base,
    }
}
