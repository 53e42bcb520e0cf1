//! The checker of runs with delayed stores, which is what monitors report.

use weakspot_core::certify::delayed;
use weakspot_core::cycle::{Arc, Link};
use weakspot_core::{
    Bytes, DelayedCommit, DelayedRun, Drain, EventId, LogEvent, LogKind, LogLoc, LogTables, Model,
};

pub(crate) const PSO: Model = Model::Pso(Drain::All);
const OWN: Model = Model::Pso(Drain::Own);

const LOCS: &str = "xyzvwu";

/// `v` has the halves `w` and `u`.
pub(crate) fn tables() -> LogTables {
    let bytes = |name| match name {
        'v' => Some(Bytes { start: u64::MAX - 8, len: 8 }),
        'w' => Some(Bytes { start: u64::MAX - 8, len: 4 }),
        'u' => Some(Bytes { start: u64::MAX - 4, len: 4 }),
        _ => None,
    };
    let loc = |name: char| LogLoc { name: name.to_string(), bytes: bytes(name) };
    LogTables { threads: vec![], locs: LOCS.chars().map(loc).collect(), sites: vec![] }
}

/// `0wx` is a write to `x` by thread 0; `u`pdate, `f`ence, `s`tore-store fence, `>` start, `<`
/// join; `c`ommit is of the run and has no place in the log. The cycle is written `0-po->1`. The
/// store is the cycle's first event, the access the last event of the log.
pub(crate) fn run(text: &str, model: Model, cycle: &str) -> (Vec<LogEvent>, DelayedRun) {
    let mut events = Vec::new();
    let mut commits = Vec::new();
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        let thread = letters[0].to_digit(10).unwrap() as u16;
        let loc = letters
            .get(2)
            .map_or(0, |&c| c.to_digit(10).unwrap_or_else(|| LOCS.find(c).unwrap() as u32));
        let kind = match letters[1] {
            'r' => LogKind::Read,
            'w' => LogKind::Write,
            'u' => LogKind::Update,
            'f' => LogKind::Fence,
            's' => LogKind::StoreFence,
            '>' => LogKind::Spawn,
            '<' => LogKind::Join,
            'C' => LogKind::Commit,
            _ => {
                commits.push(DelayedCommit { before: events.len(), thread, loc });
                continue;
            }
        };
        events.push(LogEvent::new(thread, kind, loc));
    }
    let links = [Link::Po, Link::Rf, Link::Co, Link::Fr, Link::Block, Link::Start, Link::Join];
    let arc = |word: &str| {
        let parts: Vec<&str> = word.split(['-', '>']).filter(|part| !part.is_empty()).collect();
        let event = |text: &str| EventId(text.parse().unwrap());
        let link = links.into_iter().find(|link| link.name() == parts[1]).unwrap();
        Arc { from: event(parts[0]), link, to: event(parts[2]) }
    };
    let cycle: Vec<Arc> = cycle.split_whitespace().map(arc).collect();
    let store = cycle.first().map_or(0, |arc| arc.from.index());
    let access = events.len() - 1;
    (events, DelayedRun { model, store, access, commits, cycle })
}

fn check(text: &str, model: Model, cycle: &str, expected: &str) {
    let (events, run) = run(text, model, cycle);
    let said = delayed(&events, &tables(), &run).map_or_else(|no| no.to_string(), |()| "ok".into());
    assert_eq!(said, expected, "{text}");
}

pub(crate) const SB: &str = "0-po->1 1-fr->2 2-po->3 3-fr->0";
pub(crate) const MP: &str = "0-po->1 1-rf->2 2-po->3 3-fr->0";

