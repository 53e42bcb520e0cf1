//! A run from the steps of a real program that was executed again, and its drawing.

use std::fmt::Write;

use weakspot_core::Model;

use super::object::{
    ReadFrom, Run, RunArc, RunEnd, RunLate, RunLocation, RunStep, RunThread, RunValue, StepKind,
};
use super::telling::{MAX_STEPS, telling};
use crate::json::model_key;
use crate::text::folding::{folded, left_out, narrowed, without_repeated};
use crate::text::show::{counted, plain};
use crate::text::table::{Paint, Row, Style, draw};

/// The last steps, which lead to the failure, are drawn, however long the run is.
const LAST: usize = 24;

/// A step of a real program.
#[derive(Clone, Copy, Debug)]
pub struct RealStep<'a> {
    /// Its number. They rise, with gaps where steps are left out.
    pub n: u64,
    /// Whose it is, by its number.
    pub thread: usize,
    /// What kind of step.
    pub kind: StepKind,
    /// What it is about.
    pub location: Option<&'a str>,
    /// Whether it reads what was written by no step that is known.
    pub unseen: bool,
    /// Whether it is a store that is in memory at once, after all that waited before it.
    pub at_once: bool,
    /// How many bytes.
    pub len: u32,
    /// What an update read.
    pub old: Option<u64>,
    /// What was read or written.
    pub value: Option<u64>,
    /// These two as their type says, if it is known: what addresses point to, numbers, words.
    pub in_words: [Option<&'a str>; 2],
    /// Where it is in the source, as `file:line`.
    pub site: Option<&'a str>,
    /// What stands there.
    pub text: Option<&'a str>,
    /// The call that it stands for, with all that happens inside.
    pub call: Option<&'a str>,
    /// What is to be said about it.
    pub note: Option<&'a str>,
}

