//! From an answer to evidence that others can execute again, and whether what they executed is what it says.

use weakspot_core::{Model, Verdict};
use weakspot_witness::{RunEvidence, Wrong, model_key};

use crate::{Answer, Shown, ShownFailure};

/// Why evidence is not confirmed by what was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unconfirmed {
    /// What was executed is something else.
    Otherwise(String),
    /// A limit was reached before everything was executed, or decided, again.
    Unknown(String),
}

/// What shows the verdict of an answer; nothing if it is unknown, or if what is wrong cannot be executed again.
#[must_use]
pub fn evidence(found: &Answer) -> Option<RunEvidence> {
    let schedule = |model, token: &str, shared: &[(u64, u64)], wrong| {
        let (token, shared) = (token.to_owned(), shared.to_vec());
        Some(RunEvidence::Schedule { model, token, shared, wrong })
    };
    let violated = |verdict: &Verdict| *verdict == Verdict::Violated;
    if let Some(failed) = found.failed.iter().find(|f| !f.advisory && violated(&f.verdict)) {
        let known = |f: &&ShownFailure| !f.failure.seen.schedule.is_empty();
        let shown = failed.failures.iter().find(known)?;
        let wrong = Wrong::Failure(shown.failure.kind.clone());
        return schedule(failed.model, &shown.failure.seen.schedule, &shown.shared, wrong);
    }
    if let Some(answer) = found.models.iter().find(|m| !m.advisory && violated(&m.verdict)) {
        let pair = answer.findings.iter().find(|f| matches!(f.shown, Shown::Again(_)))?;
        let wrong = Wrong::Pair(pair.places.clone());
        return schedule(answer.model, &pair.found.seen.schedule, &pair.shared, wrong);
    }
    if let Some(transactions) = &found.transactions
        && violated(&transactions.verdict)
    {
        let token = &transactions.found.as_ref()?.schedule;
        return schedule(Model::Sc, token, &transactions.shared, Wrong::Transactions);
    }
    let verdicts = found.verdicts();
    let mut counted = verdicts.iter().filter(|judged| !judged.advisory);
    if counted.any(|judged| judged.verdict != Verdict::Holds) {
        return None;
    }
    let of_model = found.failed.iter().filter(|failed| !failed.advisory);
    Some(RunEvidence::Explored(of_model.map(|f| (f.model, f.executions, f.steps)).collect()))
}

/// By what an answer confirms evidence of the same question.
pub fn confirmed(evidence: &RunEvidence, found: &Answer) -> Result<String, Unconfirmed> {
    match evidence {
        RunEvidence::Schedule { model, wrong, .. } => {
            let (is_seen, what) = match wrong {
                Wrong::Failure(kind) => {
                    let mut failed = found.failed.iter().filter(|failed| failed.model == *model);
                    let is_seen =
                        failed.any(|f| f.failures.iter().any(|f| f.failure.kind == *kind));
                    (is_seen, format!("fails ({kind})"))
                }
                Wrong::Pair(places) => {
                    let mut answers = found.models.iter().filter(|answer| answer.model == *model);
                    let is_seen = answers.any(|a| a.findings.iter().any(|f| f.places == *places));
                    let [store, access] = places;
                    (is_seen, format!("lets {access} overtake the store at {store}"))
                }
                Wrong::Transactions => {
                    let answer = found.transactions.as_ref();
                    let violated = |verdict: &Verdict| *verdict == Verdict::Violated;
                    let is_seen =
                        *model == Model::Sc && answer.is_some_and(|a| violated(&a.verdict));
                    (is_seen, "is not serializable".to_owned())
                }
            };
            match is_seen {
                true => Ok(format!("by an execution that {what}, executed again")),
                false => Err(Unconfirmed::Otherwise(format!(
                    "executed again, it is not one that {what}"
                ))),
            }
        }
        RunEvidence::Explored(claimed) => all_explored(claimed, found),
    }
}

fn all_explored(claimed: &[(Model, u64, u64)], found: &Answer) -> Result<String, Unconfirmed> {
    let otherwise = |why| Err(Unconfirmed::Otherwise(why));
    if claimed.is_empty() {
        return otherwise("nothing was executed".to_owned());
    }
    if (1..claimed.len()).any(|at| claimed[..at].iter().any(|other| other.0 == claimed[at].0)) {
        return otherwise("a model is there twice".to_owned());
    }
    let transactions = found.transactions.as_ref().map(|answer| &answer.verdict);
    if !matches!(transactions, None | Some(Verdict::Holds)) {
        return otherwise("its transactions are not serializable in all executions".to_owned());
    }
    for &(model, executions, steps) in claimed {
        let Some(failed) = found.failed.iter().find(|failed| failed.model == model) else {
            return otherwise(format!("{} is not asked about", model_key(model)));
        };
        if let Verdict::Unknown(_) = failed.verdict {
            let why = "not everything could be executed again within the limits";
            return Err(Unconfirmed::Unknown(why.to_owned()));
        }
        if failed.verdict != Verdict::Holds {
            return otherwise(format!("an execution under {model} fails"));
        }
        let seen = (failed.executions, failed.steps);
        if seen != (executions, steps) {
            return otherwise(format!(
                "there are {} executions with {} steps under {model}, not {executions} with {steps}",
                seen.0, seen.1
            ));
        }
    }
    // Robustness, too, and transactions with fences, if that was asked.
    let verdicts = found.verdicts();
    for judged in verdicts.iter().filter(|judged| !judged.advisory) {
        match judged.verdict {
            Verdict::Holds => {}
            Verdict::Violated => {
                return otherwise(format!("what else is asked under {} is violated", judged.model));
            }
            Verdict::Unknown(_) => {
                let why = "not all that is asked could be decided again within the limits";
                return Err(Unconfirmed::Unknown(why.to_owned()));
            }
        }
    }
    let all: u64 = claimed.iter().map(|&(_, executions, _)| executions).sum();
    Ok(format!("by all executions ({all}), none of which fails, executed again"))
}
