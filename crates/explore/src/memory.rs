//! Memory contents, interned: a vector of values by location number.

use rustc_hash::FxHashMap;
use weakspot_core::machine::FailureKind;
use weakspot_core::{LocId, Program, Undeclared, Value, Wide};

use crate::intern::Interner;
use crate::keep::{In, NotKept, Out};

/// All memory contents that were met. Declared locations and wide places have the numbers of the
/// program; where every address exists, the others get the following numbers when they are first
/// met.
#[derive(Debug)]
pub(crate) struct Memories {
    contents: Interner<Value>,
    addrs: Vec<Value>,
    ranges: Vec<Option<(Value, Value)>>,
    number: FxHashMap<Value, u32>,
    declared: usize,
    wides: Vec<Wide>,
    undeclared: Undeclared,
    /// The sampled locations, each with the cell that holds its [`Sample`].
    samples: Vec<(u32, u32)>,
    scratch: Vec<Value>,
}

/// What is known of a *sampled* location: one where stores that nobody looks at are not told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    /// It holds its value, and that may go.
    Seen,
    /// It holds its value, and somebody has to look at it before that may go.
    Fresh,
    /// It holds the value of some store that nobody will have looked at.
    Lost,
}

impl Memories {
    pub(crate) fn new(program: &Program) -> Memories {
        Memories::sampling(program, &[])
    }

    /// With these locations sampled. None of them is part of a wide place.
    pub(crate) fn sampling(program: &Program, sampled: &[u32]) -> Memories {
        let wides = program.wides.iter().map(|wide| (wide.addr, None));
        let locs = program.locs.iter().map(|l| (l.addr, l.range));
        let (mut addrs, mut ranges): (Vec<Value>, Vec<_>) = locs.chain(wides).unzip();
        let number = addrs.iter().enumerate().map(|(i, &a)| (a, i as u32)).collect();
        let cells = addrs.len() as u32..;
        let samples: Vec<(u32, u32)> = sampled.iter().copied().zip(cells).collect();
        // No access goes to these cells: they have no address.
        addrs.resize(addrs.len() + samples.len(), 0);
        ranges.resize(addrs.len(), None);
        Memories {
            contents: Interner::new(),
            number,
            samples,
            declared: program.locs.len(),
            wides: program.wides.clone(),
            ranges,
            addrs,
            undeclared: program.undeclared,
            scratch: Vec::new(),
        }
    }

