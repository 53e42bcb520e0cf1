use serde_json::{Value, json};

use super::github::github;
use super::junit::junit_of_objects;
use super::sarif::sarif;
use crate::json::Tool;

const OBJECTS: [&str; 5] = [
    r#"{"file":"p.weak","question":"robust","model":"tso","verdict":"violated","store":{"line":3,"column":5,"text":"x = 1"},"load":{"line":4,"column":9,"text":"r = y"}}"#,
    r#"{"file":"b","question":"failures","model":"tso","verdict":"violated","failures":[{"kind":"assertion","message":"a: b, 100%","frames":["s b.c:7 in main"],"late":["T1  wr x  at sb.c:5 reaches memory after rd y  at sb.c:5"]}]}"#,
    r#"{"file":"b","question":"run","model":"pso","verdict":"violated","advisory":true,"violations":[{"store":{"thread":"T1","kind":"wr","location":"x","at":"sb.c:5"},"access":{"thread":"T2","kind":"rd","location":"x","at":"sb.c:6:2"},"mend":"a fence"}]}"#,
    r#"{"file":"b","question":"run","model":"tso","verdict":"unknown","limit":{"kind":"time"}}"#,
    r#"{"file":"b","question":"fence","model":"tso","verdict":"violated","fences":[{"file":"sb.c","line":2,"what":"its order at least seq_cst"}],"diff":"--- sb.c\n+++ sb.c\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n c\n"}"#,
];

#[test]
fn annotations() {
    assert_eq!(
        github(&OBJECTS.join("\n")),
        "::error file=p.weak,line=4,col=9,title=weakspot%3A not-sc::under TSO, `r = y` can take effect before `x = 1`; a fence between the two prevents it%0Athe store that is late: x = 1 at p.weak:3
::error file=s b.c,line=7,title=weakspot%3A assertion::assertion: a: b, 100%25 (under TSO)%0AT1 wr x at sb.c:5 reaches memory after rd y at sb.c:5
::notice file=sb.c,line=6,col=2,title=weakspot%3A not-sc::under PSO, rd x by T2 can take effect before wr x by T1; a fence prevents it%0Athe store that is late: wr x by T1 at sb.c:5
::warning file=b,title=weakspot%3A run::run under TSO is not known: a limit was reached
::notice file=sb.c,line=2,title=weakspot%3A fence::needs: its order at least seq_cst (under TSO)
"
    );
}

#[test]
fn a_log() {
    let tool = Tool { name: "weakspot", version: "1.0", commit: None };
    let log: Value = serde_json::from_str(&sarif(&tool, &OBJECTS.join("\n"))).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 5);
    let uri = |i: usize| &results[i]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!((uri(0), uri(1)), (&json!("p.weak"), &json!("s%20b.c")));
    assert_eq!(results[1]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 5);
    assert_eq!((&results[2]["level"], &results[3]["kind"]), (&json!("note"), &json!("open")));
    let change = &results[4]["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(change["deletedRegion"]["endLine"], 4);
    assert_eq!(change["insertedContent"]["text"], "a\nB\nC\nc\n");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    let used = |result: &Value| rules.iter().any(|rule| rule["id"] == result["ruleId"]);
    assert!(results.iter().all(used));
}

#[test]
fn the_other_access_of_a_race() {
    let race = r#"{"file":"b","question":"failures","model":"sc","verdict":"violated","failures":[{"kind":"data-race","message":"on x: plain load of 4 bytes","frames":["r.c:7 in one"],"related":[{"what":"plain store of 4 bytes","thread":"two#2","at":["library/core/src/ptr.rs:3 in write","r.c:9 in two"]}]}]}"#;
    assert_eq!(
        github(race),
        "::error file=r.c,line=7,title=weakspot%3A data-race::data-race: on x: plain load of 4 bytes \
         (under SC)%0Aplain store of 4 bytes by two#2 at r.c:9\n"
    );
    let tool = Tool { name: "weakspot", version: "1.0", commit: None };
    let log: Value = serde_json::from_str(&sarif(&tool, race)).expect("JSON");
    let related = &log["runs"][0]["results"][0]["relatedLocations"][0];
    assert_eq!(related["physicalLocation"]["region"]["startLine"], 9);
    assert_eq!(related["message"]["text"], "plain store of 4 bytes by two#2");
}

#[test]
fn nothing_to_say() {
    let holds = r#"{"file":"p","question":"robust","model":"tso","verdict":"holds"}"#;
    assert_eq!(github(holds), "");
}

