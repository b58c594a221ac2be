//! Choices by a seed.

/// SplitMix64 (Steele, Lea, Flood 2014): enough for choices, and the same everywhere.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; the bias of the remainder doesn't matter here. 0 if the bound is.
    pub(super) fn below_u32(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound.max(1))).expect("below a bound of 32 bits")
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bound = u32::try_from(bound).expect("a ring has fewer than 2^32 nodes");
        usize::try_from(self.below_u32(bound)).expect("below a number of things in memory")
    }
}
