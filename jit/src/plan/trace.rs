//! How a function is traced.
//!
//! Source: Ball & Larus 1994, section 4; the plan is a [`TracePlan`] of the function's [`SplitCfg`], so that a part is
//! what the trace calls a block, and its call, if it has one, is its last act.

use wasmparser::{BinaryReaderError, Operator};
use wprof_profiler::{Access, BlockId, Call, Frame, FunctionTable, Stage, TraceMethod, TracePlan};

use super::references::{accesses, count_before};
use super::split::{Part, Place, SplitCfg};
use super::{Expected, Placement, Probe};
use crate::cfg::{Cfg, End, Operators, is_throw};
use crate::module::ModuleInfo;

/// How functions are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracing {
    /// Each by witnesses or by bit tracing, whichever is estimated to write less.
    #[default]
    Best,
    /// All by one method, for comparison.
    Only(TraceMethod),
}

/// What one function writes into the trace.
#[derive(Clone, Debug)]
pub struct FunctionTrace {
    /// The graph that the plan is of.
    pub split: SplitCfg,
    /// What each of its edges emits.
    pub plan: TracePlan,
    /// By part.
    pub calls: Vec<Option<Call>>,
    /// What it loads and stores, ascending by part; nothing if that is not recorded.
    pub accesses: Vec<Access>,
}

/// Where in its code a frame is, as far as the code itself knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// At the instruction: it has not been done.
    Before,
    /// In a call of a traced function, whose frame is the next one.
    InCall,
    /// In a call of the host.
    InHost,
    /// Behind the instruction.
    After,
}

impl FunctionTrace {
    /// Plans one function, by what is `expected`.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn new(
        info: &ModuleInfo,
        cfg: &Cfg,
        tracing: Tracing,
        references: bool,
        expected: &Expected,
    ) -> Result<FunctionTrace, BinaryReaderError> {
        let split = SplitCfg::new(info, cfg)?;
        let calls = calls(info, cfg, &split)?;
        let weights = expected.split(&split).edge_weights(&split.shape);
        let plan = match tracing {
            Tracing::Best => TracePlan::choose(&split.shape, &weights, &calls).0,
            Tracing::Only(method) => TracePlan::new(method, &split.shape, &weights, &calls),
        };
        let accesses = if references { accesses(info, cfg, &split)? } else { Vec::new() };
        Ok(FunctionTrace { split, plan, calls, accesses })
    }

    /// Places the emits: those of a call's edge behind the call.
    pub(super) fn place(&self, to: &mut Placement) {
        for emit in &self.plan.emits {
            let probe = Probe::Emit { value: emit.value, bits: emit.bits };
            match self.split.places[emit.edge.index()] {
                Place::Edge { block, edge } => {
                    to.edge(block, edge).push(probe);
                }
                Place::Call { block, call } => {
                    to.around(block, call).after.push(probe);
                }
            }
        }
    }

    /// The frame of the function that is at the instruction at byte `offset` of `block`, as traces have it.
    pub fn frame(&self, cfg: &Cfg, place: (u32, u32), moment: Moment) -> Frame {
        let (part, call) = self.call_at(cfg, place);
        let stage = match moment {
            Moment::InCall => Stage::Call,
            Moment::InHost => Stage::Host,
            Moment::After if call.is_some() => Stage::Returned,
            Moment::After | Moment::Before => Stage::Body,
        };
        Frame { function: cfg.func, block: BlockId(part), stage }
    }

    /// The part that the instruction at byte `offset` of `block` belongs to, and the call that the instruction is.
    pub fn call_at(&self, cfg: &Cfg, (block, offset): (u32, u32)) -> (u32, Option<Call>) {
        let position = self.split.position(block, offset);
        // The position behind a call's edge is the part after the call; here that edge is crossed behind the call.
        let part = position.part - u32::from(position.at_call);
        let is_tail_call =
            self.split.parts[part as usize].call.is_none() && offset == cfg.blocks[block as usize].end;
        (part, self.calls[part as usize].filter(|_| position.at_call || is_tail_call))
    }

    /// How many of the accesses of its part a frame has recorded that is at the instruction at byte `offset` of
    /// `block`. An instruction that makes two takes a byte for each.
    pub fn accesses_before(&self, cfg: &Cfg, place: (u32, u32)) -> u32 {
        count_before(&self.accesses, self.call_at(cfg, place).0, place.1)
    }

    /// What replay must know of the function.
    pub fn table(&self, function: u32) -> FunctionTable {
        let table = FunctionTable::new(function, &self.split.shape, &self.calls, &self.plan);
        FunctionTable { accesses: self.accesses.clone(), ..table }
    }
}

/// By part.
fn calls(info: &ModuleInfo, cfg: &Cfg, split: &SplitCfg) -> Result<Vec<Option<Call>>, BinaryReaderError> {
    let call = |part: &Part| {
        let block = &cfg.blocks[part.block as usize];
        let at = match (part.call, &block.how) {
            (Some(call), _) => call,
            (None, End::TailCall) => block.end,
            (None, _) => return Ok(None),
        };
        let op = Operators::new(info, at, block.limit).next()?;
        Ok(op.and_then(|(op, _)| call_of(info, &op)))
    };
    split.parts.iter().map(call).collect()
}

fn call_of(info: &ModuleInfo, op: &Operator<'_>) -> Option<Call> {
    let is_host = |func: u32| info.is_imported_func(func);
    match *op {
        Operator::Call { function_index } | Operator::ReturnCall { function_index }
            if is_host(function_index) =>
        {
            Some(Call::Host)
        }
        Operator::Call { function_index } => Some(Call::Direct(function_index)),
        Operator::CallIndirect { .. } | Operator::CallRef { .. } => Some(Call::Indirect),
        // The runtime, which is host, comes back where the function itself catches the exception.
        ref op if is_throw(op) => Some(Call::Host),
        Operator::ReturnCall { .. } | Operator::ReturnCallIndirect { .. } => Some(Call::Tail),
        Operator::ReturnCallRef { .. } => Some(Call::Tail),
        _ => None,
    }
}
