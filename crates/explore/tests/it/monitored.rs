//! Monitors on programs against brute force: every SC interleaving of small programs, made by the
//! machine of core and monitored by definition.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::machine::{Machine, Outcome, State, Step};
use weakspot_core::testing::{Size, check_programs, scaled};
use weakspot_core::{
    Drain, Evidence, Fence, Instr, Limits, LogEvent, LogKind, LogTables, Model, PlaceEdge, Program,
    Silent, ThreadId, Verdict, certify, reference,
};
use weakspot_explore::{
    Decide, Interleavings, Which, interleavings, monitored, overtakings, robust,
};
use weakspot_monitor::reference::{Form, reports};

const LIMITS: Limits =
    Limits { time: None, memory: Some(64 << 20), buffer: 0, workers: 1, ..Limits::UNLIMITED };
const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

type Pairs = BTreeSet<(PlaceEdge, PlaceEdge)>;

/// All SC executions of a program without loops: those steps that memory does not see are taken as
/// soon as they can be, all others in every order.
struct Brute<'p> {
    program: &'p Program,
    edges: Vec<PlaceEdge>,
    executions: u64,
    /// How many executions have 0, 1 and 2 preemptions.
    preemptions: [u64; 3],
    pairs: Vec<Pairs>,
}

/// More executions than this are too many for a test.
const MOST: u64 = 1_000;

