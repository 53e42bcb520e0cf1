//! `weakspot litmus`.

mod on_cpu;

use std::time::Instant;

use anyhow::Result;
use weakspot_core::machine::Schedule;
use weakspot_core::why_not::{NoReason, WhyNot};
use weakspot_core::{Limit, Model};
use weakspot_explore::{
    Judgement, NoAnswer, Outcomes, Strategy, final_states, outcomes, outcomes_kept, reason,
};
use weakspot_input::{Input, PROGRAM_ENDINGS, Source, expand};
use weakspot_lang::{Format, Parsed};
use weakspot_report::{
    Head, LitmusAnswer, LitmusCell, LitmusResult, LitmusShown, litmus_states_table, litmus_summary,
    litmus_summary_table,
};

use crate::args::LitmusArgs;
use weakspot_jobs::checkpoint;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::job::{Job, summarise};
use weakspot_jobs::pool::{self, Answer, Listener};
use weakspot_jobs::sweep;

/// Maximum number of final states on an HTML page.
const MOST_STATES: usize = 10_000;

/// So much work is done to say why there is no run, in units of about a microsecond.
const MOST_WORK: u64 = 5_000_000;

/// Answers each test under each model.
pub(crate) fn run(args: &LitmusArgs) -> Result<Exit> {
    let common = &args.common;
    if !common.shared.quiet && !common.shared.is_helper() {
        for folder in args.files.iter().filter(|path| path.is_dir()) {
            let in_c = expand(std::slice::from_ref(folder), None, &["c"]).map_or(0, |f| f.len());
            if in_c > 0 {
                let (name, them) = (folder.display(), if in_c == 1 { "it" } else { "them" });
                eprintln!(
                    "{name}: {in_c} .c left out, which ask nothing about final states: \
                     `weakspot reach` answers for {them}"
                );
            }
        }
    }
    let inputs = expand(&args.files, common.language, &PROGRAM_ENDINGS)?;
    pool::check(common, &inputs)?;
    if let Some(runs) = args.runs {
        return on_cpu::run(args, &inputs, runs);
    }
    let (exit, results) = sweep::run(&inputs, &common.shared, |input| answer(input, args))?;
    let text = || litmus_summary(&results);
    let table = if args.states { litmus_states_table } else { litmus_summary_table };
    summarise(&common.shared, inputs.len(), text, |format| table(format, &results, &common.model));
    Ok(exit)
}

/// One file under all models.
fn answer(input: &Input, args: &LitmusArgs) -> Answer<LitmusResult> {
    let mut job = Litmus {
        args,
        job: Job::new(&args.common.shared, &args.common.model, "litmus", input.name()),
    };
    if let Some((source, parsed)) = job.job.read_in_part(input) {
        let parsed = parsed.with_observed_asked();
        if !parsed.program.forbidden.is_empty() && !args.common.shared.quiet {
            job.job.answer.err +=
                &format!("{}: `weakspot reach` answers for the control points\n", job.job.file);
        }
        if parsed.program.condition.is_some() {
            for &model in &args.common.model {
                job.ask_model(&source, &parsed, model);
            }
        } else {
            let message = match source.format {
                Format::C => {
                    "a program in C asks nothing about final states: `weakspot reach` answers for \
                     its assertions"
                }
                _ => {
                    "the program asks nothing about final states: expected `exists`, `forall` or \
                     `never`, or `weakspot reach` for control points and assertions"
                }
            };
            job.job.refuse(None, message, None, None);
        }
    }
    if job.job.unread.is_some() {
        for &model in &args.common.model {
            job.job.answer.results.push(LitmusResult::unknown(&job.job.file, model));
        }
    } else if job.job.answer.results.is_empty() {
        job.job.answer.results.push(LitmusResult::error(&job.job.file, None));
    }
    job.job.answer
}

struct Litmus<'a> {
    args: &'a LitmusArgs,
    job: Job<'a, LitmusResult>,
}

