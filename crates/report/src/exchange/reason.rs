//! Why an answer that has no pairs and no failures is one: what its run or its cycle shows, in a sentence, and the line
//! of the input where that begins.

use serde_json::Value;

use super::{Place, list};

/// So many steps of a cycle are told.
const MOST: usize = 6;

/// Why, where that shows, and where else it has to do with.
#[derive(Default)]
pub(super) struct Reason {
    /// `: ...`, or nothing.
    pub(super) text: String,
    pub(super) place: Place,
    pub(super) related: Vec<(Place, String)>,
}

/// What went wrong, as far as an object says; places without a file are in that of the object.
pub(super) fn of(object: &Value) -> Reason {
    let word = |key: &str| object[key].as_str();
    match word("question") {
        Some("reach") => {
            Reason { text: reached(object), place: last_place(object), ..Reason::default() }
        }
        Some("litmus") => Reason { text: observed(object), ..Reason::default() },
        Some("history") if word("kind") == Some("value") => of_value(object),
        Some("history") if word("anomaly_text").is_some() => of_database(object),
        Some("history") => of_history(object),
        Some("fence") if object["fixable"] == false => no_fence(object),
        _ => {
            let why = match word("broken") {
                Some(what) => what.to_owned(),
                None => shortened(cycle(object).iter().filter_map(|edge| edge["why"].as_str())),
            };
            let fix =
                if word("question") == Some("serial") { fences(object) } else { String::new() };
            let text = if why.is_empty() { fix } else { format!(": {why}{fix}") };
            let froms = cycle(object).iter().map(|edge| (step(object, &edge["from"]), at(edge)));
            let place = froms.filter_map(|(step, line)| {
                step.map(place_of)
                    .filter(|place| place.line.is_some())
                    .or_else(|| Some(Place { line: Some(line?), ..Place::default() }))
            });
            let place = { place }.next();
            let line = || Place { line: first_line(object), ..Place::default() };
            Reason { text, place: place.unwrap_or_else(line), ..Reason::default() }
        }
    }
}

/// That no fences reach the goal: because there is no place for one, or because SC misses it, too.
fn no_fence(object: &Value) -> Reason {
    let late = &object["run"]["late"][0];
    let ends = ["store", "behind"].map(|key| step(object, &late[key]));
    let [Some(store), Some(access)] = ends else {
        let text = ": no fences help, because SC does it, too".to_owned();
        return Reason { text, place: last_place(object), ..Reason::default() };
    };
    let did = |step: &Value| match step["text"].as_str() {
        Some(text) => format!("`{text}`"),
        None => step["location"].as_str().unwrap_or_default().to_owned(),
    };
    let place = place_of(store);
    if (&store["line"], &store["text"]) == (&access["line"], &access["text"]) {
        let text = format!(": no fence fits into {}: split it", did(store));
        return Reason { text, place, ..Reason::default() };
    }
    let text = format!(": no fence fits between {} and {}", did(store), did(access));
    let related = vec![(place_of(access), format!("overtakes the store: {}", did(access)))];
    Reason { text, place, related }
}

/// What is reached that must not be.
fn reached(object: &Value) -> String {
    let end = object["run"]["end"]["at"].as_object().into_iter().flatten();
    let at = end.filter_map(|(thread, point)| Some(format!("{thread} at {}", point.as_str()?)));
    let at: Vec<String> = at.collect();
    match object["violation"].as_str() {
        Some("assertion") => {
            let thread = object["thread"].as_str().unwrap_or("a thread");
            let text = list(&object["run"]["steps"]).last().and_then(|step| step["text"].as_str());
            let text = text.map(|text| format!(": {text}")).unwrap_or_default();
            format!(": an assertion of {thread} can fail{text}")
        }
        Some(_) if !at.is_empty() => format!(": {} at the same time", at.join(", ")),
        _ => String::new(),
    }
}

fn last_place(object: &Value) -> Place {
    let steps = list(&object["run"]["steps"]).filter(|step| step["line"].is_u64());
    steps.map(place_of).last().unwrap_or_default()
}

/// What the final states of a litmus test have to do with its condition.
fn observed(object: &Value) -> String {
    let word = |key: &str| object[key].as_str();
    let Some(what) = word("proposition") else {
        return word("observation").map(|seen| format!(": {seen}")).unwrap_or_default();
    };
    match (word("condition"), word("observation")) {
        (Some("exists"), _) => format!(": no final state satisfies {what}"),
        (Some("~exists"), _) => format!(": some final state satisfies {what}"),
        (Some("forall"), Some("Never")) => format!(": no final state satisfies {what}"),
        _ => format!(": some final state does not satisfy {what}"),
    }
}

