//! An execution that was executed again, as a log for the monitors.

use std::collections::{HashMap, HashSet};

use weakspot_core::certify::Rejected;
use weakspot_core::{
    DelayedRun, Drain, End, LogBatch, LogEvent, LogLoc, LogTables, Model, Overtaking,
};
use weakspot_live::wire::Place;
use weakspot_live::{Compiled, Op, Step, compiled};
use weakspot_monitor::{Algorithm, Form, Watch, report_overlapping, show};

use crate::facts::lines::Lines;
use crate::facts::symbols::Symbols;
use crate::replay::Traced;
use crate::replay::names::Names;
use crate::{Error, Result};

/// How many events are gone through again to check a report: some seconds.
const WORK: usize = 1 << 20;

/// The events of an execution.
#[derive(Debug)]
pub struct Replayed {
    /// As monitors that heed the orders of atomics see it.
    ordered: Logged,
    /// As the monitor for PSO in the papers sees it.
    own: Logged,
}

/// Events with their names.
#[derive(Clone, Debug)]
pub struct Logged {
    /// The names.
    pub tables: LogTables,
    /// The events.
    pub events: Vec<LogEvent>,
    /// By the number of an event: that of the step that it is of.
    pub(crate) steps: Vec<usize>,
    /// What stands in the source at the sites; nothing where that cannot be read.
    pub sources: Vec<String>,
    /// The places of sites.
    places: Vec<Place>,
}

/// A place, and within a standard library where that was called, which is where the step is said to be.
struct Site {
    place: Place,
    at: Place,
    text: String,
}

impl Replayed {
    pub(crate) fn new(traced: &Traced, names: &Names<'_>, symbols: &Symbols) -> Replayed {
        let mut places: Vec<Site> = Vec::new();
        let mut numbers = HashMap::new();
        let mut number = |step: usize, place: Option<Place>| {
            let place = place.unwrap_or(Place { module: None, offset: 0 });
            let caller = traced.caller(step, symbols);
            let at = caller.as_ref().map_or(place, |(call, _)| *call);
            *numbers.entry((place, caller)).or_insert_with(|| {
                let text = traced.site(step, symbols).unwrap_or_else(|| symbols.text(place));
                places.push(Site { place, at, text });
                places.len() as u64 - 1
            })
        };
        let steps = traced.steps.iter().enumerate();
        let steps: Vec<Step> = steps
            .map(|(i, step)| Step {
                thread: step.thread,
                op: Op { kind: step.kind, len: step.len, addr: step.addr },
                order: step.order,
                at: number(i, step.place),
            })
            .collect();
        let logged = |orders: bool| Logged::new(compiled(&steps, orders), &places, names, symbols);
        Replayed { ordered: logged(true), own: logged(false) }
    }

    /// The log under a model.
    #[must_use]
    pub fn under(&self, model: Model) -> &Logged {
        if model == Model::Pso(Drain::Own) { &self.own } else { &self.ordered }
    }

    /// What the monitor for a model says about two places, with the run that shows it.
    pub(crate) fn report(
        &self,
        model: Model,
        store: Place,
        access: Place,
    ) -> Result<Option<(Overtaking, Option<DelayedRun>)>> {
        // Orders are fences in the log; apart from these, updates wait only for their own address.
        let asked = match model {
            Model::Pso(_) => Model::Pso(Drain::Own),
            model => model,
        };
        let Logged { tables, events, places, .. } = self.under(model);
        let mut watch = Watch::new(&[asked], Algorithm::Monitor(Form::All));
        let batch = LogBatch { events: events.clone(), values: Vec::new() };
        watch.follow(&batch, tables).map_err(|refused| Error::new(refused.to_string()))?;
        let at = |site: u32| places.get((site as usize).checked_sub(1)?);
        let pair = |o: &Overtaking| (at(o.store.site), at(o.access.site));
        let mut reports = watch.overtakings(asked).into_iter();
        let rejected = |rejected: Rejected| {
            Error::defect(format!(
                "the answer under {model} did not pass its own check ({rejected})"
            ))
        };
        let Some(report) = reports.find(|o| pair(o) == (Some(&store), Some(&access))) else {
            let is = |place: Place| move |end: &End| at(end.site) == Some(&place);
            let found = report_overlapping(events, tables, asked, is(store), is(access));
            return Ok(found.map_err(rejected)?.map(|(report, run)| (report, Some(run))));
        };
        let mut work = WORK;
        let run = show(watch.kept(), tables, asked, &report, &mut work).map_err(rejected)?;
        Ok(Some((report, run)))
    }
}

impl Logged {
    fn new(compiled: Compiled, places: &[Site], known: &Names<'_>, symbols: &Symbols) -> Logged {
        let Compiled { events, steps, locs, sites } = compiled;
        let threads = events.iter().map(|event| event.thread).max().map_or(0, |most| most + 1);
        let sites: Vec<&Site> = sites.iter().map(|&at| &places[at as usize]).collect();
        let mut names = HashSet::new();
        let loc = |bytes: weakspot_core::Bytes| {
            let name = known.data(bytes.start, u64::from(bytes.len));
            // Accesses of different sizes are different locations.
            let sized = format!("{name}/{}", bytes.len);
            let name = if names.insert(name.clone()) { name } else { sized };
            LogLoc { name, bytes: Some(bytes) }
        };
        let tables = LogTables {
            threads: (0..threads).map(|t| known.thread(t)).collect(),
            locs: locs.into_iter().map(loc).collect(),
            sites: sites.iter().map(|site| site.text.clone()).collect(),
        };
        let mut lines = Lines::default();
        let mut source = |site: &&Site| symbols.source(site.at, &mut lines).unwrap_or_default();
        let sources = sites.iter().map(&mut source).collect();
        let places = sites.iter().map(|site| site.place).collect();
        Logged { tables, events, steps, sources, places }
    }
}
