//! States packed into few bytes and kept once each.
//!
//! A state is a row of small numbers (which local state each thread is in, which value each
//! location holds, what else a search carries along). It is kept as a [key](Form), mostly the numbers of
//! its two halves, and the threads that are asleep, found again by its hash ([`Keys`]), with a link to the state
//! that it was found from ([`Links`]): some 10 bytes in all. States are
//! numbered in the order of their arrival: those behind a cursor are the queue of a breadth-first search.

use crate::keep::{In, NotKept, Out};

use super::entries::KeyBits;
use super::form::{Form, MOST_WORDS};
use super::keys::Keys;
use super::links::Links;

/// What a state carries besides its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// The state that it was found from; numbers are of all shards.
    pub(crate) parent: u32,
    /// The threads that need not move from here.
    pub(crate) asleep: u32,
}

/// What came of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    New(u32),
    /// Known, and these threads are no longer asleep there.
    Woken(u32, u32),
    Known,
}

/// A set of packed states.
#[derive(Debug)]
pub(crate) struct Store {
    form: Form,
    keys: Keys,
    links: Links,
    /// With so many states it is looked at again which form is the best.
    look_again: u32,
    /// The keys of the rows of a batch.
    batch: Vec<u64>,
}

/// With so many states it is looked at which form is the best. Before, memory does not matter.
const LOOKS: [u32; 2] = [1 << 16, 1 << 20];
/// How far ahead is looked for what will be needed.
const AHEAD: usize = 16;

