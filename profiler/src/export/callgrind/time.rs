//! Sampled time in callgrind's terms: costs and calls by function, with functions that are inlined.
//!
//! Input: sampled stacks, and the functions inlined at each place. Output: for each function the time at its places, and
//! the inclusive time of the calls at its places.
//! Invariant: the times of all places add up to the total. A call of a function that is already on the stack leads back to
//! the first one, as in calling context trees, so that a function's own time and that of its calls count nothing twice.

use std::collections::BTreeMap;

use super::super::{CodeMap, Frame};
use crate::{Callee, Profile, TimeProfile};

/// A function by which readers tell it from others: its file and its name.
pub type Function = (String, String);

/// A place in a function's code, which may come from another file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub file: String,
    pub offset: u32,
    pub line: u32,
}

/// The time of a function, in nanoseconds.
#[derive(Debug, Default)]
pub struct FunctionTime {
    /// Time at the places themselves.
    pub own: BTreeMap<Position, u64>,
    /// Inclusive time of calls by their places and callees.
    pub calls: BTreeMap<(Position, Function), u64>,
}

impl FunctionTime {
    /// Removes the calls of a function at an offset, and returns their inclusive time.
    pub fn take_call(&mut self, offset: u32, callee: &Function) -> u64 {
        let mut taken: u64 = 0;
        self.calls.retain(|(at, called), time_ns| {
            let is_it = at.offset == offset && called == callee;
            taken = taken.saturating_add(if is_it { *time_ns } else { 0 });
            !is_it
        });
        taken
    }
}

/// Returns the time of each function that was on a stack.
pub fn by_function(
    time: &TimeProfile,
    profile: &Profile,
    code: &CodeMap,
) -> BTreeMap<Function, FunctionTime> {
    let mut sums = Sums::default();
    let mut innermost: Vec<(usize, Position)> = Vec::with_capacity(time.nodes.len());
    for (at, node) in time.nodes.iter().enumerate() {
        let mut caller = node.caller.map(|caller| innermost[caller as usize].clone());
        for (function, position) in places(time.callee(at), node.offset, profile, code) {
            caller = Some((sums.enter(caller, function), position));
        }
        let (stack, position) = caller.expect("a node is at least one function");
        sums.add_own(stack, &position, node.own.time_ns);
        innermost.push((stack, position));
    }
    sums.by_function()
}

/// The function that runs at a place, then those that are inlined there, outermost first.
fn places(callee: &Callee, offset: u32, profile: &Profile, code: &CodeMap) -> Vec<(Function, Position)> {
    let frame = Frame::of_place(callee, offset, profile, code);
    let function = of_frame(&frame);
    if !matches!(callee, Callee::Function { .. }) {
        let position = Position { file: function.0.clone(), ..Position::default() };
        return vec![(function, position)];
    }
    let (file, line) = code.place_in_function(offset).unwrap_or_else(|| (function.0.clone(), 0));
    let mut places = vec![(function, Position { file, offset, line })];
    for frame in code.inlined.get(&offset).into_iter().flatten().rev() {
        let function = of_frame(frame);
        let line = frame.place.as_ref().map_or(0, |&(_, line)| line);
        places.push((function.clone(), Position { file: function.0, offset, line }));
    }
    places
}

/// Returns the function of a frame.
pub fn of_frame(frame: &Frame) -> Function {
    let file = frame.place.as_ref().map_or("???", |(file, _)| file.as_str());
    (file.to_owned(), frame.name.clone())
}

#[derive(Default)]
struct Sums {
    /// Callers come before their callees.
    stacks: Vec<Stack>,
    own: BTreeMap<Function, BTreeMap<Position, u64>>,
}

struct Stack {
    /// The stack that called the function, and where; none if the host did.
    caller: Option<(usize, Position)>,
    function: Function,
    own: u64,
}

impl Sums {
    /// Returns the stack with a function on top of another, or the one that it leads back to.
    fn enter(&mut self, caller: Option<(usize, Position)>, function: Function) -> usize {
        let mut above = caller.as_ref().map(|&(at, _)| at);
        while let Some(at) = above {
            if self.stacks[at].function == function {
                return at;
            }
            above = self.stacks[at].caller.as_ref().map(|&(at, _)| at);
        }
        self.stacks.push(Stack { caller, function, own: 0 });
        self.stacks.len() - 1
    }

    fn add_own(&mut self, stack: usize, position: &Position, time_ns: u64) {
        if time_ns > 0 {
            let stack = &mut self.stacks[stack];
            stack.own = stack.own.saturating_add(time_ns);
            let own = self.own.entry(stack.function.clone()).or_default();
            let sum = own.entry(position.clone()).or_default();
            *sum = sum.saturating_add(time_ns);
        }
    }

    fn by_function(self) -> BTreeMap<Function, FunctionTime> {
        let mut inclusive: Vec<u64> = self.stacks.iter().map(|stack| stack.own).collect();
        let mut functions: BTreeMap<Function, FunctionTime> = BTreeMap::new();
        for (at, stack) in self.stacks.iter().enumerate().rev() {
            functions.entry(stack.function.clone()).or_default();
            let Some((caller, site)) = &stack.caller else { continue };
            inclusive[*caller] = inclusive[*caller].saturating_add(inclusive[at]);
            let calling = functions.entry(self.stacks[*caller].function.clone()).or_default();
            let sum = calling.calls.entry((site.clone(), stack.function.clone())).or_default();
            *sum = sum.saturating_add(inclusive[at]);
        }
        for (function, own) in self.own {
            functions.entry(function).or_default().own = own;
        }
        functions
    }
}
