//! Trace recording of a function, as notes on its control-flow graph.

use wprof_jit::plan::{FunctionPlan, FunctionTrace, Place};
use wprof_profiler::{EdgeId, TraceMethod, TracePlan};

use super::numbers::count_of;

/// The notes of a function; all are empty if nothing is traced.
pub struct TraceNotes<'a> {
    trace: Option<&'a FunctionTrace>,
    /// Edges that write, so that witnesses of other functions cannot be taken for this function's.
    blocking: Vec<EdgeId>,
}

impl<'a> TraceNotes<'a> {
    /// Creates the notes of a function.
    pub fn new(plan: &'a FunctionPlan) -> Self {
        let trace = plan.trace.as_ref();
        let witnessed = trace.filter(|trace| trace.plan.method == TraceMethod::Witnesses);
        let blocking = witnessed.map(|trace| TracePlan::blocking_edges(&trace.split.shape, &trace.calls));
        Self { trace, blocking: blocking.unwrap_or_default() }
    }

    /// Returns the method and its estimated cost.
    pub fn head(&self) -> String {
        let Some(trace) = self.trace else { return String::new() };
        let how = match trace.plan.method {
            TraceMethod::Witnesses => "witnesses",
            TraceMethod::BitTracing => "bits for each branch",
            TraceMethod::EveryBranch => "32 bits for each edge",
        };
        let places = count_of(trace.plan.emits.len() as u64, "place");
        let accesses = match trace.accesses.len() {
            0 => String::new(),
            count => format!(", {} to memory", count_of(count as u64, "access")),
        };
        let bits = trace.plan.bits_per_entry;
        format!("trace: {how} at {places}, {bits:.2} bits a call by the weights{accesses}\n")
    }

    /// Returns what crossing a block's edge writes.
    pub fn edge(&self, block: usize, position: usize) -> String {
        self.at(Place::Edge { block: block as u32, edge: position as u32 })
    }

    /// Returns the calls in the middle of a block, each with what is written after it.
    pub fn calls(&self, block: usize) -> Vec<String> {
        let Some(trace) = self.trace else { return Vec::new() };
        let of_block = trace.split.calls().filter(|&(of, _)| of as usize == block);
        let notes = of_block.map(|(block, call)| (call, self.at(Place::Call { block, call })));
        notes
            .filter(|(_, note)| !note.is_empty())
            .map(|(call, note)| format!("call at {call:#x}  then {note}"))
            .collect()
    }

    fn at(&self, place: Place) -> String {
        let Some(trace) = self.trace else { return String::new() };
        let edge = trace.split.places.iter().position(|&other| other == place).map(EdgeId::new);
        let Some(emit) = edge.and_then(|edge| trace.plan.emit_of(edge)) else { return String::new() };
        let bits = (0..emit.bits).map(|bit| if emit.value >> bit & 1 == 1 { '1' } else { '0' });
        let blocking = if self.blocking.contains(&emit.edge) { ", blocking" } else { "" };
        format!("writes {}{blocking}", bits.collect::<String>())
    }
}
