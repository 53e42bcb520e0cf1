//! Small random programs that can be written as `.weak` and in C.

use std::fmt::Write as _;

use weakspot_core::testing::Rng;

/// A program: statements for each thread, and a final state that may never be.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) threads: Vec<Vec<Statement>>,
    pub(crate) never: Vec<(What, u64)>,
}

/// Something that a final state has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Loc(usize),
    Reg(usize, usize),
}

/// What a thread does. Locations and registers are numbers, values are small.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Store(usize, u64),
    Copy(usize, usize),
    Load(usize, usize),
    Fence,
    StoreFence,
    Swap(usize, usize, u64),
    Add(usize, usize, u64),
    Cas(usize, usize, u64, u64),
    If(usize, u64, Vec<Statement>),
    Repeat(u64, Vec<Statement>),
    /// Wait until a location has a value: for programs that nobody executes.
    Await(usize, u64),
}

/// Locations, and registers of a thread.
const LOCS: [&str; 3] = ["x", "y", "z"];
const REGS: [&str; 3] = ["a", "b", "c"];

/// What may be in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) threads: usize,
    pub(crate) statements: usize,
    pub(crate) loops: bool,
    pub(crate) waits: bool,
}

impl Text {
    pub(crate) fn random(rng: &mut Rng, shape: Shape) -> Text {
        let count = 2 + rng.below(shape.threads - 1);
        let mut left = shape.statements;
        let threads: Vec<Vec<Statement>> = (0..count)
            .map(|_| {
                let own = (1 + rng.below(4)).min(left.max(1));
                left = left.saturating_sub(own);
                (0..own).map(|_| statement(rng, shape, true)).collect()
            })
            .collect();
        let mut never = Vec::new();
        for (thread, body) in threads.iter().enumerate() {
            for reg in 0..REGS.len() {
                if sets(body, reg) && !rng.one_in(3) {
                    never.push((What::Reg(thread, reg), rng.below(3) as u64));
                }
            }
        }
        if never.is_empty() || rng.one_in(3) {
            never.push((What::Loc(rng.below(LOCS.len())), rng.below(3) as u64));
        }
        Text { threads, never }
    }

    pub(crate) fn weak(&self) -> String {
        let mut out = format!("shared {}\n", LOCS.join(", "));
        for (thread, body) in self.threads.iter().enumerate() {
            let _ = writeln!(out, "\nthread t{thread} {{\n    var {}, i", REGS.join(", "));
            weak(body, 1, &mut out);
            out.push_str("}\n");
        }
        let name = |what: What| match what {
            What::Loc(loc) => LOCS[loc].to_owned(),
            What::Reg(thread, reg) => format!("t{thread}.{}", REGS[reg]),
        };
        let all: Vec<String> =
            self.never.iter().map(|(what, value)| format!("{} == {value}", name(*what))).collect();
        let _ = writeln!(out, "\nnever ({})", all.join(" && "));
        let mut seen: Vec<String> = LOCS.map(str::to_owned).to_vec();
        for thread in 0..self.threads.len() {
            seen.extend(REGS.map(|reg| format!("t{thread}.{reg}")));
        }
        let _ = writeln!(out, "observe {}", seen.join(", "));
        out
    }

    /// In C, where threads return what they have in registers.
    pub(crate) fn c(&self) -> String {
        let mut out =
            "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\n".to_owned();
        let _ = writeln!(out, "atomic_long {};", LOCS.join(", "));
        for (thread, body) in self.threads.iter().enumerate() {
            let _ = writeln!(out, "\nvoid *t{thread}(void *arg) {{");
            let _ = writeln!(out, "    long {} = 0;", REGS.join(" = 0, "));
            c(body, 1, &mut out);
            let _ = writeln!(out, "    return (void *)(a + 100 * b + 10000 * c);\n}}");
        }
        let count = self.threads.len();
        let _ =
            writeln!(out, "\nint main(void) {{\n    pthread_t t[{count}];\n    void *r[{count}];");
        for thread in 0..count {
            let _ = writeln!(out, "    pthread_create(&t[{thread}], 0, t{thread}, 0);");
        }
        for thread in 0..count {
            let _ = writeln!(out, "    pthread_join(t[{thread}], &r[{thread}]);");
        }
        let name = |what: What| match what {
            What::Loc(loc) => LOCS[loc].to_owned(),
            What::Reg(thread, reg) => {
                format!("(long)r[{thread}] / {} % 100", 100u64.pow(reg as u32))
            }
        };
        let all: Vec<String> =
            self.never.iter().map(|(what, value)| format!("{} == {value}", name(*what))).collect();
        let _ = writeln!(out, "    assert(!({}));\n}}", all.join(" && "));
        out
    }

