//! What `weakspot history` is given: files, folders, pipes, good and bad.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use expect_test::expect;

use crate::printed::transcripts::check;
use crate::recorded::history::SB;
use crate::{run, weakspot};

/// What is wrong with one history or file is said with its place, and does not keep the others
/// from being answered for.
#[test]
fn bad_histories() {
    check(
        &["history", "-q", "--model", "sc", "-"],
        "history a\nt0: r x 5\nhistory b\nt0: w x 5\nt0: w x 5\nhistory c\nt0: w x 5\n",
        expect![[r#"
            - b SC: satisfied: 2 operations, shown by a run of 2 steps
            - c SC: satisfied: 1 operation, shown by a run of 1 step
            --- standard error
            error: -:2:5: nobody wrote 5 to `x`
            --- exit 2
        "#]],
    );
    check(
        &["history", "--format", "json", "--model", "sc", "-"],
        "{\"threads\":[[{",
        expect![[r#"
            {"file":"-","question":"history","model":"sc","verdict":"error","message":"expected a key in quotes, found the end of the text","line":1,"column":15,"time_s":_,"kind":"syntax","schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: -:1:15: expected a key in quotes, found the end of the text
            --- exit 2
        "#]],
    );
    check(
        &["history", "-q", "no-such-file", "corpus/histories/lost-update.json"],
        "",
        expect![[r#"
            corpus/histories/lost-update.json read committed: satisfied: 2 transactions, shown by a commit order
            corpus/histories/lost-update.json read atomic: satisfied: 2 transactions, shown by a commit order
            corpus/histories/lost-update.json transactional causal: satisfied: 2 transactions, shown by a commit order
            corpus/histories/lost-update.json serializable: violated: lost-update, two updates of the same version
            --- standard error
            error: no-such-file: failed to read: No such file or directory (os error 2)
            --- exit 2
        "#]],
    );
    check(
        &["history", "-"],
        "",
        expect![[r#"
            --- standard error
            error: -: no history in it
            --- exit 2
        "#]],
    );
}

#[test]
fn bad_usage() {
    check(
        &["history", "--model", "x86", "-"],
        "",
        expect![[r#"
            --- standard error
            error: invalid value 'x86' for '--model <MODEL>': expected cc, ccv, cm, ccm, wccm, coherence, pso, pso-own, tso, tso-rt, sc, lin, read-committed (rc), read-atomic (ra), transactional-causal (tcc), serializable (ser) or all

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        &["history", "--model", "sc,all", "-"],
        "",
        expect![[r#"
        --- standard error
        error: --model names a model twice
        --- exit 2
    "#]],
    );
    check(
        &["history", "--model", "sc", "--witness", "w.json", "-"],
        "",
        expect![[r#"
        --- standard error
        error: a witness is about a file: save the pipe first, as in `weakspot convert - h.jsonl`
        --- exit 2
    "#]],
    );
    check(
        &["history", "--witness", "w.json", "corpus/histories/classic.wshist"],
        "",
        expect![[r#"
            --- standard error
            error: --witness takes one file and one model, as in --model tso
            --- exit 2
        "#]],
    );
    check(
        &["history", "corpus/litmus"],
        "",
        expect![[r#"
            --- standard error
            error: no .jsonl, .json, .wshist, .axe, .hist, .plume, .awdit, .edn, .csv or .tsv file in the folder corpus/litmus
            --- exit 2
        "#]],
    );
}

/// A folder in short.
#[test]
fn a_folder() {
    check(
        &["history", "-q", "corpus/histories"],
        "",
        expect![[r#"
            corpus/histories/by-cases.wshist by-cases: not SC: satisfies PSO and CCM, violates TSO
            corpus/histories/by-cases.wshist by-cases-fenced: not SC: satisfies coherence and CCM, violates PSO
            corpus/histories/by-cases.wshist by-cases-open: satisfies SC, and so all models
            corpus/histories/causality.plume read committed: satisfied: 5 transactions, shown by a commit order
            corpus/histories/causality.plume read atomic: satisfied: 5 transactions, shown by a commit order
            corpus/histories/causality.plume transactional causal: violated: G-single-process, read skew, with the order of a session
            corpus/histories/causality.plume serializable: violated: G-single-process, read skew, with the order of a session
            corpus/histories/classic.jsonl store-buffering: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/classic.jsonl store-buffering-fenced: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.jsonl store-buffering-half-fenced: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/classic.jsonl store-buffering-updates: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.jsonl message-passing: not SC: satisfies PSO, violates CC
            corpus/histories/classic.jsonl message-passing-fenced: not SC: satisfies coherence, violates PSO and CC
            corpus/histories/classic.jsonl message-passing-seen: satisfies SC, and so all models
            corpus/histories/classic.jsonl iriw: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.jsonl iriw-fenced: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.jsonl corr: not SC: satisfies no model, violates coherence and CC
            corpus/histories/classic.jsonl corr-two-readers: not SC: satisfies CM, violates coherence and CCv
            corpus/histories/classic.jsonl forwarding: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/classic.jsonl counter: satisfies SC, and so all models
            corpus/histories/classic.jsonl lost-update: not SC: satisfies CM and CCv, violates coherence and wCCM
            corpus/histories/classic.jsonl own-future: not SC: satisfies no model, violates coherence and CC
            corpus/histories/classic.wshist store-buffering: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/classic.wshist store-buffering-fenced: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.wshist store-buffering-half-fenced: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/classic.wshist store-buffering-updates: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.wshist message-passing: not SC: satisfies PSO, violates CC
            corpus/histories/classic.wshist message-passing-fenced: not SC: satisfies coherence, violates PSO and CC
            corpus/histories/classic.wshist message-passing-seen: satisfies SC, and so all models
            corpus/histories/classic.wshist iriw: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.wshist iriw-fenced: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/classic.wshist corr: not SC: satisfies no model, violates coherence and CC
            corpus/histories/classic.wshist corr-two-readers: not SC: satisfies CM, violates coherence and CCv
            corpus/histories/classic.wshist forwarding: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/classic.wshist counter: satisfies SC, and so all models
            corpus/histories/classic.wshist lost-update: not SC: satisfies CM and CCv, violates coherence and wCCM
            corpus/histories/classic.wshist own-future: not SC: satisfies no model, violates coherence and CC
            corpus/histories/cores-times.csv: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/cores.csv: not SC: satisfies TSO and CM (not checked: real-time order), violates CCM
            corpus/histories/gradual.jsonl fig-1a: not SC: satisfies CM, violates coherence and CCv
            corpus/histories/gradual.jsonl fig-1b: not SC: satisfies TSO, violates CM
            corpus/histories/gradual.jsonl fig-1c: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/gradual.jsonl fig-1d: not SC: satisfies TSO and CCM
            corpus/histories/gradual.jsonl fig-3: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/gradual.jsonl fig-3-mended: not SC: satisfies coherence and CCM, violates PSO
            corpus/histories/gradual.wshist fig-1a: not SC: satisfies CM, violates coherence and CCv
            corpus/histories/gradual.wshist fig-1b: not SC: satisfies TSO, violates CM
            corpus/histories/gradual.wshist fig-1c: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/gradual.wshist fig-1d: not SC: satisfies TSO and CCM
            corpus/histories/gradual.wshist fig-3: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/gradual.wshist fig-3-mended: not SC: satisfies coherence and CCM, violates PSO
            corpus/histories/long-fork.awdit read committed: satisfied: 7 transactions, shown by a commit order
            corpus/histories/long-fork.awdit read atomic: satisfied: 7 transactions, shown by a commit order
            corpus/histories/long-fork.awdit transactional causal: satisfied: 7 transactions, shown by a commit order
            corpus/histories/long-fork.awdit serializable: satisfied: 7 transactions, shown by a commit order
            corpus/histories/long-fork.hist read committed: satisfied: 6 transactions, shown by a commit order
            corpus/histories/long-fork.hist read atomic: satisfied: 6 transactions, shown by a commit order
            corpus/histories/long-fork.hist transactional causal: satisfied: 6 transactions, shown by a commit order
            corpus/histories/long-fork.hist serializable: violated: G2-item-process, anti-dependency cycle, with the order of a session
            corpus/histories/lost-update.json read committed: satisfied: 2 transactions, shown by a commit order
            corpus/histories/lost-update.json read atomic: satisfied: 2 transactions, shown by a commit order
            corpus/histories/lost-update.json transactional causal: satisfied: 2 transactions, shown by a commit order
            corpus/histories/lost-update.json serializable: violated: lost-update, two updates of the same version
            corpus/histories/lost-write.edn read committed: satisfied: 5 transactions, shown by a commit order
            corpus/histories/lost-write.edn read atomic: satisfied: 5 transactions, shown by a commit order
            corpus/histories/lost-write.edn transactional causal: satisfied: 5 transactions, shown by a commit order
            corpus/histories/lost-write.edn serializable: satisfied (not checked: real-time order): 5 transactions, shown by a commit order
            corpus/histories/real-time.wshist stale-read: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/real-time.wshist concurrent: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/real-time.wshist new-old-inversion: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/real-time.wshist buffered: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/real-time.wshist fenced: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/real-time.wshist from-the-future: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/real-time.wshist cas: not SC: satisfies CM and CCv (not checked: real-time order), violates coherence and wCCM
            corpus/histories/real-time.wshist same-time: not SC: satisfies TSO and CM (not checked: real-time order), violates CCM
            corpus/histories/real-time.wshist open-end: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/register.wshist history 1: satisfies SC (not checked: real-time order), and so all models
            corpus/histories/registers.edn read committed: satisfied: 4 transactions, shown by a commit order
            corpus/histories/registers.edn read atomic: satisfied: 4 transactions, shown by a commit order
            corpus/histories/registers.edn transactional causal: satisfied: 4 transactions, shown by a commit order
            corpus/histories/registers.edn serializable: satisfied (not checked: real-time order): 4 transactions, shown by a commit order
            corpus/histories/stale-read.wshist stale-read: not SC: satisfies no model, violates coherence and CC
            corpus/histories/store-buffering.axe history 1: not SC: satisfies TSO and CM (not checked: real-time order), violates CCM
            corpus/histories/store-buffering.axe history 2: not SC: satisfies coherence, CM and CCv, violates PSO and wCCM
            corpus/histories/store-buffering.wshist history 1: not SC: satisfies TSO and CM, violates CCM
            corpus/histories/values-repeat.jsonl spin-lock: satisfies SC, and so all models
            corpus/histories/values-repeat.wshist spin-lock: satisfies SC, and so all models
            --- exit 1
        "#]],
    );
}

/// Histories are answered for as they come, and nobody goes on when nobody reads.
#[test]
fn endless_histories() {
    let mut child = weakspot()
        .args(["history", "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdin.write_all(format!("{SB}{SB}").as_bytes()).expect("a reader");
    let mut first = String::new();
    stdout.read_line(&mut first).expect("a line");
    assert_eq!(first, "- sb: not SC: satisfies TSO and CM, violates CCM\n");
    drop(stdout);
    // The pipe breaks when the command has ended.
    while stdin.write_all(SB.as_bytes()).is_ok() {}
    // What was violated stays so.
    assert_eq!(child.wait().expect("the command ends").code(), Some(1));
}

/// A file that is read is never written.
#[test]
fn inputs_are_spared() {
    let folder = std::env::temp_dir().join(format!("weakspot-spared-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).expect("a folder");
    let file = folder.join("h.wshist");
    std::fs::write(&file, SB).expect("a file");
    let (file, other) = (file.display().to_string(), folder.join("sub/../h.wshist"));
    let other = other.display().to_string();
    for args in [
        &["history", "--model", "sc", "--witness", &other, &file][..],
        &["record", "-q", &file, "-o", &other],
        &["convert", &file, &other],
    ] {
        let ran = run(args, "");
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), SB, "{args:?}");
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn nothing_to_check() {
    check(
        &["history", "--model", "sc", "-"],
        "t0:\n",
        expect![[r#"
        - history 1 SC: satisfied: 0 operations, shown by a run of 0 steps
          note: it has no operations, so every model is satisfied
        --- exit 0
    "#]],
    );
    check(
        &["history", "-q", "-"],
        "",
        expect![[r#"
        --- standard error
        error: -: no history in it
        --- exit 2
    "#]],
    );
    check(
        &["history", "-q", "--follow", "-"],
        "// nothing\n",
        expect![[r#"
        --- standard error
        error: -: no history in it
        --- exit 2
    "#]],
    );
    check(
        &["history", "--model", "sc", "--format", "json", "-"],
        "// nothing\n",
        expect![[r#"
            {"file":"-","question":"history","model":"sc","verdict":"error","message":"no history in it","line":null,"column":null,"time_s":_,"schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: -: no history in it
            --- exit 2
        "#]],
    );
}

/// What a file says and no model asks is said where it is satisfied.
#[test]
fn what_is_not_checked() {
    let dbcop = "[x:=1 y:=1]\n---\n[y==1 x==1]\n";
    check(
        &["history", "-q", "--input-format", "dbcop", "-"],
        dbcop,
        expect![[r#"
            - read committed: satisfied: 2 transactions, shown by a commit order
            - read atomic: satisfied: 2 transactions, shown by a commit order
            - transactional causal: satisfied: 2 transactions, shown by a commit order
            - serializable: satisfied: 2 transactions, shown by a commit order
            --- exit 0
        "#]],
    );
    let edn =
        "{:type :ok :process 0 :f :write :value 1}\n{:type :ok :process 1 :f :read :value 1}\n";
    check(
        &["history", "-q", "--model", "sc,cc", "-"],
        edn,
        expect![[r#"
        - SC: satisfied (not checked: real-time order): 2 operations, shown by a run of 2 steps
        - CC: satisfied (not checked: real-time order): 2 operations, shown by a run of 2 steps under SC
        --- exit 0
    "#]],
    );
    let axe = "0: M[0] := 1 @ 1:2\n1: M[0] == 1 @ 3:4\n";
    check(
        &["history", "-q", "-"],
        axe,
        expect![[r#"
        - history 1: satisfies SC (not checked: real-time order), and so all models
        --- exit 0
    "#]],
    );
    let plume = "w(0,1,0,1)\nw(1,1,0,1)\nr(0,1,1,2)\n";
    check(
        &["history", "-q", "--follow", "--model", "sc", "-"],
        plume,
        expect![[r#"
        - SC: satisfied (not checked: atomicity of transactions): 3 operations, all in one window
        --- exit 0
    "#]],
    );
}

/// What is wrong with a file is said so that people find the way out.
#[test]
fn helpful_errors() {
    let check_model = |input: &str, expected: expect_test::Expect| {
        check(&["history", "-q", "--model", "sc", "--format", "json", "-"], input, expected);
    };
    // A value that nobody wrote is another kind of error than a text that cannot be read.
    check_model(
        "t0: r 5 7\n",
        expect![[r#"
            {"file":"-","question":"history","model":"sc","verdict":"error","message":"nobody wrote 7 to `[5]`","line":1,"column":5,"time_s":_,"kind":"value","schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: -:1:5: nobody wrote 7 to `[5]`
            --- exit 2
        "#]],
    );
    check_model(
        "t0: r x seven\n",
        expect![[r#"
            {"file":"-","question":"history","model":"sc","verdict":"error","message":"expected a value, a whole number, found `s`","line":1,"column":9,"time_s":_,"kind":"syntax","schema":1,"tool":{"name":"weakspot","version":"0.1.0"}}
            --- standard error
            error: -:1:9: expected a value, a whole number, found `s`
            --- exit 2
        "#]],
    );
    check(
        &["history", "-q", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: corpus/litmus/SB.litmus:1:1: expected a thread with a colon, such as `t0:`, or `history` or `init`
        --- exit 2
    "#]],
    );
    check(
        &["history", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: corpus/litmus/SB.litmus:1:1: expected a thread with a colon, such as `t0:`, or `history` or `init`
        hint: it looks like a litmus test, which `weakspot litmus` reads
        --- exit 2
    "#]],
    );
    check(
        &["history", "-q", "-"],
        "t0: r x 1 from t0 3\n",
        expect![[r#"
        --- standard error
        error: -:1:11: there is no operation 3 of `t0`
        --- exit 2
    "#]],
    );
    check(
        &["history", "-q", "-"],
        "t0: w x 1\nt1: w x 1\n",
        expect![[r#"
            - history 1: satisfies SC, and so all models
            --- exit 0
        "#]],
    );
}

/// One operation per line is one history, also when nobody follows it; and `x=1` is as in logs.
#[test]
fn other_ways_to_write_operations() {
    let lines = "{\"t\":0,\"kind\":\"w\",\"var\":\"x\",\"val\":1}
{\"t\":\"main\",\"kind\":\"r\",\"var\":\"x\",\"val\":1}
";
    check(
        &["history", "-q", "-"],
        lines,
        expect![[r#"
            - history 1: satisfies SC, and so all models
            --- exit 0
        "#]],
    );
    let text = "t0: w x=1\nt0: w a=b 1\nt1: r x = 1 // so\nt1: r x=1 from t0 0\nt1: r a=b=1\n";
    check(
        &["history", "-q", "--input-format", "wshist", "-"],
        text,
        expect![[r#"
        - history 1: satisfies SC, and so all models
        --- exit 0
    "#]],
    );
}

/// What is no witness is told so, whatever the input is.
#[test]
fn no_witness() {
    check(
        &["certify", "corpus/histories/store-buffering.wshist", "corpus/histories/classic.jsonl"],
        "",
        expect![[r#"
            --- standard error
            error: failed to read the witness corpus/histories/classic.jsonl: trailing characters at line 2 column 1
            --- exit 2
        "#]],
    );
}

/// Which of several writes of a value was read is part of the question, if there are few ways to choose.
#[test]
fn values_that_were_written_twice() {
    let text = "t0: w x 1\nt0: w x 2\nt0: w x 1\nt1: r x 1\nt1: r x 2\nt1: r x 1\n";
    check(
        &["history", "-q", "--model", "sc,tso,coherence", "-"],
        text,
        expect![[r#"
        - history 1 SC: satisfied: 6 operations, shown by a run of 6 steps
        - history 1 TSO: satisfied: 6 operations, shown by a run of 6 steps
        - history 1 coherence: satisfied: 6 operations, shown by an order for each of 1 variable
        --- exit 0
    "#]],
    );
    // Both reads of 1 before that of 2 would do, or both after it; one write of 1 cannot be on both sides.
    let text =
        "t0: w x 1\nt1: w x 2\nt2: w y 1\nt2: w y 1\nt3: r y 1\nt3: r x 1\nt3: r x 2\nt3: r x 1\n";
    let ran = run(&["history", "--format", "json", "--model", "coherence", "-"], text);
    assert!(ran.out.contains("\"verdict\":\"violated\",\"certified\":true"), "{}", ran.out);
    assert!(
        ran.out.contains("1 read is of a value that was written more than once"),
        "{}",
        ran.out
    );
    // The initial value counts as written.
    let text = "t0: w x 1\nt0: r y 0\nt1: w y 1\nt1: r x 0\nt2: w x 0\n";
    assert_eq!(run(&["history", "-q", "--model", "sc", "-"], text).code, Some(0));
    let many = format!("t0: w x 1\nt1: w x 1\n{}", "t2: r x 1\n".repeat(11));
    let ran = run(&["history", "--model", "sc", "-"], &many);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.starts_with("error: -:13:5: 1 is written to `x` more than once"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("more than 1024 ways to choose"), "{}", ran.err);
    // A witness has what was read, or evidence for all that may have been.
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let (history, witness) = (path("h.wshist"), path("w.json"));
    for (last, code) in [("t1: r x 2", 0), ("t1: r x 0", 1)] {
        let text = format!("t0: w x 1\nt0: w x 1\nt0: w x 2\nt1: r x 1\n{last}\n");
        std::fs::write(&history, text).expect("written");
        let args = ["history", "-q", "--model", "sc", "--witness", &witness, &history];
        assert_eq!(run(&args, "").code, Some(code), "{last}");
        let ran = run(&["certify", &history, &witness], "");
        assert_eq!(ran.code, Some(0), "{last}: {}{}", ran.out, ran.err);
        // Another choice is no evidence, nor is one that is missing.
        let text = std::fs::read_to_string(&witness).expect("a witness");
        let (from, to) = if code == 0 { ("[3, 0]", "[3, 2]") } else { ("[3, 1]", "[3, 0]") };
        assert!(text.contains(from), "{text}");
        std::fs::write(&witness, text.replace(from, to)).expect("written");
        let ran = run(&["certify", &history, &witness], "");
        assert_eq!(ran.code, Some(1), "{last}: {}{}", ran.out, ran.err);
    }
}
