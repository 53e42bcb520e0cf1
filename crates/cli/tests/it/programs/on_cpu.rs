//! `weakspot litmus --run`. What is seen depends on the moment; what is said about it does not.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::{root, run, transcript};

#[test]
fn what_this_cpu_does_is_a_part_of_tso() {
    let ran = run(
        &[
            "litmus",
            "--run",
            "--runs",
            "4000",
            "-f",
            "json",
            "corpus/litmus/SB.litmus",
            "corpus/litmus/MP.litmus",
        ],
        "",
    );
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for line in ran.out.lines() {
        let object: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!((&object["verdict"], &object["on"]), (&"holds".into(), &"cpu".into()), "{line}");
        assert_eq!((&object["runs"], &object["foreign"]), (&4000.into(), &0.into()), "{line}");
        let rows = object["histogram"].as_array().expect("rows");
        let runs = |row: &Value| row["runs"].as_u64().expect("a number");
        assert_eq!(rows.iter().map(runs).sum::<u64>(), 4000);
        let foreign = |row: &&Value| runs(row) > 0 && row["models"]["tso"] != true;
        assert_eq!(rows.iter().find(foreign), None, "{line}");
    }
}

/// What is seen in a test that has one final state is known, and so all that is printed but the time.
#[test]
fn its_log_is_compared_with_those_of_models() {
    let test = "X86 one\n{ x=0; }\n P0 ;\n MOV [x],$1 ;\n MOV EAX,[x] ;\nforall (0:EAX=1)\n";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("one.litmus");
    std::fs::write(&file, test).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let log = run(&["litmus", "--run", "--runs", "100", "--format", "litmus7", file], "");
    assert_eq!(log.code, Some(0), "{}", log.err);
    let text = log.out.lines().filter(|line| !line.starts_with("Time"));
    let text: String = text.map(|line| format!("{line}\n")).collect();
    expect![[r#"
        Test one Required
        Histogram (1 state)
        100   *>0:EAX=1;
        Ok

        Witnesses
        Positive: 100, Negative: 0
        Condition forall (0:EAX=1) is validated
        Observation one Always 100 0

    "#]]
    .assert_eq(&text);
    let seen = run(&["litmus", "--run", "--runs", "100", file], "");
    let text: String = seen.out.lines().skip(1).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        runs  SC   TSO  PSO  final state
         100  yes  yes  yes *0:EAX=1;
        * forall (0:EAX=1)
        Observation one Always 100 0
        TSO has every state that was seen.

    "#]]
    .assert_eq(&text);
    let (cpu, tso) = (folder.path().join("cpu.log"), folder.path().join("tso.log"));
    std::fs::write(&cpu, log.out).expect("a file");
    std::fs::write(&tso, run(&["litmus", "--model", "tso", file], "").out).expect("a file");
    let compared =
        run(&["compare", cpu.to_str().expect("UTF-8"), tso.to_str().expect("UTF-8")], "");
    assert_eq!((compared.out.as_str(), compared.code), ("1 test, no difference\n", Some(0)));
}

#[test]
fn what_cannot_be_run_is_said() {
    expect![[r#"
        --- standard error
        error: `movnti` cannot be run on this CPU
         --> corpus/litmus/SB+movntis.litmus:5:2
          |
        5 |  MOVNTI [x],EBX | MOVNTI [y],EBX ;
          |  ^^^^^^^^^^^^^^ its store is weaker than TSO, which it is judged by
        error: a test for RISC-V cannot be run on this CPU, which is an x86
         --> corpus/litmus-c/RV-SB.litmus:1:1
          |
        1 | RISCV RV-SB
          | ^ expected a test for X86 or X86_64, or in C
        error: corpus/programs/peterson.weak: --run is for litmus tests: X86, X86_64 or C
        --- exit 2
    "#]]
    .assert_eq(&transcript(
        &[
            "litmus",
            "--run",
            "-q",
            "corpus/litmus/SB+movntis.litmus",
            "corpus/litmus-c/RV-SB.litmus",
            "corpus/programs/peterson.weak",
        ],
        "",
    ));
    let mut alone = crate::weakspot();
    let ran = alone
        .args(["litmus", "--run", "corpus/litmus/SB.litmus"])
        .env("PATH", "")
        .env_remove("WEAKSPOT_CC");
    let ran = ran.output().expect("the command starts");
    assert_eq!(ran.status.code(), Some(2));
    expect![[r#"
        error: corpus/litmus/SB.litmus: to run tests on this CPU takes gcc, which is not there; install it, or name another compiler in WEAKSPOT_CC
    "#]].assert_eq(&String::from_utf8_lossy(&ran.stderr));
}

/// A terminal sends Ctrl-C to the command and to all that it has started.
#[test]
fn ctrl_c_says_what_was_seen() {
    let child = Command::new(env!("CARGO_BIN_EXE_weakspot"))
        .args(["litmus", "--run", "--runs", "1000000000", "-f", "json", "corpus/litmus/SB.litmus"])
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    kill_process_group(Pid::from_child(&child), Signal::INT).expect("sent");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    let object: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(object["limit"]["kind"], "interrupted", "{object}");
}
