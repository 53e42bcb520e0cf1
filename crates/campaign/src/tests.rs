//! Explorations of programs that are only data: every finding counts, whenever the user loses patience.

use std::collections::BTreeSet;

use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Drain, Limit, Model, Verdict};
use weakspot_live::Plan;
use weakspot_live::testing::{Buffers, Bytes, Instr, System, all_executions, byte};
use weakspot_live::wire::{Config, ENDLESS, HANGS, Message, Place, Related};
use weakspot_witness::{RunEvidence, Wrong};

use crate::testing::{Fake, Steady, facts, question};
use crate::{
    Answer, Campaign, Consequence, Isolate, MOST_SHOWN, Marks, Question, Shown, Strategy,
    Unconfirmed, Until, confirmed, evidence,
};

const PSO: Model = Model::Pso(Drain::All);

fn system(threads: Vec<Vec<Instr>>) -> System {
    System { threads, buffers: Buffers::None, framed: false }
}

fn store(at: Bytes) -> Instr {
    Instr::Write(at, 1)
}

/// A program whose first execution has a pair of accesses that TSO would reorder for each of so many
/// stores and each of so many threads that read all of these bytes.
fn pairs(stores: u8, readers: usize) -> System {
    let (flag, go) = (byte(stores), byte(stores + 1));
    let bytes = || (0..stores).map(byte);
    let mut threads = vec![bytes().map(store).collect::<Vec<_>>(), vec![store(flag), store(go)]];
    threads[0].push(Instr::Read(flag));
    for _ in 0..readers {
        let mut reader = vec![Instr::Read(go)];
        reader.extend(bytes().map(Instr::Read));
        threads.push(reader);
    }
    system(threads)
}

/// The same with fences between stores and loads.
fn fenced() -> System {
    let thread = |own, other| vec![store(byte(own)), Instr::Fence, Instr::Read(byte(other))];
    system(vec![thread(0, 1), thread(1, 0)])
}

fn ask(question: &Question, fake: &Fake<'_>, control: &Steady) -> Answer {
    let facts = facts();
    Campaign { question, facts: &facts, runtime: fake, control }.answer().expect("an answer")
}

/// How many findings were executed again, were not, and came out as something else.
fn shown(answer: &Answer) -> [usize; 3] {
    let mut counts = [0; 3];
    for finding in answer.models.iter().flat_map(|model| &model.findings) {
        counts[match finding.shown {
            Shown::Again(_) => 0,
            Shown::NotAgain => 1,
            Shown::Unrepeatable => 2,
        }] += 1;
    }
    counts
}

/// One execution.
fn first(models: &[Model]) -> Question {
    let isolate = Isolate::Memory;
    Question { executions: Some(1), isolate, ..question(Strategy::Dpor, models) }
}

#[test]
fn every_finding_counts() {
    for (stores, readers) in [(1, 1), (100, 1), (101, 1), (100, 100)] {
        let system = pairs(stores, readers);
        let answer = ask(&first(&[Model::Tso]), &Fake::new(&system), &Steady::new(None));
        let all = usize::from(stores) * readers;
        let tried = all.min(MOST_SHOWN);
        assert_eq!(answer.models[0].findings.len(), all);
        assert_eq!(shown(&answer), [tried, all - tried, 0], "{all}");
        assert_eq!(answer.models[0].verdict, Verdict::Violated, "{all}");
    }
    let answer = ask(
        &question(Strategy::Dpor, &[Model::Tso, PSO]),
        &Fake::new(&fenced()),
        &Steady::new(None),
    );
    assert!(answer.verdicts().iter().all(|judged| judged.verdict == Verdict::Holds));
}

