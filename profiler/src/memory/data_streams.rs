//! Hot data streams: sequences of data references that repeat often.
//!
//! Input: references in order, with interruptions between bursts. Output: the hot streams by access signature.
//! Invariant: no stream spans an interruption; heats add up to at most the number of references.
//! Source: Hirzel & Chilimbi 2001, section 5.2; Chilimbi, *On the Stability of Temporal Data Reference Profiles*,
//! PACT 2001: two streams are the same if they have the same **access signature**, the sequence of their
//! instructions. Of a loop that is where the stream happens to begin and to end, so the signature of a stream that goes
//! through the same instructions at least twice is one round, in the rotation that comes first: the same walk is the same
//! signature wherever it is cut. Streams are found on a grammar, see [`Grammar::streams`](crate::Grammar::streams). Oracle:
//! `tests/it/data_streams.rs`.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use crate::{Compressor, OutsideStreams, Symbol};

/// Builder that takes references in order.
pub struct DataStreamsBuilder {
    compressor: Compressor,
    numbers: HashMap<(u32, u64), u32>,
    /// By number of a reference: the offset of its instruction.
    sites: Vec<u32>,
    references: u64,
    limit: u64,
    /// The lowest number of an interruption; each interruption has a number of its own.
    interruptions: u32,
}

/// The hot data streams of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataStreams {
    /// Number of references.
    pub references: u64,
    /// Number of hot streams.
    pub streams: u64,
    /// The references in no stream, if the streams make up less than the wanted share.
    pub missed: Option<OutsideStreams>,
    /// Access signatures of the streams, hottest first.
    pub signatures: Vec<AccessSignature>,
}

/// The streams with one sequence of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSignature {
    /// Offsets of the instructions in the module, in order; of a loop those of one round.
    pub sites: Vec<u32>,
    /// Whether the streams go round a loop.
    pub is_loop: bool,
    /// Number of streams with this signature.
    pub streams: u64,
    /// Number of occurrences of these streams.
    pub times: u64,
    /// Length times frequency: how many references the streams make up.
    pub heat: u64,
}

impl DataStreamsBuilder {
    /// Creates a builder that takes at most `limit` references.
    pub fn new(limit: u64) -> Self {
        Self {
            compressor: Compressor::new(Compressor::WINDOW),
            numbers: HashMap::new(),
            sites: Vec::new(),
            references: 0,
            limit,
            interruptions: Symbol::MOST,
        }
    }

    /// Reports whether the builder takes no more references.
    pub fn is_full(&self) -> bool {
        self.references >= self.limit || self.sites.len() as u32 + 1 >= self.interruptions
    }

    /// Reports whether there were no references.
    pub fn is_empty(&self) -> bool {
        self.references == 0
    }

    /// Adds a reference: the instruction at `site` accesses `address`.
    pub fn add(&mut self, site: u32, address: u64) {
        if self.is_full() {
            return;
        }
        let next = self.sites.len() as u32;
        let number = *self.numbers.entry((site, address)).or_insert(next);
        if number == next {
            self.sites.push(site);
        }
        self.references += 1;
        self.compressor.push(number);
    }

    /// Separates the following references from the previous ones.
    pub fn interrupt(&mut self) {
        if self.references > 0 && !self.is_full() {
            self.interruptions -= 1;
            self.compressor.push(self.interruptions);
        }
    }

    /// Returns the streams with a length in `lengths` that together make up `share` of the references, if there are
    /// enough.
    pub fn finish(self, lengths: &RangeInclusive<u64>, share: f64) -> DataStreams {
        let grammar = self.compressor.finish();
        let mut signatures: BTreeMap<(Vec<u32>, bool), AccessSignature> = BTreeMap::new();
        let streams = grammar.hot_streams(lengths, share);
        for stream in &streams {
            // No rule contains an interruption, as each occurs once.
            let items = grammar.items_of_stream(stream);
            let sites: Vec<u32> = items.filter_map(|item| self.sites.get(item as usize).copied()).collect();
            let round = round(&sites);
            let is_loop = round.is_some();
            let sites = round.unwrap_or(sites);
            let empty = AccessSignature { sites: sites.clone(), is_loop, streams: 0, times: 0, heat: 0 };
            let sum = signatures.entry((sites, is_loop)).or_insert(empty);
            sum.streams += 1;
            sum.times += stream.times;
            sum.heat += stream.heat();
        }
        let mut signatures: Vec<_> = signatures.into_values().collect();
        signatures.sort_by_key(|signature| std::cmp::Reverse(signature.heat));
        let heat: u64 = signatures.iter().map(|signature| signature.heat).sum();
        let is_missed = (heat as f64) < share * self.references as f64;
        let missed = is_missed.then(|| {
            let mut outside = grammar.outside_streams(lengths);
            // The numbers of interruptions are none of references.
            outside.once = outside.once.saturating_sub(u64::from(Symbol::MOST - self.interruptions));
            outside
        });
        DataStreams { references: self.references, streams: streams.len() as u64, missed, signatures }
    }
}

/// Returns one round of a loop that these instructions go through at least twice, in the rotation that comes first.
fn round(sites: &[u32]) -> Option<Vec<u32>> {
    let is_period = |period: &usize| sites[*period..] == sites[..sites.len() - period];
    let period = (1..=sites.len() / 2).find(is_period)?;
    let rotations = (0..period).map(|begin| &sites[begin..begin + period]);
    rotations.min().map(<[u32]>::to_vec)
}

impl DataStreams {
    /// Returns how far two profiles of streams agree, from 0 to 1: the sum, over signatures, of the smaller of their
    /// shares of the references.
    pub fn overlap(&self, other: &Self) -> f64 {
        let share = |heat: u64, of: &Self| heat as f64 / of.references.max(1) as f64;
        let theirs: HashMap<(&[u32], bool), u64> =
            other.signatures.iter().map(|s| ((&s.sites[..], s.is_loop), s.heat)).collect();
        let common = self.signatures.iter().filter_map(|signature| {
            let there = theirs.get(&(&signature.sites[..], signature.is_loop))?;
            Some(share(signature.heat, self).min(share(*there, other)))
        });
        common.sum()
    }
}
