//! `weakspot run --fences`: the fewest changes of the source that prevent all findings.
//!
//! As in `explore/src/fence.rs`: whatever prevents a finding has one of the single changes that do.
//! The cheapest set with one of these for each finding so far is tried by exploring the
//! program again as if it had them, up to the first new finding; when there is none, the set is the
//! answer. A fence in a source stands between more places of the program than have been seen
//! when it is chosen (code that was inlined several times, ways that lead over it): those that show up
//! later in a finding are added to it.

pub(crate) mod language;
pub(crate) mod sources;

use std::collections::{BTreeMap, BTreeSet};

use weakspot_build::source::{FenceKind, Wanted};
use weakspot_core::{Limit, Model};
use weakspot_explore::hitting::{self, Clause};
use weakspot_live::Order;
use weakspot_live::wire::{Config, Place, PlacedFence};

use crate::advice::language::Links;
use crate::advice::sources::{Change, Patch, Sources, named, wanted};
use crate::explore::findings::Overtaking;
use crate::explore::{Explored, explore_until};
use crate::facts::symbols::Symbols;
use crate::judge::accepted::Acceptance;
use crate::replay::names::site;
use crate::replay::{Replays, Traced};
use crate::{Campaign, Control, Result, Until};

/// So many findings are looked at by the rules of the language.
const MOST_LOOKED_AT: usize = 20;

/// So much is done for that: with long executions, some seconds.
const MOST_WORK: usize = 20_000_000;

/// The fewest changes that prevent all findings.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The models that were watched for.
    pub models: Vec<Model>,
    /// How many findings there are without changes that the sources can prevent.
    pub findings: usize,
    /// How many others there are, which nothing but changes of a standard library would prevent.
    pub in_library: usize,
    /// The changes, none if none are needed; nothing if no changes are known that are enough.
    pub changes: Option<Vec<SourceChange>>,
    /// What has to be changed in the sources.
    pub patches: Vec<Patch>,
    /// Why not all executions were explored with the changes; nothing if they were.
    pub limit: Option<Limit>,
    /// How often the program was explored again.
    pub explorations: u64,
    /// How many executions that were.
    pub executions: u64,
    /// What the user should know.
    pub remarks: Vec<String>,
}

/// A change.
#[derive(Clone, Debug)]
pub struct SourceChange {
    /// The file.
    pub file: String,
    /// The line that it is in, or behind.
    pub line: u32,
    /// `full` or `store-store` for a fence; the order that it should have for an access.
    pub kind: &'static str,
    /// The same in words.
    pub what: String,
    /// Whether a patch has it.
    pub written: bool,
    /// Whether only the language asks for it, and the machine does not.
    pub language: bool,
}

