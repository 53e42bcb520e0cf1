//! What the server of `weakspot serve` has to do with every request.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use weakspot_serve::{Options, Server};

/// Where it listens, and its secret.
fn server() -> &'static (SocketAddr, String) {
    static SERVER: OnceLock<(SocketAddr, String)> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = Server::bind(Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            page: "page".to_owned(),
            files: vec!["/proc/self/mem".into(), "/".into()],
            // Nothing is asked of the engines here.
            command: "/bin/false".into(),
            timeout: Duration::from_secs(1),
            memory: 1 << 20,
            questions: 2,
        })
        .expect("a server");
        let address = server.address();
        let (host, token) = address
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once("/?token="))
            .expect("an address with a secret");
        let known = (host.parse().expect("an address"), token.to_owned());
        std::thread::spawn(move || server.run(|| false));
        known
    })
}

/// Sends `bytes` as a request, with `HOST` and `TOKEN` in it replaced by what the server wants. It has to answer, or to close the
/// connection, soon; no thread of it may panic; and it still answers others.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check_serve(bytes: &[u8]) {
    let (address, token) = server();
    let text: Vec<u8> = match std::str::from_utf8(bytes) {
        Ok(text) => {
            text.replace("HOST", &address.to_string()).replace("TOKEN", token).into_bytes()
        }
        Err(_) => bytes.to_vec(),
    };
    let answer = sent(*address, &text);
    let is_http = answer.is_empty() || answer.starts_with(b"HTTP/1.1 ");
    assert!(is_http, "{}", String::from_utf8_lossy(&answer));
    let good = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX-Weakspot-Token: {token}\r\n\r\n");
    let answer = sent(*address, good.as_bytes());
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
}

/// What comes back.
fn sent(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let limit = Duration::from_secs(20);
    stream.set_read_timeout(Some(limit)).expect("a limit");
    // It may have heard enough before the end.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let (since, mut answer) = (Instant::now(), Vec::new());
    let _ = stream.read_to_end(&mut answer);
    assert!(since.elapsed() < limit, "no answer");
    answer
}
