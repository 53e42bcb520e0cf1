//! Many tests: a line for each as it ends, then what failed, then how many.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weakspot_campaign::{Asked, Judged, Stop};
use weakspot_report::{
    RealQuestion, RealTest, RealVerdict, TestEnd, junit, test_line, tests_summary,
};

use crate::args::{OutputFormat, RunArgs};
use crate::real::run::{Subject, answered, debug};
use weakspot_jobs::exit::Exit;
use weakspot_jobs::pool;
use weakspot_jobs::terminal::fitted;

/// A test.
pub(super) struct Test {
    /// Where it comes from.
    pub(super) binary: String,
    /// What it is called there.
    pub(super) name: String,
    pub(super) subject: Subject,
}

impl pool::Named for Test {
    fn name(&self) -> String {
        self.subject.name()
    }
}

/// What came out for a test.
struct Tested {
    binary: String,
    name: String,
    end: TestEnd,
    time: Duration,
    executions: u64,
    verdicts: Vec<RealVerdict>,
    alone: bool,
    stop: Option<Stop>,
    text: String,
}

/// Explores tests, several at a time. `failed`: programs whose tests could not be found out.
pub(super) fn explore(
    args: &RunArgs,
    tests: &[Test],
    skipped: &[String],
    failed: &[(String, String)],
) -> Result<Exit> {
    let since = Instant::now();
    let (mut args, xml) = (args.clone(), args.shared.format == OutputFormat::Junit);
    // Its reports have the words that people read.
    args.shared.format = if xml { OutputFormat::Text } else { args.shared.format };
    let (args, shared) = (&args, &args.shared);
    let text = shared.format == OutputFormat::Text && !xml;
    // One test is explained at once, whatever came out.
    let lines = text && (tests.len() > 1 || !failed.is_empty());
    let (mut exit, mut tested) = pool::run(tests, shared, |test| {
        let since = Instant::now();
        let mut answer = answered(args, &test.subject);
        let outcomes = std::mem::take(&mut answer.results);
        let mut out = String::new();
        let mut results = Vec::new();
        for outcome in outcomes {
            let end = end_of(answer.exit);
            let said = [&answer.out[..], &answer.err].concat();
            let tested = Tested {
                binary: test.binary.clone(),
                name: test.name.clone(),
                end,
                time: since.elapsed(),
                executions: outcome.executions,
                verdicts: outcome.verdicts.into_iter().map(judged).collect(),
                alone: outcome.threads == Some(1),
                stop: outcome.stop,
                text: if shared.format.is_of_objects() { String::new() } else { said },
            };
            out += &test_line(&tested.shown());
            if end == TestEnd::Unknown && !shared.quiet {
                for remark in &outcome.remarks {
                    let _ = writeln!(out, "{:>12} {remark}", "note:");
                }
            }
            if shared.verbose && end != TestEnd::Fail {
                out += &tested.text;
            }
            results.push(tested);
        }
        if lines {
            (answer.out, answer.err) = (out, String::new());
        } else if xml {
            (answer.out, answer.err) = (String::new(), String::new());
        }
        pool::Answer {
            out: answer.out,
            err: answer.err,
            objects: answer.objects,
            exit: answer.exit,
            results,
        }
    })?;
    for (binary, error) in failed {
        exit = exit.max(Exit::Bad);
        let error = Tested {
            binary: binary.clone(),
            name: "(its tests)".to_owned(),
            end: TestEnd::Error,
            time: Duration::ZERO,
            executions: 0,
            verdicts: Vec::new(),
            alone: false,
            stop: None,
            text: format!("error: {binary}: {error}\n"),
        };
        match shared.format {
            format if format.is_of_objects() => eprint!("{}", error.text),
            _ if lines => print!("{}", test_line(&error.shown())),
            _ => {}
        }
        tested.push(error);
    }
    let shown: Vec<RealTest<'_>> = tested.iter().map(Tested::shown).collect();
    if lines {
        let bad = |test: &&RealTest<'_>| matches!(test.end, TestEnd::Fail | TestEnd::Error);
        let mut bad: Vec<&str> = shown.iter().filter(bad).map(|test| test.text).collect();
        // The same mistake may be that of all tests.
        bad.dedup();
        if !bad.is_empty() {
            print!("\nfailures:\n\n{}", fitted(&bad.join("\n"), shared.ascii));
        }
        if !shared.quiet {
            print!("\n{}", fitted(&tests_summary(&shown, skipped, since.elapsed()), shared.ascii));
        }
    } else if !shared.quiet {
        for note in skipped {
            eprintln!("note: skipped {note}");
        }
    }
    if xml {
        print!("{}", junit(&shown, since.elapsed()));
    }
    match (tests, &tested[..]) {
        _ if exit == Exit::Bad => {}
        ([test], [tested]) => debug(args, &test.subject, tested.stop.as_ref())?,
        _ if args.gdb => bail!("--gdb looks at one test: name it, as in `-- --exact tests::push`"),
        _ => {}
    }
    Ok(exit)
}

impl Tested {
    fn shown(&self) -> RealTest<'_> {
        RealTest {
            binary: &self.binary,
            name: &self.name,
            end: self.end,
            time: self.time,
            executions: self.executions,
            verdicts: &self.verdicts,
            alone: self.alone,
            text: &self.text,
        }
    }
}

fn end_of(exit: Exit) -> TestEnd {
    match exit {
        Exit::Holds => TestEnd::Pass,
        Exit::Violated => TestEnd::Fail,
        Exit::Unknown => TestEnd::Unknown,
        Exit::Bad => TestEnd::Error,
    }
}

fn judged(judged: Judged) -> RealVerdict {
    let Judged { asked, model, verdict, advisory, .. } = judged;
    RealVerdict { question: question(asked), model, verdict, advisory }
}

fn question(asked: Asked) -> RealQuestion {
    match asked {
        Asked::Failures => RealQuestion::Failures,
        Asked::Robustness => RealQuestion::Robust,
        Asked::Serializability => RealQuestion::Serial,
        Asked::FencedSerializability => RealQuestion::SerialFenced,
    }
}
