//! The product walk: both versions of the code side by side, segment by segment.
//!
//! Input: a [`Machine`] that executes instructions of either version on terms, the entries of both, and hints.
//! Output: nothing, or the first [`Mismatch`]. A node is a pair of places, one in each version. From a node both
//! versions are executed on terms until they branch, end, or reach a pair of places that the hints name. Their events
//! must be the same one by one. The successor nodes receive the equalities known by then; where paths meet, only
//! equalities that hold on all of them remain. A call that an exception may leave is no end: its [`Exit`] is one more
//! successor.
//! Invariant: a hint may be wrong. It only says where to cut, and a cut at a wrong pair can only lead to a mismatch.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::memory::{Memory, SharedPart, Slot};
use super::state::State;
use super::terms::{Args, FRAME, Term, Terms};

/// A place in the code.
pub(crate) type Place = u32;

/// One of the two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// A processor that executes instructions on terms.
pub(crate) trait Machine {
    /// The table entries of a place in the code, which must be the same in both versions.
    type Mark: PartialEq + Clone + std::fmt::Debug;

    /// Returns the number of locations for values.
    fn locations(&self) -> usize;

    /// Returns two terms that are equal if a condition is true, if the condition implies that.
    fn equal_if(&self, terms: &Terms, condition: Term) -> Option<(Term, Term)>;

    /// Executes the next instruction; for the new version, `peer` holds the events of the old one.
    fn step(
        &self,
        side: Side,
        terms: &mut Terms,
        run: &mut SymbolicRun<Self::Mark>,
        peer: &[Event<Self::Mark>],
    ) -> Result<Step, String>;

    /// Returns an upper bound of a version's number of instructions: a longer segment never ends.
    fn longest(&self) -> u32;

    /// Returns the location of the stack pointer.
    fn stack_pointer(&self) -> usize;

    /// Returns the part of the frame that is not private to the new version; `None` if nothing is private.
    fn shared_part(&self) -> Option<SharedPart> {
        None
    }

    /// Returns the values that the function gets in the frame: where each lies, and the location in which the old
    /// version has it from the beginning. Other locations from [`locations_of_both`](Machine::locations_of_both) on hold
    /// nothing.
    fn on_stack(&self) -> Vec<(i64, usize)> {
        Vec::new()
    }

    /// Returns the number of locations that both versions have: the old one may have more.
    fn locations_of_both(&self) -> usize {
        self.locations()
    }
}

/// An observable event.
#[derive(Clone, Debug)]
pub(crate) struct Event<M> {
    pub what: What,
    pub values: Args,
    pub mark: M,
    pub place: Place,
    /// The number of accesses to the frame up to the event.
    pub accesses: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Stores that many bytes; the values are the address, the stored value, and the state that a trap would show.
    Store(u32),
    /// Loads that many bytes and may trap; the values are the address, and the state that a trap would show.
    Load(u32),
    /// Another instruction that may trap, or has effects; the values are its operands, and the state that a trap would
    /// show.
    Other(u32),
    /// A call, with the number of its convention; the values are the target and all that the callee may read.
    Call(u32),
    TailCall(u32),
    /// A return, which pops that many bytes off the stack; the values are those that the caller may read.
    Return(u32),
    Trap,
}

/// A place where control may continue instead of behind a call, with the state there.
#[derive(Clone)]
pub(crate) struct Exit {
    /// The number of the call among the events.
    pub event: u32,
    pub place: Place,
    pub values: Vec<Term>,
    pub memory: Memory,
}

/// The execution of one version in a segment.
pub(crate) struct SymbolicRun<M> {
    pub place: Place,
    pub values: Vec<Term>,
    pub memory: Memory,
    pub events: Vec<Event<M>>,
    /// The exits of calls, in their order.
    pub exits: Vec<Exit>,
    /// The number of executed instructions.
    pub steps: u32,
}

/// The continuation behind an instruction.
pub(crate) enum Step {
    /// Continues at the next instruction.
    On,
    /// Ends: the instruction's event was the last.
    End,
    /// Waits until it is known what the other version does.
    Wait,
    /// Continues at the first place if the condition is true, otherwise at the second.
    Branch { condition: Term, places: [Place; 2] },
    /// Continues at the place with the selector's number; at the last place if there are fewer and it `is_clamped`.
    Switch { selector: Term, places: Vec<Place>, is_clamped: bool },
}

/// A difference between the versions.
#[derive(Debug)]
pub(crate) struct Mismatch {
    /// The start of the segment, and the place of the difference; in both versions.
    pub begin: (Place, Place),
    pub found: (Place, Place),
    pub what: String,
}

