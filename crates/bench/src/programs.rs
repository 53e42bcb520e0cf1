//! `weakspot bench programs`: every question about every program, each in a process of its own.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weakspot_args::ProgramsArgs;
use weakspot_lang::families::Family;
use weakspot_report::{
    Axis, BENCH_COLUMNS, BenchEnd, BenchRow, Mark, Panel, Plot, Rows, bench_head, bench_json,
    bench_program, bench_text,
};

use crate::cell::{Cell, QUESTIONS, Question};
use crate::process::{self, Heard};
use crate::spread::repeated;
use crate::subjects::{self, Subject};
use crate::tables::{Measured, Tables};

/// A row per program and question, and a drawing of the times.
///
/// # Errors
///
/// A name means no program, an end was asked for, or rows cannot be written.
pub fn run(args: &ProgramsArgs, tables: &mut Tables<'_>) -> Result<Measured> {
    let subjects = chosen(&args.programs)?;
    let columns = tables.columns;
    tables.text(format_args!("{}", bench_head(columns)))?;
    let mut lines = Rows::with_columns(tables.format, &BENCH_COLUMNS);
    let mut rows: Vec<(usize, BenchRow)> = Vec::new();
    let mut errors = Vec::new();
    for subject in &subjects {
        for (number, question) in QUESTIONS.iter().enumerate() {
            if !question.is_about(subject) {
                continue;
            }
            if rows.iter().any(|(n, row)| *n == number && is_beyond(subject, row)) {
                continue;
            }
            let row = measure(tables, subject, question, args.timeout)?;
            let is_next = rows.last().is_none_or(|(_, last)| last.name != row.name);
            let program = if is_next { bench_program(&row) } else { String::new() };
            tables.written(
                &mut lines,
                || program + &bench_text(&row, columns),
                || bench_json(&row),
            )?;
            if let BenchEnd::Error(message) = &row.end {
                errors.push(format!("{}, {}: {message}", row.name, question.key()));
            }
            rows.push((number, row));
        }
    }
    tables.note(format_args!(
        "RQ: SC searches made; CPU, peak: of a process that answers only this; CPU: the median of at \
         least three runs after one that warms up, if that takes less than half a second; spread: from \
         the fastest to the slowest, in percent of the median; before: CPU seconds of one earlier measurement, where it does not say nodes. No sizes of a family follow after one that \
         was not done within {} s or 4 GiB.",
        args.timeout.as_secs_f64()
    ))?;
    Ok(Measured { plot: Some(plot(&subjects, &rows, args.timeout)), errors })
}

/// The programs that were asked for: all, or those named, alone or by their families.
fn chosen(words: &[String]) -> Result<Vec<Subject>> {
    let mut all = subjects::all();
    if let Some(word) = words.iter().find(|w| !all.iter().any(|s| s.answers_to(w))) {
        let mut known: Vec<&str> = Vec::new();
        for subject in &all {
            let name = subject.member.map_or(subject.name.as_str(), |(family, _)| family.key());
            if !known.contains(&name) {
                known.push(name);
            }
        }
        bail!("no program or family `{word}`; there are {}", known.join(", "));
    }
    all.retain(|s| words.is_empty() || words.iter().any(|w| s.answers_to(w)));
    Ok(all)
}

/// Whether a smaller member of the same family was too much already.
fn is_beyond(subject: &Subject, row: &BenchRow) -> bool {
    let too_much = matches!(&row.end, BenchEnd::Unknown(l) if l == "time" || l == "memory");
    let family = |name: &String| subject.member.is_some_and(|(f, _)| f.key() == name);
    too_much && row.member.as_ref().is_some_and(|(name, _)| family(name))
}

