use super::witness;
use crate::reference::{Form, emitted, reports};
use crate::test_logs::{log, random_log, tables};
use weakspot_core::testing::Rng;
use weakspot_core::{Drain, LogEvent, LogKind, LogTables, Model, certify};

const PSO: Model = Model::Pso(Drain::All);
const OWN: Model = Model::Pso(Drain::Own);

/// The cycle of a report as `0-po->1 1-fr->2`; what the checker of evidence says if it objects.
fn cycle(events: &[LogEvent], tables: &LogTables, model: Model, pair: (usize, usize)) -> String {
    let Some(run) = witness(events, tables, model, pair.0, pair.1) else {
        return "none".to_owned();
    };
    if let Err(rejected) = certify::delayed(events, tables, &run) {
        return rejected.to_string();
    }
    let arcs = run.cycle.iter().map(|a| format!("{}-{}->{}", a.from.0, a.link.name(), a.to.0));
    arcs.collect::<Vec<_>>().join(" ")
}

fn check(text: &str, model: Model, pair: (usize, usize), expected: &str) {
    assert_eq!(cycle(&log(text), &tables(), model, pair), expected, "{text}");
}

#[test]
fn cycles() {
    check("0wx 0ry 1wy 1rx", Model::Tso, (0, 3), "0-po->1 1-fr->2 2-po->3 3-fr->0");
    check("0wx 0ry 1wy 1wx", Model::Tso, (0, 3), "0-po->1 1-fr->2 2-po->3 3-co->0");
    check("0wx 0wy 1ry 1rx", PSO, (0, 3), "0-po->1 1-rf->2 2-po->3 3-fr->0");
    check("0wx 0uy 1uy 1ux", OWN, (0, 3), "0-po->1 1-rf->2 2-po->3 3-fr->0");
    // Program order, from-reads and coherence skip what stands between.
    check("0wx 0rz 0ry 2wy 1wy 1rz 1rx", Model::Tso, (0, 6), "0-po->2 2-fr->4 4-po->6 6-fr->0");
    check("0wx 0wy 2wy 1wy 1rx", PSO, (0, 4), "0-po->1 1-co->3 3-po->4 4-fr->0");
    check("2wx 2ry 0wy 0>1 1rx", Model::Tso, (0, 4), "0-po->1 1-fr->2 2-po->3 3-start->4 4-fr->0");
    check("2wx 2ry 3wy 0<3 0rx", Model::Tso, (0, 4), "0-po->1 1-fr->2 2-join->3 3-po->4 4-fr->0");
    // A read of the whole takes its halves from two writes.
    check("0wx 0wu 2ww 1rv 1rx", PSO, (0, 4), "0-po->1 1-rf->3 3-po->4 4-fr->0");
}

#[test]
fn nothing_to_show() {
    let text = "0wx 0ry 1wy 1rx 0wx 0f 1rx";
    check(text, Model::Sc, (0, 3), "none");
    for pair in [(0, 6), (4, 6), (0, 1), (3, 0), (1, 3), (0, 2), (0, 7), (9, 3), (2, 3), (3, 6)] {
        check(text, Model::Tso, pair, "none");
    }
    check("0wx 1ry 1rx", Model::Tso, (0, 2), "none");
}

/// The least number of arcs from `store` to `access`, whose conflicts do not count, by looking at
/// all pairs of events.
fn shortest(events: &[LogEvent], tables: &LogTables, store: usize, access: usize) -> usize {
    let follows = |a: usize, b: usize| {
        let (x, y) = (events[a], events[b]);
        let conflict =
            b != access && x.kind.is_access() && y.kind.is_access() && tables.overlap(x.loc, y.loc);
        // The read gets a half from `a` that no later write covers.
        let visible = |half: &u32| {
            let covers = |e: &LogEvent| e.kind.writes() && tables.overlap(e.loc, *half);
            let touched = [x, y].iter().all(|e| tables.overlap(e.loc, *half));
            touched && !events[a + 1..b].iter().any(covers)
        };
        x.thread == y.thread
            || x.kind == LogKind::Spawn && x.loc == u32::from(y.thread)
            || y.kind == LogKind::Join && y.loc == u32::from(x.thread)
            || conflict && y.kind.writes() && (x.kind.writes() || x.kind == LogKind::Read)
            || conflict && x.kind.writes() && [0, 1, 2, 4, 5].iter().any(visible)
    };
    let mut least = vec![usize::MAX; access + 1];
    least[store] = 0;
    for b in store + 1..=access {
        let before = (store..b).filter(|&a| least[a] < usize::MAX && follows(a, b));
        least[b] = before.map(|a| least[a] + 1).min().unwrap_or(usize::MAX);
    }
    least[access]
}

/// On random logs: exactly the reports have a witness, the checker of evidence accepts it, its
/// commits are those of the definition, and no cycle is shorter.
#[test]
fn random_logs() {
    let mut witnesses = 0;
    for seed in 0..12_000 {
        let mut rng = Rng::new(seed);
        let length = 4 + rng.below(24);
        let events = random_log(&mut rng, length, seed % 2 == 0);
        let tables = tables();
        for model in [Model::Tso, PSO, OWN] {
            let found = reports(&events, &tables, model, Form::All);
            for access in 0..length {
                for store in 0..access {
                    let context = || format!("seed {seed}, {model}, {store}, {access}: {events:?}");
                    let reported = found.iter().any(|r| (r.store, r.access) == (store, access));
                    let run = witness(&events, &tables, model, store, access);
                    assert_eq!(run.is_some(), reported, "{}", context());
                    let Some(run) = run else { continue };
                    assert_eq!(certify::delayed(&events, &tables, &run), Ok(()), "{}", context());
                    let all = emitted(&events, &tables, model);
                    let early: Vec<_> = all.iter().filter(|c| c.before < access).collect();
                    let mine: Vec<_> = run.commits.iter().filter(|c| c.before < access).collect();
                    assert_eq!(mine, early, "{}", context());
                    let least = shortest(&events, &tables, store, access);
                    assert_eq!(run.cycle.len(), least + 1, "{}", context());
                    witnesses += 1;
                }
            }
        }
    }
    assert!(witnesses > 5_000, "{witnesses}");
}
