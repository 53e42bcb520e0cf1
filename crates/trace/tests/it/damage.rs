use weakspot_core::LogBatch;
use weakspot_core::testing::{LogSize, Rng, random_log, scaled};
use weakspot_trace::{LogFormat, LogPlace};

use crate::{Got, Item, Log, read, with_values};

/// A small log with every kind of block, and where its blocks end.
fn small(seed: u64) -> (Vec<Item>, Vec<u8>, Vec<usize>) {
    let mut rng = Rng::new(seed);
    let size = LogSize { threads: 3, locs: 4, sites: 3, events: 9, bytes: true, txns: true };
    let mut log = Log { traces: Vec::new() };
    for id in [None, Some("second".to_owned())] {
        let (tables, events) = random_log(&mut rng, size);
        let plain = LogBatch { events: events.clone(), values: Vec::new() };
        log.traces.push((Some(id), tables.clone(), plain));
        let valued = with_values(&mut rng, events);
        log.traces.push((None, tables, valued));
    }
    let bytes = log.write(LogFormat::Wslog).expect("it can be said");
    let mut ends = vec![0];
    while let Some(header) = bytes.get(ends[ends.len() - 1]..).filter(|b| !b.is_empty()) {
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        ends.push(ends[ends.len() - 1] + 32 + length);
    }
    assert_eq!(ends.last(), Some(&bytes.len()));
    (log.items(), bytes, ends)
}

/// Cut at every byte: what is read is what the blocks before the cut say, and the rest is said
/// to be lost.
#[test]
fn cut_anywhere() {
    for seed in 0..8 {
        let (items, bytes, ends) = small(seed);
        for cut in 0..bytes.len() {
            let got = read(&bytes[..cut], LogFormat::Wslog);
            let good = ends.iter().copied().rfind(|&e| e <= cut).expect("0 is one");
            assert_eq!(got.error, None, "cut at {cut}");
            assert_eq!(got.items, read(&bytes[..good], LogFormat::Wslog).items, "cut at {cut}");
            assert!(items.starts_with(&got.items), "cut at {cut}");
            let torn = got.torn.map(|t| (t.offset as usize, t.lost as usize));
            assert_eq!(torn, (good < cut).then_some((good, cut - good)), "cut at {cut}");
        }
    }
}

/// One bit flipped anywhere: an error in the block that it is in, or a torn tail if that is the
/// last block; always the events before that block, never others.
#[test]
fn flip_anywhere() {
    for seed in 0..3 {
        let (items, bytes, ends) = small(seed);
        let before: Vec<Vec<Item>> =
            ends.iter().map(|&e| read(&bytes[..e], LogFormat::Wslog).items).collect();
        for bit in 0..8 * bytes.len() {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let number = ends.iter().rposition(|&e| e <= bit / 8).expect("0 is one");
            let block = ends[number];
            let is_last = number == ends.len() - 2;
            let Got { items: got, error, torn } = read(&bad, LogFormat::Wslog);
            assert_eq!(got, before[number], "bit {bit}");
            assert!(items.starts_with(&got), "bit {bit}");
            let place = LogPlace::Offset(block as u64);
            match error {
                Some(error) => assert!(!is_last && error.place == place, "bit {bit}: {error}"),
                None => {
                    let torn = torn.unwrap_or_else(|| panic!("bit {bit} is not noticed"));
                    assert!(is_last && torn.offset == block as u64, "bit {bit}: {torn}");
                    assert_eq!(torn.offset + torn.lost, bytes.len() as u64);
                }
            }
        }
    }
}

/// More than one thing wrong: never a panic, and only events of the beginning.
#[test]
fn random_damage() {
    let (items, bytes, _) = small(3);
    for seed in 0..scaled(80_000) as u64 {
        let mut rng = Rng::new(seed);
        let mut bad = bytes.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bad.len());
            match rng.below(4) {
                0 => bad[at] = rng.next_u64() as u8,
                1 => drop(bad.drain(at..(at + 1 + rng.below(40)).min(bad.len() - 1).max(at))),
                2 => {
                    let piece = bytes[rng.below(bytes.len())..].iter().copied().take(40);
                    drop(bad.splice(at..at, piece));
                }
                _ => bad.extend_from_slice(&bytes[at.min(bytes.len())..]),
            }
        }
        let got = read(&bad, LogFormat::Wslog);
        let common = got.items.iter().zip(&items).take_while(|(a, b)| a == b).count();
        assert_eq!(common, got.items.len(), "seed {seed}");
        assert!(
            bad == bytes
                || got.error.is_some()
                || got.torn.is_some()
                || got.items.len() < items.len(),
            "seed {seed}"
        );
    }
}

