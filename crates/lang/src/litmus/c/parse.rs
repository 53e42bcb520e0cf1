//! Threads in C: text to syntax tree.

use weakspot_core::{BinOp, UnOp};

use super::ast::{Expr, ExprKind, Function, Stmt, StmtKind, Type};
use super::lex;
use crate::litmus::arch::Arch;
use crate::litmus::ast::{Number, ThreadHead};
use crate::litmus::lex::TokenKind;
use crate::litmus::parse::{Parser, Parsing, thread_id};
use crate::litmus::types::is_type;
use crate::{At, Diagnostic, Name};

/// How deep statements and expressions may nest.
const DEEPEST: usize = 100;

/// Operators by how tightly they bind, loosest first.
const BINARY: [&[(&str, BinOp)]; 10] = [
    &[("||", BinOp::Or)],
    &[("&&", BinOp::And)],
    &[("|", BinOp::BitOr)],
    &[("^", BinOp::BitXor)],
    &[("&", BinOp::BitAnd)],
    &[("==", BinOp::Eq), ("!=", BinOp::Ne)],
    &[("<=", BinOp::Le), (">=", BinOp::Ge), ("<", BinOp::Lt), (">", BinOp::Gt)],
    &[("<<", BinOp::Shl), (">>", BinOp::Sar)],
    &[("+", BinOp::Add), ("-", BinOp::Sub)],
    &[("*", BinOp::Mul), ("/", BinOp::Div), ("%", BinOp::Rem)],
];

/// The sign of a binary operator, and how tightly it binds.
pub(super) fn sign(op: BinOp) -> (&'static str, usize) {
    let mut levels = BINARY.iter().enumerate();
    let found = levels.find_map(|(level, ops)| {
        ops.iter().find(|(_, o)| *o == op).map(|(sign, _)| (*sign, level))
    });
    found.unwrap_or((">>", 7))
}

impl<'a> Parser<'a> {
    /// The threads, and a reader of what stands behind them.
    pub(in crate::litmus) fn functions(&mut self) -> Parsing<Vec<Function>> {
        let mut at = self.start();
        let mut functions: Vec<Function> = Vec::new();
        loop {
            let (start, is_thread) = lex::next_thread(self.text(), at)?;
            if !is_thread {
                *self = Parser::new(Arch::C, self.text(), start);
                if functions.is_empty() {
                    return Err(self.unexpected("a thread, such as `P0(int *x) { ... }`"));
                }
                return Ok(functions);
            }
            let mut inner =
                Parser::of_tokens(Arch::C, self.text(), lex::tokens(self.text(), start));
            let function = inner.function()?;
            if functions.iter().any(|f| f.head.id == function.head.id) {
                let message = format!("a second thread `P{}`", function.head.id);
                return Err(Diagnostic::new(function.head.place.0, message, ""));
            }
            functions.push(function);
            at = inner.start();
        }
    }

