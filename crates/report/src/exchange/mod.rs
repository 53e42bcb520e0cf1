//! Answers for other programs: SARIF for viewers of findings, annotations for GitHub, JUnit's XML for services that show
//! tests. They are made from the objects of `--format json`, by way of what they have in common: findings with a place.

pub(crate) mod github;
pub(crate) mod junit;
mod reason;
pub(crate) mod sarif;

pub use junit::TestEnd;
pub(crate) use junit::{Case, suites};

use serde_json::Value;

use crate::text::show::named_models;

/// Something that is wrong, or not known, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    rule: String,
    level: Level,
    message: String,
    place: Place,
    /// Other places, each with what is there.
    related: Vec<(Place, String)>,
    /// A unified diff that fixes it.
    diff: Option<String>,
    /// The folder whose files the diff names.
    folder: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Error,
    Note,
    /// The verdict is unknown.
    Open,
}

/// Where something is, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    file: String,
    line: Option<u64>,
    column: Option<u64>,
}

/// The findings in some objects, each once.
fn findings(objects: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for object in merged(objects) {
        for finding in of_object(&object) {
            let same = |old: &Finding| {
                (&old.rule, &old.message, &old.place)
                    == (&finding.rule, &finding.message, &finding.place)
            };
            if !found.iter().any(same) {
                found.push(finding);
            }
        }
    }
    found
}

/// The objects, those that say the same of several models as one that names them all: of a history, or of a program that
/// is not robust.
fn merged(objects: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for object in objects.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let is_violated = (object["question"] == "history" || object["question"] == "robust")
            && object["verdict"] == "violated";
        let is_same = |old: &&mut Value| {
            ["question", "verdict", "file", "id", "number", "name", "store", "load"]
                .iter()
                .all(|key| old[key] == object[key])
        };
        let model = object["model"].as_str();
        match (all.iter_mut().filter(|_| is_violated).find(is_same), model) {
            (Some(old), Some(model)) => {
                old["model"] =
                    format!("{},{model}", old["model"].as_str().unwrap_or_default()).into();
            }
            _ => all.push(object),
        }
    }
    all
}

fn of_object(object: &Value) -> Vec<Finding> {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (question, model) = (text("question"), named_models(&text("model")));
    let file = Place {
        file: text("file"),
        line: object["line"].as_u64(),
        column: object["column"].as_u64(),
    };
    let finding = |rule: &str, level, message: String, place: Place| Finding {
        rule: rule.to_owned(),
        level,
        message,
        place,
        related: Vec::new(),
        diff: None,
        folder: None,
    };
    let level = match object["advisory"].as_bool() {
        Some(true) => Level::Note,
        _ => Level::Error,
    };
    let mut found = Vec::new();
    match object["verdict"].as_str() {
        Some("error") => found.push(finding("input", Level::Error, text("message"), file)),
        Some("unknown") => {
            let why = object["limit"]["message"].as_str().unwrap_or("a limit was reached");
            let message = format!("{question} under {model} is not known: {why}");
            found.push(finding(&question, Level::Open, message, file));
        }
        Some("violated") => {
            for failure in list(&object["failures"]).filter(|f| f["as_under"].is_null()) {
                let word = |key: &str| failure[key].as_str().unwrap_or_default();
                let message = format!("{}: {} (under {model})", word("kind"), word("message"));
                let place = where_it_failed(failure).unwrap_or_else(|| file.clone());
                let related = related(failure).into_iter().chain(late(failure)).collect();
                found.push(Finding { related, ..finding(word("kind"), level, message, place) });
            }
            for pair in list(&object["violations"]).filter(|v| v["as_under"].is_null()) {
                found.push(Finding { level, ..of_pair(pair, &model, &file.file) });
            }
            if !object["store"].is_null() && !object["load"].is_null() {
                let [store, load] = ["store", "load"].map(|end| {
                    let end = &object[end];
                    let (line, column) = (end["line"].as_u64(), end["column"].as_u64());
                    let text = end["text"].as_str().unwrap_or_default().to_owned();
                    (Place { file: file.file.clone(), line, column }, text)
                });
                let message = format!(
                    "under {model}, `{}` can take effect before `{}`; a fence between the two prevents it",
                    load.1, store.1
                );
                let mut pair = finding("not-sc", level, message, load.0);
                pair.related.push((store.0, format!("the store that is late: {}", store.1)));
                found.push(pair);
            }
            for fence in list(&object["fences"]) {
                let kind = match fence["kind"].as_str() {
                    Some("store-store") => "a store-store fence",
                    _ => "a fence",
                };
                let what = fence["after"].as_str().map(|after| match fence["before"].as_str() {
                    // Nothing comes before it in the function that it begins.
                    Some(before) if before == after => format!("{kind} before `{before}`"),
                    Some(before) => format!("{kind} between `{after}` and `{before}`"),
                    None => format!("{kind} after `{after}`"),
                });
                let what = what.or_else(|| fence["what"].as_str().map(str::to_owned));
                let own = fence["file"].as_str().map_or(file.file.clone(), str::to_owned);
                let place = Place { file: own, line: fence["line"].as_u64(), column: None };
                // The machine does without what only the language asks for.
                let why = match fence["language"].as_bool() {
                    Some(true) => "for the rules of C11 and Rust".to_owned(),
                    _ => format!("under {model}"),
                };
                let message = format!("needs: {} ({why})", what.unwrap_or_default());
                let [diff, folder] =
                    ["diff", "folder"].map(|key| object[key].as_str().map(str::to_owned));
                let needed = finding("fence", Level::Note, message, place);
                found.push(Finding { diff, folder, ..needed });
            }
            if found.is_empty() && object["failures"].is_null() && object["violations"].is_null() {
                let name = ["id", "name"].iter().find_map(|key| object[*key].as_str());
                let of = name.map(|name| format!("{name}: ")).unwrap_or_default();
                let reason::Reason { text, place, related } = reason::of(object);
                let violated = match question.as_str() {
                    "serial" => "not serializable".to_owned(),
                    "fence" => format!("not {}", object["goal"].as_str().unwrap_or("robust")),
                    question => format!("{question} is violated"),
                };
                // A log is about a program, whose places it has.
                let log = match place.file.is_empty() || place.file == file.file {
                    true => String::new(),
                    false => format!("{}: ", file.file),
                };
                let message = format!("{log}{of}{violated} under {model}{text}");
                // What names no file is in the input.
                let here = |place: Place| match place.file.is_empty() {
                    true => Place { file: file.file.clone(), ..place },
                    false => place,
                };
                let related =
                    related.into_iter().map(|(place, text)| (here(place), text)).collect();
                let place = if file.line.is_some() { file.clone() } else { here(place) };
                found.push(Finding { related, ..finding(&question, level, message, place) });
            }
        }
        _ => {}
    }
    if let Some(root) = object["root"].as_str() {
        found.iter_mut().for_each(|finding| finding.name_from_above(root, &text("file")));
    }
    found
}

