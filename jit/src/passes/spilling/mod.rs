//! Values that too many calls would take along: kept in the frame, and read back behind calls.
//!
//! A call leaves few registers as they were. Where more values wait for its end than there are such registers,
//! Cranelift's register allocator divides the life of one of them, and after two tries it does so at each use: a
//! value that a large function needs everywhere, as the address of its memory, is then read from the frame by nearly
//! every instruction. So here some values get a place in the frame that is written once, and what needs them takes
//! what was read there behind the last call.
//!
//! Input: an optimised function with its flow graph and dominators, without aliases. Output: the same, in which no
//! more values than there are registers are alive across a call, as far as that pays.
//! Invariant: what takes a value takes it itself, or what was read from its place, which nothing else is written to
//! while the value is alive.
//! Source: Belady's rule as in Braun & Hack, CC 2009, for calls alone, and without moving stores; places are shared
//! as registers are by Poletto & Sarkar, TOPLAS 21(5), 1999.

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

/// How many registers calls leave as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preserved {
    integers: u32,
    floats: u32,
    /// What a value in the frame may cost at most: see [`choice::ratio`].
    most_cost: u64,
}

/// A write and a read for each call that gets a register: what the register allocator would do there.
const MOST_COST: u64 = 2 * choice::ONE_ACCESS;

/// In functions with fewer calls the register allocator does well: vcall's would execute 2% more instructions, json's
/// with counters of edges 1%.
const LEAST_CALLS: usize = 16;

/// What gains nothing is dearer.
const AT_ANY_COST: u64 = u64::MAX - 1;

impl Preserved {
    /// By functions of the `tail` and of the system's convention, given how many integers should be alive across calls;
    /// `None` if that is not known of a machine.
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

/// Keeps values in the frame that would be alive across calls with more others than are `preserved`.
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
