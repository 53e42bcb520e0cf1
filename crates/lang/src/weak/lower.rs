//! One copy of a thread becomes an automaton: what the lowering of statements and of expressions
//! share.

use super::automaton::{Automaton, Draft, Finished};
use super::scope::constant::Constants;
use super::scope::{Global, Globals, ThreadDecl};
use super::syntax::*;
use crate::Diagnostic;
use crate::suggest::did_you_mean;
use std::collections::BTreeMap;
use weakspot_core::{Instr, PointId, RegId, TxnMark, Value};

/// A compiled copy of a thread.
pub(super) struct Lowered {
    /// What the engines see.
    pub thread: weakspot_core::Thread,
    /// The names of its registers.
    pub reg_names: Vec<String>,
    /// The names of its points.
    pub point_names: Vec<String>,
    /// Per point and edge the transaction that it belongs to.
    pub marks: Vec<Vec<Option<TxnMark>>>,
    /// Its labels: where they are, and whether the entry leads there.
    pub labels: BTreeMap<String, (PointId, bool)>,
}

impl Lowered {
    /// The register of a name, hidden ones excluded.
    pub(super) fn register(&self, name: &str) -> Option<RegId> {
        self.reg_names.iter().position(|n| n == name).map(RegId::new)
    }
}

/// Compiles the copy `copy` of a thread.
pub(super) fn lower(
    globals: &Globals<'_>,
    thread: &ThreadDecl<'_>,
    copy: usize,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Lowered, Diagnostic> {
    let mut automaton = Automaton::default();
    let (entry, end) = (automaton.fresh(), automaton.fresh());
    let syntax = thread.syntax;
    let mut labels = BTreeMap::new();
    Labels { thread: &syntax.name.text, automaton: &mut automaton, found: &mut labels, regions: 0 }
        .block(&syntax.body, None)?;
    let mut lower = Lower {
        globals,
        thread: syntax,
        me: thread.count.map(|_| copy as Value),
        regs: Vec::new(),
        reg_ids: BTreeMap::new(),
        hidden: Vec::new(),
        hidden_used: 0,
        automaton,
        current: entry,
        end,
        labels,
        loops: Vec::new(),
        region: None,
        regions: 0,
        transactions: 0,
        pruned: false,
        at_start: true,
        span: Span::default(),
        warnings,
    };
    lower.block(&syntax.body)?;
    let last = lower.current;
    lower.automaton.merge(last, end);
    let finished = lower.automaton.finish(entry);
    Ok(name(finished, &lower.labels, lower.regs))
}

/// Puts the names back to the finished automaton.
fn name(
    finished: Finished,
    drafts: &BTreeMap<String, Label>,
    regs: Vec<(String, Value)>,
) -> Lowered {
    let mut point_names = vec![String::new(); finished.points.len()];
    let mut labels = BTreeMap::new();
    for (label, draft) in drafts {
        if let Some(point) = finished.point(draft.point) {
            labels.insert(label.clone(), (point, finished.is_reachable(point)));
            let name = &mut point_names[point.index()];
            if !name.is_empty() {
                name.push('/');
            }
            name.push_str(label);
        }
    }
    let (reg_names, regs) = regs.into_iter().unzip();
    let entry = PointId::new(0);
    let thread = weakspot_core::Thread { regs, entry, points: finished.points };
    Lowered { thread, reg_names, point_names, marks: finished.marks, labels }
}

/// The state of the compilation of one copy of a thread.
pub(super) struct Lower<'a, 'f> {
    pub(super) globals: &'a Globals<'f>,
    pub(super) thread: &'a Thread,
    /// The index of this copy, if the thread is replicated.
    pub(super) me: Option<Value>,
    /// All registers with their initial values, hidden ones included.
    pub(super) regs: Vec<(String, Value)>,
    /// The registers that can be mentioned.
    pub(super) reg_ids: BTreeMap<String, RegId>,
    /// The registers that hold loaded values within a statement.
    hidden: Vec<RegId>,
    /// How many of these the statement at hand needs so far.
    pub(super) hidden_used: usize,
    pub(super) automaton: Automaton,
    /// Where the next step starts. It has no edges yet.
    pub(super) current: Draft,
    /// Where the thread has terminated.
    pub(super) end: Draft,
    pub(super) labels: BTreeMap<String, Label>,
    /// The loops around the statement at hand, the innermost last.
    pub(super) loops: Vec<Loop>,
    /// The `atomic` block around the statement at hand.
    pub(super) region: Option<usize>,
    /// The number of `atomic` blocks seen.
    pub(super) regions: usize,
    /// The number of `transaction` blocks seen.
    pub(super) transactions: u32,
    /// In a branch whose condition is constantly false: there an access that cannot work is no
    /// mistake, it is how one writes a special case for one copy.
    pub(super) pruned: bool,
    /// Nothing has happened in this thread so far.
    pub(super) at_start: bool,
    /// The text to which steps are attributed.
    pub(super) span: Span,
    pub(super) warnings: &'a mut Vec<Diagnostic>,
}

/// Where a label is.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) point: Draft,
    /// The `atomic` block that it is in.
    pub(super) region: Option<usize>,
}

