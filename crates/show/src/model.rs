//! What is stepped through: the steps of a run, and what is in memory and in buffers after each.

use serde_json::Value;

/// A run to be stepped through.
#[derive(Clone, Debug)]
pub struct Steps {
    /// What it is a run of, and under which model.
    pub title: String,
    /// The names of the threads.
    pub threads: Vec<String>,
    /// The steps.
    pub steps: Vec<Step>,
    /// The states: `states[k]` is that after `k` steps.
    pub states: Vec<State>,
    /// The stores that were late, by their places in `steps`, each with the place where it reaches
    /// memory, if it does.
    pub late: Vec<(usize, Option<usize>)>,
    /// What the run comes to, in words.
    pub end: String,
    /// The sources of the steps, by the names of their files.
    pub sources: Vec<(String, Vec<String>)>,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its number, by which others refer to it.
    pub n: u64,
    /// Whose it is.
    pub thread: usize,
    /// The text of its source.
    pub text: String,
    /// What it did, in words.
    pub did: String,
    /// The file of its source.
    pub file: String,
    /// The line of its source, from 1.
    pub line: Option<usize>,
}

/// What is in memory and in buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Locations with their values.
    pub memory: Vec<(String, String)>,
    /// Per thread the stores that wait, oldest first.
    pub buffers: Vec<Vec<(String, String)>>,
}

/// So many lines of a source are shown.
const MAX_LINES: usize = 100_000;

