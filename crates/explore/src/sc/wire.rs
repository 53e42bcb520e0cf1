//! Rows for other processes. Numbers in rows refer to tables that are learnt on the way, so they mean
//! different things in different processes. What a number stands for crosses the wire once, before
//! its first use; then the receiver translates it.
//!
//! A message is a list of definitions, then rows. Each row says which of its fields differ from those
//! of the row before, by bits, and then these fields; numbers take 7 bits per byte.
//!
//! To which worker a row belongs is decided by what it stands for: by a hash that all processes agree
//! on, see [`Hashes`].

use weakspot_core::Value;

use crate::intern::hash;
use crate::sc::frame::{Fields, Frame};
use crate::sc::packed::Successors;
use crate::sc::threads::Threads;

/// A system whose rows have a frame.
pub(crate) trait Framed {
    fn frame(&self) -> (Frame, Fields);
}

/// What a field of a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number that means the same everywhere.
    Plain,
    /// A local state of a thread.
    Local(usize),
    /// A location, plus one.
    Loc,
    /// A value of a location.
    Value(u32),
}

/// Where a field stands: in the fixed part, or it is number `.1` of location `.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Fixed,
    Of(u32, usize),
}

/// What the fields of rows are, one after the other.
#[derive(Clone, Debug)]
struct Layout {
    frame: Frame,
    fields: Fields,
    kinds: Vec<(Kind, Place)>,
}

impl Layout {
    fn new((frame, fields): (Frame, Fields)) -> Layout {
        Layout { frame, fields, kinds: Vec::new() }
    }

    /// Knows rows of so many fields.
    fn cover(&mut self, width: usize) {
        let Frame { n, .. } = self.frame;
        let start = self.frame.value(0);
        let each = 1 + self.fields.per_loc;
        for at in self.kinds.len()..width {
            let what = if at < n {
                (Kind::Local(at), Place::Fixed)
            } else if at < start {
                let is_loc = self.fields.locs.iter().any(|&f| self.frame.field(f) == at);
                (if is_loc { Kind::Loc } else { Kind::Plain }, Place::Fixed)
            } else {
                let (loc, i) = (((at - start) / each) as u32, (at - start) % each);
                let is_value = i == 0 || self.fields.values.contains(&(i - 1));
                (if is_value { Kind::Value(loc) } else { Kind::Plain }, Place::Of(loc, i))
            };
            self.kinds.push(what);
        }
    }
}

/// A hash per row that depends on nothing but what its numbers stand for.
pub(crate) struct Hashes {
    layout: Layout,
    /// Per field and number in it a hash, or 0 if it was not asked for yet.
    known: Vec<Vec<u64>>,
    /// The row that was asked for last, and the sum of its fields' hashes: neighbours differ in few fields.
    last: Vec<u32>,
    sum: u64,
}

impl Hashes {
    pub(crate) fn new(system: &impl Framed) -> Hashes {
        let layout = Layout::new(system.frame());
        Hashes { layout, known: Vec::new(), last: Vec::new(), sum: 0 }
    }

