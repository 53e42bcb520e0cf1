//! Syntax tree to text, in canonical form: four spaces per level, one statement per line, only
//! the parentheses that are needed.

use super::operators::{COMPARISON, OPERATORS, precedence_of};
use super::syntax::*;
use std::fmt::Write;

/// The text of a file. Parsing it gives the same tree again.
#[must_use]
pub fn print(file: &File) -> String {
    let mut out = Printer { text: String::new(), level: 0 };
    for item in &file.items {
        out.before(&item.trivia);
        out.indent();
        out.item(&item.kind);
        out.after(&item.trivia);
    }
    out.comments(&file.tail);
    out.text
}

/// The text of an expression.
pub(super) fn expr(e: &Expr) -> String {
    let mut text = String::new();
    write_expr(&mut text, e, 1);
    text
}

struct Printer {
    text: String,
    level: usize,
}

impl Printer {
    fn indent(&mut self) {
        for _ in 0..self.level {
            self.text.push_str("    ");
        }
    }

    fn comments(&mut self, comments: &[Comment]) {
        for comment in comments {
            if comment.blank {
                self.text.push('\n');
            }
            self.indent();
            self.text.push_str(&comment.text);
            self.text.push('\n');
        }
    }

    fn before(&mut self, trivia: &Trivia) {
        self.comments(&trivia.before);
        if trivia.blank {
            self.text.push('\n');
        }
    }

    fn after(&mut self, trivia: &Trivia) {
        for comment in &trivia.after {
            self.text.push(' ');
            self.text.push_str(comment);
        }
        self.text.push('\n');
    }

    fn item(&mut self, item: &ItemKind) {
        match item {
            ItemKind::Const(all) => {
                self.text.push_str("const ");
                self.list(all, |out, c| {
                    out.push_str(&c.name.text);
                    out.push_str(" = ");
                    write_expr(out, &c.value, 1);
                });
            }
            ItemKind::Shared(all) => {
                self.text.push_str("shared ");
                self.list(all, write_shared);
            }
            ItemKind::Thread(thread) => {
                self.text.push_str("thread ");
                self.text.push_str(&thread.name.text);
                write_index(&mut self.text, thread.count.as_ref());
                self.text.push(' ');
                self.block(&thread.body);
            }
            ItemKind::Final(quantifier, prop) => {
                let word = match quantifier {
                    Quantifier::Exists => "exists",
                    Quantifier::Forall => "forall",
                    Quantifier::NotExists => "never",
                };
                let _ = write!(self.text, "{word} ({})", expr(prop));
            }
            ItemKind::NeverAt(points) => self.points("never at", points),
            ItemKind::NeverTwo(points) => self.points("never two at", points),
            ItemKind::Observe(seen) => {
                self.text.push_str("observe ");
                self.list(seen, |out, seen| {
                    out.push_str(&seen.name.text);
                    write_index(out, seen.index.as_ref());
                    if let Some(register) = &seen.register {
                        out.push('.');
                        out.push_str(&register.text);
                    }
                });
            }
        }
    }

    fn points(&mut self, words: &str, points: &[PointRef]) {
        let parentheses = points.len() != 1;
        self.text.push_str(words);
        self.text.push_str(if parentheses { " (" } else { " " });
        self.list(points, |out, point| {
            out.push_str(&point.thread.text);
            write_index(out, point.index.as_ref());
            out.push('.');
            out.push_str(&point.label.text);
        });
        if parentheses {
            self.text.push(')');
        }
    }

    fn list<T>(&mut self, all: &[T], mut write: impl FnMut(&mut String, &T)) {
        for (i, element) in all.iter().enumerate() {
            if i > 0 {
                self.text.push_str(", ");
            }
            write(&mut self.text, element);
        }
    }

