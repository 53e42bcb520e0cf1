//! The edges that instructions become: as few as can be.

use super::*;
use crate::test_support::show_instr;

/// The edges of one thread, from point to point.
fn check(arch: &str, init: &str, code: &[&str], rest: &str, expected: &[&str]) {
    let text = one_thread(arch, init, code, rest);
    let parsed = LITMUS.accept(&text);
    let names = &parsed.names;
    let mut found = Vec::new();
    for (p, point) in parsed.program.threads[0].points.iter().enumerate() {
        for edge in &point.edges {
            let span = &text[edge.span.start as usize..edge.span.end as usize];
            assert!(code.iter().any(|c| c.ends_with(span)), "{span}");
            let shown = show_instr(&parsed, 0, &edge.instr);
            found.push(format!("{p}-{} {shown}", edge.to.index()));
        }
    }
    assert_eq!(found, expected, "{text}");
    assert_eq!(names.regs[0].len(), parsed.program.threads[0].regs.len());
    assert_eq!(names.points[0].len(), parsed.program.threads[0].points.len());
}

#[test]
fn one_edge_each() {
    check(
        "X86",
        "",
        &[
            "MOV [x],$1",
            "MOV EAX,[y]",
            "MOV EBX,EAX",
            "MOV [y],EBX",
            "MFENCE",
            "SFENCE",
            "LFENCE",
            "NOP",
        ],
        "",
        &[
            "0-1 [x] := 1",
            "1-2 EAX := [y]",
            "2-3 EBX := EAX",
            "3-4 [y] := EBX",
            "4-5 fence",
            "5-6 fence.ss",
            "6-7 nop",
            "7-8 nop",
        ],
    );
    check(
        "X86_64",
        "",
        &["movl $-1,(x)", "movl (x),%eax", "movl %eax,(y)", "movq (z),%rbx", "movq %rbx,(z)"],
        "",
        &[
            "0-1 [x] := 4294967295",
            "1-2 rax := [x]",
            "2-3 [y] := rax",
            "3-4 rbx := [z]",
            "4-5 [z] := rbx",
        ],
    );
    check(
        "X86",
        "0:EAX=x",
        &["MOV [EAX],$1", "MOV EBX,[EAX]"],
        "",
        &["0-1 [x] := 1", "1-2 EBX := [x]"],
    );
    check("X86", "", &["MOV EAX,$1", "XCHG [x],EAX"], "", &["0-1 EAX := 1", "1-2 EAX := [x] := 1"]);
    check("X86", "", &["LOCK INC [x]"], "", &["0-1 scratch := [x] := u32((scratch + 1))"]);
    check("X86_64", "", &["lock incq (x)"], "", &["0-1 scratch := [x] := (scratch + 1)"]);
    check("X86_64", "0:rax=1", &["lock xaddq (x),%rax"], "", &["0-1 rax := [x] := (rax + 1)"]);
    check(
        "X86",
        "0:ECX=1",
        &["LOCK CMPXCHG [x],ECX"],
        "",
        &["0-1 EAX := [x] := ((0 == EAX) ? 1 : EAX)"],
    );
    check("X86", "", &["CMP EAX,$1", "NOP"], "", &["0-1 nop", "1-2 nop"]);
}

#[test]
fn several_edges() {
    check("X86", "", &["INC [x]"], "", &["0-2 scratch := [x]", "2-1 [x] := u32((scratch + 1))"]);
    check("X86", "", &["ADD EAX,[x]"], "", &["0-2 scratch := [x]", "2-1 EAX := scratch"]);
    check(
        "X86",
        "",
        &["MOV EAX,[y]", "XCHG [x],EAX"],
        "",
        &["0-1 EAX := [y]", "1-3 scratch := [x] := EAX", "3-2 EAX := scratch"],
    );
    check(
        "X86",
        "0:ECX=1",
        &["CMPXCHG [x],ECX"],
        "",
        &[
            "0-2 scratch := [x]",
            "2-3 assume (0 == scratch)",
            "2-4 assume (0 != scratch)",
            "3-1 [x] := 1",
            "4-1 EAX := scratch",
        ],
    );
    // A location of which a part is read.
    check(
        "X86_64",
        "",
        &["movq $1,(x)", "movl (x),%eax"],
        "",
        &["0-1 [x] := 1", "1-2 rax := [x@0-3]"],
    );
    check("X86_64", "", &["movb (x),%al"], "", &["0-2 scratch := [x]", "2-1 rax := scratch"]);
}

#[test]
fn flags_only_where_they_are_read() {
    check(
        "X86",
        "",
        &["L: MOV EAX,[x]", "CMP EAX,$1", "JNE L"],
        "",
        &["0-1 EAX := [x]", "1-2 zf := (EAX == 1)", "2-0 assume !zf", "2-3 assume zf"],
    );
    check(
        "X86",
        "x=-1",
        &["MOV EAX,[x]", "ADD EAX,$1", "CMP EAX,$1", "JL E", "INC EAX", "E:"],
        "",
        &[
            "0-1 EAX := [x]",
            "1-2 EAX := u32((EAX + 1))",
            "2-3 sf!=of := (i32(EAX) < 1)",
            "3-5 assume sf!=of",
            "3-4 assume !sf!=of",
            "4-5 EAX := u32((EAX + 1))",
        ],
    );
    check(
        "X86",
        "0:ECX=1",
        &["L: LOCK CMPXCHG [x],ECX", "JNZ L", "RET", "NOP"],
        "",
        &[
            "0-5 scratch := [x] := ((EAX == scratch) ? ECX : scratch)",
            "1-0 assume !zf",
            "1-2 assume zf",
            "2-4 nop",
            "3-4 nop",
            "5-6 zf := (EAX == scratch)",
            "6-1 EAX := scratch",
        ],
    );
}

#[test]
fn memory() {
    let parsed =
        LITMUS.accept("X86_64 T\n{ y=2; int t[2]={3,-4}; p=y; }\nP0;\nmovl $1,(x);\nexists z=1");
    assert_eq!(parsed.names.locs, ["y", "t[0]", "t[1]", "p", "x", "z"]);
    let locs: Vec<(i64, i64)> = parsed.program.locs.iter().map(|l| (l.addr, l.init[0])).collect();
    let base = 0x3a5c_7000;
    assert_eq!(
        locs,
        [
            (base, 2),
            (base + 0x1000, 3),
            (base + 0x1004, 0xffff_fffc),
            (base + 0x2000, base),
            (base + 0x3000, 0),
            (base + 0x4000, 0),
        ]
    );
    assert!(parsed.program.locs.windows(2).all(|w| w[0].addr < w[1].addr));
}

#[test]
fn names_of_points() {
    let parsed = LITMUS.accept("X86 T\n{}\nP0;\nL0: NOP;\nL1:;\nL2: NOP;\nE:;\n");
    assert_eq!(parsed.names.points, [["L0", "L1,L2", "E"]]);
}
