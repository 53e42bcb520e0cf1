//! Executions that failed, with what there is to say about them.

use std::collections::{HashMap, HashSet};

use weakspot_core::Model;
use weakspot_live::wire::{CALLS, MemoryChange, MemoryStep, Place, Related, SLEPT, TracedStep};
use weakspot_live::{OpKind, Order, Reaches, late, reaches};

use crate::answer::{ShownFailure, ShownKind, ShownRelated, ShownStep, ShownWait};
use crate::explore::Explored;
use crate::explore::findings::{Failure, RACE};
use crate::facts::lines::Lines;
use crate::facts::symbols::{Frame, Symbols, channel_call, is_of_atomics};
use crate::judge::waits;
use crate::replay::memory::{About, Item, about, frees, items};
use crate::replay::names::{Names, site};
use crate::replay::{Replays, Traced};
use crate::{Campaign, MOST_SHOWN, Result};

/// How many late stores of a failure are reported.
const MOST_LATE: usize = 10;
/// So many failures are shown with what led to them, and so many steps of that.
const MOST_RUNS: usize = 10;
const MOST_STEPS: usize = 1000;

/// So many reads are shown that the only thread that is left has made before it fails somewhere else.
const MOST_LOOKS: usize = 4;

/// What is said of a call in which a thread has waited.
const GOES_ON: &str = " goes on";

/// An access of a data race as it is shown; others are as they were.
fn access_in_words(access: &str) -> &str {
    if access == "free" { "free of the block" } else { access }
}

/// What went wrong, with what there is to say about it.
pub(crate) fn show_failures(
    campaign: &Campaign<'_>,
    explored: &Explored,
    replays: &Replays<'_>,
) -> Result<Vec<ShownFailure>> {
    let Campaign { question, .. } = *campaign;
    let (failures, symbols) = (&explored.findings.failures, &explored.symbols);
    let mut shown = Vec::new();
    let mut sources = Lines::default();
    // Races come last: there may be many, and what goes wrong says more than that two accesses race.
    let mut failures: Vec<&Failure> = failures.iter().collect();
    failures.sort_by_key(|failure| failure.kind == RACE);
    for (i, failure) in failures.into_iter().enumerate() {
        let looked_at = question.details && i < MOST_SHOWN && replays.has_time();
        let traced = match looked_at && (question.under != Model::Sc || i < MOST_RUNS) {
            true => replays.trace(&failure.seen.schedule, failure.seen.known)?.unwrap_or_default(),
            false => Traced::default(),
        };
        let names = traced.names(symbols);
        let steps = &traced.steps;
        let late = if question.under == Model::Sc {
            Vec::new()
        } else {
            late_stores(&traced, &names, symbols)
        };
        let first_spawn = first_spawn(steps, campaign.facts.harness);
        let threads = steps.iter().map(|step| step.thread + 1).max().unwrap_or(0);
        let seen = traced.related(failure);
        let seen = if seen.is_empty() { &failure.related[..] } else { seen };
        let is_harness = |thread: u16| campaign.facts.harness && thread == 0;
        // There is one failure in an execution, so that those who wait belong to this one.
        let stuck = failure.thread.is_none();
        let waiters = traced.waiters.iter().filter(|w| stuck && !is_harness(w.thread));
        let waits = waiters.map(|waiter| {
            let word = seen.iter().find(|r| r.thread == Some(waiter.thread));
            let word = word.map_or("waits", |related| related.what.as_str());
            waits::shown(waiter, word, &traced, &names, symbols)
        });
        let waits: Vec<ShownWait> = waits.collect();
        let mut shower = Shower { symbols, names: &names, sources: &mut sources };
        let (steps, alone) = match i < MOST_RUNS {
            true => shower.marked(failure, &traced, &waits, first_spawn),
            false => (Vec::new(), 0),
        };
        let text = match &waits[..] {
            [] if failure.kind == RACE => {
                let access = access_in_words(&failure.text);
                let marked = steps.iter().rev().find(|step| step.note.is_some());
                match marked.and_then(|step| step.location.as_ref()) {
                    Some(location) => format!("on {location}: {access}"),
                    None => access.to_owned(),
                }
            }
            [] => names.in_words(&symbols.said(&failure.text)),
            waits => {
                let each =
                    |wait: &ShownWait| format!("{} {}", names.thread(wait.thread), wait.short);
                waits.iter().map(each).collect::<Vec<_>>().join(", ")
            }
        };
        let related = if waits.is_empty() {
            related(seen, &traced, &names, symbols)
        } else {
            related_to(waits, seen, &traced, &names, symbols)
        };
        shown.push(ShownFailure {
            failure: failure.clone(),
            shared: explored.known(&failure.seen),
            text,
            thread: failure.thread.map(|thread| names.thread(thread)),
            frames: frames(failure, seen, symbols),
            related,
            late,
            threads: (0..threads).map(|thread| names.thread(thread)).collect(),
            steps,
            alone,
        });
    }
    Ok(shown)
}