/// Which changes prevent what was found; `races`: how many data races are shown.
pub(crate) fn advise(
    campaign: &Campaign<'_>,
    base: &Config,
    explored: &Explored,
    replays: &Replays<'_>,
    races: usize,
) -> Result<Advice> {
    let control = campaign.control;
    let baseline = &campaign.question.baseline;
    let mut acceptance = Acceptance::new(baseline, &explored.symbols);
    // What the user accepts needs no change. Who looks for others may meet it first.
    let mut unwanted = |findings: &[Overtaking]| -> Vec<Overtaking> {
        let is_unwanted = |found: &&Overtaking| acceptance.of(found).is_none();
        findings.iter().filter(is_unwanted).cloned().collect()
    };
    let findings = unwanted(&explored.findings.overtakings);
    let sources = Sources::new(&explored.symbols);
    // Nobody changes the standard library.
    let is_changed = |found: &Overtaking| !sources.are_of_library(&found.fences);
    let (findings, in_library): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_changed);
    let all_wanted = findings.len() == explored.findings.overtakings.len();
    let until = if all_wanted { Until::Overtaken } else { Until::End };
    let mut clauses = Clauses::new(&sources);
    clauses.learn(&findings);
    let mut advice = Advice {
        models: campaign.question.models.clone(),
        findings: findings.len(),
        in_library: in_library.len(),
        changes: None,
        patches: Vec::new(),
        limit: explored.limit.clone(),
        explorations: 0,
        executions: 0,
        remarks: Vec::new(),
    };
    let chosen = loop {
        if control.interrupted() && advice.findings > 0 {
            advice.limit = Some(Limit::Interrupted);
            break None;
        }
        let Some(chosen) = clauses.cheapest(control) else { break None };
        if chosen.is_empty() {
            break Some(chosen);
        }
        // As if the program had them, up to the first new finding.
        let fenced = Config { fences: clauses.simulated(&chosen), ..base.clone() };
        let shared = explored.shared.clone();
        let again = explore_until(campaign, &fenced, until, control.elapsed(), shared)?;
        advice.explorations += 1;
        advice.executions += again.executions;
        let mut left = unwanted(&again.findings.overtakings);
        left.retain(is_changed);
        if left.is_empty() {
            advice.limit = again.limit;
            break Some(chosen);
        }
        if !clauses.learn(&left) {
            break None;
        }
    };
    if let Some(chosen) = chosen {
        let mut language = Language::of(&findings, replays)?;
        let asked = language.asked(clauses.simulated(&chosen));
        let (mut with, mut more) = with_language(&chosen, &asked, &mut clauses, &explored.symbols);
        if !more.changes.is_empty() {
            let fewer = clauses.without_superfluous(&with, |some| {
                language.asked(some).is_empty() && !language.is_cut_short()
            });
            // What seems to be enough is tried out.
            if fewer.len() < with.len() && !control.interrupted() {
                let fenced = Config { fences: clauses.simulated(&fewer), ..base.clone() };
                let shared = explored.shared.clone();
                let again = explore_until(campaign, &fenced, until, control.elapsed(), shared)?;
                advice.explorations += 1;
                advice.executions += again.executions;
                let complete = again.limit.is_none() || advice.limit.is_some();
                let mut left = unwanted(&again.findings.overtakings);
                left.retain(is_changed);
                if complete && left.is_empty() {
                    with = fewer;
                }
            }
            // Whether the machine needs it is known when nothing is there twice.
            let is_more = |change: &Change| {
                let others: Vec<Change> = with.iter().copied().filter(|c| c != change).collect();
                with.contains(change) && clauses.hit_by(&others)
            };
            more.changes.retain(is_more);
        }
        advice.remarks.extend(more.remarks);
        if language.is_cut_short() {
            let long =
                "executions are too long to look at all of them by the rules of C11 and Rust";
            advice.remarks.push(format!("{long}, which may ask for more changes"));
        }
        advice.patches = sources.patches(&with);
        let line = |&change: &Change| line(&sources, change, more.changes.contains(&change));
        advice.changes = Some(with.iter().map(line).collect());
    }
    if let Some(first) = in_library.first() {
        let symbols = &explored.symbols;
        let traced = replays.trace(&first.seen.schedule, first.seen.known)?.unwrap_or_default();
        let store = traced.steps.iter().position(|step| step.place == Some(first.store));
        let at = store.and_then(|store| traced.site(store, symbols));
        let at = at.unwrap_or_else(|| site(first.store, symbols));
        let (pairs, such) = match in_library.len() {
            1 => ("1 pair is".to_owned(), "its store"),
            n => (format!("{n} pairs are"), "one store"),
        };
        advice.remarks.push(format!(
            "{pairs} of accesses in functions of a standard library, which are not changed: {such} is at {at}"
        ));
    }
    if races > 0 {
        let (one, s) = (races == 1, if races == 1 { "" } else { "s" });
        let left = match advice.changes.as_deref() {
            None | Some([]) if one => "needs another kind of change",
            None | Some([]) => "need another kind of change",
            // Races are not looked for in executions as if they had the changes.
            Some(_) => "may be left with these changes: build with them and look again",
        };
        advice.remarks.push(format!(
            "{races} data race{s} {left}; what is published has to be stored with release and read with \
             acquire, or under one lock"
        ));
    }
    if let Some(program) = &campaign.facts.file {
        for file in sources.newer_than(program) {
            advice.remarks.push(format!(
                "{file} was changed after the program was built: lines may be wrong"
            ));
        }
    }
    Ok(advice)
}

/// The rules of the language, about the executions in which pairs were seen.
struct Language {
    findings: Vec<(Place, Place)>,
    executions: Vec<Traced>,
    /// How much may still be done, and whether all was looked at.
    work: usize,
    all: bool,
}

impl Language {
    fn of(findings: &[Overtaking], replays: &Replays<'_>) -> Result<Language> {
        let findings = &findings[..findings.len().min(MOST_LOOKED_AT)];
        let mut executions = Vec::new();
        for seen in findings {
            let Some(traced) = replays.trace(&seen.seen.schedule, seen.seen.known)? else { break };
            executions.push(traced);
        }
        let findings = findings.iter().map(|found| (found.store, found.access)).collect();
        Ok(Language { findings, executions, work: MOST_WORK, all: true })
    }

    /// What it asks for beyond these changes.
    fn asked(&mut self, mut changes: Vec<PlacedFence>) -> Vec<PlacedFence> {
        let made = changes.len();
        for traced in &self.executions {
            let Some(links) = Links::of(&traced.steps) else {
                self.all = false;
                continue;
            };
            // In an execution in which one pair was seen, other ways may lead to another one.
            for &found in &self.findings {
                let more = links.missing(found, &changes, &mut self.work);
                changes.extend(more);
            }
        }
        changes.split_off(made)
    }

