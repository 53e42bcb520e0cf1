//! C programs under the library: `tests/c` has one for each subject, whose assertions say what must
//! hold in every execution; here is what the reports about them say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use weakspot_core::testing::Rng;

/// The library, which cargo puts beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let folder = test.parent().expect("target/PROFILE/deps");
    let library = folder.join("libweakspot_rt.so");
    assert!(library.exists(), "{} was not built", library.display());
    library
}

/// Compiles a program of `tests/c`.
fn compile(name: &str, options: &[&str]) -> PathBuf {
    let suffix: String = options.concat().replace(['-', '=', '/', '"'], "_");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}{suffix}"));
    // Tests run side by side, in one process or in several, and several of them use the same program.
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let temporary = program.with_extension(format!("{process}-{thread:?}"));
    let done = Command::new("../compile.sh")
        .arg(library())
        .arg(format!("{name}.c"))
        .arg(&temporary)
        .args(options)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c"))
        .status()
        .expect("a shell and gcc");
    assert!(done.success(), "{name} does not compile");
    temporary
}

/// What a program printed, and what the library reported.
struct Ran {
    output: String,
    report: String,
}

fn run(program: &Path, config: &str) -> Ran {
    run_with(program, config, "")
}

/// The same, with what the program finds in `$SCRIPT`.
fn run_with(program: &Path, config: &str, script: &str) -> Ran {
    // The end of the name says whose program it is.
    let file = PathBuf::from(format!("{}.report", program.display()));
    let output = Command::new("sh")
        .args(["-c", "exec \"$0\" 3>\"$1\""])
        .arg(program)
        .arg(&file)
        .env("WEAKSPOT_RUN", format!("fd=3 {config}"))
        .env("SCRIPT", script)
        .stdin(
            fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/input.txt"))
                .expect("input"),
        )
        .output()
        .expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        output: text(&output.stdout) + &text(&output.stderr),
        report: fs::read_to_string(file).unwrap_or_default(),
    }
}

/// The report without what depends on the compiler: where files are mapped, and offsets in them.
fn plain(report: &str) -> String {
    let mut lines = String::new();
    for line in report.lines() {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match words.first().map(String::as_str) {
            Some("module" | "shared" | "again" | "threads" | "outside" | "left" | "undone") => {
                continue;
            }
            Some("finding") => {
                let related = words.pop().unwrap_or_default();
                words.remove(6);
                words.remove(5);
                for related in related.split(',').filter(|related| *related != "-") {
                    let parts: Vec<&str> = related.splitn(3, ':').collect();
                    words.push(format!("{}:{}", parts[0], parts[2]));
                }
            }
            Some("token") => words.truncate(2),
            Some("done") => words.truncate(2),
            _ => {}
        }
        for word in &mut words {
            if let Some((module, _)) = word.split_once("+0x") {
                *word = module.split("_O").next().unwrap_or("").to_owned();
            }
        }
        lines += &(words.join(" ") + "\n");
    }
    lines
}

#[track_caller]
fn check(name: &str, config: &str, expected: &Expect) {
    let report = |option| plain(&run(&compile(name, &[option]), config).report);
    let quick = report("-O2");
    expected.assert_eq(&quick);
    assert_eq!(report("-O0"), quick, "{name} without optimisation");
}

/// As many executions as Nidhugg and GenMC explore of the same accesses, and the first of them shows that
/// relaxed accesses are not robust (Nidhugg's `--check-robustness` needs 23, 14, 45 and 10).
#[test]
fn one_execution_of_each_class() {
    let locks = [("dekker", 1599), ("peterson", 2420), ("bakery", 194), ("szymanski", 22945)];
    for (lock, classes) in locks {
        let lock = format!("-DLOCK={lock}");
        let strong = run(&compile("classes", &["-O2", &lock]), "strategy=dpor models=tso,pso");
        let last = strong.report.lines().last().unwrap_or_default();
        assert!(last.starts_with(&format!("done complete {classes} ")), "{lock}: {last}");
        assert!(!strong.report.contains("overtaking"), "{lock}");
        let relaxed = compile("classes", &["-O2", &lock, "-DORDER=memory_order_relaxed"]);
        let relaxed = run(&relaxed, "strategy=dpor models=tso executions=1");
        assert!(relaxed.report.contains("\novertaking 1 TSO"), "{lock}: {}", relaxed.report);
    }
}

