//! One vocabulary for all commands: an option of it that a command does not have is refused with the
//! reason, and what to use instead. Such options are not in the help texts.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::meant::Usage;

/// An option that means the same in all commands.
pub(super) struct Word {
    pub(super) name: &'static str,
    /// The clap id of the hidden option that refuses it.
    id: &'static str,
    letter: Option<char>,
    has_value: bool,
}

const fn word(name: &'static str, id: &'static str, letter: Option<char>, has_value: bool) -> Word {
    Word { name, id, letter, has_value }
}

/// The vocabulary.
pub(super) const VOCABULARY: [Word; 16] = [
    word("format", "no-format", Some('f'), true),
    word("quiet", "no-quiet", Some('q'), false),
    word("verbose", "no-verbose", Some('v'), false),
    word("timeout", "no-timeout", None, true),
    word("memory", "no-memory", None, true),
    word("color", "no-color", None, true),
    word("progress", "no-progress", None, true),
    word("threads", "no-threads", Some('j'), true),
    word("model", "no-model", Some('m'), true),
    word("output", "no-output", Some('o'), true),
    word("input-format", "no-input-format", None, true),
    word("fail-fast", "no-fail-fast", None, false),
    word("witness", "no-witness", None, true),
    word("buffer-limit", "no-buffer-limit", None, true),
    word("checkpoint", "no-checkpoint", None, true),
    word("resume", "no-resume", None, true),
];

/// Which commands do not have which options, and why.
const REASONS: &[(&[&str], &[&str], &str)] = &[
    (
        &["fence"],
        ABOUT_KEEPING,
        "it asks many short questions: `reach`, `robust`, `litmus`, `run` and answers about several files can \
         be kept",
    ),
    (
        &["cargo test", "cargo run"],
        ABOUT_KEEPING,
        "each program is explored within its --timeout; `weakspot run` can be kept",
    ),
    (
        &["certify", "print", "convert", "compare", "show", "completions", "selfcheck", "serve"],
        ABOUT_KEEPING,
        "it is no search: those of `reach`, `robust`, `litmus` and `run` can be kept",
    ),
    (
        &["gen family", "gen history", "gen litmus", "record"],
        ABOUT_KEEPING,
        "it asks nothing: it writes inputs for other commands",
    ),
    (
        &["litmus", "reach", "robust", "monitor", "serial", "history"],
        &["output"],
        "answers go to standard output, and their evidence to --witness FILE",
    ),
    (
        &["litmus", "reach", "robust", "fence", "serial", "history"],
        &["fail-fast"],
        "every question is answered; the exit code says whether one is violated",
    ),
    (&["robust", "monitor"], &["buffer-limit"], "SC executions are explored, never store buffers"),
    (
        &["history"],
        &["buffer-limit"],
        "what was recorded is bounded; there are no buffers to explore",
    ),
    (
        &["run", "cargo test", "cargo run"],
        &["input-format"],
        "what is explored is a program, not a text",
    ),
    (
        &["run", "cargo test", "cargo run"],
        &["buffer-limit"],
        "buffers are as long as the program makes them; --steps bounds executions",
    ),
    (
        &["certify"],
        &["model", "witness"],
        "the witness, which is an argument, says what is claimed",
    ),
    (
        &["certify"],
        &["buffer-limit", "fail-fast", "threads"],
        "it follows the definitions, one state after the other; --max-states bounds that",
    ),
    (
        &["certify"],
        &["output", "quiet", "verbose", "progress"],
        "it says one line for each witness; the exit code is all that a script needs",
    ),
    (&["print"], &["format"], "a program is printed in its own language"),
    (&["print"], ABOUT_QUESTIONS, "it asks nothing: `weakspot litmus`, `reach` and `robust` do"),
    (&["print"], &["quiet", "verbose", "progress"], "it prints the program and nothing else"),
    (
        &["convert"],
        ABOUT_QUESTIONS,
        "it asks nothing: `weakspot monitor`, `serial` and `history` do",
    ),
    (
        &["convert"],
        &["timeout", "memory"],
        "it goes on as long as its input, in constant memory; Ctrl-C ends it",
    ),
    (&["convert"], &["verbose", "color", "progress"], "it writes OUTPUT and nothing else"),
    (
        &["gen family", "gen history", "gen litmus"],
        ABOUT_QUESTIONS,
        "it asks nothing: it writes inputs for other commands",
    ),
    (&["gen family", "gen history", "gen litmus"], &["input-format"], "it reads nothing"),
    (
        &["gen family", "gen litmus"],
        &["timeout", "memory"],
        "what it writes is small: --size says how small",
    ),
    (
        &["gen history"],
        &["timeout", "memory"],
        "--operations and --count say how much there is to do",
    ),
    (
        &["gen family", "gen history", "gen litmus"],
        &["quiet", "verbose", "color", "progress"],
        "it writes what it makes and nothing else",
    ),
    (
        &["record"],
        ABOUT_QUESTIONS,
        "it asks nothing: pipe it into `weakspot history --model tso -`",
    ),
    (&["record"], &["timeout", "memory"], "--operations says how much there is to do"),
    (
        &["record"],
        &["verbose", "color", "progress"],
        "it says how fast it was, and nothing else; -q leaves that out",
    ),
    (&["compare"], ABOUT_QUESTIONS, "it asks nothing: it compares what was answered"),
    (&["compare"], ABOUT_OUTPUT.split_at(1).1, "it prints which states differ and nothing else"),
    (&["show"], ABOUT_QUESTIONS, "it asks nothing: it shows what was answered"),
    (&["show"], ABOUT_OUTPUT, "it shows one run, in a terminal or as text, and nothing else"),
    (&["completions"], ABOUT_QUESTIONS, "it asks nothing: it is for a shell"),
    (&["completions"], ABOUT_OUTPUT, "it prints a text for a shell and nothing else"),
    (
        &["serve"],
        &["model", "input-format", "witness", "buffer-limit", "fail-fast"],
        "what is asked is chosen on the page",
    ),
    (
        &["serve"],
        &["format", "output", "quiet", "verbose", "color", "progress"],
        "it prints an address and nothing else: answers are on the page",
    ),
    (
        &["cluster local"],
        EVERY_WORD,
        "options are those of the question, as in `weakspot cluster local 2 -- reach --timeout 1h FILE`",
    ),
    (&["selfcheck"], &["timeout"], "--time says how long it goes on"),
    (&["selfcheck"], &["memory"], "each of its questions may take 256 MiB"),
    (
        &["selfcheck"],
        &["model", "input-format", "witness", "buffer-limit"],
        "its inputs are random, and it asks all questions about them",
    ),
    (&["selfcheck"], &["fail-fast"], "it ends after ten inputs on which answers differ"),
    (&["selfcheck"], &["verbose", "color"], "it says what it compared, and what differs"),
    (&["bench monitor"], &["timeout"], "--events and --rounds say how long it takes"),
    (&["bench serial"], &["timeout"], "--quick makes it shorter"),
    (&["bench real"], &["timeout"], "--executions says how long it takes"),
    (BENCHES, ABOUT_KEEPING, "it measures what searches take from their beginning"),
    (BENCHES, &["memory"], "each measurement may take 4 GiB"),
    (BENCHES, ABOUT_QUESTIONS, "it measures the questions that are in its tables"),
    (
        BENCHES,
        &["output", "input-format"],
        "its inputs are its own, and tables go to standard output",
    ),
    (
        BENCHES,
        &["quiet", "verbose", "color", "progress"],
        "it prints its tables row by row, and in a terminal what it measures now",
    ),
];