/// What the checksums do not see, because they were made for it.
#[test]
fn well_made_nonsense() {
    let (_, bytes, ends) = small(0);
    let crc = |bytes: &[u8]| {
        // The plain definition of the checksum, bit by bit.
        let mut crc = u32::MAX;
        for &byte in bytes {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            }
        }
        !crc
    };
    // The first block of this kind, changed.
    let check = |kind: u8, at: usize, to: &[u8], expected: &str| {
        let block = ends.iter().copied().find(|&e| bytes[e + 5] == kind).expect("a block");
        let mut bad = bytes.clone();
        bad[block + at..block + at + to.len()].copy_from_slice(to);
        let length = u32::from_le_bytes([bytes[block + 8], bytes[block + 9], 0, 0]) as usize;
        let payload = crc(&bad[block + 32..block + 32 + length]);
        bad[block + 24..block + 28].copy_from_slice(&payload.to_le_bytes());
        let header = crc(&bad[block..block + 28]);
        bad[block + 28..block + 32].copy_from_slice(&header.to_le_bytes());
        let got = read(&bad, LogFormat::Wslog);
        let error = got.error.unwrap_or_else(|| panic!("no error: {expected}"));
        let LogPlace::Offset(offset) = error.place else { panic!("no offset: {error}") };
        let got = format!("{}: {}", offset as usize - block, error.message);
        assert_eq!(got, expected);
    };
    check(1, 4, &[2], "0: version 2 of the format; this program reads version 1");
    check(1, 5, &[7], "0: a block of the unknown kind 7");
    check(1, 6, &[1], "0: bytes 6 and 7 of the block are not 0");
    check(1, 16, &[5], "0: block 5 where block 0 has to be");
    check(1, 12, &[2], "0: 2 entries in a block of 0 bytes");
    check(5, 12, &[1], "0: 1 entries in a block of 192 bytes");
    check(5, 10, &[0xff], "0: a block of 16711872 bytes, of at most 1048576");
    check(2, 32, &[200], "36: an entry that ends behind its block");
    check(2, 36, &[0xff], "36: a name that is not UTF-8 text");
    check(2, 36, b"t1", "38: there are two threads `t1`");
    check(2, 12, &[2], "44: bytes behind the last entry of a block");
    check(4, 36, b"main.c:11", "45: there are two source positions `main.c:11`");
    check(5, 32, &[3], "32: thread 3, of 3");
    check(5, 34, &[12], "32: an event of the unknown kind 12");
    check(5, 34, &[0x11], "32: an event of the unknown kind 17");
    check(5, 35, &[1], "32: values (flags 1) in a block without values");
    check(5, 34, &[0, 0, 4, 0, 0, 0], "32: location 4, of 4");
    check(5, 34, &[5, 0, 1, 0, 0, 0], "32: `fence` has no location, and this one has 1");
    check(5, 34, &[7, 0, 3, 0, 0, 0], "32: thread 3, of 3");
    check(5, 34 + 16 * 8, &[0, 0, 0, 0, 0, 0, 4, 0, 0, 0], "160: source position 3, of 3");
    check(6, 35, &[2], "32: flags 2 that do not fit the values");
    check(6, 34, &[5, 1, 0, 0, 0, 0], "32: `fence` with a value");
}

#[test]
fn not_a_log() {
    let got = read(b"t0: wr x\n", LogFormat::Wslog);
    let error = got.error.expect("an error");
    let message = "no .wslog file: it does not begin with the bytes 89 57 53 4c";
    assert_eq!(error.of("x.wslog"), format!("x.wslog: offset 0: {message}"));
    assert_eq!(read(b"", LogFormat::Wslog), Got { items: vec![], error: None, torn: None });
}
