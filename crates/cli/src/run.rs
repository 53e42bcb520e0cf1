//! `weakspot run`.

mod child;
mod log;
mod symbols;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use weakspot_build::runtime;
use weakspot_core::{Limit, Model, Verdict};
use weakspot_live::Plan;
use weakspot_live::wire::{Message, Place, TracedStep};
use weakspot_report::{
    Explored, MonitorAnswer, RealFailure, RealOvertaking, RealUnserializable, error_json,
    failures_json, failures_text, model_key, real_json, real_statistics, real_text,
    unserializable_json, unserializable_text,
};

use self::child::{Ended, Start, status_text};
use self::log::Replayed;
use self::symbols::Symbols;
use crate::args::{Isolate, OutputFormat, ProgramOutput, RunArgs, RunStrategy};
use crate::exit::Exit;
use crate::pool::{self, Answer};

/// How long an exploration goes on unless the user says something else.
const TIMEOUT: Duration = Duration::from_secs(60);
/// In auto, the preemptions before all executions are explored.
const FIRST_PREEMPTIONS: u32 = 2;
/// How many findings are executed again to be shown.
const MAX_SHOWN: usize = 100;

/// Explores a program and tells what was found.
pub(crate) fn run(args: &RunArgs) -> Result<Exit> {
    if args.model.contains(&Model::Sc) {
        bail!(
            "executions are those of SC, so nothing breaks SC; expected --model tso, pso or pso-own"
        );
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
    exploration.explore(since)?;
    exploration.tell(since)
}

/// An overtaking as it was reported.
struct Overtaking {
    number: u64,
    model: Model,
    store: Place,
    access: Place,
    first: u64,
    schedule: String,
    executions: u64,
}

/// A failure as it was reported.
struct Failure {
    number: u64,
    kind: String,
    thread: Option<u16>,
    place: Option<Place>,
    first: u64,
    schedule: String,
    text: String,
    executions: u64,
}

/// Executions that are not serializable.
struct Unserializable {
    first: u64,
    schedule: String,
    executions: u64,
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
    /// Whether each order of steps was explored, not only one of each class.
    all_orders: bool,
    unserializable: Option<Unserializable>,
    /// Transactions, as the library is told about them.
    transactions: Option<String>,
    remarks: Vec<String>,
}

/// What was heard while one strategy was followed.
#[derive(Default)]
struct Heard {
    modules: Vec<(u64, u64, String)>,
    overtakings: Vec<Overtaking>,
    failures: Vec<Failure>,
    unsupported: Vec<(String, Option<Place>)>,
    /// Bytes that were found to be shared.
    shared: Vec<(u64, u64)>,
    idle: u64,
    cut: u64,
    diverged: Option<u64>,
    unserializable: Option<Unserializable>,
    executions: u64,
    steps: u64,
    /// How it ended.
    done: Option<String>,
    defect: Option<String>,
}

impl Heard {
    fn found(&self) -> bool {
        !(self.overtakings.is_empty() && self.failures.is_empty())
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Module { base, end, path } => self.modules.push((base, end, path)),
            Message::Failure { number, kind, thread, place, execution, schedule, text } => {
                let (first, executions) = (execution, 1);
                self.failures.push(Failure {
                    number,
                    kind,
                    thread,
                    place,
                    first,
                    schedule,
                    text,
                    executions,
                });
            }
            Message::Overtaking {
                number,
                model,
                store,
                access,
                execution,
                schedule,
                fences: _,
            } => {
                let (first, executions) = (execution, 1);
                self.overtakings.push(Overtaking {
                    number,
                    model,
                    store,
                    access,
                    first,
                    schedule,
                    executions,
                });
            }
            Message::Seen { number, executions } => {
                if let Some(found) = self.failures.iter_mut().find(|f| f.number == number) {
                    found.executions = executions;
                }
            }
            Message::Unsupported { what, place } => self.unsupported.push((what, place)),
            Message::Overtaken { number, executions } => {
                if let Some(found) = self.overtakings.iter_mut().find(|o| o.number == number) {
                    found.executions = executions;
                }
            }
            Message::Shared { addr, len } => self.shared.push((addr, len)),
            Message::Again => {
                self.overtakings.clear();
                for failure in &mut self.failures {
                    failure.schedule.clear();
                }
            }
            Message::Token { number, execution, schedule } => {
                if let Some(found) = self.failures.iter_mut().find(|f| f.number == number) {
                    (found.first, found.schedule) = (execution, schedule);
                }
            }
            Message::Diverged { step, thread: _ } => self.diverged = Some(step),
            Message::Cut(executions) => self.cut = executions,
            Message::Unserializable { execution, schedule, executions } => {
                self.unserializable =
                    Some(Unserializable { first: execution, schedule, executions });
            }
            Message::Idle(times) => self.idle = times,
            Message::Progress { executions, steps } => {
                (self.executions, self.steps) = (executions, steps);
                pool::follow_executions(executions, steps);
            }
            Message::Step(_) => {}
            Message::Done { how, executions, steps } => {
                (self.executions, self.steps) = (executions, steps);
                self.done = Some(how);
            }
            Message::Defect(text) => self.defect = Some(text),
        }
    }
}