    /// The initial contents: every choice of initial values, as long as `go_on` agrees.
    pub(crate) fn initial(
        &mut self,
        program: &Program,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Vec<u32> {
        let mut choice = vec![0; program.locs.len()];
        let mut all = Vec::new();
        loop {
            let values: Vec<Value> =
                program.locs.iter().zip(&choice).map(|(l, &c)| l.init[c]).collect();
            all.push(self.contents.insert(&values).0);
            if !go_on(self.contents.bytes() + all.len() * 4) {
                return all;
            }
            let next = (0..choice.len()).find(|&i| choice[i] + 1 < program.locs[i].init.len());
            let Some(turn) = next else { return all };
            choice[turn] += 1;
            choice[..turn].fill(0);
        }
    }

    /// The number of the location at `addr`.
    pub(crate) fn loc(&mut self, addr: Value) -> Result<u32, FailureKind> {
        match (self.number.get(&addr), self.undeclared) {
            (Some(&loc), _) => Ok(loc),
            (None, Undeclared::Fault) => Err(FailureKind::BadAddress(addr)),
            (None, Undeclared::Zero) => {
                let loc = self.addrs.len() as u32;
                self.addrs.push(addr);
                self.ranges.push(None);
                self.number.insert(addr, loc);
                Ok(loc)
            }
        }
    }

    pub(crate) fn addr(&self, loc: u32) -> Value {
        self.addrs[loc as usize]
    }

    /// Whether `value` may be stored at `loc`.
    pub(crate) fn check(&self, loc: u32, value: Value) -> Result<(), FailureKind> {
        in_range(self.ranges[loc as usize], value)
    }

    pub(crate) fn read(&self, mem: u32, loc: u32) -> Value {
        let contents = self.contents.get(mem);
        match self.wide(loc) {
            None => contents.get(loc as usize).copied().unwrap_or(0),
            Some(wide) => wide.join(|cell| contents[cell.index()]),
        }
    }

    /// The wide place with this number; `None` for a location.
    fn wide(&self, loc: u32) -> Option<&Wide> {
        self.wides.get((loc as usize).wrapping_sub(self.declared))
    }

    /// Whether there are places that take several locations.
    pub(crate) fn has_wides(&self) -> bool {
        !self.wides.is_empty()
    }

    /// Whether accesses to `a` and `b` share a location.
    pub(crate) fn overlap(&self, a: u32, b: u32) -> bool {
        let covers = |loc, cell: LocId| match self.wide(loc) {
            None => loc == cell.0,
            Some(wide) => wide.covers(cell),
        };
        a == b
            || match (self.wide(a), self.wide(b)) {
                (None, None) => false,
                (Some(wide), _) => wide.cells.iter().any(|part| covers(b, part.loc)),
                (None, Some(wide)) => wide.covers(LocId(a)),
            }
    }

    /// What a load of `loc` finds if memory holds `seen` there and the thread has `buffer`.
    pub(crate) fn load(&self, buffer: &[Value], loc: u32, seen: Value) -> Value {
        match self.wide(loc) {
            None => self.buffered(buffer, LocId(loc)).unwrap_or(seen),
            Some(wide) => {
                let in_memory: Vec<(LocId, Value)> = wide.split(seen).collect();
                let memory = |cell| in_memory.iter().find(|(l, _)| *l == cell).map_or(0, |l| l.1);
                wide.join(|cell| self.buffered(buffer, cell).unwrap_or_else(|| memory(cell)))
            }
        }
    }

    /// What a load of `loc` finds if it needs nothing of memory.
    pub(crate) fn forwarded(&self, buffer: &[Value], loc: u32) -> Option<Value> {
        match self.wide(loc) {
            None => self.buffered(buffer, LocId(loc)),
            Some(wide) => {
                let covered = |cell| self.buffered(buffer, cell).is_some();
                let all = wide.cells.iter().all(|part| covered(part.loc));
                all.then(|| self.load(buffer, loc, 0))
            }
        }
    }

    /// The newest value that a buffer, in pairs of place and value, has for a location.
    fn buffered(&self, buffer: &[Value], cell: LocId) -> Option<Value> {
        buffer.chunks_exact(2).rev().find_map(|entry| match self.wide(entry[0] as u32) {
            None => (entry[0] == Value::from(cell.0)).then_some(entry[1]),
            Some(wide) => wide.split(entry[1]).find(|(loc, _)| *loc == cell).map(|(_, v)| v),
        })
    }

    /// The cell with the sample of `loc`; `None` if it is not sampled.
    fn sample_cell(&self, loc: u32) -> Option<u32> {
        self.samples.iter().find(|(sampled, _)| *sampled == loc).map(|&(_, cell)| cell)
    }

    /// What is known of a sampled location; `None` for others.
    pub(crate) fn sample(&self, mem: u32, loc: u32) -> Option<Sample> {
        let cell = self.sample_cell(loc)?;
        Some(match self.contents.get(mem).get(cell as usize) {
            None | Some(0) => Sample::Seen,
            Some(1) => Sample::Fresh,
            Some(_) => Sample::Lost,
        })
    }

    /// `mem` with `value` at `loc`, which is sampled, and this known of it.
    pub(crate) fn put_sample(&mut self, mem: u32, loc: u32, value: Value, sample: Sample) -> u32 {
        let Some(cell) = self.sample_cell(loc) else { return mem };
        let mem = self.write(mem, loc, if sample == Sample::Lost { 0 } else { value });
        self.write(mem, cell, sample as Value)
    }

    /// The memories that are `mem` but for one location whose value has become lost.
    pub(crate) fn losses(&mut self, mem: u32) -> Vec<u32> {
        let seen = |&i: &usize| self.sample(mem, self.samples[i].0) == Some(Sample::Seen);
        let may_go: Vec<usize> = (0..self.samples.len()).filter(seen).collect();
        let lose = |i: usize| self.put_sample(mem, self.samples[i].0, 0, Sample::Lost);
        may_go.into_iter().map(lose).collect()
    }

    /// The bits of the locations that an access to `loc` takes, see [`loc_bit`].
    pub(crate) fn bits(&self, loc: u32) -> u64 {
        match self.wide(loc) {
            None => loc_bit(loc) | self.sample_cell(loc).map_or(0, loc_bit),
            Some(wide) => wide.cells.iter().fold(0, |mask, part| mask | loc_bit(part.loc.0)),
        }
    }

    /// `mem` with `value` at `loc`.
    pub(crate) fn write(&mut self, mem: u32, loc: u32, value: Value) -> u32 {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(self.contents.get(mem));
        match self.wide(loc) {
            Some(wide) => wide.split(value).for_each(|(cell, part)| scratch[cell.index()] = part),
            None => {
                if scratch.len() <= loc as usize {
                    scratch.resize(loc as usize + 1, 0);
                }
                scratch[loc as usize] = value;
            }
        }
        // Zeros behind the declared part are left out, so that equal contents look equal.
        while scratch.len() > self.declared && scratch.last() == Some(&0) {
            scratch.pop();
        }
        let id = self.contents.insert(&scratch).0;
        self.scratch = scratch;
        id
    }

    /// The declared part of the contents.
    pub(crate) fn declared(&self, mem: u32) -> &[Value] {
        &self.contents.get(mem)[..self.declared]
    }

    /// One bit per location in which `a` and `b` differ; locations from 63 on share the last bit.
    pub(crate) fn difference(&self, a: u32, b: u32) -> u64 {
        let (a, b) = (self.contents.get(a), self.contents.get(b));
        (0..a.len().max(b.len()))
            .filter(|&i| a.get(i).unwrap_or(&0) != b.get(i).unwrap_or(&0))
            .fold(0, |mask, i| mask | loc_bit(i as u32))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.contents.bytes()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.contents.len()
    }

    /// How many places have a number.
    pub(crate) fn places(&self) -> usize {
        self.addrs.len()
    }

    /// Writes what the numbers stand for.
    pub(crate) fn keep(&self, out: &mut Out<'_>) {
        out.all(&self.addrs, Out::value);
        self.contents.keep(out, Out::value);
    }

    /// Reads this: those of the same program have the same numbers then.
    pub(crate) fn resume(&mut self, from: &mut In<'_>) -> Result<(), NotKept> {
        let (declared, known) = (self.declared, self.addrs.len());
        let addrs = from.all(In::value)?;
        let (old, new) = addrs.split_at_checked(known).ok_or(NotKept::Damaged)?;
        if old != self.addrs {
            return Err(NotKept::Damaged);
        }
        for &addr in new {
            if self.number.contains_key(&addr) || self.loc(addr).is_err() {
                return Err(NotKept::Damaged);
            }
        }
        let most = self.addrs.len();
        self.contents.resume(from, In::value, |row| (declared..=most).contains(&row.len()))
    }
}

/// The bit of a location in a mask; locations from 63 on share the last one.
pub(crate) fn loc_bit(loc: u32) -> u64 {
    1 << loc.min(63)
}

/// Whether a location of this range may hold `value`.
pub(crate) fn in_range(range: Option<(Value, Value)>, value: Value) -> Result<(), FailureKind> {
    match range {
        Some((low, high)) if !(low..=high).contains(&value) => Err(FailureKind::OutOfRange(value)),
        _ => Ok(()),
    }
}
