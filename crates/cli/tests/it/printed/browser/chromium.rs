//! Chromium without a window, driven by its DevTools protocol over a pipe: messages are JSON objects, each
//! ended by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Nothing that is asked here takes longer, even on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one tab.
pub(super) struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Value,
    last: u64,
    /// What went to the console as an error, and what scripts threw.
    errors: Vec<String>,
    profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts the browser that the environment names, with an empty profile.
    pub(super) fn start() -> Chromium {
        let program = std::env::var("WEAKSPOT_CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        let profile = tempfile::tempdir().expect("a folder");
        // The pipe has to have the numbers 3 and 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut command = Command::new("sh");
        command.args(["-c", script, &program, "--headless", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.args([
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]);
        command.args(["--disable-background-networking", "--disable-component-update"]);
        // Its sandbox refuses to work for root; nothing but our own pages is opened.
        command.args(["--no-sandbox", "about:blank"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("the browser starts");
        let to = child.stdin.take().expect("a pipe");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, from) = mpsc::channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { return };
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let (session, errors) = (Value::Null, Vec::new());
        let mut browser = Chromium { child, to, from, session, last: 0, errors, profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks the browser, and waits for its answer.
    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser reads");
        let since = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(since.elapsed());
            let answer = self.from.recv_timeout(left);
            let answer = answer.unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.hear(&answer);
        }
    }

    fn hear(&mut self, event: &Value) {
        let params = &event["params"];
        let is_error = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => params["type"] == "error",
            Some("Log.entryAdded") => params["entry"]["level"] == "error",
            _ => false,
        };
        if is_error {
            self.errors.push(params.to_string());
        }
    }

    /// Opens a page; returns when it is complete, with the seconds that took.
    pub(super) fn open(&mut self, address: &str) -> f64 {
        // Another page first: an address that differs in its fragment only would not be loaded again.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        let since = Instant::now();
        self.call("Page.navigate", json!({"url": address}));
        let there = "location.href !== 'about:blank' && document.readyState === 'complete'";
        self.wait_for(there);
        // Drawn as well, not only loaded.
        self.eval(
            "new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))",
        );
        since.elapsed().as_secs_f64()
    }

    /// What an expression of JavaScript, or the promise that it is, comes to.
    pub(super) fn eval(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", ask);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{}: {thrown}", &expression[..expression.len().min(200)]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(super) fn wait_for(&mut self, expression: &str) {
        let since = Instant::now();
        while self.eval(expression) != true {
            assert!(since.elapsed() < PATIENCE, "this did not become true: {expression}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Presses a key, such as `ArrowRight`. Modifiers: 2 is Ctrl.
    pub(super) fn key(&mut self, key: &str, modifiers: u32) {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "Enter" => 13,
            "Home" => 36,
            _ => 35,
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "modifiers": modifiers,
                "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types a text where the focus is.
    pub(super) fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// How wide the page may be, and which colours its reader likes.
    pub(super) fn look(&mut self, width: u32, dark: bool) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let value = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Keeps a picture of the whole page.
    pub(super) fn picture(&mut self, path: &Path) {
        let height = self.eval("Math.min(document.documentElement.scrollHeight, 6000)");
        let width = self.eval("innerWidth");
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let ask = json!({"captureBeyondViewport": true, "clip": clip});
        let picture = self.call("Page.captureScreenshot", ask);
        let bytes = bytes_of(picture["data"].as_str().expect("a picture"));
        std::fs::write(path, bytes).expect("it is written");
    }

    /// What went wrong on pages since this was asked last.
    pub(super) fn errors(&mut self) -> Vec<String> {
        // All that happened before this answer was heard with it.
        self.eval("0");
        std::mem::take(&mut self.errors)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It ends its other processes itself when it is asked; only then is its profile left alone.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(5) {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.profile.path();
    }
}

/// What a text in base 64 stands for.
fn bytes_of(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for c in text.bytes() {
        let Some(digit) = digits.iter().position(|&d| d == c) else { break };
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
