//! Measurements of programs, one row per question: as a table and as JSON.

use weakspot_core::Model;

use crate::json::{Object, model_key};
use crate::text::show::counted;

/// What one question about one program cost.
#[derive(Clone, Debug)]
pub struct BenchRow {
    /// The program.
    pub name: String,
    /// The family and the size, if the program is a member of one that grows.
    pub member: Option<(String, usize)>,
    /// How many threads it has.
    pub threads: usize,
    /// How many control points, in all threads together.
    pub points: usize,
    /// How many edges.
    pub edges: usize,
    /// The question.
    pub question: &'static str,
    /// The model that it is about.
    pub model: Model,
    /// How it was to be answered.
    pub algorithm: &'static str,
    /// How that ended.
    pub end: BenchEnd,
    /// States visited.
    pub explored: Option<u64>,
    /// SC searches made, by algorithms that make several.
    pub queries: Option<u64>,
    /// Processor seconds of all threads: the median of all runs.
    pub cpu: Option<f64>,
    /// The least and the most of several runs, and how many there were.
    pub spread: Option<(f64, f64, usize)>,
    /// Seconds on the clock.
    pub wall: f64,
    /// The most memory that the process held at a time, in bytes.
    pub peak: Option<u64>,
    /// What one earlier measurement had: processor seconds, unless it says so.
    pub before: Option<&'static str>,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchEnd {
    /// What was asked holds.
    Holds,
    /// What was asked is violated.
    Violated,
    /// Given up at this kind of limit: `time`, `memory`, `buffer`; `n/a` if the algorithm is not made
    /// for such a program.
    Unknown(String),
    /// No answer, and why.
    Error(String),
}

/// The keys of all rows.
pub const BENCH_COLUMNS: [&str; 21] = [
    "name",
    "family",
    "size",
    "threads",
    "points",
    "edges",
    "question",
    "model",
    "algorithm",
    "verdict",
    "limit.kind",
    "message",
    "explored",
    "queries",
    "cpu_s",
    "cpu_least_s",
    "cpu_most_s",
    "runs",
    "time_s",
    "peak_bytes",
    "before",
];

/// The head of the table.
#[must_use]
pub fn bench_head(columns: usize) -> String {
    let peak = if columns < WIDE { "MiB" } else { "peak MiB" };
    let names = ["question", "algorithm", "verdict", "explored", "RQ", "CPU s", "spread", peak];
    line(names.map(str::to_owned), columns)
}

/// What stands above the rows of a program.
#[must_use]
pub fn bench_program(row: &BenchRow) -> String {
    let threads = counted(row.threads as u64, "thread");
    let points = counted(row.points as u64, "control point");
    let edges = counted(row.edges as u64, "transition");
    format!("{}: {threads}, {points}, {edges}\n", row.name)
}

/// A row of the table.
#[must_use]
pub fn bench_text(row: &BenchRow, columns: usize) -> String {
    let count = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    let verdict = match &row.end {
        BenchEnd::Holds => "holds".to_owned(),
        BenchEnd::Violated => "violated".to_owned(),
        BenchEnd::Unknown(limit) if limit == "n/a" => limit.clone(),
        BenchEnd::Unknown(limit) => format!("{limit} limit"),
        BenchEnd::Error(_) => "error".to_owned(),
    };
    let spread = row.spread.zip(row.cpu).filter(|((_, _, runs), cpu)| *runs > 1 && *cpu > 0.0);
    let indent = if columns < WIDE { 40 } else { 48 };
    let before = row.before.map_or(String::new(), |s| format!("{:>indent$} {s:>13}\n", "before"));
    let cells = [
        format!("{} {}", row.question, model_key(row.model)),
        row.algorithm.to_owned(),
        verdict,
        count(row.explored),
        count(row.queries),
        row.cpu.map_or("-".to_owned(), |s| format!("{s:.3}")),
        spread.map_or("-".to_owned(), |((least, most, _), cpu)| {
            format!("{:.0}%", 100.0 * (most - least) / cpu)
        }),
        row.peak.map_or("-".to_owned(), |b| format!("{:.1}", b as f64 / f64::from(1 << 20))),
    ];
    line(cells, columns) + &before
}

/// Narrower tables leave the spread to JSON.
const WIDE: usize = 79;

fn line(cells: [String; 8], columns: usize) -> String {
    let [question, algorithm, verdict, explored, queries, cpu, spread, peak] = cells;
    if columns < WIDE {
        return format!(
            "{question:10} {algorithm:9} {verdict:10}{explored:>9}{queries:>4}{cpu:>9}{peak:>7}\n"
        );
    }
    let text = format!(
        "  {question:10}  {algorithm:9}  {verdict:12} {explored:>10} {queries:>4} {cpu:>8} \
         {spread:>7} {peak:>8}"
    );
    text + "\n"
}

