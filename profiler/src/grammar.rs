//! Grammars: a sequence as rules, in which each repetition is written once.
//!
//! Input: a sequence of items. Output: a [`Grammar`], a directed acyclic graph of rules that expands to exactly this
//! sequence; and how often each rule and each part of the sequence occurs, computed without expanding the grammar.
//! Invariant: rule 0 is the whole sequence, and a rule uses only rules with greater numbers. The rules are therefore
//! acyclic, and one pass over them, in either direction, propagates values from users to used rules or back.
//! Source: Nevill-Manning & Witten, *Identifying Hierarchical Structure in Sequences: A Linear-Time Algorithm*, JAIR
//! 1997; Larus, *Whole Program Paths*, PLDI 1999. Oracle: expansion, and counting in the expanded sequence, in
//! `tests/it/grammar.rs`.

mod compressor;
mod parts;
mod sequitur;
mod streams;

pub use compressor::Compressor;
pub use parts::{Part, Parts};
pub use streams::{OutsideStreams, Stream};

use serde::{Deserialize, Serialize};

/// A symbol of a rule: an item of the sequence, or a use of another rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Symbol(u32);

impl Symbol {
    /// Number of items, and of rules, that symbols can tell apart.
    pub const MOST: u32 = 1 << 30;

    const RULE: u32 = 1 << 31;

    /// Creates the symbol of an item, whose number is below [`Symbol::MOST`].
    pub fn item(number: u32) -> Self {
        debug_assert!(number < Self::MOST);
        Self(number)
    }

    /// Creates the symbol of a rule, whose number is below [`Symbol::MOST`].
    pub fn rule(number: u32) -> Self {
        debug_assert!(number < Self::MOST);
        Self(number | Self::RULE)
    }

    /// Returns the rule's number if the symbol is a rule.
    pub fn as_rule(self) -> Option<usize> {
        (self.0 & Self::RULE != 0).then_some((self.0 & !Self::RULE) as usize)
    }

    /// Returns the item's number if the symbol is an item.
    pub fn as_item(self) -> Option<u32> {
        (self.0 & Self::RULE == 0).then_some(self.0)
    }
}

/// A sequence of items, represented by rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar {
    rules: Vec<Vec<Symbol>>,
    /// By rule: the number of items that it expands to; saturates.
    lengths: Vec<u64>,
}

impl Grammar {
    /// Creates a grammar from rules, the first of which is the sequence. Returns `None` if there are no rules, if a
    /// rule uses itself, an earlier rule or a missing one, or if a rule other than the first has fewer than two
    /// symbols.
    pub fn new(rules: Vec<Vec<Symbol>>) -> Option<Self> {
        let mut lengths = vec![0_u64; rules.len()];
        if rules.is_empty() {
            return None;
        }
        for (rule, body) in rules.iter().enumerate().rev() {
            (rule == 0 || body.len() >= 2).then_some(())?;
            let length = |symbol: &Symbol| match symbol.as_rule() {
                Some(used) if used <= rule => None,
                Some(used) => lengths.get(used).copied(),
                None => Some(1),
            };
            lengths[rule] =
                body.iter().try_fold(0_u64, |sum, symbol| Some(sum.saturating_add(length(symbol)?)))?;
        }
        Some(Self { rules, lengths })
    }

    /// Returns the rules; the first one is the sequence.
    pub fn rules(&self) -> &[Vec<Symbol>] {
        &self.rules
    }

    /// Returns the total number of symbols of all rules.
    pub fn size(&self) -> usize {
        self.rules.iter().map(Vec::len).sum()
    }

    /// Returns the number of items of the sequence; saturates.
    pub fn length(&self) -> u64 {
        self.lengths[0]
    }

    /// Returns by rule the number of items that it expands to; saturates.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// Returns by rule how often it occurs in the sequence; saturates.
    pub fn times(&self) -> Vec<u64> {
        let mut times = vec![0_u64; self.rules.len()];
        times[0] = 1;
        for (rule, body) in self.rules.iter().enumerate() {
            for used in body.iter().filter_map(|symbol| symbol.as_rule()) {
                times[used] = times[used].saturating_add(times[rule]);
            }
        }
        times
    }