impl Store {
    /// One of so many workers, whose names its states have.
    pub(crate) fn new(workers: u32) -> Store {
        Store {
            form: Form::new(),
            keys: Keys::new(KeyBits::Whole(0), 0),
            links: Links::new(workers),
            look_again: LOOKS[0],
            batch: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.keys.len()
    }

    /// The bytes in use after the next growth of the table, if that is due within `more` states.
    pub(crate) fn bytes_after(&self, more: usize) -> usize {
        self.form.bytes() + self.links.bytes() + self.keys.bytes_after(more)
    }

    pub(crate) fn row(&self, id: u32, row: &mut Vec<u32>) {
        let mut key = [0; MOST_WORDS];
        let key = &mut key[..self.keys.entries.words()];
        self.keys.entries.load(id, key);
        self.form.unpack(key, row);
    }

    /// The threads that are asleep in a state.
    pub(crate) fn asleep(&self, id: u32) -> u32 {
        self.keys.entries.asleep(id)
    }

    /// The state that a state was found from.
    pub(crate) fn parent(&self, id: u32) -> u32 {
        self.links.parent(id)
    }

    /// The same for states from `id` on, one after the other.
    pub(crate) fn parents(&self, id: u32) -> impl Iterator<Item = u32> {
        self.links.from(id)
    }

    /// Inserts the rows of a batch, `width` numbers each, one after another; `each` hears what
    /// came of each. All rows are packed before the table is probed, so that the probes' cache
    /// misses overlap.
    pub(crate) fn insert_batch(
        &mut self,
        width: usize,
        rows: &[u32],
        notes: &[Note],
        each: &mut dyn FnMut(usize, Inserted),
    ) {
        if rows.is_empty() {
            return;
        }
        while !self.pack_batch(width, rows) {}
        let asleep = notes.iter().fold(0, |all, note| all | note.asleep);
        let bits = self.form.bits();
        if !self.keys.entries.fits(bits, asleep) {
            let entries = std::mem::take(&mut self.keys.entries);
            self.keys.entries = entries.changed(bits, asleep, |old, new| new.copy_from_slice(old));
        }
        let batch = std::mem::take(&mut self.batch);
        let words = self.keys.entries.words();
        for (i, &note) in notes.iter().enumerate() {
            if let Some(later) = batch.get((i + AHEAD) * words..(i + AHEAD + 1) * words) {
                self.keys.prefetch(later);
            }
            each(i, self.insert(&batch[i * words..(i + 1) * words], note));
        }
        self.batch = batch;
        if self.len() >= self.look_again {
            self.look_again = next_look(self.len());
            if let Some(form) = self.form.better(&self.keys.entries) {
                self.take_form(form);
            }
        }
    }

    /// Packs a batch; false if keys had to change on the way.
    fn pack_batch(&mut self, width: usize, rows: &[u32]) -> bool {
        let words = self.keys.entries.words();
        self.batch.clear();
        self.batch.resize(rows.len() / width * words, 0);
        for (row, key) in rows.chunks_exact(width).zip(self.batch.chunks_exact_mut(words)) {
            if !self.form.pack(row, key) {
                if let Some(form) = self.form.widen(row) {
                    self.take_form(form);
                }
                return false;
            }
        }
        true
    }

    /// Keeps all states in another form, which has room for them.
    fn take_form(&mut self, mut form: Form) {
        let entries = std::mem::take(&mut self.keys.entries);
        let mut row = Vec::new();
        // How many halves there are is known once all have been met.
        let (mut old, mut new) = ([0; MOST_WORDS], [0; MOST_WORDS]);
        let unmet = if form.is_new() { entries.len() } else { 0 };
        for id in 0..unmet {
            let key = &mut old[..entries.words()];
            entries.load(id, key);
            self.form.unpack(key, &mut row);
            form.pack(&row, &mut new);
        }
        self.keys.entries = entries.changed(form.bits(), 0, |key, new| {
            self.form.unpack(key, &mut row);
            form.pack(&row, new);
        });
        self.form = form;
        self.keys.find_anew();
    }

    fn insert(&mut self, key: &[u64], note: Note) -> Inserted {
        match self.keys.find(key) {
            Ok(id) => {
                let asleep = self.asleep(id);
                let woken = asleep & !note.asleep;
                if woken == 0 {
                    return Inserted::Known;
                }
                self.keys.entries.set_asleep(id, asleep & note.asleep);
                Inserted::Woken(id, woken)
            }
            Err(missing) => {
                self.links.push(note.parent);
                Inserted::New(self.keys.add(key, note.asleep, &missing))
            }
        }
    }

    /// Writes all of it as it is in memory.
    pub(crate) fn save(&self, out: &mut Out<'_>) {
        self.form.save(out);
        self.keys.save(out);
        self.links.save(out);
    }

    /// Reads this, with names of so many workers.
    pub(crate) fn load(from: &mut In<'_>, workers: u32) -> Result<Store, NotKept> {
        let form = Form::load(from)?;
        let (keys, links) = (Keys::load(from)?, Links::load(from, workers)?);
        let look_again = next_look(keys.len());
        Ok(Store { form, keys, links, look_again, batch: Vec::new() })
    }
}

/// With how many states it is looked at again which form is the best.
fn next_look(len: u32) -> u32 {
    LOOKS.into_iter().find(|&look| look > len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use weakspot_core::testing::Rng;

    use super::*;

    /// Rows whose fields, and whose number of fields, grow while they are inserted; and what is read of
    /// what was written. Some have many halves, some few.
    fn check(seed: u64, rounds: u32, dense: bool) {
        let mut rng = Rng::new(seed);
        let mut store = Store::new(3);
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut notes_of: Vec<Note> = Vec::new();
        for round in 0..rounds {
            let width = 3 + round as usize / 100 * 20;
            let most = 2 + (round * round) as usize;
            // Two parts, each of which is one of few.
            let part = |which: usize, fields: usize| {
                let field = move |f: usize| which.wrapping_mul(f + 3) as u32 >> 3 & 15;
                (0..fields).map(field).chain([which as u32])
            };
            let of_parts = |[a, b]: [usize; 2]| {
                part(a, 12).chain(part(b, 12 + round as usize / 400)).collect()
            };
            let rows: Vec<Vec<u32>> = (0..100)
                .map(|_| match dense {
                    true => of_parts([rng.below(400), rng.below(400)]),
                    false => {
                        let most = |f| if f < 3 { most } else { 2 };
                        (0..width).map(|f| rng.below(most(f)) as u32).collect()
                    }
                })
                .collect();
            let width = rows[0].len();
            let mut note =
                |_| Note { parent: rng.below(1 << 20) as u32, asleep: rng.below(9) as u32 };
            let notes: Vec<Note> = (0..rows.len()).map(&mut note).collect();
            store.insert_batch(width, &rows.concat(), &notes, &mut |i, inserted| {
                // Fields that a row does not have count as 0.
                let mut row = rows[i].clone();
                while row.last() == Some(&0) {
                    row.pop();
                }
                match inserted {
                    Inserted::New(id) => {
                        assert_eq!(known.insert(row, id), None);
                        assert_eq!(id as usize, notes_of.len());
                        notes_of.push(notes[i]);
                    }
                    _ => {
                        let note = &mut notes_of[known[&row] as usize];
                        let woken = note.asleep & !notes[i].asleep;
                        note.asleep &= notes[i].asleep;
                        let as_it_was = match woken {
                            0 => Inserted::Known,
                            _ => Inserted::Woken(known[&row], woken),
                        };
                        assert_eq!(inserted, as_it_was);
                    }
                }
            });
        }
        assert!(store.len() > LOOKS[0], "{}", store.len());
        assert_eq!(store.form.is_whole(), !dense);
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes);
        store.save(&mut out);
        out.end().expect("memory takes all");
        let from = &mut &bytes[..];
        let again = Store::load(&mut In::new(from), 3);
        for store in [store, again.expect("it is whole")] {
            assert_eq!(store.len() as usize, known.len());
            let mut row = Vec::new();
            for (expected, &id) in &known {
                store.row(id, &mut row);
                assert_eq!(row[..expected.len()], *expected);
                assert!(row[expected.len()..].iter().all(|&f| f == 0));
                assert_eq!(store.asleep(id), notes_of[id as usize].asleep);
            }
            for (parent, note) in store.parents(0).zip(&notes_of) {
                assert_eq!(parent, note.parent);
            }
        }
    }

    #[test]
    fn a_store_is_a_set() {
        check(7, 700, false);
        check(8, 1_000, true);
    }
}
