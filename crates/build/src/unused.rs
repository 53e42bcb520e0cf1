//! Atomic additions whose results the program does not use, in the assembly that a compiler has written, and the same of barriers:
//! they are called by other names, because the order of two of them cannot be told.
//!
//! The result is in `%rax`. It is not used if, whichever way the program goes on, the register is written or a function
//! is called before anything reads it: a function may change the register and does not get arguments in it, but for how many
//! vector registers there are, which is written before. What is not understood may use it.

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
            Some((old, new)) if is_unused(&lines, &labels, i + 1) => {
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

/// Whether what is in `%rax` is not used from a line on.
fn is_unused(lines: &[&str], labels: &HashMap<&str, usize>, from: usize) -> bool {
    /// Lines that are looked at.
    const MOST: usize = 200;
    let mut open = vec![from];
    let mut seen = Vec::new();
    while let Some(mut at) = open.pop() {
        loop {
            if seen.contains(&at) {
                break;
            }
            if seen.len() > MOST {
                return false;
            }
            seen.push(at);
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
                    Some(&label) => open.push(label),
                    None => return false,
                },
                _ if !mentions(operands) => {
                    if !is_known(word) {
                        return false;
                    }
                }
                _ if overwrites(word, operands) => break,
                _ => return false,
            }
        }
    }
    true
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
