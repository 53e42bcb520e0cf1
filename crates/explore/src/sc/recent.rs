//! What a worker has sent a short while ago, so as not to send it again.

/// Rows that were sent a short while ago. A row that is sent again with no fewer threads asleep changes
/// nothing for its owner, and neighbours in a search have many successors in common.
pub(crate) struct Recent {
    width: usize,
    rows: Vec<u32>,
    /// Per row the threads that were asleep, if there is one.
    asleep: Vec<Option<u32>>,
}

impl Recent {
    const ROWS: usize = 1 << 14;

    pub(crate) fn new() -> Recent {
        Recent { width: 0, rows: Vec::new(), asleep: vec![None; Self::ROWS] }
    }

    /// Whether to send a row with this hash; if so, it was sent.
    pub(crate) fn sends(&mut self, hash: u64, row: &[u32], asleep: u32) -> bool {
        if row.len() != self.width {
            self.width = row.len();
            self.rows.clear();
            self.rows.resize(Self::ROWS * self.width, 0);
            self.asleep.fill(None);
        }
        // Not the bits that say whose the row is.
        let at = hash as usize % Self::ROWS;
        let known = &mut self.rows[at * self.width..(at + 1) * self.width];
        match &mut self.asleep[at] {
            Some(before) if known == row => {
                let sends = *before & !asleep != 0;
                *before &= asleep;
                sends
            }
            before => {
                known.copy_from_slice(row);
                *before = Some(asleep);
                true
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.capacity() * 4 + self.asleep.capacity() * 8
    }
}