    /// The hash of a row. Fields of locations that are 0 do not count, so that rows may grow.
    pub(crate) fn of(&mut self, threads: &Threads<'_>, row: &[u32]) -> u64 {
        if self.last.len() != row.len() {
            self.layout.cover(row.len());
            self.known.resize(self.known.len().max(row.len()), Vec::new());
            self.last.clear();
            self.last.extend_from_slice(row);
            self.sum = 0;
            for (at, &n) in row.iter().enumerate() {
                self.sum = self.sum.wrapping_add(self.field(threads, at, n));
            }
        } else {
            for (at, &n) in row.iter().enumerate() {
                let before = self.last[at];
                if before != n {
                    self.last[at] = n;
                    let (old, new) = (self.field(threads, at, before), self.field(threads, at, n));
                    self.sum = self.sum.wrapping_sub(old).wrapping_add(new);
                }
            }
        }
        let mixed = (self.sum ^ self.sum >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 29
    }

    /// What a field adds to the sum.
    fn field(&mut self, threads: &Threads<'_>, at: usize, n: u32) -> u64 {
        if n == 0 && at >= self.layout.frame.n {
            return 0;
        }
        // Numbers of threads and flags are few; masks of threads are not.
        let known = self.known[at].get(n as usize).copied().unwrap_or(0);
        if known != 0 { known } else { self.learn(threads, at, n) }
    }

    #[cold]
    fn learn(&mut self, threads: &Threads<'_>, at: usize, n: u32) -> u64 {
        let (kind, place) = self.layout.kinds[at];
        let mut contents = match place {
            Place::Fixed => vec![0, at as Value],
            Place::Of(loc, i) => vec![1, threads.locs.addr(loc), i as Value],
        };
        match kind {
            Kind::Plain => contents.push(Value::from(n)),
            Kind::Local(t) => contents.extend_from_slice(threads.entry(t, n).1),
            Kind::Loc => contents.push(threads.locs.addr(n - 1)),
            Kind::Value(loc) => contents.push(threads.locs.value(loc, n)),
        }
        let hash = hash(&contents).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        if kind != Kind::Plain || n < 1 << 16 {
            let known = &mut self.known[at];
            if known.len() <= n as usize {
                known.resize(n as usize + 1, 0);
            }
            known[n as usize] = hash;
        }
        hash
    }

    pub(crate) fn bytes(&self) -> usize {
        self.known.iter().map(|known| known.capacity() * 8 + 24).sum()
    }
}

/// Rows on their way to one worker, or to a file.
pub(crate) struct Packet {
    layout: Layout,
    /// Workers of this process have the same tables.
    translates: bool,
    /// Per thread and local state, and per location and value, what it is called in messages, or 0: names
    /// are given one after the other. For local states one more, and whether it was said that it goes on by
    /// single steps.
    locals: Vec<Vec<(u32, bool)>>,
    values: Vec<Vec<u32>>,
    /// How many of them have names.
    named_locals: Vec<u32>,
    named_values: Vec<u32>,
    locs: usize,
    definitions: Vec<u8>,
    rows: Vec<u8>,
    count: u64,
    last: Vec<u32>,
}

// What is defined.
const LOC: u8 = 1;
const LOCAL: u8 = 2;
const VALUE: u8 = 3;

impl Packet {
    pub(crate) fn new(system: &impl Framed, translates: bool) -> Packet {
        Packet {
            layout: Layout::new(system.frame()),
            translates,
            locals: Vec::new(),
            values: Vec::new(),
            named_locals: Vec::new(),
            named_values: Vec::new(),
            locs: 0,
            definitions: Vec::new(),
            rows: Vec::new(),
            count: 0,
            last: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.definitions.len() + self.rows.len()
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, threads: &Threads<'_>, row: &[u32], parent: u32, asleep: u32) {
        self.layout.cover(row.len());
        if self.translates {
            self.define_locs(threads, self.layout.frame.locs(row).end as usize);
        }
        put(&mut self.rows, u64::from(parent));
        put(&mut self.rows, u64::from(asleep));
        put(&mut self.rows, row.len() as u64);
        self.last.resize(row.len(), 0);
        let bits = self.rows.len();
        self.rows.resize(bits + row.len().div_ceil(8), 0);
        for (at, &now) in row.iter().enumerate() {
            let is_local = self.translates && at < self.layout.frame.n;
            if now != self.last[at] || is_local && self.count == 0 {
                self.rows[bits + at / 8] |= 1 << (at % 8);
                let name = if self.translates { self.name(threads, at, now) } else { now };
                put(&mut self.rows, u64::from(name));
                self.last[at] = now;
            } else if is_local && threads.is_capped(at, now) {
                // What is known of a local state may change.
                self.name(threads, at, now);
            }
        }
        self.count += 1;
    }

    /// Says what the first so many locations are.
    fn define_locs(&mut self, threads: &Threads<'_>, count: usize) {
        while self.locs < count {
            self.definitions.push(LOC);
            put_value(&mut self.definitions, threads.locs.addr(self.locs as u32));
            self.locs += 1;
        }
    }

    /// What the number of a field is called in messages. It is defined where the receiver does not know it.
    fn name(&mut self, threads: &Threads<'_>, at: usize, n: u32) -> u32 {
        let (kind, _) = self.layout.kinds[at];
        if kind == Kind::Loc {
            self.define_locs(threads, n as usize);
        }
        match kind {
            Kind::Local(t) => self.name_of_local(threads, t, n),
            // The first value of a location has number 0 everywhere.
            Kind::Value(loc) if n > 0 => self.name_of_value(threads, loc, n),
            Kind::Value(_) | Kind::Plain | Kind::Loc => n,
        }
    }

    fn name_of_local(&mut self, threads: &Threads<'_>, t: usize, n: u32) -> u32 {
        let capped = threads.is_capped(t, n);
        let known = slot(slot(&mut self.locals, t), n as usize);
        if known.0 == 0 || capped && !known.1 {
            let named = slot(&mut self.named_locals, t);
            *named += 1;
            *known = (*named, capped);
            let (_, contents) = threads.entry(t, n);
            let out = &mut self.definitions;
            out.extend([LOCAL, u8::from(capped)]);
            put(out, t as u64);
            put(out, contents.len() as u64);
            contents.iter().for_each(|&v| put_value(out, v));
        }
        known.0 - 1
    }

    fn name_of_value(&mut self, threads: &Threads<'_>, loc: u32, n: u32) -> u32 {
        let known = slot(slot(&mut self.values, loc as usize), n as usize);
        if *known == 0 {
            let named = slot(&mut self.named_values, loc as usize);
            *named += 1;
            *known = *named;
            let out = &mut self.definitions;
            out.push(VALUE);
            put(out, u64::from(loc));
            put_value(out, threads.locs.value(loc, n));
        }
        *known
    }

    /// Defines all that is known, in the order of its numbers: a receiver who knows nothing else has the same ones
    /// then. `pause` may take what there is now and then.
    pub(crate) fn define_all(&mut self, threads: &Threads<'_>, pause: &mut dyn FnMut(&mut Packet)) {
        for loc in 0..threads.locs.len() as u32 {
            self.define_locs(threads, loc as usize + 1);
            for n in 1..threads.locs.values(loc).len() as u32 {
                self.name_of_value(threads, loc, n);
                pause(self);
            }
        }
        for t in 0..self.layout.frame.n {
            for n in 0..threads.known_locals(t) {
                self.name_of_local(threads, t, n);
                pause(self);
            }
        }
    }

    /// What was added since the last time, if anything.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        if self.bytes() == 0 {
            return None;
        }
        let mut message = Vec::with_capacity(self.bytes() + 16);
        put(&mut message, self.definitions.len() as u64);
        message.append(&mut self.definitions);
        put(&mut message, self.count);
        message.append(&mut self.rows);
        self.count = 0;
        self.last.clear();
        Some(message)
    }
}

