//! Figures that were measured several times.

use anyhow::Result;

/// Seconds of the same work, done again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// How often it was measured.
    pub(crate) runs: usize,
}

/// What takes longer is measured once: its start does not count for much, and nobody wants to wait.
const LONG: f64 = 0.5;
/// So often at least, if it is measured again, and so often at most.
const RUNS: (usize, usize) = (3, 7);
/// A figure stands if the slowest and the fastest run differ by so much of the median.
const STANDS: f64 = 10.0;
/// All runs together take about so many seconds at most.
const ALL: f64 = 1.0;

impl Spread {
    pub(crate) fn of(seconds: &[f64]) -> Option<Spread> {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[upper]) / 2.0;
        Some(Spread { median, least, most, runs: sorted.len() })
    }

    /// From the fastest to the slowest run, in percent of the median; nothing is known after one run.
    pub(crate) fn percent(&self) -> Option<f64> {
        let is_known = self.runs > 1 && self.median > 0.0;
        is_known.then(|| 100.0 * (self.most - self.least) / self.median)
    }
}

/// `12%`, or `-` if there is none.
pub(crate) fn percent_text(percent: Option<f64>) -> String {
    percent.map_or("-".to_owned(), |percent| format!("{percent:.0}%"))
}

/// Measures until the figure stands. The first time warms up, unless it takes so long that it is the only one.
pub(crate) fn repeated(
    first: f64,
    mut again: impl FnMut() -> Result<Option<f64>>,
) -> Result<Option<Spread>> {
    if first >= LONG {
        return Ok(Spread::of(&[first]));
    }
    let mut seconds = Vec::new();
    while seconds.len() < RUNS.1 {
        let Some(more) = again()? else { break };
        seconds.push(more);
        let stands = Spread::of(&seconds).and_then(|s| s.percent()).is_some_and(|p| p <= STANDS);
        let is_enough = stands || seconds.iter().sum::<f64>() > ALL;
        if seconds.len() >= RUNS.0 && is_enough {
            break;
        }
    }
    Ok(Spread::of(if seconds.is_empty() { std::slice::from_ref(&first) } else { &seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[2.0]).expect("a figure");
        assert_eq!((one.median, percent_text(one.percent()).as_str()), (2.0, "-"));
        let three = Spread::of(&[3.0, 1.0, 2.0]).expect("a figure");
        assert_eq!((three.median, percent_text(three.percent()).as_str()), (2.0, "100%"));
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).expect("a figure").median, 2.5);
    }

    #[test]
    fn until_it_stands() {
        let of = |first: f64, then: &[f64]| {
            let mut then = then.iter().copied();
            let found = repeated(first, || Ok(then.next())).expect("measured");
            (found.expect("a figure").runs, then.len())
        };
        assert_eq!(of(2.0, &[1.0; 9]), (1, 9), "long ones are measured once");
        assert_eq!(of(0.2, &[0.1; 9]), (3, 6), "the first one warms up");
        assert_eq!(of(0.2, &[0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1]), (7, 2));
        assert_eq!(of(0.2, &[0.4, 0.5, 0.3, 0.5]), (3, 1), "there is not much time");
        assert_eq!(of(0.2, &[]), (1, 0), "nobody could do it again");
    }
}
