//! Sequitur: builds the grammar of a sequence online, in linear time.
//!
//! Input: items one by one. Output: rules.
//! Invariant, after each item: **digram uniqueness**, no pair of neighbouring symbols occurs twice (pairs that overlap,
//! as in `aaa`, count once); **rule utility**, each rule but the first is used at least twice.
//! Source: Nevill-Manning & Witten 1997. When a pair occurs a second time, both occurrences are replaced by a new
//! rule, or by the existing rule that consists of just this pair. A rule with one remaining use is expanded in place.
//! Each step except the append makes the grammar smaller or moves a repetition one level up, so the total time is
//! linear in the length of the sequence.
//! Oracle: all short sequences over few items, and random ones, in `tests/it/grammar.rs`.
//!
//! Example: in `abcdbc` the second `bc` creates rule 1 = `b c`, and the sequence becomes `a 1 d 1`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Symbol;

/// The number of no node.
const NONE: u32 = u32::MAX;

/// Tags of node values: an item has neither bit, a rule has this bit, and a guard, which holds its rule, the other
/// one.
const RULE: u32 = 1 << 31;
const GUARD: u32 = 1 << 30;

/// A symbol at its place. The symbols of a rule form a ring that begins and ends at the rule's guard.
#[derive(Clone, Copy)]
struct Node {
    value: u32,
    prev: u32,
    next: u32,
}

struct Rule {
    guard: u32,
    uses: u32,
}

/// The grammar of the items pushed so far.
pub(super) struct Sequitur {
    nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    rules: Vec<Rule>,
    free_rules: Vec<u32>,
    /// The node at which each pair of neighbours occurs.
    digrams: HashMap<u64, u32, BuildHasherDefault<Mixer>>,
    pushed: usize,
}

/// A hash function for pairs: one multiplication.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

impl Sequitur {
    /// Creates the grammar of the empty sequence.
    pub fn new() -> Self {
        let mut empty = Self {
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            rules: Vec::new(),
            free_rules: Vec::new(),
            digrams: HashMap::default(),
            pushed: 0,
        };
        empty.new_rule();
        empty
    }

    /// Returns the number of items pushed.
    pub fn pushed(&self) -> usize {
        self.pushed
    }

    /// Appends an item.
    pub fn push(&mut self, item: u32) {
        debug_assert!(item < Symbol::MOST);
        self.pushed += 1;
        let last = self.last(0);
        self.insert_after(last, item);
        self.check(last);
    }

    /// Returns the symbols of each rule, the sequence first. Freed rule numbers have no symbols and no users.
    pub fn into_rules(self) -> Vec<Vec<Symbol>> {
        let body = |rule: &Rule| {
            let mut body = Vec::new();
            if rule.guard != NONE {
                let mut node = self.next(rule.guard);
                while node != rule.guard {
                    body.push(Symbol(self.value(node)));
                    node = self.next(node);
                }
            }
            body
        };
        self.rules.iter().map(body).collect()
    }

    fn value(&self, node: u32) -> u32 {
        self.nodes[node as usize].value
    }

    fn next(&self, node: u32) -> u32 {
        self.nodes[node as usize].next
    }

    fn prev(&self, node: u32) -> u32 {
        self.nodes[node as usize].prev
    }

    fn is_guard(&self, node: u32) -> bool {
        self.value(node) & (RULE | GUARD) == GUARD
    }

    /// Returns the rule that a node stands for.
    fn rule_at(&self, node: u32) -> Option<u32> {
        let value = self.value(node);
        (value & RULE != 0).then_some(value & !RULE)
    }

    fn first(&self, rule: u32) -> u32 {
        self.next(self.rules[rule as usize].guard)
    }

    fn last(&self, rule: u32) -> u32 {
        self.prev(self.rules[rule as usize].guard)
    }

