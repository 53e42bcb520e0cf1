//! Atomic additions whose results the program does not use, in the assembly that a compiler has written, and the same of barriers:
//! they are called by other names, because the order of two of them cannot be told.
//!
//! The result is in `%rax`. It is not used if, whichever way the program goes on, the register is written or a function
//! is called before anything reads it: a function may change the register and does not get arguments in it, but for how many
//! vector registers there are, which is written before. What is not understood may use it.
//!
//! What `pthread_barrier_wait` returns is 0 or -1 here. A check that it is one of these is the same for both, which is
//! no use: one is added, and the sum is compared with 1 or 2, as numbers without sign. Then the flags must not be used
//! for anything else, either.

use std::collections::HashMap;

/// Of those who meet at a barrier one is told that it is the last.
const MEETS: &str = "pthread_barrier_wait";

/// The text with other names for those.
#[must_use]
pub(crate) fn mark(text: &str) -> String {
    const CALLS: [&str; 2] = ["__tsan_atomic", MEETS];
    if !CALLS.iter().any(|call| text.contains(call)) {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let labels: HashMap<&str, usize> = lines
        .iter()
        .enumerate()
        .filter_map(|(i, line)| Some((line.strip_suffix(':')?, i)))
        .collect();
    let mut out = String::with_capacity(text.len() + 64);
    for (i, line) in lines.iter().enumerate() {
        let other = Line::of(line).and_then(|line| match line {
            Line::Instruction("call" | "callq", function) => other_name(function),
            _ => None,
        });
        match other {
            Some((old, new)) if is_unused(&lines, &labels, i + 1, Value::of(old)) => {
                out.push_str(&line.replace(old, &new));
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// The name of a function that adds or waits at a barrier, and of the one whose result is not used.
fn other_name(function: &str) -> Option<(&str, String)> {
    let name = function.strip_suffix("@PLT").unwrap_or(function);
    if name == MEETS {
        return Some((name, "__weakspot_barrier_wait".to_owned()));
    }
    let (bits, what) = name.strip_prefix("__tsan_atomic")?.split_once("_fetch_")?;
    let known = ["8", "16", "32", "64"].contains(&bits) && ["add", "sub"].contains(&what);
    known.then(|| (name, format!("__weakspot_atomic{bits}_{what}")))
}

/// What a line is to us.
enum Line<'a> {
    Instruction(&'a str, &'a str),
    /// Inline assembly begins, or anything else that is not looked at.
    Unknown,
}

impl Line<'_> {
    /// Nothing for what is not executed.
    fn of(line: &str) -> Option<Line<'_>> {
        let trimmed = line.trim();
        if trimmed == "#APP" {
            return Some(Line::Unknown);
        }
        if trimmed.is_empty() || trimmed.ends_with(':') || trimmed.starts_with(['.', '#']) {
            return None;
        }
        let (word, operands) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        Some(Line::Instruction(word, operands.split('#').next().unwrap_or("").trim()))
    }
}

/// What `%rax` holds, as far as it depends on the result of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// Nothing that comes from the result.
    Other,
    /// A result that may be any number.
    Result,
    /// 0 or -1.
    Meeting,
    /// 0 or 1.
    Incremented,
}

impl Value {
    /// What a function leaves in `%rax`.
    fn of(function: &str) -> Value {
        if function == MEETS { Value::Meeting } else { Value::Result }
    }
}

/// What the processor flags say about the result of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flags {
    /// They do not come from the result.
    Other,
    /// Different ones for different results.
    Result,
    /// Those of a number that is not above another one.
    NotAbove,
    /// Those of a number that is below another one.
    Below,
}

impl Flags {
    /// Whether a condition holds, if it is the same for all results.
    fn hold(self, condition: &str) -> Option<bool> {
        match (self, condition) {
            (Flags::NotAbove, "be" | "na") | (Flags::Below, "b" | "c" | "nae") => Some(true),
            (Flags::NotAbove, "a" | "nbe") | (Flags::Below, "ae" | "nc" | "nb") => Some(false),
            _ => None,
        }
    }
}

/// Whether what is in `%rax` is not used from a line on.
fn is_unused(lines: &[&str], labels: &HashMap<&str, usize>, from: usize, result: Value) -> bool {
    /// Lines that are looked at.
    const MOST: usize = 200;
    let mut open = vec![(from, result, Flags::Other)];
    let mut seen = Vec::new();
    while let Some((mut at, mut value, mut flags)) = open.pop() {
        while (value, flags) != (Value::Other, Flags::Other) {
            if seen.contains(&(at, value, flags)) {
                break;
            }
            if seen.len() > MOST {
                return false;
            }
            seen.push((at, value, flags));
            let Some(line) = lines.get(at) else { return false };
            at += 1;
            let (word, operands) = match Line::of(line) {
                None => continue,
                Some(Line::Unknown) => return false,
                Some(Line::Instruction(word, operands)) => (word, operands),
            };
            match word {
                "call" | "callq" if !operands.starts_with('*') => break,
                "jmp" => match labels.get(operands) {
                    Some(&label) => at = label,
                    // A function that is called in the place of a return, or a table of jumps.
                    None if operands.starts_with(['*', '.']) => return false,
                    None => break,
                },
                _ if word.starts_with('j') => match labels.get(operands) {
                    Some(&label) if flags == Flags::Other => open.push((label, value, flags)),
                    Some(&label) => match flags.hold(&word[1..]) {
                        Some(true) => at = label,
                        Some(false) => {}
                        None => return false,
                    },
                    None => return false,
                },
                _ => match after(word, operands, (value, flags)) {
                    Some(then) => (value, flags) = then,
                    None => return false,
                },
            }
        }
    }
    true
}

