//! The writes of a history by variable and thread.

use weakspot_core::History;

/// Per variable the writes, updates included, in the order of their numbers, so that those of one
/// thread stand together.
pub(crate) struct Writes {
    list: Vec<u32>,
    /// Per variable where its writers start.
    starts: Vec<u32>,
    writers: Vec<Writer>,
}

/// A thread that writes a variable.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) thread: u32,
    /// Where its writes are in the list.
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Writes {
    pub(crate) fn new(ops: &History) -> Writes {
        let is_write = |op: &u32| ops.writes(*op);
        let mut next = vec![0; ops.vars() + 1];
        for op in (0..ops.len() as u32).filter(is_write) {
            next[ops.var(op) as usize + 1] += 1;
        }
        for var in 1..next.len() {
            next[var] += next[var - 1];
        }
        let mut list = vec![0; next.last().copied().unwrap_or(0) as usize];
        let bounds = next.clone();
        for op in (0..ops.len() as u32).filter(is_write) {
            let at = &mut next[ops.var(op) as usize];
            list[*at as usize] = op;
            *at += 1;
        }
        let mut writes = Writes { list, starts: vec![0], writers: Vec::new() };
        for bounds in bounds.windows(2) {
            let mut at = bounds[0];
            while at < bounds[1] {
                let thread = ops.thread_of(writes.list[at as usize]);
                let own = &writes.list[at as usize..bounds[1] as usize];
                let end = at + own.partition_point(|&w| w < ops.of_thread(thread).end) as u32;
                writes.writers.push(Writer { thread: thread as u32, start: at, end });
                at = end;
            }
            writes.starts.push(writes.writers.len() as u32);
        }
        writes
    }

    /// The numbers of the writers of a variable.
    pub(crate) fn numbers(&self, var: u32) -> std::ops::Range<usize> {
        let var = var as usize;
        self.starts[var] as usize..self.starts[var + 1] as usize
    }

    /// All writers, by their numbers.
    pub(crate) fn all(&self) -> &[Writer] {
        &self.writers
    }

    /// The writers of a variable.
    pub(crate) fn writers(&self, var: u32) -> &[Writer] {
        &self.writers[self.numbers(var)]
    }

    /// The writes of a writer.
    pub(crate) fn of(&self, writer: &Writer) -> &[u32] {
        &self.list[writer.start as usize..writer.end as usize]
    }

    /// All writes to a variable.
    pub(crate) fn to(&self, var: u32) -> &[u32] {
        let writers = self.writers(var);
        match (writers.first(), writers.last()) {
            (Some(first), Some(last)) => &self.list[first.start as usize..last.end as usize],
            _ => &[],
        }
    }

    /// The last one of these writes before an operation.
    pub(crate) fn last(&self, writer: &Writer, before: u32) -> Option<u32> {
        let writes = self.of(writer);
        writes[..writes.partition_point(|&w| w < before)].last().copied()
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * (self.list.len() + self.starts.len() + 3 * self.writers.len()) as u64
    }
}
