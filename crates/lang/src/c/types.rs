//! Types, and how memory is laid out.

use std::cell::Cell;
use std::rc::Rc;

use weakspot_core::{Value, View};

use crate::litmus::c::Ty;

/// A type. `const` makes no difference, and `volatile` only to the order of what C leaves open: every access is one of
/// the machine.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) kind: TypeKind,
    /// Plain accesses are sequentially consistent.
    pub(super) atomic: bool,
    pub(super) volatile: bool,
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        self.kind == other.kind && self.atomic == other.atomic
    }
}

impl Eq for Type {}

/// The kinds of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypeKind {
    Void,
    Int {
        bytes: u8,
        signed: bool,
    },
    /// Stores of anything but 0 store 1.
    Bool,
    Pointer(Rc<Type>),
    Array(Rc<Type>, Value),
    /// An index into the structs of the text.
    Struct(usize),
    /// `pthread_t`.
    Thread,
    /// Mutexes and spin locks: 0 is free, 1 is taken. Semaphores: how many may still pass.
    Lock,
    /// How many threads it waits for, and how many came in all.
    Barrier,
    /// Attributes, which are ignored.
    Attributes,
}

/// A struct or union.
#[derive(Clone, Debug, Default)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) is_union: bool,
    /// The member of a union that is stored in it, once one is used. It has no other.
    stored: Cell<Option<usize>>,
    /// `None` until it is defined.
    pub(super) fields: Option<Vec<Field>>,
    pub(super) size: Value,
    pub(super) align: Value,
    /// How deep its members nest.
    pub(super) depth: u32,
}

/// A member of a struct.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Empty if its own members are named as those of what it is in.
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) offset: Value,
}

impl Struct {
    /// One whose members are not known yet.
    pub(super) fn new(name: String, is_union: bool) -> Struct {
        Struct { name, is_union, align: 1, ..Struct::default() }
    }

    /// The indices of the members that lead to one of this name: several where those between have no names.
    pub(super) fn path(&self, name: &str, structs: &[Struct]) -> Option<Vec<usize>> {
        self.fields.iter().flatten().enumerate().find_map(|(i, field)| match &field.ty.kind {
            _ if field.name == name => Some(vec![i]),
            TypeKind::Struct(s) if field.name.is_empty() => {
                let inner = structs[*s].path(name, structs)?;
                Some([vec![i], inner].concat())
            }
            _ => None,
        })
    }

    /// The members that take memory: all, but of a union the one that is used.
    fn stored(&self) -> &[Field] {
        let fields = self.fields.as_deref().unwrap_or_default();
        match (self.is_union, self.stored.get()) {
            (false, _) => fields,
            (true, Some(i)) => &fields[i..=i],
            (true, None) => &[],
        }
    }

    /// The number of the member that a union is used as.
    pub(super) fn used_as(&self) -> Option<usize> {
        self.stored.get()
    }

    /// Uses a member. Those of a union that are used must be parts of one of them: if this one is not, that one.
    pub(super) fn use_member(&self, index: usize, structs: &[Struct]) -> Result<(), &Field> {
        let fields = self.fields.as_deref().unwrap_or_default();
        if !self.is_union {
            return Ok(());
        }
        let Some(stored) = self.stored.get() else {
            self.stored.set(Some(index));
            return Ok(());
        };
        let cells = |i: usize| fields[i].ty.cells(structs);
        let (old, new) = (cells(stored), cells(index));
        if old.iter().all(|cell| new.contains(cell)) {
            self.stored.set(Some(index));
        } else if !new.iter().all(|cell| old.contains(cell)) {
            return Err(&fields[stored]);
        }
        Ok(())
    }

    /// In words, for messages.
    pub(super) fn describe(&self) -> String {
        format!("{} {}", if self.is_union { "union" } else { "struct" }, self.name)
    }
}

/// How deep types nest.
pub(super) const DEEPEST_TYPE: u32 = 50;

/// The largest object that is laid out.
pub(super) const MOST_BYTES: Value = 1 << 16;

impl Type {
    pub(super) const VOID: Type = Type::plain(TypeKind::Void);
    pub(super) const INT: Type = Type::int(4, true);
    pub(super) const LONG: Type = Type::int(8, true);
    pub(super) const SIZE: Type = Type::int(8, false);