/// Where it fails; in code that is only called by the user's own, where that calls it.
fn frames(failure: &Failure, seen: &[Related], symbols: &Symbols) -> Vec<String> {
    let Some(place) = failure.place else { return Vec::new() };
    if symbols.frames(place).iter().any(Frame::is_own) {
        return symbols.lines(place);
    }
    let calls = seen.iter().filter(|related| related.what == CALLS);
    symbols.own_lines(&[place].into_iter().chain(calls.map(|r| r.place)).collect::<Vec<_>>())
}

/// Other places that have to do with a failure: what, who, and the source. If there are several for one
/// thing, they are the calls that led there, of which the first in the user's own code is meant.
fn related(
    seen: &[Related],
    traced: &Traced,
    names: &Names<'_>,
    symbols: &Symbols,
) -> Vec<ShownRelated> {
    let mut shown = Vec::new();
    for calls in seen.chunk_by(|a, b| (&a.what, a.thread) == (&b.what, b.thread)) {
        let mut places: Vec<Place> = calls.iter().map(|related| related.place).collect();
        // Of the other access of a race only the place is told: what called it, if that is in a standard library, the steps know.
        if let [only] = calls {
            let is_it =
                |s: &TracedStep| Some(s.thread) == only.thread && s.place == Some(only.place);
            let step = traced.steps.iter().rposition(is_it);
            places.extend(step.and_then(|step| traced.calls.get(&step)).into_iter().flatten());
        }
        let (what, thread) = (&calls[0].what, calls[0].thread.map(|t| names.thread(t)));
        if what == CALLS {
            continue;
        }
        if what != SLEPT {
            let (what, at) = (access_in_words(what).to_owned(), symbols.own_lines(&places));
            shown.push(ShownRelated { what, thread, at, wait: None });
        } else if places.iter().any(|&place| symbols.frames(place).iter().any(Frame::is_own)) {
            let what = "sleeping orders nothing here: slept".to_owned();
            let at = symbols.own_text(&places).into_iter().collect();
            shown.push(ShownRelated { what, thread, at, wait: None });
        }
    }
    shown
}

/// The same if it is known what threads wait for: that instead of where, and whatever else there is.
fn related_to(
    waits: Vec<ShownWait>,
    seen: &[Related],
    traced: &Traced,
    names: &Names<'_>,
    symbols: &Symbols,
) -> Vec<ShownRelated> {
    let slept: Vec<Related> = seen.iter().filter(|r| r.what == SLEPT).cloned().collect();
    let waiting = waits.into_iter().map(|wait| {
        let word = seen.iter().find(|r| r.thread == Some(wait.thread) && r.what != SLEPT);
        ShownRelated {
            what: word.map_or("waits", |related| related.what.as_str()).to_owned(),
            thread: Some(names.thread(wait.thread)),
            at: wait.place.map_or(Vec::new(), |place| symbols.lines(place)),
            wait: Some(wait),
        }
    });
    waiting.chain(related(&slept, traced, names, symbols)).collect()
}

