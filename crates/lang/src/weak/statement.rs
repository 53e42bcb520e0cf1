//! Statements become edges. Where the text goes on in several ways, `current` is set to the
//! point where each continues in turn.

use super::automaton::Draft;
use super::lower::{Loop, Lower};
use super::scope::Global;
use super::syntax::*;
use crate::Diagnostic;
use crate::suggest::did_you_mean;
use weakspot_core::{Expr as Pure, Instr, TxnMark};

impl Lower<'_, '_> {
    /// Compiles the statements of a block, from the current point.
    pub(super) fn block(&mut self, block: &Block) -> Result<(), Diagnostic> {
        block.stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Diagnostic> {
        self.span = stmt.at.0;
        self.hidden_used = 0;
        match &stmt.kind {
            StmtKind::Label(name) => {
                if let Some(label) = self.labels.get(&name.text) {
                    self.automaton.merge(self.current, label.point);
                    self.current = label.point;
                    self.at_start = false;
                }
            }
            StmtKind::Var(all) => {
                for (name, value) in all {
                    self.var(name, value.as_ref())?;
                    self.hidden_used = 0;
                }
            }
            StmtKind::Assign(place, value) => self.assignment(place, value)?,
            StmtKind::Update(update) => {
                self.value(update)?;
            }
            StmtKind::If(arms, otherwise) => self.if_stmt(arms, otherwise.as_ref())?,
            StmtKind::While(cond, body) => self.while_loop(Some(cond), body)?,
            StmtKind::Loop(body) => self.while_loop(None, body)?,
            StmtKind::Break => {
                let innermost = self.innermost_loop("break", stmt.at)?;
                self.jump(innermost.after);
            }
            StmtKind::Continue => {
                let innermost = self.innermost_loop("continue", stmt.at)?;
                self.jump(innermost.head);
            }
            StmtKind::Stop => {
                if self.region.is_some() {
                    return Err(leaves("stop", stmt.at));
                }
                self.jump(self.end);
            }
            StmtKind::Skip => self.emit(Instr::Nop),
            StmtKind::Goto(name) => self.goto(name)?,
            StmtKind::Choose(alternatives) => self.choose(alternatives)?,
            StmtKind::Atomic(body) => self.atomic(stmt.at, body)?,
            StmtKind::Transaction(body) => self.transaction(body)?,
            StmtKind::Fence(fence) => self.emit(Instr::Fence(*fence)),
            StmtKind::Assume(cond) => self.test(cond, Instr::Assume)?,
            StmtKind::Assert(cond) => self.test(cond, Instr::Assert)?,
            StmtKind::Await(cond) => self.await_stmt(cond)?,
        }
        Ok(())
    }

    fn var(&mut self, name: &Name, value: Option<&Expr>) -> Result<(), Diagnostic> {
        let Some(value) = value else { return self.declare(name).map(|_| ()) };
        let reg = self.declare(name)?;
        if self.at_start
            && let Ok(constant) = self.constants().eval(value)
        {
            self.regs[reg.index()].1 = constant;
            return Ok(());
        }
        // The value cannot mention the register, which is therefore nameless for a while.
        self.reg_ids.remove(&name.text);
        self.assign(reg, value)?;
        self.reg_ids.insert(name.text.clone(), reg);
        Ok(())
    }

    fn assignment(&mut self, place: &Expr, value: &Expr) -> Result<(), Diagnostic> {
        let mut range = None;
        if let ExprKind::Name(name) | ExprKind::Index(Name { text: name, .. }, _) = &place.kind {
            match (self.register(name), self.globals.get(name)) {
                (Some(reg), _) if matches!(place.kind, ExprKind::Name(_)) => {
                    return self.assign(reg, value);
                }
                (_, Some(Global::Shared(shared))) => range = shared.range.map(|r| (name, r)),
                (_, Some(Global::Const(_))) => {
                    let message = format!("constant `{name}` cannot be assigned");
                    let expected = "expected a register or shared variable";
                    return Err(Diagnostic::new(place.at.0, message, expected));
                }
                (None, None) => {
                    let error = self.unknown(name, place_name(place));
                    return Err(match error.help {
                        Some(_) => error,
                        None => {
                            error.help(format!("declare it with `var {name}` or `shared {name}`"))
                        }
                    });
                }
                _ => {}
            }
        }
        let addr = self.address(place, false)?;
        let stored = self.value(value)?;
        if let (Some((name, (low, high))), Pure::Const(constant), false) =
            (range, &stored, self.pruned)
            && !(low..=high).contains(constant)
        {
            return Err(Diagnostic::new(
                value.at.0,
                format!("value {constant} is outside of the range {low}..{high} of `{name}`"),
                "expected a value of the range",
            ));
        }
        self.emit(Instr::Store { addr, value: stored });
        Ok(())
    }

    fn if_stmt(&mut self, arms: &[Arm], otherwise: Option<&Block>) -> Result<(), Diagnostic> {
        let join = self.automaton.fresh();
        let pruned = self.pruned;
        self.at_start = false;
        for arm in arms {
            self.span = arm.at.0;
            self.hidden_used = 0;
            let known = self.known(&arm.cond);
            let (yes, no) = self.branch(&arm.cond)?;
            let before = self.pruned;
            self.pruned |= known == Some(false);
            self.branch_body(yes, Some(&arm.body), join, arm.at)?;
            self.pruned = before || known == Some(true);
            self.current = no;
        }
        let at = arms.last().map_or(At::default(), |arm| arm.at);
        self.branch_body(self.current, otherwise, join, at)?;
        self.pruned = pruned;
        self.current = join;
        Ok(())
    }

    /// Compiles a branch from `from` and lets it continue at `to`.
    fn branch_body(
        &mut self,
        from: Draft,
        body: Option<&Block>,
        to: Draft,
        at: At,
    ) -> Result<(), Diagnostic> {
        self.current = from;
        if let Some(body) = body {
            self.block(body)?;
        }
        self.span = at.0;
        self.jump(to);
        Ok(())
    }

    fn while_loop(&mut self, cond: Option<&Expr>, body: &Block) -> Result<(), Diagnostic> {
        let span = self.span;
        let head = self.current;
        let after = self.automaton.fresh();
        self.at_start = false;
        let pruned = self.pruned;
        if let Some(cond) = cond {
            let never = self.known(cond) == Some(false);
            let (yes, no) = self.branch(cond)?;
            self.current = yes;
            self.automaton.jump(no, after, span);
            self.pruned |= never;
        }
        self.loops.push(Loop { head, after, region: self.region });
        self.block(body)?;
        self.loops.pop();
        self.span = span;
        self.jump(head);
        self.pruned = pruned;
        self.current = after;
        Ok(())
    }

    fn innermost_loop(&self, word: &str, at: At) -> Result<Loop, Diagnostic> {
        match self.loops.last() {
            None => Err(Diagnostic::new(
                at.0,
                format!("`{word}` outside of a loop"),
                "expected to be in `while` or `loop`",
            )),
            Some(innermost) if innermost.region != self.region => Err(leaves(word, at)),
            Some(innermost) => Ok(*innermost),
        }
    }

    fn goto(&mut self, name: &Name) -> Result<(), Diagnostic> {
        let Some(label) = self.labels.get(&name.text).copied() else {
            let message = format!("unknown label `{}`", name.text);
            let error = Diagnostic::new(name.at.0, message, "expected a label of this thread");
            let labels = self.labels.keys().map(String::as_str);
            return Err(did_you_mean(error, &name.text, labels));
        };
        if label.region != self.region {
            let goto = format!("goto {}", name.text);
            return Err(if self.region.is_some() {
                leaves(&goto, name.at)
            } else {
                let message = format!("`{goto}` enters an `atomic` block");
                Diagnostic::new(name.at.0, message, "expected a label outside of it")
            });
        }
        self.jump(label.point);
        Ok(())
    }

    fn choose(&mut self, alternatives: &[Block]) -> Result<(), Diagnostic> {
        let span = self.span;
        let from = self.current;
        let join = self.automaton.fresh();
        self.at_start = false;
        for block in alternatives {
            let start = self.automaton.fresh();
            self.automaton.choice(from, start, span);
            self.branch_body(start, Some(block), join, At(span))?;
        }
        self.current = join;
        Ok(())
    }

    fn atomic(&mut self, at: At, body: &Block) -> Result<(), Diagnostic> {
        if self.region.is_some() {
            let message = "`atomic` blocks do not nest";
            return Err(Diagnostic::new(at.0, message, "expected other statements"));
        }
        self.region = Some(self.regions);
        self.regions += 1;
        self.emit(Instr::Lock);
        self.block(body)?;
        self.span = body.close.0;
        self.emit(Instr::Unlock);
        self.region = None;
        Ok(())
    }

    /// A transaction within another is a part of that.
    fn transaction(&mut self, body: &Block) -> Result<(), Diagnostic> {
        if self.automaton.mark.is_some() {
            return self.block(body);
        }
        let block = self.transactions;
        self.transactions += 1;
        self.automaton.mark = Some(TxnMark { block, begins: true });
        self.emit(Instr::Nop);
        self.automaton.mark = Some(TxnMark { block, begins: false });
        self.block(body)?;
        self.automaton.mark = None;
        Ok(())
    }

    /// `assume` or `assert`.
    fn test(&mut self, cond: &Expr, instr: impl Fn(Pure) -> Instr) -> Result<(), Diagnostic> {
        if self.short_circuits(cond) {
            let (yes, no) = self.branch(cond)?;
            self.automaton.edge(no, instr(Pure::Const(0)), yes, self.span);
            self.current = yes;
        } else {
            let value = self.value(cond)?;
            self.emit(instr(value));
        }
        Ok(())
    }

    fn await_stmt(&mut self, cond: &Expr) -> Result<(), Diagnostic> {
        let why = if !self.takes_steps(cond) {
            Some("its condition reads no shared variable")
        } else if self.region.is_some() {
            Some("no other thread takes a step during an `atomic` block")
        } else {
            None
        };
        if let Some(why) = why {
            let message = format!("this `await` can never come true later: {why}");
            let expected = "expected a condition that another thread can change";
            let warning = Diagnostic::new(self.span, message, expected)
                .help("write `assume` for what has to hold at once");
            self.warnings.push(warning);
        }
        let head = self.current;
        self.at_start = false;
        let (yes, no) = self.branch(cond)?;
        self.automaton.jump(no, head, self.span);
        self.current = yes;
        Ok(())
    }
}

/// Where the name of a place stands, without its index.
fn place_name(place: &Expr) -> At {
    match &place.kind {
        ExprKind::Index(name, _) => name.at,
        _ => place.at,
    }
}

fn leaves(what: &str, at: At) -> Diagnostic {
    Diagnostic::new(
        at.0,
        format!("`{what}` leaves an `atomic` block"),
        "expected the block to be left at its end",
    )
}
