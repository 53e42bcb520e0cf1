//! What is asked: final values and control points.

use super::lower::Lowered;
use super::operand::{fold_binary, fold_unary};
use super::scope::constant::{Constants, me_outside, unknown, unknown_shared};
use super::scope::{Global, Globals};
use super::syntax::*;
use crate::Diagnostic;
use crate::suggest::did_you_mean;
use weakspot_core::{
    Condition, Expr as Pure, LocId, Observable, Observed, PointId, RegId, ThreadId, Value, View,
};

/// What is asked about a program.
#[derive(Default)]
pub(super) struct Questions {
    /// What a final state is projected to.
    pub observed: Vec<Observed>,
    /// The names of `observed`.
    pub observed_names: Vec<String>,
    /// The question about final states.
    pub condition: Option<Condition>,
    /// That question as text.
    pub condition_text: String,
    /// The combinations of points that must not be reached together.
    pub forbidden: Vec<Vec<Option<PointId>>>,
}

/// The questions of a file.
pub(super) fn questions(
    file: &File,
    globals: &Globals<'_>,
    threads: &[Lowered],
    warnings: &mut Vec<Diagnostic>,
) -> Result<Questions, Diagnostic> {
    let mut asker = Asker { globals, threads, warnings, asked: Questions::default() };
    for item in &file.items {
        match &item.kind {
            ItemKind::Final(quantifier, prop) => {
                if asker.asked.condition.is_some() {
                    let message = "a second question about final states";
                    return Err(Diagnostic::new(item.at.0, message, "expected only one")
                        .help("join the conditions with `&&`"));
                }
                asker.asked.condition_text = super::print::expr(prop);
                let prop = asker.proposition(prop)?;
                asker.asked.condition = Some(Condition { quantifier: *quantifier, prop });
            }
            ItemKind::NeverAt(points) => asker.never_at(points)?,
            ItemKind::NeverTwo(points) => asker.never_two(points, item.at)?,
            ItemKind::Observe(_)
            | ItemKind::Const(_)
            | ItemKind::Shared(_)
            | ItemKind::Thread(_) => {}
        }
    }
    // What the condition mentions comes first.
    for item in &file.items {
        if let ItemKind::Observe(seen) = &item.kind {
            seen.iter().try_for_each(|seen| asker.observe(seen))?;
        }
    }
    Ok(asker.asked)
}

struct Asker<'a, 'f> {
    globals: &'a Globals<'f>,
    threads: &'a [Lowered],
    warnings: &'a mut Vec<Diagnostic>,
    asked: Questions,
}

impl Asker<'_, '_> {
    /// A condition over final values; its registers stand for what is observed.
    fn proposition(&mut self, e: &Expr) -> Result<Pure, Diagnostic> {
        match &e.kind {
            ExprKind::Int(value) => Ok(Pure::Const(*value)),
            ExprKind::Bool(value) => Ok(Pure::Const(Value::from(*value))),
            ExprKind::Me => Err(me_outside(e.at)),
            ExprKind::AddressOf(place) => self.constants().address(place).map(Pure::Const),
            ExprKind::Name(name) => match self.globals.get(name) {
                Some(Global::Const(Some(value))) => Ok(Pure::Const(value)),
                Some(Global::Shared(shared)) if shared.size.is_none() => {
                    Ok(self.see_loc(shared.base))
                }
                Some(Global::Shared(_)) => Err(Diagnostic::new(
                    e.at.0,
                    format!("`{name}` is an array"),
                    "expected a single cell",
                )
                .help(format!("write `{name}[0]` for its first cell"))),
                Some(other) => Err(Diagnostic::new(
                    e.at.0,
                    format!("`{name}` is {}", other.described()),
                    "expected a value",
                )
                .help(format!("write `{name}.r` for its register `r`"))),
                None => Err(self.unknown(name, e.at)),
            },
            ExprKind::Index(..) => {
                let addr = self.constants().address(e)?;
                Ok(self.see_loc(addr))
            }
            ExprKind::Register(thread, index, register) => {
                let (t, name) = self.one(thread, index.as_deref(), &register.text)?;
                self.see_register(t, &name, thread, register)
            }
            ExprKind::Unary(op, operand) => Ok(fold_unary(*op, self.proposition(operand)?)),
            ExprKind::Binary(op, left, right) => {
                let guards = divides(right);
                let (left, right) = (self.proposition(left)?, self.proposition(right)?);
                Ok(match op {
                    // As in threads, the right operand does not count when the left one decides.
                    BinOp::And if guards => Pure::select(left, truth(right), Pure::Const(0)),
                    BinOp::Or if guards => Pure::select(left, Pure::Const(1), truth(right)),
                    _ => fold_binary(*op, left, right),
                })
            }
            ExprKind::Deref(_) => Err(Diagnostic::new(
                e.at.0,
                format!("`{}` in a question about final states", super::print::expr(e)),
                "expected a variable by its name",
            )),
            ExprKind::Cas(_) => Err(not_asked("cas", e.at)),
            ExprKind::Swap(_) => Err(not_asked("swap", e.at)),
            ExprKind::FetchAdd(_) => Err(not_asked("fetch_add", e.at)),
            ExprKind::Choose(_) => Err(not_asked("choose", e.at)),
        }
    }

