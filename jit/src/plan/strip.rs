//! Strip-mined checks: loops that are checked once every several rounds, because their trip count is known in advance.
//!
//! Input: a function, and its checked headers. Output: those of their loops whose only exit is a test of a local and a
//! bound at their end ([`Countdown`]), except unrolled ones. Their code counts the checks of up to [`ROUNDS`] rounds at
//! once, and runs these rounds with a test that replaces the loop's own: see `translate/strip.rs`. So a round costs
//! nothing. Loops with calls are excluded: beside a call a check costs little; the time of its callees belongs to the
//! check before them, so that callers of expensive functions are seen as often as they run; and recursions make few
//! rounds in each frame. A loop with another exit may make one round each time it is entered; then the computation in
//! advance costs more than the checks, and rounds that never run would be counted.
//! Source: strip mining, as in Allen & Kennedy, *Optimizing Compilers for Modern Architectures*, 2001, 2.1; as used for
//! checks: the safepoints of HotSpot's counted loops.

use hashbrown::HashSet;
use wasmparser::BinaryReaderError;
use wprof_profiler::{BlockId, Loop, LoopId};

use super::{Countdown, SmallLoop, TripCounts};
use crate::cfg::{Call, Cfg, Operators, Target};
use crate::module::ModuleInfo;

/// The maximum number of rounds between two checks of a loop: small enough that a check comes soon, large enough that
/// the work done once for all of them is a small part of even the shortest rounds.
pub const ROUNDS: u32 = 64;

/// The maximum number of vectors between two checks of a loop that is vectorised: in front of each strip some sixty
/// instructions test whether its ranges of memory overlap, which 64 vectors do not hide.
pub const VECTORS: u32 = 256;

/// A loop that is checked once every several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// The loop header.
    pub header: u32,
    /// The test by which the loop continues, at the end of the block with its only back edge.
    pub countdown: Countdown,
}

impl Strip {
    /// Finds the strips of a function with checks at these loop headers, ascending, of which the `small` loops are
    /// unrolled.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn all(
        info: &ModuleInfo,
        cfg: &Cfg,
        headers: &[u32],
        small: &[SmallLoop],
    ) -> Result<Vec<Strip>, BinaryReaderError> {
        let (loops, trips) = (cfg.loops(), TripCounts::new(info, cfg));
        let unrolled: HashSet<u32> = small.iter().map(|found| found.blocks[0]).collect();
        let mut all = Vec::new();
        for &header in headers.iter().filter(|&header| !unrolled.contains(header)) {
            let Some(id) = loops.headed_by(BlockId(header)) else { continue };
            let Some(latch) = only_exit(cfg, id, loops.get(id)) else { continue };
            if has_calls(info, cfg, id)? {
                continue;
            }
            let countdown = trips.countdown(id, BlockId(latch))?;
            let at_end = countdown.filter(|countdown| countdown.block == latch);
            all.extend(at_end.map(|countdown| Strip { header, countdown }));
        }
        Ok(all)
    }
}

fn has_calls(info: &ModuleInfo, cfg: &Cfg, id: LoopId) -> Result<bool, BinaryReaderError> {
    for block in cfg.loops().blocks(id).iter().map(|block| &cfg.blocks[block.index()]) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, _)) = operators.next()? {
            if Call::new(&op).is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns the block with a loop's only back edge, which passes no operands, if the loop has no other exit except to
/// failing code.
pub(super) fn only_exit(cfg: &Cfg, id: LoopId, found: &Loop) -> Option<u32> {
    let (shape, loops) = (cfg.shape(), cfg.loops());
    let &[back] = loops.back_edges(shape, id).as_slice() else { return None };
    let latch = shape.edge(back).from.0;
    let stays = |target: &Target| match *target {
        Target::Block(to) => loops.contains(id, BlockId(to)) || cfg.blocks[to as usize].how.is_failure(),
        Target::Exit => false,
    };
    let others = loops.blocks(id).iter().filter(|block| block.0 != latch);
    let mut edges = others.flat_map(|block| &cfg.blocks[block.index()].edges);
    let takes_none =
        |edge: &crate::cfg::Edge| edge.target != Target::Block(found.header.0) || edge.arity == 0;
    let is_only = !found.irreducible && edges.all(|edge| stays(&edge.target));
    (is_only && cfg.blocks[latch as usize].edges.iter().all(takes_none)).then_some(latch)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Checks, Collection, FunctionPlan};
    use super::*;

    fn strips(body: &str) -> usize {
        let text = format!(
            "(module (func) (func (param $n i32) (loop $l {body}
                (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"
        );
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        let info = crate::module::parse(bytes).expect("valid module");
        let cfg = crate::cfg::build(&info, 1).expect("within limits");
        let headers: Vec<u32> = (0..cfg.blocks.len() as u32).filter(|&block| cfg.can_resume(block)).collect();
        Strip::all(&info, &cfg, &headers, &[]).expect("valid bytes").len()
    }

    #[test]
    fn loops_with_calls_are_checked_in_each_round() {
        assert_eq!(strips("(drop (i32.const 0))"), 1);
        assert_eq!(strips("(call 0)"), 0);
    }

    /// `vm/tests/code/strips.rs` counts rounds of loops like this one.
    #[test]
    fn loops_that_are_too_long_to_be_unrolled_are_strips() {
        let checks = Some(Checks::default());
        let collection = Collection { checks, ..Collection::default() };
        let planned = |times: usize| {
            let text = format!(
                "(module (func (param $n i32) (loop $l {}
                    (br_if $l (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const -3))) (i32.const 0))))))",
                "(drop (i32.const 0))".repeat(times)
            );
            let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
            let info = crate::module::parse(bytes).expect("valid module");
            let plan = FunctionPlan::new(&info, 0, &collection, 0).expect("within limits");
            (plan.loops.len(), plan.strips.len())
        };
        assert_eq!([planned(5), planned(40)], [(1, 0), (0, 1)]);
    }
}
