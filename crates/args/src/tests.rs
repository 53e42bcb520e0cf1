//! What may be typed, and what it means.

use clap::Arg;

use super::*;

/// What a line without `weakspot` means.
fn means(line: &str) -> Result<String, String> {
    let words = std::iter::once("weakspot").chain(line.split_whitespace());
    match read(words.map(OsString::from)) {
        Ok(command) => Ok(format!("{command:?}")),
        Err(Stop::Usage(usage)) => Err(usage.to_string()),
        Err(Stop::Clap(error)) => Err(format!("clap: {error}")),
    }
}

/// All commands that can be typed, by their words.
fn commands() -> Vec<(String, clap::Command)> {
    fn add(command: &clap::Command, path: &str, all: &mut Vec<(String, clap::Command)>) {
        for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let path = format!("{path} {}", inner.get_name());
            match inner.has_subcommands() {
                true => add(inner, &path, all),
                false => all.push((path.trim_start().to_owned(), inner.clone())),
            }
        }
    }
    let mut all = Vec::new();
    add(&syntax(), "", &mut all);
    all.retain(|(path, _)| !matches!(&path[..], "cc" | "c++"));
    all
}

/// The rest of a line with a command, to which options can be added in front: each of them has a meaning there.
fn rest(path: &str, command: &clap::Command) -> &'static str {
    match path {
        "fence" => "--goal safe a.weak",
        "certify" | "compare" => "a b",
        "convert" => "a.wslog",
        "gen family" => "lamport",
        "gen litmus" => "PodWR Fre PodWR Fre",
        "cluster local" => "2 -- reach a.weak",
        "completions" => "bash",
        _ if command.get_positionals().any(Arg::is_required_set) => "a.weak",
        _ => "",
    }
}

/// A value that differs from the default.
fn value(path: &str, option: &str) -> &'static str {
    match (path, option) {
        ("convert", "format") => "jsonl",
        ("gen family", "format") => "trencher",
        ("gen litmus", "format") => "weak",
        ("gen history", "transactions") => "ser",
        ("gen history" | "record", "format") => "axe",
        (_, "format") => "json",
        (_, "timeout") => "17s",
        (_, "memory") => "17MiB",
        (_, "color" | "progress") => "never",
        (_, "threads") => "17",
        (_, "model") => "tso",
        (_, "buffer-limit") => "17",
        ("history" | "convert", "input-format") => "jsonl",
        ("monitor", "input-format") => "std",
        (_, "input-format") => "litmus",
        ("run" | "cargo test" | "cargo run", "output") => "all",
        (_, "output" | "witness" | "checkpoint" | "resume") => "FILE",
        _ => "",
    }
}

/// None is accepted and ignored, and a refusal says why.
#[test]
fn every_command_has_the_options_or_refuses_them() {
    for (path, command) in commands() {
        let rest = rest(&path, &command);
        let without = match &path[..] {
            "convert" => means("convert a.wslog b.jsonl"),
            _ => means(&format!("{path} {rest}")),
        };
        let without = without.unwrap_or_else(|why| panic!("{path} {rest}: {why}"));
        for word in &refused::VOCABULARY {
            let option = word.name;
            let line = match (&path[..], option) {
                ("fence", "model") => format!("{path} --model pso {rest}"),
                ("convert", "output") => format!("{path} --output FILE {rest}"),
                ("convert", _) => {
                    format!("{path} --{option} {} {rest} b.jsonl", value(&path, option))
                }
                ("reach" | "litmus", "checkpoint" | "resume") => {
                    format!("{path} --model sc --{option} FILE {rest}")
                }
                ("monitor" | "serial" | "history", "checkpoint" | "resume") => {
                    format!("{path} --{option} FILE {rest} {rest}")
                }
                ("robust", "checkpoint" | "resume") => {
                    format!("{path} --model tso --{option} FILE {rest}")
                }
                ("record", "input-format") => format!("{path} --input-format axe FILE"),
                _ => format!("{path} --{option} {} {rest}", value(&path, option)),
            };
            let has = command.get_arguments().any(|arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                !arg.is_hide_set() && (arg.get_long() == Some(option) || aliases.contains(&option))
            });
            let said = means(&line);
            match (has, refused::reason(&command, word.id)) {
                (true, None) => {
                    let with = said.unwrap_or_else(|why| panic!("{line}: {why}"));
                    assert_ne!(with, without, "{line} means nothing");
                }
                (false, Some((_, why))) => {
                    let message = format!("`weakspot {path}` has no --{option}: {why}");
                    assert_eq!(said, Err(message), "{line}");
                }
                (true, Some(_)) => panic!("{path} has --{option}, and there is a reason why not"),
                (false, None) => panic!("{path} has no --{option}, and no reason why"),
            }
        }
    }
}

