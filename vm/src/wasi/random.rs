//! The source of random numbers.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// A source of random numbers.
#[derive(Debug)]
pub enum Random {
    /// The system, whose numbers nobody can guess.
    System,
    /// A deterministic sequence: the state of a SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
    /// number generators", 2014).
    Seeded(u64),
}

impl Random {
    /// Fills a buffer with random bytes.
    ///
    /// # Errors
    /// Returns an error if the system has no random numbers.
    pub fn fill(&mut self, mut buffer: &mut [u8]) -> Result<(), Errno> {
        match self {
            Random::Seeded(state) => {
                buffer
                    .chunks_mut(8)
                    .for_each(|chunk| chunk.copy_from_slice(&next(state).to_le_bytes()[..chunk.len()]));
            }
            Random::System => {
                while !buffer.is_empty() {
                    match getrandom(&mut *buffer, GetRandomFlags::empty()) {
                        Ok(len) => buffer = &mut buffer[len..],
                        Err(Errno::INTR) => {}
                        Err(errno) => return Err(errno),
                    }
                }
            }
        }
        Ok(())
    }
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
