//! Whose requests are heard. Any page that is open in the same browser, and any program of another user on the
//! same machine, can send requests to this address: they do not have its secret. A name of others that leads
//! to this machine is no name of ours.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use crate::http::{Head, Refused};

/// The secret, and where it is to be used.
pub(crate) struct Guard {
    local: SocketAddr,
    token: String,
}

impl Guard {
    /// With a new secret.
    pub(crate) fn new(local: SocketAddr) -> io::Result<Guard> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Guard { local, token })
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> String {
        let Guard { local, token } = self;
        // One that stands for all addresses is none to open.
        let host = match local.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => format!("127.0.0.1:{}", local.port()),
            IpAddr::V6(ip) if ip.is_unspecified() => format!("[::1]:{}", local.port()),
            _ => local.to_string(),
        };
        format!("http://{host}/?token={token}")
    }

    /// Whether a request is heard.
    pub(crate) fn check(&self, head: &Head) -> Result<(), Refused> {
        let host = head.header("host")?.unwrap_or_default();
        if !is_ours(host, self.local) {
            return Err(Refused::Because(403, "this is not the host that was asked for"));
        }
        if let Some(origin) = head.header("origin")?
            && origin != format!("http://{host}")
        {
            return Err(Refused::Because(403, "another page may not ask"));
        }
        if let Some(site) = head.header("sec-fetch-site")?
            && !matches!(site, "same-origin" | "none")
        {
            // A link to the page is followed if it has the secret, which the next check says.
            let is_opened = head.method == "GET"
                && head.path == "/"
                && head.header("sec-fetch-mode")? == Some("navigate");
            if !is_opened {
                return Err(Refused::Because(403, "another page may not ask"));
            }
        }
        let given = match head.header("x-weakspot-token")? {
            Some(token) => token,
            None => head.parameter("token").unwrap_or_default(),
        };
        match is_same(given.as_bytes(), self.token.as_bytes()) {
            true => Ok(()),
            false => Err(Refused::Because(
                403,
                "the token is missing or wrong: use the address that was printed",
            )),
        }
    }
}

/// Whether both are the same, in a time that does not say where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differs = a.iter().zip(b).fold(0, |all, (x, y)| std::hint::black_box(all | (x ^ y)));
    a.len() == b.len() && differs == 0
}

/// Whether a request to this host means us: addresses, and `localhost`, but no other names, which can be
/// made to lead here.
fn is_ours(host: &str, local: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()),
        _ => (host, Some(80)),
    };
    if port != Some(local.port()) {
        return false;
    }
    let ip = local.ip();
    if name == "localhost" {
        return ip.is_loopback() || ip.is_unspecified();
    }
    let name = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    name.parse::<IpAddr>().is_ok_and(|named| {
        named == ip || ip.is_unspecified() || ip.is_loopback() && named.is_loopback()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let local = at("127.0.0.1:8080");
        for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"] {
            assert!(is_ours(host, local), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "127.0.0.1:80",
            "example.org:8080",
            "localhost",
            "localhost.example.org:8080",
            "127.0.0.1.example.org:8080",
            "10.0.0.1:8080",
            "127.0.0.1:8080:8080",
            "[::1]",
        ] {
            assert!(!is_ours(host, local), "{host}");
        }
        assert!(is_ours("10.0.0.1:80", at("0.0.0.0:80")) && is_ours("10.0.0.1", at("0.0.0.0:80")));
        assert!(!is_ours("example.org:80", at("0.0.0.0:80")));
        assert!(!is_ours("localhost:80", at("10.0.0.1:80")));
    }

    #[test]
    fn secrets() {
        assert!(is_same(b"abc", b"abc"));
        for (a, b) in [("", "abc"), ("ab", "abc"), ("abcd", "abc"), ("abd", "abc")] {
            assert!(!is_same(a.as_bytes(), b.as_bytes()), "{a} {b}");
        }
        let local = "127.0.0.1:1".parse().expect("an address");
        let (one, other) = (Guard::new(local), Guard::new(local));
        let (one, other) = (one.expect("a guard").token, other.expect("a guard").token);
        assert!(one.len() == 32 && one != other);
    }
}