/// The run that these steps are, of threads with these names: the functions that they execute, and numbers.
#[must_use]
pub fn of_steps(model: Model, threads: &[String], steps: &[RealStep<'_>]) -> Run {
    let mut run = Run::new(model_key(model));
    let thread = |name: &String| RunThread {
        function: name.split_once('#').map(|(function, _)| plain(function).into_owned()),
        ..RunThread::new(plain(name))
    };
    run.threads = threads.iter().map(thread).collect();
    // What waits in buffers, by numbers of stores; the last step that wrote to each location.
    let mut waiting: Vec<u64> = Vec::new();
    let mut written: Vec<(&str, u64)> = Vec::new();
    for real in steps {
        let n = real.n;
        let mut step = RunStep::new(n, real.thread, real.kind);
        if let Some(call) = real.call {
            (step.kind, step.location) = (StepKind::Local, Some(plain(call).into_owned()));
            step.text = real.text.map(|text| plain(text).into_owned());
            real.site.inspect(|site| step.put_at(&plain(site)));
            run.steps.push(step);
            continue;
        }
        step.location = real.location.map(|location| plain(location).into_owned());
        let value = |value: u64, in_words: Option<&str>| value_of(value, real.len, in_words);
        // Of more bytes than a word has, only a digest is known; that a store overwrites something is no step.
        let known = real.len <= 8;
        let old = real.old.filter(|_| known && real.kind == StepKind::Update);
        step.old = old.map(|old| value(old, real.in_words[0]));
        step.value = real.value.filter(|_| known).map(|new| value(new, real.in_words[1]));
        step.text = real.text.map(|text| plain(text).into_owned());
        step.note = real.note.map(|note| plain(note).into_owned());
        if real.kind == StepKind::Fail {
            run.end = step.note.clone().map(RunEnd::Fails);
        }
        if let Some(site) = real.site {
            step.put_at(&plain(site));
        }
        if let Some(location) = &step.location
            && !run.locations.iter().any(|known| known.name == *location)
        {
            run.locations.push(RunLocation::new(location.clone()));
        }
        let same = |&&n: &&u64| {
            let place = |step: &RunStep| (step.thread, step.location.clone());
            run.step(n).is_some_and(|store| place(store) == place(&step))
        };
        match real.kind {
            StepKind::Store if real.at_once => (step.at_once, step.effect) = (true, Some(n)),
            StepKind::Store | StepKind::Free if model != Model::Sc => waiting.push(n),
            StepKind::Load if real.unseen => step.from = Some(ReadFrom::Memory),
            StepKind::Load | StepKind::Update => {
                let last = written.iter().find(|(location, _)| Some(*location) == real.location);
                step.from = Some(match (waiting.iter().any(|of| same(&of)), last) {
                    (true, _) => ReadFrom::Buffer,
                    (false, Some((_, by))) => ReadFrom::Step(*by),
                    (false, None) => ReadFrom::Memory,
                });
                // What is read before anybody has written it was there from the start.
                let read = if real.kind == StepKind::Load { &step.value } else { &step.old };
                if let (Some(ReadFrom::Memory), Some(at), Some(read)) =
                    (step.from, &step.location, read)
                    && !run.init.iter().any(|(known, _)| known == at)
                {
                    run.init.push((at.clone(), read.clone()));
                }
            }
            StepKind::Commit => {
                step.of = waiting.iter().find(same).copied();
                // What waited is not shown.
                if step.of.is_none() {
                    continue;
                }
                waiting.retain(|&of| Some(of) != step.of);
                let late = step.of.and_then(|of| overtaken(&run, of));
                run.late.extend(late);
            }
            _ => {}
        }
        let writes = match real.kind {
            StepKind::Store => model == Model::Sc || real.at_once,
            StepKind::Commit | StepKind::Update => true,
            _ => false,
        };
        if let (true, Some(location)) = (writes, real.location) {
            written.retain(|(known, _)| *known != location);
            written.push((location, step.of.unwrap_or(n)));
        }
        run.steps.push(step);
    }
    run.telling = telling(&run);
    run.relations = relations(&run);
    run
}

/// By what a store was overtaken that reaches memory now: a load, or another store's way to memory. Of several
/// of these the one that somebody saw who missed the store afterwards, because a fence has to stand before that.
fn overtaken(run: &Run, of: u64) -> Option<RunLate> {
    let store = run.step(of)?;
    let later = || run.steps.iter().filter(|step| step.n > of);
    let overtakes = |step: &&RunStep| {
        step.thread == store.thread
            && step.location != store.location
            && (step.kind == StepKind::Load || step.of.is_some_and(|by| by > of))
    };
    let first = later().find(overtakes)?;
    let reads = |step: &RunStep| matches!(step.kind, StepKind::Load | StepKind::Update);
    let missed_by = |thread: usize, n: u64| {
        let misses = |step: &RunStep| {
            step.thread == thread && step.location == store.location && reads(step)
        };
        later().any(|step| step.n > n && misses(step))
    };
    let is_seen = |by: &&RunStep| {
        let sees = |step: &&RunStep| step.from.is_some() && step.from == by.of.map(ReadFrom::Step);
        let mut seen = later().filter(|step| step.thread != store.thread && reads(step));
        seen.any(|step| sees(&step) && missed_by(step.thread, step.n))
    };
    let noticed = match first.kind {
        StepKind::Commit => later().filter(overtakes).find(is_seen),
        _ => None,
    };
    Some(RunLate { store: of, behind: noticed.unwrap_or(first).n })
}

/// What reads read, and what overwrites that, of the steps that are drawn.
fn relations(run: &Run) -> Vec<RunArc> {
    let is_drawn = |n: u64| run.telling.is_empty() || run.telling.binary_search(&n).is_ok();
    if run.telling.is_empty() && run.steps.len() > MAX_STEPS {
        return Vec::new();
    }
    // The steps with which something is written, each with the number by which others refer to it.
    let written = |step: &RunStep| match step.kind {
        StepKind::Commit => step.of,
        StepKind::Update => Some(step.n),
        StepKind::Store if run.model == "sc" || step.at_once => Some(step.n),
        _ => None,
    };
    let mut arcs = Vec::new();
    let reads = |step: &&RunStep| matches!(step.kind, StepKind::Load | StepKind::Update);
    for read in run.steps.iter().filter(reads).filter(|read| is_drawn(read.n)) {
        let mut arc = |from, to, edge| {
            if from != to && is_drawn(from) && is_drawn(to) {
                arcs.push(RunArc { from, to, edge, why: String::new() });
            }
        };
        match read.from {
            Some(ReadFrom::Step(by)) => arc(by, read.n, "rf"),
            Some(ReadFrom::Memory) => {}
            Some(ReadFrom::Buffer) | None => continue,
        }
        let later = run.steps.iter().filter(|step| step.n > read.n);
        let mut later = later.filter(|step| step.location == read.location);
        if let Some(next) = later.find_map(written).filter(|_| read.kind == StepKind::Load) {
            arc(read.n, next, "fr");
        }
    }
    arcs
}

/// A value of so many bytes as its type says, or else as what it seems to be.
pub(super) fn value_of(value: u64, len: u32, in_words: Option<&str>) -> RunValue {
    match in_words.map(|words| (words, words.parse())) {
        Some((_, Ok(number))) => RunValue::Number(number),
        Some((words, Err(_))) => RunValue::Name(plain(words).into_owned()),
        None => shown(value, len),
    }
}

/// A value of so many bytes, as a number with its sign, or as the address that it seems to be.
fn shown(value: u64, len: u32) -> RunValue {
    let number = match len {
        1 => i64::from(value as u8),
        2 => i64::from(value as i16),
        4 => i64::from(value as i32),
        _ => value.cast_signed(),
    };
    match len {
        8 if number > i64::from(u32::MAX) => RunValue::Name(format!("{value:#x}")),
        _ => RunValue::Number(number),
    }
}

/// A column for each thread that does something, time running downwards.
#[must_use]
pub(crate) fn draw_steps(run: &Run, style: Style) -> String {
    let steps = &run.steps;
    let mut threads: Vec<usize> = steps.iter().map(|step| step.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let late = |n: u64| run.late.iter().find(|late| late.store == n);
    let columns = style.indented(2).width;
    let row = |step: &RunStep| {
        let column = threads.iter().position(|&t| t == step.thread).unwrap_or(0);
        if let Some(of) = step.of {
            let memory = run.step(of).map_or(String::new(), |store| match store.kind {
                StepKind::Free => format!("{} freed", store.cell()),
                _ => store.cell(),
            });
            let head = format!("{of}. reaches memory");
            let marked = late(of).is_some();
            let (site, source, body) = (None, None, Vec::new());
            return Row { column, head, site, source, body, memory, marked };
        }
        let did = match (step.kind, &step.old) {
            (StepKind::Load, _) => format!("rd {}", step.cell()),
            (StepKind::Store, _) => format!("wr {}", step.cell()),
            (StepKind::Update, Some(old)) => {
                format!("upd {} (was {old})", step.cell())
            }
            (StepKind::Update, None) => format!("upd {}", step.cell()),
            (StepKind::Fence, _) => "fence".to_owned(),
            (StepKind::StoreFence, _) => "store-store fence".to_owned(),
            (StepKind::Lock, _) => format!("lock {}", step.cell()),
            (StepKind::Unlock, _) => format!("unlock {}", step.cell()),
            (StepKind::Wait, _) => format!("wait {}", step.cell()),
            (StepKind::Wake, _) => format!("wake {}", step.cell()),
            (StepKind::Fail, _) => run.stops(step).to_owned(),
            (StepKind::Alloc, _) => format!("alloc({})", step.cell()),
            (StepKind::Free, _) => format!("free({})", step.cell()),
            (StepKind::Return, _) => "returns".to_owned(),
            (StepKind::Exit, _) => "ends".to_owned(),
            (StepKind::Spawn, _) => "spawn".to_owned(),
            (StepKind::Join, _) => "join".to_owned(),
            (StepKind::Local, _) => step.cell(),
            _ => String::new(),
        };
        let mut body: Vec<String> = step.note.iter().cloned().collect();
        if late(step.n).is_some() {
            body.push("stays in the buffer".to_owned());
        }
        Row {
            column,
            head: format!("{}. {did}", step.n),
            site: step.site(),
            source: step.text.clone(),
            marked: late(step.n).is_some() || step.note.is_some(),
            body,
            memory: match step.kind {
                StepKind::Store if run.model == "sc" || step.at_once => step.cell(),
                StepKind::Update => step.cell(),
                _ => String::new(),
            },
        }
    };
    // Where nothing tells it, the end does.
    let is_last = |i: usize| run.telling.is_empty() && i + LAST >= steps.len();
    let is_telling = run.matters();
    let (mut rows, mut matters) = (Vec::new(), Vec::new());
    for (i, step) in steps.iter().enumerate() {
        let last = i.checked_sub(1).and_then(|i| steps.get(i));
        let left_out = last.and_then(|last| left_out(last.n, step.n, "other step"));
        matters.extend(left_out.iter().map(|_| false));
        rows.extend(left_out);
        matters.push(is_last(i) || is_telling(step));
        rows.push(row(step));
    }
    let names: Vec<String> = threads.iter().map(|&t| run.thread(t).to_owned()).collect();
    let (rows, names) = narrowed(without_repeated(folded(rows, &names, &matters)), names);
    let mut out = String::new();
    let before = steps.first().map_or(0, |step| step.n.saturating_sub(1));
    if before > 0 {
        let _ = writeln!(out, "  ... {} before ...", counted(before, "step"));
    }
    for line in draw(&names, &[], &rows, Paint(style.color), columns).lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}

#[cfg(test)]
mod tests {
    use weakspot_core::Drain;

    use super::*;

    fn step(
        n: u64,
        thread: usize,
        kind: StepKind,
        location: &'static str,
        value: u64,
    ) -> RealStep<'static> {
        let location = Some(location);
        RealStep {
            n,
            thread,
            kind,
            location,
            unseen: false,
            at_once: false,
            len: 4,
            old: None,
            value: Some(value),
            in_words: [None, None],
            site: None,
            text: None,
            call: None,
            note: None,
        }
    }

    #[test]
    fn stores_that_wait_are_late() {
        use StepKind::{Commit, Load, Store};
        let threads = ["main", "a#1", "T2"].map(str::to_owned);
        let run = of_steps(
            Model::Tso,
            &threads,
            &[
                step(1, 1, Store, "x", 1),
                step(2, 1, Load, "x", 1),
                step(3, 1, Load, "y", 0),
                step(4, 2, Store, "y", 1),
                step(5, 2, Commit, "y", 1),
                step(6, 2, Load, "x", 0),
                step(7, 1, Commit, "x", 1),
            ],
        );
        assert_eq!(run.late, [RunLate { store: 1, behind: 3 }]);
        let zero = |name: &str| (name.to_owned(), RunValue::Number(0));
        assert_eq!(run.init, [zero("y"), zero("x")]);
        let from: Vec<Option<ReadFrom>> = run.steps.iter().map(|step| step.from).collect();
        assert_eq!(from[1], Some(ReadFrom::Buffer));
        assert_eq!((from[2], from[5]), (Some(ReadFrom::Memory), Some(ReadFrom::Memory)));
        assert_eq!(run.steps[6].of, Some(1));
        let arcs: Vec<(u64, &str, u64)> =
            run.relations.iter().map(|arc| (arc.from, arc.edge, arc.to)).collect();
        assert_eq!(arcs, [(3, "fr", 4), (6, "fr", 1)]);
        assert_eq!(shown(u64::from(u32::MAX), 4), RunValue::Number(-1));
        assert_eq!(shown(0x7fff_1234_5678, 8), RunValue::Name("0x7fff12345678".to_owned()));
    }

    /// Two stores overtake it, and the other thread sees the second of them before it misses it.
    #[test]
    fn a_store_is_late_for_what_others_saw() {
        use StepKind::{Commit, Load, Store};
        let threads = ["a#1", "b#2"].map(str::to_owned);
        let steps = [
            step(1, 0, Store, "x", 1),
            step(2, 0, Store, "y", 1),
            step(3, 0, Commit, "y", 1),
            step(4, 0, Store, "z", 1),
            step(5, 0, Commit, "z", 1),
            step(6, 1, Load, "z", 1),
            step(7, 1, Load, "x", 0),
            step(8, 1, Load, "y", 1),
            step(9, 0, Commit, "x", 1),
        ];
        let run = of_steps(Model::Pso(Drain::All), &threads, &steps);
        assert_eq!(run.late, [RunLate { store: 1, behind: 5 }]);
        // Nobody misses it: the first one.
        let missed = |step: &RealStep<'_>| step.n == 7;
        let unnoticed: Vec<RealStep<'_>> = steps.into_iter().filter(|s| !missed(s)).collect();
        let run = of_steps(Model::Pso(Drain::All), &threads, &unnoticed);
        assert_eq!(run.late, [RunLate { store: 1, behind: 3 }]);
    }
}