#[test]
fn honest_runs() {
    check("0wx 0ry 1wy 1rx", Model::Tso, SB, "ok");
    check("0wx 0ry 1wy 1ry 1rx", Model::Tso, "0-po->1 1-fr->2 2-po->4 4-fr->0", "ok");
    check("0wx 0ry 1wy 1wx", Model::Tso, "0-po->1 1-fr->2 2-po->3 3-co->0", "ok");
    check("0wx 0ry 1wy 1cy 1ux", Model::Tso, SB, "ok");
    check("0wx 0ry 1wy 1cy 1ux", Model::Tso, "0-po->1 1-fr->2 2-po->3 3-co->0", "ok");
    check("0wx 0wy 0cy 1ry 1rx", PSO, MP, "ok");
    check("0wx 0uy 1uy 1rx", OWN, MP, "ok");
    check("2wx 2ry 0wy 0cy 0>1 1rx", PSO, "0-po->1 1-fr->2 2-po->3 3-start->4 4-fr->0", "ok");
    check("2wx 2ry 3wy 3cy 0<3 0rx", PSO, "0-po->1 1-fr->2 2-join->3 3-po->4 4-fr->0", "ok");
    // The access reads one half from its own buffer and the other one from memory, too early.
    check("0ww 0ry 1wy 1wu 1rv", PSO, "0-po->1 1-fr->2 2-po->4 4-fr->0", "ok");
    check("0wv 0ry 1wy 1ru", PSO, SB, "ok");
}

#[test]
fn commits_that_the_model_forbids() {
    let mp = "event 3 of the log: an older store has to reach memory first";
    check("0wx 0wy 0cy 1ry 1rx", Model::Tso, MP, mp);
    check("0wx 0s 0wy 0cy 1ry 1rx", PSO, "0-po->2 2-rf->3 3-po->4 4-fr->0", &mp.replace('3', "4"));
    check(
        "0ww 0wv 0cv 1ru 1rw",
        PSO,
        MP,
        "event 3 of the log: the thread has no pending store there that could be next",
    );
    check(
        "0wu 0wv 0cv 1rw 1ru",
        PSO,
        MP,
        "event 3 of the log: an older store to overlapping bytes is still pending",
    );
    let none = "event 2 of the log: the thread has no pending store there that could be next";
    check("0wx 0cy 0ry 1wy 1rx", Model::Tso, SB, none);
    check("0wx 1cx 0ry 1wy 1rx", Model::Tso, SB, none);
    check("0wx 7cz 0ry 1wy 1rx", PSO, SB, none);
    check("0wx 0cx 0cx 0ry 1wy 1rx", Model::Tso, SB, none);
    check("0cx 0wx 0ry 1wy 1rx", Model::Tso, SB, &none.replace('2', "1"));
}

#[test]
fn waits_that_were_skipped() {
    let update =
        |n| format!("event {n} of the log: an update has to wait for older stores of its thread");
    check("0wx 0ry 1wy 1ux", Model::Tso, SB, &update(4));
    check("0wx 0uy 1uy 1rx", Model::Tso, MP, &update(2));
    check("0wx 0uy 1uy 1rx", PSO, MP, &update(2));
    check("0wx 0s 0uy 1uy 1rx", OWN, "0-po->2 2-rf->3 3-po->4 4-fr->0", &update(3));
    check("0ww 0uv 1rx 1rw", OWN, MP, &update(2));
    let own = "the thread has to wait for its older stores";
    check("0wx 0f 0ry 1wy 1rx", PSO, SB, &format!("event 2 of the log: {own}"));
    check("2wx 2ry 0wy 0>1 1rx", PSO, SB, &format!("event 4 of the log: {own}"));
    let other = "event 5 of the log: a join has to wait for the stores of the other thread";
    check("2wx 2ry 3wy 3rz 0<3 0rx", PSO, SB, other);
}

/// Stores that are late where somebody looks.
#[test]
fn noticed() {
    let late = |n| format!("event {n} of the log: the program would notice that a store is late");
    check("0wx 0wy 1ry 1rx", PSO, MP, &late(3));
    check("0wx 0wy 1uy 1rx", PSO, MP, &late(3));
    check("0ww 0wx 0cx 1rv 1rw", PSO, MP, &late(3));
    // The store to `w` reaches memory before the older one of another thread to all of `v`.
    check("0wv 1ww 1cw 0cv 1rw 1ru", PSO, MP, &late(3));
    // An access that comes too early in the run is just a later one that looks.
    check("0wx 0ry 1wy 1rx 1rx", Model::Tso, "0-po->1 1-fr->2 2-po->4 4-fr->0", &late(4));
}

