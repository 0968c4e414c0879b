//! The cold part of a function, if it may lie apart from the hot one.

use super::effects::Effect;
use super::{Kind, Piece};

/// Fewer bytes are not worth an address of their own.
const LEAST: u32 = 64;

/// Where the cold part begins (an old place), and how it is aligned.
#[derive(Clone, Copy)]
pub(super) struct Apart {
    pub begin: u32,
    pub align: u32,
}

impl Apart {
    /// Whether a piece has a distance to the other part.
    pub fn crosses(self, piece: &Piece) -> bool {
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

    /// Where that distance is: a new place.
    pub fn distance(self, piece: &Piece) -> Option<u32> {
        let at = match piece.kind {
            Kind::Relative { at, .. } => at,
            Kind::Entry { .. } => 0,
            _ => piece.len.saturating_sub(4),
        };
        self.crosses(piece).then_some(piece.new + at)
    }
}

/// Where the cold part begins, if there is one and control does not run into it from what is before.
pub(super) fn begin(pieces: &[Piece], effects: &[Effect], cold: u32) -> Option<u32> {
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
