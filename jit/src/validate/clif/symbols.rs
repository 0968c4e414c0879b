//! Terms of which nothing is known but where they come from.

use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::ir::Block;
use hashbrown::HashMap;

use crate::validate::terms::{Term, Terms};

/// Where a symbol comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A class of parameters of a block, by its first one; they are at most so much.
    Param { block: Block, first: u32, most: u64 },
    /// What the event of this number in a block gives, as one of its results.
    Result { block: Block, event: u32, at: u32, most: u64 },
    /// Memory, after so many changes in a block.
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

/// Where all is known that a term is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Everywhere,
    /// In a block, and those that it dominates.
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

    /// Where all is known that a term is made of. Operands have smaller numbers than what is made of them.
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

/// Where both are known.
fn deeper(domtree: &DominatorTree, a: Home, b: Home) -> Home {
    match (a, b) {
        (Home::Everywhere, other) | (other, Home::Everywhere) => other,
        (Home::Block(a), Home::Block(b)) if domtree.block_dominates(a, b) => Home::Block(b),
        (Home::Block(a), Home::Block(b)) if domtree.block_dominates(b, a) => Home::Block(a),
        _ => Home::Nowhere,
    }
}
