//! Texts with a fence in each place that there is, and with some.

use expect_test::{Expect, expect};
use weakspot_core::{Fence, PlacedFence};

use super::patches;
use crate::Format;

/// The text with full fences everywhere.
fn check(format: Format, text: &str, expected: Expect) {
    let found = patches(format, text).expect("a program");
    let all: Vec<PlacedFence> =
        (0..found.sites.len()).map(|place| PlacedFence { place, kind: Fence::Full }).collect();
    let patched = found.patched(&all);
    expected.assert_eq(&patched);
    crate::parse(format, &patched).expect("a program with fences");
    assert_eq!(text.matches("\r\n").count() > 0, !patched.replace("\r\n", "").contains('\n'));
    assert_eq!(found.patched(&[]), text);
}

#[test]
fn blocks_labels_and_loops_of_weak() {
    check(
        Format::Weak,
        "shared x, y
thread t {
    var r = 0
    x = 1 // first
    while (y == 0) {
        if (r == 0) { x = 2 } else {}
        again: r = y; r = r + 1
        loop { break; }
    }
    atomic { x = 1; y = 1 }
    choose { y = 2 } or {
        skip
    }
}
thread u { x = 2; var s = y }
",
        expect![[r#"
            shared x, y
            thread t {
                var r = 0
                x = 1 // first
                fence
                while (y == 0) {
                    fence
                    if (r == 0) { fence; x = 2; fence } else { fence }
                    fence
                    again: fence; r = y; fence; r = r + 1
                    fence
                    loop { fence; break; }
                    fence
                }
                fence
                atomic { x = 1; y = 1 }
                fence
                choose { fence; y = 2; fence } or {
                    fence
                    skip
                    fence
                }
            }
            thread u { x = 2; fence; var s = y }
        "#]],
    );
}

#[test]
fn what_is_never_reached_has_no_place() {
    check(
        Format::Weak,
        "shared x\nthread t { x = 1; stop; x = 2; x = 3 }\n",
        expect![[r#"
        shared x
        thread t { x = 1; fence; stop; x = 2; x = 3 }
    "#]],
    );
}

#[test]
fn line_ends_stay_as_they_are() {
    let text = "shared x\r\nthread t {\r\n\tx = 1\r\n\tx = 2\r\n}\r\n";
    let found = patches(Format::Weak, text).expect("a program");
    let all: Vec<PlacedFence> = (0..found.places.places.len())
        .map(|place| PlacedFence { place, kind: Fence::Full })
        .collect();
    let patched = found.patched(&all);
    assert!(patched.contains("\tx = 1\r\n\tfence\r\n\tx = 2\r\n"), "{patched:?}");
    assert_eq!(patched.matches('\n').count(), patched.matches("\r\n").count(), "{patched:?}");
}

#[test]
fn statements_of_memorax() {
    check(
        Format::Memorax,
        "forbidden A * *
data x = 0 : [0:2] y = 0 : [0:2]
process
registers $r = 0 : [0:2]
text
  START: write: x := 1;
  if $r = 0 then write: y := 1 else A: read: $r := y;
  while $r = 0 do { read: $r := y; write: x := 2 };
  either { write: x := 1 or read: x = 1; nop };
  locked { write: y := 2; read: $r := y };
  while $r = 0 do if $r = 1 then nop;
  goto START
process(2)
text write: y := 1; write: x := 2
",
        expect![[r#"
            forbidden A * *
            data x = 0 : [0:2] y = 0 : [0:2]
            process
            registers $r = 0 : [0:2]
            text
              START: fence; write: x := 1;
              fence;
              if $r = 0 then { fence; { write: y := 1 }; fence } else { fence; A: { fence; { read: $r := y } }; fence };
              fence;
              while $r = 0 do { fence; read: $r := y; fence; write: x := 2; fence };
              fence;
              either { fence; write: x := 1; fence or read: x = 1; fence; nop; fence };
              fence;
              locked { write: y := 2; read: $r := y };
              fence;
              while $r = 0 do { fence; { if $r = 1 then { fence; nop } }; fence };
              fence;
              goto START
            process(2)
            text write: y := 1; fence; write: x := 2
        "#]],
    );
}

#[test]
fn states_of_trencher() {
    check(
        Format::Trencher,
        "# a comment
thread t
initial q
final q_fenced
  transition q p write 1 0
  transition p q read r 1 transition p q_fenced check == r 0
  transition q a lock
  transition a b write 1 1
  transition b q unlock
end
",
        expect![[r#"
            # a comment
            thread t
            initial q
            final q_fenced
              transition q q_fenced2 mfence
              transition q_fenced2 p write 1 0
              transition p p_fenced mfence
              transition p_fenced q read r 1 transition p_fenced q_fenced check == r 0
              transition q_fenced2 a lock
              transition a b write 1 1
              transition b q unlock
            end
        "#]],
    );
}

#[test]
fn rows_of_litmus_tests() {
    check(
        Format::Litmus,
        "X86 T
{ x=0; y=0; }
 P0             | P1          ;
 MOV [x],$1     | MOV [y],$1  ;
 L0: MOV EAX,[y] |             ;
 CMP EAX,$0     | L1:         ;
 JE L0          | MOV EAX,[x] ;
exists (0:EAX=0)
",
        expect![[r#"
            X86 T
            { x=0; y=0; }
             P0             | P1          ;
             MOV [x],$1     | MOV [y],$1  ;
             MFENCE          |             ;
             L0: MFENCE      |             ;
                 MOV EAX,[y] |             ;
             MFENCE         | MFENCE      ;
             CMP EAX,$0     | L1:         ;
             MFENCE         | MFENCE      ;
             JE L0          | MOV EAX,[x] ;
            exists (0:EAX=0)
        "#]],
    );
}

#[test]
fn both_kinds_and_one_row() {
    let text = "X86 T\n{}\nP0|P1;\nMOV [x],$1|MOV [y],$1;\nMOV [y],$2|MOV EAX,[x];\nexists (x=1)\n";
    let found = patches(Format::Litmus, text).expect("a test");
    let fences = [
        PlacedFence { place: 0, kind: Fence::StoreStore },
        PlacedFence { place: 1, kind: Fence::Full },
    ];
    expect![[r#"
        X86 T
        {}
        P0|P1;
        MOV [x],$1|MOV [y],$1;
        SFENCE    |MFENCE     ;
        MOV [y],$2|MOV EAX,[x];
        exists (x=1)
    "#]]
    .assert_eq(&found.patched(&fences));
}

#[test]
fn litmus_tests_of_the_kernel() {
    check(
        Format::Litmus,
        "C SB
{}
P0(int *x, int *y)
{
	WRITE_ONCE(*x, 1);
	int r0 = READ_ONCE(*y);
	if (r0) WRITE_ONCE(*x, 2);
	while (READ_ONCE(*y) == 0) { WRITE_ONCE(*x, 3); }
}
P1(int *x, int *y) { WRITE_ONCE(*y, 1); int r0 = READ_ONCE(*x); }
exists (0:r0=0 /\\ 1:r0=0)
",
        expect![[r#"
            C SB
            {}
            P0(int *x, int *y)
            {
            	WRITE_ONCE(*x, 1);
            	smp_mb();
            	int r0 = READ_ONCE(*y);
            	smp_mb();
            	if (r0) { smp_mb(); WRITE_ONCE(*x, 2); }
            	smp_mb();
            	while (READ_ONCE(*y) == 0) { smp_mb(); WRITE_ONCE(*x, 3); }
            }
            P1(int *x, int *y) { WRITE_ONCE(*y, 1); smp_mb(); int r0 = READ_ONCE(*x); }
            exists (0:r0=0 /\ 1:r0=0)
        "#]],
    );
}

#[test]
fn litmus_tests_in_c11_and_for_risc_v() {
    check(
        Format::Litmus,
        "C SB
{}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
exists (0:r0=0)
",
        expect![[r#"
            C SB
            {}
            P0(atomic_int *x, atomic_int *y) {
              atomic_store_explicit(x, 1, memory_order_relaxed);
              atomic_thread_fence(memory_order_seq_cst);
              int r0 = atomic_load_explicit(y, memory_order_relaxed);
            }
            exists (0:r0=0)
        "#]],
    );
    check(
        Format::Litmus,
        "RISCV SB
{
0:x5=1; 0:x6=x; 0:x8=y;
}
 P0          ;
 sw x5,0(x6) ;
 lw x7,0(x8) ;
exists (0:x7=0)
",
        expect![[r#"
            RISCV SB
            {
            0:x5=1; 0:x6=x; 0:x8=y;
            }
             P0          ;
             sw x5,0(x6) ;
             fence rw,rw ;
             lw x7,0(x8) ;
            exists (0:x7=0)
        "#]],
    );
}