/// A strategy.
struct Phase {
    name: &'static str,
    /// As the library is told about it.
    plan: Plan,
    /// All that it can explore, if that is less than everything.
    bound: Option<u32>,
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
            all_orders: false,
            unserializable: None,
            transactions: None,
            remarks: Vec::new(),
        }
    }

    fn phases(&self) -> Vec<Phase> {
        let args = self.args;
        let phase = |name, plan| Phase { name, plan, bound: None };
        let bounded =
            |most: Option<u32>| Phase { name: "bounded", plan: Plan::Bounded(most), bound: most };
        let dpor = || phase("dpor", Plan::Dpor);
        match (&args.replay, args.strategy) {
            (Some(schedule), _) => vec![phase("replay", Plan::Replay(schedule.clone()))],
            (None, RunStrategy::Auto) => match args.preemptions {
                Some(most) => vec![bounded(Some(most))],
                None => vec![bounded(Some(FIRST_PREEMPTIONS)), dpor()],
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
            if left.is_zero() || executions == Some(0) {
                break;
            }
            let mut heard = Heard::default();
            let first = self.args.first;
            let config = self.config(&phase, left, executions);
            let ended = child::run(&self.start(left), &config, &mut |message| {
                heard.hear(message);
                first && heard.found()
            })?;
            self.limit = self.limit_of(&phase, &heard, ended, timeout)?;
            self.all_orders = self.limit.is_none() && phase.name == "bounded";
            self.take(phase.name, heard);
            let stopped = matches!(self.limit, Some(Limit::Interrupted | Limit::Time(_)));
            if self.limit.is_none() || stopped || first && self.found() {
                break;
            }
        }
        Ok(())
    }

    fn config(&self, phase: &Phase, left: Duration, executions: Option<u64>) -> String {
        let args = self.args;
        let models: Vec<&str> = args.model.iter().map(|&model| model_key(model)).collect();
        let on = |on: bool| if on { "on" } else { "off" };
        [
            format!("strategy={}{}", phase.plan, self.known()),
            format!("models={}", models.join(",")),
            format!("timeout={}", left.as_millis().max(1)),
            format!("executions={}", executions.unwrap_or(0)),
            format!("steps={} memory={}", args.steps, args.shared.memory),
            format!("isolate={}", if args.isolate == Isolate::Fork { "fork" } else { "memory" }),
            format!("output={}", if args.output == ProgramOutput::All { "all" } else { "first" }),
            format!("reuse={} progress=200", on(args.reuse)),
            format!("fence-transactions={}", on(args.fence_transactions)),
            self.marked(),
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

    /// The transactions for the configuration.
    fn marked(&self) -> String {
        self.transactions.as_ref().map_or(String::new(), |t| format!("transactions={t}"))
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
            (_, Some("complete")) => None,
            (_, Some("incomplete")) if phase.bound.is_some() => phase.bound.map(Limit::Preemptions),
            (Ended::Heard, _) => Some(Limit::Executions(executions)),
            (Ended::Silent(status), _) if heard.modules.is_empty() => bail!(
                "{} {} before it could be controlled; was it compiled by `weakspot cc`, \
                 `weakspot c++` or `weakspot cargo`?",
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

    fn found(&self) -> bool {
        !(self.overtakings.is_empty() && self.failures.is_empty())
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

    /// Says what was found.
    fn tell(&self, since: Instant) -> Result<Answer<()>> {
        let shared = &self.args.shared;
        let mut replays: BTreeMap<String, Replayed> = BTreeMap::new();
        for found in self.overtakings.iter().take(MAX_SHOWN) {
            if !replays.contains_key(&found.schedule) {
                let steps = self.replay(&found.schedule)?;
                replays.insert(found.schedule.clone(), Replayed::new(&steps, &self.symbols));
            }
        }
        let strategy = self.strategies.join(", then ");
        let explored = Explored {
            program: &self.program,
            executions: self.executions,
            steps: self.steps,
            strategy: &strategy,
            remarks: &self.remarks,
            time: since.elapsed(),
        };
        let verdict = |found: bool| match (&self.limit, found) {
            (_, true) => Verdict::Violated,
            (None, false) => Verdict::Holds,
            (Some(limit), false) => Verdict::Unknown(limit.clone()),
        };
        let color = pool::colored(shared.color, std::io::stdout().is_terminal());
        let mut answer: Answer<()> = Answer::new();
        let failed = verdict(!self.failures.is_empty());
        answer.exit = answer.exit.max(Exit::of(&failed));
        let frames: Vec<Vec<String>> = self
            .failures
            .iter()
            .map(|f| f.place.map_or(Vec::new(), |place| self.symbols.lines(place)))
            .collect();
        let threads: Vec<Option<String>> =
            self.failures.iter().map(|f| f.thread.map(log::thread_name)).collect();
        let failures: Vec<RealFailure<'_>> = self
            .failures
            .iter()
            .zip(&frames)
            .zip(&threads)
            .map(|((f, frames), thread)| RealFailure {
                kind: &f.kind,
                text: &f.text,
                thread: thread.as_deref(),
                frames,
                executions: f.executions,
                first: f.first,
                schedule: &f.schedule,
            })
            .collect();
        let details = !shared.quiet;
        answer.out += &match shared.format {
            OutputFormat::Json => failures_json(&explored, Model::Sc, &failed, &failures) + "\n",
            _ => failures_text(&explored, Model::Sc, &failed, &failures, details),
        };
        let mut verdicts: Vec<(Model, Verdict)> = Vec::new();
        for &model in &self.args.model {
            let mut shown: Vec<(&Overtaking, &Replayed, Vec<_>)> = Vec::new();
            for found in self.overtakings.iter().filter(|found| found.model == model) {
                let Some(replayed) = replays.get(&found.schedule) else { continue };
                let report = replayed.report(model, found.store, found.access)?;
                shown.push((found, replayed, report.into_iter().collect()));
            }
            let mut verdict = verdict(self.overtakings.iter().any(|found| found.model == model));
            // Reports depend on the order of steps that do not conflict.
            if verdict == Verdict::Holds && !self.all_orders {
                verdict = Verdict::Unknown(Limit::Classes);
            }
            verdicts.push((model, verdict.clone()));
            let findings: Vec<RealOvertaking<'_>> = shown
                .iter()
                .map(|(found, replayed, reports)| RealOvertaking {
                    shown: MonitorAnswer {
                        file: &self.program,
                        id: None,
                        tables: &replayed.under(model).tables,
                        log: &replayed.under(model).events,
                        model,
                        verdict: &Verdict::Violated,
                        reports,
                        total: 1,
                        unlisted: 0,
                        events: replayed.under(model).events.len() as u64,
                        algorithm: "monitor",
                        remarks: &[],
                        time: Duration::ZERO,
                    },
                    executions: found.executions,
                    first: found.first,
                    schedule: &found.schedule,
                })
                .collect();
            answer.exit = answer.exit.max(Exit::of(&verdict));
            answer.out += &match shared.format {
                OutputFormat::Json => real_json(&explored, model, &verdict, &findings) + "\n",
                _ => real_text(&explored, model, &verdict, &findings, details, color),
            };
        }
        if self.transactions.is_some() {
            self.tell_transactions(&explored, &verdicts, &mut answer)?;
        }
        if let (Some(path), Some(schedule)) = (&self.args.log, &self.args.replay) {
            let steps = self.replay(&schedule.to_string())?;
            log::write(path, Replayed::new(&steps, &self.symbols).under(Model::Tso))?;
        }
        if shared.format == OutputFormat::Text && !shared.quiet {
            answer.out += &real_statistics(&explored);
        }
        Ok(answer)
    }

    /// Says whether transactions are serializable, and with fences at their ends.
    fn tell_transactions(
        &self,
        explored: &Explored<'_>,
        verdicts: &[(Model, Verdict)],
        answer: &mut Answer<()>,
    ) -> Result<()> {
        let shared = &self.args.shared;
        let found = self.unserializable.as_ref();
        let under_sc = match (&self.limit, found) {
            (_, Some(_)) => Verdict::Violated,
            (None, None) => Verdict::Holds,
            (Some(limit), None) => Verdict::Unknown(limit.clone()),
        };
        let shown = found.map(|found| RealUnserializable {
            executions: found.executions,
            first: found.first,
            schedule: &found.schedule,
        });
        let mut say = |model: Model, verdict: &Verdict, fenced: bool| {
            answer.exit = answer.exit.max(Exit::of(verdict));
            let shown = shown.as_ref().filter(|_| !fenced);
            answer.out += &match shared.format {
                OutputFormat::Json => {
                    unserializable_json(explored, model, verdict, fenced, shown) + "\n"
                }
                _ => unserializable_text(explored, model, verdict, fenced, shown),
            };
        };
        say(Model::Sc, &under_sc, false);
        if self.args.fence_transactions {
            let robust = verdicts.iter().find(|(model, _)| *model == Model::Tso);
            let Some((_, robust)) = robust else {
                bail!("fences make a difference under TSO: expected --model tso among others");
            };
            // A program whose transactions end in fences is serializable under TSO if and only if
            // it is robust and serializable under SC.
            let all = [&under_sc, robust];
            let worst = all.iter().find(|v| ***v == Verdict::Violated);
            let worst = worst.or_else(|| all.iter().find(|v| ***v != Verdict::Holds));
            let verdict = worst.map_or(Verdict::Holds, |verdict| (*verdict).clone());
            say(Model::Tso, &verdict, true);
        }
        if let Some(found) = found.filter(|_| !shared.quiet) {
            let steps = self.replay(&found.schedule)?;
            let log = log::Temporary::new(Replayed::new(&steps, &self.symbols).under(Model::Tso))?;
            answer.out += &crate::serial::explain(log.path(), shared)?;
        }
        Ok(())
    }

    /// The steps of an execution.
    fn replay(&self, schedule: &str) -> Result<Vec<TracedStep>> {
        let config = format!(
            "strategy=replay:{schedule}{} trace=on executions=1 steps={} memory={}",
            self.known() + " " + &self.marked(),
            self.args.steps,
            self.args.shared.memory
        );
        let mut steps = Vec::new();
        child::run(&self.start(Duration::from_secs(60)), &config, &mut |message| {
            if let Message::Step(step) = message {
                steps.push(step);
            }
            false
        })?;
        Ok(steps)
    }
}
