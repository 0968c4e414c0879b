//! Hot streams: parts of a sequence that repeat often.
//!
//! Input: a [`Grammar`], a range of lengths, and a share of the sequence. Output: rules that together make up the
//! share, each with how often it occurs outside of other hot streams.
//! Invariant: occurrences of streams do not overlap, so the heats of all streams add up to at most the sequence's
//! length.
//! Source: Hirzel & Chilimbi 2001, section 5.2: heat = length * frequency, over occurrences that do not overlap, with
//! the threshold at which all hot streams make up 90%. The candidates are those of Chilimbi & Hirzel, *Dynamic Hot
//! Data Stream Prefetching for General-Purpose Programs*, PLDI 2002, figure 5: the expansions of rules, from the
//! sequence down.
//! Oracle: the parse tree, occurrence by occurrence, in `tests/it/grammar.rs`.

use std::ops::RangeInclusive;

use super::Grammar;

/// A part of a sequence that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The rule that expands to the stream.
    pub rule: usize,
    /// Number of items.
    pub length: u64,
    /// Number of occurrences outside of other streams.
    pub times: u64,
}

impl Stream {
    /// Returns how many items of the sequence the stream makes up: length times frequency.
    pub fn heat(&self) -> u64 {
        self.length.saturating_mul(self.times)
    }
}

impl Grammar {
    /// Returns the streams with a length in `lengths` that occur at least twice and have at least `heat`, hottest
    /// first.
    pub fn streams(&self, lengths: &RangeInclusive<u64>, heat: u64) -> Vec<Stream> {
        let mut times = vec![0_u64; self.rules.len()];
        let mut found = Vec::new();
        times[0] = 1;
        for (rule, body) in self.rules.iter().enumerate() {
            let stream = Stream { rule, length: self.lengths[rule], times: times[rule] };
            if rule > 0 && stream.times >= 2 && lengths.contains(&stream.length) && stream.heat() >= heat {
                found.push(stream);
                continue;
            }
            for used in body.iter().filter_map(|symbol| symbol.as_rule()) {
                times[used] = times[used].saturating_add(stream.times);
            }
        }
        found.sort_by_key(|stream| (std::cmp::Reverse(stream.heat()), stream.rule));
        found
    }

    /// Returns the streams with a length in `lengths` that together make up a share of the sequence, at the highest
    /// heat threshold that bisection finds; all such streams if they do not make up the share.
    pub fn hot_streams(&self, lengths: &RangeInclusive<u64>, share: f64) -> Vec<Stream> {
        let wanted = self.length() as f64 * share;
        let covers =
            |streams: &[Stream]| streams.iter().map(|stream| stream.heat() as f64).sum::<f64>() >= wanted;
        let (mut low, mut high) = (1, self.length().max(1));
        while low < high {
            let middle = high - (high - low) / 2;
            match covers(&self.streams(lengths, middle)) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        self.streams(lengths, low)
    }
}
