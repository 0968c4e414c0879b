//! Return addresses of a stack without repetition, in bounded memory: each is kept where it is met last.
//!
//! Walks go from the innermost frame outwards. So the callers of a recursive function, which lie outermost, stay in
//! the sample however deep the recursion is, and whether it is direct or goes through several functions.
//! [`address_lookup`](super::address_lookup) keeps places by the same rule.
//!
//! Input: return addresses, innermost first. Output: the same without repetition, written to a [`Record`]. If there
//! are more than [`MOST`], each run of [`MOST`] different ones is without repetition.

use super::record::Record;

/// Maximum number of frames of a store that a sample looks at, since the signal handler must be brief.
const MOST_FRAMES: u32 = 100_000;

/// Number of frames that a sample looks at in any case.
const LEAST_FRAMES: u32 = 256;

/// For each frame that a sample looks at, so many nanoseconds lie between it and the sample before. A frame takes a few loads,
/// so walks of deep stacks take a small part of the time, however often a thread is interrupted.
const NS_OF_FRAME: u64 = 100;

/// Maximum number of different addresses at a time.
const MOST: usize = 256;

/// Number of slots of the index by address; a power of two.
const SLOTS: usize = 2 * MOST;

/// An address, with the number of the frame in which it was met last.
#[derive(Clone, Copy, Default)]
struct Met {
    pc: usize,
    at: u32,
}

/// The callers in a sample, entry by entry, on the handler's stack.
pub struct Callers {
    met: [Met; MOST],
    len: usize,
    /// Positions in `met` plus one, by hash of the address; 0 in free slots.
    slots: [u16; SLOTS],
    /// The address met last in this entry.
    newest: Option<usize>,
    /// Number of frames so far.
    frames: u32,
    /// Maximum number of frames.
    most: u32,
}

impl Callers {
    /// Creates an empty list for a sample that stands for `time_ns` nanoseconds.
    pub fn new(time_ns: u64) -> Callers {
        let most = u32::try_from(time_ns / NS_OF_FRAME).unwrap_or(u32::MAX).clamp(LEAST_FRAMES, MOST_FRAMES);
        Callers { met: [Met::default(); MOST], len: 0, slots: [0; SLOTS], newest: None, frames: 0, most }
    }

    /// Returns whether there were so many frames that no more may be looked at.
    pub fn is_at_end(&self) -> bool {
        self.frames >= self.most
    }

    /// Returns whether the address was met just before, as in direct recursion.
    pub fn is_newest(&self, pc: usize) -> bool {
        self.newest == Some(pc)
    }

    /// Adds the address of the next frame. Writes what is there to the record when there is no more room.
    pub fn add(&mut self, pc: usize, record: &mut Record) {
        self.frames += 1;
        let at = self.frames;
        if self.is_newest(pc) {
            return;
        }
        self.newest = Some(pc);
        let slot = self.slot(pc);
        if let Some(known) = usize::from(self.slots[slot]).checked_sub(1) {
            self.met[known].at = at;
            return;
        }
        self.met[self.len] = Met { pc, at };
        self.len += 1;
        self.slots[slot] = self.len as u16;
        if self.len == MOST {
            self.write(record);
        }
    }

    /// Writes the addresses to the record, in the order in which they were met last, and forgets them.
    pub fn write(&mut self, record: &mut Record) {
        let met = &mut self.met[..self.len];
        // It allocates nothing.
        met.sort_unstable_by_key(|met| met.at);
        met.iter().for_each(|met| record.push(met.pc as u64));
        self.len = 0;
        self.slots = [0; SLOTS];
        self.newest = None;
    }

    /// Returns the slot of an address, or the free one where it belongs. There are twice as many slots as addresses.
    fn slot(&self, pc: usize) -> usize {
        // The golden ratio, as in Fibonacci hashing.
        let mut slot = pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOTS.ilog2());
        while self.slots[slot] != 0 && self.met[usize::from(self.slots[slot]) - 1].pc != pc {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is kept of a walk.
    fn kept(walk: impl Iterator<Item = usize>) -> Vec<u64> {
        let (mut callers, mut record) = (Callers::new(u64::MAX), Record::new(0));
        walk.for_each(|pc| callers.add(pc, &mut record));
        callers.write(&mut record);
        record.words().skip(1).collect()
    }

    /// Returns each address where it is last, found by search.
    fn expected(walk: &[usize]) -> Vec<u64> {
        let is_last = |&(at, pc): &(usize, &usize)| !walk[at + 1..].contains(pc);
        walk.iter().enumerate().filter(is_last).map(|(_, &pc)| pc as u64).collect()
    }

    #[test]
    fn recursion_of_any_period_leaves_each_address_where_it_is_outermost() {
        let direct = std::iter::repeat_n(7, 90_000).chain([3]);
        assert_eq!(kept(direct), [7, 3]);
        let mutual = (0..90_000).map(|at| 1 + at % 3).chain([9, 2, 8]);
        assert_eq!(kept(mutual), [1, 3, 9, 2, 8]);
    }

    #[test]
    fn any_walk_with_few_addresses_is_as_a_search_finds_it() {
        let mut seed = 0x2545_f491_4f6c_dd1d_usize;
        for addresses in [2, 17, MOST - 1] {
            let walk: Vec<usize> = (0..5000)
                .map(|_| {
                    seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    0x7f00_0000_1000 + 16 * ((seed >> 33) % addresses)
                })
                .collect();
            assert_eq!(kept(walk.iter().copied()), expected(&walk));
        }
    }

    #[test]
    fn a_walk_with_many_addresses_keeps_its_ends() {
        let found = kept(1..=50_000);
        assert_eq!((found[..5].to_vec(), found.last()), (vec![1, 2, 3, 4, 5], Some(&50_000)));
    }

    #[test]
    fn a_walk_ends_after_a_number_of_frames_also_in_recursion() {
        let walked = |time_ns: u64| {
            let (mut callers, mut record) = (Callers::new(time_ns), Record::new(0));
            let walked = (0..2 * MOST_FRAMES).take_while(|_| {
                callers.add(7, &mut record);
                !callers.is_at_end()
            });
            walked.count() as u32 + 1
        };
        assert_eq!([0, 30_000, 1_000_000, u64::MAX].map(walked), [256, 300, 10_000, MOST_FRAMES]);
    }
}
