//! One vocabulary for all commands: an option of it that a command does not have is refused with the
//! reason, and what to use instead. Such options are not in the help texts.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::meant::Usage;

/// An option that means the same in all commands.
pub(crate) struct Word {
    pub(crate) name: &'static str,
    /// The clap id of the hidden option that refuses it.
    pub(crate) id: &'static str,
    letter: Option<char>,
    has_value: bool,
}

const fn word(name: &'static str, id: &'static str, letter: Option<char>, has_value: bool) -> Word {
    Word { name, id, letter, has_value }
}

/// The vocabulary.
pub(crate) const VOCABULARY: [Word; 16] = [
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

/// Options of it that a command lacks, with blanks between them, and why.
pub(crate) type Lack = (&'static str, &'static str);
pub(crate) type Lacks = &'static [Lack];

pub(crate) const ABOUT_KEEPING: &str = "checkpoint resume";
pub(crate) const ABOUT_QUESTIONS: &str = "model threads fail-fast witness buffer-limit";
/// What commands that only print a table or a text do not have.
pub(crate) const ABOUT_OUTPUT: &str =
    "quiet verbose timeout memory color progress output input-format";

// Why several commands lack something.
pub(crate) const NO_SEARCH: Lack =
    (ABOUT_KEEPING, "it is no search: those of `reach`, `robust`, `litmus` and `run` can be kept");
pub(crate) const ANSWERS_GO_OUT: Lack =
    ("output", "answers go to standard output, and their evidence to --witness FILE");
pub(crate) const EVERY_QUESTION_IS_ANSWERED: Lack =
    ("fail-fast", "every question is answered; the exit code says whether one is violated");
pub(crate) const SC_IS_EXPLORED: Lack =
    ("buffer-limit", "SC executions are explored, never store buffers");

/// Adds to a command what it refuses.
pub(crate) fn add(command: Command, lacks: Lacks) -> Command {
    // Compilers get their arguments as they are.
    if command.is_hide_set() || command.is_disable_help_flag_set() {
        return command;
    }
    VOCABULARY.iter().fold(command, |command, word| {
        let lack = lacks.iter().find(|(names, _)| names.split(' ').any(|name| name == word.name));
        let Some((_, why)) = lack else { return command };
        // For all commands of a list there is one reason, unless the command has its own.
        if reason(&command, word.id).is_some() {
            return command;
        }
        debug_assert!(!has(&command, word.name), "{command} has --{}: {why}", word.name);
        let arg = Arg::new(word.id).long(word.name).help(*why).hide(true);
        let arg = arg.short(word.letter.filter(|letter| is_free(&command, *letter)));
        command.arg(match word.has_value {
            true => arg.num_args(0..=1).action(ArgAction::Append),
            false => arg.num_args(0).action(ArgAction::SetTrue),
        })
    })
}

/// Adds a letter to what a command refuses: one that is short for something in other commands, and for nothing here.
pub(crate) fn add_letter(command: Command, letter: char, why: &'static str) -> Command {
    let arg = Arg::new(NO_LETTER).short(letter).help(why).hide(true);
    command.arg(arg.num_args(0..=1).action(ArgAction::Append))
}

const NO_LETTER: &str = "no-letter";

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
pub(crate) fn check(mut syntax: &Command, mut matches: &ArgMatches) -> Result<(), Usage> {
    let mut path = String::new();
    while let Some((name, inner)) = matches.subcommand()
        && let Some(command) = syntax.find_subcommand(name)
    {
        path = format!("{path} {name}");
        (syntax, matches) = (command, inner);
    }
    let is_typed = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
    for id in VOCABULARY.iter().map(|word| word.id).chain([NO_LETTER]) {
        if let Some((option, why)) = reason(syntax, id)
            && is_typed(id)
        {
            return Err(Usage(format!("`weakspot{path}` has no {option}: {why}")));
        }
    }
    Ok(())
}

/// The option that a command refuses by an argument of clap, and why.
pub(crate) fn reason(command: &Command, id: &str) -> Option<(String, String)> {
    let arg = command.get_arguments().find(|arg| arg.get_id() == id)?;
    let letter = || arg.get_short().map(|letter| format!("-{letter}"));
    let option = arg.get_long().map(|name| format!("--{name}")).or_else(letter)?;
    Some((option, arg.get_help()?.to_string()))
}
