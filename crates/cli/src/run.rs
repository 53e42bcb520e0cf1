//! `weakspot run`.

mod advice;
mod child;
mod heard;
mod isolate;
mod log;
pub(crate) mod measure;
mod sources;
mod symbols;
mod tell;
mod unseen;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use weakspot_build::runtime;
use weakspot_core::{Drain, Limit, Model, Verdict};
use weakspot_live::Plan;
use weakspot_live::wire::{Message, PlacedFence};
use weakspot_report::{error_json, model_key};

use self::child::{Ended, Start};
pub(crate) use self::child::{libraries, status_text};
use self::heard::{Failure, Heard, Overtaking, Unserializable};
use self::symbols::Symbols;
use crate::args::{Isolate, OutputFormat, ProgramOutput, RunArgs, RunProgramArgs, RunStrategy};
use crate::exit::Exit;
use crate::pool::{self, Answer};

/// How many bytes may say what is shared.
const MOST_KNOWN: usize = 60_000;
/// So many executions show which bytes are shared.
const LEARNT: u64 = 2000;
/// In auto, the preemptions before all executions are explored, and how many executions of these are
/// looked at at most: what is found has few preemptions, but there are too many to wait for.
const FIRST_PREEMPTIONS: u32 = 2;
const FIRST_EXECUTIONS: u64 = 1000;

/// What is explored.
pub(crate) struct Subject {
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// What it is called.
    pub(crate) name: String,
    /// What explores it, and what that is told about it.
    pub(crate) explorer: &'static str,
    pub(crate) target: String,
    /// Where it runs, if not here, and what it finds in its environment.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) variables: Vec<(&'static str, OsString)>,
    /// Whether it was written in Rust, and made by cargo.
    pub(crate) rust: bool,
    /// Whether it is one test in its harness.
    pub(crate) harness: bool,
}

impl pool::Named for Subject {
    fn name(&self) -> String {
        self.name.clone()
    }
}

/// What came out.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) executions: u64,
    /// For SC and the models that were watched for; nothing if there was an error.
    pub(crate) verdicts: Vec<(Model, Verdict)>,
}

/// Explores a program and tells what was found.
pub(crate) fn run(args: &RunProgramArgs) -> Result<Exit> {
    let subject = Subject::program(args.command.clone());
    Ok(explore(&args.run, &[subject])?.0)
}

impl Subject {
    /// A program by the command that runs it.
    fn program(command: Vec<OsString>) -> Subject {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let name = words.join(" ");
        Subject {
            command,
            explorer: "weakspot run",
            target: name.clone(),
            name,
            folder: None,
            variables: Vec::new(),
            rust: false,
            harness: false,
        }
    }
}

/// Explores programs, several at a time, and tells what was found.
pub(crate) fn explore(args: &RunArgs, subjects: &[Subject]) -> Result<(Exit, Vec<Outcome>)> {
    pool::run(subjects, &args.shared, |subject| {
        answer(args, subject).unwrap_or_else(|error| {
            let mut answer = Answer::new();
            answer.exit = Exit::Bad;
            answer.err = format!("error: {error:#}\n");
            if args.shared.format == OutputFormat::Json {
                answer.out =
                    error_json(&subject.name, "run", None, &format!("{error:#}"), None) + "\n";
            }
            let (name, verdicts) = (subject.name.clone(), Vec::new());
            answer.results.push(Outcome { name, executions: 0, verdicts });
            answer
        })
    })
}

fn answer(args: &RunArgs, subject: &Subject) -> Result<Answer<Outcome>> {
    let since = Instant::now();
    let [program, ..] = &subject.command[..] else { bail!("no program was named") };
    symbols::check_instrumented(&child::find(program)?)?;
    let runtime = runtime::unpack().map_err(|message| anyhow!(message))?;
    let mut exploration = Exploration::new(args, subject, runtime);
    exploration.find_transactions()?;
    exploration.find_updates()?;
    exploration.find_isolation()?;
    exploration.explore(since)?;
    exploration.tell(since)
}

