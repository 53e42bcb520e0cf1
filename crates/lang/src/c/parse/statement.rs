//! Statements.

use super::{Parser, Parsing};
use crate::c::ast::{Assembly, Expr, ExprKind, Operand, Stmt, StmtKind};
use crate::c::token::Kind;

impl Parser {
    pub(super) fn statement(&mut self) -> Parsing<Stmt> {
        self.nested(Parser::statement_here)
    }

    fn statement_here(&mut self) -> Parsing<Stmt> {
        let first = self.at;
        let kind = match self.peek().clone() {
            Kind::Sign("{") => StmtKind::Block(self.block()?),
            Kind::Sign(";") => {
                self.at += 1;
                StmtKind::Empty
            }
            Kind::Name(word) => match word.as_str() {
                "if" => {
                    self.at += 1;
                    let condition = self.parenthesised()?;
                    let yes = Box::new(self.statement()?);
                    let no = match self.take_word("else") {
                        true => Some(Box::new(self.statement()?)),
                        false => None,
                    };
                    StmtKind::If(condition, yes, no)
                }
                "while" => {
                    self.at += 1;
                    let condition = self.parenthesised()?;
                    StmtKind::While(condition, Box::new(self.statement()?))
                }
                "do" => {
                    self.at += 1;
                    let body = Box::new(self.statement()?);
                    if !self.take_word("while") {
                        return Err(self.unexpected("`while`"));
                    }
                    let condition = self.parenthesised()?;
                    self.expect(";")?;
                    StmtKind::DoWhile(body, condition)
                }
                "for" => self.in_scope(Parser::for_loop)?,
                "switch" => {
                    self.at += 1;
                    let value = self.parenthesised()?;
                    StmtKind::Switch(value, Box::new(self.statement()?))
                }
                "case" => {
                    self.at += 1;
                    let e = self.expression()?;
                    let first = self.constant_value(&e)?;
                    let mut last = first;
                    if self.take("...") {
                        let e = self.expression()?;
                        last = self.constant_value(&e)?;
                    }
                    self.expect(":")?;
                    StmtKind::Case(Some((first, last)))
                }
                "default" if *self.ahead(1) == Kind::Sign(":") => {
                    self.at += 2;
                    StmtKind::Case(None)
                }
                "goto" => {
                    self.at += 1;
                    let (label, _) = self.name()?;
                    self.expect(";")?;
                    StmtKind::Goto(label)
                }
                "break" => self.simple(StmtKind::Break)?,
                "continue" => self.simple(StmtKind::Continue)?,
                "return" => {
                    self.at += 1;
                    let value = if self.is(";") { None } else { Some(self.expression()?) };
                    self.expect(";")?;
                    StmtKind::Return(value)
                }
                "asm" | "__asm__" | "__asm" => self.assembly()?,
                _ if *self.ahead(1) == Kind::Sign(":") => {
                    self.at += 2;
                    StmtKind::Label(word)
                }
                "_Static_assert" | "static_assert" => {
                    self.static_assert()?;
                    StmtKind::Empty
                }
                _ if self.is_type() => self.declaration()?,
                _ => self.expression_statement()?,
            },
            _ => self.expression_statement()?,
        };
        Ok(self.stmt(first, kind))
    }

    fn simple(&mut self, kind: StmtKind) -> Parsing<StmtKind> {
        self.at += 1;
        self.expect(";")?;
        Ok(kind)
    }

    fn parenthesised(&mut self) -> Parsing<Expr> {
        self.expect("(")?;
        let e = self.expression()?;
        self.expect(")")?;
        Ok(e)
    }

    fn expression_statement(&mut self) -> Parsing<StmtKind> {
        let e = self.expression()?;
        self.expect(";")?;
        Ok(StmtKind::Do(e))
    }

    fn declaration(&mut self) -> Parsing<StmtKind> {
        let specifiers = self.specifiers()?;
        let mut variables = Vec::new();
        while !self.is(";") {
            let declared = self.declarator(specifiers.ty.clone())?;
            if declared.params.is_some() {
                let message = "functions are declared outside of others";
                return Err(crate::Diagnostic::new(declared.at, message, ""));
            }
            if specifiers.is_typedef {
                self.typedefs.insert(declared.name, declared.ty);
            } else {
                variables.push(self.variable(&specifiers, declared)?);
            }
            if !self.take(",") && !self.is(";") {
                return Err(self.unexpected("`,` or `;`"));
            }
        }
        self.at += 1;
        Ok(StmtKind::Declare(variables))
    }

    fn for_loop(&mut self) -> Parsing<StmtKind> {
        self.at += 1;
        self.expect("(")?;
        let start = self.at;
        let first = if self.take(";") {
            None
        } else {
            let kind = match self.is_type() {
                true => self.declaration()?,
                false => self.expression_statement()?,
            };
            Some(Box::new(self.stmt(start, kind)))
        };
        let condition = if self.is(";") { None } else { Some(self.expression()?) };
        self.expect(";")?;
        let step = if self.is(")") { None } else { Some(self.expression()?) };
        self.expect(")")?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::For { first, condition, step, body })
    }

    fn assembly(&mut self) -> Parsing<StmtKind> {
        self.at += 1;
        while matches!(self.peek(), Kind::Name(n) if n.contains("volatile") || n.contains("inline"))
        {
            self.at += 1;
        }
        self.expect("(")?;
        let mut template = String::new();
        while let Kind::Text(text) = self.peek() {
            template += text;
            self.at += 1;
        }
        let mut operands = [Vec::new(), Vec::new()];
        for all in &mut operands {
            if self.take(":") {
                *all = self.operands()?;
            }
        }
        let mut depth = 1;
        while depth > 0 {
            match self.peek() {
                Kind::Sign("(") => depth += 1,
                Kind::Sign(")") => depth -= 1,
                Kind::End => return Err(self.unexpected("`)`")),
                _ => {}
            }
            self.at += 1;
        }
        self.expect(";")?;
        let [outputs, inputs] = operands;
        Ok(StmtKind::Assembly(Assembly { template, outputs, inputs }))
    }

    /// `[name] "constraint" (value), ...`.
    fn operands(&mut self) -> Parsing<Vec<Operand>> {
        let mut all = Vec::new();
        while !self.is(":") && !self.is(")") {
            let mut name = String::new();
            if self.take("[") {
                name = self.name()?.0;
                self.expect("]")?;
            }
            let mut constraint = String::new();
            while let Kind::Text(text) = self.peek() {
                constraint += text;
                self.at += 1;
            }
            let value = self.parenthesised()?;
            let at = value.at;
            let kind = match constraint.as_str() {
                c if c.contains('m') => ExprKind::AddressOf(Box::new(value)),
                c if c.contains(['=', '+']) => {
                    let mut target = Box::new(value);
                    while let ExprKind::Cast(_, inner) = target.kind {
                        target = inner;
                    }
                    ExprKind::Step { target, by: 0, old: false }
                }
                _ => value.kind,
            };
            all.push(Operand { name, constraint, value: Expr { kind, at } });
            if !self.take(",") {
                break;
            }
        }
        Ok(all)
    }
}
