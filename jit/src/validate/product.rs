//! The product walk: both versions of the code side by side, segment by segment.
//!
//! Input: a [`Machine`] that executes instructions of either version on terms, where both are entered, and hints.
//! Output: nothing, or the first [`Mismatch`].
//! A node is a pair of places, one in each version. From a node both are executed on terms until they branch, end, or
//! come to a pair of places that the hints name. Their events must be the same one by one. The nodes behind it are
//! reached with what is known to be equal by then; where ways meet, what is known on all of them is.
//! Invariant: a hint may be wrong. It only says where to cut, and a cut at a wrong pair can only lead to a mismatch.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::memory::Memory;
use super::state::State;
use super::terms::{Args, FRAME, Term, Terms};

/// A place in the code.
pub(crate) type Place = u32;

/// The old version, or the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// Executes instructions.
pub(crate) trait Machine {
    /// What the tables say of a place in the code; it must be the same of both versions.
    type Mark: PartialEq + Clone + std::fmt::Debug;

    /// How many locations a version has for values.
    fn locations(&self) -> usize;

    /// Two terms that are equal if a condition is true, if that is what it says.
    fn equal_if(&self, terms: &Terms, condition: Term) -> Option<(Term, Term)>;

    /// Executes the next instruction; `peer` are the events of the version before, if this is that behind.
    fn step(
        &self,
        side: Side,
        terms: &mut Terms,
        run: &mut Run<Self::Mark>,
        peer: &[Event<Self::Mark>],
    ) -> Result<Step, String>;

    /// How many instructions a version has at most: a segment of more never ends.
    fn longest(&self) -> u32;

    /// The location of the stack pointer.
    fn stack_pointer(&self) -> usize;
}

/// What can be observed of code.
#[derive(Clone, Debug)]
pub(crate) struct Event<M> {
    pub what: What,
    pub values: Args,
    pub mark: M,
    pub place: Place,
    /// How many accesses of the frame there were by then.
    pub accesses: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// So many bytes are stored; the values are the address and what is stored, and what a trap would show.
    Store(u32),
    /// So many bytes are loaded, which may trap; the values are the address, and what a trap would show.
    Load(u32),
    /// Something else may trap, or has effects; the values are its operands, and what a trap would show.
    Other(u32),
    /// The values are the target and all that the callee may read. The number is that of its convention.
    Call(u32),
    TailCall(u32),
    /// The values are what the caller may read; so many bytes are taken off the stack.
    Return(u32),
    Trap,
}

/// One version in a segment.
pub(crate) struct Run<M> {
    pub place: Place,
    pub values: Vec<Term>,
    pub memory: Memory,
    pub events: Vec<Event<M>>,
    /// Instructions so far.
    pub steps: u32,
}

/// What comes behind an instruction.
pub(crate) enum Step {
    /// The next instruction.
    On,
    /// Nothing: its event was the last.
    End,
    /// Nothing yet: it must be known first what the other version does.
    Wait,
    /// If the condition is true, the first place, else the second.
    Branch { condition: Term, places: [Place; 2] },
    /// The place that has the selector's number; the last if there are fewer and it `is_clamped`.
    Switch { selector: Term, places: Vec<Place>, is_clamped: bool },
}

/// Where both versions differ.
#[derive(Debug)]
pub(crate) struct Mismatch {
    /// Where the segment began, and where the difference was found; in both versions.
    pub begin: (Place, Place),
    pub found: (Place, Place),
    pub what: String,
}

/// How much work a walk was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub nodes: usize,
    pub segments: usize,
    pub steps: u64,
}

type Pair = (Place, Place);

pub(crate) struct Product<'a, M: Machine> {
    machine: &'a M,
    hints: &'a HashMap<Place, Place>,
    terms: Terms,
    nodes: HashMap<Pair, State>,
    /// Nodes to be executed, in the order of the old code.
    work: BTreeSet<Pair>,
    done: Work,
}

/// Walks through both versions from `entry` on.
pub(crate) fn walk<M: Machine>(
    machine: &M,
    entry: Pair,
    hints: &HashMap<Place, Place>,
) -> Result<Work, Mismatch> {
    let mut terms = Terms::default();
    terms.clear();
    let locations = machine.locations();
    let values: Vec<Term> = (0..locations).map(|_| terms.symbol(u64::MAX, false)).collect();
    let mut product = Product {
        machine,
        hints,
        terms,
        nodes: HashMap::new(),
        work: BTreeSet::new(),
        done: Work::default(),
    };
    product.enter(entry, values);
    while let Some(pair) = product.work.pop_first() {
        product.segment(pair)?;
    }
    product.done.nodes = product.nodes.len();
    Ok(product.done)
}

