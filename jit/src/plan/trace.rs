//! Tracing plans of functions.
//!
//! Source: Ball & Larus 1994, section 4; the plan is a [`TracePlan`] of the function's [`SplitCfg`], so that the
//! trace's blocks are parts, and the call of a part, if it has one, is its last act.

use wasmparser::{BinaryReaderError, Operator};
use wprof_profiler::{Access, BlockId, Call, Frame, FunctionTable, Stage, TraceMethod, TracePlan};

use super::references::{accesses, count_before};
use super::split::{Part, Place, SplitCfg};
use super::{Expected, Placement, Probe};
use crate::cfg::{Cfg, End, Operators, is_throw};
use crate::module::ModuleInfo;

/// The choice of tracing methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tracing {
    /// Witnesses or bit tracing for each function, whichever is estimated to write less.
    #[default]
    Best,
    /// One method for all functions, for comparison.
    Only(TraceMethod),
}

/// The trace plan of one function.
#[derive(Clone, Debug)]
pub struct FunctionTrace {
    /// The planned graph.
    pub split: SplitCfg,
    /// The emitted bits of each edge.
    pub plan: TracePlan,
    /// The call of each part.
    pub calls: Vec<Option<Call>>,
    /// The loads and stores, ascending by part; empty if they are not recorded.
    pub accesses: Vec<Access>,
}

/// The position of a frame relative to an instruction, as far as the code itself knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before the instruction.
    Before,
    /// In a call of a traced function, whose frame is the next one.
    InCall,
    /// In a call of the host.
    InHost,
    /// Behind the instruction.
    After,
}

impl FunctionTrace {
    /// Plans one function, by the `expected` frequencies.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those that were validated.
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

    /// Places the emits; those of a call's edge go behind the call.
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

    /// Returns the trace's description of a frame of the function at the instruction at byte `offset` of `block`.
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

    /// Returns the part that contains the instruction at byte `offset` of `block`, and the call, if the instruction is
    /// one.
    pub fn call_at(&self, cfg: &Cfg, (block, offset): (u32, u32)) -> (u32, Option<Call>) {
        let position = self.split.position(block, offset);
        // At a call, the position is the part behind the call's edge; a trace crosses that edge only behind the call.
        let part = position.part - u32::from(position.at_call);
        let is_tail_call =
            self.split.parts[part as usize].call.is_none() && offset == cfg.blocks[block as usize].end;
        (part, self.calls[part as usize].filter(|_| position.at_call || is_tail_call))
    }

    /// Returns how many accesses of its part a frame has recorded at the instruction at byte `offset` of `block`. An
    /// instruction with two accesses counts each as one byte.
    pub fn accesses_before(&self, cfg: &Cfg, place: (u32, u32)) -> u32 {
        count_before(&self.accesses, self.call_at(cfg, place).0, place.1)
    }

    /// Returns the information about the function that replay needs.
    pub fn table(&self, function: u32) -> FunctionTable {
        let table = FunctionTable::new(function, &self.split.shape, &self.calls, &self.plan);
        FunctionTable { accesses: self.accesses.clone(), ..table }
    }
}

/// Returns the call of each part.
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
        // The runtime, which counts as host, returns to the handler if the function itself catches the exception.
        ref op if is_throw(op) => Some(Call::Host),
        Operator::ReturnCall { .. } | Operator::ReturnCallIndirect { .. } => Some(Call::Tail),
        Operator::ReturnCallRef { .. } => Some(Call::Tail),
        _ => None,
    }
}
