//! `weakspot robust`, its witnesses and what `weakspot certify` says of them.

use std::path::PathBuf;

use expect_test::{Expect, expect};

use crate::{run, transcript};

/// The transcript without the numbers that tell how much the search did.
fn check(args: &[&str], stdin: &str, expected: Expect) {
    let mut text = transcript(args, stdin);
    for (before, after) in
        [("\"states\":", ","), ("\"queries\":", ","), ("some run under SC does (", " ")]
    {
        let mut parts = text.split(before);
        let mut clean = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = part.find(after).map_or("", |i| &part[i..]);
            clean += &format!("{before}_{rest}");
        }
        text = clean;
    }
    expected.assert_eq(&text);
}

const DEKKER: &str = "shared x = 0, y = 0

thread p {
    x = 1
    if (y == 0) { cs: skip }
}

thread q {
    y = 1
    if (x == 0) { cs: skip }
}
";

const MP: &str = "X86 MP
{ x=0; y=0; }
 P0         | P1          ;
 MOV [x],$1 | MOV EAX,[y] ;
 MOV [y],$1 | MOV EBX,[x] ;
exists (1:EAX=1 /\\ 1:EBX=0)
";

/// A program that asks nothing is welcome.
#[test]
fn a_store_and_a_load() {
    check(
        &["robust", "--model", "tso", "-"],
        DEKKER,
        expect![[r#"
            - TSO not robust: p's store to x (line 4) can reach memory after its later load of y (line 5)
             --> -:4:5
              |
            4 |     x = 1
              |     ^^^^^ this store is still in the buffer of p
            5 |     if (y == 0) { cs: skip }
              |     ^^^^^^^^^^^ when this load has already read

            A run of - under TSO, time running downwards

            p                                  │ q                                  │ memory
            ───────────────────────────────────┼────────────────────────────────────┼───────
                                               │                                    │ x=0
                                               │                                    │ y=0
            x = 1        buffers x=1 as (1)    │                                    │
            if (y == 0)  reads y=0 from memory │                                    │
                                               │ y = 1        writes y=1 to memory  │ y=1
                                               │ if (x == 0)  reads x=0 from memory │
            (1)          x=1 reaches memory,   │                                    │ x=1
                         overtaken by if (y == │                                    │
                         0)                    │                                    │

            p's store x=1 (line 4) was still in its buffer when p loaded y (line 5).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              p  line  4  x = 1        -po->  program order of p
              p  line  5  if (y == 0)  -fr->  read y=0, which the next overwrites
              q  line  9  y = 1        -po->  program order of q
              q  line 10  if (x == 0)  -fr->  read x=0, which the next overwrites
              p  line  4  x = 1  (back at the start)

            A fence between the two would prevent this run; `weakspot fence` finds the
            cheapest fences that prevent all such runs.

            --- exit 1
        "#]],
    );
}

#[test]
fn two_stores_under_pso_only() {
    check(
        &["robust", "-"],
        MP,
        expect![[r#"
            MP TSO robust: every run under TSO does what some run under SC does (_ states searched)
            MP PSO not robust: P0's store to x (line 4) can reach memory after its later store to y (line 5)
             --> -:4:2
              |
            4 |  MOV [x],$1 | MOV EAX,[y] ;
              |  ^^^^^^^^^^ this store is still in the buffer of P0
            5 |  MOV [y],$1 | MOV EBX,[x] ;
              |  ^^^^^^^^^^ when this store has already reached memory

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
              P0  line 4  MOV [x],$1   -po->  program order of P0
              P0  line 5  MOV [y],$1   -rf->  wrote y=1, which the next reads
              P1  line 4  MOV EAX,[y]  -po->  program order of P1
              P1  line 5  MOV EBX,[x]  -fr->  read x=0, which the next overwrites
              P0  line 4  MOV [x],$1  (back at the start)

            A fence between the two would prevent this run; `weakspot fence --model pso`
            finds the cheapest fences that prevent all such runs.

            --- exit 1
        "#]],
    );
    check(
        &["robust", "-q", "-"],
        MP,
        expect![[r#"
        MP TSO robust: every run under TSO does what some run under SC does (_ states searched)
        MP PSO not robust: P0's store to x (line 4) can reach memory after its later store to y (line 5)
        --- exit 1
    "#]],
    );
}

/// Under the paper's PSO an atomic update overtakes stores to other addresses.
#[test]
fn an_update_overtakes() {
    let text = "shared x = 0, y = 0\n\nthread p {\n    x = 1; fetch_add(y, 1)\n}\n\nthread q {\n    var r, s\n    r = y\n    s = x\n}\n";
    check(
        &["robust", "--model", "pso,pso-own", "-"],
        text,
        expect![[r#"
            - PSO robust: every run under PSO does what some run under SC does (_ states searched)
            - PSO-own not robust: p's store to x (line 4:5) can reach memory after its later atomic update of y (line 4:12)
             --> -:4:5
              |
            4 |     x = 1; fetch_add(y, 1)
              |     ^^^^^  ^^^^^^^^^^^^^^^ when this atomic update is already done
              |     |
              |     this store is still in the buffer of p

            A run of - under PSO-own, time running downwards

            p                                     │ q                            │ memory
            ──────────────────────────────────────┼──────────────────────────────┼────────
                                                  │                              │ x=0 y=0
            x = 1            buffers x=1 as (1)   │                              │
            fetch_add(y, 1)  reads y=0 and writes │                              │ y=1
                             y=1 at once          │                              │
                                                  │ r = y  reads y=1 from memory │
                                                  │ s = x  reads x=0 from memory │
            (1)              x=1 reaches memory,  │                              │ x=1
                             overtaken by         │                              │
                             fetch_add(y, 1)      │                              │

            p's store x=1 (line 4:5) was still in its buffer when p updated y (line 4:12).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              p  line  4:5  x = 1            -po->  program order of p
              p  line 4:12  fetch_add(y, 1)  -rf->  wrote y=1, which the next reads
              q  line    9  r = y            -po->  program order of q
              q  line   10  s = x            -fr->  read x=0, which the next overwrites
              p  line  4:5  x = 1  (back at the start)

            A fence between the two would prevent this run; `weakspot fence --model pso-own`
            finds the cheapest fences that prevent all such runs.

            --- exit 1
        "#]],
    );
}

/// The plainest cycle: what both threads read, and not in which order they wrote `turn`.
#[test]
fn peterson() {
    check(
        &["robust", "--model", "tso", "corpus/programs/peterson.weak"],
        "",
        expect![[r#"
            peterson TSO not robust: p[0]'s store to flag[0] (line 16) can reach memory after its later load of flag[1] (line 18)
              --> corpus/programs/peterson.weak:16:9
               |
            16 |         flag[me] = 1
               |         ^^^^^^^^^^^^ this store is still in the buffer of p[0]
            17 |         turn = 1 - me
            18 |         await (flag[1 - me] == 0 || turn == me)
               |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ when this load has already read

            A run of peterson under TSO, time running downwards

            p[0]                           │ p[1]                          │ memory
            ───────────────────────────────┼───────────────────────────────┼──────────
                                           │                               │ flag[0]=0
                                           │                               │ flag[1]=0
                                           │                               │ turn=0
            while (i < ROUNDS)             │                               │
                                           │ while (i < ROUNDS)            │
            flag[me] = 1                   │                               │
              buffers flag[0]=1 as (1)     │                               │
            turn = 1 - me                  │                               │
              buffers turn=1 as (2)        │                               │
            await (flag[1 - me] == 0 ||    │                               │
              turn == me)                  │                               │
              reads flag[1]=0 from memory  │                               │
                                           │ flag[me] = 1                  │ flag[1]=1
                                           │   writes flag[1]=1 to memory  │
                                           │ turn = 1 - me                 │ turn=0
                                           │   writes turn=0 to memory     │
                                           │ await (flag[1 - me] == 0 ||   │
                                           │   turn == me)                 │
                                           │   reads flag[0]=0 from memory │
            (1) flag[0]=1 reaches memory,  │                               │ flag[0]=1
              overtaken by await (flag[1 - │                               │
              me] == …                     │                               │
            (2) turn=1 reaches memory,     │                               │ turn=1
              overtaken by await (flag[1 - │                               │
              me] == …                     │                               │

            p[0]'s store flag[0]=1 (line 16) was still in its buffer when p[0] loaded
            flag[1] (line 18).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              p[0]  line 16  flag[me] = 1                             -po->
                  program order of p[0]
              p[0]  line 18  await (flag[1 - me] == 0 || turn == me)  -fr->
                  read flag[1]=0, which the next overwrites
              p[1]  line 16  flag[me] = 1                             -po->
                  program order of p[1]
              p[1]  line 18  await (flag[1 - me] == 0 || turn == me)  -fr->
                  read flag[0]=0, which the next overwrites
              p[0]  line 16  flag[me] = 1  (back at the start)

            A fence between the two would prevent this run; `weakspot fence` finds the
            cheapest fences that prevent all such runs.

            --- exit 1
        "#]],
    );
}

/// Two places in one line, tabs, and lines that end as on Windows.
#[test]
fn odd_layout() {
    let text = "shared x = 0, y = 0\r\nthread p {\r\n\tvar r; x = 1; r = y\r\n}\r\nthread q {\r\n\tvar r; y = 1; r = x\r\n}\r\n";
    let ran = run(&["robust", "--model", "tso", "-"], text);
    let head: Vec<&str> = ran.out.lines().take(7).collect();
    expect![[r#"
        - TSO not robust: p's store to x (line 3:9) can reach memory after its later load of y (line 3:16)
         --> -:3:9
          |
        3 |     var r; x = 1; r = y
          |            ^^^^^  ^^^^^ when this load has already read
          |            |
          |            this store is still in the buffer of p"#]].assert_eq(&head.join("\n"));
}

#[test]
fn json() {
    check(
        &["robust", "--format", "json", "-"],
        MP,
        expect![[r#"
            {"file":"-","question":"robust","model":"tso","verdict":"holds","certified":true,"time_s":_,"name":"MP","states":_,"queries":_,"algorithm":"pending","schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            {"file":"-","question":"robust","model":"pso","verdict":"violated","certified":true,"time_s":_,"name":"MP","store":{"thread":"P0","line":4,"column":2,"text":"MOV [x],$1"},"load":{"thread":"P0","line":5,"column":2,"text":"MOV [y],$1","kind":"store"},"cycle":[{"thread":"P0","line":4,"column":2,"text":"MOV [x],$1","kind":"store","edge":"po"},{"thread":"P0","line":5,"column":2,"text":"MOV [y],$1","kind":"store","edge":"rf"},{"thread":"P1","line":4,"column":15,"text":"MOV EAX,[y]","kind":"load","edge":"po"},{"thread":"P1","line":5,"column":15,"text":"MOV EBX,[x]","kind":"load","edge":"fr"}],"init":[0,0],"schedule":[{"thread":0,"edge":0,"choice":0},{"thread":0,"edge":0,"choice":0},{"thread":0,"commit":979140608},{"thread":1,"edge":0,"choice":0},{"thread":1,"edge":0,"choice":0},{"thread":0,"commit":979136512}],"states":_,"queries":_,"algorithm":"pending","run":{"model":"pso","threads":[{"name":"P0"},{"name":"P1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":4,"column":2,"text":"MOV [x],$1","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":0}},{"n":2,"thread":0,"kind":"store","location":"y","value":1,"line":5,"column":2,"text":"MOV [y],$1","buffers":{"P0":[["x",1],["y",1]]},"memory":{"x":0,"y":0}},{"n":3,"thread":0,"kind":"commit","location":"y","value":1,"of":2,"buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":4,"thread":1,"kind":"load","location":"y","value":1,"line":4,"column":15,"text":"MOV EAX,[y]","from":2,"buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":5,"thread":1,"kind":"load","location":"x","value":0,"line":5,"column":15,"text":"MOV EBX,[x]","from":"memory","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":6,"thread":0,"kind":"commit","location":"x","value":1,"of":1,"buffers":{},"memory":{"x":1,"y":1}}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of P0"},{"from":2,"to":4,"edge":"rf","why":"wrote y=1, which the next reads"},{"from":4,"to":5,"edge":"po","why":"program order of P1"},{"from":5,"to":1,"edge":"fr","why":"read x=0, which the next overwrites"}],"late":[{"store":1,"behind":2}],"relations":[{"from":2,"to":4,"edge":"rf"},{"from":5,"to":1,"edge":"fr"}],"sc":"forbids","end":{"state":{"1:EAX":1,"1:EBX":0}}},"schema":1}
            --- exit 1
        "#]],
    );
}

#[test]
fn dot() {
    check(
        &["robust", "--format", "dot", "--model", "tso", "-"],
        DEKKER,
        expect![[r##"
            digraph execution {
              // neato -n2 -Tpdf
              graph [fontname="monospace", fontsize=9, splines=line];
              node [shape=box, fontname="monospace", fontsize=9, fixedsize=true];
              edge [fontname="monospace", fontsize=8, arrowsize=0.6];
              title [shape=plaintext, label="- under TSO", pos="42.1,321.0", width=0.92, height=0.15, fontcolor="#000000"];
              init [shape=plaintext, label="initially x=0 y=0", pos="58.5,309.8", width=1.38, height=0.15, fontcolor="#555555"];
              t0 [shape=plaintext, label="p", pos="74.0,278.2", width=0.16, height=0.15, fontcolor="#000000"];
              t1 [shape=plaintext, label="q", pos="247.9,278.2", width=0.16, height=0.15, fontcolor="#000000"];
              e0 [label="W x=1\nx = 1", pos="74.0,248.2", width=1.54, height=0.40, penwidth=2];
              e1 [label="R y=0\nif (y == 0)", pos="74.0,200.2", width=1.54, height=0.40, penwidth=2];
              e2 [label="W y=1\ny = 1", pos="247.9,152.2", width=1.00, height=0.40, penwidth=2];
              e3 [label="R x=0\nif (x == 0)", pos="247.9,104.2", width=1.00, height=0.40, penwidth=2];
              e4 [label="x=1 reaches memory", pos="74.0,61.9", width=1.54, height=0.24, style=dashed, color="#b35806"];
              b0 [label="", pos="13.9,155.1", width=0.05, height=2.59, style=filled, color="#fdb863"];
              e0 -> e1 [color="#222222", fontcolor="#222222", penwidth=2, label="1 po", lp="87.8,224.2", pos="e,74.0,214.5 74.0,234.0 74.0,229.5 74.0,225.0 74.0,220.5"];
              e1 -> e2 [color="#b35806", fontcolor="#b35806", penwidth=2, label="2 fr", lp="176.9,187.2", pos="e,211.8,152.2 129.3,200.2 154.8,185.4 181.1,170.1 206.6,155.3"];
              e2 -> e3 [color="#222222", fontcolor="#222222", penwidth=2, label="3 po", lp="261.7,128.2", pos="e,247.9,118.5 247.9,138.0 247.9,133.5 247.9,129.0 247.9,124.5"];
              e3 -> e4 [color="#b35806", fontcolor="#b35806", penwidth=2, label="4 fr", lp="176.2,72.1", pos="e,129.3,61.9 211.8,104.2 186.3,91.2 160.1,77.7 134.6,64.6"];
              l0 [shape=plaintext, label="po: program order", pos="58.5,33.8", width=1.38, height=0.15, fontcolor="#222222"];
              l1 [shape=plaintext, label="fr: read what is overwritten by", pos="96.9,22.5", width=2.44, height=0.15, fontcolor="#b35806"];
              lb [shape=plaintext, label="bar: a store waits in its buffer", pos="99.6,11.2", width=2.52, height=0.15, fontcolor="#b35806"];
            }
            --- exit 1
        "##]],
    );
}

#[test]
fn many_files() {
    check(
        &["robust", "-q", "--model", "tso,pso", "corpus/trencher"],
        "",
        expect![[r#"
            clh-3 TSO robust: every run under TSO does what some run under SC does (_ states searched)
            clh-3 PSO robust: every run under PSO does what some run under SC does (_ states searched)
            dekker-fenced TSO robust: every run under TSO does what some run under SC does (_ states searched)
            dekker-fenced PSO robust: every run under PSO does what some run under SC does (_ states searched)
            dekker-turns TSO not robust: t0's store to [100] (line 7) can reach memory after its later load of [101] (line 8)
            dekker-turns PSO not robust: t0's store to [100] (line 7) can reach memory after its later load of [101] (line 8)
            dekker TSO not robust: left's store to [0] (line 11) can reach memory after its later load of [1] (line 12)
            dekker PSO not robust: left's store to [0] (line 11) can reach memory after its later load of [1] (line 12)
            lamport-fast-3 TSO not robust: t2's store to [100] (line 27) can reach memory after its later load of [101] (line 28)
            lamport-fast-3 PSO not robust: t2's store to [100] (line 27) can reach memory after its later store to [101] (line 31)
            locked-counter TSO robust: every run under TSO does what some run under SC does (_ states searched)
            locked-counter PSO robust: every run under PSO does what some run under SC does (_ states searched)
            message-passing TSO robust: every run under TSO does what some run under SC does (_ states searched)
            message-passing PSO not robust: writer's store to [10] (line 11) can reach memory after its later store to [11] (line 12)
            parker TSO not robust: waiter's store to [101] (line 15) can reach memory after its later load of [100] (line 10)
            parker PSO not robust: waiter's store to [101] (line 15) can reach memory after its later load of [100] (line 10)
            peterson-once TSO not robust: a's store to [0] (line 12) can reach memory after its later load of [1] (line 14)
            peterson-once PSO not robust: a's store to [0] (line 12) can reach memory after its later store to [2] (line 13)
            peterson TSO not robust: t0's store to [100] (line 7) can reach memory after its later load of [101] (line 9)
            peterson PSO not robust: t0's store to [100] (line 7) can reach memory after its later store to [102] (line 8)
            --- exit 1
        "#]],
    );
    let ran = run(&["robust", "corpus/trencher", "nowhere.weak"], "");
    assert_eq!(ran.code, Some(2));
    expect![[r#"
        error: nowhere.weak: failed to read: No such file or directory (os error 2)
        11 programs
        model     robust   not robust   unknown   errors
        TSO            4            6         0        1
        PSO            3            7         0        1
        1 of 11 differs between the models:
          message-passing  TSO robust  PSO not robust
    "#]]
    .assert_eq(&ran.err);
    let ran = run(&["reach", "corpus/trencher", "corpus/memorax"], "");
    assert_eq!(ran.code, Some(1));
    expect![[r#"
        17 programs
        model      holds     violated   unknown   errors
        SC            17            0         0        0
        TSO            9            8         0        0
        PSO            7           10         0        0
        10 of 17 differ between the models:
          dekker-turns     SC  holds  TSO violated  PSO violated
          dekker           SC  holds  TSO violated  PSO violated
          lamport-fast-3   SC  holds  TSO violated  PSO violated
          message-passing  SC  holds  TSO holds     PSO violated
          parker           SC  holds  TSO violated  PSO violated
          peterson-once    SC  holds  TSO violated  PSO violated
          peterson         SC  holds  TSO violated  PSO violated
          dekker           SC  holds  TSO violated  PSO violated
          hand-over        SC  holds  TSO holds     PSO violated
          peterson         SC  holds  TSO violated  PSO violated
    "#]]
    .assert_eq(&ran.err);
}

/// The verdict does not depend on the number of threads, for one file or for many.
#[test]
fn threads() {
    let verdicts = |args: &[&str]| -> Vec<String> {
        let ran = run(args, "");
        assert_eq!(ran.err, "");
        ran.out.lines().map(|l| l.split(':').next().unwrap_or_default().to_owned()).collect()
    };
    let all = ["corpus/programs/mcs.weak", "corpus/litmus/SB.litmus"];
    for files in [&all[..1], &all] {
        let ask = |n: &str| verdicts(&[&["robust", "-q", "--threads", n], files].concat());
        assert_eq!(ask("1"), ask("3"));
    }
}

#[test]
fn bad_usage() {
    check(
        &["robust", "--model", "sc,tso", "-"],
        "",
        expect![[r#"
        --- standard error
        error: every program is robust against sc: to be robust is to do nothing that SC does not; expected --model tso, pso or pso-own
        --- exit 2
    "#]],
    );
    check(
        &["robust", "--algorithm", "attack", "--model", "pso", "-"],
        "",
        expect![[r#"
            --- standard error
            error: --algorithm attack and --trf are about TSO only: expected --model tso
            --- exit 2
        "#]],
    );
    check(
        &["robust", "--model", "tso,tso", "-"],
        "",
        expect![[r#"
        --- standard error
        error: --model names a model twice
        --- exit 2
    "#]],
    );
    check(
        &["robust", "--witness", "w.json", "-"],
        "",
        expect![[r#"
        --- standard error
        error: --witness takes one file and one model, as in --model tso
        --- exit 2
    "#]],
    );
    check(
        &["robust", "--model", "rmo", "-"],
        "",
        expect![[r#"
        --- standard error
        error: invalid value 'rmo' for '--model <MODEL>': expected sc, tso (which is x86), pso or pso-own

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
}

#[test]
fn bad_input() {
    check(
        &["robust", "--model", "tso", "nowhere.weak"],
        "",
        expect![[r#"
        --- standard error
        error: nowhere.weak: failed to read: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        &["robust", "--model", "tso", "--format", "json", "nowhere.weak"],
        "",
        expect![[r#"
            {"file":"nowhere.weak","question":"robust","model":"tso","verdict":"error","message":"failed to read: No such file or directory (os error 2)","line":null,"column":null,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: nowhere.weak: failed to read: No such file or directory (os error 2)
            --- exit 2
        "#]],
    );
    let fault = "shared x in 0..1\n\nthread p {\n    var r = x\n    x = r + 2\n}\n";
    check(
        &["robust", "--model", "tso", "--format", "json", "-"],
        fault,
        expect![[r#"
            {"file":"-","question":"robust","model":"tso","verdict":"error","message":"store of 2 to x, whose values are 0 to 1","line":5,"column":5,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: store of 2 to x, whose values are 0 to 1
             --> -:5:5
              |
            5 |     x = r + 2
              |     ^^^^^^^^^ reached in some run of p
            --- exit 2
        "#]],
    );
}

#[test]
fn limits() {
    // The load may run ahead of the store, so that it is not robust at a glance.
    let endless = "shared x = 0, y = 0, a = 0\n\nthread p {\n    var r\n    while (true) { fetch_add(x, 1); a = 1; r = x }\n}\n\nthread q {\n    while (true) { fetch_add(y, 1) }\n}\n";
    let ran =
        run(&["robust", "--model", "tso", "--timeout", "200ms", "--memory", "8GiB", "-"], endless);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(
        ran.out.contains("unknown: the search stopped at the time limit of 200 ms"),
        "{}",
        ran.out
    );
    let ran =
        run(&["robust", "--model", "tso", "--memory", "20MB", "--format", "json", "-"], endless);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.contains("\"limit\":{\"kind\":\"memory\""), "{}", ran.out);
}

#[test]
fn help() {
    check(
        &["help", "robust"],
        "",
        expect![[r#"
            Example:
              weakspot robust --model tso corpus/programs/peterson.weak
              weakspot robust corpus/programs/*.weak

            Does every run under TSO or PSO do what some run under SC does, too?

            Usage: weakspot robust [OPTIONS] <FILE>...

            Arguments:
              <FILE>...
                      Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or
                      folders of them

            Options:
                  --algorithm <ALGORITHM>
                      How to decide; all give the same answers [default: pending]

                      Possible values:
                      - pending: One search for all stores and loads
                      - attack:  One search for each pair of a store and a load; TSO only

                  --trf
                      Ask for more: that there are no triangular races (Owens 2010), which implies robustness;
                      TSO only

                  --checkpoint <FILE>
                      Save progress to this file from time to time, and when a limit or a signal ends the search

                  --resume <FILE>
                      Go on from this file

                  --witness <FILE.json>
                      Write the answer's evidence to this file, for `weakspot certify` (one file, one model)

              -D <NAME[=VALUE]>
                      In programs in C: define a macro, as 1 if no value is given

              -U <NAME>
                      In programs in C: do not define this macro

              -I <FOLDER>
                      In programs in C: look for headers in this folder, too

              -m, --model <MODEL>
                      Memory models: tso, pso; pso-own is PSO where an atomic update drains only its own address
                      [default: tso,pso; with --trf and --algorithm attack tso]

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

            A robust program behaves as if memory were sequentially consistent, whatever it
            asks or asserts (but for control points inside of atomic blocks). For one that
            is not: the store and the later access that overtakes it, with their lines, a
            run as short as possible, and the cycle of events that shows that SC has no such
            run; -q leaves all but the first line out. The search explores SC runs only,
            never store buffers.

            With --checkpoint, a search that was interrupted, killed or ended at a limit
            goes on with --resume: same verdict, same counts, with any number of threads
            and processes.
            It takes one model. Of several files the answers are kept.
            --- exit 0
        "#]],
    );
}

/// A file that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("weakspot-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_witness_of_a_violation() {
    let witness = Scratch::new("robust-violated.json");
    let input = "corpus/litmus/SB.litmus";
    let ran = run(&["robust", "-q", "--model", "tso", "--witness", witness.path(), input], "");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    check(
        &["certify", input, witness.path()],
        "",
        expect![[r#"
            certified: robust under TSO: violated, by a run of 6 steps that SC does not have
            --- exit 0
        "#]],
    );
    // A run in which everything reaches memory at once is one that SC has, too.
    let text = std::fs::read_to_string(&witness.0).expect("the witness");
    let steps = [(0, None), (0, Some(0)), (0, None), (1, None), (1, Some(1)), (1, None)];
    let address = |i: usize| text.split("\"commit\":").nth(1 + i).and_then(|t| t.split('}').next());
    let steps: Vec<String> = (steps.iter())
        .map(|(thread, commit)| match commit {
            Some(_) => format!(
                "{{\"thread\":{thread},\"commit\":{}}}",
                address(1 - thread).expect("an address")
            ),
            None => format!("{{\"thread\":{thread},\"edge\":0}}"),
        })
        .collect();
    let (head, tail) = text.split_once("\"steps\": [").expect("steps");
    let (_, tail) = tail.split_once("\n      ]").expect("the end of the steps");
    let forged = format!("{head}\"steps\": [{}]{tail}", steps.join(","));
    std::fs::write(&witness.0, forged).expect("a file");
    check(
        &["certify", input, witness.path()],
        "",
        expect![[r#"
            rejected: robust under TSO: violated, not shown: sequential consistency allows the run
            --- exit 1
        "#]],
    );
    std::fs::write(&witness.0, text.replace("\"violated\"", "\"holds\"")).expect("a file");
    check(
        &["certify", input, witness.path()],
        "",
        expect![[r#"
            rejected: robust under TSO: holds, not shown: the verdict needs evidence of another kind
            --- exit 1
        "#]],
    );
}

#[test]
fn a_witness_that_all_is_well() {
    let witness = Scratch::new("robust-holds.json");
    // A load may run ahead of stores, and nobody can tell; under PSO the stores change places.
    let program = Scratch::new("robust-holds.weak");
    let text = "shared x, y, z in 0..1\n\nthread p { var r\n x = 1; z = 1; r = y }\n\nthread q { y = 1 }\n\n\
                thread t { var a, b\n a = z; b = x }\n";
    std::fs::write(&program.0, text).expect("a program");
    let ask = |input: &str| {
        let ran = run(&["robust", "-q", "--model", "tso", "--witness", witness.path(), input], "");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    };
    // The same claim without a set of states, as older witnesses have it.
    let without_set = || {
        let text = std::fs::read_to_string(&witness.0).expect("the witness");
        let (head, _) = text.split_once("\"inductive\"").expect("a set");
        std::fs::write(&witness.0, format!("{head}\"exhausted\": {{}}\n  }}\n}}\n"))
            .expect("a file");
    };
    ask(program.path());
    check(
        &["certify", "--max-states", "1", program.path(), witness.path()],
        "",
        expect![[r#"
            certified: robust under TSO: holds, by an inductive set of 72 states
            --- exit 0
        "#]],
    );
    let text = std::fs::read_to_string(&witness.0).expect("the witness");
    std::fs::write(&witness.0, text.replace("\"tso\"", "\"pso\"")).expect("a file");
    let ran = run(&["certify", program.path(), witness.path()], "");
    assert_eq!(ran.code, Some(1), "PSO breaks it: {}", ran.out);
    std::fs::write(&witness.0, text).expect("a file");
    without_set();
    check(
        &["certify", program.path(), witness.path()],
        "",
        expect![[r#"
            certified: robust under TSO: holds, by all executions, which SC allows
            --- exit 0
        "#]],
    );
    check(
        &["certify", "--max-states", "1", program.path(), witness.path()],
        "",
        expect![[r#"
            unknown: robust under TSO: holds, not checked: all executions can be listed by definition only for a program without loops, with declared memory that has one initial value, and with at most 1 executions (--max-states allows more)
            --- exit 3
        "#]],
    );
    // The same claim about PSO is wrong, and found to be.
    let text = std::fs::read_to_string(&witness.0).expect("the witness");
    std::fs::write(&witness.0, text.replace("\"tso\"", "\"pso\"")).expect("a file");
    check(
        &["certify", program.path(), witness.path()],
        "",
        expect![[r#"
            rejected: robust under PSO: holds, not shown: a full search contradicts the verdict
            --- exit 1
        "#]],
    );
    // The same in a loop, whose executions cannot be listed.
    let text = "shared x, y, z in 0..1\n\nthread p { var r\n while (true) { x = 1; z = 1; r = y } }\n\n\
                thread q { y = 1 }\n";
    std::fs::write(&program.0, text).expect("a program");
    ask(program.path());
    check(
        &["certify", program.path(), witness.path()],
        "",
        expect![[r#"
            certified: robust under TSO: holds, by an inductive set of 50 states
            --- exit 0
        "#]],
    );
    without_set();
    check(
        &["certify", program.path(), witness.path()],
        "",
        expect![[r#"
            unknown: robust under TSO: holds, not checked: all executions can be listed by definition only for a program without loops, with declared memory that has one initial value, and with at most 1000000 executions (--max-states allows more)
            --- exit 3
        "#]],
    );
}
