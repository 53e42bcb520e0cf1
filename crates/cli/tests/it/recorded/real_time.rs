//! `weakspot history --model lin` and `tso-rt`.

use expect_test::expect;

use crate::printed::transcripts::check;
use crate::run;

const REGISTER: &str = "corpus/histories/register.wshist";

#[test]
fn what_was_read_after_what_had_ended() {
    check(
        &["history", "--model", "lin,tso-rt", REGISTER],
        "",
        expect![[r#"
            corpus/histories/register.wshist history 1 linearizability: violated: not linearizable at x: t2 read 1 (line 3) after t1's write of 2 (line 2) had ended, and t1 wrote 2 (line 2) after t0's write of 1 (line 1) had ended

              Under linearizability this cannot be: each arrow means "comes before", and the
              last operation reads what was overwritten before it.
              t0 0  w x 1  line 1  -rt->  ended at 10, and the next began at 20
              t1 0  w x 2  line 2  -rt->  ended at 30, and the next began at 40
              t2 0  r x 1  line 3  reads x=1, which t1 0 w x 2 had overwritten

            corpus/histories/register.wshist history 1 TSO-rt: satisfied: 3 operations, shown by a run of 5 steps

              t0                         │ t1                         │ t2    │ memory
              ───────────────────────────┼────────────────────────────┼───────┼───────
                                         │                            │       │ x=0
              w x 1  waits in the buffer │                            │       │
                                         │ w x 2  waits in the buffer │       │
              w x 1  reaches memory      │                            │       │ x=1
                                         │                            │ r x 1 │
                                         │ w x 2  reaches memory      │       │ x=2

            --- exit 1
        "#]],
    );
    check(
        &["history", "-q", "--model", "lin,tso-rt", "corpus/histories/real-time.wshist"],
        "",
        expect![[r#"
            corpus/histories/real-time.wshist stale-read linearizability: violated: not linearizable at x: t2 read 1 (line 7) after t1's write of 2 (line 6) had ended, and t1 wrote 2 (line 6) after t0's write of 1 (line 5) had ended
            corpus/histories/real-time.wshist stale-read TSO-rt: satisfied: 3 operations, shown by a run of 5 steps
            corpus/histories/real-time.wshist concurrent linearizability: satisfied: 4 operations, shown by a run of 4 steps
            corpus/histories/real-time.wshist concurrent TSO-rt: satisfied: 4 operations, shown by a run of 4 steps under linearizability
            corpus/histories/real-time.wshist new-old-inversion linearizability: violated: not linearizable at x: t2 read 0 (line 20) after t1's read of 1 (line 19) had ended, and 0 is the initial value
            corpus/histories/real-time.wshist new-old-inversion TSO-rt: violated: 3 operations, shown by a chain of 4 operations
            corpus/histories/real-time.wshist buffered linearizability: violated: not linearizable at x: t1 read 0 (line 25) after t0's write of 1 (line 24) had ended, and 0 is the initial value
            corpus/histories/real-time.wshist buffered TSO-rt: satisfied: 2 operations, shown by a run of 3 steps
            corpus/histories/real-time.wshist fenced linearizability: violated: not linearizable at x: t1 read 0 (line 31) after t0's write of 1 (line 29) had ended, and 0 is the initial value
            corpus/histories/real-time.wshist fenced TSO-rt: violated: 3 operations, shown by a cycle of 3 steps
            corpus/histories/real-time.wshist from-the-future linearizability: violated: not linearizable at x: t1 read 1 (line 36) before t0 wrote it (line 35)
            corpus/histories/real-time.wshist from-the-future TSO-rt: violated: 2 operations, shown by a cycle of 2 steps
            corpus/histories/real-time.wshist cas linearizability: violated: not linearizable at x: t0 and t1 both updated the same 7
            corpus/histories/real-time.wshist cas TSO-rt: violated: 3 operations, shown by a cycle of 2 steps
            corpus/histories/real-time.wshist same-time linearizability: violated: 4 operations, shown by a cycle of 4 steps
            corpus/histories/real-time.wshist same-time TSO-rt: satisfied: 4 operations, shown by a run of 6 steps
            corpus/histories/real-time.wshist open-end linearizability: satisfied: 3 operations, shown by a run of 3 steps
            corpus/histories/real-time.wshist open-end TSO-rt: satisfied: 3 operations, shown by a run of 3 steps under linearizability
            --- exit 1
        "#]],
    );
    check(
        &["history", "-q", "--model", "lin,sc", "corpus/histories/lost-write.edn"],
        "",
        expect![[r#"
            corpus/histories/lost-write.edn linearizability: violated: not linearizable at register: t0 read 1 (line 9) after t1's update of 1 to 2 (line 6) had ended
            corpus/histories/lost-write.edn SC: satisfied (not checked: real-time order): 5 operations, shown by a run of 5 steps
            --- exit 1
        "#]],
    );
    check(
        &["history", "-q", "--model", "tso-rt", "corpus/histories/cores-times.csv"],
        "",
        expect![[r#"
            corpus/histories/cores-times.csv TSO-rt: satisfied: 6 operations, shown by a run of 8 steps
            --- exit 0
        "#]],
    );
}

#[test]
fn in_json() {
    check(
        &["history", "--format", "json", "--model", "lin", REGISTER],
        "",
        expect![[r#"
            {"file":"corpus/histories/register.wshist","question":"history","id":null,"number":1,"model":"lin","verdict":"violated","certified":true,"operations":3,"threads":3,"variables":1,"decided_by":"location","broken":"not linearizable at x: t2 read 1 (line 3) after t1's write of 2 (line 2) had ended, and t1 wrote 2 (line 2) after t0's write of 1 (line 1) had ended","length":2,"cycle":[{"from":{"thread":1,"index":0,"op":"w x 2","line":2},"link":"ww","to":{"thread":0,"index":0,"op":"w x 1","line":1},"derivation":0},{"from":{"thread":0,"index":0,"op":"w x 1","line":1},"link":"rt","to":{"thread":1,"index":0,"op":"w x 2","line":2}}],"within":"global","derivations":[{"rule":"older","within":"global","path":[{"from":{"thread":1,"index":0,"op":"w x 2","line":2},"link":"rt","to":{"thread":2,"index":0,"op":"r x 1","line":3}}]}],"run":{"model":"lin","threads":[{"name":"t0"},{"name":"t1"},{"name":"t2"}],"locations":[{"name":"x"}],"init":{"x":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":1,"text":"w x 1"},{"n":2,"thread":1,"kind":"store","location":"x","value":2,"line":2,"text":"w x 2"},{"n":3,"thread":2,"kind":"load","location":"x","value":1,"line":3,"text":"r x 1"}],"cycle":[{"from":2,"to":3,"edge":"rt","why":"ended at 30, and the next began at 40"},{"from":3,"to":2,"edge":"fr","why":"reads x=1, which t1 0 w x 2 had overwritten"}],"late":[],"relations":[{"from":1,"to":2,"edge":"rt","why":"ended at 10, and the next began at 20"},{"from":1,"to":3,"edge":"rf","why":"wrote x=1, which t2 0 r x 1 reads"}]},"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
}

#[test]
fn a_smallest_part() {
    let text =
        "t0: w x 1 @ 0:1\nt0: w y 1 @ 2:3\nt1: r y 1 @ 2:4\nt1: w x 2 @ 5:6\nt2: r x 1 @ 7:8\n";
    check(
        &["history", "--minimise", "--model", "lin", "-"],
        text,
        expect![[r#"
            - history 1 linearizability: violated: not linearizable at x: t2 read 1 (line 5) after t1's write of 2 (line 4) had ended, and t1 wrote 2 (line 4) after t0's write of 1 (line 1) had ended

              Under linearizability this cannot be: each arrow means "comes before", and the
              last operation reads what was overwritten before it.
              t0 0  w x 1  line 1  -rt->  ended at 1, and the next began at 5
              t1 1  w x 2  line 4  -rt->  ended at 6, and the next began at 7
              t2 0  r x 1  line 5  reads x=1, which t1 1 w x 2 had overwritten

              3 operations of these violate it without the others:

                history
                t0: w x 1 @ 0:1  // operation 0 of t0, line 1
                t1: w x 2 @ 5:6  // operation 1 of t1, line 4
                t2: r x 1 @ 7:8  // operation 0 of t2, line 5

            --- exit 1
        "#]],
    );
}

#[test]
fn times_that_cannot_be() {
    let ask = |text: &str, expected| check(&["history", "--model", "lin", "-"], text, expected);
    ask(
        "t0: w x 1\nt1: r x 1\n",
        expect![[r#"
        --- standard error
        error: -: no operation says when it began or ended, which `lin` and `tso-rt` are about
        --- exit 2
    "#]],
    );
    // Other models are answered.
    check(
        &["history", "--model", "lin,sc,tso-rt,tso", "-"],
        "t0: w x 1\nt1: r x 1\n",
        expect![[r#"
            - history 1 SC: satisfied: 2 operations, shown by a run of 2 steps

              t0    │ t1    │ memory
              ──────┼───────┼───────
                    │       │ x=0
              w x 1 │       │ x=1
                    │ r x 1 │

            - history 1 TSO: satisfied: 2 operations, shown by a run of 2 steps under SC

              t0    │ t1    │ memory
              ──────┼───────┼───────
                    │       │ x=0
              w x 1 │       │ x=1
                    │ r x 1 │

            --- standard error
            error: -: no operation says when it began or ended, which `lin` and `tso-rt` are about
            error: -: no operation says when it began or ended, which `lin` and `tso-rt` are about
            --- exit 2
        "#]],
    );
    check(
        &["history", "--model", "lin,sc", "--format", "json", "-"],
        "t0: r x 1\nt1: w x 1\nt1: w x 1\n",
        expect![[r#"
            {"file":"-","question":"history","model":"lin","verdict":"error","message":"no operation says when it began or ended, which `lin` and `tso-rt` are about","line":null,"column":null,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"history","id":null,"number":1,"model":"sc","verdict":"holds","certified":true,"operations":3,"threads":2,"variables":1,"decided_by":"greedy","steps":3,"order":[{"thread":1,"index":0},{"thread":0,"index":0},{"thread":1,"index":1}],"store_order":{"x":[[1,0],[1,1]]},"notes":["1 read is of a value that was written more than once: a model is satisfied if it is with some choice of the writes, and what is shown is about one of them"],"run":{"model":"sc","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"x"}],"init":{"x":0},"steps":[{"n":1,"thread":1,"kind":"store","location":"x","value":1,"line":2,"text":"w x 1"},{"n":2,"thread":0,"kind":"load","location":"x","value":1,"line":1,"text":"r x 1"},{"n":3,"thread":1,"kind":"store","location":"x","value":1,"line":3,"text":"w x 1"}],"cycle":[],"late":[]},"time_s":_,"schema":1}
            --- standard error
            error: -: no operation says when it began or ended, which `lin` and `tso-rt` are about
            --- exit 2
        "#]],
    );
    ask(
        "t0: w x 1 @ 3:1\n",
        expect![[r#"
        --- standard error
        error: -:1:11: it ends at 1, before it starts at 3
        --- exit 2
    "#]],
    );
    ask(
        "t0: w x 1 @ 1:3\nt0: r x 1 @ 2:4\n",
        expect![[r#"
        --- standard error
        error: -:2:11: it starts at 2, but `t0` does one operation after the other, and the one before it goes on until 3
        --- exit 2
    "#]],
    );
    let follow = |text: &str, expected| {
        check(&["history", "--follow", "--model", "lin", "-"], text, expected);
    };
    // Of one that has none it may have been at any time, as of a whole file.
    follow(
        "t0: w x 1 @ 1:2\nt1: r x 1\n",
        expect![[r#"
        - linearizability: satisfied: 2 operations, all in one window
        --- exit 0
    "#]],
    );
    follow(
        "t0: w x 1\nt1: r x 1\n",
        expect![[r#"
        --- standard error
        error: -:1:5: no operation says when it began or ended, which `lin` and `tso-rt` are about
        --- exit 2
    "#]],
    );
    follow(
        "t0: w x 1 @ 1:2\nt1: r x 0 @ 3:4\n",
        expect![[r#"
            - linearizability: violated: not linearizable at x: t1 read 0 (line 2) after t0's write of 1 (line 1) had ended, and 0 is the initial value

              Under linearizability this cannot be: each arrow means "comes before", and the
              last operation reads what was overwritten before it.
                    x=0 at the start          -po->  before everything else
              t0 0  w x 1             line 1  -rt->  ended at 2, and the next began at 3
              t1 0  r x 0             line 2  reads x=0, which t0 0 w x 1 had overwritten

            --- exit 1
        "#]],
    );
}

/// Times are kept from format to format.
#[test]
fn converted() {
    check(
        &["convert", "--to", "jsonl", REGISTER, "-"],
        "",
        expect![[r#"
        {"threads":[[{"kind":"w","var":"x","val":1,"start":0,"end":10}],[{"kind":"w","var":"x","val":2,"start":20,"end":30}],[{"kind":"r","var":"x","val":1,"start":40,"end":50}]]}
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "axe", REGISTER, "-"],
        "",
        expect![[r#"
        0: M[0] := 1 @ 0:10
        1: M[0] := 2 @ 20:30
        2: M[0] == 1 @ 40:50
        check
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "plume", REGISTER, "-"],
        "",
        expect![[r#"
        w(0,1,0,0)
        w(0,2,1,1)
        r(0,1,2,2)
        --- exit 0
    "#]],
    );
}

#[test]
fn witnesses() {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("w.json");
    let witness = witness.to_str().expect("a path");
    let mut got = String::new();
    for model in ["lin", "tso-rt"] {
        run(&["history", "-q", "--model", model, "--witness", witness, REGISTER], "");
        let ran = run(&["certify", REGISTER, witness], "");
        got += &format!("{}{} ({:?})\n", ran.out, ran.err, ran.code);
        let text = std::fs::read_to_string(witness).expect("a witness");
        std::fs::write(witness, text.replacen(&format!("\"{model}\""), "\"sc\"", 1))
            .expect("a file");
        let ran = run(&["certify", REGISTER, witness], "");
        got += &format!("{}{} ({:?})\n", ran.out, ran.err, ran.code);
    }
    expect![[r#"
        certified: history under linearizability: violated, by a cycle of orders that all hold
         (Some(0))
        rejected: history under SC: violated, not shown: derivation 1 of the cycle: an edge is not there
         (Some(1))
        certified: history under TSO-rt: holds, by a run of 5 steps
         (Some(0))
        rejected: history under SC: holds, not shown: step 3 of the run: SC has no buffers
         (Some(1))
    "#]].assert_eq(&got);
}

/// What is wrong with a log as a whole is its answer: no violation is told beside it, as of a file.
#[test]
fn a_value_that_nobody_wrote_is_all_that_is_said() {
    let one = |i: i64| match i {
        4 => "t2: r x 1 @ 40:45\n".to_owned(),
        7 => "t1: r x 99 @ 70:75\n".to_owned(),
        _ => format!("t0: w x {i} @ {}:{}\n", 10 * i, 10 * i + 5),
    };
    let log: String = (1..40).map(one).collect();
    for models in ["lin", "lin,sc", "lin,tso-rt"] {
        check(
            &["history", "--follow", "--model", models, "--window", "10", "-q", "-"],
            &log,
            expect![[r#"
                --- standard error
                error: -:7:5: nobody wrote 99 to `x`
                --- exit 2
            "#]],
        );
    }
}

/// Longer than a window, and still known; what begins before something that was settled is not.
#[test]
fn settled_while_it_is_written() {
    let log = |late: &str| -> String {
        let one = |i: i64| format!("t{}: w x {i} @ {}:{}\n", i % 3, 9 * i, 9 * i + 12);
        let lines: String = (1..=4_000).map(one).collect();
        format!("{lines}{late}")
    };
    let follow = ["history", "--follow", "--model", "lin", "--window", "2500", "-"];
    check(
        &follow,
        &log(""),
        expect![[r#"
        - linearizability: satisfied: 4,000 operations, all of which were settled
        --- exit 0
    "#]],
    );
    check(
        &follow,
        &log("t3: r x 5 @ 40:60\n"),
        expect![[r#"
            - linearizability: satisfied: 4,001 operations, checked as a whole at the end
            --- exit 0
        "#]],
    );
    check(
        &follow,
        &log("t3: r x 2 @ 50000:50001\n"),
        expect![[r#"
            - linearizability: violated: not linearizable at x: t3 read 2 (line 4001) after t2's write of 2501 (line 2501) had ended, and t2 wrote 2501 after it had written 2 (line 2, line 2501)

              Under linearizability this cannot be: each arrow means "comes before", and the
              last operation reads what was overwritten before it.
              t2 0    w x 2     line 2     -po->  program order of t2
              t2 833  w x 2501  line 2501  -rt->  ended at 22521, and the next began at
                                                  50000
              t3 0    r x 2     line 4001  reads x=2, which t2 833 w x 2501 had overwritten

            --- exit 1
        "#]],
    );
    check(
        &["history", "--model", "lin", "-q", "-"],
        &log("t3: r x 5 @ 40:60\n"),
        expect![[r#"
        - history 1 linearizability: satisfied: 4,001 operations, shown by a run of 4,001 steps
        --- exit 0
    "#]],
    );
    let json = [
        "history",
        "--follow",
        "--format",
        "json",
        "--model",
        "lin,tso-rt",
        "--window",
        "2500",
        "-",
    ];
    check(
        &json,
        &log(""),
        expect![[r#"
            {"file":"-","question":"history","id":null,"number":1,"model":"lin","verdict":"holds","certified":true,"operations":4000,"threads":3,"variables":1,"window":2500,"left_out":0,"decided_by":"location","time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"history","id":null,"number":1,"model":"tso-rt","verdict":"holds","certified":true,"operations":4000,"threads":3,"variables":1,"window":2500,"left_out":0,"decided_by":"location","time_s":_,"schema":1}
            --- exit 0
        "#]],
    );
}