    fn function(&mut self) -> Parsing<Function> {
        while self.is_word(0, "void") || self.is_word(0, "static") {
            self.bump();
        }
        let place = At(self.here());
        let id = self.ident(0).and_then(thread_id).unwrap_or(0);
        self.bump();
        self.expect("(", "`(`")?;
        let mut params = Vec::new();
        if self.is_word(0, "void") && self.is_at(1, ")") {
            self.bump();
        }
        while !self.eat(")") {
            let mut ctype = self.c_type()?;
            let name = self.c_name("the name of a location")?;
            if self.eat("[") {
                if !self.is("]") {
                    self.count("the length of the array")?;
                }
                self.expect("]", "`]`")?;
                ctype.stars += 1;
            }
            params.push((ctype, name));
            if !self.eat(",") && !self.is(")") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        if !self.is("{") {
            return Err(self.unexpected("`{`"));
        }
        let body = self.block()?;
        Ok(Function { head: ThreadHead { id, place }, params, body })
    }

    /// `{ ... }`
    fn block(&mut self) -> Parsing<Vec<Stmt>> {
        let open = self.here();
        self.expect("{", "`{`")?;
        let mut stmts = Vec::new();
        while !self.eat("}") {
            if *self.peek(0) == TokenKind::End {
                return Err(Diagnostic::new(open, "unbalanced `{`", "expected a closing `}`"));
            }
            stmts.push(self.deep(Parser::statement)?);
        }
        Ok(stmts)
    }

    /// The statements of a branch or loop, in braces or one without.
    fn branch(&mut self) -> Parsing<Vec<Stmt>> {
        if self.is("{") { self.block() } else { Ok(vec![self.deep(Parser::statement)?]) }
    }

    fn deep<T>(&mut self, f: fn(&mut Self) -> Parsing<T>) -> Parsing<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("this is nested more than {DEEPEST} deep");
            return Err(Diagnostic::new(self.here(), message, ""));
        }
        let found = f(self);
        self.depth -= 1;
        found
    }

    fn statement(&mut self) -> Parsing<Stmt> {
        let start = self.start();
        let stmt = |p: &Self, kind| Stmt { kind, place: p.since(start) };
        if self.is("{") {
            let inner = self.block()?;
            return Ok(stmt(self, StmtKind::Block(inner)));
        }
        if self.eat(";") {
            return Ok(stmt(self, StmtKind::Empty));
        }
        let word = self.ident(0).unwrap_or_default();
        match word {
            "if" => {
                let cond = self.condition()?;
                let mut found = stmt(self, StmtKind::Empty);
                let yes = self.branch()?;
                let mut no = None;
                if self.is_word(0, "else") {
                    self.bump();
                    no = Some(self.branch()?);
                }
                found.kind = StmtKind::If(cond, yes, no);
                return Ok(found);
            }
            "while" => {
                let cond = self.condition()?;
                let mut found = stmt(self, StmtKind::Empty);
                found.kind = StmtKind::While(cond, self.branch()?);
                return Ok(found);
            }
            "do" => {
                self.bump();
                let body = self.branch()?;
                let head = self.start();
                if !self.is_word(0, "while") {
                    return Err(self.unexpected("`while`"));
                }
                let cond = self.condition()?;
                let place = self.since(head);
                self.end_of_statement()?;
                return Ok(Stmt { kind: StmtKind::DoWhile(body, cond), place });
            }
            "for" | "switch" | "goto" | "case" | "default" | "struct" | "union" | "typedef" => {
                return Err(Diagnostic::new(
                    self.here(),
                    format!("`{word}` is not supported"),
                    "expected a statement",
                ));
            }
            "break" | "continue" | "return" => {
                self.bump();
                let kind = match word {
                    "break" => StmtKind::Break,
                    "continue" => StmtKind::Continue,
                    _ => StmtKind::Return,
                };
                let found = stmt(self, kind);
                self.end_of_statement()?;
                return Ok(found);
            }
            _ => {}
        }
        let kind = self.simple()?;
        let found = stmt(self, kind);
        self.end_of_statement()?;
        Ok(found)
    }

    fn end_of_statement(&mut self) -> Parsing<()> {
        if self.eat(";") {
            return Ok(());
        }
        if self.on_new_line() && !matches!(self.peek(0), TokenKind::Bad(_)) {
            let message = "missing `;` at the end of the statement";
            return Err(Diagnostic::new(self.behind(), message, "expected `;`"));
        }
        Err(self.unexpected("`;`"))
    }

    fn condition(&mut self) -> Parsing<Expr> {
        self.bump();
        self.expect("(", "`(`")?;
        let cond = self.c_expr()?;
        self.expect(")", "`)`")?;
        Ok(cond)
    }

    /// A declaration, an assignment or a call.
    fn simple(&mut self) -> Parsing<StmtKind> {
        if self.at_type() {
            let ctype = self.c_type()?;
            let mut declared = Vec::new();
            let mut own = ctype.clone();
            loop {
                let name = self.c_name("the name of a variable")?;
                let value = if self.eat("=") { Some(self.c_expr()?) } else { None };
                if own.stars != ctype.stars {
                    let message = "variables of different types in one declaration";
                    return Err(Diagnostic::new(name.at.0, message, "expected a declaration each"));
                }
                declared.push((name, value));
                if !self.eat(",") {
                    return Ok(StmtKind::Declare(ctype, declared));
                }
                own.stars = self.stars();
            }
        }
        for (sign, op) in [("++", BinOp::Add), ("--", BinOp::Sub)] {
            let start = self.start();
            if self.eat(sign) {
                let place = self.since(start);
                let target = self.unary_expr()?;
                return Ok(StmtKind::Assign(target, Some(op), one(place)));
            }
        }
        let target = self.c_expr()?;
        for (sign, op) in [("++", BinOp::Add), ("--", BinOp::Sub)] {
            let start = self.start();
            if self.eat(sign) {
                return Ok(StmtKind::Assign(target, Some(op), one(self.since(start))));
            }
        }
        const ASSIGN: [(&str, BinOp); 10] = [
            ("+=", BinOp::Add),
            ("-=", BinOp::Sub),
            ("*=", BinOp::Mul),
            ("/=", BinOp::Div),
            ("%=", BinOp::Rem),
            ("|=", BinOp::BitOr),
            ("&=", BinOp::BitAnd),
            ("^=", BinOp::BitXor),
            ("<<=", BinOp::Shl),
            (">>=", BinOp::Sar),
        ];
        if self.eat("=") {
            return Ok(StmtKind::Assign(target, None, self.c_expr()?));
        }
        for (sign, op) in ASSIGN {
            if self.eat(sign) {
                return Ok(StmtKind::Assign(target, Some(op), self.c_expr()?));
            }
        }
        Ok(StmtKind::Do(target))
    }

    fn c_name(&mut self, expected: &str) -> Parsing<Name> {
        let at = At(self.here());
        let Some(word) = self.ident(0).filter(|w| !is_type(w)) else {
            return Err(self.unexpected(expected));
        };
        self.bump();
        Ok(Name { text: word.to_owned(), at })
    }

    /// Whether a type begins here, and not a variable that is called like one.
    fn at_type(&self) -> bool {
        let Some(word) = self.ident(0) else { return false };
        if word == "struct" {
            return true;
        }
        let short = matches!(word, "u8" | "u16" | "u32" | "u64");
        is_type(word) || (short && (self.ident(1).is_some() || self.is_at(1, "*")))
    }

    fn c_type(&mut self) -> Parsing<Type> {
        if self.is_word(0, "struct") {
            return Err(self.unexpected("a type such as `int`").help("structs are not supported"));
        }
        let mut words: Vec<&str> = Vec::new();
        while self.at_type() || (words.is_empty() && self.ident(0).is_some()) {
            let word = self.ident(0).unwrap_or_default();
            self.check_type(&words, word)?;
            words.push(word);
            self.bump();
        }
        if words.is_empty() {
            return Err(self.unexpected("a type"));
        }
        let stars = self.stars();
        Ok(Type { name: words.join(" "), stars })
    }

    fn stars(&mut self) -> u32 {
        let mut stars = 0;
        loop {
            if self.eat("*") {
                stars += 1;
            } else if stars > 0 && (self.is_word(0, "const") || self.is_word(0, "volatile")) {
                self.bump();
            } else {
                return stars;
            }
        }
    }

    fn c_expr(&mut self) -> Parsing<Expr> {
        self.deep(|p| {
            let start = p.start();
            let cond = p.binary_expr(0)?;
            if !p.eat("?") {
                return Ok(cond);
            }
            let yes = p.c_expr()?;
            p.expect(":", "`:`")?;
            let no = p.c_expr()?;
            let kind = ExprKind::Select(Box::new((cond, yes, no)));
            Ok(Expr { kind, place: p.since(start) })
        })
    }

    fn binary_expr(&mut self, level: usize) -> Parsing<Expr> {
        let Some(ops) = BINARY.get(level) else { return self.unary_expr() };
        let start = self.start();
        let mut left = self.binary_expr(level + 1)?;
        while let Some((sign, op)) = ops.iter().find(|(sign, _)| self.is(sign)) {
            self.eat(sign);
            let right = self.binary_expr(level + 1)?;
            let kind = ExprKind::Binary(*op, Box::new((left, right)));
            left = Expr { kind, place: self.since(start) };
        }
        Ok(left)
    }

    fn unary_expr(&mut self) -> Parsing<Expr> {
        self.deep(|p| {
            let start = p.start();
            let made = |p: &Self, kind| Ok(Expr { kind, place: p.since(start) });
            for (sign, op) in [("-", UnOp::Neg), ("!", UnOp::Not), ("~", UnOp::BitNot)] {
                if p.eat(sign) {
                    let inner = p.unary_expr()?;
                    return made(
                        p,
                        match (op, inner.kind) {
                            (UnOp::Neg, ExprKind::Number(n)) => ExprKind::Number(-n),
                            (op, kind) => {
                                let place = inner.place;
                                ExprKind::Unary(op, Box::new(Expr { kind, place }))
                            }
                        },
                    );
                }
            }
            if p.eat("+") {
                return p.unary_expr();
            }
            if p.eat("*") {
                let inner = p.unary_expr()?;
                return made(p, ExprKind::Deref(Box::new(inner)));
            }
            if p.eat("&") {
                let inner = p.unary_expr()?;
                return made(p, ExprKind::AddressOf(Box::new(inner)));
            }
            if p.is("(") {
                p.bump();
                if p.at_type() {
                    let ctype = p.c_type()?;
                    p.expect(")", "`)`")?;
                    let inner = p.unary_expr()?;
                    return made(p, ExprKind::Cast(ctype, Box::new(inner)));
                }
                p.depth += 1;
                let inner = p.c_expr()?;
                p.depth -= 1;
                p.expect(")", "`)`")?;
                return p.postfix(start, inner);
            }
            let primary = p.primary()?;
            p.postfix(start, primary)
        })
    }

    fn postfix(&mut self, start: usize, mut expr: Expr) -> Parsing<Expr> {
        loop {
            if self.eat("[") {
                let index = self.c_expr()?;
                self.expect("]", "`]`")?;
                let kind = ExprKind::Index(Box::new((expr, index)));
                expr = Expr { kind, place: self.since(start) };
            } else if self.is("->") || self.is(".") {
                return Err(self.unexpected("`;`").help("structs are not supported"));
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self) -> Parsing<Expr> {
        let start = self.start();
        if let TokenKind::Number(n) = *self.peek(0) {
            self.bump();
            let place = self.since(start);
            let number = Expr { kind: ExprKind::Number(Number::from(n)), place };
            let text = &self.text()[place.0.start as usize..place.0.end as usize];
            return Ok(match type_of_number(text, n) {
                Some(name) => {
                    let named = Type { name: name.to_owned(), stars: 0 };
                    Expr { kind: ExprKind::Cast(named, Box::new(number)), place }
                }
                None => number,
            });
        }
        let Some(word) = self.ident(0) else {
            return Err(self.unexpected("an expression"));
        };
        if is_type(word) {
            return Err(self.unexpected("an expression"));
        }
        let at = At(self.here());
        self.bump();
        if self.is("{") && word.starts_with("__") {
            let message = format!("`{word}{{...}}` is a word of another tool's definitions");
            return Err(Diagnostic::new(at.0, message, "expected a function of the kernel or C11"));
        }
        if !self.eat("(") {
            let kind = match word {
                "NULL" | "false" => ExprKind::Number(0),
                "true" => ExprKind::Number(1),
                _ => ExprKind::Name(word.to_owned()),
            };
            return Ok(Expr { kind, place: at });
        }
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.c_expr()?);
            if !self.eat(",") && !self.is(")") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        let name = Name { text: word.to_owned(), at };
        Ok(Expr { kind: ExprKind::Call(name, args), place: self.since(start) })
    }
}

fn one(place: At) -> Expr {
    Expr { kind: ExprKind::Number(1), place }
}

/// The type of a number, where it is not the `int` or `long` that its value is one of.
fn type_of_number(text: &str, n: u64) -> Option<&'static str> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = text[digits.len()..].to_ascii_lowercase();
    let (unsigned, long) = (suffix.contains('u'), suffix.contains('l'));
    let decimal = !digits.starts_with('0');
    let fits = |bits: u32| n >> bits == 0;
    match (unsigned, long) {
        (true, false) if fits(32) => Some("unsigned int"),
        (true, _) => Some("unsigned long"),
        (false, true) if fits(63) => Some("long"),
        (false, false) if fits(31) => None,
        (false, false) if !decimal && fits(32) => Some("unsigned int"),
        (false, _) if !fits(63) && !decimal => Some("unsigned long"),
        (false, _) => None,
    }
}
