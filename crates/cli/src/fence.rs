//! `weakspot fence`.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use weakspot_core::certify::{Rejected, Shows};
use weakspot_core::fence_proof::check_claim_while;
use weakspot_core::{
    Certification, Evidence, Fence, FenceCosts, Goal, Instr, Limits, Model, PlacedFence, Program,
    Verdict, same_program,
};
use weakspot_explore::{FenceQuestion, Fences, NoAnswer, fenced, fences, misses_goal};
use weakspot_input::{CHECKED_ENDINGS, Input, Source, expand};
use weakspot_lang::patch::{Patches, has_fence, patches_with};
use weakspot_lang::{Format, Parsed};
use weakspot_report::{FenceAnswer, FenceLine, FenceWitness, Head, input_hash};

use crate::args::{FenceArgs, FenceGoal};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::job::Job;
use weakspot_jobs::output;
use weakspot_jobs::pool::{self, Answer, Listener};

/// Answers each program under each model.
pub(crate) fn run(args: &FenceArgs) -> Result<Exit> {
    let common = &args.common;
    let inputs = expand(&args.files, (common.language, &common.options), &CHECKED_ENDINGS)?;
    pool::check(common, &inputs)?;
    if args.output.is_some() && inputs.len() > 1 {
        bail!("--output takes one file and one model");
    }
    let limits = pool::limits_among(common, &inputs);
    let (exit, _) = pool::run(&inputs, &common.shared, |input| answer(input, args, &limits))?;
    Ok(exit)
}

/// One file under all models.
fn answer(input: &Input, args: &FenceArgs, limits: &Limits) -> Answer<()> {
    let mut job = Job::new(&args.common.shared, &args.common.model, "fence", input.name());
    let Some((source, parsed)) = job.read(input) else { return job.answer };
    if args.goal == FenceGoal::Safe && !forbids_something(&parsed.program) {
        let expected = match source.format {
            Format::C => "`assert` in some thread",
            Format::Litmus => "`forall` or `~exists` about final states",
            _ => "`never at`, an assertion, or `forall` or `~exists` about final states",
        };
        let message = &format!(
            "the program forbids nothing that fences could prevent: expected {expected}; or --goal \
             robust"
        );
        job.refuse(None, message, None, None);
        return job.answer;
    }
    for &model in &args.common.model {
        ask_model(&mut job, args, &source, &parsed, model, limits);
    }
    job.answer
}

/// Whether there is something to keep from happening. An `exists` only asks that something can.
fn forbids_something(program: &Program) -> bool {
    let asked = Goal::Safe.question(program);
    let mut edges = asked.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    asked.condition.is_some()
        || !asked.forbidden.is_empty()
        || edges.any(|e| matches!(e.instr, Instr::Assert(_)))
}

fn ask_model(
    job: &mut Job<'_, ()>,
    args: &FenceArgs,
    source: &Source,
    parsed: &Parsed,
    model: Model,
    limits: &Limits,
) {
    let start = Instant::now();
    let goal = match args.goal {
        FenceGoal::Robust => Goal::Robust,
        FenceGoal::Safe => Goal::Safe,
    };
    let patches = match patches_with(source.format, &source.text, &source.setting) {
        Ok(patches) => patches,
        Err(diagnostic) => {
            let why = format!("failed to place fences in the text: {}", diagnostic.message);
            return job.refuse(Some(model), &why, None, None);
        }
    };
    let stores = has_fence(source.format, Fence::StoreStore);
    let costs =
        FenceCosts { full: args.cost.full, store_store: stores.then_some(args.cost.store_store) };
    let question = FenceQuestion { model, goal, costs };
    let limits = &job.limits(limits);
    let (found, mut certification) = match find(parsed, &patches, question, limits) {
        Ok(found) => found,
        Err(why) => {
            let of = (&parsed.program, &parsed.names);
            return job.refuse_answer(Some(model), source, of, why);
        }
    };
    let lines: Option<Vec<FenceLine>> = found.fences.as_ref().map(|fences| {
        fences.iter().zip(&found.reasons).map(|(f, why)| line(&patches, *f, *why)).collect()
    });
    let patched = found.fences.as_ref().map(|fences| patches.patched(fences));
    let counts = args.cost.full == 1 && args.cost.store_store == 1;
    // The steps of these runs go over the edges of the places.
    let asked = goal.question(&patches.places.program);
    // One that no fence prevents, if there is one.
    let missed = found.clauses.iter().min_by_key(|clause| !clause.hit_by.is_empty());
    let missed = missed.map(|clause| (&asked, &clause.run));
    let time = start.elapsed();
    let witness = match witness(job, parsed, &patches, question, (&found, limits)) {
        Ok(witness) => witness,
        Err(why) => {
            let of = (&parsed.program, &parsed.names);
            return job.refuse_answer(Some(model), source, of, why);
        }
    };
    if witness.as_ref().is_some_and(|(_, is_checked)| *is_checked) {
        certification = Certification::Checked;
    }
    let head = job.head(model, &found.verdict, time, certification);
    let answer = FenceAnswer {
        head: Head { limit: found.limit.as_ref(), ..head },
        names: &parsed.names,
        source: &source.text,
        goal,
        fences: lines.as_deref(),
        patched: patched.as_deref(),
        run: missed,
        optimal: found.optimal,
        cost: found.fences.as_ref().filter(|_| !counts).map(|fences| costs.total(fences)),
        searched: found.states,
        queries: found.queries,
    };
    let written = job.written(&answer);
    job.say(&written, &found.verdict);
    if let Some(path) = &args.output {
        write_patch(job, path, patched.as_deref());
    }
    match witness {
        Some((witness, _)) => {
            let input_hash = input_hash(source.identity().as_bytes());
            let text = || Ok(FenceWitness { input_hash, ..witness }.to_json());
            job.write_witness(found.verdict == Verdict::Violated, text);
        }
        None => job.lack_witness(),
    }
}