/// Findings of one model do not hide those of another.
#[test]
fn each_model_is_judged_by_its_own_findings() {
    const MANY: u8 = 119;
    let (y, z) = (byte(MANY), byte(MANY + 1));
    let system = system(vec![
        (0..MANY).map(|x| store(byte(x))).collect(),
        (0..MANY).rev().map(|x| Instr::Read(byte(x))).collect(),
        vec![store(y), Instr::Read(z)],
        vec![store(z), Instr::Read(y)],
    ]);
    let answer = ask(&first(&[PSO, Model::Tso]), &Fake::new(&system), &Steady::new(None));
    for model in &answer.models {
        assert_eq!(model.verdict, Verdict::Violated, "{:?}", model.model);
    }
    assert!(answer.models[0].findings.len() > MOST_SHOWN);
}

/// Where there are few classes of executions, a look by one strategy is all, whatever is wrong; what is shown of
/// it has few preemptions.
#[test]
fn auto_begins_with_a_look() {
    let auto = question(Strategy::Auto, &[Model::Tso]);
    let whole = question(Strategy::Dpor, &[Model::Tso]);
    let clean = fenced();
    let looked = ask(&auto, &Fake::new(&clean), &Steady::new(None));
    let explored = ask(&whole, &Fake::new(&clean), &Steady::new(None));
    assert_eq!(looked.strategies, ["dpor"]);
    assert_eq!(looked.executions, explored.executions);
    assert_eq!(looked.models[0].verdict, Verdict::Holds);
    let broken = ask(&auto, &Fake::new(&pairs(1, 1)), &Steady::new(None));
    let explored = ask(&whole, &Fake::new(&pairs(1, 1)), &Steady::new(None));
    assert_eq!(broken.strategies, ["dpor"]);
    assert_eq!(broken.executions, explored.executions);
    assert_eq!(broken.models[0].verdict, Verdict::Violated);
    let one = Question { executions: Some(1), ..auto };
    let answer = ask(&one, &Fake::new(&pairs(1, 1)), &Steady::new(None));
    assert_eq!((answer.strategies, answer.executions), (vec!["dpor"], 1));
}

/// Few executions are enough where there are no more, and where there are, the limit is said.
#[test]
fn as_many_executions_as_it_takes() {
    let auto = question(Strategy::Auto, &[Model::Tso]);
    let clean = fenced();
    let all = ask(&auto, &Fake::new(&clean), &Steady::new(None)).executions;
    assert!((2..8).contains(&all), "{all}");
    for most in 1..=8 {
        let limited = Question { executions: Some(most), ..auto.clone() };
        let answer = ask(&limited, &Fake::new(&clean), &Steady::new(None));
        let expected = match most >= all {
            true => Verdict::Holds,
            false => Verdict::Unknown(Limit::Executions(most)),
        };
        assert_eq!(answer.models[0].verdict, expected, "{most} of {all}");
        assert_eq!(answer.executions, most.min(all));
    }
}

/// Samples have no end: those of SC leave as many to be taken with store buffers, which are listed second.
#[test]
fn samples_with_store_buffers_are_taken() {
    let random = question(Strategy::Random { seed: 1 }, &[Model::Tso]);
    let random = Question { executions: Some(20), ..random };
    let answer = ask(&random, &Fake::new(&pairs(1, 1)), &Steady::new(None));
    assert_eq!(answer.executions, 20);
    assert_eq!(answer.models[0].verdict, Verdict::Violated);
    let executions: Vec<u64> = answer.failed.iter().map(|failed| failed.executions).collect();
    assert_eq!(executions, [20, 20]);
}

