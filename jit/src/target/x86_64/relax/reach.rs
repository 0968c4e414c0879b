//! The last check before code is written: control can only reach code that the passes know.
//!
//! Passes empty pieces, invert branches, redirect jumps, and move the cold part and the jump tables away. Each of them
//! argues that control still arrives where it did; this check does not rely on those arguments.
//! Input: the pieces as they are to be written, the landings, and the start of the cold part. Output: nothing, or the first
//! piece at which control gets lost.
//! Invariant: each piece that control can run past is followed, in the same part, by another piece of code; and each
//! jump, each entry of a jump table and each landing leads to a piece that is not removed. So padding between the parts,
//! constants, tables and the next function never run.

use std::fmt;

use super::cold_split::ColdSplit;
use super::effects::Effect;
use super::{CodeItem, Kind, Places};

/// A place at which control leaves the code.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Control runs past the piece at this old place into something other than code of the same part.
    Behind(u32),
    /// Control jumps from the first old place to the second, where no remaining code begins.
    To(u32, u32),
    /// An exception lands at this old place, where no remaining code begins.
    Landing(u32),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Behind(at) => write!(f, "control runs past the code at {at:#x} into what is not code"),
            Lost::To(at, to) => write!(f, "the jump at {at:#x} leads to {to:#x}, where no code begins"),
            Lost::Landing(to) => write!(f, "an exception lands at {to:#x}, where no code begins"),
        }
    }
}

/// Checks that control stays in code. Linear in the number of pieces.
///
/// # Errors
/// Returns the first piece at which control gets lost.
pub(super) fn check(
    pieces: &[CodeItem],
    effects: &[Effect],
    (landings, apart): (&[u32], Option<ColdSplit>),
) -> Result<(), Lost> {
    let places = Places { pieces };
    let is_entered =
        |to: u32| pieces.get(places.index(to)).is_some_and(|target| target.old == to && is_code(target));
    if let Some(&landing) = landings.iter().find(|&&landing| !is_entered(landing)) {
        return Err(Lost::Landing(landing));
    }
    let is_cold = |piece: &CodeItem| apart.is_some_and(|apart| piece.old >= apart.begin);
    // The nearest remaining piece behind this one.
    let mut behind: Option<&CodeItem> = None;
    for (piece, effect) in pieces.iter().zip(effects).rev() {
        if let Some(to) = target(piece)
            && !is_entered(to)
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

/// Returns the target of a jump or of a table entry.
fn target(piece: &CodeItem) -> Option<u32> {
    match piece.kind {
        Kind::Jump { to } | Kind::Branch { to, .. } | Kind::Entry { to, .. } => Some(to),
        _ => None,
    }
}

/// Reports whether a piece is an instruction that is not removed.
fn is_code(piece: &CodeItem) -> bool {
    !matches!(piece.kind, Kind::Nothing | Kind::Entry { .. } | Kind::Constants)
}
