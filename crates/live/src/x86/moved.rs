//! Instructions in other places: what is relative to where they are is changed, so that they do there
//! what they did.

use super::{Flow, instruction};

/// The instruction that `bytes` begins with, which is at `from`, for the address `to`. `None` if it
/// cannot be moved: calls, because their return address shows, and jumps to places unknown.
#[must_use]
pub fn moved(bytes: &[u8], from: u64, to: u64) -> Option<Vec<u8>> {
    let read = instruction(bytes)?;
    let bytes = &bytes[..read.len];
    let end = from.wrapping_add(read.len as u64);
    let target = |distance: i32| end.wrapping_add(i64::from(distance) as u64);
    match (read.flow, bytes) {
        (Flow::Next | Flow::Never, _) => {
            let mut code = bytes.to_vec();
            if let Some(at) = read.relative {
                let field = code.get_mut(at..at + 4)?;
                let distance = i32::from_le_bytes(field.try_into().ok()?);
                let there = to.wrapping_add(read.len as u64);
                field.copy_from_slice(&distance_from(there, target(distance))?);
            }
            Some(code)
        }
        // Short ones reach no further than 127 bytes, and those that count have no longer form.
        (Flow::Branch(distance), [0x70..=0x7f, _]) => {
            branch(&[0x0f, bytes[0] + 0x10], to, target(distance))
        }
        (Flow::Branch(distance), [0x0f, second, ..]) => {
            branch(&[0x0f, *second], to, target(distance))
        }
        (Flow::Jump(distance), [0xeb | 0xe9, ..]) => branch(&[0xe9], to, target(distance)),
        _ => None,
    }
}

fn branch(opcode: &[u8], at: u64, target: u64) -> Option<Vec<u8>> {
    let mut code = opcode.to_vec();
    code.extend(distance_from(at.wrapping_add(opcode.len() as u64 + 4), target)?);
    Some(code)
}

fn distance_from(end: u64, target: u64) -> Option<[u8; 4]> {
    Some(i32::try_from(target.wrapping_sub(end) as i64).ok()?.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_relative_is_changed() {
        for (bytes, expected) in [
            // mov rbp, rsp; mov rax, [rip + 16]; test byte [rip - 1], 3
            (&[0x48, 0x89, 0xe5][..], Some(&[0x48, 0x89, 0xe5][..])),
            (&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0], Some(&[0x48, 0x8b, 0x05, 0x10, 0x10, 0, 0])),
            (&[0xf6, 0x05, 0xff, 0xff, 0xff, 0xff, 3], Some(&[0xf6, 0x05, 0xff, 0x0f, 0, 0, 3])),
            // jne -2: two bytes there, six here; jne and jmp, long
            (&[0x75, 0xfe], Some(&[0x0f, 0x85, 0xfa, 0x0f, 0, 0])),
            (&[0x0f, 0x85, 0, 0, 0, 0], Some(&[0x0f, 0x85, 0, 0x10, 0, 0])),
            (&[0xe9, 0, 0, 0, 0], Some(&[0xe9, 0, 0x10, 0, 0])),
            (&[0xeb, 0x05], Some(&[0xe9, 0x02, 0x10, 0, 0])),
            (&[0xc3], Some(&[0xc3])),
            (&[0xff, 0x25, 0, 0, 0, 0], Some(&[0xff, 0x25, 0, 0x10, 0, 0])),
            // loop, call, jmp rax
            (&[0xe2, 0xfe], None),
            (&[0xe8, 0, 0, 0, 0], None),
            (&[0xff, 0xe0], None),
        ] {
            assert_eq!(moved(bytes, 0x5000, 0x4000).as_deref(), expected, "{bytes:x?}");
        }
        assert_eq!(moved(&[0xe9, 0, 0, 0, 0], 0, 1 << 32), None);
    }
}