impl<'p> Brute<'p> {
    /// `None` if there are too many executions.
    fn of(program: &'p Program) -> Option<Brute<'p>> {
        let mut edges = Vec::new();
        for (t, thread) in program.threads.iter().enumerate() {
            for (p, point) in thread.points.iter().enumerate() {
                let (thread, point_id) = (ThreadId::new(t), weakspot_core::PointId::new(p));
                let place = |edge| PlaceEdge { thread, point: point_id, edge };
                edges.extend((0..point.edges.len()).map(place));
            }
        }
        let pairs = vec![Pairs::new(); WEAK.len()];
        let mut brute = Brute { program, edges, executions: 0, preemptions: [0; 3], pairs };
        let machine = Machine { program, model: Model::Sc };
        for state in machine.initial_states() {
            brute.go(machine, &state, &mut Vec::new())?;
        }
        Some(brute)
    }

    fn go(
        &mut self,
        machine: Machine<'_>,
        state: &State,
        events: &mut Vec<LogEvent>,
    ) -> Option<()> {
        let mut next = Vec::new();
        for step in machine.steps(state) {
            if let Outcome::Next(to) = machine.take(state, step) {
                let Step::Execute { thread, edge, .. } = step else { continue };
                let point = state.threads[thread.index()].point;
                let place = PlaceEdge { thread, point, edge: edge as usize };
                next.push((place, self.event(state, place), to));
            }
        }
        // The first thread with a step that memory does not see goes alone.
        if let Some((first, ..)) = next.iter().find(|n| n.1.is_none()) {
            let first = first.thread;
            next.retain(|n| n.0.thread == first);
        }
        if next.is_empty() {
            self.executions += 1;
            if self.executions > MOST {
                return None;
            }
            // Without blocks and loops a thread can go on until its last event.
            let goes_on = |i: usize| events[i + 1..].iter().any(|e| e.thread == events[i].thread);
            let stopped = |&i: &usize| events[i].thread != events[i + 1].thread && goes_on(i);
            let preemptions = (0..events.len().saturating_sub(1)).filter(stopped).count();
            if let Some(count) = self.preemptions.get_mut(preemptions) {
                *count += 1;
            }
            for (model, pairs) in WEAK.into_iter().zip(&mut self.pairs) {
                let found = reports(events, &LogTables::default(), model, Form::All);
                let edge = |i: usize| self.edges[events[i].site as usize - 1];
                pairs.extend(found.iter().map(|r| (edge(r.store), edge(r.access))));
            }
        }
        for (_, event, to) in next {
            events.extend(event);
            self.go(machine, &to, events)?;
            if event.is_some() {
                events.pop();
            }
        }
        Some(())
    }

    fn event(&self, state: &State, at: PlaceEdge) -> Option<LogEvent> {
        let regs = &state.threads[at.thread.index()].regs;
        let (kind, addr) = match &self.program.edge(at.thread, at.point, at.edge).instr {
            Instr::Load { addr, .. } => (LogKind::Read, addr.eval(regs).ok()?),
            Instr::Store { addr, .. } => (LogKind::Write, addr.eval(regs).ok()?),
            Instr::Update { addr, .. } => (LogKind::Update, addr.eval(regs).ok()?),
            Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock => (LogKind::Fence, 0),
            Instr::Fence(Fence::StoreStore) => (LogKind::StoreFence, 0),
            _ => return None,
        };
        let site = self.edges.binary_search(&at).ok()? as u32 + 1;
        Some(LogEvent { site, ..LogEvent::new(at.thread.0 as u16, kind, addr as u32) })
    }
}

fn has_blocks(program: &Program) -> bool {
    let mut edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    edges.any(|e| e.instr == Instr::Lock)
}

/// The pairs of the search, each with a run that the checker accepts.
fn searched(program: &Program, model: Model) -> Option<Pairs> {
    let found = overtakings(program, model, &LIMITS, &mut Silent).ok()?;
    let certified = found.pairs.iter().all(|p| {
        let evidence = Evidence::Run(p.run.clone());
        certify::robust(program, model, &Verdict::Violated, &evidence).is_ok()
    });
    (certified && found.limit.is_none())
        .then(|| found.pairs.iter().map(|p| (p.store, p.access)).collect())
}

/// The search and the monitored executions find what brute force finds.
fn differs(program: &Program, with_pairs: &AtomicUsize) -> bool {
    if has_blocks(program) {
        return false;
    }
    let Some(brute) = Brute::of(program) else { return false };
    let any = brute.pairs.iter().any(|p| !p.is_empty());
    with_pairs.fetch_add(usize::from(any), Ordering::Relaxed);
    let all = Which::Preemptions(u32::MAX);
    let Ok(seen) = monitored(program, &WEAK, all, 10_000, &LIMITS, &mut Silent) else {
        return true;
    };
    let count = interleavings(program, &LIMITS, &mut Silent);
    let pairs = |s: &weakspot_explore::Seen| -> Pairs {
        s.pairs.iter().map(|(p, _)| (p.store, p.access)).collect()
    };
    let bounded = |most: u32| {
        monitored(program, &WEAK, Which::Preemptions(most), 10_000, &LIMITS, &mut Silent)
            .map_or(0, |seen| seen.executions)
    };
    let up_to = |most: usize| brute.preemptions[..=most].iter().sum::<u64>();
    seen.executions != brute.executions
        || (0..3).any(|most| bounded(most as u32) != up_to(most))
        || seen.cut_off != 0
        || count.ok() != Some(Interleavings::Exactly(u128::from(brute.executions)))
        || seen.models.iter().zip(&brute.pairs).any(|(s, expected)| pairs(s) != *expected)
        || WEAK
            .into_iter()
            .zip(&brute.pairs)
            .any(|(model, expected)| searched(program, model).as_ref() != Some(expected))
}

fn check(seed: u64, all: usize, size: Size) {
    let count = scaled(all);
    // One model is as good as another here: all are compared at once.
    let with_pairs = AtomicUsize::new(0);
    let fails = |program: &Program, _: Model| differs(program, &with_pairs);
    check_programs(seed, count, size, &[Model::Tso], &fails);
    // The comparison is worth something only if many programs have pairs; in a small sample some do.
    let with_pairs = with_pairs.into_inner();
    let least = if count < all { 0 } else { count / 50 };
    assert!(with_pairs > least, "{with_pairs} of {count}");
}

#[test]
fn two_threads_agree_with_brute_force() {
    check(7_000_000, 3_000, Size { threads: 2, instrs: 6, total: 11, locs: 3, loops: false });
}

#[test]
fn more_threads_agree_with_brute_force() {
    check(7_100_000, 3_000, Size { threads: 4, instrs: 4, total: 9, locs: 2, loops: false });
}

/// With atomic blocks, too, there is a pair exactly if the program is not robust.
#[test]
fn blocks_agree_with_the_definition() {
    let size = Size { threads: 3, instrs: 5, total: 9, locs: 3, loops: false };
    let fails = |program: &Program, model: Model| {
        if !has_blocks(program) {
            return false;
        }
        let Some(robust) = reference::robust(program, &[model], 2_000) else { return false };
        let Some(pairs) = searched(program, model) else { return true };
        let all = Which::Preemptions(u32::MAX);
        let Ok(seen) = monitored(program, &[model], all, 10_000, &LIMITS, &mut Silent) else {
            return true;
        };
        // The monitors do not see everything that a block can do, but what they see is true.
        pairs.is_empty() != robust[0] || robust[0] && !seen.models[0].pairs.is_empty()
    };
    check_programs(7_300_000, scaled(3_000), size, &WEAK, &fails);
}

/// With loops there is a pair exactly if the program is not robust.
#[test]
fn loops_agree_with_robustness() {
    let limits = Limits { memory: Some(4 << 20), ..LIMITS };
    let size = Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true };
    let fails = |program: &Program, model: Model| {
        let Ok(answer) = robust(program, model, Decide::Pending, &limits, &mut Silent) else {
            return false;
        };
        let Ok(found) = overtakings(program, model, &limits, &mut Silent) else { return true };
        match answer.verdict {
            Verdict::Holds => !found.pairs.is_empty(),
            Verdict::Violated => found.limit.is_none() && found.pairs.is_empty(),
            Verdict::Unknown(_) => false,
        }
    };
    check_programs(7_400_000, scaled(2_400), size, &WEAK, &fails);
}