    /// The smallest program that still `fails`, by leaving out what can be left out.
    pub(crate) fn shrunk(mut self, fails: &dyn Fn(&Text) -> bool) -> Text {
        'again: loop {
            for smaller in self.smaller() {
                if fails(&smaller) {
                    self = smaller;
                    continue 'again;
                }
            }
            return self;
        }
    }

    fn smaller(&self) -> Vec<Text> {
        let mut all = Vec::new();
        for thread in 0..self.threads.len() {
            if self.threads.len() > 1 && self.is_last_unasked(thread) {
                let mut text = self.clone();
                text.threads.remove(thread);
                all.push(text);
            }
            for body in shorter(&self.threads[thread]) {
                let mut text = self.clone();
                text.threads[thread] = body;
                all.push(text);
            }
        }
        for at in 0..self.never.len() {
            if self.never.len() > 1 {
                let mut text = self.clone();
                text.never.remove(at);
                all.push(text);
            }
        }
        all
    }

    /// Nothing is asked about the thread, nor about later ones, which would get other numbers.
    fn is_last_unasked(&self, thread: usize) -> bool {
        !self.never.iter().any(|(what, _)| matches!(what, What::Reg(of, _) if *of >= thread))
    }
}

fn statement(rng: &mut Rng, shape: Shape, outside: bool) -> Statement {
    let (loc, reg) = (rng.below(LOCS.len()), rng.below(REGS.len()));
    let value = 1 + rng.below(2) as u64;
    let body = |rng: &mut Rng| {
        (0..1 + rng.below(2)).map(|_| statement(rng, shape, false)).collect::<Vec<_>>()
    };
    match rng.below(24) {
        0..8 => Statement::Store(loc, value),
        8..15 => Statement::Load(reg, loc),
        15 => Statement::Copy(loc, reg),
        16 => Statement::Fence,
        17 => Statement::StoreFence,
        18 => Statement::Swap(reg, loc, value),
        19 => Statement::Add(reg, loc, value),
        20 => Statement::Cas(reg, loc, rng.below(2) as u64, value),
        21 if outside => Statement::If(reg, rng.below(2) as u64, body(rng)),
        22 if outside && shape.loops => Statement::Repeat(2, body(rng)),
        23 if outside && shape.waits => Statement::Await(loc, value),
        _ => Statement::Load(reg, loc),
    }
}

fn sets(body: &[Statement], reg: usize) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Load(to, _)
        | Statement::Swap(to, ..)
        | Statement::Add(to, ..)
        | Statement::Cas(to, ..) => *to == reg,
        Statement::If(_, _, body) | Statement::Repeat(_, body) => sets(body, reg),
        _ => false,
    })
}

/// The same without a statement, or without what is around statements.
fn shorter(body: &[Statement]) -> Vec<Vec<Statement>> {
    let mut all = Vec::new();
    for at in 0..body.len() {
        let with = |inner: Vec<Statement>| {
            let mut body = body.to_vec();
            body.splice(at..=at, inner);
            body
        };
        all.push(with(Vec::new()));
        match &body[at] {
            Statement::If(reg, value, inner) => {
                all.push(with(inner.clone()));
                let again = |inner| with(vec![Statement::If(*reg, *value, inner)]);
                all.extend(shorter(inner).into_iter().map(again));
            }
            Statement::Repeat(times, inner) => {
                all.push(with(inner.clone()));
                let again = |inner| with(vec![Statement::Repeat(*times, inner)]);
                all.extend(shorter(inner).into_iter().map(again));
            }
            _ => {}
        }
    }
    all
}

