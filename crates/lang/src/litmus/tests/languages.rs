//! The same random tests in X86_64, RISC-V, C and our own language have the same final states.

use weakspot_core::testing::{Rng, scaled};

use super::*;
use crate::{Format, parse as parse_as};

#[derive(Clone, Copy)]
enum Op {
    Write(usize, i64),
    Read(usize),
    Full,
    StoreStore,
    Swap(usize, i64),
    Add(usize, i64),
}

/// What a thread does: each step with the register that has to be 1 for it, if there is one.
type Code = Vec<(Option<usize>, Op)>;

const LOCATIONS: [&str; 2] = ["x", "y"];
const X86: [[&str; 2]; 3] = [["eax", "rax"], ["ebx", "rbx"], ["ecx", "rcx"]];

fn random(rng: &mut Rng) -> Vec<Code> {
    let threads = 2 + rng.below(2);
    let thread = |rng: &mut Rng| {
        let mut code: Code = Vec::new();
        let mut reads = 0;
        for _ in 0..1 + rng.below(if threads == 2 { 4 } else { 3 }) {
            let location = rng.below(2);
            let value = 1 + rng.below(2) as i64;
            let op = match rng.below(10) {
                0..=3 => Op::Write(location, value),
                4..=6 if reads < 3 => Op::Read(location),
                7 => Op::Full,
                8 if reads < 3 => Op::Swap(location, value),
                9 if reads < 3 => Op::Add(location, value),
                _ => Op::StoreStore,
            };
            let test = (reads > 0 && rng.one_in(4)).then(|| rng.below(reads));
            code.push((test, op));
            reads += usize::from(matches!(op, Op::Read(_) | Op::Swap(..) | Op::Add(..)));
        }
        code
    };
    (0..threads).map(|_| thread(rng)).collect()
}

/// The steps with the number of the register that each reads into.
fn numbered(code: &Code) -> impl Iterator<Item = (Option<usize>, Op, usize)> {
    code.iter().scan(0, |reads, &(test, op)| {
        let number = *reads;
        *reads += usize::from(matches!(op, Op::Read(_) | Op::Swap(..) | Op::Add(..)));
        Some((test, op, number))
    })
}

fn reads(code: &Code) -> usize {
    numbered(code)
        .filter(|(_, op, _)| matches!(op, Op::Read(_) | Op::Swap(..) | Op::Add(..)))
        .count()
}

fn locations(threads: &[Code], name: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for (t, code) in threads.iter().enumerate() {
        (0..reads(code)).for_each(|r| out += &format!("{t}:{}; ", name(r)));
    }
    format!("locations [{out}x; y;]\nforall (true)\n")
}

/// A test whose threads are columns.
fn table(head: &str, columns: &[Vec<String>], tail: &str) -> String {
    let mut out = format!("{head}\n ");
    let heads: Vec<String> = (0..columns.len()).map(|t| format!("P{t}")).collect();
    out += &format!("{} ;\n", heads.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> =
            columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
        out += &format!(" {} ;\n", cells.join(" | "));
    }
    out + tail
}

fn x86(threads: &[Code]) -> String {
    let column = |code: &Code| {
        let mut lines = Vec::new();
        for (i, (test, op, r)) in numbered(code).enumerate() {
            if let Some(test) = test {
                lines.push(format!("cmpl $1,%{}", X86[test][0]));
                lines.push(format!("jne L{i}"));
            }
            let reg = X86.get(r).map_or("edx", |x| x[0]);
            match op {
                Op::Write(l, v) => lines.push(format!("movl ${v},({})", LOCATIONS[l])),
                Op::Read(l) => lines.push(format!("movl ({}),%{reg}", LOCATIONS[l])),
                Op::Full => lines.push("mfence".to_owned()),
                Op::StoreStore => lines.push("sfence".to_owned()),
                Op::Swap(l, v) => {
                    lines.push(format!("movl ${v},%{reg}"));
                    lines.push(format!("xchgl %{reg},({})", LOCATIONS[l]));
                }
                Op::Add(l, v) => {
                    lines.push(format!("movl ${v},%{reg}"));
                    lines.push(format!("lock xaddl %{reg},({})", LOCATIONS[l]));
                }
            }
            lines.push(format!("L{i}:"));
        }
        lines
    };
    let columns: Vec<Vec<String>> = threads.iter().map(column).collect();
    table("X86_64 T\n{ int x; int y; }", &columns, &locations(threads, |r| X86[r][1].to_owned()))
}

