//! States as bytes, and sets of them as one row of bytes.
//!
//! Numbers have seven bits per byte, lowest first, and the sign of a value in the lowest bit. A
//! set is in ascending order; of each member there is the number of bytes that it has in common with the one
//! before it, the number of its other bytes, and these.

use std::collections::BTreeSet;

use crate::evidence::pending::{Block, Pending};
use crate::machine::{Entry, Local, State};
use crate::{Memory, PointId, Program, ThreadId, Undeclared, Value};

/// A state, and what is known of a guessed store, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) state: State,
    pub(crate) pending: Option<Pending>,
}

/// The bytes of a node.
pub(crate) fn pack(program: &Program, node: &Node) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    let State { threads, memory, lock } = &node.state;
    for local in threads {
        push(&mut out, local.point.index() as u64);
    }
    push(&mut out, lock.map_or(0, |t| u64::from(t.0) + 1));
    for loc in &program.locs {
        push_value(&mut out, memory.get(&loc.addr).copied().unwrap_or(0));
    }
    let others: Vec<_> = memory.iter().filter(|(addr, _)| !is_declared(program, **addr)).collect();
    push(&mut out, others.len() as u64);
    for (&addr, &value) in others {
        push_value(&mut out, addr);
        push_value(&mut out, value);
    }
    for local in threads {
        local.regs.iter().for_each(|&value| push_value(&mut out, value));
        push(&mut out, local.buffer.len() as u64);
        for entry in &local.buffer {
            match *entry {
                Entry::Barrier => push(&mut out, 0),
                Entry::Store { addr, value } => {
                    push(&mut out, 1);
                    push_value(&mut out, addr);
                    push_value(&mut out, value);
                }
            }
        }
    }
    let Some(pending) = &node.pending else { return out };
    push(&mut out, u64::from(pending.thread.0));
    push_value(&mut out, pending.addr);
    let block = pending.block.as_ref();
    let bits = u64::from(pending.fenced)
        | u64::from(block.is_some()) << 1
        | u64::from(block.is_some_and(|b| b.last)) << 2;
    push(&mut out, bits);
    push(&mut out, pending.after.len() as u64);
    pending.after.iter().for_each(|&t| push(&mut out, u64::from(t)));
    for set in [&pending.written, &pending.read, &pending.delayed] {
        push(&mut out, set.len() as u64);
        set.iter().for_each(|&addr| push_value(&mut out, addr));
    }
    if let Some(block) = block {
        push(&mut out, block.accesses.len() as u64);
        for &(addr, writes) in &block.accesses {
            push_value(&mut out, addr);
            push(&mut out, u64::from(writes));
        }
    }
    out
}

/// The node of these bytes, if it is one of `program`.
pub(crate) fn unpack(program: &Program, bytes: &[u8]) -> Option<Node> {
    let mut from = Bytes { bytes };
    let mut points = Vec::new();
    for thread in &program.threads {
        let point = from.below(thread.points.len())?;
        points.push(PointId::new(point));
    }
    let lock = match from.below(program.threads.len() + 1)? {
        0 => None,
        t => Some(ThreadId::new(t - 1)),
    };
    let mut memory = Memory::default();
    for loc in &program.locs {
        memory.insert(loc.addr, from.value()?);
    }
    for _ in 0..from.count()? {
        let (addr, value) = (from.value()?, from.value()?);
        if is_declared(program, addr) || program.undeclared != Undeclared::Zero {
            return None;
        }
        memory.insert(addr, value);
    }
    let mut threads = Vec::new();
    for (thread, point) in program.threads.iter().zip(points) {
        let regs = thread.regs.iter().map(|_| from.value()).collect::<Option<_>>()?;
        let mut buffer = Vec::new();
        for _ in 0..from.count()? {
            buffer.push(match from.below(2)? {
                0 => Entry::Barrier,
                _ => Entry::Store { addr: from.value()?, value: from.value()? },
            });
        }
        threads.push(Local { point, regs, buffer });
    }
    let pending = match from.bytes.is_empty() {
        true => None,
        false => Some(from.pending(program.threads.len())?),
    };
    from.bytes.is_empty().then_some(Node { state: State { threads, memory, lock }, pending })
}

/// The members of a set, which are in ascending order, one after the other.
pub(crate) fn push_member(set: &mut Vec<u8>, before: &[u8], member: &[u8]) {
    let common = before.iter().zip(member).take_while(|(a, b)| a == b).count();
    push(set, common as u64);
    push(set, (member.len() - common) as u64);
    set.extend(&member[common..]);
}

/// Replaces `member` by the one that follows in a set; `None` if what follows is none, or not in
/// ascending order.
pub(crate) fn next_member(set: &mut &[u8], member: &mut Vec<u8>) -> Option<()> {
    let mut from = Bytes { bytes: set };
    let (common, length) = (from.count()?, from.count()?);
    if common > member.len() || length > from.bytes.len() {
        return None;
    }
    let (rest, after) = from.bytes.split_at(length);
    if rest <= &member[common..] {
        return None;
    }
    member.truncate(common);
    member.extend(rest);
    *set = after;
    Some(())
}

fn is_declared(program: &Program, addr: Value) -> bool {
    program.locs.binary_search_by_key(&addr, |l| l.addr).is_ok()
}

fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_value(out: &mut Vec<u8>, value: Value) {
    push(out, ((value << 1) ^ (value >> 63)) as u64);
}

struct Bytes<'b> {
    bytes: &'b [u8],
}

impl Bytes<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&first, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u64::from(first & 127) << shift;
            if first < 128 {
                return Some(number);
            }
        }
        None
    }

    fn value(&mut self) -> Option<Value> {
        let number = self.number()?;
        Some((number >> 1) as Value ^ -((number & 1) as Value))
    }

    /// A number of things, each of which has a byte at least; a number of bytes may be larger.
    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn below(&mut self, bound: usize) -> Option<usize> {
        self.count().filter(|&n| n < bound)
    }

    fn addresses(&mut self) -> Option<BTreeSet<Value>> {
        (0..self.count()?).map(|_| self.value()).collect()
    }

    fn pending(&mut self, threads: usize) -> Option<Pending> {
        let thread = ThreadId::new(self.below(threads)?);
        let addr = self.value()?;
        let bits = self.below(8)?;
        let after =
            (0..self.count()?).map(|_| Some(self.below(threads)? as u32)).collect::<Option<_>>()?;
        let (written, read, delayed) = (self.addresses()?, self.addresses()?, self.addresses()?);
        let mut block = None;
        if bits & 2 != 0 {
            let count = self.count()?;
            let access = |_| Some((self.value()?, self.below(2)? == 1));
            block = Some(Block {
                last: bits & 4 != 0,
                accesses: (0..count).map(access).collect::<Option<_>>()?,
            });
        }
        let fenced = bits & 1 != 0;
        Some(Pending { thread, addr, after, written, read, delayed, fenced, block })
    }
}
