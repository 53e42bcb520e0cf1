//! The flags that instructions leave, against their definitions.

use super::*;

/// Runs a test of one thread under SC; the one final state. Once more with a label in front, so
/// that nothing is known about the initial values.
fn check_sc(arch: &str, init: &str, code: &[&str], seen: &str, expected: &str) {
    check_one(arch, init, code, seen, expected);
    let mut labelled = code.to_vec();
    let first = format!("S: {}", code[0]);
    labelled[0] = &first;
    check_one(arch, init, &labelled, seen, expected);
}

fn check_one(arch: &str, init: &str, code: &[&str], seen: &str, expected: &str) {
    let parsed = LITMUS.accept(&one_thread(arch, init, code, &format!("locations [{seen}]")));
    assert_eq!(states(&parsed, &run(&parsed.program, Model::Sc)), [expected], "{code:?}");
}

#[test]
fn every_jump() {
    // For each pair of values the jumps that are taken, against the definitions.
    let values: [i64; 8] =
        [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff];
    type Test = fn(u32, u32) -> bool;
    let jumps: [(&str, Test); 20] = [
        ("JE", |a, b| a == b),
        ("JNZ", |a, b| a != b),
        ("JL", |a, b| (a as i32) < (b as i32)),
        ("JNGE", |a, b| (a as i32) < (b as i32)),
        ("JGE", |a, b| (a as i32) >= (b as i32)),
        ("JLE", |a, b| (a as i32) <= (b as i32)),
        ("JG", |a, b| (a as i32) > (b as i32)),
        ("JB", |a, b| a < b),
        ("JC", |a, b| a < b),
        ("JAE", |a, b| a >= b),
        ("JNC", |a, b| a >= b),
        ("JBE", |a, b| a <= b),
        ("JA", |a, b| a > b),
        ("JS", |a, b| (a.wrapping_sub(b) as i32) < 0),
        ("JNS", |a, b| (a.wrapping_sub(b) as i32) >= 0),
        ("JO", |a, b| (a as i32).checked_sub(b as i32).is_none()),
        ("JNO", |a, b| (a as i32).checked_sub(b as i32).is_some()),
        ("JP", |a, b| (a.wrapping_sub(b) as u8).count_ones().is_multiple_of(2)),
        ("JLT", |a, b| (a as i32) < (b as i32)),
        ("JGT", |a, b| (a as i32) > (b as i32)),
    ];
    for a in values {
        for b in values {
            for (jump, holds) in jumps {
                for subtract in
                    ["CMP EAX,EBX", "SUB EAX,EBX", "CMP EAX,[y]", "SUB [x],EBX", "LOCK SUB [x],EBX"]
                {
                    let init = format!("x={a}; y={b}; 0:EAX={a}; 0:EBX={b}");
                    let jump = format!("{jump} L");
                    let code = [subtract, &jump, "MOV ECX,$1", "JMP E", "L: MOV ECX,$2", "E:"];
                    let expected = if holds(a as u32, b as u32) { "0:ECX=2;" } else { "0:ECX=1;" };
                    check_sc("X86", &init, &code, "0:ECX", expected);
                }
            }
        }
    }
}

#[test]
fn flags_of_other_instructions() {
    let values: [u64; 7] = [0, 1, i64::MAX as u64, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
    let check = |init: &str, code: &[&str], r: u64, less: bool, carry: bool, overflow: bool| {
        let set = ["sete %cl", "setl %dl", "setb %sil", "seto %dil", "sets %bpl"];
        let code: Vec<&str> = code.iter().copied().chain(set).collect();
        // Registers are shown in the order of the architecture.
        let expected = format!(
            "0:cl={}; 0:dl={}; 0:sil={}; 0:dil={}; 0:bpl={};",
            i32::from(r == 0),
            i32::from(less),
            i32::from(carry),
            i32::from(overflow),
            i32::from((r as i64) < 0)
        );
        check_sc("X86_64", init, &code, "0:cl;0:dl;0:sil;0:dil;0:bpl", &expected);
    };
    for a in values {
        for b in values {
            let (r, carry) = a.overflowing_add(b);
            let (_, overflow) = (a as i64).overflowing_add(b as i64);
            let less = overflow != ((r as i64) < 0);
            let init = format!("x={a}; 0:rax={a}; 0:rbx={b}");
            for add in
                ["addq %rbx,%rax", "addq %rbx,(x)", "lock addq %rbx,(x)", "lock xaddq %rbx,(x)"]
            {
                check(&init, &[add], r, less, carry, overflow);
            }
            let (r, borrow) = a.overflowing_sub(b);
            let (_, overflow) = (a as i64).overflowing_sub(b as i64);
            let less = (a as i64) < (b as i64);
            check(&init, &["sub rax,rbx"], r, less, borrow, overflow);
            check(&init, &["and rax,rbx"], a & b, ((a & b) as i64) < 0, false, false);
            // The accumulator is compared with memory.
            let init = format!("x={b}; 0:rax={a}; 0:rbx={b}");
            for cas in ["lock cmpxchg (x),%rbx", "cmpxchg (x),%rbx"] {
                check(&init, &[cas], r, less, borrow, overflow);
            }
        }
        // `inc` and `dec` keep the carry.
        let init = format!("0:rax={a}");
        let (r, overflow) = (a as i64).overflowing_add(1);
        check(&init, &["cmp rbx,1", "inc rax"], r as u64, overflow != (r < 0), true, overflow);
        let (r, overflow) = (a as i64).overflowing_sub(1);
        check(&init, &["cmp rbx,0", "dec rax"], r as u64, (a as i64) < 1, false, overflow);
    }
}

#[test]
fn flags_of_shifts() {
    for a in [0_u32, 1, 2, 0x4000_0000, 0x8000_0000, 0x8000_0001, u32::MAX] {
        for count in [0_u32, 1, 2, 31, 32, 33] {
            let k = count & 31;
            let last = |v: u64| u32::from(v & 1 != 0);
            let cases = [
                ("shl", a << k, if k > 0 { last(u64::from(a) >> (32 - k)) } else { 1 }),
                ("shr", a >> k, if k > 0 { last(u64::from(a) >> (k - 1)) } else { 1 }),
                (
                    "sar",
                    ((a as i32) >> k) as u32,
                    if k > 0 { last(((a as i32) >> (k - 1)) as u64) } else { 1 },
                ),
            ];
            for (op, r, carry) in cases {
                // The flags before: carry, and not zero.
                let zero = if k > 0 { u32::from(r == 0) } else { 0 };
                let expected = format!("0:EAX={}; 0:BL={carry}; 0:DL={zero};", r as i32);
                let init = format!("0:EAX={a};0:ECX={count}");
                let by_number = format!("{op} EAX,{count}");
                let by_register = format!("{op} EAX,CL");
                for shift in [&by_number, &by_register] {
                    let code = ["CMP ESI,1", shift, "SETC BL", "SETZ DL"];
                    check_sc("X86", &init, &code, "0:EAX;0:BL;0:DL", &expected);
                }
            }
        }
    }
}