    /// Whether it may ask for more than it was found to.
    fn is_cut_short(&self) -> bool {
        !self.all || self.work == 0
    }
}

/// What the language adds.
struct More {
    changes: Vec<Change>,
    remarks: Vec<String>,
}

/// Changes of the source with what the language asks for, where it can be written down.
fn with_language(
    chosen: &[Change],
    asked: &[PlacedFence],
    clauses: &mut Clauses<'_>,
    symbols: &Symbols,
) -> (Vec<Change>, More) {
    let mut all = chosen.to_vec();
    let mut more = More { changes: Vec::new(), remarks: Vec::new() };
    for &fence in asked {
        let known = clauses.sources.changes(fence);
        for &change in &known {
            clauses.applies(change, fence);
        }
        if known.iter().any(|&change| all.iter().any(|made| made.includes(change))) {
            continue;
        }
        let Some(&change) = known.iter().min_by_key(|change| change.cost()) else {
            if clauses.sources.are_of_library(&[fence]) {
                continue;
            }
            let (place, what) = match fence {
                PlacedFence::Full(place, _) | PlacedFence::Stores(place, _) => {
                    (place, "a sequentially consistent fence behind it".to_owned())
                }
                PlacedFence::Order(place, order) => {
                    (place, format!("its order at least {}", named(wanted(order))))
                }
            };
            let at = symbols.text(place);
            more.remarks.push(format!("the language asks for more at {at}: {what}"));
            continue;
        };
        // One word says the order of an update.
        let same = |other: &&mut Change| match (&**other, change) {
            (Change::Order { file, at, .. }, Change::Order { file: f, at: a, .. }) => {
                (*file, *at) == (f, a)
            }
            _ => false,
        };
        match (all.iter_mut().find(same), change) {
            (Some(other), Change::Order { file, at, .. }) => {
                *other = Change::Order { file, at, order: Wanted::AcqRel };
            }
            _ => {
                all.push(change);
                more.changes.push(change);
            }
        }
    }
    let made = all.clone();
    all.retain(|&change| !made.iter().any(|other| *other != change && other.includes(change)));
    all.sort_by_key(|change| change.position());
    (all, more)
}

fn line(sources: &Sources<'_>, change: Change, language: bool) -> SourceChange {
    let (file, line, what) = sources.described(change);
    let kind = match change {
        Change::Order { order, .. } => named(order),
        Change::Fence { kind: FenceKind::StoreStore, .. }
        | Change::Inside(PlacedFence::Stores(..)) => "store-store",
        _ => "full",
    };
    let written = !matches!(change, Change::Inside(_));
    SourceChange { file, line, kind, what, written, language }
}

/// What is known about the changes that prevent findings.
struct Clauses<'a> {
    sources: &'a Sources<'a>,
    /// All that were mentioned.
    changes: Vec<Change>,
    clauses: Vec<Clause>,
    /// For each clause the fences that have the same effect but cannot be written down.
    inside: Vec<Clause>,
    /// Between which places a fence at a byte of a file stands.
    ways: BTreeMap<(usize, usize), BTreeSet<(Place, Place)>>,
    /// Which places have the order at a byte of a file.
    operations: BTreeMap<(usize, usize), BTreeSet<Place>>,
}

