//! Litmus tests that grow with a number: texts for benchmarks and for tests of scale.

use std::fmt::Write;

/// A family of X86 litmus tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `n` threads, each of which stores to its own location and loads all others.
    StoreBufferingAllToAll,
    /// `n` threads that store to one location, and one that loads it twice.
    CoherenceReadRead,
    /// `n` threads that each increment one location atomically.
    LockedIncrement,
    /// Two threads that take `n` rounds of store buffering, storing 1, 2, ..., `n`.
    StoreBufferingRounds,
    /// `n` threads that each try three times to take a spin lock and count: 21 instructions.
    TryLock,
}

/// The registers that loads go to, which bounds the sizes of some families.
const REGISTERS: [&str; 6] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];

impl Family {
    /// All families.
    pub const ALL: [Family; 5] = [
        Family::StoreBufferingAllToAll,
        Family::CoherenceReadRead,
        Family::LockedIncrement,
        Family::StoreBufferingRounds,
        Family::TryLock,
    ];

    /// What the family is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Family::StoreBufferingAllToAll => "SB all to all, N threads",
            Family::CoherenceReadRead => "CoRR, N writers",
            Family::LockedIncrement => "LOCK INC, N threads",
            Family::StoreBufferingRounds => "SB, N rounds",
            Family::TryLock => "try-lock, N threads",
        }
    }

    /// The sizes worth measuring.
    #[must_use]
    pub fn sizes(self) -> &'static [usize] {
        match self {
            Family::StoreBufferingAllToAll => &[2, 3, 4, 5],
            Family::CoherenceReadRead => &[4, 5, 6, 8, 10],
            Family::LockedIncrement => &[5, 8, 12, 16],
            Family::StoreBufferingRounds => &[2, 3, 4, 5, 6],
            Family::TryLock => &[2, 3, 4],
        }
    }

    /// The test of size `n`. Sizes beyond the processor's registers wrap around them.
    #[must_use]
    pub fn text(self, n: usize) -> String {
        let reg = |i: usize| REGISTERS[i % REGISTERS.len()];
        match self {
            Family::StoreBufferingAllToAll => {
                let threads = (0..n).map(|t| {
                    let others = (0..n).filter(|&o| o != t).enumerate();
                    let loads = others.map(|(i, o)| format!("MOV {},[x{o}]", reg(i)));
                    std::iter::once(format!("MOV [x{t}],$1")).chain(loads).collect()
                });
                let zeros = (0..n).flat_map(|t| (0..n - 1).map(move |i| (t, i)));
                let zeros: Vec<_> = zeros.map(|(t, i)| format!("{t}:{}=0", reg(i))).collect();
                let condition = format!("exists ({})", zeros.join(" /\\ "));
                test(&format!("SB-all-{n}"), threads.collect(), &condition)
            }
            Family::CoherenceReadRead => {
                let mut threads: Vec<_> = (1..=n).map(|v| vec![format!("MOV [x],${v}")]).collect();
                threads.push(vec!["MOV EAX,[x]".into(), "MOV EBX,[x]".into()]);
                let condition = format!("exists ({n}:EAX=1 /\\ {n}:EBX=2)");
                test(&format!("CoRR-{n}"), threads, &condition)
            }
            Family::LockedIncrement => {
                let threads = vec![vec!["LOCK INC [x]".to_owned()]; n];
                test(&format!("INC-{n}"), threads, &format!("forall (x={n})"))
            }
            Family::StoreBufferingRounds => {
                let thread = |own: &str, other: &str| {
                    let round = |i| {
                        [format!("MOV [{own}],${}", i + 1), format!("MOV {},[{other}]", reg(i))]
                    };
                    (0..n).flat_map(round).collect()
                };
                let zeros = (0..2).flat_map(|t| (0..n).map(move |i| format!("{t}:{}=0", reg(i))));
                let condition = format!("exists ({})", zeros.collect::<Vec<_>>().join(" /\\ "));
                test(
                    &format!("SB-rounds-{n}"),
                    vec![thread("x", "y"), thread("y", "x")],
                    &condition,
                )
            }
            Family::TryLock => {
                let attempt = |k: usize| {
                    [
                        "MOV EAX,$1".to_owned(),
                        "XCHG [l],EAX".to_owned(),
                        "CMP EAX,$0".to_owned(),
                        format!("JNE L{k}"),
                        "INC [c]".to_owned(),
                        "MOV [l],$0".to_owned(),
                        format!("L{k}: NOP"),
                    ]
                };
                let threads = vec![(0..3).flat_map(attempt).collect(); n];
                test(&format!("try-lock-{n}"), threads, "exists (c=0)")
            }
        }
    }
}

fn test(name: &str, threads: Vec<Vec<String>>, condition: &str) -> String {
    let mut text = format!("X86 {name}\n{{ }}\n");
    let heads: Vec<String> = (0..threads.len()).map(|t| format!("P{t}")).collect();
    let _ = writeln!(text, " {} ;", heads.join(" | "));
    for row in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> =
            threads.iter().map(|t| t.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(text, " {} ;", cells.join(" | "));
    }
    text + condition + "\n"
}
