//! `weakspot monitor --program`: its three modes, JSON, witnesses and what it refuses.

use expect_test::{Expect, expect};

use crate::{run, transcript};

/// The transcript without times and without the numbers that tell how much the search did.
fn check(args: &[&str], stdin: &str, expected: Expect) {
    let mut text = String::new();
    for line in transcript(args, stdin).lines() {
        let mut line = line.to_owned();
        for (before, after) in [("is robust (", " "), ("\"states\":", "}"), ("overtake it (", " ")]
        {
            if let Some((head, tail)) = line.split_once(before) {
                let rest = tail.find(after).map_or("", |i| &tail[i..]);
                line = format!("{head}{before}_{rest}");
            }
        }
        // Times have three digits after the point, and nothing else has.
        let time = |word: &&str| {
            word.split_once('.').is_some_and(|(a, b)| {
                a.parse::<u32>().is_ok() && b.len() == 3 && b.parse::<u32>().is_ok()
            })
        };
        let found = line.split(' ').find(time).map(str::to_owned);
        if let Some(time) = found {
            line = line.replacen(&time, "_.___", 1);
        }
        text += &line;
        text.push('\n');
    }
    expected.assert_eq(&text);
}

const SB: &str = "corpus/litmus/SB.litmus";
const DEKKER: &str = "corpus/programs/dekker.weak";

