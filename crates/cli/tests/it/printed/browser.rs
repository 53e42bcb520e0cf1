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
        // The table of answers in the dark, answers in the light, some in both.
        let both = matches!(name, "robust" | "run" | "states" | "history");
        let checked = width != 800 && (both || (width == 1400) == name.ends_with("-all"));
        if let (Some(axe), true) = (&axe, checked) {
            browser.eval(&format!("{axe}\n0"));
            let found = browser.eval(
                "axe.run({ rules: { 'label-content-name-mismatch': { enabled: true } } }).then((r) => r.violations.map((v) =>
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
        let bad = count(&mut browser, "#answers a .violated") > 0;
        click(&mut browser, if bad { "#answers a .violated" } else { "#answers a .pill" });
        browser.wait_for("!document.querySelector('#answer').hidden");
        looks_good(&mut browser, name);
    }
}

/// The page of transactions that are not serializable under SC either proposes no fence.
#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn no_fence_is_proposed_where_none_helps() {
    let thread = |name: &str| {
        format!("thread {name} {{\n var r\n transaction {{\n r = x\n x = r + 1\n }}\n}}\n")
    };
    let file = folder().join("lost.weak");
    std::fs::write(&file, format!("shared x\n{}{}", thread("a"), thread("b"))).expect("written");
    let address = page("lost", &["serial", file.to_str().expect("a path")]);
    let mut browser = Chromium::start();
    browser.look(800, false);
    browser.open(&(address + "#answer-1"));
    browser.wait_for("!document.querySelector('#answer').hidden");
    let said = text(&mut browser, "#answer");
    assert!(said.contains("No fence helps") && !said.contains("Where the fence goes"), "{said}");
    looks_good(&mut browser, "lost");
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
    // The fix has long lines.
    browser.eval("location.hash = `#answer-${answers.findIndex((a) => a.diff)}`");
    browser.wait_for("document.querySelector('#answer .diff') !== null");
    looks_good(&mut browser, "run-fix");
}

/// How many executions there were when and with how many preemptions, and which lines nobody came between.
#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn explorations_are_drawn() {
    let program = folder().join("apart");
    let program = program.to_str().expect("a path");
    let source = "crates/cli/tests/it/real/apart.c";
    let built = weakspot().args(["cc", "-g", "-O1", "-pthread", "-o", program, source]).status();
    assert!(built.expect("it runs").success());
    let address = page("exploration", &["run", "--strategy", "bounded", program]);
    let mut browser = Chromium::start();
    browser.look(1400, false);
    browser.open(&address);
    click(&mut browser, "#answers a .holds");
    browser.wait_for("!document.querySelector('#answer').hidden");
    assert!(count(&mut browser, ".chart .bar") > 3);
    assert_eq!(count(&mut browser, ".chart .curve"), 1);
    let marked = browser.eval(
        "[...document.querySelectorAll('.source .access')].map((row) => row.innerText.replace(/\\s+/g, ' '))",
    );
    let marked = marked.to_string();
    assert!(marked.contains("data = 1; ← others always after it"), "{marked}");
    assert!(!marked.contains("atomic_exchange"), "{marked}");
    looks_good(&mut browser, "exploration");
    // A search that takes a while.
    let program = folder().join("search.weak");
    let program = program.to_str().expect("a path");
    let family = ["gen", "family", "lamport", "--size", "10", "-o", program];
    assert!(weakspot().args(family).status().expect("it runs").success());
    let address = page("search", &["reach", "--model", "sc", program]);
    browser.open(&format!("{address}#answer-0"));
    assert_eq!(count(&mut browser, ".chart .curve"), 1);
    looks_good(&mut browser, "search");
}