impl<M: Machine> Product<'_, M> {
    /// At the entry each location holds the same in both versions, and the stack pointer is the top of the frame.
    fn enter(&mut self, entry: Pair, mut values: Vec<Term>) {
        values[self.machine.stack_pointer()] = FRAME;
        let memory = Memory::default();
        let state = State::new(&self.terms, (&values, &memory), (&values, &memory));
        self.nodes.insert(entry, state);
        self.work.insert(entry);
    }

    /// Executes both versions from a node on, and compares them.
    fn segment(&mut self, pair: Pair) -> Result<(), Mismatch> {
        self.done.segments += 1;
        let state = self.nodes[&pair].clone();
        let (before, after, memory) = state.terms(&mut self.terms);
        let run = |place, values, memory| Run { place, values, memory, events: Vec::new(), steps: 0 };
        let mut before = run(pair.0, before, memory.clone());
        let mut after = run(pair.1, after, memory);
        let found = self.execute(pair, &mut before, &mut after).and_then(|end| {
            self.compare_events(&before, &after)?;
            self.follow(end, &before, &after)
        });
        found.map_err(|(places, what)| Mismatch {
            begin: pair,
            found: places.unwrap_or((before.place, after.place)),
            what,
        })
    }

    /// Executes both versions to the first cut, or to their ends.
    fn execute(&mut self, from: Pair, before: &mut Run<M::Mark>, after: &mut Run<M::Mark>) -> Found<Ends> {
        let mut end_after = None;
        for steps in 0.. {
            let end = self.step(Side::Before, before, &[])?;
            if let Some(end_before) = end {
                while end_after.is_none() {
                    end_after = self.step_after(after, before)?;
                }
                return Ok(Ends::Both(end_before, end_after.expect("it ended")));
            }
            let cut = self.hints.get(&before.place).copied();
            if let Some(cut) = cut.filter(|_| end_after.is_none()) {
                let is_start = after.steps == 0 && before.place <= from.0;
                end_after = self.run_to(after, before, cut, is_start)?;
                if after.place == cut && after.events.len() == before.events.len() && end_after.is_none() {
                    return Ok(Ends::Cut);
                }
            }
            if steps > self.machine.longest() {
                break;
            }
        }
        Err((None, "a segment is too long".into()))
    }

    /// Executes the version behind up to a place, or where its events are more than those of that before. At least one
    /// instruction if it `must_step`: else two versions that do different things for ever would be the same.
    fn run_to(
        &mut self,
        after: &mut Run<M::Mark>,
        before: &Run<M::Mark>,
        cut: Place,
        must_step: bool,
    ) -> Found<Option<Step>> {
        let mut must_step = must_step;
        let mut budget = self.machine.longest();
        while must_step || after.place != cut || after.events.len() != before.events.len() {
            must_step = false;
            let begin = after.place;
            match self.step(Side::After, after, &before.events)? {
                Some(Step::Wait) => {
                    debug_assert_eq!(begin, after.place);
                    return Ok(None);
                }
                Some(end) => return Ok(Some(end)),
                None if after.events.len() > before.events.len() => return Ok(None),
                None => {}
            }
            budget -= 1;
            if budget == 0 {
                return Err((None, "a segment is too long".into()));
            }
        }
        Ok(None)
    }

    fn step_after(&mut self, after: &mut Run<M::Mark>, before: &Run<M::Mark>) -> Found<Option<Step>> {
        match self.step(Side::After, after, &before.events)? {
            Some(Step::Wait) => Err((None, "there is a call that was not there".into())),
            _ if after.events.len() > before.events.len() => {
                let what =
                    format!("there is one event more: {}", self.shown(&after.events[before.events.len()]));
                Err((None, what))
            }
            step => Ok(step),
        }
    }

    /// Executes one instruction; gives how the segment ends if it does.
    fn step(&mut self, side: Side, run: &mut Run<M::Mark>, peer: &[Event<M::Mark>]) -> Found<Option<Step>> {
        self.done.steps += 1;
        run.steps += 1;
        match self.machine.step(side, &mut self.terms, run, peer).map_err(|what| (None, what))? {
            Step::On => Ok(None),
            step => Ok(Some(step)),
        }
    }

    fn compare_events(&self, before: &Run<M::Mark>, after: &Run<M::Mark>) -> Found<()> {
        for (old, new) in before.events.iter().zip(&after.events) {
            let is_same = old.what == new.what && old.mark == new.mark;
            let is_dead = || are_same_store(old, new) && is_dead(before, old) && is_dead(after, new);
            if !is_same || (old.values != new.values && !is_dead()) {
                let what = format!("{}\nbecame {}", self.shown(old), self.shown(new));
                return Err((Some((old.place, new.place)), what));
            }
        }
        if before.events.len() != after.events.len() {
            let (longer, count) = if before.events.len() > after.events.len() {
                (&before.events, after.events.len())
            } else {
                (&after.events, before.events.len())
            };
            return Err((None, format!("only one version has {}", self.shown(&longer[count]))));
        }
        match self.terms.first_unmatched_load() {
            Some(load) => Err((None, format!("only the new version loads {}", self.terms.show(load)))),
            None => Ok(()),
        }
    }

    fn shown(&self, event: &Event<M::Mark>) -> String {
        let values: Vec<String> = event.values.iter().map(|&value| self.terms.show(value)).collect();
        format!("{:?} of ({}), {:?}", event.what, values.join(", "), event.mark)
    }

    /// Goes on where control goes behind a segment.
    fn follow(&mut self, ends: Ends, before: &Run<M::Mark>, after: &Run<M::Mark>) -> Found<()> {
        let mut equal = None;
        let mut is_false = false;
        let pairs: SmallVec<[Pair; 2]> = match ends {
            Ends::Cut => SmallVec::from_slice(&[(before.place, after.place)]),
            Ends::Both(Step::End, Step::End) => return Ok(()),
            Ends::Both(
                Step::Branch { condition, places },
                Step::Branch { condition: other, places: new },
            ) => {
                if condition != other {
                    let [condition, other] = [condition, other].map(|term| self.terms.show(term));
                    return Err((None, format!("the condition {condition}\nbecame {other}")));
                }
                let compared = self.machine.equal_if(&self.terms, condition);
                is_false = compared.is_some_and(|(a, b)| self.are_apart(a, b));
                equal = compared.filter(|&(a, b)| self.is_address(a, b));
                [(places[0], new[0]), (places[1], new[1])].into_iter().collect()
            }
            Ends::Both(
                Step::Switch { selector, places, is_clamped },
                Step::Switch { selector: other, places: new, is_clamped: clamps },
            ) => {
                if selector != other {
                    let [selector, other] = [selector, other].map(|term| self.terms.show(term));
                    return Err((None, format!("the selector {selector}\nbecame {other}")));
                }
                switched((&places, is_clamped), (&new, clamps)).map_err(|what| (None, what))?
            }
            Ends::Both(..) => return Err((None, "the versions end in different ways".into())),
        };
        let state = State::new(&self.terms, (&before.values, &before.memory), (&after.values, &after.memory));
        // Where the condition leads that is false nobody comes: the stack is not probed to its end yet.
        for (at, &pair) in pairs.iter().enumerate().skip(is_false.into()) {
            match equal.filter(|_| at == 0) {
                Some(terms) => self.reach(pair, &self.with_equal(terms, before, after)),
                None => self.reach(pair, &state),
            }
        }
        Ok(())
    }

    /// Whether one of two terms is an address in the frame, and it is not known yet where the other is.
    fn is_address(&self, a: Term, b: Term) -> bool {
        self.terms.as_frame(a).is_some() != self.terms.as_frame(b).is_some()
    }

    /// Whether two terms are different addresses in the frame.
    fn are_apart(&self, a: Term, b: Term) -> bool {
        let places = self.terms.as_frame(a).zip(self.terms.as_frame(b));
        places.is_some_and(|(a, b)| a != b)
    }

    /// The state if two terms are equal: the stack is probed up to a known place.
    fn with_equal(&self, (a, b): (Term, Term), before: &Run<M::Mark>, after: &Run<M::Mark>) -> State {
        let (unknown, known) = if self.terms.as_frame(a).is_some() { (b, a) } else { (a, b) };
        let replaced = |values: &[Term]| -> Vec<Term> {
            values.iter().map(|&value| if value == unknown { known } else { value }).collect()
        };
        let (old, new) = (replaced(&before.values), replaced(&after.values));
        State::new(&self.terms, (&old, &before.memory), (&new, &after.memory))
    }

    fn reach(&mut self, pair: Pair, state: &State) {
        let is_new = match self.nodes.get_mut(&pair) {
            Some(known) => known.meet(state),
            None => {
                self.nodes.insert(pair, state.clone());
                true
            }
        };
        if is_new {
            self.work.insert(pair);
        }
    }
}

