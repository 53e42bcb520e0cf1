//! SIGINT, SIGTERM and SIGHUP: the first one asks for what is known so far, the second one ends the
//! program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));

/// From now on signals ask, and whoever works looks at [`asked`].
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // What `nohup` or a shell in the background ignores stays ignored.
            if ignored & (1 << (signal - 1)) == 0 {
                // The order matters: the second signal finds what the first one has left.
                let _ = flag::register_conditional_shutdown(signal, 128 + signal, ASKED.clone());
                let _ = flag::register(signal, ASKED.clone());
            }
        }
    });
}

/// Whether somebody has asked for an end, or nobody wants to hear more.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Nobody wants to hear more.
pub(crate) fn ask() {
    ASKED.store(true, Ordering::Relaxed);
}

/// The signals that were ignored when the program was started, as a set of bits.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}