#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn answers_are_filtered() {
    let address = page("filter", &["litmus", "corpus/litmus/"]);
    let mut browser = Chromium::start();
    browser.open(&address);
    browser.wait_for("!document.querySelector('#answers caption').innerText.includes('more')");
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
    // Where the store is overtaken.
    assert_eq!(text(&mut browser, ".player output"), "step 5 of 12");
    let words = text(&mut browser, "#answer");
    assert!(
        words.contains("Where the fence goes: in p[0], between line 16 and line 18"),
        "{words}"
    );
    assert_eq!(count(&mut browser, ".source .arc"), 1);
    assert_eq!(text(&mut browser, ".source .store .at"), "16");
    assert_eq!(text(&mut browser, ".source .access .at"), "18");
    browser.eval("document.querySelector('.player input').focus()");
    browser.key("End", 0);
    assert_eq!(text(&mut browser, ".player output"), "step 12 of 12");
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
    // The oldest store is nearest to memory.
    let queue = text(&mut browser, ".lane.now .queue");
    assert_eq!(queue.split_whitespace().collect::<Vec<_>>(), ["turn=1", "flag[0]=1"]);
    assert!(text(&mut browser, ".memory").contains("flag[0]=0"));
    // Without buffers the load of p[1] reads what p[0] has stored.
    assert_eq!(count(&mut browser, ".parts"), 0);
    click(&mut browser, ".toggle [data-model=sc]");
    assert!(text(&mut browser, ".parts").contains("under SC it would read flag[0]=1"));
    assert_eq!(text(&mut browser, ".player output"), "step 10 of 12");
    assert_eq!(count(&mut browser, ".queue"), 0);
    // An arrow of the cycle says why it is there when it has the focus.
    assert_eq!(count(&mut browser, ".graph .edge"), 4);
    browser.eval("document.querySelectorAll('.graph .edge')[1].focus()");
    let why = "5 comes before 6: read flag[1]=0, which the next overwrites.";
    assert_eq!(text(&mut browser, ".why-words"), why);
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn final_states_open_runs_and_reasons() {
    let address = page("states", &["litmus", "corpus/litmus/SB.litmus"]);
    let mut browser = Chromium::start();
    browser.open(&format!("{address}#answer-1"));
    // Of a line with both threads, the part is marked that the step is.
    assert!(text(&mut browser, "#answer").contains("P1 executes MOV [y],$1"));
    assert_eq!(text(&mut browser, ".source .store mark"), "MOV [y],$1");
    let cell = |model, word| format!("[aria-label='0:EAX=0; 1:EAX=0 under {model}: {word}']");
    click(&mut browser, &cell("SC", "never"));
    let reason = text(&mut browser, ".opened");
    assert!(
        reason.contains("No run ends so. The one way to get these values has a cycle"),
        "{reason}"
    );
    assert_eq!(count(&mut browser, ".opened .graph .edge"), 4);
    click(&mut browser, &cell("TSO", "yes"));
    assert!(text(&mut browser, ".opened").contains("A run that ends so"));
    assert_eq!(count(&mut browser, ".opened .player"), 1);
    looks_good(&mut browser, "states");
}

