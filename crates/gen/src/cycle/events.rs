//! From the steps of a cycle to its accesses: which thread and location each has, which values are
//! written, and which must be read if the cycle is an execution.

use std::fmt;

use super::edge::{Com, Dir, Edge};
use super::name;

/// Locations have one letter each.
pub(super) const LOCATIONS: [&str; 12] =
    ["x", "y", "z", "a", "b", "c", "d", "e", "f", "g", "h", "k"];

/// A cycle that makes up a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    edges: Vec<Edge>,
    events: Vec<Event>,
    /// The last values of locations, where the cycle says which.
    finals: Vec<(usize, i64)>,
}

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its thread.
    pub thread: usize,
    /// Its location.
    pub location: usize,
    /// Whether it reads or writes.
    pub dir: Dir,
    /// What is written, or has to be read; `None` if that does not matter.
    pub value: Option<i64>,
}

/// Why steps are no cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CycleError {
    /// A step ends in an access of another kind than the next one begins with.
    Mismatch(Edge, Edge),
    /// No step leads to another thread.
    OneThread,
    /// Exactly one step leads to another location.
    OneChange(Edge),
    /// More than two writes to a location.
    ManyWrites,
    /// More locations than letters.
    ManyLocations,
    /// A read would have to read two values.
    Contradiction,
    /// No step is one of program order.
    NoProgramOrder,
    /// There are no steps.
    Empty,
}

impl fmt::Display for CycleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |dir| if dir == Dir::R { "a read" } else { "a write" };
        match self {
            CycleError::Mismatch(a, b) => write!(
                f,
                "{a} ends in {}, but {b}, which follows, begins with {}",
                kind(a.to()),
                kind(b.from())
            ),
            CycleError::OneThread => {
                f.write_str("no step leads to another thread: expected Rfe, Fre or Coe")
            }
            CycleError::OneChange(edge) => {
                write!(f, "only {edge} leads to another location: the cycle does not come back")
            }
            CycleError::ManyWrites => {
                f.write_str("more than two writes to one location are not supported")
            }
            CycleError::ManyLocations => {
                write!(f, "more than {} locations are not supported", LOCATIONS.len())
            }
            CycleError::Contradiction => f.write_str("a read would have to read two values"),
            CycleError::NoProgramOrder => f.write_str(
                "no order of the writes has such a cycle: expected a step of program order, as PosWR",
            ),
            CycleError::Empty => f.write_str("expected the steps of a cycle"),
        }
    }
}

impl std::error::Error for CycleError {}

impl Cycle {
    /// The cycle of these steps, which begins with a thread.
    ///
    /// # Errors
    ///
    /// The steps are no cycle, or none that a test can be made of.
    pub fn new(edges: &[Edge]) -> Result<Cycle, CycleError> {
        let n = edges.len();
        if n == 0 {
            return Err(CycleError::Empty);
        }
        for i in 0..n {
            let (edge, next) = (edges[i], edges[(i + 1) % n]);
            if edge.to() != next.from() {
                return Err(CycleError::Mismatch(edge, next));
            }
        }
        if !edges.iter().any(|e| e.is_external()) {
            return Err(CycleError::OneThread);
        }
        let edges = name::from_a_thread(edges);
        let changes: Vec<Edge> = edges.iter().copied().filter(|e| e.changes_location()).collect();
        match changes[..] {
            [only] => return Err(CycleError::OneChange(only)),
            _ if changes.len() > LOCATIONS.len() => return Err(CycleError::ManyLocations),
            _ => {}
        }
        let locations = changes.len().max(1);
        let (mut thread, mut location) = (0, 0);
        let mut events = Vec::new();
        for edge in &edges {
            events.push(Event { thread, location, dir: edge.from(), value: None });
            thread += usize::from(edge.is_external());
            location = (location + usize::from(edge.changes_location())) % locations;
        }
        let cycle = Cycle { edges, events, finals: Vec::new() };
        if locations > 1 {
            return cycle.with_values(locations, None);
        }
        // On one location the order of the writes begins behind any step of program order: the other steps
        // are about that order, so none of them may lead back to its beginning.
        let behind_po = |i: &usize| matches!(cycle.edges[(*i + n - 1) % n], Edge::Po { .. });
        let mut refused = CycleError::NoProgramOrder;
        for start in (0..n).filter(behind_po) {
            match cycle.clone().with_values(locations, Some(start)) {
                Err(why) => refused = why,
                found => return found,
            }
        }
        Err(refused)
    }

    fn with_values(mut self, locations: usize, start: Option<usize>) -> Result<Cycle, CycleError> {
        self.write_values(locations, start)?;
        self.read_values()?;
        Ok(self)
    }

    /// Numbers the writes of each location in the order of the cycle, which is that of coherence. If there is
    /// one location, this is where its order begins.
    fn write_values(&mut self, locations: usize, start: Option<usize>) -> Result<(), CycleError> {
        let n = self.events.len();
        // Where nothing is read, the writes are numbered as they are written: the last step leads back.
        let only_writes = self.events.iter().all(|event| event.dir == Dir::W);
        for location in 0..locations {
            // Where the cycle comes to the location.
            let comes = |i: &usize| {
                let before = (*i + n - 1) % n;
                self.events[*i].location == location && self.edges[before].changes_location()
            };
            let first = match start {
                Some(_) if only_writes => 0,
                Some(start) => start,
                None => (0..n).find(comes).unwrap_or(0),
            };
            let mut value = 0;
            let mut last_write = None;
            for i in (first..first + n).map(|i| i % n) {
                let event = &mut self.events[i];
                if event.location == location && event.dir == Dir::W {
                    value += 1;
                    event.value = Some(value);
                    last_write = Some(i);
                }
            }
            if value > 2 {
                return Err(CycleError::ManyWrites);
            }
            // On one location, the step that closes the cycle may lead back to the first write.
            let closing = last_write.map(|i| self.edges[i]);
            let back = locations == 1
                && matches!(closing, Some(Edge::Com { com: Com::Co, .. }))
                && value == 2
                && last_write.is_some_and(|i| self.events[(i + 1) % n].value == Some(1));
            if value == 2 {
                self.finals.push((location, if back { 1 } else { 2 }));
            }
        }
        Ok(())
    }

    fn read_values(&mut self) -> Result<(), CycleError> {
        let n = self.events.len();
        for i in 0..n {
            let next = (i + 1) % n;
            let (at, value) = match self.edges[i] {
                Edge::Com { com: Com::Rf, .. } => (next, self.events[i].value),
                Edge::Com { com: Com::Fr, .. } => (i, self.events[next].value.map(|v| v - 1)),
                _ => continue,
            };
            let event = &mut self.events[at];
            if event.value.is_some() && event.value != value {
                return Err(CycleError::Contradiction);
            }
            event.value = value;
        }
        Ok(())
    }

    /// The steps, from the first access of the first thread.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The accesses, in the order of the cycle.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The last values of locations, where the cycle says which.
    #[must_use]
    pub fn finals(&self) -> &[(usize, i64)] {
        &self.finals
    }

    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.events.last().map_or(0, |e| e.thread + 1)
    }

    /// The name of the test: a classic one where there is one, and what orders its accesses.
    #[must_use]
    pub fn name(&self) -> String {
        name::name(&self.edges)
    }

    /// The names of the steps.
    #[must_use]
    pub fn words(&self) -> String {
        self.edges.iter().map(Edge::to_string).collect::<Vec<_>>().join(" ")
    }
}
