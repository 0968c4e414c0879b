//! The control flow between pieces.

use super::effects::Effect;
use super::{CodeItem, Kind, Places};

/// Pieces that run one after the other.
#[derive(Debug)]
pub(super) struct BasicBlock {
    pub begin: usize,
    pub end: usize,
    /// The indices of the blocks that may run next, except along jump tables.
    pub next: Vec<usize>,
    /// Whether any other code may run next.
    pub is_left: bool,
    /// Whether a jump table or an exception leads to them.
    pub is_target: bool,
}

/// Divides all code of a function into blocks, in the order in which it lies. Its basic blocks and landings begin at
/// these old places.
pub(super) fn blocks(
    pieces: &[CodeItem],
    effects: &[Effect],
    (blocks, landings): (&[u32], &[u32]),
) -> Vec<BasicBlock> {
    let places = Places { pieces };
    let is_data = |piece: &CodeItem| matches!(piece.kind, Kind::Entry { .. } | Kind::Constants);
    let mut begins = vec![false; pieces.len() + 1];
    let mut mark = |at: usize| begins[at.min(pieces.len())] = true;
    mark(0);
    blocks.iter().chain(landings).for_each(|&block| mark(places.index(block)));
    for (at, piece) in pieces.iter().enumerate() {
        match piece.kind {
            Kind::Jump { to } | Kind::Branch { to, .. } => {
                mark(places.index(to));
                mark(at + 1);
            }
            Kind::Entry { to, .. } => {
                mark(places.index(to));
                mark(at);
                mark(at + 1);
            }
            Kind::Constants => mark(at),
            _ if !effects[at].goes_on => mark(at + 1),
            _ => {}
        }
    }
    let starts: Vec<usize> = (0..pieces.len()).filter(|&at| begins[at] && !is_data(&pieces[at])).collect();
    let straight_at = |at: usize| starts.binary_search(&at).ok();
    let mut is_target = vec![false; starts.len()];
    let entries = pieces.iter().filter_map(|piece| match piece.kind {
        Kind::Entry { to, .. } => Some(to),
        _ => None,
    });
    for to in entries.chain(landings.iter().copied()) {
        if let Some(target) = straight_at(places.index(to)) {
            is_target[target] = true;
        }
    }
    starts
        .iter()
        .zip(is_target)
        .map(|(&begin, is_target)| {
            let end = (begin + 1..=pieces.len()).find(|&at| begins[at]).unwrap_or(pieces.len());
            let last = &pieces[end - 1];
            let behind = straight_at(end);
            let (next, is_left) = match last.kind {
                Kind::Jump { to } => known([straight_at(places.index(to))]),
                Kind::Branch { to, .. } => known([straight_at(places.index(to)), behind]),
                _ if effects[end - 1].goes_on => known([behind]),
                _ => (Vec::new(), true),
            };
            BasicBlock { begin, end, next, is_left, is_target }
        })
        .collect()
}

/// Returns the known successors, and whether any is unknown.
fn known<const N: usize>(next: [Option<usize>; N]) -> (Vec<usize>, bool) {
    (next.iter().flatten().copied().collect(), next.iter().any(Option::is_none))
}
