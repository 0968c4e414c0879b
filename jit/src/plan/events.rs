//! The events of a function: where it counts them, and the corrections for a frame that stops in it.
//!
//! Source: Ball, *Efficiently Counting Program Events with Support for On-line Queries*, TOPLAS 1994; the plans are
//! [`EventPlan`]s of the function's [`SplitCfg`].

use wasmparser::BinaryReaderError;
use wprof_profiler::{BlockId, EdgeId, EdgeWeights, EventPlan, EventTree};

use super::split::{Part, Place, SplitCfg};
use super::{Collection, Counting, Expected, Placement, Probe, SmallLoop, unrolled_weights};
use crate::cfg::{Cfg, Operators, is_structure};
use crate::events::{EventModel, sum};
use crate::module::ModuleInfo;

/// The events of one function.
#[derive(Clone, Debug)]
pub struct FunctionEvents {
    /// The graph of the plans.
    pub split: SplitCfg,
    /// The plans, by event kind.
    pub plans: Vec<EventPlan>,
    /// Instructions that count individually: block, byte offset, and the events of each kind. Only with
    /// [`Counting::PerInstruction`].
    pub steps: Vec<(u32, u32, Vec<u64>)>,
    metered: Option<u32>,
    /// Whether the budget is checked wherever code may be stopped.
    is_metered_everywhere: bool,
    /// See [`Collection::checks_as_fuel`].
    checks_as_fuel: bool,
    /// With [`Counting::Before`], where the program may stop: block, byte offset, and the metered counter's deficit
    /// there.
    stop: Option<(u32, u32, i64)>,
}

impl FunctionEvents {
    /// Plans the event kinds of `collection`, weighted by `expected`, for a function whose `loops` are unrolled.
    ///
    /// # Errors
    /// Fails if the bytes differ from the validated ones.
    pub fn new(
        info: &ModuleInfo,
        cfg: &Cfg,
        collection: &Collection,
        expected: &Expected,
        loops: &[SmallLoop],
    ) -> Result<FunctionEvents, BinaryReaderError> {
        let split = SplitCfg::new(info, cfg)?;
        let is_stepping = collection.counting == Counting::PerInstruction;
        let models = &collection.events;
        let steps = if is_stepping { steps(info, cfg, models)? } else { Vec::new() };
        let of_parts = match is_stepping {
            true => vec![vec![0; models.len()]; split.parts.len()],
            false => part_events(info, cfg, &split, models)?,
        };
        let events = edge_events(&split, models, &of_parts);
        let plans = match collection.counting {
            Counting::PerBlock => events.iter().map(|e| EventPlan::per_block(&split.shape, e)).collect(),
            Counting::PerInstruction => events.iter().map(|e| EventPlan::per_edge(&split.shape, e)).collect(),
            Counting::Chords | Counting::Before(_) => {
                let latches = loops.iter().map(|found| (split.edge_of(found.latch), found.copies));
                let weights = unrolled_weights(&split.shape, &expected.split(&split), latches);
                let tree = tree(cfg, &split, &weights, collection);
                events.iter().map(|e| tree.plan(e)).collect()
            }
        };
        let is_metered_everywhere = collection.is_checked_at_stops() && !is_stepping;
        let (metered, checks_as_fuel) = (collection.metered, collection.checks_as_fuel);
        let mut events = FunctionEvents {
            split,
            plans,
            steps,
            metered,
            is_metered_everywhere,
            checks_as_fuel,
            stop: None,
        };
        if let (Counting::Before(offset), Some(kind)) = (collection.counting, metered) {
            events.stop = events.stop_before(info, cfg, models, (offset, kind))?;
        }
        Ok(events)
    }

    /// Returns the block that contains the instruction at byte `offset`, if it is in the function, and the deficit of
    /// the counter of `kind` before it.
    fn stop_before(
        &self,
        info: &ModuleInfo,
        cfg: &Cfg,
        models: &[EventModel],
        (offset, kind): (u32, u32),
    ) -> Result<Option<(u32, u32, i64)>, BinaryReaderError> {
        let Some(block) = cfg.block_at(offset) else { return Ok(None) };
        let begins = &cfg.blocks[block as usize];
        let mut operators = Operators::new(info, begins.start, begins.limit);
        while let Some((_, at)) = operators.next()? {
            if at == offset {
                // The instruction itself has not begun.
                let owed = self.corrections(info, cfg, models, (block, offset - 1))?;
                return Ok(Some((block, offset, owed[kind as usize])));
            }
        }
        Ok(None)
    }