impl Finding {
    /// Files that are named from a folder are named from the one that this one is seen from. `program`: what is no file.
    fn name_from_above(&mut self, root: &str, program: &str) {
        let is_below = |file: &str| !file.starts_with(['/', '<']) && !file.starts_with("library/");
        let named = |file: &str| match is_below(file) && file != program {
            true => format!("{root}/{file}"),
            false => file.to_owned(),
        };
        self.place.file = named(&self.place.file);
        for (place, _) in &mut self.related {
            place.file = named(&place.file);
        }
    }
}

/// A store and the access that overtakes it. Those of a program have their lines in its file.
fn of_pair(pair: &Value, model: &str, file: &str) -> Finding {
    let end = |key: &str| {
        let end = &pair[key];
        let word = |key: &str| end[key].as_str().unwrap_or_default();
        let (line, column) = (end["line"].as_u64(), end["column"].as_u64());
        let at = match place(word("at")) {
            at if at.file.is_empty() => Place { file: file.to_owned(), line, column },
            at => at,
        };
        let what = match end["text"].as_str() {
            Some(text) => format!("`{text}`"),
            None => format!("{} {}", word("kind"), word("location")),
        };
        (at, format!("{what} by {}", word("thread")))
    };
    let ((store_at, store), (access_at, access)) = (end("store"), end("access"));
    let fix = ["fix", "mend"].iter().find_map(|key| pair[*key].as_str());
    let fix = fix.map(|fix| format!("; {fix} prevents it")).unwrap_or_default();
    let related = vec![(store_at, format!("the store that is late: {store}"))];
    let message = format!("under {model}, {access} can take effect before {store}{fix}");
    let level = Level::Error;
    let (rule, place) = ("not-sc".to_owned(), access_at);
    Finding { rule, level, message, place, related, diff: None, folder: None }
}

/// The innermost place of the user's own code that a failure has to do with.
fn where_it_failed(failure: &Value) -> Option<Place> {
    let own = |place: &Place| place.line.is_some() && !place.file.starts_with("library/");
    let frames = list(&failure["frames"]).filter_map(Value::as_str);
    let mut framed = frames.map(|frame| place(frame.split(" in ").next().unwrap_or_default()));
    // A panic begins with its place.
    let said = || failure["message"].as_str()?.split(": ").next().map(place).filter(own);
    let taken = || {
        let steps = list(&failure["run"]["steps"]).filter(|step| step["line"].is_u64());
        let at = |step: &Value| Place {
            file: step["file"].as_str().unwrap_or_default().to_owned(),
            line: step["line"].as_u64(),
            column: None,
        };
        steps.map(at).filter(own).last()
    };
    framed.find(own).or_else(said).or_else(taken)
}

/// Other places that a failure has to do with: the other access of a data race, where blocks were freed and
/// allocated, where threads wait.
fn related(failure: &Value) -> Vec<(Place, String)> {
    let one = |related: &Value| {
        let own = |place: &Place| place.line.is_some() && !place.file.starts_with("library/");
        let frames = list(&related["at"]).filter_map(Value::as_str);
        let mut places = frames.map(|frame| place(frame.split(" in ").next().unwrap_or_default()));
        let word = |key: &str| related[key].as_str();
        let thread = word("thread").unwrap_or_default();
        let text = match (word("message"), word("what")) {
            (Some(message), _) => format!("{thread} {message}"),
            (None, what) if thread.is_empty() => what.unwrap_or_default().to_owned(),
            (None, what) => format!("{} by {thread}", what.unwrap_or_default()),
        };
        Some((places.find(own)?, text))
    };
    list(&failure["related"]).filter_map(one).collect()
}

/// The stores that were late in a failure.
fn late(failure: &Value) -> Vec<(Place, String)> {
    let lines = list(&failure["late"]).filter_map(Value::as_str);
    let at = |line: &str| {
        let at = line.split(" at ").nth(1)?.split(' ').next()?;
        Some((place(at), line.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    lines.filter_map(at).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// `file:line`, or `file:line:column`.
fn place(at: &str) -> Place {
    let mut file = at;
    let mut numbers = Vec::new();
    while let Some((before, number)) = file.rsplit_once(':')
        && let Ok(number) = number.parse::<u64>()
        && numbers.len() < 2
    {
        numbers.push(number);
        file = before;
    }
    Place {
        file: file.to_owned(),
        line: numbers.last().copied(),
        column: numbers.iter().rev().nth(1).copied(),
    }
}

#[cfg(test)]
mod tests;