/// A loop.
#[derive(Clone, Copy)]
pub(super) struct Loop {
    pub(super) head: Draft,
    pub(super) after: Draft,
    /// The `atomic` block that it is in.
    pub(super) region: Option<usize>,
}

impl Lower<'_, '_> {
    /// A step from the current point to a new one.
    pub(super) fn emit(&mut self, instr: Instr) {
        let to = self.automaton.fresh();
        self.automaton.edge(self.current, instr, to, self.span);
        self.current = to;
        self.at_start = false;
    }

    /// Continues at `to`; what follows in the text has to be reached in another way.
    pub(super) fn jump(&mut self, to: Draft) {
        self.automaton.jump(self.current, to, self.span);
        self.current = self.automaton.fresh();
        self.at_start = false;
    }

    /// A register that the statement at hand has not used yet.
    pub(super) fn hidden(&mut self) -> RegId {
        if self.hidden_used == self.hidden.len() {
            self.hidden.push(RegId::new(self.regs.len()));
            self.regs.push((format!("${}", self.hidden_used), 0));
        }
        let reg = self.hidden[self.hidden_used];
        self.hidden_used += 1;
        reg
    }

    /// The register of a name.
    pub(super) fn register(&self, name: &str) -> Option<RegId> {
        self.reg_ids.get(name).copied()
    }

    /// Evaluation before the program runs.
    pub(super) fn constants(&self) -> Constants<'_, '_> {
        Constants::in_thread(self.globals, self.me, &self.reg_ids)
    }

    /// A name that is neither a register nor declared outside of the thread.
    pub(super) fn unknown(&self, name: &str, at: At) -> Diagnostic {
        if declares(&self.thread.body, name) {
            let message = format!("`{name}` is not declared yet");
            return Diagnostic::new(at.0, message, "expected a register declared above")
                .help("a register is declared before its first use");
        }
        let error = Diagnostic::new(
            at.0,
            format!("unknown name `{name}`"),
            "expected a register, shared variable or constant",
        );
        let registers = self.reg_ids.keys().map(String::as_str);
        did_you_mean(error, name, registers.chain(self.globals.variables()))
    }

    /// Declares a register.
    pub(super) fn declare(&mut self, name: &Name) -> Result<RegId, Diagnostic> {
        if let Some(global) = self.globals.get(&name.text) {
            let message = format!("`{}` is already {}", name.text, global.described());
            let error = Diagnostic::new(name.at.0, message, "expected a new name");
            return Err(match global {
                Global::Shared(_) => {
                    error.help("an assignment to it would be ambiguous: choose another name")
                }
                _ => error,
            });
        }
        if self.register(&name.text).is_some() {
            let thread = &self.thread.name.text;
            let message =
                format!("register `{}` is declared twice in thread `{thread}`", name.text);
            return Err(Diagnostic::new(name.at.0, message, "expected a new name")
                .help("a register is known in the whole thread: assign it without `var`"));
        }
        let reg = RegId::new(self.regs.len());
        self.regs.push((name.text.clone(), 0));
        self.reg_ids.insert(name.text.clone(), reg);
        Ok(reg)
    }
}

/// A block declares a register.
fn declares(block: &Block, name: &str) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Var(all) => all.iter().any(|(n, _)| n.text == name),
        _ => blocks(stmt).any(|b| declares(b, name)),
    })
}

/// The blocks of a statement.
pub(super) fn blocks(stmt: &Stmt) -> impl Iterator<Item = &Block> {
    let (arms, rest): (&[Arm], Vec<&Block>) = match &stmt.kind {
        StmtKind::If(arms, otherwise) => (arms, otherwise.iter().collect()),
        StmtKind::While(_, body)
        | StmtKind::Loop(body)
        | StmtKind::Atomic(body)
        | StmtKind::Transaction(body) => (&[], vec![body]),
        StmtKind::Choose(all) => (&[], all.iter().collect()),
        _ => (&[], Vec::new()),
    };
    arms.iter().map(|arm| &arm.body).chain(rest)
}

/// Finds the labels of a thread, so that jumps may lead forward.
struct Labels<'a> {
    thread: &'a str,
    automaton: &'a mut Automaton,
    found: &'a mut BTreeMap<String, Label>,
    /// Counts the `atomic` blocks in the order in which the lowering meets them.
    regions: usize,
}

impl Labels<'_> {
    fn block(&mut self, block: &Block, region: Option<usize>) -> Result<(), Diagnostic> {
        for stmt in &block.stmts {
            if let StmtKind::Label(name) = &stmt.kind {
                let label = Label { point: self.automaton.fresh_labelled(), region };
                if self.found.insert(name.text.clone(), label).is_some() {
                    let message = format!(
                        "label `{}` is declared twice in thread `{}`",
                        name.text, self.thread
                    );
                    return Err(Diagnostic::new(name.at.0, message, "expected a new name"));
                }
            }
            let mut inner = region;
            if let StmtKind::Atomic(_) = stmt.kind {
                inner = Some(self.regions);
                self.regions += 1;
            }
            for b in blocks(stmt) {
                self.block(b, inner)?;
            }
        }
        Ok(())
    }
}
