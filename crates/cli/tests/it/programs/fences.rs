//! `weakspot fence`: commands with their output and exit codes.

use expect_test::{Expect, expect};

use crate::{run, transcript};

fn check(args: &[&str], stdin: &str, expected: Expect) {
    expected.assert_eq(&transcript(args, stdin));
}

/// Which searches were made is not part of the answer: left out.
fn check_json(args: &[&str], stdin: &str, expected: Expect) {
    let ran = run(args, stdin);
    let mut text = String::new();
    for line in ran.out.lines() {
        let mut json: serde_json::Value = serde_json::from_str(line).expect("JSON");
        for key in ["time_s", "explored", "queries"] {
            assert!(json[key].is_number(), "{line}");
            json[key] = "_".into();
        }
        text += &format!("{json}\n");
    }
    text += &format!("--- exit {}\n", ran.code.unwrap_or(-1));
    expected.assert_eq(&text);
}

#[test]
fn a_weak_program() {
    check(
        &["fence", "corpus/programs/dekker.weak"],
        "",
        expect![[r#"
            dekker TSO needs 3 fences to be robust; no fewer do
              corpus/programs/dekker.weak:16: a fence in p[0], p[1], between `flag[me] = 1` and `while (flag[1 - me] == 1)`: the store of line 16 reaches memory before line 17 takes effect
              corpus/programs/dekker.weak:19: a fence in p[0], p[1], between `flag[me] = 0` and `await (turn == me)`: the store of line 19 reaches memory before line 20 takes effect
              corpus/programs/dekker.weak:21: a fence in p[0], p[1], after `flag[me] = 1`, at the end of the block: the store of line 21 reaches memory before line 17 takes effect
            --- corpus/programs/dekker.weak
            +++ corpus/programs/dekker.weak
            @@ -14,11 +14,14 @@
                 var i = 0, c
                 while (i < ROUNDS) {
                     flag[me] = 1
            +        fence
                     while (flag[1 - me] == 1) {
                         if (turn != me) {
                             flag[me] = 0
            +                fence
                             await (turn == me)
                             flag[me] = 1
            +                fence
                         }
                     }
                     cs: c = count
            --- exit 1
        "#]],
    );
}

#[test]
fn the_goal_may_be_less() {
    let args = ["fence", "--goal", "safe", "--model", "pso", "corpus/programs/dekker.weak"];
    check(
        &args,
        "",
        expect![[r#"
            dekker PSO needs 3 fences to be safe; no fewer do
              corpus/programs/dekker.weak:16: a fence in p[0], p[1], between `flag[me] = 1` and `while (flag[1 - me] == 1)`: the store of line 16 reaches memory before line 17 takes effect
              corpus/programs/dekker.weak:21: a fence in p[0], p[1], after `flag[me] = 1`, at the end of the block: the store of line 21 reaches memory before line 17 takes effect
              corpus/programs/dekker.weak:25: a store-store fence in p[0], p[1], between `count = c + 1` and `turn = 1 - me`: the store of line 25 reaches memory before the store of line 26
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            --- corpus/programs/dekker.weak
            +++ corpus/programs/dekker.weak
            @@ -14,15 +14,18 @@
                 var i = 0, c
                 while (i < ROUNDS) {
                     flag[me] = 1
            +        fence
                     while (flag[1 - me] == 1) {
                         if (turn != me) {
                             flag[me] = 0
                             await (turn == me)
                             flag[me] = 1
            +                fence
                         }
                     }
                     cs: c = count
                     count = c + 1
            +        fence.ss
                     turn = 1 - me
                     flag[me] = 0
                     i = i + 1
            --- exit 1
        "#]],
    );
}

#[test]
fn a_litmus_test() {
    check(
        &["fence", "--model", "tso,pso", "corpus/litmus/MP.litmus"],
        "",
        expect![[r#"
        MP TSO is robust without fences
        MP PSO needs 1 fence to be robust; no fewer do
          corpus/litmus/MP.litmus:6: a store-store fence in P0, between `MOV [x],$1` and `MOV [y],$1`: the store of line 6 reaches memory before the store of line 7
        --- corpus/litmus/MP.litmus
        +++ corpus/litmus/MP.litmus
        @@ -4,5 +4,6 @@
         { x=0; y=0; }
          P0         | P1          ;
          MOV [x],$1 | MOV EAX,[y] ;
        + SFENCE     |             ;
          MOV [y],$1 | MOV EBX,[x] ;
         exists (1:EAX=1 /\ 1:EBX=0)
        --- exit 1
    "#]],
    );
    check(
        &["fence", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        SB TSO needs 2 fences to be robust; no fewer do
          corpus/litmus/SB.litmus:6: a fence in P0, between `MOV [x],$1` and `MOV EAX,[y]`: the store of line 6 reaches memory before line 7 takes effect
          corpus/litmus/SB.litmus:6: a fence in P1, between `MOV [y],$1` and `MOV EAX,[x]`: the store of line 6 reaches memory before line 7 takes effect
        --- corpus/litmus/SB.litmus
        +++ corpus/litmus/SB.litmus
        @@ -4,5 +4,6 @@
         { x=0; y=0; }
          P0          | P1          ;
          MOV [x],$1  | MOV [y],$1  ;
        + MFENCE      | MFENCE      ;
          MOV EAX,[y] | MOV EAX,[x] ;
         exists (0:EAX=0 /\ 1:EAX=0)
        --- exit 1
    "#]],
    );
}

#[test]
fn trencher_and_memorax() {
    check(
        &["fence", "corpus/trencher/dekker.txt"],
        "",
        expect![[r#"
            dekker TSO needs 2 fences to be robust; no fewer do
              corpus/trencher/dekker.txt:11: a fence in left, between `transition start raised write 1 0` and `transition raised looked read other 1`: the store of line 11 reaches memory before line 12 takes effect
              corpus/trencher/dekker.txt:21: a fence in right, between `transition start raised write 1 1` and `transition raised looked read other 0`: the store of line 21 reaches memory before line 22 takes effect
            --- corpus/trencher/dekker.txt
            +++ corpus/trencher/dekker.txt
            @@ -9,7 +9,8 @@
             initial start
             final critical
             transition start raised write 1 0
            -transition raised looked read other 1
            +transition raised raised_fenced mfence
            +transition raised_fenced looked read other 1
             transition looked critical check == other 0
             transition looked raised check != other 0
             transition critical start write 0 0
            @@ -19,7 +20,8 @@
             initial start
             final critical
             transition start raised write 1 1
            -transition raised looked read other 0
            +transition raised raised_fenced mfence
            +transition raised_fenced looked read other 0
             transition looked critical check == other 0
             transition looked raised check != other 0
             transition critical start write 0 1
            --- exit 1
        "#]],
    );
    check(
        &["fence", "--goal", "safe", "corpus/memorax/peterson.rmm"],
        "",
        expect![[r#"
            peterson TSO needs 2 fences to be safe; no fewer do
              corpus/memorax/peterson.rmm:18: a fence in P0, between `write: turn := 1` and `read: $flag := flag[0]`: the store of line 17 reaches memory before line 19 takes effect
              corpus/memorax/peterson.rmm:36: a fence in P1, between `write: turn := 0` and `read: $flag := flag[0]`: the store of line 35 reaches memory before line 37 takes effect
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            --- corpus/memorax/peterson.rmm
            +++ corpus/memorax/peterson.rmm
            @@ -16,6 +16,7 @@
             text
               START: write: flag[my] := 1;
               write: turn := 1;
            +  fence;
               read: $flag := flag[0];
               read: $turn := turn;
               while $flag = 1 && $turn = 1 do {
            @@ -34,6 +35,7 @@
             text
               START: write: flag[my] := 1;
               write: turn := 0;
            +  fence;
               read: $flag := flag[0];
               read: $turn := turn;
               while $flag = 1 && $turn = 0 do {
            --- exit 1
        "#]],
    );
}

#[test]
fn costs_are_told() {
    let args = ["fence", "--model", "pso", "--cost", "full=5,ss=2", "corpus/litmus/R.litmus"];
    check(
        &args,
        "",
        expect![[r#"
        R PSO needs 2 fences at a cost of 7 to be robust; nothing cheaper does
          corpus/litmus/R.litmus:6: a store-store fence in P0, between `MOV [x],$1` and `MOV [y],$1`: the store of line 6 reaches memory before the store of line 7
          corpus/litmus/R.litmus:6: a fence in P1, between `MOV [y],$2` and `MOV EAX,[x]`: the store of line 6 reaches memory before line 7 takes effect
        --- corpus/litmus/R.litmus
        +++ corpus/litmus/R.litmus
        @@ -4,5 +4,6 @@
         {}
          P0         | P1          ;
          MOV [x],$1 | MOV [y],$2  ;
        + SFENCE     | MFENCE      ;
          MOV [y],$1 | MOV EAX,[x] ;
         exists (y=2 /\ 1:EAX=0)
        --- exit 1
    "#]],
    );
}

#[test]
fn json() {
    let args = [
        "fence",
        "--format",
        "json",
        "--model",
        "tso,pso",
        "corpus/litmus/MP.litmus",
        "corpus/programs/dekker-simple.weak",
    ];
    check_json(
        &args,
        "",
        expect![[r#"
            {"certified":true,"explored":"_","fences":[],"file":"corpus/litmus/MP.litmus","fixable":true,"goal":"robust","model":"tso","name":"MP","optimal":true,"queries":"_","question":"fence","schema":1,"time_s":"_","tool":{"name":"weakspot","version":"0.1.0"},"verdict":"holds"}
            {"certified":true,"diff":"--- corpus/litmus/MP.litmus\n+++ corpus/litmus/MP.litmus\n@@ -4,5 +4,6 @@\n { x=0; y=0; }\n  P0         | P1          ;\n  MOV [x],$1 | MOV EAX,[y] ;\n+ SFENCE     |             ;\n  MOV [y],$1 | MOV EBX,[x] ;\n exists (1:EAX=1 /\\ 1:EBX=0)\n","explored":"_","fences":[{"access_line":7,"after":"MOV [x],$1","before":"MOV [y],$1","kind":"store-store","line":6,"store_line":6,"thread":"P0"}],"file":"corpus/litmus/MP.litmus","fixable":true,"goal":"robust","model":"pso","name":"MP","optimal":true,"queries":"_","question":"fence","run":{"cycle":[{"edge":"po","from":1,"to":3,"why":"program order of P0"},{"edge":"rf","from":3,"to":5,"why":"wrote y=1, which the next reads"},{"edge":"po","from":5,"to":7,"why":"program order of P1"},{"edge":"fr","from":7,"to":1,"why":"read x=0, which the next overwrites"}],"end":{"state":{"1:EAX":1,"1:EBX":0}},"init":{"x":0,"y":0},"late":[{"behind":3,"store":1}],"locations":[{"name":"x"},{"name":"y"}],"model":"pso","relations":[{"edge":"rf","from":3,"to":5},{"edge":"fr","from":7,"to":1}],"sc":"forbids","steps":[{"buffers":{"P0":[["x",1]]},"column":2,"kind":"store","line":6,"location":"x","memory":{"x":0,"y":0},"n":1,"text":"MOV [x],$1","thread":0,"value":1},{"buffers":{"P0":[["x",1]]},"kind":"local","memory":{"x":0,"y":0},"n":2,"text":"nop","thread":0},{"buffers":{"P0":[["x",1],["y",1]]},"column":2,"kind":"store","line":7,"location":"y","memory":{"x":0,"y":0},"n":3,"text":"MOV [y],$1","thread":0,"value":1},{"buffers":{"P0":[["x",1]]},"kind":"commit","location":"y","memory":{"x":0,"y":1},"n":4,"of":3,"thread":0,"value":1},{"buffers":{"P0":[["x",1]]},"column":15,"from":3,"kind":"load","line":6,"location":"y","memory":{"x":0,"y":1},"n":5,"text":"MOV EAX,[y]","thread":1,"value":1},{"buffers":{"P0":[["x",1]]},"kind":"local","memory":{"x":0,"y":1},"n":6,"text":"nop","thread":1},{"buffers":{"P0":[["x",1]]},"column":15,"from":"memory","kind":"load","line":7,"location":"x","memory":{"x":0,"y":1},"n":7,"text":"MOV EBX,[x]","thread":1,"value":0},{"buffers":{},"kind":"commit","location":"x","memory":{"x":1,"y":1},"n":8,"of":1,"thread":0,"value":1}],"threads":[{"name":"P0"},{"name":"P1"}]},"schema":1,"time_s":"_","verdict":"violated"}
            {"certified":true,"diff":"--- corpus/programs/dekker-simple.weak\n+++ corpus/programs/dekker-simple.weak\n@@ -7,6 +7,7 @@\n \n thread p {\n     x = 1\n+    fence\n     if (y == 0) {\n         cs: skip\n     }\n@@ -14,6 +15,7 @@\n \n thread q {\n     y = 1\n+    fence\n     if (x == 0) {\n         cs: skip\n     }\n","explored":"_","fences":[{"access_line":10,"after":"x = 1","before":"if (y == 0)","kind":"full","line":9,"store_line":9,"thread":"p"},{"access_line":17,"after":"y = 1","before":"if (x == 0)","kind":"full","line":16,"store_line":16,"thread":"q"}],"file":"corpus/programs/dekker-simple.weak","fixable":true,"goal":"robust","model":"tso","name":"dekker-simple","optimal":true,"queries":"_","question":"fence","run":{"cycle":[{"edge":"po","from":1,"to":3,"why":"program order of p"},{"edge":"fr","from":3,"to":4,"why":"read y=0, which the next overwrites"},{"edge":"po","from":4,"to":7,"why":"program order of q"},{"edge":"fr","from":7,"to":1,"why":"read x=0, which the next overwrites"}],"end":{"at":{"p":"cs","q":"cs"}},"init":{"x":0,"y":0},"late":[{"behind":3,"store":1}],"locations":[{"name":"x"},{"name":"y"}],"model":"tso","relations":[{"edge":"fr","from":3,"to":4},{"edge":"fr","from":7,"to":1}],"sc":"forbids","steps":[{"buffers":{"p":[["x",1]]},"column":5,"kind":"store","line":9,"location":"x","memory":{"x":0,"y":0},"n":1,"text":"x = 1","thread":0,"value":1},{"buffers":{"p":[["x",1]]},"kind":"local","memory":{"x":0,"y":0},"n":2,"text":"nop","thread":0},{"buffers":{"p":[["x",1]]},"column":5,"from":"memory","kind":"load","line":10,"location":"y","memory":{"x":0,"y":0},"n":3,"text":"if (y == 0)","thread":0,"value":0},{"buffers":{"p":[["x",1]],"q":[["y",1]]},"column":5,"kind":"store","line":16,"location":"y","memory":{"x":0,"y":0},"n":4,"text":"y = 1","thread":1,"value":1},{"buffers":{"p":[["x",1]]},"kind":"commit","location":"y","memory":{"x":0,"y":1},"n":5,"of":4,"thread":1,"value":1},{"buffers":{"p":[["x",1]]},"kind":"local","memory":{"x":0,"y":1},"n":6,"text":"nop","thread":1},{"buffers":{"p":[["x",1]]},"column":5,"from":"memory","kind":"load","line":17,"location":"x","memory":{"x":0,"y":1},"n":7,"text":"if (x == 0)","thread":1,"value":0},{"buffers":{},"kind":"commit","location":"x","memory":{"x":1,"y":1},"n":8,"of":1,"thread":0,"value":1}],"threads":[{"name":"p"},{"name":"q"}]},"schema":1,"time_s":"_","verdict":"violated"}
            {"certified":true,"diff":"--- corpus/programs/dekker-simple.weak\n+++ corpus/programs/dekker-simple.weak\n@@ -7,6 +7,7 @@\n \n thread p {\n     x = 1\n+    fence\n     if (y == 0) {\n         cs: skip\n     }\n@@ -14,6 +15,7 @@\n \n thread q {\n     y = 1\n+    fence\n     if (x == 0) {\n         cs: skip\n     }\n","explored":"_","fences":[{"access_line":10,"after":"x = 1","before":"if (y == 0)","kind":"full","line":9,"store_line":9,"thread":"p"},{"access_line":17,"after":"y = 1","before":"if (x == 0)","kind":"full","line":16,"store_line":16,"thread":"q"}],"file":"corpus/programs/dekker-simple.weak","fixable":true,"goal":"robust","model":"pso","name":"dekker-simple","optimal":true,"queries":"_","question":"fence","run":{"cycle":[{"edge":"po","from":1,"to":3,"why":"program order of p"},{"edge":"fr","from":3,"to":4,"why":"read y=0, which the next overwrites"},{"edge":"po","from":4,"to":7,"why":"program order of q"},{"edge":"fr","from":7,"to":1,"why":"read x=0, which the next overwrites"}],"end":{"at":{"p":"cs","q":"cs"}},"init":{"x":0,"y":0},"late":[{"behind":3,"store":1}],"locations":[{"name":"x"},{"name":"y"}],"model":"pso","relations":[{"edge":"fr","from":3,"to":4},{"edge":"fr","from":7,"to":1}],"sc":"forbids","steps":[{"buffers":{"p":[["x",1]]},"column":5,"kind":"store","line":9,"location":"x","memory":{"x":0,"y":0},"n":1,"text":"x = 1","thread":0,"value":1},{"buffers":{"p":[["x",1]]},"kind":"local","memory":{"x":0,"y":0},"n":2,"text":"nop","thread":0},{"buffers":{"p":[["x",1]]},"column":5,"from":"memory","kind":"load","line":10,"location":"y","memory":{"x":0,"y":0},"n":3,"text":"if (y == 0)","thread":0,"value":0},{"buffers":{"p":[["x",1]],"q":[["y",1]]},"column":5,"kind":"store","line":16,"location":"y","memory":{"x":0,"y":0},"n":4,"text":"y = 1","thread":1,"value":1},{"buffers":{"p":[["x",1]]},"kind":"commit","location":"y","memory":{"x":0,"y":1},"n":5,"of":4,"thread":1,"value":1},{"buffers":{"p":[["x",1]]},"kind":"local","memory":{"x":0,"y":1},"n":6,"text":"nop","thread":1},{"buffers":{"p":[["x",1]]},"column":5,"from":"memory","kind":"load","line":17,"location":"x","memory":{"x":0,"y":1},"n":7,"text":"if (x == 0)","thread":1,"value":0},{"buffers":{},"kind":"commit","location":"x","memory":{"x":1,"y":1},"n":8,"of":1,"thread":0,"value":1}],"threads":[{"name":"p"},{"name":"q"}]},"schema":1,"time_s":"_","verdict":"violated"}
            --- exit 1
        "#]],
    );
}

/// No fence fits into a statement, but it can be split.
#[test]
fn no_fence_fits() {
    let source = "#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y; int a, b;\n\
         #define RELAXED memory_order_relaxed\n\
         void *p(void *_) { atomic_store_explicit(&x, 1, RELAXED), a = y; return 0; }\n\
         void *q(void *_) { y = 1; b = x; return 0; }\n\
         int main(void) { pthread_t t, u; pthread_create(&t, 0, p, 0); pthread_create(&u, 0, q, 0);\n\
         pthread_join(t, 0); pthread_join(u, 0); }\n";
    let file = std::env::temp_dir().join(format!("weakspot-inseparable-{}.c", std::process::id()));
    std::fs::write(&file, source).expect("written");
    let said = run(&["fence", file.to_str().expect("UTF-8")], "").out;
    std::fs::remove_file(&file).expect("removed");
    let place = ".c:5: p#1's store to x (line 5) can reach memory after its later load of y (line 5); \
                 both are in one statement: split it, so that a fence can stand between the two\n";
    assert!(said.ends_with(place) && said.contains("no fences make it so\n"), "{said}");
}

/// What SC does, too, no fence prevents.
#[test]
fn no_fences_help() {
    let program = "shared x\nthread t { x = 1 }\nthread u { var r = x; assert(r == 0) }\n";
    check(
        &["fence", "--goal", "safe", "-"],
        program,
        expect![[r#"
        - TSO is not safe, and no fences make it so
        --- exit 1
    "#]],
    );
    check_json(
        &["fence", "--goal", "safe", "--format", "json", "-"],
        program,
        expect![[r#"
            {"certified":true,"explored":"_","fences":[],"file":"-","fixable":false,"goal":"safe","model":"tso","name":"-","optimal":true,"queries":"_","question":"fence","run":{"cycle":[],"end":{"fails":"the assertion does not hold"},"init":{"x":0},"late":[],"locations":[{"name":"x"}],"model":"tso","relations":[{"edge":"rf","from":1,"to":3}],"sc":"allows","steps":[{"buffers":{"t":[["x",1]]},"column":12,"kind":"store","line":2,"location":"x","memory":{"x":0},"n":1,"text":"x = 1","thread":0,"value":1},{"buffers":{},"kind":"commit","location":"x","memory":{"x":1},"n":2,"of":1,"thread":0,"value":1},{"buffers":{},"column":12,"from":1,"kind":"load","line":3,"location":"x","memory":{"x":1},"n":3,"text":"var r = x","thread":1,"value":1},{"column":23,"kind":"fail","line":3,"n":4,"note":"the assertion does not hold","text":"assert(r == 0)","thread":1}],"threads":[{"name":"t"},{"name":"u"}]},"schema":1,"time_s":"_","tool":{"name":"weakspot","version":"0.1.0"},"verdict":"violated"}
            --- exit 1
        "#]],
    );
}

/// A buffer that grows for ever does not keep the search from an answer.
#[test]
fn fences_that_bound_a_buffer() {
    let program = "shared x, y
thread t {
    loop {
        x = 1
        y = 1
    }
}
thread u {
    var r = y
    var s = x
    if (s == 2) { bad: skip }
}
never at u.bad
";
    let args = ["fence", "--goal", "safe", "--model", "pso", "--buffer-limit", "4", "-"];
    check(
        &args,
        program,
        expect![[r#"
            - PSO is safe without fences
              note: by search; --witness FILE writes a proof that `weakspot certify` checks
            --- exit 0
        "#]],
    );
}

#[test]
fn limits() {
    // The time may be over before the program is read, whose name is not known then.
    let args = ["fence", "--timeout", "0s", "corpus/programs/bakery.weak"];
    let ran = run(&args, "");
    let end = "bakery TSO unknown: the search stopped at the time limit of 0 ms\n";
    let out = ran.out.replace("corpus/programs/bakery.weak", "bakery");
    assert_eq!((out.as_str(), ran.code), (end, Some(3)), "{}", ran.err);
    let ran = run(&[&["fence", "--format", "json"], &args[1..]].concat(), "");
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&json["verdict"], ran.code), (&"unknown".into(), Some(3)), "{json}");
    assert_eq!(
        (&json["limit"]["kind"], &json["fences"]),
        (&"time".into(), &serde_json::Value::Null)
    );
}

/// The program that is written needs no more fences.
#[test]
fn the_patched_program() {
    let path = std::env::temp_dir().join(format!("weakspot-fence-{}.weak", std::process::id()));
    let file = path.to_str().expect("a path in UTF-8");
    let ran = run(&["fence", "--model", "pso", "-o", file, "corpus/programs/peterson.weak"], "");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let again = run(&["fence", "--model", "pso", file], "");
    assert_eq!(again.code, Some(0), "{}", again.out);
    let written = std::fs::read_to_string(&path).expect("the program");
    assert_eq!(written.lines().filter(|l| l.trim_start().starts_with("fence")).count(), 3);
    std::fs::remove_file(path).expect("the file was there");
}

/// A program that is patched in place survives a disk that is full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_file() {
    let folder = std::env::temp_dir().join(format!("weakspot-full-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("dekker.weak");
    let before = std::fs::read(crate::root().join("corpus/programs/dekker.weak")).expect("a file");
    std::fs::write(&path, &before).expect("written");
    // No file may get any longer than nothing. To try so is an error where the signal is ignored; where it is not, the
    // command does not end by it either.
    for ignore in ["trap '' XFSZ; ", ""] {
        let command = format!("{ignore}ulimit -f 0; exec \"$0\" fence -q -o \"$1\" \"$1\"");
        let ran = std::process::Command::new("sh")
            .args(["-c", &command])
            .args([env!("CARGO_BIN_EXE_weakspot").as_ref(), path.as_os_str()])
            .output()
            .expect("a shell");
        let message = String::from_utf8_lossy(&ran.stderr);
        assert!(message.contains("failed to write"), "{message}");
        assert_eq!(ran.status.code(), Some(2));
        assert_eq!(std::fs::read(&path).expect("it is still there"), before);
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
    }
    std::fs::remove_dir_all(folder).expect("the folder was there");
}

#[test]
fn usage() {
    check(
        &["fence", "--model", "sc", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: SC needs no fences; expected --model tso, pso or pso-own
        --- exit 2
    "#]],
    );
    check(
        &["fence", "--goal", "safe", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
            --- standard error
            error: corpus/litmus/SB.litmus: the program forbids nothing that fences could prevent: expected `forall` or `~exists` about final states; or --goal robust
            --- exit 2
        "#]],
    );
    check(
        &["fence", "--format", "dot", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: fences are no graph; expected --format text, json, sarif, github or junit
        --- exit 2
    "#]],
    );
    check(
        &["fence", "--cost", "full=0", "corpus/litmus/SB.litmus"],
        "",
        expect![[r#"
        --- standard error
        error: invalid value 'full=0' for '--cost <full=N,ss=N>': expected costs of at least 1, such as full=2,ss=1

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        &["fence", "-o", "/dev/null", "corpus/litmus"],
        "",
        expect![[r#"
            --- standard error
            error: --output takes one file and one model
            --- exit 2
        "#]],
    );
}

#[test]
fn help() {
    check(
        &["fence", "-h"],
        "",
        expect![[r#"
            Example:
              weakspot fence corpus/programs/dekker.weak
              weakspot fence --goal safe -m pso -o fenced.weak corpus/programs/dekker.weak
              weakspot fence --model pso --cost full=5,ss=1 corpus/litmus/MP.litmus

            Which fences make a program robust, or safe, at the least cost?

            Usage: weakspot fence [OPTIONS] <FILE>...

            Arguments:
              <FILE>...  Programs: .weak, .litmus, a part of C (.c), Trencher's .txt or .tso, Memorax's .rmm; or
                         folders of them

            Options:
                  --goal <GOAL>              What the fences are for [default: robust] [possible values: robust,
                                             safe]
                  --cost <full=N,ss=N>       What fences cost: full ones, and store-store ones (`ss`, PSO only)
                                             [default: full=1,ss=1]
              -o, --output <FILE>            Write the program with the fences to this file (one input, one
                                             model)
                  --witness <FILE.json>      Write the answer's evidence to this file, for `weakspot certify`
                                             (one file, one model)
                  --buffer-limit <N>         With --goal safe: entries (stores, store-store fences) that a
                                             buffer may hold at most in a thread that stores in a loop [default:
                                             1024]
              -D <NAME[=VALUE]>              In programs in C: define a macro, as 1 if no value is given
              -U <NAME>                      In programs in C: do not define this macro
              -I <FOLDER>                    In programs in C: look for headers in this folder, too
              -m, --model <MODEL>            Memory models: tso, pso; pso-own is PSO where an atomic update
                                             drains only its own address [default: tso]
                  --input-format <LANGUAGE>  Read the inputs as this language, whatever their ending [possible
                                             values: litmus, weak, trencher, memorax, c]
              -j, --threads <N>              How many files to work on at a time, or, with one file, how many
                                             threads search; by default one per processor
              -f, --format <FORMAT>          What to print [default: text] [possible values: text, json, junit,
                                             sarif, github]
                  --report <FILE.html>       Write the answers as a page to look at, too: one HTML file that
                                             needs no network
                  --timeout <TIME>           Give up on a question after this time, from opening its file
                                             [default: 60s]
                  --memory <SIZE>            Give up on a question when its search needs more memory than this
                                             [default: 4GiB]
              -q, --quiet                    No warnings, summary or drawings
              -v, --verbose                  Say on standard error which limits hold, and how long each input
                                             took
                  --progress <WHEN>          Show progress on standard error [default: auto] [possible values:
                                             auto, always, never]
                  --color <WHEN>             Colours; NO_COLOR is heeded, too [default: auto] [possible values:
                                             auto, always, never]
                  --ascii                    Draw with ASCII only, as where the locale is not UTF-8
              -h, --help                     Print help (see more with '--help')

            Prints where fences go and what changes in the text. The fences are optimal
            (none fewer, none cheaper do) unless a limit was reached, which is then said. A
            fence may go between any two statements. Exit code 0: no fence is needed; 1:
            fences are needed, or none help.
            --- exit 0
        "#]],
    );
}

/// The evidence: the text with the fences reaches the goal, and runs of which nothing cheaper forbids all.
#[test]
fn witnesses() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("w.json");
    let file = path.to_str().expect("UTF-8");
    let hopeless = folder.path().join("hopeless.weak");
    std::fs::write(&hopeless, "shared x\nthread p { x = 1 }\nthread q { assert (x == 0) }\n")
        .expect("written");
    let hopeless = hopeless.to_str().expect("UTF-8");
    let certify = |input: &str| {
        let ran = run(&["certify", input, file], "");
        let said = format!("{}{}{}\n", ran.out, ran.err, ran.code.expect("a code"));
        said.replace(&*folder.path().to_string_lossy(), "")
    };
    let mut all = String::new();
    for (line, input) in [
        ("--model tso", "corpus/litmus/SB.litmus"),
        ("--model tso", "corpus/litmus/MP.litmus"),
        ("--model pso", "corpus/litmus/MP.litmus"),
        ("--model pso --cost full=3,ss=2", "corpus/litmus/MP.litmus"),
        ("--model tso", "corpus/programs/dekker.weak"),
        ("--model tso --goal safe", "corpus/programs/peterson.weak"),
        ("--model tso", "corpus/programs/mcs-4.weak"),
        ("--model tso", "corpus/trencher/peterson.txt"),
        ("--model tso", "corpus/memorax/peterson.rmm"),
        ("--model tso --goal safe", hopeless),
    ] {
        let mut args = vec!["fence", "--format", "json", "--witness", file];
        args.extend(line.split(' '));
        args.push(input);
        let ran = run(&args, "");
        let answer: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        // What is written can be checked, so it was.
        assert_eq!(answer["certified"], true, "{input}");
        let name = input.rsplit('/').next().unwrap_or_default();
        all += &format!("{line} {name}\n  {}", certify(input));
    }
    expect![[r#"
        --model tso SB.litmus
          certified: fence under TSO: violated, 2 fences enough by its text: no access can overtake a store, none cheaper by 2 runs
        0
        --model tso MP.litmus
          certified: fence under TSO: holds, by its text: no access can overtake a store
        0
        --model pso MP.litmus
          certified: fence under PSO: violated, 1 fence enough by its text: no access can overtake a store, none cheaper by 1 run
        0
        --model pso --cost full=3,ss=2 MP.litmus
          certified: fence under PSO: violated, 1 fence enough by its text: no access can overtake a store, none below the cost of 2 by 1 run
        0
        --model tso dekker.weak
          certified: fence under TSO: violated, 3 fences enough by its text: no access can overtake a store, none cheaper by 3 runs
        0
        --model tso --goal safe peterson.weak
          certified: fence under TSO with --goal safe: violated, 1 fence enough by an inductive set of 1,214 states, none cheaper by 2 runs
        0
        --model tso mcs-4.weak
          certified: fence under TSO: holds, by an inductive set of 103,665 states
        0
        --model tso peterson.txt
          certified: fence under TSO: violated, 2 fences enough by its text: no access can overtake a store, none cheaper by 2 runs
        0
        --model tso peterson.rmm
          certified: fence under TSO: violated, 2 fences enough by its text: no access can overtake a store, none cheaper by 2 runs
        0
        --model tso --goal safe hopeless.weak
          certified: fence under TSO with --goal safe: violated, and no fences help, by 1 run
        0
    "#]].assert_eq(&all);
    let sb = "corpus/litmus/SB.litmus";
    assert_eq!(run(&["fence", "-q", "--witness", file, sb], "").code, Some(1));
    let right = std::fs::read_to_string(file).expect("the witness");
    let mut all = String::new();
    let clauses = right.find("\"clauses\"").expect("runs");
    let (head, tail) = right.split_at(clauses);
    let kind = "\"kind\":\"full\"";
    for (what, altered) in [
        ("verdict", right.replace("\"violated\"", "\"holds\"")),
        ("goal", right.replace("\"goal\": \"robust\"", "\"goal\": \"safe\"")),
        ("model", right.replace("\"model\": \"tso\"", "\"model\": \"sc\"")),
        ("a fence less", head.replacen("\"place\":1", "\"place\":0", 1) + tail),
        ("no such place", head.replacen("\"place\":1", "\"place\":7", 1) + tail),
        ("another kind", head.replacen(kind, "\"kind\":\"store_store\"", 1) + tail),
        ("no such kind", head.replacen(kind, "\"kind\":\"half\"", 1) + tail),
        (
            "a run without a step",
            head.to_owned() + &tail.replacen("{\"thread\":0,\"edge\":0,\"choice\":0},", "", 1),
        ),
        (
            "nothing forbids it",
            head.to_owned()
                + &tail.replacen("\"hit_by\":[{\"place\":1", "\"hit_by\":[{\"place\":2", 1),
        ),
        ("costs", right.replace(",\"store_store\":1}", "}")),
    ] {
        assert_ne!(altered, right, "{what}");
        std::fs::write(file, altered).expect("written");
        all += &format!("{what}: {}", certify(sb));
    }
    expect![[r#"
        verdict: rejected: fence under TSO: holds, not shown: the verdict needs evidence of another kind
        1
        goal: rejected: fence under TSO with --goal safe: violated, not shown: the run's last state does not decide the question
        1
        model: error: no program needs fences under SC, and no answer says so
        2
        a fence less: rejected: fence under TSO: violated, not shown: a fence or a run is there twice
        1
        no such place: rejected: fence under TSO: violated, not shown: a fence is in no place, or of a kind that there is not
        1
        another kind: rejected: fence under TSO: violated, not shown: a fence is in no place, or of a kind that there is not
        1
        no such kind: error: failed to read the witness /w.json: fences[0].kind: expected `full` or `store_store`
        2
        a run without a step: rejected: fence under TSO: violated, not shown: sequential consistency allows the run
        1
        nothing forbids it: rejected: fence under TSO: violated, not shown: a clause has a fence that there is no place for
        1
        costs: rejected: fence under TSO: violated, not shown: the language has other kinds of fences
        1
    "#]].assert_eq(&all);
}

/// Litmus tests in C and for RISC-V get the fences of their own languages.
#[test]
fn in_litmus_tests_of_other_languages() {
    for (file, fence) in [
        ("corpus/litmus-c/SB+onceonces.litmus", "+\tsmp_mb();"),
        ("corpus/litmus-c/RV-SB.litmus", "fence rw,rw"),
    ] {
        let ran = run(&["fence", "--model", "tso", file], "");
        assert_eq!(ran.code, Some(1), "{file}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(fence), "{file}: {}", ran.out);
    }
}
