//! What a picture shows: boxes in the columns of threads, and arcs between them.

use serde_json::Value;

use super::fold::{Shown, folded, list};
use crate::text::show::{named_models, plain};
use crate::text::table::{cut, cut_cells, cut_left, fold, shortened};

/// What is to be drawn of a run.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) title: String,
    /// What memory holds at the start.
    pub(super) init: String,
    /// The names of the threads that do something, in the order of their numbers.
    pub(super) columns: Vec<String>,
    pub(super) nodes: Vec<Node>,
    /// Stores that wait in a buffer: the nodes where they are issued and where they reach memory.
    pub(super) waits: Vec<(usize, usize)>,
    pub(super) arcs: Vec<Arc>,
}

impl Picture {
    /// Whether it is the same but for what it is called.
    fn is_same(&self, other: &Picture) -> bool {
        let parts = |p: &Picture| {
            (p.init.clone(), p.columns.clone(), p.nodes.clone(), p.waits.clone(), p.arcs.clone())
        };
        parts(self) == parts(other)
    }
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) column: usize,
    pub(super) row: usize,
    pub(super) lines: Vec<String>,
    pub(super) look: Look,
}

/// How a box looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    /// On the cycle.
    Bold,
    /// A store reaches memory.
    Commit,
    /// Steps that are left out.
    Fold,
}

/// An arrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: Kind,
    /// Its number in the cycle.
    pub(super) number: Option<usize>,
}

/// Why one comes before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Po,
    Rf,
    Co,
    Fr,
    Rt,
    Other,
}

/// So many arcs besides the cycle are drawn, and if there are more, none.
const MAX_ARCS: usize = 40;
const MAX_TEXT: usize = 30;
/// A statement takes no more lines than this.
const MAX_LINES: usize = 3;

impl Kind {
    pub(super) const ALL: [Kind; 6] =
        [Kind::Po, Kind::Rf, Kind::Co, Kind::Fr, Kind::Rt, Kind::Other];

    fn of(name: &str) -> Kind {
        match name {
            "po" => Kind::Po,
            "rf" => Kind::Rf,
            "co" => Kind::Co,
            "fr" => Kind::Fr,
            "rt" => Kind::Rt,
            _ => Kind::Other,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Po => "po",
            Kind::Rf => "rf",
            Kind::Co => "co",
            Kind::Fr => "fr",
            Kind::Rt => "rt",
            Kind::Other => "",
        }
    }

    /// As in a legend.
    pub(super) fn about(self) -> &'static str {
        match self {
            Kind::Po => "po: program order",
            Kind::Rf => "rf: is read by",
            Kind::Co => "co: is overwritten by",
            Kind::Fr => "fr: read what is overwritten by",
            Kind::Rt => "rt: ended before the beginning of",
            Kind::Other => "comes before",
        }
    }

    /// As RGB in hexadecimal digits: the same in all formats, and apart for colour-blind readers.
    pub(super) fn color(self) -> &'static str {
        match self {
            Kind::Po => "222222",
            Kind::Rf => "b2182b",
            Kind::Co => "2166ac",
            Kind::Fr => "b35806",
            Kind::Rt => "1b7837",
            Kind::Other => "666666",
        }
    }
}

/// The runs in some objects.
pub(super) fn pictures(objects: &str) -> Vec<Picture> {
    let mut found: Vec<((String, String), Picture)> = Vec::new();
    for object in objects.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let word = |key: &str| object[key].as_str().unwrap_or_default();
        let name = ["name", "id"].iter().map(|key| word(key)).find(|name| !name.is_empty());
        let name = plain(name.unwrap_or(word("file"))).into_owned();
        let model = named_models(word("model"));
        // The operations of a history on a cycle have no time.
        let timed = !(word("question") == "history" && word("verdict") == "violated");
        let mut add = |run: &Value, title: String, timed| {
            if run["steps"].as_array().is_some_and(|steps| !steps.is_empty()) {
                let new = picture(run, title, timed);
                let of = (word("file").to_owned(), model.clone());
                let is_same = |(of_known, known): &((String, String), Picture)| {
                    of_known.0 == of.0 && of_known.1 != of.1 && known.is_same(&new)
                };
                match found.iter().position(is_same) {
                    // What several models share is drawn once.
                    Some(known) => found[known].1.title += &format!("; {}", new.title),
                    None => found.push((of, new)),
                }
            }
        };
        add(&object["run"], format!("{name} under {model}"), timed);
        let forbidden = &object["why_not"]["execution"];
        add(forbidden, format!("{name}: forbidden under {model}"), false);
        for (i, failure) in list(&object["failures"]).enumerate() {
            let message = failure["message"].as_str().unwrap_or_default();
            let title = format!("{name} under {model}, failure {}: {message}", i + 1);
            add(&failure["run"], title, true);
        }
        for (i, pair) in list(&object["violations"]).enumerate() {
            add(&pair["run"], format!("{name} under {model}, violation {}", i + 1), true);
        }
    }
    found.into_iter().map(|(_, picture)| picture).collect()
}

