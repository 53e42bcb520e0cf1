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

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use weakspot_build::runtime;
use weakspot_core::{Drain, Limit, Model};
use weakspot_live::Plan;
use weakspot_live::wire::PlacedFence;
use weakspot_report::{error_json, model_key};

use self::child::{Ended, Start, status_text};
use self::heard::{Failure, Heard, Overtaking, Unserializable};
use self::symbols::Symbols;
use crate::args::{OutputFormat, ProgramOutput, RunArgs, RunStrategy};
use crate::exit::Exit;
use crate::pool::{self, Answer};

/// How long an exploration goes on unless the user says something else.
const TIMEOUT: Duration = Duration::from_secs(60);
/// In auto, the preemptions before all executions are explored, and how many executions of these are
/// looked at at most: what is found has few preemptions, but there are too many to wait for.
const FIRST_PREEMPTIONS: u32 = 2;
const FIRST_EXECUTIONS: u64 = 1000;

/// Explores a program and tells what was found.
pub(crate) fn run(args: &RunArgs) -> Result<Exit> {
    if args.model.contains(&Model::Sc) {
        bail!(
            "executions are those of SC, so nothing breaks SC; expected --model tso, pso or pso-own"
        );
    }
    if let Some(model @ (Model::Sc | Model::Pso(Drain::Own))) = args.under {
        bail!("buffers of {model} are not executed; expected --under tso or pso");
    }
    if args.shared.format == OutputFormat::Dot {
        bail!(
            "--format dot is for one execution: --log writes it, and `weakspot monitor` draws it"
        );
    }
    let (exit, _) = pool::run(std::slice::from_ref(args), &args.shared, |args| {
        answer(args).unwrap_or_else(|error| {
            let mut answer: Answer<()> = Answer::new();
            answer.exit = Exit::Bad;
            answer.err = format!("error: {error:#}\n");
            if args.shared.format == OutputFormat::Json {
                let program = args.command.first().map_or("".into(), |p| p.to_string_lossy());
                answer.out = error_json(&program, "run", None, &format!("{error:#}"), None) + "\n";
            }
            answer
        })
    })?;
    Ok(exit)
}

fn answer(args: &RunArgs) -> Result<Answer<()>> {
    let since = Instant::now();
    let [program, ..] = &args.command[..] else { bail!("no program was named") };
    symbols::check_instrumented(&child::find(program)?)?;
    let runtime = runtime::unpack().map_err(|message| anyhow!(message))?;
    let mut exploration = Exploration::new(args, runtime);
    exploration.find_transactions()?;
    exploration.find_isolation()?;
    exploration.explore(since)?;
    exploration.tell(since)
}

