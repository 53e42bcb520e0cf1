//! Names of data by the debug information of a program: `want[1]`, `ring.tail`.
//!
//! Variables with a fixed address are listed once; those of functions when they are asked for. From there on,
//! types say which part an address is in.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use gimli::{AttributeValue, DebuggingInformationEntry, Operation, RunTimeEndian, UnitOffset};
use object::{Object, ObjectSection};

mod locals;
mod values;

pub(crate) use self::locals::Local;
use self::locals::{Function, Unwinding};
pub(crate) use self::values::Scalar;

type Reader = gimli::EndianRcSlice<RunTimeEndian>;
type Dwarf = gimli::Dwarf<Reader>;
type Unit = gimli::Unit<Reader>;
type Entry = DebuggingInformationEntry<Reader>;

/// How many parts a name may have: what is deeper is no type that a program has.
const MOST_PARTS: usize = 16;

/// The variables of a program, by rising address.
pub(crate) struct Variables {
    dwarf: Dwarf,
    units: Vec<Unit>,
    unwinding: Option<Unwinding>,
    /// By where they call from: finding them takes all units.
    functions: RefCell<HashMap<u64, Option<Function>>>,
    all: Vec<Variable>,
    /// What pointers with these names point to, found when it is first asked for.
    pointers: OnceCell<HashMap<String, Vec<TypeAt>>>,
}

struct Variable {
    address: u64,
    size: u64,
    name: String,
    /// Where its type is: the number of a unit, and the place in it.
    kind: TypeAt,
}

/// A type: the number of its unit, and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TypeAt(usize, UnitOffset);