fn riscv(threads: &[Code]) -> String {
    let column = |code: &Code| {
        let mut lines = Vec::new();
        for (i, (test, op, r)) in numbered(code).enumerate() {
            if let Some(test) = test {
                lines.push("li x8,1".to_owned());
                lines.push(format!("bne x{},x8,L{i}", 10 + test));
            }
            let (reg, base) = (10 + r, |l: usize| 5 + l);
            match op {
                Op::Write(l, v) => {
                    lines.push(format!("li x9,{v}"));
                    lines.push(format!("sw x9,0(x{})", base(l)));
                }
                Op::Read(l) => lines.push(format!("lw x{reg},0(x{})", base(l))),
                Op::Full => lines.push("fence rw,rw".to_owned()),
                Op::StoreStore => lines.push("fence w,w".to_owned()),
                Op::Swap(l, v) => {
                    lines.push(format!("li x9,{v}"));
                    lines.push(format!("amoswap.w x{reg},x9,(x{})", base(l)));
                }
                Op::Add(l, v) => {
                    lines.push(format!("li x9,{v}"));
                    lines.push(format!("amoadd.w.aq.rl x{reg},x9,(x{})", base(l)));
                }
            }
            lines.push(format!("L{i}:"));
        }
        lines
    };
    let columns: Vec<Vec<String>> = threads.iter().map(column).collect();
    let init: Vec<String> = (0..threads.len()).map(|t| format!("{t}:x5=x; {t}:x6=y;")).collect();
    let head = format!("RISCV T\n{{ {} }}", init.join(" "));
    table(&head, &columns, &locations(threads, |r| format!("x{}", 10 + r)))
}

fn c(threads: &[Code], kernel: bool) -> String {
    let mut out = "C T\n{}\n".to_owned();
    for (t, code) in threads.iter().enumerate() {
        out += &format!("P{t}(int *x, int *y)\n{{\n");
        (0..reads(code)).for_each(|r| out += &format!("\tint r{r};\n"));
        for (test, op, r) in numbered(code) {
            if let Some(test) = test {
                out += &format!("\tif (r{test} == 1)\n\t");
            }
            out += &match (op, kernel) {
                (Op::Write(l, v), true) => format!("\tWRITE_ONCE(*{}, {v});\n", LOCATIONS[l]),
                (Op::Write(l, v), false) => {
                    format!(
                        "\tatomic_store_explicit({}, {v}, memory_order_relaxed);\n",
                        LOCATIONS[l]
                    )
                }
                (Op::Read(l), true) => format!("\tr{r} = smp_load_acquire({});\n", LOCATIONS[l]),
                (Op::Read(l), false) => format!("\tr{r} = atomic_load({});\n", LOCATIONS[l]),
                (Op::Full, true) => "\tsmp_mb();\n".to_owned(),
                (Op::Full, false) => "\tatomic_thread_fence(memory_order_seq_cst);\n".to_owned(),
                (Op::StoreStore, true) => "\tsmp_wmb();\n".to_owned(),
                (Op::StoreStore, false) => {
                    "\tatomic_thread_fence(memory_order_release);\n".to_owned()
                }
                (Op::Swap(l, v), true) => format!("\tr{r} = xchg({}, {v});\n", LOCATIONS[l]),
                (Op::Swap(l, v), false) => {
                    format!("\tr{r} = atomic_exchange({}, {v});\n", LOCATIONS[l])
                }
                (Op::Add(l, v), true) => {
                    format!("\tr{r} = atomic_add_return({v}, {}) - {v};\n", LOCATIONS[l])
                }
                (Op::Add(l, v), false) => {
                    format!("\tr{r} = atomic_fetch_add({}, {v});\n", LOCATIONS[l])
                }
            };
        }
        out += "}\n";
    }
    out + &locations(threads, |r| format!("r{r}"))
}

fn weak(threads: &[Code]) -> String {
    let mut out = "shared x, y\n".to_owned();
    let mut seen = Vec::new();
    for (t, code) in threads.iter().enumerate() {
        out += &format!("thread P{t} {{\n");
        for r in 0..reads(code) {
            out += &format!("  var r{r}\n");
            seen.push(format!("P{t}.r{r}"));
        }
        for (test, op, r) in numbered(code) {
            let stmt = match op {
                Op::Write(l, v) => format!("{} = {v}", LOCATIONS[l]),
                Op::Read(l) => format!("r{r} = {}", LOCATIONS[l]),
                Op::Full => "fence".to_owned(),
                Op::StoreStore => "fence.ss".to_owned(),
                Op::Swap(l, v) => format!("r{r} = swap({}, {v})", LOCATIONS[l]),
                Op::Add(l, v) => format!("r{r} = fetch_add({}, {v})", LOCATIONS[l]),
            };
            out += &match test {
                Some(test) => format!("  if (r{test} == 1) {{ {stmt} }}\n"),
                None => format!("  {stmt}\n"),
            };
        }
        out += "}\n";
    }
    seen.extend(LOCATIONS.map(str::to_owned));
    out + &format!("observe {}\nforall (true)\n", seen.join(", "))
}

#[test]
fn languages_agree() {
    let mut rng = Rng::new(19);
    for _ in 0..scaled(600) {
        let threads = random(&mut rng);
        let own = weak(&threads);
        let reference = parse_as(Format::Weak, &own).expect("a program");
        // In x86 a register is set before an update, and keeps that where the update is not done.
        let skipped = threads
            .iter()
            .flatten()
            .any(|(test, op)| test.is_some() && matches!(op, Op::Swap(..) | Op::Add(..)));
        let texts = [riscv(&threads), c(&threads, true), c(&threads, false), x86(&threads)];
        let texts = if skipped { &texts[..3] } else { &texts[..] };
        for text in texts {
            let parsed = LITMUS.accept(text);
            for model in MODELS {
                assert_eq!(
                    outcomes(&parsed, model),
                    outcomes(&reference, model),
                    "under {model:?}\n{text}\nand\n{own}"
                );
            }
        }
    }
}
