use super::{Definition, MOST_STORES, Sober};
use crate::Report;
use crate::test_logs::{log, random_log, tables};
use weakspot_core::testing::Rng;
use weakspot_core::{LogEvent, LogKind};

const BOTH: [Definition; 2] = [Definition::Published, Definition::Corrected];

fn warnings(events: &[LogEvent], definition: Definition) -> (Vec<Report>, Sober) {
    let mut sober = Sober::new(definition);
    let tables = tables();
    let found = events.iter().filter_map(|event| sober.event(event, &tables)).collect();
    (found, sober)
}

/// What is warned about, as `store<load` by their places in the log, for both definitions.
fn check(text: &str, expected: [&str; 2]) {
    for (definition, expected) in BOTH.into_iter().zip(expected) {
        let (found, _) = warnings(&log(text), definition);
        let words: Vec<String> =
            found.iter().map(|r| format!("{}<{}", r.store, r.access)).collect();
        assert_eq!(words.join(" "), expected, "{text}, {definition:?}");
    }
}

#[test]
fn store_buffering() {
    check("0wx 0ry 1wy 1rx", ["0<3"; 2]);
    // One fence is not enough, whichever thread has it.
    check("0wx 0f 0ry 1wy 1rx", ["0<4"; 2]);
    check("0wx 0ry 1wy 1f 1rx", ["0<4"; 2]);
    check("0wx 0f 0ry 1wy 1f 1rx", [""; 2]);
    check("0ux 0ry 1wy 1rx", ["0<3"; 2]);
    check("0ux 0ry 1uy 1rx", [""; 2]);
    check("0wx 0wy 1ry 1rx", [""; 2]);
    // The load sees the thread's own later store at least.
    check("0wx 0ry 1wy 1wx 1rx", [""; 2]);
    check("2wx 2ry 0wy 0>1 1rx", ["0<4"; 2]);
    check("2ux 2ry 0wy 0>1 1rx", [""; 2]);
    check("0wx 0ry 1wy 1<2 1rx", ["0<4"; 2]);
    check("2wx 1<2 1rx", [""; 2]);
    check("0wv 0ry 1wy 1rw", ["0<3"; 2]);
    check("0ww 0ry 1wy 1ru", [""; 2]);
}

/// Published, a thread that has read its own store has waited for it.
#[test]
fn reading_from_the_own_buffer() {
    check("1wy 1wx 0wx 0rx 0ry", ["", "0<4"]);
}

/// The report's Fig. 8, on which simulated buffers report nothing.
#[test]
fn a_third_thread_overwrites_the_store() {
    check("0wx 0ry 1wx 2wy 2rx", ["0<4"; 2]);
}

#[test]
fn warnings_are_grouped() {
    let (found, sober) =
        warnings(&log("0wx 0ry 1wy 1rx 0wx 0ry 1wy 1rx 1rx"), Definition::Corrected);
    assert_eq!(found.len(), 3);
    let found = sober.found();
    let [first, second] = &found[..] else { panic!("{found:?}") };
    assert_eq!((first.count, first.first), (2, 3));
    assert_eq!((first.store.thread, first.access.thread, first.previous.loc), (0, 1, 1));
    assert_eq!((second.count, second.first), (1, 5));
}

/// For each event the set of those before it.
struct Pasts {
    whole: Vec<Vec<bool>>,
    /// By way of its own thread only.
    into: Vec<Vec<bool>>,
}