/// The element at `[i]`, which is new if it was not there.
fn slot<T: Clone + Default>(table: &mut Vec<T>, i: usize) -> &mut T {
    if table.len() <= i {
        table.resize(i + 1, T::default());
    }
    &mut table[i]
}

/// What the numbers of one worker of another process are here.
pub(crate) struct Reader {
    layout: Layout,
    own: Layout,
    translates: bool,
    locals: Vec<Vec<u32>>,
    locs: Vec<u32>,
    values: Vec<Vec<u32>>,
    /// The last row, and the same as it is here.
    last: Vec<u32>,
    translated: Vec<u32>,
}

/// What hears of a row, its parent, and the threads that are asleep.
type EachRow<'e, E> = dyn FnMut(&[u32], u32, u32) -> Result<(), E> + 'e;

/// A message that no process of this version sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

impl Reader {
    pub(crate) fn new(system: &impl Framed, translates: bool) -> Reader {
        let layout = Layout::new(system.frame());
        Reader {
            own: layout.clone(),
            layout,
            translates,
            locals: Vec::new(),
            locs: Vec::new(),
            values: Vec::new(),
            last: Vec::new(),
            translated: Vec::new(),
        }
    }

    /// Whether a message defines something, so that it changes tables.
    pub(crate) fn defines(message: &[u8]) -> bool {
        message.first().is_some_and(|&length| length != 0)
    }

