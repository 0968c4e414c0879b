//! The words of one sample, as the signal handler writes them.
//!
//! A sample is its time in nanoseconds, then its frames, innermost first, with marks between them. Of a sample that is
//! too long both ends are kept, and [`Tag::Gap`] stands where words are missing: the innermost frames tell what runs,
//! the outermost ones which part of the program that belongs to.

/// Maximum number of words of the inner end.
const MOST_INNER: usize = 384;

/// Maximum number of words of the outer end.
const MOST_OUTER: usize = 256;

/// A word that is not an address: its kind is in the upper half, a number in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Machine code was interrupted: its address follows, and the two words on top of its stack.
    Interrupted,
    /// A host function runs, by its number in the store.
    Host(u32),
    /// The engine runs.
    Engine,
    /// The garbage collector runs.
    Collector,
    /// The frames further out, up to the entry, were not recorded.
    Cut,
    /// Frames were left out here, with the marks between them.
    Gap,
    /// The host has entered this instance; it applies to all frames since the previous such mark.
    Entry(u32),
}

/// The bit that no address has.
const IS_MARK: u64 = 1 << 63;

impl Tag {
    /// Returns the word of the mark.
    pub fn word(self) -> u64 {
        let (kind, number) = match self {
            Tag::Interrupted => (0, 0),
            Tag::Host(number) => (1, number),
            Tag::Engine => (2, 0),
            Tag::Cut => (3, 0),
            Tag::Entry(instance) => (4, instance),
            Tag::Collector => (5, 0),
            Tag::Gap => (6, 0),
        };
        IS_MARK | kind << 32 | u64::from(number)
    }

    /// Returns the mark that a word encodes; `None` if it is an address.
    pub fn from_word(word: u64) -> Option<Tag> {
        if word & IS_MARK == 0 {
            return None;
        }
        Some(match (word & !IS_MARK) >> 32 {
            0 => Tag::Interrupted,
            1 => Tag::Host(word as u32),
            4 => Tag::Entry(word as u32),
            3 => Tag::Cut,
            5 => Tag::Collector,
            6 => Tag::Gap,
            _ => Tag::Engine,
        })
    }
}

/// A sample under construction, on the handler's stack.
pub struct Record {
    inner: [u64; MOST_INNER],
    /// Number of words in `inner`.
    len: usize,
    /// The last words behind the inner ones; when it is full, a new word replaces the oldest.
    outer: [u64; MOST_OUTER],
    /// Number of words behind the inner ones, also of those that were replaced.
    further: usize,
    /// The instance of the entry in which the inner words end.
    instance: u32,
}

impl Record {
    /// Starts a sample that stands for `time_ns` nanoseconds.
    pub fn new(time_ns: u64) -> Record {
        let mut record =
            Record { inner: [0; MOST_INNER], len: 0, outer: [0; MOST_OUTER], further: 0, instance: 0 };
        record.push(time_ns);
        record
    }

    /// Notes that the words that follow belong to an entry into this instance.
    pub fn begin_entry(&mut self, instance: u32) {
        if self.len < MOST_INNER {
            self.instance = instance;
        }
    }

    /// Appends a word.
    pub fn push(&mut self, word: u64) {
        match self.inner.get_mut(self.len) {
            Some(place) => {
                *place = word;
                self.len += 1;
            }
            None => {
                self.outer[self.further % MOST_OUTER] = word;
                self.further += 1;
            }
        }
    }

    /// Iterates over the words of the sample.
    pub fn words(&self) -> impl Iterator<Item = u64> + Clone {
        let first = self.further.saturating_sub(MOST_OUTER);
        // The mark at the end of the inner words' entry may be among the missing ones.
        let gap = [Tag::Gap.word(), Tag::Entry(self.instance).word()];
        let gap = gap.into_iter().filter(move |_| first > 0);
        let outer = (first..self.further).map(|at| self.outer[at % MOST_OUTER]);
        self.inner[..self.len].iter().copied().chain(gap).chain(outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_from_addresses_and_from_each_other() {
        let all = [
            Tag::Interrupted,
            Tag::Host(7),
            Tag::Engine,
            Tag::Cut,
            Tag::Gap,
            Tag::Entry(u32::MAX),
            Tag::Collector,
        ];
        assert_eq!(all.map(|mark| Tag::from_word(mark.word())), all.map(Some));
        assert_eq!(Tag::from_word(0x7fff_ffff_ffff), None);
    }

    #[test]
    fn a_long_sample_keeps_both_ends_and_says_where_it_has_a_gap() {
        let record_of = |frames: u64| {
            let mut record = Record::new(1);
            record.begin_entry(7);
            (0..frames).for_each(|frame| record.push(frame));
            record.push(Tag::Entry(7).word());
            record.words().collect::<Vec<u64>>()
        };
        let most = (MOST_INNER + MOST_OUTER) as u64 - 2;
        let whole: Vec<u64> = std::iter::once(1).chain(0..most).chain([Tag::Entry(7).word()]).collect();
        assert_eq!(record_of(most), whole);

        let long = record_of(100_000);
        let (inner, outer) = long.split_at(MOST_INNER);
        assert!(inner[1..].iter().copied().eq(0..MOST_INNER as u64 - 1));
        assert_eq!(outer[..2], [Tag::Gap.word(), Tag::Entry(7).word()]);
        let (last, outer) = outer[2..].split_last().expect("the entry");
        assert!(outer.iter().copied().eq(100_001 - MOST_OUTER as u64..100_000));
        assert_eq!(*last, Tag::Entry(7).word());
    }
}