/// The row as one line of JSON, without a line end.
#[must_use]
pub fn bench_json(row: &BenchRow) -> String {
    let mut o = Object::new();
    o.string("name", &row.name);
    if let Some((family, size)) = &row.member {
        o.string("family", family).raw("size", size);
    }
    o.raw("threads", row.threads).raw("points", row.points).raw("edges", row.edges);
    o.string("question", row.question).string("model", model_key(row.model));
    o.string("algorithm", row.algorithm);
    match &row.end {
        BenchEnd::Holds => o.string("verdict", "holds"),
        BenchEnd::Violated => o.string("verdict", "violated"),
        BenchEnd::Unknown(limit) => {
            let mut kind = Object::new();
            kind.string("kind", limit);
            o.string("verdict", "unknown").raw("limit", kind.end())
        }
        BenchEnd::Error(message) => o.string("verdict", "error").string("message", message),
    };
    let count = |n: Option<u64>| n.map_or("null".to_owned(), |n| n.to_string());
    o.raw("explored", count(row.explored)).raw("queries", count(row.queries));
    o.raw("cpu_s", row.cpu.map_or("null".to_owned(), |s| format!("{s:.6}")));
    if let Some((least, most, runs)) = row.spread {
        o.raw("cpu_least_s", format!("{least:.6}")).raw("cpu_most_s", format!("{most:.6}"));
        o.raw("runs", runs);
    }
    o.raw("time_s", format!("{:.6}", row.wall)).raw("peak_bytes", count(row.peak));
    if let Some(before) = row.before {
        o.string("before", before);
    }
    o.end()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weakspot_core::Drain;

    use super::*;

    fn rows() -> [BenchRow; 3] {
        let done = BenchRow {
            name: "lamport-3".into(),
            member: Some(("lamport".into(), 3)),
            threads: 3,
            points: 30,
            edges: 36,
            question: "reach",
            model: Model::Tso,
            algorithm: "eager",
            end: BenchEnd::Violated,
            explored: Some(1234),
            queries: None,
            cpu: Some(0.0123),
            spread: Some((0.012, 0.0135, 3)),
            wall: 0.0144,
            peak: Some(9 << 20),
            before: None,
        };
        let stopped = BenchRow {
            name: "fig12".into(),
            member: None,
            end: BenchEnd::Unknown("time".into()),
            explored: None,
            cpu: None,
            spread: None,
            peak: None,
            wall: 21.5,
            ..done.clone()
        };
        let robust = BenchRow {
            name: "treiber-4".into(),
            question: "robust",
            model: Model::Pso(Drain::All),
            algorithm: "pending",
            end: BenchEnd::Error("out of \"luck\"".into()),
            queries: Some(1),
            before: Some("> 45"),
            ..stopped.clone()
        };
        [done, stopped, robust]
    }

    #[test]
    fn as_a_table() {
        let rows = rows();
        let table = |columns: usize| {
            let rows_text: String = rows.iter().map(|row| bench_text(row, columns)).collect();
            bench_head(columns) + &bench_program(&rows[0]) + &rows_text
        };
        assert!(table(60).lines().all(|line| line.len() <= 60), "{}", table(60));
        let text = table(80);
        expect![[r#"
              question    algorithm  verdict        explored   RQ    CPU s  spread peak MiB
            lamport-3: 3 threads, 30 control points, 36 transitions
              reach tso   eager      violated           1234    -    0.012     12%      9.0
              reach tso   eager      time limit            -    -        -       -        -
              robust pso  pending    error                 -    1        -       -        -
                                                      before          > 45
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn as_json() {
        let text = rows().map(|r| bench_json(&r)).join("\n");
        expect![[r#"
            {"name":"lamport-3","family":"lamport","size":3,"threads":3,"points":30,"edges":36,"question":"reach","model":"tso","algorithm":"eager","verdict":"violated","explored":1234,"queries":null,"cpu_s":0.012300,"cpu_least_s":0.012000,"cpu_most_s":0.013500,"runs":3,"time_s":0.014400,"peak_bytes":9437184}
            {"name":"fig12","threads":3,"points":30,"edges":36,"question":"reach","model":"tso","algorithm":"eager","verdict":"unknown","limit":{"kind":"time"},"explored":null,"queries":null,"cpu_s":null,"time_s":21.500000,"peak_bytes":null}
            {"name":"treiber-4","threads":3,"points":30,"edges":36,"question":"robust","model":"pso","algorithm":"pending","verdict":"error","message":"out of \"luck\"","explored":null,"queries":1,"cpu_s":null,"time_s":21.500000,"peak_bytes":null,"before":"> 45"}"#]].assert_eq(&text);
    }
}