/// What bounded and random executions show is among what the search finds, also with loops.
#[test]
fn fewer_executions_show_no_more() {
    let limits = Limits { memory: Some(16 << 20), ..LIMITS };
    let size = Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true };
    let fails = |program: &Program, model: Model| {
        let Ok(found) = overtakings(program, model, &limits, &mut Silent) else { return false };
        if found.limit.is_some() {
            return false;
        }
        let all: Pairs = found.pairs.iter().map(|p| (p.store, p.access)).collect();
        [Which::Preemptions(1), Which::Random { executions: 50, seed: 3 }].iter().any(|&which| {
            let seen = monitored(program, &[model], which, 200, &LIMITS, &mut Silent);
            let Ok(seen) = seen else { return true };
            seen.models[0].pairs.iter().any(|(p, _)| !all.contains(&(p.store, p.access)))
        })
    };
    check_programs(7_500_000, scaled(1_600), size, &WEAK, &fails);
}

fn weak(text: &str) -> Program {
    weakspot_lang::parse(weakspot_lang::Format::Weak, text).expect("a good program").program
}

/// A thread that waits for another one ends the execution only if nobody can go on.
#[test]
fn waiting_in_a_loop_is_no_preemption() {
    let flag = "shared x = 0, y = 0\n\
                thread p { y = 1; while (x == 0) { skip } }\nthread q { x = 1 }\n";
    let spin = "shared l = 0, y = 0\nthread p[2] { var r = 1\n\
                while (r != 0) { atomic { r = l; l = 1 } }\ny = me\nl = 0 }\n";
    let never = "shared x = 0\nthread p { while (x == 0) { skip } }\nthread q { fence }\n";
    for (text, most) in [(flag, 0), (never, 0), (flag, 1), (spin, 1), (spin, 2), (never, 3)] {
        let program = weak(text);
        let which = Which::Preemptions(most);
        let seen = monitored(&program, &WEAK, which, 1_000, &LIMITS, &mut Silent).unwrap();
        assert!(seen.executions > 0 && seen.cut_off == 0 && seen.waited, "{text} {seen:?}");
        assert_eq!(
            interleavings(&program, &LIMITS, &mut Silent).ok(),
            Some(Interleavings::Endless)
        );
    }
}

