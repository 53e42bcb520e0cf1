//! Real time: which operations ended before others began.

use crate::{History, Times};

/// When each operation of a history can have taken effect. A thread does one operation after the
/// other, so where a time is not known, those of its neighbours say something about it.
#[derive(Clone, Debug)]
pub struct RealTime {
    times: Vec<Times>,
}

impl RealTime {
    /// The times of a history, in linear time.
    #[must_use]
    pub fn of(ops: &History) -> RealTime {
        let mut times: Vec<Times> = (0..ops.len() as u32).map(|op| ops.times(op)).collect();
        for thread in 0..ops.threads() {
            let range = ops.of_thread(thread);
            let of_thread = &mut times[range.start as usize..range.end as usize];
            let mut earliest = i64::MIN;
            for (times, op) in of_thread.iter_mut().zip(range.clone()) {
                times.start = times.start.max(earliest);
                let Times { start, end } = ops.times(op);
                let known = if end == i64::MAX { start } else { end };
                earliest = earliest.max(known);
            }
            let mut latest = i64::MAX;
            for (times, op) in of_thread.iter_mut().zip(range).rev() {
                times.end = times.end.min(latest);
                let Times { start, end } = ops.times(op);
                let known = if start == i64::MIN { end } else { start };
                latest = latest.min(known);
            }
        }
        RealTime { times }
    }

    /// Between which times an operation takes effect.
    #[must_use]
    pub fn times(&self, op: u32) -> Times {
        self.times[op as usize]
    }

    /// Whether the first operation ended before the second one began. With the same time for both
    /// nobody knows which was first.
    #[must_use]
    pub fn is_before(&self, a: u32, b: u32) -> bool {
        self.times(a).end < self.times(b).start
    }
}