    /// Returns, by kind, the correction of each counter for a frame that was stopped before an instruction with
    /// [`Counting::Before`]; `None` at any other instruction.
    ///
    /// # Errors
    /// Fails if the bytes differ from the validated ones.
    pub fn owed_before(
        &self,
        info: &ModuleInfo,
        cfg: &Cfg,
        models: &[EventModel],
        place: (u32, u32),
    ) -> Result<Option<Vec<i64>>, BinaryReaderError> {
        let (Some((block, offset, owed)), Some(kind)) = (self.stop, self.metered) else { return Ok(None) };
        if place != (block, offset) {
            return Ok(None);
        }
        let mut sums = self.corrections(info, cfg, models, (block, offset - 1))?;
        let sum = &mut sums[kind as usize];
        *sum = sum.wrapping_sub(before_stop(owed));
        Ok(Some(sums))
    }

    /// Places the updates of the counters.
    pub(super) fn place(&self, to: &mut Placement) {
        for (plan, kind) in self.plans.iter().zip(0..) {
            for &(edge, amount) in &plan.increments {
                self.place_increment(to, edge, Probe::Event { kind, amount });
            }
            for &(part, amount) in &plan.around {
                // The edge before the part belongs to its call and is its only one.
                let call = self.split.shape.in_edges(part)[0];
                let Place::Call { block, call } = self.split.places[call.index()] else { continue };
                let inner = to.around(block, call);
                inner.before.push(Probe::Event { kind, amount });
                inner.after.push(Probe::Event { kind, amount: amount.wrapping_neg() });
            }
            for &(part, amount) in &plan.ends {
                for &edge in self.split.shape.out_edges(part) {
                    self.place_increment(to, edge, Probe::Event { kind, amount });
                }
            }
        }
    }

    /// Places per-instruction counts and budget checks, or the check of one instruction, if requested.
    pub fn place_steps(&self, to: &mut Placement) {
        if let (Some((block, offset, owed)), Some(kind)) = (self.stop, self.metered) {
            let amount = before_stop(owed);
            let there = [amount, amount.wrapping_neg()].map(|amount| Probe::Event { kind, amount });
            let [exact, as_it_was] = there;
            let probes = [exact, Probe::Budget(kind), as_it_was];
            to.around(block, offset).before.insert_many(0, probes);
        }
        for (block, offset, events) in &self.steps {
            let before = &mut to.around(*block, *offset).before;
            for (kind, &amount) in (0..).zip(events) {
                if amount != 0 {
                    before.push(Probe::Event { kind, amount: amount as i64 });
                }
            }
            before.extend(self.metered.map(Probe::Budget));
        }
    }

    /// Returns the places of budget checks after calls, if the budget is checked wherever code may be stopped.
    pub fn checked_calls(&self) -> Option<impl Iterator<Item = (u32, u32)>> {
        let most = if self.checks_as_fuel { 0 } else { usize::MAX };
        self.is_metered_everywhere.then(|| self.split.calls().take(most))
    }

    /// Reports whether the budget is also checked at the entry of a leaf.
    pub fn checks_leaves(&self) -> bool {
        self.checks_as_fuel
    }

    fn place_increment(&self, to: &mut Placement, edge: EdgeId, probe: Probe) {
        match self.split.places.get(edge.index()) {
            // The closing edge: at entry, before all other probes.
            None => to.entry().insert(0, probe),
            Some(&Place::Edge { block, edge }) => to.edge(block, edge).push(probe),
            Some(&Place::Call { block, call }) => to.around(block, call).before.push(probe),
        }
    }

