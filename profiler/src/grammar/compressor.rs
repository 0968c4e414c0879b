//! Grammars of sequences of any length in bounded memory.
//!
//! Input: items one by one. Output: a [`Grammar`].
//! Invariant: while items come, memory is that of one window's grammar and of what was merged: rules that windows have
//! in common are there once.
//! Source: windows and their merging are ours. Each window of items gets a grammar of its own by [`Sequitur`]; its rules
//! are merged with those of earlier windows, equal bodies once, from the leaves up; and what is left of each window, the
//! symbols of its first rule, goes to a second Sequitur, to which merged rules are items. So a sequence of one window has
//! Sequitur's grammar. Of more, each rule is still used twice at least, but a pair of symbols may occur in several
//! windows.

use std::collections::HashMap;

use super::sequitur::Sequitur;
use super::{Grammar, Symbol};

/// Makes a grammar of a sequence.
pub struct Compressor {
    window: usize,
    current: Sequitur,
    merged: Option<Merged>,
}

impl Compressor {
    /// Items of a window, if nobody asks for another number: some 100 MiB.
    pub const WINDOW: usize = 1 << 22;

    /// A sequence of nothing yet, to be compressed by so many items at a time.
    pub fn new(window: usize) -> Self {
        Self { window: window.max(2), current: Sequitur::new(), merged: None }
    }

    /// Appends an item; its number is below [`Symbol::MOST`].
    pub fn push(&mut self, item: u32) {
        self.current.push(item);
        if self.current.pushed() >= self.window {
            self.merge();
        }
    }

    /// The grammar of all.
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

/// The grammars of several windows.
struct Merged {
    /// Rules use those before them.
    rules: Vec<Vec<Symbol>>,
    by_body: HashMap<Vec<Symbol>, u32>,
    /// What the windows consist of, by number in `symbols`.
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

    /// The rules of the windows' sequence, then the merged ones.
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
