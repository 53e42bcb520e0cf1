//! Variables by activity: a binary heap that knows where each variable is.

/// The variables that may be decided next, the most active first.
pub(crate) struct Heap {
    activity: Vec<f64>,
    heap: Vec<u32>,
    /// Per variable its place in the heap.
    place: Vec<u32>,
    /// What a conflict adds to the activity of its variables.
    bump: f64,
}

const ABSENT: u32 = u32::MAX;

impl Heap {
    pub(crate) fn new() -> Heap {
        Heap { activity: Vec::new(), heap: Vec::new(), place: Vec::new(), bump: 1.0 }
    }

    /// Adds a new variable.
    pub(crate) fn grow(&mut self) {
        let var = self.place.len() as u32;
        self.activity.push(0.0);
        self.place.push(ABSENT);
        self.insert(var);
    }

    /// Puts a variable back.
    pub(crate) fn insert(&mut self, var: u32) {
        if self.place[var as usize] == ABSENT {
            self.place[var as usize] = self.heap.len() as u32;
            self.heap.push(var);
            self.up(self.heap.len() - 1);
        }
    }

    /// Takes the most active variable.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let top = *self.heap.first()?;
        let last = self.heap.pop()?;
        self.place[top as usize] = ABSENT;
        if top != last {
            self.heap[0] = last;
            self.place[last as usize] = 0;
            self.down(0);
        }
        Some(top)
    }

    /// A conflict involved this variable.
    pub(crate) fn bump(&mut self, var: usize) {
        self.activity[var] += self.bump;
        if self.activity[var] > 1e100 {
            self.activity.iter_mut().for_each(|activity| *activity *= 1e-100);
            self.bump *= 1e-100;
        }
        if self.place[var] != ABSENT {
            self.up(self.place[var] as usize);
        }
    }

    /// A conflict is over: the next one counts for more.
    pub(crate) fn decay(&mut self) {
        self.bump /= 0.95;
    }

    fn is_above(&self, a: u32, b: u32) -> bool {
        let (x, y) = (self.activity[a as usize], self.activity[b as usize]);
        x > y || x == y && a < b
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 && self.is_above(self.heap[at], self.heap[(at - 1) / 2]) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let mut best = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_above(self.heap[child], self.heap[best]) {
                    best = child;
                }
            }
            if best == at {
                return;
            }
            self.swap(at, best);
            at = best;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a] as usize] = a as u32;
        self.place[self.heap[b] as usize] = b as u32;
    }
}