/// The late stores of an execution that failed, in words.
fn late_stores(traced: &Traced, names: &Names<'_>, symbols: &Symbols) -> Vec<String> {
    let steps = &traced.steps[..];
    // That a store reaches memory is told where the store is.
    let stores: HashMap<usize, usize> = commits(steps).into_iter().map(|(s, c)| (c, s)).collect();
    let shown = |number: usize| {
        let step = &steps[number];
        let word = if step.kind == OpKind::Read { "rd" } else { "wr" };
        let at = traced.site(*stores.get(&number).unwrap_or(&number), symbols);
        let at = at.map_or(String::new(), |at| format!("  at {at}"));
        format!("{word} {}{at}", names.data(step.addr, u64::from(step.len)))
    };
    let commits = commits(steps);
    // Many stores may wait in a buffer together; those matter that others miss, readers before writers.
    let missed = |by: &[OpKind]| -> Vec<(usize, usize)> {
        let is_missed = |&(store, _): &(usize, usize)| {
            let until = commits.get(&store).copied().unwrap_or(steps.len());
            let mut between = steps[store..until].iter();
            between.any(|step| {
                step.thread != steps[store].thread
                    && by.contains(&step.kind)
                    && step.op().conflicts(steps[store].op())
            })
        };
        late(steps).into_iter().filter(is_missed).collect()
    };
    let ways = [missed(&[OpKind::Read, OpKind::Update]), missed(&[OpKind::Commit]), late(steps)];
    let late = ways.into_iter().find(|late| !late.is_empty()).unwrap_or_default();
    let mut reported: Vec<String> = Vec::new();
    for (store, by) in late {
        let until = commits.get(&store).copied().unwrap_or(steps.len());
        let by = noticed(&steps[..until], store, by);
        let (thread, store) = (names.thread(steps[store].thread), shown(store));
        let text = format!("{thread}  {store} reaches memory after {}", shown(by));
        if reported.len() < MOST_LATE && !reported.contains(&text) {
            reported.push(text);
        }
    }
    reported
}

/// Of the stores that overtook one until it reached memory, the one that somebody saw who missed that one
/// afterwards: a fence has to stand before it. Otherwise the first, or the load that did.
fn noticed(steps: &[TracedStep], store: usize, first: usize) -> usize {
    if steps[first].kind != OpKind::Commit {
        return first;
    }
    let reads = |step: &TracedStep| matches!(step.kind, OpKind::Read | OpKind::Update);
    let mut later = (first..steps.len())
        .filter(|&by| steps[by].kind == OpKind::Commit && steps[by].thread == steps[store].thread);
    let is_seen = |&by: &usize| {
        let step = &steps[by];
        let behind = steps.iter().enumerate().skip(by + 1);
        let overwritten = behind
            .clone()
            .find(|(_, other)| other.kind == OpKind::Commit && other.op().conflicts(step.op()));
        let until = overwritten.map_or(steps.len(), |(at, _)| at);
        let sees = |other: &TracedStep| {
            reads(other) && other.thread != step.thread && other.op().conflicts(step.op())
        };
        let mut seen = behind.take_while(|(at, _)| *at < until).filter(|(_, other)| sees(other));
        seen.any(|(at, reader)| {
            steps[at + 1..].iter().any(|other| {
                other.thread == reader.thread
                    && reads(other)
                    && other.op().conflicts(steps[store].op())
            })
        })
    };
    later.find(is_seen).unwrap_or(first)
}

/// With which steps stores reach memory, by the numbers of both.
fn commits(steps: &[TracedStep]) -> HashMap<usize, usize> {
    let with = |(store, when): (usize, Reaches)| match when {
        Reaches::With(step) => Some((store, step)),
        Reaches::AtOnce | Reaches::Never => None,
    };
    reaches(steps).into_iter().filter_map(with).collect()
}