impl Variables {
    /// Those of a file; nothing if it has no debug information that can be read.
    pub(crate) fn of(path: &Path) -> Option<Variables> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let endian = match file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let section = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            Ok(Reader::new(Rc::from(&*data.unwrap_or_default()), endian))
        };
        let dwarf = Dwarf::load(section).ok()?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let unwinding = Unwinding::of(&file, endian);
        let (all, functions, pointers) = (Vec::new(), RefCell::default(), OnceCell::new());
        let mut variables = Variables { dwarf, units, unwinding, functions, all, pointers };
        for unit in 0..variables.units.len() {
            variables.list(unit);
        }
        variables.all.sort_by_key(|variable| variable.address);
        Some(variables)
    }

    /// What is at an address of the file: a variable, and which part of it these bytes are.
    pub(crate) fn name(&self, address: u64, len: u64) -> Option<String> {
        let (variable, offset) = self.variable_at(address, len)?;
        Some(variable.name.clone() + &self.parts(variable.kind, offset, len))
    }

    /// The variable that has these bytes, and where in it they are.
    fn variable_at(&self, address: u64, len: u64) -> Option<(&Variable, u64)> {
        let next = self.all.partition_point(|variable| variable.address <= address);
        let variable = self.all.get(next.checked_sub(1)?)?;
        let offset = address - variable.address;
        (offset.checked_add(len)? <= variable.size).then_some((variable, offset))
    }

    /// Which part of a value of this type these bytes are: what is added to its name.
    fn parts(&self, mut kind: TypeAt, mut offset: u64, len: u64) -> String {
        let mut name = String::new();
        for _ in 0..MOST_PARTS {
            let Some((part, inner, rest)) = self.part(kind, offset, len) else { break };
            name.push_str(&part);
            (kind, offset) = (inner, rest);
        }
        let fields = self.plain(kind).map_or(Vec::new(), |kind| self.fields(kind, offset, len));
        if let [field] = &fields[..] {
            return format!("{name}.{}", field.name);
        }
        if !fields.is_empty() {
            let fields: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            return format!("{name}.{{{}}}", fields.join(","));
        }
        if offset > 0 {
            name.push_str(&format!("+{offset}"));
        }
        name
    }

    /// Which part these bytes are of so many that `pointer` points to, a variable or member that is shown as
    /// `shown`; nothing if it is not certain what that is.
    pub(crate) fn pointed_to(
        &self,
        pointer: &str,
        shown: &str,
        (offset, len): (u64, u64),
        all: u64,
    ) -> Option<String> {
        let mut names: Vec<String> = self
            .kinds_of(pointer, all)
            .into_iter()
            .filter_map(|kind| {
                let size = self.size(kind)?;
                let (index, rest) = (offset / size, offset % size);
                let parts = self.parts(kind, rest, len);
                Some(match (all == size, parts.strip_prefix('.')) {
                    (true, Some(parts)) => format!("{shown}->{parts}"),
                    (true, None) => format!("*{shown}{parts}"),
                    (false, _) => format!("{shown}[{index}]{parts}"),
                })
            })
            .collect();
        names.dedup();
        if let [name] = &names[..] { Some(name.clone()) } else { None }
    }

    /// The types that `all` bytes behind a pointer of this name may have: the type that it points to, or several of
    /// them in a row. Each compilation unit contributes its own copy of a type.
    fn kinds_of(&self, pointer: &str, all: u64) -> Vec<TypeAt> {
        let pointers = self.pointers.get_or_init(|| self.find_pointers());
        let kinds = pointers.get(pointer).map_or(&[][..], Vec::as_slice);
        let fits = |&kind: &TypeAt| self.size(kind).is_some_and(|s| s > 0 && all.is_multiple_of(s));
        // Many variables may have the same name: that it is one of what it points to is more likely.
        let single = kinds.iter().any(|&kind| self.size(kind) == Some(all));
        let one = |&kind: &TypeAt| !single || self.size(kind) == Some(all);
        kinds.iter().copied().filter(fits).filter(one).collect()
    }

    fn find_pointers(&self) -> HashMap<String, Vec<TypeAt>> {
        let mut found: HashMap<String, Vec<TypeAt>> = HashMap::new();
        for (number, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if !matches!(
                    entry.tag(),
                    gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter | gimli::DW_TAG_member
                ) {
                    continue;
                }
                if let Some((name, kind)) = self.pointer(number, entry) {
                    found.entry(name).or_default().push(kind);
                }
            }
        }
        found
    }

    /// The name of a pointer, or of what wraps nothing but one, and what it points to.
    fn pointer(&self, unit: usize, entry: &Entry) -> Option<(String, TypeAt)> {
        let mut kind = self.reference(unit, entry.attr_value(gimli::DW_AT_type)?)?;
        for _ in 0..MOST_PARTS {
            kind = self.plain(kind)?;
            let inner = self.entry(kind)?;
            match inner.tag() {
                gimli::DW_TAG_pointer_type => {
                    let to = self.reference(kind.0, inner.attr_value(gimli::DW_AT_type)?)?;
                    return Some((self.text(unit, entry.attr_value(gimli::DW_AT_name)?)?, to));
                }
                gimli::DW_TAG_structure_type => kind = self.wrapped(kind)?,
                _ => return None,
            }
        }
        None
    }

    /// The type of the only member that a type has, but for some without any bytes.
    fn wrapped(&self, kind: TypeAt) -> Option<TypeAt> {
        let mut members = self.members(kind).into_iter().filter(|(_, size, ..)| *size > 0);
        let (.., inner) = members.next()?;
        members.next().is_none().then_some(inner)
    }

    /// Adds the variables of a unit.
    fn list(&mut self, number: usize) {
        let mut found = Vec::new();
        let unit = &self.units[number];
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() == gimli::DW_TAG_variable {
                found.extend(self.variable(number, entry));
            }
        }
        self.all.extend(found);
    }

    fn variable(&self, unit: usize, entry: &Entry) -> Option<Variable> {
        let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location)
        else {
            return None;
        };
        let mut operations = expression.operations(self.units[unit].encoding());
        let address = match operations.next() {
            Ok(Some(Operation::Address { address })) => address,
            Ok(Some(Operation::AddressIndex { index })) => {
                self.dwarf.address(&self.units[unit], index).ok()?
            }
            _ => return None,
        };
        // What is computed from it is no fixed place.
        if !matches!(operations.next(), Ok(None)) {
            return None;
        }
        // A definition may leave its name and type to the declaration.
        let declared = match entry.attr_value(gimli::DW_AT_specification) {
            Some(AttributeValue::UnitRef(at)) => self.units[unit].entry(at).ok(),
            _ => None,
        };
        let from = |attribute| {
            let own = entry.attr_value(attribute);
            own.or_else(|| declared.as_ref()?.attr_value(attribute))
        };
        let name = self.text(unit, from(gimli::DW_AT_name)?)?;
        let kind = self.reference(unit, from(gimli::DW_AT_type)?)?;
        Some(Variable { address, size: self.size(kind)?, name, kind })
    }

    /// The part of a value of this type that these bytes are in: what is added to its name, its type,
    /// and where in it they are. Nothing if they are not in one part alone.
    fn part(&self, kind: TypeAt, offset: u64, len: u64) -> Option<(String, TypeAt, u64)> {
        let kind = self.plain(kind)?;
        let entry = self.entry(kind)?;
        match entry.tag() {
            gimli::DW_TAG_array_type => self.element(kind, &entry, offset, len),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                self.member(kind, offset, len)
            }
            _ => None,
        }
    }

    fn element(
        &self,
        kind: TypeAt,
        entry: &Entry,
        offset: u64,
        len: u64,
    ) -> Option<(String, TypeAt, u64)> {
        let inner = self.reference(kind.0, entry.attr_value(gimli::DW_AT_type)?)?;
        let size = self.size(inner).filter(|&size| size > 0)?;
        let (mut index, rest) = (offset / size, offset % size);
        if rest + len > size {
            return None;
        }
        // The last dimension runs fastest.
        let mut indices = Vec::new();
        for &count in self.dimensions(kind).iter().skip(1).rev() {
            indices.push(index % count.max(1));
            index /= count.max(1);
        }
        indices.push(index);
        let indices = indices.iter().rev().map(|i| format!("[{i}]"));
        Some((indices.collect(), inner, rest))
    }

    /// How many elements an array has, per dimension.
    fn dimensions(&self, kind: TypeAt) -> Vec<u64> {
        let number = |value: AttributeValue<Reader>| value.udata_value();
        let count = |entry: &Entry| {
            let upper = entry.attr_value(gimli::DW_AT_upper_bound).and_then(number);
            let count = entry.attr_value(gimli::DW_AT_count).and_then(number);
            Some(count.or(upper.map(|upper| upper.wrapping_add(1))).unwrap_or(0))
        };
        self.children(kind, |entry| match entry.tag() {
            gimli::DW_TAG_subrange_type => count(entry),
            _ => None,
        })
    }

    /// The members of a type: where each is, how many bytes it has, its name and type.
    fn members(&self, kind: TypeAt) -> Vec<(u64, u64, String, TypeAt)> {
        self.children(kind, |entry| {
            let named = entry.tag() == gimli::DW_TAG_member;
            let is_field = entry.attr_value(gimli::DW_AT_data_bit_offset).is_some();
            if is_field || !named && entry.tag() != gimli::DW_TAG_inheritance {
                return None;
            }
            let at = entry.attr_value(gimli::DW_AT_data_member_location);
            let at = at.map_or(Some(0), |at| at.udata_value())?;
            let inner = self.reference(kind.0, entry.attr_value(gimli::DW_AT_type)?)?;
            let name = entry.attr_value(gimli::DW_AT_name).and_then(|n| self.text(kind.0, n));
            Some((at, self.size(inner)?, name.unwrap_or_default(), inner))
        })
    }

    fn member(&self, kind: TypeAt, offset: u64, len: u64) -> Option<(String, TypeAt, u64)> {
        // Nobody knows which one of a union is meant.
        if !self.views(kind, offset, len).is_empty() {
            return None;
        }
        let members = self.members(kind);
        let has = |(at, size, ..): &&(u64, u64, String, TypeAt)| {
            *at <= offset && offset + len <= at + size && *size > 0
        };
        let (at, _, name, inner) = members.iter().find(has)?;
        // What wraps a single value, or is a part without a name, says nothing.
        let wraps = members.iter().filter(|(_, size, ..)| *size > 0).count() == 1;
        let rust = self.is_rust(kind.0);
        // Rust's `.0` is called `__0` there.
        let number = name.strip_prefix("__").filter(|n| rust && n.parse::<u32>().is_ok());
        // The word by which a lock is taken is the lock.
        let lock = || {
            let lock = self.entry(kind)?.attr_value(gimli::DW_AT_name)?;
            let lock = self.text(kind.0, lock)?;
            Some(rust && (lock.starts_with("Mutex<") || lock.starts_with("RwLock<")))
        };
        let said = name.is_empty()
            || name == "inner" && lock() == Some(true)
            || name.starts_with("_M_")
            || name.starts_with("__") && number.is_none()
            || wraps && rust;
        let name = number.unwrap_or(name);
        let part = if said { String::new() } else { format!(".{name}") };
        Some((part, *inner, offset - at))
    }

    fn is_rust(&self, unit: usize) -> bool {
        let mut entries = self.units[unit].entries();
        let Ok(Some(root)) = entries.next_dfs() else { return false };
        let language = root.attr_value(gimli::DW_AT_language);
        language == Some(AttributeValue::Language(gimli::DW_LANG_Rust))
    }

    /// A type without its qualifiers and other names for it.
    fn plain(&self, mut kind: TypeAt) -> Option<TypeAt> {
        let mut seen = HashSet::new();
        while seen.insert(kind) {
            let entry = self.entry(kind)?;
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_atomic_type
                | gimli::DW_TAG_restrict_type => {
                    kind = self.reference(kind.0, entry.attr_value(gimli::DW_AT_type)?)?;
                }
                _ => return Some(kind),
            }
        }
        None
    }

    /// How many bytes a value of this type has.
    fn size(&self, kind: TypeAt) -> Option<u64> {
        let kind = self.plain(kind)?;
        let entry = self.entry(kind)?;
        if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size) {
            return size.udata_value();
        }
        match entry.tag() {
            gimli::DW_TAG_array_type => {
                let inner = self.reference(kind.0, entry.attr_value(gimli::DW_AT_type)?)?;
                let counts = self.dimensions(kind);
                let count = counts.iter().try_fold(1_u64, |all, &count| all.checked_mul(count))?;
                self.size(inner)?.checked_mul(count)
            }
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
                Some(u64::from(self.units[kind.0].encoding().address_size))
            }
            _ => None,
        }
    }

    fn entry(&self, kind: TypeAt) -> Option<Entry> {
        self.units[kind.0].entry(kind.1).ok()
    }

    /// What is found in the children of a type.
    fn children<T>(&self, kind: TypeAt, find: impl Fn(&Entry) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        let Ok(mut tree) = self.units[kind.0].entries_tree(Some(kind.1)) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            found.extend(find(child.entry()));
        }
        found
    }

    fn reference(&self, unit: usize, value: AttributeValue<Reader>) -> Option<TypeAt> {
        match value {
            AttributeValue::UnitRef(at) => Some(TypeAt(unit, at)),
            AttributeValue::DebugInfoRef(at) => {
                self.units.iter().enumerate().find_map(|(number, unit)| {
                    Some(TypeAt(number, at.to_unit_offset(&unit.header)?))
                })
            }
            _ => None,
        }
    }

    fn text(&self, unit: usize, value: AttributeValue<Reader>) -> Option<String> {
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        Some(gimli::Reader::to_string_lossy(&text).ok()?.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use object::{Object, ObjectSymbol};

    use super::Variables;

    const SOURCE: &str = "
struct node { int value; struct node *next; };
typedef struct { _Atomic int head, tail; struct node slots[3]; } ring_t;
int plain;
volatile int want[2];
_Atomic long grid[2][3];
ring_t ring;
union { short half[2]; int all; } both;
extern int declared;
int declared = 1;
int *used(void) { static int inner; return &inner; }
struct node *first;
long *numbers;
struct { unsigned ready : 1; int count : 7; char rest; } packed;
enum state { IDLE, BUSY = 5 } state;
unsigned small;
double ratio;
";

    #[test]
    fn parts_of_variables_have_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, file) = (folder.path().join("v.c"), folder.path().join("v.so"));
        std::fs::write(&source, SOURCE).expect("written");
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O1", "-fPIC", "-shared", "-nostdlib", "-o"]).arg(&file).arg(&source);
        assert!(gcc.status().expect("gcc").success());
        let bytes = std::fs::read(&file).expect("read");
        let object = object::File::parse(&*bytes).expect("an object");
        let variables = Variables::of(&file).expect("debug information");
        for (symbol, offset, len, expected) in [
            ("plain", 0, 4, "plain"),
            ("want", 0, 4, "want[0]"),
            ("want", 4, 4, "want[1]"),
            ("want", 0, 8, "want"),
            ("grid", 8, 8, "grid[0][1]"),
            ("grid", 40, 8, "grid[1][2]"),
            ("ring", 4, 4, "ring.tail"),
            ("ring", 24, 4, "ring.slots[1].value"),
            ("ring", 32, 8, "ring.slots[1].next"),
            ("ring", 34, 2, "ring.slots[1].next+2"),
            ("both", 2, 2, "both.half[1]"),
            ("both", 0, 4, "both.half"),
            ("declared", 0, 4, "declared"),
            ("inner", 0, 4, "inner"),
            ("packed", 0, 4, "packed.{ready,count}"),
            ("packed", 0, 1, "packed.{ready,count}"),
            ("packed", 1, 1, "packed.rest"),
        ] {
            let named = |s: &object::Symbol<'_, '_>| {
                s.name().is_ok_and(|name| name.split('.').next() == Some(symbol))
            };
            let address = object.symbols().find(named).expect(symbol).address();
            let name = variables.name(address + offset, len);
            assert_eq!(name.as_deref(), Some(expected), "{symbol}+{offset}/{len}");
        }
        assert_eq!(variables.name(0, 1), None);
        for (symbol, len, value, expected) in [
            ("plain", 4, u64::from(u32::MAX), Some("-1")),
            ("small", 4, u64::from(u32::MAX), Some("4294967295")),
            ("ratio", 8, 2.5_f64.to_bits(), Some("2.5")),
            ("state", 4, 5, Some("BUSY")),
            ("packed", 4, 0b1111, Some("{1,7}")),
            ("first", 8, 1, None),
        ] {
            let address =
                object.symbols().find(|s| s.name() == Ok(symbol)).expect(symbol).address();
            let scalar = variables.scalar(address, len);
            let shown = scalar.and_then(|scalar| scalar.shown(value, len as u32));
            assert_eq!(shown.as_deref(), expected, "{symbol}");
        }
        let part = |pointer, bytes, all| variables.pointed_to(pointer, "p", bytes, all);
        assert_eq!(part("first", (8, 8), 16).as_deref(), Some("p->next"));
        assert_eq!(part("first", (16, 4), 48).as_deref(), Some("p[1].value"));
        assert_eq!(part("numbers", (0, 8), 8).as_deref(), Some("*p"));
        assert_eq!(part("numbers", (8, 8), 24).as_deref(), Some("p[1]"));
        assert_eq!(part("numbers", (0, 8), 4), None);
        assert_eq!(part("others", (0, 8), 8), None);
    }
}
