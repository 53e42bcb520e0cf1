//! `weakspot run --fences`: the fewest changes of the source that prevent all findings.
//!
//! As in `explore/src/fence.rs`: whatever prevents a finding has one of the single changes that do.
//! The cheapest set with one of these for each finding so far is tried by exploring the
//! program again as if it had them, up to the first new finding; when there is none, the set is the
//! answer. A fence in a source stands between more places of the program than have been seen
//! when it is chosen (code that was inlined several times, ways that lead over it): those that show up
//! later in a finding are added to it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use anyhow::Result;
use weakspot_build::source::FenceKind;
use weakspot_core::Limit;
use weakspot_explore::hitting::{self, Clause};
use weakspot_live::Order;
use weakspot_live::wire::{Place, PlacedFence};
use weakspot_report::{RealAdvice, RealChange};

use super::heard::Overtaking;
use super::sources::{Change, Sources};
use super::{Exploration, Until, child};
use crate::pool;

impl Exploration<'_> {
    /// Which changes prevent what was found.
    pub(super) fn advise(&self) -> Result<RealAdvice> {
        let sources = Sources::new(&self.symbols);
        let mut advice = Advice::new(&sources);
        advice.learn(&self.overtakings);
        let mut told = RealAdvice {
            models: self.args.model.clone(),
            findings: self.overtakings.len(),
            changes: None,
            diff: String::new(),
            limit: self.limit.clone(),
            explorations: 0,
            executions: 0,
            remarks: Vec::new(),
        };
        let chosen = loop {
            let Some(chosen) = advice.cheapest() else { break None };
            if chosen.is_empty() {
                break Some(chosen);
            }
            let again = self.explore_with(advice.simulated(&chosen))?;
            told.explorations += 1;
            told.executions += again.executions;
            if again.overtakings.is_empty() {
                told.limit = again.limit;
                break Some(chosen);
            }
            if pool::interrupted() {
                told.limit = Some(Limit::Interrupted);
                break None;
            }
            if !advice.learn(&again.overtakings) {
                break None;
            }
        };
        if let Some(chosen) = chosen {
            told.diff = sources.diff(&chosen);
            told.changes = Some(chosen.iter().map(|&change| line(&sources, change)).collect());
        }
        if let [program, ..] = &self.subject.command[..] {
            for file in sources.newer_than(&child::find(program)?) {
                told.remarks.push(format!(
                    "{file} was changed after the program was built: lines may be wrong"
                ));
            }
        }
        Ok(told)
    }

    /// Explores the program as if it had fences, up to the first finding.
    fn explore_with(&self, fences: Vec<PlacedFence>) -> Result<Exploration<'_>> {
        let mut again = Exploration::new(self.args, self.subject, self.runtime.clone());
        again.shared.clone_from(&self.shared);
        again.transactions.clone_from(&self.transactions);
        again.traps.clone_from(&self.traps);
        again.fork = self.fork;
        again.fences = fences;
        again.until = Until::Overtaken;
        again.explore(Instant::now())?;
        Ok(again)
    }
}

fn line(sources: &Sources<'_>, change: Change) -> RealChange {
    let (file, line, what) = sources.told(change);
    let kind = match change {
        Change::Order { strong: false, .. } => "release",
        Change::Order { strong: true, .. } => "seq_cst",
        Change::Fence { kind: FenceKind::StoreStore, .. }
        | Change::Inside(PlacedFence::Stores(..)) => "store-store",
        _ => "full",
    };
    let written = !matches!(change, Change::Inside(_));
    RealChange { file, line, kind, what, written }
}

/// What is known about the changes that prevent findings.
struct Advice<'a> {
    sources: &'a Sources<'a>,
    /// All that were mentioned.
    changes: Vec<Change>,
    clauses: Vec<Clause>,
    /// Between which places a fence at a byte of a file stands.
    ways: BTreeMap<(usize, usize), BTreeSet<(Place, Place)>>,
    /// Which places have the order at a byte of a file.
    operations: BTreeMap<(usize, usize), BTreeSet<Place>>,
}

impl<'a> Advice<'a> {
    fn new(sources: &'a Sources<'a>) -> Advice<'a> {
        Advice {
            sources,
            changes: Vec::new(),
            clauses: Vec::new(),
            ways: BTreeMap::new(),
            operations: BTreeMap::new(),
        }
    }

    /// Takes findings into account; whether that says anything new.
    fn learn(&mut self, findings: &[Overtaking]) -> bool {
        let mut new = false;
        for finding in findings {
            let mut clause = Clause::new();
            for &fence in &finding.fences {
                for change in self.sources.changes(fence) {
                    new |= self.applies(change, fence);
                    clause.insert(self.number(change));
                }
            }
            if clause.is_empty() {
                for &fence in &finding.fences {
                    if !matches!(fence, PlacedFence::Order(..)) {
                        clause.insert(self.number(Change::Inside(fence)));
                    }
                }
            }
            if !self.clauses.contains(&clause) {
                self.clauses.push(clause);
                new = true;
            }
        }
        new
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
    fn cheapest(&self) -> Option<Vec<Change>> {
        let costs: Vec<u64> = self.changes.iter().map(|change| change.cost()).collect();
        let mut go_on = || !pool::interrupted();
        let chosen = hitting::solve(&self.clauses, &costs, &mut go_on)?;
        let mut chosen: Vec<Change> = chosen.into_iter().map(|i| self.changes[i]).collect();
        chosen.sort_by_key(|change| match *change {
            Change::Fence { file, at, .. } | Change::Order { file, at, .. } => (file, at),
            Change::Inside(_) => (usize::MAX, 0),
        });
        Some(chosen)
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
                Change::Order { file, at, strong } => {
                    let order = if strong { Order::SeqCst } else { Order::Release };
                    let places = self.operations.get(&(file, at)).into_iter().flatten();
                    fences.extend(places.map(|&place| PlacedFence::Order(place, order)));
                }
                Change::Inside(fence) => fences.push(fence),
            }
        }
        fences
    }
}