/// What is in the register and the flags after an instruction, unless it uses them or is not known.
fn after(word: &str, operands: &str, (value, flags): (Value, Flags)) -> Option<(Value, Flags)> {
    if let Some(condition) = word.strip_prefix("cmov") {
        let same = flags.hold(condition).is_some();
        return (same && value == Value::Other).then_some((value, flags));
    }
    if value == Value::Other || !mentions(operands) {
        return is_known(word).then(|| (value, flags_after(word, operands, flags)));
    }
    match (value, word, operands) {
        (Value::Meeting, "addl", "$1, %eax") | (Value::Meeting, "incl", "%eax") => {
            Some((Value::Incremented, Flags::Result))
        }
        (Value::Incremented, "cmpl", "$1, %eax") => Some((value, Flags::NotAbove)),
        (Value::Incremented, "cmpl", "$2, %eax") => Some((value, Flags::Below)),
        _ if overwrites(word, operands) => Some((Value::Other, flags_after(word, operands, flags))),
        _ => None,
    }
}

/// The flags after a known instruction that does not use them, or the result.
fn flags_after(word: &str, operands: &str, flags: Flags) -> Flags {
    const ALL: [&str; 8] = ["cmp", "test", "add", "sub", "xor", "and", "or", "neg"];
    const SHIFTS: [&str; 4] = ["sal", "sar", "shl", "shr"];
    const NONE: [&str; 5] = ["lea", "push", "pop", "nop", "not"];
    let is = |names: &[&str]| {
        let suffix = |name: &&str| word.strip_prefix(*name);
        names.iter().filter_map(suffix).any(|rest| ["", "b", "w", "l", "q"].contains(&rest))
    };
    match flags {
        Flags::Other => flags,
        _ if is(&ALL) || is(&SHIFTS) && shifts_by_some(operands) => Flags::Other,
        _ if is(&NONE) || word.starts_with("mov") => flags,
        // Some of them are as before.
        _ => Flags::Result,
    }
}

/// Whether it is certain that a shift is by more than 0, which leaves flags as they are.
fn shifts_by_some(operands: &str) -> bool {
    match operands.rsplit_once(", ") {
        None => true,
        Some((by, _)) => {
            let by = by.strip_prefix('$').and_then(|by| by.parse().ok());
            by.is_some_and(|by: u32| (1..32).contains(&by))
        }
    }
}

/// Whether operands have a part of the register.
fn mentions(operands: &str) -> bool {
    ["%rax", "%eax", "%ax", "%al", "%ah"].iter().any(|name| operands.contains(name))
}

/// Instructions that use no register but those of their operands.
fn is_known(word: &str) -> bool {
    const KNOWN: [&str; 20] = [
        "mov", "lea", "add", "sub", "cmp", "test", "push", "pop", "xor", "and", "or", "nop", "inc",
        "dec", "sal", "sar", "shl", "shr", "neg", "not",
    ];
    word == "movabsq"
        || KNOWN.iter().any(|known| {
            word.strip_prefix(known)
                .is_some_and(|rest| rest.len() <= 3 && !word.starts_with("movs"))
        })
}