/// Whenever Ctrl-C comes: nothing holds that was not explored, and no finding is lost.
#[test]
fn interrupted_at_every_step() {
    let wrong = system(vec![vec![Instr::Read(byte(0)), Instr::CrashIf(0)], vec![store(byte(0))]]);
    let cases = [
        (pairs(1, 1), question(Strategy::Auto, &[Model::Tso, PSO])),
        (pairs(101, 1), first(&[Model::Tso])),
        (fenced(), question(Strategy::Auto, &[Model::Tso, PSO])),
        (wrong, question(Strategy::Dpor, &[Model::Tso])),
    ];
    for (system, question) in &cases {
        let steady = Steady::new(None);
        let whole = ask(question, &Fake::new(system), &steady);
        let verdict = |answer: &Answer| answer.verdicts();
        let violated = verdict(&whole).iter().any(|judged| judged.verdict == Verdict::Violated);
        let mut ends = [0; 3];
        // Every time, or forty times where there are hundreds.
        for after in (0..=steady.asks()).step_by(1 + steady.asks() as usize / 40) {
            let answer = ask(question, &Fake::new(system), &Steady::new(Some(after)));
            for judged in verdict(&answer) {
                ends[match judged.verdict {
                    Verdict::Holds => 0,
                    Verdict::Violated => 1,
                    Verdict::Unknown(Limit::Unrepeatable) => panic!("the program is blamed"),
                    Verdict::Unknown(_) => 2,
                }] += 1;
            }
            for model in &answer.models {
                let found = !model.findings.is_empty();
                assert_eq!(found, model.verdict == Verdict::Violated, "after {after}");
            }
            let failed = !answer.failed[0].failures.is_empty();
            assert_eq!(failed, answer.failed[0].verdict == Verdict::Violated, "after {after}");
            assert_eq!(shown(&answer)[2], 0, "after {after}");
        }
        assert!(ends[2] > 0, "{ends:?}");
        assert_eq!(ends[1] > 0, violated, "{ends:?}");
    }
}

#[test]
fn what_does_not_come_out_the_same_is_said() {
    for stores in [1, 101] {
        let system = pairs(stores, 1);
        let fake = Fake { forgetful: true, ..Fake::new(&system) };
        let answer = ask(&first(&[Model::Tso]), &fake, &Steady::new(None));
        assert_eq!(shown(&answer), [0, 0, usize::from(stores)]);
        assert_eq!(answer.models[0].verdict, Verdict::Unknown(Limit::Unrepeatable));
    }
}

/// A replay differs from the exploration in its strategy and in being traced, and in nothing else.
#[test]
fn replays_have_the_configuration_of_the_exploration() {
    let system = pairs(2, 1);
    let question = Question {
        reuse: true,
        isolate: Isolate::Fork,
        transactions: Some(Marks::Marked),
        fence_transactions: true,
        steps: 1234,
        memory: 5678,
        ..question(Strategy::Dpor, &[Model::Tso])
    };
    let mut facts = facts();
    facts.rust = true;
    facts.harness = true;
    facts.transactions = Some(Vec::new());
    facts.traps = vec![(16, 4)];
    facts.quiet_traps = vec![(32, 4)];
    let fake = Fake::new(&system);
    let control = Steady::new(None);
    let campaign =
        Campaign { question: &question, facts: &facts, runtime: &fake, control: &control };
    campaign.answer().expect("an answer");
    let configs = fake.configs.borrow();
    let explored = configs.iter().find(|config| config.plan == Plan::Dpor).expect("explored");
    assert!(explored.reuse && explored.fork && explored.codes && explored.fence_transactions);
    let mut replays = 0;
    for replay in configs.iter().filter(|config| matches!(config.plan, Plan::Replay(_))) {
        assert!(replay.trace && replay.executions == 1);
        let Config { plan, trace, executions, timeout, hang, .. } = explored.clone();
        let same = Config { plan, trace, executions, timeout, hang, ..replay.clone() };
        assert_eq!(same, *explored);
        replays += 1;
    }
    assert!(replays > 0);
}

/// Nothing holds over code that was not seen.
#[test]
fn what_is_not_instrumented_is_unknown() {
    let system = pairs(0, 0);
    let question = question(Strategy::Dpor, &[Model::Tso]);
    let mut facts = facts();
    let fake = Fake::new(&system);
    let control = Steady::new(None);
    for unseen in [Vec::new(), vec!["libfoo.a(foo.o)".to_owned()]] {
        facts.unseen = unseen;
        let campaign =
            Campaign { question: &question, facts: &facts, runtime: &fake, control: &control };
        let answer = campaign.answer().expect("an answer");
        let expected = match facts.unseen.is_empty() {
            true => Verdict::Holds,
            false => Verdict::Unknown(Limit::Uncontrolled),
        };
        assert!(answer.verdicts().iter().all(|judged| judged.verdict == expected));
        let named = answer.remarks.iter().any(|remark| remark.contains("libfoo.a(foo.o)"));
        assert_eq!(named, !facts.unseen.is_empty());
    }
}