impl Litmus<'_> {
    fn ask_model(&mut self, source: &Source, parsed: &Parsed, model: Model) {
        let common = &self.args.common;
        let Parsed { program, names, .. } = parsed;
        let start = Instant::now();
        let limits = self.job.limits(&pool::limits(common));
        let listener = &mut Listener::new();
        let asked = ("litmus", model);
        let found = match common.shared.kept_search() {
            None => {
                outcomes(program, model, Strategy::Auto, &limits, listener).map_err(NoAnswer::Fault)
            }
            Some(at) => checkpoint::ask(&mut self.job, at, asked, source, &limits, |keep| {
                outcomes_kept(program, model, keep, &limits, listener)
            }),
        };
        let mut found = match found {
            Ok(found) => found,
            Err(why) => {
                self.job.refuse_answer(Some(model), source, (program, names), why);
                self.job.answer.results.push(LitmusResult::error(&self.job.file, Some(model)));
                return;
            }
        };
        if parsed.too_strong.is_some() && model != Model::Sc {
            found.stopped.get_or_insert(Limit::Conditional);
        }
        let judged = match found.judge(program, model) {
            Ok(judged) => judged,
            Err(rejected) => {
                self.job.refuse_rejected(model, &model.to_string(), &rejected);
                self.job.answer.results.push(LitmusResult::error(&self.job.file, Some(model)));
                return;
            }
        };
        let time = start.elapsed();
        let (run, not_shown) = match self.run_to_show(parsed, model, &mut found, &judged) {
            Ok(run) => (run, None),
            Err(message) => (None, Some(message)),
        };
        let wanted = self.args.show.as_deref();
        let asked = wanted.and_then(|wanted| parsed.asked_state(wanted).ok());
        // The run of a picture is the one that decides.
        let is_shown = wanted.is_some() || common.shared.format.is_picture();
        let reason = match (&run, &not_shown) {
            (None, None) => self.why_not(parsed, model, &found),
            _ => None,
        };
        if reason == Some(Err(NoReason::Allowed)) {
            self.complain_of_axioms(model, wanted.unwrap_or_default());
        }
        let cells = match common.shared.report {
            Some(_) => self.cells(parsed, model, &mut found),
            None => Vec::new(),
        };
        let shown = LitmusShown {
            wanted: asked.as_ref().map_or("", |asked| &asked.text),
            run: run.as_ref(),
            why_not: reason.as_ref().map(|reason| reason.as_ref().map_err(|&why| why)),
        };
        let head = self.job.head(model, &judged.verdict, time, judged.certification());
        let answer = LitmusAnswer {
            head: Head { limit: found.stopped.as_ref(), ..head },
            program,
            names,
            source: &source.text,
            outcomes: &found.set,
            positive: judged.positive,
            negative: judged.negative,
            searched: found.states,
            with_outcomes: self.args.states,
            shown: (is_shown && not_shown.is_none()).then_some(shown),
            cells: &[],
            of_machine: parsed.of_machine,
        };
        let listed = self.args.states && common.shared.format.is_table();
        let result = LitmusResult::of(&answer, listed);
        // A page has room for the states, and for runs.
        let of_page = LitmusAnswer {
            with_outcomes: answer.with_outcomes || found.set.len() <= MOST_STATES,
            shown: run.as_ref().map(|run| LitmusShown { run: Some(run), ..shown }),
            cells: &cells,
            ..answer
        };
        let written = self.job.written_with(&answer, &of_page);
        self.job.say(&written, &judged.verdict);
        self.job.answer.results.push(result);
        if let Some(message) = not_shown {
            self.job.complain(&message);
        }
        if found.set.is_empty() && found.stopped.is_none() && !common.shared.quiet {
            self.job.answer.err += &format!(
                "{}: no run ends under {model}: there is no final state to ask about\n",
                self.job.file
            );
        }
        if let (Some(failure), false) = (found.assertion(), common.shared.quiet) {
            let (line, _) = failure.span.line_column(&source.text);
            self.job.answer.err += &format!(
                "{}: under {model} the assertion in line {line} can fail; what comes after it is \
                 not counted (see `weakspot reach`)\n",
                self.job.file
            );
        }
        let evidence = judged.evidence.as_ref();
        self.job.write_evidence("litmus", source, model, &judged.verdict, evidence);
    }

    /// Why no run ends with the values that `--show` asks for, if that is known.
    fn why_not(
        &self,
        parsed: &Parsed,
        model: Model,
        found: &Outcomes<'_>,
    ) -> Option<Result<WhyNot, NoReason>> {
        let wanted = self.args.show.as_deref().filter(|wanted| !wanted.trim().is_empty())?;
        let components = parsed.asked_state(wanted).ok()?.components?;
        if found.stopped.is_some() || components.is_empty() {
            return None;
        }
        Some(reason(&parsed.program, model, &components, MOST_WORK))
    }

    /// The run that `--show`, a picture or `--report` asks for.
    fn run_to_show(
        &self,
        parsed: &Parsed,
        model: Model,
        found: &mut Outcomes<'_>,
        judged: &Judgement,
    ) -> Result<Option<Schedule>, String> {
        let wanted = self.args.show.as_deref().unwrap_or_default();
        let shared = &self.args.common.shared;
        let draws = shared.format.is_picture() || shared.report.is_some();
        if self.args.show.is_none() && !draws {
            return Ok(None);
        }
        let outcome = if wanted.trim().is_empty() {
            found.decisive(&parsed.program, &judged.verdict)
        } else {
            let asked = parsed.asked_state(wanted).map_err(|e| format!("--show: {e}"))?;
            found.first(|row| asked.prop.holds(row))
        };
        let Some(outcome) = outcome else { return Ok(None) };
        let mut sc = self.sc(parsed, model);
        Ok(found.plain_run_to(&parsed.program, model, sc.as_mut(), &outcome))
    }

    /// The final states of a page.
    fn cells(
        &mut self,
        parsed: &Parsed,
        model: Model,
        found: &mut Outcomes<'_>,
    ) -> Vec<LitmusCell> {
        let limits = self.job.limits(&pool::limits(&self.args.common));
        let (program, models) = (&parsed.program, &self.args.common.model);
        let mut cells = Vec::new();
        for shown in final_states(program, (model, models), found, &limits, &mut Listener::new()) {
            match shown.how {
                Err(Err(NoReason::Allowed)) => self.complain_of_axioms(model, "a final state"),
                how => cells.push(LitmusCell { state: shown.state, how }),
            }
        }
        cells
    }

    fn complain_of_axioms(&mut self, model: Model, what: &str) {
        let message = format!(
            "this is a defect: the axioms of {model} allow {what}, which the search did not find"
        );
        self.job.complain(&message);
    }

    /// What SC reaches, beside another model.
    fn sc<'p>(&self, parsed: &'p Parsed, model: Model) -> Option<Outcomes<'p>> {
        let limits = self.job.limits(&pool::limits(&self.args.common));
        let ask =
            || outcomes(&parsed.program, Model::Sc, Strategy::Auto, &limits, &mut Listener::new());
        (model != Model::Sc).then(ask)?.ok()
    }
}