/// A program while it is explored.
struct Exploration<'a> {
    args: &'a RunArgs,
    program: String,
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
    /// Each execution has a process of its own.
    fork: bool,
    /// It is looked at as if it had these.
    fences: Vec<PlacedFence>,
    until: Until,
    /// Transactions, as the library is told about them.
    transactions: Option<String>,
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
    fn new(args: &'a RunArgs, runtime: PathBuf) -> Exploration<'a> {
        let words: Vec<String> =
            args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Exploration {
            args,
            program: words.join(" "),
            runtime,
            symbols: Symbols::default(),
            overtakings: Vec::new(),
            failures: Vec::new(),
            executions: 0,
            steps: 0,
            strategies: Vec::new(),
            shared: Vec::new(),
            limit: Some(Limit::Executions(0)),
            unserializable: None,
            fork: false,
            fences: Vec::new(),
            until: if args.first { Until::Found } else { Until::End },
            transactions: None,
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
        let timeout = self.args.shared.timeout.unwrap_or(TIMEOUT);
        for phase in self.phases() {
            let left = timeout.saturating_sub(since.elapsed());
            let executions = self.args.executions.map(|most| most.saturating_sub(self.executions));
            let executions = [executions, phase.most].into_iter().flatten().min();
            if left.is_zero() || executions == Some(0) {
                break;
            }
            let mut heard = Heard::default();
            let until = self.until;
            let config = self.config(&phase, left, executions);
            let ended = child::run(&self.start(left), &config, &mut |message| {
                heard.hear(message);
                heard.is_enough(until)
            })?;
            self.limit = self.limit_of(&phase, &heard, ended, timeout)?;
            self.take(phase.name, heard);
            let stopped = matches!(self.limit, Some(Limit::Interrupted | Limit::Time(_)));
            if self.limit.is_none() || stopped || self.is_enough() {
                break;
            }
        }
        Ok(())
    }

    fn config(&self, phase: &Phase, left: Duration, executions: Option<u64>) -> String {
        let args = self.args;
        let models: Vec<&str> = self.watched().iter().map(|&model| model_key(model)).collect();
        let on = |on: bool| if on { "on" } else { "off" };
        [
            format!("strategy={}{}", phase.plan, self.known()),
            self.under(),
            if models.is_empty() { String::new() } else { format!("models={}", models.join(",")) },
            format!("timeout={}", left.as_millis().max(1)),
            format!("hang={}", (left / 10).as_millis().clamp(200, 2000)),
            format!("executions={}", executions.unwrap_or(0)),
            format!("steps={} memory={}", args.steps, args.shared.memory),
            format!("isolate={}", if self.fork { "fork" } else { "memory" }),
            format!("output={}", if args.output == ProgramOutput::All { "all" } else { "first" }),
            format!("reuse={} progress=200", on(args.reuse)),
            format!("fence-transactions={}", on(args.fence_transactions)),
            self.marked(),
            self.fenced(),
        ]
        .join(" ")
    }

    fn start(&self, left: Duration) -> Start<'_> {
        Start {
            command: &self.args.command,
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

    /// The buffers for the configuration.
    fn under(&self) -> String {
        self.args.under.map_or(String::new(), |model| format!("under={}", model_key(model)))
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
        if args.fence_transactions && args.transaction.is_empty() && !args.transactions {
            bail!("--fence-transactions needs --transaction FUNCTION, or --transactions");
        }
        if args.transactions {
            self.transactions = Some("marked".to_owned());
        }
        if !args.transaction.is_empty() {
            let [program, ..] = &args.command[..] else { return Ok(()) };
            let found = symbols::functions(&child::find(program)?, &args.transaction)?;
            let parts: Vec<String> =
                found.iter().map(|(start, len)| format!("{start:#x}+{len:#x}")).collect();
            self.transactions = Some(parts.join(","));
        }
        Ok(())
    }

    /// What is known to be shared, which schedules depend on.
    fn known(&self) -> String {
        let parts: Vec<String> =
            self.shared.iter().map(|(addr, len)| format!("{addr:#x}+{len:#x}")).collect();
        if parts.is_empty() { String::new() } else { format!(" shared={}", parts.join(",")) }
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
            (_, Some("complete")) => None,
            (_, Some("incomplete")) if phase.bound.is_some() => phase.bound.map(Limit::Preemptions),
            (Ended::Heard, _) => Some(Limit::Executions(executions)),
            (Ended::Silent(status), _) if heard.modules.is_empty() => bail!(
                "{} {} before it could be controlled; does it run on its own, and was it compiled by \
                 `weakspot cc` or `weakspot c++`?",
                self.program,
                status_text(status)
            ),
            (Ended::Silent(status), _) => bail!(
                "{} {} under control; this is a defect of weakspot, please report it with the \
                 program",
                self.program,
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
                    self.overtakings.push(Overtaking { first, ..new });
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
                    self.failures.push(Failure { first, ..new });
                }
            }
        }
        for (what, place) in heard.unsupported {
            let at = place.map_or(String::new(), |p| format!(" at {}", self.symbols.text(p)));
            self.remark(format!("the program calls {what}{at}, which cannot be controlled"));
        }
        if heard.idle > 0 {
            self.remark(
                "threads that read the same again and again were taken to wait for another one"
                    .to_owned(),
            );
        }
        // The main thread begins and ends, whatever it does.
        if heard.steps <= 2 * heard.executions && heard.executions > 0 {
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
                    *none = Some(Unserializable { first, ..new });
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
