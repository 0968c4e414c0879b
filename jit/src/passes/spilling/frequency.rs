//! Estimates of block frequencies.

use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function};

use super::life::Lives;

/// The expected number of rounds of a loop.
const ROUNDS: f32 = 8.0;
/// The weight of a cold successor, relative to one that is not cold.
const COLD: f32 = 1e-3;
/// The weight of a successor that calls: it often is the slow path (Ball & Larus, PLDI 1993: 78% are not taken).
const CALLS: f32 = 0.28;
/// The maximum frequency: beyond it the depth of a loop does not matter.
const MOST: f32 = 1e12;

/// Estimates how often each block runs per run of the function, from loops, branches and cold blocks. The caller has
/// computed the loop analysis.
pub(super) fn frequencies(context: &Context, lives: &Lives) -> SecondaryMap<Block, f32> {
    let (func, loops) = (&context.func, &context.loop_analysis);
    let mut frequencies: SecondaryMap<Block, f32> = SecondaryMap::new();
    // A block's frequency divided by the total weight of its successors; zero before the block is visited.
    let mut shares: SecondaryMap<Block, f32> = SecondaryMap::new();
    for &block in context.domtree.cfg_rpo() {
        let mut frequency = if func.layout.entry_block() == Some(block) { 1.0 } else { 0.0 };
        for from in context.cfg.pred_iter(block) {
            let left = levels(context, from.block).saturating_sub(levels(context, block));
            frequency += shares[from.block] * weight(func, lives, block) / ROUNDS.powi(left as i32);
        }
        if loops.is_loop_header(block).is_some() {
            frequency *= ROUNDS;
        }
        frequencies[block] = frequency.clamp(f32::MIN_POSITIVE, MOST);
        let weights: f32 = context.cfg.succ_iter(block).map(|to| weight(func, lives, to)).sum();
        shares[block] = frequencies[block] / weights;
    }
    frequencies
}

fn weight(func: &Function, lives: &Lives, block: Block) -> f32 {
    match () {
        () if func.layout.is_cold(block) => COLD,
        () if !lives.calls_in(block).is_empty() => CALLS,
        () => 1.0,
    }
}

fn levels(context: &Context, block: Block) -> usize {
    context.loop_analysis.loop_level(block).level()
}
