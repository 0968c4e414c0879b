//! The equalities between locations of both versions at the start of a segment.
//!
//! A state is a partition of the locations into classes of equal values; the greatest one that holds on all paths is
//! found as a fixpoint, beginning with the first path: Kildall, POPL 1973.

use hashbrown::HashMap;

use super::memory::{Memory, Slot};
use super::terms::{Term, Terms};

/// A fact about the values of a class beyond their equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Nothing,
    /// The values are this address in the frame.
    Frame(i64),
    Constant(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    label: Label,
    /// An upper bound of the values; one of a few numbers, so that fixpoints are found soon.
    most: u64,
    is_of_frame: bool,
}

impl Class {
    fn new(terms: &Terms, term: Term) -> Class {
        let label = match (terms.as_frame(term), terms.as_constant(term)) {
            (Some(offset), _) => Label::Frame(offset),
            (_, Some(number)) => Label::Constant(number),
            _ => Label::Nothing,
        };
        Class { label, most: widened(terms.most(term)), is_of_frame: terms.is_of_frame(term) }
    }

    fn meet(self, other: Class) -> Class {
        Class {
            label: if self.label == other.label { self.label } else { Label::Nothing },
            most: self.most.max(other.most),
            is_of_frame: self.is_of_frame || other.is_of_frame,
        }
    }

    fn term(self, terms: &mut Terms) -> Term {
        match self.label {
            Label::Nothing => terms.symbol(self.most, self.is_of_frame),
            Label::Frame(offset) => terms.frame(offset),
            Label::Constant(number) => terms.constant(number),
        }
    }
}

fn widened(most: u64) -> u64 {
    let levels = [u64::from(u8::MAX), u64::from(u16::MAX), u64::from(u32::MAX)];
    levels.into_iter().find(|&level| most <= level).unwrap_or(u64::MAX)
}

/// The knowledge at the start of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    classes: Vec<Class>,
    /// The classes of the locations of the old version, then of the new one. Classes are numbered in the order of their
    /// first occurrence.
    locations: Vec<u32>,
    /// Parts of the frame, ascending.
    slots: Vec<((i64, u32), u32)>,
    /// Whether others may know addresses in the frame.
    is_shared: bool,
}

impl State {
    /// Creates the state in which locations hold these terms.
    pub fn new(terms: &Terms, before: (&[Term], &Memory), after: (&[Term], &Memory)) -> State {
        let mut state = State {
            classes: Vec::new(),
            locations: Vec::with_capacity(2 * before.0.len()),
            slots: Vec::new(),
            is_shared: before.1.is_shared || after.1.is_shared,
        };
        let mut numbers: HashMap<Term, (u32, u32)> = HashMap::new();
        for &term in before.0.iter().chain(after.0) {
            let new = state.classes.len() as u32;
            let (class, uses) = numbers.entry(term).or_insert((new, 0));
            *uses += 1;
            if *class == new {
                state.classes.push(Class::new(terms, term));
            }
            state.locations.push(*class);
        }
        let mut slots: Vec<Slot> = before.1.slots.iter().chain(&after.1.slots).copied().collect();
        slots.sort_by_key(|slot| (slot.offset, slot.bytes));
        slots.dedup_by_key(|slot| (slot.offset, slot.bytes));
        for slot in &slots {
            numbers.entry(slot.value).or_insert((u32::MAX, 0)).1 += 1;
        }
        for slot in slots {
            let (class, uses) = numbers[&slot.value];
            let known = Class::new(terms, slot.value);
            // A value that nothing else holds is not worth recording.
            if uses < 2 && known.label == Label::Nothing {
                continue;
            }
            let class = if class == u32::MAX {
                state.classes.push(known);
                let class = state.classes.len() as u32 - 1;
                numbers.insert(slot.value, (class, uses));
                class
            } else {
                class
            };
            state.slots.push(((slot.offset, slot.bytes), class));
        }
        state
    }

    /// Weakens the state by the knowledge on another path to this place; reports whether it changed.
    pub fn meet(&mut self, other: &State) -> bool {
        if self == other {
            return false;
        }
        let mut met = State {
            classes: Vec::new(),
            locations: Vec::with_capacity(self.locations.len()),
            slots: Vec::new(),
            is_shared: self.is_shared || other.is_shared,
        };
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        let mut class_of = |a: u32, b: u32, classes: &mut Vec<Class>| {
            *numbers.entry((a, b)).or_insert_with(|| {
                classes.push(self.classes[a as usize].meet(other.classes[b as usize]));
                classes.len() as u32 - 1
            })
        };
        for (&a, &b) in self.locations.iter().zip(&other.locations) {
            let class = class_of(a, b, &mut met.classes);
            met.locations.push(class);
        }
        for &(place, a) in &self.slots {
            if let Ok(at) = other.slots.binary_search_by_key(&place, |&(place, _)| place) {
                let class = class_of(a, other.slots[at].1, &mut met.classes);
                met.slots.push((place, class));
            }
        }
        let is_less = met != *self;
        *self = met;
        is_less
    }

    /// Returns terms for both versions, and for the memory, that are equal where the state says so.
    pub fn terms(&self, terms: &mut Terms) -> (Vec<Term>, Vec<Term>, Memory) {
        terms.clear();
        let classes: Vec<Term> = self.classes.iter().map(|class| class.term(terms)).collect();
        let values: Vec<Term> = self.locations.iter().map(|&class| classes[class as usize]).collect();
        let slot = |&((offset, bytes), class): &((i64, u32), u32)| {
            let value = classes[class as usize];
            Slot { offset, bytes, value }
        };
        let slots = self.slots.iter().map(slot).collect();
        let (before, after) = values.split_at(values.len() / 2);
        (before.to_vec(), after.to_vec(), Memory::new(slots, self.is_shared))
    }
}
