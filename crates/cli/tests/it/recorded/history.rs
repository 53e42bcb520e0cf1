//! `weakspot history`, and its witnesses.

use std::path::PathBuf;
use std::process::Stdio;

use expect_test::expect;

use crate::printed::transcripts::check;
use crate::{root, run, weakspot};

pub(crate) const SB: &str = "history sb
t0: w x 1
t0: r y 0
t1: w y 1
t1: r x 0
";

#[test]
fn store_buffering_under_all_models() {
    check(
        &["history", "-"],
        SB,
        expect![[r#"
            - sb: not SC: satisfies TSO and CM, violates CCM

                            ✗ SC
                          ╱      ╲
                    ✗ CCM          ✓ TSO
                   ╱      ╲      ╱      ╲
               ✓ CM        ✓ wCCM        ✓ PSO
                   ╲         │             │
                    ╲      ✓ CCv         ✓ coherence
                     ╲    ╱
                      ✓ CC

              SC, CCM: violated: 4 operations, shown by a cycle of 4 steps

              Under CCM this cannot be: each arrow means "comes before", and together they
              form a cycle.
              t0 0  w x 1  line 2  -po->  program order of t0
              t0 1  r y 0  line 3  -rw->  read y=0, which the next overwrites
              t1 0  w y 1  line 4  -po->  program order of t1
              t1 1  r x 0  line 5  -rw->  read x=0, which the next overwrites
              t0 0  w x 1  line 2  (back at the start)

            --- exit 1
        "#]],
    );
}

#[test]
fn store_buffering_under_two_models() {
    check(
        &["history", "--model", "sc,tso", "-"],
        SB,
        expect![[r#"
            - sb SC: violated: 4 operations, shown by a cycle of 4 steps

              Under SC this cannot be: each arrow means "comes before", and together they
              form a cycle.
              t0 0  w x 1  line 2  -po->  program order of t0
              t0 1  r y 0  line 3  -rw->  read y=0, which the next overwrites
              t1 0  w y 1  line 4  -po->  program order of t1
              t1 1  r x 0  line 5  -rw->  read x=0, which the next overwrites
              t0 0  w x 1  line 2  (back at the start)

            - sb TSO: satisfied: 4 operations, shown by a run of 6 steps

              t0                         │ t1                         │ memory
              ───────────────────────────┼────────────────────────────┼────────
                                         │                            │ x=0 y=0
              w x 1  waits in the buffer │                            │
              r y 0                      │                            │
                                         │ w y 1  waits in the buffer │
                                         │ r x 0                      │
                                         │ w y 1  reaches memory      │ y=1
              w x 1  reaches memory      │                            │ x=1

            --- exit 1
        "#]],
    );
}

#[test]
fn a_causal_model() {
    check(
        &["history", "--model", "cc", "-"],
        SB,
        expect![[r#"
            - sb CC: satisfied: 4 operations (computed with clocks and checked by the definition)
            --- exit 0
        "#]],
    );
}

#[test]
fn json() {
    check(
        &["history", "--format", "json", "--model", "sc,tso,ccm,cc", "-"],
        SB,
        expect![[r#"
            {"file":"-","question":"history","id":"sb","number":1,"model":"sc","verdict":"violated","certified":true,"operations":4,"threads":2,"variables":2,"decided_by":"saturation","length":4,"cycle":[{"from":{"thread":0,"index":0,"op":"w x 1","line":2},"link":"po","to":{"thread":0,"index":1,"op":"r y 0","line":3}},{"from":{"thread":0,"index":1,"op":"r y 0","line":3},"link":"rw","to":{"thread":1,"index":0,"op":"w y 1","line":4},"derivation":0},{"from":{"thread":1,"index":0,"op":"w y 1","line":4},"link":"po","to":{"thread":1,"index":1,"op":"r x 0","line":5}},{"from":{"thread":1,"index":1,"op":"r x 0","line":5},"link":"rw","to":{"thread":0,"index":0,"op":"w x 1","line":2},"derivation":1}],"within":"global","derivations":[{"rule":"overtaken","read":{"thread":0,"index":1,"op":"r y 0","line":3},"within":"global","path":[{"from":{"initial":"y"},"link":"po","to":{"thread":1,"index":0,"op":"w y 1","line":4}}]},{"rule":"overtaken","read":{"thread":1,"index":1,"op":"r x 0","line":5},"within":"global","path":[{"from":{"initial":"x"},"link":"po","to":{"thread":0,"index":0,"op":"w x 1","line":2}}]}],"run":{"model":"sc","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":2,"text":"w x 1"},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"line":3,"text":"r y 0"},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"line":4,"text":"w y 1"},{"n":4,"thread":1,"kind":"load","location":"x","value":0,"line":5,"text":"r x 0"}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of t0"},{"from":2,"to":3,"edge":"fr","why":"read y=0, which the next overwrites"},{"from":3,"to":4,"edge":"po","why":"program order of t1"},{"from":4,"to":1,"edge":"fr","why":"read x=0, which the next overwrites"}],"late":[]},"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"history","id":"sb","number":1,"model":"tso","verdict":"holds","certified":true,"operations":4,"threads":2,"variables":2,"decided_by":"greedy","steps":6,"order":[{"thread":0,"index":0},{"thread":0,"index":1},{"thread":1,"index":0},{"thread":1,"index":1},{"thread":1,"index":0,"commit":true},{"thread":0,"index":0,"commit":true}],"store_order":{"x":[[0,0]],"y":[[1,0]]},"run":{"model":"tso","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":2,"text":"w x 1"},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"line":3,"text":"r y 0"},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"line":4,"text":"w y 1"},{"n":4,"thread":1,"kind":"load","location":"x","value":0,"line":5,"text":"r x 0"},{"n":5,"thread":1,"kind":"commit","location":"y","value":1,"line":4,"text":"w y 1","of":3},{"n":6,"thread":0,"kind":"commit","location":"x","value":1,"line":2,"text":"w x 1","of":1}],"cycle":[],"late":[]},"time_s":_,"schema":1}
            {"file":"-","question":"history","id":"sb","number":1,"model":"ccm","verdict":"violated","certified":true,"operations":4,"threads":2,"variables":2,"decided_by":"saturation","implied_by":"sc","length":4,"cycle":[{"from":{"thread":0,"index":0,"op":"w x 1","line":2},"link":"po","to":{"thread":0,"index":1,"op":"r y 0","line":3}},{"from":{"thread":0,"index":1,"op":"r y 0","line":3},"link":"rw","to":{"thread":1,"index":0,"op":"w y 1","line":4},"derivation":0},{"from":{"thread":1,"index":0,"op":"w y 1","line":4},"link":"po","to":{"thread":1,"index":1,"op":"r x 0","line":5}},{"from":{"thread":1,"index":1,"op":"r x 0","line":5},"link":"rw","to":{"thread":0,"index":0,"op":"w x 1","line":2},"derivation":1}],"within":"global","derivations":[{"rule":"overtaken","read":{"thread":0,"index":1,"op":"r y 0","line":3},"within":"global","path":[{"from":{"initial":"y"},"link":"po","to":{"thread":1,"index":0,"op":"w y 1","line":4}}]},{"rule":"overtaken","read":{"thread":1,"index":1,"op":"r x 0","line":5},"within":"global","path":[{"from":{"initial":"x"},"link":"po","to":{"thread":0,"index":0,"op":"w x 1","line":2}}]}],"run":{"model":"ccm","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":2,"text":"w x 1"},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"line":3,"text":"r y 0"},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"line":4,"text":"w y 1"},{"n":4,"thread":1,"kind":"load","location":"x","value":0,"line":5,"text":"r x 0"}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of t0"},{"from":2,"to":3,"edge":"fr","why":"read y=0, which the next overwrites"},{"from":3,"to":4,"edge":"po","why":"program order of t1"},{"from":4,"to":1,"edge":"fr","why":"read x=0, which the next overwrites"}],"late":[]},"time_s":_,"schema":1}
            {"file":"-","question":"history","id":"sb","number":1,"model":"cc","verdict":"holds","certified":true,"operations":4,"threads":2,"variables":2,"decided_by":"clocks","by_definition":true,"time_s":_,"schema":1}
            --- exit 1
        "#]],
    );
}

#[test]
fn dot() {
    check(
        &["history", "--format", "dot", "--model", "sc", "-"],
        SB,
        expect![[r##"
            digraph execution {
              // neato -n2 -Tpdf
              graph [fontname="monospace", fontsize=9, splines=line];
              node [shape=box, fontname="monospace", fontsize=9, fixedsize=true];
              edge [fontname="monospace", fontsize=8, arrowsize=0.6];
              title [shape=plaintext, label="sb under SC", pos="42.1,177.0", width=0.92, height=0.15, fontcolor="#000000"];
              init [shape=plaintext, label="initially x=0 y=0", pos="58.5,165.8", width=1.38, height=0.15, fontcolor="#555555"];
              t0 [shape=plaintext, label="t0", pos="42.0,134.2", width=0.24, height=0.15, fontcolor="#000000"];
              t1 [shape=plaintext, label="t1", pos="184.5,134.2", width=0.24, height=0.15, fontcolor="#000000"];
              e0 [label="W x=1\nw x 1", pos="42.0,104.2", width=0.83, height=0.40, penwidth=2];
              e1 [label="R y=0\nr y 0", pos="42.0,56.2", width=0.83, height=0.40, penwidth=2];
              e2 [label="W y=1\nw y 1", pos="184.5,104.2", width=0.83, height=0.40, penwidth=2];
              e3 [label="R x=0\nr x 0", pos="184.5,56.2", width=0.83, height=0.40, penwidth=2];
              e0 -> e1 [color="#222222", fontcolor="#222222", penwidth=2, label="1 po", lp="55.8,80.2", pos="e,42.0,70.5 42.0,90.0 42.0,85.5 42.0,81.0 42.0,76.5"];
              e1 -> e2 [color="#b35806", fontcolor="#b35806", penwidth=2, label="2 fr", lp="111.4,64.5", pos="e,154.5,104.2 72.0,56.2 97.5,71.1 123.8,86.4 149.3,101.2"];
              e2 -> e3 [color="#222222", fontcolor="#222222", penwidth=2, label="3 po", lp="198.3,80.2", pos="e,184.5,70.5 184.5,90.0 184.5,85.5 184.5,81.0 184.5,76.5"];
              e3 -> e0 [color="#b35806", fontcolor="#b35806", penwidth=2, label="4 fr", lp="111.4,96.0", pos="e,72.0,104.2 154.5,56.2 129.0,71.1 102.7,86.4 77.2,101.2"];
              l0 [shape=plaintext, label="po: program order", pos="58.5,22.5", width=1.38, height=0.15, fontcolor="#222222"];
              l1 [shape=plaintext, label="fr: read what is overwritten by", pos="96.9,11.2", width=2.44, height=0.15, fontcolor="#b35806"];
            }
            --- exit 1
        "##]],
    );
}

#[test]
fn derived_orders_are_explained() {
    let history = "t0: w x 1\nt0: r y 0\nt0: w y 1\nt0: r x 1\n\
                   t1: w x 2\nt1: r y 0\nt1: w y 2\nt1: r x 2\n";
    check(
        &["history", "-"],
        history,
        expect![[r#"
            - history 1: not SC: satisfies TSO and CCM

                            ✗ SC
                          ╱      ╲
                    ✓ CCM          ✓ TSO
                   ╱      ╲      ╱      ╲
               ✓ CM        ✓ wCCM        ✓ PSO
                   ╲         │             │
                    ╲      ✓ CCv         ✓ coherence
                     ╲    ╱
                      ✓ CC

              SC: violated: 8 operations, shown by a cycle of 2 steps

              Under SC this cannot be: each arrow means "comes before", and together they
              form a cycle.
              t0 0  w x 1  line 1  -ww->  older than the next, see (1)
              t1 0  w x 2  line 5  -ww->  older than the next, see (2)
              t0 0  w x 1  line 1  (back at the start)
              (1) t0 0 w x 1 is older than t1 0 w x 2, because t1 3 r x 2 comes after it and
                  reads the other:
                  t0 0 w x 1 -po-> t0 1 r y 0 -rw-> t1 2 w y 2 -po-> t1 3 r x 2
              (2) t1 0 w x 2 is older than t0 0 w x 1, because t0 3 r x 1 comes after it and
                  reads the other:
                  t1 0 w x 2 -po-> t1 1 r y 0 -rw-> t0 2 w y 1 -po-> t0 3 r x 1

            --- exit 1
        "#]],
    );
}

#[test]
fn fences_are_named() {
    check(
        &["history", "--model", "tso", "--input-format", "axe", "-"],
        "0: M[0] := 1 0: sync 0: M[1] == 0 1: M[1] := 1 1: sync 1: M[0] == 0 check",
        expect![[r#"
            - history 1 TSO: violated: 6 operations, shown by a cycle of 4 steps

              Under TSO this cannot be: each arrow means "comes before" in memory, where a
              write counts when it leaves its buffer, and together they form a cycle.
              t0 2  r [1] 0  line 1  -rw->  read [1]=0, which the next overwrites
              t1 0  w [1] 1  line 1  -po->  program order of t1, with a fence in between
              t1 2  r [0] 0  line 1  -rw->  read [0]=0, which the next overwrites
              t0 0  w [0] 1  line 1  -po->  program order of t0, with a fence in between
              t0 2  r [1] 0  line 1  (back at the start)

            --- exit 1
        "#]],
    );
}

#[test]
fn one_variable() {
    let history = "t0: r x 1\nt0: w x 1\n";
    check(
        &["history", "--model", "tso,pso,wccm", "-"],
        history,
        expect![[r#"
            - history 1 TSO: violated: 2 operations, shown by a cycle of 2 steps

              Under TSO this cannot be: each arrow means "comes before" among the accesses
              to x, which store buffers keep in order, and together they form a cycle.
              t0 1  w x 1  line 2  -wr->  wrote x=1, which the next reads
              t0 0  r x 1  line 1  -po->  program order of t0
              t0 1  w x 1  line 2  (back at the start)

            - history 1 PSO: violated, as shown for TSO
            - history 1 wCCM: violated, as shown for TSO
            --- exit 1
        "#]],
    );
}

#[test]
fn coherence() {
    let all = "history one\nt0: w x 1\nt1: r x 1\nt1: r x 0\n\
               history two\nt0: w x 1\nt0: r x 2\nt1: w x 2\nt1: r x 1\n\
               history updates\nt0: u x 0 -> 1\nt1: u x 0 -> 2\n\
               history circle\nt0: u x 2 -> 1\nt1: u x 1 -> 2\n\
               history kept\nt0: w x 1\nt0: r y 0\nt1: u y 0 -> 1\nt1: r x 0\n";
    check(
        &["history", "--model", "coherence", "-"],
        all,
        expect![[r#"
            - one coherence: violated: cache coherence broken at x: t1 read 0 after it had read 1 (line 3, line 4), and 0 is the initial value

              Under coherence this cannot be: each arrow means "comes before" among the
              accesses to x, and the last operation reads what was overwritten before it.
                    x=0 at the start          -po->  before everything else
              t0 0  w x 1             line 2  -wr->  wrote x=1, which the next reads
              t1 0  r x 1             line 3  -po->  program order of t1
              t1 1  r x 0             line 4  reads x=0, which t0 0 w x 1 had overwritten

            - two coherence: violated: cache coherence broken at x: t1 read 1 after it had written 2 (line 8, line 9), and t0 read 2 after it had written 1 (line 6, line 7)

              Under coherence this cannot be: each arrow means "comes before" among the
              accesses to x, and together they form a cycle.
              t1 0  w x 2  line 8  -ww->  older than the next, which t1 1 r x 1 reads
              t0 0  w x 1  line 6  -ww->  older than the next, which t0 1 r x 2 reads
              t1 0  w x 2  line 8  (back at the start)

            - updates coherence: violated: cache coherence broken at x: t0 and t1 both updated the same 0

              Under coherence this cannot be: each arrow means "comes before" among the
              accesses to x, and together they form a cycle.
              t0 0  u x 0 -> 1  line 11  -rw->  read x=0, which the next overwrites
              t1 0  u x 0 -> 2  line 12  -rw->  read x=0, which the next overwrites
              t0 0  u x 0 -> 1  line 11  (back at the start)

            - circle coherence: violated: cache coherence broken at x: updates read each other's values

              Under coherence this cannot be: each arrow means "comes before" among the
              accesses to x, and together they form a cycle.
              t0 0  u x 2 -> 1  line 14  -wr->  wrote x=1, which the next reads
              t1 0  u x 1 -> 2  line 15  -wr->  wrote x=2, which the next reads
              t0 0  u x 2 -> 1  line 14  (back at the start)

            - kept coherence: satisfied: 4 operations, shown by an order for each of 2 variables

              x: 0 at the start, t1 1 r 0, t0 0 w 1
              y: 0 at the start, t0 1 r 0, t1 0 u 0 -> 1

            --- standard error
            5 histories
            model     satisfied  violated   unknown   errors
            coherence         1         4         0        0
            --- exit 1
        "#]],
    );
}

/// Of transactions, the read that is wrong is annotated, not who wrote what it reads.
#[test]
fn lines_of_wrong_reads() {
    for (name, line) in [
        ("fractured-read.edn", 7),
        ("fractured-read.plume", 4),
        ("causal.edn", 5),
        ("aborted-read.edn", 5),
        ("internal.edn", 5),
        ("intermediate-read.edn", 5),
        ("incompatible-order.edn", 9),
    ] {
        let file = format!("corpus/databases/{name}");
        let said = run(&["history", "--format", "github", &file], "").out;
        assert!(said.starts_with(&format!("::error file={file},line={line},")), "{said}");
    }
}

#[test]
fn a_value_that_nobody_wrote() {
    let log = "core,op,addr,data\n0,W,0x1000,5\n1,W,0x1000,7\n2,R,0x1000,6\n";
    let one = &["history", "--model", "tso,coherence", "--complete-recording"];
    check(
        &[one, &["-"][..]].concat(),
        log,
        expect![[r#"
        -: violated: core2 read 6 from [0x1000], which nobody wrote, line 4

          No memory does that, so every model is violated. The last writes to [0x1000]
          before it: core1 wrote 7 (line 3), core0 wrote 5 (line 2).

        --- exit 1
    "#]],
    );
    check(
        &[one, &["-q", "--format", "json", "-"][..]].concat(),
        log,
        expect![[r#"
            {"file":"-","question":"history","id":null,"number":1,"model":"tso","verdict":"violated","certified":false,"kind":"value","message":"core2 read 6 from [0x1000], which nobody wrote","line":4,"column":1,"thread":"core2","variable":"[0x1000]","value":6,"writes":2,"last_writes":[{"thread":"core1","value":7,"line":3},{"thread":"core0","value":5,"line":2}],"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"history","id":null,"number":1,"model":"coherence","verdict":"violated","certified":false,"kind":"value","message":"core2 read 6 from [0x1000], which nobody wrote","line":4,"column":1,"thread":"core2","variable":"[0x1000]","value":6,"writes":2,"last_writes":[{"thread":"core1","value":7,"line":3},{"thread":"core0","value":5,"line":2}],"time_s":_,"schema":1}
            --- exit 1
        "#]],
    );
    check(
        &["history", "--model", "tso", "-"],
        log,
        expect![[r#"
        --- standard error
        error: -:4:1: nobody wrote 6 to `[0x1000]`
        hint: if all writes were recorded, this is a violation: --complete-recording says so
        --- exit 2
    "#]],
    );
    let two = "history a\nt0: r x 1\nhistory b\nt0: w x 1\nt1: r x 1\n";
    check(
        &["history", "-q", "--complete-recording", "-"],
        two,
        expect![[r#"
            - a: violated: t0 read 1 from x, which nobody wrote, line 2
            - b: satisfies SC, and so all models
            --- exit 1
        "#]],
    );
}

#[test]
fn columns() {
    let log = "120 core0 ST 0x1000 1\n121 core1 ST 0x1040 1\n131 core0 LD 0x1040 0\n133 core1 LD 0x1000 0\n";
    let line = &["history", "-q", "--model", "sc,tso", "--columns"];
    check(
        &[line, &["cycle,core,op,addr,data", "-"][..]].concat(),
        log,
        expect![[r#"
        - SC: violated: 4 operations, shown by a cycle of 4 steps
        - TSO: satisfied (not checked: real-time order): 4 operations, shown by a run of 6 steps
        --- exit 1
    "#]],
    );
    check(
        &[line, &["core,op,addr,data", "-"][..]].concat(),
        log,
        expect![[r#"
        --- standard error
        error: -:1:5: expected R, read, load or ld, W, write, store or st, rmw, amo, swap or cas, or fence, found `core0`
        --- exit 2
    "#]],
    );
    check(
        &[line, &["core,op,address", "-"][..]].concat(),
        log,
        expect![[r#"
            --- standard error
            error: invalid value 'core,op,address' for '--columns <NAMES>': no column is the data; expected columns of start, end, cycle, core, op, addr, data, old, size and - (not used)

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        &["history", "--model", "sc", "-"],
        log,
        expect![[r#"
        --- standard error
        error: -:1:1: expected a thread with a colon, such as `t0:`, or `history` or `init`
        --- exit 2
    "#]],
    );
    check(
        &["history", "--follow", "-q", "--columns", "cycle,core,op,addr,data", "-"],
        log,
        expect![[r#"
            - SC: violated: within the first 4 operations, shown by a cycle of 4 steps
            - TSO: satisfied (not checked: real-time order): 4 operations, all in one window
            --- exit 1
        "#]],
    );
}

#[test]
fn by_cases() {
    let text = std::fs::read_to_string(root().join("corpus/histories/by-cases.wshist"));
    let text = text.expect("a file of the corpus");
    let first = text.split("history by-cases-fenced").next().unwrap_or_default();
    check(
        &["history", "--model", "sc", "--complete", "sat", "-"],
        first,
        expect![[r#"
            - by-cases SC: violated: 18 operations, whatever the order of 3 pairs of writes: 5 cycles

              Under SC this cannot be. These writes have no order yet:
              pair 1: t2 0 w z 1 and t3 0 w z 2
              pair 2: t0 0 w y 1 and t1 0 w y 2
              pair 3: t0 2 w x 1 and t2 2 w x 2
              However they are ordered, one of these cycles appears; each arrow means "comes
              before".
              A checked proof says that no order avoids all of them.

              Cycle 1:
              t1 0  w y 2  line 7   -po->  program order of t1
              t1 1  w f 1  line 8   -wr->  wrote f=1, which the next reads
              t0 1  r f 1  line 5   -po->  program order of t0
              t0 2  w x 1  line 6   -wr->  wrote x=1, which the next reads
              t6 0  r x 1  line 18  -po->  program order of t6
              t6 1  r z 2  line 19  -rw->  read z=2, which the next overwrites, see (1)
              t2 0  w z 1  line 9   -po->  program order of t2
              t2 2  w x 2  line 11  -wr->  wrote x=2, which the next reads
              t5 0  r x 2  line 16  -po->  program order of t5
              t5 1  r y 1  line 17  -rw->  read y=1, which the next overwrites, see (2)
              t1 0  w y 2  line 7   (back at the start)
              (1) t6 1 r z 2 comes before t2 0 w z 1, because t3 0 w z 2, which it reads, is
                  overwritten by it:
                  t3 0 w z 2 -ww-> (if so ordered, pair 1) t2 0 w z 1
              (2) t5 1 r y 1 comes before t1 0 w y 2, because t0 0 w y 1, which it reads, is
                  overwritten by it:
                  t0 0 w y 1 -ww-> (if so ordered, pair 2) t1 0 w y 2

              Cycle 2:
              t0 0  w y 1  line 4   -po->  program order of t0
              t0 2  w x 1  line 6   -wr->  wrote x=1, which the next reads
              t6 0  r x 1  line 18  -po->  program order of t6
              t6 1  r z 2  line 19  -rw->  read z=2, which the next overwrites, see (1)
              t2 0  w z 1  line 9   -po->  program order of t2
              t2 2  w x 2  line 11  -wr->  wrote x=2, which the next reads
              t4 0  r x 2  line 14  -po->  program order of t4
              t4 1  r y 2  line 15  -rw->  read y=2, which the next overwrites, see (2)
              t0 0  w y 1  line 4   (back at the start)
              (1) t6 1 r z 2 comes before t2 0 w z 1, because t3 0 w z 2, which it reads, is
                  overwritten by it:
                  t3 0 w z 2 -ww-> (if so ordered, pair 1) t2 0 w z 1
              (2) t4 1 r y 2 comes before t0 0 w y 1, because t1 0 w y 2, which it reads, is
                  overwritten by it:
                  t1 0 w y 2 -ww-> (if so ordered, pair 2) t0 0 w y 1

              Cycle 3:
              t0 2  w x 1  line 6   -wr->  wrote x=1, which the next reads
              t7 0  r x 1  line 20  -po->  program order of t7
              t7 1  r z 1  line 21  -rw->  read z=1, which the next overwrites, see (1)
              t3 0  w z 2  line 12  -po->  program order of t3
              t3 1  w g 1  line 13  -wr->  wrote g=1, which the next reads
              t2 1  r g 1  line 10  -po->  program order of t2
              t2 2  w x 2  line 11  -ww->  if so ordered, pair 3
              t0 2  w x 1  line 6   (back at the start)
              (1) t7 1 r z 1 comes before t3 0 w z 2, because t2 0 w z 1, which it reads, is
                  overwritten by it:
                  t2 0 w z 1 -ww-> (if so ordered, pair 1) t3 0 w z 2

              Cycle 4:
              t1 0  w y 2  line 7   -po->  program order of t1
              t1 1  w f 1  line 8   -wr->  wrote f=1, which the next reads
              t0 1  r f 1  line 5   -po->  program order of t0
              t0 2  w x 1  line 6   -ww->  if so ordered, pair 3
              t2 2  w x 2  line 11  -wr->  wrote x=2, which the next reads
              t5 0  r x 2  line 16  -po->  program order of t5
              t5 1  r y 1  line 17  -rw->  read y=1, which the next overwrites, see (1)
              t1 0  w y 2  line 7   (back at the start)
              (1) t5 1 r y 1 comes before t1 0 w y 2, because t0 0 w y 1, which it reads, is
                  overwritten by it:
                  t0 0 w y 1 -ww-> (if so ordered, pair 2) t1 0 w y 2

              Cycle 5:
              t0 0  w y 1  line 4   -po->  program order of t0
              t0 2  w x 1  line 6   -ww->  if so ordered, pair 3
              t2 2  w x 2  line 11  -wr->  wrote x=2, which the next reads
              t4 0  r x 2  line 14  -po->  program order of t4
              t4 1  r y 2  line 15  -rw->  read y=2, which the next overwrites, see (1)
              t0 0  w y 1  line 4   (back at the start)
              (1) t4 1 r y 2 comes before t0 0 w y 1, because t1 0 w y 2, which it reads, is
                  overwritten by it:
                  t1 0 w y 2 -ww-> (if so ordered, pair 2) t0 0 w y 1

            --- exit 1
        "#]],
    );
    check(
        &["history", "--model", "sc", "--format", "json", "-"],
        first,
        expect![[r#"
            {"file":"-","question":"history","id":"by-cases","number":1,"model":"sc","verdict":"violated","certified":true,"operations":18,"threads":8,"variables":5,"decided_by":"sat","pairs":3,"conflicts":5,"proof_steps":7,"length":10,"cycle":[{"from":{"thread":1,"index":0,"op":"w y 2","line":7},"link":"po","to":{"thread":1,"index":1,"op":"w f 1","line":8}},{"from":{"thread":1,"index":1,"op":"w f 1","line":8},"link":"wr","to":{"thread":0,"index":1,"op":"r f 1","line":5}},{"from":{"thread":0,"index":1,"op":"r f 1","line":5},"link":"po","to":{"thread":0,"index":2,"op":"w x 1","line":6}},{"from":{"thread":0,"index":2,"op":"w x 1","line":6},"link":"wr","to":{"thread":6,"index":0,"op":"r x 1","line":18}},{"from":{"thread":6,"index":0,"op":"r x 1","line":18},"link":"po","to":{"thread":6,"index":1,"op":"r z 2","line":19}},{"from":{"thread":6,"index":1,"op":"r z 2","line":19},"link":"rw","to":{"thread":2,"index":0,"op":"w z 1","line":9},"derivation":0},{"from":{"thread":2,"index":0,"op":"w z 1","line":9},"link":"po","to":{"thread":2,"index":2,"op":"w x 2","line":11}},{"from":{"thread":2,"index":2,"op":"w x 2","line":11},"link":"wr","to":{"thread":5,"index":0,"op":"r x 2","line":16}},{"from":{"thread":5,"index":0,"op":"r x 2","line":16},"link":"po","to":{"thread":5,"index":1,"op":"r y 1","line":17}},{"from":{"thread":5,"index":1,"op":"r y 1","line":17},"link":"rw","to":{"thread":1,"index":0,"op":"w y 2","line":7},"derivation":1}],"within":"global","derivations":[{"rule":"overtaken","read":{"thread":6,"index":1,"op":"r z 2","line":19},"within":"global","path":[{"from":{"thread":3,"index":0,"op":"w z 2","line":12},"link":"ww","to":{"thread":2,"index":0,"op":"w z 1","line":9},"assumed":true}]},{"rule":"overtaken","read":{"thread":5,"index":1,"op":"r y 1","line":17},"within":"global","path":[{"from":{"thread":0,"index":0,"op":"w y 1","line":4},"link":"ww","to":{"thread":1,"index":0,"op":"w y 2","line":7},"assumed":true}]}],"run":{"model":"sc","threads":[{"name":"t0"},{"name":"t1"},{"name":"t2"},{"name":"t3"},{"name":"t4"},{"name":"t5"},{"name":"t6"},{"name":"t7"}],"locations":[{"name":"y"},{"name":"f"},{"name":"x"},{"name":"z"},{"name":"g"}],"init":{"y":0,"f":0,"x":0,"z":0,"g":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"y","value":1,"line":4,"text":"w y 1"},{"n":2,"thread":0,"kind":"load","location":"f","value":1,"line":5,"text":"r f 1"},{"n":3,"thread":0,"kind":"store","location":"x","value":1,"line":6,"text":"w x 1"},{"n":4,"thread":1,"kind":"store","location":"y","value":2,"line":7,"text":"w y 2"},{"n":5,"thread":1,"kind":"store","location":"f","value":1,"line":8,"text":"w f 1"},{"n":6,"thread":2,"kind":"store","location":"z","value":1,"line":9,"text":"w z 1"},{"n":8,"thread":2,"kind":"store","location":"x","value":2,"line":11,"text":"w x 2"},{"n":9,"thread":3,"kind":"store","location":"z","value":2,"line":12,"text":"w z 2"},{"n":13,"thread":5,"kind":"load","location":"x","value":2,"line":16,"text":"r x 2"},{"n":14,"thread":5,"kind":"load","location":"y","value":1,"line":17,"text":"r y 1"},{"n":15,"thread":6,"kind":"load","location":"x","value":1,"line":18,"text":"r x 1"},{"n":16,"thread":6,"kind":"load","location":"z","value":2,"line":19,"text":"r z 2"}],"cycle":[{"from":4,"to":5,"edge":"po","why":"program order of t1"},{"from":5,"to":2,"edge":"rf","why":"wrote f=1, which the next reads"},{"from":2,"to":3,"edge":"po","why":"program order of t0"},{"from":3,"to":15,"edge":"rf","why":"wrote x=1, which the next reads"},{"from":15,"to":16,"edge":"po","why":"program order of t6"},{"from":16,"to":6,"edge":"fr","why":"t6 1 r z 2 comes before t2 0 w z 1, because t3 0 w z 2, which it reads, is overwritten by it"},{"from":6,"to":8,"edge":"po","why":"program order of t2"},{"from":8,"to":13,"edge":"rf","why":"wrote x=2, which the next reads"},{"from":13,"to":14,"edge":"po","why":"program order of t5"},{"from":14,"to":4,"edge":"fr","why":"t5 1 r y 1 comes before t1 0 w y 2, because t0 0 w y 1, which it reads, is overwritten by it"}],"late":[],"relations":[{"from":9,"to":6,"edge":"co","why":"if so ordered, pair 1"},{"from":1,"to":4,"edge":"co","why":"if so ordered, pair 2"}]},"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
}

#[test]
fn the_smallest_part() {
    let mut history = String::from("history long\ninit y 7\n");
    for i in 1..=200 {
        history += &format!("t0: w z {i}\nt1: r z {i}\n");
    }
    history += "t0: w x 1\nt0: r y 7\nt0: r z 200\nt1: w y 8\nt1: r z 200\nt1: r x 0\nt2: w q 1\n";
    check(
        &["history", "--model", "sc", "--minimise", "-"],
        &history,
        expect![[r#"
            - long SC: violated: 407 operations, shown by a cycle of 4 steps

              Under SC this cannot be: each arrow means "comes before", and together they
              form a cycle.
              t0 200  w x 1  line 403  -po->  program order of t0
              t0 201  r y 7  line 404  -rw->  read y=7, which the next overwrites
              t1 200  w y 8  line 406  -po->  program order of t1
              t1 202  r x 0  line 408  -rw->  read x=0, which the next overwrites
              t0 200  w x 1  line 403  (back at the start)

              4 operations of these violate it without the others:

                history long
                init y 7
                t0: w x 1  // operation 200 of t0, line 403
                t0: r y 7  // operation 201 of t0, line 404
                t1: w y 8  // operation 200 of t1, line 406
                t1: r x 0  // operation 202 of t1, line 408

            --- exit 1
        "#]],
    );
    let args = ["history", "--model", "sc", "--minimise", "--format", "json", "-"];
    check(
        &args,
        &history,
        expect![[r#"
            {"file":"-","question":"history","id":"long","number":1,"model":"sc","verdict":"violated","certified":true,"operations":407,"threads":3,"variables":4,"decided_by":"saturation","length":4,"cycle":[{"from":{"thread":0,"index":200,"op":"w x 1","line":403},"link":"po","to":{"thread":0,"index":201,"op":"r y 7","line":404}},{"from":{"thread":0,"index":201,"op":"r y 7","line":404},"link":"rw","to":{"thread":1,"index":200,"op":"w y 8","line":406},"derivation":0},{"from":{"thread":1,"index":200,"op":"w y 8","line":406},"link":"po","to":{"thread":1,"index":202,"op":"r x 0","line":408}},{"from":{"thread":1,"index":202,"op":"r x 0","line":408},"link":"rw","to":{"thread":0,"index":200,"op":"w x 1","line":403},"derivation":1}],"within":"global","derivations":[{"rule":"overtaken","read":{"thread":0,"index":201,"op":"r y 7","line":404},"within":"global","path":[{"from":{"initial":"y"},"link":"po","to":{"thread":1,"index":200,"op":"w y 8","line":406}}]},{"rule":"overtaken","read":{"thread":1,"index":202,"op":"r x 0","line":408},"within":"global","path":[{"from":{"initial":"x"},"link":"po","to":{"thread":0,"index":200,"op":"w x 1","line":403}}]}],"minimal":{"operations":[[0,200],[0,201],[1,200],[1,202]],"history":{"id":"long","init":{"y":7},"threads":[[{"kind":"w","var":"x","val":1},{"kind":"r","var":"y","val":7}],[{"kind":"w","var":"y","val":8},{"kind":"r","var":"x","val":0}]]},"is_minimal":true},"run":{"model":"sc","threads":[{"name":"t0"},{"name":"t1"},{"name":"t2"}],"locations":[{"name":"z"},{"name":"x"},{"name":"y"},{"name":"q"}],"init":{"z":0,"x":0,"y":7,"q":0},"steps":[{"n":201,"thread":0,"kind":"store","location":"x","value":1,"line":403,"text":"w x 1"},{"n":202,"thread":0,"kind":"load","location":"y","value":7,"line":404,"text":"r y 7"},{"n":404,"thread":1,"kind":"store","location":"y","value":8,"line":406,"text":"w y 8"},{"n":406,"thread":1,"kind":"load","location":"x","value":0,"line":408,"text":"r x 0"}],"cycle":[{"from":201,"to":202,"edge":"po","why":"program order of t0"},{"from":202,"to":404,"edge":"fr","why":"read y=7, which the next overwrites"},{"from":404,"to":406,"edge":"po","why":"program order of t1"},{"from":406,"to":201,"edge":"fr","why":"read x=0, which the next overwrites"}],"late":[]},"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
    let json = run(&args, &history).out;
    let answer: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let again = answer["minimal"]["history"].to_string();
    assert_eq!(run(&["history", "-q", "--model", "sc", "-"], &again).code, Some(1));
}

#[test]
fn help() {
    check(
        &["help", "history"],
        "",
        expect![[r#"
            Example:
              weakspot history corpus/histories/classic.wshist
              weakspot history --model tso --minimise corpus/histories/store-buffering.axe
              weakspot history --model coherence corpus/histories/stale-read.wshist
              weakspot history --columns cycle,core,op,addr,data log.txt
              weakspot record --operations 100000 | weakspot history --model tso,sc -
              weakspot history --follow run.wshist
              weakspot history --model serializable corpus/databases/write-skew.edn

            Which models does a recorded history satisfy, of memory or of transactions?

            Usage: weakspot history [OPTIONS] <FILE>...

            Arguments:
              <FILE>...
                      Histories, or folders of them

            Options:
              -m, --model <MODEL>
                      Models: cc, ccv, cm, ccm, wccm, coherence, pso, pso-own, tso, tso-rt, sc, lin, or of
                      transactions rc, ra, tcc, ser, separated by commas, or all, which is all but pso-own,
                      tso-rt and lin [default: all; with --follow sc,tso]

                  --minimise
                      Show a smallest part of a history that violates the model as well

                  --complete <HOW>
                      How to complete the store order for SC, TSO and PSO; all give the same answers [default:
                      auto]

                      Possible values:
                      - auto:   A greedy run first, at last SAT
                      - search: A search that remembers where it failed
                      - enum:   All store orders, one after the other
                      - sat:    SAT on the pairs of writes that are open

                  --no-saturation
                      Do not derive orders between writes before the store order is completed

                  --input-format <FORMAT>
                      Read the files as this format, whatever their ending

                      Possible values:
                      - text:       One event or operation per line, for people
                      - jsonl:      JSON Lines
                      - axe:        Histories of Axe
                      - dbcop:      Histories in the text of dbcop
                      - dbcop-json: Histories in the JSON of dbcop
                      - plume:      Histories of Plume, PolySI and AWDIT
                      - awdit:      Histories of AWDIT's tests
                      - edn:        Histories of Jepsen
                      - csv:        Logs of hardware in columns

                  --columns <NAMES>
                      What the columns of a log are, such as cycle,core,op,addr,data,size; - is a column that is
                      not used, and addr:hex has hexadecimal digits without 0x

                  --complete-recording
                      Take a read of a value that nobody wrote for a violation: all writes were recorded

                  --follow
                      Check a history while it is written, operation by operation, until it is violated

                  --window <N>
                      With --follow: how many operations to look at together [default: 100000]

                  --distinct-values
                      With --follow: nobody writes a value twice to a variable, so that violations are told at
                      once

                  --checkpoint <FILE>
                      Save progress to this file from time to time, and when a limit or a signal ends the search

                  --resume <FILE>
                      Go on from this file

                  --witness <FILE.json>
                      Write the answer's evidence to this file, for `weakspot certify` (one file, one model)

              -j, --threads <N>
                      How many files to work on at a time; by default one per processor

              -f, --format <FORMAT>
                      What to print [default: text]

                      Possible values:
                      - text:     For people
                      - json:     JSON Lines, one object per file and model
                      - svg:      A picture of the run or cycle that decides the answer
                      - dot:      The same for Graphviz: `neato -n2 -Tpdf`
                      - tex:      The same for LaTeX, with TikZ
                      - csv:      Commas: the rows of `bench`, the summary of many files
                      - markdown: The same as a table of Markdown
                      - tabular:  The same as a table of LaTeX
                      - junit:    XML as JUnit writes it, for services that show tests
                      - sarif:    SARIF 2.1: findings for editors and services that show them
                      - github:   Annotations on the lines of a pull request, for GitHub Actions

                  --report <FILE.html>
                      Write the answers as a page to look at, too: one HTML file that needs no network

                  --timeout <TIME>
                      Give up on a question after this time [default: 60s; with --follow none]; with --follow
                      end after it

                  --memory <SIZE>
                      Give up on a question when its search needs more memory than this [default: 4GiB]

              -q, --quiet
                      One line per answer; no warnings, no summary

              -v, --verbose
                      Say on standard error which limits hold, and how long each input took

                  --progress <WHEN>
                      Show progress on standard error [default: auto]

                      [possible values: auto, always, never]

                  --color <WHEN>
                      Colours; NO_COLOR is heeded, too [default: auto]

                      [possible values: auto, always, never]

                  --ascii
                      Draw with ASCII only, as where the locale is not UTF-8

              -h, --help
                      Print help (see a summary with '-h')

            Several processes:
                  --hosts <FILE>
                      Answer together with other processes: a file with a line HOST:PORT for each

                  --process <N>
                      Which of them this is, from 0 on; process 0 prints the answer

                  --token <FILE>
                      A file with what they know each other by, which only its owner may read

            A history says what each thread read and wrote, in the order of that thread. It
            satisfies a model if the model explains all of it. The models are causal
            consistency (cc), causal convergence (ccv), causal memory (cm), convergent
            causal memory (ccm), what is left of it under TSO (wccm), cache coherence, which
            is SC of each variable by itself (coherence), partial store order (pso), total
            store order (tso) and sequential consistency (sc). `all` draws which of them are
            satisfied, the stronger above the weaker. pso-own is PSO where an atomic update
            waits only for earlier writes to its own variable.

            If a history says when operations began and ended, lin is linearizability: what
            ended before something else began comes first. tso-rt is TSO where each
            operation is done in between, and what it writes may reach memory later.

            Files of dbcop, Plume, AWDIT and Jepsen (Elle) have transactions, and are asked
            for read-committed (rc), read-atomic (ra), transactional-causal (tcc) and
            serializable (ser); a violation is named as Elle does, such as G1a or G-single.
            If models of memory are asked for, the operations are looked at one by one.

            A file may have many histories: JSON Lines, text, or those of Axe, dbcop, Plume,
            AWDIT and Jepsen, or a table with a column for each of core, operation, address
            and value. `-` is standard input, a folder stands for all histories in
            it. A violation is shown as a cycle of operations, each before the next one for
            the reason given; -q leaves all but the first line out. A read of a value that
            nobody wrote is bad input, because far more often a write was not recorded; with
            --complete-recording it is a violation.

            --follow waits for more at the end of a file, as `tail -f` does, and looks at
            the last operations together, in constant memory. Such a file is text, Axe,
            Plume, or JSON with one operation per line.
            --- exit 0
        "#]],
    );
}

/// What files say that histories do not is noted, and many histories are counted.
#[test]
fn notes_and_a_summary() {
    let files = ["corpus/histories/registers.edn", "corpus/histories/long-fork.awdit"];
    check(
        &["history", "--model", "sc,cc", files[0], files[1]],
        "",
        expect![[r#"
            corpus/histories/registers.edn SC: satisfied (not checked: real-time order): 4 operations, shown by a run of 4 steps
              note: of the writes of which it is not known whether they happened, 1 was read and is counted as done, and 0 were not and are left out
              note: 1 transaction that did not happen (aborted, failed or not committed) is left out

              t0    │ t1    │ t2    │ memory
              ──────┼───────┼───────┼────────
                    │       │       │ x=0 y=0
                    │       │ r x 0 │
              w x 1 │       │       │ x=1
                    │ w y 1 │       │ y=1
              r y 1 │       │       │

            corpus/histories/registers.edn CC: satisfied (not checked: real-time order): 4 operations, shown by a run of 4 steps under SC
              It is the run shown for SC.

            corpus/histories/long-fork.awdit SC: satisfied (not checked: atomicity of 1 transaction): 8 operations, shown by a run of 8 steps
              note: 1 transaction of several operations is read as its operations one after the other; whether it is atomic is not checked

              t0      │ t1      │ t2      │ t3      │ t4      │ memory
              ────────┼─────────┼─────────┼─────────┼─────────┼────────────
                      │         │         │         │         │ [0]=0 [1]=0
                      │         │ w [1] 1 │         │         │ [1]=1
                      │         │         │         │ r [1] 1 │
              w [0] 0 │         │         │         │         │ [0]=0
                      │         │         │         │ r [0] 0 │
                      │ w [0] 1 │         │         │         │ [0]=1
                      │         │         │ r [0] 1 │         │
              w [1] 0 │         │         │         │         │ [1]=0
                      │         │         │ r [1] 0 │         │

            corpus/histories/long-fork.awdit CC: satisfied (not checked: atomicity of 1 transaction): 8 operations, shown by a run of 8 steps under SC
              It is the run shown for SC.

            --- standard error
            2 histories
            model   satisfied  violated   unknown   errors
            SC              2         0         0        0
            CC              2         0         0        0
            --- exit 0
        "#]],
    );
}

/// Every method gives the same answers.
#[test]
fn methods() {
    let ask = |method: &[&str]| {
        let mut args = vec!["history", "-q", "--format", "json", "corpus/histories"];
        args.extend(method);
        let out = run(&args, "").out;
        let verdicts: Vec<String> = out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .map(|answer: serde_json::Value| {
                format!(
                    "{} {} {} {}",
                    answer["file"], answer["number"], answer["model"], answer["verdict"]
                )
            })
            .collect();
        verdicts
    };
    let expected = ask(&[]);
    assert!(expected.len() > 8 * 40);
    for how in ["auto", "search", "enum", "sat"] {
        assert_eq!(ask(&["--complete", how]), expected, "{how}");
        assert_eq!(ask(&["--complete", how, "--no-saturation"]), expected, "{how}");
    }
}

fn temporary(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("history");
    std::fs::create_dir_all(&folder).expect("a folder for files");
    folder.join(name)
}

/// Witnesses of all kinds pass their check, are refused for another file, and are rejected when
/// they say something else.
#[test]
fn witnesses() {
    let file = temporary("w.wshist");
    let witness = temporary("w.json");
    let text = std::fs::read_to_string(root().join("corpus/histories/by-cases.wshist"));
    let sb_and_cases = format!("{SB}\n{}", text.expect("a file of the corpus"));
    std::fs::write(&file, &sb_and_cases).expect("a writable file");
    let (file, witness) = (file.to_str().expect("a path"), witness.to_str().expect("a path"));
    let certify = |more: &[&str]| {
        let mut args = vec!["certify", file, witness];
        args.extend(more);
        let ran = run(&args, "");
        format!("{}{} ({})", ran.out, ran.err, ran.code.unwrap_or(-1))
            .replace('\n', " ")
            .replace(file, "FILE")
    };
    let mut got = String::new();
    for model in ["cc", "ccm", "pso", "tso", "sc"] {
        run(&["history", "-q", "--model", model, "--witness", witness, file], "");
        got += &format!("{model}: {}\n", certify(&[]));
    }
    expect![[r#"
        cc: certified: history under CC: holds, by the definition, evaluated literally (history 1 of the file)  (0)
        ccm: certified: history under CCM: violated, by a cycle of orders that all hold (history 1 of the file)  (0)
        pso: certified: history under PSO: violated, by 5 cycles and a proof that they leave no order (history 3 of the file)  (0)
        tso: certified: history under TSO: violated, by 5 cycles and a proof that they leave no order (history 2 of the file)  (0)
        sc: certified: history under SC: violated, by a cycle of orders that all hold (history 1 of the file)  (0)
    "#]].assert_eq(&got);
    std::fs::write(file, SB).expect("a writable file");
    expect!["error: the witness is about another history: FILE has changed, or is not the file that was asked about  (2)"].assert_eq(&certify(&[]));
    let ask = |model: &str| {
        run(&["history", "-q", "--model", model, "--witness", witness, file], "");
        std::fs::read_to_string(witness).expect("a witness")
    };
    let mut got = String::new();
    for (model, from, to) in [
        ("sc", "\"to\":1", "\"to\":3"),
        ("sc", "\"sc\"", "\"tso\""),
        ("sc", "\"history\": 1", "\"history\": 2"),
        ("tso", "-1", "-2"),
        ("tso", "\"tso\"", "\"sc\""),
        ("cc", "\"cc\"", "\"ccm\""),
    ] {
        let good = ask(model);
        assert!(good.contains(from), "{good}");
        std::fs::write(witness, good.replacen(from, to, 1)).expect("a writable file");
        got += &format!("{from} -> {to}: {}\n", certify(&[]));
    }
    expect![[r#"
        "to":1 -> "to":3: rejected: history under SC: violated, not shown: derivation 3 of the cycle: two edges do not meet  (1)
        "sc" -> "tso": rejected: history under TSO: violated, not shown: derivation 3 of the cycle: an edge is not there  (1)
        "history": 1 -> "history": 2: error: FILE has no history number 2  (2)
        -1 -> -2: rejected: history under TSO: holds, not shown: step 6 of the run: there is no such write  (1)
        "tso" -> "sc": rejected: history under SC: holds, not shown: step 4 of the run: the read sees another write  (1)
        "cc" -> "ccm": rejected: history under CCM: holds, not shown: a full search contradicts the verdict  (1)
    "#]]
    .assert_eq(&got);
    ask("cc");
    expect!["unknown: history under CC: holds, not checked: nothing small shows that a causal model holds, and the history has more than 3 operations; --max-states allows more  (3)"].assert_eq(&certify(&["--max-states", "3"]));
    ask("sc");
    let text = std::fs::read_to_string(witness).expect("a witness");
    expect![[r#"
        {
          "witness": 1,
          "question": "history",
          "input": "fnv1a64:f6fa408efa537346",
          "model": "sc",
          "verdict": "violated",
          "history": 1,
          "evidence": {
            "cycle": {
              "within": "global",
              "edges": [
                {"from":0,"to":1,"why":"po"},
                {"from":1,"to":2,"why":"derived","by":0},
                {"from":2,"to":3,"why":"po"},
                {"from":3,"to":0,"why":"derived","by":1}
              ],
              "derivations": [
                {"rule":"overtaken","read":1,"within":"global","path":[{"from":-2,"to":2,"why":"po"}]},
                {"rule":"overtaken","read":3,"within":"global","path":[{"from":-1,"to":0,"why":"po"}]}
              ]
            }
          }
        }
    "#]].assert_eq(&text);
}

/// A search that is given up says so.
#[test]
fn limits() {
    let file = temporary("long.jsonl");
    let file = file.to_str().expect("a path");
    run(&["gen", "history", "--operations", "300000", "-o", file], "");
    let ran = run(&["history", "-q", "--model", "cm", "--timeout", "0s", file], "");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.contains("unknown: not read to its end: the search stopped at"), "{}", ran.out);
    let json = ["history", "--format", "json", "--model", "sc", "--memory", "100kB", file];
    let ran = run(&json, "");
    assert_eq!(ran.code, Some(3));
    assert!(ran.out.contains("\"limit\":{\"kind\":\"memory\",\"bytes\":100000"), "{}", ran.out);
    // A long run is only in the witness.
    let ran = run(&["history", "--format", "json", "--model", "sc", file], "");
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("\"steps\":300000,\"order\":null") && ran.out.len() < 1000);
}

/// What this CPU does, recorded and checked in one go.
#[test]
fn this_cpu() {
    let mut record = weakspot()
        .args(["record", "-q", "--cpus", "2", "--operations", "20000"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let output = weakspot()
        .args(["history", "-q", "--model", "tso,pso", "-"])
        .stdin(record.stdout.take().expect("a pipe"))
        .output()
        .expect("the command ends");
    record.wait().expect("the command ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("- cpu-1 TSO: "), "{text}");
    // Other processors than x86 allow more.
    if cfg!(target_arch = "x86_64") {
        assert_eq!(output.status.code(), Some(0), "{text}");
    }
}

/// A causal model that holds is evaluated again, if the history is small.
#[test]
fn checked_by_the_definition() {
    check(
        &["history", "-q", "--model", "cc,cm", "-"],
        SB,
        expect![[r#"
        - sb CC: satisfied: 4 operations (computed with clocks and checked by the definition)
        - sb CM: satisfied: 4 operations (computed with clocks and checked by the definition)
        --- exit 0
    "#]],
    );
    let mut large = SB.to_owned();
    for i in 0..40 {
        large += &format!("t2: w z {}\n", i + 1);
    }
    check(
        &["history", "-q", "--model", "cc", "-"],
        &large,
        expect![[r#"
        - sb CC: satisfied: 44 operations (computed with clocks, there is no small evidence)
        --- exit 0
    "#]],
    );
}

/// An update may write what it has read: it has read another write, the initial value, or what nobody wrote.
#[test]
fn updates_that_write_what_they_read() {
    let ask = |text: &str| run(&["history", "-q", "--complete-recording", "-m", "sc", "-"], text);
    let alone = ask("t0: u x 5 -> 5\n");
    assert_eq!(alone.code, Some(1));
    assert!(alone.out.contains("t0 read 5 from x, which nobody wrote"), "{}", alone.out);
    assert_eq!(ask("t0: w x 5\nt1: u x 5 -> 5\nt1: r x 5\n").code, Some(0));
    assert_eq!(ask("t0: u x 0 -> 0\nt1: r x 0\n").code, Some(0));
    // Each would have to come after the other.
    assert_eq!(ask("t0: u x 5 -> 5\nt1: u x 5 -> 5\n").code, Some(1));
}
