//! Fences and orders written into a source.

use super::tokens::TokenKind;
use super::{Source, SourceLanguage, Statement};

/// The kinds of fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FenceKind {
    /// Full: no later access is done before an earlier one.
    Full,
    /// A store-store fence.
    StoreStore,
}

/// The order that an atomic operation should have at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// An acquire load.
    Acquire,
    /// A release store.
    Release,
    /// An acquire-release update.
    AcqRel,
    /// A sequentially consistent store.
    SeqCst,
}

/// Another order for an atomic operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderChange {
    /// The bytes of the word that says its order.
    pub at: std::ops::Range<usize>,
    /// What is written there.
    pub text: String,
}

/// A change of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A statement that is a fence, where [`Statement`] says that one can be put.
    Fence(usize, FenceKind),
    /// A stronger memory order.
    Order(OrderChange),
}

/// A source with some changes.
#[must_use]
pub fn edited(source: &Source, edits: &[Edit]) -> String {
    let mut pieces: Vec<(std::ops::Range<usize>, String)> = edits
        .iter()
        .map(|edit| match edit {
            Edit::Fence(at, kind) => {
                let (at, text) = source.line_of_its_own(*at, source.fence(*kind));
                (at..at, text)
            }
            Edit::Order(change) => (change.at.clone(), change.text.clone()),
        })
        .collect();
    pieces.sort_by_key(|(range, _)| range.start);
    let mut out = String::new();
    let mut at = 0;
    for (range, text) in pieces {
        // Changes at one place follow each other.
        out += source.text.get(at..range.start).unwrap_or("");
        out += &text;
        at = at.max(range.end);
    }
    out + source.text.get(at..).unwrap_or("")
}

