//! Jump threading: a jump to a jump leads to the final target, and a branch around a jump becomes the inverse branch.
//!
//! Cranelift does the same, but removing redundant moves empties blocks, which opens up more.

use super::{CodeItem, Kind, Places};

/// Jumps to jumps may form a cycle.
const FARTHEST: usize = 8;

/// Redirects each jump, each entry of a jump table, and each landing, from a removed piece to the next piece that is left: a
/// removed piece may lie at the end of the hot part, and its successor in the layout need not be the code it ran into
/// (`reach`). Required if any piece was removed.
pub(super) fn settle(pieces: &mut [CodeItem], landings: &mut [u32]) {
    let live = Live::new(pieces);
    landings.iter_mut().for_each(|landing| *landing = live.place(pieces, *landing));
    for at in 0..pieces.len() {
        if let Kind::Jump { to } | Kind::Branch { to, .. } | Kind::Entry { to, .. } = pieces[at].kind {
            let place = live.place(pieces, to);
            if let Kind::Jump { to } | Kind::Branch { to, .. } | Kind::Entry { to, .. } = &mut pieces[at].kind
            {
                *to = place;
            }
        }
    }
}

/// Threads jumps; `cold` is the start of the cold part, and control does not fall through into it before or after. The
/// caller guarantees that all jumps and landings lead to pieces that are left (`settle`); they still do afterwards.
pub(super) fn thread(pieces: &mut [CodeItem], landings: &[u32], cold: u32) {
    let live = Live::new(pieces);
    for at in 0..pieces.len() {
        match pieces[at].kind {
            Kind::Jump { to } => pieces[at].kind = Kind::Jump { to: end(pieces, &live, to) },
            Kind::Branch { condition, to } => {
                pieces[at].kind = Kind::Branch { condition, to: end(pieces, &live, to) };
            }
            _ => {}
        }
    }
    let mut targets = vec![0_u32; pieces.len() + 1];
    let places = Places { pieces };
    landings.iter().for_each(|&landing| targets[places.index(landing)] += 1);
    for piece in pieces.iter() {
        if let Kind::Jump { to } | Kind::Branch { to, .. } | Kind::Entry { to, .. } = piece.kind {
            targets[places.index(to)] += 1;
        }
    }
    for at in 0..pieces.len() {
        if let Some((jump, turned)) = turned(pieces, &live, &targets, at)
            .filter(|&(jump, _)| is_same_part_behind(pieces, &live, jump, cold))
        {
            pieces[at].kind = turned;
            pieces[jump].replace(Kind::Nothing);
        }
    }
}

/// Follows the jumps from a place to the piece that is left at their end.
fn end(pieces: &[CodeItem], live: &Live, mut to: u32) -> u32 {
    let places = Places { pieces };
    for _ in 0..FARTHEST {
        match live.next(pieces, places.index(to)).map(|at| pieces[at].kind) {
            Some(Kind::Jump { to: further }) => to = further,
            _ => break,
        }
    }
    live.place(pieces, to)
}

/// For each piece, and the end of all, the next piece that was left when this was built, starting with the piece
/// itself.
struct Live(Vec<usize>);

impl Live {
    fn new(pieces: &[CodeItem]) -> Live {
        let mut live = vec![pieces.len(); pieces.len() + 1];
        for at in (0..pieces.len()).rev() {
            live[at] = if pieces[at].kind == Kind::Nothing { live[at + 1] } else { at };
        }
        Live(live)
    }

    /// Returns the first piece that is left, from `from` on.
    fn next(&self, pieces: &[CodeItem], from: usize) -> Option<usize> {
        let mut at = *self.0.get(from)?;
        while pieces.get(at)?.kind == Kind::Nothing {
            at = self.0[at + 1];
        }
        Some(at)
    }

    /// Returns the start of the first piece that is left, from `place` on; `place` itself if there is none.
    fn place(&self, pieces: &[CodeItem], place: u32) -> u32 {
        self.next(pieces, Places { pieces }.index(place)).map_or(place, |at| pieces[at].old)
    }
}

/// Reports whether the next piece that is left belongs to the same part.
fn is_same_part_behind(pieces: &[CodeItem], live: &Live, at: usize, cold: u32) -> bool {
    live.next(pieces, at + 1).is_some_and(|behind| (pieces[behind].old < cold) == (pieces[at].old < cold))
}

/// Inverts a branch around a jump that is no jump target: returns the jump and the new branch.
fn turned(pieces: &[CodeItem], live: &Live, targets: &[u32], at: usize) -> Option<(usize, Kind)> {
    let Kind::Branch { condition, to } = pieces[at].kind else { return None };
    let jump = live.next(pieces, at + 1)?;
    let Kind::Jump { to: other } = pieces[jump].kind else { return None };
    let is_around = live.next(pieces, jump + 1) == live.next(pieces, Places { pieces }.index(to));
    let is_only = targets[at + 1..=jump].iter().all(|&count| count == 0);
    (is_around && is_only).then_some((jump, Kind::Branch { condition: condition ^ 1, to: other }))
}