impl Steps {
    /// The run of an answer, or the first of those that it has. `source` reads a file.
    ///
    /// # Errors
    ///
    /// The answer has no run.
    pub fn of(answer: &Value, source: &dyn Fn(&str) -> Option<String>) -> Result<Steps, String> {
        let run = first_run(answer).ok_or("the answer has no run to step through")?;
        let list = |key: &str| run[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let threads: Vec<String> =
            list("threads").iter().map(|thread| clean(&thread["name"])).collect();
        let about = match (&answer["name"], &answer["file"]) {
            (Value::String(name), _) if !name.is_empty() => clean(&Value::from(name.as_str())),
            (_, file) => clean(file),
        };
        let model = model_name(&clean(&run["model"]));
        let of = if about.is_empty() { String::new() } else { format!(" of {about}") };
        let input = clean(&answer["file"]);
        let mut steps: Vec<Step> = list("steps").iter().map(|step| Step::of(step, run)).collect();
        for step in steps.iter_mut().filter(|step| step.file.is_empty() && step.line.is_some()) {
            step.file.clone_from(&input);
        }
        let mut sources: Vec<(String, Vec<String>)> = Vec::new();
        for step in steps.iter().filter(|step| step.line.is_some()) {
            if !sources.iter().any(|(file, _)| *file == step.file) {
                let text = source(&step.file).unwrap_or_default();
                let lines = text.lines().take(MAX_LINES).map(plain).collect();
                sources.push((step.file.clone(), lines));
            }
        }
        let place = |n: &Value| steps.iter().position(|step| Some(step.n) == n.as_u64());
        let reaches = |n: &Value| list("steps").iter().position(|step| step["of"] == *n);
        let late = list("late")
            .iter()
            .filter_map(|late| Some((place(&late["store"])?, reaches(&late["store"]))))
            .collect();
        Ok(Steps {
            title: format!("A run{of} under {model}"),
            states: states(run, &threads),
            end: end(&run["end"]),
            threads,
            steps,
            late,
            sources,
        })
    }

    /// The name of a step's thread.
    #[must_use]
    pub fn thread(&self, step: &Step) -> &str {
        self.threads.get(step.thread).map_or("", String::as_str)
    }

    /// The lines of a step's source.
    pub(crate) fn source(&self, step: &Step) -> &[String] {
        let found = self.sources.iter().find(|(file, _)| *file == step.file);
        found.map_or(&[], |(_, lines)| lines)
    }
}

/// What people call a model.
fn model_name(key: &str) -> String {
    match key {
        "ccv" => "CCv".to_owned(),
        "wccm" => "wCCM".to_owned(),
        "pso-own" => "PSO-own".to_owned(),
        "coherence" => key.to_owned(),
        _ => key.to_uppercase(),
    }
}

/// The run of an object, or of a part of it such as one of several violations.
fn first_run(object: &Value) -> Option<&Value> {
    // Why a history violates a model is no run: its steps have no order of time.
    if object["question"] == "history" && object["verdict"] == "violated" {
        return None;
    }
    let is_run = |run: &&Value| run["steps"].is_array() && run["threads"].is_array();
    if let Some(run) = object.get("run").filter(is_run) {
        return Some(run);
    }
    let lists = ["violations", "failures"].into_iter().filter_map(|key| object[key].as_array());
    lists.flatten().find_map(|part| first_run(part).or_else(|| first_run(&part["failure"])))
}

impl Step {
    fn of(step: &Value, run: &Value) -> Step {
        Step {
            n: step["n"].as_u64().unwrap_or(0),
            thread: step["thread"].as_u64().unwrap_or(0) as usize,
            text: clean(&step["text"]),
            did: did(step, run),
            file: clean(&step["file"]),
            line: step["line"].as_u64().and_then(|line| usize::try_from(line).ok()),
        }
    }
}

/// What a step did, in words.
fn did(step: &Value, run: &Value) -> String {
    let cell = |value: &Value| match value {
        Value::Null => clean(&step["location"]),
        value => format!("{}={}", clean(&step["location"]), clean(value)),
    };
    // Steps are shown by their place. In a run of a log they are numbered as the log's events are.
    let place = |n: &Value| {
        let at = run["steps"].as_array().into_iter().flatten().position(|step| step["n"] == *n);
        at.map_or_else(|| n.to_string(), |at| (at + 1).to_string())
    };
    // Of a commit it is its store that says the value, if need be.
    let of = run["steps"].as_array().into_iter().flatten().find(|store| {
        step["kind"] == "commit" && step["value"].is_null() && store["n"] == step["of"]
    });
    let written = cell(of.map_or(&step["value"], |store| &store["value"]));
    let mut text = match step["kind"].as_str().unwrap_or_default() {
        "load" => match &step["from"] {
            from if from == "buffer" => format!("reads {written} from its buffer"),
            n @ Value::Number(_) => format!("reads {written}, which step {} wrote", place(n)),
            _ => format!("reads {written}"),
        },
        "store" if waits(run, &step["n"]) => format!("puts {written} into its buffer"),
        "store" => format!("writes {written} to memory"),
        "update" if step["old"].is_null() => format!("updates {written} at once"),
        "update" => format!("reads {} and writes {written} at once", cell(&step["old"])),
        "fence" => "fence: its buffer is empty".to_owned(),
        "store-fence" => "fence between stores".to_owned(),
        "commit" if of.is_some_and(|of| of["kind"] == "free") => {
            format!("the free of {written} reaches memory (step {})", place(&step["of"]))
        }
        "commit" => format!("{written} reaches memory (store of step {})", place(&step["of"])),
        "lock" => format!("takes the lock {written}"),
        "unlock" => format!("frees the lock {written}"),
        "wait" => format!("waits for {written}"),
        "wake" => format!("wakes {written}"),
        "alloc" => format!("allocates {written}"),
        "free" if waits(run, &step["n"]) => format!("puts the free of {written} into its buffer"),
        "free" => format!("frees {written}"),
        "return" => "returns from its function, whose variables are gone".to_owned(),
        "exit" => "ends, and its memory is gone".to_owned(),
        "spawn" => "starts a thread".to_owned(),
        "join" => "waits for the end of a thread".to_owned(),
        "begin" => "begins a transaction".to_owned(),
        "end" => "ends a transaction".to_owned(),
        "fail" => stops(run, &step["note"]).to_owned(),
        _ => {
            let sets = step["sets"].as_object().into_iter().flatten();
            let sets: Vec<String> =
                sets.map(|(k, v)| format!("{}={}", plain(k), clean(v))).collect();
            sets.join(" ")
        }
    };
    for late in run["late"].as_array().into_iter().flatten() {
        if late["store"] == step["n"] && !step["n"].is_null() {
            text += &format!("; step {} overtakes it", place(&late["behind"]));
        }
    }
    if !step["note"].is_null() {
        text += &format!("; {}", clean(&step["note"]));
    }
    text.trim_end().to_owned()
}

/// What a thread does where the run fails: where nobody can go on, no thread fails by itself.
fn stops(run: &Value, note: &Value) -> &'static str {
    let why = run["end"]["fails"].as_str().unwrap_or_default();
    let note = note.as_str().unwrap_or_default();
    match (why.starts_with("deadlock"), why.starts_with("livelock")) {
        (false, false) => "fails",
        (_, true) if note.starts_with("loops") || note.starts_with("hangs") => "loops for ever",
        _ => "is blocked",
    }
}