/// A program while it is explored.
struct Exploration<'a> {
    args: &'a RunArgs,
    subject: &'a Subject,
    runtime: PathBuf,
    symbols: Symbols,
    overtakings: Vec<Overtaking>,
    failures: Vec<Failure>,
    /// Of all strategies together.
    executions: u64,
    steps: u64,
    /// The strategies that were followed.
    strategies: Vec<&'static str>,
    /// Bytes that were found to be shared.
    shared: Vec<(u64, u64)>,
    /// Why not everything was explored; nothing if it was.
    limit: Option<Limit>,
    unserializable: Option<Unserializable>,
    /// It is looked at as if it had these.
    fences: Vec<PlacedFence>,
    until: Until,
    /// The models for which overtakings may be missing, because accesses overlap in part.
    mixed: Vec<Model>,
    /// Each execution has a process of its own.
    fork: bool,
    /// Transactions, as the library is told about them.
    transactions: Option<String>,
    /// Atomic updates that are not instrumented, as the library is told about them.
    traps: String,
    remarks: Vec<String>,
}

/// How long an exploration goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// To its end.
    End,
    /// Until something is found.
    Found,
    /// Until an access overtakes a store.
    Overtaken,
}

/// A strategy.
struct Phase {
    name: &'static str,
    /// As the library is told about it.
    plan: Plan,
    /// All that it can explore, if that is less than everything.
    bound: Option<u32>,
    /// At most so many executions, if another one follows.
    most: Option<u64>,
}