/// A thread that stores to bytes of its own and reads those of the other one: whoever reads 0 goes in, and
/// crashes if it is not the first one there.
fn enters(rng: &mut Rng, t: u8) -> Vec<Instr> {
    let mut code = Vec::new();
    for _ in 0..1 + rng.below(2) {
        let bytes = Bytes { addr: 2 * t, len: 1 + rng.below(2) as u8 };
        code.push(Instr::Write(bytes, 1 + rng.below(2) as u8));
        code.extend(rng.one_in(6).then_some(Instr::Fence));
        code.push(Instr::Read(byte(2 * (1 - t) + rng.below(2) as u8)));
        code.extend([Instr::If(0, 2), Instr::Add(byte(4), 1), Instr::CrashIf(1)]);
    }
    code
}

/// Whoever explores: an answer that has no limit has all failures that there are, and no answer has others.
#[test]
fn complete_lists_of_failures_are_complete() {
    let mut rng = Rng::new(16);
    let (mut several, mut beyond, mut answers, mut complete) = (0, 0, 0, 0);
    for _ in 0..scaled(400) {
        let system = system((0..2).map(|t| enters(&mut rng, t)).collect());
        let all = |buffers| {
            let mut places = BTreeSet::new();
            let system = System { buffers, ..system.clone() };
            let all = all_executions(&system, 20_000, &mut |_, state, _| {
                places.extend(state.crash().map(|(t, at, _)| u64::from(t) << 32 | at as u64));
            });
            all.then_some(places)
        };
        let expected = [Buffers::None, Buffers::Tso, Buffers::Pso].map(all);
        let [Some(sc), Some(tso), Some(_)] = &expected else { continue };
        several += usize::from(tso.len() > 1);
        beyond += usize::from(tso.difference(sc).count() > 1);
        for strategy in [Strategy::Auto, Strategy::Dpor] {
            let question = Question { robust: false, ..question(strategy, &[Model::Tso, PSO]) };
            let answer = ask(&question, &Fake::new(&system), &Steady::new(None));
            for (failed, expected) in answer.failed.iter().zip(expected.iter().flatten()) {
                let found = failed.failures.iter().filter_map(|f| f.failure.place);
                let found: BTreeSet<u64> = found.map(|place| place.offset).collect();
                let context = || format!("{:?} of {system:?}", failed.model);
                // Where accesses overlap in part, strategies do not claim to have seen everything.
                match failed.limit {
                    None => assert_eq!(found, *expected, "{}", context()),
                    Some(_) => assert!(found.is_subset(expected), "{}", context()),
                }
                answers += 1;
                complete += usize::from(failed.limit.is_none());
            }
        }
    }
    assert!(several > scaled(400) / 8 && beyond > scaled(400) / 20, "{several} {beyond}");
    assert!(complete * 5 > answers * 4, "{complete} of {answers}");
}

/// A list of failures with a limit says so: what else may fail was not explored.
#[test]
fn lists_of_failures_that_end_early_say_so() {
    let many = |own: u8| (0..6).map(move |i| store(byte(own + i)));
    let crosswise = |own: u8, other: u8| {
        let mut code: Vec<Instr> = many(own).collect();
        code.extend((0..6).map(|i| Instr::Read(byte(other + i))));
        code.push(Instr::CrashIf(0));
        code
    };
    let system = system(vec![crosswise(0, 6), crosswise(6, 0)]);
    let question =
        Question { robust: false, executions: Some(50), ..question(Strategy::Dpor, &[Model::Tso]) };
    let answer = ask(&question, &Fake::new(&system), &Steady::new(None));
    for failed in &answer.failed {
        assert_eq!(failed.verdict, Verdict::Violated);
        assert!(failed.limit.is_some());
    }
    assert!(answer.models[0].limit.is_some());
}