/// By looking at all pairs of events; `relaxed` is `None` for all of happens-before.
fn pasts(events: &[LogEvent], relaxed: Option<Definition>) -> Pasts {
    let tables = tables();
    let n = events.len();
    let mut pasts = Pasts { whole: Vec::new(), into: Vec::new() };
    for b in 0..n {
        let (mut whole, mut into) = (vec![false; n], vec![false; n]);
        for a in 0..b {
            let (x, y) = (&events[a], &events[b]);
            let internal = x.thread == y.thread
                && x.kind == LogKind::Write
                && matches!(y.kind, LogKind::Read | LogKind::Join);
            let no_order = |e: &LogEvent| {
                matches!(e.kind, LogKind::StoreFence | LogKind::Begin | LogKind::End)
            };
            let po = x.thread == y.thread
                && (relaxed.is_none() || !internal && !no_order(x) && !no_order(y))
                || x.kind == LogKind::Spawn && x.loc == u32::from(y.thread)
                || y.kind == LogKind::Join && y.loc == u32::from(x.thread);
            let touch = x.kind.is_access() && y.kind.is_access() && tables.overlap(x.loc, y.loc);
            let visible = |half: &u32| {
                let covers = |e: &LogEvent| e.kind.writes() && tables.overlap(e.loc, *half);
                [x, y].iter().all(|e| tables.overlap(e.loc, *half))
                    && !events[a + 1..b].iter().any(covers)
            };
            let reads = x.kind.writes()
                && y.kind != LogKind::Write
                && (relaxed != Some(Definition::Corrected) || !internal)
                && [0, 1, 2, 4, 5].iter().any(visible);
            let conflict = touch && (y.kind.writes() || reads);
            let past = |set: &mut Vec<bool>| {
                set[a] = true;
                for (mine, &other) in set.iter_mut().zip(&pasts.whole[a]) {
                    *mine |= other;
                }
            };
            if po || conflict {
                past(&mut whole);
            }
            if po {
                past(&mut into);
            }
        }
        pasts.whole.push(whole);
        pasts.into.push(into);
    }
    pasts
}

/// The stores that each load could have missed, by definition.
fn missed(events: &[LogEvent], definition: Definition) -> Vec<(usize, usize)> {
    let tables = tables();
    let (all, relaxed) = (pasts(events, None), pasts(events, Some(definition)));
    let mut pairs = Vec::new();
    for (load, event) in events.iter().enumerate().filter(|(_, e)| e.kind == LogKind::Read) {
        for (store, other) in events[..load].iter().enumerate() {
            let own = |half: &u32| {
                let covers = |e: &LogEvent| {
                    e.thread == event.thread && e.kind.writes() && tables.overlap(e.loc, *half)
                };
                events[store..load].iter().any(covers)
            };
            let both =
                |half: &u32| tables.overlap(other.loc, *half) && tables.overlap(event.loc, *half);
            if other.kind.writes()
                && [0, 1, 2, 4, 5].iter().any(|half| both(half) && !own(half))
                && all.into[load][store]
                && !relaxed.into[load][store]
            {
                pairs.push((store, load));
            }
        }
    }
    pairs
}

/// Exactly the loads that could have missed a store are warned about, with the last such store;
/// where locations overlap, none but those.
#[test]
fn as_defined() {
    let mut count = 0;
    for seed in 0..1500 {
        let mut rng = Rng::new(seed);
        // Some are so long that stores are forgotten.
        let length = if seed % 100 < 3 { 300 } else { 8 + rng.below(30) };
        let halves = seed % 3 == 2;
        let mut events = random_log(&mut rng, length, halves);
        if seed % 4 == 0 {
            // Fewer things that keep threads in step.
            events.retain(|e| matches!(e.kind, LogKind::Read | LogKind::Write));
        }
        for definition in BOTH {
            let pairs = missed(&events, definition);
            let (found, _) = warnings(&events, definition);
            count += found.len();
            for report in &found {
                let pair = (report.store, report.access);
                assert!(pairs.contains(&pair), "seed {seed}, {definition:?}: {report:?}");
            }
            if !halves {
                let mut last: Vec<(usize, usize)> = Vec::new();
                for &(store, load) in &pairs {
                    last.retain(|&(_, other)| other != load);
                    last.push((store, load));
                }
                let found: Vec<_> = found.iter().map(|r| (r.store, r.access)).collect();
                assert_eq!(found, last, "seed {seed}, {definition:?}");
            }
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn memory_is_bounded() {
    let mut sober = Sober::new(Definition::Corrected);
    let tables = tables();
    let mut most = [0; 2];
    for (most, text) in most.iter_mut().zip(["0wx 1rx", "0wx 1wx 0wy"]) {
        let events = log(text);
        for _ in 0..20_000 {
            for event in &events {
                let _ = sober.event(event, &tables);
                let kept = sober.locs.iter().map(|l| l.writes.len()).max();
                *most = (*most).max(kept.unwrap_or(0));
            }
        }
    }
    // The first threads stay in step; then one that is not heard of again is not.
    assert!(most[0] <= 64, "{most:?}");
    assert!(most[1] <= MOST_STORES + MOST_STORES / 4, "{most:?}");
}
