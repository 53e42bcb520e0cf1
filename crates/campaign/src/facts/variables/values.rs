//! What the bytes of a value mean by its type: a number with a sign or without, a fraction, the name of an
//! enumerator, or several fields of some bits each.

use gimli::AttributeValue;

use super::{Local, MOST_PARTS, TypeAt, Variables};

/// How bytes are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Signed,
    Unsigned,
    Float,
    /// The values of an enumeration that have names.
    Names(Vec<(u64, String)>),
    /// Fields of some bits, by where they begin.
    Fields(Vec<Field>),
    /// What members of a union read, which have the same bytes.
    Views(Vec<(String, Scalar)>),
}

/// A field of some bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(super) name: String,
    /// Its first bit, and how many there are.
    first: u64,
    bits: u64,
    signed: bool,
}

impl Scalar {
    /// A value of so many bytes, at most eight.
    pub(crate) fn shown(&self, value: u64, len: u32) -> Option<String> {
        let bits = len.checked_mul(8).filter(|bits| (1..=64).contains(bits))?;
        let value = value & (u64::MAX >> (64 - bits));
        Some(match self {
            Scalar::Signed => extended(value, bits).to_string(),
            Scalar::Unsigned => value.to_string(),
            Scalar::Float if len == 4 => f32::from_bits(value as u32).to_string(),
            Scalar::Float if len == 8 => f64::from_bits(value).to_string(),
            Scalar::Float => return None,
            Scalar::Names(names) => names.iter().find(|(known, _)| *known == value)?.1.clone(),
            Scalar::Views(views) => {
                let view = |(name, scalar): &(String, Scalar)| {
                    Some(format!("{name}:{}", scalar.shown(value, len)?))
                };
                format!("{{{}}}", views.iter().filter_map(view).collect::<Vec<_>>().join(","))
            }
            Scalar::Fields(fields) => {
                let field = |field: &Field| {
                    let bits = field.bits as u32;
                    let value = (value >> field.first) & (u64::MAX >> (64 - bits));
                    if field.signed { extended(value, bits).to_string() } else { value.to_string() }
                };
                let values: Vec<String> = fields.iter().map(field).collect();
                if let [value] = &values[..] {
                    value.clone()
                } else {
                    format!("{{{}}}", values.join(","))
                }
            }
        })
    }
}

/// A number of so many bits with its sign.
fn extended(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    (value << unused).cast_signed() >> unused
}

impl Variables {
    /// How the bytes at an address of the file are read.
    pub(crate) fn scalar(&self, address: u64, len: u64) -> Option<Scalar> {
        let (variable, offset) = self.variable_at(address, len)?;
        self.scalar_in(variable.kind, offset, len)
    }

    /// The same for a variable on the stack.
    pub(crate) fn scalar_of(&self, local: &Local, addr: u64, len: u64) -> Option<Scalar> {
        let (kind, offset) = local.at(addr)?;
        self.scalar_in(kind, offset, len)
    }

