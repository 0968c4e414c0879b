//! The parts of a sequence, counted on its grammar.
//!
//! Input: a [`Grammar`], and what length the part that begins at a place has. Output: each occurrence of a part, those in
//! one rule together, with how often that rule occurs.
//! Invariant: each occurrence in the sequence is given once: with the rule in which its first and its last item come from
//! different symbols. Of a symbol's expansion only as many items at its beginning and its end are looked at as a part can
//! have, so the sequence is never expanded.
//! Source: Larus 1999, section 4, who extends subpaths over the symbols of rules; Goto, Bannai, Inenaga & Takeda, *Fast
//! q-gram Mining on SLP Compressed Strings*, 2011. Oracle: counting in the sequence, in `tests/it/grammar.rs`.

use std::ops::Range;

use super::Grammar;

/// The items around the seams of a grammar's rules.
pub struct Parts {
    items: Vec<u32>,
    /// By item: the symbol of its rule that it comes from. Symbols that are items have [`SELF`] too.
    symbols: Vec<u32>,
    pieces: Vec<Piece>,
    most: usize,
}

const SELF: u32 = 1 << 31;

/// A stretch of a rule's items without a gap.
struct Piece {
    items: Range<usize>,
    /// How often the rule occurs.
    times: u64,
}

/// A part of the sequence that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its items.
    pub items: &'a [u32],
    /// Where it begins among those of all seams.
    pub at: usize,
    /// How often it occurs there: 0 if this occurrence is counted elsewhere.
    pub times: u64,
}

impl Parts {
    /// Gets ready to look at parts of at most `most` items.
    pub fn new(grammar: &Grammar, most: usize) -> Self {
        let mut parts = Self { items: Vec::new(), symbols: Vec::new(), pieces: Vec::new(), most };
        let ends = Ends::new(grammar, most.saturating_sub(1));
        for (rule, times) in grammar.times().into_iter().enumerate().filter(|&(_, times)| times > 0) {
            parts.add(grammar, rule, times, &ends);
        }
        parts
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.items.len()
    }

    fn add(&mut self, grammar: &Grammar, rule: usize, times: u64, ends: &Ends) {
        let mut begin = self.items.len();
        for (symbol, place) in grammar.rules()[rule].iter().zip(0..) {
            let Some(used) = symbol.as_rule() else {
                self.items.extend(symbol.as_item());
                self.symbols.push(place | SELF);
                continue;
            };
            self.items.extend(&ends.begins[used]);
            self.symbols.resize(self.items.len(), place);
            if grammar.lengths()[used] > ends.begins[used].len() as u64 {
                self.pieces.push(Piece { items: begin..self.items.len(), times });
                begin = self.items.len();
                self.items.extend(&ends.ends[used]);
                self.symbols.resize(self.items.len(), place);
            }
        }
        self.pieces.push(Piece { items: begin..self.items.len(), times });
    }

    /// Gives `found` the part that begins at each place, if there is one. `length` says how many of the items from there
    /// on it has, and must not depend on items behind it.
    pub fn visit<'a>(
        &'a self,
        mut length: impl FnMut(&[u32]) -> Option<usize>,
        mut found: impl FnMut(Part<'a>),
    ) {
        for Piece { items, times } in &self.pieces {
            for at in items.clone() {
                let rest = &self.items[at..items.end.min(at + self.most)];
                let Some(length) = length(rest).filter(|&length| (1..=rest.len()).contains(&length)) else {
                    continue;
                };
                let (first, last) = (self.symbols[at], self.symbols[at + length - 1]);
                let is_here = first != last || first & SELF != 0;
                found(Part { items: &rest[..length], at, times: if is_here { *times } else { 0 } });
            }
        }
    }

    /// For each place, the least of `values` at it or at a later place of its piece.
    pub fn least_from(&self, values: &mut [usize]) {
        for piece in &self.pieces {
            let mut least = usize::MAX;
            for value in values[piece.items.clone()].iter_mut().rev() {
                least = least.min(*value);
                *value = least;
            }
        }
    }
}

/// How the expansion of each rule begins and ends.
struct Ends {
    /// By rule: its first items; of one that has no more than twice as many as are wanted, all.
    begins: Vec<Vec<u32>>,
    /// By rule: its last items, if those are not all.
    ends: Vec<Vec<u32>>,
}

impl Ends {
    fn new(grammar: &Grammar, wanted: usize) -> Self {
        let rules = grammar.rules().len();
        let (mut begins, mut ends) = (vec![Vec::new(); rules], vec![Vec::new(); rules]);
        for rule in (1..rules).rev() {
            let is_short = grammar.lengths()[rule] <= 2 * wanted as u64;
            let take = if is_short { 2 * wanted } else { wanted };
            begins[rule] = first_items(grammar, rule, take, &begins);
            if !is_short {
                ends[rule] = last_items(grammar, rule, wanted, (&begins, &ends));
            }
        }
        Self { begins, ends }
    }
}

/// The first items of a rule, from those of the rules that it uses.
fn first_items(grammar: &Grammar, rule: usize, wanted: usize, begins: &[Vec<u32>]) -> Vec<u32> {
    let mut first = Vec::new();
    for symbol in &grammar.rules()[rule] {
        if first.len() >= wanted {
            break;
        }
        match symbol.as_rule() {
            None => first.extend(symbol.as_item()),
            Some(used) => first.extend(&begins[used]),
        }
    }
    first.truncate(wanted);
    first
}

/// The last items of a rule, from those of the rules that it uses.
fn last_items(
    grammar: &Grammar,
    rule: usize,
    wanted: usize,
    (begins, ends): (&[Vec<u32>], &[Vec<u32>]),
) -> Vec<u32> {
    let mut last = Vec::new();
    for symbol in grammar.rules()[rule].iter().rev() {
        if last.len() >= wanted {
            break;
        }
        match symbol.as_rule() {
            None => last.extend(symbol.as_item()),
            Some(used) if ends[used].is_empty() => last.extend(begins[used].iter().rev()),
            Some(used) => last.extend(ends[used].iter().rev()),
        }
    }
    last.truncate(wanted);
    last.reverse();
    last
}
