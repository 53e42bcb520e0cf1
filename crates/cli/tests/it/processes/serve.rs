//! `weakspot serve`: whom it answers, and whom not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{root, weakspot};

/// A server that runs, and ends with this.
pub(crate) struct Serving {
    child: Child,
    /// The address that it prints.
    pub(crate) address: String,
    host: String,
    token: String,
}

impl Serving {
    pub(crate) fn start(args: &[&str]) -> Serving {
        let mut command = weakspot();
        command.arg("serve").args(args).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut address = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut address).expect("an address");
        let address = address.trim().to_owned();
        let rest = address.strip_prefix("http://").expect("an address");
        let (host, token) = rest.split_once("/?token=").expect("a token");
        let (host, token) = (host.to_owned(), token.to_owned());
        Serving { child, address, host, token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        stream
    }

    /// Sends these bytes; the status of the answer, and its body.
    fn send(&self, request: &str) -> (u16, String) {
        let mut stream = self.connect();
        // A server that has heard enough may have closed.
        let _ = stream.write_all(request.as_bytes());
        received(&mut stream)
    }

    /// A request of the page itself.
    fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let (host, token, length) = (&self.host, &self.token, body.len());
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
             Sec-Fetch-Site: same-origin\r\nX-Weakspot-Token: {token}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    fn ask(&self, question: &str, language: &str, text: &str) -> (u16, Value) {
        let body = json!({"question": question, "language": language, "text": text});
        let (status, body) = self.call("POST", "/ask", &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    fn answer(&self, id: &Value) -> Value {
        let since = Instant::now();
        loop {
            let (status, body) = self.call("GET", &format!("/answer?id={id}"), "");
            assert_eq!(status, 200, "{body}");
            let answer: Value = serde_json::from_str(&body).expect("JSON");
            if answer["done"] == true {
                return answer;
            }
            assert!(since.elapsed() < Duration::from_secs(60), "{answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Serving {
    /// Ends it by a signal, so that it ends the questions that it has asked; they would go on for minutes.
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed())
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = kill_process(pid, Signal::TERM);
        }
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if since.elapsed() > Duration::from_secs(10) {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn received(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.unwrap_or_else(|| panic!("no answer: {text:?}")), body.to_owned())
}

const PETERSON: &str = "corpus/programs/peterson.weak";

/// What takes longer than anybody waits.
const LONG: &str = "
shared x, y
thread t[4] {
    var i = 0, r
    while (i < 50) {
        r = x
        x = r + 1
        r = y
        y = r + 2
        i = i + 1
    }
    assert(r < 100000)
}
";

#[test]
fn questions_are_answered() {
    let serving = Serving::start(&[PETERSON]);
    let (status, page) = serving.call("GET", "/", "");
    assert_eq!(status, 200);
    assert!(page.contains("<option value=\"4\">corpus/programs/peterson.weak</option>"));
    let (status, file) = serving.call("GET", "/file?n=4", "");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let text = std::fs::read_to_string(root().join(PETERSON)).expect("a file");
    assert_eq!((status, &file), (200, &json!({"text": text, "language": "weak"})));
    for (question, verdict) in
        [("robust", "violated"), ("reach", "violated"), ("fence", "violated")]
    {
        let (status, asked) = serving.ask(question, "weak", &text);
        assert_eq!(status, 200, "{asked}");
        let answer = serving.answer(&asked["id"]);
        let lines = answer["lines"].as_array().expect("answers");
        let last = lines.last().and_then(Value::as_str).expect("an answer");
        let last: Value = serde_json::from_str(last).expect("JSON");
        assert_eq!((&last["question"], &last["verdict"]), (&json!(question), &json!(verdict)));
        assert_eq!(last["file"], "program.weak");
    }
    // Of a folder it has all that can be asked about.
    let folder = Serving::start(&["corpus/c-programs"]);
    let (_, page) = folder.call("GET", "/", "");
    assert!(page.contains(">corpus/c-programs/dekker.c</option>"), "{page}");
    // Bad input is an answer, too, with its place.
    let (_, asked) = serving.ask("robust", "weak", "shared x\nthread t { x = }\n");
    let answer = serving.answer(&asked["id"]);
    assert!(answer["lines"][0].as_str().is_some_and(|l| l.contains("\"line\":2")), "{answer}");
}

#[test]
fn examples_are_those_of_the_corpus() {
    for (example, path) in [
        ("peterson.weak", PETERSON),
        ("dekker-simple.weak", "corpus/programs/dekker-simple.weak"),
        ("SB.litmus", "corpus/litmus/SB.litmus"),
        ("MP.litmus", "corpus/litmus/MP.litmus"),
    ] {
        let text = |path: &str| std::fs::read_to_string(root().join(path)).expect("a file");
        assert_eq!(text(&format!("crates/serve/examples/{example}")), text(path));
    }
}

#[test]
fn strangers_are_refused() {
    let serving = Serving::start(&[PETERSON]);
    let (host, token) = (&serving.host, &serving.token);
    let get = |path: &str, host: &str, more: &str| {
        serving.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n")).0
    };
    let port = host.rsplit_once(':').expect("a port").1;
    let page = &format!("/?token={token}")[..];
    assert_eq!(get(page, host, ""), 200);
    assert_eq!(get(page, &format!("localhost:{port}"), ""), 200);
    // The token is missing, wrong, cut, or longer.
    let (cut, wrong) = (&token[1..], token.replace(|c: char| c.is_ascii_digit(), "x"));
    for path in ["/", "/?token=", &format!("/?token={cut}"), &format!("/?token={token}0")] {
        assert_eq!(get(path, host, ""), 403, "{path}");
    }
    assert_eq!(get("/", host, &format!("X-Weakspot-Token: {wrong}\r\n")), 403);
    assert_eq!(get(page, host, &format!("X-Weakspot-Token: {wrong}\r\n")), 403);
    assert_eq!(get("/file?n=0", host, ""), 403);
    // A name that others have made to lead here; another port; none, or two.
    for other in [&format!("example.org:{port}")[..], "127.0.0.1", "127.0.0.1:1", ""] {
        assert_eq!(get(page, other, ""), 403, "{other}");
    }
    assert_eq!(get(page, host, "Host: example.org\r\n"), 400);
    // Another page.
    for origin in ["http://example.org", "null", "http://127.0.0.1", &format!("https://{host}")] {
        assert_eq!(get(page, host, &format!("Origin: {origin}\r\n")), 403, "{origin}");
    }
    assert_eq!(get(page, host, &format!("Origin: http://{host}\r\n")), 200);
    for site in ["cross-site", "same-site"] {
        let more = format!("Sec-Fetch-Site: {site}\r\n");
        assert_eq!(get(page, host, &more), 403, "{site}");
        let from_a_link = format!("{more}Sec-Fetch-Mode: navigate\r\n");
        assert_eq!(get(page, host, &from_a_link), 200, "{site}");
        assert_eq!(get(&format!("/file?n=0&token={token}"), host, &from_a_link), 403);
    }
}

#[test]
fn nothing_else_can_be_read() {
    let serving = Serving::start(&[PETERSON]);
    for path in [
        "/../../../../etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/file?n=5",
        "/file?n=18446744073709551615",
        "/file/../../etc/passwd",
    ] {
        let (status, body) = serving.call("GET", path, "");
        assert!(status == 404 && !body.contains("root:"), "{path}: {status} {body}");
    }
    for path in ["/file", "/file?n=", "/file?n=-1", "/file?n=/etc/passwd", "/answer?id=x"] {
        assert_eq!(serving.call("GET", path, "").0, 400, "{path}");
    }
    assert_eq!(serving.call("GET", "/answer?id=1", "").0, 404);
    assert_eq!(serving.call("PUT", "/", "").0, 405);
    // Options of the command, and other commands, cannot be asked for.
    for (question, language) in [("run", "weak"), ("--help", "weak"), ("robust", "--report=x")] {
        assert_eq!(serving.ask(question, language, "").0, 400, "{question} {language}");
    }
    // Nor can what a program includes.
    let (_, asked) = serving.ask("reach", "c", "#include \"/etc/passwd\"\nint main(void) {}\n");
    let answer = serving.answer(&asked["id"]).to_string();
    assert!(!answer.contains("root:"), "{answer}");
}

#[test]
fn what_is_too_large_is_refused() {
    let serving = Serving::start(&[]);
    let large = "a".repeat(300 * 1024);
    assert_eq!(serving.ask("robust", "weak", &large).0, 413);
    let (host, token) = (&serving.host, &serving.token);
    let head = format!("POST /ask HTTP/1.1\r\nHost: {host}\r\nX-Weakspot-Token: {token}\r\n");
    // Refused for what it says, before any of it comes.
    let announced = format!("{head}Content-Length: 99999999999\r\n\r\n");
    assert_eq!(serving.send(&announced).0, 413);
    assert_eq!(serving.send(&format!("{head}Transfer-Encoding: chunked\r\n\r\n")).0, 411);
    assert_eq!(serving.send(&format!("{head}X: {large}\r\n\r\n")).0, 431);
    for bad in ["\r\n\r\n", "GET\r\n\r\n", "\u{1}\u{2}\u{3}\r\n\r\n", "GET / HTTP/1.1\r\nx\r\n\r\n"]
    {
        assert_eq!(serving.send(bad).0, 400, "{bad:?}");
    }
    assert_eq!(serving.call("POST", "/ask", "{").0, 400);
    assert_eq!(serving.call("POST", "/ask", "[]").0, 400);
    assert_eq!(serving.call("GET", "/", "").0, 200);
}

/// Clients that send nothing, or a byte now and then, keep nobody else from being heard for long.
#[test]
fn slow_clients_are_left() {
    let serving = Serving::start(&[]);
    let since = Instant::now();
    let mut slow = serving.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").expect("it is heard");
    let mut dripping = slow.try_clone().expect("a socket");
    let drips = std::thread::spawn(move || {
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(200));
            if dripping.write_all(b"x").is_err() {
                return;
            }
        }
    });
    let silent: Vec<TcpStream> = (0..20).map(|_| serving.connect()).collect();
    assert_eq!(serving.call("GET", "/", "").0, 200);
    assert_eq!(received(&mut slow).0, 408);
    assert!(since.elapsed() >= Duration::from_secs(4), "{:?}", since.elapsed());
    assert!(since.elapsed() < Duration::from_secs(15), "{:?}", since.elapsed());
    for mut stream in silent {
        assert_eq!(received(&mut stream).0, 408);
    }
    drop(slow);
    drips.join().expect("it ends");
}

#[test]
fn many_clients_and_questions_have_limits() {
    let serving = Serving::start(&["--threads", "2", "--timeout", "60s"]);
    let mut many: Vec<TcpStream> = (0..100).map(|_| serving.connect()).collect();
    let refused = many.iter_mut().skip(64).map(received).filter(|r| r.0 == 503).count();
    assert_eq!(refused, 36);
    drop(many);
    let since = Instant::now();
    while serving.send(&format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", serving.host)).0 == 503 {
        assert!(since.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
    let ids: Vec<Value> =
        (0..2).map(|_| serving.ask("reach", "weak", LONG).1["id"].clone()).collect();
    assert_eq!(serving.ask("reach", "weak", LONG).0, 429);
    let (_, state) = serving.call("GET", &format!("/answer?id={}", ids[0]), "");
    assert!(state.contains("\"done\":false"), "{state}");
    for id in &ids {
        assert_eq!(serving.call("POST", "/stop", &json!({"id": id}).to_string()).0, 200);
        let answer = serving.answer(id);
        assert_eq!((&answer["lines"], &answer["stopped"]), (&json!([]), &json!(true)));
    }
    assert_eq!(serving.ask("reach", "weak", LONG).0, 200);
}

#[test]
fn a_question_ends_at_its_limits() {
    let serving = Serving::start(&["--timeout", "200ms"]);
    let (_, asked) = serving.ask("reach", "weak", LONG);
    let answer = serving.answer(&asked["id"]);
    let first = answer["lines"][0].as_str().unwrap_or_default();
    assert!(first.contains("\"verdict\":\"unknown\""), "{answer}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_at_once() {
    let mut serving = Serving::start(&["--timeout", "60s"]);
    assert_eq!(serving.ask("reach", "weak", LONG).0, 200);
    let pid = Pid::from_raw(serving.child.id().cast_signed()).expect("a process");
    // The process of the question, whichever thread is its parent.
    let tasks = std::fs::read_dir(format!("/proc/{}/task", serving.child.id())).expect("tasks");
    let children = tasks.map(|task| task.expect("a task").path().join("children"));
    let children: String = children.filter_map(|c| std::fs::read_to_string(c).ok()).collect();
    let child = std::path::Path::new("/proc").join(children.trim());
    assert!(child.exists() && !children.is_empty(), "{children:?}");
    let since = Instant::now();
    kill_process(pid, Signal::INT).expect("it runs");
    let status = serving.child.wait().expect("it ends");
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    assert_eq!(status.code(), Some(0));
    assert!(!child.exists(), "the question goes on");
}

#[test]
fn other_addresses_are_asked_for() {
    let serving = Serving::start(&["--listen", "0.0.0.0:0"]);
    assert!(serving.address.starts_with("http://127.0.0.1:"), "{}", serving.address);
    assert_eq!(serving.call("GET", "/", "").0, 200);
    let taken = crate::run(&["serve", "--listen", &serving.host], "");
    assert_eq!(taken.code, Some(2));
    assert!(taken.err.contains("failed to listen at"), "{}", taken.err);
    let bad = crate::run(&["serve", "--listen", "example.org:80"], "");
    assert!(bad.err.contains("expected 127.0.0.1:8080") && bad.code == Some(2), "{}", bad.err);
    let missing = crate::run(&["serve", "missing.weak"], "");
    assert!(missing.err.contains("failed to read missing.weak"), "{}", missing.err);
    assert_eq!(missing.code, Some(2));
}
