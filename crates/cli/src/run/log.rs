//! An execution that was executed again, as a log for the monitors.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use weakspot_core::{DelayedRun, Drain, LogBatch, LogEvent, LogLoc, LogTables, Model, Overtaking};
use weakspot_live::wire::{Place, TracedStep};
use weakspot_live::{Compiled, Op, Step, compiled};
use weakspot_monitor::{Algorithm, Form, Watch};
use weakspot_trace::{LogFormat, LogWriter};

use super::symbols::Symbols;
use crate::output::NewFile;

/// What threads are called: in the order in which they were created.
pub(crate) fn thread_name(thread: u16) -> String {
    if thread == 0 { "main".to_owned() } else { format!("T{thread}") }
}

/// Writes an execution to a log whose format its ending says.
pub(crate) fn write(path: &Path, logged: &Logged) -> Result<()> {
    let failed = || format!("failed to write {}", path.display());
    let format = LogFormat::from_path(path).unwrap_or(LogFormat::Text);
    let mut writer = LogWriter::new(NewFile::create(path)?, format);
    // Several places of a program may be on one line, which has one name in a log.
    let mut tables = LogTables { sites: Vec::new(), ..logged.tables.clone() };
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut site = |of: u32| {
        let text = of.checked_sub(1).and_then(|at| logged.tables.sites.get(at as usize));
        text.map_or(0, |text| {
            *numbers.entry(text).or_insert_with(|| {
                tables.sites.push(text.clone());
                tables.sites.len() as u32
            })
        })
    };
    let events: Vec<LogEvent> =
        logged.events.iter().map(|event| LogEvent { site: site(event.site), ..*event }).collect();
    let batch = LogBatch { events, values: Vec::new() };
    writer.write(&batch, &tables).with_context(failed)?;
    writer.finish().with_context(failed)?.finish()
}

/// A log that goes away with its owner.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    pub(crate) fn new(logged: &Logged) -> Result<Temporary> {
        let name = format!("weakspot-{}.wstrace", std::process::id());
        let log = Temporary(std::env::temp_dir().join(name));
        write(&log.0, logged)?;
        Ok(log)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What is left in a temporary folder does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The events of an execution.
pub(crate) struct Replayed {
    /// As monitors that heed the orders of atomics see it.
    ordered: Logged,
    /// As the monitor for PSO in the papers sees it.
    own: Logged,
}

/// Events with their names.
pub(crate) struct Logged {
    pub(crate) tables: LogTables,
    pub(crate) events: Vec<LogEvent>,
    /// The places of sites.
    places: Vec<Place>,
}

impl Replayed {
    pub(crate) fn new(steps: &[TracedStep], symbols: &Symbols) -> Replayed {
        let mut places: Vec<Place> = Vec::new();
        let mut numbers: HashMap<Place, u64> = HashMap::new();
        let mut number = |place: Option<Place>| {
            let place = place.unwrap_or(Place { module: None, offset: 0 });
            *numbers.entry(place).or_insert_with(|| {
                places.push(place);
                places.len() as u64 - 1
            })
        };
        let steps: Vec<Step> = steps
            .iter()
            .map(|step| Step {
                thread: step.thread,
                op: Op { kind: step.kind, len: step.len, addr: step.addr },
                order: step.order,
                at: number(step.place),
            })
            .collect();
        let logged = |orders: bool| Logged::new(compiled(&steps, orders), &places, symbols);
        Replayed { ordered: logged(true), own: logged(false) }
    }

    /// The log under a model.
    pub(crate) fn under(&self, model: Model) -> &Logged {
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
        let Logged { tables, events, places } = self.under(model);
        let mut watch = Watch::new(&[asked], Algorithm::Monitor(Form::All));
        let batch = LogBatch { events: events.clone(), values: Vec::new() };
        watch.follow(&batch, tables).map_err(|refused| anyhow!("{refused}"))?;
        let reports = watch.reports(tables, asked).map_err(|rejected| {
            anyhow!(
                "the answer under {model} did not pass its own check ({rejected}); this is a \
                 defect of weakspot, please report it with the program"
            )
        })?;
        let at = |site: u32| places.get((site as usize).checked_sub(1)?);
        let pair = |o: &Overtaking| (at(o.store.site), at(o.access.site));
        Ok(reports
            .into_iter()
            .find(|shown| pair(&shown.overtaking) == (Some(&store), Some(&access)))
            .map(|shown| (shown.overtaking, shown.run)))
    }
}

impl Logged {
    fn new(compiled: Compiled, places: &[Place], symbols: &Symbols) -> Logged {
        let Compiled { events, locs, sites } = compiled;
        let threads = events.iter().map(|event| event.thread).max().map_or(0, |most| most + 1);
        let places: Vec<Place> = sites.iter().map(|&at| places[at as usize]).collect();
        let mut names = HashSet::new();
        let loc = |bytes: weakspot_core::Bytes| {
            let name = symbols.data(bytes.start).unwrap_or_else(|| format!("{:#x}", bytes.start));
            // Accesses of different sizes are different locations.
            let sized = format!("{name}/{}", bytes.len);
            let name = if names.insert(name.clone()) { name } else { sized };
            LogLoc { name, bytes: Some(bytes) }
        };
        let tables = LogTables {
            threads: (0..threads).map(thread_name).collect(),
            locs: locs.into_iter().map(loc).collect(),
            sites: places.iter().map(|&place| symbols.text(place)).collect(),
        };
        Logged { tables, events, places }
    }
}
