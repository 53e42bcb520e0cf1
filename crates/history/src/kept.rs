//! The log of a history, kept to be looked at again as a whole when it has ended: about a dozen bytes per operation,
//! since most of what stands in one operation is close to what stood in the one before.

use weakspot_core::{LoggedOp, OpKind, SaidFrom, Times, Value};

/// A log.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptLog {
    bytes: Vec<u8>,
    last: Last,
}

/// What differences are taken to.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    value: Value,
    start: i64,
    line: i64,
}

const KINDS: [OpKind; 4] = [OpKind::Read, OpKind::Write, OpKind::Update, OpKind::Fence];

impl KeptLog {
    /// The bytes that are taken.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity()
    }

    pub(crate) fn push(&mut self, op: &LoggedOp) {
        let kind = KINDS.iter().position(|&kind| kind == op.kind).unwrap_or(0) as i64;
        let from = match op.from {
            None => 0,
            Some(SaidFrom::Initial) => 4,
            Some(SaidFrom::Op(..)) => 8,
        };
        self.put(kind + from);
        if let Some(SaidFrom::Op(thread, index)) = op.from {
            self.put(thread.into());
            self.put(index.into());
        }
        self.put(op.thread.into());
        self.put(op.var.into());
        self.put(op.value.wrapping_sub(self.last.value));
        if op.kind == OpKind::Update {
            self.put(op.old.wrapping_sub(op.value));
        }
        self.put(op.times.start.wrapping_sub(self.last.start));
        self.put(op.times.end.wrapping_sub(op.times.start));
        self.put(i64::from(op.line) - self.last.line);
        self.put(op.column.into());
        self.last = Last { value: op.value, start: op.times.start, line: op.line.into() };
    }

    /// A number, seven bits to a byte, those near zero with few.
    fn put(&mut self, number: i64) {
        let mut rest = (number << 1 ^ number >> 63) as u64;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    /// The operations.
    pub(crate) fn ops(&self) -> impl Iterator<Item = LoggedOp> {
        let (mut bytes, mut last) = (self.bytes.iter(), Last::default());
        std::iter::from_fn(move || {
            if bytes.as_slice().is_empty() {
                return None;
            }
            let mut next = || {
                let mut number = 0;
                for (at, &byte) in bytes.by_ref().enumerate() {
                    number |= u64::from(byte & 0x7f) << (7 * at);
                    if byte < 0x80 {
                        break;
                    }
                }
                (number >> 1) as i64 ^ -((number & 1) as i64)
            };
            let what = next();
            let from = match what / 4 {
                0 => None,
                1 => Some(SaidFrom::Initial),
                _ => Some(SaidFrom::Op(next() as u32, next() as u32)),
            };
            let (kind, thread, var) = (KINDS[what as usize % 4], next() as u32, next() as u32);
            let value = last.value.wrapping_add(next());
            let old = if kind == OpKind::Update { value.wrapping_add(next()) } else { 0 };
            let start = last.start.wrapping_add(next());
            let times = Times { start, end: start.wrapping_add(next()) };
            let line = last.line + next();
            last = Last { value, start, line };
            let (line, column) = (line as u32, next() as u32);
            Some(LoggedOp { thread, kind, var, value, old, from, line, column, times })
        })
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Rng, scaled};

    use super::*;

    #[test]
    fn what_was_put_in_comes_out() {
        let rng = &mut Rng::new(1);
        let number = |rng: &mut Rng| match rng.below(4) {
            0 => [i64::MIN, i64::MAX, -1, 0][rng.below(4)],
            1 => rng.next_u64() as i64,
            _ => rng.below(300) as i64,
        };
        for _ in 0..scaled(2_000) {
            let one = |rng: &mut Rng| {
                let kind = KINDS[rng.below(4)];
                LoggedOp {
                    thread: number(rng) as u32,
                    kind,
                    var: number(rng) as u32,
                    value: number(rng),
                    old: if kind == OpKind::Update { number(rng) } else { 0 },
                    from: match rng.below(3) {
                        0 => None,
                        1 => Some(SaidFrom::Initial),
                        _ => Some(SaidFrom::Op(number(rng) as u32, number(rng) as u32)),
                    },
                    line: number(rng) as u32,
                    column: number(rng) as u32,
                    times: Times { start: number(rng), end: number(rng) },
                }
            };
            let ops: Vec<LoggedOp> = (0..rng.below(6)).map(|_| one(rng)).collect();
            let mut log = KeptLog::default();
            ops.iter().for_each(|op| log.push(op));
            assert_eq!(log.ops().collect::<Vec<_>>(), ops);
        }
    }
}
