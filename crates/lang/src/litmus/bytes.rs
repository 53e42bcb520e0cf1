//! Where memory is cut, so that accesses of different widths meet in the bytes that they share.
//!
//! Most variables are accessed in one way only, and are locations of the core program as they are.
//! The others are *cut*: at the ends of their elements and of all accesses to them. The pieces are
//! the locations, and elements and accesses that are made of several pieces are wide places. An
//! element keeps its address; every other place gets one that says how wide it is, because several
//! places may begin at one byte.

use std::collections::{BTreeMap, BTreeSet};

use weakspot_core::{LocId, Location, Value, Wide, WideCell};

/// A variable as memory has it: its elements, and what is known about accesses to it.
pub(super) struct Variable {
    pub(super) elements: Vec<Element>,
    /// Its accesses at known addresses: first byte and width.
    pub(super) accesses: BTreeSet<(Value, u8)>,
    /// Accesses of these widths may be anywhere in it.
    pub(super) anywhere: BTreeSet<u8>,
}

/// An element of an array, or a variable that is none.
pub(super) struct Element {
    pub(super) name: String,
    pub(super) addr: Value,
    pub(super) width: u8,
    /// The first value, as a number of `width` bytes that is not negative.
    pub(super) init: Value,
}

/// The memory of the core program.
#[derive(Default)]
pub(super) struct Bytes {
    pub(super) locs: Vec<Location>,
    pub(super) wides: Vec<Wide>,
    /// The names of the locations, then of the wide places.
    pub(super) names: Vec<String>,
    /// The number of each element, location or wide place.
    pub(super) elements: Vec<LocId>,
    /// By first byte and width: the address of a place that is not an element.
    places: BTreeMap<(Value, u8), Value>,
    /// Computed addresses have to say how wide the access is.
    tagged: bool,
}

impl Bytes {
    /// Cuts `variables`, which stand by rising address.
    pub(super) fn new(variables: &[Variable]) -> Bytes {
        let mut bytes = Bytes::default();
        let mut locs: Vec<(Location, String)> = Vec::new();
        // Address, first byte and end, name.
        let mut wides: Vec<(Value, (Value, Value), String)> = Vec::new();
        let mut pieces: BTreeMap<Value, (Value, Value)> = BTreeMap::new();
        bytes.tagged = variables.iter().any(|v| !v.anywhere.is_empty() && !v.is_plain());
        for variable in variables {
            if variable.is_plain() {
                for e in &variable.elements {
                    let loc = Location { addr: e.addr, init: vec![e.init], range: None };
                    locs.push((loc, e.name.clone()));
                    if bytes.tagged {
                        pieces.insert(e.addr, (e.addr + Value::from(variable.width(e)), e.addr));
                        for &width in &variable.anywhere {
                            let end = e.addr + Value::from(width);
                            wides.push((
                                Wide::address(e.addr, width),
                                (e.addr, end),
                                e.name.clone(),
                            ));
                        }
                    }
                }
            } else {
                variable.cut(bytes.tagged, &mut locs, &mut wides, &mut pieces, &mut bytes.places);
            }
        }
        locs.sort_by_key(|(loc, _)| loc.addr);
        wides.sort_by_key(|(addr, ..)| *addr);
        bytes.names = locs.iter().map(|(_, name)| name.clone()).collect();
        bytes.names.extend(wides.iter().map(|(.., name)| name.clone()));
        bytes.locs = locs.into_iter().map(|(loc, _)| loc).collect();
        let number = |addr: Value| bytes.locs.binary_search_by_key(&addr, |l| l.addr);
        let wide = |(addr, (start, end), _): &(Value, (Value, Value), String)| {
            let inside = pieces.range(*start..*end);
            let cell = |(from, (to, loc)): (&Value, &(Value, Value))| {
                let bits = ((to - from) * 8) as u8;
                number(*loc).ok().map(|i| WideCell { loc: LocId::new(i), bits })
            };
            Wide { addr: *addr, cells: inside.filter_map(cell).collect() }
        };
        bytes.wides = wides.iter().map(wide).collect();
        let element = |e: &Element| {
            let wide = bytes.wides.binary_search_by_key(&e.addr, |w| w.addr);
            let number = number(e.addr).or_else(|_| wide.map(|i| bytes.locs.len() + i));
            LocId::new(number.unwrap_or(0))
        };
        bytes.elements = variables.iter().flat_map(|v| &v.elements).map(element).collect();
        bytes
    }

    /// The address in the core program of an access to `width` bytes at a known address.
    pub(super) fn place(&self, addr: Value, width: u8) -> Value {
        self.places.get(&(addr, width)).copied().unwrap_or(addr)
    }

