//! States as rows of numbers: who holds the lock, where threads stand, registers, memory, and what
//! is pending; and their canonical form (see `core::Abstraction`).

use weakspot_core::{Program, RegId, ThreadId, Value};

use super::classes::Classes;
use crate::liveness::live_registers;

/// A pending store-store fence, in the place of a location.
pub(super) const BARRIER: Value = -1;

/// Where things are in a row, and which of them are counters.
pub(super) struct Layout {
    pub(super) threads: usize,
    /// Where the registers of each thread begin, and memory.
    first: Vec<usize>,
    /// Where pending stores begin: threes of thread, location and value, by thread.
    pending: usize,
    /// The classes, densely.
    classes: Vec<Class>,
    /// Per location its class.
    of_loc: Vec<Option<usize>>,
    /// Per thread, point and register.
    of_reg: Vec<Vec<Vec<Option<usize>>>>,
    /// Per thread and point the registers that matter.
    live: Vec<Vec<Vec<bool>>>,
    gap: Value,
}

struct Class {
    zero: bool,
    /// The locations in it.
    locs: Vec<usize>,
    /// Per thread and point its registers in it.
    regs: Vec<Vec<Vec<usize>>>,
}

/// A state.
pub(super) type Row = Vec<Value>;

impl Layout {
    pub(super) fn new(program: &Program, classes: &Classes, gap: Value) -> Layout {
        let threads = program.threads.len();
        let mut first = vec![1 + threads];
        for thread in &program.threads {
            first.push(first[first.len() - 1] + thread.regs.len());
        }
        let abstraction = classes.abstraction(program, gap);
        let number = |class: Option<u32>| class.map(|c| c as usize);
        let of_loc: Vec<_> = abstraction.locs.iter().map(|&c| number(c)).collect();
        let at_point = |regs: &Vec<_>| regs.iter().map(|&c| number(c)).collect();
        let of_thread = |points: &Vec<_>| points.iter().map(at_point).collect();
        let of_reg: Vec<Vec<Vec<_>>> = abstraction.regs.iter().map(of_thread).collect();
        let members = |all: &[Option<usize>], class: usize| {
            (0..all.len()).filter(|&i| all[i] == Some(class)).collect::<Vec<usize>>()
        };
        let class = |(c, &zero): (usize, &bool)| Class {
            zero,
            locs: members(&of_loc, c),
            regs: of_reg
                .iter()
                .map(|points| points.iter().map(|regs| members(regs, c)).collect())
                .collect(),
        };
        Layout {
            threads,
            pending: first[threads] + program.locs.len(),
            classes: abstraction.zero.iter().enumerate().map(class).collect(),
            of_loc,
            of_reg,
            first,
            live: (0..threads).map(|t| live_registers(program, ThreadId::new(t))).collect(),
            gap,
        }
    }

    /// The initial state in which memory holds `init`.
    pub(super) fn initial(&self, program: &Program, init: &[Value]) -> Row {
        let mut row = vec![0];
        row.extend(program.threads.iter().map(|t| Value::from(t.entry.0)));
        row.extend(program.threads.iter().flat_map(|t| &t.regs));
        row.extend(init);
        row
    }

    /// Who holds the lock.
    pub(super) fn lock(&self, row: &Row) -> Option<usize> {
        usize::try_from(row[0] - 1).ok()
    }

    pub(super) fn set_lock(&self, row: &mut Row, owner: Option<usize>) {
        row[0] = owner.map_or(0, |t| t as Value + 1);
    }

    pub(super) fn point(&self, row: &Row, t: usize) -> usize {
        row[1 + t] as usize
    }

    pub(super) fn set_point(&self, row: &mut Row, t: usize, point: usize) {
        row[1 + t] = point as Value;
    }

