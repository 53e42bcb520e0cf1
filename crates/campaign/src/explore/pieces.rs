//! Pieces of memory that threads share, as far as that is known from executions before.

/// How much text may say what is shared: there is no room for more in a variable of the environment, and
/// the library finds out by itself.
const MOST_KNOWN: usize = 60_000;

/// Pieces of shared memory as a configuration has them: in order, those that touch each other as one.
pub(crate) fn merged(pieces: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut ends: Vec<(u64, u64)> =
        pieces.iter().map(|&(addr, len)| (addr, addr.saturating_add(len))).collect();
    ends.sort_unstable();
    ends.dedup_by(|next, last| {
        let together = next.0 <= last.1;
        if together {
            last.1 = last.1.max(next.1);
        }
        together
    });
    let mut text = 0;
    let pieces = ends.into_iter().map(|(from, to)| (from, to - from));
    pieces
        .take_while(|(addr, len)| {
            text += format!("{addr:#x}+{len:#x},").len();
            text <= MOST_KNOWN
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn pieces_that_touch_are_one() {
        assert_eq!(merged(&[(8, 4), (0, 4), (4, 4), (20, 1)]), [(0, 12), (20, 1)]);
        assert_eq!(merged(&[(0, 8), (2, 2)]), [(0, 8)]);
        assert_eq!(merged(&[]), []);
        let far: Vec<(u64, u64)> = (0..10_000).map(|i| (i * 64, 8)).collect();
        assert!(merged(&far).len() < far.len());
    }
}
