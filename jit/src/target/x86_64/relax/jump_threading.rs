//! Jumps that lead to jumps lead to where these do; a branch around a jump is a branch the other way.
//!
//! Cranelift does that itself; but what only copied between registers and the frame is nothing now.

use super::{Kind, Piece, Places};

/// Jumps that lead to one another may go in circles.
const FARTHEST: usize = 8;

/// Lets no jump, and no entry of a jump table, lead to a piece that does nothing: such a piece may lie at the end of the
/// hot part, and what lies behind it need not be what it ran into any more (`reach`). This has to be done if anything was
/// left out.
pub(super) fn settle(pieces: &mut [Piece]) {
    let live = Live::new(pieces);
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

/// Shortens ways along jumps; `cold` is where the cold part begins, which control does not run into before or after.
/// All jumps lead to pieces that do something (`settle`), and still do afterwards.
pub(super) fn thread(pieces: &mut [Piece], cold: u32) {
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

/// Where one comes to that jumps to a place: a piece that does something.
fn end(pieces: &[Piece], live: &Live, mut to: u32) -> u32 {
    let places = Places { pieces };
    for _ in 0..FARTHEST {
        match live.next(pieces, places.index(to)).map(|at| pieces[at].kind) {
            Some(Kind::Jump { to: further }) => to = further,
            _ => break,
        }
    }
    live.place(pieces, to)
}

/// For each piece, and the end of all, the first from there on that did something when this was made.
struct Live(Vec<usize>);

impl Live {
    fn new(pieces: &[Piece]) -> Live {
        let mut live = vec![pieces.len(); pieces.len() + 1];
        for at in (0..pieces.len()).rev() {
            live[at] = if pieces[at].kind == Kind::Nothing { live[at + 1] } else { at };
        }
        Live(live)
    }

    /// The first piece from one on that does something.
    fn next(&self, pieces: &[Piece], from: usize) -> Option<usize> {
        let mut at = *self.0.get(from)?;
        while pieces.get(at)?.kind == Kind::Nothing {
            at = self.0[at + 1];
        }
        Some(at)
    }

    /// Where the first piece from a place on begins that does something; the place itself if there is none.
    fn place(&self, pieces: &[Piece], place: u32) -> u32 {
        self.next(pieces, Places { pieces }.index(place)).map_or(place, |at| pieces[at].old)
    }
}

/// Whether what lies behind a piece belongs to the same part.
fn is_same_part_behind(pieces: &[Piece], live: &Live, at: usize, cold: u32) -> bool {
    live.next(pieces, at + 1).is_some_and(|behind| (pieces[behind].old < cold) == (pieces[at].old < cold))
}

/// A branch around a jump that nothing leads to: which jump, and what the branch is to be.
fn turned(pieces: &[Piece], live: &Live, targets: &[u32], at: usize) -> Option<(usize, Kind)> {
    let Kind::Branch { condition, to } = pieces[at].kind else { return None };
    let jump = live.next(pieces, at + 1)?;
    let Kind::Jump { to: other } = pieces[jump].kind else { return None };
    let is_around = live.next(pieces, jump + 1) == live.next(pieces, Places { pieces }.index(to));
    let is_only = targets[at + 1..=jump].iter().all(|&count| count == 0);
    (is_around && is_only).then_some((jump, Kind::Branch { condition: condition ^ 1, to: other }))
}