    /// What is added to a computed address of an access to `width` bytes.
    pub(super) fn computed(&self, width: u8) -> Value {
        if self.tagged { Wide::address(0, width) } else { 0 }
    }
}

impl Variable {
    /// Whether each element is accessed in one way only, which takes all of it that matters.
    fn is_plain(&self) -> bool {
        // What lies between or behind the elements is no part of them.
        let begins = |&(addr, _): &(Value, u8)| self.elements.iter().any(|e| e.addr == addr);
        self.accesses.iter().all(begins)
            && self.elements.iter().all(|e| {
                let width = self.width(e);
                let end = e.addr + Value::from(width.max(e.width));
                let touches =
                    |&&(addr, w): &&(Value, u8)| addr < end && e.addr < addr + Value::from(w);
                let fits = width >= e.width || e.init >> (8 * width) == 0;
                let alone = self.elements.len() == 1 || width <= e.width;
                fits && alone
                    && self.accesses.iter().filter(touches).all(|&a| a == (e.addr, width))
                    && self.anywhere.iter().all(|&w| w == width && w == e.width)
            })
    }

    /// How much of an element is accessed.
    fn width(&self, e: &Element) -> u8 {
        let mut widths = self.accesses.iter().filter(|(addr, _)| *addr == e.addr).map(|(_, w)| *w);
        widths.next().or(self.anywhere.first().copied()).unwrap_or(e.width)
    }

    /// The element in which a byte lies: the last one that does not begin behind it.
    fn element(&self, byte: Value) -> &Element {
        let after = self.elements.partition_point(|e| e.addr <= byte);
        &self.elements[after.saturating_sub(1)]
    }

    /// `x@4-5`: bytes 4 and 5 of `x`.
    fn name(&self, start: Value, end: Value) -> String {
        let element = self.element(start);
        let (first, last) = (start - element.addr, end - 1 - element.addr);
        match first == last {
            true => format!("{}@{first}", element.name),
            false => format!("{}@{first}-{last}", element.name),
        }
    }

    fn byte(&self, at: Value) -> Value {
        let element = self.element(at);
        match at - element.addr {
            offset if offset < Value::from(element.width) => element.init >> (8 * offset) & 0xff,
            _ => 0,
        }
    }

    fn cut(
        &self,
        tagged: bool,
        locs: &mut Vec<(Location, String)>,
        wides: &mut Vec<(Value, (Value, Value), String)>,
        pieces: &mut BTreeMap<Value, (Value, Value)>,
        places: &mut BTreeMap<(Value, u8), Value>,
    ) {
        let elements: BTreeSet<(Value, u8)> =
            self.elements.iter().map(|e| (e.addr, e.width)).collect();
        let mut all: BTreeSet<(Value, u8)> = &elements | &self.accesses;
        let start = all.first().map_or(0, |first| first.0);
        let end = all.iter().map(|(addr, width)| addr + Value::from(*width)).max().unwrap_or(start);
        for &width in &self.anywhere {
            all.extend((start..=end - Value::from(width)).map(|addr| (addr, width)));
        }
        let ends = all.iter().flat_map(|&(addr, width)| [addr, addr + Value::from(width)]);
        let cuts: BTreeSet<Value> = ends.collect();
        let cuts: Vec<Value> = cuts.into_iter().collect();
        for piece in cuts.windows(2) {
            let (from, to) = (piece[0], piece[1]);
            let width = (to - from) as u8;
            let is_element = elements.contains(&(from, width));
            let addr = if is_element { from } else { Wide::address(from, width) };
            let init = (from..to).rev().fold(0, |sum, at| sum << 8 | self.byte(at));
            let name =
                if is_element { self.element(from).name.clone() } else { self.name(from, to) };
            locs.push((Location { addr, init: vec![init], range: None }, name));
            pieces.insert(from, (to, addr));
            places.insert((from, width), addr);
        }
        for &(addr, width) in &all {
            let end = addr + Value::from(width);
            let is_element = elements.contains(&(addr, width));
            let piece = pieces.get(&addr).is_some_and(|(to, _)| *to == end);
            let own = if is_element { addr } else { Wide::address(addr, width) };
            let name =
                if is_element { self.element(addr).name.clone() } else { self.name(addr, end) };
            if !piece {
                wides.push((own, (addr, end), name.clone()));
                places.insert((addr, width), own);
            }
            // A computed address says how wide the access is, also where it is an element.
            if tagged && is_element && self.anywhere.contains(&width) {
                wides.push((Wide::address(addr, width), (addr, end), name));
            }
        }
    }
}