/// Makes steps that can be shown.
struct Shower<'a> {
    symbols: &'a Symbols,
    names: &'a Names<'a>,
    sources: &'a mut Lines,
}

impl Shower<'_> {
    /// What led to a failure up to it, with where it fails and what has to do with it.
    fn marked(
        &mut self,
        failure: &Failure,
        traced: &Traced,
        waits: &[ShownWait],
        first_spawn: usize,
    ) -> (Vec<ShownStep>, usize) {
        let about = about(failure, traced);
        let items = self.items(failure, traced, about);
        let mut steps = self.shown(traced, &items, about);
        hide_constants(&mut steps, &traced.steps[first_spawn..]);
        let of = |item: &Item| match *item {
            Item::Step(i) => i,
            Item::Memory(j) => traced.memory[j].0,
            Item::Looked(k) => traced.looked[k].0,
        };
        let alone = items.iter().filter(|item| of(item) < first_spawn).count();
        // Where nobody can go on, no thread fails by itself, and all steps lead there.
        let stuck = matches!(failure.kind.as_str(), "deadlock" | "livelock");
        let fails = failure.thread.filter(|_| !stuck);
        if steps.is_empty() && about == About::default() && !(stuck && traced.has_failed()) {
            return (steps, alone);
        }
        // What others do to memory before somebody uses it matters.
        let until = traced.failure(failure).filter(|_| about.misused.is_some()).map(|failed| {
            let is_before = |item: &&Item| match **item {
                Item::Step(i) => i < failed.steps,
                Item::Memory(j) => j < failed.memory,
                Item::Looked(_) => true,
            };
            items.iter().filter(is_before).count()
        });
        let race = failure.kind == "data-race";
        let at = |steps: &[ShownStep], thread: Option<u16>, place: Option<Place>| {
            let is = |s: &ShownStep| Some(s.step.thread) == thread && s.step.place == place;
            steps.iter().rposition(is).filter(|_| place.is_some())
        };
        // What other threads do after it does not matter, but for stores that were late.
        let panic =
            panicked_at(&self.symbols.said(&failure.text)).filter(|_| failure.kind == "panic");
        let last = match &panic {
            _ if until.is_some() => until.and_then(|until| until.checked_sub(1)),
            _ if stuck => None,
            _ if race => traced
                .failure(failure)
                // It is reported just before the access.
                .and_then(|failed| items.iter().position(|item| *item == Item::Step(failed.steps)))
                .filter(|&i| Some(steps[i].step.thread) == failure.thread)
                .or_else(|| at(&steps, failure.thread, failure.place)),
            Some(panic) => {
                let by_it = |s: &ShownStep| Some(s.step.thread) == failure.thread;
                // What is done when the stack is unwound may be said to be above.
                let there = format!("{}:{}", panic.0, panic.1);
                let there = |s: &ShownStep| by_it(s) && s.site.as_ref() == Some(&there);
                let before = |s: &ShownStep| by_it(s) && is_before(&s.site, panic);
                steps.iter().rposition(there).or_else(|| steps.iter().rposition(before))
            }
            None => steps.iter().rposition(|s| {
                Some(s.step.thread) == failure.thread && s.step.kind != OpKind::Commit
            }),
        };
        // Whom it has joined has done all before, also if that is the last that it did to memory itself.
        let joins = |(i, s): (usize, &TracedStep)| {
            let by_it = Some(s.thread) == failure.thread && s.kind == OpKind::Join;
            by_it && panic.as_ref().is_none_or(|panic| is_before(&self.site(traced, i), panic))
        };
        let joined = traced.steps.iter().enumerate().rev().find(|&step| joins(step));
        let joined = joined
            .filter(|_| until.is_none() && !stuck && !race)
            .and_then(|(joined, _)| items.iter().rposition(|item| of(item) <= joined));
        let last = last.map(|last| joined.map_or(last, |joined| last.max(joined)));
        let rest = last.map_or(Vec::new(), |last| steps.split_off(last + 1));
        let number = |j: usize| items.iter().position(|item| *item == Item::Memory(j));
        let words = self.in_words(failure, about, traced, &|j| number(j).map(|at| at + 1));
        let mut end = |what: &str, thread: u16, place: Option<Place>| {
            let kind = OpKind::Exit;
            let (order, addr, len) = (Order::Plain, 0, 0);
            let step = TracedStep { thread, kind, order, addr, len, old: None, value: None, place };
            let (note, what) = (Some(what.to_owned()), ShownKind::Fails);
            ShownStep { note, what, ..self.step(&step) }
        };
        // Who waits in the end did not wait before.
        let marks = failure.related.iter().filter(|r| r.what != SLEPT && fails.is_some());
        for related in marks.filter(|_| about.misused.is_none()) {
            let other = match steps.last().filter(|_| race).map(|last| last.step.op()) {
                Some(last) => steps.iter().rposition(|s| {
                    let here = (Some(s.step.thread), s.step.place);
                    here == (related.thread, Some(related.place)) && s.step.op().conflicts(last)
                }),
                None => at(&steps, related.thread, Some(related.place)),
            };
            if let Some(i) = other {
                let note =
                    if race { format!("races with {}", steps.len()) } else { related.what.clone() };
                steps[i].note = Some(note);
                if race && let Some(last) = steps.last_mut() {
                    last.note = Some(format!("races with {}", i + 1));
                }
            }
        }
        match fails {
            _ if race => return (steps, alone),
            Some(thread) => {
                let mut end = end(&words, thread, failure.place);
                if let Some((_, misuse)) = about.misused.map(|at| &traced.memory[at]) {
                    end.location = Some(self.misused(misuse));
                }
                if let Some((file, line)) = panic {
                    (end.site, end.own) = (Some(format!("{file}:{line}")), true);
                }
                steps.push(end);
            }
            None if !waits.is_empty() => {
                for wait in waits {
                    steps.push(end(&wait.text, wait.thread, wait.place));
                }
            }
            None => {
                for related in failure.related.iter().filter(|r| r.what != SLEPT) {
                    if let Some(thread) = related.thread {
                        steps.push(end(&related.what, thread, Some(related.place)));
                    }
                }
            }
        }
        steps.extend(rest.into_iter().filter(|s| s.step.kind == OpKind::Commit));
        (steps, alone)
    }

    /// Where a step is in the user's own code.
    fn site(&self, traced: &Traced, step: usize) -> Option<String> {
        let place = traced.own_place(step, self.symbols).or(traced.steps[step].place);
        place.map(|place| site(place, self.symbols))
    }

    /// What is wrong, with the numbers of the steps that it comes from.
    fn in_words(
        &self,
        failure: &Failure,
        about: About,
        traced: &Traced,
        number: &dyn Fn(usize) -> Option<usize>,
    ) -> String {
        let Failure { kind, .. } = failure;
        let Some((_, misuse)) = about.misused.map(|at| &traced.memory[at]) else {
            return kind.clone();
        };
        let MemoryChange::Misused(op) = misuse.what else { return kind.clone() };
        let what = self.misused(misuse);
        let does = match op {
            OpKind::Free => format!("frees {what}"),
            OpKind::Commit => format!("its store to {what} leaves the buffer"),
            OpKind::Read => format!("reads {what}"),
            _ => format!("writes {what}"),
        };
        let at = |j: Option<usize>| j.and_then(number);
        match (kind.as_str(), at(about.gone), at(about.made)) {
            ("use-after-free" | "double-free", Some(gone), _) => {
                format!("{kind}: {does}, freed by {gone}")
            }
            ("use-after-return", Some(gone), _) => {
                format!("{kind}: {}, see {gone}", self.names.in_words(&failure.text))
            }
            ("out-of-bounds" | "invalid-free", _, Some(made)) => {
                format!("{kind}: {}, allocated by {made}", failure.text)
            }
            _ => format!("{kind}: {}", self.names.in_words(&self.symbols.said(&failure.text))),
        }
    }

    /// What bytes are called that are used when they are not there.
    fn misused(&self, misuse: &MemoryStep) -> String {
        match misuse.what {
            MemoryChange::Misused(OpKind::Free) => self.names.block(misuse.addr),
            _ => self.names.data(misuse.addr, misuse.len),
        }
    }

    /// The last steps that memory notices, and what the failure is about.
    fn items(&self, failure: &Failure, traced: &Traced, about: About) -> Vec<Item> {
        let looks = self.looks(failure, traced);
        let items = items(traced, &frees(traced), about, |i| matters(&traced.steps[i]), &looks);
        let first = items.len().saturating_sub(MOST_STEPS);
        // What reaches memory there was issued somewhere.
        let commits = commits(&traced.steps);
        let from = items.get(first).map_or(0, |item| match *item {
            Item::Step(i) => i,
            Item::Memory(j) => traced.memory[j].0,
            Item::Looked(k) => traced.looked[k].0,
        });
        let waits = |item: Item| match item {
            Item::Step(i) => commits.get(&i).is_some_and(|&commit| commit >= from),
            Item::Memory(_) | Item::Looked(_) => false,
        };
        let is_shown =
            |(i, item): &(usize, Item)| *i >= first || about.shows(*item) || waits(*item);
        items.into_iter().enumerate().filter(is_shown).map(|(_, item)| item).collect()
    }

    /// What the thread that fails, the only one left, has read of what others wrote: in the line where it fails, or else
    /// last before that.
    fn looks(&self, failure: &Failure, traced: &Traced) -> Vec<usize> {
        let Some(at) = failure.place.map(|place| self.symbols.text(place)) else { return vec![] };
        let place = |&look: &usize| traced.looked[look].1.place;
        let is_own = |look: &usize| {
            place(look).is_some_and(|p| self.symbols.frames(p).iter().any(Frame::is_own))
        };
        let own: Vec<usize> = (0..traced.looked.len()).filter(is_own).collect();
        let is_there = |look: &&usize| place(look).is_some_and(|p| self.symbols.text(p) == at);
        let there: Vec<usize> = own.iter().filter(is_there).copied().collect();
        match there.is_empty() {
            true => own[own.len().saturating_sub(MOST_LOOKS)..].to_vec(),
            false => there,
        }
    }

    /// The steps to show for `items`, with their source lines.
    fn shown(&mut self, traced: &Traced, items: &[Item], about: About) -> Vec<ShownStep> {
        let (frees, reaches) = (frees(traced), reaches(&traced.steps));
        // Operations that are functions of their own are where they were called, also when they reach memory.
        let direct = |&(store, _): &(usize, usize)| {
            matches!(traced.caller(store, self.symbols), Some((_, None)))
        };
        let commits = commits(&traced.steps).into_iter().filter(direct);
        let stores: HashMap<usize, usize> = commits.map(|(store, with)| (with, store)).collect();
        let shown = |item: &Item| match *item {
            Item::Memory(j) => {
                // What a failure is not about comes and goes in every library.
                let shown = self.memory(&traced.memory[j].1);
                ShownStep { own: about.shows(*item), ..shown }
            }
            Item::Looked(k) => {
                ShownStep { what: ShownKind::Looks, ..self.step(&traced.looked[k].1) }
            }
            Item::Step(i) => {
                let store = stores.get(&i).copied().unwrap_or(i);
                let place = traced.own_place(store, self.symbols).or(traced.steps[i].place);
                let shown = self.step_at(&traced.steps[i], place);
                // That a free leaves a buffer is about the block.
                let free = frees.get(&i).map(|&j| self.names.block(traced.memory[j].1.addr));
                let at_once = reaches.get(&i) == Some(&Reaches::AtOnce);
                ShownStep { location: free.or(shown.location), at_once, ..shown }
            }
        };
        let mut shown: Vec<ShownStep> = items.iter().map(shown).collect();
        self.thin(&mut shown);
        self.fold_channels(traced, items, &mut shown);
        shown
    }

    /// What a channel does inside is one step: the first of those that a thread takes in a call, until it goes on outside.
    fn fold_channels(&self, traced: &Traced, items: &[Item], shown: &mut [ShownStep]) {
        // By thread the call that it is in, its first step, and how many there are.
        let mut inside: HashMap<u16, (String, usize, u64)> = HashMap::new();
        let mut calls: Vec<(usize, String)> = Vec::new();
        let mut last = None;
        let of_call = |name: &str| name.strip_suffix(GOES_ON).unwrap_or(name).to_owned();
        let in_words = |(name, at, steps): (String, usize, u64)| {
            (at, format!("{name}, {steps} step{}", if steps == 1 { "" } else { "s" }))
        };
        for (at, item) in items.iter().enumerate() {
            let Item::Step(i) = *item else { continue };
            let step = &traced.steps[i];
            if step.kind == OpKind::Commit {
                continue;
            }
            // What was left on the stack may look like a call.
            let own = |place| self.symbols.frames(place).first().is_some_and(Frame::is_own);
            let callers = traced.calls.get(&i).filter(|_| !step.place.is_some_and(own));
            let call = callers.and_then(|calls| channel_call(calls, self.symbols));
            let before = inside.remove(&step.thread);
            // It waited while others did something.
            let alone = last == Some(step.thread);
            last = Some(step.thread);
            let call = match (before, call) {
                (Some((name, at_first, steps)), Some(call)) if call == of_call(&name) && alone => {
                    inside.insert(step.thread, (name, at_first, steps + 1));
                    shown[at].own = false;
                    continue;
                }
                (Some(before), Some(call)) if call == of_call(&before.0) => {
                    calls.push(in_words(before));
                    Some(format!("{call}{GOES_ON}"))
                }
                (before, call) => {
                    calls.extend(before.map(in_words));
                    call
                }
            };
            if let Some(name) = call {
                shown[at].own = true;
                inside.insert(step.thread, (name, at, 1));
            }
        }
        calls.extend(inside.into_values().map(in_words));
        for (at, call) in calls {
            shown[at].call = Some(call);
        }
    }

    /// What happens to memory, as a step.
    fn memory(&mut self, change: &MemoryStep) -> ShownStep {
        let (what, kind) = match change.what {
            MemoryChange::Allocated => (ShownKind::Allocates, OpKind::Begin),
            MemoryChange::Freed => (ShownKind::Frees, OpKind::Free),
            MemoryChange::Returned => (ShownKind::Returns, OpKind::Exit),
            _ => (ShownKind::Ends, OpKind::Exit),
        };
        let is_block = matches!(what, ShownKind::Allocates | ShownKind::Frees);
        let own = |&&place: &&Place| self.symbols.frames(place).iter().any(Frame::is_own);
        let own = change.places.iter().find(own).copied();
        let place = change.places.first().copied();
        let step = TracedStep {
            thread: change.thread,
            kind,
            order: Order::Plain,
            addr: change.addr,
            len: u32::try_from(change.len).unwrap_or(u32::MAX),
            old: None,
            value: None,
            place,
        };
        let location = is_block.then(|| self.names.block(change.addr));
        ShownStep { what, location, ..self.step_at(&step, own.or(place)) }
    }

    /// What the standard library does for one line of the user's own code is shown by its updates, or by its
    /// first step if there is none; its own data do not matter.
    fn thin(&self, steps: &mut [ShownStep]) {
        let is_own = |place| self.symbols.frames(place).iter().any(Frame::is_own);
        // The line that each thread was in when it took its last step, if it was inside of the library.
        let mut lines: HashMap<u16, Option<String>> = HashMap::new();
        for shown in steps {
            let thread = shown.step.thread;
            if shown.what != ShownKind::Step {
                continue;
            }
            // A function of C++ does to an atomic what the line says.
            let is_whole = |place| is_own(place) || is_of_atomics(&self.symbols.frames(place));
            if !shown.own || shown.step.place.is_some_and(is_whole) {
                lines.remove(&thread);
                continue;
            }
            let first = lines.insert(thread, shown.site.clone()) != Some(shown.site.clone());
            let library = shown.location.as_ref().is_some_and(|name| name.starts_with("std::"));
            shown.own = (first || shown.step.kind == OpKind::Update) && !library;
        }
    }

    /// A step with its source.
    fn step(&mut self, step: &TracedStep) -> ShownStep {
        self.step_at(step, step.place)
    }

    /// The same for a place that calls it.
    fn step_at(&mut self, step: &TracedStep, place: Option<Place>) -> ShownStep {
        let is_own = |place| self.symbols.frames(place).iter().any(Frame::is_own);
        let touches = step.op().touches();
        let location = touches.then(|| self.names.data(step.addr, u64::from(step.len)));
        let in_words = |value: Option<u64>| {
            self.names.value_in_words(step.addr, step.len, value?, location.as_deref())
        };
        ShownStep {
            step: *step,
            in_words: [step.old, step.value].map(in_words),
            location: location.clone(),
            site: place.map(|place| site(place, self.symbols)),
            text: place.and_then(|place| self.of(place)),
            own: place.is_some_and(is_own),
            call: None,
            at_once: false,
            note: None,
            what: ShownKind::Step,
        }
    }

    /// What stands in the source at a place of the user's own code.
    fn of(&mut self, place: Place) -> Option<String> {
        self.symbols.source(place, self.sources)
    }
}

