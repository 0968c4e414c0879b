//! Jumps that lead to jumps lead to where these do; a branch around a jump is a branch the other way.
//!
//! Cranelift does that itself; but what only copied between registers and the frame is nothing now.

use super::{Kind, Piece, Places};

/// Jumps that lead to one another may go in circles.
const FARTHEST: usize = 8;

/// Shortens ways along jumps; `cold` is where the cold part begins, which control does not run into before or after.
pub(super) fn thread(pieces: &mut [Piece], cold: u32) {
    for at in 0..pieces.len() {
        match pieces[at].kind {
            Kind::Jump { to } => pieces[at].kind = Kind::Jump { to: end(pieces, to) },
            Kind::Branch { condition, to } => {
                pieces[at].kind = Kind::Branch { condition, to: end(pieces, to) };
            }
            _ => {}
        }
    }
    let mut targets = vec![0_u32; pieces.len() + 1];
    let places = Places { pieces };
    for piece in pieces.iter() {
        if let Kind::Jump { to } | Kind::Branch { to, .. } | Kind::Entry { to, .. } = piece.kind {
            targets[places.index(to)] += 1;
        }
    }
    for at in 0..pieces.len() {
        if let Some((jump, turned)) =
            turned(pieces, &targets, at).filter(|&(jump, _)| is_same_part_behind(pieces, jump, cold))
        {
            pieces[at].kind = turned;
            pieces[jump].replace(Kind::Nothing);
        }
    }
}

/// Where one comes to that jumps to a place.
fn end(pieces: &[Piece], mut to: u32) -> u32 {
    let places = Places { pieces };
    for _ in 0..FARTHEST {
        match next(pieces, places.index(to)).map(|at| pieces[at].kind) {
            Some(Kind::Jump { to: further }) => to = further,
            _ => break,
        }
    }
    to
}

/// The first piece from one on that does something.
fn next(pieces: &[Piece], from: usize) -> Option<usize> {
    (from..pieces.len()).find(|&at| pieces[at].kind != Kind::Nothing)
}

/// Whether what lies behind a piece belongs to the same part.
fn is_same_part_behind(pieces: &[Piece], at: usize, cold: u32) -> bool {
    next(pieces, at + 1).is_some_and(|behind| (pieces[behind].old < cold) == (pieces[at].old < cold))
}

/// A branch around a jump that nothing leads to: which jump, and what the branch is to be.
fn turned(pieces: &[Piece], targets: &[u32], at: usize) -> Option<(usize, Kind)> {
    let Kind::Branch { condition, to } = pieces[at].kind else { return None };
    let jump = next(pieces, at + 1)?;
    let Kind::Jump { to: other } = pieces[jump].kind else { return None };
    let is_around = next(pieces, jump + 1) == next(pieces, Places { pieces }.index(to));
    let is_only = targets[at + 1..=jump].iter().all(|&count| count == 0);
    (is_around && is_only).then_some((jump, Kind::Branch { condition: condition ^ 1, to: other }))
}
