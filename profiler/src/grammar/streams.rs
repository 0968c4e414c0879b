//! Hot streams: parts of a sequence that repeat often.
//!
//! Input: a [`Grammar`], a range of lengths, and a share of the sequence. Output: rules, and pieces of long ones, that
//! together make up the share, each with how often it occurs outside of other hot streams.
//! Invariant: occurrences of streams do not overlap, so the heats of all streams add up to at most the sequence's
//! length.
//! Source: Hirzel & Chilimbi 2001, section 5.2: heat = length * frequency, over occurrences that do not overlap, with
//! the threshold at which all hot streams make up 90%. The candidates are those of Chilimbi & Hirzel, *Dynamic Hot
//! Data Stream Prefetching for General-Purpose Programs*, PLDI 2002, figure 5: the expansions of rules, from the
//! sequence down. A rule that is too long, and whose rules are too short, as of a list that is walked again and again, would
//! be no stream at all: neighbours that are too short are put together to pieces that are as long as they may be.
//! Oracle: the parse tree, occurrence by occurrence, in `tests/it/grammar.rs`.

use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};

use super::{Grammar, Symbol};

/// A part of a sequence that repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The rule that expands to the stream, or of which it is a piece.
    pub rule: usize,
    /// The rule's symbols that expand to the stream.
    pub symbols: Range<usize>,
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

/// The items of a sequence that are in no stream of a length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutsideStreams {
    /// Items that belong to nothing that comes again.
    pub once: u64,
    /// Items of parts that come again, but are too short, or leave too little behind when they are cut.
    pub short: u64,
}

impl Grammar {
    /// Returns the streams with a length in `lengths` that occur at least twice and have at least `heat`, hottest
    /// first.
    pub fn streams(&self, lengths: &RangeInclusive<u64>, heat: u64) -> Vec<Stream> {
        let (mut found, _) = self.divide(lengths, heat);
        found.sort_by_key(|stream| (Reverse(stream.heat()), stream.rule, stream.symbols.start));
        found
    }

    /// Returns what no stream with a length in `lengths` has, however cool it may be.
    pub fn outside_streams(&self, lengths: &RangeInclusive<u64>) -> OutsideStreams {
        self.divide(lengths, 1).1
    }

    /// Returns the items of a stream.
    pub fn items_of_stream(&self, stream: &Stream) -> impl Iterator<Item = u32> + '_ {
        self.items_of_symbols(&self.rules[stream.rule][stream.symbols.clone()])
    }

    /// Divides the sequence into streams and what is in none.
    fn divide(&self, lengths: &RangeInclusive<u64>, heat: u64) -> (Vec<Stream>, OutsideStreams) {
        let mut times = vec![0_u64; self.rules.len()];
        let (mut found, mut outside) = (Vec::new(), OutsideStreams::default());
        times[0] = 1;
        for (rule, body) in self.rules.iter().enumerate() {
            let mut own =
                if times[rule] >= 2 { self.candidates(rule, times[rule], lengths) } else { Vec::new() };
            own.retain(|stream| stream.heat() >= heat);
            let mut taken = own.iter().map(|stream| stream.symbols.clone()).peekable();
            for (at, symbol) in body.iter().enumerate() {
                while taken.next_if(|symbols| symbols.end <= at).is_some() {}
                let left = if times[rule] >= 2 { &mut outside.short } else { &mut outside.once };
                match symbol.as_rule() {
                    _ if taken.peek().is_some_and(|symbols| symbols.contains(&at)) => {}
                    Some(used) => times[used] = times[used].saturating_add(times[rule]),
                    None => *left = left.saturating_add(times[rule]),
                }
            }
            found.append(&mut own);
        }
        (found, outside)
    }

    /// Returns a rule, or its pieces if it is too long, in order.
    fn candidates(&self, rule: usize, times: u64, lengths: &RangeInclusive<u64>) -> Vec<Stream> {
        let body = &self.rules[rule];
        let whole = Stream { rule, symbols: 0..body.len(), length: self.lengths[rule], times };
        if whole.length <= *lengths.end() {
            return if lengths.contains(&whole.length) { vec![whole] } else { Vec::new() };
        }
        let length = |symbol: &Symbol| symbol.as_rule().map_or(1, |used| self.lengths[used]);
        let is_short = |symbol: &Symbol| length(symbol) < *lengths.start();
        let (mut found, mut at) = (Vec::new(), 0);
        // Longer symbols are streams themselves, or are cut in turn.
        for row in body.chunk_by(|a, b| is_short(a) == is_short(b)) {
            if is_short(&row[0]) {
                let row: Vec<u64> = row.iter().map(length).collect();
                let pieces = pieces(&row, lengths).into_iter();
                let moved = |range: Range<usize>| at + range.start..at + range.end;
                found.extend(pieces.map(|(range, length)| Stream {
                    rule,
                    symbols: moved(range),
                    length,
                    times,
                }));
            }
            at += row.len();
        }
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

/// Divides a row of symbols of these lengths into pieces of about the same length, as few as possible; returns those whose
/// length is right, with the length.
fn pieces(row: &[u64], lengths: &RangeInclusive<u64>) -> Vec<(Range<usize>, u64)> {
    let (mut left, most) = (row.iter().sum::<u64>(), (*lengths.end()).max(1));
    // The length of the next piece, so that the last one is not too short.
    let wanted = |left: u64| left.div_ceil(left.div_ceil(most).max(1)).max(*lengths.start());
    let (mut found, mut begin, mut length) = (Vec::new(), 0, 0);
    for (at, symbol) in row.iter().enumerate() {
        if at > begin && (length >= wanted(left) || length + symbol > most) {
            found.push((begin..at, length));
            (begin, left, length) = (at, left - length, 0);
        }
        length += symbol;
    }
    found.push((begin..row.len(), length));
    found.retain(|(_, length)| lengths.contains(length));
    found
}
