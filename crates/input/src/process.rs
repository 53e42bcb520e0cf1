//! What the system says about this process.

/// What a process takes that has read nothing: its allocator, which takes memory in large pages, and its own data.
const ITSELF: u64 = 16 << 20;

/// The memory that this process has taken for its work, as far as the system says so. Pages of files do not count, its
/// own program above all: how many of them are in memory depends on what else the machine does.
#[must_use]
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib_of = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_suffix("kB"))?;
        line.trim().parse::<u64>().ok()
    };
    let taken = kib_of("RssAnon:").or_else(|| kib_of("VmRSS:")).map_or(0, |kib| kib * 1024);
    taken.saturating_sub(ITSELF)
}
