//! Cycles as evidence: the edges of a graph with the reasons for which they are there.

use std::collections::HashMap;

use weakspot_core::transactional::{BEGINNING, Fact, Reason};
use weakspot_core::{Limit, TxnEvidence, TxnModel};

use super::Meter;
use super::graph::{Edge, EdgeWhy, Graph, Outgoing};

/// The evidence that a cycle of edges is; a single edge is one to the beginning.
pub(super) fn cycle(
    graph: &Graph<'_>,
    model: TxnModel,
    edges: &[Edge],
    meter: &mut Meter<'_>,
) -> Result<TxnEvidence, Limit> {
    let (facts, known) = (Vec::new(), HashMap::new());
    let mut explain = Explain { graph, out: None, model, facts, known, meter };
    let mut cycle = explain.path(edges)?;
    if let [edge] = edges {
        cycle.insert(0, explain.fact(BEGINNING, edge.from, Reason::Beginning));
    }
    Ok(TxnEvidence::Cycle { facts: explain.facts, cycle })
}

/// Kinds of reasons that follow from others.
const OLDER: u8 = 4;
const OVERWRITES: u8 = 5;

struct Explain<'a, 'm> {
    graph: &'a Graph<'a>,
    /// Where a path is looked for.
    out: Option<Outgoing>,
    model: TxnModel,
    facts: Vec<Fact>,
    /// By where they start and end, and which kind of reason they have.
    known: HashMap<(u32, u32, u8), u32>,
    meter: &'a mut Meter<'m>,
}

impl Explain<'_, '_> {
    /// A fact, unless there is one like it.
    fn fact(&mut self, from: u32, to: u32, reason: Reason) -> u32 {
        let kind = match reason {
            Reason::Beginning => 0,
            Reason::Session => 1,
            Reason::Reads(_) => 2,
            Reason::Versions(..) => 3,
            Reason::Older { .. } => OLDER,
            Reason::Overwrites { .. } => OVERWRITES,
        };
        // Under read committed it matters which read it is.
        let is_kept = self.model != TxnModel::ReadCommitted || kind != 2;
        let known = self.known.get(&(from, to, kind)).filter(|_| is_kept);
        if let Some(&known) = known {
            return known;
        }
        self.facts.push(Fact { from, to, reason });
        let number = self.facts.len() as u32 - 1;
        self.known.insert((from, to, kind), number);
        number
    }

    /// A path as facts; steps within one session become one.
    fn path(&mut self, edges: &[Edge]) -> Result<Vec<u32>, Limit> {
        let mut path = Vec::new();
        let is_session = |edge: &Edge| edge.why == EdgeWhy::Session;
        for same in edges.chunk_by(|a, b| is_session(a) && is_session(b)) {
            match same {
                [first, .., last] => path.push(self.fact(first.from, last.to, Reason::Session)),
                [edge] => path.push(self.edge(edge)?),
                [] => {}
            }
        }
        Ok(path)
    }

    fn edge(&mut self, edge: &Edge) -> Result<u32, Limit> {
        let history = self.graph.history;
        let follows = match edge.why {
            EdgeWhy::Older(_) => Some(OLDER),
            EdgeWhy::Overwrites(_) => Some(OVERWRITES),
            EdgeWhy::Session | EdgeWhy::Reads(_) | EdgeWhy::Versions(..) => None,
        };
        // What it follows from need not be found again.
        let known = follows.and_then(|kind| self.known.get(&(edge.from, edge.to, kind)));
        if let Some(&known) = known {
            return Ok(known);
        }
        let reason = match edge.why {
            EdgeWhy::Session => Reason::Session,
            EdgeWhy::Reads(op) => Reason::Reads(op),
            EdgeWhy::Versions(first, second) => Reason::Versions(first, second),
            EdgeWhy::Older(read) => {
                let path = self.sight(edge, history.txn_of(read))?;
                Reason::Older { read, path }
            }
            EdgeWhy::Overwrites(read) => {
                let source = history.source(read).unwrap_or(BEGINNING);
                let path = match source {
                    BEGINNING => vec![self.fact(BEGINNING, edge.to, Reason::Beginning)],
                    source => self.way(source, edge.to, edge.round)?,
                };
                Reason::Overwrites { read, path }
            }
        };
        Ok(self.fact(edge.from, edge.to, reason))
    }

    /// Why the transaction of a read sees where an edge starts.
    fn sight(&mut self, edge: &Edge, reader: u32) -> Result<Vec<u32>, Limit> {
        let history = self.graph.history;
        let mut reads = history.of_txn(reader);
        let direct = reads.find(|&op| history.source(op) == Some(edge.from));
        match self.model {
            TxnModel::Serializable if edge.round > 1 => self.way(edge.from, reader, edge.round),
            _ => match direct {
                // The first such read is before the one in question, if any is.
                Some(op) => Ok(vec![self.fact(edge.from, reader, Reason::Reads(op))]),
                None if history.session_of(edge.from) == history.session_of(reader) => {
                    Ok(vec![self.fact(edge.from, reader, Reason::Session)])
                }
                None => self.way(edge.from, reader, 1),
            },
        }
    }

    /// A path along edges from before a round; before round 1 along sessions and reads.
    fn way(&mut self, from: u32, to: u32, round: u32) -> Result<Vec<u32>, Limit> {
        let is_wanted = |edge: &Edge| {
            edge.round < round && (round > 1 || !matches!(edge.why, EdgeWhy::Versions(..)))
        };
        let out = self.out.get_or_insert_with(|| Outgoing::new(self.graph, |_| true));
        let path = self.graph.path(out, from, to, is_wanted, self.meter)?;
        self.path(&path.unwrap_or_default())
    }
}
