//! What a thread did to variables since its last fence: a hash table, because there may be many
//! threads and many variables, and few that have to do with each other.

use super::{NOBODY, Touch};

/// What a thread did to a variable.
#[derive(Clone, Copy)]
pub(super) struct Own {
    var: u32,
    /// How many fences the thread had then, plus one; 0 if the place is free.
    fences: u32,
    /// The last access.
    pub(super) last: Touch,
    /// The last write, by its number in the thread; 0 if there is none.
    pub(super) write: u64,
}

const FREE: Own = Own { var: 0, fences: 0, last: NOBODY, write: 0 };

/// Tables that are smaller grow whenever they are full.
const MANY: usize = 512;

/// Per variable what a thread did to it.
#[derive(Default)]
pub(super) struct Owns {
    /// A power of two, or empty. At least a quarter of it is free.
    places: Vec<Own>,
    used: usize,
    fences: u32,
}

impl Owns {
    /// What the thread did to a variable since its last fence, if it did anything.
    #[inline]
    pub(super) fn get(&self, var: u32) -> Option<&Own> {
        if self.places.is_empty() {
            return None;
        }
        let place = &self.places[self.find(var)];
        (place.fences == self.fences + 1).then_some(place)
    }

    /// The entry of a variable; a new one if the thread did nothing since its last fence.
    #[inline]
    pub(super) fn entry(&mut self, var: u32) -> &mut Own {
        if 4 * (self.used + 1) > 3 * self.places.len() {
            self.grow();
        }
        let at = self.find(var);
        let now = self.fences + 1;
        let place = &mut self.places[at];
        if place.fences != now {
            self.used += usize::from(place.fences == 0);
            *place = Own { var, fences: now, ..FREE };
        }
        place
    }

    /// The place of a variable, or a free one.
    #[inline]
    fn find(&self, var: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut at = var.wrapping_mul(0x9e37_79b1).rotate_left(16) as usize & mask;
        while self.places[at].fences != 0 && self.places[at].var != var {
            at = (at + 1) & mask;
        }
        at
    }

    /// Makes room, without what was before the last fence. A table in which little is recent stays
    /// as large as it is, but for small ones, which would have to be cleared too often.
    #[cold]
    fn grow(&mut self) {
        let now = self.fences + 1;
        let recent: Vec<Own> =
            self.places.iter().filter(|place| place.fences == now).copied().collect();
        let length = self.places.len();
        self.used = recent.len();
        self.places.fill(FREE);
        if length < MANY || 4 * recent.len() > length {
            self.places.resize((2 * length).max(8), FREE);
        }
        for place in recent {
            let at = self.find(place.var);
            self.places[at] = place;
        }
    }

    /// The thread has a fence: nothing of before counts.
    pub(super) fn fence(&mut self) {
        match self.fences.checked_add(2) {
            Some(_) => self.fences += 1,
            None => *self = Owns::default(),
        }
    }

    /// The last accesses since the last fence.
    pub(super) fn touches(&self) -> impl Iterator<Item = Touch> {
        let now = self.fences + 1;
        self.places.iter().filter(move |place| place.fences == now).map(|place| place.last)
    }

    pub(super) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<Own>()
    }
}
