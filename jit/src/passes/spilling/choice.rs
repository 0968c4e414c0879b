//! Chooses the values to spill.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::Block;

use super::flow::Flow;
use super::life::{Class, Life, Lives};
use super::traffic::{Planner, Traffic};
use super::{Preserved, is_constant};

/// One access for each call that gains a register, as a [`ratio`].
pub(super) const ONE_ACCESS: u64 = 1 << 10;
/// The number of calls examined for all values together. Beyond it, some values are not chosen.
const MOST_STEPS: usize = 1 << 24;

/// A spilled value, and its spill code.
pub(super) struct Chosen<'a> {
    pub life: &'a Life,
    pub traffic: Traffic,
}

/// Chooses values to spill until registers for the others suffice across each call, or more would cost too much. The
/// lowest cost per gain comes first; a gain of earlier values does not count again.
pub(super) fn choose<'a>(
    context: &Context,
    flow: &Flow,
    lives: &'a Lives,
    frequencies: &SecondaryMap<Block, f32>,
    preserved: Preserved,
) -> Vec<Chosen<'a>> {
    let mut chosen = Vec::new();
    let mut planner = Planner::new(context, flow, lives, frequencies);
    let mut plan = |life: &Life| planner.plan(life, is_constant(&context.func, life.value));
    for class in [Class::Integer, Class::Float] {
        let mut calls = Calls::new(context, lives, frequencies, class, preserved.of_class(class));
        let mut plans: Vec<Option<Traffic>> = Vec::new();
        let mut left = BinaryHeap::new();
        for (at, life) in lives.all.iter().enumerate() {
            let gain = if life.class == class { calls.gain(life) } else { 0.0 };
            let traffic = if gain > 0.0 { plan(life) } else { None };
            left.extend(traffic.iter().map(|traffic| Reverse((ratio(traffic.cost, gain), at))));
            plans.push(traffic);
        }
        while let Some(Reverse((before, at))) =
            left.pop().filter(|Reverse((ratio, _))| *ratio <= preserved.most_cost)
        {
            let (life, traffic) = (&lives.all[at], &mut plans[at]);
            let now = traffic.as_ref().map_or(before, |traffic| ratio(traffic.cost, calls.gain(life)));
            if now > before {
                left.push(Reverse((now, at)));
                continue;
            }
            calls.relieve(life);
            chosen.extend(traffic.take().map(|traffic| Chosen { life, traffic }));
        }
    }
    chosen
}

/// Returns the cost of a value per gain: frame accesses for each call.
fn ratio(cost: f64, gain: f64) -> u64 {
    // An empty sum is -0.
    if gain > 0.0 { (cost / gain * ONE_ACCESS as f64) as u64 } else { u64::MAX }
}

/// The calls of a function, and the number of values of a class that are live across each.
struct Calls {
    /// The frequency of each call.
    frequencies: Vec<f32>,
    alive: Vec<u32>,
    /// The number of values that may be live across a call.
    most: u32,
    steps_left: usize,
}

impl Calls {
    fn new(
        context: &Context,
        lives: &Lives,
        frequencies: &SecondaryMap<Block, f32>,
        class: Class,
        most: u32,
    ) -> Calls {
        let blocks = context.func.layout.blocks();
        let frequencies =
            blocks.flat_map(|block| lives.calls_in(block).map(move |_| frequencies[block])).collect();
        Calls { frequencies, alive: lives.pressure(class), most, steps_left: MOST_STEPS }
    }

    /// Returns the total frequency of calls that a value is live across together with too many others.
    fn gain(&mut self, life: &Life) -> f64 {
        let steps: usize = life.calls.iter().map(ExactSizeIterator::len).sum();
        let Some(left) = self.steps_left.checked_sub(steps) else {
            self.steps_left = 0;
            return 0.0;
        };
        self.steps_left = left;
        let over = candidates(life).filter(|&call| self.alive[call] > self.most);
        over.map(|call| f64::from(self.frequencies[call])).sum()
    }

    /// Records that a value is no longer live across its calls.
    fn relieve(&mut self, life: &Life) {
        candidates(life).for_each(|call| self.alive[call] -= 1);
    }
}

/// Returns the calls across which a value is live.
fn candidates(life: &Life) -> impl Iterator<Item = usize> {
    life.calls.iter().flat_map(|calls| calls.start as usize..calls.end as usize)
}
