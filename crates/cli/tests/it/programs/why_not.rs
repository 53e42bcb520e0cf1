//! Why no run ends in a state.

use expect_test::{Expect, expect};

use crate::run;

fn check(model: &str, state: &str, file: &str, expected: Expect) {
    let show = format!("--show={state}");
    let ran = run(&["litmus", "--model", model, &show, file], "");
    let at = ran.out.find("No run").unwrap_or_else(|| panic!("{}{}", ran.out, ran.err));
    expected.assert_eq(&ran.out[at..]);
}

#[test]
fn reasons() {
    check(
        "tso",
        "1:EAX=1; 1:EBX=0",
        "corpus/litmus/MP.litmus",
        expect![[r#"
        No run under TSO ends with 1:EAX=1; 1:EBX=0.
        Each of these would come before the next:
          P0  line 6  MOV [x],$1   -po->  program order of P0: TSO keeps store before
                                          store
          P0  line 7  MOV [y],$1   -rf->  wrote y=1, which the next reads
          P1  line 6  MOV EAX,[y]  -po->  program order of P1: TSO keeps load before
                                          load
          P1  line 7  MOV EBX,[x]  -fr->  read x=0, which the next overwrites
          P0  line 6  MOV [x],$1  (back at the start)
        No other execution has these values.

    "#]],
    );
    check(
        "tso",
        "0:EAX=0; 1:EAX=0",
        "corpus/litmus/SB+mfences.litmus",
        expect![[r#"
        No run under TSO ends with 0:EAX=0; 1:EAX=0.
        Each of these would come before the next:
          P0  line 5  MOV [x],$1   -po->  program order of P0, kept at a fence
          P0  line 6  MFENCE       -po->  program order of P0, kept at a fence
          P0  line 7  MOV EAX,[y]  -fr->  read y=0, which the next overwrites
          P1  line 5  MOV [y],$1   -po->  program order of P1, kept at a fence
          P1  line 6  MFENCE       -po->  program order of P1, kept at a fence
          P1  line 7  MOV EAX,[x]  -fr->  read x=0, which the next overwrites
          P0  line 5  MOV [x],$1  (back at the start)
        No other execution has these values.

    "#]],
    );
    check(
        "sc",
        "1:EAX=0; 0:EAX=0;",
        "corpus/litmus/SB.litmus",
        expect![[r#"
        No run under SC ends with 1:EAX=0; 0:EAX=0.
        Each of these would come before the next:
          P0  line 6  MOV [x],$1   -po->  program order of P0
          P0  line 7  MOV EAX,[y]  -fr->  read y=0, which the next overwrites
          P1  line 6  MOV [y],$1   -po->  program order of P1
          P1  line 7  MOV EAX,[x]  -fr->  read x=0, which the next overwrites
          P0  line 6  MOV [x],$1  (back at the start)
        No other execution has these values.

    "#]],
    );
    check(
        "pso",
        "0:EAX=2",
        "corpus/litmus/SB.litmus",
        expect![[r#"
        No run under PSO ends with 0:EAX=2.
        Whatever memory does, 0:EAX is 0 or 1: nobody stores what would change that.

    "#]],
    );
    check(
        "tso",
        "0:EAX=0 /\\ 0:EAX=1",
        "corpus/litmus/SB.litmus",
        expect![[r#"
        No run under TSO ends with 0:EAX=0 /\ 0:EAX=1.
        That is a contradiction: 0:EAX has one value in a final state.

    "#]],
    );
    check(
        "tso",
        "0:EAX=2; 1:EAX=1",
        "corpus/litmus/n5.litmus",
        expect![[r#"
            No run under TSO ends with 0:EAX=2; 1:EAX=1.
            The accesses to one location would each come before the next:
              P1  line 5  MOV [x],$2   -po->  program order of P1, same location
              P1  line 6  MOV EAX,[x]  -fr->  read x=1, which the next overwrites
              P1  line 5  MOV [x],$2  (back at the start)
            All 2 candidate executions with these values have such a cycle; this is a
            shortest one.

        "#]],
    );
    check(
        "pso",
        "x=2; y=2",
        "corpus/litmus/2+2W+sfences.litmus",
        expect![[r#"
        No run under PSO ends with x=2; y=2.
        Each of these would come before the next:
          P0  line 5  MOV [x],$2  -po->  program order of P0, kept at a fence
          P0  line 6  SFENCE      -po->  program order of P0, kept at a fence
          P0  line 7  MOV [y],$1  -co->  wrote y=1, which the next overwrites
          P1  line 5  MOV [y],$2  -po->  program order of P1, kept at a fence
          P1  line 6  SFENCE      -po->  program order of P1, kept at a fence
          P1  line 7  MOV [x],$1  -co->  wrote x=1, which the next overwrites
          P0  line 5  MOV [x],$2  (back at the start)
        No other execution has these values.

    "#]],
    );
}

/// The object in JSON has the same, and no run.
#[test]
fn objects() {
    let object = |state: &str| -> serde_json::Value {
        let show = format!("--show={state}");
        let args = ["litmus", "--format", "json", "--model", "tso", &show];
        let args = [&args[..], &["corpus/litmus/MP.litmus"]].concat();
        serde_json::from_str(&run(&args, "").out).expect("an object")
    };
    let cycle = object("1:EAX=1; 1:EBX=0");
    let why = &cycle["why_not"];
    assert_eq!((&why["reason"], &why["axiom"]), (&"cycle".into(), &"global-order".into()));
    assert_eq!(why["execution"]["cycle"].as_array().map(Vec::len), Some(4));
    assert!(cycle.get("run").is_none());
    let value = object("1:EAX=5");
    assert_eq!(value["why_not"]["reason"], "values");
    assert_eq!(value["why_not"]["instead"], serde_json::json!([0, 1]));
    let reached = object("1:EAX=1");
    assert!(reached.get("why_not").is_none() && reached["run"].is_object());
}

/// States are written as answers list them, or as conditions say them.
#[test]
fn states_in_both_spellings() {
    let shown = |state: &str| {
        let show = format!("--show={state}");
        let ran = run(&["litmus", "--model", "tso", &show, "corpus/litmus/2+2W.litmus"], "");
        (ran.out.rsplit("Time ").next().unwrap_or_default().replace(state, "_"), ran.err)
    };
    let (listed, _) = shown("x=1; y=1");
    assert!(listed.contains("Final state: _"), "{listed}");
    let (said, err) = shown("x=1 /\\ y=1");
    assert!(said.contains("Final state: x=1; y=1;") && err.is_empty(), "{said}{err}");
    let (_, err) = shown("x=1 and y=1");
    let expected = "--show: column 5: expected `/\\`, `\\/`, `=>` or `;`, found `and`";
    assert!(err.contains(expected), "{err}");
    let (said, err) = shown("exists ([x]=1 /\\ ~(y=2))");
    assert!(said.contains("Final state: x=1; y=1;") && err.is_empty(), "{said}{err}");
    let (none, _) = shown("exists (x=3 \\/ y=4)");
    assert!(none.contains("No run under TSO ends with (x=3 \\/ y=4)."), "{none}");
}
