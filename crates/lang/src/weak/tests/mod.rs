//! Tests of the whole language: text in, programs, messages or text out.

mod compiled;
mod corpus;
mod messages;
mod mutations;
mod printed;

use super::{File, compile, parse, print};
use crate::Parsed;
use crate::test_support::{Language, show_expr, show_instr};
use weakspot_core::Quantifier;

const WEAK: Language<File> = Language { parse, print, compile };

/// The language page, whose examples are programs.
const PAGE: &str = include_str!("../../../../../docs/reference/weak-language.md");

/// The programs in the language page.
fn page_examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```weak\n").skip(1);
    blocks.filter_map(|block| block.split("```").next()).collect()
}

/// A compiled program as text: the points that edges leave from, with their labels, and what is
/// asked.
fn show(parsed: &Parsed) -> String {
    let (program, names) = (&parsed.program, &parsed.names);
    let mut out = String::new();
    for (t, thread) in program.threads.iter().enumerate() {
        let regs = &names.regs[t];
        let inits: Vec<String> =
            regs.iter().zip(&thread.regs).map(|(name, init)| format!("{name}={init}")).collect();
        out += &format!("{}({})\n", names.threads[t], inits.join(" "));
        for (p, point) in thread.points.iter().enumerate() {
            let label = &names.points[t][p];
            let label = if label.is_empty() { String::new() } else { format!("({label})") };
            if point.edges.is_empty() {
                out += &format!("  {p}{label} end\n");
            }
            for edge in &point.edges {
                let shown = show_instr(parsed, t, &edge.instr);
                out += &format!("  {p}{label} -> {}: {shown}\n", edge.to.index());
            }
        }
    }
    if let Some(condition) = &program.condition {
        let word = match condition.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "never",
            Quantifier::Forall => "forall",
        };
        out += &format!("{word} {}\n", show_expr(parsed, &names.observed, &condition.prop));
    }
    if !names.observed.is_empty() {
        out += &format!("observed {}\n", names.observed.join(" "));
    }
    for combination in &program.forbidden {
        let points: Vec<String> = combination
            .iter()
            .map(|p| p.map_or("*".to_owned(), |p| p.index().to_string()))
            .collect();
        out += &format!("forbidden {}\n", points.join(" "));
    }
    out
}
