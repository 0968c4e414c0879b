//! The bit stream of one thread.
//!
//! Invariant: bit `i` is bit `i % 8` of byte `i / 8`; unused bits of the last byte are 0.

/// A sequence of bits in the order in which they were appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitStream {
    bytes: Vec<u8>,
    len: u64,
}

impl BitStream {
    /// Creates a stream of the first `len` bits of `bytes`; `None` if `bytes` has not exactly the length for them.
    pub fn from_bytes(mut bytes: Vec<u8>, len: u64) -> Option<Self> {
        if bytes.len() as u64 != len.div_ceil(8) {
            return None;
        }
        if let Some(last) = bytes.last_mut().filter(|_| !len.is_multiple_of(8)) {
            *last &= (1 << (len % 8)) - 1;
        }
        Some(Self { bytes, len })
    }

    /// Appends the `bits` low bits of `value`, the lowest first; at most 32.
    pub fn push(&mut self, value: u32, bits: u8) {
        let bits = u32::from(bits.min(32));
        let mut value = u64::from(value) & ((1 << bits) - 1);
        let (mut left, mut used) = (bits, (self.len % 8) as u32);
        self.len += u64::from(bits);
        while left > 0 {
            if used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= (value << used) as u8;
            }
            let taken = left.min(8 - used);
            value >>= taken;
            left -= taken;
            used = (used + taken) % 8;
        }
    }

    /// Returns the number of bits.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Reports whether the stream has no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes that hold the bits.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns one bit; `None` beyond the end.
    pub fn bit(&self, at: u64) -> Option<bool> {
        let byte = self.bytes.get(usize::try_from(at / 8).ok()?).filter(|_| at < self.len)?;
        Some(byte >> (at % 8) & 1 == 1)
    }

    /// Returns the bits from `at` on, at least 57, the first one lowest; zeros beyond the end.
    #[inline]
    pub(super) fn peek(&self, at: u64) -> u64 {
        let first = (at / 8) as usize;
        let word = match self.bytes.get(first..).and_then(|rest| rest.first_chunk()) {
            Some(&word) => word,
            None => self.last_bytes(first),
        };
        u64::from_le_bytes(word) >> (at % 8)
    }

    #[cold]
    fn last_bytes(&self, first: usize) -> [u8; 8] {
        let mut word = [0; 8];
        let rest = self.bytes.get(first..).unwrap_or(&[]);
        word.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
        word
    }

    /// Reads `bits` bits from `at` on, at most 32; `None` beyond the end.
    pub fn read(&self, at: u64, bits: u8) -> Option<u32> {
        let end = at.checked_add(u64::from(bits)).filter(|&end| end <= self.len && bits <= 32)?;
        let first = usize::try_from(at / 8).ok()?;
        let last = usize::try_from(end.div_ceil(8)).ok()?;
        let mut word = [0; 8];
        let bytes = self.bytes.get(first..last.max(first))?;
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let word = u64::from_le_bytes(word) >> (at % 8);
        Some((word & ((1 << bits) - 1)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::BitStream;

    #[test]
    fn what_is_pushed_is_read() {
        let mut stream = BitStream::default();
        let tokens = [(1, 1), (0xdead_beef, 32), (0, 0), (5, 3), (u32::MAX, 31), (2, 2), (7, 32)];
        tokens.iter().for_each(|&(value, bits)| stream.push(value, bits));
        let mut at = 0;
        for (value, bits) in tokens {
            let kept = (u64::from(value) & ((1 << bits) - 1)) as u32;
            assert_eq!(stream.read(at, bits), Some(kept));
            assert_eq!(stream.peek(at) & ((1 << bits) - 1), u64::from(kept));
            for bit in 0..u64::from(bits) {
                assert_eq!(stream.bit(at + bit), Some(kept >> bit & 1 == 1));
            }
            at += u64::from(bits);
        }
        assert_eq!((stream.len(), stream.bit(at), stream.read(at, 1)), (at, None, None));
        assert_eq!(stream.read(u64::MAX, 2), None);
        assert_eq!(BitStream::from_bytes(stream.as_bytes().to_vec(), at), Some(stream));
        assert_eq!(BitStream::from_bytes(vec![0xff], 9), None);
        assert_eq!(BitStream::from_bytes(vec![0xff], 3).unwrap().as_bytes(), [7]);
    }
}
