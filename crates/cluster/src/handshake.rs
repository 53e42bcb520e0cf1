//! Who is at the other end of a connection: before anything else is said, both ends show that they
//! have the same token, without showing the token; then both say what they were asked.
//!
//! Each end sends bytes that were never sent before; each answers with an authentication code (HMAC with
//! SHA-256) over the bytes of both, their places and the purpose of the connection. Codes are compared
//! in constant time. A third code is the key of what follows on the connection, which only sweeps use, see
//! [`peer`](crate::peer): what a search says is not authenticated, and nothing is encrypted.

use std::io::{self, Read, Write};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::peer::Key;
use crate::token::{Token, fresh};

/// The authentication code of one end.
fn code_of(token: &Token, who: &[u8], transcript: &[u8]) -> Option<Hmac<Sha256>> {
    let mut code = Hmac::<Sha256>::new_from_slice(&token.0).ok()?;
    code.update(who);
    code.update(transcript);
    Some(code)
}

/// What a process was asked: pairs of a name and a value, which have to be the same in all processes.
pub type Asked = Vec<(&'static str, String)>;

/// A name for contents.
pub(crate) fn digest(contents: &[u8]) -> String {
    Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a connection is for, and between whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// The number of the search; 0 to watch each other.
    pub(crate) search: u32,
    pub(crate) connects: u32,
    pub(crate) accepts: u32,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Whoever is at the other end did not show that he has the token.
    Stranger,
    /// Another process of the search was asked something else.
    Differs(String),
    /// The connection ended.
    Broken,
}

impl From<io::Error> for Refused {
    fn from(_: io::Error) -> Refused {
        Refused::Broken
    }
}

const GREETING: &[u8; 8] = b"weakspot";
const CONNECTS: &[u8] = b"connects";
const ACCEPTS: &[u8] = b"accepts";
const KEY: &[u8] = b"key";

/// The end that connects.
pub(crate) fn greet(
    stream: &mut (impl Read + Write),
    purpose: Purpose,
    token: &Token,
    asked: &Asked,
) -> Result<Key, Refused> {
    let own = fresh()?;
    let mut hello = GREETING.to_vec();
    for number in [purpose.search, purpose.connects, purpose.accepts] {
        hello.extend(number.to_le_bytes());
    }
    hello.extend(own);
    stream.write_all(&hello)?;
    let mut theirs = [0; 32];
    stream.read_exact(&mut theirs)?;
    let transcript = [&hello[..], &theirs].concat();
    let mut code = [0; 32];
    stream.read_exact(&mut code)?;
    let expected = code_of(token, ACCEPTS, &transcript).ok_or(Refused::Stranger)?;
    expected.verify_slice(&code).map_err(|_| Refused::Stranger)?;
    let code = code_of(token, CONNECTS, &transcript).ok_or(Refused::Stranger)?;
    stream.write_all(&code.finalize().into_bytes())?;
    compare(stream, purpose.accepts, asked)?;
    key_of(token, &transcript)
}

/// The end that accepts: for what, and by whom.
pub(crate) fn welcome(
    stream: &mut (impl Read + Write),
    accepts: u32,
    token: &Token,
    asked: &Asked,
) -> Result<(Purpose, Key), Refused> {
    let mut hello = [0; 8 + 12 + 32];
    stream.read_exact(&mut hello)?;
    let number = |i: usize| {
        let bytes = hello[8 + 4 * i..12 + 4 * i].try_into();
        bytes.map_or(u32::MAX, u32::from_le_bytes)
    };
    let purpose = Purpose { search: number(0), connects: number(1), accepts: number(2) };
    if &hello[..8] != GREETING || purpose.accepts != accepts {
        return Err(Refused::Stranger);
    }
    let own = fresh()?;
    let transcript = [&hello[..], &own].concat();
    let code = code_of(token, ACCEPTS, &transcript).ok_or(Refused::Stranger)?;
    stream.write_all(&[&own[..], &code.finalize().into_bytes()].concat())?;
    let mut code = [0; 32];
    stream.read_exact(&mut code)?;
    let expected = code_of(token, CONNECTS, &transcript).ok_or(Refused::Stranger)?;
    expected.verify_slice(&code).map_err(|_| Refused::Stranger)?;
    compare(stream, purpose.connects, asked)?;
    Ok((purpose, key_of(token, &transcript)?))
}

/// What authenticates later messages, where there is such a thing.
fn key_of(token: &Token, transcript: &[u8]) -> Result<Key, Refused> {
    let code = code_of(token, KEY, transcript).ok_or(Refused::Stranger)?;
    Ok(code.finalize().into_bytes().into())
}

/// Both ends say what they were asked, and both compare.
fn compare(stream: &mut (impl Read + Write), process: u32, asked: &Asked) -> Result<(), Refused> {
    let lines = asked.iter().map(|(name, value)| format!("{name}={value}\n"));
    let own = lines.collect::<String>();
    stream.write_all(&(own.len() as u32).to_le_bytes())?;
    stream.write_all(own.as_bytes())?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut theirs = vec![0; u32::from_le_bytes(length).min(1 << 16) as usize];
    stream.read_exact(&mut theirs)?;
    let theirs = String::from_utf8_lossy(&theirs);
    if own == theirs {
        return Ok(());
    }
    let theirs: Vec<&str> = theirs.lines().collect();
    let differs = own.lines().find(|line| !theirs.contains(line)).unwrap_or("the version");
    let name = differs.split('=').next().unwrap_or(differs);
    Err(Refused::Differs(format!(
        "process {process} was not asked the same as this one: {name} differs"
    )))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn token(text: &str) -> Token {
        Token(text.as_bytes().to_vec())
    }

    fn shake(
        (token_a, asked_a): (&str, &str),
        (token_b, asked_b): (&str, &str),
    ) -> (Result<Key, Refused>, Result<(Purpose, Key), Refused>) {
        let (mut a, mut b) = UnixStream::pair().expect("a pair");
        let purpose = Purpose { search: 3, connects: 1, accepts: 0 };
        std::thread::scope(|scope| {
            let accepts = scope.spawn(move || {
                welcome(&mut b, 0, &token(token_b), &vec![("input", asked_b.to_owned())])
            });
            let connects =
                greet(&mut a, purpose, &token(token_a), &vec![("input", asked_a.to_owned())]);
            drop(a);
            (connects, accepts.join().expect("no panic"))
        })
    }

    #[test]
    fn the_same_token_and_question_connect() {
        let (a, b) = shake(("a long secret here", "x"), ("a long secret here", "x"));
        let (purpose, key) = b.expect("connected");
        assert_eq!((purpose.search, Some(key)), (3, a.ok()));
    }

    #[test]
    fn another_token_is_refused_by_both() {
        let (a, b) = shake(("a long secret here", "x"), ("another secret here", "x"));
        assert!(matches!(a, Err(Refused::Stranger)), "{a:?}");
        assert!(b.is_err());
    }

    #[test]
    fn another_question_is_told_by_both() {
        let (a, b) = shake(("a long secret here", "x"), ("a long secret here", "y"));
        assert!(matches!(a, Err(Refused::Differs(ref m)) if m.ends_with("input differs")), "{a:?}");
        assert!(matches!(b, Err(Refused::Differs(_))), "{b:?}");
    }

    #[test]
    fn noise_is_refused() {
        let (mut a, mut b) = UnixStream::pair().expect("a pair");
        a.write_all(&[b'x'; 200]).expect("written");
        let refused = welcome(&mut b, 0, &token("a long secret here"), &Vec::new());
        assert!(matches!(refused, Err(Refused::Stranger)));
    }
}
