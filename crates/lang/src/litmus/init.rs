//! The initial state: `{ x=0; int y=1; 0:rbx=x; int64_t t[2]={1,-1}; }`.

use weakspot_core::Span;

use super::ast::{CType, InitItem, InitValue, Symbol, Target};
use super::lex::TokenKind;
use super::parse::{Parser, Parsing, thread_id};
use super::types::{QUALIFIERS, TYPES};
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic};

/// Whether two words may stand in one type, the first among those `before` the second.
fn go_together(first: &str, second: &str, before: &[&str]) -> bool {
    const SIGNS: [&str; 2] = ["unsigned", "signed"];
    const FREE: [&str; 3] = ["_Atomic", "volatile", "const"];
    if FREE.contains(&first) || FREE.contains(&second) {
        return true;
    }
    let pair = |a: &str, b: &str| (first, second) == (a, b) || (first, second) == (b, a);
    if SIGNS.contains(&first) || SIGNS.contains(&second) {
        return ["int", "long", "short", "char"].iter().any(|t| SIGNS.iter().any(|s| pair(s, t)));
    }
    let longs = before.iter().filter(|b| **b == "long").count();
    pair("int", "long") || pair("int", "short") || (pair("long", "long") && longs == 1)
}

impl Parser<'_> {
    /// The initial state with its braces.
    pub(super) fn init(&mut self) -> Parsing<Vec<InitItem>> {
        let open = self.here();
        self.expect("{", "`{`")?;
        let mut items = Vec::new();
        loop {
            while self.eat(";") {}
            if self.eat("}") {
                return Ok(items);
            }
            self.check_init_goes_on(open)?;
            items.push(self.init_item()?);
            if !self.is("}") && !self.is(";") {
                self.check_init_goes_on(open)?;
                return Err(self.after_item());
            }
        }
    }

    /// Refuses an initial state, which began at `open`, in which the threads begin.
    fn check_init_goes_on(&self, open: Span) -> Parsing<()> {
        let head = self.ident(0).is_some_and(|w| thread_id(w).is_some())
            && (self.is_at(1, "|") || self.is_at(1, ";"));
        if !head && !matches!(self.peek(0), TokenKind::End | TokenKind::Rest) {
            return Ok(());
        }
        let message = "the initial state that begins here never ends";
        Err(Diagnostic::new(open, message, "expected a closing `}`"))
    }

    fn after_item(&self) -> Diagnostic {
        let diagnostic = self.unexpected("`;` or `}`");
        if self.is("|") || self.is(",") {
            diagnostic.help("the items of the initial state are separated by `;`")
        } else if self.is("==") {
            diagnostic.help("write `=`")
        } else {
            diagnostic
        }
    }

    fn init_item(&mut self) -> Parsing<InitItem> {
        let start = self.start();
        let ctype = self.ctype()?;
        let target = self.target()?;
        let mut value = None;
        if self.eat("=") {
            value = Some(self.init_value()?);
        }
        check(&target, value.as_ref())?;
        Ok(InitItem { ctype, target, value, place: self.since(start) })
    }

    /// A type, if one begins here.
    fn ctype(&mut self) -> Parsing<Option<CType>> {
        let start = self.start();
        let mut words: Vec<&str> = Vec::new();
        // A name followed by the beginning of a target is a type.
        while let Some(word) = self.ident(0) {
            let more = match self.peek(1) {
                TokenKind::Ident(_) | TokenKind::Number(_) | TokenKind::Punct("*") => true,
                TokenKind::Punct("[") => matches!(self.peek(2), TokenKind::Ident(_)),
                _ => false,
            };
            if !more {
                break;
            }
            self.check_type(&words, word)?;
            words.push(word);
            self.bump();
        }
        Ok(self.type_of_words(start, &words))
    }

    /// The type that these words and the `*` after them make up, if there is anything.
    pub(super) fn type_of_words(&mut self, start: usize, words: &[&str]) -> Option<CType> {
        let mut pointer = false;
        while self.eat("*") {
            pointer = true;
        }
        let place = self.since(start);
        (pointer || !words.is_empty()).then(|| CType { name: words.join(" "), pointer, place })
    }

    /// Refuses the word at hand if it cannot be the next one of a type.
    pub(super) fn check_type(&self, before: &[&str], word: &str) -> Parsing<()> {
        let known = || TYPES.iter().map(|(n, _, _)| *n).chain(QUALIFIERS);
        if known().any(|n| n == word) {
            if before.iter().all(|b| go_together(b, word, before)) {
                return Ok(());
            }
            return Err(Diagnostic::new(
                self.here(),
                format!("`{word}` cannot follow `{}` in a type", before.join(" ")),
                "expected a location or a register",
            ));
        }
        let diagnostic = Diagnostic::new(
            self.here(),
            format!("`{word}` is not a type"),
            "expected `=`, `;` or a type such as `int` or `uint64_t`",
        );
        Err(did_you_mean(diagnostic, word, known()))
    }

    fn target(&mut self) -> Parsing<Target> {
        if self.at_reg_ref() {
            return Ok(Target::Reg(self.reg_ref()?));
        }
        if self.eat("[") {
            let symbol = self.symbol()?;
            self.close_location(&symbol)?;
            return Ok(Target::Loc(symbol));
        }
        if self.ident(0).is_none() {
            return Err(self.unexpected("a location, a register such as `0:EAX`, or `}`"));
        }
        let symbol = self.symbol()?;
        if self.eat("[") {
            self.count("the length of the array")?;
            return Err(self.unexpected("`]`"));
        }
        Ok(if symbol.index.is_some() { Target::Array(symbol) } else { Target::Loc(symbol) })
    }

    fn init_value(&mut self) -> Parsing<InitValue> {
        let start = self.start();
        if self.eat("{") {
            let mut elements = Vec::new();
            while !self.eat("}") {
                elements.push(self.scalar()?);
                if !self.eat(",") && !self.is("}") {
                    return Err(self.unexpected("`,` or `}`"));
                }
            }
            return Ok(InitValue::List(elements, self.since(start)));
        }
        if self.is_word(0, "ATOMIC_INIT") && self.is_at(1, "(") {
            self.bump();
            self.bump();
            let value = self.scalar()?;
            self.expect(")", "`)`")?;
            return Ok(value);
        }
        self.scalar()
    }

    fn scalar(&mut self) -> Parsing<InitValue> {
        if self.at_reg_ref() {
            return Err(self.unexpected("a number or the name of a location"));
        }
        if self.at_number() {
            let (value, place) = self.number()?;
            return Ok(InitValue::Number(value, place));
        }
        let address = self.eat("&") || self.eat("$");
        if self.ident(0).is_none() {
            let what = if address { "the name of a location" } else { "a value" };
            return Err(self.unexpected(what));
        }
        Ok(InitValue::Address(self.symbol()?))
    }
}

/// Lists are for arrays, and as long as them.
fn check(target: &Target, value: Option<&InitValue>) -> Parsing<()> {
    match (target, value) {
        (
            Target::Array(Symbol { name, index: Some(length), .. }),
            Some(InitValue::List(list, place)),
        ) => {
            if list.len() == *length as usize {
                return Ok(());
            }
            Err(Diagnostic::new(
                place.0,
                format!(
                    "the array `{name}` has {length} elements, but {} values are given",
                    list.len()
                ),
                format!("expected {length} values"),
            ))
        }
        (Target::Array(symbol), Some(value)) => Err(Diagnostic::new(
            value.place().0,
            format!("the array `{}` needs a value for each element", symbol.name),
            "expected `{`",
        )),
        (_, Some(InitValue::List(_, place))) => Err(Diagnostic::new(
            place.0,
            "a list of values for something that is no array",
            "expected a number",
        )),
        _ => Ok(()),
    }
}

impl InitValue {
    /// Where the value stands.
    #[must_use]
    pub fn place(&self) -> At {
        match self {
            InitValue::Number(_, place) | InitValue::List(_, place) => *place,
            InitValue::Address(symbol) => symbol.place,
        }
    }
}
