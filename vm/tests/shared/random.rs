//! Numbers for tests with random cases.

/// A sequence of numbers that looks random (Marsaglia's xorshift).
pub struct Random(u64);

impl Random {
    /// Begins the sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number less than `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 8) as usize % end
    }
}
