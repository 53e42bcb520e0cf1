//! Accesses that gcc does not announce, in the assembly that it has written: a structure that a call returns into
//! shared memory, and one that is passed by value from there.
//!
//! Each announcement is followed by its access, before anything else is called. So a load or store of what is not on the stack
//! is announced if nothing stands before it that could be its announcement.

use crate::assembly::{self, AccessKind};
use crate::bits::is_for_debuggers;
use crate::operands::{has_frame_pointer, is_shared};

/// The text with announcements of those.
#[must_use]
pub(crate) fn announce(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut announced = Announced::default();
    let mut frame_pointer = false;
    let mut in_asm = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if !in_asm {
            frame_pointer = has_frame_pointer(trimmed, frame_pointer);
        }
        match trimmed {
            "#APP" => in_asm = true,
            "#NO_APP" => in_asm = false,
            _ if in_asm => {}
            _ if is_for_debuggers(trimmed) => {}
            _ if trimmed.ends_with(':') => announced = Announced::default(),
            _ if line.starts_with('\t') && !trimmed.starts_with(['.', '#']) => {
                let (word, operands) =
                    trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
                let operands = operands.split('#').next().unwrap_or("").trim();
                if word.starts_with("call") {
                    announced.call(operands);
                } else if let Some((kind, len, operand)) = access(word, operands, frame_pointer)
                    && !announced.take(kind)
                {
                    out.push_str(&assembly::announce(kind, len, operand));
                }
            }
            _ => {}
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// What was announced and has not been seen.
#[derive(Default)]
struct Announced {
    loads: u32,
    stores: u32,
    /// Many bytes, by any number of instructions.
    range: bool,
}

impl Announced {
    /// A function is called.
    fn call(&mut self, function: &str) {
        let Some(name) = function.strip_prefix("__tsan_") else {
            // A store of bits reads them, too.
            *self = Announced::default();
            let bits = u32::from(function.starts_with("__weakspot_bits"));
            (self.loads, self.stores) = (bits, bits);
            return;
        };
        let name = name.trim_start_matches("unaligned_").trim_start_matches("volatile_");
        self.range |= name.contains("_range");
        self.loads += u32::from(name.starts_with("read"));
        if name.starts_with("write") || name.starts_with("vptr_update") {
            // Many an instruction that writes reads the same bytes.
            self.loads += 1;
            self.stores += 1;
        }
    }

    /// An access: whether it was announced.
    fn take(&mut self, kind: AccessKind) -> bool {
        let left = match kind {
            AccessKind::PlainWrite => &mut self.stores,
            _ => &mut self.loads,
        };
        let known = *left > 0;
        *left = left.saturating_sub(1);
        known || self.range
    }
}

/// The access of an instruction that moves something: its kind, its size, and the operand in memory, unless that
/// is on the stack, of the thread alone, or constant. Other instructions use what gcc announces.
fn access<'a>(
    word: &str,
    operands: &'a str,
    frame_pointer: bool,
) -> Option<(AccessKind, u32, &'a str)> {
    let shared = |operand: &str| is_shared(operand, frame_pointer);
    if word == "pushq" {
        return shared(operands).then_some((AccessKind::PlainRead, 8, operands));
    }
    let (source, target) = operands.rsplit_once(", ")?;
    let size = size(word)?;
    match (shared(source), shared(target)) {
        (_, true) => Some((AccessKind::PlainWrite, size, target)),
        (true, _) => Some((AccessKind::PlainRead, size, source)),
        _ => None,
    }
}

/// How many bytes an instruction moves.
fn size(word: &str) -> Option<u32> {
    Some(match word {
        "movups" | "movaps" | "movupd" | "movapd" | "movdqu" | "movdqa" => 16,
        "movss" | "movd" => 4,
        "movsd" | "movlps" | "movhps" | "movlpd" | "movhpd" => 8,
        "movb" | "movzbl" | "movzbw" | "movzbq" | "movsbl" | "movsbw" | "movsbq" => 1,
        "movw" | "movzwl" | "movzwq" | "movswl" | "movswq" => 2,
        "movl" | "movslq" => 4,
        "movq" => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::announce;

    /// How many accesses are announced that gcc did not.
    fn added(text: &str) -> usize {
        let text = text.replace('|', "\n\t");
        let text = announce(&format!("f:\n\t{text}\n"));
        text.matches(crate::assembly::ACCESS).count()
    }

    #[test]
    fn what_calls_return_and_get() {
        assert_eq!(added("call\tmk|movq\t%rax, p(%rip)|movq\t%rdx, 8+p(%rip)"), 2);
        assert_eq!(added("movq\t%rsi, (%rdi)|movups\t%xmm0, 16(%rdi)|ret"), 2);
        assert_eq!(added("pushq\t8+v(%rip)|pushq\tv(%rip)|call\tsum"), 2);
        assert_eq!(added("movq\tp(%rip), %rdi|call\tsum"), 1);
    }

    #[test]
    fn what_is_announced() {
        assert_eq!(added("call\t__tsan_write4|movl\t$1, x(%rip)"), 0);
        assert_eq!(added("call\t__tsan_write4|movl\t$1, x(%rip)|movl\t$1, y(%rip)"), 1);
        assert_eq!(
            added("call\t__tsan_read8|call\t__tsan_write8|movq\tx(%rip), %rax|movq\t%rax, y(%rip)"),
            0
        );
        assert_eq!(added("call\t__tsan_write_range|movq\t%rax, x(%rip)|movq\t%rax, 8+x(%rip)"), 0);
        assert_eq!(added("call\t__weakspot_bits4@PLT|movl\tx(%rip), %eax|movl\t%eax, x(%rip)"), 0);
        assert_eq!(added("call\t__tsan_write4|call\tg|movl\t$1, x(%rip)"), 1);
    }

    #[test]
    fn what_nobody_shares() {
        assert_eq!(
            added("movq\t%rax, 8(%rsp)|movq\tx@GOTPCREL(%rip), %rax|movss\t.LC0(%rip), %xmm0"),
            0
        );
        assert_eq!(added("movq\t%fs:40, %rax|movl\t%eax, %fs:t@tpoff|leaq\tx(%rip), %rax"), 0);
        assert_eq!(added("movq\t%rsp, %rbp|movl\t%edi, -20(%rbp)"), 0);
        assert_eq!(added("movl\t%edi, -20(%rbp)"), 1);
    }
}
