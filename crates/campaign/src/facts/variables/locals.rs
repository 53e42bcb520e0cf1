//! Variables on the stack: where a function keeps them is said by the debug information relative to its frame,
//! and where its frame is by the tables for unwinding.

use gimli::{
    AttributeValue, BaseAddresses, CfaRule, EhFrame, Operation, Register, UnwindContext,
    UnwindSection, X86_64,
};
use object::{Object, ObjectSection};

use super::{Entry, Reader, TypeAt, Variables};

/// A variable of a function that has begun.
pub(crate) struct Local {
    address: u64,
    size: u64,
    name: String,
    kind: TypeAt,
}

impl Local {
    /// Its type, and where in it an address is.
    pub(super) fn at(&self, addr: u64) -> Option<(TypeAt, u64)> {
        Some((self.kind, addr.checked_sub(self.address)?))
    }

    /// Whether these bytes are in it.
    pub(crate) fn holds(&self, addr: u64, len: u64) -> bool {
        let last = addr.checked_add(len);
        self.address <= addr && last.is_some_and(|last| last <= self.address + self.size)
    }
}

/// The tables for unwinding of a file.
pub(super) struct Unwinding {
    frames: EhFrame<Reader>,
    bases: BaseAddresses,
}

impl Unwinding {
    pub(super) fn of(file: &object::File<'_>, endian: gimli::RunTimeEndian) -> Option<Unwinding> {
        let section = file.section_by_name(".eh_frame")?;
        let text = file.section_by_name(".text").map_or(0, |text| text.address());
        let data = section.uncompressed_data().ok()?;
        Some(Unwinding {
            frames: EhFrame::from(Reader::new(std::rc::Rc::from(&*data), endian)),
            bases: BaseAddresses::default().set_eh_frame(section.address()).set_text(text),
        })
    }

    /// How a frame is computed at an address.
    fn rule(&self, at: u64) -> Option<(Register, i64)> {
        let cie = EhFrame::cie_from_offset;
        let mut context = UnwindContext::new();
        let row = self.frames.unwind_info_for_address(&self.bases, &mut context, at, cie).ok()?;
        match *row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Some((register, offset)),
            CfaRule::Expression(_) => None,
        }
    }
}

/// A function that calls from somewhere.
#[derive(Clone, Copy)]
pub(super) struct Function {
    unit: usize,
    entry: gimli::UnitOffset,
    /// How its frame is computed there.
    rule: Option<(Register, i64)>,
}

/// What the frame of a function begins with.
#[derive(Clone, Copy)]
struct Frame {
    sp: u64,
    bp: u64,
    /// The canonical frame address: the stack pointer before the function was called.
    cfa: Option<u64>,
}

impl Frame {
    fn register(self, register: Register) -> Option<u64> {
        match register {
            X86_64::RSP => Some(self.sp),
            X86_64::RBP => Some(self.bp),
            _ => None,
        }
    }
}

