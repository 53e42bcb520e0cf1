//! For each question: the answer of its engine is certified, and the same answer with another
//! verdict or with evidence that does not hold is rejected.

use weakspot_core::certify::Rejected;
use weakspot_core::monitors::Form;
use weakspot_core::serial::{BufferedReads, Question, TraceMode, TxnCycle};
use weakspot_core::testing::trace_of;
use weakspot_core::{
    Certification, Certified, Claim, Drain, Effort, FenceCosts, FencePlaces, Goal,
};
use weakspot_embed::explore::{
    Decide, FenceQuestion, Strategy, fences, outcomes, robust, serializable, triangular_race_free,
};
use weakspot_embed::history_engine::{Complete, Method};
use weakspot_embed::serial::{
    ExecutionAnswer, ExecutionEvidence, TraceMethod, check_execution, check_trace,
};
use weakspot_embed::{
    Error, Evidence, Format, HistoryModel, Limits, Model, Parsed, Silent, Verdict, history_engine,
    monitor, parse, reach, read_histories, read_log,
};

const TSO: (Model, BufferedReads) = (Model::Tso, BufferedReads::Exact);
const LIMITS: Limits = Limits::UNLIMITED;

fn effort() -> Effort {
    Effort::within(&LIMITS.begin())
}

/// Store buffering, with or without fences.
fn store_buffering(fence: &str) -> Parsed {
    let text = format!(
        "shared x, y
         thread left {{ var r; transaction {{ x = 1; {fence} r = y }} }}
         thread right {{ var r; transaction {{ y = 1; {fence} r = x }} }}
         never (left.r == 0 && right.r == 0)"
    );
    parse(Format::Weak, &text).expect("a program")
}

/// The opposite.
fn other(verdict: &Verdict) -> Verdict {
    match verdict {
        Verdict::Holds => Verdict::Violated,
        _ => Verdict::Holds,
    }
}

/// Both answers to a question about store buffering are checked, and rejected with the other
/// verdict or with the other evidence.
fn check<A: Claim + Clone>(
    ask: impl Fn(&Parsed) -> Certified<A>,
    forge: impl Fn(&mut A, Verdict, Option<&A>),
    certify: impl Fn(&Parsed, A) -> Result<Certified<A>, Rejected>,
) {
    let programs = [store_buffering(""), store_buffering("fence;")];
    let answers = programs.each_ref().map(ask);
    for (i, parsed) in programs.iter().enumerate() {
        assert_eq!(answers[i].certification(), Certification::Checked);
        let answer = A::clone(&answers[i]);
        certify(parsed, answer.clone()).expect("it was accepted before");
        let mut verdict = answer.clone();
        forge(&mut verdict, other(answer.verdict()), None);
        assert!(certify(parsed, verdict).is_err(), "another verdict");
        let mut both = answer.clone();
        forge(&mut both, other(answer.verdict()), Some(&answers[1 - i]));
        assert!(certify(parsed, both).is_err(), "verdict and evidence of another program");
    }
}

#[test]
fn robustness() {
    check(
        |p| robust(&p.program, Model::Tso, Decide::Pending, &LIMITS, &mut Silent).expect("it"),
        |a, verdict, other| {
            a.verdict = verdict;
            a.evidence = other.map_or(a.evidence.take(), |other| other.evidence.clone());
        },
        |p, a| Certified::robust(&p.program, Model::Tso, a, effort()),
    );
}

#[test]
fn triangular_races() {
    check(
        |p| triangular_race_free(&p.program, &LIMITS, &mut Silent).expect("it"),
        |a, verdict, other| {
            a.verdict = verdict;
            a.evidence = other.map_or(a.evidence.take(), |other| other.evidence.clone());
        },
        |p, a| Certified::triangular_race_free(&p.program, a, effort()),
    );
}

#[test]
fn reachability() {
    check(
        |p| reach(p, Model::Tso).expect("it"),
        |a, verdict, other| {
            a.verdict = verdict;
            a.evidence = other.map_or(a.evidence.take(), |other| other.evidence.clone());
        },
        |p, a| Certified::everything(&p.program, Model::Tso, a, effort()),
    );
}