/// Plain loads of what nobody writes while there are several threads explain nothing: in Rust, closures get
/// at what they have captured by them.
fn hide_constants(shown: &mut [ShownStep], steps: &[TracedStep]) {
    let stores = steps.iter().filter(|s| s.kind != OpKind::Read && matters(s));
    let written: HashSet<u64> = stores.flat_map(|s| s.op().words()).collect();
    for shown in shown.iter_mut().filter(|shown| shown.what == ShownKind::Step) {
        let step = &shown.step;
        if (step.kind, step.order) == (OpKind::Read, Order::Plain) {
            shown.own &= step.op().words().any(|word| written.contains(&word));
        }
    }
}

/// Whether a place is in the file of a panic and not below it.
fn is_before(site: &Option<String>, (file, line): &(String, u32)) -> bool {
    let site = site.as_ref().and_then(|site| site.rsplit_once(':'));
    site.is_some_and(|(f, l)| f == file && l.parse().is_ok_and(|l: u32| l <= *line))
}

/// The file and line that words about a panic begin with.
fn panicked_at(text: &str) -> Option<(String, u32)> {
    let mut parts = text.splitn(3, ':');
    let (file, line) = (parts.next()?, parts.next()?.parse().ok()?);
    Some((file.to_owned(), line))
}

/// Whether memory notices a step.
fn matters(step: &TracedStep) -> bool {
    step.op().touches() || matches!(step.kind, OpKind::Fence | OpKind::StoreFence)
}

/// Where another thread is started for the first time; the harness of a test starts that of the test.
fn first_spawn(steps: &[TracedStep], harness: bool) -> usize {
    let starts = |s: &TracedStep| s.kind == OpKind::Spawn && !(harness && s.thread == 0);
    steps.iter().position(starts).unwrap_or(0)
}