    fn constants(&self) -> Constants<'_, '_> {
        Constants::new(self.globals)
    }

    fn unknown(&self, name: &str, at: At) -> Diagnostic {
        let declares = |t: &&Lowered| t.register(name).is_some();
        let Some(thread) = self.threads.iter().position(|t| declares(&t)) else {
            return unknown(self.globals, name, at, "a shared variable or `thread.register`");
        };
        let message = format!("register `{name}` without its thread");
        let error = Diagnostic::new(at.0, message, "expected `thread.register`");
        match self.globals.threads.iter().rev().find(|decl| decl.first <= thread) {
            Some(decl) => {
                let copy = if decl.count.is_some() { "[0]" } else { "" };
                error.help(format!("write `{}{copy}.{name}`", decl.syntax.name.text))
            }
            None => error,
        }
    }

    /// The one thread that is meant.
    fn one(
        &self,
        thread: &Name,
        index: Option<&Expr>,
        part: &str,
    ) -> Result<(usize, String), Diagnostic> {
        let mut all = self.globals.instances(thread, index)?;
        match (all.pop(), all.len()) {
            (Some(only), 0) => Ok(only),
            (_, more) => {
                let name = &thread.text;
                let message = format!("thread `{name}` has {} copies", more + 1);
                Err(Diagnostic::new(thread.at.0, message, "expected one of them").help(format!(
                    "say which: `{name}[0].{part}`; `never two at {name}.{part}` is about any \
                     two control points"
                )))
            }
        }
    }

    fn see(&mut self, what: Observable, name: String) -> Pure {
        let seen = Observed { what, view: View::Full };
        let position = self.asked.observed.iter().position(|o| *o == seen);
        let index = position.unwrap_or_else(|| {
            self.asked.observed.push(seen);
            self.asked.observed_names.push(name);
            self.asked.observed.len() - 1
        });
        Pure::Reg(RegId::new(index))
    }

    /// The cell at a declared address.
    fn see_loc(&mut self, addr: Value) -> Pure {
        let index = addr as usize - 1;
        self.see(Observable::Loc(LocId::new(index)), self.globals.loc_names[index].clone())
    }

    fn see_register(
        &mut self,
        t: usize,
        instance: &str,
        thread: &Name,
        register: &Name,
    ) -> Result<Pure, Diagnostic> {
        let Some(reg) = self.threads[t].register(&register.text) else {
            let message = format!("thread `{}` has no register `{}`", thread.text, register.text);
            let error =
                Diagnostic::new(register.at.0, message, "expected a register of the thread");
            let names = self.threads[t].reg_names.iter().map(String::as_str);
            let names = names.filter(|n| !n.starts_with('$'));
            return Err(did_you_mean(error, &register.text, names));
        };
        let what = Observable::Reg(ThreadId::new(t), reg);
        Ok(self.see(what, format!("{instance}.{}", register.text)))
    }