#[test]
fn all_executions() {
    check(
        &["monitor", "--program", "--model", "tso", SB],
        "",
        expect![[r#"
            program  interleavings  time (s)  violations TSO
            SB             6 (all)     _.___               2
            SB TSO violated: 2 distinct pairs of a store and an access that can overtake it (_ states searched)
              store                 can be preceded by     which follows
              P0 line 6 MOV [x],$1  P1 line 7 MOV EAX,[x]  P1 line 6 MOV [y],$1
              P1 line 6 MOV [y],$1  P0 line 7 MOV EAX,[y]  P0 line 6 MOV [x],$1

            A run of SB under TSO, time running downwards

            P0                                 │ P1                                 │ memory
            ───────────────────────────────────┼────────────────────────────────────┼───────
                                               │                                    │ x=0
                                               │                                    │ y=0
            MOV [x],$1   buffers x=1 as (1)    │                                    │
            MOV EAX,[y]  reads y=0 from memory │                                    │
                                               │ MOV [y],$1   writes y=1 to memory  │ y=1
                                               │ MOV EAX,[x]  reads x=0 from memory │
            (1)          x=1 reaches memory,   │                                    │ x=1
                         overtaken by MOV      │                                    │
                         EAX,[y]               │                                    │

            Final state: 0:EAX=0; 1:EAX=0;
            P0's store x=1 (line 6) was still in its buffer when P0 loaded y (line 7).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              P0  line 6  MOV [x],$1   -po->  program order of P0
              P0  line 7  MOV EAX,[y]  -fr->  read y=0, which the next overwrites
              P1  line 6  MOV [y],$1   -po->  program order of P1
              P1  line 7  MOV EAX,[x]  -fr->  read x=0, which the next overwrites
              P0  line 6  MOV [x],$1  (back at the start)

            --- exit 1
        "#]],
    );
    check(
        &["monitor", "--program", "-q", SB, "corpus/litmus/SB+mfences.litmus", DEKKER],
        "",
        expect![[r#"
            program     interleavings  time (s)  violations  violations  violations
                                                        TSO         PSO     PSO-own
            SB                6 (all)     _.___           2           2           2
            SB+mfences       20 (all)     _.___           0           0           0
            dekker        without end     _.___          10          16          16
                              (loops)
            SB TSO violated: 2 distinct pairs of a store and an access that can overtake it (_ states searched)
            SB PSO violated: 2 distinct pairs of a store and an access that can overtake it (_ states searched)
            SB PSO-own violated: 2 distinct pairs of a store and an access that can overtake it (_ states searched)
            SB+mfences TSO holds: no SC execution shows a violation, so the program is robust (_ states searched)
            SB+mfences PSO holds: no SC execution shows a violation, so the program is robust (_ states searched)
            SB+mfences PSO-own holds: no SC execution shows a violation, so the program is robust (_ states searched)
            dekker TSO violated: 10 distinct pairs of a store and an access that can overtake it (_ states searched)
            dekker PSO violated: 16 distinct pairs of a store and an access that can overtake it (_ states searched)
            dekker PSO-own violated: 16 distinct pairs of a store and an access that can overtake it (_ states searched)
            --- exit 1
        "#]],
    );
}

#[test]
fn few_preemptions() {
    check(
        &["monitor", "--program", "--preemptions", "1", "--model", "tso", DEKKER],
        "",
        expect![[r#"
            program  interleavings  time (s)  violations TSO
            dekker              24     _.___               5
            dekker TSO violated: 5 distinct pairs of a store and an access that can overtake it, in 22 of 24 executions; threads that waited in a loop were put off until memory changed
              store                  can be preceded by   which follows          reports
              p[0] line 16 flag[me]  p[1] line 17 while   p[1] line 16 flag[me]  22
              = 1                    (flag[1 - me] == 1)  = 1
              p[0] line 27 flag[me]  p[1] line 17 while   p[1] line 16 flag[me]  6
              = 0                    (flag[1 - me] == 1)  = 1
              p[1] line 16 flag[me]  p[0] line 17 while   p[0] line 16 flag[me]  22
              = 1                    (flag[1 - me] == 1)  = 1
              p[1] line 19 flag[me]  p[0] line 17 while   p[0] line 16 flag[me]  3
              = 0                    (flag[1 - me] == 1)  = 1
              p[1] line 27 flag[me]  p[0] line 17 while   p[0] line 16 flag[me]  6
              = 0                    (flag[1 - me] == 1)  = 1

            A run of dekker under TSO, time running downwards

            p[0]                               │ p[1]                          │ memory
            ───────────────────────────────────┼───────────────────────────────┼──────────
                                               │                               │ flag[0]=0
                                               │                               │ flag[1]=0
            while (i < ROUNDS)                 │                               │
                                               │ while (i < ROUNDS)            │
            flag[me] = 1                       │                               │
              buffers flag[0]=1 as (1)         │                               │
            while (flag[1 - me] == 1)          │                               │
              reads flag[1]=0 from memory      │                               │
                                               │ flag[me] = 1                  │ flag[1]=1
                                               │   writes flag[1]=1 to memory  │
                                               │ while (flag[1 - me] == 1)     │
                                               │   reads flag[0]=0 from memory │
            (1) flag[0]=1 reaches memory,      │                               │ flag[0]=1
              overtaken by while (flag[1 - me] │                               │
              == …                             │                               │

            p[0]'s store flag[0]=1 (line 16) was still in its buffer when p[0] loaded
            flag[1] (line 17).

            SC cannot do this: each arrow means "comes before", and they form a cycle.
              p[0]  line 16  flag[me] = 1               -po->  program order of p[0]
              p[0]  line 17  while (flag[1 - me] == 1)  -fr->  read flag[1]=0, which the
                                                               next overwrites
              p[1]  line 16  flag[me] = 1               -po->  program order of p[1]
              p[1]  line 17  while (flag[1 - me] == 1)  -fr->  read flag[0]=0, which the
                                                               next overwrites
              p[0]  line 16  flag[me] = 1  (back at the start)

            --- exit 1
        "#]],
    );
    check(
        &["monitor", "--program", "--preemptions", "0", "-q", SB],
        "",
        expect![[r#"
            program  interleavings  time (s)  violations TSO  violations PSO  violations
                                                                                 PSO-own
            SB                   2     _.___               2               2           2
            SB TSO violated: 2 distinct pairs of a store and an access that can overtake it, in 2 of 2 executions
            SB PSO violated: 2 distinct pairs of a store and an access that can overtake it, in 2 of 2 executions
            SB PSO-own violated: 2 distinct pairs of a store and an access that can overtake it, in 2 of 2 executions
            --- exit 1
        "#]],
    );
}

#[test]
fn random_executions() {
    check(
        &["monitor", "--program", "--random", "100", "--seed", "7", "-q", SB, DEKKER],
        "",
        expect![[r#"
            program  interleavings  time (s)  length  violations TSO  executions TSO  violations PSO  executions PSO  violations PSO-own  executions PSO-own
            SB                 100     _.___     4.0               2              52               2              52                   2                  52
            dekker             100     _.___    39.6               9              96              15             100                  15                 100
            SB TSO violated: 2 distinct pairs of a store and an access that can overtake it, in 52 of 100 executions
            SB PSO violated: 2 distinct pairs of a store and an access that can overtake it, in 52 of 100 executions
            SB PSO-own violated: 2 distinct pairs of a store and an access that can overtake it, in 52 of 100 executions
            dekker TSO violated: 9 distinct pairs of a store and an access that can overtake it, in 96 of 100 executions; threads that waited in a loop were put off until memory changed
            dekker PSO violated: 15 distinct pairs of a store and an access that can overtake it, in 100 of 100 executions; threads that waited in a loop were put off until memory changed
            dekker PSO-own violated: 15 distinct pairs of a store and an access that can overtake it, in 100 of 100 executions; threads that waited in a loop were put off until memory changed
            --- exit 1
        "#]],
    );
}

fn check_json(mode: [&str; 2], expected: Expect) {
    let common = ["monitor", "--program", "--format", "json", "--model", "tso"];
    check(&[&common[..], &mode, &[SB]].concat(), "", expected);
}

#[test]
fn json() {
    check_json(
        ["--schedules", "all"],
        expect![[r#"
            {"file":"corpus/litmus/SB.litmus","question":"monitor","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"SB","violations":[{"store":{"thread":"P0","line":6,"column":2,"text":"MOV [x],$1","kind":"store"},"access":{"thread":"P1","line":7,"column":16,"text":"MOV EAX,[x]","kind":"load"},"previous":{"thread":"P1","line":6,"column":16,"text":"MOV [y],$1","kind":"store"},"count":null},{"store":{"thread":"P1","line":6,"column":16,"text":"MOV [y],$1","kind":"store"},"access":{"thread":"P0","line":7,"column":2,"text":"MOV EAX,[y]","kind":"load"},"previous":{"thread":"P0","line":6,"column":2,"text":"MOV [x],$1","kind":"store"},"count":null}],"interleavings":6,"complete":true,"bound":{"schedules":"all"},"states":_},{"name":"P1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":6,"column":2,"text":"MOV [x],$1","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":0}},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"line":7,"column":2,"text":"MOV EAX,[y]","from":"memory","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":0}},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"line":6,"column":16,"text":"MOV [y],$1","buffers":{"P0":[["x",1]],"P1":[["y",1]]},"memory":{"x":0,"y":0}},{"n":4,"thread":1,"kind":"commit","location":"y","value":1,"of":3,"buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":5,"thread":1,"kind":"load","location":"x","value":0,"line":7,"column":16,"text":"MOV EAX,[x]","from":"memory","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":6,"thread":0,"kind":"commit","location":"x","value":1,"of":1,"buffers":{},"memory":{"x":1,"y":1}}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of P0"},{"from":2,"to":3,"edge":"fr","why":"read y=0, which the next overwrites"},{"from":3,"to":5,"edge":"po","why":"program order of P1"},{"from":5,"to":1,"edge":"fr","why":"read x=0, which the next overwrites"}],"late":[{"store":1,"behind":2}],"relations":[{"from":2,"to":3,"edge":"fr"},{"from":5,"to":1,"edge":"fr"}],"sc":"forbids","end":{"state":{"0:EAX":0,"1:EAX":0}}},"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
    check_json(
        ["--preemptions", "1"],
        expect![[r#"
            {"file":"corpus/litmus/SB.litmus","question":"monitor","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"SB","violations":[{"store":{"thread":"P0","line":6,"column":2,"text":"MOV [x],$1","kind":"store"},"access":{"thread":"P1","line":7,"column":16,"text":"MOV EAX,[x]","kind":"load"},"previous":{"thread":"P1","line":6,"column":16,"text":"MOV [y],$1","kind":"store"},"count":1},{"store":{"thread":"P1","line":6,"column":16,"text":"MOV [y],$1","kind":"store"},"access":{"thread":"P0","line":7,"column":2,"text":"MOV EAX,[y]","kind":"load"},"previous":{"thread":"P0","line":6,"column":2,"text":"MOV [x],$1","kind":"store"},"count":1}],"interleavings":4,"complete":true,"bound":{"preemptions":1,"steps":1000},"violating":2,"cut_off":0,"events":16,"waits_in_loops":false,"run":{"model":"tso","threads":[{"name":"P0"},{"name":"P1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":6,"column":2,"text":"MOV [x],$1","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":0}},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"line":7,"column":2,"text":"MOV EAX,[y]","from":"memory","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":0}},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"line":6,"column":16,"text":"MOV [y],$1","buffers":{"P0":[["x",1]],"P1":[["y",1]]},"memory":{"x":0,"y":0}},{"n":4,"thread":1,"kind":"commit","location":"y","value":1,"of":3,"buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":5,"thread":1,"kind":"load","location":"x","value":0,"line":7,"column":16,"text":"MOV EAX,[x]","from":"memory","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":6,"thread":0,"kind":"commit","location":"x","value":1,"of":1,"buffers":{},"memory":{"x":1,"y":1}}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of P0"},{"from":2,"to":3,"edge":"fr","why":"read y=0, which the next overwrites"},{"from":3,"to":5,"edge":"po","why":"program order of P1"},{"from":5,"to":1,"edge":"fr","why":"read x=0, which the next overwrites"}],"late":[{"store":1,"behind":2}],"relations":[{"from":2,"to":3,"edge":"fr"},{"from":5,"to":1,"edge":"fr"}],"sc":"forbids","end":{"state":{"0:EAX":0,"1:EAX":0}}},"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
    check_json(
        ["--random", "5"],
        expect![[r#"
            {"file":"corpus/litmus/SB.litmus","question":"monitor","model":"tso","verdict":"violated","certified":true,"time_s":_,"name":"SB","violations":[{"store":{"thread":"P0","line":6,"column":2,"text":"MOV [x],$1","kind":"store"},"access":{"thread":"P1","line":7,"column":16,"text":"MOV EAX,[x]","kind":"load"},"previous":{"thread":"P1","line":6,"column":16,"text":"MOV [y],$1","kind":"store"},"count":2},{"store":{"thread":"P1","line":6,"column":16,"text":"MOV [y],$1","kind":"store"},"access":{"thread":"P0","line":7,"column":2,"text":"MOV EAX,[y]","kind":"load"},"previous":{"thread":"P0","line":6,"column":2,"text":"MOV [x],$1","kind":"store"},"count":1}],"interleavings":5,"complete":false,"bound":{"schedules":"random","seed":1,"steps":1000},"violating":3,"cut_off":0,"events":20,"waits_in_loops":false,"run":{"model":"tso","threads":[{"name":"P0"},{"name":"P1"}],"locations":[{"name":"x"},{"name":"y"}],"init":{"x":0,"y":0},"steps":[{"n":1,"thread":0,"kind":"store","location":"x","value":1,"line":6,"column":2,"text":"MOV [x],$1","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":0}},{"n":2,"thread":0,"kind":"load","location":"y","value":0,"line":7,"column":2,"text":"MOV EAX,[y]","from":"memory","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":0}},{"n":3,"thread":1,"kind":"store","location":"y","value":1,"line":6,"column":16,"text":"MOV [y],$1","buffers":{"P0":[["x",1]],"P1":[["y",1]]},"memory":{"x":0,"y":0}},{"n":4,"thread":1,"kind":"commit","location":"y","value":1,"of":3,"buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":5,"thread":1,"kind":"load","location":"x","value":0,"line":7,"column":16,"text":"MOV EAX,[x]","from":"memory","buffers":{"P0":[["x",1]]},"memory":{"x":0,"y":1}},{"n":6,"thread":0,"kind":"commit","location":"x","value":1,"of":1,"buffers":{},"memory":{"x":1,"y":1}}],"cycle":[{"from":1,"to":2,"edge":"po","why":"program order of P0"},{"from":2,"to":3,"edge":"fr","why":"read y=0, which the next overwrites"},{"from":3,"to":5,"edge":"po","why":"program order of P1"},{"from":5,"to":1,"edge":"fr","why":"read x=0, which the next overwrites"}],"late":[{"store":1,"behind":2}],"relations":[{"from":2,"to":3,"edge":"fr"},{"from":5,"to":1,"edge":"fr"}],"sc":"forbids","end":{"state":{"0:EAX":0,"1:EAX":0}}},"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
}

#[test]
fn witnesses() {
    let folder = std::env::temp_dir().join(format!("weakspot-monitor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("witness.json");
    let path = file.to_str().unwrap();
    let mut text = String::new();
    for (mode, input) in [
        (&["--schedules", "all"][..], SB),
        (&["--schedules", "all"], "corpus/litmus/SB+mfences.litmus"),
        (&["--preemptions", "1"], DEKKER),
        (&["--random", "20"], DEKKER),
    ] {
        let args =
            [&["monitor", "--program", "-q", "--model", "tso", "--witness", path], mode, &[input]];
        let asked = run(&args.concat(), "");
        text += &transcript(&["certify", input, path], "");
        text += &format!("asked: exit {:?}\n", asked.code);
    }
    let none = ["monitor", "--program", "-q", "--random", "3", "--model", "tso", "--witness", path];
    text += &run(&[&none[..], &["corpus/litmus/SB+mfences.litmus"]].concat(), "").err;
    let _ = std::fs::remove_dir_all(&folder);
    expect![[r#"
        certified: robust under TSO: violated, by a run of 6 steps that SC does not have
        --- exit 0
        asked: exit Some(1)
        certified: robust under TSO: holds, by its text: no access can overtake a store
        --- exit 0
        asked: exit Some(0)
        certified: robust under TSO: violated, by a run of 8 steps that SC does not have
        --- exit 0
        asked: exit Some(1)
        certified: robust under TSO: violated, by a run of 39 steps that SC does not have
        --- exit 0
        asked: exit Some(1)
        corpus/litmus/SB+mfences.litmus: no witness is written: that some executions show no violation proves nothing
    "#]].assert_eq(&text);
}

#[test]
fn refused() {
    check(
        &["monitor", "--program", "--model", "sc", SB],
        "",
        expect![[r#"
        --- standard error
        error: nothing is violated under sc: a violation is what SC does not do; expected --model tso, pso or pso-own
        --- exit 2
    "#]],
    );
    check(
        &["monitor", "--program", "no-such.weak"],
        "",
        expect![[r#"
        --- standard error
        error: no-such.weak: failed to read: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        &["monitor", "--program", "--preemptions", "1", "-"],
        "shared x = 0\nthread p { var r = 1 / x }\n",
        expect![[r#"
            --- standard error
            error: division by zero
             --> -:2:12
              |
            2 | thread p { var r = 1 / x }
              |            ^^^^^^^^^^^^^ reached in some run of p
            --- exit 2
        "#]],
    );
}
