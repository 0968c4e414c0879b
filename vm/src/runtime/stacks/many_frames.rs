//! A compact list of frames: a stack of megabytes has hundreds of thousands of frames, and recursion makes most
//! of them alike.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::raw_frame::RawFrame;

/// Up to so many distinct frames are compared one by one, which is faster than to hash them.
const FEW: usize = 16;

/// Frames in order. Equal frames are stored once.
#[derive(Debug, Default)]
pub struct ManyFrames {
    kinds: Vec<RawFrame>,
    /// The index in `kinds` of each of them; empty while there are few.
    numbers: HashMap<RawFrame, u32>,
    /// By frame, its index in `kinds`.
    order: SmallVec<[u32; FEW]>,
}

impl ManyFrames {
    /// Appends a frame.
    pub fn push(&mut self, frame: RawFrame) {
        let known = match self.numbers.is_empty() {
            // Of a recursion the last one is the likeliest.
            true => self.kinds.iter().rposition(|kind| *kind == frame).map(|found| found as u32),
            false => self.numbers.get(&frame).copied(),
        };
        let number = known.unwrap_or_else(|| self.add(frame));
        self.order.push(number);
    }

    /// Adds a frame that differs from all others. Returns its index.
    fn add(&mut self, frame: RawFrame) -> u32 {
        let number = self.kinds.len() as u32;
        self.kinds.push(frame);
        match self.kinds.len() {
            0..=FEW => {}
            _ if self.numbers.is_empty() => self.numbers.extend(self.kinds.iter().copied().zip(0..)),
            _ => drop(self.numbers.insert(frame, number)),
        }
        number
    }

    /// Returns the frames in order.
    pub fn iter(&self) -> impl Iterator<Item = RawFrame> {
        self.order.iter().map(|&kind| self.kinds[kind as usize])
    }

    /// Returns the distinct frames, each with its number of occurrences.
    pub fn tally(&self) -> impl Iterator<Item = (RawFrame, u64)> {
        let mut counts = vec![0; self.kinds.len()];
        self.order.iter().for_each(|&kind| counts[kind as usize] += 1);
        self.kinds.iter().copied().zip(counts)
    }
}

impl Extend<RawFrame> for ManyFrames {
    fn extend<I: IntoIterator<Item = RawFrame>>(&mut self, frames: I) {
        frames.into_iter().for_each(|frame| self.push(frame));
    }
}

impl FromIterator<RawFrame> for ManyFrames {
    fn from_iter<I: IntoIterator<Item = RawFrame>>(frames: I) -> Self {
        let mut all = Self::default();
        all.extend(frames);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::counts::metrics::Sums;

    fn frame(pc: usize) -> RawFrame {
        RawFrame { pc, vmctx: std::ptr::null(), path: None, sums: Sums::default(), record: None }
    }

    #[test]
    fn few_frames_are_not_hashed_and_many_are_stored_once() {
        let few: ManyFrames = (0..1000).map(|number| frame(number % FEW)).collect();
        assert_eq!((few.numbers.capacity(), few.kinds.len()), (0, FEW));
        for kinds in [1, FEW, FEW + 1, 300] {
            let pcs: Vec<usize> = (0..2000).map(|number| number * number % kinds).collect();
            let all: ManyFrames = pcs.iter().map(|&pc| frame(pc)).collect();
            assert!(all.iter().map(|frame| frame.pc).eq(pcs.iter().copied()), "{kinds}");
            let counts: u64 = all.tally().map(|(_, count)| count).sum();
            let mut different = pcs.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!((counts, all.tally().count()), (2000, different.len()), "{kinds}");
            let is_counted = |(frame, count): (RawFrame, u64)| {
                pcs.iter().filter(|&&pc| pc == frame.pc).count() as u64 == count
            };
            assert!(all.tally().all(is_counted), "{kinds}");
        }
    }
}