    /// Learns what a message defines; the rest of it are rows.
    pub(crate) fn learn<'m>(
        &mut self,
        threads: &mut Threads<'_>,
        message: &'m [u8],
    ) -> Result<&'m [u8], Garbled> {
        let (mut bytes, rest) = definitions(message)?;
        while let Some((&what, after)) = bytes.split_first() {
            bytes = after;
            match what {
                LOC => {
                    let addr = get_value(&mut bytes)?;
                    self.locs.push(threads.locs.loc(addr).map_err(|_| Garbled)?);
                }
                LOCAL => {
                    let (&capped, after) = bytes.split_first().ok_or(Garbled)?;
                    bytes = after;
                    let t = get(&mut bytes)? as usize;
                    let length = get(&mut bytes)?;
                    let contents: Result<Vec<Value>, Garbled> =
                        (0..length).map(|_| get_value(&mut bytes)).collect();
                    let own = threads.meet(t, capped != 0, &contents?).ok_or(Garbled)?;
                    slot(&mut self.locals, t).push(own);
                }
                VALUE => {
                    let loc = number(&mut bytes)? as usize;
                    let value = get_value(&mut bytes)?;
                    let own = *self.locs.get(loc).ok_or(Garbled)?;
                    slot(&mut self.values, loc).push(threads.locs.number(own, value));
                }
                _ => return Err(Garbled),
            }
        }
        Ok(rest)
    }

    /// Reads the rows of a message into `out`, as they are here.
    pub(crate) fn rows(&mut self, bytes: &[u8], out: &mut Successors) -> Result<(), Garbled> {
        self.each_row(bytes, &mut |row, parent, asleep| {
            out.push_of(parent, row, asleep);
            Ok(())
        })
    }

    /// Reads the rows of a message, as they are here, each with its parent and the threads that are asleep.
    pub(crate) fn each_row<E: From<Garbled>>(
        &mut self,
        mut bytes: &[u8],
        each: &mut EachRow<'_, E>,
    ) -> Result<(), E> {
        let count = get(&mut bytes)?;
        self.last.clear();
        self.translated.clear();
        for _ in 0..count {
            let parent = number(&mut bytes)?;
            let asleep = number(&mut bytes)?;
            let width = get(&mut bytes)? as usize;
            // Every eighth of them takes a byte.
            if width / 8 > bytes.len() {
                return Err(Garbled.into());
            }
            let (bits, rest) = bytes.split_at_checked(width.div_ceil(8)).ok_or(Garbled)?;
            bytes = rest;
            let known = self.last.len();
            if known != width {
                self.layout.cover(width);
                self.last.resize(width, 0);
                // What is no longer there must not stay where it was translated to.
                self.translated.clear();
            }
            let is_first = self.translated.is_empty();
            for at in 0..width {
                let differs = bits[at / 8] >> (at % 8) & 1 != 0;
                if differs {
                    self.last[at] = number(&mut bytes)?;
                }
                if self.translates && (differs || is_first) {
                    self.translate(at)?;
                }
            }
            let row = if self.translates { &self.translated } else { &self.last };
            each(row, parent, asleep)?;
        }
        if bytes.is_empty() { Ok(()) } else { Err(Garbled.into()) }
    }

    /// Translates a field of the last row.
    fn translate(&mut self, at: usize) -> Result<(), Garbled> {
        let n = self.last[at];
        let (kind, place) = self.layout.kinds[at];
        let own = match kind {
            Kind::Plain => n,
            Kind::Local(t) => *self.locals.get(t).and_then(|l| l.get(n as usize)).ok_or(Garbled)?,
            Kind::Loc if n == 0 => 0,
            Kind::Loc => 1 + *self.locs.get(n as usize - 1).ok_or(Garbled)?,
            Kind::Value(_) if n == 0 => 0,
            Kind::Value(loc) => {
                let values = self.values.get(loc as usize);
                *values.and_then(|v| v.get(n as usize - 1)).ok_or(Garbled)?
            }
        };
        let to = match place {
            Place::Fixed => at,
            Place::Of(loc, i) => {
                let loc = *self.locs.get(loc as usize).ok_or(Garbled)?;
                self.own.frame.value(loc) + i
            }
        };
        if self.translated.len() <= to {
            self.translated.resize(to + 1, 0);
        }
        self.translated[to] = own;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        let tables = self.locals.iter().chain(&self.values);
        tables.map(|known| known.capacity() * 4 + 24).sum()
    }
}

/// The definitions of a message, and the rest.
fn definitions(mut message: &[u8]) -> Result<(&[u8], &[u8]), Garbled> {
    let length = get(&mut message)? as usize;
    message.split_at_checked(length).ok_or(Garbled)
}

/// Adds a number, 7 bits per byte.
pub(crate) fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Adds a value: small ones of either sign take few bytes.
fn put_value(out: &mut Vec<u8>, v: Value) {
    put(out, (v << 1 ^ v >> 63) as u64);
}

/// Takes a number.
pub(crate) fn get(bytes: &mut &[u8]) -> Result<u64, Garbled> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Garbled)?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(n);
        }
    }
    Err(Garbled)
}

/// Takes a number of 32 bits.
pub(crate) fn number(bytes: &mut &[u8]) -> Result<u32, Garbled> {
    u32::try_from(get(bytes)?).map_err(|_| Garbled)
}

fn get_value(bytes: &mut &[u8]) -> Result<Value, Garbled> {
    let n = get(bytes)?;
    Ok((n >> 1) as Value ^ -((n & 1) as Value))
}

#[cfg(test)]
mod tests;
