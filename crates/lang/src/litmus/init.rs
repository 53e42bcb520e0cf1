//! The initial state: `{ x=0; int y=1; 0:rbx=x; int64_t t[2]={1,-1}; }`.

use weakspot_core::Span;

use super::ast::{CType, InitItem, InitValue, Symbol, Target};
use super::lex::Kind;
use super::parse::{Parser, Parsing, thread_id};
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic};

/// Words that may make up a type besides the names of [`TYPES`].
const QUALIFIERS: [&str; 5] = ["_Atomic", "volatile", "const", "unsigned", "signed"];

/// Names of types, with their bytes and whether they are signed.
const TYPES: [(&str, u8, bool); 26] = [
    ("int", 4, true),
    ("int32_t", 4, true),
    ("uint32_t", 4, false),
    ("long", 8, true),
    ("int64_t", 8, true),
    ("uint64_t", 8, false),
    ("intptr_t", 8, true),
    ("uintptr_t", 8, false),
    ("size_t", 8, false),
    ("ssize_t", 8, true),
    ("char", 1, true),
    ("int8_t", 1, true),
    ("uint8_t", 1, false),
    ("short", 2, true),
    ("int16_t", 2, true),
    ("uint16_t", 2, false),
    ("bool", 1, false),
    ("_Bool", 1, false),
    ("atomic_int", 4, true),
    ("atomic_uint", 4, false),
    ("atomic_long", 8, true),
    ("u8", 1, false),
    ("u16", 2, false),
    ("u32", 4, false),
    ("u64", 8, false),
    ("void", 8, false),
];

/// The bytes of a type on an architecture with `word` bytes, and whether it is signed. An empty
/// name is the `int` that a lone `*` points to.
pub(super) fn type_of(ctype: &CType, word: u8) -> (u8, bool) {
    if ctype.pointer {
        return (word, false);
    }
    let mut found = (4, true);
    let words: Vec<&str> = ctype.name.split(' ').collect();
    for w in &words {
        if let Some((_, bytes, signed)) = TYPES.iter().find(|(n, _, _)| n == w) {
            // `long int` and `short int` take their width from the other word.
            if *w != "int" || words.len() == 1 {
                found = (*bytes, *signed);
            }
        }
    }
    if words.contains(&"unsigned") {
        found.1 = false;
    }
    // On 32 bits, `long` and the integers that hold pointers are as wide as a word.
    let is_word = words.iter().filter(|w| **w == "long").count() == 1
        || words.iter().any(|w| ["intptr_t", "uintptr_t", "size_t", "ssize_t"].contains(w));
    if is_word {
        found.0 = word;
    }
    found
}

/// Whether a name is that of a type, or part of one. The short names are left to locations.
pub(super) fn is_type(name: &str) -> bool {
    let short = matches!(name, "u8" | "u16" | "u32" | "u64");
    !short && (QUALIFIERS.contains(&name) || TYPES.iter().any(|(n, _, _)| *n == name))
}

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
        if !head && !matches!(self.peek(0), Kind::End | Kind::Rest) {
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
                Kind::Ident(_) | Kind::Number(_) | Kind::Punct("*") => true,
                Kind::Punct("[") => matches!(self.peek(2), Kind::Ident(_)),
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
            self.expect("]", "`]`")?;
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
