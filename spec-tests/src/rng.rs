//! Reproducible random numbers: a seed identifies a test case on every machine.

use std::ops::Range;

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator with a separate sequence for each seed.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed ^ 0x5851_f42d_4c95_7f2d);
        rng.word();
        rng
    }

    /// Returns the next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `n`, which is not zero.
    pub fn below(&mut self, n: usize) -> usize {
        (self.word() % n as u64) as usize
    }

    /// Returns a number in a range, which is not empty.
    pub fn within(&mut self, range: &Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    /// Returns true with a probability of `percent` percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the elements.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns an integer that is likely to be a special case.
    pub fn integer(&mut self) -> i64 {
        match self.below(8) {
            0 => 0,
            1 => self.pick(&[1, -1, i64::MAX, i64::MIN, i64::from(i32::MAX), i64::from(i32::MIN)]),
            2 => self.word() as i64,
            3 => i64::from(self.word() as i32),
            _ => self.below(24) as i64 - 4,
        }
    }

    /// Returns random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| self.word().to_le_bytes()).collect()
    }
}

/// Spreads the bits of `z`.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
