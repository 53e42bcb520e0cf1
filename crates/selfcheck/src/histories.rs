//! Recorded histories: which models they satisfy, by every method, the definitions and each other.

use std::time::Duration;

use weakspot_core::history::{HistoryWay, machine_allows, satisfies};
use weakspot_core::testing::{
    OpsSize, OpsSource, Rng, any_times, mutate_ops, random_ops, shrink_ops, small_ops,
};
use weakspot_core::{
    Certification, History, HistoryModel, Limits, OpKind, OpNames, Value, Verdict,
};
use weakspot_history::{Complete, Method, check as ask};
use weakspot_trace::{HistoryFormat, HistoryReader, Recorded, write_history};

use weakspot_witness::{history_witness_json, input_hash};

use crate::forged::Input;
use crate::{Disagreement, Stop, Subject, Until, transactional};

/// What satisfies the first satisfies the second.
const IMPLIED: [(HistoryModel, HistoryModel); 14] = [
    (HistoryModel::Lin, HistoryModel::Sc),
    (HistoryModel::Lin, HistoryModel::TsoRt),
    (HistoryModel::TsoRt, HistoryModel::Tso),
    (HistoryModel::Sc, HistoryModel::Tso),
    (HistoryModel::Tso, HistoryModel::Pso),
    (HistoryModel::Pso, HistoryModel::Coherence),
    (HistoryModel::Pso, HistoryModel::PsoOwn),
    (HistoryModel::PsoOwn, HistoryModel::Coherence),
    (HistoryModel::Sc, HistoryModel::Ccm),
    (HistoryModel::Ccm, HistoryModel::Cm),
    (HistoryModel::Ccm, HistoryModel::Ccv),
    (HistoryModel::Cm, HistoryModel::Cc),
    (HistoryModel::Ccv, HistoryModel::Cc),
    (HistoryModel::Ccm, HistoryModel::Wccm),
];

/// Those that have a machine.
const MACHINES: [HistoryModel; 6] = [
    HistoryModel::Sc,
    HistoryModel::Tso,
    HistoryModel::Pso,
    HistoryModel::PsoOwn,
    HistoryModel::Lin,
    HistoryModel::TsoRt,
];

/// Up to so many operations the definitions are asked, too.
const SMALL: usize = 12;

/// All questions about a random history, and about one of transactions.
pub(crate) fn check(rng: &mut Rng, compared: &mut u64, stop: Stop<'_>) -> Option<Disagreement> {
    let mut ops = match rng.below(8) {
        0 => {
            let size = OpsSize {
                threads: 2 + rng.below(6),
                vars: 1 + rng.below(8),
                ops: 600,
                fences: 40,
                updates: 10,
            };
            let source = OpsSource::ALL[rng.below(3)];
            let mut ops = random_ops(rng, size, source);
            let changes = rng.below(2);
            mutate_ops(rng, &mut ops, changes);
            ops
        }
        _ => small_ops(rng, OpsSize { threads: 4, vars: 3, ops: SMALL, fences: 8, updates: 4 }),
    };
    if rng.one_in(2) {
        any_times(rng, &mut ops);
    }
    let Some(what) = disagreement(&ops, compared, stop) else {
        let found = witnesses(rng, &ops, compared, stop);
        return found.or_else(|| transactional::check(rng, compared, stop));
    };
    let ops = shrink_ops(&ops, &|ops| disagreement(ops, &mut 0, stop).is_some());
    let what = disagreement(&ops, &mut 0, stop).unwrap_or(what);
    Some(Disagreement {
        subject: Subject::Histories,
        round: 0,
        what,
        files: vec![("hist", text(&ops).unwrap_or_default())],
        commands: vec![
            "weakspot history FILE.hist".to_owned(),
            "weakspot history --complete sat FILE.hist".to_owned(),
        ],
    })
}

fn disagreement(ops: &History, compared: &mut u64, stop: Stop<'_>) -> Option<String> {
    questions(ops, compared, stop).err()
}

fn questions(ops: &History, compared: &mut u64, stop: Stop<'_>) -> Result<(), String> {
    let mut verdicts = Vec::new();
    for model in HistoryModel::EVERY {
        let verdict = verdict(ops, model, compared, stop)?;
        verdicts.push((model, verdict));
    }
    let of = |model| verdicts.iter().find(|(of, _)| *of == model).and_then(|(_, verdict)| *verdict);
    for (strong, weak) in IMPLIED {
        *compared += 1;
        if of(strong) == Some(true) && of(weak) == Some(false) {
            return Err(format!("{} is satisfied, {} is not", strong.key(), weak.key()));
        }
    }
    if let Some(again) = text(ops).and_then(|text| read(&text)) {
        for model in MACHINES {
            *compared += 1;
            let (before, after) = (of(model), verdict(&again, model, &mut 0, stop)?);
            if before.is_some() && after.is_some() && before != after {
                return Err(format!(
                    "{}: another answer after it was written and read",
                    model.key()
                ));
            }
        }
    }
    Ok(())
}

