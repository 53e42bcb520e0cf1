//! Programs and runs for tests: just enough of the litmus notation to write them down as text.

use weakspot_core::machine::{Schedule, Step};
use weakspot_core::{
    BinOp, Condition, Edge, Expr, Fence, Instr, Location, Names, Observable, Observed, Point,
    PointId, Program, Quantifier, RegId, Span, Thread, ThreadId, Undeclared, Unsigned, Value, View,
};

/// A test with its text.
pub(crate) struct Sample {
    pub(crate) source: String,
    pub(crate) program: Program,
    pub(crate) names: Names,
}

const LOCS: [&str; 3] = ["x", "y", "z"];
const REGS: [&str; 2] = ["EAX", "EBX"];

/// The register EAX of each thread, then x and y, observed; address of the i-th location: i + 1.
/// `condition` has to hold in some state: all registers are 0.
pub(crate) fn sample(name: &str, rows: &str) -> Sample {
    let head = format!("X86 {name}\n{{ }}\n");
    let source = format!("{head}{rows}\nexists (0:EAX=0)\n");
    let mut threads: Vec<Thread> = Vec::new();
    let mut at = head.len();
    for row in rows.split_inclusive('\n') {
        let mut cell_at = at;
        at += row.len();
        for (t, cell) in row.trim_end_matches(['\n', ';', ' ']).split('|').enumerate() {
            if threads.len() <= t {
                let entry = Point::default();
                threads.push(Thread { regs: vec![0; 2], entry: PointId(0), points: vec![entry] });
            }
            let start = cell_at + cell.len() - cell.trim_start().len();
            let span = Span::new(start, start + cell.trim().len());
            cell_at += cell.len() + 1;
            for instr in instrs(cell.trim()) {
                let points = &mut threads[t].points;
                let to = PointId::new(points.len());
                points.last_mut().unwrap().edges.push(Edge { instr, to, span });
                points.push(Point::default());
            }
        }
    }
    let observe = |what| Observed { what, view: View::Full };
    let regs = (0..threads.len())
        .map(|t| observe(Observable::Reg(ThreadId::new(t), RegId(0))))
        .collect::<Vec<_>>();
    let zero = |i| Expr::binary(BinOp::Eq, Expr::Reg(RegId::new(i)), Expr::Const(0));
    let prop = (1..threads.len()).fold(zero(0), |p, i| Expr::binary(BinOp::And, p, zero(i)));
    let label: Vec<String> = (0..threads.len()).map(|t| format!("{t}:EAX")).collect();
    let names = Names {
        program: name.to_owned(),
        threads: (0..threads.len()).map(|t| format!("P{t}")).collect(),
        regs: vec![REGS.map(str::to_owned).to_vec(); threads.len()],
        locs: LOCS.map(str::to_owned).to_vec(),
        points: Vec::new(),
        condition: label.iter().map(|l| format!("{l}=0")).collect::<Vec<_>>().join(" /\\ "),
        observed: label,
        addresses_are_symbolic: false,
        unsigned: Unsigned::default(),
    };
    let locs = (1..=3).map(|addr| Location { addr, init: vec![0], range: None }).collect();
    let program = Program {
        threads,
        locs,
        wides: Vec::new(),
        undeclared: Undeclared::Fault,
        observed: regs,
        condition: Some(Condition { quantifier: Quantifier::Exists, prop }),
        forbidden: Vec::new(),
    };
    Sample { source, program, names }
}

fn instrs(cell: &str) -> Vec<Instr> {
    let addr = |s: &str| {
        let name = s.trim().trim_matches(['[', ']']);
        match LOCS.iter().position(|l| *l == name) {
            Some(i) => Expr::Const(i as Value + 1),
            None => Expr::Const(name.parse().unwrap()),
        }
    };
    let reg = |s: &str| RegId::new(REGS.iter().position(|r| *r == s.trim()).unwrap());
    let value = |s: &str| match s.trim().strip_prefix('$') {
        Some(n) => Expr::Const(n.parse().unwrap()),
        None => Expr::Reg(reg(s)),
    };
    let (op, rest) = cell.split_once(' ').unwrap_or((cell, ""));
    let (l, r) = rest.split_once(',').unwrap_or((rest, ""));
    let plus_one = |e| Expr::binary(BinOp::Add, e, Expr::Const(1));
    match op {
        "" => Vec::new(),
        "MFENCE" => vec![Instr::Fence(Fence::Full)],
        "SFENCE" => vec![Instr::Fence(Fence::StoreStore)],
        "LOCK" => vec![Instr::Lock],
        "UNLOCK" => vec![Instr::Unlock],
        "NOP" => vec![Instr::Nop],
        "ASSERT" => vec![Instr::Assert(value(rest))],
        "MOV" if l.trim().starts_with('[') => {
            vec![Instr::Store { addr: addr(l), value: value(r) }]
        }
        "MOV" if r.trim().starts_with('[') => vec![Instr::Load { reg: reg(l), addr: addr(r) }],
        "MOV" => vec![Instr::Assign { reg: reg(l), value: value(r) }],
        "XINC" => vec![Instr::Update {
            reg: RegId(0),
            addr: addr(l),
            value: plus_one(Expr::Reg(RegId(0))),
        }],
        "INC" => vec![
            Instr::Load { reg: RegId(1), addr: addr(l) },
            Instr::Assign { reg: RegId(1), value: plus_one(Expr::Reg(RegId(1))) },
            Instr::Store { addr: addr(l), value: Expr::Reg(RegId(1)) },
        ],
        _ => panic!("unknown {cell}"),
    }
}

/// A run from memory full of zeros: `0` is a step of thread 0, `0x` commits its store to x.
pub(crate) fn run(steps: &str) -> Schedule {
    let step = |word: &str| {
        let (thread, loc) = word.split_at(1);
        let thread = ThreadId(thread.parse().unwrap());
        match LOCS.iter().position(|l| *l == loc) {
            Some(i) => Step::Commit { thread, addr: i as Value + 1 },
            None => Step::Execute { thread, edge: 0, choice: 0 },
        }
    };
    Schedule { init: vec![0; 3], steps: steps.split_whitespace().map(step).collect() }
}

/// Store buffering.
pub(crate) fn sb() -> Sample {
    sample("SB", " MOV [x],$1  | MOV [y],$1  ;\n MOV EAX,[y] | MOV EAX,[x] ;")
}
