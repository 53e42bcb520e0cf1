//! `weakspot history` on transactions of databases, and its witnesses.

use expect_test::expect;

use crate::printed::transcripts::check;
use crate::run;

#[test]
fn text() {
    check(
        &["history", "corpus/databases/fractured-read.edn"],
        "",
        expect![[r#"
        corpus/databases/fractured-read.edn read committed: satisfied: 3 transactions, shown by a commit order
        corpus/databases/fractured-read.edn read atomic: violated: fractured-read, a transaction is seen in part

          T1  t0 1, line 5: w x 2, w y 2
          T2  t1 0, line 7: r y 1, r x 2
          T3  t0 0, line 3: w x 1, w y 1

          Under read atomic this cannot be: each arrow means "is committed before", and
          together they form a cycle.
          T1 -wr-> T2  T2 has r x 2, which T1 wrote
          T2 -rw-> T1  T2 has r y 1, which T1 overwrites

          It does so because it comes after T3, which is read:
          T3 -so-> T1  both are of t0, in this order

        corpus/databases/fractured-read.edn transactional causal: violated: fractured-read, a transaction is seen in part
        corpus/databases/fractured-read.edn serializable: violated: fractured-read, a transaction is seen in part
        --- exit 1
    "#]],
    );
    check(
        &["history", "--model", "tcc", "corpus/databases/causal.edn"],
        "",
        expect![[r#"
        corpus/databases/causal.edn transactional causal: violated: G-single-process, read skew, with the order of a session

          T1  t0 0, line 2: w post 1
          T2  t1 0, line 3: r post 1, w reply 1
          T3  t2 0, line 4: r reply 1
          T4  t2 1, line 5: r post (initial)

          Under transactional causal this cannot be: each arrow means "is committed
          before", and together they form a cycle.
          T1 -wr-> T2  T2 has r post 1, which T1 wrote
          T2 -wr-> T3  T3 has r reply 1, which T2 wrote
          T3 -so-> T4  both are of t2, in this order
          T4 -rw-> T1  T4 has r post (initial), which T1 overwrites

        --- exit 1
    "#]],
    );
    check(
        &["history", "--model", "serializable", "corpus/databases/lost-update.edn"],
        "",
        expect![[r#"
            corpus/databases/lost-update.edn serializable: violated: lost-update, two updates of the same version

              T1  t0 1, line 5: r x 1, w x 2
              T2  t1 0, line 7: r x 1, w x 3
              T3  t0 0, line 3: w x 1

              Under serializable this cannot be: each arrow means "is committed before", and
              together they form a cycle.
              T1 -rw-> T2  see (1)
              T2 -rw-> T1  see (2)

              (1) T1 has r x 1, which is of T3, and T2 writes x after T3; so T1 comes before
                  T2. It is after T3:
              T3 -wr-> T2  T2 has r x 1, which T3 wrote

              (2) T2 has r x 1, which is of T3, and T1 writes x after T3; so T2 comes before
                  T1. It is after T3:
              T3 -so-> T1  both are of t0, in this order

            --- exit 1
        "#]],
    );
    check(
        &["history", "-m", "ser", "corpus/databases/write-skew.edn"],
        "",
        expect![[r#"
        corpus/databases/write-skew.edn serializable: violated: G2-item, anti-dependency cycle

          T1  t0 0, line 3: r x (initial), w y 1
          T2  t1 0, line 5: r y (initial), w x 1

          Under serializable this cannot be: each arrow means "is committed before", and
          together they form a cycle.
          T1 -rw-> T2  T1 has r x (initial), which T2 overwrites
          T2 -rw-> T1  T2 has r y (initial), which T1 overwrites

        --- exit 1
    "#]],
    );
    check(
        &["history", "-m", "rc", "corpus/databases/write-cycle.edn"],
        "",
        expect![[r#"
        corpus/databases/write-cycle.edn read committed: violated: G0, write cycle

          T1  t0 0, line 3: append x 1, append y 1
          T2  t1 0, line 5: append x 2, append y 2

          Under read committed this cannot be: each arrow means "is committed before",
          and together they form a cycle.
          T1 -ww-> T2  in the list x, 1 stands before 2
          T2 -ww-> T1  in the list y, 2 stands before 1

        --- exit 1
    "#]],
    );
    check(
        &["history", "-m", "ra", "corpus/databases/unknown.edn"],
        "",
        expect![[r#"
        corpus/databases/unknown.edn read atomic: satisfied: 2 transactions, shown by a commit order
          note: of the transactions of which it is not known whether they were
            committed, 1 was read from and is counted as committed, and 1 was not and is
            left out
        --- exit 0
    "#]],
    );
    for read in ["aborted-read", "intermediate-read", "internal", "incompatible-order"] {
        let file = format!("corpus/databases/{read}.edn");
        let shown = run(&["history", "-m", "rc", &file], "");
        assert_eq!(shown.code, Some(1), "{read}");
    }
    check(
        &["history", "-m", "rc", "corpus/databases/incompatible-order.edn"],
        "",
        expect![[r#"
        corpus/databases/incompatible-order.edn read committed: violated: incompatible-order, two lists of which neither begins with the other

          T1  t3 0, line 9: r [5] [2]
          T2  t2 0, line 7: r [5] [1 2]

          Neither list begins with the other: T1 r [5] [2], and T2 r [5] [1 2].

        --- exit 1
    "#]],
    );
    check(
        &["history", "-q", "corpus/databases"],
        "",
        expect![[r#"
        corpus/databases/aborted-read.edn read committed: violated: G1a, aborted read
        corpus/databases/aborted-read.edn read atomic: violated: G1a, aborted read
        corpus/databases/aborted-read.edn transactional causal: violated: G1a, aborted read
        corpus/databases/aborted-read.edn serializable: violated: G1a, aborted read
        corpus/databases/causal.edn read committed: satisfied: 4 transactions, shown by a commit order
        corpus/databases/causal.edn read atomic: satisfied: 4 transactions, shown by a commit order
        corpus/databases/causal.edn transactional causal: violated: G-single-process, read skew, with the order of a session
        corpus/databases/causal.edn serializable: violated: G-single-process, read skew, with the order of a session
        corpus/databases/circular-flow.edn read committed: violated: G1c, circular information flow
        corpus/databases/circular-flow.edn read atomic: violated: G1c, circular information flow
        corpus/databases/circular-flow.edn transactional causal: violated: G1c, circular information flow
        corpus/databases/circular-flow.edn serializable: violated: G1c, circular information flow
        corpus/databases/fractured-read.edn read committed: satisfied: 3 transactions, shown by a commit order
        corpus/databases/fractured-read.edn read atomic: violated: fractured-read, a transaction is seen in part
        corpus/databases/fractured-read.edn transactional causal: violated: fractured-read, a transaction is seen in part
        corpus/databases/fractured-read.edn serializable: violated: fractured-read, a transaction is seen in part
        corpus/databases/fractured-read.plume read committed: violated: fractured-read, a transaction is seen in part
        corpus/databases/fractured-read.plume read atomic: violated: fractured-read, a transaction is seen in part
        corpus/databases/fractured-read.plume transactional causal: violated: fractured-read, a transaction is seen in part
        corpus/databases/fractured-read.plume serializable: violated: fractured-read, a transaction is seen in part
        corpus/databases/incompatible-order.edn read committed: violated: incompatible-order, two lists of which neither begins with the other
        corpus/databases/incompatible-order.edn read atomic: violated: incompatible-order, two lists of which neither begins with the other
        corpus/databases/incompatible-order.edn transactional causal: violated: incompatible-order, two lists of which neither begins with the other
        corpus/databases/incompatible-order.edn serializable: violated: incompatible-order, two lists of which neither begins with the other
        corpus/databases/intermediate-read.edn read committed: violated: G1b, intermediate read
        corpus/databases/intermediate-read.edn read atomic: violated: G1b, intermediate read
        corpus/databases/intermediate-read.edn transactional causal: violated: G1b, intermediate read
        corpus/databases/intermediate-read.edn serializable: violated: G1b, intermediate read
        corpus/databases/internal.edn read committed: violated: internal, a transaction contradicts what it did itself
        corpus/databases/internal.edn read atomic: violated: internal, a transaction contradicts what it did itself
        corpus/databases/internal.edn transactional causal: violated: internal, a transaction contradicts what it did itself
        corpus/databases/internal.edn serializable: violated: internal, a transaction contradicts what it did itself
        corpus/databases/long-fork.edn read committed: satisfied: 4 transactions, shown by a commit order
        corpus/databases/long-fork.edn read atomic: satisfied: 4 transactions, shown by a commit order
        corpus/databases/long-fork.edn transactional causal: satisfied: 4 transactions, shown by a commit order
        corpus/databases/long-fork.edn serializable: violated: G2-item, anti-dependency cycle
        corpus/databases/lost-update.edn read committed: satisfied: 3 transactions, shown by a commit order
        corpus/databases/lost-update.edn read atomic: satisfied: 3 transactions, shown by a commit order
        corpus/databases/lost-update.edn transactional causal: satisfied: 3 transactions, shown by a commit order
        corpus/databases/lost-update.edn serializable: violated: lost-update, two updates of the same version
        corpus/databases/read-skew.edn read committed: satisfied: 5 transactions, shown by a commit order
        corpus/databases/read-skew.edn read atomic: satisfied: 5 transactions, shown by a commit order
        corpus/databases/read-skew.edn transactional causal: violated: G-single, read skew: a cycle with one anti-dependency
        corpus/databases/read-skew.edn serializable: violated: G-single, read skew: a cycle with one anti-dependency
        corpus/databases/serial-lists.edn read committed: satisfied: 4 transactions, shown by a commit order
        corpus/databases/serial-lists.edn read atomic: satisfied: 4 transactions, shown by a commit order
        corpus/databases/serial-lists.edn transactional causal: satisfied: 4 transactions, shown by a commit order
        corpus/databases/serial-lists.edn serializable: satisfied (not checked: real-time order): 4 transactions, shown by a commit order
        corpus/databases/unknown.edn read committed: satisfied: 2 transactions, shown by a commit order
        corpus/databases/unknown.edn read atomic: satisfied: 2 transactions, shown by a commit order
        corpus/databases/unknown.edn transactional causal: satisfied: 2 transactions, shown by a commit order
        corpus/databases/unknown.edn serializable: satisfied (not checked: real-time order): 2 transactions, shown by a commit order
        corpus/databases/write-cycle.edn read committed: violated: G0, write cycle
        corpus/databases/write-cycle.edn read atomic: violated: G0, write cycle
        corpus/databases/write-cycle.edn transactional causal: violated: G0, write cycle
        corpus/databases/write-cycle.edn serializable: violated: G0, write cycle
        corpus/databases/write-skew.edn read committed: satisfied: 2 transactions, shown by a commit order
        corpus/databases/write-skew.edn read atomic: satisfied: 2 transactions, shown by a commit order
        corpus/databases/write-skew.edn transactional causal: satisfied: 2 transactions, shown by a commit order
        corpus/databases/write-skew.edn serializable: violated: G2-item, anti-dependency cycle
        corpus/databases/write-skew.hist read committed: satisfied: 2 transactions, shown by a commit order
        corpus/databases/write-skew.hist read atomic: satisfied: 2 transactions, shown by a commit order
        corpus/databases/write-skew.hist transactional causal: satisfied: 2 transactions, shown by a commit order
        corpus/databases/write-skew.hist serializable: violated: G2-item, anti-dependency cycle
        --- exit 1
    "#]],
    );
}

#[test]
fn json() {
    let file = "corpus/databases/fractured-read.edn";
    check(
        &["history", "--format", "json", "-m", "rc,ra", file],
        "",
        expect![[r#"
        {"file":"corpus/databases/fractured-read.edn","question":"history","id":null,"number":1,"model":"read-committed","verdict":"holds","certified":true,"operations":6,"transactions":3,"sessions":2,"variables":2,"decided_by":"saturation","order":[[0,0],[0,1],[1,0]],"unchecked":["real-time order"],"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
        {"file":"corpus/databases/fractured-read.edn","question":"history","id":null,"number":1,"model":"read-atomic","verdict":"violated","certified":true,"operations":6,"transactions":3,"sessions":2,"variables":2,"decided_by":"saturation","anomaly":"fractured-read","anomaly_text":"a transaction is seen in part","cycle":[0,2],"facts":[{"from":{"session":0,"index":0,"line":3},"link":"so","to":{"session":0,"index":1,"line":5}},{"from":{"session":0,"index":1,"line":5},"link":"wr","to":{"session":1,"index":0,"line":7},"read":{"session":1,"index":0,"line":7,"operation":1,"op":"r x 2"}},{"from":{"session":0,"index":1,"line":5},"link":"ww","to":{"session":0,"index":0,"line":3},"read":{"session":1,"index":0,"line":7,"operation":0,"op":"r y 1"},"path":[1]}],"unchecked":["real-time order"],"time_s":_,"schema":1}
        --- exit 1
    "#]],
    );
    check(
        &["history", "--format", "json", "-m", "ra", "corpus/databases/aborted-read.edn"],
        "",
        expect![[r#"
            {"file":"corpus/databases/aborted-read.edn","question":"history","id":null,"number":1,"model":"read-atomic","verdict":"violated","certified":true,"operations":2,"transactions":1,"sessions":2,"variables":1,"decided_by":"reads","anomaly":"G1a","anomaly_text":"aborted read","read":{"session":1,"index":0,"line":5,"operation":0,"op":"r x [1]"},"unchecked":["real-time order"],"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- exit 1
        "#]],
    );
    check(
        &["history", "--format", "csv", file],
        "",
        expect![[r#"
            model,holds,violated,unknown,error
            cc,0,0,0,0
            ccv,0,0,0,0
            cm,0,0,0,0
            ccm,0,0,0,0
            wccm,0,0,0,0
            coherence,0,0,0,0
            pso,0,0,0,0
            tso,0,0,0,0
            sc,0,0,0,0
            read-committed,1,0,0,0
            read-atomic,0,1,0,0
            transactional-causal,0,1,0,0
            serializable,0,1,0,0
            --- exit 1
        "#]],
    );
}

#[test]
fn refusals() {
    check(
        &["history", "-m", "si", "corpus/databases/causal.edn"],
        "",
        expect![[r#"
        --- standard error
        error: invalid value 'si' for '--model <MODEL>': snapshot isolation is not supported

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        &["history", "-m", "rc", "-"],
        "t0: w x 1\n",
        expect![[r#"
        --- standard error
        error: -: text has no transactions; expected a file of dbcop, plume, awdit or edn
        --- exit 2
    "#]],
    );
    let text = "{:type :ok, :f :txn, :process 0,\n :value [[:r 5 [1]]]}\n";
    check(
        &["history", "-m", "rc", "--input-format", "edn", "-"],
        text,
        expect![[r#"
        --- standard error
        error: -:1:1: nobody appended 1 to `[5]`
        --- exit 2
    "#]],
    );
    check(
        &["history", "-m", "rc", "--input-format", "edn", "-"],
        "{:type :ok}\n",
        expect![[r#"
        --- standard error
        error: -:1:1: an operation without `:process`, a number or a keyword
        --- exit 2
    "#]],
    );
}

/// A commit order, a cycle and a read that is wrong, checked again, and rejected for another file.
#[test]
fn witnesses() {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("w.json");
    let witness = witness.to_str().expect("a path in UTF-8");
    let asked = [
        ("serial-lists.edn", "ser", 0),
        ("causal.edn", "ra", 0),
        ("causal.edn", "tcc", 1),
        ("write-skew.hist", "ser", 1),
        ("fractured-read.plume", "rc", 1),
        ("write-cycle.edn", "rc", 1),
        ("intermediate-read.edn", "rc", 1),
    ];
    for (name, model, exit) in asked {
        let file = format!("corpus/databases/{name}");
        let found = run(&["history", "-q", "-m", model, "--witness", witness, &file], "");
        assert_eq!(found.code, Some(exit), "{name}");
        let checked = run(&["certify", &file, witness], "");
        assert_eq!(checked.code, Some(0), "{name}: {} {}", checked.out, checked.err);
        let other = run(&["certify", "corpus/databases/long-fork.edn", witness], "");
        assert_eq!(other.code, Some(2), "{name}");
        // Another model may need other evidence; what is wrong is never certified.
        let text = std::fs::read_to_string(witness).expect("a witness");
        let turned = match exit {
            0 => text.replace("\"holds\"", "\"violated\""),
            _ => text.replace("\"violated\"", "\"holds\""),
        };
        std::fs::write(witness, turned).expect("a writable folder");
        let rejected = run(&["certify", &file, witness], "");
        assert_eq!(rejected.code, Some(1), "{name}");
    }
}

/// From format to format with their transactions.
/// Each of several histories in a file has its answers, and what is behind them is not left out.
#[test]
fn several_in_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, proof] = ["two.json", "w.json"].map(|name| folder.path().join(name));
    let first = r#"{"data":[[{"events":[["w",0,1]],"committed":true}]]}"#;
    let skew = r#"{"data":[[{"events":[["w",0,1]],"committed":true},{"events":[["r",0,null]],"committed":true}]]}"#;
    std::fs::write(&file, format!("{first}\n{skew}\n")).expect("written");
    let [file, proof] = [&file, &proof].map(|path| path.to_str().expect("UTF-8"));
    let ran = run(&["history", "-m", "ra", "-f", "json", "--witness", proof, file], "");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for part in [
        r#""number":1,"model":"read-atomic","verdict":"holds""#,
        r#""number":2,"model":"read-atomic","verdict":"violated""#,
    ] {
        assert!(ran.out.contains(part), "{}", ran.out);
    }
    let certified = run(&["certify", file, proof], "");
    assert_eq!(certified.code, Some(0), "{}", certified.err);
    let text = std::fs::read_to_string(proof).expect("the witness");
    for other in ["0", "1", "3"] {
        std::fs::write(proof, text.replace("\"history\": 2", &format!("\"history\": {other}")))
            .expect("written");
        assert_ne!(run(&["certify", file, proof], "").code, Some(0), "{other}");
    }
    assert_eq!(run(&["convert", "--to", "awdit", file, "-"], "").code, Some(2));
    std::fs::write(file, format!("{first}\ngarbage\n")).expect("written");
    let ran = run(&["history", "-m", "ra", file], "");
    assert!(ran.code == Some(2) && ran.err.contains("two.json:2:1"), "{}", ran.err);
}

#[test]
fn converted() {
    let from = "corpus/databases/write-skew.hist";
    check(
        &["convert", "--to", "plume", from, "-"],
        "",
        expect![[r#"
        r(0,0,0,0)
        w(1,1,0,0)
        r(1,0,1,1)
        w(0,1,1,1)
        w(2,1,2,-1)
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "dbcop-json", from, "-"],
        "",
        expect![[r#"
        {"params":{"id":0,"n_node":3,"n_variable":3,"n_transaction":1,"n_event":2},"info":"","start":"1970-01-01T00:00:00+00:00","end":"1970-01-01T00:00:00+00:00","data":[[{"events":[{"Read":{"variable":0,"version":null}},{"Write":{"variable":1,"version":1}}],"committed":true}],[{"events":[{"Read":{"variable":1,"version":null}},{"Write":{"variable":0,"version":1}}],"committed":true}],[{"events":[{"Write":{"variable":2,"version":1}}],"committed":false}]]}
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "edn", from, "-"],
        "",
        expect![[r#"
        {:type :ok, :f :txn, :value [[:r "x" nil] [:w "y" 1]], :process 0, :index 0}
        {:type :ok, :f :txn, :value [[:r "y" nil] [:w "x" 1]], :process 1, :index 1}
        {:type :fail, :f :txn, :value [[:w "z" 1]], :process 2, :index 2}
        --- exit 0
    "#]],
    );
    check(
        &["convert", "--to", "plume", "corpus/databases/write-cycle.edn", "-"],
        "",
        expect![[r#"
            --- standard error
            error: corpus/databases/write-cycle.edn: plume has no lists, only registers
            --- exit 2
        "#]],
    );
}
