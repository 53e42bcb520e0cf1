//! All models at once: which of them a history satisfies, as a picture of which model is stronger
//! than which (Fig. 2 of the paper, with PSO and coherence, and with what is known since).

use std::fmt::Write;

use weakspot_core::{HistoryModel, Verdict};

use super::{HistoryAnswer, head, outcome, push_notes, same_violation, unchecked, why};
use crate::text::table::{Paint, Style, paragraph};

/// Stronger models are above the weaker ones that they imply.
const PICTURE: &str = "
                @ SC
              ╱      ╲
        @ CCM          @ TSO
       ╱      ╲      ╱      ╲
   @ CM        @ wCCM        @ PSO
       ╲         │             │
        ╲      @ CCv         @ coherence
         ╲    ╱
          @ CC
";

/// Which of all models a history satisfies: a line that names the strongest that hold, a picture,
/// and, with `details`, why the weakest that are violated are. The answers are for one history.
pub(super) fn history_all_text(answers: &[HistoryAnswer<'_>], style: Style) -> String {
    let Some(first) = answers.first() else { return String::new() };
    let mut out = format!("{}: {}\n", head(first), classification(answers));
    if !style.details {
        return out;
    }
    push_notes(&mut out, first, &[]);
    out += &picture(answers, style.color);
    let mut before: Vec<HistoryAnswer<'_>> = Vec::new();
    for a in answers {
        let shown = match a.head.verdict {
            Verdict::Violated => !has(answers, &Verdict::Violated, |m| implies(a.head.model, m)),
            Verdict::Unknown(_) => true,
            Verdict::Holds => false,
        };
        if !shown {
            continue;
        }
        if before.iter().any(|b| same_answer(a, b)) {
            continue;
        }
        let same = answers.iter().rev().filter(|b| same_answer(a, b));
        let models: Vec<&str> = same.map(|b| b.head.model.name()).collect();
        let text = format!("  {}: {}", models.join(", "), outcome(a));
        out.push('\n');
        out += &paragraph(&text, style.columns(), 4);
        out += &why(a, &before, style);
        before.push(*a);
    }
    out.push('\n');
    out
}

/// Whether one line can tell of both answers.
fn same_answer(a: &HistoryAnswer<'_>, b: &HistoryAnswer<'_>) -> bool {
    same_violation(a, b)
        || matches!(a.head.verdict, Verdict::Unknown(_)) && a.head.verdict == b.head.verdict
}

/// Whether an answer with this verdict is for such a model.
fn has(
    answers: &[HistoryAnswer<'_>],
    verdict: &Verdict,
    model: impl Fn(HistoryModel) -> bool,
) -> bool {
    answers.iter().any(|a| a.head.verdict == verdict && model(a.head.model))
}

/// The strongest models that hold, and the weakest that do not.
fn classification(answers: &[HistoryAnswer<'_>]) -> String {
    let list = |chosen: &dyn Fn(&HistoryAnswer<'_>) -> bool| -> Vec<&'static str> {
        let chosen = answers.iter().rev().filter(|a| chosen(a));
        chosen.map(|a| a.head.model.name()).collect()
    };
    let holds = |a: &HistoryAnswer<'_>| *a.head.verdict == Verdict::Holds;
    if answers.iter().all(holds) {
        let unchecked = answers.first().map_or(String::new(), unchecked);
        return format!("satisfies SC{unchecked}, and so all models");
    }
    let strongest =
        list(&|a| holds(a) && !has(answers, &Verdict::Holds, |m| implies(m, a.head.model)));
    let is_sc = |m: HistoryModel| m == HistoryModel::Sc;
    let not_sc = has(answers, &Verdict::Violated, is_sc);
    // That SC is violated is said first.
    let weakest = list(&|a| {
        *a.head.verdict == Verdict::Violated
            && !is_sc(a.head.model)
            && !has(answers, &Verdict::Violated, |m| implies(a.head.model, m))
    });
    let unknown = list(&|a| matches!(a.head.verdict, Verdict::Unknown(_)));
    let mut parts = Vec::new();
    if strongest.is_empty() && unknown.is_empty() {
        parts.push("satisfies no model".to_owned());
    }
    if !strongest.is_empty() {
        let unchecked = answers.first().map_or(String::new(), unchecked);
        parts.push(format!("satisfies {}{unchecked}", listed(&strongest)));
    }
    for (verb, models) in [("violates", weakest), ("unknown for", unknown)] {
        if !models.is_empty() {
            parts.push(format!("{verb} {}", listed(&models)));
        }
    }
    let sc = if not_sc { "not SC: " } else { "" };
    format!("{sc}{}", parts.join(", "))
}

/// `A, B and C`.
fn listed(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

fn picture(answers: &[HistoryAnswer<'_>], color: bool) -> String {
    let mut out = String::new();
    for line in PICTURE.lines() {
        let mut line = line.to_owned();
        for a in answers {
            let name = a.head.model.name();
            let mark = match a.head.verdict {
                Verdict::Holds => "✓",
                Verdict::Violated => "✗",
                Verdict::Unknown(_) => "?",
            };
            let after = |rest: &str| !rest.starts_with(char::is_alphanumeric);
            let place = format!("@ {name}");
            if let Some(at) = line.find(&place)
                && after(&line[at + place.len()..])
            {
                let text = Paint(color).verdict(&format!("{mark} {name}"), a.head.verdict);
                line.replace_range(at..at + place.len(), &text);
            }
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Whether every history that satisfies the first model satisfies the second one, which is another.
fn implies(strong: HistoryModel, weak: HistoryModel) -> bool {
    use HistoryModel::{Cc, Ccm, Ccv, Cm, Coherence, Lin, Pso, PsoOwn, Sc, Tso, TsoRt, Wccm};
    let weaker: &[HistoryModel] = match strong {
        Lin => &[Cc, Ccv, Cm, Ccm, Wccm, Coherence, PsoOwn, Pso, Tso, Sc, TsoRt],
        TsoRt => &[Cc, Ccv, Wccm, Coherence, PsoOwn, Pso, Tso],
        Sc => &[Cc, Ccv, Cm, Ccm, Wccm, Coherence, PsoOwn, Pso, Tso],
        Tso => &[Cc, Ccv, Wccm, Coherence, PsoOwn, Pso],
        Pso => &[Coherence, PsoOwn],
        PsoOwn => &[Coherence],
        Ccm => &[Cc, Ccv, Cm, Wccm],
        Wccm => &[Cc, Ccv],
        Cm | Ccv => &[Cc],
        Cc | Coherence => &[],
    };
    weaker.contains(&weak)
}
