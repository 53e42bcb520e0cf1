//! What is meant for `weakspot serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Usage;
use crate::typed;

#[derive(Debug)]
pub struct ServeArgs {
    pub files: Vec<PathBuf>,
    pub listen: SocketAddr,
    pub timeout: Duration,
    pub memory: u64,
    pub threads: usize,
}

pub(super) fn serve(typed: typed::Serve) -> Result<ServeArgs, Usage> {
    let typed::Serve { files, listen, timeout, memory, threads } = typed;
    let listen = listen.unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let bad = || Usage(format!("bad address `{listen}` for --listen: expected 127.0.0.1:8080"));
    Ok(ServeArgs {
        files,
        listen: listen.parse().map_err(|_| bad())?,
        timeout: timeout.unwrap_or(Duration::from_secs(10)),
        memory: memory.unwrap_or(1 << 30),
        threads: threads.map_or(2, usize::from),
    })
}
