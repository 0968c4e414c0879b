//! The cold part of a function, where it may lie apart from the hot part.

use super::effects::Effect;
use super::{CodeItem, Kind};

/// A smaller cold part is not worth an address of its own.
const LEAST: u32 = 64;

/// The start of the cold part (an old place), and its alignment.
#[derive(Clone, Copy)]
pub(super) struct ColdSplit {
    pub begin: u32,
    pub align: u32,
}

impl ColdSplit {
    /// Reports whether a piece holds a distance to the other part.
    pub fn crosses(self, piece: &CodeItem) -> bool {
        let to = match piece.kind {
            Kind::Jump { to }
            | Kind::Branch { to, .. }
            | Kind::Relative { to, .. }
            | Kind::Table { table: to, .. }
            | Kind::Entry { to, .. } => to,
            _ => return false,
        };
        (piece.old < self.begin) != (to < self.begin)
    }

    /// Returns the new place of that distance.
    pub fn distance(self, piece: &CodeItem) -> Option<u32> {
        let at = match piece.kind {
            Kind::Relative { at, .. } => at,
            Kind::Entry { .. } => 0,
            _ => piece.len.saturating_sub(4),
        };
        self.crosses(piece).then_some(piece.new + at)
    }
}

/// Returns the start of the cold part, if there is one and control does not fall through into it.
pub(super) fn begin(pieces: &[CodeItem], effects: &[Effect], cold: u32) -> Option<u32> {
    let first = pieces.partition_point(|piece| piece.old < cold);
    let last_hot = pieces[..first].iter().rposition(|piece| piece.kind != Kind::Nothing)?;
    let cold = pieces.get(first)?.old;
    let is_left = match pieces[last_hot].kind {
        Kind::Jump { .. } => true,
        _ => !effects[last_hot].goes_on,
    };
    let end = pieces.last().map_or(cold, |last| last.old + last.old_len);
    (is_left && end - cold >= LEAST).then_some(cold)
}