#[test]
fn the_first_finding_ends_it() {
    let system = pairs(1, 1);
    let question = question(Strategy::Auto, &[Model::Tso, PSO]);
    let question = Question { until: Until::Found { advice: true }, races: false, ..question };
    let answer = ask(&question, &Fake::new(&system), &Steady::new(None));
    assert_eq!(answer.models[0].verdict, Verdict::Violated);
    assert_eq!(answer.failed[0].verdict, Verdict::Unknown(Limit::Finding(answer.executions)));
}

/// A program is not even started then: of many tests, those that follow would take as long as they are.
#[test]
fn nothing_begins_after_an_interrupt() {
    let system = pairs(1, 1);
    for isolate in [Isolate::Memory, Isolate::Auto] {
        let question = Question { isolate, ..question(Strategy::Auto, &[Model::Tso]) };
        let answer = ask(&question, &Fake::new(&system), &Steady::new(Some(0)));
        assert_eq!((answer.executions, &answer.strategies[..]), (0, &[][..]));
        for judged in answer.verdicts() {
            assert_eq!(judged.verdict, Verdict::Unknown(Limit::Interrupted));
        }
    }
}

/// The fence that is proposed prevents everything, and that was tried out.
#[test]
fn advice_is_tried_out() {
    let system = pairs(1, 1);
    let question = Question { advice: true, ..question(Strategy::Dpor, &[Model::Tso]) };
    let answer = ask(&question, &Fake::new(&system), &Steady::new(None));
    let advice = answer.advice.expect("advice");
    let changes = advice.changes.expect("changes");
    assert!(!changes.is_empty() && advice.explorations > 0 && advice.limit.is_none());
}

/// A list accepts the pairs that it has, and no others: where one is left, pairs count. What is accepted does not keep advice from
/// being tried out to the end.
#[test]
fn only_listed_pairs_are_accepted() {
    let system = pairs(2, 1);
    let asked = |baseline: Vec<[String; 2]>| {
        let question = question(Strategy::Dpor, &[Model::Tso]);
        let question = Question { baseline, advice: true, ..question };
        let mut answer = ask(&question, &Fake::new(&system), &Steady::new(None));
        let advice = answer.advice.take().expect("advice");
        assert_eq!((advice.changes.is_some(), advice.limit), (true, None));
        answer.models.remove(0)
    };
    let [a, b] =
        &asked(Vec::new()).findings.iter().map(|f| f.places.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("two pairs")
    };
    let check = |baseline: &[&[String; 2]], expected: [bool; 2]| {
        let answer = asked(baseline.iter().map(|&pair| pair.clone()).collect());
        let accepted: Vec<bool> = answer.findings.iter().map(|f| f.accepted.is_some()).collect();
        assert_eq!(accepted, expected);
        assert_eq!(answer.advisory, expected == [true; 2], "{baseline:?}");
        assert_eq!(answer.verdict, Verdict::Violated);
    };
    check(&[], [false; 2]);
    check(&[a], [true, false]);
    check(&[b], [false, true]);
    check(&[a, b], [true; 2]);
    check(&[&[a[0].clone(), b[1].clone()], &[b[0].clone(), a[1].clone()]], [false; 2]);
}