impl Variables {
    /// The variables of the function that has called from an address of the file when it began, with these
    /// registers.
    pub(crate) fn locals(&self, after: u64, sp: u64, bp: u64) -> Option<Vec<Local>> {
        let at = after.checked_sub(1)?;
        let found = *self.functions.borrow_mut().entry(at).or_insert_with(|| {
            let rule = self.unwinding.as_ref().and_then(|unwinding| unwinding.rule(at));
            self.function_at(at).map(|(unit, entry)| Function { unit, entry, rule })
        });
        let Function { unit, entry: function, rule } = found?;
        let mut frame = Frame { sp, bp, cfa: None };
        frame.cfa = rule
            .and_then(|(register, offset)| frame.register(register)?.checked_add_signed(offset));
        let mut tree = self.units[unit].entries_tree(Some(function)).ok()?;
        let root = tree.root().ok()?;
        let base = match root.entry().attr_value(gimli::DW_AT_frame_base)? {
            AttributeValue::Exprloc(expression) => {
                let mut operations = expression.operations(self.units[unit].encoding());
                match operations.next().ok()?? {
                    Operation::CallFrameCFA => frame.cfa?,
                    Operation::Register { register } => frame.register(register)?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let mut found = Vec::new();
        let mut entries = self.units[unit].entries_at_offset(function).ok()?;
        let mut depth = None;
        while let Ok(Some(entry)) = entries.next_dfs() {
            match depth {
                None => depth = Some(entry.depth()),
                Some(depth) if entry.depth() <= depth => break,
                Some(_) => {}
            }
            if matches!(entry.tag(), gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter) {
                found.extend(self.local(unit, entry, frame, base));
            }
        }
        Some(found)
    }

    /// What bytes of a variable are called; none are the variable if they are at its beginning.
    pub(crate) fn part_of(&self, local: &Local, addr: u64, len: u64) -> String {
        if (addr, len) == (local.address, 0) {
            return local.name.clone();
        }
        local.name.clone() + &self.parts(local.kind, addr - local.address, len)
    }

    /// The function that an address is in: its unit, and its place there.
    fn function_at(&self, at: u64) -> Option<(usize, gimli::UnitOffset)> {
        let holds = |unit: &super::Unit, entry: &Entry| {
            let Ok(mut ranges) = self.dwarf.die_ranges(unit, entry) else { return false };
            std::iter::from_fn(|| ranges.next().ok()?).any(|r| r.begin <= at && at < r.end)
        };
        for (number, unit) in self.units.iter().enumerate() {
            let Ok(mut ranges) = self.dwarf.unit_ranges(unit) else { continue };
            if !std::iter::from_fn(|| ranges.next().ok()?).any(|r| r.begin <= at && at < r.end) {
                continue;
            }
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if entry.tag() == gimli::DW_TAG_subprogram && holds(unit, entry) {
                    return Some((number, entry.offset()));
                }
            }
        }
        None
    }

    fn local(&self, unit: usize, entry: &Entry, frame: Frame, base: u64) -> Option<Local> {
        let address = self.address(unit, entry.attr_value(gimli::DW_AT_location)?, frame, base)?;
        // What was inlined leaves its name and type to the function that it comes from.
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        let origin = origin.and_then(|origin| self.reference(unit, origin));
        let declared = origin.and_then(|origin| Some((origin.0, self.entry(origin)?)));
        let from = |attribute| match entry.attr_value(attribute) {
            Some(value) => Some((unit, value)),
            None => {
                declared.as_ref().and_then(|(u, entry)| Some((*u, entry.attr_value(attribute)?)))
            }
        };
        let (named, name) = from(gimli::DW_AT_name)?;
        let (typed, kind) = from(gimli::DW_AT_type)?;
        let kind = self.reference(typed, kind)?;
        Some(Local { address, size: self.size(kind)?, name: self.text(named, name)?, kind })
    }

    /// Where a variable is on the stack: always, or at some time if it is nowhere else on it at others.
    fn address(
        &self,
        unit: usize,
        location: AttributeValue<Reader>,
        frame: Frame,
        base: u64,
    ) -> Option<u64> {
        let encoding = self.units[unit].encoding();
        let single = |expression: gimli::Expression<Reader>| {
            let mut operations = expression.operations(encoding);
            let address = match operations.next().ok()?? {
                Operation::FrameOffset { offset } => base.checked_add_signed(offset)?,
                Operation::RegisterOffset { register, offset, .. } => {
                    frame.register(register)?.checked_add_signed(offset)?
                }
                _ => return None,
            };
            // What is computed from it is a value, or is elsewhere.
            matches!(operations.next(), Ok(None)).then_some(address)
        };
        if let AttributeValue::Exprloc(expression) = location {
            return single(expression);
        }
        let unit = &self.units[unit];
        let mut list = self.dwarf.attr_locations(unit, location).ok()??;
        let mut places = std::iter::from_fn(|| list.next().ok()?).filter_map(|l| single(l.data));
        let first = places.next()?;
        places.all(|place| place == first).then_some(first)
    }
}