fn weak(body: &[Statement], depth: usize, out: &mut String) {
    for statement in body {
        let indent = "    ".repeat(depth);
        let _ = match statement {
            Statement::Store(loc, value) => writeln!(out, "{indent}{} = {value}", LOCS[*loc]),
            Statement::Copy(loc, reg) => writeln!(out, "{indent}{} = {}", LOCS[*loc], REGS[*reg]),
            Statement::Load(reg, loc) => writeln!(out, "{indent}{} = {}", REGS[*reg], LOCS[*loc]),
            Statement::Fence => writeln!(out, "{indent}fence"),
            Statement::StoreFence => writeln!(out, "{indent}fence.ss"),
            Statement::Swap(reg, loc, value) => {
                writeln!(out, "{indent}{} = swap({}, {value})", REGS[*reg], LOCS[*loc])
            }
            Statement::Add(reg, loc, value) => {
                writeln!(out, "{indent}{} = fetch_add({}, {value})", REGS[*reg], LOCS[*loc])
            }
            Statement::Cas(reg, loc, old, new) => {
                writeln!(out, "{indent}{} = cas({}, {old}, {new})", REGS[*reg], LOCS[*loc])
            }
            Statement::Await(loc, value) => {
                writeln!(out, "{indent}await ({} == {value})", LOCS[*loc])
            }
            Statement::If(reg, value, inner) => {
                let _ = writeln!(out, "{indent}if ({} == {value}) {{", REGS[*reg]);
                weak(inner, depth + 1, out);
                writeln!(out, "{indent}}}")
            }
            Statement::Repeat(times, inner) => {
                let _ = writeln!(out, "{indent}i = 0\n{indent}while (i < {times}) {{");
                weak(inner, depth + 1, out);
                writeln!(out, "{indent}    i = i + 1\n{indent}}}")
            }
        };
    }
}

fn c(body: &[Statement], depth: usize, out: &mut String) {
    for statement in body {
        let indent = "    ".repeat(depth);
        let _ = match statement {
            Statement::Store(loc, value) => {
                writeln!(
                    out,
                    "{indent}atomic_store_explicit(&{}, {value}, memory_order_relaxed);",
                    LOCS[*loc]
                )
            }
            Statement::Copy(loc, reg) => {
                let (loc, reg) = (LOCS[*loc], REGS[*reg]);
                writeln!(out, "{indent}atomic_store_explicit(&{loc}, {reg}, memory_order_relaxed);")
            }
            Statement::Load(reg, loc) => {
                let (loc, reg) = (LOCS[*loc], REGS[*reg]);
                writeln!(out, "{indent}{reg} = atomic_load_explicit(&{loc}, memory_order_relaxed);")
            }
            Statement::Fence => writeln!(out, "{indent}atomic_thread_fence(memory_order_seq_cst);"),
            Statement::StoreFence => {
                writeln!(out, "{indent}atomic_thread_fence(memory_order_release);")
            }
            Statement::Swap(reg, loc, value) => {
                writeln!(out, "{indent}{} = atomic_exchange(&{}, {value});", REGS[*reg], LOCS[*loc])
            }
            Statement::Add(reg, loc, value) => {
                writeln!(
                    out,
                    "{indent}{} = atomic_fetch_add(&{}, {value});",
                    REGS[*reg], LOCS[*loc]
                )
            }
            Statement::Cas(reg, loc, old, new) => {
                let (loc, reg) = (LOCS[*loc], REGS[*reg]);
                writeln!(
                    out,
                    "{indent}{{ long old = {old}; {reg} = atomic_compare_exchange_strong(&{loc}, &old, {new}); }}"
                )
            }
            // Nobody executes it.
            Statement::Await(..) => Ok(()),
            Statement::If(reg, value, inner) => {
                let _ = writeln!(out, "{indent}if ({} == {value}) {{", REGS[*reg]);
                c(inner, depth + 1, out);
                writeln!(out, "{indent}}}")
            }
            Statement::Repeat(times, inner) => {
                let _ = writeln!(out, "{indent}for (int i = 0; i < {times}; i++) {{");
                c(inner, depth + 1, out);
                writeln!(out, "{indent}}}")
            }
        };
    }
}
