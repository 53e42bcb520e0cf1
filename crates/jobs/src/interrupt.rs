//! SIGINT, SIGTERM and SIGHUP: the first one asks for what is known so far, the second one ends the
//! program at once.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use weakspot_input::Stop;

use crate::output;

/// `timeout` and terminals send a signal to the program and to its group: that is one wish, not two.
const ONE_WISH: Duration = Duration::from_millis(300);

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on signals ask, and whoever works looks at [`asked`].
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored();
        // What `nohup` or a shell in the background ignores stays ignored.
        let heeded =
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|s| ignored & (1 << (s - 1)) == 0);
        let Ok(mut signals) = Signals::new(heeded) else { return };
        std::thread::spawn(move || {
            let mut first: Option<Instant> = None;
            for signal in signals.forever() {
                match first {
                    None => {
                        first = Some(Instant::now());
                        ask();
                    }
                    Some(first) if first.elapsed() < ONE_WISH => {}
                    Some(_) => {
                        output::abandon();
                        std::process::exit(128 + signal);
                    }
                }
            }
        });
    });
}

/// Whether somebody has asked for an end, or nobody wants to hear more.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// What ends reading: this, or that it is time.
pub fn stop(at: Option<Instant>) -> Stop {
    Stop { at, asked }
}

/// Nobody wants to hear more.
pub fn ask() {
    ASKED.store(true, Ordering::Relaxed);
}

/// The signals that were ignored when the program was started, as a set of bits.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}
