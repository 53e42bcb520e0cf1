use std::fs::File;
use std::io::Write;

use weakspot_core::testing::{LogSize, Rng, random_log};
use weakspot_core::{LogBatch, LogTables};
use weakspot_trace::{LogFormat, LogWriter};

use crate::{all_told, read, with_values};

/// A log that is written in pieces, torn after each, is the same as one written at once.
#[test]
fn writing_on_behind_a_torn_tail() {
    let path = std::env::temp_dir().join(format!("weakspot-resume-{}.wslog", std::process::id()));
    let open = || {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).open(&path).expect("a file")
    };
    for seed in 0..50 {
        let _ = std::fs::remove_file(&path);
        let mut rng = Rng::new(seed);
        let size = LogSize { threads: 4, locs: 9, sites: 4, events: 60, bytes: true, txns: true };
        let (tables, events) = random_log(&mut rng, size);
        let batch = with_values(&mut rng, events);
        let mut expected = Vec::new();
        for i in 0..4 {
            let resumed = LogWriter::resume(open()).expect("the file is good");
            let mut writer = resumed.writer;
            assert_eq!(resumed.torn.is_some(), i > 0, "seed {seed}");
            // What is known grows: names of later pieces come behind those of earlier ones.
            let grown = LogTables {
                threads: tables.threads[..=i].to_vec(),
                locs: tables.locs[..2 * i + 3].to_vec(),
                sites: tables.sites[..=i].to_vec(),
            };
            assert!(resumed.tables.threads.len() <= grown.threads.len());
            let mut piece = LogBatch::default();
            let mut values = batch.values.iter();
            for event in &batch.events {
                let value = if event.valued { values.next() } else { None };
                let operands = match weakspot_core::LogKind::is_access(event.kind) {
                    true => grown.locs.len(),
                    false => grown.threads.len(),
                };
                if usize::from(event.thread) < grown.threads.len()
                    && (event.loc as usize) < operands
                    && event.site as usize <= grown.sites.len()
                {
                    piece.events.push(*event);
                    piece.values.extend(value);
                }
            }
            writer.write(&piece, &grown).expect("it can be said");
            writer.finish().expect("it can be written");
            expected.extend(all_told(&grown, &piece));
            let bytes = std::fs::read(&path).expect("the file is there");
            assert_eq!(read(&bytes, LogFormat::Wslog).items, expected, "seed {seed}");
            // The program dies in the middle of a block.
            let mut file = File::options().append(true).open(&path).expect("the file is there");
            let cut = rng.below(40);
            let torn = &bytes[..(1 + cut).min(bytes.len() - 1)];
            // The beginning of the first block has a number that cannot follow, so only a part of
            // its header is left.
            file.write_all(&torn[..torn.len().min(31)]).expect("it can be written");
        }
    }
    let _ = std::fs::remove_file(&path);
}

#[test]
fn damage_is_not_written_over() {
    let path = std::env::temp_dir().join(format!("weakspot-damage-{}.wslog", std::process::id()));
    let size = LogSize { threads: 2, locs: 2, sites: 0, events: 9, bytes: false, txns: false };
    let (tables, events) = random_log(&mut Rng::new(1), size);
    let mut writer = LogWriter::new(Vec::new(), LogFormat::Wslog);
    let batch = LogBatch { events, values: Vec::new() };
    writer.write(&batch, &tables).expect("it can be said");
    let mut bytes = writer.finish().expect("a vector takes all");
    bytes[40] ^= 1;
    std::fs::write(&path, &bytes).expect("it can be written");
    let file = File::options().read(true).write(true).open(&path).expect("the file is there");
    let error = LogWriter::resume(file).err().expect("an error");
    assert_eq!(error.to_string(), "offset 0: the block is damaged: its checksum is wrong");
    assert_eq!(std::fs::read(&path).expect("the file is there"), bytes);
    let _ = std::fs::remove_file(&path);
}