    pub(super) const fn plain(kind: TypeKind) -> Type {
        Type { kind, atomic: false, volatile: false }
    }

    /// Whether its values are numbers of 64 bits without a sign.
    pub(super) fn is_unsigned_64(&self) -> bool {
        matches!(self.kind, TypeKind::Int { bytes: 8, signed: false })
    }

    pub(super) const fn int(bytes: u8, signed: bool) -> Type {
        Type::plain(TypeKind::Int { bytes, signed })
    }

    pub(super) fn pointer(self) -> Type {
        Type::plain(TypeKind::Pointer(Rc::new(self)))
    }

    pub(super) fn pointee(&self) -> Option<&Type> {
        match &self.kind {
            TypeKind::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// Numbers and truth values.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.kind, TypeKind::Int { .. } | TypeKind::Bool)
    }

    /// What one access reads or writes.
    pub(super) fn is_scalar(&self) -> bool {
        self.is_number()
            || matches!(self.kind, TypeKind::Pointer(_) | TypeKind::Thread | TypeKind::Lock)
    }

    /// The type of a number or pointer as the arithmetic of C has it.
    pub(super) fn machine(&self) -> Ty {
        let view = match self.kind {
            TypeKind::Int { bytes: 8, signed: true } => View::Full,
            TypeKind::Int { bytes, signed: true } => View::Signed(bytes * 8),
            TypeKind::Int { bytes, .. } => View::Unsigned(bytes * 8),
            TypeKind::Bool => View::Unsigned(8),
            TypeKind::Lock => View::Signed(32),
            _ => View::Unsigned(64),
        };
        Ty::of_view(view)
    }

    /// The number type that arithmetic gave.
    pub(super) fn of_machine(ty: Ty) -> Type {
        Type::int(ty.bytes(), ty.signed())
    }

    pub(super) fn size(&self, structs: &[Struct]) -> Value {
        match &self.kind {
            TypeKind::Void | TypeKind::Bool => 1,
            TypeKind::Int { bytes, .. } => Value::from(*bytes),
            TypeKind::Pointer(_) | TypeKind::Thread => 8,
            TypeKind::Lock => 4,
            TypeKind::Barrier | TypeKind::Attributes => 8,
            TypeKind::Array(of, n) => of.size(structs).saturating_mul(*n),
            TypeKind::Struct(s) => structs[*s].size,
        }
    }

    /// An array as a pointer to its first element.
    pub(super) fn decayed(self) -> Type {
        match self.kind {
            TypeKind::Array(of, _) => Type::clone(&of).pointer(),
            kind => Type::plain(kind),
        }
    }

    /// The type of `c ? a : b`.
    pub(super) fn of_either(left: Type, right: Type) -> Type {
        let (left, right) = (left.decayed(), right.decayed());
        match (&left.kind, &right.kind) {
            (TypeKind::Void, _) | (_, TypeKind::Void) => Type::VOID,
            (TypeKind::Struct(_), _) => left,
            (TypeKind::Pointer(to), TypeKind::Pointer(_)) if to.kind != TypeKind::Void => left,
            (_, TypeKind::Pointer(_)) => right,
            (TypeKind::Pointer(_), _) => left,
            _ => Type::of_machine(left.machine().common(right.machine())),
        }
    }

    /// The array that a text is, with a 0 at its end.
    pub(super) fn text(text: &[u8]) -> Type {
        Type::plain(TypeKind::Array(Type::int(1, true).into(), text.len() as Value + 1))
    }

    /// How many characters it has, if a text may be what it starts with.
    pub(super) fn characters(&self) -> Option<Value> {
        match &self.kind {
            TypeKind::Array(of, n) if matches!(of.kind, TypeKind::Int { bytes: 1, .. }) => Some(*n),
            _ => None,
        }
    }

    /// How deep the type nests. A struct that a pointer leads to does not count.
    pub(super) fn depth(&self, structs: &[Struct]) -> u32 {
        let (mut ty, mut depth, mut pointed) = (self, 0, false);
        loop {
            match &ty.kind {
                TypeKind::Pointer(to) => (ty, pointed) = (to, true),
                TypeKind::Array(of, _) => ty = of,
                TypeKind::Struct(s) if !pointed => return depth + structs[*s].depth,
                _ => return depth,
            }
            depth += 1;
        }
    }

    /// The array without a size that a struct ends with: where it begins, its name, its elements.
    pub(super) fn tail<'s>(&self, structs: &'s [Struct]) -> Option<(Value, &'s str, &'s Type)> {
        let TypeKind::Struct(s) = &self.kind else { return None };
        let last = structs[*s].fields.as_ref()?.last()?;
        match &last.ty.kind {
            TypeKind::Array(of, 0) => Some((last.offset, &last.name, of)),
            _ => None,
        }
    }

