//! What the library is told: [`Config`], which whoever explores a program writes.

pub use weakspot_live::wire::{Config, VARIABLE};

/// No execution can have more threads.
pub const MOST_THREADS: usize = 4096;

/// Reads the value of the variable, and keeps numbers where they mean something here; what is wrong
/// with it.
pub fn read(text: &str) -> Result<Config, String> {
    let mut config = Config::parse(text)?;
    config.threads = config.threads.clamp(1, MOST_THREADS);
    config.hang = config.hang.max(1);
    config.spins = config.spins.max(1);
    for (_, len) in &mut config.shared {
        *len = (*len).min(MOST_SHARED);
    }
    Ok(config)
}

/// A piece of shared memory has at most so many bytes.
const MOST_SHARED: u64 = 1 << 30;
