//! How fast executions are followed: events per second, without commits and with them, from memory.
//! `cargo bench -p weakspot-serial`; the fastest of the samples is the steadiest figure. `weakspot
//! bench serial` has more shapes, and measures processor time.

use divan::Bencher;
use divan::counter::ItemsCount;
use weakspot_core::serial::{BufferedReads, Question};
use weakspot_core::testing::{TxnLog, TxnLogSize};
use weakspot_core::{LogLoc, LogTables};
use weakspot_serial::Follow;

fn main() {
    divan::main();
}

const SC: Question = Question::ScSerializable;
const TSO: Question = Question::TsoSerializable(BufferedReads::Exact);

fn bench(bencher: Bencher<'_, '_>, commits: bool, brackets: bool, questions: &[Question]) {
    let size = TxnLogSize { threads: 8, vars: 1_000, length: 10, shared: 100, commits, brackets };
    let log = TxnLog::new(1, size).take_all(1_000_000);
    let locs = vec![LogLoc { name: String::new(), bytes: None }; 1_008];
    let tables = LogTables { locs, ..LogTables::default() };
    bencher.counter(ItemsCount::new(log.len())).bench(|| {
        let mut follow = Follow::new(questions, commits, &tables, false);
        follow.events(divan::black_box(&log)).expect("it makes sense");
        assert_eq!(follow.found(), 0);
        follow.count()
    });
}

#[divan::bench(sample_count = 10)]
fn brackets(bencher: Bencher<'_, '_>) {
    bench(bencher, false, true, &[SC]);
}

#[divan::bench(sample_count = 10)]
fn numbers(bencher: Bencher<'_, '_>) {
    bench(bencher, false, false, &[SC]);
}

#[divan::bench(args = ["sc", "tso", "both"], sample_count = 10)]
fn commits(bencher: Bencher<'_, '_>, of: &str) {
    let questions = match of {
        "sc" => &[SC][..],
        "tso" => &[TSO],
        _ => &[SC, TSO],
    };
    bench(bencher, true, true, questions);
}