#[test]
fn conditions() {
    check(
        |p| {
            let found = outcomes(&p.program, Model::Tso, Strategy::Auto, &LIMITS, &mut Silent);
            found.expect("it").judge(&p.program, Model::Tso).expect("it")
        },
        |a, verdict, other| {
            a.verdict = verdict;
            a.evidence = other.map_or(a.evidence.take(), |other| other.evidence.clone());
        },
        |p, a| Certified::condition(&p.program, Model::Tso, a, effort()),
    );
}

#[test]
fn transactions() {
    let ask = |p: &Parsed| {
        serializable(&p.program, &p.transactions, TSO, &LIMITS, &mut Silent).expect("it")
    };
    let parsed = store_buffering("fence;");
    let answer = ask(&parsed);
    assert_eq!(answer.certification(), Certification::Checked);
    let mut forged = answer.clone().into_answer();
    forged.verdict = other(&forged.verdict);
    let (program, marks) = (&parsed.program, &parsed.transactions);
    assert!(Certified::transactions(program, marks, TSO, forged, effort()).is_err());
    let mut forged = answer.into_answer();
    forged.evidence = Some(Evidence::Exhausted { states: 1 });
    (forged.verdict, forged.cycle) = (Verdict::Holds, None);
    let certified = Certified::transactions(program, marks, TSO, forged, effort());
    assert_eq!(certified.err(), Some(Rejected::Contradicted));
}

#[test]
fn fences_that_are_needed() {
    let costs = FenceCosts { full: 1, store_store: None };
    let question = FenceQuestion { model: Model::Tso, goal: Goal::Robust, costs };
    let parsed = store_buffering("");
    let places = FencePlaces::at_points(&parsed.program);
    let certify = |answer| {
        let asked = (Model::Tso, Goal::Robust);
        Certified::fences(&places, asked, &costs, answer, effort(), &mut || true)
    };
    let answer = fences(&places, question, &LIMITS, &mut Silent).expect("an answer");
    assert_eq!(answer.certification(), Certification::Checked);
    let answer = answer.into_answer();
    assert_eq!(answer.fences.as_ref().map(Vec::len), Some(2));
    let mut verdict = answer.clone();
    verdict.verdict = Verdict::Holds;
    assert!(certify(verdict).is_err());
    // One fence is not enough, whatever is said about what is optimal.
    let mut few = answer.clone();
    few.fences.as_mut().map(Vec::pop);
    assert!(certify(few.clone()).is_err());
    few.optimal = false;
    assert_eq!(certify(few).err(), Some(Rejected::Contradicted));
    let mut no_run = answer;
    no_run.clauses.clear();
    assert!(certify(no_run).is_err());
}

#[test]
fn histories() {
    let recorded = read_histories("t0: w x 1\nt0: r y 0\nt1: w y 1\nt1: r x 0\n".as_bytes());
    let ops = &recorded.expect("a history")[0].ops;
    let method = Method { complete: Complete::Auto, saturate: true };
    for model in HistoryModel::ALL {
        let answer = history_engine::check(ops, model, method, &LIMITS, &mut Silent);
        let answer = answer.expect("an answer");
        assert_eq!(answer.certification(), Certification::Checked, "{model:?}");
        let mut forged = answer.into_answer();
        forged.verdict = other(&forged.verdict);
        assert!(Certified::history(ops, model, forged, effort()).is_err(), "{model:?}");
    }
}

#[test]
fn traces() {
    let broken = trace_of("wr0(x)^0 wr1(x)^1 rd0(x)^0 rd1(y)^1");
    let fine = trace_of("wr0(x)^0 rd0(x)^0 fn0^0 wr1(x)^1 rd1(y)^1");
    let ask = |events: &[_]| {
        let mode = TraceMode::Exact(BufferedReads::Exact);
        check_trace(events, mode, TraceMethod::Auto, &LIMITS, &mut Silent).expect("an answer")
    };
    let (bad, good) = (ask(&broken), ask(&fine));
    assert_eq!((&bad.verdict, &good.verdict), (&Verdict::Violated, &Verdict::Holds));
    assert!(bad.certification().is_checked() && good.certification().is_checked());
    let certify = |events, answer| {
        Certified::trace(events, &[], TraceMode::Exact(BufferedReads::Exact), answer, effort())
    };
    assert!(certify(&fine, bad.clone().into_answer()).is_err());
    assert!(certify(&broken, good.into_answer()).is_err());
    let mut forged = bad.into_answer();
    forged.verdict = Verdict::Holds;
    assert!(certify(&broken, forged).is_err());
}

