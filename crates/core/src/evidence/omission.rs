//! How probable it is that a search which keeps hashes of states has left one out.

/// A search that kept so many states, of each a hash of so many bits.
///
/// A state is left out if its hash is that of one that was kept before. With hashes that are as good as random,
/// each of `n` states meets one of those before it with a probability of at most `n / 2^bits`, so that of all pairs
/// of them `n (n - 1) / 2^(bits + 1)` are expected to agree, and none does with a probability
/// of `exp` of minus that (Wolper and Leroy 1993, Stern and Dill 1995).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omission {
    /// How many states were kept.
    pub states: u64,
    /// The bits of a hash.
    pub bits: u32,
}

impl Omission {
    /// How many states are expected to be taken for others.
    #[must_use]
    pub fn expected(self) -> f64 {
        let n = self.states as f64;
        n * (n - 1.0).max(0.0) / 2f64.powi(self.bits.cast_signed() + 1)
    }

    /// The probability that a state was taken for another.
    #[must_use]
    pub fn probability(self) -> f64 {
        -(-self.expected()).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn birthdays() {
        let of = |states, bits| Omission { states, bits };
        assert_eq!(of(0, 40).probability(), 0.0);
        assert_eq!(of(1, 40).probability(), 0.0);
        // 77,163 values of 32 bits are the first with which two agree rather than not.
        assert!((of(77_163, 32).probability() - 0.5).abs() < 1e-4);
        // Where it is small, it is the number that is expected.
        let (expected, probability) =
            (of(10_000_000, 64).expected(), of(10_000_000, 64).probability());
        assert!((expected - 2.71e-6).abs() < 1e-8 && (probability - expected).abs() < 1e-11);
        assert!(of(1 << 32, 40).probability() > 0.999);
    }
}
