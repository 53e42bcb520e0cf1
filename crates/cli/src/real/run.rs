//! `weakspot run`: what was typed becomes a question, and answers become text. `campaign` does the rest.

mod question;
mod show;
pub(crate) mod witness;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use weakspot_build::runtime;
use weakspot_campaign::{
    Campaign, Child, Control, Facts, Judged, Linked, Program, Record, SoFar, Stop,
};
use weakspot_jobs::checkpoint::{self, CheckpointFile};
use weakspot_jobs::kept::Kept;
use weakspot_jobs::options;
use weakspot_report::{RunWitness, error_json};

use self::question::{question, with_kept};
use crate::args::{ProgramOutput, Replay, RunArgs, RunProgramArgs};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::output;
use weakspot_jobs::pool::{self, Answer};

/// What is explored.
pub(crate) struct Subject {
    pub(crate) program: Program,
    /// What explores it, and what that is told about it, as words for a shell.
    pub(crate) explorer: &'static str,
    pub(crate) target: Vec<String>,
    /// Where its schedules are kept, and the words that lead to it if one of them is named.
    pub(crate) kept: Kept,
    pub(crate) kept_target: Vec<String>,
}

impl pool::Named for Subject {
    fn name(&self) -> String {
        self.program.name.clone()
    }
}

/// What came out.
pub(crate) struct Outcome {
    pub(crate) executions: u64,
    /// How many threads the execution with most of them had, if that is known.
    pub(crate) threads: Option<u64>,
    /// What the user should know.
    pub(crate) remarks: Vec<String>,
    /// Everything that was asked; nothing if there was an error.
    pub(crate) verdicts: Vec<Judged>,
    /// Where a debugger is to stop, if one is wanted.
    pub(crate) stop: Option<Stop>,
}

/// Explores a program and says what was found.
pub(crate) fn run(args: &RunProgramArgs) -> Result<Exit> {
    if let (Some(option), Some(program)) = (&args.doubtful, args.command.first())
        && !args.run.shared.quiet
    {
        let program = program.display();
        eprintln!(
            "note: `{option}` goes to {program}: options of `weakspot run` come before the program \
             (`weakspot run -- {program} ...` if that is meant)"
        );
    }
    Ok(explore(&args.run, &[Subject::program(args.command.clone())])?.0)
}

impl Subject {
    /// A program by the command that runs it.
    fn program(command: Vec<OsString>) -> Subject {
        let words: Vec<String> = command.iter().map(|w| w.to_string_lossy().into_owned()).collect();
        let program = Program {
            command,
            name: words.join(" "),
            folder: None,
            root: None,
            variables: Vec::new(),
            rust: false,
            harness: false,
            linked: Linked::nothing(),
        };
        let (target, kept_target) = (words.clone(), words);
        let kept = Kept::below(Path::new(".weakspot"));
        Subject { program, explorer: "weakspot run", target, kept, kept_target }
    }
}

/// Explores programs, several at a time, and says what was found.
pub(crate) fn explore(args: &RunArgs, subjects: &[Subject]) -> Result<(Exit, Vec<Outcome>)> {
    let (exit, outcomes) = pool::run(subjects, &args.shared, |subject| answered(args, subject))?;
    if let ([subject], [outcome]) = (subjects, &outcomes[..])
        && exit != Exit::Bad
    {
        debug(args, subject, outcome.stop.as_ref())?;
    }
    Ok((exit, outcomes))
}

/// Executes again in a debugger what was replayed, if that is wanted.
pub(crate) fn debug(args: &RunArgs, subject: &Subject, stop: Option<&Stop>) -> Result<()> {
    match stop {
        Some(stop) => Ok(child(args, &subject.program, &unpacked()?).debug(stop)?),
        None if args.gdb => bail!("there is no step at which gdb could stop"),
        None => Ok(()),
    }
}

fn unpacked() -> Result<PathBuf> {
    runtime::unpack().map_err(|message| anyhow!(message))
}

fn child<'a>(args: &RunArgs, program: &'a Program, runtime: &'a Path) -> Child<'a> {
    let shown = args.output != ProgramOutput::None;
    Child { program, runtime, shown, scratch: args.scratch, record: None }
}