impl Source {
    /// A fence as a statement.
    #[must_use]
    pub fn fence(&self, kind: FenceKind) -> &'static str {
        let full = kind == FenceKind::Full;
        // Functions that nobody has declared are not called.
        let c11 = self.includes("stdatomic.h");
        let cxx = self.language == SourceLanguage::Cxx && self.includes("atomic");
        match (self.language, full) {
            (SourceLanguage::Rust, true) => {
                "std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);"
            }
            (SourceLanguage::Rust, false) => {
                "std::sync::atomic::fence(std::sync::atomic::Ordering::Release);"
            }
            (_, true) if cxx => "std::atomic_thread_fence(std::memory_order_seq_cst);",
            (_, false) if cxx => "std::atomic_thread_fence(std::memory_order_release);",
            (_, true) if c11 => "atomic_thread_fence(memory_order_seq_cst);",
            (_, false) if c11 => "atomic_thread_fence(memory_order_release);",
            (_, true) => "__atomic_thread_fence(__ATOMIC_SEQ_CST);",
            (_, false) => "__atomic_thread_fence(__ATOMIC_RELEASE);",
        }
    }

    /// How the one atomic operation of a statement gets another order, if it is certain where its order is
    /// written, and it can have that.
    #[must_use]
    pub fn order(&self, statement: &Statement, wanted: Wanted) -> Option<OrderChange> {
        let call = |i: usize| {
            let open = self.tokens[i].inside?;
            let name = self.tokens.get(open.checked_sub(1)?)?;
            (name.kind == TokenKind::Word).then(|| (open, self.word(name)))
        };
        let all: Vec<usize> =
            self.tokens_of(statement).filter(|&i| self.order_word(i).is_some()).collect();
        let on_line = |i: usize| {
            call(i).is_some_and(|(open, _)| statement.line.contains(&self.tokens[open].start))
        };
        let meant: Vec<usize> = all.iter().copied().filter(|&i| on_line(i)).collect();
        let orders = if meant.is_empty() { all } else { meant };
        let first = *orders.first()?;
        let (open, name) = call(first)?;
        let exchange = name.contains("compare_exchange");
        // The second order of these is for when nothing is stored.
        let one = match orders[..] {
            [_] => true,
            [_, other] => exchange && call(other).is_some_and(|(other, _)| other == open),
            _ => false,
        };
        let updates = ["exchange", "fetch", "swap", "test_and_set"];
        let update = updates.iter().any(|update| name.contains(update));
        let stores = update || name.contains("store") || name.contains("clear");
        let loads = update || name.contains("load");
        let has = match wanted {
            Wanted::Acquire => loads,
            Wanted::Release | Wanted::SeqCst => stores,
            Wanted::AcqRel => update,
        };
        if !one || !has {
            return None;
        }
        let order = match (wanted, self.order_word(first)?) {
            (Wanted::SeqCst, _) => "seq_cst",
            (Wanted::AcqRel, _) => "acq_rel",
            (Wanted::Release, "acquire" | "consume") if update => "acq_rel",
            (Wanted::Acquire, "release") => "acq_rel",
            (Wanted::Release, _) => "release",
            (Wanted::Acquire, _) => "acquire",
        };
        let token = &self.tokens[first];
        let word = self.word(token);
        let text = if word.starts_with("__ATOMIC_") {
            format!("__ATOMIC_{}", order.to_uppercase())
        } else if word.starts_with("memory_order_") {
            format!("memory_order_{order}")
        } else if self.language == SourceLanguage::Rust {
            let name = match order {
                "seq_cst" => "SeqCst",
                "acq_rel" => "AcqRel",
                "acquire" => "Acquire",
                _ => "Release",
            };
            // Without its type it may not be known.
            let alone = self.text[..token.start].trim_end().ends_with("::");
            if alone { name.to_owned() } else { format!("std::sync::atomic::Ordering::{name}") }
        } else {
            order.to_owned()
        };
        Some(OrderChange { at: token.start..token.end, text })
    }

    /// The order that a token says.
    fn order_word(&self, at: usize) -> Option<&'static str> {
        const ORDERS: [(&str, &str); 6] = [
            ("relaxed", "Relaxed"),
            ("consume", ""),
            ("acquire", "Acquire"),
            ("release", "Release"),
            ("acq_rel", "AcqRel"),
            ("seq_cst", "SeqCst"),
        ];
        let token = &self.tokens[at];
        if token.kind != TokenKind::Word {
            return None;
        }
        let word = self.word(token);
        let scoped = || {
            let before = at.checked_sub(3).map(|from| &self.tokens[from..at]);
            before.is_some_and(|t| {
                self.word(&t[0]) == "memory_order"
                    && self.word(&t[1]) == ":"
                    && self.word(&t[2]) == ":"
            })
        };
        let is = |(c, rust): &&(&'static str, &'static str)| match self.language {
            SourceLanguage::Rust => word == *rust,
            _ => {
                word.strip_prefix("memory_order_") == Some(c)
                    || word.strip_prefix("__ATOMIC_").is_some_and(|w| w.eq_ignore_ascii_case(c))
                    || word == *c && scoped()
            }
        };
        ORDERS.iter().find(is).map(|(c, _)| *c)
    }

    /// Where a statement is put that belongs at a byte, and with which blanks around it.
    fn line_of_its_own(&self, at: usize, statement: &str) -> (usize, String) {
        let rest = self.text.get(at..).unwrap_or("");
        let line_end = at + rest.find('\n').unwrap_or(rest.len());
        let next = self.tokens.iter().position(|token| token.start >= at);
        let next_start = next.map_or(self.text.len(), |next| self.tokens[next].start);
        if next_start == at {
            // Lines for the preprocessor are before it.
            let blanks = self.blanks_before(at);
            return match blanks {
                Some(blanks) => (at, format!("{statement}\n{blanks}")),
                None => (at, format!("{statement} ")),
            };
        }
        if next_start < line_end || self.tokens.is_empty() {
            return (at, format!(" {statement}"));
        }
        // A comment at the end of the line stays there, if it ends there.
        let comment = rest.get(..line_end - at).unwrap_or("");
        if comment.contains("/*") && !comment.contains("*/") {
            return (at, format!(" {statement}"));
        }
        let blanks = self.blanks_of(at, next);
        let newline = if comment.ends_with('\r') { "\r\n" } else { "\n" };
        let line_end = if comment.ends_with('\r') { line_end - 1 } else { line_end };
        (line_end, format!("{newline}{blanks}{statement}"))
    }

    /// The blanks at the beginning of a line: as in the next statement of the block, or in the last one.
    fn blanks_of(&self, at: usize, next: Option<usize>) -> String {
        let following = next.filter(|&next| {
            self.tokens[next].kind != TokenKind::Mark(b'}') && !self.tokens[next].directive
        });
        let following = following.and_then(|next| self.blanks_before(self.tokens[next].start));
        if let Some(blanks) = following {
            return blanks.to_owned();
        }
        let last = self.tokens.iter().rposition(|token| token.end <= at);
        let statement = last
            .and_then(|last| self.statement_start(last))
            .and_then(|start| self.blanks_before(start));
        statement.unwrap_or("").to_owned()
    }

    fn statement_start(&self, token: usize) -> Option<usize> {
        let line = self.line(self.tokens[token].start);
        let column = self.tokens[token].start - self.line_range(line)?.start + 1;
        Some(self.statement(line, Some(column as u32))?.range.start)
    }

    /// What is before a byte on its line, if it is only blanks.
    fn blanks_before(&self, at: usize) -> Option<&str> {
        let start = self.line_range(self.line(at))?.start;
        let before = &self.text[start..at];
        before.chars().all(|c| c == ' ' || c == '\t').then_some(before)
    }

    fn includes(&self, header: &str) -> bool {
        self.text.lines().any(|line| {
            let line = line.trim_start();
            line.starts_with('#')
                && line.contains("include")
                && line.contains(&format!("<{header}>"))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use expect_test::{Expect, expect};

    /// Fences before and after the statement with `@` before its first letter.
    fn check(file: &str, marked: &str, expected: Expect) {
        let at = marked.find('@').expect("a mark");
        let text = marked.replacen('@', "", 1);
        let source = Source::new(Path::new(file), text).expect("a source");
        let line = source.line(at);
        let column = at - source.line_range(line).expect("a line").start + 1;
        let mut out = String::new();
        match source.statement(line, Some(column as u32)) {
            None => out += "uncertain\n",
            Some(s) => {
                let mut edits = Vec::new();
                edits.extend(s.before.map(|at| Edit::Fence(at, FenceKind::StoreStore)));
                edits.extend(s.after.map(|at| Edit::Fence(at, FenceKind::Full)));
                out += &format!("`{}`", &source.text()[s.range.clone()]);
                out += if s.simple { " simple" } else { "" };
                out += if s.calls { " calls" } else { "" };
                for wanted in [Wanted::Release, Wanted::SeqCst, Wanted::Acquire] {
                    let order = source.order(&s, wanted);
                    out += &order.map_or(String::new(), |o| format!(" {}", o.text));
                }
                out += "\n";
                out += &edited(&source, &edits);
            }
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn lines_of_their_own() {
        check(
            "a.c",
            "void f(void) {\n    x = 1; // one\n    @y = 2;\n    if (z) {\n        z = 1;\n    }\n}\n",
            expect![[r#"
                `y = 2;` simple
                void f(void) {
                    x = 1; // one
                    __atomic_thread_fence(__ATOMIC_RELEASE);
                    y = 2;
                    __atomic_thread_fence(__ATOMIC_SEQ_CST);
                    if (z) {
                        z = 1;
                    }
                }
            "#]],
        );
        check(
            "a.c",
            "void f(void) {\n#ifdef A\n    x = 1;\n#else\n    @y = 2;\n#endif\n    z = 1;\n}\n",
            expect![[r#"
                `y = 2;` simple
                void f(void) {
                #ifdef A
                    x = 1;
                #else
                    __atomic_thread_fence(__ATOMIC_RELEASE);
                    y = 2;
                    __atomic_thread_fence(__ATOMIC_SEQ_CST);
                #endif
                    z = 1;
                }
            "#]],
        );
    }

    #[test]
    fn in_a_line() {
        check(
            "a.c",
            "void *p(void *a) { (void)a; @x = 1; r = y; return 0; }\n",
            expect![[r#"
                `x = 1;` simple
                void *p(void *a) { (void)a; __atomic_thread_fence(__ATOMIC_RELEASE); x = 1; __atomic_thread_fence(__ATOMIC_SEQ_CST); r = y; return 0; }
            "#]],
        );
    }

    #[test]
    fn heads() {
        check(
            "a.c",
            "void f(void) {\n  x = 1;\n  while (@y) {\n    z = 1;\n  }\n}\n",
            expect![[r#"
                `while (y) {
                    z = 1;
                  }`
                void f(void) {
                  x = 1;
                  __atomic_thread_fence(__ATOMIC_RELEASE);
                  while (y) {
                    z = 1;
                  }
                }
            "#]],
        );
        check(
            "a.c",
            "void f(void) {\n  if (@x)\n    y = 1;\n  else\n    z = 1;\n}\n",
            expect![[r#"
                `if (x)
                    y = 1;`
                void f(void) {
                  __atomic_thread_fence(__ATOMIC_RELEASE);
                  if (x)
                    y = 1;
                  else
                    z = 1;
                }
            "#]],
        );
        check(
            "a.c",
            "int f(void) {\n  while (@x)\n    ;\n  return y;\n}\n",
            expect![[r#"
                `while (x)
                    ;`
                int f(void) {
                  __atomic_thread_fence(__ATOMIC_RELEASE);
                  while (x)
                    ;
                  __atomic_thread_fence(__ATOMIC_SEQ_CST);
                  return y;
                }
            "#]],
        );
        check(
            "a.c",
            "int f(void) {\n  x = 1;\n  return @y;\n}\n",
            expect![[r#"
                `return y;` simple
                int f(void) {
                  x = 1;
                  __atomic_thread_fence(__ATOMIC_RELEASE);
                  return y;
                }
            "#]],
        );
        check(
            "a.c",
            "void f(void) {\n  do {\n    x = 1;\n  } while (@y);\n}\n",
            expect![[r#"
                `while (y);`
                void f(void) {
                  do {
                    x = 1;
                    __atomic_thread_fence(__ATOMIC_RELEASE);
                  } while (y);
                }
            "#]],
        );
        check(
            "a.c",
            "void f(void) { do { if (z) continue; x = 1; } while (@y); }\n",
            expect![[r#"
                `while (y);`
                void f(void) { do { if (z) continue; x = 1; } while (y); }
            "#]],
        );
        check(
            "a.c",
            "void f(void) { do x = 1; while (@y); }\n",
            expect![[r#"
                `while (y);`
                void f(void) { do x = 1; while (y); }
            "#]],
        );
        check(
            "a.c",
            "void f(void) { for (i = 0; @x < 3; i++) { g(); } y = 1; }\n",
            expect![[r#"
                `for (i = 0; x < 3; i++) { g(); }` calls
                void f(void) { __atomic_thread_fence(__ATOMIC_RELEASE); for (i = 0; x < 3; i++) { g(); } y = 1; }
            "#]],
        );
        check(
            "a.c",
            "void f(void) { switch (a) { case 1: @x = 1; break; } }\n",
            expect![[r#"
                `x = 1;` simple
                void f(void) { switch (a) { case 1: __atomic_thread_fence(__ATOMIC_RELEASE); x = 1; __atomic_thread_fence(__ATOMIC_SEQ_CST); break; } }
            "#]],
        );
    }

    #[test]
    fn what_has_braces_inside_is_left_alone() {
        check("a.c", "void f(void) { s = (struct s){ @x, y }; }\n", expect!["uncertain\n"]);
        check(
            "a.cpp",
            "void f() { int a[] = { @x, y }; }\n",
            expect![[r#"
                `int a[] = { x, y };`
                void f() { int a[] = { x, y }; }
            "#]],
        );
        check(
            "a.rs",
            "fn f() { go(|| { @X.load(Relaxed) }); }\n",
            expect![[r#"
                `go(|| { X.load(Relaxed) });` calls std::sync::atomic::Ordering::Acquire
                fn f() { go(|| { X.load(Relaxed) }); }
            "#]],
        );
    }

    #[test]
    fn orders() {
        check(
            "a.c",
            "#include <stdatomic.h>\nvoid f(void) {\n  atomic_store_explicit(@&x, 1,\n    memory_order_relaxed);\n}\n",
            expect![[r#"
                `atomic_store_explicit(&x, 1,
                    memory_order_relaxed);` simple memory_order_release memory_order_seq_cst
                #include <stdatomic.h>
                void f(void) {
                  atomic_thread_fence(memory_order_release);
                  atomic_store_explicit(&x, 1,
                    memory_order_relaxed);
                  atomic_thread_fence(memory_order_seq_cst);
                }
            "#]],
        );
        check(
            "a.cc",
            "void f() { @while (!x.compare_exchange_weak(a, b, std::memory_order::acquire, std::memory_order::relaxed)) ; }\n",
            expect![[r#"
                `while (!x.compare_exchange_weak(a, b, std::memory_order::acquire, std::memory_order::relaxed)) ;` acq_rel seq_cst acquire
                void f() { __atomic_thread_fence(__ATOMIC_RELEASE); while (!x.compare_exchange_weak(a, b, std::memory_order::acquire, std::memory_order::relaxed)) ; __atomic_thread_fence(__ATOMIC_SEQ_CST); }
            "#]],
        );
        check(
            "a.rs",
            "fn f<'a>() { let c = '{'; @X.store(1, Relaxed); let r = Y.load(Ordering::Relaxed); }\n",
            expect![[r#"
                `X.store(1, Relaxed);` simple std::sync::atomic::Ordering::Release std::sync::atomic::Ordering::SeqCst
                fn f<'a>() { let c = '{'; std::sync::atomic::fence(std::sync::atomic::Ordering::Release); X.store(1, Relaxed); std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst); let r = Y.load(Ordering::Relaxed); }
            "#]],
        );
        // The order of a load is not that of the store.
        check(
            "a.c",
            "void f(void) { @x = __atomic_load_n(&y, __ATOMIC_RELAXED); }\n",
            expect![[r#"
                `x = __atomic_load_n(&y, __ATOMIC_RELAXED);` simple __ATOMIC_ACQUIRE
                void f(void) { __atomic_thread_fence(__ATOMIC_RELEASE); x = __atomic_load_n(&y, __ATOMIC_RELAXED); __atomic_thread_fence(__ATOMIC_SEQ_CST); }
            "#]],
        );
    }

    /// Whatever the text, nothing panics.
    #[test]
    fn any_text() {
        let pieces = [
            "{", "}", "(", ")", ";", "do", "while", "if", "x", "'", "\"", "/*", "*/", "//", "\n",
            "#", "R\"", "r#", "case", ":", "é", "\\",
        ];
        let mut seed = 7_u64;
        for round in 0..3_000 {
            let mut text = String::new();
            for _ in 0..round % 40 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text += pieces[(seed >> 33) as usize % pieces.len()];
                text += if seed >> 60 & 1 == 0 { " " } else { "" };
            }
            for file in ["a.c", "a.cpp", "a.rs"] {
                let source = Source::new(Path::new(file), text.clone()).expect("a source");
                for line in 0..4 {
                    for column in [None, Some(1), Some(5), Some(500)] {
                        let Some(s) = source.statement(line, column) else { continue };
                        let points = s.before.into_iter().chain(s.after);
                        let edits: Vec<Edit> =
                            points.map(|at| Edit::Fence(at, FenceKind::Full)).collect();
                        let _ = (edited(&source, &edits), source.order(&s, Wanted::SeqCst));
                    }
                }
            }
        }
    }
}