fn picture(run: &Value, title: String, timed: bool) -> Picture {
    let shown = folded(run, timed);
    let mut threads: Vec<u64> = shown.iter().flat_map(Shown::threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let column = |thread: u64| threads.binary_search(&thread).unwrap_or(0);
    let thread_name = |thread: &u64| {
        let name = run["threads"][*thread as usize]["name"].as_str();
        cut(&plain(name.unwrap_or("?")), MAX_TEXT)
    };
    let mut picture = Picture {
        title: plain(&title).into_owned(),
        init: initially(run),
        columns: threads.iter().map(thread_name).collect(),
        nodes: Vec::new(),
        waits: Vec::new(),
        arcs: Vec::new(),
    };
    // For each number of a step the node where it is issued, and the one where it takes effect.
    let mut at: Vec<(u64, usize, usize)> = Vec::new();
    let mut lengths = vec![0; threads.len()];
    let steps = shown.iter().filter_map(|shown| match shown {
        Shown::Step(step) => Some(*step),
        Shown::Fold(_) => None,
    });
    let shown_steps: Vec<&Value> = steps.collect();
    for (row, shown) in shown.iter().enumerate() {
        match shown {
            Shown::Step(step) => {
                let column = column(step["thread"].as_u64().unwrap_or(0));
                let node = picture.nodes.len();
                let n = step["n"].as_u64().unwrap_or(0);
                if let Some((_, store, effect)) =
                    store_of(&shown_steps, step).and_then(|of| at.iter_mut().find(|a| a.0 == of))
                {
                    picture.waits.push((*store, node));
                    *effect = node;
                }
                at.push((n, node, node));
                let row = if timed { row } else { lengths[column] };
                picture.nodes.push(Node { column, row, lines: lines(step), look: look(run, step) });
                lengths[column] += 1;
            }
            Shown::Fold(counts) => {
                for (thread, count) in counts {
                    let s = if *count == 1 { "" } else { "s" };
                    let lines = vec![format!("... {count} step{s} ...")];
                    let column = column(*thread);
                    picture.nodes.push(Node { column, row, lines, look: Look::Fold });
                }
            }
        }
    }
    picture.arcs = arcs(run, &at);
    picture.arcs.extend(program_order(&picture, &at));
    picture
}

/// The number of the store that a commit is of: as it says, else the oldest one to its location that
/// did not reach memory before.
fn store_of(steps: &[&Value], commit: &Value) -> Option<u64> {
    if commit["kind"] != "commit" {
        return None;
    }
    if let Some(of) = commit["of"].as_u64() {
        return Some(of);
    }
    let before = || steps.iter().take_while(|step| step["n"] != commit["n"]);
    let same = |step: &&&Value| {
        step["thread"] == commit["thread"] && step["location"] == commit["location"]
    };
    let committed = before().filter(same).filter(|step| step["kind"] == "commit").count();
    let mut stores = before().filter(same).filter(|step| step["kind"] == "store");
    stores.nth(committed)?["n"].as_u64()
}

/// What memory holds at the start, in short.
fn initially(run: &Value) -> String {
    let init = run["init"].as_object().into_iter().flatten();
    let init: Vec<String> = init.map(|(place, value)| format!("{place}={}", word(value))).collect();
    if init.is_empty() {
        String::new()
    } else {
        cut_cells(&format!("initially {}", init.join(" ")), 70)
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text).into_owned(),
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    }
}

