//! FNV-1a, 64 bits: the only hash of this crate, for fingerprints and checksums.
//!
//! Input: bytes. Output: 64 bits, the same on every platform and in every version.
//! Invariant: each step is a bijection of the state, so two inputs that differ in a single byte always have different
//! hashes. The hash guards against damage, not against malice.
//! Source: Fowler, Noll & Vo, draft-eastlake-fnv. Oracle: the draft's test vectors, below.

/// A running hash.
#[derive(Clone, Copy)]
pub(crate) struct Fnv64(u64);

impl Fnv64 {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) const fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Fnv64;

    #[test]
    fn published_vectors() {
        let hash = |text: &str| Fnv64::new().bytes(text.as_bytes()).finish();
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
