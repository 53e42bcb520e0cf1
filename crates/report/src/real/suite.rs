//! Many tests of a crate: a line for each, how many came out how, and the XML of JUnit.

use std::fmt::Write;
use std::time::Duration;

use weakspot_core::{Limit, Model, Names, Verdict};

use crate::exchange::{Case, TestEnd, suites};
use crate::text::limit::limit_text;
use crate::text::show::{counted, grouped, plain};

/// What came out for a test.
#[derive(Clone, Copy, Debug)]
pub struct RealTest<'a> {
    /// Where it comes from: the package, and its target if that is another one.
    pub binary: &'a str,
    /// What it is called there.
    pub name: &'a str,
    /// How it ended.
    pub end: TestEnd,
    /// How long it took.
    pub time: Duration,
    /// How many executions were explored.
    pub executions: u64,
    /// Everything that was asked about it, and under which model. Empty after an error.
    pub verdicts: &'a [RealVerdict],
    /// It starts no second thread.
    pub alone: bool,
    /// What is to be said about it.
    pub text: &'a str,
}

impl TestEnd {
    fn word(self) -> &'static str {
        match self {
            TestEnd::Pass => "PASS",
            TestEnd::Fail => "FAIL",
            TestEnd::Unknown => "UNKNOWN",
            TestEnd::Error => "ERROR",
        }
    }
}

/// What is asked about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealQuestion {
    /// Does an execution fail?
    Failures,
    /// Can an access overtake a store?
    Robust,
    /// Are transactions serializable?
    Serial,
    /// Would they be with a fence at the end of each?
    SerialFenced,
}

/// A verdict, and what it is about.
#[derive(Clone, Debug)]
pub struct RealVerdict {
    /// What was asked.
    pub question: RealQuestion,
    /// Under which model.
    pub model: Model,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it is only advice.
    pub advisory: bool,
}

/// What came out, in words: about what, and what. Failures and pairs of a model are one.
fn cells(verdicts: &[RealVerdict]) -> Vec<(String, &'static str)> {
    let mut cells: Vec<(String, &'static str)> = Vec::new();
    for v in verdicts {
        let (good, bad, heading) = match v.question {
            RealQuestion::Failures => ("holds", "fails", v.model.to_string()),
            RealQuestion::Robust => ("robust", "breaks SC", v.model.to_string()),
            RealQuestion::Serial => ("serializable", "not serializable", "transactions".to_owned()),
            RealQuestion::SerialFenced => ("serializable", "not serializable", "fenced".to_owned()),
        };
        let word = match v.verdict {
            Verdict::Holds => good,
            Verdict::Violated => bad,
            Verdict::Unknown(_) => "unknown",
        };
        match cells.iter_mut().find(|(known, _)| *known == heading) {
            // That it fails says more than why, and that it does not less than why not.
            Some((_, known)) if *known != "fails" => *known = word,
            Some(_) => {}
            None => cells.push((heading, word)),
        }
    }
    cells
}

/// A line about a test.
#[must_use]
pub fn test_line(test: &RealTest<'_>) -> String {
    let (binary, name) = (plain(test.binary), plain(test.name));
    let mut line =
        format!("{:>12} {} {binary} {name}: {}", test.end.word(), clock(test.time), said(test));
    if test.executions > 0 {
        let _ = write!(line, " ({})", counted(test.executions, "execution"));
    }
    line + "\n"
}

fn clock(time: Duration) -> String {
    format!("[{:>8.3}s]", time.as_secs_f64())
}

/// What came out under each model, and why something is not known.
fn said(test: &RealTest<'_>) -> String {
    if test.verdicts.is_empty() {
        return "not explored".to_owned();
    }
    let words: Vec<String> =
        cells(test.verdicts).iter().map(|(about, word)| format!("{about} {word}")).collect();
    let mut said = words.join(", ");
    if let Some(limit) = why_unknown(test) {
        let _ = write!(said, ": {}", limit_text(limit, &Names::default()));
    }
    said
}

fn why_unknown<'a>(test: &RealTest<'a>) -> Option<&'a Limit> {
    // What counts comes first.
    let (counts, advice): (Vec<_>, Vec<_>) = test.verdicts.iter().partition(|v| !v.advisory);
    counts.into_iter().chain(advice).find_map(|v| match &v.verdict {
        Verdict::Unknown(limit) => Some(limit),
        Verdict::Holds | Verdict::Violated => None,
    })
}

