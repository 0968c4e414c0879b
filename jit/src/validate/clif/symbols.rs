//! Terms of which only the origin is known.

use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::ir::Block;
use hashbrown::HashMap;

use crate::validate::terms::{Term, Terms};

/// The origin of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A class of parameters of a block, by its first one; `most` is their upper bound.
    Param { block: Block, first: u32, most: u64 },
    /// One of the results of an event, by its number in a block.
    Result { block: Block, event: u32, at: u32, most: u64 },
    /// Memory, after that many changes in a block.
    Memory(Block, u32),
}

impl Key {
    fn block(self) -> Block {
        match self {
            Key::Param { block, .. } | Key::Result { block, .. } | Key::Memory(block, _) => block,
        }
    }

    fn most(self) -> u64 {
        match self {
            Key::Param { most, .. } | Key::Result { most, .. } => most,
            Key::Memory(..) => u64::MAX,
        }
    }
}

/// The place where all parts of a term are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Everywhere,
    /// In a block, and in those that it dominates.
    Block(Block),
    /// Nowhere.
    Nowhere,
}

#[derive(Default)]
pub(super) struct Symbols {
    known: HashMap<Key, Term>,
    blocks: HashMap<Term, Block>,
    homes: Vec<Option<Home>>,
}

impl Symbols {
    pub fn get(&mut self, terms: &mut Terms, key: Key) -> Term {
        let term = *self.known.entry(key).or_insert_with(|| terms.symbol(key.most(), false));
        self.blocks.insert(term, key.block());
        term
    }

    /// Returns the place where all parts of a term are known. Operands have smaller numbers than the terms made of
    /// them.
    pub fn home(&mut self, terms: &Terms, domtree: &DominatorTree, term: Term) -> Home {
        if let Some(&Some(home)) = self.homes.get(term as usize) {
            return home;
        }
        let mut waiting = vec![term];
        while let Some(&next) = waiting.last() {
            let operands = terms.operands(next);
            let unknown = operands
                .iter()
                .copied()
                .filter(|&of| self.homes.get(of as usize).is_none_or(Option::is_none));
            let before = waiting.len();
            waiting.extend(unknown);
            if waiting.len() == before {
                let own = self.blocks.get(&next).map_or(Home::Everywhere, |&block| Home::Block(block));
                let of = |operand: &Term| self.homes[*operand as usize].expect("it is known by now");
                let home = operands.iter().map(of).fold(own, |a, b| deeper(domtree, a, b));
                if self.homes.len() <= next as usize {
                    self.homes.resize(next as usize + 1, None);
                }
                self.homes[next as usize] = Some(home);
                waiting.pop();
            }
        }
        self.homes[term as usize].expect("it was found")
    }
}

/// Returns the place where both are known.
fn deeper(domtree: &DominatorTree, a: Home, b: Home) -> Home {
    match (a, b) {
        (Home::Everywhere, other) | (other, Home::Everywhere) => other,
        (Home::Block(a), Home::Block(b)) if domtree.block_dominates(a, b) => Home::Block(b),
        (Home::Block(a), Home::Block(b)) if domtree.block_dominates(b, a) => Home::Block(a),
        _ => Home::Nowhere,
    }
}