/// Whether two events that are alike store to the same address, and nothing else is seen of it.
fn are_same_store<M>(old: &Event<M>, new: &Event<M>) -> bool {
    matches!(old.what, What::Store(_)) && old.values.len() == 2 && old.values[0] == new.values[0]
}

/// Whether a store to the frame is written over before anybody may read it. Cranelift makes zero by `xor` of a register
/// that holds just anything, which the register allocator may spill before.
fn is_dead<M>(run: &Run<M>, store: &Event<M>) -> bool {
    run.memory.is_dead(store.accesses)
}

/// How a segment ends.
enum Ends {
    Cut,
    Both(Step, Step),
}

/// What was found, or where both versions differ, if that is not where they are, and how.
type Found<T> = Result<T, (Option<Pair>, String)>;

/// Where the same selector leads to in both versions.
fn switched(
    (old, clamps): (&[Place], bool),
    (new, new_clamps): (&[Place], bool),
) -> Result<SmallVec<[Pair; 2]>, String> {
    // A version that does not clamp has a place for each number that the selector may be.
    let count = match (clamps, new_clamps) {
        (true, true) => old.len().max(new.len()),
        (true, false) => new.len(),
        (false, true) => old.len(),
        (false, false) if old.len() == new.len() => old.len(),
        _ => return Err("the jump tables have different lengths".into()),
    };
    let place = |places: &[Place], at: usize| places[at.min(places.len() - 1)];
    let mut pairs: Vec<Pair> = (0..count).map(|at| (place(old, at), place(new, at))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs.into_iter().collect())
}