    pub(super) fn align(&self, structs: &[Struct]) -> Value {
        match &self.kind {
            TypeKind::Array(of, _) => of.align(structs),
            TypeKind::Struct(s) => structs[*s].align,
            _ => self.size(structs),
        }
    }

    /// Calls `visit` with the offset, name and type of each scalar.
    pub(super) fn each_scalar(
        &self,
        structs: &[Struct],
        (offset, name): (Value, &str),
        visit: &mut impl FnMut(Value, &str, &Type),
    ) {
        match &self.kind {
            TypeKind::Array(of, n) => {
                for i in 0..*n {
                    let at = offset + i * of.size(structs);
                    of.each_scalar(structs, (at, &format!("{name}[{i}]")), visit);
                }
            }
            TypeKind::Struct(s) => {
                for field in structs[*s].stored() {
                    let own = match field.name.as_str() {
                        "" => name.to_owned(),
                        field => format!("{name}.{field}"),
                    };
                    field.ty.each_scalar(structs, (offset + field.offset, &own), visit);
                }
            }
            TypeKind::Barrier => {
                visit(offset, &format!("{name}.count"), &Type::INT);
                visit(offset + 4, &format!("{name}.arrived"), &Type::INT);
            }
            TypeKind::Void | TypeKind::Attributes => {}
            _ => visit(offset, name, self),
        }
    }

    /// Whether it is a struct of numbers and pointers alone, with no arrays and unions.
    pub(super) fn is_of_registers(&self, structs: &[Struct]) -> bool {
        let TypeKind::Struct(s) = self.kind else { return false };
        let is_part =
            |ty: &Type| ty.is_number() || ty.pointee().is_some() || ty.is_of_registers(structs);
        !structs[s].is_union && structs[s].fields.iter().flatten().all(|f| is_part(&f.ty))
    }

    /// Where its scalars are and which cells can hold them.
    fn cells(&self, structs: &[Struct]) -> Vec<(Value, Value)> {
        let mut all = Vec::new();
        self.each_scalar(structs, (0, ""), &mut |offset, _, ty| all.push((offset, ty.cell_kind())));
        all
    }

    /// The kind of cell that holds values of a scalar: numbers of one width and sign, and pointers, have their own.
    pub(super) fn cell_kind(&self) -> Value {
        match self.kind {
            TypeKind::Int { bytes: 8, .. } | TypeKind::Pointer(_) => 1,
            TypeKind::Int { bytes: 4, signed: false } => 2,
            TypeKind::Int { bytes: 1, signed: true } => 3,
            TypeKind::Int { bytes: 1, signed: false } | TypeKind::Bool => 4,
            TypeKind::Int { bytes: 2, signed: true } => 5,
            TypeKind::Int { bytes: 2, signed: false } => 6,
            TypeKind::Lock => 7,
            _ => 0,
        }
    }

    /// The type in words, for messages.
    pub(super) fn describe(&self, structs: &[Struct]) -> String {
        match &self.kind {
            TypeKind::Void => "void".to_owned(),
            TypeKind::Bool => "bool".to_owned(),
            TypeKind::Int { bytes, signed } => {
                format!("{}int{}_t", if *signed { "" } else { "u" }, u32::from(*bytes) * 8)
            }
            TypeKind::Pointer(to) => format!("{} *", to.describe(structs)),
            TypeKind::Array(of, n) => format!("{}[{n}]", of.describe(structs)),
            TypeKind::Struct(s) => structs[*s].describe(),
            TypeKind::Thread => "pthread_t".to_owned(),
            TypeKind::Lock => "pthread_mutex_t".to_owned(),
            TypeKind::Barrier => "pthread_barrier_t".to_owned(),
            TypeKind::Attributes => "attributes".to_owned(),
        }
    }
}