/// What fails in Rust is annotated where the user's own code is.
#[test]
fn places_of_failures() {
    let failed = |failure: &str| {
        let object = format!(
            r#"{{"file":"c::t","question":"failures","model":"sc","verdict":"violated","failures":[{failure}]}}"#
        );
        github(&object)
    };
    let panic =
        failed(r#"{"kind":"panic","message":"lib.rs:27:5: assertion failed: a == b","frames":[]}"#);
    assert!(panic.starts_with("::error file=lib.rs,line=27,col=5,"), "{panic}");
    let stuck = failed(
        r#"{"kind":"deadlock","message":"all wait","frames":["library/std/futex.rs:73 in wait"],"run":{"steps":[{"file":"lib.rs","line":4},{"file":"library/std/futex.rs","line":73}]}}"#,
    );
    assert!(stuck.starts_with("::error file=lib.rs,line=4,"), "{stuck}");
    assert!(
        failed(r#"{"kind":"exit","message":"exit code 1"}"#).starts_with("::error file=c%3A%3At,")
    );
}

#[test]
fn answers_as_tests() {
    assert_eq!(
        junit_of_objects(&OBJECTS[..4].join("\n")),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"weakspot\" tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"2\" time=\"0.000\">
  <testsuite name=\"p.weak\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"0.000\">
    <testcase classname=\"p.weak\" name=\"robust TSO\" time=\"0.000\">
      <failure message=\"under TSO, `r = y` can take effect before `x = 1`; a fence between the two prevents it\">p.weak:4:9: under TSO, `r = y` can take effect before `x = 1`; a fence between the two prevents it
p.weak:3:5: the store that is late: x = 1</failure>
    </testcase>
  </testsuite>
  <testsuite name=\"b\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"2\" time=\"0.000\">
    <testcase classname=\"b\" name=\"failures TSO\" time=\"0.000\">
      <failure message=\"assertion: a: b, 100% (under TSO)\">s b.c:7: assertion: a: b, 100% (under TSO)
sb.c:5: T1 wr x at sb.c:5 reaches memory after rd y at sb.c:5</failure>
    </testcase>
    <testcase classname=\"b\" name=\"run PSO\" time=\"0.000\">
      <skipped message=\"advice: under PSO, rd x by T2 can take effect before wr x by T1; a fence prevents it\">sb.c:6:2: under PSO, rd x by T2 can take effect before wr x by T1; a fence prevents it
sb.c:5: the store that is late: wr x by T1</skipped>
    </testcase>
    <testcase classname=\"b\" name=\"run TSO\" time=\"0.000\">
      <skipped message=\"run under TSO is not known: a limit was reached\">b: run under TSO is not known: a limit was reached</skipped>
    </testcase>
  </testsuite>
</testsuites>
"
    );
}

/// Sources that are named from the root of a crate are named from the folder that one is in.
#[test]
fn files_of_a_crate_below() {
    let object = r#"{"file":"c::t","question":"failures","model":"tso","verdict":"violated","root":"sub/c","failures":[{"kind":"panic","message":"src/lib.rs:27:5: no","frames":["src/lib.rs:27 in t"],"late":["t#1  wr x  at src/lib.rs:5 reaches memory after rd y"]}]}"#;
    assert_eq!(
        github(object),
        "::error file=sub/c/src/lib.rs,line=27,title=weakspot%3A panic::panic: src/lib.rs:27:5: no \
         (under TSO)%0At#1 wr x at src/lib.rs:5 reaches memory after rd y\n"
    );
    let advice = OBJECTS[4].replace(r#""question""#, r#""root":"sub","question""#);
    let advice = advice.replace(r#""diff""#, r#""folder":"sub","diff""#);
    let tool = Tool { name: "weakspot", version: "1.0", commit: None };
    let log: Value = serde_json::from_str(&sarif(&tool, &advice)).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    let at = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    let change = &result["fixes"][0]["artifactChanges"][0]["artifactLocation"]["uri"];
    assert_eq!((at, change), (&json!("sub/sb.c"), &json!("sub/sb.c")));
    // What is no file stays as it is.
    let exit = r#"{"file":"c::t","question":"failures","model":"sc","verdict":"violated","root":"sub","failures":[{"kind":"exit","message":"exit code 1"}]}"#;
    assert!(github(exit).starts_with("::error file=c%3A%3At,"), "{}", github(exit));
}

/// What only the language asks for is not needed under a model, and who was interrupted reached no limit.
#[test]
fn what_is_asked_for_why() {
    let asked = OBJECTS[4].replace(r#""what""#, r#""language":true,"what""#);
    assert!(github(&asked).ends_with("seq_cst (for the rules of C11 and Rust)\n"), "{asked}");
    let stopped = OBJECTS[3].replace(
        r#""kind":"time""#,
        r#""kind":"interrupted","message":"the search was interrupted""#,
    );
    let xml = junit_of_objects(&stopped);
    assert!(xml.contains("run under TSO is not known: the search was interrupted"), "{xml}");
}

/// Where no fence fits, that is said at the store.
#[test]
fn no_fence_fits() {
    let run = r#"{"late":[{"store":1,"behind":2}],"steps":[{"n":1,"line":5,"text":"x = 1, a = y;"},{"n":2,"line":5,"text":"x = 1, a = y;"}]}"#;
    let object = format!(
        r#"{{"file":"i.c","question":"fence","model":"tso","verdict":"violated","goal":"robust","fixable":false,"run":{run}}}"#
    );
    let said = github(&object);
    assert!(said.starts_with("::error file=i.c,line=5,"), "{said}");
    assert!(said.ends_with("not robust under TSO: no fence fits into `x = 1, a = y;`: split it\n"));
    let apart = object.replacen("x = 1, a = y;", "x = 1;", 1);
    assert!(github(&apart).contains("fits between `x = 1;` and `x = 1, a = y;`"), "{apart}");
}

/// A value that nobody wrote stands where it is read, with who wrote before.
#[test]
fn a_value_that_nobody_wrote() {
    let value = r#"{"file":"v","question":"history","model":"cc","verdict":"violated","kind":"value","message":"c1 read 9 from x, which nobody wrote","line":3,"column":1,"last_writes":[{"thread":"c0","value":5,"line":2}]}"#;
    assert_eq!(
        github(&[value, &value.replace("cc", "sc")].join("\n")),
        "::error file=v,line=3,col=1,title=weakspot%3A history::history is violated under CC,SC: c1 \
         read 9 from x, which nobody wrote%0Ac0 wrote 5 at v:2\n"
    );
}

/// One exploration answers for several models: its time counts once, that of each question of its own.
#[test]
fn times_of_explorations() {
    let object = |file: &str, question: &str, model: &str| {
        format!(
            r#"{{"file":"{file}","question":"{question}","model":"{model}","verdict":"holds","time_s":1.5}}"#
        )
    };
    let total = |objects: &[String]| {
        let xml = junit_of_objects(&objects.join("\n"));
        xml.split("time=\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned)
    };
    let run = ["failures sc", "failures tso", "run tso"].map(|words| {
        let (question, model) = words.split_once(' ').expect("two words");
        object("a", question, model)
    });
    assert_eq!(total(&run).as_deref(), Some("1.500"));
    let two = [&run[..], &[object("b", "failures", "sc")]].concat();
    assert_eq!(total(&two).as_deref(), Some("3.000"));
    let robust = ["tso", "pso"].map(|model| object("a", "robust", model));
    assert_eq!(total(&robust).as_deref(), Some("3.000"));
}

/// Fences for a program that was executed fail no test: what they are for does, if it counts.
#[test]
fn fences_of_executed_programs_are_advice() {
    let needed = OBJECTS[4].replace("\"diff\"", "\"explorations\":1,\"diff\"");
    let xml = junit_of_objects(&needed);
    assert!(xml.contains("failures=\"0\"") && xml.contains("<skipped message=\"advice: "), "{xml}");
    // That is what `weakspot fence` was asked.
    assert!(junit_of_objects(OBJECTS[4]).contains("failures=\"1\""));
}

/// The read that is wrong is annotated, and the others are related to it; a cycle of transactions comes with what is in
/// its way, in the file of the program that was logged.
#[test]
fn places_of_cycles() {
    let history = r#"{"file":"h","question":"history","model":"coherence","verdict":"violated","broken":"at x (line 1, line 2)","run":{"threads":[{"name":"t0"},{"name":"t1"}],"steps":[{"n":1,"thread":0,"kind":"store","line":1,"text":"w x 1"},{"n":2,"thread":1,"kind":"load","line":2,"text":"r x 1"},{"n":3,"thread":1,"kind":"load","line":3,"text":"r x 0"}],"cycle":[{"from":1,"to":2,"edge":"rf"},{"from":2,"to":3,"edge":"po"},{"from":3,"to":1,"edge":"fr"}]}}"#;
    assert_eq!(
        github(history),
        "::error file=h,line=3,title=weakspot%3A history::history is violated under coherence: at x (line 1, line 2)\n"
    );
    let tool = Tool { name: "weakspot", version: "1.0", commit: None };
    let log: Value = serde_json::from_str(&sarif(&tool, history)).expect("JSON");
    let related = log["runs"][0]["results"][0]["relatedLocations"].as_array().expect("places");
    let lines: Vec<_> = (related.iter())
        .map(|at| (&at["physicalLocation"]["region"]["startLine"], &at["message"]["text"]))
        .collect();
    assert_eq!(lines, [(&json!(1), &json!("t0 w x 1")), (&json!(2), &json!("t1 r x 1"))]);
    let serial = r#"{"file":"log","question":"serial","model":"tso","verdict":"violated","cycle":[{"why":"1 before 2"}],"delays":[{"store":1,"during":9,"fence_before":2}],"run":{"steps":[{"n":1,"file":"p.c","line":6},{"n":2,"file":"p.c","line":9}],"cycle":[{"from":1,"to":2,"edge":"po","why":"1 before 2"}]}}"#;
    assert_eq!(
        github(serial),
        "::error file=p.c,line=6,title=weakspot%3A serial::log: not serializable under TSO: 1 before 2; a fence between p.c:6 and p.c:9 is in the way of this\n"
    );
    let program = serial
        .replace("\"delays\"", "\"fix\":\"a fence in p between line 2 and line 3\",\"delays\"");
    assert!(github(&program).contains("a fence in p between line 2 and line 3 is in the way"));
    let helpless = serial.replace("\"delays\"", "\"sc_serializable\":\"violated\",\"delays\"");
    assert!(github(&helpless).ends_with("so that no fence helps\n"), "{}", github(&helpless));
    let litmus = r#"{"file":"l","question":"litmus","model":"tso","verdict":"violated","name":"SB","line":8,"condition":"~exists","proposition":"(x=1)","observation":"Sometimes"}"#;
    assert_eq!(
        github(litmus),
        "::error file=l,line=8,title=weakspot%3A litmus::SB: litmus is violated under TSO: some final state satisfies (x=1)\n"
    );
}

/// What is told under one model is not told again under another; the same in two files is.
#[test]
fn each_thing_is_told_once() {
    let objects = [
        r#"{"file":"a.weak","question":"robust","model":"tso","verdict":"violated","name":"n","store":{"line":3,"text":"x = 1"},"load":{"line":4,"text":"r = y"}}"#,
        r#"{"file":"a.weak","question":"robust","model":"pso","verdict":"violated","name":"n","store":{"line":3,"text":"x = 1"},"load":{"line":4,"text":"r = y"}}"#,
        r#"{"file":"b.weak","question":"robust","model":"tso","verdict":"violated","name":"n","store":{"line":3,"text":"x = 1"},"load":{"line":4,"text":"r = y"}}"#,
        r#"{"file":"b","question":"failures","model":"pso","verdict":"violated","failures":[{"kind":"assertion","message":"new","frames":["c.c:7"]},{"kind":"assertion","message":"old","frames":["c.c:8"],"as_under":"tso"}]}"#,
        r#"{"file":"b","question":"run","model":"pso","verdict":"violated","violations":[{"store":{"thread":"T1","kind":"wr","location":"x","at":"c.c:5"},"access":{"thread":"T2","kind":"rd","location":"x","at":"c.c:6"}},{"as_under":"tso","store":{"thread":"T1","kind":"wr","location":"y","at":"c.c:1"},"access":{"thread":"T2","kind":"rd","location":"y","at":"c.c:2"}}]}"#,
    ];
    let said = github(&objects.join("\n"));
    let places = said.lines().map(|line| line.split(",title").next().unwrap_or(line));
    assert_eq!(
        places.collect::<Vec<_>>(),
        [
            "::error file=a.weak,line=4",
            "::error file=b.weak,line=4",
            "::error file=c.c,line=7",
            "::error file=c.c,line=6",
        ]
    );
    assert!(
        said.starts_with("::error file=a.weak,line=4,title=weakspot%3A not-sc::under TSO,PSO, "),
        "{said}"
    );
}