/// How many tests came out how, and what was left out.
#[must_use]
pub fn tests_summary(tests: &[RealTest<'_>], skipped: &[String], time: Duration) -> String {
    let count = |end: TestEnd| tests.iter().filter(|test| test.end == end).count();
    let mut out = String::new();
    for note in skipped {
        let _ = writeln!(out, "{:>12} {note}", "SKIP");
    }
    let _ = write!(
        out,
        "{:>12} {} {}: {} hold, {} violated, {} unknown",
        "Summary",
        clock(time),
        counted(tests.len() as u64, "test"),
        grouped(count(TestEnd::Pass) as u128),
        grouped(count(TestEnd::Fail) as u128),
        grouped(count(TestEnd::Unknown) as u128),
    );
    if count(TestEnd::Error) > 0 {
        let _ = write!(out, ", {} with errors", count(TestEnd::Error));
    }
    out.push('\n');
    match tests.iter().filter(|test| test.alone).count() {
        0 => {}
        1 => out.push_str("1 test starts no second thread\n"),
        n => {
            let _ = writeln!(out, "{} tests start no second thread", grouped(n as u128));
        }
    }
    out
}

/// All tests as JUnit writes them: a suite for each binary.
#[must_use]
pub fn junit(tests: &[RealTest<'_>], time: Duration) -> String {
    suites(&tests.iter().map(case).collect::<Vec<_>>(), time)
}

fn case<'a>(test: &RealTest<'a>) -> Case<'a> {
    Case {
        suite: test.binary,
        name: test.name.to_owned(),
        end: test.end,
        time: test.time,
        message: said(test),
        text: test.text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDS: [RealVerdict; 1] = [RealVerdict {
        question: RealQuestion::Failures,
        model: Model::Sc,
        verdict: Verdict::Holds,
        advisory: false,
    }];

    fn test<'a>(name: &'a str, end: TestEnd) -> RealTest<'a> {
        RealTest {
            binary: "a::b",
            name,
            end,
            time: Duration::from_millis(21),
            executions: 1,
            verdicts: &HOLDS,
            alone: end == TestEnd::Pass,
            text: "a < b && \"c\"\u{1b}",
        }
    }

    #[test]
    fn a_line_for_each_and_how_many() {
        let tests = [test("one", TestEnd::Pass), test("two", TestEnd::Fail)];
        assert_eq!(
            test_line(&tests[0]),
            "        PASS [   0.021s] a::b one: SC holds (1 execution)\n"
        );
        let limit = Limit::Time(Duration::from_secs(10));
        let verdicts = [RealVerdict {
            question: RealQuestion::Robust,
            model: Model::Tso,
            verdict: Verdict::Unknown(limit),
            advisory: false,
        }];
        let unknown =
            RealTest { verdicts: &verdicts, executions: 0, ..test("x", TestEnd::Unknown) };
        assert_eq!(
            test_line(&unknown),
            "     UNKNOWN [   0.021s] a::b x: TSO unknown: the search stopped at the time limit of \
             10 s\n"
        );
        let skipped = ["a::c: it has no harness".to_owned()];
        assert_eq!(
            tests_summary(&tests, &skipped, Duration::from_secs(1)),
            "        SKIP a::c: it has no harness\n     \
             Summary [   1.000s] 2 tests: 1 hold, 1 violated, 0 unknown\n\
             1 test starts no second thread\n"
        );
    }

    #[test]
    fn junit_is_xml() {
        let tests = [test("one", TestEnd::Pass), test("<two>", TestEnd::Fail)];
        assert_eq!(
            junit(&tests, Duration::from_secs(1)),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"weakspot\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"1.000\">\n  \
             <testsuite name=\"a::b\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"0.042\">\n    \
             <testcase classname=\"a::b\" name=\"one\" time=\"0.021\"/>\n    \
             <testcase classname=\"a::b\" name=\"&lt;two&gt;\" time=\"0.021\">\n      \
             <failure message=\"SC holds\">a &lt; b &amp;&amp; &quot;c&quot;\u{fffd}</failure>\n    \
             </testcase>\n  </testsuite>\n</testsuites>\n"
        );
    }

    #[test]
    fn what_counts_is_said_first() {
        let verdict = |question, verdict, advisory| RealVerdict {
            question,
            model: Model::Tso,
            verdict,
            advisory,
        };
        let fails = [
            verdict(RealQuestion::Failures, Verdict::Violated, false),
            verdict(RealQuestion::Robust, Verdict::Violated, true),
        ];
        let [finding, loops] = [Limit::Finding(3), Limit::Loops];
        let open = [
            verdict(RealQuestion::Robust, Verdict::Unknown(finding), true),
            verdict(RealQuestion::Failures, Verdict::Unknown(loops.clone()), false),
        ];
        let of = |verdicts| said(&RealTest { verdicts, ..test("x", TestEnd::Fail) });
        assert_eq!(of(&fails), "TSO fails");
        let why = limit_text(&loops, &Names::default());
        assert_eq!(of(&open), format!("TSO unknown: {why}"));
    }
}
