//! Commands with their output and exit codes.

use expect_test::{Expect, expect};

use crate::{root, run, transcript};

pub(crate) fn check(args: &[&str], stdin: &str, expected: Expect) {
    expected.assert_eq(&transcript(args, stdin));
}

const MP: &str = "X86 MP
{ x=0; y=0; }
 P0         | P1          ;
 MOV [x],$1 | MOV EAX,[y] ;
 MOV [y],$1 | MOV EBX,[x] ;
exists (1:EAX=1 /\\ 1:EBX=0)
";

#[test]
fn litmus_from_standard_input() {
    check(
        &["litmus", "-"],
        MP,
        expect![[r#"
        Model SC
        Test MP Allowed
        States 3
        1:EAX=0; 1:EBX=0;
        1:EAX=0; 1:EBX=1;
        1:EAX=1; 1:EBX=1;
        No
        Witnesses
        Positive: 0 Negative: 3
        Condition exists (1:EAX=1 /\ 1:EBX=0)
        Observation MP Never 0 3
        Time MP _

        Model TSO
        Test MP Allowed
        States 3
        1:EAX=0; 1:EBX=0;
        1:EAX=0; 1:EBX=1;
        1:EAX=1; 1:EBX=1;
        No
        Witnesses
        Positive: 0 Negative: 3
        Condition exists (1:EAX=1 /\ 1:EBX=0)
        Observation MP Never 0 3
        Time MP _

        Model PSO
        Test MP Allowed
        States 4
        1:EAX=0; 1:EBX=0;
        1:EAX=0; 1:EBX=1;
        1:EAX=1; 1:EBX=0;
        1:EAX=1; 1:EBX=1;
        Ok
        Witnesses
        Positive: 1 Negative: 3
        Condition exists (1:EAX=1 /\ 1:EBX=0)
        Observation MP Sometimes 1 3
        Time MP _

        --- exit 1
    "#]],
    );
}

#[test]
fn litmus_json() {
    check(
        &["litmus", "--format", "json", "--states", "-"],
        MP,
        expect![[r#"
            {"file":"-","question":"litmus","model":"sc","verdict":"violated","certified":true,"time_s":_,"name":"MP","condition":"exists","proposition":"(1:EAX=1 /\\ 1:EBX=0)","line":6,"witness_exists":false,"states":3,"observation":"Never","complete":true,"explored":3,"outcomes":[{"1:EAX":0,"1:EBX":0},{"1:EAX":0,"1:EBX":1},{"1:EAX":1,"1:EBX":1}],"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"litmus","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"MP","condition":"exists","proposition":"(1:EAX=1 /\\ 1:EBX=0)","line":6,"witness_exists":false,"states":3,"observation":"Never","complete":true,"explored":3,"outcomes":[{"1:EAX":0,"1:EBX":0},{"1:EAX":0,"1:EBX":1},{"1:EAX":1,"1:EBX":1}],"schema":1}
            {"file":"-","question":"litmus","model":"pso","verdict":"holds","certified":true,"time_s":_,"name":"MP","condition":"exists","proposition":"(1:EAX=1 /\\ 1:EBX=0)","line":6,"witness_exists":true,"states":4,"observation":"Sometimes","complete":true,"explored":5,"outcomes":[{"1:EAX":0,"1:EBX":0},{"1:EAX":0,"1:EBX":1},{"1:EAX":1,"1:EBX":0},{"1:EAX":1,"1:EBX":1}],"schema":1}
            --- exit 1
        "#]],
    );
}

#[test]
fn litmus_show_one_state() {
    check(
        &["litmus", "--model", "pso", "--show=1:EAX=1; 1:EBX=0", "-"],
        MP,
        expect![[r#"
            Model PSO
            Test MP Allowed
            States 4
            1:EAX=0; 1:EBX=0;
            1:EAX=0; 1:EBX=1;
            1:EAX=1; 1:EBX=0;
            1:EAX=1; 1:EBX=1;
            Ok
            Witnesses
            Positive: 1 Negative: 3
            Condition exists (1:EAX=1 /\ 1:EBX=0)
            Observation MP Sometimes 1 3
            Time MP _

            A run of MP under PSO, time running downwards

            P0                               │ P1                                 │ memory
            ─────────────────────────────────┼────────────────────────────────────┼───────
                                             │                                    │ x=0
                                             │                                    │ y=0
            MOV [x],$1  buffers x=1 as (1)   │                                    │
            MOV [y],$1  writes y=1 to memory │                                    │ y=1
                                             │ MOV EAX,[y]  reads y=1 from memory │
                                             │ MOV EBX,[x]  reads x=0 from memory │
            (1)         x=1 reaches memory,  │                                    │ x=1
                        overtaken by MOV     │                                    │
                        [y],$1               │                                    │

            Final state: 1:EAX=1; 1:EBX=0;
            P0's store x=1 (line 4) was still in its buffer when its later store y=1 (line
            5) reached memory.

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              P0  MOV [x],$1   -po->  program order of P0
              P0  MOV [y],$1   -rf->  wrote y=1, which the next reads
              P1  MOV EAX,[y]  -po->  program order of P1
              P1  MOV EBX,[x]  -fr->  read x=0, which the next overwrites
              P0  MOV [x],$1  (back at the start)

            --- exit 0
        "#]],
    );
}

#[test]
fn litmus_show_no_such_state() {
    check(
        &["litmus", "--model", "tso", "--show=1:EAX=1; 1:EBX=0", "-"],
        MP,
        expect![[r#"
            Model TSO
            Test MP Allowed
            States 3
            1:EAX=0; 1:EBX=0;
            1:EAX=0; 1:EBX=1;
            1:EAX=1; 1:EBX=1;
            No
            Witnesses
            Positive: 0 Negative: 3
            Condition exists (1:EAX=1 /\ 1:EBX=0)
            Observation MP Never 0 3
            Time MP _

            No run under TSO ends with 1:EAX=1; 1:EBX=0.
            Each of these would come before the next:
              P0  line 4  MOV [x],$1   -po->  program order of P0: TSO keeps store before
                                              store
              P0  line 5  MOV [y],$1   -rf->  wrote y=1, which the next reads
              P1  line 4  MOV EAX,[y]  -po->  program order of P1: TSO keeps load before
                                              load
              P1  line 5  MOV EBX,[x]  -fr->  read x=0, which the next overwrites
              P0  line 4  MOV [x],$1  (back at the start)
            No other execution has these values.

            --- exit 1
        "#]],
    );
}

#[test]
fn litmus_dot() {
    check(
        &["litmus", "--model", "pso", "--format", "dot", "-"],
        MP,
        expect![[r##"
            digraph execution {
              // neato -n2 -Tpdf
              graph [fontname="monospace", fontsize=9, splines=line];
              node [shape=box, fontname="monospace", fontsize=9, fixedsize=true];
              edge [fontname="monospace", fontsize=8, arrowsize=0.6];
              title [shape=plaintext, label="MP under PSO", pos="44.8,332.2", width=1.00, height=0.15, fontcolor="#000000"];
              init [shape=plaintext, label="initially x=0 y=0", pos="58.5,321.0", width=1.38, height=0.15, fontcolor="#555555"];
              t0 [shape=plaintext, label="P0", pos="74.0,289.5", width=0.24, height=0.15, fontcolor="#000000"];
              t1 [shape=plaintext, label="P1", pos="247.9,289.5", width=0.24, height=0.15, fontcolor="#000000"];
              e0 [label="W x=1\nMOV [x],$1", pos="74.0,259.5", width=1.54, height=0.40, penwidth=2];
              e1 [label="W y=1\nMOV [y],$1", pos="74.0,211.5", width=1.54, height=0.40, penwidth=2];
              e2 [label="R y=1\nMOV EAX,[y]", pos="247.9,163.5", width=1.00, height=0.40, penwidth=2];
              e3 [label="R x=0\nMOV EBX,[x]", pos="247.9,115.5", width=1.00, height=0.40, penwidth=2];
              e4 [label="x=1 reaches memory", pos="74.0,73.1", width=1.54, height=0.24, style=dashed, color="#b35806"];
              b0 [label="", pos="13.9,166.3", width=0.05, height=2.59, style=filled, color="#fdb863"];
              e0 -> e1 [color="#222222", fontcolor="#222222", penwidth=2, label="1 po", lp="87.8,235.5", pos="e,74.0,225.8 74.0,245.2 74.0,240.8 74.0,236.2 74.0,231.8"];
              e1 -> e2 [color="#b2182b", fontcolor="#b2182b", penwidth=2, label="2 rf", lp="176.9,198.5", pos="e,211.8,163.5 129.3,211.5 154.8,196.7 181.1,181.4 206.6,166.5"];
              e2 -> e3 [color="#222222", fontcolor="#222222", penwidth=2, label="3 po", lp="261.7,139.5", pos="e,247.9,129.8 247.9,149.2 247.9,144.8 247.9,140.2 247.9,135.8"];
              e3 -> e4 [color="#b35806", fontcolor="#b35806", penwidth=2, label="4 fr", lp="176.2,83.3", pos="e,129.3,73.1 211.8,115.5 186.3,102.4 160.1,88.9 134.6,75.9"];
              l0 [shape=plaintext, label="po: program order", pos="58.5,45.0", width=1.38, height=0.15, fontcolor="#222222"];
              l1 [shape=plaintext, label="rf: is read by", pos="50.3,33.8", width=1.15, height=0.15, fontcolor="#b2182b"];
              l2 [shape=plaintext, label="fr: read what is overwritten by", pos="96.9,22.5", width=2.44, height=0.15, fontcolor="#b35806"];
              lb [shape=plaintext, label="bar: a store waits in its buffer", pos="99.6,11.2", width=2.52, height=0.15, fontcolor="#b35806"];
            }
            --- exit 0
        "##]],
    );
}

#[test]
fn bad_instruction() {
    let bad = MP.replace("MOV EAX", "MVO EAX");
    check(
        &["litmus", "-"],
        &bad,
        expect![[r#"
        --- standard error
        error: unknown instruction `MVO`
         --> -:4:15
          |
        4 |  MOV [x],$1 | MVO EAX,[y] ;
          |               ^^^ expected an instruction of x86
          |
          = help: did you mean `mov`?
        --- exit 2
    "#]],
    );
    check(
        &["litmus", "--model", "tso", "--format", "json", "-"],
        &bad,
        expect![[r#"
            {"file":"-","question":"litmus","model":"tso","verdict":"error","message":"unknown instruction `MVO`","line":4,"column":15,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: unknown instruction `MVO`
             --> -:4:15
              |
            4 |  MOV [x],$1 | MVO EAX,[y] ;
              |               ^^^ expected an instruction of x86
              |
              = help: did you mean `mov`?
            --- exit 2
        "#]],
    );
}

#[test]
fn fault_at_run_time() {
    let text =
        "X86 fault\n{ 0:EBX=x; y=3; }\n P0 ;\n MOV EBX,[y] ;\n MOV EAX,[EBX] ;\nforall (true)\n";
    check(
        &["litmus", "--model", "sc", "-"],
        text,
        expect![[r#"
        --- standard error
        error: load from address 3, where no location is declared
         --> -:5:2
          |
        5 |  MOV EAX,[EBX] ;
          |  ^^^^^^^^^^^^^ reached in some run of P0
          |
          = help: declared are `x`, `y`
        --- exit 2
    "#]],
    );
}

#[test]
fn no_such_file() {
    check(
        &["litmus", "nowhere.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: nowhere.litmus: failed to read: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        &["litmus", "--format", "json", "--model", "tso", "nowhere.litmus"],
        "",
        expect![[r#"
            {"file":"nowhere.litmus","question":"litmus","model":"tso","verdict":"error","message":"failed to read: No such file or directory (os error 2)","line":null,"column":null,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: nowhere.litmus: failed to read: No such file or directory (os error 2)
            --- exit 2
        "#]],
    );
    check(
        &["litmus", "README.md"],
        "",
        expect![[r#"
        --- standard error
        error: README.md: the ending names no input language: expected .litmus, .weak, .c, .txt, .tso or .rmm, or --input-format
        --- exit 2
    "#]],
    );
}

#[test]
fn good_and_bad_files_together() {
    check(
        &["litmus", "--model", "tso", "corpus/litmus/MP.litmus", "nowhere.litmus"],
        "",
        expect![[r#"
            Model TSO
            Test MP Allowed
            States 3
            1:EAX=0; 1:EBX=0;
            1:EAX=0; 1:EBX=1;
            1:EAX=1; 1:EBX=1;
            No
            Witnesses
            Positive: 0 Negative: 3
            Condition exists (1:EAX=1 /\ 1:EBX=0)
            Observation MP Never 0 3
            Time MP _

            --- standard error
            error: nowhere.litmus: failed to read: No such file or directory (os error 2)
            2 tests
            model       Ok       No  Undecided   Errors
            TSO          0        1          0        1
            --- exit 2
        "#]],
    );
}

#[test]
fn a_buffer_without_bound() {
    let text = "X86 grow
{ }
 P0             | P1          ;
 L0: MOV [x],$1 | MOV EAX,[x] ;
 MOV EAX,[y]    | MOV [y],$1  ;
 CMP EAX,$0     |             ;
 JE L0          |             ;
exists (0:EAX=1 /\\ 1:EAX=2)
";
    check(
        &["litmus", "--model", "tso", "-"],
        text,
        expect![[r#"
        Model TSO
        Test grow Allowed
        States 2
        (there may be more: the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer)
        0:EAX=1; 1:EAX=0;
        0:EAX=1; 1:EAX=1;
        Undecided
        (no state found satisfies the condition, but the store buffer of P0 can grow without bound; explored with at most 16 stores per buffer)
        Witnesses
        Positive: 0 Negative: 2
        Condition exists (0:EAX=1 /\ 1:EAX=2)
        Observation grow Undecided 0 2
        Time grow _

        --- exit 3
    "#]],
    );
}

#[test]
fn reach_peterson() {
    check(
        &["reach", "corpus/programs/peterson.weak"],
        "",
        expect![[r#"
            peterson SC holds: the forbidden control points are never reached together, the final states are as asked (226 nodes searched)
            peterson TSO violated: the forbidden control points are reached together
            A run of peterson under TSO, time running downwards

            p[0]                          │ p[1]                          │ memory
            ──────────────────────────────┼───────────────────────────────┼──────────
                                          │                               │ flag[0]=0
                                          │                               │ flag[1]=0
                                          │                               │ turn=0
            while (i < ROUNDS)            │                               │
            flag[me] = 1                  │                               │
              buffers flag[0]=1 as (1)    │                               │
            turn = 1 - me                 │                               │
              buffers turn=1 as (2)       │                               │
            await (flag[1 - me] == 0 ||   │                               │
              turn == me)                 │                               │
              reads flag[1]=0 from memory │                               │
                                          │ while (i < ROUNDS)            │
                                          │ flag[me] = 1                  │
                                          │   buffers flag[1]=1 as (3)    │
                                          │ turn = 1 - me                 │
                                          │   buffers turn=0 as (4)       │
                                          │ await (flag[1 - me] == 0 ||   │
                                          │   turn == me)                 │
                                          │   reads flag[0]=0 from memory │

            The run ends with p[0] at cs, p[1] at cs.
            At the end (1) flag[0]=1 is still in the buffer of p[0].
            At the end (2) turn=1 is still in the buffer of p[0].
            At the end (3) flag[1]=1 is still in the buffer of p[1].
            At the end (4) turn=0 is still in the buffer of p[1].
            p[0]'s store flag[0]=1 (line 16) was still in its buffer when p[0] loaded
            flag[1] (line 18).
            p[1]'s store flag[1]=1 (line 16) was still in its buffer when p[1] loaded
            flag[0] (line 18).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              p[0]  flag[me] = 1                             -po->  program order of p[0]
              p[0]  await (flag[1 - me] == 0 || turn == me)  -fr->  read flag[1]=0, which
                                                                    the next overwrites
              p[1]  flag[me] = 1                             -po->  program order of p[1]
              p[1]  await (flag[1 - me] == 0 || turn == me)  -fr->  read flag[0]=0, which
                                                                    the next overwrites
              p[0]  flag[me] = 1  (back at the start)

            peterson PSO violated: the forbidden control points are reached together
              for the same reason as under TSO, where it is drawn
            --- exit 1
        "#]],
    );
}

#[test]
fn reach_trencher_and_memorax() {
    check(
        &[
            "reach",
            "--threads",
            "1",
            "--model",
            "sc,tso",
            "--format",
            "json",
            "corpus/trencher",
            "corpus/memorax",
        ],
        "",
        expect![[r#"
            {"file":"corpus/trencher/clh-3.txt","question":"reach","model":"sc","verdict":"holds","certified":"too large","time_s":_,"name":"clh-3","reachable":false,"explored":862,"algorithm":"sc","schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"corpus/trencher/clh-3.txt","question":"reach","model":"tso","verdict":"holds","certified":"too large","time_s":_,"name":"clh-3","reachable":false,"explored":1939,"algorithm":"eager","schema":1}
            {"file":"corpus/trencher/dekker-fenced.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"dekker-fenced","reachable":false,"explored":6,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/dekker-fenced.txt","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"dekker-fenced","reachable":false,"explored":7,"algorithm":"eager","schema":1}
            {"file":"corpus/trencher/dekker-turns.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"dekker-turns","reachable":false,"explored":85,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/dekker-turns.txt","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"dekker-turns","reachable":true,"violation":"control points","init":[],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0}],"explored":1,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"[100]"},{"name":"[101]"}],"init":{"[100]":0,"[101]":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"[100]","value":1,"line":7,"column":1,"text":"transition start look write 1 100","buffers":{"t0":[["[100]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":2,"thread":0,"kind":"load","location":"[101]","value":0,"line":8,"column":1,"text":"transition look test read flag 101","from":"memory","buffers":{"t0":[["[100]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":3,"thread":0,"kind":"local","line":9,"column":1,"text":"transition test cs check == flag 0","buffers":{"t0":[["[100]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":4,"thread":1,"kind":"store","location":"[101]","value":1,"line":25,"column":1,"text":"transition start look write 1 101","buffers":{"t0":[["[100]",1]],"t1":[["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":5,"thread":1,"kind":"load","location":"[100]","value":0,"line":26,"column":1,"text":"transition look test read flag 100","from":"memory","buffers":{"t0":[["[100]",1]],"t1":[["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":6,"thread":1,"kind":"local","line":27,"column":1,"text":"transition test cs check == flag 0","buffers":{"t0":[["[100]",1]],"t1":[["[101]",1]]},"memory":{"[100]":0,"[101]":0}}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of t0"},{"from":2,"to":4,"edge":"fr","why":"read [101]=0, which the next overwrites"},{"from":4,"to":5,"edge":"po","why":"program order of t1"},{"from":5,"to":1,"edge":"fr","why":"read [100]=0, which the next overwrites"}],"late":[{"store":1,"behind":2},{"store":4,"behind":5}],"relations":[{"from":2,"to":4,"edge":"fr"},{"from":5,"to":1,"edge":"fr"}],"sc":"forbids","end":{"at":{"t0":"cs","t1":"cs"}}},"schema":1}
            {"file":"corpus/trencher/dekker.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"dekker","reachable":false,"explored":6,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/dekker.txt","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"dekker","reachable":true,"violation":"control points","init":[],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0}],"explored":1,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"left"},{"name":"right"}],"locations":[{"name":"[0]"},{"name":"[1]"}],"init":{"[0]":0,"[1]":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"[0]","value":1,"line":11,"column":1,"text":"transition start raised write 1 0","buffers":{"left":[["[0]",1]]},"memory":{"[0]":0,"[1]":0}},{"n":2,"thread":0,"kind":"load","location":"[1]","value":0,"line":12,"column":1,"text":"transition raised looked read other 1","from":"memory","buffers":{"left":[["[0]",1]]},"memory":{"[0]":0,"[1]":0}},{"n":3,"thread":0,"kind":"local","line":13,"column":1,"text":"transition looked critical check == other 0","buffers":{"left":[["[0]",1]]},"memory":{"[0]":0,"[1]":0}},{"n":4,"thread":1,"kind":"store","location":"[1]","value":1,"line":21,"column":1,"text":"transition start raised write 1 1","buffers":{"left":[["[0]",1]],"right":[["[1]",1]]},"memory":{"[0]":0,"[1]":0}},{"n":5,"thread":1,"kind":"load","location":"[0]","value":0,"line":22,"column":1,"text":"transition raised looked read other 0","from":"memory","buffers":{"left":[["[0]",1]],"right":[["[1]",1]]},"memory":{"[0]":0,"[1]":0}},{"n":6,"thread":1,"kind":"local","line":23,"column":1,"text":"transition looked critical check == other 0","buffers":{"left":[["[0]",1]],"right":[["[1]",1]]},"memory":{"[0]":0,"[1]":0}}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of left"},{"from":2,"to":4,"edge":"fr","why":"read [1]=0, which the next overwrites"},{"from":4,"to":5,"edge":"po","why":"program order of right"},{"from":5,"to":1,"edge":"fr","why":"read [0]=0, which the next overwrites"}],"late":[{"store":1,"behind":2},{"store":4,"behind":5}],"relations":[{"from":2,"to":4,"edge":"fr"},{"from":5,"to":1,"edge":"fr"}],"sc":"forbids","end":{"at":{"left":"critical","right":"critical"}}},"schema":1}
            {"file":"corpus/trencher/lamport-fast-3.txt","question":"reach","model":"sc","verdict":"holds","certified":"too large","time_s":_,"name":"lamport-fast-3","reachable":false,"explored":255,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/lamport-fast-3.txt","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"lamport-fast-3","reachable":true,"violation":"control points","init":[],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":1,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":1,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":2,"edge":0,"choice":0},{"thread":2,"edge":0,"choice":0},{"thread":2,"edge":0,"choice":0},{"thread":2,"edge":1,"choice":0},{"thread":2,"edge":0,"choice":0},{"thread":2,"edge":0,"choice":0},{"thread":2,"edge":0,"choice":0}],"explored":1,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"t1"},{"name":"t2"},{"name":"t3"}],"locations":[{"name":"[100]"},{"name":"[101]"}],"init":{"[100]":0,"[101]":0},"steps":[{"n":1,"thread":0,"kind":"local","sets":{"i":1},"line":9,"column":1,"text":"transition start set_x local i 1","buffers":{},"memory":{"[100]":0,"[101]":0}},{"n":2,"thread":0,"kind":"store","location":"[100]","value":1,"line":10,"column":1,"text":"transition set_x read_y write i 100","buffers":{"t1":[["[100]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":3,"thread":0,"kind":"load","location":"[101]","value":0,"line":11,"column":1,"text":"transition read_y test_y read ry 101","from":"memory","buffers":{"t1":[["[100]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":4,"thread":0,"kind":"local","line":13,"column":1,"text":"transition test_y set_y check == ry 0","buffers":{"t1":[["[100]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":5,"thread":0,"kind":"store","location":"[101]","value":1,"line":14,"column":1,"text":"transition set_y read_x write i 101","buffers":{"t1":[["[100]",1],["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":6,"thread":0,"kind":"load","location":"[100]","value":1,"line":15,"column":1,"text":"transition read_x test_x read rx 100","from":"buffer","buffers":{"t1":[["[100]",1],["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":7,"thread":0,"kind":"local","line":16,"column":1,"text":"transition test_x cs check == rx i","buffers":{"t1":[["[100]",1],["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":8,"thread":1,"kind":"local","sets":{"i":2},"line":26,"column":1,"text":"transition start set_x local i 2","buffers":{"t1":[["[100]",1],["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":9,"thread":1,"kind":"store","location":"[100]","value":2,"line":27,"column":1,"text":"transition set_x read_y write i 100","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2]]},"memory":{"[100]":0,"[101]":0}},{"n":10,"thread":1,"kind":"load","location":"[101]","value":0,"line":28,"column":1,"text":"transition read_y test_y read ry 101","from":"memory","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2]]},"memory":{"[100]":0,"[101]":0}},{"n":11,"thread":1,"kind":"local","line":30,"column":1,"text":"transition test_y set_y check == ry 0","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2]]},"memory":{"[100]":0,"[101]":0}},{"n":12,"thread":1,"kind":"store","location":"[101]","value":2,"line":31,"column":1,"text":"transition set_y read_x write i 101","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]]},"memory":{"[100]":0,"[101]":0}},{"n":13,"thread":1,"kind":"load","location":"[100]","value":2,"line":32,"column":1,"text":"transition read_x test_x read rx 100","from":"buffer","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]]},"memory":{"[100]":0,"[101]":0}},{"n":14,"thread":1,"kind":"local","line":33,"column":1,"text":"transition test_x cs check == rx i","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]]},"memory":{"[100]":0,"[101]":0}},{"n":15,"thread":2,"kind":"local","sets":{"i":3},"line":43,"column":1,"text":"transition start set_x local i 3","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]]},"memory":{"[100]":0,"[101]":0}},{"n":16,"thread":2,"kind":"store","location":"[100]","value":3,"line":44,"column":1,"text":"transition set_x read_y write i 100","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]],"t3":[["[100]",3]]},"memory":{"[100]":0,"[101]":0}},{"n":17,"thread":2,"kind":"load","location":"[101]","value":0,"line":45,"column":1,"text":"transition read_y test_y read ry 101","from":"memory","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]],"t3":[["[100]",3]]},"memory":{"[100]":0,"[101]":0}},{"n":18,"thread":2,"kind":"local","line":47,"column":1,"text":"transition test_y set_y check == ry 0","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]],"t3":[["[100]",3]]},"memory":{"[100]":0,"[101]":0}},{"n":19,"thread":2,"kind":"store","location":"[101]","value":3,"line":48,"column":1,"text":"transition set_y read_x write i 101","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]],"t3":[["[100]",3],["[101]",3]]},"memory":{"[100]":0,"[101]":0}},{"n":20,"thread":2,"kind":"load","location":"[100]","value":3,"line":49,"column":1,"text":"transition read_x test_x read rx 100","from":"buffer","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]],"t3":[["[100]",3],["[101]",3]]},"memory":{"[100]":0,"[101]":0}},{"n":21,"thread":2,"kind":"local","line":50,"column":1,"text":"transition test_x cs check == rx i","buffers":{"t1":[["[100]",1],["[101]",1]],"t2":[["[100]",2],["[101]",2]],"t3":[["[100]",3],["[101]",3]]},"memory":{"[100]":0,"[101]":0}}],"cycle":[{"from":5,"to":6,"edge":"po","why":"program order of t1"},{"from":6,"to":9,"edge":"fr","why":"read [100]=1, which the next overwrites"},{"from":9,"to":10,"edge":"po","why":"program order of t2"},{"from":10,"to":5,"edge":"fr","why":"read [101]=0, which the next overwrites"}],"late":[{"store":2,"behind":3},{"store":9,"behind":10},{"store":16,"behind":17}],"relations":[{"from":2,"to":9,"edge":"co"},{"from":9,"to":16,"edge":"co"},{"from":5,"to":12,"edge":"co"},{"from":12,"to":19,"edge":"co"},{"from":3,"to":5,"edge":"fr"},{"from":2,"to":6,"edge":"rf"},{"from":6,"to":9,"edge":"fr"},{"from":10,"to":5,"edge":"fr"},{"from":9,"to":13,"edge":"rf"},{"from":13,"to":16,"edge":"fr"},{"from":17,"to":5,"edge":"fr"},{"from":16,"to":20,"edge":"rf"}],"sc":"forbids","end":{"at":{"t1":"cs","t2":"cs","t3":"cs"}}},"schema":1}
            {"file":"corpus/trencher/locked-counter.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"locked-counter","reachable":false,"explored":26,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/locked-counter.txt","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"locked-counter","reachable":false,"explored":10,"algorithm":"eager","schema":1}
            {"file":"corpus/trencher/message-passing.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"message-passing","reachable":false,"explored":8,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/message-passing.txt","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"message-passing","reachable":false,"explored":3,"algorithm":"eager","schema":1}
            {"file":"corpus/trencher/parker.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"parker","reachable":false,"explored":30,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/parker.txt","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"parker","reachable":true,"violation":"control points","init":[],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":1,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"commit":100},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"commit":101},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":0,"commit":101},{"thread":0,"edge":1,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":1,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":1,"choice":0},{"thread":0,"edge":0,"choice":0}],"explored":5,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"waiter"},{"name":"waker"}],"locations":[{"name":"[100]"},{"name":"[101]"}],"init":{"[100]":0,"[101]":0},"steps":[{"n":1,"thread":0,"kind":"load","location":"[100]","value":0,"line":10,"column":1,"text":"transition start test read cond 100","from":"memory","buffers":{},"memory":{"[100]":0,"[101]":0}},{"n":2,"thread":0,"kind":"local","line":12,"column":1,"text":"transition test look check == cond 0","buffers":{},"memory":{"[100]":0,"[101]":0}},{"n":3,"thread":0,"kind":"load","location":"[101]","value":0,"line":13,"column":1,"text":"transition look test_fast read taken 101","from":"memory","buffers":{},"memory":{"[100]":0,"[101]":0}},{"n":4,"thread":0,"kind":"local","line":14,"column":1,"text":"transition test_fast take check == taken 0","buffers":{},"memory":{"[100]":0,"[101]":0}},{"n":5,"thread":0,"kind":"store","location":"[101]","value":1,"line":15,"column":1,"text":"transition take start write 1 101","buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":6,"thread":0,"kind":"load","location":"[100]","value":0,"line":10,"column":1,"text":"transition start test read cond 100","from":"memory","buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":7,"thread":1,"kind":"store","location":"[100]","value":1,"line":29,"column":1,"text":"transition start enter write 1 100","buffers":{"waiter":[["[101]",1]],"waker":[["[100]",1]]},"memory":{"[100]":0,"[101]":0}},{"n":8,"thread":1,"kind":"commit","location":"[100]","value":1,"of":7,"buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":1,"[101]":0}},{"n":9,"thread":1,"kind":"lock","line":30,"column":1,"text":"transition enter look lock","buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":1,"[101]":0}},{"n":10,"thread":1,"kind":"load","location":"[101]","value":0,"line":31,"column":1,"text":"transition look give read taken 101","from":"memory","buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":1,"[101]":0}},{"n":11,"thread":1,"kind":"store","location":"[101]","value":0,"line":32,"column":1,"text":"transition give leave write 0 101","buffers":{"waiter":[["[101]",1]],"waker":[["[101]",0]]},"memory":{"[100]":1,"[101]":0}},{"n":12,"thread":1,"kind":"commit","location":"[101]","value":0,"of":11,"buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":1,"[101]":0}},{"n":13,"thread":1,"kind":"unlock","line":33,"column":1,"text":"transition leave test unlock","buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":1,"[101]":0}},{"n":14,"thread":1,"kind":"local","line":34,"column":1,"text":"transition test quiet check == taken 0","buffers":{"waiter":[["[101]",1]]},"memory":{"[100]":1,"[101]":0}},{"n":15,"thread":0,"kind":"commit","location":"[101]","value":1,"of":5,"buffers":{},"memory":{"[100]":1,"[101]":1}},{"n":16,"thread":0,"kind":"local","line":12,"column":1,"text":"transition test look check == cond 0","buffers":{},"memory":{"[100]":1,"[101]":1}},{"n":17,"thread":0,"kind":"load","location":"[101]","value":1,"line":13,"column":1,"text":"transition look test_fast read taken 101","from":5,"buffers":{},"memory":{"[100]":1,"[101]":1}},{"n":18,"thread":0,"kind":"local","line":16,"column":1,"text":"transition test_fast enter check == taken 1","buffers":{},"memory":{"[100]":1,"[101]":1}},{"n":19,"thread":0,"kind":"lock","line":17,"column":1,"text":"transition enter look_again lock","buffers":{},"memory":{"[100]":1,"[101]":1}},{"n":20,"thread":0,"kind":"load","location":"[101]","value":1,"line":18,"column":1,"text":"transition look_again test_slow read taken 101","from":5,"buffers":{},"memory":{"[100]":1,"[101]":1}},{"n":21,"thread":0,"kind":"local","line":22,"column":1,"text":"transition test_slow give_up check == taken 1","buffers":{},"memory":{"[100]":1,"[101]":1}},{"n":22,"thread":0,"kind":"unlock","line":23,"column":1,"text":"transition give_up asleep unlock","buffers":{},"memory":{"[100]":1,"[101]":1}}],"cycle":[{"from":5,"to":6,"edge":"po","why":"program order of waiter"},{"from":6,"to":7,"edge":"fr","why":"read [100]=0, which the next overwrites"},{"from":7,"to":9,"edge":"po","why":"program order of waker"},{"from":9,"to":11,"edge":"atomic","why":"in one atomic block with the next"},{"from":11,"to":5,"edge":"co","why":"wrote [101]=0, which the next overwrites"}],"late":[{"store":5,"behind":6}],"relations":[{"from":11,"to":5,"edge":"co"},{"from":1,"to":7,"edge":"fr"},{"from":3,"to":11,"edge":"fr"},{"from":6,"to":7,"edge":"fr"},{"from":10,"to":11,"edge":"fr"},{"from":5,"to":17,"edge":"rf"},{"from":5,"to":20,"edge":"rf"}],"sc":"forbids","end":{"state":{}}},"schema":1}
            {"file":"corpus/trencher/peterson-once.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"peterson-once","reachable":false,"explored":26,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/peterson-once.txt","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"peterson-once","reachable":true,"violation":"control points","init":[],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0}],"explored":1,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"a"},{"name":"b"}],"locations":[{"name":"[0]"},{"name":"[1]"},{"name":"[2]"}],"init":{"[0]":0,"[1]":0,"[2]":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"[0]","value":1,"line":12,"column":1,"text":"transition start want write 1 0","buffers":{"a":[["[0]",1]]},"memory":{"[0]":0,"[1]":0,"[2]":0}},{"n":2,"thread":0,"kind":"store","location":"[2]","value":2,"line":13,"column":1,"text":"transition want polite write 2 2","buffers":{"a":[["[0]",1],["[2]",2]]},"memory":{"[0]":0,"[1]":0,"[2]":0}},{"n":3,"thread":0,"kind":"load","location":"[1]","value":0,"line":14,"column":1,"text":"transition polite flag read flag 1","from":"memory","buffers":{"a":[["[0]",1],["[2]",2]]},"memory":{"[0]":0,"[1]":0,"[2]":0}},{"n":4,"thread":0,"kind":"local","line":15,"column":1,"text":"transition flag critical check == flag 0","buffers":{"a":[["[0]",1],["[2]",2]]},"memory":{"[0]":0,"[1]":0,"[2]":0}},{"n":5,"thread":1,"kind":"store","location":"[1]","value":1,"line":25,"column":1,"text":"transition start want write 1 1","buffers":{"a":[["[0]",1],["[2]",2]],"b":[["[1]",1]]},"memory":{"[0]":0,"[1]":0,"[2]":0}},{"n":6,"thread":1,"kind":"store","location":"[2]","value":1,"line":26,"column":1,"text":"transition want polite write 1 2","buffers":{"a":[["[0]",1],["[2]",2]],"b":[["[1]",1],["[2]",1]]},"memory":{"[0]":0,"[1]":0,"[2]":0}},{"n":7,"thread":1,"kind":"load","location":"[0]","value":0,"line":27,"column":1,"text":"transition polite flag read flag 0","from":"memory","buffers":{"a":[["[0]",1],["[2]",2]],"b":[["[1]",1],["[2]",1]]},"memory":{"[0]":0,"[1]":0,"[2]":0}},{"n":8,"thread":1,"kind":"local","line":28,"column":1,"text":"transition flag critical check == flag 0","buffers":{"a":[["[0]",1],["[2]",2]],"b":[["[1]",1],["[2]",1]]},"memory":{"[0]":0,"[1]":0,"[2]":0}}],"cycle":[{"from":1,"to":3,"edge":"po","why":"program order of a"},{"from":3,"to":5,"edge":"fr","why":"read [1]=0, which the next overwrites"},{"from":5,"to":7,"edge":"po","why":"program order of b"},{"from":7,"to":1,"edge":"fr","why":"read [0]=0, which the next overwrites"}],"late":[{"store":1,"behind":3},{"store":2,"behind":3},{"store":5,"behind":7},{"store":6,"behind":7}],"relations":[{"from":2,"to":6,"edge":"co"},{"from":3,"to":5,"edge":"fr"},{"from":7,"to":1,"edge":"fr"}],"sc":"forbids","end":{"at":{"a":"critical","b":"critical"}}},"schema":1}
            {"file":"corpus/trencher/peterson.txt","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"peterson","reachable":false,"explored":37,"algorithm":"sc","schema":1}
            {"file":"corpus/trencher/peterson.txt","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"peterson","reachable":true,"violation":"control points","init":[],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0}],"explored":1,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"t0"},{"name":"t1"}],"locations":[{"name":"[100]"},{"name":"[101]"},{"name":"[102]"}],"init":{"[100]":0,"[101]":0,"[102]":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"[100]","value":1,"line":7,"column":1,"text":"transition start give_way write 1 100","buffers":{"t0":[["[100]",1]]},"memory":{"[100]":0,"[101]":0,"[102]":0}},{"n":2,"thread":0,"kind":"store","location":"[102]","value":1,"line":8,"column":1,"text":"transition give_way look write 1 102","buffers":{"t0":[["[100]",1],["[102]",1]]},"memory":{"[100]":0,"[101]":0,"[102]":0}},{"n":3,"thread":0,"kind":"load","location":"[101]","value":0,"line":9,"column":1,"text":"transition look test read flag 101","from":"memory","buffers":{"t0":[["[100]",1],["[102]",1]]},"memory":{"[100]":0,"[101]":0,"[102]":0}},{"n":4,"thread":0,"kind":"local","line":10,"column":1,"text":"transition test cs check == flag 0","buffers":{"t0":[["[100]",1],["[102]",1]]},"memory":{"[100]":0,"[101]":0,"[102]":0}},{"n":5,"thread":1,"kind":"store","location":"[101]","value":1,"line":21,"column":1,"text":"transition start give_way write 1 101","buffers":{"t0":[["[100]",1],["[102]",1]],"t1":[["[101]",1]]},"memory":{"[100]":0,"[101]":0,"[102]":0}},{"n":6,"thread":1,"kind":"store","location":"[102]","value":0,"line":22,"column":1,"text":"transition give_way look write 0 102","buffers":{"t0":[["[100]",1],["[102]",1]],"t1":[["[101]",1],["[102]",0]]},"memory":{"[100]":0,"[101]":0,"[102]":0}},{"n":7,"thread":1,"kind":"load","location":"[100]","value":0,"line":23,"column":1,"text":"transition look test read flag 100","from":"memory","buffers":{"t0":[["[100]",1],["[102]",1]],"t1":[["[101]",1],["[102]",0]]},"memory":{"[100]":0,"[101]":0,"[102]":0}},{"n":8,"thread":1,"kind":"local","line":24,"column":1,"text":"transition test cs check == flag 0","buffers":{"t0":[["[100]",1],["[102]",1]],"t1":[["[101]",1],["[102]",0]]},"memory":{"[100]":0,"[101]":0,"[102]":0}}],"cycle":[{"from":1,"to":3,"edge":"po","why":"program order of t0"},{"from":3,"to":5,"edge":"fr","why":"read [101]=0, which the next overwrites"},{"from":5,"to":7,"edge":"po","why":"program order of t1"},{"from":7,"to":1,"edge":"fr","why":"read [100]=0, which the next overwrites"}],"late":[{"store":1,"behind":3},{"store":2,"behind":3},{"store":5,"behind":7},{"store":6,"behind":7}],"relations":[{"from":2,"to":6,"edge":"co"},{"from":3,"to":5,"edge":"fr"},{"from":7,"to":1,"edge":"fr"}],"sc":"forbids","end":{"at":{"t0":"cs","t1":"cs"}}},"schema":1}
            {"file":"corpus/memorax/dekker.rmm","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"dekker","reachable":false,"explored":6,"algorithm":"sc","schema":1}
            {"file":"corpus/memorax/dekker.rmm","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"dekker","reachable":true,"violation":"control points","init":[0,0],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":1,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":1,"choice":0}],"explored":1,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"P0"},{"name":"P1"}],"locations":[{"name":"left"},{"name":"right"}],"init":{"left":0,"right":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"left","value":1,"line":13,"column":10,"text":"write: left := 1","buffers":{"P0":[["left",1]]},"memory":{"left":0,"right":0}},{"n":2,"thread":0,"kind":"load","location":"right","value":0,"line":14,"column":3,"text":"read: right = 0","from":"memory","buffers":{"P0":[["left",1]]},"memory":{"left":0,"right":0}},{"n":3,"thread":0,"kind":"local","line":14,"column":3,"text":"read: right = 0","buffers":{"P0":[["left",1]]},"memory":{"left":0,"right":0}},{"n":4,"thread":1,"kind":"store","location":"right","value":1,"line":20,"column":10,"text":"write: right := 1","buffers":{"P0":[["left",1]],"P1":[["right",1]]},"memory":{"left":0,"right":0}},{"n":5,"thread":1,"kind":"load","location":"left","value":0,"line":21,"column":3,"text":"read: left = 0","from":"memory","buffers":{"P0":[["left",1]],"P1":[["right",1]]},"memory":{"left":0,"right":0}},{"n":6,"thread":1,"kind":"local","line":21,"column":3,"text":"read: left = 0","buffers":{"P0":[["left",1]],"P1":[["right",1]]},"memory":{"left":0,"right":0}}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of P0"},{"from":2,"to":4,"edge":"fr","why":"read right=0, which the next overwrites"},{"from":4,"to":5,"edge":"po","why":"program order of P1"},{"from":5,"to":1,"edge":"fr","why":"read left=0, which the next overwrites"}],"late":[{"store":1,"behind":2},{"store":4,"behind":5}],"relations":[{"from":2,"to":4,"edge":"fr"},{"from":5,"to":1,"edge":"fr"}],"sc":"forbids","end":{"at":{"P0":"CS","P1":"CS"}}},"schema":1}
            {"file":"corpus/memorax/hand-over.rmm","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"hand-over","reachable":false,"explored":16,"algorithm":"sc","schema":1}
            {"file":"corpus/memorax/hand-over.rmm","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"hand-over","reachable":false,"explored":5,"algorithm":"eager","schema":1}
            {"file":"corpus/memorax/peterson-fenced.rmm","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"peterson-fenced","reachable":false,"explored":21,"algorithm":"sc","schema":1}
            {"file":"corpus/memorax/peterson-fenced.rmm","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"peterson-fenced","reachable":false,"explored":34,"algorithm":"eager","schema":1}
            {"file":"corpus/memorax/peterson.rmm","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"peterson","reachable":false,"explored":103,"algorithm":"sc","schema":1}
            {"file":"corpus/memorax/peterson.rmm","question":"reach","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"peterson","reachable":true,"violation":"control points","init":[0,0,0],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":1,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":1,"choice":0}],"explored":1,"algorithm":"eager","run":{"model":"tso","threads":[{"name":"P0"},{"name":"P1"}],"locations":[{"name":"turn"},{"name":"flag[P0]"},{"name":"flag[P1]"}],"init":{"turn":0,"flag[P0]":0,"flag[P1]":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"flag[P0]","value":1,"line":17,"column":10,"text":"write: flag[my] := 1","buffers":{"P0":[["flag[P0]",1]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":2,"thread":0,"kind":"store","location":"turn","value":1,"line":18,"column":3,"text":"write: turn := 1","buffers":{"P0":[["flag[P0]",1],["turn",1]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":3,"thread":0,"kind":"load","location":"flag[P1]","value":0,"line":19,"column":3,"text":"read: $flag := flag[0]","from":"memory","buffers":{"P0":[["flag[P0]",1],["turn",1]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":4,"thread":0,"kind":"load","location":"turn","value":1,"line":20,"column":3,"text":"read: $turn := turn","from":"buffer","buffers":{"P0":[["flag[P0]",1],["turn",1]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":5,"thread":0,"kind":"local","line":21,"column":9,"text":"$flag = 1 && $turn = 1","buffers":{"P0":[["flag[P0]",1],["turn",1]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":6,"thread":1,"kind":"store","location":"flag[P1]","value":1,"line":35,"column":10,"text":"write: flag[my] := 1","buffers":{"P0":[["flag[P0]",1],["turn",1]],"P1":[["flag[P1]",1]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":7,"thread":1,"kind":"store","location":"turn","value":0,"line":36,"column":3,"text":"write: turn := 0","buffers":{"P0":[["flag[P0]",1],["turn",1]],"P1":[["flag[P1]",1],["turn",0]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":8,"thread":1,"kind":"load","location":"flag[P0]","value":0,"line":37,"column":3,"text":"read: $flag := flag[0]","from":"memory","buffers":{"P0":[["flag[P0]",1],["turn",1]],"P1":[["flag[P1]",1],["turn",0]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":9,"thread":1,"kind":"load","location":"turn","value":0,"line":38,"column":3,"text":"read: $turn := turn","from":"buffer","buffers":{"P0":[["flag[P0]",1],["turn",1]],"P1":[["flag[P1]",1],["turn",0]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}},{"n":10,"thread":1,"kind":"local","line":39,"column":9,"text":"$flag = 1 && $turn = 0","buffers":{"P0":[["flag[P0]",1],["turn",1]],"P1":[["flag[P1]",1],["turn",0]]},"memory":{"turn":0,"flag[P0]":0,"flag[P1]":0}}],"cycle":[{"from":1,"to":3,"edge":"po","why":"program order of P0"},{"from":3,"to":6,"edge":"fr","why":"read flag[P1]=0, which the next overwrites"},{"from":6,"to":8,"edge":"po","why":"program order of P1"},{"from":8,"to":1,"edge":"fr","why":"read flag[P0]=0, which the next overwrites"}],"late":[{"store":1,"behind":3},{"store":2,"behind":3},{"store":6,"behind":8},{"store":7,"behind":8}],"relations":[{"from":2,"to":7,"edge":"co"},{"from":3,"to":6,"edge":"fr"},{"from":2,"to":4,"edge":"rf"},{"from":4,"to":7,"edge":"fr"},{"from":8,"to":1,"edge":"fr"},{"from":7,"to":9,"edge":"rf"}],"sc":"forbids","end":{"at":{"P0":"CS","P1":"CS"}}},"schema":1}
            {"file":"corpus/memorax/spin-lock.rmm","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"spin-lock","reachable":false,"explored":2,"algorithm":"sc","schema":1}
            {"file":"corpus/memorax/spin-lock.rmm","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"spin-lock","reachable":false,"explored":25,"algorithm":"eager","schema":1}
            {"file":"corpus/memorax/ticket-lock.rmm","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"ticket-lock","reachable":false,"explored":21,"algorithm":"sc","schema":1}
            {"file":"corpus/memorax/ticket-lock.rmm","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"ticket-lock","reachable":false,"explored":29,"algorithm":"eager","schema":1}
            {"file":"corpus/memorax/transfer.rmm","question":"reach","model":"sc","verdict":"holds","certified":true,"time_s":_,"name":"transfer","reachable":false,"explored":2,"algorithm":"sc","schema":1}
            {"file":"corpus/memorax/transfer.rmm","question":"reach","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"transfer","reachable":false,"explored":4,"algorithm":"eager","schema":1}
            --- exit 1
        "#]],
    );
}

#[test]
fn reach_assertion() {
    let text = "shared x = 0\nthread a { x = 1 }\nthread b { var r = x\n assert(r == 0) }\n";
    check(
        &["reach", "--model", "sc", "--input-format", "weak", "-"],
        text,
        expect![[r#"
        - SC violated: the assertion in line 4 can fail
        A run of - under SC, time running downwards

        a                           │ b                         │ memory
        ────────────────────────────┼───────────────────────────┼───────
                                    │                           │ x=0
        x = 1  writes x=1 to memory │                           │ x=1
                                    │ var r = x       reads x=1 │
                                    │ assert(r == 0)  fails     │

        The run fails (line 4): the assertion does not hold

        --- exit 1
    "#]],
    );
}

#[test]
fn litmus_of_a_program_without_a_condition() {
    check(
        &["litmus", "corpus/programs/dekker-simple.weak"],
        "",
        expect![[r#"
            --- standard error
            corpus/programs/dekker-simple.weak: `weakspot reach` answers for the control points
            error: corpus/programs/dekker-simple.weak: the program asks nothing about final states: expected `exists`, `forall` or `never`, or `weakspot reach` for control points and assertions
            --- exit 2
        "#]],
    );
}

#[test]
fn witness_and_certify() {
    let folder = std::env::temp_dir().join(format!("weakspot-witness-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("w.json");
    let file = file.to_str().expect("UTF-8");
    let sb = "corpus/litmus/SB.litmus";
    for (model, code) in [("sc", 1), ("tso", 0)] {
        assert_eq!(run(&["litmus", "--model", model, "--witness", file, sb], "").code, Some(code));
        let certified = run(&["certify", sb, file], "");
        assert_eq!((certified.code, certified.err.as_str()), (Some(0), ""), "{}", certified.out);
        let other = run(&["certify", "corpus/litmus/MP.litmus", file], "");
        assert_eq!(other.code, Some(2), "{}", other.out);
    }
    // A run of which one step is missing is none.
    let text = std::fs::read_to_string(file).expect("the witness");
    let without: Vec<&str> = text.lines().filter(|l| !l.contains("\"commit\"")).collect();
    assert!(without.len() < text.lines().count());
    std::fs::write(file, without.join("\n").replace("},\n      ]", "}\n      ]")).expect("a file");
    let rejected = run(&["certify", sb, file], "");
    assert_eq!(rejected.code, Some(1), "{}{}", rejected.out, rejected.err);
    std::fs::write(file, "{").expect("a file");
    assert_eq!(run(&["certify", sb, file], "").code, Some(2));
    let peterson = "corpus/programs/peterson.weak";
    assert_eq!(run(&["reach", "--model", "tso", "--witness", file, peterson], "").code, Some(1));
    assert_eq!(run(&["certify", peterson, file], "").code, Some(0));
    std::fs::remove_dir_all(&folder).expect("the temporary folder");
}

#[test]
fn usage_errors() {
    check(
        &["litmus"],
        "",
        expect![[r#"
        --- standard error
        error: the following required arguments were not provided:
          <FILE>...

        Usage: weakspot litmus <FILE>...

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        &["litmus", "--model", "arm", "x.litmus"],
        "",
        expect![[r#"
            --- standard error
            error: invalid value 'arm' for '--model <MODEL>': expected sc, tso (which is x86), pso or pso-own

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        &["litmus", "--format", "html", "x.litmus"],
        "",
        expect![[r#"
            --- standard error
            error: invalid value 'html' for '--format <FORMAT>'
              [possible values: text, json, svg, dot, tex, csv, markdown, tabular, junit, sarif, github, litmus7]

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        &["litmus", "--timeout", "soon", "x.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: invalid value 'soon' for '--timeout <TIME>': expected a time such as 500ms, 60s, 5m or 1h

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
}

#[test]
fn help() {
    check(
        &[],
        "",
        expect![[r#"
            --- standard error
            What does a memory weaker than sequential consistency do to concurrent code, and where?

            Usage: weakspot <COMMAND>

            Commands:
              litmus       Which final states do SC, TSO and PSO allow?
              reach        Does everything hold that a program asks: control points, assertions, final states?
              robust       Does every run under TSO or PSO do what some run under SC does, too?
              fence        Which fences make a program robust, or safe, at the least cost?
              monitor      Could TSO or PSO have broken this SC execution, or those of a program?
              serial       Are the transactions of a program or log serializable, under SC and under TSO?
              history      Which models does a recorded history satisfy, of memory or of transactions?
              certify      Check the witness of an answer by the definitions alone
              compare      Compare two logs of litmus tests, of herd7, litmus7 or `weakspot litmus`
              show         Step through a run, in a terminal
              print        Print a program in the canonical form of its language
              convert      Convert a log of an execution, or histories, from one format to another
              gen          Write inputs to try and to measure with
              record       Record what threads on this very CPU read and write
              run          What do TSO and PSO do to a compiled program, on which lines, and which fence fixes
                           it?
              cargo        Explore the tests or a program of an unmodified Rust crate
              cc           Compile C so that `weakspot run` can control it: takes the arguments of gcc or clang
              c++          Compile C++ so that `weakspot run` can control it: takes the arguments of g++ or
                           clang++
              selfcheck    Hold the engines against each other and against the definitions, on random inputs
              serve        Ask questions about programs in a browser: a page on this machine, with an editor
              cluster      One search, or many files, by several processes
              bench        Measure how long the searches take
              completions  Print what completes command lines in a shell
              help         Print this message or the help of the given subcommand(s)

            Options:
              -h, --help     Print help
              -V, --version  Print version

            Example:
              weakspot litmus --model tso --show corpus/litmus/SB.litmus

            Exit code: 0 every question asked holds; 1 at least one is violated; 2 bad input
            or usage; 3 no violation, but at least one question was given up at a limit.
            --- exit 2
        "#]],
    );
    check(
        &["help", "litmus"],
        "",
        expect![[r#"
            Example:
              weakspot litmus corpus/litmus/SB.litmus
              weakspot litmus --model tso --show corpus/litmus/SB.litmus
              weakspot litmus --format json --states my-tests/ > answers.jsonl
              weakspot litmus --run --runs 1000000 corpus/litmus/SB.litmus

            Which final states do SC, TSO and PSO allow?

            Usage: weakspot litmus [OPTIONS] <FILE>...

            Arguments:
              <FILE>...
                      Litmus tests, programs with a condition on final states, or folders of them

            Options:
                  --states
                      List the final states in JSON, too; in tables, instead of counting tests

                  --show[=<STATE>]
                      Explain one final state by a run, drawn with a column per thread: the state that decides
                      the condition (the first state if it takes all of them), or the one given, as in
                      --show='0:EAX=0; 1:EAX=0' or --show='exists (0:EAX=0 /\ 1:EAX=0)'. Of a given state only
                      the components that matter need to be named. If no run ends so, the cycle is shown that
                      forbids it.

                  --run
                      Run the tests on this CPU, too, and count the final states

                  --runs <N>
                      How often each test is run [default: 1000000]

                  --checkpoint <FILE>
                      Save progress to this file from time to time, and when a limit or a signal ends the search

                  --resume <FILE>
                      Go on from this file

                  --witness <FILE.json>
                      Write the answer's evidence to this file, for `weakspot certify` (one file, one model)

                  --buffer-limit <N>
                      Entries (stores, store-store fences) that a buffer may hold at most in a thread that
                      stores in a loop [default: 1024]

              -m, --model <MODEL>
                      Memory models: sc, tso, pso; pso-own is PSO where an atomic update drains only its own
                      address [default: sc,tso,pso]

                  --input-format <LANGUAGE>
                      Read the inputs as this language, whatever their ending

                      Possible values:
                      - litmus:   Litmus tests for X86, X86_64 and RISC-V, and in C
                      - weak:     Programs in our own language
                      - trencher: Programs of Trencher
                      - memorax:  Programs of Memorax
                      - c:        Programs in a part of C

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
                      - litmus7:  The log of litmus7, for `weakspot compare`, with --run

                  --report <FILE.html>
                      Write the answers as a page to look at, too: one HTML file that needs no network

                  --timeout <TIME>
                      Give up on a question after this time, from opening its file [default: 60s]

                  --memory <SIZE>
                      Give up on a question when its search needs more memory than this [default: 4GiB]

              -q, --quiet
                      No warnings, summary or drawings

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

            For each test and model: the exact set of final states, in the lines that herd7
            prints. `Ok` says that the test's condition is valid under the model, `No` that
            it is not. Positive and negative count final states. A folder stands for the
            tests and programs in it, but for C; `-` is standard input.

            With --run the test is run on this CPU, which has to be an x86, and how often
            each final state was seen stands beside the models that have it. A state that
            TSO does not have is a violation (exit code 1). That takes gcc, or a compiler
            that WEAKSPOT_CC names.
            --- exit 0
        "#]],
    );
    check(
        &["help", "reach"],
        "",
        expect![[r#"
            Example:
              weakspot reach --model tso corpus/programs/peterson.weak
              weakspot reach corpus/programs/*.weak

            Does everything hold that a program asks: control points, assertions, final states?

            Usage: weakspot reach [OPTIONS] <FILE>...

            Arguments:
              <FILE>...
                      Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or
                      folders of them

            Options:
                  --algorithm <ALGORITHM>
                      How to decide; all give the same answers, but not all give one for every program [default:
                      auto]

                      Possible values:
                      - auto:     Several side by side, the first answer counts
                      - eager:    Explore the store buffers themselves; ends if they are bounded
                      - lazy:     Ask about SC only, and add delays where they matter; TSO and PSO
                      - unroll:   The same with loops unrolled; TSO and PSO
                      - dual:     The complete procedure for finite data; TSO and PSO
                      - counters: Of counters that grow for ever, only their order and small differences

                  --checkpoint <FILE>
                      Save progress to this file from time to time, and when a limit or a signal ends the search

                  --resume <FILE>
                      Go on from this file

                  --witness <FILE.json>
                      Write the answer's evidence to this file, for `weakspot certify` (one file, one model)

                  --buffer-limit <N>
                      Entries (stores, store-store fences) that a buffer may hold at most in a thread that
                      stores in a loop [default: 1024]

              -D <NAME[=VALUE]>
                      In programs in C: define a macro, as 1 if no value is given

              -U <NAME>
                      In programs in C: do not define this macro

              -I <FOLDER>
                      In programs in C: look for headers in this folder, too

              -m, --model <MODEL>
                      Memory models: sc, tso, pso; pso-own is PSO where an atomic update drains only its own
                      address [default: sc,tso,pso]

                  --input-format <LANGUAGE>
                      Read the inputs as this language, whatever their ending

                      Possible values:
                      - litmus:   Litmus tests for X86, X86_64 and RISC-V, and in C
                      - weak:     Programs in our own language
                      - trencher: Programs of Trencher
                      - memorax:  Programs of Memorax
                      - c:        Programs in a part of C

              -j, --threads <N>
                      How many files to work on at a time, or, with one file, how many threads search; by
                      default one per processor

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
                      Give up on a question after this time, from opening its file [default: 60s]

                  --memory <SIZE>
                      Give up on a question when its search needs more memory than this [default: 4GiB]

              -q, --quiet
                      No warnings, summary or drawings

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

            Memory:
                  --hash-compact[=<BITS>]
                      Keep a hash of each state instead of the state, of 40 to 64 bits [default: 64]. A state
                      whose hash is that of another is left out, and how probable that is gets printed. A
                      violation is as certain as without; if nothing is found, the answer is unknown (exit code
                      3).

                  --disk <FOLDER>
                      Put states that --memory has no room for into files in this folder; slower, but the same
                      answer

            Several processes:
                  --hosts <FILE>
                      Answer together with other processes: a file with a line HOST:PORT for each

                  --process <N>
                      Which of them this is, from 0 on; process 0 prints the answer

                  --token <FILE>
                      A file with what they know each other by, which only its owner may read

            Holds if the control points that the program forbids are never reached together,
            no assertion fails, and the final states satisfy the condition. A violation is
            drawn as a run; -q leaves the drawing out.

            With --checkpoint, a search that was interrupted, killed or ended at a limit
            goes on with --resume: same verdict, same counts, with any number of threads
            and processes.
            It takes one model, and asks the states themselves (--algorithm eager). Of
            several files the answers are kept.
            --- exit 0
        "#]],
    );
}

/// The printer's text is a fixed point, for every shipped program.
#[test]
fn print_is_stable() {
    let mut files = 0;
    for folder in ["litmus", "programs", "trencher", "memorax"] {
        let folder = root().join("corpus").join(folder);
        for entry in std::fs::read_dir(folder).expect("the corpus") {
            let path = entry.expect("a readable folder").path();
            let format = match path.extension().and_then(|e| e.to_str()) {
                Some("litmus") => "litmus",
                Some("weak") => "weak",
                Some("txt") => "trencher",
                Some("rmm") => "memorax",
                _ => continue,
            };
            files += 1;
            let once = run(&["print", path.to_str().expect("UTF-8")], "");
            assert_eq!(once.code, Some(0), "{}: {}", path.display(), once.err);
            let twice = run(&["print", "--input-format", format, "-"], &once.out);
            assert_eq!(twice.out, once.out, "{}", path.display());
        }
    }
    assert!(files > 280);
}
