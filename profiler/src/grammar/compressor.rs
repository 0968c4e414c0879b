//! Compresses sequences of any length into grammars, in bounded memory.
//!
//! Input: items one by one. Output: a [`Grammar`].
//! Invariant: while items arrive, memory is bounded by the grammar of one window plus the merged rules. Windows share
//! their common rules.
//! Source: windows and their merging are ours. [`Sequitur`] gives each window of items a grammar of its own. The
//! window's rules are merged from the leaves up with those of earlier windows, so that equal bodies are stored once.
//! The remaining symbols, those of the window's first rule, go to a second Sequitur, for which merged rules are
//! items. A sequence of one window thus has Sequitur's grammar. In a longer sequence each rule is still used at least
//! twice, but a pair of symbols may occur in several windows.

use std::collections::HashMap;

use super::sequitur::Sequitur;
use super::{Grammar, Symbol};

/// Builder of a sequence's grammar.
pub struct Compressor {
    window: usize,
    current: Sequitur,
    merged: Option<Merged>,
}

impl Compressor {
    /// Default number of items per window; a window takes some 100 MiB.
    pub const WINDOW: usize = 1 << 22;

    /// Starts an empty sequence, to be compressed in windows of `window` items.
    pub fn new(window: usize) -> Self {
        Self { window: window.max(2), current: Sequitur::new(), merged: None }
    }

    /// Appends an item, whose number is below [`Symbol::MOST`].
    pub fn push(&mut self, item: u32) {
        self.current.push(item);
        if self.current.pushed() >= self.window {
            self.merge();
        }
    }

    /// Returns the grammar of the whole sequence.
    pub fn finish(mut self) -> Grammar {
        if self.merged.is_none() {
            return Grammar::in_order(&self.current.into_rules());
        }
        self.merge();
        self.merged.map_or_else(|| unreachable!("it was there"), Merged::finish)
    }

    fn merge(&mut self) {
        let window = std::mem::replace(&mut self.current, Sequitur::new());
        let merged = self.merged.get_or_insert_with(Merged::new);
        merged.add(&Grammar::in_order(&window.into_rules()));
    }
}

/// The merged grammars of several windows.
struct Merged {
    /// The merged rules. A rule uses only earlier ones.
    rules: Vec<Vec<Symbol>>,
    by_body: HashMap<Vec<Symbol>, u32>,
    /// The grammar of the windows' concatenated first rules. Its items are positions in `symbols`.
    windows: Sequitur,
    symbols: Vec<Symbol>,
    by_symbol: HashMap<Symbol, u32>,
}

impl Merged {
    fn new() -> Self {
        Self {
            rules: Vec::new(),
            by_body: HashMap::new(),
            windows: Sequitur::new(),
            symbols: Vec::new(),
            by_symbol: HashMap::new(),
        }
    }

    fn add(&mut self, window: &Grammar) {
        let mut numbers = vec![0; window.rules.len()];
        for (rule, body) in window.rules.iter().enumerate().skip(1).rev() {
            let body = renumbered(body, |used| numbers[used]);
            numbers[rule] = *self.by_body.entry(body).or_insert_with_key(|body| {
                self.rules.push(body.clone());
                (self.rules.len() - 1) as u32
            });
        }
        for symbol in renumbered(&window.rules[0], |used| numbers[used]) {
            let next = self.symbols.len() as u32;
            let number = *self.by_symbol.entry(symbol).or_insert(next);
            if number == next {
                self.symbols.push(symbol);
            }
            self.windows.push(number);
        }
    }

    /// Returns the grammar of the whole sequence: the rules above the windows, then the merged rules.
    fn finish(self) -> Grammar {
        let above = self.windows.into_rules();
        let offset = above.len() as u32;
        let below = |symbol: Symbol| match symbol.as_rule() {
            Some(rule) => Symbol::rule(offset + rule as u32),
            None => symbol,
        };
        let symbol = |symbol: &Symbol| match symbol.as_item() {
            Some(item) => below(self.symbols[item as usize]),
            None => *symbol,
        };
        let above = above.iter().map(|body| body.iter().map(symbol).collect());
        let merged = self.rules.iter().map(|body| body.iter().map(|&symbol| below(symbol)).collect());
        Grammar::in_order(&above.chain(merged).collect::<Vec<_>>())
    }
}

fn renumbered(body: &[Symbol], number: impl Fn(usize) -> u32) -> Vec<Symbol> {
    let symbol = |symbol: &Symbol| symbol.as_rule().map_or(*symbol, |used| Symbol::rule(number(used)));
    body.iter().map(symbol).collect()
}
