//! The automaton of one process while it is built.

use std::collections::HashMap;

use weakspot_core::{Edge, Expr, Instr, Point, PointId, RegId, Span, Value};

use super::syntax::Name;
use crate::Diagnostic;
use crate::suggest::did_you_mean;

/// What a statement does, step by step.
pub(super) enum Act {
    /// An instruction.
    Do(Instr),
    /// Goes on if this holds, else the statement has not happened: back to where it began.
    Check(Expr),
}

/// A growing automaton.
pub(super) struct Automaton {
    pid: usize,
    /// The control points.
    pub(super) points: Vec<Point>,
    /// The labels of each.
    labels_at: Vec<Vec<String>>,
    labels: HashMap<String, PointId>,
    /// Edges whose targets are labels.
    gotos: Vec<(PointId, usize, Name)>,
    /// Initial values of the registers, scratch registers last.
    pub(super) regs: Vec<Value>,
    declared: usize,
}

impl Automaton {
    /// One point without edges, which is the entry, for a process with these registers.
    pub(super) fn new(pid: usize, regs: Vec<Value>) -> Automaton {
        Automaton {
            pid,
            points: vec![Point::default()],
            labels_at: vec![Vec::new()],
            labels: HashMap::new(),
            gotos: Vec::new(),
            declared: regs.len(),
            regs,
        }
    }

    /// A new point.
    pub(super) fn point(&mut self) -> PointId {
        self.points.push(Point::default());
        self.labels_at.push(Vec::new());
        PointId::new(self.points.len() - 1)
    }

    /// The `n`-th scratch register.
    pub(super) fn scratch(&mut self, n: usize) -> RegId {
        let reg = self.declared + n;
        if self.regs.len() <= reg {
            self.regs.resize(reg + 1, 0);
        }
        RegId::new(reg)
    }

    /// Names the point.
    pub(super) fn label(&mut self, label: &Name, at: PointId) -> Result<(), Diagnostic> {
        if self.labels.insert(label.text.clone(), at).is_some() {
            let message = format!("a second label `{}` in one process", label.text);
            return Err(Diagnostic::new(label.at.0, message, "expected a new name"));
        }
        self.labels_at[at.index()].push(label.text.clone());
        Ok(())
    }

    /// The point with a label.
    pub(super) fn labelled(&self, label: &Name) -> Result<PointId, Diagnostic> {
        self.labels.get(&label.text).copied().ok_or_else(|| {
            let refused = Diagnostic::new(
                label.at.0,
                format!("process P{} has no label `{}`", self.pid, label.text),
                "expected a label of the process",
            );
            let mut known: Vec<&str> = self.labels.keys().map(String::as_str).collect();
            known.sort_unstable();
            did_you_mean(refused, &label.text, known)
        })
    }

    /// Adds an edge.
    pub(super) fn edge(&mut self, from: PointId, instr: Instr, to: PointId, span: Span) {
        self.points[from.index()].edges.push(Edge { instr, to, span });
    }

    /// Adds an edge to a label that may come later.
    pub(super) fn goto(&mut self, from: PointId, label: &Name, span: Span) {
        let index = self.points[from.index()].edges.len();
        self.gotos.push((from, index, label.clone()));
        self.edge(from, Instr::Nop, from, span);
    }

    /// Gives the gotos their targets.
    pub(super) fn resolve_gotos(&mut self) -> Result<(), Diagnostic> {
        for (from, index, label) in std::mem::take(&mut self.gotos) {
            let to = self.labelled(&label)?;
            self.points[from.index()].edges[index].to = to;
        }
        Ok(())
    }

    /// Adds the steps of one statement. A check that fails after the first step leads back to
    /// `from`, through an `Unlock` where the lock is held.
    pub(super) fn chain(&mut self, from: PointId, steps: Vec<Act>, to: PointId, span: Span) {
        if steps.is_empty() {
            return self.edge(from, Instr::Nop, to, span);
        }
        let mut here = from;
        let mut held = false;
        let mut unlock = None;
        let last = steps.len() - 1;
        for (i, step) in steps.into_iter().enumerate() {
            let next = if i == last { to } else { self.point() };
            match step {
                Act::Do(instr) => {
                    held = match instr {
                        Instr::Lock => true,
                        Instr::Unlock => false,
                        _ => held,
                    };
                    self.edge(here, instr, next, span);
                }
                Act::Check(cond) => {
                    if here != from {
                        let back = match (held, unlock) {
                            (false, _) => from,
                            (true, Some(point)) => point,
                            (true, None) => {
                                let point = self.point();
                                self.edge(point, Instr::Unlock, from, span);
                                unlock = Some(point);
                                point
                            }
                        };
                        self.edge(here, Instr::Assume(cond.clone().negate()), back, span);
                    }
                    self.edge(here, Instr::Assume(cond), next, span);
                }
            }
            here = next;
        }
    }

    /// The names of the points; several labels at one point are joined.
    pub(super) fn point_names(&self) -> Vec<String> {
        self.labels_at.iter().map(|labels| labels.join("/")).collect()
    }
}
