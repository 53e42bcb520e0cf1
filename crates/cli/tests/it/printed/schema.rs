//! Everything that is printed as JSON is what docs/schema/answers.json says, and docs/reference/json.md says
//! the same in words. The tests that run commands by [`crate::run`] validate what these print, too.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use expect_test::expect_file;
use serde_json::Value;

use crate::{root, run};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let path = root().join("docs/schema/answers.json");
    let text = std::fs::read_to_string(path).expect("the schema can be read");
    serde_json::from_str(&text).expect("the schema is JSON")
});

/// Fails if a line is not what the schema says.
pub(crate) fn validate(args: &[&str], out: &str) {
    for line in out.lines() {
        let object: Value = serde_json::from_str(line).expect("a JSON object");
        if let Err(why) = check(&SCHEMA, &object, "") {
            panic!("{args:?} prints what docs/schema/answers.json does not allow: {why}\n{line}");
        }
    }
}

/// Whether a value is what a schema says, by the keywords that our schema uses; an unknown one is an
/// error. If so, the keys of an object that the schema knows.
fn check(schema: &Value, value: &Value, at: &str) -> Result<BTreeSet<String>, String> {
    let mut known = BTreeSet::new();
    let Value::Object(words) = schema else {
        return if *schema == true { Ok(known) } else { Err(format!("nothing may be at {at}")) };
    };
    let fail = |what: String| Err(format!("at `{at}`: {what}"));
    for (word, says) in words {
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            // They are about what the others leave, below.
            "additionalProperties" | "unevaluatedProperties" | "items" => {}
            "$ref" => known.extend(check(definition(says), value, at)?),
            "allOf" => {
                for schema in list(says) {
                    known.extend(check(schema, value, at)?);
                }
            }
            "anyOf" => {
                let checked = list(says).iter().map(|schema| check(schema, value, at));
                let (fits, why): (Vec<_>, Vec<_>) = checked.partition(Result::is_ok);
                if fits.is_empty() {
                    let why: Vec<String> = why.into_iter().filter_map(Result::err).collect();
                    return fail(format!(
                        "none of these:\n  {}",
                        why.join("\n").replace('\n', "\n  ")
                    ));
                }
                known.extend(fits.into_iter().flatten().flatten());
            }
            "const" if says == value => {}
            "const" => return fail(format!("{value} instead of {says}")),
            "enum" if list(says).contains(value) => {}
            "enum" => return fail(format!("{value} is not one of {says}")),
            "type" => {
                let is = |name: &Value| is_a(name.as_str().expect("a type"), value);
                if !says.as_array().map_or_else(|| is(says), |names| names.iter().any(is)) {
                    return fail(format!("{value} is not of type {says}"));
                }
            }
            "minimum" => {
                if value.as_f64() < says.as_f64() && value.is_number() {
                    return fail(format!("{value} is less than {says}"));
                }
            }
            "minItems" => {
                if value.as_array().is_some_and(|a| (a.len() as u64) < says.as_u64().unwrap()) {
                    return fail(format!("{value} has too few elements"));
                }
            }
            "prefixItems" => {
                for (i, (schema, item)) in list(says).iter().zip(list(value)).enumerate() {
                    check(schema, item, &format!("{at}/{i}"))?;
                }
            }
            "required" => {
                for key in list(says) {
                    if value.is_object() && value.get(key.as_str().expect("a key")).is_none() {
                        return fail(format!("no {key}"));
                    }
                }
            }
            "properties" => {
                for (key, schema) in says.as_object().expect("an object") {
                    if let Some(value) = value.get(key) {
                        check(schema, value, &format!("{at}/{key}"))?;
                        known.insert(key.clone());
                    }
                }
            }
            other => panic!("the schema uses `{other}`, which this test does not know"),
        }
    }
    if let (Some(items), Value::Array(values)) = (words.get("items"), value) {
        let before = words.get("prefixItems").map_or(0, |before| list(before).len());
        for (i, item) in values.iter().enumerate().skip(before) {
            check(items, item, &format!("{at}/{i}"))?;
        }
    }
    let own = |key: &String| words.get("properties").is_some_and(|own| own.get(key).is_some());
    for (word, only_own) in [("additionalProperties", true), ("unevaluatedProperties", false)] {
        if let (Some(others), Value::Object(object)) = (words.get(word), value) {
            for (key, value) in object {
                if !(own(key) || !only_own && known.contains(key)) {
                    check(others, value, &format!("{at}/{key}"))?;
                    known.insert(key.clone());
                }
            }
        }
    }
    let mut seen = SEEN.lock().expect("no panic while it is held");
    seen.extend(known.iter().filter(|key| own(key)).map(|key| format!("{:p} {key}", schema)));
    Ok(known)
}

