//! Values that nobody needs any more, in the assembly that gcc has written.
//!
//! Whether a thread that goes round a loop is in the same state as before is asked where it calls an atomic function. Without
//! optimisation, what `atomic_load` of `<stdatomic.h>` has returned in the round before is still in a register and on the
//! stack then, so that each value that the loop has read makes another state of it, though nothing depends on it. So
//! these are set to 0 before such a call:
//!
//! * a register that functions keep, if the first thing after the call is to write it;
//! * a variable on the stack, if all that a function ever does with it is to store to it and to load that at once. Then nobody
//!   needs its value at any call but the announcements in between. No other thread, and no other function, may know an
//!   address on the stack of the function: one that takes an address there, but for announcements, is left as it is.
//!
//! No instruction that is added here changes a flag that is in use: calls leave none.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::bits::{is_for_debuggers, split};

/// The text with instructions that set those to 0.
#[must_use]
pub(crate) fn clear(text: &str) -> String {
    if !text.contains("__tsan_atomic") {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut before: HashMap<usize, String> = HashMap::new();
    for function in functions(&lines) {
        let code = code(&lines, function);
        let variables = if leaks(&code) { Vec::new() } else { temporaries(&code) };
        for (i, item) in code.iter().enumerate().filter(|(_, item)| item.calls("__tsan_atomic")) {
            let text = before.entry(item.line).or_default();
            for &Slot { at, len } in &variables {
                let _ = writeln!(text, "\tmov{}\t$0, {at}(%rbp)", suffix(len));
            }
            if let Some(register) = code.get(i + 1).and_then(Item::register_of_result) {
                let _ = writeln!(text, "\txorl\t{register}, {register}");
            }
        }
    }
    let mut out = String::with_capacity(text.len() + 64 * before.len());
    for (i, line) in lines.iter().enumerate() {
        out.push_str(before.get(&i).map_or("", String::as_str));
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The lines of each function. A label in assembly of the program begins none.
fn functions(lines: &[&str]) -> Vec<Range<usize>> {
    let mut is_of_program = false;
    let mut begins = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        match *line {
            "#APP" => is_of_program = true,
            "#NO_APP" => is_of_program = false,
            _ if is_of_program => {}
            name if name.ends_with(':') && !name.starts_with(['.', '\t', ' ', '#']) => {
                begins.push(i)
            }
            _ => {}
        }
    }
    let ends = begins.iter().copied().skip(1).chain([lines.len()]);
    begins.iter().zip(ends).map(|(begin, end)| begin + 1..end).collect()
}

/// An instruction, or a label, which has no word.
struct Item<'a> {
    line: usize,
    word: &'a str,
    operands: Vec<&'a str>,
}

fn code<'a>(lines: &[&'a str], function: Range<usize>) -> Vec<Item<'a>> {
    let mut code = Vec::new();
    for line in function {
        let text = lines[line].split('#').next().unwrap_or("").trim();
        if text.is_empty() || is_for_debuggers(text) {
            continue;
        }
        // More than one statement is assembly of the program.
        if text.ends_with(':') || text.contains(';') {
            code.push(Item { line, word: "", operands: split(text) });
        } else if !text.starts_with('.') {
            let (word, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            code.push(Item { line, word, operands: split(operands) });
        }
    }
    code
}

/// Bytes on the stack, relative to the frame pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    at: i32,
    len: u32,
}

impl Slot {
    fn overlaps(self, other: Slot) -> bool {
        let before = |a: Slot, b: Slot| i64::from(a.at) < i64::from(b.at) + i64::from(b.len);
        before(self, other) && before(other, self)
    }
}

impl Item<'_> {
    /// Whether it calls a function whose name begins like this.
    fn calls(&self, name: &str) -> bool {
        self.word == "call" && self.operands.first().is_some_and(|f| f.starts_with(name))
    }

    /// The size of an access that it announces, if it says no more than that.
    fn announces(&self) -> Option<u32> {
        let name = self.operands.first().filter(|_| self.word == "call")?;
        let name = name.strip_suffix("@PLT").unwrap_or(name).strip_prefix("__tsan_")?;
        let name = name.strip_prefix("unaligned_").unwrap_or(name);
        let len = name.strip_prefix("read").or_else(|| name.strip_prefix("write"))?;
        len.parse().ok().filter(|len| [1, 2, 4, 8, 16].contains(len))
    }

    /// The register to which it moves the result of a call, if functions keep it; the lower half of it.
    fn register_of_result(&self) -> Option<&'static str> {
        const KEPT: [(&str, &str); 5] = [
            ("%rbx", "%ebx"),
            ("%r12", "%r12d"),
            ("%r13", "%r13d"),
            ("%r14", "%r14d"),
            ("%r15", "%r15d"),
        ];
        let (from, to) = match (self.word, &self.operands[..]) {
            ("movl" | "movq", [from, to]) => (*from, *to),
            _ => return None,
        };
        let (_, lower) = *KEPT.iter().find(|(whole, lower)| [*whole, *lower].contains(&to))?;
        ["%eax", "%rax"].contains(&from).then_some(lower)
    }

    /// What it accesses on the stack.
    fn slot(&self) -> Option<Slot> {
        let at = self.operands.iter().find_map(|operand| offset(operand))?;
        Some(Slot { at, len: self.size() })
    }

    /// How many bytes it accesses, at most.
    fn size(&self) -> u32 {
        const UNKNOWN: u32 = 4096;
        const PLAIN: [&str; 13] = [
            "mov", "add", "sub", "cmp", "and", "or", "xor", "test", "inc", "dec", "push", "pop",
            "imul",
        ];
        let is_vector = |operand: &&str| operand.contains("mm") || operand.contains("%st");
        if self.operands.iter().any(is_vector) {
            return UNKNOWN;
        }
        match self.word {
            "movzbl" | "movzbw" | "movzbq" | "movsbl" | "movsbw" | "movsbq" => 1,
            "movzwl" | "movzwq" | "movswl" | "movswq" => 2,
            "movslq" => 4,
            // With nothing but its size behind it: `cmpxchg16b` is no `cmp`.
            word => match PLAIN.iter().find_map(|plain| word.strip_prefix(plain)) {
                Some("b") => 1,
                Some("w") => 2,
                Some("l") => 4,
                Some("q") => 8,
                _ => UNKNOWN,
            },
        }
    }
}

