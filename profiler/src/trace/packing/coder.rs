//! An adaptive binary arithmetic coder.
//!
//! Input: bits, each with the probability that it is a one. Output: bytes, and the bits back.
//! Invariant: a decoder that is asked with the same probabilities returns the same bits; beyond the end of its bytes
//! it reads zeros.
//! Source: Witten, Neal & Cleary, *Arithmetic Coding for Data Compression*, 1987; the 32-bit interval whose equal
//! leading bytes are shifted out is that of Mahoney's lpaq. Oracle: bits of any probability, in the tests below.

/// One side of the coder. The encoder writes the given bit and returns it; the decoder ignores it and returns the bit
/// read.
pub(super) trait Coder {
    /// Codes a bit that is a one with probability `one` / 65536; 0 counts as 1.
    fn code(&mut self, one: u16, bit: bool) -> bool;
}

/// The current interval.
#[derive(Clone, Copy)]
struct Interval {
    low: u32,
    high: u32,
}

impl Interval {
    const ALL: Self = Self { low: 0, high: u32::MAX };

    /// Returns the last number of the interval's part that stands for a one.
    fn middle(self, one: u16) -> u32 {
        let (range, one) = (u64::from(self.high - self.low), u64::from(one.max(1)));
        self.low + ((range * one) >> 16) as u32
    }

    fn narrow(&mut self, middle: u32, bit: bool) {
        match bit {
            true => self.high = middle,
            false => self.low = middle + 1,
        }
    }

    /// Shifts a byte out if the whole interval begins with it.
    fn shift(&mut self) -> Option<u8> {
        let is_known = (self.low ^ self.high) >> 24 == 0;
        let byte = (self.high >> 24) as u8;
        is_known.then(|| {
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            byte
        })
    }
}

/// The writing side.
pub(super) struct Encoder {
    interval: Interval,
    bytes: Vec<u8>,
}

impl Encoder {
    pub fn new() -> Self {
        Self { interval: Interval::ALL, bytes: Vec::new() }
    }

    /// Returns the bytes, without zeros at their end.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.extend(self.interval.high.to_be_bytes());
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }
}

impl Coder for Encoder {
    #[inline]
    fn code(&mut self, one: u16, bit: bool) -> bool {
        let middle = self.interval.middle(one);
        self.interval.narrow(middle, bit);
        while let Some(byte) = self.interval.shift() {
            self.bytes.push(byte);
        }
        bit
    }
}

/// The reading side.
pub(super) struct Decoder<'a> {
    interval: Interval,
    value: u32,
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { interval: Interval::ALL, value: 0, bytes: bytes.iter() };
        (0..4).for_each(|_| decoder.next_byte());
        decoder
    }

    fn next_byte(&mut self) {
        let byte = self.bytes.next().copied().unwrap_or(0);
        self.value = self.value << 8 | u32::from(byte);
    }
}

impl Coder for Decoder<'_> {
    #[inline]
    fn code(&mut self, one: u16, _: bool) -> bool {
        let middle = self.interval.middle(one);
        let bit = self.value <= middle;
        self.interval.narrow(middle, bit);
        while self.interval.shift().is_some() {
            self.next_byte();
        }
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::{Coder, Decoder, Encoder};

    #[test]
    fn bits_of_any_probability_come_back() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state >> 33
        };
        let bits: Vec<(u16, bool)> = (0..50_000)
            .map(|at| match at % 3 {
                0 => (random() as u16, random() & 1 == 1),
                1 => (65_535, random() % 500 != 0),
                _ => (0, random() % 500 == 0),
            })
            .collect();
        let mut encoder = Encoder::new();
        for &(one, bit) in &bits {
            encoder.code(one, bit);
        }
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes);
        assert!(bits.iter().all(|&(one, bit)| decoder.code(one, !bit) == bit));
    }

    #[test]
    fn what_is_likely_costs_little() {
        let mut encoder = Encoder::new();
        for _ in 0..100_000 {
            encoder.code(65_500, true);
        }
        // 100,000 bits cost 0.0008 bits each.
        assert!(encoder.finish().len() < 14);
    }
}
