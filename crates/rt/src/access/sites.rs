//! Places in the program that mean more than what is announced there, as whoever has read its debug
//! information says.

/// Some of them: where calls of the library return to, or what is one byte behind the beginning of an
/// instruction with a trap.
pub struct Sites(Vec<usize>);

impl Sites {
    /// No places.
    pub fn new() -> Sites {
        Sites(Vec::new())
    }

    /// Those that the configuration has, of the program that begins at `base`.
    pub fn find(&mut self, sites: &[(u64, u64)], base: usize) {
        let address = |&(offset, len): &(u64, u64)| base.wrapping_add((offset + len) as usize);
        self.0 = sites.iter().map(address).collect();
        self.0.sort_unstable();
    }

    /// Whether this is one of them.
    #[inline(always)]
    pub fn hold(&self, pc: usize) -> bool {
        !self.0.is_empty() && self.0.binary_search(&pc).is_ok()
    }
}
