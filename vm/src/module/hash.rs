//! The hash of a module, by which profiles know what they are of.

use std::sync::{Mutex, OnceLock, PoisonError};

use sha2::{Digest, Sha256};

/// Bytes that are hashed at a time, in about a millisecond: what is more urgent can come between.
pub const PIECE: usize = 1 << 20;

/// The SHA-256 hash of a module's bytes, computed when it is asked for or in pieces before.
#[derive(Debug, Default)]
pub struct ModuleHash {
    whole: OnceLock<[u8; 32]>,
    begun: Mutex<Begun>,
}

/// The hash of the bytes before `at`.
#[derive(Debug, Default)]
struct Begun {
    hasher: Sha256,
    at: usize,
}

impl ModuleHash {
    /// Whether it is computed already.
    pub fn is_known(&self) -> bool {
        self.whole.get().is_some()
    }

    /// The hash of `bytes`, which are always the same.
    pub fn get(&self, bytes: &[u8]) -> [u8; 32] {
        while !self.advance(bytes) {}
        *self.whole.get().expect("advanced to the end")
    }

    /// Hashes a piece more of `bytes`, and returns whether that was the last.
    pub fn advance(&self, bytes: &[u8]) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_known() {
            let end = bytes.len().min(begun.at + PIECE);
            let piece = &bytes[begun.at..end];
            begun.hasher.update(piece);
            begun.at = end;
            if end == bytes.len() {
                let hash = std::mem::take(&mut begun.hasher).finalize();
                self.whole.get_or_init(|| hash.into());
            }
        }
        self.is_known()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_hash_of_the_whole() {
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 100] {
            let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let expected: [u8; 32] = Sha256::digest(&bytes).into();
            let hash = ModuleHash::default();
            let pieces = (1..).find(|_| hash.advance(&bytes)).expect("it ends");
            assert!(hash.is_known() && !ModuleHash::default().is_known());
            assert_eq!((pieces, hash.get(&bytes)), (len.div_ceil(PIECE).max(1), expected));
            assert_eq!(ModuleHash::default().get(&bytes), expected);
        }
    }
}