/// The keys that were seen, each with the address of the schema that knows it.
static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn definition(reference: &Value) -> &'static Value {
    let name = reference.as_str().and_then(|r| r.strip_prefix("#/$defs/")).expect("a definition");
    SCHEMA["$defs"].get(name).unwrap_or_else(|| panic!("no definition {name}"))
}

fn is_a(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        // Of numbers with 16 digits there is no way to say that they are whole but to look.
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("the schema has a type {name}"),
    }
}

/// What is wrong is found: this test would be worth nothing otherwise.
#[test]
fn what_is_not_allowed_is_refused() {
    let good = run(&["litmus", "--format", "json", "--show", "corpus/litmus/SB.litmus"], "").out;
    let good: Value = serde_json::from_str(good.lines().next().expect("a line")).expect("JSON");
    assert_eq!(check(&SCHEMA, &good, "").err(), None);
    let change = |path: &str, value: Value| {
        let mut bad = good.clone();
        let (parent, key) = path.rsplit_once('/').expect("a path");
        bad.pointer_mut(parent)
            .and_then(Value::as_object_mut)
            .expect("an object")
            .insert(key.into(), value);
        assert!(check(&SCHEMA, &bad, "").is_err(), "{path}: {bad}");
    };
    change("/new", true.into());
    change("/run/new", true.into());
    change("/run/steps/0/new", true.into());
    change("/tool/new", true.into());
    change("/verdict", "perhaps".into());
    change("/states", (-1).into());
    change("/states", "4".into());
    change("/run/steps/0/kind", "jump".into());
    change("/run/steps/0/n", 0.into());
    for key in ["file", "question", "states", "run", "schema"] {
        let mut bad = good.clone();
        bad.as_object_mut().expect("an object").remove(key);
        assert_eq!(check(&SCHEMA, &bad, "").is_ok(), key == "run", "{key}");
    }
}