const ABOUT_KEEPING: &[&str] = &["checkpoint", "resume"];
const ABOUT_QUESTIONS: &[&str] = &["model", "threads", "fail-fast", "witness", "buffer-limit"];
/// What commands that only print do not have; those that print a table have the first.
const ABOUT_OUTPUT: &[&str] = &[
    "format",
    "quiet",
    "verbose",
    "timeout",
    "memory",
    "color",
    "progress",
    "output",
    "input-format",
];
const EVERY_WORD: &[&str] = &[
    "format",
    "quiet",
    "verbose",
    "timeout",
    "memory",
    "color",
    "progress",
    "threads",
    "model",
    "output",
    "input-format",
    "fail-fast",
    "witness",
    "buffer-limit",
    "checkpoint",
    "resume",
];
const BENCHES: &[&str] = &[
    "bench litmus",
    "bench programs",
    "bench monitor",
    "bench history",
    "bench serial",
    "bench real",
];

/// Compilers get their arguments as they are.
fn is_foreign(path: &str) -> bool {
    matches!(path, "cc" | "c++")
}

/// Adds to each command, named by the `path` of words, what it refuses.
pub(super) fn add(command: Command, path: &str) -> Command {
    if command.has_subcommands() {
        return command.mut_subcommands(|command| {
            let path = format!("{path} {}", command.get_name());
            add(command, path.trim_start())
        });
    }
    if is_foreign(path) || command.is_hide_set() {
        return command;
    }
    let missing: Vec<Arg> = VOCABULARY
        .iter()
        .filter(|word| !has(&command, word.name))
        .map(|word| {
            // Letters that cargo has as well are for cargo.
            let is_ours = |letter: &char| !path.starts_with("cargo") && is_free(&command, *letter);
            let arg =
                Arg::new(word.id).long(word.name).short(word.letter.filter(is_ours)).hide(true);
            match word.has_value {
                true => arg.num_args(0..=1).action(ArgAction::Append),
                false => arg.num_args(0).action(ArgAction::SetTrue),
            }
        })
        .collect();
    let command = command.args(missing);
    if path != "run" {
        return command;
    }
    // Its --output is --program-output, which has no letter.
    let letter = Arg::new(RUN_O).short('o').hide(true);
    command.arg(letter.num_args(0..=1).action(ArgAction::Append))
}

/// The letter for --output where that is another option.
const RUN_O: &str = "no-o";
const WHY_NO_O: &str = "`weakspot run` has no -o: answers go to standard output, their evidence to --witness FILE; \
                        --program-output says what is shown of the program's output";

/// Whether a command has the option, by whatever name it is known inside.
fn has(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|arg| {
        arg.get_long() == Some(name)
            || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}

fn is_free(command: &Command, letter: char) -> bool {
    command.get_arguments().all(|arg| arg.get_short() != Some(letter))
}

/// Refuses what was added.
pub(super) fn check(matches: &ArgMatches) -> Result<(), Usage> {
    let mut path = String::new();
    let mut matches = matches;
    while let Some((name, inner)) = matches.subcommand() {
        path = format!("{path} {name}");
        matches = inner;
    }
    let path = path.trim_start();
    for Word { name, id, .. } in VOCABULARY {
        if let Ok(true) = matches.try_contains_id(id)
            && matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine)
        {
            let why = reason(path, name).unwrap_or("its --help says what it takes");
            return Err(Usage(format!("`weakspot {path}` has no --{name}: {why}")));
        }
    }
    if path == "run" && matches.contains_id(RUN_O) {
        return Err(Usage(WHY_NO_O.to_owned()));
    }
    Ok(())
}

/// Why a command does not have an option.
pub(super) fn reason(path: &str, option: &str) -> Option<&'static str> {
    let found = REASONS
        .iter()
        .find(|(paths, options, _)| paths.contains(&path) && options.contains(&option));
    found.map(|(.., why)| *why)
}
