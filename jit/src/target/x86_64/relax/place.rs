//! Chooses the places of the pieces.

use super::cold_split::ColdSplit;
use super::read::ENTRY;
use super::{CodeItem, Kind, LINE, Places};

/// A round of a longer loop takes so long that its alignment does not matter.
const LONGEST_LOOP: u32 = 2 * LINE;
/// A loop with this many back edges is an interpreter's: it is seldom entered, and padding before it runs only on
/// entry.
const MANY_WAYS_BACK: usize = 8;
/// The alignment of targets of jumps through tables: an interpreter with unaligned handlers takes a third longer
/// (measured). The code from a target to the next jump lies in as few lines as possible: with checks `interp` takes a
/// tenth less for it.
const TARGET_ALIGN: u32 = 32;
/// After this many rounds so many jumps have grown that the others all grow, too.
const MOST_ROUNDS: u32 = 10;

/// The first and the last piece of a loop.
type Loop = (usize, usize);

/// The places that need alignment.
#[derive(Default)]
pub(super) struct Aligned {
    loops: Vec<Loop>,
    /// The header of each outermost loop, and the first aligned loop inside it: padding had better run once before the
    /// outer loop than in each of its rounds.
    inside: Vec<(usize, Loop)>,
    /// The targets of jumps through tables, in ascending order, with the last piece of the straight-line code that runs
    /// there.
    targets: Vec<(u32, usize)>,
}

impl Aligned {
    /// Finds the loops and targets to align. `cold` is where code begins whose layout is not its order of execution.
    pub(super) fn new(pieces: &[CodeItem], cold: u32) -> Aligned {
        let target = |piece: &CodeItem| match piece.kind {
            Kind::Entry { to, .. } => Some(to),
            _ => None,
        };
        let mut targets: Vec<u32> = pieces.iter().filter_map(target).collect();
        targets.sort_unstable();
        targets.dedup();
        let targets = targets.iter().map(|&target| (target, last_of_row(pieces, target))).collect();
        let all = loops(pieces, cold);
        let mut loops = innermost_loops(pieces, &all);
        loops.extend(dispatches(pieces, &all));
        loops.sort_unstable();
        loops.dedup_by_key(|&mut (header, _)| header);
        Aligned { inside: inside(&all, &loops), loops, targets }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.loops.is_empty() && self.targets.is_empty()
    }
}

/// Returns the first piece, and those that lie near behind it.
fn near(pieces: &[CodeItem]) -> impl Iterator<Item = &CodeItem> {
    pieces.iter().take_while(|piece| piece.old + piece.old_len - pieces[0].old <= LONGEST_LOOP)
}

/// Returns the last piece of the straight-line code that runs from a place, if that is short; else the first.
fn last_of_row(pieces: &[CodeItem], place: u32) -> usize {
    let first = Places { pieces }.index(place);
    let leaves = |piece: &CodeItem| matches!(piece.kind, Kind::Jump { .. } | Kind::TableJump);
    let len = near(&pieces[first..]).position(leaves);
    first + len.unwrap_or(0)
}

/// Returns the first of `loops` in each outermost loop of `all`, unless it is that loop itself.
fn inside(all: &[Loop], loops: &[Loop]) -> Vec<(usize, Loop)> {
    let mut inside: Vec<(usize, Loop)> = Vec::new();
    let mut outermost = all.iter().peekable();
    for &(header, last) in loops {
        // A loop that begins inside another one usually also ends there.
        while outermost.next_if(|&&(_, end)| end < header).is_some() {}
        if let Some(&&(outer, end)) = outermost.peek()
            && outer < header
            && end >= last
            && inside.last().is_none_or(|&(other, _)| other != outer)
        {
            inside.push((outer, (header, last)));
        }
    }
    inside
}

/// Returns the small innermost loops without calls, in ascending order.
fn innermost_loops(pieces: &[CodeItem], all: &[Loop]) -> Vec<Loop> {
    let mut loops = all.to_vec();
    let headers: Vec<usize> = loops.iter().map(|&(header, _)| header).collect();
    loops.retain(|&(header, last)| {
        let next = headers.get(headers.partition_point(|&other| other <= header));
        let is_innermost = next.is_none_or(|&next| next > last);
        let is_small = pieces[last].old + pieces[last].old_len - pieces[header].old <= LONGEST_LOOP;
        is_innermost
            && is_small
            && !pieces[header..=last]
                .iter()
                .any(|piece| matches!(piece.kind, Kind::Call | Kind::EncodedCall(_)))
    });
    loops
}

