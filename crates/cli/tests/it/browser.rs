//! Pages in a browser: they open without errors, are stepped through, filtered and fit every screen, and
//! axe-core finds nothing that keeps somebody out. `scripts/pages` installs what that needs and runs it.

mod chromium;

use std::path::PathBuf;

use chromium::Chromium;
use serde_json::Value;

use crate::{root, weakspot};

/// Where pages and pictures of them are kept, to be looked at.
fn folder() -> PathBuf {
    let folder = root().join("target/pages");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.canonicalize().expect("a path")
}

/// Writes the page of a question, and says where it is.
fn page(name: &str, args: &[&str]) -> String {
    let path = folder().join(format!("{name}.html"));
    let mut command = weakspot();
    let output = command.arg(args[0]).arg("--report").arg(&path).args(&args[1..]).output();
    // Bad input has its place on a page as well.
    let code = output.expect("it runs").status.code();
    assert!(code.is_some_and(|code| code < 3), "{args:?}: {code:?}");
    format!("file://{}", path.display())
}

/// The page fits the screen, and axe-core finds nothing, in both colours; a picture of it is kept.
fn looks_good(browser: &mut Chromium, name: &str) {
    let axe =
        std::env::var("WEAKSPOT_AXE").ok().and_then(|path| std::fs::read_to_string(path).ok());
    for (width, dark) in [(1400, true), (800, false), (360, false)] {
        browser.look(width, dark);
        let wide = browser.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width.into()), "{name} at {width}: {wide} pixels wide");
        browser.picture(&folder().join(format!("{name}-{width}.png")));
        if let (Some(axe), true) = (&axe, width != 800) {
            browser.eval(&format!("{axe}\n0"));
            let found = browser.eval(
                "axe.run().then((r) => r.violations.map((v) =>
                   v.id + ': ' + v.nodes.map((n) => n.html + ' ' + n.failureSummary).join('; ')))",
            );
            assert_eq!(found, Value::Array(Vec::new()), "{name} at {width}, dark: {dark}");
        }
    }
    browser.look(1400, false);
    assert_eq!(browser.errors(), Vec::<String>::new(), "{name}");
}

/// How many elements there are.
fn count(browser: &mut Chromium, selector: &str) -> u64 {
    let all = format!("document.querySelectorAll({selector:?}).length");
    browser.eval(&all).as_u64().expect("a number")
}

/// The text of the first such element.
fn text(browser: &mut Chromium, selector: &str) -> String {
    let text = browser.eval(&format!("document.querySelector({selector:?}).innerText"));
    text.as_str().expect("a text").to_owned()
}

fn click(browser: &mut Chromium, selector: &str) {
    browser.eval(&format!("document.querySelector({selector:?}).click()"));
}

#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn all_questions_look_good() {
    let questions: [(&str, &[&str]); 8] = [
        ("litmus", &["litmus", "corpus/litmus/SB.litmus", "corpus/litmus/MP.litmus"]),
        ("reach", &["reach", "corpus/programs/peterson.weak"]),
        ("robust", &["robust", "corpus/programs/peterson.weak"]),
        ("fence", &["fence", "corpus/programs/peterson.weak"]),
        ("monitor", &["monitor", "corpus/traces/store-buffering.wstrace"]),
        ("history", &["history", "--minimise", "corpus/histories/classic.wshist"]),
        ("serial", &["serial", "corpus/transactions/task-pool.wstrace"]),
        ("bad", &["reach", "corpus/programs"]),
    ];
    let mut browser = Chromium::start();
    for (name, args) in questions {
        let address = page(name, args);
        browser.look(1400, false);
        browser.open(&address);
        looks_good(&mut browser, &format!("{name}-all"));
        let violated = "#answers a .violated, #answers a .advice, #answers a .holds";
        click(&mut browser, violated);
        browser.wait_for("!document.querySelector('#answer').hidden");
        looks_good(&mut browser, name);
    }
}

#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn real_programs_look_good() {
    let program = folder().join("peterson");
    let program = program.to_str().expect("a path");
    let source = "corpus/c/peterson.c";
    let built = weakspot().args(["cc", "-g", "-O1", "-pthread", "-o", program, source]).status();
    assert!(built.expect("it runs").success());
    let address = page("run", &["run", "--fences", program]);
    let mut browser = Chromium::start();
    browser.look(1400, false);
    browser.open(&address);
    looks_good(&mut browser, "run-all");
    click(&mut browser, "#answers a .violated");
    browser.wait_for("!document.querySelector('#answer').hidden");
    looks_good(&mut browser, "run");
}

#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn answers_are_filtered() {
    let address = page("filter", &["litmus", "corpus/litmus/"]);
    let mut browser = Chromium::start();
    browser.open(&address);
    let all = count(&mut browser, "#answers tbody tr");
    assert!(all >= 100, "{all}");
    browser.eval("document.getElementById('search').focus()");
    browser.write("/SB.litmus");
    assert!((1..5).contains(&count(&mut browser, "#answers tbody tr")));
    browser.eval(
        "document.getElementById('kind').value = 'violated';
         document.getElementById('kind').dispatchEvent(new Event('change'))",
    );
    let pills = text(&mut browser, "#answers tbody");
    assert!(pills.contains("SC: does not hold"), "{pills}");
    browser.eval("document.getElementById('search').focus()");
    browser.write("no test has this name");
    assert_eq!(count(&mut browser, "#answers tbody tr"), 0);
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn runs_are_stepped_through() {
    let address = page("steps", &["robust", "--model", "tso", "corpus/programs/peterson.weak"]);
    let mut browser = Chromium::start();
    browser.open(&format!("{address}#answer-0"));
    assert!(text(&mut browser, ".player output").starts_with("step 12 of 12"));
    browser.eval("document.querySelector('.player input').focus()");
    browser.key("ArrowLeft", 0);
    browser.key("ArrowLeft", 0);
    assert!(text(&mut browser, ".player output").starts_with("step 10 of 12"));
    // Arrows mean steps on buttons, too.
    browser.eval("document.querySelector('.player button').focus()");
    browser.key("ArrowLeft", 0);
    assert!(text(&mut browser, ".player output").starts_with("step 9 of 12"));
    click(&mut browser, ".player button[aria-label='next step']");
    browser.key("ArrowRight", 0);
    assert!(text(&mut browser, ".player output").starts_with("step 11 of 12"));
    browser.eval(
        "const slider = document.querySelector('.player input'); slider.value = 4;
         slider.dispatchEvent(new Event('input'))",
    );
    assert!(text(&mut browser, ".player output").starts_with("step 5 of 12"));
    let state = text(&mut browser, ".state");
    assert!(state.contains("flag[0]=1") && state.contains("turn=1"), "{state}");
    // Without buffers the load of p[1] reads what p[0] has stored.
    assert_eq!(count(&mut browser, ".parts"), 0);
    click(&mut browser, "[aria-pressed]");
    assert!(text(&mut browser, ".parts").contains("under SC"));
    assert_eq!(browser.errors(), Vec::<String>::new());
}