/// The read that is wrong is the finding; the others on the cycle are why.
fn of_history(object: &Value) -> Reason {
    let run = &object["run"];
    let cycle = list(&run["cycle"]);
    let reads = |n: &Value| step(object, n).filter(|step| step["kind"] == "load");
    let wrong =
        cycle.filter(|edge| edge["edge"] == "fr").filter_map(|edge| reads(&edge["from"])).last();
    let wrong =
        wrong.or_else(|| list(&run["cycle"]).filter_map(|edge| reads(&edge["from"])).last());
    let text = match object["broken"].as_str() {
        Some(what) => what.to_owned(),
        None => shortened(operations(run).iter().map(String::as_str)),
    };
    let text = if text.is_empty() { text } else { format!(": {text}") };
    let of_cycle = list(&run["cycle"]).chain(list(&run["relations"]));
    let others = of_cycle.flat_map(|edge| [&edge["from"], &edge["to"]]);
    let mut others: Vec<&Value> = others.filter_map(|n| step(object, n)).collect();
    others.sort_by_key(|step| step["n"].as_u64());
    others.dedup();
    others.retain(|step| step["line"].is_u64() && Some(*step) != wrong);
    let related = others.iter().map(|step| (place_of(step), who(run, step))).collect();
    let line = first_line(object).or_else(|| others.first()?["line"].as_u64());
    let first = Place { line, ..Place::default() };
    let place = wrong.map(place_of).filter(|place| place.line.is_some()).unwrap_or(first);
    Reason { text, place, related }
}

/// A read of a value that nobody wrote, whose line the object has, and who wrote before it.
fn of_value(object: &Value) -> Reason {
    let text = object["message"].as_str().map(|message| format!(": {message}"));
    let write = |write: &Value| {
        let line = write["line"].as_u64().filter(|line| *line > 0);
        let place = Place { line, ..Place::default() };
        (
            place,
            format!("{} wrote {}", write["thread"].as_str().unwrap_or_default(), write["value"]),
        )
    };
    let related = list(&object["last_writes"]).map(write).collect();
    Reason { text: text.unwrap_or_default(), related, ..Reason::default() }
}

/// The read that is wrong: by itself, or because it is older than others on a cycle of transactions.
fn of_database(object: &Value) -> Reason {
    let on_cycle = list(&object["cycle"]).filter_map(|n| object["facts"].get(to_index(n)?));
    let reads: Vec<&Value> = on_cycle.filter(|fact| fact["read"].is_object()).collect();
    let wrong = reads.iter().rfind(|fact| fact["path"].is_array()).or(reads.last());
    let wrong = wrong.map_or(&object["read"], |fact| &fact["read"]);
    let line = wrong["line"].as_u64().or_else(|| first_line(object));
    let text = object["anomaly_text"].as_str().map(|what| format!(": {what}"));
    let place = Place { line, ..Place::default() };
    Reason { text: text.unwrap_or_default(), place, ..Reason::default() }
}

fn to_index(n: &Value) -> Option<usize> {
    n.as_u64().and_then(|n| usize::try_from(n).ok())
}

/// Which fences are in the way of a cycle of transactions, or that none is.
fn fences(object: &Value) -> String {
    if object["model"] != "sc" && object["sc_serializable"] == "violated" {
        return "; under SC it is not serializable either, so that no fence helps".to_owned();
    }
    if let Some(fix) = object["fix"].as_str() {
        return format!("; {fix} is in the way of this");
    }
    let mut delays = list(&object["delays"]).filter(|delay| delay["fence_before"].is_u64());
    let Some(delay) = delays.next() else { return String::new() };
    let place = |n: &Value| match step(object, n).map(place_of) {
        Some(Place { file, line: Some(line), .. }) if !file.is_empty() => format!("{file}:{line}"),
        Some(Place { line: Some(line), .. }) => format!("line {line}"),
        _ => format!("event {n}"),
    };
    let (after, before) = (place(&delay["store"]), place(&delay["fence_before"]));
    format!("; a fence between {after} and {before} is in the way of this")
}

fn step<'a>(object: &'a Value, n: &Value) -> Option<&'a Value> {
    list(&object["run"]["steps"]).find(|step| step["n"] == *n)
}

fn place_of(step: &Value) -> Place {
    Place {
        file: step["file"].as_str().unwrap_or_default().to_owned(),
        line: step["line"].as_u64(),
        column: None,
    }
}

/// The cycle of the run if there is one, else that of the object.
fn cycle(object: &Value) -> &[Value] {
    match object["run"]["cycle"].as_array() {
        Some(cycle) if !cycle.is_empty() => cycle,
        _ => object["cycle"].as_array().map_or(&[], Vec::as_slice),
    }
}

/// The first of some sentences.
fn shortened<'a>(whys: impl Iterator<Item = &'a str>) -> String {
    let whys: Vec<&str> = whys.collect();
    let more = if whys.len() > MOST { "; ..." } else { "" };
    whys[..whys.len().min(MOST)].join("; ") + more
}

/// `t1 r x 1`.
fn who(run: &Value, step: &Value) -> String {
    let thread = to_index(&step["thread"]);
    let thread = thread.and_then(|thread| run["threads"][thread]["name"].as_str());
    format!("{} {}", thread.unwrap_or_default(), step["text"].as_str().unwrap_or_default())
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
        let line = step["line"].as_u64().map_or(String::new(), |line| format!(" (line {line})"));
        Some(format!("{}{line}: {why}", who(run, step)))
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
