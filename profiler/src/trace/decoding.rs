//! Tables that decode the way that a predicate took from the next few bits.
//!
//! Input: the predicates that a replay reaches. Output: an out-edge, by the low bits of what is read next.
//! Invariant: of all words that can be read next at the predicate, those that begin with an entry's bits lie behind
//! one edge, which the entry names. The whole word is compared where its edge is crossed.
//! Source: ours; one table per predicate, as in table-driven Huffman decoding.

use super::TracedFunction;
use super::functions::TracedFunctions;
use crate::{BlockId, EdgeId};

/// Binary logarithm of the greatest number of entries, 256.
const MAX_WIDTH: u32 = 8;

/// Predicates at which more words than this can be read next are decoded bit by bit.
const MAX_WORDS: usize = 1 << 10;

/// The tables built so far.
#[derive(Default)]
pub(super) struct DecodingTables {
    /// The tables by dense number of the function and by block.
    tables: Vec<Vec<Option<Table>>>,
}

/// The table of one predicate: each entry is an edge, or `None` if more bits are needed, or are wrong. The number of
/// entries is a power of two.
struct Table(Vec<Option<EdgeId>>);

impl DecodingTables {
    /// Returns the out-edge that a predicate takes if `bits` are read next; `None` if the table does not determine
    /// it.
    #[inline]
    pub(super) fn edge(
        &mut self,
        functions: &TracedFunctions,
        slot: usize,
        block: BlockId,
        bits: u64,
    ) -> Option<EdgeId> {
        if let Some(Some(table)) = self.tables.get(slot).and_then(|tables| tables.get(block.index())) {
            return table.0[bits as usize & (table.0.len() - 1)];
        }
        self.build(functions.at(slot), slot, block);
        None
    }

    /// Builds a predicate's table, which is used from the next lookup on.
    #[cold]
    fn build(&mut self, function: &TracedFunction, slot: usize, block: BlockId) {
        if self.tables.len() <= slot {
            self.tables.resize_with(slot + 1, Vec::new);
        }
        let tables = &mut self.tables[slot];
        if tables.is_empty() {
            tables.resize_with(function.cfg().vertex_count(), || None);
        }
        tables[block.index()] = Some(Table::new(function, block));
    }
}

impl Table {
    /// Builds the smallest table that determines every edge, up to the maximum width.
    fn new(function: &TracedFunction, block: BlockId) -> Self {
        let Some(words) = function.next_words(block, MAX_WORDS) else { return Self(vec![None]) };
        let mut table = Self::of_width(&words, 0);
        for width in 1..=MAX_WIDTH {
            if table.0.iter().all(Option::is_some) {
                break;
            }
            table = Self::of_width(&words, width);
        }
        table
    }

    fn of_width(words: &[((u32, u8), EdgeId)], width: u32) -> Self {
        let entry = |bits: u32| {
            let begins = |&&((value, length), _): &&((u32, u8), EdgeId)| {
                let mask = (1_u64 << width.min(length.into())) - 1;
                u64::from(value ^ bits) & mask == 0
            };
            let mut edges = words.iter().filter(begins).map(|&(_, edge)| edge);
            let first = edges.next()?;
            edges.all(|edge| edge == first).then_some(first)
        };
        Self((0..1 << width).map(entry).collect())
    }
}