/// The arguments that the help of a command lists.
fn listed(command: &clap::Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_long().is_some())
}

#[test]
fn the_help_lists_nothing_that_is_refused() {
    for (path, command) in commands() {
        let rest = match &path[..] {
            "convert" => "a.wslog b.jsonl",
            "fence" => "a.weak",
            _ => rest(&path, &command),
        };
        for arg in listed(&command) {
            let long = arg.get_long().unwrap_or_default();
            let values: Vec<String> = match arg.get_action().takes_values() {
                true => arg
                    .get_possible_values()
                    .iter()
                    .filter(|value| !value.is_hide_set())
                    .map(|value| value.get_name().to_owned())
                    .collect(),
                false => vec![String::new()],
            };
            for value in values {
                // A list has no other options beside it.
                let rest = if long == "list" { "" } else { rest };
                let rest = without_steps(&path, long, rest);
                let context = context(&path, long, &value);
                let line = format!("{path} {context} --{long} {value} {rest}");
                if let Err(why) = means(&line).map_err(|why| why.replace('\n', " "))
                    && long != "help"
                {
                    panic!("{line}: {why}");
                }
            }
        }
    }
}

/// All cycles, and how long they are, have no steps of one beside them.
fn without_steps<'a>(path: &str, option: &str, rest: &'a str) -> &'a str {
    match (path, option) {
        ("gen litmus", "all" | "size") => "-o tests",
        _ => rest,
    }
}

/// What an option needs beside it.
fn context(path: &str, option: &str, value: &str) -> &'static str {
    let language = ["litmus", "weak", "trencher", "memorax", "c"].contains(&value);
    match (path, option) {
        ("monitor", "schedules") => "--program",
        ("monitor", "input-format") if language => "--program",
        ("record", "input-format") => "FILE",
        ("gen litmus", "size") => "--all",
        ("history", "distinct-values") => "--follow",
        ("litmus", "runs") => "--run",
        ("litmus", "format") if value == "litmus7" => "--run",
        ("run" | "cargo test" | "cargo run", "fence-transactions") => "--transactions",
        ("run" | "cargo test" | "cargo run", "gdb") => "--replay 1",
        _ => "",
    }
}

/// What the help says to be the default is what is meant without the option.
#[test]
fn the_defaults_in_the_help_are_true() {
    let mut count = 0;
    for (path, command) in commands() {
        let rest = if path == "convert" { "a.wslog b.jsonl" } else { rest(&path, &command) };
        let without =
            means(&format!("{path} {rest}")).unwrap_or_else(|why| panic!("{path}: {why}"));
        for arg in listed(&command) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let Some((_, tail)) = help.split_once("[default: ") else { continue };
            let default = tail.split([']', ';']).next().unwrap_or_default();
            let long = arg.get_long().unwrap_or_default();
            let rest = without_steps(&path, long, rest);
            let context = match (&path[..], long) {
                ("gen litmus", "size") => "--all",
                ("litmus", "runs") => "--run",
                // Logs are followed for as long as it takes, unless a time is named.
                ("serial" | "monitor", "timeout") => continue,
                ("monitor", "seed") => "--program --random 3",
                ("monitor", "steps") => "--program --random 3",
                ("history", "window") => "--follow",
                ("gen history", "transaction-size") => "--transactions ser",
                ("run" | "cargo test" | "cargo run", "depth" | "seed") => "--strategy pct",
                ("fence", "goal") => continue,
                _ => "",
            };
            let (line, with) = match context {
                "" => (format!("{path} --{long} {default} {rest}"), without.clone()),
                _ => {
                    let with = means(&format!("{path} {context} {rest}"));
                    (format!("{path} {context} --{long} {default} {rest}"), with.expect("good"))
                }
            };
            assert_eq!(means(&line).as_ref(), Ok(&with), "{line}");
            count += 1;
        }
    }
    assert!(count > 80, "{count} defaults were found");
}

