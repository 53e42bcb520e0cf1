//! Rows to another process and back.

use weakspot_core::testing::{Rng, Size, random_program};

use super::*;
use crate::sc::moves::initial_rows;

/// Rows of two threads and two locations, with a field for a location.
struct Rows;

impl Framed for Rows {
    fn frame(&self) -> (Frame, Fields) {
        let fields =
            Fields { fields: 1, threads: &[], masks: &[], locs: &[0], per_loc: 1, values: &[0] };
        (Frame::new(2, &fields), fields)
    }
}

/// Rows that go to a process with other tables and back are the same, and so are their hashes on
/// the way. What is cut or changed is refused or read as something else, without a panic.
#[test]
fn there_and_back() {
    let size = Size { threads: 2, instrs: 4, total: 8, locs: 2, loops: false };
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, size);
        if program.threads.len() != 2 || program.locs.len() != 2 {
            continue;
        }
        let mut tables = [Threads::new(&program, false), Threads::new(&program, false)];
        let mut few = weakspot_core::Silent;
        let limits = weakspot_core::Limits::UNLIMITED;
        let mut meter = crate::meter::Meter::new(limits, &mut few);
        let started = initial_rows(&program, &mut tables[0], 2, 2, &mut meter, &mut |_, r| Ok(r));
        let Ok(Ok(initial)) = started else { continue };
        // The other process has met values in another order.
        for (i, table) in tables.iter_mut().enumerate() {
            for value in [[5, 6, 7], [7, 5, 6]][i] {
                table.locs.number(0, value);
                table.locs.number(1, -value);
            }
        }
        let [here, there] = &mut tables;
        let mut rows = Vec::new();
        for (row, ..) in initial.each() {
            for _ in 0..4 {
                let mut row = row.to_vec();
                // The lock, a location plus one, and per location two values.
                row[2] = rng.below(3) as u32;
                row[3] = rng.below(3) as u32;
                (4..8).for_each(|at| row[at] = rng.below(4) as u32);
                rows.push(row);
            }
        }
        let mut away = Packet::new(&Rows, true);
        let mut back = Packet::new(&Rows, true);
        let (mut reader, mut reader_back) = (Reader::new(&Rows, true), Reader::new(&Rows, true));
        let (mut hashes, mut hashes_there) = (Hashes::new(&Rows), Hashes::new(&Rows));
        for (i, row) in rows.iter().enumerate() {
            away.push(here, row, i as u32, 3);
        }
        let message = away.take().expect("rows");
        let rest = reader.learn(there, &message).expect("definitions");
        let mut arrived = Successors::default();
        reader.rows(rest, &mut arrived).expect("rows");
        for ((row, parent, asleep), sent) in arrived.each().zip(&rows) {
            assert_eq!(hashes_there.of(there, row), hashes.of(here, sent));
            back.push(there, row, parent, asleep);
        }
        let answer = back.take().expect("rows");
        let rest = reader_back.learn(here, &answer).expect("definitions");
        let mut returned = Successors::default();
        reader_back.rows(rest, &mut returned).expect("rows");
        assert_eq!(returned.len(), rows.len());
        for (i, ((row, parent, asleep), sent)) in returned.each().zip(&rows).enumerate() {
            assert_eq!((row, parent, asleep), (&sent[..], i as u32, 3));
        }
        for _ in 0..20 {
            let mut garbled = message.clone();
            let at = rng.below(garbled.len());
            match rng.one_in(2) {
                true => garbled.truncate(at),
                false => garbled[at] ^= 1 << rng.below(7),
            }
            let mut reader = Reader::new(&Rows, true);
            if let Ok(rest) = reader.learn(there, &garbled) {
                let _ = reader.rows(rest, &mut Successors::default());
            }
        }
    }
}