    fn new_node(&mut self, value: u32) -> u32 {
        let node = Node { value, prev: NONE, next: NONE };
        match self.free_nodes.pop() {
            Some(free) => {
                self.nodes[free as usize] = node;
                free
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        }
    }

    fn new_rule(&mut self) -> u32 {
        let rule = self.free_rules.pop().unwrap_or(self.rules.len() as u32);
        let guard = self.new_node(GUARD | rule);
        let node = &mut self.nodes[guard as usize];
        (node.prev, node.next) = (guard, guard);
        match self.rules.get_mut(rule as usize) {
            Some(free) => *free = Rule { guard, uses: 0 },
            None => self.rules.push(Rule { guard, uses: 0 }),
        }
        rule
    }

    /// Returns the pair that begins at a node; `None` if the node or the next one is a guard.
    fn pair(&self, node: u32) -> Option<u64> {
        let next = self.next(node);
        let is_pair = next != NONE && !self.is_guard(node) && !self.is_guard(next);
        is_pair.then(|| u64::from(self.value(node)) << 32 | u64::from(self.value(next)))
    }

    /// Removes the pair at `node`, which is about to be broken, from the index.
    fn forget_pair(&mut self, node: u32) {
        if let Some(pair) = self.pair(node)
            && self.digrams.get(&pair) == Some(&node)
        {
            self.digrams.remove(&pair);
        }
    }

    /// Re-enters the pair of a run of three equal symbols: the index may have held it at the neighbour whose link is
    /// broken.
    fn keep_pair(&mut self, node: u32, first: u32) {
        let Node { value, prev, next } = self.nodes[node as usize];
        let is_linked = prev != NONE && next != NONE && !self.is_guard(node);
        if is_linked && self.value(prev) == value && self.value(next) == value {
            let pair = u64::from(value) << 32 | u64::from(value);
            self.digrams.entry(pair).or_insert(first);
        }
    }

    /// Links two nodes as neighbours.
    fn join(&mut self, left: u32, right: u32) {
        if self.next(left) != NONE {
            self.forget_pair(left);
            self.keep_pair(right, right);
            self.keep_pair(left, self.prev(left));
        }
        self.nodes[left as usize].next = right;
        self.nodes[right as usize].prev = left;
    }

    fn insert_after(&mut self, node: u32, value: u32) -> u32 {
        let new = self.new_node(value);
        if let Some(rule) = self.rule_at(new) {
            self.rules[rule as usize].uses += 1;
        }
        let next = self.next(node);
        self.join(new, next);
        self.join(node, new);
        new
    }

    fn remove(&mut self, node: u32) {
        let Node { prev, next, .. } = self.nodes[node as usize];
        self.forget_pair(prev);
        self.forget_pair(node);
        self.join(prev, next);
        if let Some(rule) = self.rule_at(node) {
            self.rules[rule as usize].uses -= 1;
        }
        self.free_nodes.push(node);
    }

    /// Makes a rule of the pair at `node` if the pair occurs elsewhere; returns whether it did.
    fn check(&mut self, node: u32) -> bool {
        let Some(pair) = self.pair(node) else { return false };
        match self.digrams.get(&pair).copied() {
            None => {
                self.digrams.insert(pair, node);
                false
            }
            Some(other) if other == node || self.next(other) == node || self.next(node) == other => false,
            Some(other) => {
                self.replace_both(node, other);
                true
            }
        }
    }

    /// Replaces two equal pairs by a rule; if one of them is the whole body of a rule, by that rule.
    fn replace_both(&mut self, node: u32, other: u32) {
        let (before, behind) = (self.prev(other), self.next(self.next(other)));
        let rule = if self.is_guard(before) && self.is_guard(behind) {
            let rule = self.value(before) & !GUARD;
            self.replace(node, rule);
            rule
        } else {
            let rule = self.new_rule();
            let values = [self.value(node), self.value(self.next(node))];
            for value in values {
                self.insert_after(self.last(rule), value);
            }
            let first = self.first(rule);
            let pair = self.pair(first).expect("a new rule is a pair");
            self.digrams.insert(pair, first);
            self.replace(other, rule);
            self.replace(node, rule);
            rule
        };
        for end in [Self::first, Self::last] {
            if self.rules[rule as usize].guard != NONE {
                self.dissolve_if_used_once(end(self, rule));
            }
        }
    }

    /// Replaces the pair at `node` by a use of a rule.
    fn replace(&mut self, node: u32, rule: u32) {
        let (before, second) = (self.prev(node), self.next(node));
        self.remove(node);
        self.remove(second);
        self.insert_after(before, rule | RULE);
        if !self.check(before) {
            self.check(self.next(before));
        }
    }

    /// Expands a rule in place if `node`, at one end of another rule, is its only use.
    fn dissolve_if_used_once(&mut self, node: u32) {
        let Some(rule) = self.rule_at(node).filter(|&rule| self.rules[rule as usize].uses == 1) else {
            return;
        };
        let Node { prev: left, next: right, .. } = self.nodes[node as usize];
        let (first, last) = (self.first(rule), self.last(rule));
        let guard = std::mem::replace(&mut self.rules[rule as usize].guard, NONE);
        self.remove(node);
        self.join(left, first);
        self.join(last, right);
        self.free_nodes.push(guard);
        self.free_rules.push(rule);
        // One of the neighbours is a guard, so at most one of the two pairs exists.
        if !self.check(left) {
            self.check(last);
        }
    }
}
