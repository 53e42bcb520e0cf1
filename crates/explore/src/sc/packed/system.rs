//! What is searched: rows of numbers and how to get from one to the next.

use weakspot_core::machine::Failure;

use super::store::Note;

/// What is searched: rows of numbers and how to get from one to the next.
pub(crate) trait System: Sync {
    /// What is learnt about the program on the way, shared by all workers of a process.
    type Tables: Clone + Send + Sync;
    /// Something that the tables do not hold yet.
    type Missing;

    /// How many numbers a row has now. It may grow; new ones are 0 in old rows.
    fn width(&self, tables: &Self::Tables) -> usize;

    /// Adds all successors of `row` by the threads that are awake.
    fn expand(
        &self,
        tables: &Self::Tables,
        row: &[u32],
        sleep: Sleep,
        out: &mut Successors,
    ) -> Expanded<Self::Missing>;

    /// Adds what is missing to the tables.
    fn resolve(&self, tables: &mut Self::Tables, missing: Self::Missing) -> Result<(), Failure>;

    /// The bytes that the tables take.
    fn bytes(&self, tables: &Self::Tables) -> usize;

    /// Whether a row, which leads nowhere, is itself something to be found. The search goes on, and
    /// gives all of these back in the end.
    fn keeps(&self, _: &[u32]) -> bool {
        false
    }

    /// Whether there may be such rows at all.
    fn keeps_some(&self) -> bool {
        false
    }
}

/// Sleep sets, as masks of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep {
    /// The threads whose moves are to be taken.
    pub(crate) awake: u32,
    /// The threads whose moves from here lead to nothing new.
    pub(crate) asleep: u32,
}

/// What came of an expansion.
pub(crate) enum Expanded<M> {
    /// All successors were added.
    Done,
    /// What is looked for is here, or one step from here.
    Goal,
    /// The tables lack something; some successors may have been added.
    Missing(M),
}

/// Rows on their way into the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Successors {
    pub(super) width: usize,
    pub(super) rows: Vec<u32>,
    pub(super) notes: Vec<Note>,
    pub(super) parent: u32,
}

impl Successors {
    /// Adds a row. It may be shorter than others: what it lacks is 0.
    pub(crate) fn push(&mut self, row: &[u32], asleep: u32) {
        if row.len() > self.width {
            self.widen(row.len());
        }
        self.rows.extend_from_slice(row);
        self.rows.resize(self.rows.len() + self.width - row.len(), 0);
        self.notes.push(Note { parent: self.parent, asleep });
    }

    /// Adds a row that was found from another state than the one before.
    pub(crate) fn push_of(&mut self, parent: u32, row: &[u32], asleep: u32) {
        self.parent = parent;
        self.push(row, asleep);
    }

    pub(crate) fn len(&self) -> usize {
        self.notes.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * self.rows.capacity() + size_of::<Note>() * self.notes.capacity()
    }

    /// Each row with its parent and the threads that are asleep.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&[u32], u32, u32)> {
        let rows = self.rows.chunks_exact(self.width.max(1));
        rows.zip(&self.notes).map(|(row, note)| (row, note.parent, note.asleep))
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.rows.truncate(len * self.width);
        self.notes.truncate(len);
    }

    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }

    fn widen(&mut self, width: usize) {
        if self.width > 0 {
            let old = std::mem::take(&mut self.rows);
            for row in old.chunks_exact(self.width) {
                self.rows.extend_from_slice(row);
                self.rows.resize(self.rows.len() + width - self.width, 0);
            }
        }
        self.width = width;
    }
}