/// Lines that are refused, and what is said.
#[test]
fn conflicts() {
    let cases = [
        (
            "robust --trf --model tso,pso a",
            "--algorithm attack and --trf are about TSO only: expected --model tso",
        ),
        (
            "robust --trf --model pso,tso a",
            "--algorithm attack and --trf are about TSO only: expected --model tso",
        ),
        (
            "robust --algorithm attack -m pso a",
            "--algorithm attack and --trf are about TSO only: expected --model tso",
        ),
        (
            "robust --trf --algorithm pending a",
            "--trf has an algorithm of its own: leave out --algorithm",
        ),
        (
            "run -o x ./a",
            "`weakspot run` has no -o: answers go to standard output, their evidence to --witness FILE; \
             --program-output says what is shown of the program's output",
        ),
        (
            "robust --buffer-limit 3 a",
            "`weakspot robust` has no --buffer-limit: SC executions are explored, never store buffers",
        ),
        (
            "reach --algorithm dual -m sc,tso a",
            "--algorithm lazy, unroll and dual answer for TSO and PSO only: expected --model tso or pso",
        ),
        (
            "reach --algorithm dual --buffer-limit 3 a",
            "--buffer-limit is for --algorithm auto, eager and counters: the others explore no buffers",
        ),
        ("litmus -m tso,tso a", "--model names a model twice"),
        ("litmus --runs 5 a", "--runs is for --run, which runs tests on this CPU"),
        (
            "litmus --format litmus7 a",
            "--format litmus7 is for --run; without it, --format text has the lines of herd7",
        ),
        (
            "litmus --run --show a",
            "--show is about the models, and --run about this CPU: leave out one of them",
        ),
        (
            "litmus --run -j 2 a",
            "--threads is not for --run: tests would get into each other's way",
        ),
        (
            "litmus --run --format svg a",
            "--format svg is not for --run; expected --format text, json or litmus7",
        ),
        (
            "fence --format dot a",
            "fences are no graph; expected --format text, json, sarif, github or junit",
        ),
        (
            "fence --buffer-limit 3 a",
            "--buffer-limit is for --goal safe: robustness is decided without buffers",
        ),
        (
            "serial --buffer-limit 4 a.wslog -",
            "--buffer-limit is about programs: a log says itself what was buffered",
        ),
        (
            "fence -o - a",
            "--output takes the name of a file, not `-`: standard output is for the answer",
        ),
        ("monitor --random 3 a", "--random is about programs: expected --program, too"),
        (
            "monitor --program --fail-fast a",
            "--fail-fast is about logs: leave it out, or --program",
        ),
        ("monitor --program --seed 3 a", "--seed is for --random"),
        (
            "monitor --program --random 3 --preemptions 1 a",
            "expected one of --schedules, --preemptions and --random",
        ),
        ("monitor --algorithm sober -m pso a", "SOBER is about TSO only: expected --model tso"),
        (
            "monitor --input-format weak a",
            "the --input-format is one of programs: expected --program, too",
        ),
        ("serial --predict -m sc a", "--predict is about traces under TSO: expected --model tso"),
        (
            "history --follow --witness w.json a",
            "--witness is about a whole file: leave out --follow",
        ),
        ("history --window 3 a", "--window is for --follow"),
        ("history --distinct-values a", "--distinct-values is for --follow"),
        (
            "history --model sc,ser a",
            "models of memory and of transactions are asked about one after the other: expected \
             --model with one kind",
        ),
        (
            "history --model rc --minimise a",
            "--minimise is about models of memory, not of transactions",
        ),
        (
            "history --model rc --follow a",
            "--follow is about models of memory, not of transactions",
        ),
        (
            "history --model rc --complete-recording a",
            "--complete-recording is about models of memory, not of transactions",
        ),
        (
            "history --follow --complete-recording a",
            "--complete-recording is about a whole file: leave out --follow",
        ),
        (
            "history --columns core,op,addr,data --input-format axe a",
            "--columns is for tables: leave out --input-format",
        ),
        (
            "history --columns core,op,addr,data --witness w a",
            "--witness is for files that say themselves what their columns are: put a line with the \
             names first and leave out --columns",
        ),
        (
            "convert a",
            "expected two files, as in `weakspot convert INPUT OUTPUT`; OUTPUT may be `-`",
        ),
        ("convert a b -o c", "expected one OUTPUT, not two"),
        ("gen family", "expected the NAME of a family, or --list"),
        ("gen family lamport --list", "NAME is for one family: leave out --list"),
        (
            "gen history --count 2 --format plume",
            "plume has room for one history, not for --count 2",
        ),
        ("record --cpus 3 FILE", "--cpus is about random clients: leave out FILE"),
        ("run --witness w.json --replay 3 a", "--witness is for a search: leave out --replay"),
        (
            "run --under tso --model pso a",
            "--model is watched for, and --under executed: expected one",
        ),
        (
            "run --model sc a",
            "executions are those of SC, and what fails in them is reported with every model; expected \
             --model tso, pso or pso-own",
        ),
        ("run --log a.wslog a", "--log writes one execution: expected --replay SCHEDULE, too"),
        (
            "run --strategy dpor --preemptions 2 a",
            "--preemptions is for --strategy auto and bounded",
        ),
        (
            "run --strategy rf --robust a",
            "--robust depends on the order of all stores: take --strategy dpor",
        ),
        (
            "run --fence-transactions a",
            "--fence-transactions needs --transaction FUNCTION, or --transactions",
        ),
        ("bench history --quick --large", "--quick and --large contradict each other"),
    ];
    for (line, message) in cases {
        assert_eq!(means(line), Err(message.to_owned()), "{line}");
    }
}

