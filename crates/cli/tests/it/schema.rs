//! Every object that a command prints is as `docs/schema/answer.json` says.

use serde_json::Value;

use crate::run::{explore, two};
use crate::{root, run};

/// What is wrong with a value, by the words of JSON Schema that our schema uses.
fn errors(schema: &Value, whole: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let mut say = |what: String| found.push(format!("{at}: {what}"));
    for key in schema.as_object().into_iter().flatten().map(|(key, _)| key) {
        let known = [
            "$schema",
            "$ref",
            "$defs",
            "title",
            "description",
            "type",
            "enum",
            "const",
            "minimum",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "anyOf",
            "allOf",
            "if",
            "then",
        ];
        assert!(known.contains(&key.as_str()), "the schema uses {key}, which nothing here checks");
    }
    if let Some(types) = schema.get("type") {
        let is = |name: &Value| match name.as_str().expect("a name of a type") {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            other => panic!("no type {other}"),
        };
        let fits = types.as_array().map_or_else(|| is(types), |types| types.iter().any(is));
        if !fits {
            say(format!("{value} is not {types}"));
        }
    }
    if let Some(one_of) = schema["enum"].as_array()
        && !one_of.contains(value)
    {
        say(format!("{value} is not one of {}", schema["enum"]));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        say(format!("{value} is not {}", schema["const"]));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        say(format!("{number} is less than {least}"));
    }
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(key) {
                say(format!("no {key}"));
            }
        }
        for (key, inner) in object {
            let known = schema["properties"].get(key);
            if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
                errors(schema, whole, inner, &format!("{at}.{key}"), found);
            }
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (i, item) in list.iter().enumerate() {
            errors(items, whole, item, &format!("{at}[{i}]"), found);
        }
    }
    let fits = |schema: &Value| {
        let mut inner = Vec::new();
        errors(schema, whole, value, at, &mut inner);
        inner.is_empty()
    };
    if let Some(any) = schema["anyOf"].as_array()
        && !any.iter().any(fits)
    {
        found.push(format!("{at}: {value} is none of {}", schema["anyOf"]));
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        errors(part, whole, value, at, found);
    }
    if schema.get("if").is_some_and(fits) {
        errors(&schema["then"], whole, value, at, found);
    }
    if let Some(path) = schema["$ref"].as_str() {
        let target = whole.pointer(path.trim_start_matches('#')).expect("what is referred to");
        errors(target, whole, value, at, found);
    }
}

fn schema() -> Value {
    let path = root().join("docs/schema/answer.json");
    let text = std::fs::read_to_string(path).expect("docs/schema/answer.json");
    serde_json::from_str(&text).expect("JSON")
}

fn check(schema: &Value, out: &str, of: &str) -> usize {
    let mut objects = 0;
    for line in out.lines().filter(|line| line.starts_with('{')) {
        let object: Value = serde_json::from_str(line).expect("an object");
        let mut found = Vec::new();
        errors(schema, schema, &object, "", &mut found);
        assert!(found.is_empty(), "{of}: {}\n{line}", found.join("\n"));
        for (key, _) in object.as_object().expect("an object") {
            assert!(schema["properties"].get(key).is_some(), "{of}: the schema has no {key}");
        }
        objects += 1;
    }
    objects
}

#[test]
fn objects_are_as_the_schema_says() {
    let schema = schema();
    let questions = [
        "litmus --states --show corpus/litmus/SB.litmus corpus/litmus/MP.litmus",
        "litmus --show=1:EAX=1;1:EBX=0 corpus/litmus/MP.litmus",
        "litmus --show=1:EAX=7 corpus/litmus/MP.litmus",
        "litmus nothing.litmus corpus/programs/peterson.weak",
        "litmus --timeout 1ms corpus/litmus/3.SB.litmus",
        "reach corpus/programs/peterson.weak corpus/programs/peterson-fenced.weak",
        "reach corpus/unbounded",
        "robust corpus/programs/peterson.weak corpus/programs/peterson-fenced.weak",
        "robust --trf --model tso corpus/programs/peterson.weak",
        "fence corpus/programs/peterson.weak corpus/litmus/MP.litmus",
        "monitor corpus/traces",
        "monitor --program corpus/programs/peterson.weak",
        "serial corpus/transactions corpus/programs/task-pool.weak",
        "serial --fence-transactions --model tso corpus/transactions/task-pool.wstrace",
        "history corpus/histories",
        "history --minimise --model sc corpus/histories",
    ];
    for question in questions {
        let words: Vec<&str> = question.split(' ').collect();
        let ran = run(&[&words[..], &["--format", "json"]].concat(), "");
        assert!(check(&schema, &ran.out, question) > 0, "{question}: {}", ran.err);
    }
    let sb = two("int x, y, a, b;", "x = 1; a = y;", "y = 1; b = x;", "a || b");
    let (out, _) = explore("schema", &sb, &["--format", "json", "--no-races"]);
    assert!(check(&schema, &out, "run") >= 2, "{out}");
}

/// The validator finds mistakes.
#[test]
fn mistakes_are_found() {
    let schema = schema();
    let good = run(&["litmus", "--format", "json", "--model", "sc", "corpus/litmus/SB.litmus"], "");
    let good: Value = serde_json::from_str(&good.out).expect("an object");
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut object = good.clone();
        change(&mut object);
        let mut found = Vec::new();
        errors(&schema, &schema, &object, "", &mut found);
        !found.is_empty()
    };
    assert!(!wrong(&|_| {}));
    assert!(wrong(&|o| o["verdict"] = "perhaps".into()));
    assert!(wrong(&|o| o["time_s"] = (-1).into()));
    assert!(wrong(&|o| o["schema"] = 2.into()));
    assert!(wrong(&|o| o["states"] = "four".into()));
    assert!(wrong(&|o| drop(o.as_object_mut().unwrap().remove("condition"))));
    assert!(wrong(&|o| o["run"] = serde_json::json!({ "steps": [] })));
    assert!(wrong(&|o| o["limit"] = serde_json::json!({ "kind": 1, "message": "" })));
}