#[test]
fn wrong_cycles() {
    let text = "0wx 0ry 1wy 1rx";
    let check = |cycle: &str, expected: &str| check(text, Model::Tso, cycle, expected);
    let arc = |n| format!("event {n} of the log: an arc of the cycle does not hold");
    let meet = |n| format!("event {n} of the log: the arcs of the cycle do not meet");
    check("", "event 4 of the log: the cycle misses the store or the access");
    check("0-po->1 1-fr->2 2-po->3", &meet(1));
    check("0-po->1 2-po->3 3-fr->0", &meet(3));
    check("0-po->1 1-rf->2 2-po->3 3-fr->0", &arc(2));
    check("0-po->1 1-co->2 2-po->3 3-fr->0", &arc(2));
    check("0-po->1 1-fr->2 2-po->3 3-co->0", &arc(4));
    check("0-po->3 3-fr->0", &arc(1));
    check("0-atomic->3 3-fr->0", &arc(1));
    check("0-start->3 3-fr->0", &arc(1));
    check("0-join->3 3-fr->0", &arc(1));
    check("0-rf->3 3-fr->0", &arc(1));
    check("0-po->1 1-fr->2 2-po->1 1-po->0", &arc(3));
    check("0-co->0", &arc(1));
    check("0-po->9 9-po->0", &arc(1));
    // A cycle that is not about the store and the access.
    let (events, mut run) = run("0wx 0ry 1wy 1rx 2rz 2rx", Model::Tso, SB);
    assert_eq!(run.access, 5);
    assert!(delayed(&events, &tables(), &run).is_err());
    run.access = 3;
    assert_eq!(delayed(&events, &tables(), &run), Ok(()));
    run.store = 2;
    assert!(delayed(&events, &tables(), &run).is_err());
}

/// Cycles that are right but for one arc, and that is wrong in one thing only.
#[test]
fn almost_cycles() {
    let arc = |n| format!("event {n} of the log: an arc of the cycle does not hold");
    let tso = |text, cycle, expected: &str| check(text, Model::Tso, cycle, expected);
    let sb = "0wx 0ry 1wy 1rx";
    // Program order is forward.
    tso(sb, "0-po->1 1-po->0 0-po->1 1-fr->2 2-po->3 3-fr->0", &arc(2));
    tso(sb, "0-po->0 0-po->1 1-fr->2 2-po->3 3-fr->0", &arc(1));
    // What is read and written is the same place, and an update does not come before itself.
    tso("0wx 0ry 1wz 1rx", SB, &arc(2));
    tso("0wx 0ry 1wy 1wx", "0-po->1 1-fr->2 2-co->3 3-co->0", &arc(3));
    tso("0wx 0ry 1wy 1cy 1ux", "0-po->1 1-fr->2 2-po->3 3-fr->3 3-fr->0", &arc(4));
    // A start is from the start of this thread to what it does later.
    let start = "0-po->1 1-fr->2 2-po->3 3-start->4 4-fr->0";
    tso("2wx 2ry 0wy 0cy 0>1 1rx", start, "ok");
    tso("2wx 2ry 0wy 0cy 0>1 1rx", "0-po->1 1-fr->2 2-start->4 4-fr->0", &arc(3));
    tso("2wx 2ry 0wy 0cy 0>3 1rx", start, &arc(4));
    let earlier = "1-po->2 2-fr->3 3-po->4 4-start->0 0-po->5 5-fr->1";
    tso("1rz 2wx 2ry 0wy 0cy 0>1 1rx", earlier, &arc(5));
    let itself = "0-po->1 1-fr->2 2-po->3 3-start->3 3-po->4 4-fr->0";
    tso("2wx 2ry 0wy 0cy 0>0 0rx", itself, &arc(4));
    // A join is from what the thread did before to where it is waited for.
    let join = "0-po->1 1-fr->2 2-join->3 3-po->4 4-fr->0";
    tso("2wx 2ry 3wy 3cy 0<3 0rx", join, "ok");
    tso("2wx 2ry 3wy 3cy 0<4 0rx", join, &arc(3));
    tso("2wx 2ry 0<3 3wy 0rx", "0-po->1 1-fr->3 3-join->2 2-po->4 4-fr->0", &arc(4));
    tso("2wx 2ry 0wy 0cy 0<0 0rx", &itself.replace("start", "join"), &arc(4));
}