/// The offset of `-24(%rbp)`.
fn offset(operand: &str) -> Option<i32> {
    operand.strip_suffix("(%rbp)")?.parse().ok()
}

fn suffix(len: u32) -> char {
    match len {
        1 => 'b',
        2 => 'w',
        4 => 'l',
        _ => 'q',
    }
}

/// Whether a function has no frame pointer, or somebody may get an address on its stack: it does more with the pointers to it
/// than to access its own variables and to announce that.
fn leaks(code: &[Item<'_>]) -> bool {
    let sets = |item: &Item<'_>| item.word == "movq" && item.operands == ["%rsp", "%rbp"];
    let plain = |(i, item): (usize, &Item<'_>)| {
        let any = |is: fn(&str) -> bool| item.operands.iter().any(|operand| is(operand));
        match item.word {
            _ if any(|o| o.contains(".cold")) => false,
            word if word.starts_with("lea") && any(is_frame_pointer) => {
                announced(&code[i..]).is_some()
            }
            "pushq" | "popq" if item.operands == ["%rbp"] => true,
            _ if sets(item) => true,
            _ if any(|o| is_frame_pointer(o) && offset(o).is_none()) => false,
            word if word.starts_with("lea") || item.operands.first() == Some(&"%rsp") => {
                !any(|o| o.contains("%rsp")) || item.operands.last() == Some(&"%rsp")
            }
            _ => true,
        }
    };
    !code.iter().any(sets) || !code.iter().enumerate().all(plain)
}

/// Whether an operand has the frame pointer, or a part of it.
fn is_frame_pointer(operand: &str) -> bool {
    ["%rbp", "%ebp", "%bp"].iter().any(|name| operand.contains(name))
}

/// What is announced of the stack by the first three instructions.
fn announced(code: &[Item<'_>]) -> Option<Slot> {
    let [address, argument, call, ..] = code else { return None };
    let at = match (address.word, &address.operands[..]) {
        ("leaq", [at, "%rax"]) => offset(at)?,
        _ => return None,
    };
    let passed = argument.word == "movq" && argument.operands == ["%rax", "%rdi"];
    Some(Slot { at, len: call.announces().filter(|_| passed)? })
}

/// The variables to which the function stores only what it loads at once.
fn temporaries(code: &[Item<'_>]) -> Vec<Slot> {
    /// Instructions of a store and of a load, each with its announcement.
    const WHOLE: usize = 8;
    /// Track at most this many stack slots.
    const MOST: usize = 16;
    let mut found: Vec<Slot> = Vec::new();
    let mut covered = vec![false; code.len()];
    for i in 0..code.len() {
        if let Some(slot) = stored_and_loaded(&code[i..]) {
            covered[i..i + WHOLE].fill(true);
            if !found.contains(&slot) {
                found.push(slot);
            }
        }
    }
    for (i, _) in covered.iter().enumerate().filter(|(_, covered)| !**covered) {
        let other = announced(&code[i..]).or_else(|| code[i].slot());
        found.retain(|slot| other.is_none_or(|other| !other.overlaps(*slot)));
    }
    let all = found.clone();
    found.retain(|slot| all.iter().filter(|other| other.overlaps(*slot)).count() == 1);
    found.truncate(MOST);
    found
}

/// A variable to which the first instructions store, and which the next ones load; nothing jumps in between.
fn stored_and_loaded(code: &[Item<'_>]) -> Option<Slot> {
    let slot = announced(code)?;
    let (store, load) = (code.get(3)?, code.get(7)?);
    let stores = code[2].calls("__tsan_write") && store.word.starts_with("mov");
    let loads = code.get(6)?.calls("__tsan_read") && load.word.starts_with("mov");
    let is_target = store.operands.len() == 2 && offset(store.operands[1]) == Some(slot.at);
    let is_source = load.operands.len() == 2 && offset(load.operands[0]) == Some(slot.at);
    let same = announced(&code[4..]) == Some(slot) && store.size() == slot.len;
    (stores && loads && is_target && is_source && same && load.size() == slot.len && slot.len <= 8)
        .then_some(slot)
}

#[cfg(test)]
mod tests {
    use super::clear;

    const BEGIN: &str = "f:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\tpushq\t%rbx\n.L2:\n";
    const CALL: &str = "\tcall\t__tsan_atomic32_load@PLT\n\tmovl\t%eax, %ebx\n";

    /// Stores what is in `%ebx` to a variable, and loads it.
    fn through(at: &str) -> String {
        let announce =
            |kind| format!("\tleaq\t{at}, %rax\n\tmovq\t%rax, %rdi\n\tcall\t__tsan_{kind}4@PLT\n");
        let (write, read) = (announce("write"), announce("read"));
        format!("{write}.LVL3:\n\tmovl\t%ebx, {at}\n\t.loc 1 2\n{read}\tmovl\t{at}, %eax\n")
    }

    /// What is added to a function that begins so, and loads to a variable.
    fn added(more: &str) -> String {
        let text =
            format!("{BEGIN}{CALL}{}\tjne\t.L2\n{more}\tleave\n\tret\n", through("-52(%rbp)"));
        let out = clear(&text);
        let mut old = text.lines().peekable();
        let new = out.lines().filter(|line| old.next_if_eq(line).is_none());
        let new: Vec<String> = new.map(|line| line.trim().replace('\t', " ")).collect();
        assert!(old.next().is_none(), "nothing is lost: {out}");
        new.join("; ")
    }

    #[test]
    fn what_nobody_needs() {
        let both = "movl $0, -52(%rbp); xorl %ebx, %ebx";
        assert_eq!(added(""), both);
        assert_eq!(added("\tmovl\t-48(%rbp), %eax\n\tmovq\t%rax, -60(%rbp)\n"), both);
        assert_eq!(added(&through("-52(%rbp)")), both);
        let second = added(&format!("{CALL}{}", through("-56(%rbp)")));
        let each = "movl $0, -52(%rbp); movl $0, -56(%rbp); xorl %ebx, %ebx";
        assert_eq!(second, format!("{each}; {each}"));
        // The next function is another one.
        assert_eq!(added("\tleaq\t-128(%rsp), %rsp\n\tsubq\t$8, %rsp\n"), both);
        assert_eq!(added("\tret\ng:\n\tleaq\t-64(%rbp), %rsi\n"), both);
    }

    #[test]
    fn what_somebody_may_need() {
        let register = "xorl %ebx, %ebx";
        for more in [
            // It is loaded elsewhere, or a part of it, or something around it.
            "\tmovl\t-52(%rbp), %eax\n",
            "\tmovb\t-50(%rbp), %al\n",
            "\tmovq\t-56(%rbp), %rax\n",
            "\tmovups\t-64(%rbp), %xmm0\n",
            "\tfldl\t-56(%rbp)\n",
            "\tleaq\t-56(%rbp), %rax\n\tmovq\t%rax, %rdi\n\tcall\t__tsan_read8\n",
            // The function takes the address of a stack slot.
            "\tleaq\t-64(%rbp), %rsi\n\tcall\tg\n",
            "\tleaq\t-20(%rbp), %rax\n\tmovq\t%rax, %rdi\n\tcall\tg\n",
            "\tleaq\t-64(%rbp), %rax\n\tmovq\t%rax, %rdi\n\tcall\t__tsan_read_range\n",
            "\tmovq\t%rbp, %rax\n",
            "\tmovl\t-80(%rbp,%rax,4), %eax\n",
            "\tmovl\t%ebp, %eax\n",
            "\tlea -64(%rbp), %rcx; nop\n",
            "\tleal\t-20(%rbp), %ecx\n",
            "\tleaq\t15(%rsp), %rax\n",
            "\tmovq\t%rsp, %rdi\n",
            "\tjmp\tf.cold\n",
        ] {
            assert_eq!(added(more), register, "{more}");
        }
        // A label in assembly of the program, at the beginning of a line, begins no function.
        for name in ["2", "name"] {
            let label = format!("#APP\n\tjmp {name}\n{name}:\n#NO_APP\n");
            let later = format!("{label}\tleaq\t-64(%rbp), %rsi\n\tcall\tg\n");
            assert_eq!(added(&later), register, "{later}");
        }
        assert_eq!(added("\tcmpxchg16b\t-64(%rbp)\n"), register);
        // Somebody jumps to where it is loaded.
        let text = format!("{BEGIN}{CALL}{}", through("-52(%rbp)"));
        let jumps = text.replace("\t.loc 1 2\n", ".L5:\n");
        assert!(!clear(&jumps).contains("$0"));
        // There is no frame pointer.
        assert!(!clear(&text.replace("\tmovq\t%rsp, %rbp\n", "")).contains("$0"));
        // The register is in use.
        assert!(
            !clear(&text.replace("\tmovl\t%eax, %ebx\n", "\taddl\t%eax, %ebx\n")).contains("xorl")
        );
    }
}