#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn fixes_are_diffs_with_the_answer_after_them() {
    let address = page("fix", &["fence", "corpus/programs/peterson.weak"]);
    let mut browser = Chromium::start();
    browser.open(&format!("{address}#answer-0"));
    assert_eq!(text(&mut browser, ".diff .added").trim_end(), "+        fence");
    assert!(text(&mut browser, "#answer").contains("With it: ✓ TSO: robust"));
    // Fences for a program that was executed are advice.
    let path = folder().join("fix.html");
    let page = std::fs::read_to_string(&path).expect("a page");
    let asked = r#""question":"fence""#;
    let advised = page.replacen(asked, &format!(r#"{asked},"explorations":1"#), 1);
    std::fs::write(&path, advised).expect("a page");
    browser.open(&address);
    assert!(text(&mut browser, ".pill.advice").contains("needs fences, advice"));
    assert!(text(&mut browser, "#answers").contains("1 as advice"));
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// Ten thousand findings, or a run of a hundred thousand steps, are there at once: only what is looked at is
/// made.
#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn large_answers_open_soon() {
    page("large", &["robust", "--model", "tso", "corpus/programs/peterson.weak"]);
    let path = folder().join("large.html");
    let small = std::fs::read_to_string(&path).expect("a page");
    let (head, rest) = small.split_once("id=\"data\">\n").expect("data");
    let (answer, tail) = rest.split_once('\n').expect("a line");
    let mut long: Value = serde_json::from_str(answer).expect("an object");
    let mut browser = Chromium::start();
    let mut took = String::new();
    let mut measure = |what: &str, data: String, shown: &str| {
        std::fs::write(&path, format!("{head}id=\"data\">\n{data}{tail}")).expect("a page");
        let address = format!("file://{}#{shown}", path.display());
        let times = [(); 3].map(|()| browser.open(&address));
        let least = times.into_iter().fold(f64::INFINITY, f64::min);
        took += &format!("{what}: {least:.2} s\n");
        let elements = count(&mut browser, "*");
        assert!(elements < 20_000, "{what}: {elements} elements");
        assert_eq!(browser.errors(), Vec::<String>::new());
    };
    let many = |i| answer.replace("corpus/programs/peterson", &format!("programs/{i}")) + "\n";
    measure("10,000 findings", (0..10_000).map(many).collect(), "summary");
    let steps = long["run"]["steps"].as_array().expect("steps").clone();
    let repeated = (0..100_000_usize).map(|i| {
        let mut step = steps[i % steps.len()].clone();
        step["n"] = (i + 1).into();
        if step["of"].is_u64() {
            let of = step["of"].as_u64().expect("a number");
            step["of"] = ((i / steps.len() * steps.len()) as u64 + of).into();
        }
        step
    });
    long["run"]["steps"] = repeated.collect();
    measure("100,000 steps", format!("{long}\n"), "answer-0");
    let since = browser.eval("performance.now()").as_f64().expect("a number");
    click(&mut browser, ".player button[aria-label='next step']");
    let step = browser.eval("performance.now()").as_f64().expect("a number") - since;
    assert!(text(&mut browser, ".player output").ends_with("of 100000"));
    took += &format!("one step of it: {step:.0} ms\n");
    std::fs::remove_file(path).expect("it is there");
    std::fs::write(folder().join("times.txt"), took).expect("it is written");
}

/// Type a program, ask, see the verdict; ask again, and open it by a link.
#[test]
#[ignore = "needs Chromium: scripts/pages runs it"]
fn questions_are_asked_on_the_page() {
    let serving = crate::processes::serve::Serving::start(&["corpus/programs/peterson.weak"]);
    let mut browser = Chromium::start();
    browser.look(1400, false);
    browser.open(&serving.address);
    looks_good(&mut browser, "ask-all");
    browser.eval("document.getElementById('program').focus()");
    browser.write(
        "shared x, y\nthread a { var r\n x = 1\n r = y }\nthread b { var r\n y = 1\n r = x }\n",
    );
    browser.key("Enter", 2);
    browser.wait_for("document.getElementById('progress').textContent.startsWith('answered')");
    // Errors name lines.
    assert_eq!(text(&mut browser, "#lines").trim(), "1\n2\n3\n4\n5\n6\n7\n8");
    let high = "['lines', 'program'].map((id) => document.getElementById(id).offsetHeight)";
    let high = browser.eval(high);
    assert_eq!(high[0], high[1], "as high as the text");
    let answer = text(&mut browser, "#answer");
    assert!(answer.contains("✗ TSO: not robust"), "{answer}");
    assert!(answer.contains("between line 3 and line 4"), "{answer}");
    // Whoever writes goes on writing.
    assert_eq!(browser.eval("document.activeElement.id"), "program");
    looks_good(&mut browser, "ask");
    browser.eval(
        "const all = document.getElementById('program');
         all.value = all.value.replaceAll('= 1', '= 1\\n fence'); all.focus()",
    );
    browser.key("Enter", 2);
    browser.wait_for("document.getElementById('answer').innerText.includes('✓ TSO: robust')");
    // A link holds the program, in a part of it that is not sent.
    click(&mut browser, "#link");
    let link = browser.eval("document.getElementById('address').value");
    browser.open(link.as_str().expect("an address"));
    let program = browser.eval("document.getElementById('program').value");
    assert!(program.as_str().is_some_and(|text| text.contains("fence")), "{program}");
    // From the menu.
    browser.eval(
        "const menu = document.getElementById('menu'); menu.value = '4';
         menu.dispatchEvent(new Event('change'))",
    );
    browser.wait_for("document.getElementById('program').value.includes('Peterson')");
    click(&mut browser, "#ask");
    browser.wait_for("document.getElementById('answer').innerText.includes('not robust')");
    assert_eq!(browser.errors(), Vec::<String>::new());
}