/// What a program says about itself leaves the answer open, whatever was explored.
#[test]
fn what_a_program_says_leaves_answers_open() {
    let clean = fenced();
    let place = Place { module: Some(0), offset: 1 };
    let stuck = |kind: &str, what: &str| Message::Failure {
        number: 1,
        kind: kind.to_owned(),
        thread: None,
        place: None,
        execution: 1,
        schedule: String::new(),
        text: String::new(),
        related: vec![Related { what: what.to_owned(), thread: Some(0), place }],
    };
    let both = |limit: Limit| [Verdict::Unknown(limit.clone()), Verdict::Unknown(limit)];
    let violated = [Verdict::Violated, Verdict::Holds];
    for (says, unseen, expected) in [
        (None, false, [Verdict::Holds, Verdict::Holds]),
        (
            Some(Message::Mixed(Model::Tso)),
            false,
            [Verdict::Holds, Verdict::Unknown(Limit::Overlap)],
        ),
        (Some(Message::Idle(1)), false, both(Limit::Loops)),
        (Some(Message::Diverged { step: 1, thread: 0 }), false, both(Limit::Uncontrolled)),
        (
            Some(Message::Unsupported { what: "fork".to_owned(), place: Some(place) }),
            false,
            both(Limit::Uncontrolled),
        ),
        (Some(stuck("livelock", "loops")), false, violated.clone()),
        (Some(stuck("livelock", "loops")), true, both(Limit::Uncontrolled)),
        (Some(stuck(ENDLESS, HANGS)), false, violated),
    ] {
        let mut facts = facts();
        facts.unseen.extend(unseen.then(|| "foo.o".to_owned()));
        let question = Question { races: false, ..question(Strategy::Dpor, &[Model::Tso]) };
        let fake = Fake { says: says.iter().cloned().collect(), ..Fake::new(&clean) };
        let control = Steady::new(None);
        let campaign =
            Campaign { question: &question, facts: &facts, runtime: &fake, control: &control };
        let answer = campaign.answer().expect("an answer");
        let found = [&answer.failed[0].verdict, &answer.models[0].verdict];
        assert_eq!(found, expected.each_ref(), "{says:?}");
    }
}

/// That nobody notices a pair is said only where every execution was looked at in which its store waits.
#[test]
fn unnoticed_needs_all_executions() {
    let system = pairs(1, 1);
    let asked = |executions| {
        let question = Question { executions, ..question(Strategy::Dpor, &[Model::Tso]) };
        let answer = ask(&question, &Fake::new(&system), &Steady::new(None));
        (answer.executions, answer.models[0].findings[0].consequence)
    };
    let (all, consequence) = asked(None);
    assert_eq!(consequence, Consequence::Unnoticed);
    assert_eq!(asked(Some(all + 1)), (all, Consequence::Unknown));
}

/// Evidence is confirmed by the same thing again, and by nothing that is like it.
#[test]
fn evidence_is_confirmed_by_the_same() {
    let dpor = || question(Strategy::Dpor, &[Model::Tso]);
    let clean = fenced();
    let explored = ask(&dpor(), &Fake::new(&clean), &Steady::new(None));
    let all = evidence(&explored).expect("evidence");
    assert!(confirmed(&all, &explored).is_ok());
    let RunEvidence::Explored(counts) = &all else { panic!("{all:?}") };
    for change in [|c: &mut (Model, u64, u64)| c.1 += 1, |c: &mut (Model, u64, u64)| c.2 += 1] {
        let mut other = counts.clone();
        change(&mut other[0]);
        let said = confirmed(&RunEvidence::Explored(other), &explored);
        assert!(matches!(said, Err(Unconfirmed::Otherwise(_))), "{said:?}");
    }
    // One execution decides nothing.
    let limited = Question { executions: Some(1), ..dpor() };
    let limited = ask(&limited, &Fake::new(&clean), &Steady::new(None));
    assert_eq!(evidence(&limited), None);
    let counts = limited.failed.iter().map(|f| (f.model, f.executions, f.steps)).collect();
    let said = confirmed(&RunEvidence::Explored(counts), &limited);
    assert!(matches!(said, Err(Unconfirmed::Unknown(_))), "{said:?}");
    let broken = ask(&dpor(), &Fake::new(&pairs(2, 1)), &Steady::new(None));
    let wrong = |wrong| RunEvidence::Schedule {
        model: Model::Tso,
        token: String::new(),
        shared: Vec::new(),
        wrong,
    };
    let [a, b] = [0, 1].map(|i| broken.models[0].findings[i].places.clone());
    assert!(confirmed(&wrong(Wrong::Pair(a.clone())), &broken).is_ok());
    for pair in [[a[0].clone(), b[1].clone()], [b[0].clone(), a[1].clone()]] {
        assert!(confirmed(&wrong(Wrong::Pair(pair)), &broken).is_err());
    }
    let crash = system(vec![vec![Instr::Read(byte(0)), Instr::CrashIf(0)], vec![store(byte(0))]]);
    let failed = ask(&dpor(), &Fake::new(&crash), &Steady::new(None));
    for (kind, is_it) in [("crash", true), ("deadlock", false)] {
        let said = RunEvidence::Schedule {
            model: Model::Sc,
            token: String::new(),
            shared: Vec::new(),
            wrong: Wrong::Failure(kind.to_owned()),
        };
        assert_eq!(confirmed(&said, &failed).is_ok(), is_it, "{kind}");
    }
}

