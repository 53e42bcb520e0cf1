//! How a search or an exploration went, for those who look at it afterwards. No verdict depends on it.

use std::time::Duration;

/// So many points in time are kept at most.
const MOST: usize = 200;

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// The strategies, one after the other, with when each began.
    pub phases: Vec<(&'static str, Duration)>,
    /// How far it was when.
    samples: Vec<Sample>,
    /// At most one sample in so much time is kept.
    apart: Duration,
    /// What phases that are over came to.
    before: Sample,
    /// How many executions had no preemption, one, two, ...
    pub by_preemptions: Vec<u64>,
    /// The lines of the source where threads access memory that they share.
    pub lines: Vec<SharedLine>,
}

/// How far it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Duration,
    /// So many executions, or states.
    pub count: u64,
    /// So many steps; 0 for searches.
    pub steps: u64,
}

/// A line of the source where a thread accesses memory that others access, while there are others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLine {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Whether one and the same thread was seen to have a conflicting access before it and one after it, not
    /// necessarily in the same execution.
    pub interleaved: bool,
    /// On which sides any thread was seen to have one.
    pub met: Met,
}

/// On which sides of an access conflicting ones of another thread were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// One came before it.
    pub before: bool,
    /// One came after it.
    pub after: bool,
}

impl Met {
    /// What was seen here and there.
    #[must_use]
    pub const fn or(self, other: Met) -> Met {
        Met { before: self.before | other.before, after: self.after | other.after }
    }
}

impl Course {
    /// A phase begins, which counts from 0.
    pub fn begin(&mut self, name: &'static str, at: Duration) {
        self.phases.push((name, at));
        self.before = self.samples.last().copied().unwrap_or_default();
    }

    /// The phase is so far. If that is less than before, it has started again, and what it had done does not
    /// count.
    pub fn reach(&mut self, at: Duration, count: u64, steps: u64) {
        let (count, steps) = (self.before.count + count, self.before.steps + steps);
        while self.samples.last().is_some_and(|last| last.count > count) {
            self.samples.pop();
        }
        // The last one is always there.
        if let [.., before, _] = &self.samples[..]
            && at < before.at + self.apart
        {
            self.samples.pop();
        }
        self.samples.push(Sample { at, count, steps });
        if self.samples.len() > MOST {
            let mut kept = false;
            self.samples.retain(|_| {
                kept = !kept;
                kept
            });
            self.apart = at / (MOST as u32 / 2);
        }
    }

    /// Progress samples, ordered by time; counts never decrease.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn counts(course: &Course) -> Vec<(u64, u64)> {
        course.samples().iter().map(|s| (s.at.as_millis() as u64, s.count)).collect()
    }

    #[test]
    fn phases_add_up_and_restarts_do_not() {
        let mut course = Course::default();
        course.begin("dpor", at(0));
        course.reach(at(1), 5, 50);
        course.reach(at(2), 9, 90);
        course.reach(at(3), 1, 10);
        course.begin("bounded", at(4));
        course.reach(at(5), 4, 40);
        assert_eq!(counts(&course), [(3, 1), (5, 5)]);
        assert_eq!(course.samples().last().map(|s| s.steps), Some(50));
    }

    #[test]
    fn few_samples_are_kept() {
        let mut course = Course::default();
        for i in 1..10_000 {
            course.reach(at(i), i, i);
            assert_eq!(counts(&course).last(), Some(&(i, i)));
        }
        let counts = counts(&course);
        assert!(counts.is_sorted() && (MOST / 4..=MOST).contains(&counts.len()), "{counts:?}");
        let widest = counts.windows(2).map(|w| w[1].0 - w[0].0).max();
        assert!(widest <= Some(400), "{counts:?}");
    }
}