#[test]
fn long_executions_are_cut_off() {
    let program =
        weak("shared x = 0\nthread p { while (true) { x = x + 1 } }\nthread q { x = 0 }\n");
    for which in [Which::Preemptions(0), Which::Random { executions: 5, seed: 1 }] {
        let seen = monitored(&program, &WEAK, which, 100, &LIMITS, &mut Silent).unwrap();
        assert_eq!(seen.cut_off, seen.executions);
    }
}

#[test]
fn the_same_seed_gives_the_same_executions() {
    let text = "shared x = 0, y = 0\nthread p { x = 1; y = 1; x = y }\n\
                thread q { y = 2; x = 2; y = x }\n";
    let program = weak(text);
    let seen = |seed| {
        let which = Which::Random { executions: 40, seed };
        let seen = monitored(&program, &WEAK, which, 100, &LIMITS, &mut Silent).unwrap();
        let counts = |s: &weakspot_explore::Seen| {
            (s.executions, s.pairs.iter().map(|(_, count)| *count).collect::<Vec<_>>())
        };
        seen.models.iter().map(counts).collect::<Vec<_>>()
    };
    assert_eq!(seen(1), seen(1));
    assert!((2..10).any(|seed| seen(seed) != seen(1)));
}

/// A fault is one however the executions are chosen.
#[test]
fn faults_are_noticed() {
    let program = weak("shared x = 0\nthread p { var r\nr = x\nr = 1 / r }\nthread q { x = 1 }\n");
    for which in [Which::Preemptions(1), Which::Random { executions: 20, seed: 1 }] {
        let seen = monitored(&program, &WEAK, which, 100, &LIMITS, &mut Silent);
        assert!(matches!(seen, Err(weakspot_explore::NoAnswer::Fault(_))), "{seen:?}");
    }
    assert!(overtakings(&program, Model::Tso, &LIMITS, &mut Silent).is_err());
}

/// On the whole corpus there are pairs exactly if the program is not robust, and what few
/// executions show is among them.
#[test]
fn the_corpus_agrees_with_robustness() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut asked = 0;
    for folder in ["litmus", "programs", "trencher", "memorax"] {
        let mut files: Vec<_> =
            std::fs::read_dir(corpus.join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            let Some(format) = weakspot_lang::Format::of_path(&file) else { continue };
            let text = std::fs::read_to_string(&file).unwrap();
            let Ok(parsed) = weakspot_lang::parse(format, &text) else { continue };
            let program = &parsed.program;
            let which = Which::Random { executions: 30, seed: 5 };
            let seen = monitored(program, &WEAK, which, 2_000, &LIMITS, &mut Silent);
            for (i, model) in WEAK.into_iter().enumerate() {
                let answer = robust(program, model, Decide::Pending, &LIMITS, &mut Silent);
                let found = overtakings(program, model, &LIMITS, &mut Silent);
                let (Ok(answer), Ok(found)) = (answer, found) else { continue };
                let (Verdict::Holds | Verdict::Violated, None) = (&answer.verdict, &found.limit)
                else {
                    continue;
                };
                asked += 1;
                let violated = answer.verdict == Verdict::Violated;
                assert_eq!(violated, !found.pairs.is_empty(), "{} {model}", file.display());
                let all: Pairs = found.pairs.iter().map(|p| (p.store, p.access)).collect();
                let seen = &seen.as_ref().expect("an answer").models[i].pairs;
                let known = |p: &weakspot_explore::Overtaken| all.contains(&(p.store, p.access));
                assert!(seen.iter().all(|(p, _)| known(p)), "{} {model}", file.display());
            }
        }
    }
    assert!(asked > 900, "{asked}");
}