/// Asks one question in a process of its own.
fn measure(
    tables: &Tables<'_>,
    subject: &Subject,
    question: &Question,
    timeout: Duration,
) -> Result<BenchRow> {
    let program = subject.parse()?.program;
    let points = program.threads.iter().flat_map(|t| &t.points);
    let mut start = Instant::now();
    let cell = ask(tables, subject, question, timeout)?;
    let mut wall = start.elapsed().as_secs_f64();
    let is_done = |end: &BenchEnd| matches!(end, BenchEnd::Holds | BenchEnd::Violated);
    let spread = match cell.cpu.filter(|_| is_done(&cell.end)) {
        Some(first) => repeated(first, || {
            start = Instant::now();
            let again = ask(tables, subject, question, timeout)?;
            wall = wall.min(start.elapsed().as_secs_f64());
            Ok(again.cpu.filter(|_| is_done(&again.end)))
        })?,
        None => None,
    };
    Ok(BenchRow {
        name: subject.name.clone(),
        member: subject.member.map(|(family, n)| (family.key().to_owned(), n)),
        threads: program.threads.len(),
        points: points.clone().count(),
        edges: points.map(|p| p.edges.len()).sum(),
        question: question.question,
        model: question.model,
        algorithm: question.algorithm,
        end: cell.end,
        explored: cell.explored,
        queries: cell.queries,
        cpu: spread.map(|spread| spread.median).or(cell.cpu),
        spread: spread.map(|spread| (spread.least, spread.most, spread.runs)),
        wall,
        peak: cell.peak,
        before: subject.before(&question.key()),
    })
}

fn ask(
    tables: &Tables<'_>,
    subject: &Subject,
    question: &Question,
    timeout: Duration,
) -> Result<Cell> {
    let nothing = |end| Cell { end, explored: None, queries: None, cpu: None, peak: None };
    let limit = format!("{}ms", timeout.as_millis());
    let args = ["bench", "cell", &subject.name, &question.key(), "--timeout", &limit];
    // The search keeps the limit itself; one that does not is ended from here.
    let what = format!("{} {}", subject.name, question.key());
    let patience = timeout + timeout / 4 + Duration::from_secs(2);
    match process::ask(tables, (&what, timeout), &args, patience)? {
        Heard::Late => Ok(nothing(BenchEnd::Unknown("time".to_owned()))),
        Heard::Failed(how) => Ok(nothing(BenchEnd::Error(how))),
        Heard::Text(text) => text.parse(),
    }
}

/// A panel for the programs without size, and one for each family.
fn plot(subjects: &[Subject], rows: &[(usize, BenchRow)], timeout: Duration) -> Plot {
    let single = subjects.iter().filter(|s| s.member.is_none());
    let names: Vec<String> = single.map(|s| s.name.clone()).collect();
    let mark = |series: usize, x: usize, row: &BenchRow| {
        let done = matches!(row.end, BenchEnd::Holds | BenchEnd::Violated);
        let spread =
            row.spread.filter(|(.., runs)| *runs > 1).map(|(least, most, _)| (least, most));
        Mark { series, x, seconds: row.cpu.filter(|_| done), spread }
    };
    let mut panels = Vec::new();
    if !names.is_empty() {
        let place = |row: &BenchRow| names.iter().position(|n| *n == row.name);
        let points = rows.iter().filter_map(|(s, row)| Some(mark(*s, place(row)?, row))).collect();
        panels.push(Panel { title: "programs".into(), axis: Axis::Names(names), points });
    }
    for family in Family::PROGRAMS {
        let size = |row: &BenchRow| match &row.member {
            Some((name, n)) if name == family.key() => Some(*n),
            _ => None,
        };
        let points: Vec<Mark> =
            rows.iter().filter_map(|(s, row)| Some(mark(*s, size(row)?, row))).collect();
        if !points.is_empty() {
            panels.push(Panel { title: family.name().into(), axis: Axis::Size, points });
        }
    }
    let title = "CPU time per program and algorithm".to_owned();
    let series = QUESTIONS.iter().map(|q| q.key().replacen('-', " ", 1).replacen('-', ", ", 1));
    Plot { title, series: series.collect(), limit: timeout.as_secs_f64(), panels }
}