/// Every command, with answers of every kind.
#[test]
fn every_command() {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = |name: &str| temporary.path().join(name).to_str().expect("UTF-8").to_owned();
    let (witness, other, program) = (path("w.json"), path("v.json"), path("sb"));
    std::fs::write(path("bad.litmus"), "X86 bad\n{}\n P0 ;\n MVO ;\nexists (x=1)\n")
        .expect("written");
    std::fs::write(path("bad.wshist"), "t0: w x\n").expect("written");
    std::fs::write(path("unwritten.wshist"), "t0: w x 1\nt1: r x 5\n").expect("written");
    std::fs::write(path("bad.wstrace"), "t0 jumps\n").expect("written");
    let json = |words: &str| {
        let words: Vec<String> = words
            .split(' ')
            .map(|word| match word.strip_prefix('@') {
                Some(name) => path(name),
                None => word.replace('_', " "),
            })
            .collect();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        // What comes behind a program is for the program.
        let at = if words[0] == "bench" { 2 } else { 1 };
        words.splice(at..at, ["--format", "json"]);
        assert!(!run(&words, "").out.is_empty(), "{words:?}");
    };
    run(&["litmus", "--model", "tso", "--witness", &witness, "corpus/litmus/SB.litmus"], "");
    std::fs::write(
        &other,
        std::fs::read_to_string(&witness).expect("a witness").replace("\"holds\"", "\"violated\""),
    )
    .expect("written");
    let built = run(&["cc", "-g", "-pthread", "corpus/c/sb.c", "-o", &program], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    let waits = "#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
static atomic_int x;
static void *sets(void *p) { atomic_store(&x, 1); return p; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, sets, 0);
    __VERIFIER_assume(atomic_load(&x) == 1);
    pthread_join(t, 0);
}
";
    std::fs::write(path("waits.c"), waits).expect("written");
    let built = run(&["cc", "-pthread", &path("waits.c"), "-o", &path("waits")], "");
    assert_eq!(built.code, Some(0), "{}", built.err);
    for model in ["sc", "tso"] {
        let log = run(&["litmus", "--model", model, "corpus/litmus/SB.litmus"], "").out;
        std::fs::write(path(&format!("{model}.log")), log.replace("Model SC", "Model TSO"))
            .expect("written");
    }
    let search = path("search.weak");
    run(&["gen", "family", "lamport", "--size", "9", "-o", &search], "");
    std::fs::write(path("wide.weak"), crate::printed::told::wide_program()).expect("written");
    for words in [
        "litmus --states --show corpus/litmus/SB.litmus corpus/litmus/MP.litmus corpus/litmus/n6.litmus",
        "litmus corpus/litmus corpus/litmus-c",
        "litmus --model tso --show=1:EAX=1;_1:EBX=0 corpus/litmus/MP.litmus",
        "litmus --model tso --show=1:EAX=7 corpus/litmus/MP.litmus",
        "litmus --run --runs 1000 corpus/litmus/SB.litmus",
        "litmus @bad.litmus @none.litmus",
        "litmus --timeout 0s corpus/litmus/SB.litmus",
        "reach --model sc,tso,pso corpus/programs/peterson.weak corpus/programs/dekker-simple.weak",
        "reach --model tso corpus/litmus/SB.litmus corpus/c-programs/peterson-relaxed.c",
        "reach --timeout 0s corpus/programs/bakery.weak @none.weak",
        "reach --memory 4MiB @wide.weak",
        "robust corpus/programs/peterson.weak corpus/litmus/SB.litmus corpus/litmus/MP.litmus",
        "robust --trf --model tso corpus/programs/peterson.weak corpus/programs/peterson-fenced.weak",
        "robust --timeout 0s corpus/programs/bakery.weak",
        "fence --model tso,pso corpus/programs/peterson.weak corpus/litmus/MP.litmus",
        "fence --goal safe --cost full=5,ss=1 corpus/programs/dekker-simple.weak",
        "fence --timeout 0s corpus/programs/bakery.weak",
        "monitor corpus/traces",
        "monitor @bad.wstrace",
        "monitor --program corpus/programs/peterson.weak",
        "monitor --program --schedules all corpus/programs/dekker-simple.weak",
        "monitor --program --preemptions 1 corpus/programs/peterson.weak",
        "monitor --program --random 9 --seed 3 corpus/programs/peterson.weak",
        "serial --timeout 5s corpus/transactions",
        "serial --timeout 5s --predict --literal corpus/transactions",
        "serial --fence-transactions corpus/transactions/task-pool.wstrace corpus/programs/task-pool.weak",
        "serial corpus/programs/task-pool.weak corpus/programs/peterson.weak @bad.wstrace",
        "history --minimise corpus/histories @bad.wshist",
        "history --follow corpus/histories/classic.wshist",
        "history --complete-recording @unwritten.wshist",
        "history corpus/databases",
        "history --timeout 0s corpus/histories/by-cases.wshist",
        "run --timeout 60s @sb",
        "run --robust --fences --transactions --timeout 60s @sb",
        "run --under tso @sb",
        "run --report @page.html --timeout 60s @sb",
        "reach --report @page.html --model sc @search.weak",
        "run --executions 1 @sb",
        "run --steps 2 @sb",
        "run @waits",
        "run @none",
        "certify corpus/litmus/SB.litmus @w.json",
        "certify corpus/litmus/SB.litmus @v.json",
        "certify corpus/litmus/MP.litmus @w.json",
        "compare @sc.log @tso.log",
        "selfcheck --seed 1 --time 1s",
        "bench programs --timeout 60s dekker",
        "bench monitor --processes 2 --addresses 10 --events 100 --rounds 1",
    ] {
        json(words);
    }
    // What no command here prints, because it takes a rare program or much time.
    let rare = [
        "advice/folder",
        "advice/root",
        "bench-",
        "error/kind",
        "explored/root",
        "failure/",
        "history/explored",
        "limit/",
        "log-event/other",
        "pair/accepted",
        "reported-pair/",
        "robust/exploration",
        "run-end/impossible",
        "run-location/type",
        "run-thread/at",
        "selfcheck/",
        "serial-executions/",
        "step/at_once",
        "tool/commit",
        "unread/",
        "why-not/reason",
    ];
    let mut unseen = Vec::new();
    let seen = SEEN.lock().expect("no panic while it is held");
    for (name, schema) in SCHEMA["$defs"].as_object().expect("definitions") {
        for (key, of) in keys(schema) {
            let path = format!("{name}/{key}");
            if !seen.contains(&format!("{of:p} {key}"))
                && !rare.iter().any(|rare| path.starts_with(rare))
            {
                unseen.push(path);
            }
        }
    }
    assert!(unseen.is_empty(), "keys that no command printed: {unseen:#?}");
}