/// What is said about a program, whatever came out.
pub(crate) fn answered(args: &RunArgs, subject: &Subject) -> Answer<Outcome> {
    answer(args, subject).unwrap_or_else(|error| {
        let mut answer = Answer::new();
        answer.exit = Exit::Bad;
        answer.err = format!("error: {error:#}\n");
        let name = subject.program.name.clone();
        if args.shared.format.is_of_objects() {
            answer.out = error_json(&name, "run", None, &format!("{error:#}"), None) + "\n";
        }
        let (remarks, verdicts) = (Vec::new(), Vec::new());
        answer.results.push(Outcome {
            executions: 0,
            threads: None,
            remarks,
            verdicts,
            stop: None,
        });
        answer
    })
}

fn answer(args: &RunArgs, subject: &Subject) -> Result<Answer<Outcome>> {
    let program = &subject.program;
    let replayed = match args.replay {
        Some(Replay::Number(number)) => Some((number, subject.kept.read(number)?)),
        _ => None,
    };
    if let Some((number, entry)) = replayed.as_ref().filter(|(_, e)| e.program != program.name) {
        bail!("schedule {number} is of {}, not of {}", entry.program, program.name);
    }
    let kept = replayed.as_ref().map(|(_, entry)| with_kept(args, entry)).transpose()?;
    let args = kept.as_ref().unwrap_or(args);
    let (number, shared) = replayed.map_or((None, Vec::new()), |(n, e)| (Some(n), e.shared));
    let kept = args
        .shared
        .checkpoint
        .as_ref()
        .map(|at| checkpoint::of_exploration(at, &program.command, &options::exploring(args)));
    let kept = kept.transpose()?;
    let (found, elapsed) = explored(args, subject, shared, kept.as_ref())?;
    let mut answer = Answer::new();
    let verdicts = found.verdicts();
    let counted = verdicts.iter().filter(|judged| !judged.advisory);
    answer.exit = counted.map(|judged| Exit::of(&judged.verdict)).fold(Exit::Holds, Exit::max);
    show::show((args, number), subject, &found, elapsed, &mut answer)?;
    if let Some(path) = &args.shared.witness {
        let name = &program.name;
        let write = |witness: RunWitness| output::write(path, witness.to_json());
        match witness::witness(args, subject, &found).and_then(|w| w.map(write).transpose()) {
            Ok(Some(())) => {}
            Ok(None) => {
                answer.err += &format!("{name}: no witness is written: the answer is unknown\n");
            }
            // The answer stands.
            Err(error) => {
                answer.err += &format!("error: {name}: {error:#}\n");
                answer.exit = Exit::Bad;
            }
        }
    }
    if let Some(kept) = kept {
        let is_unknown = answer.exit == Exit::Unknown;
        let (failed, text) = checkpoint::said_of(kept, is_unknown, args.shared.quiet);
        answer.err += &text;
        answer.exit = answer.exit.max(if failed { Exit::Bad } else { Exit::Holds });
    }
    answer.results.push(Outcome {
        executions: found.executions,
        threads: found.threads,
        remarks: found.remarks,
        verdicts,
        stop: found.stop,
    });
    Ok(answer)
}

/// What comes of the question, and how long that took. `shared`: the memory that is known to be shared.
fn explored(
    args: &RunArgs,
    subject: &Subject,
    shared: Vec<(u64, u64)>,
    kept: Option<&CheckpointFile>,
) -> Result<(weakspot_campaign::Answer, Duration)> {
    let listener = Listener { since: Instant::now() };
    let program = &subject.program;
    let question = question(args, shared)?;
    let facts = match pool::interrupted() {
        true => Facts::unread(program),
        false => Facts::of(program, &question)?,
    };
    let runtime = unpacked()?;
    let record = kept.map(|file| Record::new(file)).transpose()?;
    let child = Child { record: record.as_ref(), ..child(args, program, &runtime) };
    let campaign =
        Campaign { question: &question, facts: &facts, runtime: &child, control: &listener };
    Ok((campaign.answer()?, listener.elapsed()))
}

/// The clock, the progress line and Ctrl-C of an exploration.
pub(crate) struct Listener {
    pub(crate) since: Instant,
}

impl Control for Listener {
    fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn interrupted(&self) -> bool {
        pool::interrupted()
    }

    fn progress(&self, so_far: SoFar) {
        let SoFar { strategy, executions, steps, findings } = so_far;
        pool::follow_executions(strategy, [executions, steps, findings]);
    }
}