    /// Iterates over the items of the sequence, in order.
    pub fn items(&self) -> Items<'_> {
        self.items_of(0)
    }

    /// Iterates over the items of one rule, in order.
    ///
    /// # Panics
    /// Panics if there is no such rule.
    pub fn items_of(&self, rule: usize) -> Items<'_> {
        self.items_of_symbols(&self.rules[rule])
    }

    /// Iterates over the items of some symbols, in order.
    fn items_of_symbols<'a>(&'a self, symbols: &'a [Symbol]) -> Items<'a> {
        Items { rules: &self.rules, open: vec![symbols.iter()] }
    }

    /// Renumbers the rules so that each uses only later ones, drops unused rules, and expands rules that are used
    /// once in place. The uses must be acyclic.
    fn in_order(rules: &[Vec<Symbol>]) -> Self {
        let mut uses = vec![0_u32; rules.len()];
        let order = order_of_use(rules);
        for &rule in &order {
            let used = rules[rule].iter().filter_map(|symbol| symbol.as_rule());
            used.for_each(|used| uses[used] += 1);
        }
        let kept: Vec<usize> = order.into_iter().filter(|&rule| rule == 0 || uses[rule] > 1).collect();
        let mut numbers = vec![None; rules.len()];
        kept.iter().zip(0..).for_each(|(&rule, number)| numbers[rule] = Some(number));
        let body = |&rule: &usize| {
            let (mut body, mut open) = (Vec::new(), vec![rules[rule].iter()]);
            while let Some(last) = open.last_mut() {
                match last.next().map(|&symbol| (symbol, symbol.as_rule())) {
                    None => drop(open.pop()),
                    Some((symbol, None)) => body.push(symbol),
                    Some((_, Some(used))) => match numbers[used] {
                        Some(number) => body.push(Symbol::rule(number)),
                        None => open.push(rules[used].iter()),
                    },
                }
            }
            body
        };
        Self::new(kept.iter().map(body).collect()).expect("rules come before those that they use")
    }

    /// Checks the invariants that Sequitur guarantees for the grammar of one window.
    ///
    /// # Panics
    /// Panics if a rule is used fewer than two times or has fewer than two symbols, or if a pair of neighbours occurs
    /// twice.
    pub fn verify(&self) {
        let mut uses = vec![0_u32; self.rules.len()];
        let mut digrams = std::collections::HashMap::new();
        for (rule, body) in self.rules.iter().enumerate() {
            assert!(rule == 0 || body.len() >= 2, "rule {rule} is {body:?}");
            body.iter().filter_map(|symbol| symbol.as_rule()).for_each(|used| uses[used] += 1);
            for (at, pair) in body.windows(2).enumerate() {
                let first = *digrams.entry([pair[0], pair[1]]).or_insert((rule, at));
                let overlaps = first.0 == rule && at <= first.1 + 1;
                assert!(overlaps, "{pair:?} is in rule {} and in rule {rule}", first.0);
            }
        }
        assert!(uses.iter().skip(1).all(|&uses| uses >= 2), "{uses:?}");
    }
}

/// Returns all rules that the first rule needs, each before those that it uses.
fn order_of_use(rules: &[Vec<Symbol>]) -> Vec<usize> {
    let (mut done, mut order) = (vec![false; rules.len()], Vec::new());
    let mut open = vec![(0, rules[0].iter())];
    done[0] = true;
    while let Some((rule, rest)) = open.last_mut() {
        match rest.next().map(|symbol| symbol.as_rule()) {
            None => {
                order.push(*rule);
                open.pop();
            }
            Some(Some(used)) if !std::mem::replace(&mut done[used], true) => {
                open.push((used, rules[used].iter()))
            }
            Some(_) => {}
        }
    }
    order.reverse();
    order
}

/// Iterator over the items of a rule.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    rules: &'a [Vec<Symbol>],
    /// The remaining symbols of each rule that is being expanded.
    open: Vec<std::slice::Iter<'a, Symbol>>,
}

impl Iterator for Items<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            match self.open.last_mut()?.next() {
                None => drop(self.open.pop()),
                Some(symbol) => match symbol.as_rule() {
                    None => return symbol.as_item(),
                    Some(rule) => self.open.push(self.rules[rule].iter()),
                },
            }
        }
    }
}