#[test]
fn executions_and_logs() {
    let log = "t0: begin\nt0: wr x\nt1: rd x\nt1: wr y\nt0: rd y\nt0: end\n";
    let (log, tables) = read_log(log.as_bytes()).expect("a log");
    let answer =
        check_execution(&log.events, &tables, Question::ScSerializable).expect("an answer");
    let is_cycle = matches!(answer.evidence, Some(ExecutionEvidence::Cycle(_)));
    assert!(answer.verdict == Verdict::Holds || is_cycle);
    assert_eq!(answer.certification(), Certification::Checked);
    // Nobody but the checks of core can say that an execution was checked.
    let none = ExecutionAnswer {
        verdict: Verdict::Violated,
        evidence: Some(ExecutionEvidence::Cycle(TxnCycle(Vec::new()))),
        events: None,
    };
    assert_eq!(Certified::too_large(none).certification(), Certification::TooLarge);

    let broken = "t0: wr x\nt0: rd y\nt1: wr y\nt1: rd x\n";
    let fine = "t0: wr x\nt0: fence\nt0: rd y\nt1: wr y\nt1: fence\nt1: rd x\n";
    for (log, verdict) in [(broken, Verdict::Violated), (fine, Verdict::Holds)] {
        let (log, tables) = read_log(log.as_bytes()).expect("a log");
        let mut watch = monitor(&[Model::Tso, Model::Pso(Drain::All)]);
        watch.follow(&log, &tables).expect("an SC execution");
        let answer = watch.answer(&tables, Model::Tso, None).expect("an answer");
        assert_eq!((&answer.verdict, answer.certification()), (&verdict, Certification::Checked));
        let mut forged = answer.into_answer();
        forged.verdict = other(&forged.verdict);
        let asked = (Model::Tso, Form::All);
        assert!(Certified::delayed(&log.events, &tables, forged.clone()).is_err());
        assert!(Certified::silent(&log.events, &tables, asked, forged).is_err());
    }
    // Values that no SC execution has are noticed.
    let weak = "t0: wr x 1\nt0: rd y 0\nt1: wr y 1\nt1: rd x 0\n";
    let (log, tables) = read_log(weak.as_bytes()).expect("a log");
    assert!(monitor(&[Model::Tso]).follow(&log, &tables).is_err());
}

/// Where a program does less than the machine, as with an `sc` that later loads may overtake, only SC is
/// answered for: store buffering by `sc` would be robust here, and is not on the machine.
#[test]
fn no_answer_where_the_machine_does_more() {
    let text = "RISCV SB+sc
{ 0:x6=x; 0:x8=y; 1:x6=y; 1:x8=x; 0:x5=1; 1:x5=1; }
 P0               | P1               ;
 lr.w x9,0(x6)    | lr.w x9,0(x6)    ;
 sc.w x10,x5,0(x6)| sc.w x10,x5,0(x6);
 lw x7,0(x8)      | lw x7,0(x8)      ;
exists (0:x10=0 /\\ 1:x10=0 /\\ 0:x7=0 /\\ 1:x7=0)";
    let parsed = parse(Format::Litmus, text).expect("a test");
    for model in [Model::Tso, Model::Pso(Drain::All)] {
        assert!(matches!(weakspot_embed::robust(&parsed, model), Err(Error::Text(_))));
        assert!(matches!(reach(&parsed, model), Err(Error::Text(_))));
    }
    let answer = reach(&parsed, Model::Sc).expect("an answer");
    assert_eq!(answer.verdict, Verdict::Violated);
    assert!(weakspot_embed::robust(&parsed, Model::Sc).is_ok());
}