/// Returns the headers of interpreter loops, each with the jump through a table that follows soon: the dispatch between
/// two instructions of the interpreter. Where a dispatch may lie in more lines than necessary, QuickJS takes 6% longer,
/// and 12% with checks (measured on Zen 4).
fn dispatches(pieces: &[CodeItem], all: &[Loop]) -> Vec<Loop> {
    let jumps = |piece: &CodeItem| piece.kind == Kind::TableJump;
    let dispatch = |&(header, last): &Loop| {
        let (start, inside) = (pieces[header].old, &pieces[header..=last]);
        let leads_back = |piece: &&CodeItem| matches!(piece.kind, Kind::Jump { to } | Kind::Branch { to, .. } if to == start);
        let jump = near(inside).position(jumps)?;
        let is_dispatch = inside.iter().filter(leads_back).count() >= MANY_WAYS_BACK;
        is_dispatch.then_some((header, header + jump))
    };
    all.iter().filter_map(dispatch).collect()
}

/// Returns the loops: from the target of a back edge to the last jump back to it.
fn loops(pieces: &[CodeItem], cold: u32) -> Vec<Loop> {
    let places = Places { pieces };
    let hot = pieces.iter().enumerate().take_while(|(_, piece)| piece.old < cold);
    let back = |(last, piece): (usize, &CodeItem)| match piece.kind {
        Kind::Jump { to } | Kind::Branch { to, .. } if to <= piece.old => Some((places.index(to), last)),
        _ => None,
    };
    let mut loops: Vec<Loop> = hot.filter_map(back).collect();
    loops.sort_unstable_by_key(|&(header, last)| (header, std::cmp::Reverse(last)));
    loops.dedup_by_key(|&mut (header, _)| header);
    loops
}

/// Chooses the length and the place of each piece.
pub(super) fn place(pieces: &mut [CodeItem], aligned: &Aligned, apart: Option<ColdSplit>) {
    // The distance to the other part is not known yet.
    for piece in pieces.iter_mut().filter(|piece| apart.is_some_and(|apart| apart.crosses(piece))) {
        piece.len = piece.old_len;
    }
    let jumps: Vec<(usize, usize)> = {
        let places = Places { pieces };
        let target = |(at, piece): (usize, &CodeItem)| match piece.kind {
            Kind::Jump { to } | Kind::Branch { to, .. } => Some((at, places.index(to))),
            _ => None,
        };
        pieces.iter().enumerate().filter_map(target).collect()
    };
    for round in 0.. {
        put_in_a_row(pieces, aligned, apart);
        if !grow(pieces, &jumps, round >= MOST_ROUNDS) {
            return;
        }
    }
}

/// Lengthens the jumps that do not reach their targets, or all jumps; reports whether any was lengthened.
fn grow(pieces: &mut [CodeItem], jumps: &[(usize, usize)], all: bool) -> bool {
    let mut has_grown = false;
    for &(at, to) in jumps {
        let (piece, to) = (pieces[at], pieces[to].new);
        let distance = i64::from(to) - i64::from(piece.new + piece.len);
        if piece.len != piece.old_len && (all || i8::try_from(distance).is_err()) {
            pieces[at].len = piece.old_len;
            has_grown = true;
        }
    }
    has_grown
}

fn put_in_a_row(pieces: &mut [CodeItem], aligned: &Aligned, apart: Option<ColdSplit>) {
    let mut loops = aligned.loops.iter().peekable();
    let mut inside = aligned.inside.iter().peekable();
    let mut targets = aligned.targets.iter().peekable();
    let mut at = 0_u32;
    for index in 0..pieces.len() {
        if let Some(apart) = apart.filter(|apart| apart.begin == pieces[index].old) {
            at = at.next_multiple_of(apart.align);
        }
        let len = |range: &[CodeItem]| range.iter().map(|piece| piece.len).sum::<u32>();
        if let Some(&(_, last)) = targets.next_if(|&&(target, _)| target == pieces[index].old) {
            at = at.next_multiple_of(TARGET_ALIGN);
            at += padding_before(at, len(&pieces[index..=last]));
        }
        if let Some(&(_, (header, last))) = inside.next_if(|&&(outer, _)| outer == index) {
            at += padding_before(at + len(&pieces[index..header]), len(&pieces[header..=last]));
        }
        if let Some(&(_, last)) = loops.next_if(|&&(header, _)| header == index) {
            at += padding_before(at, len(&pieces[index..=last]));
        }
        let piece = &mut pieces[index];
        match piece.kind {
            // Constants keep their alignment.
            Kind::Constants => at += (piece.old % LINE + LINE - at % LINE) % LINE,
            Kind::Entry { .. } => at = at.next_multiple_of(ENTRY),
            _ => {}
        }
        piece.new = at;
        at += piece.len;
    }
}

/// Returns the padding before a loop of `len` bytes at `at` that puts it in as few lines as possible.
fn padding_before(at: u32, len: u32) -> u32 {
    let lines = |at: u32| (at % LINE + len).div_ceil(LINE);
    if lines(at) > lines(0) { LINE - at % LINE } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_moved_only_if_they_would_lie_in_fewer_lines() {
        assert_eq!(padding_before(0, 25), 0);
        assert_eq!(padding_before(39, 25), 0);
        assert_eq!(padding_before(40, 25), 24);
        assert_eq!(padding_before(64 + 63, 64), 1);
        assert_eq!(padding_before(28, 100), 0);
        assert_eq!(padding_before(29, 100), 35);
    }
}