fn look(run: &Value, step: &Value) -> Look {
    let n = &step["n"];
    let on_cycle = list(&run["cycle"]).any(|arc| arc["from"] == *n || arc["to"] == *n);
    match step["kind"].as_str() {
        Some("commit") => Look::Commit,
        _ if on_cycle => Look::Bold,
        _ => Look::Plain,
    }
}

/// The event in the usual letters, its text, and where that is.
fn lines(step: &Value) -> Vec<String> {
    let place = plain(step["location"].as_str().unwrap_or_default()).into_owned();
    let cell = |value: &Value| match value {
        Value::Null => place.clone(),
        value => format!("{place}={}", word(value)),
    };
    let value = &step["value"];
    let event = match step["kind"].as_str().unwrap_or_default() {
        "load" => format!("R {}", cell(value)),
        "store" => format!("W {}", cell(value)),
        "update" => format!("U {} to {}", cell(&step["old"]), word(value)),
        "commit" => format!("{} reaches memory", cell(value)),
        "store-fence" => "store-store fence".to_owned(),
        "fail" => "FAILS".to_owned(),
        "alloc" | "free" => format!("{}({place})", step["kind"].as_str().unwrap_or_default()),
        "return" => "returns".to_owned(),
        "exit" => "ends".to_owned(),
        kind => kind.to_owned(),
    };
    let mut lines = vec![shortened(&event, MAX_TEXT)];
    if step["kind"] == "commit" {
        return lines;
    }
    if let Some(transaction) = step["transaction"].as_str() {
        lines.push(cut(&plain(transaction), MAX_TEXT));
    }
    let text = plain(step["text"].as_str().unwrap_or_default()).trim().to_owned();
    if !text.is_empty() && text != event {
        lines.extend(fold(&text, MAX_TEXT).into_iter().take(MAX_LINES));
    }
    if let (Some(file), line) = (step["file"].as_str(), step["line"].as_u64()) {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        lines.push(cut_left(&format!("{}{line}", plain(file)), MAX_TEXT));
    }
    lines
}

/// The cycle, and the rest of reads-from, coherence and from-reads if that is not too much.
fn arcs(run: &Value, at: &[(u64, usize, usize)]) -> Vec<Arc> {
    let of = |arc: &Value, number: Option<usize>| {
        let node = |key: &str| at.iter().find(|(n, ..)| Some(*n) == arc[key].as_u64());
        let ((_, issued, reached), (_, to_issued, to_reached)) = (node("from")?, node("to")?);
        let kind = Kind::of(arc["edge"].as_str().unwrap_or_default());
        // Others see a store when it reaches memory.
        let (from, to) = match kind {
            Kind::Rf => (*reached, *to_issued),
            Kind::Co => (*reached, *to_reached),
            Kind::Fr => (*issued, *to_reached),
            Kind::Po | Kind::Rt | Kind::Other => (*issued, *to_issued),
        };
        Some(Arc { from, to, kind, number })
    };
    let cycle = list(&run["cycle"]).enumerate();
    let mut arcs: Vec<Arc> = cycle.filter_map(|(i, arc)| of(arc, Some(i + 1))).collect();
    let others: Vec<Arc> = list(&run["relations"]).filter_map(|arc| of(arc, None)).collect();
    if others.len() <= MAX_ARCS {
        for arc in others {
            let same = |a: &Arc| (a.from, a.to, a.kind) == (arc.from, arc.to, arc.kind);
            if !arcs.iter().any(same) {
                arcs.push(arc);
            }
        }
    }
    arcs
}

/// From each event to the next of its thread, unless the cycle has this arc.
fn program_order(picture: &Picture, at: &[(u64, usize, usize)]) -> Vec<Arc> {
    let mut arcs = Vec::new();
    for column in 0..picture.columns.len() {
        let is_event = |&node: &usize| picture.nodes[node].look != Look::Commit;
        let events = at.iter().map(|&(_, node, _)| node).filter(is_event);
        let mine: Vec<usize> = events.filter(|&n| picture.nodes[n].column == column).collect();
        for pair in mine.windows(2) {
            let known =
                |arc: &Arc| arc.kind == Kind::Po && (arc.from, arc.to) == (pair[0], pair[1]);
            if !picture.arcs.iter().any(known) {
                arcs.push(Arc { from: pair[0], to: pair[1], kind: Kind::Po, number: None });
            }
        }
    }
    arcs
}