    fn observe(&mut self, seen: &SeenRef) -> Result<(), Diagnostic> {
        if let Some(register) = &seen.register {
            for (t, name) in self.globals.instances(&seen.name, seen.index.as_ref())? {
                self.see_register(t, &name, &seen.name, register)?;
            }
            return Ok(());
        }
        let name = &seen.name;
        match (self.globals.get(&name.text), &seen.index) {
            (Some(Global::Shared(shared)), None) => {
                for i in 0..shared.size.unwrap_or(1) {
                    self.see_loc(shared.base + i);
                }
            }
            (Some(Global::Shared(_)), Some(index)) => {
                let index = Box::new(index.clone());
                let kind = ExprKind::Index(name.clone(), index);
                let addr = self.constants().address(&Expr { kind, at: name.at })?;
                self.see_loc(addr);
            }
            (None, _) => return Err(self.unknown(&name.text, name.at)),
            _ => return Err(unknown_shared(self.globals, &name.text, name.at)),
        }
        Ok(())
    }

    fn never_at(&mut self, points: &[PointRef]) -> Result<(), Diagnostic> {
        let mut combination = vec![None; self.threads.len()];
        for point in points {
            let (t, name) = self.one(&point.thread, point.index.as_ref(), &point.label.text)?;
            if combination[t].is_some() {
                let message = format!("thread `{name}` is mentioned twice");
                let expected = "expected different threads";
                return Err(Diagnostic::new(point.thread.at.0, message, expected)
                    .help("a thread is at one point at a time"));
            }
            combination[t] = Some(self.point(t, point)?);
        }
        self.forbid(combination);
        Ok(())
    }

    fn never_two(&mut self, points: &[PointRef], at: At) -> Result<(), Diagnostic> {
        let mut all = Vec::new();
        for point in points {
            for (t, _) in self.globals.instances(&point.thread, point.index.as_ref())? {
                all.push((t, self.point(t, point)?));
            }
        }
        let before = self.asked.forbidden.len();
        for (i, &(t, point)) in all.iter().enumerate() {
            for &(u, other) in all[i + 1..].iter().filter(|(u, _)| *u != t) {
                let mut combination = vec![None; self.threads.len()];
                combination[t] = Some(point);
                combination[u] = Some(other);
                self.forbid(combination);
            }
        }
        if before == self.asked.forbidden.len() && all.iter().all(|(t, _)| *t == all[0].0) {
            let message = "`never two` about a single thread";
            return Err(Diagnostic::new(at.0, message, "expected points of two threads")
                .help("`never at t.l` asks that a point is not reached at all"));
        }
        Ok(())
    }

    fn forbid(&mut self, combination: Vec<Option<PointId>>) {
        if !self.asked.forbidden.contains(&combination) {
            self.asked.forbidden.push(combination);
        }
    }

    /// The control point of a thread.
    fn point(&mut self, t: usize, point: &PointRef) -> Result<PointId, Diagnostic> {
        let (thread, label) = (&point.thread.text, &point.label.text);
        let labels = &self.threads[t].labels;
        let Some(&(id, reachable)) = labels.get(label) else {
            let message = format!("thread `{thread}` has no label `{label}`");
            let error =
                Diagnostic::new(point.label.at.0, message, "expected a label of the thread");
            return Err(did_you_mean(error, label, labels.keys().map(String::as_str)));
        };
        let warning = Diagnostic::new(
            point.label.at.0,
            format!("nothing in thread `{thread}` leads to `{label}`"),
            "expected a control point that can be reached",
        );
        if !reachable && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
        Ok(id)
    }
}

/// 1 for every value but 0.
fn truth(e: Pure) -> Pure {
    fold_binary(BinOp::Ne, e, Pure::Const(0))
}

/// A division occurs, which may fault.
fn divides(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Unary(_, operand) => divides(operand),
        ExprKind::Binary(BinOp::Div | BinOp::Rem, ..) => true,
        ExprKind::Binary(_, left, right) => divides(left) || divides(right),
        _ => false,
    }
}

fn not_asked(word: &str, at: At) -> Diagnostic {
    let message = format!("`{word}` in a question about final states");
    Diagnostic::new(at.0, message, "expected values, operators and comparisons")
}