/// The witness that `--witness` asks for, but for the input's hash, and whether all of it was checked. There is none if it is not
/// known what reaches the goal, or if only the text with fences was searched.
fn witness(
    job: &Job<'_, ()>,
    parsed: &Parsed,
    patches: &Patches,
    question: FenceQuestion,
    (found, limits): (&Fences, &Limits),
) -> Result<Option<(FenceWitness, bool)>, NoAnswer> {
    let FenceQuestion { model, goal, costs } = question;
    let is_known = found.fences.is_some() || found.optimal && found.limit.is_none();
    let is_same =
        found.clauses.is_empty() || same_program(&parsed.program, &patches.places.program);
    if job.shared.witness.is_none() || !is_known || !is_same {
        return Ok(None);
    }
    let (mut fences, mut enough) = (None, Certification::Checked);
    if let Some(chosen) = &found.fences {
        let refused = |_| NoAnswer::Rejected(Rejected::Fences("the text with fences is refused"));
        let program = goal.question(&patches.program(chosen).map_err(refused)?);
        let shows = match goal {
            Goal::Robust => Shows::Robust,
            Goal::Safe => Shows::Everything,
        };
        let searched = (Some(Evidence::Exhausted { states: 0 }), Certification::TooLarge);
        let made = job.checkable((&program, model), shows, limits, searched)?;
        enough = made.1;
        fences = made.0.map(|evidence| (chosen.clone(), evidence));
    }
    let witness = FenceWitness {
        input_hash: String::new(),
        model,
        goal,
        costs,
        verdict: found.verdict.clone(),
        fences,
        optimal: found.optimal,
        clauses: found.clauses.clone(),
    };
    let claimed = witness.claimed();
    let mut go_on = || limits.check(0).is_ok() && !pool::interrupted();
    let asked = (model, goal);
    let is_checked = match check_claim_while(&patches.places, asked, &costs, claimed, &mut go_on) {
        Ok(()) => enough == Certification::Checked,
        Err(Rejected::TooLarge(_)) => false,
        Err(rejected) => return Err(NoAnswer::Rejected(rejected)),
    };
    Ok(Some((witness, is_checked)))
}

/// The fences, checked once more on the text that the user gets.
fn find(
    parsed: &Parsed,
    patches: &Patches,
    question: FenceQuestion,
    limits: &Limits,
) -> Result<(Fences, Certification), NoAnswer> {
    let FenceQuestion { model, goal, .. } = question;
    let places = &patches.places;
    let found = fences(places, question, limits, &mut Listener::new())?;
    let certification = found.certification();
    let mut found = found.into_answer();
    // That nothing cheaper does is only shown for the program that was searched.
    found.optimal &= same_program(&parsed.program, &places.program);
    let Some(chosen) = &found.fences else { return Ok((found, certification)) };
    let program = patches
        .program(chosen)
        .map_err(|_| NoAnswer::Rejected(Rejected::Fences("the text with fences is refused")))?;
    if same_program(&program, &fenced(places, chosen)) {
        return Ok((found, certification));
    }
    let none = chosen.is_empty();
    match misses_goal(&program, model, goal, limits, &mut Listener::new())?.0 {
        // The patched text is parsed again and searched, so the proof no longer covers it.
        Verdict::Holds => {
            // Nothing is cheaper than no fence at all.
            found.optimal |= none;
            Ok((found, Certification::TooLarge))
        }
        Verdict::Violated => {
            Err(NoAnswer::Rejected(Rejected::Fences("the text with fences misses the goal")))
        }
        Verdict::Unknown(limit) => {
            let found = Fences { fences: None, optimal: false, limit: Some(limit), ..found };
            Ok((found, certification))
        }
    }
}

/// A fence as it is told to the user.
fn line(
    patches: &Patches,
    fence: PlacedFence,
    keeps: Option<(weakspot_core::Span, weakspot_core::Span)>,
) -> FenceLine {
    let site = &patches.sites[fence.place];
    let mut threads: Vec<_> = patches.places.places[fence.place].iter().map(|e| e.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    FenceLine { threads, kind: fence.kind, after: site.after, before: site.before, keeps }
}

fn write_patch(job: &mut Job<'_, ()>, path: &Path, patched: Option<&str>) {
    let Some(text) = patched else {
        let path = path.display();
        job.answer.err += &format!("{}: {path} is not written: no fences are known\n", job.file);
        return;
    };
    if let Err(error) = output::write(path, text) {
        job.complain(&format!("{error:#}"));
    }
}
