use super::*;
use crate::format::Format;
use crate::picture::tests::draw_pictures;
use crate::run::replay::{Did, Replay, Stop};
use crate::run::sample::{Sample, run, sample, sb};
use expect_test::{Expect, expect};
use weakspot_core::machine::{Machine, Outcome, Step};
use weakspot_core::testing::{Rng, Size, random_program, scaled};
use weakspot_core::{Drain, axioms};

const STYLE: Style = Style { details: true, color: false, width: 100, proving: false };

fn check(sample: &Sample, model: Model, steps: &str, expected: Expect) {
    let Sample { program, names, source } = sample;
    let drawing = draw_run(program, names, source, model, &run(steps), STYLE);
    expected.assert_eq(&drawing);
}

#[test]
fn store_buffering() {
    check(
        &sb(),
        Model::Tso,
        "0 0 1 1 0x 1y",
        expect![[r#"
        A run of SB under TSO, time running downwards

        P0                                    │ P1                                    │ memory
        ──────────────────────────────────────┼───────────────────────────────────────┼────────
                                              │                                       │ x=0 y=0
        MOV [x],$1   buffers x=1 as (1)       │                                       │
        MOV EAX,[y]  reads y=0 from memory    │                                       │
                                              │ MOV [y],$1   buffers y=1 as (2)       │
                                              │ MOV EAX,[x]  reads x=0 from memory    │
        (1)          x=1 reaches memory,      │                                       │ x=1
                     overtaken by MOV EAX,[y] │                                       │
                                              │ (2)          y=1 reaches memory,      │ y=1
                                              │              overtaken by MOV EAX,[x] │

        Final state: 0:EAX=0; 1:EAX=0;
        P0's store x=1 (line 3) was still in its buffer when P0 loaded y (line 4).
        P1's store y=1 (line 3) was still in its buffer when P1 loaded x (line 4).

        SC cannot do this: each arrow means "comes before", and they form a cycle.
          P0  MOV [x],$1   -po->  program order of P0
          P0  MOV EAX,[y]  -fr->  read y=0, which the next overwrites
          P1  MOV [y],$1   -po->  program order of P1
          P1  MOV EAX,[x]  -fr->  read x=0, which the next overwrites
          P0  MOV [x],$1  (back at the start)
    "#]],
    );
    check(
        &sb(),
        Model::Tso,
        "0 0x 0 1 1 1y",
        expect![[r#"
        A run of SB under TSO, time running downwards

        P0                                 │ P1                                    │ memory
        ───────────────────────────────────┼───────────────────────────────────────┼────────
                                           │                                       │ x=0 y=0
        MOV [x],$1   writes x=1 to memory  │                                       │ x=1
        MOV EAX,[y]  reads y=0 from memory │                                       │
                                           │ MOV [y],$1   buffers y=1 as (1)       │
                                           │ MOV EAX,[x]  reads x=1 from memory    │
                                           │ (1)          y=1 reaches memory,      │ y=1
                                           │              overtaken by MOV EAX,[x] │

        Final state: 0:EAX=0; 1:EAX=1;
        SC allows the same: no thread can tell that stores were delayed.
    "#]],
    );
    check(
        &sb(),
        Model::Sc,
        "0 0 1 1",
        expect![[r#"
        A run of SB under SC, time running downwards

        P0                                │ P1                                │ memory
        ──────────────────────────────────┼───────────────────────────────────┼────────
                                          │                                   │ x=0 y=0
        MOV [x],$1   writes x=1 to memory │                                   │ x=1
        MOV EAX,[y]  reads y=0            │                                   │
                                          │ MOV [y],$1   writes y=1 to memory │ y=1
                                          │ MOV EAX,[x]  reads x=1            │

        Final state: 0:EAX=0; 1:EAX=1;
    "#]],
    );
}

#[test]
fn message_passing() {
    let mp = sample("MP", " MOV [x],$1 | MOV EAX,[y] ;\n MOV [y],$1 | MOV EBX,[x] ;");
    check(
        &mp,
        Model::Pso(Drain::All),
        "0 0 0y 1 1 0x",
        expect![[r#"
        A run of MP under PSO, time running downwards

        P0                                  │ P1                                 │ memory
        ────────────────────────────────────┼────────────────────────────────────┼────────
                                            │                                    │ x=0 y=0
        MOV [x],$1  buffers x=1 as (1)      │                                    │
        MOV [y],$1  writes y=1 to memory    │                                    │ y=1
                                            │ MOV EAX,[y]  reads y=1 from memory │
                                            │ MOV EBX,[x]  reads x=0 from memory │
        (1)         x=1 reaches memory,     │                                    │ x=1
                    overtaken by MOV [y],$1 │                                    │

        Final state: 0:EAX=0; 1:EAX=1;
        P0's store x=1 (line 3) was still in its buffer when its later store y=1 (line 4) reached memory.

        SC cannot do this: each arrow means "comes before", and they form a cycle.
          P0  MOV [x],$1   -po->  program order of P0
          P0  MOV [y],$1   -rf->  wrote y=1, which the next reads
          P1  MOV EAX,[y]  -po->  program order of P1
          P1  MOV EBX,[x]  -fr->  read x=0, which the next overwrites
          P0  MOV [x],$1  (back at the start)
    "#]],
    );
    let rows = " MOV [x],$1 | MOV EAX,[y] ;\n SFENCE | MOV EBX,[x] ;\n MOV [y],$1 ;";
    check(
        &sample("MP+sfence", rows),
        Model::Pso(Drain::All),
        "0 0 0 0x 0y 1 1",
        expect![[r#"
        A run of MP+sfence under PSO, time running downwards

        P0                                  │ P1                                 │ memory
        ────────────────────────────────────┼────────────────────────────────────┼────────
                                            │                                    │ x=0 y=0
        MOV [x],$1  buffers x=1 as (1)      │                                    │
        SFENCE      holds later stores back │                                    │
        MOV [y],$1  buffers y=1 as (2)      │                                    │
        (1)         x=1 reaches memory      │                                    │ x=1
        (2)         y=1 reaches memory      │                                    │ y=1
                                            │ MOV EAX,[y]  reads y=1 from memory │
                                            │ MOV EBX,[x]  reads x=1 from memory │

        Final state: 0:EAX=0; 1:EAX=1;
        SC allows the same: no thread can tell that stores were delayed.
    "#]],
    );
}

#[test]
fn own_buffer_fences_and_updates() {
    let rows = " MOV [x],$1  | MOV [y],$1 | MOV [z],$1 ;\n MOV EAX,[x] | MFENCE | XINC [x] ;\n MOV EBX,[y] | MOV EAX,[x] | ;\n MOV EBX,[z] ;";
    check(
        &sample("mix", rows),
        Model::Tso,
        "0 0 0 1 0 1y 2 1 2z 1 2 0x",
        expect![[r#"
            A run of mix under TSO, time running downwards

            P0                          │ P1                       │ P2                         │ memory
            ────────────────────────────┼──────────────────────────┼────────────────────────────┼────────────
                                        │                          │                            │ x=0 y=0 z=0
            MOV [x],$1                  │                          │                            │
              buffers x=1 as (1)        │                          │                            │
            MOV EAX,[x]                 │                          │                            │
              reads x=1 from its buffer │                          │                            │
              (1)                       │                          │                            │
            MOV EBX,[y]                 │                          │                            │
              reads y=0 from memory     │                          │                            │
                                        │ MOV [y],$1               │                            │
                                        │   buffers y=1 as (2)     │                            │
            MOV EBX,[z]                 │                          │                            │
              reads z=0 from memory     │                          │                            │
                                        │ (2) y=1 reaches memory   │                            │ y=1
                                        │                          │ MOV [z],$1                 │
                                        │                          │   buffers z=1 as (3)       │
                                        │ MFENCE                   │                            │
                                        │   finds its buffer empty │                            │
                                        │                          │ (3) z=1 reaches memory     │ z=1
                                        │ MOV EAX,[x]              │                            │
                                        │   reads x=0 from memory  │                            │
                                        │                          │ XINC [x]                   │ x=1
                                        │                          │   reads x=0 and writes x=1 │
                                        │                          │   at once                  │
            (1) x=1 reaches memory,     │                          │                            │ x=1
              overtaken by MOV EBX,[y]  │                          │                            │
              and 1 more                │                          │                            │

            Final state: 0:EAX=1; 1:EAX=0; 2:EAX=0;
            P0's store x=1 (line 3) was still in its buffer when P0 loaded y (line 5).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              P0  MOV [x],$1   -po->  program order of P0
              P0  MOV EBX,[y]  -fr->  read y=0, which the next overwrites
              P1  MOV [y],$1   -po->  program order of P1
              P1  MOV EAX,[x]  -fr->  read x=0, which the next overwrites
              P0  MOV [x],$1  (back at the start)
        "#]],
    );
}

#[test]
fn one_instruction_of_several_steps() {
    let rows = " INC [x] | MOV EAX,$2 ;\n NOP | INC [x] ;";
    check(
        &sample("INC", rows),
        Model::Tso,
        "0 0 1 1 0 1 1 1x 0x 0",
        expect![[r#"
        A run of INC under TSO, time running downwards

        P0                             │ P1                                │ memory
        ───────────────────────────────┼───────────────────────────────────┼───────
                                       │                                   │ x=0
        INC [x]  reads x=0 from memory │                                   │
                                       │ MOV EAX,$2  EAX=2                 │
                                       │ INC [x]     reads x=0 from memory │
        INC [x]  buffers x=1 as (1)    │                                   │
                                       │ INC [x]     writes x=1 to memory  │ x=1
        (1)      x=1 reaches memory    │                                   │ x=1
        NOP                            │                                   │

        Final state: 0:EAX=0; 1:EAX=2;
        SC allows the same: no thread can tell that stores were delayed.
    "#]],
    );
}

#[test]
fn atomic_blocks() {
    let rows = " LOCK | MOV [y],$1 ;\n MOV [x],$1 | MOV EAX,[x];\n MOV EAX,[y];\n UNLOCK ;";
    check(
        &sample("block", rows),
        Model::Tso,
        "0 0 0 0x 0 1 1 1y",
        expect![[r#"
        A run of block under TSO, time running downwards

        P0                                    │ P1                                    │ memory
        ──────────────────────────────────────┼───────────────────────────────────────┼────────
                                              │                                       │ x=0 y=0
        LOCK         takes the lock           │                                       │
        MOV [x],$1   buffers x=1 as (1)       │                                       │
        MOV EAX,[y]  reads y=0 from memory    │                                       │
        (1)          x=1 reaches memory,      │                                       │ x=1
                     overtaken by MOV EAX,[y] │                                       │
        UNLOCK       frees the lock           │                                       │
                                              │ MOV [y],$1   buffers y=1 as (2)       │
                                              │ MOV EAX,[x]  reads x=1 from memory    │
                                              │ (2)          y=1 reaches memory,      │ y=1
                                              │              overtaken by MOV EAX,[x] │

        Final state: 0:EAX=0; 1:EAX=1;
        SC allows the same: no thread can tell that stores were delayed.
    "#]],
    );
    check(
        &sample("block", rows),
        Model::Tso,
        "1 1 0 0 0 0x 0 1y",
        expect![[r#"
            A run of block under TSO, time running downwards

            P0                                    │ P1                                    │ memory
            ──────────────────────────────────────┼───────────────────────────────────────┼────────
                                                  │                                       │ x=0 y=0
                                                  │ MOV [y],$1   buffers y=1 as (1)       │
                                                  │ MOV EAX,[x]  reads x=0 from memory    │
            LOCK         takes the lock           │                                       │
            MOV [x],$1   buffers x=1 as (2)       │                                       │
            MOV EAX,[y]  reads y=0 from memory    │                                       │
            (2)          x=1 reaches memory,      │                                       │ x=1
                         overtaken by MOV EAX,[y] │                                       │
            UNLOCK       frees the lock           │                                       │
                                                  │ (1)          y=1 reaches memory,      │ y=1
                                                  │              overtaken by MOV EAX,[x] │

            Final state: 0:EAX=0; 1:EAX=0;
            P1's store y=1 (line 3) was still in its buffer when P1 loaded x (line 4).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              P1  MOV [y],$1   -po->      program order of P1
              P1  MOV EAX,[x]  -fr->      read x=0, which the next overwrites
              P0  MOV [x],$1   -atomic->  in one atomic block with the next
              P0  MOV EAX,[y]  -fr->      read y=0, which the next overwrites
              P1  MOV [y],$1  (back at the start)
        "#]],
    );
}

#[test]
fn many_threads() {
    let rows = " MOV [x],$1 | MOV EAX,[x] | MOV EAX,[y] | MOV [y],$1 | NOP ;\n MOV EAX,[y] | MOV EBX,[y] | MOV EBX,[x] | MOV EAX,[x] | MOV [z],$1 ;";
    check(
        &sample("IRIW", rows),
        Model::Tso,
        "0 0 3 3 4 4 4z 0x 1 1 2 2 3y",
        expect![[r#"
            A run of IRIW under TSO, time running downwards

            thread  step                                  │ memory
            ──────────────────────────────────────────────┼────────────
                                                          │ x=0 y=0 z=0
            P0      MOV [x],$1   buffers x=1 as (1)       │
            P0      MOV EAX,[y]  reads y=0 from memory    │
            P3      MOV [y],$1   buffers y=1 as (2)       │
            P3      MOV EAX,[x]  reads x=0 from memory    │
            P4      NOP                                   │
            P4      MOV [z],$1   writes z=1 to memory     │ z=1
            P0      (1)          x=1 reaches memory,      │ x=1
                                 overtaken by MOV EAX,[y] │
            P1      MOV EAX,[x]  reads x=1 from memory    │
            P1      MOV EBX,[y]  reads y=0 from memory    │
            P2      MOV EAX,[y]  reads y=0 from memory    │
            P2      MOV EBX,[x]  reads x=1 from memory    │
            P3      (2)          y=1 reaches memory,      │ y=1
                                 overtaken by MOV EAX,[x] │

            Final state: 0:EAX=0; 1:EAX=1; 2:EAX=0; 3:EAX=0; 4:EAX=0;
            P0's store x=1 (line 3) was still in its buffer when P0 loaded y (line 4).
            P3's store y=1 (line 3) was still in its buffer when P3 loaded x (line 4).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              P0  MOV [x],$1   -po->  program order of P0
              P0  MOV EAX,[y]  -fr->  read y=0, which the next overwrites
              P3  MOV [y],$1   -po->  program order of P3
              P3  MOV EAX,[x]  -fr->  read x=0, which the next overwrites
              P0  MOV [x],$1  (back at the start)
        "#]],
    );
    let rows =
        " MOV [x],$1 | MOV [y],$1 | MOV [z],$1 ;\n MOV EAX,[y] | MOV EAX,[z] | MOV EAX,[x] ;";
    check(
        &sample("3.SB", rows),
        Model::Tso,
        "0 0 1 1 2 2 0x 1y 2z",
        expect![[r#"
            A run of 3.SB under TSO, time running downwards

            P0                         │ P1                         │ P2                         │ memory
            ───────────────────────────┼────────────────────────────┼────────────────────────────┼────────────
                                       │                            │                            │ x=0 y=0 z=0
            MOV [x],$1                 │                            │                            │
              buffers x=1 as (1)       │                            │                            │
            MOV EAX,[y]                │                            │                            │
              reads y=0 from memory    │                            │                            │
                                       │ MOV [y],$1                 │                            │
                                       │   buffers y=1 as (2)       │                            │
                                       │ MOV EAX,[z]                │                            │
                                       │   reads z=0 from memory    │                            │
                                       │                            │ MOV [z],$1                 │
                                       │                            │   buffers z=1 as (3)       │
                                       │                            │ MOV EAX,[x]                │
                                       │                            │   reads x=0 from memory    │
            (1) x=1 reaches memory,    │                            │                            │ x=1
              overtaken by MOV EAX,[y] │                            │                            │
                                       │ (2) y=1 reaches memory,    │                            │ y=1
                                       │   overtaken by MOV EAX,[z] │                            │
                                       │                            │ (3) z=1 reaches memory,    │ z=1
                                       │                            │   overtaken by MOV EAX,[x] │

            Final state: 0:EAX=0; 1:EAX=0; 2:EAX=0;
            P0's store x=1 (line 3) was still in its buffer when P0 loaded y (line 4).
            P1's store y=1 (line 3) was still in its buffer when P1 loaded z (line 4).
            P2's store z=1 (line 3) was still in its buffer when P2 loaded x (line 4).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              P0  MOV [x],$1   -po->  program order of P0
              P0  MOV EAX,[y]  -fr->  read y=0, which the next overwrites
              P1  MOV [y],$1   -po->  program order of P1
              P1  MOV EAX,[z]  -fr->  read z=0, which the next overwrites
              P2  MOV [z],$1   -po->  program order of P2
              P2  MOV EAX,[x]  -fr->  read x=0, which the next overwrites
              P0  MOV [x],$1  (back at the start)
        "#]],
    );
}

#[test]
fn runs_that_do_not_end() {
    let rows = " MOV [x],$1 | MOV EAX,[x] ;\n MOV EAX,[y] | ASSERT EAX ;";
    check(
        &sample("assert", rows),
        Model::Tso,
        "0 0 1 1 1",
        expect![[r#"
        A run of assert under TSO, time running downwards

        P0                                 │ P1                                 │ memory
        ───────────────────────────────────┼────────────────────────────────────┼────────
                                           │                                    │ x=0 y=0
        MOV [x],$1   buffers x=1 as (1)    │                                    │
        MOV EAX,[y]  reads y=0 from memory │                                    │
                                           │ MOV EAX,[x]  reads x=0 from memory │
                                           │ ASSERT EAX   fails                 │

        The run fails (line 4): the assertion does not hold
        At the end (1) x=1 is still in the buffer of P0.
        SC allows the same: no thread can tell that stores were delayed.
    "#]],
    );
    let rows = " MOV [x],$1 | MOV EAX,[7] ;\n MOV EAX,[y] ;";
    check(
        &sample("fault", rows),
        Model::Tso,
        "0 0 1",
        expect![[r#"
        A run of fault under TSO, time running downwards

        P0                                 │ P1                 │ memory
        ───────────────────────────────────┼────────────────────┼────────
                                           │                    │ x=0 y=0
        MOV [x],$1   buffers x=1 as (1)    │                    │
        MOV EAX,[y]  reads y=0 from memory │                    │
                                           │ MOV EAX,[7]  fails │

        The run fails (line 3): load from address 7, where no location is declared
        At the end (1) x=1 is still in the buffer of P0.
        SC allows the same: no thread can tell that stores were delayed.
    "#]],
    );
    check(
        &sb(),
        Model::Tso,
        "0 0 0y",
        expect![[r#"
            A run of SB under TSO, time running downwards

            P0                                 │ P1 │ memory
            ───────────────────────────────────┼────┼────────
                                               │    │ x=0 y=0
            MOV [x],$1   buffers x=1 as (1)    │    │
            MOV EAX,[y]  reads y=0 from memory │    │

            step 3 is not possible: the run does not fit the program
            At the end (1) x=1 is still in the buffer of P0.
        "#]],
    );
    check(
        &sb(),
        Model::Tso,
        "",
        expect![[r#"
            A run of SB under TSO, time running downwards

            P0 │ P1 │ memory
            ───┼────┼────────────
               │    │ x=0 y=0 z=0

            SC allows the same.
        "#]],
    );
    check(
        &sb(),
        Model::Tso,
        "7",
        expect![[r#"
            A run of SB under TSO, time running downwards

            P0 │ P1 │ memory
            ───┼────┼────────────
               │    │ x=0 y=0 z=0

            step 1 is not possible: the run does not fit the program
        "#]],
    );
}

#[test]
fn colours() {
    let Sample { program, names, source } = &sb();
    let schedule = run("0 0 0x 1 1y 1");
    let drawing =
        draw_run(program, names, source, Model::Tso, &schedule, Style { color: true, ..STYLE });
    expect![[r#"
        ^[1mA run of SB under TSO^[0m, time running downwards

        ^[1mP0^[0m                                    ^[2m│^[0m ^[1mP1^[0m                                 ^[2m│^[0m ^[1mmemory^[0m
        ^[2m──────────────────────────────────────┼────────────────────────────────────┼────────^[0m
                                              ^[2m│^[0m                                    ^[2m│^[0m ^[32mx=0 y=0^[0m
        MOV [x],$1   buffers x=1 as (1)       ^[2m│^[0m                                    ^[2m│^[0m
        MOV EAX,[y]  reads y=0 from memory    ^[2m│^[0m                                    ^[2m│^[0m
        ^[33m(1)          x=1 reaches memory,^[0m      ^[2m│^[0m                                    ^[2m│^[0m ^[32mx=1^[0m
        ^[33m             overtaken by MOV EAX,[y]^[0m ^[2m│^[0m                                    ^[2m│^[0m
                                              ^[2m│^[0m MOV [y],$1   writes y=1 to memory  ^[2m│^[0m ^[32my=1^[0m
                                              ^[2m│^[0m MOV EAX,[x]  reads x=1 from memory ^[2m│^[0m

        Final state: 0:EAX=0; 1:EAX=1;
        SC allows the same: no thread can tell that stores were delayed.
    "#]].assert_eq(&drawing.replace('\x1b', "^"));
    let plain = draw_run(program, names, source, Model::Tso, &schedule, STYLE);
    let mut stripped = drawing;
    for code in ["0", "1", "2", "32", "33"] {
        stripped = stripped.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(stripped, plain);
}

/// Texts of all kinds: names that point to locations, wide and forbidden characters, long
/// instructions, no source at all, places with names.
#[test]
fn names_and_texts() {
    let mut odd = sb();
    odd.source = odd.source.replace("MOV [x],$1", "MOV\t[x]\u{1b}1");
    odd.names.locs[0] = "変数\u{7}".to_owned();
    odd.names.threads[1] = "the second thread".to_owned();
    odd.names.addresses_are_symbolic = true;
    check(
        &odd,
        Model::Tso,
        "0 0 1 1 0x 1y",
        expect![[r#"
            A run of SB under TSO, time running downwards

            P0                                      │ the second thread                     │ memory
            ────────────────────────────────────────┼───────────────────────────────────────┼────────────
                                                    │                                       │ 変数�=0 y=0
            MOV [x]�1   buffers 変数�=変数� as (1)  │                                       │
            OV EAX,[y]  reads y=0 from memory       │                                       │
                                                    │ OV [y],$1   buffers y=変数� as (2)    │
                                                    │ OV EAX,[x]  reads 変数�=0 from memory │
            (1)         変数�=変数� reaches memory, │                                       │ 変数�=変数�
                        overtaken by OV EAX,[y]     │                                       │
                                                    │ (2)         y=変数� reaches memory,   │ y=変数�
                                                    │             overtaken by OV EAX,[x]   │

            Final state: 0:EAX=0; 1:EAX=0;
            P0's store 変数�=変数� (line 3) was still in its buffer when P0 loaded y (line 4).
            the second thread's store y=変数� (line 3) was still in its buffer when the second thread loaded
            変数� (line 4).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              P0                 MOV [x]�1   -po->  program order of P0
              P0                 OV EAX,[y]  -fr->  read y=0, which the next overwrites
              the second thread  OV [y],$1   -po->  program order of the second thread
              the second thread  OV EAX,[x]  -fr->  read 変数�=0, which the next overwrites
              P0                 MOV [x]�1  (back at the start)
        "#]],
    );
    odd.source.clear();
    odd.names.points = vec![vec![String::new(), "half".to_owned()], vec!["start".to_owned()]];
    check(
        &odd,
        Model::Tso,
        "0",
        expect![[r#"
        A run of SB under TSO, time running downwards

        P0                                         │ the second thread │ memory
        ───────────────────────────────────────────┼───────────────────┼────────
                                                   │                   │ 変数�=0
        変数� := 変数�  buffers 変数�=変数� as (1) │                   │

        The run ends with P0 at half, the second thread at start.
        At the end (1) 変数�=変数� is still in the buffer of P0.
        SC allows the same: no thread can tell that stores were delayed.
    "#]],
    );
    odd.names = Names::default();
    check(
        &odd,
        Model::Tso,
        "0 0 1 1 0x 1y",
        expect![[r#"
        A run under TSO, time running downwards

        P0                                 │ P1                                 │ memory
        ───────────────────────────────────┼────────────────────────────────────┼────────────
                                           │                                    │ [1]=0 [2]=0
        [1] := 1   buffers [1]=1 as (1)    │                                    │
        r0 := [2]  reads [2]=0 from memory │                                    │
                                           │ [2] := 1   buffers [2]=1 as (2)    │
                                           │ r0 := [1]  reads [1]=0 from memory │
        (1)        [1]=1 reaches memory,   │                                    │ [1]=1
                   overtaken by r0 := [2]  │                                    │
                                           │ (2)        [2]=1 reaches memory,   │ [2]=1
                                           │            overtaken by r0 := [1]  │

        P0's store [1]=1 was still in its buffer when P0 loaded [2].
        P1's store [2]=1 was still in its buffer when P1 loaded [1].

        SC cannot do this: each arrow means "comes before", and they form a cycle.
          P0  [1] := 1   -po->  program order of P0
          P0  r0 := [2]  -fr->  read [2]=0, which the next overwrites
          P1  [2] := 1   -po->  program order of P1
          P1  r0 := [1]  -fr->  read [1]=0, which the next overwrites
          P0  [1] := 1  (back at the start)
    "#]],
    );
}

/// Random runs of random programs: nothing panics, the cycle is one, and whenever SC does not
/// allow the run some store of the cycle was delayed.
#[test]
fn random_runs() {
    let mut non_sc = 0;
    for seed in 0..scaled(16_000) as u64 {
        let mut rng = Rng::new(seed);
        let size = Size { threads: 4, instrs: 6, total: 14, locs: 3, loops: seed % 2 == 0 };
        let program = random_program(&mut rng, size);
        let model = Model::ALL[rng.below(4)];
        let machine = Machine { program: &program, model };
        let starts = machine.initial_states();
        let mut state = starts[rng.below(starts.len())].clone();
        let init = program.locs.iter().map(|l| state.memory[&l.addr]).collect();
        let mut schedule = Schedule { init, steps: Vec::new() };
        for _ in 0..60 {
            let mut steps = machine.steps(&state);
            // Commits late, for the sake of reorderings.
            if !rng.one_in(8) && steps.iter().any(|s| matches!(s, Step::Execute { .. })) {
                steps.retain(|s| matches!(s, Step::Execute { .. }));
            }
            if steps.is_empty() {
                break;
            }
            let step = steps[rng.below(steps.len())];
            match machine.take(&state, step) {
                Outcome::Next(next) => state = next,
                Outcome::Blocked if !rng.one_in(200) => continue,
                Outcome::Blocked | Outcome::Failed(_) => {
                    schedule.steps.push(step);
                    break;
                }
            }
            schedule.steps.push(step);
        }
        let names = Names::default();
        let drawing = draw_run(&program, &names, "", model, &schedule, STYLE);
        let show = Show { file: "", program: &program, names: &names, source: "" };
        let object = of_schedule(show, model, &schedule, true).unwrap();
        let object = serde_json::json!({ "name": "random", "run": object }).to_string();
        let dot = draw_pictures(Format::Dot, &object);
        let run = Replay::of(&program, model, &schedule).unwrap();
        if matches!(run.stop, Stop::Impossible(_)) {
            continue;
        }
        assert_eq!(run.overtakers(), overtakers_by_definition(&run), "seed {seed}");
        let cycle = run.cycle();
        assert_eq!(cycle.is_none(), axioms::allows(Model::Sc, &run.execution), "seed {seed}");
        if let Some(cycle) = cycle {
            non_sc += 1;
            for (i, arc) in cycle.iter().enumerate() {
                assert_eq!(arc.to, cycle[(i + 1) % cycle.len()].from, "seed {seed}");
            }
            assert!(drawing.contains("was still in its buffer when"), "seed {seed}\n{drawing}");
            assert!(dot.contains("penwidth=2"), "seed {seed}\n{dot}");
        }
    }
    assert!(non_sc > scaled(200), "only {non_sc}");
}

/// For each store the first later access of its thread that takes effect before it.
fn overtakers_by_definition(run: &Replay<'_>) -> Vec<(usize, usize)> {
    let effect = |i: usize| match run.steps[i].did {
        Did::Store { commit, .. } => commit.unwrap_or(usize::MAX),
        _ => i,
    };
    let stores = (0..run.steps.len()).filter(|&i| matches!(run.steps[i].did, Did::Store { .. }));
    let first = |store: usize| {
        let overtakes = |&i: &usize| {
            run.steps[i].thread == run.steps[store].thread
                && effect(i) < effect(store)
                && match run.steps[i].did {
                    Did::Load { own, .. } => own.is_none(),
                    Did::Store { .. } | Did::Update { .. } => true,
                    _ => false,
                }
        };
        Some((store, (store + 1..run.steps.len()).find(overtakes)?))
    };
    stores.filter_map(first).collect()
}

/// Ten thousand stores wait until a load is done: what is folded is not worked out.
#[test]
fn a_long_run_is_drawn_in_time() {
    const STORES: usize = 10_000;
    let sample = sample("long", &format!("{}MOV EAX,[y] ;\n", "MOV [x],$1 ;\n".repeat(STORES)));
    let steps = format!("{}0 {}", "0 ".repeat(STORES), "0x ".repeat(STORES));
    let Sample { program, names, source } = &sample;
    let since = std::time::Instant::now();
    let drawing = draw_run(program, names, source, Model::Tso, &run(steps.trim()), STYLE);
    assert!(since.elapsed() < std::time::Duration::from_secs(5), "{:?}", since.elapsed());
    for part in [
        "... 19,961 steps of P0 ...",
        "overtaken by MOV EAX,[y]",
        "SC allows the same: no thread can tell that stores were delayed.",
    ] {
        assert!(drawing.contains(part), "{part}\n{drawing}");
    }
}
