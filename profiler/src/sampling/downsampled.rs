//! Downsamples a sequence evenly, in bounded memory.
//!
//! Invariant: the items kept are those whose number is a multiple of a power of two, which doubles whenever there are
//! too many.

/// A downsampled sequence.
#[derive(Clone, Debug)]
pub struct Downsampled<T> {
    kept: Vec<T>,
    most: usize,
    every: u64,
    seen: u64,
}

impl<T> Downsampled<T> {
    /// Creates an empty sequence that keeps at most `most` items, which is at least 2.
    pub fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most: most.max(2), every: 1, seen: 0 }
    }

    /// Adds the next item.
    pub fn push(&mut self, item: T) {
        let number = self.seen;
        self.seen += 1;
        if number.is_multiple_of(self.every) && self.kept.len() == self.most {
            self.thin();
        }
        if number.is_multiple_of(self.every) {
            self.kept.push(item);
        }
    }

    /// Drops every other item.
    fn thin(&mut self) {
        self.every *= 2;
        let mut keep = false;
        self.kept.retain(|_| {
            keep = !keep;
            keep
        });
    }

    /// Returns the items kept, in order.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_spread_evenly_over_all() {
        for (most, count) in [(2, 0_u64), (2, 1), (2, 100), (5, 5), (5, 6), (8, 1000), (1, 3)] {
            let mut thinned = Downsampled::new(most);
            (0..count).for_each(|number| thinned.push(number));
            let expected: Vec<u64> = (0..count).step_by(thinned.every as usize).collect();
            assert_eq!(thinned.kept(), expected, "{count} in {most}");
            assert!(
                expected.len() <= most.max(2) && (thinned.every == 1 || expected.len() >= most.max(2) / 2)
            );
        }
    }
}
