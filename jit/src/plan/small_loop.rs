//! Small loops, which are worth unrolling.
//!
//! Input: a function. Output: its small loops, and the number of copies of each: see `graph/unroll.rs`.

use wasmparser::BinaryReaderError;
use wprof_profiler::{BlockId, EdgeId, Loop, LoopId};

use super::{Countdown, RoundPath, TripCounts};
use crate::cfg::{Cfg, Operators, Target, is_left_at};
use crate::events::{EventModel, executed, is_dynamic};
use crate::module::ModuleInfo;

/// The maximum number of copies: beyond it the rest of a round's overhead is lost in the round itself.
const MOST_COPIES: u32 = 4;
/// The maximum number of instructions of all copies of a loop, to bound code growth; a round with more than half of it
/// hides the overhead of a round.
const MOST_INSTRUCTIONS: u32 = 160;

/// A loop worth unrolling: an innermost one, with one back edge and without calls and bulk operations, which is not the
/// remainder loop of a loop that a compiler has unrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallLoop {
    /// The blocks, ascending; the first one is the header.
    pub blocks: Vec<u32>,
    /// The back edge: its block, and its number there.
    pub latch: (u32, u32),
    /// The back edge, by its number in the function.
    pub latch_id: EdgeId,
    /// The number of copies to make.
    pub copies: u32,
    /// The kind of events that has a budget, and the maximum that all rounds but the first take of it.
    pub metered: Option<(u32, u64)>,
    /// The path of the rounds, if paths are counted. Loops with several are not unrolled then.
    pub path: Option<RoundPath>,
    /// The test by which a counted loop continues, if there are no paths or budgets.
    pub countdown: Option<Countdown>,
}

impl SmallLoop {
    /// Finds the small loops of a function, given the kind of events that has a budget, if any.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
    pub fn all(
        info: &ModuleInfo,
        cfg: &Cfg,
        metered: Option<(u32, &EventModel)>,
    ) -> Result<Vec<SmallLoop>, BinaryReaderError> {
        if !cfg.blocks.iter().any(|block| block.is_loop_header) {
            return Ok(Vec::new());
        }
        let (loops, trips) = (cfg.loops(), TripCounts::new(info, cfg));
        let innermost = loops.iter().filter(|(id, found)| !found.irreducible && loops.is_innermost(*id));
        let mut small = Vec::new();
        for (id, found) in innermost {
            let Some(mut found) = SmallLoop::new(cfg, id, found) else { continue };
            if found.is_left(info, cfg)? || trips.is_remainder(id, BlockId(found.latch.0))? {
                continue;
            }
            if let Some((kind, model)) = metered {
                let most = found.most_events(info, cfg, model)?;
                found.metered = Some((kind, most.saturating_mul(u64::from(found.copies) - 1)));
            } else {
                found.countdown = trips.countdown(id, BlockId(found.latch.0))?;
            }
            small.push(found);
        }
        Ok(small)
    }

    fn new(cfg: &Cfg, id: LoopId, found: &Loop) -> Option<SmallLoop> {
        let (shape, loops) = (cfg.shape(), cfg.loops());
        let mut blocks: Vec<u32> = loops.blocks(id).iter().map(|block| block.0).collect();
        blocks.sort_unstable();
        let ops: u32 = blocks.iter().map(|&block| cfg.blocks[block as usize].ops.max(1)).sum();
        let copies = MOST_COPIES.min(MOST_INSTRUCTIONS / ops);
        let &[latch_id] = loops.back_edges(shape, id).as_slice() else { return None };
        if copies < 2 || blocks[0] != found.header.0 {
            return None;
        }
        let from = shape.edge(latch_id).from;
        let first = shape.out_edges(from)[0];
        Some(SmallLoop {
            blocks,
            latch: (from.0, latch_id.0 - first.0),
            latch_id,
            copies,
            metered: None,
            path: None,
            countdown: None,
        })
    }

    /// Reports whether a round may leave the machine code of the loop, and so be observed from outside, or may take
    /// long by itself.
    fn is_left(&self, info: &ModuleInfo, cfg: &Cfg) -> Result<bool, BinaryReaderError> {
        for block in self.blocks.iter().map(|&block| &cfg.blocks[block as usize]) {
            let mut operators = Operators::new(info, block.start, block.limit);
            while let Some((op, _)) = operators.next()? {
                if is_left_at(&op) || is_dynamic(&op) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the maximum number of events in a round.
    fn most_events(
        &self,
        info: &ModuleInfo,
        cfg: &Cfg,
        model: &EventModel,
    ) -> Result<u64, BinaryReaderError> {
        let models = std::slice::from_ref(model);
        let place = |block: u32| self.blocks.binary_search(&block).ok();
        let mut most = vec![0_u64; self.blocks.len()];
        // Inside a round all edges lead forward.
        for (index, &block) in self.blocks.iter().enumerate() {
            let events = executed(info, cfg, block, u32::MAX, models)?[0];
            most[index] = most[index].saturating_add(events);
            for edge in &cfg.blocks[block as usize].edges {
                if let Target::Block(to) = edge.target
                    && let Some(next) = place(to).filter(|&next| next > index)
                {
                    most[next] = most[next].max(most[index]);
                }
            }
        }
        let latch = place(self.latch.0).expect("it is in the loop");
        Ok(most[latch].saturating_add(model.back_edge))
    }
}