/// Whether an instruction writes all of the register and does not read it.
fn overwrites(word: &str, operands: &str) -> bool {
    if word.starts_with("xor") {
        return operands == "%eax, %eax";
    }
    let Some((from, to)) = operands.rsplit_once(", ") else { return false };
    let moves = (word.starts_with("mov") || word.starts_with("lea")) && is_known(word);
    moves && ["%rax", "%eax"].contains(&to) && !mentions(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(after: &str, unused: bool) {
        let text = format!("f:\n\tcall\t__tsan_atomic32_fetch_add\n{after}");
        let expected = match unused {
            true => text.replace("__tsan_atomic32_fetch_add", "__weakspot_atomic32_add"),
            false => text.clone(),
        };
        assert_eq!(mark(&text), expected);
    }

    #[test]
    fn results_that_are_not_used() {
        check("\tmovl\t$0, %eax\n\tret\n", true);
        check("\tleaq\tx(%rip), %rdi\n\tcall\t__tsan_func_exit\n\tret\n", true);
        check("\tsubl\t$1, %ebx\n\tjne\tf\n\tcall\tg\n", true);
        check(".L1:\n\t.loc 1 2\n\txorl\t%eax, %eax\n", true);
        check("\tjmp\t__tsan_func_exit\n", true);
        check(
            "\tmovabsq\t$6148914691236517206, %rdx\n\tsarq\t$63, %rcx\n\tmovq\t%rdi, %rax\n",
            true,
        );
    }

    #[test]
    fn results_of_barriers_that_are_only_checked() {
        let check = |after: &str, unused| {
            let text = format!("f:\n\tcall\t{MEETS}@PLT\n{after}");
            let expected = match unused {
                true => text.replace(MEETS, "__weakspot_barrier_wait"),
                false => text.clone(),
            };
            assert_eq!(mark(&text), expected);
        };
        let fails = ".L9:\n\tmovl\t%eax, %edi\n\tcall\texit\n";
        let sum = "\taddl\t$1, %eax\n\tcmpl\t$1, %eax\n";
        let less = "\tincl\t%eax\n\tcmpl\t$2, %eax\n";
        let end = "\taddq\t$8, %rsp\n\tmovl\t$0, %eax\n\tret\n";
        check(&format!("{sum}\tja\t.L9\n{end}{fails}"), true);
        check(&format!("{less}\tjae\t.L9\n{end}{fails}"), true);
        check(&format!("{sum}\tja\t.L9\n\tsarl\t12(%rsp)\n\tje\tf\n{end}{fails}"), true);
        check(&format!("{sum}\tja\t.L9\n\tsarl\t%cl, %ebx\n\tje\tf\n{end}{fails}"), false);
        check(&format!("{sum}\tjbe\t.L1\n{fails}.L1:\n{end}"), true);
        check(&format!("{sum}\tmovl\t$1, %eax\n\tcmovbe\t%rbx, %rax\n{end}"), true);
        check(&format!("{sum}\tja\t.L9\n\tpopq\t%rbx\n\tret\n{fails}"), false);
        check(&format!("{sum}\tje\t.L9\n{end}{fails}"), false);
        check(&format!("{sum}\tja\t.L9\n\tje\t.L9\n{end}{fails}"), false);
        check(&format!("{sum}\tja\t.L9\n\tmovl\t$0, %eax\n\tsete\t%al\n\tret\n"), false);
        check(&format!("{sum}\tmovl\t$1, %eax\n\tcmove\t%rbx, %rax\n{end}"), false);
        check(&format!("{sum}\tcmovbe\t%rax, %rbx\n{end}"), false);
        check(&format!("{sum}\tincl\t%ebx\n\tja\t.L9\n{end}{fails}"), false);
        check(&format!("{less}\tjbe\t.L9\n{end}{fails}"), false);
        check(&format!("\taddl\t$1, %eax\n\tje\t.L9\n{end}{fails}"), false);
        check(&format!("\taddl\t$2, %eax\n\tcmpl\t$1, %eax\n\tja\t.L9\n{end}{fails}"), false);
        check(&format!("\tcmpl\t$1, %eax\n\tja\t.L9\n{end}{fails}"), false);
        let added = format!("\tcall\t__tsan_atomic32_fetch_add\n{sum}\tja\t.L9\n{end}{fails}");
        assert_eq!(mark(&added), added);
    }

    #[test]
    fn results_that_may_be_used() {
        check("\tmovl\t%eax, %ebx\n\tcall\tg\n", false);
        check("\tret\n", false);
        check("\taddl\t$1, %eax\n", false);
        check("\tsarq\t$63, %rax\n\tcall\tg\n", false);
        check("\tmovabsq\t%rax, 8\n\tcall\tg\n", false);
        check("\tmovb\t$1, %al\n", false);
        check("\tmovl\t(%rax), %eax\n", false);
        check("\tcmpl\t$1, %ebx\n\tje\t.L2\n\tcall\tg\n.L2:\n\tcmpl\t$3, %eax\n", false);
        check("\tcltq\n\tcall\tg\n", false);
        check("\tcall\t*%rax\n", false);
        check("#APP\n\tnop\n#NO_APP\n\tcall\tg\n", false);
        check("\tjmp\t*.L4(,%rbx,8)\n", false);
    }

    #[test]
    fn only_additions_have_other_names() {
        for name in
            ["__tsan_atomic32_exchange", "__tsan_atomic32_fetch_or", "__tsan_atomic128_fetch_add"]
        {
            let text = format!("\tcall\t{name}\n\tcall\tg\n");
            assert_eq!(mark(&text), text);
        }
        let text =
            "\tcall\tpthread_barrier_wait@PLT\n\tcall\tg\n\tcall\tpthread_barrier_wait\n\tret\n";
        assert_eq!(mark(text), text.replacen("pthread", "__weakspot", 1));
        let text = "\tcall\t__tsan_atomic64_fetch_sub@PLT\n\tcall\tg\n";
        assert_eq!(mark(text), "\tcall\t__weakspot_atomic64_sub@PLT\n\tcall\tg\n");
    }
}
