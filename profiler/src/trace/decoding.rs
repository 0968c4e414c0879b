//! Tables that tell from the next few bits which way a predicate went.
//!
//! Input: the predicates that a replay comes to. Output: by the low bits of what is read next, an out-edge.
//! Invariant: of all words that can be read next at the predicate, those that begin with a table's bits lie behind one
//! edge, which it names. The word is compared as a whole where its edge is crossed.
//! Source: ours; a table per predicate, as in table-driven Huffman decoding.

use super::TracedFunction;
use super::functions::TracedFunctions;
use crate::{BlockId, EdgeId};

/// A table has no more than 256 entries.
const MAX_WIDTH: u32 = 8;

/// Predicates at which more words can be read next are decoded bit by bit.
const MAX_WORDS: usize = 1 << 10;

/// The tables made so far.
#[derive(Default)]
pub(super) struct DecodingTables {
    /// By dense number of the function; by block.
    tables: Vec<Vec<Option<Table>>>,
}

/// The entries of one predicate: an edge, or `None` if more bits are needed, or are wrong. Their number is a power of
/// two.
struct Table(Vec<Option<EdgeId>>);

impl DecodingTables {
    /// The out-edge of a predicate that is taken if `bits` are read next; `None` if the table does not tell.
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

    /// From the next time on there is a table.
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
    /// As small as tells everything.
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
