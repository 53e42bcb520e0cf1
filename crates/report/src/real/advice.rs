//! Which changes of a source prevent what an exploration found, as text and JSON.

use std::fmt::Write;

use weakspot_core::{Limit, Model, Names};

use crate::json::{Object, SCHEMA, line, model_key};
use crate::real::Explored;
use crate::text::limit::{limit_text, named};
use crate::text::show::{counted, plain};

/// The fewest changes that prevent all findings.
#[derive(Clone, Debug)]
pub struct RealAdvice {
    /// The models that were watched for.
    pub models: Vec<Model>,
    /// How many findings there are without changes.
    pub findings: usize,
    /// How many others there are in a standard library, which is not changed.
    pub in_library: usize,
    /// The changes, none if none are needed; nothing if no changes are known that are enough.
    pub changes: Option<Vec<RealChange>>,
    /// The folder whose files the diff names, if it is not the one that one is in.
    pub folder: Option<String>,
    /// What has to be changed in the sources.
    pub diff: String,
    /// Why not all executions were explored with the changes; nothing if they were.
    pub limit: Option<Limit>,
    /// How often the program was explored again.
    pub explorations: u64,
    /// How many executions that were.
    pub executions: u64,
    /// What the user should know.
    pub remarks: Vec<String>,
}

/// A change.
#[derive(Clone, Debug)]
pub struct RealChange {
    /// The file.
    pub file: String,
    /// The line that it is in, or behind.
    pub line: u32,
    /// `full` or `store-store` for a fence; the order that it should have for an access.
    pub kind: &'static str,
    /// The same in words.
    pub what: String,
    /// Whether the diff has it.
    pub written: bool,
    /// Whether only the language asks for it, and the machine does not.
    pub language: bool,
}

/// A line that says how many, a line for each, and the diff.
#[must_use]
pub fn real_advice_text(explored: &Explored<'_>, advice: &RealAdvice) -> String {
    let models: Vec<String> = advice.models.iter().map(Model::to_string).collect();
    let mut out = format!("{} {}: ", plain(explored.program), models.join(", "));
    let explorations = counted(advice.explorations, "exploration");
    match advice.changes.as_deref() {
        Some([]) if advice.in_library > 0 => out.push_str("no changes are known that prevent it\n"),
        Some([]) => out.push_str("no fence is needed for what was explored\n"),
        Some(changes) => {
            let asked = changes.iter().filter(|change| change.language).count();
            let count = counted((changes.len() - asked) as u64, "change");
            let what = match (advice.findings, advice.in_library) {
                (1, 0) => "this",
                (_, 0) => "all of these pairs",
                _ => "all pairs in it",
            };
            let rules = match asked {
                0 => String::new(),
                1 => ", and 1 more is asked for by the rules of C11 and Rust".to_owned(),
                n => format!(", and {n} more are asked for by the rules of C11 and Rust"),
            };
            let _ = writeln!(
                out,
                "{count} of the source would prevent {what}{rules}; {explorations} more tried that out"
            );
            for change in changes {
                let RealChange { file, line, what, language, .. } = change;
                let why = if *language { " (for the rules of C11 and Rust)" } else { "" };
                let _ = writeln!(out, "  {}:{line}: {what}{why}", plain(file));
            }
            if let Some(limit) = &advice.limit {
                let why = limit_text(limit, &Names::default());
                let _ = writeln!(out, "note: not all was explored with them: {why}");
            }
            if changes.iter().any(|change| !change.written) {
                out.push_str("note: what belongs inside of a line is not in the diff\n");
            }
            if let Some(folder) = advice.folder.as_ref().filter(|_| !advice.diff.is_empty()) {
                let _ = writeln!(out, "to apply this from here: {}", applying(folder));
            }
            out.push_str(&advice.diff);
        }
        None => {
            let why = advice.limit.as_ref().map(|limit| limit_text(limit, &Names::default()));
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            let _ = writeln!(out, "no changes are known that prevent all of it{why}");
        }
    }
    for remark in &advice.remarks {
        let _ = writeln!(out, "note: {}", plain(remark));
    }
    out
}

/// The command that applies a diff of files below a folder.
fn applying(folder: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    match folder.chars().all(is_plain) {
        true => format!("patch -d {folder} -p0 < FILE"),
        false => format!("patch -d '{}' -p0 < FILE", plain(folder).replace('\'', r"'\''")),
    }
}

/// The same as a JSON object on one line.
#[must_use]
pub fn real_advice_json(explored: &Explored<'_>, advice: &RealAdvice) -> String {
    let mut o = Object::new();
    let models: Vec<&str> = advice.models.iter().map(|&model| model_key(model)).collect();
    o.string("file", explored.program).string("question", "fence");
    o.string("model", &models.join(","));
    o.string(
        "verdict",
        match (advice.findings + advice.in_library, &advice.limit) {
            (0, None) => "holds",
            (0, Some(_)) => "unknown",
            _ => "violated",
        },
    );
    o.raw("certified", false);
    if let Some(root) = explored.root {
        o.string("root", root);
    }
    if let Some(limit) = &advice.limit {
        o.raw("limit", line(&named(limit, &Names::default())));
    }
    let list = o.key("fences");
    list.push('[');
    for (i, change) in advice.changes.iter().flatten().enumerate() {
        list.push_str(if i == 0 { "" } else { "," });
        let mut f = Object::new();
        f.string("file", &change.file).raw("line", change.line);
        f.string("kind", change.kind).string("what", &change.what);
        f.raw("written", change.written).raw("language", change.language);
        list.push_str(&f.end());
    }
    list.push(']');
    o.raw("fixable", advice.changes.is_some() && advice.in_library == 0)
        .string("diff", &advice.diff);
    if let Some(folder) = &advice.folder {
        o.string("folder", folder);
    }
    o.raw("explorations", advice.explorations).raw("executions", advice.executions);
    crate::real::json::strings(o.key("remarks"), &advice.remarks);
    o.raw("time_s", format_args!("{:.6}", explored.time.as_secs_f64())).raw("schema", SCHEMA);
    o.end()
}
