//! The file that says where processes are: a line `HOST:PORT` for each, the first for process 0.
//! Empty lines and what follows a `#` do not count.

use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// The addresses of all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(pub Vec<String>);

/// More processes are a mistake.
const MOST: usize = 1024;
/// So is a longer file, in bytes.
const LONG: u64 = 1 << 20;

impl Hosts {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn read(path: &Path) -> Result<Hosts, String> {
        let name = path.display();
        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(LONG + 1).read_to_string(&mut text))
            .map_err(|e| format!("failed to read {name}: {e}"))?;
        if text.len() as u64 > LONG {
            return Err(format!("{name} is too long for a list of hosts"));
        }
        Hosts::parse(&text).map_err(|(line, why)| format!("{name}:{line}:1: {why}"))
    }

    /// Reads lines; a mistake with its line.
    fn parse(text: &str) -> Result<Hosts, (usize, String)> {
        let mut hosts: Vec<String> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let host = line.split('#').next().unwrap_or_default().trim();
            if host.is_empty() {
                continue;
            }
            let wrong = |why: &str| (i + 1, format!("bad address `{host}`: {why}"));
            let (name, port) = host.rsplit_once(':').ok_or(wrong("expected HOST:PORT"))?;
            if name.is_empty() || port.parse::<u16>().map_or(true, |port| port == 0) {
                return Err(wrong("expected HOST:PORT, as in node1:4100"));
            }
            if hosts.iter().any(|h| h == host) {
                return Err(wrong("another process has it"));
            }
            hosts.push(host.to_owned());
        }
        match hosts.len() {
            0 => Err((1, "no addresses: expected a line HOST:PORT for each process".to_owned())),
            n if n > MOST => Err((n, format!("more than {MOST} processes"))),
            _ => Ok(Hosts(hosts)),
        }
    }

    /// The addresses that one of them stands for.
    pub(crate) fn addresses(&self, process: usize) -> Result<Vec<SocketAddr>, String> {
        let host = &self.0[process];
        let found = host.to_socket_addrs().map_err(|e| format!("failed to find {host}: {e}"))?;
        Ok(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let hosts = Hosts::parse("# mine\nnode1:4100\n\n  node2:4100 # the second\n[::1]:5\n");
        let expected = ["node1:4100", "node2:4100", "[::1]:5"].map(str::to_owned);
        assert_eq!(hosts, Ok(Hosts(expected.to_vec())));
    }

    #[test]
    fn a_file_without_end_is_refused() {
        let refused = Hosts::read(Path::new("/dev/zero"));
        assert_eq!(refused, Err("/dev/zero is too long for a list of hosts".to_owned()));
    }

    #[test]
    fn mistakes_have_lines() {
        let line = |text: &str| Hosts::parse(text).map_err(|(line, _)| line);
        assert_eq!(line(""), Err(1));
        assert_eq!(line("a:1\nb"), Err(2));
        assert_eq!(line("a:1\n\nb:x"), Err(3));
        assert_eq!(line("a:0"), Err(1));
        assert_eq!(line("a:1\na:1"), Err(2));
    }
}