/// The amount of work of a walk.
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
    /// The nodes to be executed, in the order of the old code.
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
    let shared = machine.locations_of_both();
    let mut values: Vec<Term> = (0..shared).map(|_| terms.symbol(u64::MAX, false)).collect();
    values.resize(machine.locations(), terms.constant(0));
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
    /// Enters both versions: each location holds the same value in both, and the stack pointer is the top of the frame.
    fn enter(&mut self, entry: Pair, mut values: Vec<Term>) {
        values[self.machine.stack_pointer()] = FRAME;
        let (mut before, mut memory) = (values.clone(), Memory::default());
        for (offset, location) in self.machine.on_stack() {
            before[location] = self.terms.symbol(u64::MAX, false);
            memory.slots.push(Slot { offset, bytes: 8, value: before[location] });
        }
        let state = State::new(&self.terms, (&before, &memory), (&values, &memory));
        self.nodes.insert(entry, state);
        self.work.insert(entry);
    }

    /// Executes both versions from a node on, and compares them.
    fn segment(&mut self, pair: Pair) -> Result<(), Mismatch> {
        self.done.segments += 1;
        let state = self.nodes[&pair].clone();
        let (before, after, memory) = state.terms(&mut self.terms);
        let memory = memory.with_shared_part(self.machine.shared_part());
        let run = |place, values, memory| {
            let (events, exits) = (Vec::new(), Vec::new());
            SymbolicRun { place, values, memory, events, exits, steps: 0 }
        };
        let mut before = run(pair.0, before, memory.clone().without_private());
        let mut after = run(pair.1, after, memory);
        let found = self.execute(pair, &mut before, &mut after).and_then(|end| {
            self.compare_events(&before, &after)?;
            self.follow_exits(&before, &after)?;
            before.memory = std::mem::take(&mut before.memory).without_private();
            self.follow(end, &before, &after)
        });
        found.map_err(|(places, what)| Mismatch {
            begin: pair,
            found: places.unwrap_or((before.place, after.place)),
            what,
        })
    }

    /// Executes both versions to the first cut, or to their ends.
    fn execute(
        &mut self,
        from: Pair,
        before: &mut SymbolicRun<M::Mark>,
        after: &mut SymbolicRun<M::Mark>,
    ) -> Found<Ends> {
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

    /// Executes the new version up to a place, or until it has more events than the old one. If it `must_step`, it
    /// executes at least one instruction: otherwise two versions in different endless loops would count as the same.
    fn run_to(
        &mut self,
        after: &mut SymbolicRun<M::Mark>,
        before: &SymbolicRun<M::Mark>,
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

    fn step_after(
        &mut self,
        after: &mut SymbolicRun<M::Mark>,
        before: &SymbolicRun<M::Mark>,
    ) -> Found<Option<Step>> {
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

    /// Executes one instruction; returns the end of the segment if the instruction ends it.
    fn step(
        &mut self,
        side: Side,
        run: &mut SymbolicRun<M::Mark>,
        peer: &[Event<M::Mark>],
    ) -> Found<Option<Step>> {
        self.done.steps += 1;
        run.steps += 1;
        match self.machine.step(side, &mut self.terms, run, peer).map_err(|what| (None, what))? {
            Step::On => Ok(None),
            step => Ok(Some(step)),
        }
    }

    fn compare_events(&self, before: &SymbolicRun<M::Mark>, after: &SymbolicRun<M::Mark>) -> Found<()> {
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

    /// Propagates the states at the exits of calls.
    fn follow_exits(&mut self, before: &SymbolicRun<M::Mark>, after: &SymbolicRun<M::Mark>) -> Found<()> {
        let calls = |run: &SymbolicRun<M::Mark>| run.exits.iter().map(|exit| exit.event).collect::<Vec<_>>();
        if calls(before) != calls(after) {
            return Err((None, "an exception leaves a call in only one version".into()));
        }
        for (old, new) in before.exits.iter().zip(&after.exits) {
            let memory = old.memory.clone().without_private();
            let state = State::new(&self.terms, (&old.values, &memory), (&new.values, &new.memory));
            self.reach((old.place, new.place), &state);
        }
        Ok(())
    }

    /// Propagates the state to the successors of a segment.
    fn follow(
        &mut self,
        ends: Ends,
        before: &SymbolicRun<M::Mark>,
        after: &SymbolicRun<M::Mark>,
    ) -> Found<()> {
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
        // The edge of a condition that is false is never taken: the stack is not probed to its end yet.
        for (at, &pair) in pairs.iter().enumerate().skip(is_false.into()) {
            match equal.filter(|_| at == 0) {
                Some(terms) => self.reach(pair, &self.with_equal(terms, before, after)),
                None => self.reach(pair, &state),
            }
        }
        Ok(())
    }

    /// Reports whether one of two terms is a known address in the frame, and the other is not known yet.
    fn is_address(&self, a: Term, b: Term) -> bool {
        self.terms.as_frame(a).is_some() != self.terms.as_frame(b).is_some()
    }

    /// Reports whether two terms are different addresses in the frame.
    fn are_apart(&self, a: Term, b: Term) -> bool {
        let places = self.terms.as_frame(a).zip(self.terms.as_frame(b));
        places.is_some_and(|(a, b)| a != b)
    }

    /// Returns the state if two terms are equal: the stack is probed up to a known place.
    fn with_equal(
        &self,
        (a, b): (Term, Term),
        before: &SymbolicRun<M::Mark>,
        after: &SymbolicRun<M::Mark>,
    ) -> State {
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

/// Reports whether two events of the same kind are stores to the same address, with no other observable values.
fn are_same_store<M>(old: &Event<M>, new: &Event<M>) -> bool {
    matches!(old.what, What::Store(_)) && old.values.len() == 2 && old.values[0] == new.values[0]
}

/// Reports whether a store to the frame is overwritten before other code may read it. Cranelift makes zero by `xor` of
/// a register with an arbitrary value, which the register allocator may spill before.
fn is_dead<M>(run: &SymbolicRun<M>, store: &Event<M>) -> bool {
    run.memory.is_dead(store.accesses)
}

/// The end of a segment.
enum Ends {
    Cut,
    Both(Step, Step),
}

/// The result, or a difference: its places, if they differ from the current ones, and a description.
type Found<T> = Result<T, (Option<Pair>, String)>;

/// Returns the pairs of places that the same selector leads to.
fn switched(
    (old, clamps): (&[Place], bool),
    (new, new_clamps): (&[Place], bool),
) -> Result<SmallVec<[Pair; 2]>, String> {
    // A version that does not clamp has a place for each possible value of the selector.
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
