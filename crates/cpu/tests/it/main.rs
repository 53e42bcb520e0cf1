//! Tests on this CPU. What is seen depends on the moment; that it is a part of what TSO allows does
//! not.

#![cfg(target_arch = "x86_64")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Limit, Limits, Model, Program, Silent, Value, Verdict};
use weakspot_cpu::{Asked, Histogram, judge, run, runnable};
use weakspot_explore::{Strategy, outcomes};
use weakspot_lang::{Format, parse};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn asked(runs: u64) -> Asked<'static> {
    Asked { runs, limits: Limits::UNLIMITED, stop: &|| false, progress: &|_| {} }
}

/// The states of a program under a model.
fn states(program: &Program, model: Model) -> BTreeSet<Vec<Value>> {
    let found = outcomes(program, model, Strategy::Auto, &Limits::UNLIMITED, &mut Silent);
    let mut states = BTreeSet::new();
    found.expect("no fault").set.for_each(|state| states.insert(state.to_vec()));
    states
}

/// Runs a test; every state that is seen is one of TSO.
fn check(text: &str, runs: u64) -> Histogram {
    let parsed = parse(Format::Litmus, text).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
    let test = runnable(text, &parsed.program).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
    let seen = run(&test, &asked(runs)).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let allowed = states(&parsed.program, Model::Tso);
    for state in seen.states.keys() {
        assert!(allowed.contains(state), "{state:?} is not one of {allowed:?}\n{text}");
    }
    assert_eq!(seen.runs, runs);
    seen
}

const SB: &str = "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n \
    MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";

/// An instruction with operands of `bytes` bytes: registers of P`thread`, its own locations.
fn random_instruction(rng: &mut Rng, thread: usize) -> String {
    let bytes = [1, 2, 4, 8][rng.below(4)];
    let letter = ["b", "w", "l", "q"][[1, 2, 4, 8].iter().position(|b| *b == bytes).unwrap_or(0)];
    let reg = |rng: &mut Rng| {
        let names = match bytes {
            1 => ["al", "bl", "dl", "sil", "r8b"],
            2 => ["ax", "bx", "dx", "si", "r8w"],
            4 => ["eax", "ebx", "edx", "esi", "r8d"],
            _ => ["rax", "rbx", "rdx", "rsi", "r8"],
        };
        format!("%{}", names[rng.below(5)])
    };
    let (mem, other) = (format!("(v{thread})"), format!("(w{thread})"));
    let any = |rng: &mut Rng| match rng.below(3) {
        0 => mem.clone(),
        1 => other.clone(),
        _ => reg(rng),
    };
    let number = |rng: &mut Rng| match rng.below(3) {
        0 => format!("$-{}", 1 + rng.below(100)),
        _ => format!("${}", rng.below(128)),
    };
    let source = |rng: &mut Rng| if rng.one_in(3) { number(rng) } else { reg(rng) };
    let arithmetic = ["add", "sub", "adc", "sbb", "and", "or", "xor", "cmp", "test"];
    // Flags are read only after instructions that define all of them.
    let flag = ["e", "ne", "b", "nb", "be", "l", "nl", "le", "s", "ns", "o", "p"];
    let after = |rng: &mut Rng, text: String| {
        format!("{text}\nset{} {}", flag[rng.below(12)], ["%cl", "%bl"][rng.below(2)])
    };
    match rng.below(10) {
        0 => format!("mov{letter} {},{}", source(rng), any(rng)),
        1 => format!("mov{letter} {},{}", any(rng), reg(rng)),
        2 => {
            let text = format!("{}{letter} {},{}", arithmetic[rng.below(9)], source(rng), any(rng));
            after(rng, text)
        }
        3 => {
            let lock = if rng.one_in(2) { "lock " } else { "" };
            let text = format!("{lock}{}{letter} {},{mem}", arithmetic[rng.below(7)], source(rng));
            after(rng, text)
        }
        4 => format!("{}{letter} {}", ["inc", "dec", "neg", "not"][rng.below(4)], any(rng)),
        5 => {
            let count = ["$1", "$3", "%cl"][rng.below(3)];
            format!("{}{letter} {count},{}", ["shl", "shr", "sar"][rng.below(3)], any(rng))
        }
        6 => format!("xchg{letter} {},{mem}", reg(rng)),
        7 => {
            let lock = if rng.one_in(2) { "lock " } else { "" };
            let text =
                format!("{lock}{}{letter} {},{mem}", ["xadd", "cmpxchg"][rng.below(2)], reg(rng));
            after(rng, text)
        }
        8 if bytes > 1 => {
            let text = format!("cmp{letter} {},{}", reg(rng), any(rng));
            let (from, to) = (any(rng), reg(rng));
            format!("{text}\ncmov{} {from},{to}", flag[rng.below(12)])
        }
        8 => format!("mov{}bl {mem},%edx", ["z", "s"][rng.below(2)]),
        _ if bytes > 1 => {
            format!(
                "{}{letter} ${},{}",
                ["bts", "btr", "btc"][rng.below(3)],
                rng.below(16),
                any(rng)
            )
        }
        _ => format!("movslq {other},%rbx\nmovb %ah,{mem}"),
    }
}

