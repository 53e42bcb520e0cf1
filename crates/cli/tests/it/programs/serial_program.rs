//! `weakspot serial` on programs.

use std::path::PathBuf;

use expect_test::{Expect, expect};

use crate::{run, transcript};

fn check(args: &[&str], stdin: &str, expected: Expect) {
    expected.assert_eq(&transcript(args, stdin));
}

#[test]
fn task_pool() {
    check(
        &["serial", "corpus/programs/task-pool.weak"],
        "",
        expect![[r#"
            corpus/programs/task-pool.weak SC: serializable: all executions (35 states searched)
            corpus/programs/task-pool.weak TSO: not serializable: an execution has a cycle through 4 transactions
              note: under SC it is serializable

            A run of task-pool under TSO, time running downwards

            first                             │ last                       │ memory
            ──────────────────────────────────┼────────────────────────────┼──────────────
                                              │                            │ head=0 tail=1
            transaction                       │                            │
                                              │ transaction                │
            1. h = head                       │                            │
              reads head=0 from memory        │                            │
            2. head = h + 1                   │                            │
              buffers head=1 as (1)           │                            │
            transaction                       │                            │
            3. if (h + 1 <= tail)             │                            │
              reads tail=1 from memory        │                            │
                                              │ 4. l = tail                │
                                              │   reads tail=1 from memory │
                                              │ 5, 6. tail = l - 1         │ tail=0
                                              │   writes tail=0 to memory  │
                                              │ transaction                │
                                              │ 7. if (head <= l - 1)      │
                                              │   reads head=0 from memory │
            (1) 8. head=1 reaches memory,     │                            │ head=1
              overtaken by if (h + 1 <= tail) │                            │

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ first events 1 to 2 ────┐
              │ 1. rd head  at line 15  │
              │ 8. com head  at line 16 │
              └─────────────────────────┘
                ↓ 1 before 3: program order of first
              ┌ first event 3 ──────────┐
              │ 3. rd tail  at line 19  │
              └─────────────────────────┘
                ↓ 3 before 6: first reads tail before last changes it
              ┌ last events 4 to 5 ─────┐
              │ 4. rd tail  at line 29  │
              │ 6. com tail  at line 30 │
              └─────────────────────────┘
                ↓ 4 before 7: program order of last
              ┌ last event 7 ───────────┐
              │ 7. rd head  at line 33  │
              └─────────────────────────┘
                ↓ back to the first: 7 before 8: last reads head before first changes it
              A fence in first between line 16 and line 19 would be in the way.
            --- exit 1
        "#]],
    );
    check(
        &["serial", "corpus/programs/task-pool-fenced.weak"],
        "",
        expect![[r#"
            corpus/programs/task-pool-fenced.weak SC: serializable: all executions (50 states searched)
            corpus/programs/task-pool-fenced.weak TSO: serializable: all executions, because the program is robust and serializable under SC (86 states searched)
              note: TSO: by search; a second search as a check would take too long
            --- exit 0
        "#]],
    );
    check(
        &["serial", "--model", "tso", "--fence-transactions", "corpus/programs/task-pool.weak"],
        "",
        expect![[r#"
            corpus/programs/task-pool.weak TSO: serializable with the fences: all executions, because the program is robust and serializable under SC (87 states searched)
              2 fences added; without: not serializable
              fence in first at the end of the transaction of line 14
              fence in last at the end of the transaction of line 28
              note: TSO: by search; a second search as a check would take too long
            --- exit 0
        "#]],
    );
    check(
        &["serial", "--model", "tso", "--format", "dot", "corpus/programs/task-pool.weak"],
        "",
        expect![[r##"
            digraph execution {
              // neato -n2 -Tpdf
              graph [fontname="monospace", fontsize=9, splines=line];
              node [shape=box, fontname="monospace", fontsize=9, fixedsize=true];
              edge [fontname="monospace", fontsize=8, arrowsize=0.6];
              title [shape=plaintext, label="task-pool under TSO", pos="64.0,417.0", width=1.53, height=0.15, fontcolor="#000000"];
              init [shape=plaintext, label="initially head=0 tail=1", pos="75.0,405.8", width=1.83, height=0.15, fontcolor="#555555"];
              t0 [shape=plaintext, label="first", pos="82.2,374.2", width=0.46, height=0.15, fontcolor="#000000"];
              t1 [shape=plaintext, label="last", pos="283.5,374.2", width=0.39, height=0.15, fontcolor="#000000"];
              e0 [label="R head=0\nh = head", pos="82.2,344.2", width=1.76, height=0.40, color="#777777"];
              e1 [label="W head=1\nhead = h + 1", pos="82.2,296.2", width=1.76, height=0.40, penwidth=2];
              e2 [label="R tail=1\nif (h + 1 <= tail)", pos="82.2,248.2", width=1.76, height=0.40, penwidth=2];
              e3 [label="R tail=1\nl = tail", pos="283.5,200.2", width=1.54, height=0.40, color="#777777"];
              e4 [label="W tail=0\ntail = l - 1", pos="283.5,152.2", width=1.54, height=0.40, penwidth=2];
              e5 [label="R head=0\nif (head <= l - 1)", pos="283.5,104.2", width=1.54, height=0.40, penwidth=2];
              e6 [label="head=1 reaches memory", pos="82.2,61.9", width=1.76, height=0.24, style=dashed, color="#b35806"];
              b0 [label="", pos="13.9,179.1", width=0.05, height=3.26, style=filled, color="#fdb863"];
              e1 -> e2 [color="#222222", fontcolor="#222222", penwidth=2, label="1 po", lp="96.0,272.2", pos="e,82.2,262.5 82.2,282.0 82.2,277.5 82.2,273.0 82.2,268.5"];
              e2 -> e4 [color="#b35806", fontcolor="#b35806", penwidth=2, label="2 fr", lp="197.8,209.6", pos="e,228.2,152.2 145.7,248.2 171.7,218.1 198.4,187.0 224.3,156.8"];
              e4 -> e5 [color="#222222", fontcolor="#222222", penwidth=2, label="3 po", lp="297.3,128.2", pos="e,283.5,118.5 283.5,138.0 283.5,133.5 283.5,129.0 283.5,124.5"];
              e5 -> e6 [color="#b35806", fontcolor="#b35806", penwidth=2, label="4 fr", lp="192.6,72.1", pos="e,145.7,61.9 228.2,104.2 202.8,91.2 176.5,77.7 151.1,64.6"];
              e0 -> e6 [color="#b35806", fontcolor="#b35806", label="fr", lp="160.5,205.3", pos="e,145.7,66.4 145.7,344.2 147.7,344.2 149.7,344.2 151.7,344.2 151.7,252.6 151.7,158.1 151.7,66.4 151.7,66.4 151.7,66.4 151.7,66.4"];
              e3 -> e4 [color="#b35806", fontcolor="#b35806", label="fr", lp="353.5,176.2", pos="e,338.8,152.2 338.8,200.2 340.8,200.2 342.8,200.2 344.8,200.2 344.8,184.4 344.8,168.1 344.8,152.2 344.8,152.2 344.8,152.2 344.8,152.2"];
              e0 -> e1 [color="#222222", fontcolor="#222222", pos="e,82.2,310.5 82.2,330.0 82.2,325.5 82.2,321.0 82.2,316.5"];
              e3 -> e4 [color="#222222", fontcolor="#222222", pos="e,283.5,166.5 283.5,186.0 283.5,181.5 283.5,177.0 283.5,172.5"];
              l0 [shape=plaintext, label="po: program order", pos="58.5,33.8", width=1.38, height=0.15, fontcolor="#222222"];
              l1 [shape=plaintext, label="fr: read what is overwritten by", pos="96.9,22.5", width=2.44, height=0.15, fontcolor="#b35806"];
              lb [shape=plaintext, label="bar: a store waits in its buffer", pos="99.6,11.2", width=2.52, height=0.15, fontcolor="#b35806"];
            }
            --- exit 1
        "##]],
    );
}

/// The two programs after theorem 2.
#[test]
fn theorem_2() {
    check(
        &["serial", "-q", "corpus/programs/serial-not-robust.weak"],
        "",
        expect![[r#"
            corpus/programs/serial-not-robust.weak SC: serializable: all executions (13 states searched)
            corpus/programs/serial-not-robust.weak TSO: serializable: all executions (55 states searched)
            --- exit 0
        "#]],
    );
    check(
        &["serial", "corpus/programs/serial-not-sc.weak"],
        "",
        expect![[r#"
            corpus/programs/serial-not-sc.weak SC: not serializable: an execution has a cycle through 3 transactions

            A run of serial-not-sc under SC, time running downwards

            left                           │ right                          │ memory
            ───────────────────────────────┼────────────────────────────────┼────────
                                           │                                │ x=0 y=0
            transaction                    │                                │
                                           │ transaction                    │
                                           │ 1. r = x  reads x=0            │
                                           │ assume(r == 0)                 │
            2. x = 1  writes x=1 to memory │                                │ x=1
            transaction                    │                                │
            3. r = y  reads y=0            │                                │
            assume(r == 0)                 │                                │
                                           │ 4. y = 1  writes y=1 to memory │ y=1

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ right events 1 to 4 ──┐
              │ 1. rd x  at line 23   │
              │ 4. wr y  at line 25   │
              └───────────────────────┘
                ↓ 1 before 2: right reads x before left changes it
              ┌ left event 2 ─────────┐
              │ 2. wr x  at line 12   │
              └───────────────────────┘
                ↓ 2 before 3: program order of left
              ┌ left event 3 ─────────┐
              │ 3. rd y  at line 15   │
              └───────────────────────┘
                ↓ back to the first: 3 before 4: left reads y before right changes it
            corpus/programs/serial-not-sc.weak TSO: serializable: all executions (46 states searched)
            --- exit 1
        "#]],
    );
}

#[test]
fn json() {
    let ran = run(&["serial", "--format", "json", "corpus/programs/task-pool.weak"], "");
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [sc, tso] = &lines[..] else { panic!("{}", ran.out) };
    assert_eq!(sc["of"], "program");
    assert_eq!(sc["verdict"], "holds");
    assert_eq!(sc["decided_by"], "search");
    assert_eq!(tso["verdict"], "violated");
    assert_eq!(tso["fenced"], false);
    assert_eq!(tso["sc_serializable"], "holds");
    assert_eq!(tso["cycle"].as_array().map(Vec::len), Some(4));
    assert!(tso["schedule"].as_array().is_some_and(|steps| steps.len() > 8));
}

/// Lines of languages that have no word for transactions.
#[test]
fn lines() {
    let args = ["serial", "-q", "--transaction", "6-7", "corpus/litmus/SB.litmus"];
    check(
        &args,
        "",
        expect![[r#"
            corpus/litmus/SB.litmus SC: not serializable: an execution has a cycle through 2 transactions
            corpus/litmus/SB.litmus TSO: not serializable: an execution has a cycle through 2 transactions
              note: under SC it is not serializable either: no fence helps
            --- exit 1
        "#]],
    );
    let args = [
        "serial",
        "-q",
        "--transaction",
        "P0:6-7",
        "--transaction",
        "1:6-7",
        "corpus/litmus/SB.litmus",
    ];
    check(
        &args,
        "",
        expect![[r#"
            corpus/litmus/SB.litmus SC: not serializable: an execution has a cycle through 2 transactions
            corpus/litmus/SB.litmus TSO: not serializable: an execution has a cycle through 2 transactions
              note: under SC it is not serializable either: no fence helps
            --- exit 1
        "#]],
    );
    let args = ["serial", "-q", "--transaction", "P0:6-7", "corpus/litmus/SB.litmus"];
    check(
        &args,
        "",
        expect![[r#"
            corpus/litmus/SB.litmus SC: serializable: all executions (10 states searched)
            corpus/litmus/SB.litmus TSO: serializable: all executions (47 states searched)
            --- exit 0
        "#]],
    );
    let file = "corpus/trencher/dekker.txt";
    let args = ["serial", "-q", "--buffer-limit", "2", "--transaction", "left:11-12", file];
    check(
        &args,
        "",
        expect![[r#"
            corpus/trencher/dekker.txt SC: serializable: all executions (12 states searched)
            corpus/trencher/dekker.txt TSO: unknown: the store buffer of left was full; explored with at most 2 stores per buffer; no cycle found (242 states searched)
            --- exit 3
        "#]],
    );
    check(
        &["serial", "-q", "--transaction", "P2:6", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: corpus/litmus/SB.litmus: no thread is called `P2`; expected one of P0, P1
        --- exit 2
    "#]],
    );
    check(
        &["serial", "-q", "--transaction", "1-2", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: corpus/litmus/SB.litmus: no instruction stands on lines 1 to 2
        --- exit 2
    "#]],
    );
    check(
        &["serial", "-q", "--transaction", "7-6", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
            --- standard error
            error: invalid value '7-6' for '--transaction <[THREAD:]FIRST[-LAST]>': line 7 comes after line 6; expected 6-7?

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        &["serial", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
            corpus/litmus/SB.litmus SC: serializable: all executions (9 states searched)
            corpus/litmus/SB.litmus TSO: serializable: all executions (42 states searched)
            --- standard error
            warning: corpus/litmus/SB.litmus: no transaction is marked, so that each access is one of its own; write `transaction { ... }`, or name lines with --transaction
            --- exit 0
        "#]],
    );
    let args = ["serial", "corpus/litmus/SB.litmus", "corpus/transactions/bank.std"];
    check(
        &args,
        "",
        expect![[r#"
            corpus/litmus/SB.litmus SC: serializable: all executions (9 states searched)
            corpus/litmus/SB.litmus TSO: serializable: all executions (42 states searched)
            corpus/transactions/bank.std SC: not serializable: a cycle through 2 transactions in 15 events

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ T0 events 3 to 13 ──┐
              │ 5. rel L  at 8      │
              │ 11. acq L  at 9     │
              └─────────────────────┘
                ↓ 5 before 7: T1 changes L after T0 did
              ┌ T1 events 7 to 9 ───┐
              │ 7. acq L  at 21     │
              │ 9. rel L  at 23     │
              └─────────────────────┘
                ↓ back to the first: 9 before 11: T0 changes L after T1 did
            corpus/transactions/bank.std TSO: not serializable: an execution of this trace has a cycle through 2 transactions in 15 events
              note: under SC it is not serializable either: no fence helps

              No order of the transactions explains this: each comes before the next, and
              they form a cycle.

              ┌ T0 events 3 to 13 ──┐
              │ 5. rel L  at 8      │
              │ 11. acq L  at 9     │
              └─────────────────────┘
                ↓ 5 before 7: T1 changes L after T0 did
              ┌ T1 events 7 to 9 ───┐
              │ 7. acq L  at 21     │
              │ 9. rel L  at 23     │
              └─────────────────────┘
                ↓ back to the first: 9 before 11: T0 changes L after T1 did
              There all stores reach memory as late as they can.
            --- standard error
            warning: corpus/litmus/SB.litmus: no transaction is marked, so that each access is one of its own; write `transaction { ... }`, or name lines with --transaction
            2 inputs
            model      holds     violated   unknown   errors
            SC             1            1         0        0
            TSO            1            1         0        0
            no input differs between the models
            --- exit 1
        "#]],
    );
}

/// Loops, standard input, limits.
#[test]
fn loops() {
    let program = "shared x in 0..1, y in 0..1
        thread a { loop { transaction { x = 1 - x; y = 1 - y; fence } } }
        thread b { var r; loop { transaction { r = x } r = y } }";
    check(
        &["serial", "-q", "--input-format", "weak", "-"],
        program,
        expect![[r#"
            - SC: not serializable: an execution has a cycle through 3 transactions
            - TSO: not serializable: an execution has a cycle through 3 transactions
              note: under SC it is not serializable either: no fence helps
            --- exit 1
        "#]],
    );
    let program = program.replace("transaction { r = x } r = y", "transaction { r = x; r = y }");
    check(
        &["serial", "-q", "--input-format", "weak", "-"],
        &program,
        expect![[r#"
            - SC: not serializable: an execution has a cycle through 2 transactions
            - TSO: not serializable: an execution has a cycle through 2 transactions
              note: under SC it is not serializable either: no fence helps
            --- exit 1
        "#]],
    );
    // The buffer of the first thread grows for ever, and nothing waits for it.
    let endless = "shared x in 0..1, y
        thread a { var r; loop { transaction { x = 1 } transaction { r = y } } }
        thread b { var r; y = 1; r = x }";
    let args =
        ["serial", "-q", "--model", "tso", "--buffer-limit", "2", "--input-format", "weak", "-"];
    check(
        &args,
        endless,
        expect![[r#"
        - TSO: unknown: the store buffer of a was full; explored with at most 2 stores per buffer; no cycle found (78 states searched)
        --- exit 3
    "#]],
    );
    let fault = "shared x in 0..1\nthread a { transaction { x = x + 1 } }\nthread b { x = x + 1 }";
    check(
        &["serial", "--model", "sc", "--input-format", "weak", "-"],
        fault,
        expect![[r#"
        --- standard error
        error: store of 2 to x, whose values are 0 to 1
         --> -:3:12
          |
        3 | thread b { x = x + 1 }
          |            ^^^^^^^^^ reached in some run of b
        --- exit 2
    "#]],
    );
}

#[test]
fn witnesses() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("serial-program");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut text = String::new();
    for (name, model) in [
        ("task-pool", "sc"),
        ("task-pool", "tso"),
        ("task-pool-fenced", "tso"),
        ("serial-not-robust", "tso"),
        ("serial-not-sc", "sc"),
    ] {
        let file = format!("corpus/programs/{name}.weak");
        let witness = folder.join(format!("{name}-{model}.json"));
        let witness = witness.to_str().expect("UTF-8");
        run(&["serial", "-q", "--model", model, "--witness", witness, &file], "");
        let ran = run(&["certify", &file, witness], "");
        text += &format!("{name} {model}: {}", ran.out);
        // A run of another program is none of this one.
        let written = std::fs::read_to_string(witness).expect("a witness");
        let broken = written.replacen("\"edge\":0", "\"edge\":7", 1);
        if broken != written {
            std::fs::write(witness, broken).expect("written");
            text += &run(&["certify", &file, witness], "").out;
        }
    }
    expect![[r#"
        task-pool sc: certified: serial under SC: holds, by all executions, which are serializable
        task-pool tso: certified: serial under TSO: violated, by a run of 12 steps and a cycle of its transactions
        rejected: serial under TSO: violated, not shown: the machine does not allow step 1 of the run
        task-pool-fenced tso: certified: serial under TSO: holds, by all executions, which are serializable
        serial-not-robust tso: certified: serial under TSO: holds, by all executions, which are serializable
        serial-not-sc sc: certified: serial under SC: violated, by a run of 9 steps and a cycle of its transactions
        rejected: serial under SC: violated, not shown: the machine does not allow step 1 of the run
    "#]].assert_eq(&text);
}
