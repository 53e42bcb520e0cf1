//! Where things lie in a row of the product: the local state of each thread, who holds the lock, the
//! fields of the watch, and per location its value and further fields of the watch.

/// The fields of a watch, and what kinds of numbers they hold: symmetry has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// How many fields there are beside those of the product.
    pub(crate) fields: usize,
    /// Those that hold a thread, plus one.
    pub(crate) threads: &'static [usize],
    /// Those that together hold a set of threads, as bits: each the next 32 threads.
    pub(crate) masks: &'static [usize],
    /// Those that hold a location, plus one.
    pub(crate) locs: &'static [usize],
    /// How many fields there are per location beside its value.
    pub(crate) per_loc: usize,
    /// Those of them that hold the number of a value.
    pub(crate) values: &'static [usize],
}

/// Where things lie in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) n: usize,
    fields: usize,
    per_loc: usize,
}

/// A row with its frame.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) frame: Frame,
    pub(crate) row: &'a [u32],
}

impl Frame {
    pub(crate) fn new(n: usize, fields: &Fields) -> Frame {
        Frame { n, fields: fields.fields, per_loc: 1 + fields.per_loc }
    }

    /// The field that says who holds the lock, plus one.
    pub(crate) fn owner(self) -> usize {
        self.n
    }

    /// Field `i` of the watch.
    pub(crate) fn field(self, i: usize) -> usize {
        self.n + 1 + i
    }

    /// The number of the value at `loc`.
    pub(crate) fn value(self, loc: u32) -> usize {
        self.n + 1 + self.fields + self.per_loc * loc as usize
    }

    /// Field `i` of the watch for `loc`.
    pub(crate) fn of_loc(self, loc: u32, i: usize) -> usize {
        self.value(loc) + 1 + i
    }

    /// The locations of `row`.
    pub(crate) fn locs(self, row: &[u32]) -> std::ops::Range<u32> {
        0..(row.len().saturating_sub(self.value(0)) / self.per_loc) as u32
    }
}

impl Row<'_> {
    pub(crate) fn field(&self, i: usize) -> u32 {
        self.row[self.frame.field(i)]
    }

    pub(crate) fn of_loc(&self, loc: u32, i: usize) -> u32 {
        self.row[self.frame.of_loc(loc, i)]
    }

    pub(crate) fn inside_block(&self) -> bool {
        self.row[self.frame.owner()] != 0
    }
}