#[test]
fn dekker_is_right() {
    check(
        "dekker",
        "strategy=dpor",
        &expect![[r#"
        done complete
    "#]],
    );
    check(
        "dekker",
        "strategy=random:1 executions=2000",
        &expect![[r#"
        done limit
    "#]],
    );
    check(
        "dekker",
        "strategy=bounded:2 filter=off",
        &expect![[r#"
        done incomplete
    "#]],
    );
}

#[test]
fn what_goes_wrong_is_found_and_exploration_goes_on() {
    check(
        "assertion",
        "strategy=dpor",
        &expect![[r#"
            finding 1 assertion 0 0 assertion.c:18:%20counter%20==%202
            seen 1 2
            done complete
        "#]],
    );
    check(
        "abort",
        "strategy=dpor",
        &expect![[r#"
            finding 1 abort 0 0 abort
            seen 1 2
            done complete
        "#]],
    );
    check(
        "crash",
        "strategy=dpor",
        &expect![[r#"
            finding 1 crash 1 0 SIGSEGV
            seen 1 1
            done complete
        "#]],
    );
    check(
        "double_free",
        "strategy=dpor",
        &expect![[r#"
            finding 1 double-free 1 0 frees%20a%20block%20of%208%20bytes%20again 2:freed%20here 0:allocated%20here
            token 1
            seen 1 2
            done complete
        "#]],
    );
    check(
        "deadlock",
        "strategy=dpor",
        &expect![[r#"
            finding 1 deadlock - - main%20joins,%20T1%20waits,%20T2%20waits 0:joins 1:waits 2:waits
            seen 1 1
            done complete
        "#]],
    );
    check(
        "lost_wakeup",
        "strategy=dpor",
        &expect![[r#"
            finding 1 deadlock - - main%20joins,%20T1%20waits 0:joins 1:waits
            seen 1 1
            done complete
        "#]],
    );
    check(
        "livelock",
        "strategy=dpor",
        &expect![[r#"
            finding 1 livelock - - main%20joins,%20T1%20loops 0:joins 1:loops
            seen 1 1
            done complete
        "#]],
    );
    check(
        "recursion",
        "strategy=dpor",
        &expect![[r#"
            finding 1 crash 1 0 the%20stack%20is%20too%20small
            seen 1 1
            done complete
        "#]],
    );
    check(
        "memory",
        "strategy=dpor memory=50000000",
        &expect![[r#"
            finding 1 memory 0 0 -
            seen 1 1
            done incomplete
        "#]],
    );
    check(
        "killed",
        "strategy=dpor",
        &expect![[r#"
        finding 1 lost 2 - the%20process%20died%20of%20signal%209
        token 1
        seen 1 1
        done complete
    "#]],
    );
    check(
        "forks",
        "strategy=dpor",
        &expect![[r#"
            unsupported fork 0
            done incomplete
        "#]],
    );
    check(
        "hang",
        "strategy=dpor hang=200",
        &expect![[r#"
            finding 1 endless 2 0 main%20joins,%20T2%20hangs 0:joins 2:hangs
            token 1
            seen 1 1
            done complete
        "#]],
    );
    check(
        "stops",
        "strategy=dpor",
        &expect![[r#"
            finding 1 endless 2 0 main%20joins,%20T2%20hangs 0:joins 2:hangs
            token 1
            seen 1 1
            done complete
        "#]],
    );
}

#[test]
fn functions_of_threads_do_what_they_should() {
    for name in [
        "mutexes",
        "conditions",
        "others",
        "c11",
        "futexes",
        "atomic_ops",
        "copies",
        "polls",
        "cleanup",
    ] {
        check(
            name,
            "strategy=dpor",
            &expect![[r#"
            done complete
        "#]],
        );
        check(
            name,
            "strategy=random:3 executions=300",
            &expect![[r#"
            done limit
        "#]],
        );
    }
}

/// Whoever waits for a condition variable may be the one that is woken: random programs have the same ends with one execution of
/// each class as with all of few preemptions.
#[test]
fn anybody_may_be_woken() {
    let program = compile("woken", &["-O1"]);
    // Both wait, one is woken and wakes the other: either may be the first.
    let mut scripts: Vec<String> =
        ["ws ws S", "ws w S", "ws ws s", "w w bs s", "w w S"].map(str::to_owned).into();
    let mut rng = Rng::new(5);
    for _ in 0..12 {
        let word = |rng: &mut Rng| -> String {
            (0..1 + rng.below(2)).map(|_| char::from(b"wwwssStb"[rng.below(8)])).collect()
        };
        let threads = 2 + rng.below(2);
        scripts.push((0..threads).map(|_| word(&mut rng)).collect::<Vec<_>>().join(" "));
    }
    let mut compared = 0;
    for script in scripts {
        let [all, few] = ["dpor", "bounded:2"].map(|strategy| {
            let config = format!("strategy={strategy} output=all executions=3000");
            let ran = run_with(&program, &config, &script);
            let mut ends: Vec<String> = ran.output.lines().map(str::to_owned).collect();
            ends.sort_unstable();
            ends.dedup();
            let deadlock = ran.report.contains(" deadlock ");
            (ends, deadlock, ran.report.contains("done complete"))
        });
        if all.2 {
            compared += 1;
            assert!(few.0.iter().all(|end| all.0.contains(end)), "{script}: {all:?}, {few:?}");
            assert!(all.1 || !few.1, "{script}: a deadlock is missing");
        }
        // One of both is never woken.
        assert!(script != "w w S" || all.1 && few.1, "{all:?}, {few:?}");
        if script == "ws ws S" {
            assert_eq!(all, (vec!["01".to_owned(), "10".to_owned()], false, true));
        }
    }
    assert!(compared > 10, "{compared}");
    // A wake-up that nobody has taken in time is gone, and does not count for the next one.
    let late = run_with(&program, "strategy=dpor under=tso", "tw sS").report;
    assert!(late.contains("done complete") && !late.contains("finding"), "{late}");
}

/// Functions of a thread that ends in the middle of them are cleaned up as for an exception, by code that
/// creates threads.
#[test]
fn threads_may_be_created_while_another_ends() {
    let program = compile("unwound", &["-O1", "-fexceptions"]);
    let ran = run(&program, "strategy=random:1 executions=20");
    assert_eq!(plain(&ran.report), "done limit\n");
}

/// What glibc lets the runtime allocate, and makes larger afterwards, is not lost: its table of the
/// variables of a thread.
#[test]
fn threads_may_load_libraries() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    fs::create_dir_all(&folder).expect("a folder");
    let first = folder.join("plugin0.so");
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "plugin.c", "-o"])
        .arg(&first)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c"))
        .status()
        .expect("gcc");
    assert!(built.success(), "plugin does not compile");
    for i in 1..30 {
        fs::copy(&first, folder.join(format!("plugin{i}.so"))).expect("a copy");
    }
    let program = compile("plugins", &["-O1", &format!("-DFOLDER=\"{}\"", folder.display())]);
    let ran = run(&program, "strategy=dpor");
    assert_eq!(plain(&ran.report), "done complete\n");
}

#[test]
fn what_the_kernel_keeps_is_put_back() {
    let program = compile("kernel", &["-O1"]);
    let ran = run(&program, "strategy=random:1 executions=100");
    expect![[r#"
        last, n 2
        done limit
    "#]]
    .assert_eq(&(ran.output + &plain(&ran.report)));
}

#[test]
fn executions_are_cut_and_counted() {
    check(
        "dekker",
        "strategy=random:1 executions=100 steps=20",
        &expect![[r#"
            finding 1 too-long 1 0 -
            finding 2 too-long 2 0 -
            finding 3 too-long 0 0 -
            finding 4 too-long 1 - -
            finding 5 too-long 2 0 -
            finding 6 too-long 2 0 -
            finding 7 too-long 2 0 -
            finding 8 too-long 2 0 -
            finding 9 too-long 1 0 -
            finding 10 too-long 2 0 -
            finding 11 too-long 2 0 -
            seen 1 18
            seen 2 18
            seen 3 4
            seen 4 25
            seen 5 14
            seen 6 5
            seen 7 6
            seen 8 2
            seen 9 1
            seen 10 1
            seen 11 6
            done limit
        "#]],
    );
    check(
        "dekker",
        "strategy=dpor steps=20",
        &expect![[r#"
            finding 1 too-long 2 0 -
            finding 2 too-long 2 0 -
            finding 3 too-long 1 0 -
            seen 1 1
            seen 2 2
            seen 3 1
            done incomplete
        "#]],
    );
}

/// Nobody is left who could end the loop of `main`.
#[test]
fn a_loop_of_the_last_thread_is_endless() {
    for option in ["-DALONE", "-DBEHIND"] {
        let report = plain(&run(&compile("endless", &["-O2", option]), "strategy=dpor").report);
        assert!(report.contains("finding 1 livelock"), "{option}: {report}");
        assert!(report.ends_with("done complete\n"), "{option}: {report}");
    }
}

/// Loops that do nothing but to give way are given up if nobody can end them, and only then: not if they count,
/// read what another thread writes, or ask libc.
#[test]
fn loops_that_only_give_way() {
    for level in ["-O0", "-O2"] {
        for option in ["-DENDLESS", "-DENDLESS_CALLS", "-DENDLESS_FLAG"] {
            let program = compile("gives_way", &[level, option]);
            for strategy in ["dpor", "bounded:0 executions=100"] {
                let report = plain(&run(&program, &format!("strategy={strategy}")).report);
                let context = format!("{level} {option} {strategy}: {report}");
                assert!(report.contains(" gives-way 1 "), "{context}");
                assert!(report.contains("main%20joins,%20T1%20hangs"), "{context}");
                assert!(!report.contains("too-long"), "{context}");
            }
            let program = compile("gives_way", &[level, option, "-DALONE"]);
            let report = plain(&run(&program, "strategy=dpor").report);
            assert!(report.contains(" gives-way 0 "), "{level} {option}: {report}");
        }
        let ends = ["COUNTER", "LOCAL", "FLAG", "PIPE", "CHANCE", "ATOMIC"];
        for option in ends.map(|name| format!("-D{name}")) {
            let program = compile("gives_way", &[level, &option]);
            for strategy in ["dpor", "bounded:0", "random:3"] {
                let config = format!("strategy={strategy} executions=100 steps=5000");
                let report = plain(&run(&program, &config).report);
                // Who goes round for long in a schedule that is not fair is given up.
                let found =
                    report.lines().find(|l| l.starts_with("finding") && !l.contains("too-long"));
                assert_eq!(found, None, "{level} {option} {strategy}");
            }
        }
        for option in ["-DCOUNTER", "-DLOCAL", "-DCHANCE"] {
            let program = compile("gives_way", &[level, option, "-DALONE"]);
            let report = plain(&run(&program, "strategy=dpor").report);
            assert!(!report.contains("finding"), "{level} {option}: {report}");
        }
    }
}

/// A limit that is as large as the number of executions is in nobody's way, where none has to be begun that is not counted.
#[test]
fn as_many_executions_as_there_are() {
    let program = compile("lost_wakeup", &["-O1"]);
    for strategy in ["dpor", "rf", "bounded:1"] {
        let report = run(&program, &format!("strategy={strategy}")).report;
        let done = |report: &str| {
            let line = report.lines().find_map(|line| line.strip_prefix("done ")).expect("an end");
            let mut words = line.split(' ');
            let how = words.next().expect("how").to_owned();
            (how, words.next().and_then(|n| n.parse::<u64>().ok()).expect("executions"))
        };
        let (how, all) = done(&report);
        let again = |most: u64| {
            done(&run(&program, &format!("strategy={strategy} executions={most}")).report)
        };
        assert_eq!(again(all), (how, all), "{strategy}");
        assert_eq!(again(all - 1), ("limit".to_owned(), all - 1), "{strategy}");
    }
}

/// What `main` loads alone belongs to the classes of `rf`.
#[test]
fn the_last_thread_reads_from_stores_too() {
    for under in ["sc", "tso", "pso"] {
        let config = format!("strategy=rf under={under}");
        let report = run(&compile("behind", &["-O2"]), &config).report;
        assert_eq!(report.matches("\nfinding").count(), 1, "{under}: {report}");
        assert!(report.contains("\ndone complete "), "{under}: {report}");
        // The schedule has no steps of it, and can be followed all the same.
        let schedule = report.lines().find(|line| line.starts_with("finding")).expect("a finding");
        let token = schedule.split(' ').find(|word| word.starts_with("ws1_")).expect("a token");
        let again =
            run(&compile("behind", &["-O2"]), &format!("strategy=replay:{token} under={under}"));
        assert!(again.report.contains("\nfinding 1 assertion"), "{under}: {}", again.report);
    }
}

#[test]
fn sixty_four_threads() {
    check(
        "many",
        "strategy=random:5 executions=50",
        &expect![[r#"
        done limit
    "#]],
    );
}

#[test]
fn the_end_of_the_program_is_that_of_a_process() {
    let program = compile("exits", &["-O1"]);
    let ran = run(&program, "strategy=dpor");
    expect![[r#"
        second, counter 2
        first, counter 2
    "#]]
    .assert_eq(&ran.output);
    expect![[r#"
        exits 8
        done complete
    "#]]
    .assert_eq(&plain(&ran.report));
    let all = run(&program, "strategy=bounded:0 output=all");
    assert!(all.output.lines().count() > 2, "{}", all.output);
}

#[test]
fn the_same_configuration_gives_the_same_report() {
    for name in ["dekker", "outside", "conditions", "crash"] {
        let program = compile(name, &["-O1"]);
        for config in [
            "strategy=random:7 executions=200 trace=on",
            "strategy=dpor trace=on",
            "strategy=pct:3:1 executions=100 trace=on reuse=on",
        ] {
            let [a, b] = [run(&program, config), run(&program, config)];
            assert!(a.report == b.report, "{name} differs with {config}");
            assert_eq!(a.output, b.output);
            assert!(a.report.lines().count() > 20, "{}", a.report);
        }
    }
}

#[test]
fn restored_memory_is_as_good_as_a_new_process() {
    for name in ["dekker", "outside", "conditions", "others", "crash", "exits", "many", "leftovers"]
    {
        let program = compile(name, &["-O1"]);
        let config = "strategy=random:11 executions=30 trace=on output=all";
        let restored = run(&program, config);
        let forked = run(&program, &format!("{config} isolate=fork"));
        assert!(restored.report == forked.report, "{name} differs");
        assert_eq!(restored.output, forked.output, "{name}");
    }
}

#[test]
fn tokens_replay() {
    for name in ["assertion", "deadlock", "crash", "lost_wakeup", "livelock"] {
        let program = compile(name, &["-O1"]);
        let ran = run(&program, "strategy=random:2 executions=500");
        let mut shared = Vec::new();
        let mut finding = None;
        for line in ran.report.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                "shared" => shared.push(format!("{}+{}", words[1], words[2])),
                "finding" if words[6] != "-" => finding = Some((words[2].to_owned(), words[6])),
                "token" => finding = finding.map(|(kind, _)| (kind, words[3])),
                _ => {}
            }
        }
        let (kind, token) = finding.unwrap_or_else(|| panic!("{name}: {}", ran.report));
        let mut config = format!("strategy=replay:{token}");
        if !shared.is_empty() {
            config += &format!(" shared={}", shared.join(","));
        }
        let again = run(&program, &config).report;
        assert!(again.contains(&format!("finding 1 {kind} ")), "{name} {config}: {again}");
        assert!(again.contains(token), "{name}: {again}");
    }
}

#[test]
fn a_program_on_its_own_is_left_alone() {
    for name in ["dekker", "others", "c11", "futexes", "atomic_ops", "mutexes"] {
        let program = compile(name, &["-O2"]);
        let done = Command::new(&program).output().expect("a program that was compiled");
        assert!(done.status.success(), "{name}: {done:?}");
    }
}

#[test]
fn wrong_configurations_are_told() {
    let program = compile("dekker", &["-O1"]);
    for (config, said) in [
        (
            "nothing",
            expect![[r#"
            weakspot: WEAKSPOT_RUN: `nothing` has no value
        "#]],
        ),
        (
            "colour=red",
            expect![[r#"
            weakspot: WEAKSPOT_RUN: there is no option `colour`
        "#]],
        ),
        (
            "steps=many",
            expect![[r#"
            weakspot: WEAKSPOT_RUN: `steps` cannot be `many`
        "#]],
        ),
        (
            "strategy=dfs",
            expect![[r#"
                weakspot: WEAKSPOT_RUN: unknown strategy "dfs"; there are bounded[:MOST], dpor, rf, random:SEED, pct:DEPTH:SEED, replay:TOKEN
            "#]],
        ),
    ] {
        said.assert_eq(&run(&program, config).output);
    }
}

#[test]
fn time_may_be_over_at_any_time() {
    check(
        "timeouts",
        "strategy=dpor",
        &expect![[r#"
            finding 1 assertion 0 0 timeouts.c:46:%20late%20==%200
            seen 1 5
            done complete
        "#]],
    );
}

/// What is read in vain leads to no execution of its own; who waits for ever, and the last of several tries, are found.
#[test]
fn waiting_in_loops_is_one_execution() {
    let report = |options: &[&str], config: &str| {
        run(&compile("awaits", options), &format!("strategy=dpor{config}")).report
    };
    for config in ["", " under=tso", " models=tso,pso"] {
        let all = report(&["-O2"], config);
        assert!(all.lines().any(|line| line.starts_with("done complete 1 ")), "{config}: {all}");
        assert!(!all.contains("finding"), "{config}: {all}");
    }
    assert!(report(&["-O2", "-DLAST=6"], "").contains(" livelock "));
    for tries in [2, 40] {
        let tries = format!("-DTRIES={tries}");
        let found = report(&["-O2", &tries], " executions=5000");
        assert!(found.contains(" assertion "), "{tries}: {found}");
    }
}

#[test]
fn a_loop_that_comes_closer_to_its_end_does_not_wait() {
    for name in ["retries", "comes_back"] {
        check(
            name,
            "strategy=dpor",
            &expect![[r#"
            done complete
        "#]],
        );
    }
}

#[test]
fn threads_may_talk_through_the_kernel() {
    check(
        "pipes",
        "strategy=dpor",
        &expect![[r#"
        done complete
    "#]],
    );
}

#[test]
fn who_never_comes_back_does_not_stop_the_others() {
    // The main thread returns while another one goes round without being heard of.
    check(
        "silent",
        "strategy=dpor hang=200",
        &expect![[r#"
            finding 1 silent 1 - -
            seen 1 1
            done incomplete
        "#]],
    );
}

#[test]
fn what_is_left_in_the_kernel_is_gone_for_the_next_execution() {
    check(
        "soiled",
        "strategy=dpor",
        &expect![[r#"
        done complete
    "#]],
    );
}

/// A failure names who slept before it, and what outlives an execution is reported once.
#[test]
fn sleeping_and_effects_outside_are_reported() {
    let ran = run(&compile("sleeps", &["-O1"]), "strategy=dpor");
    let failures: Vec<&str> =
        ran.report.lines().filter(|line| line.starts_with("finding ")).collect();
    assert_eq!(failures.len(), 1, "{}", ran.report);
    assert!(failures[0].contains("assertion") && failures[0].contains("slept"), "{}", ran.report);
    for what in ["outside writes%20to%20a%20file ", "outside removes%20a%20file "] {
        assert_eq!(ran.report.matches(what).count(), 1, "{what}: {}", ran.report);
    }
}

#[test]
fn what_is_told_about_signals_is_put_back() {
    for (options, shared) in [(&["-O1"][..], true), (&["-O1", "-DPENDING"], false)] {
        let ran = run(&compile("handlers", options), "strategy=dpor output=all");
        assert!(ran.report.contains("done complete"), "{}", ran.report);
        let mut processes: Vec<&str> = ran.output.lines().collect();
        let executions = processes.len();
        processes.dedup();
        assert!(executions > 1, "{}", ran.output);
        assert_eq!(processes.len() == 1, shared, "{}", ran.output);
    }
}

#[test]
fn the_outside_world_is_not_waited_for() {
    check(
        "blocked",
        "strategy=dpor",
        &expect![[r#"
        unsupported read 0
        done incomplete
    "#]],
    );
}

/// A program of `tests/c` that is made for one of its functions.
fn case(name: &str, function: &str, config: &str) -> String {
    plain(&run(&compile(name, &["-O1", &format!("-DCASE={function}")]), config).report)
}

/// What is found first, in short; how often depends on the strategy.
fn finding(name: &str, function: &str, config: &str) -> String {
    let report = case(name, function, config);
    let found = report.lines().find_map(|line| line.strip_prefix("finding 1 "));
    found.unwrap_or("nothing").replace("%20", " ")
}

#[test]
fn memory_that_is_not_there() {
    let cases = [
        "read_freed",
        "write_freed",
        "atomic_freed",
        "copy_freed",
        "length_freed",
        "old_block",
        "behind",
        "half_behind",
        "before",
        "far_behind",
        "behind_zeros",
        "behind_aligned",
        "behind_large",
        "no_end",
        "empty",
        "twice",
        "twice_moved",
        "inside",
        "of_a_variable",
        "of_the_stack",
        "unordered",
        "both",
        "taken_away",
        "ended",
        "ended_own",
        "returned",
    ];
    let all = cases.map(|case| format!("{case}: {}\n", finding("blocks", case, "strategy=dpor")));
    expect![[r#"
        read_freed: use-after-free 0 0 reads 4 bytes, 8 bytes into a block of 16 bytes, after it was freed 0:freed here 0:allocated here
        write_freed: use-after-free 0 0 writes 4 bytes, at the beginning of a block of 16 bytes, after it was freed 0:freed here 0:allocated here
        atomic_freed: use-after-free 0 0 writes 4 bytes, at the beginning of a block of 16 bytes, after it was freed 0:freed here 0:allocated here
        copy_freed: use-after-free 0 0 reads 16 bytes, at the beginning of a block of 16 bytes, after it was freed 0:freed here 0:allocated here
        length_freed: use-after-free 0 0 reads 5 bytes, at the beginning of a block of 5 bytes, after it was freed 0:freed here 0:allocated here
        old_block: use-after-free 0 0 writes 4 bytes, at the beginning of a block of 16 bytes, after it was freed 0:freed here 0:allocated here
        behind: out-of-bounds 0 0 writes 4 bytes, right behind a block of 20 bytes 0:allocated here
        half_behind: out-of-bounds 0 0 writes 4 bytes, 2 bytes of them behind the end of a block of 6 bytes 0:allocated here
        before: out-of-bounds 0 0 reads 4 bytes, 4 bytes before a block of 16 bytes 0:allocated here
        far_behind: out-of-bounds 0 0 writes 4 bytes, 40 bytes behind a block of 400 bytes 0:allocated here
        behind_zeros: out-of-bounds 0 0 writes 4 bytes, right behind a block of 12 bytes 0:allocated here
        behind_aligned: out-of-bounds 0 0 writes 1 byte, right behind a block of 64 bytes 0:allocated here
        behind_large: out-of-bounds 0 0 writes 1 byte, right behind a block of 3145728 bytes 0:allocated here
        no_end: out-of-bounds 0 0 reads 5 bytes, 1 byte of them behind the end of a block of 4 bytes 0:allocated here
        empty: out-of-bounds 0 0 writes 1 byte, at the place of a block of 0 bytes 0:allocated here
        twice: double-free 0 0 frees a block of 16 bytes again 0:freed here 0:allocated here
        twice_moved: double-free 0 0 frees a block of 16 bytes again 0:freed here 0:allocated here
        inside: invalid-free 0 0 frees what is 4 bytes into a block of 16 bytes 0:allocated here
        of_a_variable: invalid-free 0 0 frees what was not allocated
        of_the_stack: invalid-free 0 0 frees what was not allocated
        unordered: use-after-free 1 0 reads 4 bytes, at the beginning of a block of 4 bytes, after it was freed 2:freed here 0:allocated here
        both: double-free 2 0 frees a block of 4 bytes again 1:freed here 0:allocated here
        taken_away: use-after-free 1 0 reads 4 bytes, at the beginning of a block of 4 bytes, after it was freed 0:freed here 0:allocated here
        ended: use-after-return 0 0 reads 4 bytes of the stack of T1, which has ended
        ended_own: use-after-return 0 0 reads 4 bytes of a thread-local variable of T1, which has ended
        returned: use-after-return 1 0 reads 4 bytes of a variable of main whose function has returned
    "#]].assert_eq(&all.concat());
}

/// Both orders of an access and of what frees its block are explored.
#[test]
fn freeing_is_a_step() {
    for function in ["unordered", "taken_away"] {
        for config in ["", " under=tso", " under=pso", " filter=off", " reuse=on"] {
            let report = case("blocks", function, &format!("strategy=dpor{config}"));
            let fails = report.contains("use-after-free 1 ");
            assert!(fails && report.contains("seen 1 1\n"), "{function}{config}: {report}");
            assert!(report.ends_with("done complete\n"), "{function}{config}: {report}");
        }
    }
}

/// Stores that are late come too late for what was freed, or for who is about to free it.
#[test]
fn memory_that_is_not_there_because_of_buffers() {
    let mut all = String::new();
    for function in ["hazards", "too_late"] {
        for model in ["sc", "tso", "pso"] {
            let found = finding("blocks", function, &format!("strategy=dpor under={model}"));
            all += &format!("{function} under {model}: {found}\n");
        }
    }
    expect![[r#"
        hazards under sc: nothing
        hazards under tso: use-after-free 1 0 reads 4 bytes, at the beginning of a block of 4 bytes, after it was freed 0:freed here 0:allocated here
        hazards under pso: use-after-free 1 0 reads 4 bytes, at the beginning of a block of 4 bytes, after it was freed 0:freed here 0:allocated here
        too_late under sc: nothing
        too_late under tso: nothing
        too_late under pso: use-after-free 1 0 a store of 4 bytes leaves its buffer, at the beginning of a block of 4 bytes, after it was freed 0:freed here 0:allocated here
    "#]].assert_eq(&all);
    // The monitors know that a block must not be freed before it was written.
    let watched = case("blocks", "too_late", "strategy=dpor models=tso,pso");
    assert!(watched.contains("overtaking 1 PSO"), "{watched}");
    assert!(!watched.contains("TSO"), "{watched}");
}

#[test]
fn functions_that_touch_shared_bytes() {
    let report = plain(
        &run(&compile("texts", &["-O1"]), "strategy=random:1 executions=40 races=c11").report,
    );
    // Each is seen in both orders: here are those in which main comes second.
    let races = report.lines().filter_map(|line| line.split_once(" data-race 0 0 "));
    let all: Vec<String> = races.map(|(_, race)| race.replace("%20", " ")).collect();
    expect![[r#"
        plain store of 1 byte 1:plain load of 7 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 8 bytes
        plain load of 1 byte 1:plain store of 6 bytes
        plain store of 1 byte 1:plain store of 6 bytes
        plain load of 1 byte 1:plain store of 9 bytes
        plain store of 1 byte 1:plain store of 9 bytes
        plain store of 1 byte 1:plain load of 4 bytes
        plain load of 1 byte 1:plain store of 8 bytes
        plain store of 1 byte 1:plain store of 8 bytes
        plain store of 1 byte 1:plain load of 12 bytes
        plain store of 1 byte 1:plain load of 1 byte
        plain store of 1 byte 1:plain load of 3 bytes
        plain store of 1 byte 1:plain load of 9 bytes
        plain store of 1 byte 1:plain load of 5 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes
        plain store of 1 byte 1:plain load of 2 bytes"#]]
    .assert_eq(&all.join("\n"));
}

/// Linux writes a newline in the path of a mapped file as `\\012`.
#[test]
fn a_path_with_a_newline() {
    let program = compile("dekker", &["-O1"]);
    let strange = program.with_extension("a\nb");
    fs::copy(&program, &strange).expect("a copy");
    let report = run(&strange, "strategy=random:1 executions=1").report;
    let own = report.lines().find(|line| line.starts_with("module ")).expect("modules");
    assert!(own.contains(".a%0Ab"), "{own}");
}

#[test]
fn memory_that_only_looks_wrong() {
    let cases = [
        "by_libc",
        "from_before",
        "sizes",
        "strings",
        "mapped",
        "stacks",
        "lent",
        "given",
        "counted",
        "handed_over",
        "hazards",
        "buffered",
        "in_time",
    ];
    for case_name in cases {
        for config in ["", " under=tso", " under=pso", " models=tso,pso", " reuse=on"] {
            let report = case("blocks_fine", case_name, &format!("strategy=dpor{config}"));
            assert_eq!(report, "done complete\n", "{case_name}{config}");
        }
        let report = case("blocks_fine", case_name, "strategy=random:1 executions=200");
        assert_eq!(report, "done limit\n", "{case_name}");
    }
}

#[test]
fn locks_that_are_misused() {
    let cases = [
        "not_locked",
        "of_another",
        "twice",
        "held",
        "after_end",
        "garbage",
        "c11",
        "freed",
        "wait_unlocked",
        "destroy_condition",
        "waited_on",
        "rw_not_locked",
        "rw_of_another",
        "rw_held",
        "rw_after_end",
        "no_barrier",
        "ended_barrier",
        "waited_at",
        "spin_not_locked",
        "spin_ended",
        "init_held",
        "init_freed",
        "init_outside",
        "init_waited_on",
        "init_for_readers",
        "init_semaphore_waited_for",
        "init_spin_waited_for",
        "rw_after_return",
        "rw_after_return_zeros",
        "rw_after_free",
        "late",
        "late_c11",
        "late_spin",
        "late_rw",
        "two_mutexes",
    ];
    let found = |case| finding("misused", case, "strategy=dpor reuse=on");
    let all = cases.map(|case| format!("{case}: {}\n", found(case)));
    expect![[r#"
        not_locked: lock-misuse 0 0 unlocks a mutex that nobody holds
        of_another: lock-misuse 1 0 unlocks a mutex that main holds
        twice: lock-misuse 0 0 destroys a mutex that was destroyed 0:destroyed here
        held: lock-misuse 0 0 destroys a mutex that main holds
        after_end: lock-misuse 1 0 locks a mutex that was destroyed 0:destroyed here
        garbage: lock-misuse 0 0 locks a mutex that was not initialised
        c11: lock-misuse 0 0 locks a mutex that was destroyed 0:destroyed here
        freed: use-after-free 0 0 writes 40 bytes, at the beginning of a block of 40 bytes, after it was freed 0:freed here 0:allocated here
        wait_unlocked: lock-misuse 0 0 unlocks a mutex that nobody holds
        destroy_condition: lock-misuse 0 0 signals a condition variable that was destroyed 0:destroyed here
        waited_on: lock-misuse 1 0 waits on a condition variable that was destroyed 0:destroyed here
        rw_not_locked: lock-misuse 0 0 unlocks a read-write lock that nobody holds
        rw_of_another: lock-misuse 1 0 unlocks a read-write lock that main holds
        rw_held: lock-misuse 0 0 destroys a read-write lock that is held
        rw_after_end: lock-misuse 0 0 locks a read-write lock that was destroyed 0:destroyed here
        no_barrier: lock-misuse 0 0 waits at a barrier that was not initialised
        ended_barrier: lock-misuse 0 0 waits at a barrier that was destroyed 0:destroyed here
        waited_at: lock-misuse 1 0 waits at a barrier that was destroyed 0:destroyed here
        spin_not_locked: lock-misuse 0 0 unlocks a spin lock that nobody holds
        spin_ended: lock-misuse 0 0 locks a spin lock that was destroyed 0:destroyed here
        init_held: lock-misuse 0 0 initialises a mutex that is held
        init_freed: use-after-free 0 0 writes 40 bytes, at the beginning of a block of 40 bytes, after it was freed 0:freed here 0:allocated here
        init_outside: out-of-bounds 0 0 writes 48 bytes, 44 bytes of them behind the end of a block of 4 bytes 0:allocated here
        init_waited_on: lock-misuse 0 0 initialises a condition variable that T1 waits for
        init_for_readers: lock-misuse 0 0 initialises a read-write lock that T1 waits for
        init_semaphore_waited_for: lock-misuse 0 0 initialises a semaphore that T1 waits for
        init_spin_waited_for: lock-misuse 0 0 initialises a spin lock that T1 waits for
        rw_after_return: lock-misuse 1 0 unlocks a read-write lock that nobody holds
        rw_after_return_zeros: lock-misuse 1 0 unlocks a read-write lock that nobody holds
        rw_after_free: lock-misuse 1 0 unlocks a read-write lock that nobody holds
        late: lock-misuse 0 0 initialises a mutex that is held
        late_c11: lock-misuse 0 0 initialises a mutex that is held
        late_spin: lock-misuse 0 0 initialises a spin lock that is held
        late_rw: lock-misuse 0 0 initialises a read-write lock that is held
        two_mutexes: lock-misuse 1 0 waits on a condition variable with another mutex than others do
    "#]].assert_eq(&all.concat());
}

#[test]
fn locks_that_are_initialised_while_others_use_them() {
    let cases = [
        "late",
        "late_c11",
        "late_spin",
        "late_rw",
        "late_condition",
        "late_condition_c11",
        "late_semaphore",
        "late_barrier",
        "twice_at_once",
    ];
    let all = cases.map(|case_name| {
        let report = case("misused", case_name, "strategy=dpor races=c11");
        let race = report.lines().find(|line| line.contains(" data-race "));
        format!("{case_name}: {}\n", race.unwrap_or("nothing").replace("%20", " "))
    });
    expect![[r#"
        late: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 40 bytes
        late_c11: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 40 bytes
        late_spin: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 4 bytes
        late_rw: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 56 bytes
        late_condition: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 48 bytes
        late_condition_c11: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 48 bytes
        late_semaphore: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 32 bytes
        late_barrier: finding 1 data-race 1 0 use as a synchronization object 0:plain store of 32 bytes
        twice_at_once: finding 1 data-race 1 0 plain store of 40 bytes 0:plain store of 40 bytes
    "#]].assert_eq(&all.concat());
}

#[test]
fn locks_that_only_look_misused() {
    let cases = [
        "zeros",
        "again",
        "checked",
        "hand_over",
        "woken",
        "last_user",
        "met",
        "readers",
        "handed",
        "own",
        "left_behind",
        "one_after_other",
        "spin_again",
    ];
    for case_name in cases {
        let program = compile("used", &["-O1", &format!("-DCASE={case_name}")]);
        for config in ["", " under=tso", " under=pso", " models=tso,pso"] {
            let config = format!("strategy=dpor races=c11{config}");
            let report = plain(&run(&program, &config).report);
            assert_eq!(report, "done complete\n", "{case_name}{config}");
        }
    }
}

/// One side of a protocol needs no fence if the other makes it have one.
#[test]
fn a_fence_in_all_threads() {
    for function in ["private", "global"] {
        for config in ["", " under=tso", " under=pso", " models=tso,pso"] {
            let report = case("membarriers", function, &format!("strategy=dpor{config}"));
            assert_eq!(report, "done complete\n", "{function}{config}");
        }
    }
    for function in ["none", "before"] {
        for config in ["under=tso", "under=pso"] {
            let found = finding("membarriers", function, &format!("strategy=dpor {config}"));
            assert!(found.starts_with("assertion"), "{function} {config}: {found}");
        }
        let report = case("membarriers", function, "strategy=dpor models=tso");
        assert!(report.contains("overtaking 1 TSO"), "{function}: {report}");
        assert!(report.ends_with("done complete\n"), "{function}: {report}");
    }
}

/// Each of these has a mistake in the library that only it shows (`docs/how/mutants.md`).
#[test]
fn what_one_mistake_gets_wrong() {
    let program = compile("planted", &["-O1"]);
    let report = |case: &str, config: &str| {
        plain(&run_with(&program, &format!("strategy=dpor{config}"), case).report)
    };
    let all = [
        ("across", ""),
        ("of_nothing", ""),
        ("own_returned", ""),
        ("large", ""),
        ("lock_is_freed", ""),
        ("unmapped", ""),
        ("used_again", " reuse=on races=c11"),
        ("zero_again", " reuse=on"),
        ("third_access", " races=c11"),
        ("acquired_and_released", " races=c11"),
        ("fenced", " races=c11"),
        ("failed", " races=c11"),
        ("failed_many", " races=c11"),
        ("many_in_order", " under=tso"),
        ("nand", ""),
        ("strong_store", " under=tso"),
        ("released_store", " under=pso"),
        ("woken_in_time", " virtual-time=on"),
        ("later_and_later", " virtual-time=on"),
        ("until_then", " virtual-time=on"),
        ("variable_is_set", ""),
        ("ended_twice", ""),
        ("waited_for", ""),
        ("closed_first", ""),
        ("closed_last", ""),
        ("closes_input", ""),
    ]
    .map(|(case, config)| {
        let report = report(case, config);
        let found = report.lines().find_map(|line| line.strip_prefix("finding 1 "));
        format!("{case}: {}\n", found.unwrap_or("nothing").replace("%20", " "))
    });
    expect![[r#"
        across: out-of-bounds 0 0 writes 4 bytes, 2 bytes of them behind the end of a block of 8 bytes 0:allocated here
        of_nothing: invalid-free 0 0 frees what was not allocated
        own_returned: use-after-return 0 0 writes 4 bytes of a variable whose function has returned
        large: use-after-free 1 0 reads 4 bytes, at the beginning of a block of 8000 bytes, after it was freed 2:freed here 0:allocated here
        lock_is_freed: use-after-free 1 0 writes 40 bytes, at the beginning of a block of 40 bytes, after it was freed 2:freed here 0:allocated here
        unmapped: crash 1 0 SIGSEGV
        used_again: nothing
        zero_again: nothing
        third_access: data-race 2 0 plain store of 4 bytes 1:plain load of 4 bytes
        acquired_and_released: nothing
        fenced: nothing
        failed: data-race 2 0 plain load of 4 bytes 1:plain store of 4 bytes
        failed_many: data-race 2 0 plain load of 4 bytes 1:plain store of 4 bytes
        many_in_order: nothing
        nand: nothing
        strong_store: nothing
        released_store: nothing
        woken_in_time: nothing
        later_and_later: nothing
        until_then: nothing
        variable_is_set: nothing
        ended_twice: nothing
        waited_for: lock-misuse 2 0 destroys a condition variable that a thread waits on
        closed_first: abort 2 0 abort
        closed_last: abort 2 0 abort
        closes_input: nothing
    "#]].assert_eq(&all.concat());
    let increased = report("increased", " models=tso");
    assert!(increased.contains("overtaking 1 TSO"), "{increased}");
    let fenced = report("fenced", " models=tso,pso");
    assert!(!fenced.contains("overtaking"), "{fenced}");
    let barrier = case("misused", "waited_at", "strategy=dpor");
    assert!(
        barrier.contains("destroys%20a%20barrier%20that%20a%20thread%20waits%20at"),
        "{barrier}"
    );
}