    pub(super) fn regs<'r>(&self, row: &'r Row, t: usize) -> &'r [Value] {
        &row[self.first[t]..self.first[t + 1]]
    }

    pub(super) fn reg_mut<'r>(&self, row: &'r mut Row, t: usize, reg: RegId) -> &'r mut Value {
        &mut row[self.first[t] + reg.index()]
    }

    pub(super) fn memory<'r>(&self, row: &'r Row) -> &'r [Value] {
        &row[self.first[self.threads]..self.pending]
    }

    pub(super) fn memory_mut<'r>(&self, row: &'r mut Row, loc: usize) -> &'r mut Value {
        &mut row[self.first[self.threads] + loc]
    }

    /// The pending stores and fences of a thread, oldest first, in threes.
    pub(super) fn pending<'r>(&self, row: &'r Row, t: usize) -> &'r [Value] {
        let (from, to) = self.pending_of(row, t);
        &row[from..to]
    }

    fn pending_of(&self, row: &Row, t: usize) -> (usize, usize) {
        let all = row[self.pending..].chunks_exact(3);
        let before = all.clone().take_while(|e| (e[0] as usize) < t).count();
        let upto = all.take_while(|e| e[0] as usize <= t).count();
        (self.pending + 3 * before, self.pending + 3 * upto)
    }

    pub(super) fn pending_mut<'r>(&self, row: &'r mut Row, t: usize) -> &'r mut [Value] {
        let (from, to) = self.pending_of(row, t);
        &mut row[from..to]
    }

    pub(super) fn push_pending(&self, row: &mut Row, t: usize, loc: Value, value: Value) {
        let (_, at) = self.pending_of(row, t);
        row.splice(at..at, [t as Value, loc, value]);
    }

    pub(super) fn remove_pending(&self, row: &mut Row, t: usize, index: usize) {
        let (from, _) = self.pending_of(row, t);
        row.drain(from + 3 * index..from + 3 * index + 3);
    }

    pub(super) fn has_pending(&self, row: &Row) -> bool {
        row.len() > self.pending
    }

    pub(super) fn class_of_reg(&self, t: usize, point: usize, reg: RegId) -> Option<usize> {
        self.of_reg[t][point][reg.index()]
    }

    pub(super) fn class_of_loc(&self, loc: usize) -> Option<usize> {
        self.of_loc[loc]
    }

    pub(super) fn has_zero(&self, class: usize) -> bool {
        self.classes[class].zero
    }

    /// Registers of a thread that do not matter any more become 0.
    pub(super) fn forget(&self, row: &mut Row, t: usize) {
        let live = &self.live[t][self.point(row, t)];
        let regs = &mut row[self.first[t]..self.first[t + 1]];
        regs.iter_mut().zip(live).filter(|(_, live)| !**live).for_each(|(value, _)| *value = 0);
    }

    /// Puts large gaps and the least values to their places.
    pub(super) fn canonical(&self, row: &mut Row) {
        let mut values = Vec::new();
        for class in 0..self.classes.len() {
            self.values(row, class, &mut values);
            if values.is_empty() {
                continue;
            }
            let places = self.places(class, &values, |gap| gap.min(self.gap));
            if places != values {
                self.put(row, class, &values, &places);
            }
        }
    }

    /// The states that stand for all that are like a canonical one in a step that moves values of
    /// these classes by `amount` at most, beside one of `bases`. `None` if there are too many.
    pub(super) fn spread(
        &self,
        row: &Row,
        moved: &[(usize, Vec<Value>)],
        amount: Value,
    ) -> Option<Vec<Row>> {
        let mut rows = vec![row.clone()];
        for (class, bases) in moved {
            let mut values = Vec::new();
            self.values(row, *class, &mut values);
            // A gap matters if a value may be moved into it or beyond.
            let near = |place: Value, base: Value| (place - base).abs() < amount;
            let varied: Vec<usize> = (1..values.len())
                .filter(|&i| values[i] - values[i - 1] >= self.gap)
                .filter(|&i| {
                    bases.iter().any(|&base| {
                        values[i - 1] >= base && near(values[i - 1], base)
                            || values[i] <= base && near(values[i], base)
                    })
                })
                .collect();
            for at in varied {
                if rows.len() as Value * (amount + 1) > MOST_ROWS {
                    return None;
                }
                // Rows of this class so far have the same gaps but for those before this one.
                let before = std::mem::take(&mut rows);
                for row in before {
                    for more in 0..=amount {
                        let mut now = Vec::new();
                        self.values(&row, *class, &mut now);
                        let mut i = 0;
                        let places = self.places(*class, &now, |gap| {
                            i += 1;
                            if i == at { gap + more } else { gap }
                        });
                        let mut row = row.clone();
                        self.put(&mut row, *class, &now, &places);
                        rows.push(row);
                    }
                }
            }
        }
        Some(rows)
    }

    /// Where values get if each gap becomes `size(gap)`.
    fn places(
        &self,
        class: usize,
        values: &[Value],
        mut size: impl FnMut(Value) -> Value,
    ) -> Vec<Value> {
        let mut places = vec![0; values.len()];
        for i in 1..values.len() {
            places[i] = places[i - 1] + size(values[i].saturating_sub(values[i - 1]));
        }
        if self.classes[class].zero
            && let Ok(zero) = values.binary_search(&0)
        {
            let shift = places[zero];
            places.iter_mut().for_each(|place| *place -= shift);
        }
        places
    }

    /// The distinct values of a class, rising.
    fn values(&self, row: &Row, class: usize, values: &mut Vec<Value>) {
        values.clear();
        let Class { zero, locs, regs } = &self.classes[class];
        values.extend(zero.then_some(0));
        for (t, points) in regs.iter().enumerate() {
            let regs = &points[self.point(row, t)];
            values.extend(regs.iter().map(|&r| row[self.first[t] + r]));
        }
        values.extend(locs.iter().map(|&l| row[self.first[self.threads] + l]));
        for entry in row[self.pending..].chunks_exact(3) {
            if entry[1] != BARRIER && self.of_loc[entry[1] as usize] == Some(class) {
                values.push(entry[2]);
            }
        }
        values.sort_unstable();
        values.dedup();
    }

    fn put(&self, row: &mut Row, class: usize, values: &[Value], places: &[Value]) {
        let place = |value: Value| places[values.partition_point(|&v| v < value)];
        let Class { locs, regs, .. } = &self.classes[class];
        for (t, points) in regs.iter().enumerate() {
            for &r in &points[self.point(row, t)] {
                let value = &mut row[self.first[t] + r];
                *value = place(*value);
            }
        }
        for &l in locs {
            let value = &mut row[self.first[self.threads] + l];
            *value = place(*value);
        }
        let pending = self.pending;
        for entry in row[pending..].chunks_exact_mut(3) {
            if entry[1] != BARRIER && self.of_loc[entry[1] as usize] == Some(class) {
                entry[2] = place(entry[2]);
            }
        }
    }
}

/// More states do not stand for one in a step.
const MOST_ROWS: Value = 4096;

/// Numbers as bytes: small ones take one.
pub(super) fn encode(row: &Row, bytes: &mut Vec<u8>) {
    bytes.clear();
    for &value in row {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
}

/// The numbers of [`encode`].
pub(super) fn decode(bytes: &[u8], row: &mut Row) {
    row.clear();
    let (mut value, mut shift) = (0u64, 0);
    for &byte in bytes {
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            row.push((value >> 1) as Value ^ -((value & 1) as Value));
            (value, shift) = (0, 0);
        }
    }
}
