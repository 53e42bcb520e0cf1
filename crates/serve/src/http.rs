//! As much of HTTP/1.1 as one page needs: a request for each connection, read within limits of size and time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A whole request has to be there after this time, however slowly it comes.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a client may take to read an answer, or a part of it.
const WRITING: Duration = Duration::from_secs(10);
/// The lines before the body, in bytes.
const MOST_HEAD: usize = 16 * 1024;
/// The body, in bytes.
const MOST_BODY: usize = 256 * 1024;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A status, and what is said.
    Because(u16, &'static str),
    /// The client has gone.
    Gone,
}

/// What comes before the body.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    query: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// A parameter of the address; none that are used have to be decoded.
    pub(crate) fn parameter(&self, key: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(k, _)| *k == key).map(|(_, value)| value).next()
    }

    /// A header that is there once. Two of them, which others may read in another way, are as bad as one
    /// that is wrong.
    pub(crate) fn header(&self, name: &str) -> Result<Option<&str>, Refused> {
        let mut all = self.headers.iter().filter(|(n, _)| n == name);
        match (all.next(), all.next()) {
            (_, Some(_)) => Err(Refused::Because(400, "a header is there twice")),
            (one, None) => Ok(one.map(|(_, value)| value.as_str())),
        }
    }

    fn parse(text: &str) -> Option<Head> {
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':')?;
            if name.is_empty() || name.contains(char::is_whitespace) {
                return None;
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let (method, path) = (method.to_owned(), path.to_owned());
        Some(Head { method, path, query: query.to_owned(), headers })
    }
}

/// A request on its way.
pub(crate) struct Reader<'a> {
    stream: &'a mut TcpStream,
    read: Vec<u8>,
    until: Instant,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(stream: &'a mut TcpStream) -> Result<Reader<'a>, Refused> {
        stream.set_write_timeout(Some(WRITING)).map_err(|_| Refused::Gone)?;
        Ok(Reader { stream, read: Vec::new(), until: Instant::now() + PATIENCE })
    }

    /// Waits for more, as long as there is time.
    fn more(&mut self) -> Result<(), Refused> {
        let slow = Refused::Because(408, "the request took too long");
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(slow);
        }
        self.stream.set_read_timeout(Some(left)).map_err(|_| Refused::Gone)?;
        let mut part = [0; 4096];
        match self.stream.read(&mut part) {
            Ok(0) => Err(Refused::Gone),
            Ok(length) => {
                self.read.extend_from_slice(&part[..length]);
                Ok(())
            }
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => Err(slow),
                std::io::ErrorKind::Interrupted => Ok(()),
                _ => Err(Refused::Gone),
            },
        }
    }

    /// Everything before the body.
    pub(crate) fn head(&mut self) -> Result<Head, Refused> {
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if self.read.len() > MOST_HEAD {
                return Err(Refused::Because(431, "the head of the request is too large"));
            }
            self.more()?;
        };
        let bad = Refused::Because(400, "this is no request");
        let head = std::str::from_utf8(&self.read[..end]).ok().and_then(Head::parse).ok_or(bad)?;
        self.read.drain(..end + 4);
        Ok(head)
    }

    /// The body that the head announces.
    pub(crate) fn body(&mut self, head: &Head) -> Result<Vec<u8>, Refused> {
        if head.header("transfer-encoding")?.is_some() {
            return Err(Refused::Because(411, "expected a body of known length"));
        }
        let length = head.header("content-length")?.and_then(|text| text.parse::<usize>().ok());
        let length = length.ok_or(Refused::Because(411, "expected a body of known length"))?;
        if length > MOST_BODY {
            return Err(Refused::Because(413, "the program is too large: at most 256 KiB"));
        }
        while self.read.len() < length {
            self.more()?;
        }
        self.read.truncate(length);
        Ok(std::mem::take(&mut self.read))
    }
}

/// An answer.
pub(crate) struct Response {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Response {
    pub(crate) fn text(status: u16, text: &str) -> Response {
        Response { status, kind: "text/plain", body: format!("{text}\n") }
    }

    pub(crate) fn page(body: String) -> Response {
        Response { status: 200, kind: "text/html", body }
    }

    pub(crate) fn json(value: &Value) -> Response {
        Response { status: 200, kind: "application/json", body: value.to_string() }
    }
}

/// Writes an answer; whether the client still listens does not matter.
pub(crate) fn write(stream: &mut TcpStream, response: &Response) {
    let Response { status, kind, body } = response;
    let reason = match status {
        200 => "OK",
        400..=499 => "Refused",
        _ => "Failed",
    };
    // Other pages may neither frame this one nor hear of its address, and nobody keeps it.
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Content-Security-Policy: frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\r\n",
        body.len()
    );
    let written =
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    let _ = written.and_then(|()| stream.flush());
}

/// Closes the connection. What the client still sends is read for a moment: it would lose the answer
/// otherwise.
pub(crate) fn finish(stream: &mut TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let until = Instant::now() + Duration::from_secs(1);
    let mut part = [0; 4096];
    while Instant::now() < until
        && stream.set_read_timeout(Some(Duration::from_millis(200))).is_ok()
        && stream.read(&mut part).is_ok_and(|length| length > 0)
    {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_or_refused() {
        let text = "GET /file?n=3&token=ab HTTP/1.1\r\nHost: x:1\r\nX-A:  b ";
        let head = Head::parse(text).expect("a head");
        assert_eq!((&head.method[..], &head.path[..]), ("GET", "/file"));
        assert_eq!((head.parameter("n"), head.parameter("token")), (Some("3"), Some("ab")));
        assert_eq!(head.parameter("m"), None);
        assert_eq!((head.header("host"), head.header("x-a")), (Ok(Some("x:1")), Ok(Some("b"))));
        for bad in [
            "",
            "GET",
            "GET /",
            "GET / HTTP/1.1 x",
            "GET / HTTP/2",
            "GET http://a/ HTTP/1.1",
            "GET / HTTP/1.1\r\nHost",
            "GET / HTTP/1.1\r\n Host: a",
            "GET / HTTP/1.1\r\nHo st: a",
        ] {
            assert!(Head::parse(bad).is_none(), "{bad:?}");
        }
        let twice = Head::parse("GET / HTTP/1.1\r\nHost: a\r\nhost: b").expect("a head");
        assert!(twice.header("host").is_err());
    }
}
