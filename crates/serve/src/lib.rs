//! Questions that are asked in a browser. A small server on this machine hands out one page, the files that
//! it was given, and answers, which it gets from the command itself, in a process for each question: that one
//! has limits of its own, and can be ended.
//!
//! Requests are read by `http`, within limits of size and time; `guard` says whose are heard: those that have
//! the secret of the printed address, and come from the page itself. `questions` has the processes. A request
//! names a file by its number, so that there is no path in it that could lead anywhere else.
//!
//! There is one request for each connection, and a thread for each of both. What is needed of HTTP is so
//! little, and limits for slow clients so much of it, that a library would be the larger part.

mod guard;
mod http;
mod questions;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use guard::Guard;
use http::{Head, Refused, Response};
use questions::Questions;

/// So many clients are served at a time.
const MOST_CLIENTS: usize = 64;
/// How long the text of a file that is shown may be, in bytes.
const MOST_TEXT: u64 = 256 * 1024;
/// How often one looks whether the end is asked for.
const TICK: Duration = Duration::from_millis(20);

/// The programs that are in every menu, before the files: name, language and text. They are those of the
/// corpus.
pub const EXAMPLES: [(&str, &str, &str); 4] = [
    ("example: dekker-simple.weak", "weak", include_str!("../examples/dekker-simple.weak")),
    ("example: peterson.weak", "weak", include_str!("../examples/peterson.weak")),
    ("example: SB.litmus", "litmus", include_str!("../examples/SB.litmus")),
    ("example: MP.litmus", "litmus", include_str!("../examples/MP.litmus")),
];

/// What is served, and how much of it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The page.
    pub page: String,
    /// The files of its menu, in this order, behind [`EXAMPLES`].
    pub files: Vec<PathBuf>,
    /// The command that answers.
    pub command: PathBuf,
    /// How long a question may take.
    pub timeout: Duration,
    /// How much memory its search may take, in bytes.
    pub memory: u64,
    /// How many are worked on at a time.
    pub questions: usize,
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    page: String,
    files: Vec<PathBuf>,
    questions: Questions,
    clients: AtomicUsize,
}

impl Server {
    /// Listens, with a new secret.
    ///
    /// # Errors
    ///
    /// The address cannot be used, or there is nothing random.
    pub fn bind(options: Options) -> io::Result<Server> {
        let Options { listen, page, files, command, timeout, memory, questions } = options;
        let listener = TcpListener::bind(listen)?;
        let guard = Guard::new(listener.local_addr()?)?;
        let questions = Questions::new(command, timeout, memory, questions);
        let clients = AtomicUsize::new(0);
        let shared = Arc::new(Shared { guard, page, files, questions, clients });
        Ok(Server { listener, shared })
    }

    /// What to open in a browser.
    #[must_use]
    pub fn address(&self) -> String {
        self.shared.guard.address()
    }

    /// Serves until `stop` says so; then ends what is worked on, and returns at once.
    pub fn run(self, stop: impl Fn() -> bool) {
        let Server { listener, shared } = self;
        let ours = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => accept(&ours, stream),
                    // Out of files, say: that passes.
                    Err(_) => std::thread::sleep(TICK),
                }
            }
        });
        while !stop() {
            std::thread::sleep(TICK);
        }
        shared.questions.end();
    }
}

/// A thread for the client, if there is room for one more.
fn accept(shared: &Arc<Shared>, mut stream: TcpStream) {
    if shared.clients.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
        shared.clients.fetch_sub(1, Ordering::Relaxed);
        // It fits the buffer of a new connection, so that this does not wait for the client.
        http::write(&mut stream, &Response::text(503, "too many clients at a time"));
        return;
    }
    let ours = shared.clone();
    let started = std::thread::Builder::new().spawn(move || {
        let response = match http::Reader::new(&mut stream).and_then(|r| answer(&ours, r)) {
            Ok(response) => Some(response),
            Err(Refused::Gone) => None,
            Err(Refused::Because(status, why)) => Some(Response::text(status, why)),
        };
        if let Some(response) = response {
            http::write(&mut stream, &response);
            http::finish(&mut stream);
        }
        ours.clients.fetch_sub(1, Ordering::Relaxed);
    });
    if started.is_err() {
        shared.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One request.
fn answer(shared: &Shared, mut reader: http::Reader<'_>) -> Result<Response, Refused> {
    let head = reader.head()?;
    // Nothing more is read of a request that is not heard.
    shared.guard.check(&head)?;
    match (&head.method[..], &head.path[..]) {
        ("GET", "/") => Ok(Response::page(shared.page.clone())),
        ("GET", "/file") => file(shared, &head),
        ("GET", "/answer") => {
            let id = number(&head, "id")?;
            shared.questions.state(id).map(|state| Response::json(&state)).ok_or(UNKNOWN)
        }
        ("POST", "/ask") => {
            let body = body(&mut reader, &head)?;
            let text = |key: &str| body[key].as_str().ok_or(Refused::Because(400, "no such key"));
            let (text, language, question) = (text("text")?, text("language")?, text("question")?);
            let id = shared.questions.ask(text, language, question)?;
            Ok(Response::json(&json!({ "id": id })))
        }
        ("POST", "/stop") => {
            let id = body(&mut reader, &head)?["id"].as_u64().ok_or(UNKNOWN)?;
            shared.questions.stop(id).then(|| Response::json(&Value::Null)).ok_or(UNKNOWN)
        }
        (_, "/" | "/file" | "/answer" | "/ask" | "/stop") => {
            Err(Refused::Because(405, "no such method here"))
        }
        _ => Err(Refused::Because(404, "there is nothing here")),
    }
}

const UNKNOWN: Refused = Refused::Because(404, "there is no such question");

fn body(reader: &mut http::Reader<'_>, head: &Head) -> Result<Value, Refused> {
    let body = reader.body(head)?;
    serde_json::from_slice(&body).map_err(|_| Refused::Because(400, "expected JSON"))
}

fn number(head: &Head, key: &str) -> Result<u64, Refused> {
    let value = head.parameter(key).and_then(|value| value.parse().ok());
    value.ok_or(Refused::Because(400, "expected a number"))
}

/// The text of what is in the menu.
fn file(shared: &Shared, head: &Head) -> Result<Response, Refused> {
    let n = usize::try_from(number(head, "n")?).unwrap_or(usize::MAX);
    if let Some((_, language, text)) = EXAMPLES.get(n) {
        return Ok(Response::json(&json!({ "text": text, "language": language })));
    }
    let path = shared
        .files
        .get(n - EXAMPLES.len())
        .ok_or(Refused::Because(404, "there is no such file"))?;
    let unread = Refused::Because(404, "the file cannot be read");
    let metadata = std::fs::metadata(path).map_err(|_| unread)?;
    if !metadata.is_file() || metadata.len() > MOST_TEXT {
        return Err(Refused::Because(413, "the file is too large to be shown"));
    }
    let text = std::fs::read_to_string(path).map_err(|_| unread)?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(Response::json(&json!({ "text": text, "language": questions::language_of(ending) })))
}
