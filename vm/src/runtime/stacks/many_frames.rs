//! A compact list of frames: a stack of megabytes has hundreds of thousands of frames, and recursion makes most
//! of them alike.

use hashbrown::HashMap;

use super::activation::RawFrame;

/// Frames in order. Equal frames are stored once.
#[derive(Debug, Default)]
pub struct ManyFrames {
    kinds: Vec<RawFrame>,
    numbers: HashMap<RawFrame, u32>,
    /// By frame, its index in `kinds`.
    order: Vec<u32>,
}

impl ManyFrames {
    /// Appends a frame.
    pub fn push(&mut self, frame: RawFrame) {
        let next = self.kinds.len() as u32;
        let number = *self.numbers.entry(frame).or_insert(next);
        if number == next {
            self.kinds.push(frame);
        }
        self.order.push(number);
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
