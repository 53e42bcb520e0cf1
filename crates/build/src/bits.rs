//! Bit-fields, in the assembly that gcc has written.
//!
//! To store a bit-field is to read what is beside it and to write both back, but gcc announces only
//! the store. Another thread may store a bit-field beside it in between, which is then lost. So where
//! the bytes are read after a store was announced and before it is done, the announcement is made one
//! of both.

/// The text with announcements of reading and writing where gcc stores bit-fields.
#[must_use]
pub fn announce(text: &str) -> String {
    let mut lines: Vec<String> = Vec::with_capacity(text.len() / 24);
    // The announced store that has not been seen yet: its line and its size.
    let mut pending: Option<(usize, u32)> = None;
    let mut reads: Vec<&str> = Vec::new();
    let mut frame_pointer = false;
    for line in text.lines() {
        lines.push(line.to_owned());
        let trimmed = line.trim();
        if line.starts_with('\t') && !trimmed.starts_with(['.', '#']) {
            let (word, operands) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
            if word.starts_with("call") || word.starts_with('j') || word.starts_with("ret") {
                pending = announced(operands).map(|len| (lines.len() - 1, len));
                reads.clear();
                continue;
            }
            frame_pointer |= trimmed == "movq\t%rsp, %rbp";
            let Some((at, len)) = pending else { continue };
            let local = |operand: &str| {
                operand.contains("(%rsp") || frame_pointer && operand.contains("(%rbp")
            };
            let operands = split(operands);
            let Some((&target, sources)) = operands.split_last() else { continue };
            reads.extend(sources.iter().filter(|operand| operand.contains('(')));
            let compares = ["cmp", "test", "bt", "push"].iter().any(|w| word.starts_with(w));
            if !target.contains('(') || local(target) || compares || word.starts_with("lea") {
                continue;
            }
            let reads_target = !word.starts_with("mov") || reads.contains(&target);
            if reads_target && size(word, sources) == Some(len) {
                lines[at] = format!("\tcall\t__weakspot_bits{len}@PLT");
            }
            pending = None;
        } else if trimmed.ends_with(':') && !is_for_debuggers(trimmed) {
            pending = None;
            frame_pointer &= trimmed.starts_with('.');
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Whether a label is none that could be jumped to.
pub(crate) fn is_for_debuggers(label: &str) -> bool {
    [".LVL", ".LBB", ".LBE", ".LBI", ".LFB", ".LFE", ".LCFI", ".LEHB", ".LEHE", ".Ltmp"]
        .iter()
        .any(|start| label.starts_with(start))
}

/// The size of the store that a call announces.
fn announced(function: &str) -> Option<u32> {
    let name = function.trim().strip_suffix("@PLT").unwrap_or(function.trim());
    let name = name.strip_prefix("__tsan_")?;
    let size = name.strip_prefix("volatile_").unwrap_or(name).strip_prefix("write")?;
    size.parse().ok().filter(|size| [1, 2, 4, 8].contains(size))
}

/// Operands, at the commas that are not part of an address.
pub(crate) fn split(operands: &str) -> Vec<&str> {
    let mut depth = 0;
    operands
        .split(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        })
        .map(str::trim)
        .filter(|operand| !operand.is_empty())
        .collect()
}

/// How many bytes an instruction stores.
pub(crate) fn size(word: &str, sources: &[&str]) -> Option<u32> {
    if let Some(register) = sources.last().and_then(|s| s.strip_prefix('%')) {
        return register_size(register);
    }
    match word.as_bytes().last()? {
        b'b' => Some(1),
        b'w' => Some(2),
        b'l' => Some(4),
        b'q' => Some(8),
        _ => None,
    }
}

/// The size of a register.
pub(crate) fn register_size(name: &str) -> Option<u32> {
    let old = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];
    if old.contains(&name) {
        return Some(2);
    }
    if let Some(rest) = name.strip_prefix('e') {
        return old.contains(&rest).then_some(4);
    }
    if let Some(rest) = name.strip_prefix('r') {
        if old.contains(&rest) {
            return Some(8);
        }
        let digits = rest.trim_end_matches(['b', 'w', 'd']);
        let size = match &rest[digits.len()..] {
            "" => 8,
            "d" => 4,
            "w" => 2,
            _ => 1,
        };
        return digits.parse::<u32>().ok().map(|_| size);
    }
    (name.ends_with('l') || name.ends_with('h')).then_some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let text = format!("f:\n{body}\tret\n");
        let called: Vec<String> = announce(&text)
            .lines()
            .filter_map(|line| line.trim().strip_prefix("call\t").map(str::to_owned))
            .collect();
        assert_eq!(called.join(" "), expected, "{body}");
    }

    #[test]
    fn bytes_that_are_read_before_they_are_written() {
        check("\tcall\t__tsan_write1@PLT\n.LVL1:\n\torb\t$1, s(%rip)\n", "__weakspot_bits1@PLT");
        check(
            "\tcall\t__tsan_write1@PLT\n\tmovzbl\ts(%rip), %eax\n\torl\t$1, %eax\n\tmovb\t%al, s(%rip)\n",
            "__weakspot_bits1@PLT",
        );
        check(
            "\tcall\t__tsan_write8@PLT\n\tandq\t8(%rbx,%rcx,8), %rax\n\tmovq\t%rax, 8(%rbx,%rcx,8)\n",
            "__weakspot_bits8@PLT",
        );
    }

    #[test]
    fn other_stores_stay_as_they_are() {
        check("\tcall\t__tsan_write4@PLT\n\tmovl\t$1, x(%rip)\n", "__tsan_write4@PLT");
        check(
            "\tcall\t__tsan_write4@PLT\n\tmovq\tp(%rip), %rax\n\tmovl\t$1, (%rax)\n",
            "__tsan_write4@PLT",
        );
        // Only a part of the bytes is written.
        check("\tcall\t__tsan_write8@PLT\n\torl\t$1, s(%rip)\n", "__tsan_write8@PLT");
        // A variable of the function.
        check(
            "\tmovq\t%rsp, %rbp\n\tcall\t__tsan_write4@PLT\n\taddl\t$1, -4(%rbp)\n\tmovl\t%edx, x(%rip)\n",
            "__tsan_write4@PLT",
        );
        check("\tcall\t__tsan_write4@PLT\n\tcall\tg\n\taddl\t$1, x(%rip)\n", "__tsan_write4@PLT g");
    }
}
