//! Spilling of values that are live across too many calls, with reloads behind the calls.
//!
//! Calls preserve few registers. Where more values are live across a call than there are callee-saved registers,
//! Cranelift's register allocator splits the live range of one of them, and after two tries it splits it at each use:
//! nearly every instruction of a large function then reads a value that is needed everywhere, such as the address of
//! its memory, from the frame. So this pass gives some values a place in the frame that is written once, and their
//! users take the value reloaded behind the last call.
//!
//! Input: an optimised function with its flow graph and dominators, without aliases. Output: the same function, in
//! which no more values are live across a call than there are registers, as far as that pays. Invariant: a user of a
//! value takes the value itself, or a reload from its place, to which nothing else is written while the value is live.
//! Source: Belady's rule as in Braun & Hack, CC 2009, for calls alone, and without moving stores; places are shared as
//! registers are by Poletto & Sarkar, TOPLAS 21(5), 1999.

mod choice;
mod flow;
mod frequency;
mod life;
mod places;
mod traffic;

use cranelift_codegen::Context;
use cranelift_codegen::ir::{Function, Value};

use super::constants;
use crate::code::Origins;
use crate::options::CompilerOptions;
use flow::Flow;
use life::{Class, Lives};

/// The numbers of callee-saved registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preserved {
    integers: u32,
    floats: u32,
    /// The maximum cost of a spilled value: see [`choice::ratio`].
    most_cost: u64,
}

/// A write and a read for each call that gains a register: the register allocator's own cost.
const MOST_COST: u64 = 2 * choice::ONE_ACCESS;

/// In functions with fewer calls the register allocator does well: with spilling, vcall would execute 2% more
/// instructions, json with counters of edges 1%.
const LEAST_CALLS: usize = 16;

/// Above any cost, except that of a value without a gain.
const AT_ANY_COST: u64 = u64::MAX - 1;

impl Preserved {
    /// Returns the numbers for functions of the `tail` and of the system's convention, given how many integers should
    /// be live across calls; `None` if that is not known for the machine.
    pub(crate) fn new(integers: Option<u32>, options: &CompilerOptions) -> Option<Preserved> {
        let (integers, most_cost) = match options.across_calls {
            None => (integers?, MOST_COST),
            Some(most) => (integers.map(|_| most)?, AT_ANY_COST),
        };
        Some(Preserved { integers, floats: 0, most_cost })
    }

    fn of_class(self, class: Class) -> u32 {
        match class {
            Class::Integer => self.integers,
            Class::Float => self.floats,
        }
    }
}

/// Spills values until no more than `preserved` are live across each call.
pub(super) fn relieve(context: &mut Context, preserved: Preserved, origins: &Origins) {
    let insts = context.func.layout.blocks().flat_map(|block| context.func.layout.block_insts(block));
    let calls = insts.filter(|&inst| constants::clobbers(&context.func, inst)).take(LEAST_CALLS).count();
    if calls < LEAST_CALLS && preserved.most_cost != AT_ANY_COST {
        return;
    }
    let flow = Flow::new(&context.cfg, &context.domtree);
    let Some(lives) = Lives::new(&context.func, &flow).filter(|lives| lives.exceeds(preserved)) else {
        return;
    };
    context.compute_loop_analysis();
    let frequencies = frequency::frequencies(context, &lives);
    let chosen = choice::choose(context, &flow, &lives, &frequencies, preserved);
    places::fill(&mut context.func, chosen, origins);
}

fn is_constant(func: &Function, value: Value) -> bool {
    func.dfg.value_def(value).inst().is_some_and(|inst| constants::is_constant(func, inst))
}

#[cfg(test)]
mod tests;
