//! Vectorised loops: rounds of a simple counted loop, side by side in vector registers.
//!
//! Input: an optimised function, and headers of loops in it that are thought to be worth it. Output: the same function,
//! in which such a loop has a copy before it that does most of its rounds with vectors of 16 bytes, if a *guard* finds
//! when it is entered that this makes no difference; and what became of each.
//!
//! Theory. A loop of one block that counts ([`round`]) and does nothing but load, compute and store at addresses that
//! move by constants ([`access`]) is a function of memory and of its parameters. Its rounds are divided into *windows*
//! of as many as fill vectors ([`pack`]). The guard ([`code`]) tests that
//! 1. at least one round more than those of the windows is certain to come, so that the loop itself does the last ones,
//!    and values that live on behind it are its own;
//! 2. no index wraps and all accesses of the windows are within memory: none traps, so that nobody can see memory in
//!    the middle of a window. Rounds that would trap are done by the loop, in order;
//! 3. bytes that one class of accesses stores are not accessed by another: so a window may load all before it stores.
//!
//! Then the windows leave memory as their rounds would, bit for bit: each lane is computed by the instructions of its
//! round, in their order; nothing is reassociated. What is between two stores of other threads' memory could be seen:
//! shared memories are left out by those who choose the loops. Checks, polls and counters are no part of such a block:
//! a loop that has them in each round is left as it is, so what they mean is not touched. In a strip-mined loop the
//! rounds are those of a strip, which its check has counted.
//!
//! The products of `validate::clif` cannot prove this pass, which is not one of its kind: it is part of the code that
//! later passes are proven to preserve. Oracle: `vm/tests/code/vectors.rs`, and `spec-tests` with loops of this kind.

mod access;
mod code;
mod linear;
mod pack;
mod round;

use cranelift_codegen::Context;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::{Block, Function, Inst};

use crate::clif::resolve_aliases;
use crate::code::{Lanes, NoVectors as Refusal};
use access::Accesses;
use pack::Window;
use round::Round;

/// Vectorises loops where possible; returns what became of each, in order.
pub(crate) fn vectorize(context: &mut Context, headers: &[Block]) -> Vec<Result<Lanes, Refusal>> {
    resolve_aliases(&mut context.func);
    if headers.is_empty() {
        return Vec::new();
    }
    // What is made for one loop never leads to another.
    let graph = ControlFlowGraph::with_function(&context.func);
    let all: Vec<_> =
        headers.iter().map(|&header| vectorize_loop(&mut context.func, header, &graph)).collect();
    if all.iter().any(Result::is_ok) {
        context.flowgraph();
        context.compute_loop_analysis();
    }
    all
}

fn vectorize_loop(func: &mut Function, header: Block, graph: &ControlFlowGraph) -> Result<Lanes, Refusal> {
    if !func.layout.is_block_inserted(header) {
        return Err(Refusal::Shape);
    }
    let round = Round::new(func, header)?;
    let is_count = |&(param, next): &(_, _)| next == param || round.step(func, param).is_some();
    if !round.carried.iter().all(is_count) {
        return Err(Refusal::Carried);
    }
    let accesses = Accesses::new(func, &round)?;
    let window = Window::new(func, &round, &accesses)?;
    let ends: Vec<Inst> = graph.pred_iter(header).map(|from| from.inst).collect();
    code::write(func, (&round, &ends), &accesses, &window);
    Ok(Lanes { lanes: window.lanes, rounds: window.rounds })
}
