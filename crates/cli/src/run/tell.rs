//! What was found, in words or JSON, each finding executed again and checked.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weakspot_core::{Certification, Limit, Model, Verdict};
use weakspot_live::wire::{Message, TracedStep};
use weakspot_live::{OpKind, late};
use weakspot_report::{
    Explored, Head, MonitorAnswer, RealFailure, RealOvertaking, RealUnserializable, failures_json,
    failures_text, real_advice_json, real_advice_text, real_json, real_statistics, real_text,
    unserializable_json, unserializable_text,
};

use super::heard::Overtaking;
use super::log::{self, Replayed};
use super::{Exploration, Outcome, child};
use crate::args::OutputFormat;
use crate::exit::Exit;
use crate::pool::Answer;
use crate::terminal;

/// How many findings are executed again to be shown.
const MAX_SHOWN: usize = 100;
/// How many late stores of a failure are told.
const MAX_LATE: usize = 10;

impl Exploration<'_> {
    /// Says what was found.
    pub(super) fn tell(&self, since: Instant) -> Result<Answer<Outcome>> {
        let shared = &self.args.shared;
        let mut replays: BTreeMap<String, Replayed> = BTreeMap::new();
        for found in self.overtakings.iter().take(MAX_SHOWN) {
            if !replays.contains_key(&found.schedule) {
                let steps = self.replay(&found.schedule, found.known)?;
                replays.insert(found.schedule.clone(), Replayed::new(&steps, &self.symbols));
            }
        }
        let strategy = self.strategies.join(", then ");
        let command = self.command();
        let explored = Explored {
            program: &self.subject.name,
            command: &command,
            target: &self.subject.target,
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
        let color = terminal::colored(shared.color, std::io::stdout().is_terminal());
        let mut answer = Answer::new();
        let failed = verdict(!self.failures.is_empty());
        answer.exit = answer.exit.max(Exit::of(&failed));
        let frames: Vec<Vec<String>> = self
            .failures
            .iter()
            .map(|f| f.place.map_or(Vec::new(), |place| self.symbols.lines(place)))
            .collect();
        let threads: Vec<Option<String>> =
            self.failures.iter().map(|f| f.thread.map(log::thread_name)).collect();
        let mut delays: Vec<Vec<String>> = Vec::new();
        for f in &self.failures {
            let shown = self.args.under.is_some() && !f.schedule.is_empty();
            let steps = if shown && delays.len() < MAX_SHOWN {
                self.replay(&f.schedule, f.known)?
            } else {
                Vec::new()
            };
            delays.push(self.late(&steps));
        }
        let failures: Vec<RealFailure<'_>> = self
            .failures
            .iter()
            .zip(&frames)
            .zip(&threads)
            .zip(&delays)
            .map(|(((f, frames), thread), delays)| RealFailure {
                delays,
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
        let under = self.args.under.unwrap_or(Model::Sc);
        answer.out += &match shared.format {
            OutputFormat::Json => failures_json(&explored, under, &failed, &failures) + "\n",
            _ => failures_text(&explored, under, &failed, &failures, details),
        };
        let mut verdicts: Vec<(Model, Verdict)> = Vec::new();
        for &model in self.watched() {
            let mut shown: Vec<(&Overtaking, &Replayed, Vec<_>)> = Vec::new();
            let mut lost = false;
            for found in self.overtakings.iter().filter(|found| found.model == model) {
                let Some(replayed) = replays.get(&found.schedule) else { continue };
                let report = replayed.report(model, found.store, found.access)?;
                match report {
                    Some(report) => shown.push((found, replayed, vec![report])),
                    None => lost = true,
                }
            }
            let verdict = match shown.is_empty() {
                true if lost => Verdict::Unknown(Limit::Unrepeatable),
                true if self.mixed.contains(&model) && self.limit.is_none() => {
                    Verdict::Unknown(Limit::Overlap)
                }
                none => verdict(!none),
            };
            verdicts.push((model, verdict.clone()));
            let frames: Vec<[Vec<String>; 2]> = shown
                .iter()
                .map(|(found, ..)| [found.store, found.access].map(|at| self.symbols.lines(at)))
                .collect();
            let findings: Vec<RealOvertaking<'_>> = shown
                .iter()
                .zip(&frames)
                .map(|((found, replayed, reports), [store, access])| RealOvertaking {
                    frames: [store, access],
                    shown: MonitorAnswer {
                        head: Head {
                            file: &self.subject.name,
                            question: "run",
                            model,
                            verdict: &Verdict::Violated,
                            limit: None,
                            time: Duration::ZERO,
                            certified: Certification::Checked,
                        },
                        id: None,
                        tables: &replayed.under(model).tables,
                        log: &replayed.under(model).events,
                        reports,
                        total: 1,
                        unlisted: 0,
                        events: replayed.under(model).events.len() as u64,
                        algorithm: "monitor",
                        remarks: &[],
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
        if self.args.fences {
            let advice = self.advise()?;
            answer.out += &match shared.format {
                OutputFormat::Json => real_advice_json(&explored, &advice) + "\n",
                _ => real_advice_text(&explored, &advice),
            };
        }
        if let (Some(path), Some(schedule)) = (&self.args.log, &self.args.replay) {
            let steps = self.replay(&schedule.to_string(), self.shared.len())?;
            log::write(path, Replayed::new(&steps, &self.symbols).under(Model::Tso))?;
        }
        if shared.format == OutputFormat::Text && !shared.quiet {
            answer.out += &real_statistics(&explored);
        }
        verdicts.insert(0, (under, failed));
        let (name, executions) = (self.subject.name.clone(), self.executions);
        answer.results.push(Outcome { name, executions, verdicts });
        Ok(answer)
    }

    /// Says whether transactions are serializable, and with fences at their ends.
    fn tell_transactions(
        &self,
        explored: &Explored<'_>,
        verdicts: &[(Model, Verdict)],
        answer: &mut Answer<Outcome>,
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
            let steps = self.replay(&found.schedule, found.known)?;
            let log = log::Temporary::new(Replayed::new(&steps, &self.symbols).under(Model::Tso))?;
            answer.out += &crate::serial::explain(log.path(), shared)?;
        }
        Ok(())
    }

    /// The late stores of an execution, in words.
    fn late(&self, steps: &[TracedStep]) -> Vec<String> {
        let shown = |step: &TracedStep| {
            let word = if step.kind == OpKind::Read { "rd" } else { "wr" };
            let name = self.symbols.data(step.addr).unwrap_or_else(|| format!("{:#x}", step.addr));
            let at = step.place.map_or(String::new(), |p| format!("  at {}", self.symbols.text(p)));
            format!("{word} {name}{at}")
        };
        let mut told: Vec<String> = Vec::new();
        for (store, by) in late(steps) {
            let (thread, store) = (log::thread_name(steps[store].thread), shown(&steps[store]));
            let text = format!("{thread}  {store} reaches memory after {}", shown(&steps[by]));
            if told.len() < MAX_LATE && !told.contains(&text) {
                told.push(text);
            }
        }
        told
    }

    /// The steps of an execution.
    fn replay(&self, schedule: &str, known: usize) -> Result<Vec<TracedStep>> {
        let config = format!(
            "strategy=replay:{schedule}{} trace=on executions=1 steps={} memory={} {}",
            [self.known(known), self.marked(), self.under()].join(" "),
            self.args.steps,
            self.memory(),
            self.traps
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
