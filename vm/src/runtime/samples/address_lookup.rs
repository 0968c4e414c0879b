//! Resolution of addresses on a stack to places in wasm code.
//!
//! A function that was interrupted before it has set up its frame, or after it has removed the frame, has not
//! saved its caller's frame pointer where the walk looks; its return address is elsewhere (`arch`).

use std::sync::Arc;

use super::place::Place;
use super::record::Tag;
use super::stacks::TimedStacks;
use crate::arch::{self, FrameState};
use crate::runtime::code::registry::{self, CodeObject};

/// Adds a sample in the form in which the handler has written it.
pub fn add(stacks: &mut TimedStacks, sample: &[u64]) {
    let Some((&time_ns, words)) = sample.split_first() else { return };
    let mut places = Vec::new();
    // The outermost entry comes first, so that the instance is known when its frames follow.
    for entry in entries(words).into_iter().rev() {
        let mut frames = Vec::new();
        add_entry(stacks, entry, &mut frames);
        places.extend(frames.into_iter().rev());
    }
    stacks.add(&without_repetition(&places), time_ns);
}

/// Returns the words of each entry into wasm, the newest first, each with its mark at the end.
fn entries(words: &[u64]) -> Vec<&[u64]> {
    words.split_inclusive(|&word| matches!(Tag::from_word(word), Some(Tag::Entry(_)))).collect()
}

/// Adds the places of one entry, innermost first.
fn add_entry(stacks: &mut TimedStacks, words: &[u64], places: &mut Vec<Place>) {
    let entered = match words.last().and_then(|&word| Tag::from_word(word)) {
        Some(Tag::Entry(instance)) => instance,
        _ => 0,
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match Tag::from_word(word) {
            None => add_caller(stacks, word as usize, entered, places),
            Some(Tag::Host(number)) => places.push(Place::Host(number)),
            Some(Tag::Engine) => places.push(Place::Engine),
            Some(Tag::Collector) => places.push(Place::Collector),
            // A trampoline has no callers before it has recorded its frame.
            Some(Tag::Cut) if places == &[Place::Engine] => {}
            Some(Tag::Cut | Tag::Gap) => places.push(Place::Unknown),
            Some(Tag::Entry(_)) => {}
            Some(Tag::Interrupted) => {
                let mut next = || words.next().unwrap_or(0) as usize;
                let (pc, top) = (next(), [next(), next()]);
                add_interrupted(stacks, pc, top, entered, places);
            }
        }
    }
}

fn add_interrupted(
    stacks: &mut TimedStacks,
    pc: usize,
    top: [usize; 2],
    entered: u32,
    places: &mut Vec<Place>,
) {
    let Some(object) = registry::find(pc) else { return places.push(Place::Engine) };
    match object.position_of(pc) {
        Some(position) => add_frames(stacks, &object, position, entered, places),
        // In a trampoline or a stub, whose page most often had to be loaded.
        None if object.function.is_none() => places.push(Place::Engine),
        None => {}
    }
    let caller = match frame_of(&object, pc) {
        FrameState::Whole => return,
        FrameState::None => top[0],
        FrameState::Saved => top[1],
    };
    if registry::is_code(caller) {
        add_caller(stacks, caller, entered, places);
    }
}

/// Adds the frames of a call that returns to `pc`.
fn add_caller(stacks: &mut TimedStacks, pc: usize, entered: u32, places: &mut Vec<Place>) {
    let Some(object) = registry::find_return(pc) else { return };
    if let Some(origin) = object.origin_of_return(pc) {
        add_frames(stacks, &object, (origin.offset, origin.frame), entered, places);
    }
}

/// Adds a place, given as offset and frame, and the inlined calls around it.
fn add_frames(
    stacks: &mut TimedStacks,
    object: &Arc<CodeObject>,
    (offset, frame): (u32, u32),
    entered: u32,
    places: &mut Vec<Place>,
) {
    let Some(module) = object.function.as_ref().and_then(|(module, _)| module.upgrade()) else { return };
    let module = stacks.module(module);
    let mut at = Some((offset, frame));
    while let Some((offset, frame)) = at {
        let call = frame.checked_sub(1).and_then(|call| object.code.inlined.get(call as usize));
        places.push(Place::Wasm { module, entered, offset, is_inlined: call.is_some() });
        at = call.map(|origin| (origin.offset, origin.frame));
    }
}

fn frame_of(object: &CodeObject, pc: usize) -> FrameState {
    match pc.wrapping_sub(object.start) < object.len {
        // SAFETY: registered code is readable as long as it is registered.
        true => unsafe { arch::frame_state(object.start, pc) },
        false => FrameState::Whole,
    }
}

/// Removes repeated places: each is kept where it comes first, and the innermost stays last. So recursion makes
/// stacks no longer than their number of places, and no place of a stack is lost. Unknown callers stay wherever they are,
/// since nothing around them may become neighbours.
fn without_repetition(places: &[Place]) -> Vec<Place> {
    let Some((&innermost, callers)) = places.split_last() else { return Vec::new() };
    let mut kept: Vec<Place> = Vec::with_capacity(places.len());
    for &place in callers {
        if place == Place::Unknown || !kept.contains(&place) {
            kept.push(place);
        }
    }
    kept.push(innermost);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_has_each_place_once_and_ends_where_it_is() {
        let at = |offset| Place::Wasm { module: 0, entered: 0, offset, is_inlined: false };
        let [main, a, b, leaf] = [1, 20, 30, 40].map(at);
        let deep = [main, a, b, a, a, b, b, a, leaf];
        assert_eq!(without_repetition(&deep), [main, a, b, leaf]);
        assert_eq!(without_repetition(&[main, a, a]), [main, a, a], "the innermost stays");
        assert_eq!(without_repetition(&[]), []);
        let cut_twice = [Place::Unknown, a, Place::Unknown, b, a, leaf];
        assert_eq!(without_repetition(&cut_twice), [Place::Unknown, a, Place::Unknown, b, leaf]);
    }
}
