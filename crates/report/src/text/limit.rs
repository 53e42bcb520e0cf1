//! What stopped a search, in words and as JSON.

use std::time::Duration;

use weakspot_core::{Limit, LostProcess, Names};
use weakspot_witness::LimitJson;

use crate::text::show::thread_name;

/// One line that says what stopped a search: a clause without a full stop.
#[must_use]
pub fn limit_text(limit: &Limit, names: &Names) -> String {
    match limit {
        Limit::Time(time) => {
            format!("the search stopped at the time limit of {}", in_seconds(*time))
        }
        Limit::Memory(bytes) => {
            format!("the search stopped at the memory limit of {}", size(*bytes))
        }
        Limit::Buffer { thread, entries, unbounded } => {
            let what = if *unbounded { "can grow without bound" } else { "was full" };
            format!(
                "the store buffer of {} {what}; explored with at most {entries} {} per buffer",
                thread_name(names, *thread),
                if *entries == 1 { "store" } else { "stores" },
            )
        }
        Limit::Interrupted => "the search was interrupted".to_owned(),
        Limit::Process { process, why } => {
            let what = match why {
                LostProcess::Gone => "ended before the search did",
                LostProcess::Silent => "was not heard of any more",
                LostProcess::Absent => "did not come to the search",
                LostProcess::Garbled => "said something that has no meaning",
            };
            format!("process {process} {what}")
        }
        Limit::Torn(offset) => format!("the log is torn at offset {offset}"),
        Limit::Window(operations) => format!(
            "only windows of {} operations were checked",
            crate::text::show::grouped(*operations as u128)
        ),
        Limit::Overlap => {
            "accesses overlap in part, and what that allows is not decided".to_owned()
        }
        Limit::Conditional => {
            "runs in which a load overtakes an `sc` were not looked at".to_owned()
        }
        Limit::Executions(1) => "only one execution was looked at".to_owned(),
        Limit::Executions(executions) => format!(
            "there are more than the {} that were explored",
            crate::text::show::counted(*executions, "execution")
        ),
        Limit::Finding(executions) => format!(
            "the search stopped at the first finding, after {} (--fail-fast)",
            crate::text::show::counted(*executions, "execution")
        ),
        Limit::Preemptions(most) => format!(
            "only executions with at most {} were explored",
            crate::text::show::counted(u64::from(*most), "preemption")
        ),
        Limit::Steps(most) => format!(
            "executions with more than {} were given up (--steps)",
            crate::text::show::counted(*most, "step")
        ),
        Limit::Silent => {
            "a thread computed for too long without an access to what threads share".to_owned()
        }
        Limit::Unrepeatable => {
            "what was found did not show again when it was executed again: the program depends on \
             something outside of it"
                .to_owned()
        }
        Limit::Loops => {
            "threads that went round in loops many times were taken to wait for others, which may be \
             wrong"
                .to_owned()
        }
        Limit::Updates => {
            "executions with store buffers let each atomic update wait for the stores before it, which a relaxed one need not"
                .to_owned()
        }
        Limit::Uncontrolled => "the program does something that cannot be controlled".to_owned(),
        Limit::Hashes(omission) => format!(
            "of {} only hashes of {} bits were kept, which is no proof: some state was left out with a \
             probability of {:.1e} (expected to be left out: {:.1e})",
            crate::text::show::counted(omission.states, "state"),
            omission.bits,
            omission.probability(),
            omission.expected(),
        ),
    }
}

/// The limit as JSON, with a `message` that says it in words as well.
pub(crate) fn named(limit: &Limit, names: &Names) -> LimitJson {
    LimitJson::new(limit, Some(limit_text(limit, names)))
}

fn in_seconds(time: Duration) -> String {
    let ms = time.as_millis();
    match (ms / 1000, ms % 1000) {
        (0, ms) => format!("{ms} ms"),
        (s, 0) => format!("{s} s"),
        (s, ms) => format!("{s}.{} s", format!("{ms:03}").trim_end_matches('0')),
    }
}

fn size(bytes: u64) -> String {
    let mut divisor = 1;
    let mut unit = "bytes";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if bytes / divisor >= 1024 {
            divisor *= 1024;
            unit = larger;
        }
    }
    match (bytes / divisor, bytes % divisor) {
        (1, 0) if unit == "bytes" => "1 byte".to_owned(),
        (whole, 0) => format!("{whole} {unit}"),
        _ => format!("{:.1} {unit}", bytes as f64 / divisor as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weakspot_core::ThreadId;

    fn check(limit: &Limit, text: &str) {
        assert_eq!(limit_text(limit, &Names::default()), text);
    }

    #[test]
    fn limits() {
        let time = |ms| Limit::Time(Duration::from_millis(ms));
        check(&time(60_000), "the search stopped at the time limit of 60 s");
        check(&time(1_050), "the search stopped at the time limit of 1.05 s");
        check(&time(20), "the search stopped at the time limit of 20 ms");
        check(&Limit::Memory(4 << 30), "the search stopped at the memory limit of 4 GiB");
        check(&Limit::Memory(1_600), "the search stopped at the memory limit of 1.6 KiB");
        check(&Limit::Memory(0), "the search stopped at the memory limit of 0 bytes");
        let buffer = |entries, unbounded| Limit::Buffer { thread: ThreadId(0), entries, unbounded };
        check(
            &buffer(16, true),
            "the store buffer of P0 can grow without bound; \
             explored with at most 16 stores per buffer",
        );
        check(
            &buffer(1, false),
            "the store buffer of P0 was full; explored with at most 1 store per buffer",
        );
        check(&Limit::Interrupted, "the search was interrupted");
        check(
            &Limit::Finding(1),
            "the search stopped at the first finding, after 1 execution (--fail-fast)",
        );
        check(&Limit::Torn(96), "the log is torn at offset 96");
        let omission = weakspot_core::Omission { states: 8_677_463, bits: 64 };
        check(
            &Limit::Hashes(omission),
            "of 8,677,463 states only hashes of 64 bits were kept, which is no proof: some state was left \
             out with a probability of 2.0e-6 (expected to be left out: 2.0e-6)",
        );
        check(&Limit::Window(100_000), "only windows of 100,000 operations were checked");
    }
}
