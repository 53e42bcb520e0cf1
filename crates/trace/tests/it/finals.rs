//! What memory held at the end, as Axe says it in lines `final`: against all runs of the machines
//! that end so.

use std::collections::{HashSet, VecDeque};
use std::io::Cursor;

use weakspot_core::HistoryModel;
use weakspot_core::history::satisfies;
use weakspot_core::testing::{Rng, scaled};
use weakspot_trace::{HistoryFormat, HistoryReader};

#[derive(Clone, Copy)]
enum Op {
    Read(usize, i64),
    Write(usize, i64),
    Update(usize, i64, i64),
    Sync,
}

const VARS: usize = 2;

/// Where a run is: the next operations, what waits in buffers, and memory.
type State = (Vec<usize>, Vec<VecDeque<(usize, i64)>>, [i64; VARS]);

/// Whether a run of the machine does all this and ends with these values.
fn allowed(threads: &[Vec<Op>], finals: &[(usize, i64)], model: HistoryModel) -> bool {
    let start: State = (vec![0; threads.len()], vec![VecDeque::new(); threads.len()], [0; VARS]);
    let mut seen = HashSet::from([start.clone()]);
    let mut todo = vec![start];
    while let Some(state) = todo.pop() {
        let (next, buffers, memory) = &state;
        let is_over = (0..threads.len()).all(|t| next[t] == threads[t].len())
            && buffers.iter().all(VecDeque::is_empty);
        if is_over && finals.iter().all(|&(x, value)| memory[x] == value) {
            return true;
        }
        let mut steps: Vec<State> = Vec::new();
        for t in 0..threads.len() {
            for i in 0..buffers[t].len() {
                let (x, value) = buffers[t][i];
                let older =
                    buffers[t].iter().take(i).any(|w| model == HistoryModel::Tso || w.0 == x);
                if !older {
                    let mut to = state.clone();
                    to.1[t].remove(i);
                    to.2[x] = value;
                    steps.push(to);
                }
            }
            let Some(&op) = threads[t].get(next[t]) else { continue };
            let mut to = state.clone();
            to.0[t] += 1;
            let seen = |x: usize| buffers[t].iter().rfind(|w| w.0 == x).map_or(memory[x], |w| w.1);
            let goes_on = match op {
                Op::Read(x, value) => seen(x) == value,
                Op::Write(x, value) => {
                    match model {
                        HistoryModel::Sc => to.2[x] = value,
                        _ => to.1[t].push_back((x, value)),
                    }
                    true
                }
                Op::Update(x, old, new) => {
                    to.2[x] = new;
                    buffers[t].is_empty() && memory[x] == old
                }
                Op::Sync => buffers[t].is_empty(),
            };
            if goes_on {
                steps.push(to);
            }
        }
        todo.extend(steps.into_iter().filter(|to| seen.insert(to.clone())));
    }
    false
}

#[test]
fn as_the_machines_end() {
    let mut count = [0, 0];
    for seed in 0..scaled(12_000) as u64 {
        let rng = &mut Rng::new(seed);
        let mut written = [vec![0], vec![0]];
        // Which values there are is drawn first, so that reads may be of later writes.
        let shape: Vec<(usize, usize, usize)> =
            (0..2 + rng.below(5)).map(|_| (rng.below(3), rng.below(VARS), rng.below(7))).collect();
        for &(_, x, kind) in shape.iter().filter(|(_, _, kind)| *kind < 4) {
            let value = written[x].len() as i64;
            written[x].push(value);
            let _ = kind;
        }
        let mut next = [1, 1];
        let mut threads = vec![Vec::new(); 3];
        let mut text = String::new();
        for &(t, x, kind) in &shape {
            let any = written[x][rng.below(written[x].len())];
            let op = match kind {
                0..4 => {
                    let value = next[x];
                    next[x] += 1;
                    match kind == 0 && any != value {
                        true => Op::Update(x, any, value),
                        false => Op::Write(x, value),
                    }
                }
                4 | 5 => Op::Read(x, any),
                _ => Op::Sync,
            };
            text += &match op {
                Op::Read(x, value) => format!("{t}: M[{x}] == {value}\n"),
                Op::Write(x, value) => format!("{t}: M[{x}] := {value}\n"),
                Op::Update(x, old, new) => format!("{t}: {{ M[{x}] == {old}; M[{x}] := {new} }}\n"),
                Op::Sync => format!("{t}: sync\n"),
            };
            threads[t].push(op);
        }
        let finals: Vec<(usize, i64)> = (0..VARS)
            .filter(|_| rng.one_in(2))
            .map(|x| (x, 0))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|(x, _)| (x, written[x][rng.below(written[x].len())]))
            .collect();
        for (x, value) in &finals {
            text += &format!("final M[{x}] == {value}\n");
        }
        let mut reader =
            HistoryReader::new(Box::new(Cursor::new(text.clone())), HistoryFormat::Axe);
        let history = reader.next().expect("good").expect("one");
        for model in [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Pso] {
            let expect = allowed(&threads, &finals, model);
            assert_eq!(satisfies(&history.ops, model), expect, "seed {seed}, {model:?}:\n{text}");
            count[usize::from(expect)] += usize::from(!finals.is_empty());
        }
    }
    assert!(count.iter().all(|&n| n > scaled(2000)), "{count:?}");
}
