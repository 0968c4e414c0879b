//! The last question before code is written: whether control can only reach code that the passes know of.
//!
//! Passes empty pieces, turn branches, lead jumps elsewhere, and move the cold part and the jump tables away. Each of
//! them argues that control still arrives where it did; this check does not rely on those arguments.
//! Input: the pieces as they are to be written, and where they are divided. Output: nothing, or the first piece from
//! which control would get lost.
//! Invariant: behind each piece that control can run past lies, in the same part, another piece of code; and each jump
//! and each entry of a jump table leads to a piece that does something. So padding between the parts, constants,
//! tables and the next function are never run.

use std::fmt;

use super::apart::Apart;
use super::effects::Effect;
use super::{Kind, Piece, Places};

/// Control gets lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It runs past the piece at this old place into what is not code of the same part.
    Behind(u32),
    /// It jumps from the first old place to the second, where no code begins that does something.
    To(u32, u32),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Behind(at) => write!(f, "control runs past the code at {at:#x} into what is not code"),
            Lost::To(at, to) => write!(f, "the jump at {at:#x} leads to {to:#x}, where no code begins"),
        }
    }
}

/// Checks that control stays in code. Linear in the number of pieces.
pub(super) fn check(pieces: &[Piece], effects: &[Effect], apart: Option<Apart>) -> Result<(), Lost> {
    let places = Places { pieces };
    let is_cold = |piece: &Piece| apart.is_some_and(|apart| piece.old >= apart.begin);
    // The nearest piece behind that does something.
    let mut behind: Option<&Piece> = None;
    for (piece, effect) in pieces.iter().zip(effects).rev() {
        if let Some(to) = target(piece)
            && !pieces.get(places.index(to)).is_some_and(|target| target.old == to && is_code(target))
        {
            return Err(Lost::To(piece.old, to));
        }
        let goes_on = is_code(piece) && effect.goes_on && !matches!(piece.kind, Kind::Jump { .. });
        if goes_on && !behind.is_some_and(|next| is_code(next) && is_cold(next) == is_cold(piece)) {
            return Err(Lost::Behind(piece.old));
        }
        if piece.kind != Kind::Nothing {
            behind = Some(piece);
        }
    }
    Ok(())
}

/// Where a piece leads to.
fn target(piece: &Piece) -> Option<u32> {
    match piece.kind {
        Kind::Jump { to } | Kind::Branch { to, .. } | Kind::Entry { to, .. } => Some(to),
        _ => None,
    }
}

/// Whether a piece is an instruction that does something.
fn is_code(piece: &Piece) -> bool {
    !matches!(piece.kind, Kind::Nothing | Kind::Entry { .. } | Kind::Constants)
}