/// Threads that share nothing end as the program says: instructions are written as they were read, and
/// mean what the CPU does.
#[test]
fn single_threads_are_what_the_program_says() {
    let mut rng = Rng::new(1);
    for _ in 0..scaled(24) {
        let columns: Vec<Vec<String>> = (0..4)
            .map(|thread| {
                let text: String =
                    (0..8).map(|_| random_instruction(&mut rng, thread) + "\n").collect();
                text.lines().map(str::to_owned).collect()
            })
            .collect();
        let mut text = "X86_64 random\n{".to_owned();
        for t in 0..4 {
            let n = rng.next_u64() >> (rng.below(60));
            text += &format!(" uint64_t v{t}={n}; uint64_t w{t}={}; {t}:rcx={t};", n % 1000);
        }
        text += " }\n P0 | P1 | P2 | P3 ;\n";
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let cell = |c: &Vec<String>| c.get(row).cloned().unwrap_or_default();
            text += &(columns.iter().map(cell).collect::<Vec<_>>().join(" | ") + " ;\n");
        }
        text += "locations [";
        for t in 0..4 {
            text += &format!("v{t}; w{t}; ");
            text +=
                &["rax", "rbx", "rcx", "rdx", "rsi", "r8"].map(|r| format!("{t}:{r}; ")).concat();
        }
        text += "]\n";
        assert_eq!(check(&text, 50).states.len(), 1, "{text}");
    }
}

#[test]
fn what_is_seen_is_what_tso_allows() {
    let mut seen = vec![check(SB, 3000)];
    for name in ["MP", "IRIW", "n7", "widths+SB", "pointer-walk", "CMPXCHG-loop", "SB+rfi-pos"] {
        let path = root().join(format!("corpus/litmus/{name}.litmus"));
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        seen.push(check(&text, 3000));
    }
    assert!(seen.len() > 5, "{} tests were found", seen.len());
    for name in ["SB+mbonceonces", "counter+cmpxchg", "counter+spinlock", "if-else", "SB+xchgs"] {
        let path = root().join(format!("corpus/litmus-c/{name}.litmus"));
        check(&std::fs::read_to_string(path).expect("a test"), 3000);
    }
}

/// Whatever is seen, a model that has none of it is violated.
#[test]
fn a_model_that_lacks_what_is_seen_is_violated() {
    let seen = check(SB, 1000);
    let planted = BTreeSet::from([vec![7, 7]]);
    assert_eq!(judge(&seen, &planted, None), Verdict::Violated);
    let all = seen.states.keys().cloned().collect();
    assert_eq!(judge(&seen, &all, None), Verdict::Holds);
}

#[test]
fn runs_end_at_limits() {
    let parsed = parse(Format::Litmus, SB).expect("a test");
    let test = runnable(SB, &parsed.program).expect("it can be run");
    let limits = Limits { time: Some(Duration::from_millis(700)), ..Limits::UNLIMITED };
    let seen = run(&test, &Asked { limits, ..asked(u64::MAX) }).expect("it runs");
    assert!(matches!(seen.stopped, Some(Limit::Time(_))), "{:?}", seen.stopped);
    assert_eq!(seen.states.values().sum::<u64>(), seen.runs);
    let seen = run(&test, &Asked { stop: &|| true, ..asked(u64::MAX) }).expect("it runs");
    assert_eq!(seen.stopped, Some(Limit::Interrupted));
    let limits = Limits { memory: Some(1 << 20), ..Limits::UNLIMITED };
    let seen = run(&test, &Asked { limits, ..asked(5) });
    // So little is not enough to start, or to have threads.
    assert!(seen.is_err() || seen.is_ok_and(|h| matches!(h.stopped, Some(Limit::Memory(_)))));
}

#[test]
fn what_cannot_be_run_is_refused_at_its_place() {
    let place = |code: &str, text: &str| {
        let text = format!("X86_64 t\n{{ x=0; }}\n P0 ;\n{code} ;\nexists (x=0){text}\n");
        let parsed = parse(Format::Litmus, &text).unwrap_or_else(|d| panic!("{}", d.message));
        let refused = runnable(&text, &parsed.program).expect_err("it cannot be run");
        (refused.message, refused.span.line_column(&text).0)
    };
    let cases = [
        ("movnti %rax,(x)", "`movnti` cannot be run on this CPU", 4),
        ("uxch %rax,(x)", "`uxch` cannot be run on this CPU", 4),
        ("btsq %rax,(x)", "`btsq` cannot be run on this CPU", 4),
        ("movq $1,%rsp", "P0 uses the stack pointer, so that it cannot be run on this CPU", 3),
    ];
    for (code, message, line) in cases {
        assert_eq!(place(code, ""), (message.to_owned(), line));
    }
    let path = root().join("corpus/litmus-c/RV-SB.litmus");
    let text = std::fs::read_to_string(path).expect("a test");
    let parsed = parse(Format::Litmus, &text).expect("a test");
    let refused = runnable(&text, &parsed.program).expect_err("RISC-V");
    assert_eq!(refused.message, "a test for RISC-V cannot be run on this CPU, which is an x86");
}