/// Whether the store with this number waits in a buffer: if it reaches memory later, or was overtaken. In
/// runs of machines with buffers, which say what memory holds at first, also if it never gets there;
/// in a log other stores are as in the execution of SC that it is a log of.
fn waits(run: &Value, n: &Value) -> bool {
    let any = |list: &str, key: &str| {
        run[list].as_array().is_some_and(|list| list.iter().any(|item| item[key] == *n))
    };
    let has_buffers =
        run["model"].as_str().is_some_and(|m| m.starts_with("tso") || m.starts_with("pso"));
    let knows_memory = run["init"].as_object().is_some_and(|init| !init.is_empty());
    has_buffers && knows_memory || any("steps", "of") || any("late", "store")
}

/// The states before the first step and after each. Those that the run has are taken from it; of
/// others what steps say is done.
fn states(run: &Value, threads: &[String]) -> Vec<State> {
    let pairs = |map: &Value| -> Vec<(String, String)> {
        map.as_object().into_iter().flatten().map(|(k, v)| (plain(k), clean(v))).collect()
    };
    let mut state = State { memory: pairs(&run["init"]), buffers: vec![Vec::new(); threads.len()] };
    let mut numbers: Vec<Vec<u64>> = vec![Vec::new(); threads.len()];
    let mut states = vec![state.clone()];
    for step in run["steps"].as_array().into_iter().flatten() {
        let thread = step["thread"].as_u64().unwrap_or(0) as usize;
        let cell = (clean(&step["location"]), clean(&step["value"]));
        let put =
            |memory: &mut Vec<(String, String)>, (location, value): (String, String)| match memory
                .iter_mut()
                .find(|(known, _)| *known == location)
            {
                Some(known) => known.1 = value,
                None => memory.push((location, value)),
            };
        match (step["kind"].as_str(), numbers.get_mut(thread), state.buffers.get_mut(thread)) {
            (Some("store"), Some(numbers), Some(buffer))
                if step["at_once"] != true && waits(run, &step["n"]) =>
            {
                numbers.push(step["n"].as_u64().unwrap_or(0));
                buffer.push(cell);
            }
            (Some("store" | "update"), ..) => put(&mut state.memory, cell),
            (Some("commit"), Some(numbers), Some(buffer)) => {
                let of = numbers.iter().position(|n| Some(*n) == step["of"].as_u64());
                if let Some(at) = of {
                    numbers.remove(at);
                    let cell = buffer.remove(at);
                    put(&mut state.memory, cell);
                }
            }
            _ => {}
        }
        for cell in pairs(&step["memory"]) {
            put(&mut state.memory, cell);
        }
        if let Some(given) = step["buffers"].as_object() {
            for (name, buffer) in threads.iter().zip(&mut state.buffers) {
                let stores = given.get(name).and_then(Value::as_array).into_iter().flatten();
                *buffer = stores.map(|store| (clean(&store[0]), clean(&store[1]))).collect();
            }
        }
        states.push(state.clone());
    }
    states
}

fn end(end: &Value) -> String {
    let list = |map: &Value, between: &str| -> String {
        let pairs = map.as_object().into_iter().flatten();
        let pairs: Vec<String> =
            pairs.map(|(k, v)| format!("{}{between}{}", plain(k), clean(v))).collect();
        pairs.join(", ")
    };
    match end.as_object().and_then(|end| end.iter().next()) {
        Some((key, state)) if key == "state" => format!("Final state: {}", list(state, "=")),
        Some((key, at)) if key == "at" && at.as_object().is_some_and(|at| !at.is_empty()) => {
            format!("The run ends with {}", list(at, " at "))
        }
        Some((key, why)) if key == "fails" => format!("The run fails: {}", clean(why)),
        _ => String::new(),
    }
}

/// The text of a value, without what a terminal would take for commands.
fn clean(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        other => other.to_string(),
    }
}

fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
            '\u{fffd}'
        }
        c => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests;