    /// Returns, by kind, the correction of each counter, modulo 2^64, for a frame that stopped at the instruction at
    /// byte `offset` of `block`, which has begun. An offset before the block means that none of its instructions has
    /// begun.
    ///
    /// # Errors
    /// Fails if the bytes differ from the validated ones.
    pub fn corrections(
        &self,
        info: &ModuleInfo,
        cfg: &Cfg,
        models: &[EventModel],
        (block, offset): (u32, u32),
    ) -> Result<Vec<i64>, BinaryReaderError> {
        let position = self.split.position(block, offset);
        let part = BlockId(position.part);
        let mut sums: Vec<i64> = self
            .plans
            .iter()
            // The amount around the call has already been added before the call.
            .map(|plan| match position.at_call && plan.around.iter().any(|&(at, _)| at == part) {
                true => 0,
                false => plan.queries[part.index()],
            })
            .collect();
        if !position.at_call && self.steps.is_empty() {
            let range = (self.split.parts[part.index()].start, cfg.blocks[block as usize].limit);
            for (correction, begun) in sums.iter_mut().zip(sum(info, range, offset, models)?) {
                *correction = correction.wrapping_add_unsigned(begun);
            }
        }
        Ok(sums)
    }
}

/// Returns the amount added to the counter before a check at one instruction: its deficit plus one, since a check fires
/// when the count exceeds the budget, and here reaching the budget is enough.
fn before_stop(owed: i64) -> i64 {
    owed.wrapping_add(1)
}

/// Builds the spanning tree of a function's plans. If metered, counters are exact at calls, and also wherever the
/// budget is checked if that is more than one place.
fn tree(cfg: &Cfg, split: &SplitCfg, weights: &EdgeWeights, collection: &Collection) -> EventTree {
    if collection.metered.is_none() {
        return EventTree::new(&split.shape, weights, &[]);
    }
    let parts = (0..).zip(&split.parts);
    let behind_calls: Vec<BlockId> =
        parts.filter(|(_, part)| part.call.is_some()).map(|(index, _)| BlockId(index + 1)).collect();
    if !collection.is_checked_at_stops() {
        return EventTree::new(&split.shape, weights, &behind_calls);
    }
    let is_checked =
        |&index: &usize| cfg.is_stop(index, index as u32) || collection.checks_as_fuel && index == 0;
    let checked = (0..cfg.blocks.len()).filter(is_checked);
    let checked: Vec<BlockId> = checked.map(|index| BlockId(split.first_part[index])).collect();
    EventTree::with_exact(&split.shape, weights, &behind_calls, &checked)
}

/// Returns the events by kind and edge, the closing edge last.
fn edge_events(split: &SplitCfg, models: &[EventModel], of_parts: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let edge = |kind: usize, edge: EdgeId| {
        let ends = split.shape.edge(edge);
        // Parts are in bytecode order.
        let is_back = ends.to <= ends.from;
        of_parts[ends.from.index()][kind] + if is_back { models[kind].back_edge } else { 0 }
    };
    let of_kind =
        |kind: usize| split.shape.edges().map(|e| edge(kind, e)).chain([models[kind].entry]).collect();
    (0..models.len()).map(of_kind).collect()
}

/// Returns block, byte offset, and events by kind for each executed instruction.
fn steps(
    info: &ModuleInfo,
    cfg: &Cfg,
    models: &[EventModel],
) -> Result<Vec<(u32, u32, Vec<u64>)>, BinaryReaderError> {
    let mut all = Vec::new();
    for (block, index) in cfg.blocks.iter().zip(0..) {
        let mut operators = Operators::new(info, block.start, block.limit);
        while let Some((op, at)) = operators.next()? {
            if !is_structure(&op) {
                all.push((index, at, models.iter().map(|model| model.cost(&op)).collect()));
            }
        }
    }
    Ok(all)
}

/// Returns the events by part and kind.
fn part_events(
    info: &ModuleInfo,
    cfg: &Cfg,
    split: &SplitCfg,
    models: &[EventModel],
) -> Result<Vec<Vec<u64>>, BinaryReaderError> {
    let of_part = |part: &Part| {
        let range = (part.start, cfg.blocks[part.block as usize].limit);
        sum(info, range, part.call.unwrap_or(u32::MAX), models)
    };
    split.parts.iter().map(of_part).collect()
}
