//! Which stores of an execution with buffers were late, and for what.

use std::fmt::Write;

use weakspot_live::wire::TracedStep;
use weakspot_live::{Op, OpKind};

use super::log::thread_name;
use super::symbols::Symbols;

/// At most so many are told.
const MOST: usize = 10;

/// The stores that reached memory after something that their thread did later: a load, or under PSO
/// another store that reached it before.
pub(super) fn delays(steps: &[TracedStep], symbols: &Symbols) -> Vec<String> {
    let mut told = Vec::new();
    let mut committed = vec![false; steps.len()];
    for (at, store) in steps.iter().enumerate().filter(|(_, s)| s.kind == OpKind::Write) {
        let own = |s: &&TracedStep| s.thread == store.thread;
        let same = |s: &TracedStep| (s.addr, s.len) == (store.addr, store.len);
        let later = steps.iter().enumerate().skip(at + 1).filter(|(_, s)| own(s));
        let is_commit = |s: &TracedStep| s.kind == OpKind::Commit && same(s);
        let end = later.clone().find(|(i, s)| is_commit(s) && !committed[*i]).map(|(i, _)| i);
        if let Some(end) = end {
            committed[end] = true;
        }
        let overtakes = |(i, s): &(usize, &TracedStep)| match s.kind {
            OpKind::Read => !op(s).conflicts(op(store)),
            // Of a store that came later: one that came earlier was told before.
            OpKind::Commit => !same(s) && !committed[*i],
            _ => false,
        };
        let until = end.unwrap_or(steps.len());
        let Some((_, first)) = later.take_while(|(i, _)| *i < until).find(overtakes) else {
            continue;
        };
        let mut text = format!("{}  {}", thread_name(store.thread), shown(store, symbols));
        let _ = write!(text, " reaches memory after {}", shown(first, symbols));
        if told.len() < MOST && !told.contains(&text) {
            told.push(text);
        }
    }
    told
}

fn op(step: &TracedStep) -> Op {
    Op { kind: step.kind, len: step.len, addr: step.addr }
}

fn shown(step: &TracedStep, symbols: &Symbols) -> String {
    let word = if step.kind == OpKind::Read { "rd" } else { "wr" };
    let name = symbols.data(step.addr).unwrap_or_else(|| format!("{:#x}", step.addr));
    let at = step.place.map_or(String::new(), |place| format!("  at {}", symbols.text(place)));
    format!("{word} {name}{at}")
}
