//! What the instructions that a compiler has written access: only what is not on the stack of the thread may be shared.

use crate::bits::split;

/// Whether `%rbp` is where the variables of a function are, behind this line.
pub(crate) fn has_frame_pointer(line: &str, before: bool) -> bool {
    if line.ends_with(':') {
        return before && line.starts_with('.');
    }
    before || line == "movq\t%rsp, %rbp"
}

/// Whether an instruction accesses memory that is not on the stack in a way that nobody announces: past the cache, or only some parts
/// of a vector.
pub(crate) fn is_unseen(line: &str, frame_pointer: bool) -> bool {
    let (word, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let name = word.strip_prefix('v').unwrap_or(word);
    // Where it writes to is in a register that it does not name.
    if name.starts_with("maskmov") && !operands.contains('(') {
        return true;
    }
    let kinds = ["movnt", "maskmov", "pmaskmov", "gather", "pgather", "scatter", "pscatter"];
    let masked = operands.contains("{%k");
    (masked || kinds.iter().any(|kind| name.starts_with(kind)))
        && split(operands).into_iter().any(|operand| is_shared(operand, frame_pointer))
}

/// Whether an operand is in memory, and neither on the stack, nor of the thread alone, nor constant.
pub(crate) fn is_shared(operand: &str, frame_pointer: bool) -> bool {
    let own = operand.contains("(%rsp")
        || frame_pointer && operand.contains("(%rbp")
        || operand.contains(['@', ':'])
        || operand.contains(".L");
    operand.contains('(') && !own
}