/// A failure comes of every pair that it needs, also of those that are looked at when it is known already; and over code that
/// nobody sees nothing holds with store buffers either.
#[test]
fn each_pair_has_its_consequence() {
    let thread = |own: u8, other: u8| {
        let begins = [store(byte(own)), Instr::Read(byte(other)), Instr::If(0, 2)];
        begins.into_iter().chain([Instr::Add(byte(4), 1)]).collect::<Vec<_>>()
    };
    let mut threads = vec![thread(0, 2), thread(2, 0)];
    threads[0].push(Instr::CrashIf(1));
    let system = system(threads);
    let dpor = Question { races: false, ..question(Strategy::Dpor, &[Model::Tso]) };
    let answer = ask(&dpor, &Fake::new(&system), &Steady::new(None));
    let found = &answer.models[0].findings;
    assert_eq!(found.len(), 2);
    let consequences: Vec<Consequence> = found.iter().map(|f| f.consequence).collect();
    assert_eq!(consequences, [Consequence::Fails(0); 2]);
    let mut facts = facts();
    facts.unseen.push("foo.o".to_owned());
    let (fenceless, control) = (pairs(1, 1), Steady::new(None));
    let fake = Fake::new(&fenceless);
    let campaign = Campaign { question: &dpor, facts: &facts, runtime: &fake, control: &control };
    let answer = campaign.answer().expect("an answer");
    for failed in &answer.failed {
        assert_eq!(failed.verdict, Verdict::Unknown(Limit::Uncontrolled), "{:?}", failed.model);
    }
}

/// Loops that may be longer than they were taken to be get as many executions as are left.
#[test]
fn patience_has_the_same_limit() {
    let clean = fenced();
    let fake = Fake { says: vec![Message::Idle(1)], ..Fake::new(&clean) };
    let dpor = question(Strategy::Dpor, &[Model::Tso]);
    let all = ask(&dpor, &Fake::new(&clean), &Steady::new(None)).executions;
    let limited = Question { executions: Some(all + 1), ..dpor };
    let answer = ask(&limited, &fake, &Steady::new(None));
    assert!(answer.strategies.contains(&"patient dpor"), "{:?}", answer.strategies);
    assert_eq!(answer.executions, all + 1);
}

/// What is violated without a look at everything is violated with fences, too, whatever else is open.
#[test]
fn a_violation_outweighs_what_is_open() {
    let system = pairs(1, 1);
    let question = Question {
        transactions: Some(Marks::Marked),
        fence_transactions: true,
        ..first(&[Model::Tso])
    };
    let answer = ask(&question, &Fake::new(&system), &Steady::new(None));
    let transactions = answer.transactions.expect("an answer about transactions");
    assert_eq!(transactions.verdict, Verdict::Unknown(Limit::Executions(1)));
    assert_eq!(transactions.fenced, Some(Verdict::Violated));
}

/// The limit of advice is that of the exploration with the changes, not that of the one that has found the pairs.
#[test]
fn advice_has_its_own_limit() {
    let system = pairs(1, 1);
    let until = Until::Found { advice: true };
    let question =
        Question { advice: true, until, races: false, ..question(Strategy::Dpor, &[Model::Tso]) };
    let answer = ask(&question, &Fake::new(&system), &Steady::new(None));
    assert!(answer.models[0].limit.is_some());
    assert_eq!(
        answer.advice.map(|advice| (advice.changes.is_some(), advice.limit)),
        Some((true, None))
    );
}