/// The keys that a schema names, each with the part of the schema that names it.
fn keys(schema: &Value) -> Vec<(&str, &Value)> {
    let mut all = Vec::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, of) in properties {
            all.push((key.as_str(), schema));
            all.extend(keys(of));
        }
    }
    all.extend(schema.get("items").into_iter().flat_map(keys));
    all.extend(schema.get("anyOf").into_iter().flat_map(list).flat_map(keys));
    all
}

/// docs/reference/json.md is made from the schema.
#[test]
fn the_page_is_made_from_the_schema() {
    let mut page = "# JSON\n\n\
        With `--format json` every line of standard output is an object, one per question, in the order of the input. \
        [schema/answers.json](../schema/answers.json) is their JSON Schema (draft 2020-12); this page is made from it. Tests \
        validate what every command prints.\n\n\
        `schema` is the version of the objects. It rises when a key is taken away or means something else. New keys do not \
        change it: ignore those that you do not know. The schema is strict, as it describes one version of weakspot: take that \
        of the version that you use.\n\n\
        ```\n$ weakspot robust --format json corpus/programs/peterson.weak > answers.jsonl\n```\n\n\
        Then `jq -c 'select(.verdict == \"violated\") | [.file, .model, .store.line]' answers.jsonl` has the places.\n"
        .to_owned();
    let definitions = SCHEMA["$defs"].as_object().expect("definitions");
    let answers: Vec<&str> = list(&SCHEMA["anyOf"]).iter().map(named).collect();
    let others = definitions.keys().map(String::as_str).filter(|name| !answers.contains(name));
    for (title, names) in [("Objects", answers.clone()), ("Parts of objects", others.collect())] {
        let _ = write!(page, "\n## {title}\n");
        for name in names {
            describe(&mut page, name, &definitions[name]);
        }
    }
    expect_file![Path::new("../../../../../docs/reference/json.md")].assert_eq(&page);
}

fn named(reference: &Value) -> &str {
    reference["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")).expect("a definition")
}

fn describe(page: &mut String, name: &str, schema: &Value) {
    let text = |schema: &Value| schema["description"].as_str().unwrap_or_default().to_owned();
    let _ = write!(page, "\n### {name}\n\n{}", text(schema));
    let parts: Vec<&Value> = schema.get("allOf").into_iter().flat_map(list).collect();
    let links: Vec<String> = parts.iter().map(|part| format!("[{0}](#{0})", named(part))).collect();
    if !links.is_empty() {
        let _ = write!(page, " It also has the keys of {}.", links.join(" and "));
    }
    page.push('\n');
    for schema in std::iter::once(schema).chain(schema.get("anyOf").into_iter().flat_map(list)) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            continue;
        };
        let _ = write!(page, "\n| key | type | |\n|---|---|---|\n");
        let required = |key: &String| {
            schema.get("required").is_some_and(|keys| list(keys).iter().any(|k| k == key))
        };
        for (key, of) in properties {
            let mark = if required(key) { "" } else { "?" };
            let _ = writeln!(page, "| `{key}`{mark} | {} | {} |", kind(of), text(of));
            rows(page, key, of);
        }
    }
    if schema["type"] == "array" {
        let _ = write!(page, "\nA {}\n", kind(schema));
    }
}

/// Rows for the keys of objects that have no name.
fn rows(page: &mut String, path: &str, schema: &Value) {
    let inner =
        schema.get("items").into_iter().chain(schema.get("anyOf").into_iter().flat_map(list));
    for part in inner {
        let path =
            if schema.get("items").is_some() { format!("{path}[]") } else { path.to_owned() };
        rows(page, &path, part);
    }
    for (key, of) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}.{key}");
        let text = of["description"].as_str().unwrap_or_default();
        let _ = writeln!(page, "| `{path}` | {} | {text} |", kind(of));
        rows(page, &path, of);
    }
}

/// The type of a value in a few words.
fn kind(schema: &Value) -> String {
    let code = |value: &Value| format!("`{}`", value.to_string().trim_matches('"'));
    if schema.get("$ref").is_some() {
        return format!("[{0}](#{0})", named(schema));
    }
    if let Some(value) = schema.get("const") {
        return code(value);
    }
    if let Some(values) = schema.get("enum") {
        return list(values).iter().map(code).collect::<Vec<_>>().join(", ");
    }
    if let Some(schemas) = schema.get("anyOf") {
        return list(schemas).iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        Value::String(name) if name == "array" && schema.get("prefixItems").is_some() => {
            let items: Vec<String> = list(&schema["prefixItems"]).iter().map(kind).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        _ => String::new(),
    }
}