/// A cycle of the run that does not go through both, the store and the access.
#[test]
fn cycles_of_others() {
    let misses = "event 5 of the log: the cycle misses the store or the access";
    let text = "0wx 0ry 1wy 1wx 2rx 1cy 1cx 0cx";
    check(text, Model::Tso, "0-po->1 1-fr->2 2-po->3 3-co->0", misses);
    let (events, mut run) =
        run("3wx 0wx 0ry 1wy 1wx", Model::Tso, "1-po->2 2-fr->3 3-po->4 4-co->1");
    assert_eq!(delayed(&events, &tables(), &run), Ok(()));
    run.store = 0;
    let said = delayed(&events, &tables(), &run).map_err(|no| no.to_string());
    assert_eq!(said, Err(misses.into()));
}

/// At the end stores reach memory thread by thread, those of the access first.
#[test]
fn the_rest_in_order() {
    for _ in 0..24 {
        let cycle = "0-po->1 1-fr->2 2-po->3 3-co->0";
        check("0wx 0ry 1wy 1wx", Model::Tso, cycle, "ok");
    }
}

/// The pair is in the order of the log, once everything is committed in time.
#[test]
fn committed_too_soon() {
    let arc = "event 4 of the log: an arc of the cycle does not hold";
    check("0wx 0cx 0ry 1wy 1rx", Model::Tso, SB, arc);
    check("0wx 0ry 1wy 0cx 1rx", Model::Tso, SB, arc);
    check("0wx 0cx 0wy 0cy 1ry 1rx", PSO, MP, arc);
}

#[test]
fn not_about_a_delay() {
    let about = "the run is not about a store and a later access of another thread to it";
    let (events, run) = run("0wx 0ry 1wy 1rx", Model::Tso, SB);
    let said = |edit: &dyn Fn(&mut DelayedRun)| {
        let mut run = run.clone();
        edit(&mut run);
        delayed(&events, &tables(), &run).map_or_else(|no| no.to_string(), |()| "ok".into())
    };
    assert_eq!(said(&|_| ()), "ok");
    assert_eq!(said(&|run| run.model = Model::Sc), "event 4 of the log: the run is one under SC");
    assert_eq!(said(&|run| run.store = 1), format!("event 4 of the log: {about}"));
    assert_eq!(said(&|run| run.store = 3), format!("event 4 of the log: {about}"));
    assert_eq!(said(&|run| run.access = 2), format!("event 3 of the log: {about}"));
    assert_eq!(said(&|run| run.access = 1), format!("event 2 of the log: {about}"));
    assert_eq!(said(&|run| run.access = 4), "event 5 of the log: the log is shorter than the run");
    // The same where all else is as it should be: an update, and a store that comes later.
    check("0ux 0ry 1wy 1rx", Model::Tso, SB, &format!("event 4 of the log: {about}"));
    let later = DelayedRun { store: 3, access: 2, ..run.clone() };
    let text: Vec<_> = [0, 1, 3, 0].into_iter().map(|at| events[at]).collect();
    assert_eq!(
        delayed(&text, &tables(), &later).map_err(|no| no.to_string()),
        Err(format!("event 3 of the log: {about}"))
    );
    let out = DelayedCommit { before: 9, thread: 0, loc: 0 };
    let said_of = |commits: &[DelayedCommit]| said(&|run| run.commits = commits.to_vec());
    assert_eq!(said_of(&[out]), "event 10 of the log: a commit stands out of order");
    let second = DelayedCommit { before: 3, thread: 1, loc: 1 };
    let first = DelayedCommit { before: 1, thread: 0, loc: 0 };
    assert_eq!(said_of(&[second]), "ok");
    assert_eq!(said_of(&[second, first]), "event 2 of the log: a commit stands out of order");
    let log = "event 2 of the log: the log is not one of an SC execution";
    check("0wx 0Cx 0ry 1wy 1rx", Model::Tso, SB, log);
}