    /// The same for what a pointer points to, as in [`Variables::pointed_to`].
    pub(crate) fn scalar_pointed_to(
        &self,
        pointer: &str,
        (offset, len): (u64, u64),
        all: u64,
    ) -> Option<Scalar> {
        let kinds = self.kinds_of(pointer, all);
        let mut scalars = kinds.iter().map(|&kind| {
            let size = self.size(kind).filter(|&size| size > 0)?;
            self.scalar_in(kind, offset % size, len)
        });
        let first = scalars.next()??;
        scalars.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    fn scalar_in(&self, mut kind: TypeAt, mut offset: u64, len: u64) -> Option<Scalar> {
        for _ in 0..MOST_PARTS {
            let Some((_, inner, rest)) = self.part(kind, offset, len) else { break };
            (kind, offset) = (inner, rest);
        }
        let kind = self.plain(kind)?;
        let views = self.views(kind, offset, len);
        if !views.is_empty() {
            return Some(Scalar::Views(views));
        }
        let fields = self.fields(kind, offset, len);
        if !fields.is_empty() {
            return Some(Scalar::Fields(fields));
        }
        if offset != 0 || self.size(kind)? != len {
            return None;
        }
        self.single(kind, len)
    }

    /// How a value of a type without parts is read.
    fn single(&self, kind: TypeAt, len: u64) -> Option<Scalar> {
        match self.entry(kind)?.tag() {
            gimli::DW_TAG_base_type => self.number(kind),
            gimli::DW_TAG_enumeration_type => Some(Scalar::Names(self.enumerators(kind, len))),
            _ => None,
        }
    }

    /// The members of a union that read the same bytes in several ways; none if there is one way.
    pub(super) fn views(&self, kind: TypeAt, offset: u64, len: u64) -> Vec<(String, Scalar)> {
        let is_union = self.entry(kind).is_some_and(|e| e.tag() == gimli::DW_TAG_union_type);
        if !is_union || offset != 0 {
            return Vec::new();
        }
        let view = |(at, size, name, inner): (u64, u64, String, TypeAt)| {
            let is_whole = (at, size) == (0, len) && !name.is_empty();
            let scalar = is_whole.then(|| self.single(self.plain(inner)?, len))??;
            Some((name, scalar))
        };
        let views: Vec<_> = self.members(kind).into_iter().filter_map(view).collect();
        let differ = views.iter().any(|(_, scalar)| *scalar != views[0].1);
        if differ { views } else { Vec::new() }
    }

    fn number(&self, kind: TypeAt) -> Option<Scalar> {
        let AttributeValue::Encoding(encoding) =
            self.entry(kind)?.attr_value(gimli::DW_AT_encoding)?
        else {
            return None;
        };
        match encoding {
            gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Some(Scalar::Signed),
            gimli::DW_ATE_float => Some(Scalar::Float),
            gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char => Some(Scalar::Unsigned),
            _ => None,
        }
    }

    fn enumerators(&self, kind: TypeAt, len: u64) -> Vec<(u64, String)> {
        let bits = (len * 8).clamp(1, 64);
        self.children(kind, |entry| {
            let value = entry.attr_value(gimli::DW_AT_const_value)?;
            let value = value.udata_value().or(value.sdata_value().map(i64::cast_unsigned))?;
            let name = self.text(kind.0, entry.attr_value(gimli::DW_AT_name)?)?;
            Some((value & (u64::MAX >> (64 - bits)), name))
        })
    }

    /// The fields of some bits of a type that are within these bytes.
    pub(super) fn fields(&self, kind: TypeAt, offset: u64, len: u64) -> Vec<Field> {
        let (first, end) = (offset * 8, (offset + len) * 8);
        let mut fields = self.children(kind, |entry| {
            let bits = entry.attr_value(gimli::DW_AT_bit_size)?.udata_value()?;
            let at = entry.attr_value(gimli::DW_AT_data_bit_offset)?.udata_value()?;
            if at < first || at + bits > end || !(1..=64).contains(&bits) {
                return None;
            }
            let name = self.text(kind.0, entry.attr_value(gimli::DW_AT_name)?)?;
            let inner = self.reference(kind.0, entry.attr_value(gimli::DW_AT_type)?)?;
            let signed = self.number(self.plain(inner)?) == Some(Scalar::Signed);
            Some(Field { name, first: at - first, bits, signed })
        });
        fields.sort_by_key(|field| field.first);
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, Scalar};

    #[test]
    fn values_by_their_types() {
        let check = |scalar: &Scalar, value: u64, len: u32, expected: Option<&str>| {
            assert_eq!(scalar.shown(value, len).as_deref(), expected, "{scalar:?}");
        };
        check(&Scalar::Signed, 0xff, 1, Some("-1"));
        check(&Scalar::Unsigned, 0xff, 1, Some("255"));
        check(&Scalar::Unsigned, u64::from(u32::MAX), 4, Some("4294967295"));
        check(&Scalar::Unsigned, u64::MAX, 8, Some("18446744073709551615"));
        check(&Scalar::Signed, u64::MAX, 8, Some("-1"));
        check(&Scalar::Float, 1.5_f64.to_bits(), 8, Some("1.5"));
        check(&Scalar::Float, u64::from(0.25_f32.to_bits()), 4, Some("0.25"));
        check(&Scalar::Float, 0, 2, None);
        check(&Scalar::Signed, 0, 16, None);
        let names = Scalar::Names(vec![(0, "IDLE".to_owned()), (1, "BUSY".to_owned())]);
        check(&names, 1, 4, Some("BUSY"));
        check(&names, 7, 4, None);
        let field =
            |name: &str, first, bits, signed| Field { name: name.to_owned(), first, bits, signed };
        let fields = [field("ready", 0, 1, false), field("count", 1, 3, true)];
        check(&Scalar::Fields(fields.to_vec()), 0b1111, 4, Some("{1,-1}"));
        check(&Scalar::Fields(fields[..1].to_vec()), 0b1111, 4, Some("1"));
    }
}
