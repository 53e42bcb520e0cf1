//! Why an answer that has no pairs and no failures is one: what its run or its cycle shows, in a sentence, and the line
//! of the input where that begins.

use serde_json::Value;

use super::list;

/// So many steps of a cycle are told.
const MOST: usize = 6;

/// `: ...`, or nothing, and a line.
pub(super) fn of(object: &Value) -> (String, Option<u64>) {
    let word = |key: &str| object[key].as_str();
    let steps = || list(&object["run"]["steps"]);
    let line_of = |n: &Value| steps().find(|step| step["n"] == *n)?["line"].as_u64();
    match word("question") {
        Some("reach") => {
            let end = object["run"]["end"]["at"].as_object();
            let at = end
                .into_iter()
                .flatten()
                .filter_map(|(t, p)| Some(format!("{t} at {}", p.as_str()?)));
            let at: Vec<String> = at.collect();
            let last = steps().filter_map(|step| step["line"].as_u64()).last();
            let what = match word("violation") {
                Some("assertion") => {
                    format!(": an assertion of {} can fail", word("thread").unwrap_or("a thread"))
                }
                Some(_) if !at.is_empty() => format!(": {} at the same time", at.join(", ")),
                _ => String::new(),
            };
            (what, last)
        }
        Some("litmus") => match word("observation") {
            Some(seen) => (format!(": {seen}"), None),
            None => (String::new(), None),
        },
        _ => match word("broken").or_else(|| word("anomaly_text")) {
            Some(what) => (format!(": {what}"), first_line(object)),
            None => {
                let cycle = match object["run"]["cycle"].as_array() {
                    Some(cycle) if !cycle.is_empty() => cycle.as_slice(),
                    _ => object["cycle"].as_array().map_or(&[][..], Vec::as_slice),
                };
                let whys: Vec<String> = match word("question") {
                    Some("history") => operations(&object["run"]),
                    _ => cycle
                        .iter()
                        .filter_map(|edge| Some(edge["why"].as_str()?.to_owned()))
                        .collect(),
                };
                let more = if whys.len() > MOST { "; ..." } else { "" };
                let told = whys[..whys.len().min(MOST)].join("; ");
                let line =
                    cycle.iter().find_map(|edge| line_of(&edge["from"]).or_else(|| at(edge)));
                match told.is_empty() {
                    true => (String::new(), line.or_else(|| first_line(object))),
                    false => (format!(": {told}{more}"), line.or_else(|| first_line(object))),
                }
            }
        },
    }
}

/// The operations of a history on a cycle, each with why it comes before the next, and before them those that come
/// before it.
fn operations(run: &Value) -> Vec<String> {
    let on_cycle = |n: &Value| list(&run["cycle"]).any(|edge| edge["from"] == *n);
    let first =
        list(&run["relations"]).filter(|edge| edge["edge"] != "rf" && on_cycle(&edge["to"]));
    let told = first.chain(list(&run["cycle"])).filter_map(|edge| {
        let why = edge["why"].as_str()?;
        let Some(step) = list(&run["steps"]).find(|step| step["n"] == edge["from"]) else {
            return Some(format!("the value at the start: {why}"));
        };
        let thread = step["thread"].as_u64().and_then(|thread| usize::try_from(thread).ok());
        let thread = thread.and_then(|thread| run["threads"][thread]["name"].as_str());
        let line = step["line"].as_u64().map_or(String::new(), |line| format!(" (line {line})"));
        let what = step["text"].as_str().unwrap_or_default();
        Some(format!("{} {what}{line}: {why}", thread.unwrap_or_default()))
    });
    told.collect()
}

/// The line of the first operation of a cycle of transactions or operations.
fn first_line(object: &Value) -> Option<u64> {
    let ends = list(&object["facts"]).chain(list(&object["cycle"]));
    ends.filter_map(|end| end["from"]["line"].as_u64()).next()
}

/// `line 12` of an event of a program.
fn at(edge: &Value) -> Option<u64> {
    edge["from"]["at"].as_str()?.strip_prefix("line ")?.parse().ok()
}
