//! Empty loops without end, in the assembly that a compiler has written.
//!
//! Nothing is called in a loop like `for (;;);`, so it would have to be found by the time that it takes:
//! the runtime library is told instead.

use crate::bits::is_for_debuggers;

/// The function of the runtime library for a loop without end.
pub const ENDLESS: &str = "__weakspot_asm_endless";

/// Instructions that do nothing.
const IDLE: [&str; 4] = ["nop", "pause", "rep nop", "rep; nop"];

/// The text with calls of the runtime library in empty loops without end.
#[must_use]
pub fn mark(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    // The last label, if no instruction has followed it.
    let mut label = "";
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_suffix(':') {
            if !is_for_debuggers(trimmed) {
                label = name;
            }
        } else if !(trimmed.is_empty()
            || trimmed.starts_with(['.', '#'])
            || IDLE.contains(&trimmed))
        {
            let target = trimmed.strip_prefix("jmp").map(str::trim);
            if !label.is_empty() && target == Some(label) {
                out.push_str(&crate::assembly::call(ENDLESS));
            }
            label = "";
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, marked: bool) {
        assert_eq!(mark(text).contains(ENDLESS), marked, "{text}");
    }

    #[test]
    fn only_empty_loops() {
        check(".L2:\n\t.loc 1 5 3\n\tjmp\t.L2\n", true);
        check(".L2:\n.LBB3:\n\tjmp .L2\n", true);
        check(".L2:\n\trep nop\n\tjmp .L2\n", true);
        check(".L2:\n\tjmp\t.L3\n", false);
        check(".L2:\n\tcall\tf\n\tjmp\t.L2\n", false);
        check(".L2:\n\taddl\t$1, %eax\n\tjmp\t.L2\n", false);
    }
}
