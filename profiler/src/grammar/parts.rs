//! Counts the parts of a sequence on its grammar.
//!
//! Input: a [`Grammar`], and a function that gives the length of the part beginning at a place. Output: each
//! occurrence of a part within a rule, with how often that rule occurs.
//! Invariant: each occurrence in the sequence is counted exactly once, in the rule in which its first and its last
//! item come from different symbols. Of a symbol's expansion only as many items at either end are examined as a part
//! can have, so the sequence is never expanded.
//! Source: Larus 1999, section 4, which extends subpaths over the symbols of rules; Goto, Bannai, Inenaga & Takeda,
//! *Fast q-gram Mining on SLP Compressed Strings*, 2011. Oracle: counting in the sequence, in `tests/it/grammar.rs`.

use std::ops::Range;

use super::Grammar;

/// The items around the boundaries between the symbols of a grammar's rules.
pub struct Parts {
    items: Vec<u32>,
    /// By item: the position in its rule of the symbol that it comes from, plus [`SELF`] if that symbol is the item
    /// itself.
    symbols: Vec<u32>,
    pieces: Vec<Stretch>,
    most: usize,
}

const SELF: u32 = 1 << 31;

/// A contiguous stretch of a rule's items.
struct Stretch {
    items: Range<usize>,
    /// The number of times the rule occurs in the sequence.
    times: u64,
}

/// An occurrence of a part of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Items of the part.
    pub items: &'a [u32],
    /// Position of the first item among the items of all pieces.
    pub at: usize,
    /// The number of times this occurrence counts; 0 if it is counted elsewhere.
    pub times: u64,
}

impl Parts {
    /// Prepares a grammar for parts of at most `most` items.
    pub fn new(grammar: &Grammar, most: usize) -> Self {
        let mut parts = Self { items: Vec::new(), symbols: Vec::new(), pieces: Vec::new(), most };
        let ends = Ends::new(grammar, most.saturating_sub(1));
        for (rule, times) in grammar.times().into_iter().enumerate().filter(|&(_, times)| times > 0) {
            parts.add(grammar, rule, times, &ends);
        }
        parts
    }

    /// Returns the number of places at which a part can begin.
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
                self.pieces.push(Stretch { items: begin..self.items.len(), times });
                begin = self.items.len();
                self.items.extend(&ends.ends[used]);
                self.symbols.resize(self.items.len(), place);
            }
        }
        self.pieces.push(Stretch { items: begin..self.items.len(), times });
    }

    /// Calls `found` with the part that begins at each place, if there is one. `length` returns the part's length,
    /// given the items from the place on; it must not depend on items beyond the part.
    pub fn visit<'a>(
        &'a self,
        mut length: impl FnMut(&[u32]) -> Option<usize>,
        mut found: impl FnMut(Part<'a>),
    ) {
        for Stretch { items, times } in &self.pieces {
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

    /// Replaces each value by the minimum of `values` from its place to the end of its piece.
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

/// The first and last items of each rule's expansion.
struct Ends {
    /// By rule: its first items. A rule of at most twice the wanted number has all its items here.
    begins: Vec<Vec<u32>>,
    /// By rule: its last items, unless `begins` has all its items.
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

/// Returns the first items of a rule, from the first items of the rules that it uses.
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

/// Returns the last items of a rule, from the ends of the rules that it uses.
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