impl<'a> Exploration<'a> {
    fn new(args: &'a RunArgs, subject: &'a Subject, runtime: PathBuf) -> Exploration<'a> {
        Exploration {
            args,
            subject,
            runtime,
            symbols: Symbols::below(subject.folder.clone()),
            overtakings: Vec::new(),
            failures: Vec::new(),
            executions: 0,
            steps: 0,
            strategies: Vec::new(),
            shared: Vec::new(),
            limit: Some(Limit::Executions(0)),
            unserializable: None,
            fences: Vec::new(),
            until: if args.first { Until::Found } else { Until::End },
            mixed: Vec::new(),
            fork: false,
            transactions: None,
            traps: String::new(),
            remarks: Vec::new(),
        }
    }

    fn phases(&self) -> Vec<Phase> {
        let args = self.args;
        let phase = |name, plan| Phase { name, plan, bound: None, most: None };
        let bounded = |bound| Phase { bound, ..phase("bounded", Plan::Bounded(bound)) };
        let first = || Phase { most: Some(FIRST_EXECUTIONS), ..bounded(Some(FIRST_PREEMPTIONS)) };
        let dpor = || phase("dpor", Plan::Dpor);
        match (&args.replay, args.strategy) {
            (Some(schedule), _) => vec![phase("replay", Plan::Replay(schedule.clone()))],
            (None, RunStrategy::Auto) => match args.preemptions {
                Some(most) => vec![bounded(Some(most))],
                None => vec![first(), dpor()],
            },
            (None, RunStrategy::Bounded) => vec![bounded(args.preemptions)],
            (None, RunStrategy::Dpor) => vec![dpor()],
            (None, RunStrategy::Random) => vec![phase("random", Plan::Random { seed: args.seed })],
            (None, RunStrategy::Pct) => {
                vec![phase("pct", Plan::Pct { depth: args.depth, seed: args.seed })]
            }
        }
    }

    /// Follows one strategy after the other, until one says that it has explored everything.
    fn explore(&mut self, since: Instant) -> Result<()> {
        let timeout = self.args.shared.timeout;
        let phases = self.phases();
        let last = phases.len() - 1;
        for (i, phase) in phases.into_iter().enumerate() {
            let left = timeout.saturating_sub(since.elapsed());
            // Those that follow need time, too.
            let left = if i < last { left / 2 } else { left };
            let executions = self.args.executions.map(|most| most.saturating_sub(self.executions));
            let executions = [executions, phase.most].into_iter().flatten().min();
            if left.is_zero() || executions == Some(0) {
                break;
            }
            let (mut ended, mut heard) = self.follow(&phase, left, executions)?;
            if self.args.replay.is_some() && heard.diverged.is_some() {
                // When the schedule was made, more was known to be shared.
                self.learn(left)?;
                (ended, heard) = self.follow(&phase, left, executions)?;
            }
            let limit = self.limit_of(&phase, &heard, ended, timeout)?;
            // A strategy that only comes first leaves the time to those that come after it.
            let enough = phase.most.is_some_and(|most| heard.executions >= most);
            self.limit = if enough { phase.bound.map(Limit::Preemptions) } else { limit };
            self.take(phase.name, heard);
            let stopped = matches!(self.limit, Some(Limit::Interrupted));
            if self.limit.is_none() || stopped || self.is_enough() {
                break;
            }
        }
        Ok(())
    }

    /// Follows one strategy.
    fn follow(
        &self,
        phase: &Phase,
        left: Duration,
        executions: Option<u64>,
    ) -> Result<(Ended, Heard)> {
        let mut heard = Heard::default();
        let config = self.config(phase, left, executions);
        let ended = child::run(&self.start(left), &config, &mut |message| {
            heard.hear(message);
            heard.is_enough(self.until)
        })?;
        Ok((ended, heard))
    }

    /// Finds out which bytes are shared.
    fn learn(&mut self, left: Duration) -> Result<()> {
        let plan = Plan::Bounded(Some(FIRST_PREEMPTIONS));
        let phase = Phase { name: "bounded", plan, bound: None, most: None };
        let config = self.config(&phase, left, Some(LEARNT));
        let mut shared = Vec::new();
        child::run(&self.start(left), &config, &mut |message| {
            if let Message::Shared { addr, len } = message {
                shared.push((addr, len));
            }
            false
        })?;
        self.shared.extend(shared);
        Ok(())
    }

    fn config(&self, phase: &Phase, left: Duration, executions: Option<u64>) -> String {
        let args = self.args;
        let models: Vec<&str> = self.watched().iter().map(|&model| model_key(model)).collect();
        let on = |on: bool| if on { "on" } else { "off" };
        [
            format!("strategy={}{}", phase.plan, self.known(self.shared.len())),
            self.under(),
            if models.is_empty() { String::new() } else { format!("models={}", models.join(",")) },
            format!("timeout={}", left.as_millis().max(1)),
            format!("hang={}", (left / 10).as_millis().clamp(200, 2000)),
            format!("executions={}", executions.unwrap_or(0)),
            format!("steps={} memory={}", args.steps, self.memory()),
            format!("isolate={}", if self.fork { "fork" } else { "memory" }),
            format!("output={}", if args.output == ProgramOutput::All { "all" } else { "first" }),
            format!("reuse={} codes={} progress=200", on(args.reuse), on(self.subject.rust)),
            format!("fence-transactions={}", on(args.fence_transactions)),
            self.marked(),
            self.fenced(),
            self.traps.clone(),
        ]
        .join(" ")
    }

    fn start(&self, left: Duration) -> Start<'_> {
        Start {
            subject: self.subject,
            runtime: &self.runtime,
            output: self.args.output,
            // The library stops by itself, and should have the time to say so.
            timeout: left + Duration::from_secs(5),
        }
    }

    /// The models that executions are watched for.
    fn watched(&self) -> &[Model] {
        if self.args.under.is_some() { &[] } else { &self.args.model }
    }

    /// How many bytes the program may allocate: the library around it needs some, too.
    fn memory(&self) -> u64 {
        self.args.shared.memory / 4
    }

    /// The buffers for the configuration.
    fn under(&self) -> String {
        self.args.under.map_or(String::new(), |model| format!("under={}", model_key(model)))
    }

    /// The command that explores the program as it was, without schedule and program.
    fn command(&self) -> String {
        let args = self.args;
        let mut words = vec![self.subject.explorer.to_owned()];
        match args.under {
            Some(model) => words.push(format!("--under {}", model_key(model))),
            None if args.model != [Model::Tso, Model::Pso(Drain::All)] => {
                let models: Vec<&str> = args.model.iter().map(|&model| model_key(model)).collect();
                words.push(format!("--model {}", models.join(",")));
            }
            None => {}
        }
        if !args.transaction.is_empty() {
            words.push(format!("--transaction {}", args.transaction.join(",")));
        }
        let flags = [
            (args.transactions, "--transactions"),
            (args.fence_transactions, "--fence-transactions"),
            (args.reuse, "--reuse"),
            (args.isolate == Isolate::Fork, "--isolate fork"),
        ];
        words.extend(flags.iter().filter(|(on, _)| *on).map(|(_, flag)| (*flag).to_owned()));
        words.join(" ")
    }

    /// The transactions for the configuration.
    fn marked(&self) -> String {
        self.transactions.as_ref().map_or(String::new(), |t| format!("transactions={t}"))
    }

    /// The fences for the configuration.
    fn fenced(&self) -> String {
        let fences: Vec<String> = self.fences.iter().map(PlacedFence::to_string).collect();
        if fences.is_empty() { String::new() } else { format!("fences={}", fences.join(",")) }
    }

    /// Finds the functions that are transactions.
    fn find_transactions(&mut self) -> Result<()> {
        let args = self.args;
        if args.transactions {
            self.transactions = Some("marked".to_owned());
        }
        if !args.transaction.is_empty() {
            let [program, ..] = &self.subject.command[..] else { return Ok(()) };
            let found = symbols::functions(&child::find(program)?, &args.transaction)?;
            let parts: Vec<String> =
                found.iter().map(|(start, len)| format!("{start:#x}+{len:#x}")).collect();
            self.transactions = Some(parts.join(","));
        }
        Ok(())
    }

    /// Finds the atomic updates inside of Rust's standard library.
    fn find_updates(&mut self) -> Result<()> {
        if let (true, [program, ..]) = (self.subject.rust, &self.subject.command[..]) {
            let found = unseen::updates(&child::find(program)?)?;
            for (key, sites) in [("traps", found.seen), ("quiet-traps", found.quiet)] {
                let parts: Vec<String> =
                    sites.iter().map(|(at, len)| format!("{at:#x}+{len:#x}")).collect();
                if !parts.is_empty() {
                    self.traps += &format!(" {key}={}", parts.join(","));
                }
            }
            if self.subject.harness {
                self.traps += " harness=on";
            }
        }
        Ok(())
    }

    /// What was known to be shared at some time, which schedules of that time depend on.
    fn known(&self, first: usize) -> String {
        let mut pieces: Vec<(u64, u64)> =
            self.shared.iter().take(first).map(|&(addr, len)| (addr, addr + len)).collect();
        pieces.sort_unstable();
        pieces.dedup_by(|next, last| {
            let together = next.0 <= last.1;
            if together {
                last.1 = last.1.max(next.1);
            }
            together
        });
        let mut text = String::new();
        for (from, to) in pieces {
            // There is no room for more in a variable; the library will find out by itself.
            if text.len() > MOST_KNOWN {
                break;
            }
            text += if text.is_empty() { " shared=" } else { "," };
            text += &format!("{from:#x}+{:#x}", to - from);
        }
        text
    }

    /// Why a strategy has not explored everything.
    fn limit_of(
        &self,
        phase: &Phase,
        heard: &Heard,
        ended: Ended,
        timeout: Duration,
    ) -> Result<Option<Limit>> {
        if let Some(defect) = &heard.defect {
            bail!("{defect}; this is a defect of weakspot, please report it with the program");
        }
        let executions = self.executions + heard.executions;
        Ok(match (ended, heard.done.as_deref()) {
            (Ended::Interrupted, _) => Some(Limit::Interrupted),
            (Ended::Overdue, _) | (_, Some("timeout")) => Some(Limit::Time(timeout)),
            // What it would have done otherwise is not known.
            (_, Some("complete" | "incomplete")) if !heard.unsupported.is_empty() => {
                Some(Limit::Uncontrolled)
            }
            (_, Some("complete")) if heard.idle > 0 => Some(Limit::Loops),
            (_, Some("complete")) => None,
            (_, Some("incomplete")) if phase.bound.is_some() => phase.bound.map(Limit::Preemptions),
            (Ended::Heard, _) => Some(Limit::Executions(executions)),
            (Ended::Silent(status), _) if heard.modules.is_empty() => bail!(
                "{} {} before it could be controlled; does it run on its own, and was it compiled by \
                 `weakspot cc` or `weakspot c++`?",
                self.subject.name,
                status_text(status)
            ),
            (Ended::Silent(status), _) => bail!(
                "{} {} under control; this is a defect of weakspot, please report it with the \
                 program",
                self.subject.name,
                status_text(status)
            ),
        })
    }

    fn is_enough(&self) -> bool {
        match self.until {
            Until::End => false,
            Until::Found => !(self.overtakings.is_empty() && self.failures.is_empty()),
            Until::Overtaken => !self.overtakings.is_empty(),
        }
    }

    /// Adds what was heard.
    fn take(&mut self, name: &'static str, heard: Heard) {
        self.strategies.push(name);
        self.shared.extend(heard.shared);
        let known = self.shared.len();
        if let Some(step) = heard.diverged {
            self.remark(format!(
                "the schedule could not be followed beyond step {step}: it is of another program, \
                 or the program depends on something outside of it"
            ));
        }
        if heard.cut > 0 {
            let steps = self.args.steps;
            self.remark(format!("some executions were cut off after {steps} steps (--steps)"));
        }
        if self.symbols.is_empty() {
            heard
                .modules
                .into_iter()
                .for_each(|(base, end, path)| self.symbols.add(base, end, path));
        }
        for new in heard.overtakings {
            let key = |o: &Overtaking| (o.model, o.store, o.access);
            match self.overtakings.iter_mut().find(|old| key(old) == key(&new)) {
                Some(old) => old.executions += new.executions,
                None => {
                    let first = self.executions + new.first;
                    self.overtakings.push(Overtaking { first, known, ..new });
                }
            }
        }
        for new in heard.failures {
            let same = |old: &&mut Failure| {
                old.kind == new.kind && old.place == new.place && old.text == new.text
            };
            match self.failures.iter_mut().find(same) {
                Some(old) => old.executions += new.executions,
                None => {
                    let first = self.executions + new.first;
                    self.failures.push(Failure { first, known, ..new });
                }
            }
        }
        for (what, place) in heard.unsupported {
            let at = place.map_or(String::new(), |p| format!(" at {}", self.symbols.text(p)));
            self.remark(format!("the program calls {what}{at}, which cannot be controlled"));
        }
        self.mixed.extend(heard.mixed);
        if heard.exits > 0 && !self.subject.rust {
            let (exits, all) = (heard.exits, heard.executions);
            self.remark(format!(
                "{exits} of {all} executions by {name} ended with an exit code that is not 0, which is no \
                 failure"
            ));
        }
        if heard.idle > 0 {
            self.remark(
                "threads that read the same again and again were taken to wait for another one"
                    .to_owned(),
            );
        }
        // The main thread begins and ends, whatever it does.
        if heard.steps <= 2 * heard.executions && heard.executions > 0 && !self.subject.rust {
            self.remark(
                "no access to shared memory was seen: was the program compiled by `weakspot cc`?"
                    .to_owned(),
            );
        }
        if let Some(new) = heard.unserializable {
            match &mut self.unserializable {
                Some(old) => old.executions += new.executions,
                none => {
                    let first = self.executions + new.first;
                    *none = Some(Unserializable { first, known, ..new });
                }
            }
        }
        self.executions += heard.executions;
        self.steps += heard.steps;
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}
