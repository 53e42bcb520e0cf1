//! Litmus tests that grow with a number.

use std::fmt::Write;

use super::Family;

/// The registers that loads go to, which bounds the sizes of some families.
const REGISTERS: [&str; 6] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];

/// The test of size `n`, if the family is one of litmus tests. Sizes beyond the processor's
/// registers wrap around them.
pub(super) fn text(family: Family, n: usize) -> Option<String> {
    let reg = |i: usize| REGISTERS[i % REGISTERS.len()];
    Some(match family {
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
                let round =
                    |i| [format!("MOV [{own}],${}", i + 1), format!("MOV {},[{other}]", reg(i))];
                (0..n).flat_map(round).collect()
            };
            let zeros = (0..2).flat_map(|t| (0..n).map(move |i| format!("{t}:{}=0", reg(i))));
            let condition = format!("exists ({})", zeros.collect::<Vec<_>>().join(" /\\ "));
            test(&format!("SB-rounds-{n}"), vec![thread("x", "y"), thread("y", "x")], &condition)
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
        Family::OwnStores => {
            let threads = (0..n).map(|t| vec![format!("MOV [x{t}],$1")]).collect();
            let ones: Vec<String> = (0..n).map(|t| format!("x{t}=1")).collect();
            test(&format!("own-{n}"), threads, &format!("forall ({})", ones.join(" /\\ ")))
        }
        Family::ManyStores => {
            let condition = format!("forall (x0=1 /\\ x{}=1)", n - 1);
            test(&format!("stores-{n}"), vec![stores("x", n)], &condition)
        }
        Family::OnePlace => {
            let thread = (1..=n).map(|v| format!("MOV [x],${v}")).collect();
            test(&format!("one-place-{n}"), vec![thread], &format!("forall (x={n})"))
        }
        Family::MessageBehind => {
            let mut sender = stores("a", n);
            sender.extend(["MOV [x],$1".to_owned(), "MOV [y],$1".to_owned()]);
            let threads = vec![sender, vec!["MOV EAX,[y]".into(), "MOV EBX,[x]".into()]];
            test(&format!("MP-behind-{n}"), threads, "exists (1:EAX=1 /\\ 1:EBX=0)")
        }
        Family::BufferingBehind => {
            let thread = |before: &str, own: &str, other: &str| {
                let mut lines = stores(before, n);
                lines.extend([format!("MOV [{own}],$1"), format!("MOV EAX,[{other}]")]);
                lines
            };
            let threads = vec![thread("a", "x", "y"), thread("b", "y", "x")];
            test(&format!("SB-behind-{n}"), threads, "exists (0:EAX=0 /\\ 1:EAX=0)")
        }
        Family::Lamport | Family::Diamond | Family::Loop | Family::Fig12 => return None,
    })
}

/// Stores to `n` locations whose names begin with `name`.
fn stores(name: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("MOV [{name}{i}],$1")).collect()
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