/// A struct or union with these members, laid out as on x86-64.
pub(super) fn struct_of(
    (name, is_union): (String, bool),
    members: Vec<(String, Type)>,
    structs: &[Struct],
) -> Struct {
    let mut found = Struct::new(name, is_union);
    let mut fields = Vec::new();
    for (name, ty) in members {
        let align = ty.align(structs).max(1);
        let offset = if is_union { 0 } else { round_up(found.size, align) };
        found.size = found.size.max(offset.saturating_add(ty.size(structs)));
        found.align = found.align.max(align);
        found.depth = found.depth.max(ty.depth(structs) + 1);
        fields.push(Field { name, ty, offset });
    }
    found.size = round_up(found.size, found.align);
    found.fields = Some(fields);
    found
}

/// The least multiple of `align` that is not below `n`.
pub(super) fn round_up(n: Value, align: Value) -> Value {
    n.saturating_add(align - 1) / align * align
}

/// The type that a name of C's headers stands for.
pub(super) fn named(name: &str) -> Option<Type> {
    // `atomic_uint_fast8_t` and its relatives.
    if let Some(plain) = name.strip_prefix("atomic_").filter(|plain| plain.ends_with("_t")) {
        return named(plain).filter(Type::is_number).map(|ty| Type { atomic: true, ..ty });
    }
    let number = |bytes, signed| Some(Type::int(bytes, signed));
    let atomic = |bytes, signed| Some(Type { atomic: true, ..Type::int(bytes, signed) });
    match name {
        "int8_t" | "int_least8_t" | "int_fast8_t" => number(1, true),
        "uint8_t" | "uint_least8_t" | "uint_fast8_t" => number(1, false),
        "int16_t" | "int_least16_t" => number(2, true),
        "uint16_t" | "uint_least16_t" | "char16_t" => number(2, false),
        "int32_t" | "int_least32_t" | "pid_t" | "wchar_t" | "sig_atomic_t" => number(4, true),
        "uint32_t" | "uint_least32_t" | "useconds_t" | "char32_t" => number(4, false),
        "int64_t" | "int_least64_t" | "intptr_t" | "ssize_t" | "ptrdiff_t" | "intmax_t"
        | "int_fast16_t" | "int_fast32_t" | "int_fast64_t" | "time_t" => number(8, true),
        "uint64_t" | "uint_least64_t" | "uintptr_t" | "size_t" | "uintmax_t" | "uint_fast16_t"
        | "uint_fast32_t" | "uint_fast64_t" => number(8, false),
        "bool" | "_Bool" => Some(Type::plain(TypeKind::Bool)),
        "atomic_bool" | "atomic_flag" => Some(Type { atomic: true, ..Type::plain(TypeKind::Bool) }),
        "atomic_char" | "atomic_schar" => atomic(1, true),
        "atomic_uchar" => atomic(1, false),
        "atomic_short" => atomic(2, true),
        "atomic_ushort" => atomic(2, false),
        "atomic_int" => atomic(4, true),
        "atomic_uint" => atomic(4, false),
        "atomic_long" | "atomic_llong" => atomic(8, true),
        "atomic_ulong" | "atomic_ullong" => atomic(8, false),
        "pthread_t" | "thrd_t" => Some(Type::plain(TypeKind::Thread)),
        "pthread_mutex_t" | "pthread_spinlock_t" | "pthread_cond_t" | "mtx_t" | "cnd_t"
        | "sem_t" => Some(Type::plain(TypeKind::Lock)),
        "pthread_barrier_t" => Some(Type::plain(TypeKind::Barrier)),
        "pthread_attr_t" | "pthread_mutexattr_t" | "pthread_barrierattr_t" | "cpu_set_t" => {
            Some(Type::plain(TypeKind::Attributes))
        }
        _ => None,
    }
}
