//! What a histogram says about the CPU.

use std::collections::BTreeSet;

use weakspot_core::{Limit, Value, Verdict};

use crate::Histogram;

/// Whether a model has every state that was seen. `states` are those of the model, all of them unless
/// a limit ended the search.
#[must_use]
pub fn judge(
    histogram: &Histogram,
    states: &BTreeSet<Vec<Value>>,
    stopped: Option<&Limit>,
) -> Verdict {
    let foreign = histogram.states.keys().any(|state| !states.contains(state));
    match (foreign, stopped, &histogram.stopped) {
        (true, None, _) => Verdict::Violated,
        (true, Some(limit), _) | (false, _, Some(limit)) => Verdict::Unknown(limit.clone()),
        (false, _, None) => Verdict::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_said() {
        let seen = |stopped| Histogram { states: [(vec![0], 3)].into(), runs: 3, stopped };
        let (zero, one) = (BTreeSet::from([vec![0], vec![1]]), BTreeSet::from([vec![1]]));
        let (asked, buffer) = (Limit::Interrupted, Limit::Torn(7));
        assert_eq!(judge(&seen(None), &zero, None), Verdict::Holds);
        assert_eq!(judge(&seen(None), &zero, Some(&buffer)), Verdict::Holds);
        assert_eq!(judge(&seen(None), &one, None), Verdict::Violated);
        assert_eq!(judge(&seen(Some(asked.clone())), &one, None), Verdict::Violated);
        let unknown = Verdict::Unknown(asked.clone());
        assert_eq!(judge(&seen(Some(asked)), &zero, None), unknown);
        let unknown = Verdict::Unknown(buffer.clone());
        assert_eq!(judge(&seen(None), &one, Some(&buffer)), unknown);
    }
}
