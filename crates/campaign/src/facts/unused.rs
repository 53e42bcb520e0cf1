//! Is the result of a call used? It is in a register. If it is written, or a function is called, on all ways on from the call
//! before anything reads it, nobody uses the result: a function may change the register, and gets no argument in it.
//!
//! For C, `weakspot cc` asks the same of the assembly (`build/src/unused.rs`). Rust's compiler writes objects at once, so here
//! it is asked of the program.

use weakspot_live::x86::{Effect, Flow, instruction, result};

/// Whether the result of the call that returns to address `after` is unused. `code` is the function, loaded at address
/// `start`; `begins` says whether a function begins at an address.
pub(crate) fn is_unused(
    (code, start): (&[u8], u64),
    after: u64,
    begins: impl Fn(u64) -> bool,
) -> bool {
    /// Instructions that are looked at.
    const MOST: usize = 200;
    let inside = |address: u64| address.wrapping_sub(start) < code.len() as u64;
    let mut open = vec![after];
    let mut seen = Vec::new();
    while let Some(at) = open.pop() {
        if seen.contains(&at) {
            continue;
        }
        if seen.len() == MOST || !inside(at) {
            return false;
        }
        seen.push(at);
        let bytes = &code[(at - start) as usize..];
        let Some(next) = instruction(bytes) else { return false };
        let end = at + next.len as u64;
        let to = |far: i32| end.wrapping_add_signed(far.into());
        match (result(&bytes[..next.len]), next.flow) {
            (Effect::Uses, _) => return false,
            (Effect::Replaces, Flow::Next) | (Effect::Leaves, Flow::Call(_)) => {}
            (Effect::Leaves, Flow::Next) => open.push(end),
            (Effect::Leaves, Flow::Branch(far)) => open.extend([end, to(far)]),
            (Effect::Leaves, Flow::Jump(far)) if inside(to(far)) => open.push(to(far)),
            // A function that is called in the place of a return.
            (Effect::Leaves, Flow::Jump(far)) if begins(to(far)) => {}
            // What stops the program, or such a function whose address is in memory.
            (Effect::Leaves, Flow::Never)
                if matches!(bytes, [0x0f, 0x0b, ..] | [0xff, 0x25, ..]) => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_unused;

    /// Code behind a call, at 0x1000; a function begins at 0x2000.
    fn check(code: &[u8], expected: bool) {
        let found = is_unused((code, 0x1000), 0x1000, |address| address == 0x2000);
        assert_eq!(found, expected, "{code:x?}");
    }

    #[test]
    fn results_that_are_not_used() {
        // pop rbx; jmp 0x2000
        check(&[0x5b, 0xe9, 0xfa, 0x0f, 0, 0], true);
        // jmp [rip]; ud2
        check(&[0xff, 0x25, 0, 0, 0, 0], true);
        check(&[0x0f, 0x0b], true);
        // lea rdi, [rip]; call; mov eax, ebx
        check(&[0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0], true);
        check(&[0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xff, 0x15, 0, 0, 0, 0], true);
        check(&[0x89, 0xd8, 0xc3], true);
        // dec ebx; jne back to it; call
        check(&[0xff, 0xcb, 0x75, 0xfc, 0xe8, 0, 0, 0, 0], true);
        // jne over it; call; xor eax, eax
        check(&[0x75, 0x05, 0xe8, 0, 0, 0, 0, 0x31, 0xc0], true);
    }

    #[test]
    fn results_that_may_be_used() {
        // ret; cmp rax, 1; call rax
        check(&[0xc3], false);
        check(&[0x48, 0x83, 0xf8, 0x01, 0x75, 0xfa, 0xe8, 0, 0, 0, 0], false);
        check(&[0xff, 0xd0], false);
        // jne over it; call; mov ebx, eax
        check(&[0x75, 0x05, 0xe8, 0, 0, 0, 0, 0x89, 0xc3], false);
        // jmp to where no function begins; jmp by a table; the end of what is known
        check(&[0xe9, 0xfa, 0x1f, 0, 0], false);
        check(&[0xff, 0x24, 0xc5, 0, 0, 0, 0], false);
        check(&[0x5b], false);
        check(&[0xff, 0x23], false);
    }
}
