//! Hot streams: parts of a sequence that come again and again.
//!
//! Input: a [`Grammar`], the lengths wanted, a share of the sequence. Output: rules, each with how often it occurs
//! outside of other hot streams, that together make up so much of the sequence.
//! Invariant: occurrences of streams do not overlap, so the heats of all add up to no more than the sequence.
//! Source: Hirzel & Chilimbi 2001, section 5.2: heat = length * frequency, of occurrences that do not overlap, and the
//! threshold is where all hot streams make up 90%. Which parts are looked at: Chilimbi & Hirzel, *Dynamic Hot Data Stream
//! Prefetching for General-Purpose Programs*, PLDI 2002, figure 5: what rules expand to, from the sequence down.
//! Oracle: the parse tree, occurrence by occurrence, in `tests/it/grammar.rs`.

use std::ops::RangeInclusive;

use super::Grammar;

/// A part of a sequence that comes again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The rule that expands to it.
    pub rule: usize,
    /// How many items it has.
    pub length: u64,
    /// How often it occurs outside of other streams.
    pub times: u64,
}

impl Stream {
    /// How much of the sequence it makes up: length times frequency.
    pub fn heat(&self) -> u64 {
        self.length.saturating_mul(self.times)
    }
}

impl Grammar {
    /// The streams of some lengths that occur at least twice and make up at least `heat` items each, hottest first.
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

    /// The streams of some lengths that together make up a share of the sequence, with as high a threshold of heat as
    /// bisection finds; all that there are if they do not make up so much.
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
