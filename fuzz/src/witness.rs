//! What readers of witnesses and the checker have to do with every text.

use std::sync::OnceLock;

use weakspot_core::certify::{self, Shows};
use weakspot_core::{Evidence, Model, Program, Verdict, fence_proof, reference};
use weakspot_lang::patch::{Patches, patches};
use weakspot_lang::{Format, parse};
use weakspot_witness::{
    FenceWitness, HistoryWitness, LogWitness, SerialWitness, TxnHistoryWitness, Witness,
    history_witness_json,
};

/// The programs that witnesses are checked against, whatever they say that they are about.
const PROGRAMS: [(Format, &str); 2] = [
    (Format::Litmus, include_str!("../seeds/SB.litmus")),
    (Format::Weak, include_str!("../seeds/lock.weak")),
];

/// Enough for every search of these programs.
const STATES: usize = 20_000;

struct Known {
    program: Program,
    patches: Patches,
    /// Under each model of [`Model::ALL`], whether the condition is valid, everything asked holds, and the program is
    /// robust, by definition.
    truth: Vec<[Option<bool>; 3]>,
}

fn known() -> &'static [Known] {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let of = |(format, text): (Format, &str)| {
            let program = parse(format, text).expect("a program").program;
            let patches = patches(format, text).expect("places");
            let truth = Model::ALL.map(|model| truth(&program, model)).to_vec();
            Known { program, patches, truth }
        };
        PROGRAMS.into_iter().map(of).collect()
    })
}

/// What holds by brute force; `None` where that does not decide.
fn truth(program: &Program, model: Model) -> [Option<bool>; 3] {
    let is = |checked: Result<(), certify::Rejected>| checked.is_ok();
    let litmus =
        program.condition.is_some().then(|| {
            is(certify::search(program, model, &Verdict::Holds, STATES))
        });
    let reach = is(certify::search_everything(program, model, &Verdict::Holds, STATES));
    let robust = reference::robust(program, &[model], STATES).map(|robust| robust == [true]);
    [litmus, Some(reach), robust]
}

/// Reads `bytes` as a witness of every kind. That must not panic, and what was read can be written and read again. What it
/// claims about two small programs is accepted only if it is so.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check_witness(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(read) = LogWitness::from_json(text) {
        assert_eq!(LogWitness::from_json(&read.to_json()).as_ref(), Ok(&read));
    }
    if let Ok(read) = SerialWitness::from_json(text) {
        assert_eq!(SerialWitness::from_json(&read.to_json()).as_ref(), Ok(&read));
    }
    if let Ok(read) = TxnHistoryWitness::from_json(text) {
        assert_eq!(TxnHistoryWitness::from_json(&read.to_json()).as_ref(), Ok(&read));
    }
    if let Ok(read) = HistoryWitness::from_json(text) {
        let HistoryWitness { input_hash, number, model, verdict, evidence } = &read;
        let again = history_witness_json(input_hash, *number, *model, verdict, evidence);
        assert_eq!(HistoryWitness::from_json(&again).as_ref(), Ok(&read));
    }
    if let Ok(read) = FenceWitness::from_json(text) {
        assert_eq!(FenceWitness::from_json(&read.to_json()).as_ref(), Ok(&read));
        known().iter().for_each(|known| check_fences(known, &read));
    }
    if let Ok(read) = Witness::from_json(text) {
        let again = Witness::from_json(&read.to_json()).expect("what is written is read");
        assert_eq!(Witness { evidence: Evidence::Exhausted { states: 0 }, ..again },
                   Witness { evidence: Evidence::Exhausted { states: 0 }, ..read.clone() });
        known().iter().for_each(|known| check_program(known, &read));
    }
}

/// Whatever is accepted is so.
fn check_program(known: &Known, witness: &Witness) {
    let Witness { model, verdict, evidence, .. } = witness;
    let program = &known.program;
    let place = Model::ALL.iter().position(|other| other == model).expect("a model");
    let truth = known.truth[place];
    let set = |shows| match evidence {
        Evidence::Inductive(set) => {
            certify::inductive_within(program, *model, shows, set, 1 << 20).is_ok()
        }
        Evidence::Abstracted { abstraction, .. } => {
            shows == Shows::Everything
                && certify::search_abstraction(program, *model, abstraction, 1_000).is_ok()
        }
        Evidence::Run(_) => true,
        Evidence::Exhausted { .. } => false,
    };
    let accepted = [
        matches!(evidence, Evidence::Run(_))
            && certify::condition(program, *model, verdict, evidence).is_ok(),
        certify::everything(program, *model, verdict, evidence).is_ok() && set(Shows::Everything),
        certify::robust(program, *model, verdict, evidence).is_ok() && set(Shows::Robust),
    ];
    for ((question, accepted), truth) in
        ["litmus", "reach", "robust"].into_iter().zip(accepted).zip(truth)
    {
        if let (true, Some(truth)) = (accepted, truth) {
            assert_eq!(*verdict == Verdict::Holds, truth, "{question} under {model}");
        }
    }
}

/// Runs that miss the goal are there only if it is missed.
fn check_fences(known: &Known, witness: &FenceWitness) {
    let FenceWitness { model, goal, costs, .. } = witness;
    let places = &known.patches.places;
    let claimed = witness.claimed();
    if fence_proof::check_claim(places, (*model, *goal), costs, claimed).is_err() {
        return;
    }
    let place = Model::ALL.iter().position(|other| other == model).expect("a model");
    let truth = match goal {
        weakspot_core::Goal::Robust => known.truth[place][2],
        // An `exists` is nothing that fences are for.
        weakspot_core::Goal::Safe => None,
    };
    if let (Some(truth), false) = (truth, witness.clauses.is_empty()) {
        assert!(!truth, "robust under {model}");
    }
    if let Some((fences, Evidence::Inductive(set))) = &witness.fences
        && let Ok(fenced) = known.patches.program(fences)
    {
        let fenced = goal.question(&fenced);
        let shows = match goal {
            weakspot_core::Goal::Robust => Shows::Robust,
            weakspot_core::Goal::Safe => Shows::Everything,
        };
        let _ = certify::inductive_within(&fenced, *model, shows, set, 1 << 20);
    }
}