impl<'a> Clauses<'a> {
    fn new(sources: &'a Sources<'a>) -> Clauses<'a> {
        Clauses {
            sources,
            changes: Vec::new(),
            clauses: Vec::new(),
            inside: Vec::new(),
            ways: BTreeMap::new(),
            operations: BTreeMap::new(),
        }
    }

    /// Takes findings into account; whether that says anything new.
    fn learn(&mut self, findings: &[Overtaking]) -> bool {
        let mut new = false;
        for finding in findings {
            let mut clause = Clause::new();
            let wrapped = self.wrapped(&finding.fences);
            // An order that is written in a function for others to call changes all of them: only if
            // there is nothing else.
            let (later, first): (Vec<_>, Vec<_>) = finding.fences.iter().partition(
                |fence| matches!(fence, PlacedFence::Order(at, _) if wrapped.contains(at)),
            );
            for fences in [first, later] {
                if !clause.is_empty() {
                    break;
                }
                for fence in fences {
                    for change in self.sources.changes(fence) {
                        new |= self.applies(change, fence);
                        clause.insert(self.number(change));
                    }
                }
            }
            let is_fence = |fence: &&PlacedFence| {
                !matches!(fence, PlacedFence::Order(..)) && !self.sources.are_of_library(&[**fence])
            };
            let fences: Vec<PlacedFence> =
                finding.fences.iter().filter(is_fence).copied().collect();
            let inside: Clause =
                fences.into_iter().map(|fence| self.number(Change::Inside(fence))).collect();
            if clause.is_empty() {
                clause.clone_from(&inside);
            }
            let mut known = self.clauses.iter().zip(&self.inside);
            if !known.any(|(c, i)| (c, i) == (&clause, &inside)) {
                new |= !self.clauses.contains(&clause);
                self.clauses.push(clause);
                self.inside.push(inside);
            }
        }
        new
    }

    /// The places in functions that were inlined below where the calls part that lead to the two ends of a
    /// fence.
    fn wrapped(&self, fences: &[PlacedFence]) -> BTreeSet<Place> {
        let mut wrapped = BTreeSet::new();
        for &fence in fences {
            let (PlacedFence::Full(a, b) | PlacedFence::Stores(a, b)) = fence else { continue };
            let inside = self.sources.wrapped(a, b);
            wrapped.extend([a, b].into_iter().zip(inside).filter(|(_, is)| *is).map(|(at, _)| at));
        }
        wrapped
    }

    /// A change has the effect of this fence, too; whether that was not known.
    fn applies(&mut self, change: Change, fence: PlacedFence) -> bool {
        match (change, fence) {
            (
                Change::Fence { file, at, .. },
                PlacedFence::Full(a, b) | PlacedFence::Stores(a, b),
            ) => self.ways.entry((file, at)).or_default().insert((a, b)),
            (Change::Order { file, at, .. }, PlacedFence::Order(place, _)) => {
                self.operations.entry((file, at)).or_default().insert(place)
            }
            _ => false,
        }
    }

    fn number(&mut self, change: Change) -> usize {
        self.changes.iter().position(|known| *known == change).unwrap_or_else(|| {
            self.changes.push(change);
            self.changes.len() - 1
        })
    }

    /// The cheapest changes that prevent all findings so far, in the order of files and lines.
    fn cheapest(&self, control: &dyn Control) -> Option<Vec<Change>> {
        let costs: Vec<u64> = self.changes.iter().map(|change| change.cost()).collect();
        let mut go_on = || !control.interrupted();
        // What one finding cannot do without, though it cannot be written down, may be enough for others.
        let both = || self.clauses.iter().zip(&self.inside);
        let needed: BTreeSet<usize> = both()
            .filter(|(all, inside)| all == inside)
            .flat_map(|(all, _)| all.iter().copied())
            .collect();
        let with_needed = |(clause, inside): (&Clause, &Clause)| -> Clause {
            clause.iter().chain(inside.iter().filter(|i| needed.contains(i))).copied().collect()
        };
        let clauses: Vec<Clause> = both().map(with_needed).collect();
        let chosen = hitting::solve(&clauses, &costs, &mut go_on)?;
        let mut chosen: Vec<Change> = chosen.into_iter().map(|i| self.changes[i]).collect();
        chosen.sort_by_key(|change| change.position());
        Some(chosen)
    }

    /// The changes without those that others make superfluous: each finding so far is prevented, and `enough` says that nothing
    /// else is missing. Weak ones, which
    /// stronger ones may include, are tried first.
    fn without_superfluous(
        &self,
        chosen: &[Change],
        mut enough: impl FnMut(Vec<PlacedFence>) -> bool,
    ) -> Vec<Change> {
        let mut left = chosen.to_vec();
        let mut tried = chosen.to_vec();
        tried.sort_by_key(|change| change.cost());
        for &change in &tried {
            let fewer: Vec<Change> = left.iter().copied().filter(|c| *c != change).collect();
            if self.hit_by(&fewer) && enough(self.simulated(&fewer)) {
                left = fewer;
            }
        }
        left
    }

    /// Whether changes prevent all findings so far.
    fn hit_by(&self, chosen: &[Change]) -> bool {
        let hits = |clause: &Clause| {
            clause.iter().any(|&i| chosen.iter().any(|change| change.includes(self.changes[i])))
        };
        self.clauses.iter().all(hits)
    }

    /// What the library has to look at the program as if it had.
    fn simulated(&self, chosen: &[Change]) -> Vec<PlacedFence> {
        let mut fences = Vec::new();
        for &change in chosen {
            match change {
                Change::Fence { file, at, kind } => {
                    let ways = self.ways.get(&(file, at)).into_iter().flatten();
                    fences.extend(ways.map(|&(a, b)| match kind {
                        FenceKind::Full => PlacedFence::Full(a, b),
                        FenceKind::StoreStore => PlacedFence::Stores(a, b),
                    }));
                }
                Change::Order { file, at, order } => {
                    let order = match order {
                        Wanted::Acquire => Order::Acquire,
                        Wanted::Release => Order::Release,
                        Wanted::AcqRel => Order::AcqRel,
                        Wanted::SeqCst => Order::SeqCst,
                    };
                    let places = self.operations.get(&(file, at)).into_iter().flatten();
                    fences.extend(places.map(|&place| PlacedFence::Order(place, order)));
                }
                Change::Inside(fence) => fences.push(fence),
            }
        }
        fences
    }
}