/// Witnesses about a small history, under one of the models: the true one, and false ones.
fn witnesses(
    rng: &mut Rng,
    ops: &History,
    compared: &mut u64,
    stop: Stop<'_>,
) -> Option<Disagreement> {
    let of_file = |ops: &History| text(ops).and_then(|text| Some((read(&text)?, text)));
    let (ops, text) = of_file(ops).filter(|(ops, _)| ops.len() <= SMALL)?;
    let models: Vec<HistoryModel> = HistoryModel::EVERY
        .into_iter()
        .filter(|model| !model.has_real_time() || ops.has_times())
        .collect();
    let model = models[rng.below(models.len())];
    let input = Input::new("wshist", &text)?;
    let wrong = |what: &str, witness: String| {
        Some(input.wrong(Subject::Histories, format!("{}: {what}", model.key()), witness))
    };
    let (right, is_checked) = witness(&text, &ops, model, stop)?;
    *compared += 1;
    if is_checked && !input.certifies(&right) {
        return wrong("a witness of an answer that was checked is not certified", right);
    }
    let holds = satisfies(&ops, model);
    let others = (0..2 * SMALL).find_map(|_| {
        let mut other = ops.clone();
        mutate_ops(rng, &mut other, 1);
        of_file(&other).filter(|(other, _)| satisfies(other, model) != holds)
    });
    let (other, _) = others?;
    let (witness, _) = witness(&text, &other, model, stop)?;
    let forged = input.forged(rng, &witness, compared)?;
    wrong("a witness of what is false by definition is certified", forged)
}

/// The witness file of the answer about a history, and whether all of it was checked.
fn witness(
    text: &str,
    ops: &History,
    model: HistoryModel,
    stop: Stop<'_>,
) -> Option<(String, bool)> {
    let time = Some(Duration::from_secs(2));
    let limits = Limits { time, memory: Some(256 << 20), ..Limits::UNLIMITED };
    let method = Method { complete: Complete::Auto, saturate: true };
    let answer = ask(ops, model, method, &limits, &mut Until(stop)).ok()?;
    let way = HistoryWay { reads: Vec::new(), evidence: (*answer.evidence.clone()?).clone() };
    let hash = input_hash(text.as_bytes());
    let witness = history_witness_json(&hash, 1, model, &answer.verdict, &[way]);
    Some((witness, answer.certification() == Certification::Checked))
}

/// Whether the history satisfies the model; `None` if that takes too long.
fn verdict(
    ops: &History,
    model: HistoryModel,
    compared: &mut u64,
    stop: Stop<'_>,
) -> Result<Option<bool>, String> {
    let key = model.key();
    let mut known: Option<(String, bool)> = None;
    let mut agree = |name: String, holds: bool| match &known {
        None => {
            known = Some((name, holds));
            Ok(())
        }
        Some((_, other)) if *other == holds => {
            *compared += 1;
            Ok(())
        }
        Some((other, _)) => Err(format!("{key}: {name} says {holds}, {other} does not")),
    };
    if ops.len() <= SMALL {
        agree("the definition".to_owned(), satisfies(ops, model))?;
        if MACHINES.contains(&model)
            && let Some(allowed) = machine_allows(ops, model, 100_000)
        {
            agree("the machine".to_owned(), allowed)?;
        }
    }
    let all = Complete::ALL.into_iter().flat_map(|c| [(c, true), (c, false)]);
    for (complete, saturate) in all {
        let enumerates = complete == Complete::Enum || complete == Complete::Sat && !saturate;
        if enumerates && ops.len() > 4 * SMALL {
            continue;
        }
        let time = Some(Duration::from_secs(2));
        let limits = Limits { time, memory: Some(256 << 20), ..Limits::UNLIMITED };
        let answer = ask(ops, model, Method { complete, saturate }, &limits, &mut Until(stop))
            .map_err(|why| format!("{key}: {} is rejected: {why}", complete.key()))?;
        let with = if saturate { "with" } else { "without" };
        match answer.verdict {
            Verdict::Unknown(_) => {}
            _ if answer.certification() == Certification::NotChecked => {
                return Err(format!("{key}: {}: nothing was checked", complete.key()));
            }
            ref verdict => {
                let name = format!("{} {with} saturation", complete.key());
                agree(name, *verdict == Verdict::Holds)?;
            }
        }
    }
    Ok(known.map(|(_, holds)| holds))
}

/// The history as a file, each write with a value of its own.
fn text(ops: &History) -> Option<String> {
    let mut values: Vec<Value> = vec![0; ops.len()];
    for op in (0..ops.len() as u32).filter(|&op| ops.writes(op)) {
        values[op as usize] = Value::from(op) + 1;
    }
    for op in (0..ops.len() as u32).filter(|&op| ops.kind(op) == OpKind::Read) {
        values[op as usize] = ops.from(op).map_or(0, |from| Value::from(from) + 1);
    }
    let names = OpNames {
        threads: (0..ops.threads()).map(|thread| format!("t{thread}")).collect(),
        vars: (0..ops.vars()).map(|var| format!("x{var}")).collect(),
        initial: vec![0; ops.vars()],
        values,
    };
    let (notes, unchecked) = (Vec::new(), Vec::new());
    let recorded = Recorded { id: None, ops: ops.clone(), names, notes, unchecked };
    let mut out = Vec::new();
    write_history(&mut out, HistoryFormat::Text, &recorded).ok()?;
    String::from_utf8(out).ok()
}

fn read(text: &str) -> Option<History> {
    let mut reader =
        HistoryReader::new(Box::new(std::io::Cursor::new(text.to_owned())), HistoryFormat::Text);
    reader.next().ok()?.map(|recorded| recorded.ops)
}