    fn block(&mut self, block: &Block) {
        if block.stmts.is_empty() && block.tail.is_empty() {
            self.text.push_str("{}");
            return;
        }
        self.text.push_str("{\n");
        self.level += 1;
        let mut after_label = false;
        for (i, stmt) in block.stmts.iter().enumerate() {
            self.before(&stmt.trivia);
            if !after_label {
                self.indent();
            }
            self.stmt(stmt);
            // A label shares the line of its statement if nothing stands between them.
            after_label = matches!(stmt.kind, StmtKind::Label(_))
                && stmt.trivia.after.is_empty()
                && block
                    .stmts
                    .get(i + 1)
                    .is_some_and(|next| next.trivia.before.is_empty() && !next.trivia.blank);
            if after_label {
                self.text.push(' ');
            } else {
                self.after(&stmt.trivia);
            }
        }
        self.comments(&block.tail);
        self.level -= 1;
        self.indent();
        self.text.push('}');
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let out = &mut self.text;
        match &stmt.kind {
            StmtKind::Label(name) => {
                out.push_str(&name.text);
                out.push(':');
            }
            StmtKind::Var(all) => {
                out.push_str("var ");
                self.list(all, |out, (name, value)| {
                    out.push_str(&name.text);
                    if let Some(value) = value {
                        out.push_str(" = ");
                        write_expr(out, value, 1);
                    }
                });
            }
            StmtKind::Assign(place, value) => {
                let _ = write!(out, "{} = {}", expr(place), expr(value));
            }
            StmtKind::Update(update) => write_expr(out, update, 1),
            StmtKind::If(arms, otherwise) => {
                for (i, arm) in arms.iter().enumerate() {
                    self.text.push_str(if i > 0 { " else if (" } else { "if (" });
                    write_expr(&mut self.text, &arm.cond, 1);
                    self.text.push_str(") ");
                    self.block(&arm.body);
                }
                if let Some(block) = otherwise {
                    self.text.push_str(" else ");
                    self.block(block);
                }
            }
            StmtKind::While(cond, body) => {
                let _ = write!(out, "while ({}) ", expr(cond));
                self.block(body);
            }
            StmtKind::Loop(body) => {
                out.push_str("loop ");
                self.block(body);
            }
            StmtKind::Break => out.push_str("break"),
            StmtKind::Continue => out.push_str("continue"),
            StmtKind::Stop => out.push_str("stop"),
            StmtKind::Skip => out.push_str("skip"),
            StmtKind::Goto(label) => {
                let _ = write!(out, "goto {}", label.text);
            }
            StmtKind::Choose(alternatives) => {
                for (i, block) in alternatives.iter().enumerate() {
                    self.text.push_str(if i > 0 { " or " } else { "choose " });
                    self.block(block);
                }
            }
            StmtKind::Atomic(body) => {
                out.push_str("atomic ");
                self.block(body);
            }
            StmtKind::Transaction(body) => {
                out.push_str("transaction ");
                self.block(body);
            }
            StmtKind::Fence(Fence::Full) => out.push_str("fence"),
            StmtKind::Fence(Fence::StoreStore) => out.push_str("fence.ss"),
            StmtKind::Assume(cond) => {
                let _ = write!(out, "assume({})", expr(cond));
            }
            StmtKind::Assert(cond) => {
                let _ = write!(out, "assert({})", expr(cond));
            }
            StmtKind::Await(cond) => {
                let _ = write!(out, "await ({})", expr(cond));
            }
        }
    }
}

fn write_shared(out: &mut String, cell: &SharedDecl) {
    out.push_str(&cell.name.text);
    write_index(out, cell.size.as_ref());
    match &cell.init {
        Init::Zero => {}
        Init::All(value) => {
            let _ = write!(out, " = {}", expr(value));
        }
        Init::Each(values, _) => {
            let values: Vec<String> = values.iter().map(expr).collect();
            let _ = write!(out, " = {{{}}}", values.join(", "));
        }
    }
    if let Some((low, high)) = &cell.range {
        let _ = write!(out, " in {}..{}", expr(low), expr(high));
    }
}

fn write_index(out: &mut String, index: Option<&Expr>) {
    if let Some(index) = index {
        let _ = write!(out, "[{}]", expr(index));
    }
}

/// Writes an expression, in parentheses if it binds weaker than `least`.
fn write_expr(out: &mut String, e: &Expr, least: u8) {
    const UNARY: u8 = 10;
    let mut prefix = |sign: &str, operand: &Expr| {
        out.push_str(sign);
        write_expr(out, operand, UNARY);
    };
    match &e.kind {
        ExprKind::Unary(UnOp::Neg, operand) => prefix("-", operand),
        ExprKind::Unary(UnOp::Not, operand) => prefix("!", operand),
        ExprKind::Unary(_, operand) => prefix("~", operand),
        ExprKind::Deref(operand) => prefix("*", operand),
        ExprKind::AddressOf(operand) => prefix("&", operand),
        ExprKind::Binary(op, left, right) => {
            let precedence = precedence_of(*op);
            if precedence < least {
                out.push('(');
            }
            write_expr(out, left, precedence + u8::from(precedence == COMPARISON));
            let sign = OPERATORS.iter().find(|(_, o, _)| o == op).map_or("?", |&(s, ..)| s);
            let _ = write!(out, " {sign} ");
            write_expr(out, right, precedence + 1);
            if precedence < least {
                out.push(')');
            }
        }
        ExprKind::Int(value) => {
            let _ = write!(out, "{value}");
        }
        ExprKind::Bool(value) => {
            let _ = write!(out, "{value}");
        }
        ExprKind::Me => out.push_str("me"),
        ExprKind::Name(name) => out.push_str(name),
        ExprKind::Index(name, index) => {
            let _ = write!(out, "{}[{}]", name.text, expr(index));
        }
        ExprKind::Register(thread, index, register) => {
            out.push_str(&thread.text);
            write_index(out, index.as_deref());
            let _ = write!(out, ".{}", register.text);
        }
        ExprKind::Cas(parts) => {
            let (place, old, new) = &**parts;
            let _ = write!(out, "cas({}, {}, {})", expr(place), expr(old), expr(new));
        }
        ExprKind::Swap(parts) => {
            let _ = write!(out, "swap({}, {})", expr(&parts.0), expr(&parts.1));
        }
        ExprKind::FetchAdd(parts) => {
            let _ = write!(out, "fetch_add({}, {})", expr(&parts.0), expr(&parts.1));
        }
        ExprKind::Choose(parts) => {
            let _ = write!(out, "choose({}..{})", expr(&parts.0), expr(&parts.1));
        }
    }
}
