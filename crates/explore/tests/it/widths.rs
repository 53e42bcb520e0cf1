//! Litmus tests whose accesses have different widths, against a machine over bytes that is written
//! down here straight from its definition and knows nothing of programs, locations or cells.

use std::collections::{BTreeSet, HashSet};

use weakspot_core::machine::Machine;
use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Drain, Limits, Model, Silent, Value, certify};
use weakspot_explore::{Strategy, outcomes};
use weakspot_lang::{Format, parse};

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso(Drain::All)];

/// `x` is at byte 0, `y` at byte 16, the array `t` of three `int` at byte 32.
const PLACES: [(&str, usize, usize); 3] = [("x", 0, 8), ("y", 16, 8), ("t", 32, 12)];
const MEMORY: usize = 44;

const REGISTERS: [[&str; 4]; 3] =
    [["al", "ax", "eax", "rax"], ["bl", "bx", "ebx", "rbx"], ["cl", "cx", "ecx", "rcx"]];

#[derive(Clone, Copy, Debug)]
enum Op {
    Load { at: usize, size: usize, reg: usize },
    Store { at: usize, size: usize, value: u64 },
    StoreReg { at: usize, size: usize, reg: usize },
    Exchange { at: usize, size: usize, reg: usize },
    LockAdd { at: usize, size: usize, value: u64 },
    Mfence,
    Sfence,
}

/// First byte, bytes (1, 2, 4 or 8) and value; or a store-store fence.
type Entry = Option<(usize, usize, u64)>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    at: Vec<usize>,
    regs: Vec<[u64; 3]>,
    buffers: Vec<Vec<Entry>>,
    memory: [u8; MEMORY],
}