/// Lines that mean the same: the order of models that were typed, old spellings and letters.
#[test]
fn the_same_in_other_words() {
    let cases = [
        ("robust --trf a", "robust --trf --model tso a"),
        ("robust --algorithm attack a", "robust --algorithm attack -m tso a"),
        ("robust a", "robust --model tso,pso a"),
        ("reach --algorithm lazy a", "reach --algorithm lazy --model tso a"),
        ("monitor --first a", "monitor --fail-fast a"),
        ("monitor --log-format std a", "monitor --input-format std a"),
        ("monitor --all a", "monitor a"),
        ("serial --log-format std a", "serial --input-format std a"),
        ("history --history-format axe a", "history --input-format axe a"),
        ("certify --log-format std a b", "certify --input-format std a b"),
        ("certify --history-format axe a b", "certify --input-format axe a b"),
        ("fence --patch b a", "fence -o b a"),
        ("convert --from std --to jsonl a b", "convert --input-format std -f jsonl a -o b"),
        ("gen family lamport --syntax trencher", "gen family lamport -f trencher"),
        ("run --first a", "run --fail-fast a"),
        ("run --output all a", "run --program-output all a"),
        ("litmus --threads 3 --format json --model tso a", "litmus -j 3 -f json -m tso a"),
    ];
    for (one, other) in cases {
        let meaning = means(one);
        assert!(meaning.is_ok(), "{one}: {meaning:?}");
        assert_eq!(meaning, means(other), "{one}\n{other}");
    }
}

/// Examples are lines to be copied, and a terminal breaks what is wider than it.
#[test]
fn what_stands_around_options_fits_a_terminal() {
    fn check(command: &clap::Command) {
        let texts = [command.get_before_help(), command.get_after_help()];
        let usage = command.clone().render_usage();
        for text in texts.into_iter().flatten().chain([&usage]) {
            for line in text.to_string().lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
        command.get_subcommands().for_each(check);
    }
    check(&syntax());
}

/// `-` is standard output where that is what a command writes, and no file anywhere.
#[test]
fn no_file_is_called_by_a_dash() {
    for line in [
        "robust --witness - a",
        "history --witness - a",
        "fence -o - a",
        "bench programs --svg -",
        "bench history --svg -",
    ] {
        let words = ["weakspot"].into_iter().chain(line.split(' ')).map(OsString::from);
        let said = match read(words) {
            Err(Stop::Usage(usage)) => usage.0,
            Err(Stop::Clap(error)) => error.to_string(),
            Ok(_) => "taken".to_owned(),
        };
        assert!(said.contains("takes the name of a file, not `-`"), "{line}: {said}");
    }
}

/// A program gets what stands behind it, of which the user may not think.
#[test]
fn options_behind_a_program_may_be_a_mistake() {
    let doubtful = |line: &str| {
        let meant = means(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        let at = meant.find("doubtful: ").expect("it is a program");
        meant[at..].split(", run:").next().expect("a first part").to_owned()
    };
    assert_eq!(doubtful("run ./d --timeout 1s"), "doubtful: Some(\"--timeout\")");
    assert_eq!(doubtful("run ./d x --model=tso"), "doubtful: Some(\"--model=tso\")");
    for line in ["run --timeout 1s ./d x -q", "run ./d --colour", "run -- ./d --timeout 1s"] {
        assert_eq!(doubtful(line), "doubtful: None", "{line}");
    }
}
