//! The landings of exceptions.
//!
//! Behind a call that throws, control continues at the call's landing, with nothing in the registers that is known: so
//! passes treat a landing as a block that unknown code jumps to. The call itself counts as reading and writing all
//! registers.

use super::{CodeItem, Kind, Places};
use crate::code::Landing;

/// Returns the old places of the landings, in their order; `None` if any of them is not where a basic block begins, or
/// belongs to no call.
pub(super) fn read(pieces: &[CodeItem], landings: &[Landing], blocks: &[u32]) -> Option<Vec<u32>> {
    let places = Places { pieces };
    let is_call = |end: u32| {
        let call = end.checked_sub(1).and_then(|inside| pieces.get(places.index(inside)));
        call.is_some_and(|piece| piece.kind == Kind::Call && piece.old + piece.old_len == end)
    };
    let place = |landing: &Landing| {
        let is_known = blocks.binary_search(&landing.pc).is_ok()
            && places.is_begin(landing.pc)
            && is_call(landing.return_pc);
        is_known.then_some(landing.pc)
    };
    landings.iter().map(place).collect()
}