fn mask(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

fn put(memory: &mut [u8], at: usize, bytes: usize, value: u64) {
    memory[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
}

fn get(memory: &[u8], at: usize, bytes: usize) -> u64 {
    memory[at..at + bytes].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// A register takes what was read, as wide as it is.
fn set(reg: &mut u64, bytes: usize, value: u64) {
    *reg = if bytes >= 4 { value } else { *reg & !mask(bytes) | value };
}

/// All states in which the threads have ended and the buffers have drained.
fn ends(threads: &[Vec<Op>], model: Model) -> HashSet<State> {
    let start = State {
        at: vec![0; threads.len()],
        regs: vec![[0; 3]; threads.len()],
        buffers: vec![Vec::new(); threads.len()],
        memory: [0; MEMORY],
    };
    let mut seen = HashSet::from([start.clone()]);
    let mut todo = vec![start];
    let mut found = HashSet::new();
    while let Some(state) = todo.pop() {
        let mut next = Vec::new();
        for (t, thread) in threads.iter().enumerate() {
            next.extend(commits(&state, t, model));
            if let Some(&op) = thread.get(state.at[t]) {
                next.extend(step(&state, t, op, model));
            }
        }
        if next.is_empty() {
            found.insert(state);
        }
        for state in next {
            if seen.insert(state.clone()) {
                todo.push(state);
            }
        }
    }
    found
}

fn commits(state: &State, t: usize, model: Model) -> Vec<State> {
    let buffer = &state.buffers[t];
    let mut next = Vec::new();
    for (i, entry) in buffer.iter().enumerate() {
        let Some((at, bytes, value)) = *entry else { break };
        let disjoint =
            |older: &Entry| older.is_some_and(|(a, b, _)| a + b <= at || at + bytes <= a);
        if i > 0 && (model == Model::Tso || !buffer[..i].iter().all(disjoint)) {
            continue;
        }
        let mut state = state.clone();
        put(&mut state.memory, at, bytes, value);
        state.buffers[t].remove(i);
        while state.buffers[t].first() == Some(&None) {
            state.buffers[t].remove(0);
        }
        next.push(state);
    }
    next
}

fn step(state: &State, t: usize, op: Op, model: Model) -> Option<State> {
    let mut next = state.clone();
    next.at[t] += 1;
    let drained = state.buffers[t].is_empty();
    let mut store = |at, bytes, value| {
        if model == Model::Sc {
            put(&mut next.memory, at, bytes, value);
        } else {
            next.buffers[t].push(Some((at, bytes, value)));
        }
    };
    match op {
        Op::Load { at, size, reg } => {
            let bytes = 1 << size;
            // Each byte from the newest entry that covers it, else from memory: as if all entries
            // were put over memory in turn.
            let mut view = state.memory;
            for (at, bytes, value) in state.buffers[t].iter().flatten() {
                put(&mut view, *at, *bytes, *value);
            }
            set(&mut next.regs[t][reg], bytes, get(&view, at, bytes));
        }
        Op::Store { at, size, value } => store(at, 1 << size, value),
        Op::StoreReg { at, size, reg } => {
            store(at, 1 << size, state.regs[t][reg] & mask(1 << size))
        }
        Op::Exchange { at, size, reg } if drained => {
            let bytes = 1 << size;
            put(&mut next.memory, at, bytes, state.regs[t][reg]);
            set(&mut next.regs[t][reg], bytes, get(&state.memory, at, bytes));
        }
        Op::LockAdd { at, size, value } if drained => {
            let sum = get(&state.memory, at, 1 << size).wrapping_add(value);
            put(&mut next.memory, at, 1 << size, sum);
        }
        Op::Mfence if drained => {}
        Op::Sfence => {
            if matches!(model, Model::Pso(_)) && !drained {
                next.buffers[t].push(None);
            }
        }
        Op::Exchange { .. } | Op::LockAdd { .. } | Op::Mfence => return None,
    }
    Some(next)
}

/// A test of one to three threads. Most accesses go to `x`.
fn random_test(rng: &mut Rng) -> Vec<Vec<Op>> {
    let threads = 1 + rng.below(3);
    let most = [6, 4, 3][threads - 1];
    let array = rng.one_in(4);
    let unaligned = rng.one_in(3);
    let access = |rng: &mut Rng| {
        let place = if array { 2 } else { usize::from(rng.one_in(4)) };
        let (_, first, length) = PLACES[place];
        let size = rng.below(4);
        let bytes = 1 << size;
        let offset = match rng.below(3) {
            0 => 0,
            _ if unaligned => rng.below(length - bytes + 1),
            _ => rng.below((length - bytes) / bytes + 1) * bytes,
        };
        (first + offset, size)
    };
    let value = |rng: &mut Rng, size: usize| match rng.below(3) {
        0 => 1 + rng.below(3) as u64,
        1 => (0x0101_0101_0101_0101 * (1 + rng.below(3) as u64)) & mask(1 << size),
        _ => (1 + rng.below(255) as u64) << (8 * rng.below(1 << size)),
    };
    let random_op = |rng: &mut Rng| {
        let (at, size) = access(rng);
        let reg = rng.below(3);
        match rng.below(20) {
            0..7 => Op::Load { at, size, reg },
            7..14 => Op::Store { at, size, value: value(rng, size) },
            14 => Op::StoreReg { at, size, reg },
            15 => Op::Exchange { at, size, reg },
            16 => Op::LockAdd { at, size, value: 1 + rng.below(100) as u64 },
            17 => Op::Mfence,
            18 => Op::Sfence,
            _ => Op::Load { at, size, reg },
        }
    };
    (0..threads).map(|_| (0..1 + rng.below(most)).map(|_| random_op(rng)).collect()).collect()
}

/// The test as text, with all registers and locations observed.
fn text(threads: &[Vec<Op>]) -> String {
    let memory = |at: usize| {
        let (name, first, _) = PLACES.iter().rfind(|(_, first, _)| *first <= at).expect("a place");
        match at - first {
            0 => format!("({name})"),
            offset => format!("{name}+{offset}(%rip)"),
        }
    };
    let suffix = |size: usize| ["b", "w", "l", "q"][size];
    let cell = |op: &Op| match *op {
        Op::Load { at, size, reg } => {
            format!("mov{} {},%{}", suffix(size), memory(at), REGISTERS[reg][size])
        }
        // A constant of eight bytes goes through no register in these files.
        Op::Store { at, size, value } => format!("mov{} ${value},{}", suffix(size), memory(at)),
        Op::StoreReg { at, size, reg } => {
            format!("mov{} %{},{}", suffix(size), REGISTERS[reg][size], memory(at))
        }
        Op::Exchange { at, size, reg } => {
            format!("xchg{} {},%{}", suffix(size), memory(at), REGISTERS[reg][size])
        }
        Op::LockAdd { at, size, value } => {
            format!("lock add{} ${value},{}", suffix(size), memory(at))
        }
        Op::Mfence => "mfence".to_owned(),
        Op::Sfence => "sfence".to_owned(),
    };
    let mut lines = "X86_64 T\n{ uint64_t x; uint64_t y; int t[3]; }\n".to_owned();
    let heads: Vec<String> = (0..threads.len()).map(|t| format!("P{t}")).collect();
    lines += &format!(" {} ;\n", heads.join(" | "));
    for row in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<String> =
            threads.iter().map(|t| t.get(row).map_or(String::new(), cell)).collect();
        lines += &format!(" {} ;\n", cells.join(" | "));
    }
    let mut listed = String::new();
    for t in 0..threads.len() {
        listed += &format!("{t}:rax; {t}:rbx; {t}:rcx; ");
    }
    lines + &format!("locations [{listed}x; y; t;]\n")
}

/// What the byte machine says, in the order in which `names` stand.
fn expected(threads: &[Vec<Op>], model: Model, names: &[String]) -> BTreeSet<Vec<Value>> {
    let value = |state: &State, name: &String| -> Value {
        let memory = |at, bytes| get(&state.memory, at, bytes);
        match name.as_str() {
            "x" => memory(0, 8) as Value,
            "y" => memory(16, 8) as Value,
            "t[0]" => Value::from(memory(32, 4) as u32 as i32),
            "t[1]" => Value::from(memory(36, 4) as u32 as i32),
            "t[2]" => Value::from(memory(40, 4) as u32 as i32),
            register => {
                let (t, name) = register.split_once(':').expect("a register");
                let reg = REGISTERS.iter().position(|r| r[3] == name).expect("a register");
                state.regs[t.parse::<usize>().expect("a thread")][reg] as Value
            }
        }
    };
    let row = |state: &State| names.iter().map(|name| value(state, name)).collect();
    ends(threads, model).iter().map(row).collect()
}

/// Says how weakspot differs from the byte machine on a test, if it does.
fn differs(threads: &[Vec<Op>]) -> Option<String> {
    let text = text(threads);
    let parsed = match parse(Format::Litmus, &text) {
        Ok(parsed) => parsed,
        Err(refused) => return Some(format!("refused: {refused:?}\n{text}")),
    };
    for model in MODELS {
        let expected = expected(threads, model, &parsed.names.observed);
        for strategy in [Strategy::WriteOrder, Strategy::Explicit] {
            let program = &parsed.program;
            let found = outcomes(program, model, strategy, &Limits::UNLIMITED, &mut Silent);
            let Ok(mut found) = found else { return Some(format!("a fault\n{text}")) };
            let set = found.set.to_set();
            if set != expected {
                let names = &parsed.names.observed;
                return Some(format!(
                    "{model} {strategy:?}\n{names:?}\nfound    {set:?}\nexpected {expected:?}\n{text}"
                ));
            }
            let machine = Machine { program, model };
            for outcome in set.iter().take(5) {
                let end = found.run_to(outcome).and_then(|r| certify::replay(machine, &r).ok());
                let ends =
                    end.is_some_and(|e| machine.is_final(&e) && machine.observe(&e) == *outcome);
                if !ends {
                    return Some(format!("{model} {strategy:?}: no run to {outcome:?}\n{text}"));
                }
            }
        }
    }
    None
}

/// Drops instructions and threads for as long as the test still differs.
fn shrunk(mut threads: Vec<Vec<Op>>) -> String {
    'again: loop {
        for t in 0..threads.len() {
            for i in 0..threads[t].len() {
                let mut smaller = threads.clone();
                smaller[t].remove(i);
                if differs(&smaller).is_some() {
                    threads = smaller;
                    continue 'again;
                }
            }
        }
        return differs(&threads).unwrap_or_default();
    }
}

#[test]
fn mixed_widths_agree_with_bytes() {
    for seed in 0..scaled(8_000) as u64 {
        let threads = random_test(&mut Rng::new(seed));
        if differs(&threads).is_some() {
            panic!("seed {seed}: {}", shrunk(threads));
        }
    }
}
