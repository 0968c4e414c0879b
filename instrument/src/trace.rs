//! The bits that a function writes into a trace, and the names of its frames in the trace.
//!
//! The plan is the engine's: a [`TracePlan`] of the graph split at calls, whose encoding `wprof_profiler`'s module `trace`
//! describes. Bits of a call's edge are written behind the call.

use std::collections::HashMap;

use wasmparser::{FunctionBody, Operator};
use wprof_profiler::{
    BlockId, Call, EdgeId, Emit, Frame, FunctionTable, Profile, Stage, TraceMethod, TracePlan,
};

use crate::Error;
use crate::cfg::{Cfg, End};
use crate::sites::{is_tail_call, is_throw};
use crate::split::{Part, Place, Split};

/// The state of an entry on the stack of calls in flight, if its frame is traced.
pub mod state {
    /// The frame is at an instruction that may trap, or in a direct call, or its indirect call has not begun.
    pub const BEGUN: u32 = 0;
    /// A function of the module has begun for an indirect call.
    pub const CALLED: u32 = 1;
    /// The frame is in a call of the host.
    pub const HOST: u32 = 2;
    /// The frame has thrown an exception.
    pub const THROWN: u32 = 3;
}

/// The ways to enter a function: the values of [`Global::Slot`](crate::layout::Global::Slot) in a traced module.
pub mod via {
    /// By the host.
    pub const HOST: u32 = 0;
    /// By a direct call, which writes nothing, or a direct tail call, which has written the callee.
    pub const DIRECT: u32 = 1;
    /// By a call through a table or a reference.
    pub const INDIRECT: u32 = 2;
    /// By a tail call through a table or a reference.
    pub const TAIL: u32 = 3;
}

/// The trace plan of a function.
#[derive(Clone, Debug)]
pub struct FunctionTrace {
    split: Split,
    plan: TracePlan,
    /// By part: its call.
    calls: Vec<Option<Call>>,
    /// The bits that crossing an edge of the graph of blocks writes.
    on_edge: HashMap<EdgeId, Emit>,
    /// The bits that crossing the edge of the call or throw at a byte offset writes.
    behind_call: HashMap<u32, Emit>,
}

impl FunctionTrace {
    /// Plans a function, by the counts of an earlier run if there is one that knows it. Functions below
    /// `first_defined` are the host's.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn new(
        cfg: &Cfg,
        body: &FunctionBody<'_>,
        first_defined: u32,
        weights: Option<&Profile>,
    ) -> Result<FunctionTrace, Error> {
        let split = Split::new(cfg, body, &[])?;
        let calls = calls(&split, cfg, body, first_defined)?;
        let weights = split.weights(cfg, weights);
        let (plan, _) = TracePlan::choose(&split.shape, &weights, &calls);
        Ok(FunctionTrace { split, plan, calls, on_edge: HashMap::new(), behind_call: HashMap::new() }
            .placed())
    }

    /// Places what edges write.
    fn placed(mut self) -> FunctionTrace {
        for emit in &self.plan.emits {
            match self.split.places[emit.edge.index()] {
                Place::Edge(edge) => drop(self.on_edge.insert(edge, *emit)),
                Place::Call(offset) => drop(self.behind_call.insert(offset, *emit)),
            }
        }
        self
    }

    /// Returns what crossing an edge of the graph of blocks writes.
    pub fn on_edge(&self, edge: usize) -> Option<Emit> {
        self.on_edge.get(&EdgeId::new(edge)).copied()
    }

    /// Returns what crossing the edge of the call or throw at a byte offset writes.
    pub fn behind_call(&self, offset: u32) -> Option<Emit> {
        self.behind_call.get(&offset).copied()
    }

    /// Returns the method and what edges write, which need not follow from the graph.
    pub fn kept(&self) -> (TraceMethod, Vec<Emit>) {
        (self.plan.method, self.plan.emits.clone())
    }

    /// Restores what edges write.
    pub fn restored(self, (method, emits): (TraceMethod, Vec<Emit>)) -> Option<FunctionTrace> {
        let edges = self.split.shape.edge_count();
        let fits = emits.iter().all(|emit| emit.edge.index() < edges);
        let plan = TracePlan { method, emits, ..self.plan };
        fits.then(|| {
            FunctionTrace { plan, on_edge: HashMap::new(), behind_call: HashMap::new(), ..self }.placed()
        })
    }

    /// Returns the number of edges that write something.
    pub fn places(&self) -> u64 {
        self.plan.emits.len() as u64
    }

    /// Returns what replay needs to know of the function.
    pub fn table(&self, func: u32) -> FunctionTable {
        FunctionTable::new(func, &self.split.shape, &self.calls, &self.plan)
    }

    /// Returns the trace's name of a frame of function `func` whose entry has byte `offset` and a state; the frame has
    /// others above it unless it `is_innermost`.
    pub fn frame(&self, cfg: &Cfg, (offset, state): (u32, u32), is_innermost: bool) -> Option<Frame> {
        let block = cfg.blocks.iter().position(|block| (block.start..block.limit).contains(&offset))?;
        let (part, at_call) = self.split.position(block as u32, offset);
        // At a call, the position is the part behind the call's edge; a trace crosses that edge only behind the call.
        let part = part - u32::from(at_call);
        let is_last = self.split.parts[part as usize].call.is_none() && offset == cfg.blocks[block].end;
        let call = self.calls[part as usize].filter(|_| at_call || is_last);
        let stage = match (call, state) {
            (Some(_), state::HOST | state::THROWN) => Stage::Host,
            (Some(Call::Direct(_)), _) | (Some(Call::Indirect), state::CALLED) if !is_innermost => {
                Stage::Call
            }
            _ => Stage::Body,
        };
        Some(Frame { function: cfg.func, block: BlockId(part), stage })
    }
}

/// Returns the call of each part.
fn calls(
    split: &Split,
    cfg: &Cfg,
    body: &FunctionBody<'_>,
    first_defined: u32,
) -> Result<Vec<Option<Call>>, Error> {
    let mut by_offset = HashMap::new();
    let mut reader = body.get_operators_reader()?;
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        if let Some(call) = call_of(&op, first_defined) {
            by_offset.insert(at as u32, call);
        }
    }
    let mut blocks = cfg.blocks.iter();
    let mut call = |part: &Part| match part.call {
        Some(call) => by_offset.get(&call).copied(),
        // The last part of a block.
        None => {
            let block = blocks.next()?;
            by_offset.get(&block.end).copied().filter(|_| block.how == End::TailCall)
        }
    };
    Ok(split.parts.iter().map(&mut call).collect())
}

/// Returns the kind of an instruction for the trace.
fn call_of(op: &Operator<'_>, first_defined: u32) -> Option<Call> {
    match *op {
        Operator::Call { function_index } | Operator::ReturnCall { function_index }
            if function_index < first_defined =>
        {
            Some(Call::Host)
        }
        Operator::Call { function_index } => Some(Call::Direct(function_index)),
        Operator::CallIndirect { .. } | Operator::CallRef { .. } => Some(Call::Indirect),
        ref op if is_throw(op) => Some(Call::Host),
        ref op if is_tail_call(op) => Some(Call::Tail),
        _ => None,
    }
}
