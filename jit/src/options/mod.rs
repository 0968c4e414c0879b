//! Options of the code generators.

mod part_sizes;
mod passes;

use wprof_profiler::CacheShape;

use crate::abi::store_context;
use crate::limits::MAX_BLOCKS;
pub use part_sizes::PartSizes;
pub use passes::{Pass, PassSet, Passes, PassesError, Stage};

/// The layout of linear memories. All memories of an engine share it, and code relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStyle {
    /// Address space reserved for a 32-bit memory, in bytes. With 4 GiB or more, a memory never moves and an index
    /// needs no bounds check.
    pub reservation: u64,
    /// Inaccessible bytes behind the reservation: constant offsets below this need no bounds check either.
    pub guard: u64,
}

impl Default for MemoryStyle {
    fn default() -> Self {
        MemoryStyle { reservation: 4 << 30, guard: 32 << 20 }
    }
}

impl MemoryStyle {
    /// Reports whether 32-bit memories are fully reserved, so that they never move and guard pages catch bad indices.
    pub fn is_static(&self) -> bool {
        self.reservation >= 4 << 30
    }
}

/// What the code generator may assume and must guarantee.
#[derive(Clone, Debug)]
pub struct CompilerOptions {
    /// Layout of linear memories.
    pub memory: MemoryStyle,
    /// Guard heap and table accesses against speculative out-of-bounds reads.
    pub spectre_guards: bool,
    /// Never fault: test what the processor would find otherwise, and call the runtime for each trap. Requires memories
    /// that are not reserved whole.
    pub explicit_traps: bool,
    /// Poll for interruption at function entries and loop headers.
    pub polls: bool,
    /// Stop at known instructions only, as exact counts outside bursts need: stack overflow occurs at entries,
    /// and every access has its own trap site.
    pub precise: bool,
    /// Count function frames, so that their number can be limited.
    pub limits_frames: bool,
    /// Store locals and operands in the OSR buffer when the budget is exhausted.
    pub capture_state: bool,
    /// Frames of precise code hold their vmctx, so that their counts belong to the right instance.
    pub frames_hold_vmctx: bool,
    /// The event kind that has a budget.
    pub metered: Option<u32>,
    /// The event kind whose counter stays in the pinned register while wasm code runs instead of in memory, where an
    /// update would wait for the previous one to return from the store buffer.
    pub pinned: Option<u32>,
    /// Write traces. The trace word being filled occupies the pinned register, so no counter may be there.
    pub traced: bool,
    /// Write the data references of traces.
    pub references: bool,
    /// Record data references in recorded bursts.
    pub logs_references: bool,
    /// Code checks whether to move to another version by OSR, and counts checks in the pinned register.
    pub checked: bool,
    /// A simulated branch predictor sees all conditional branches.
    pub predicts: bool,
    /// Count allocated objects in their calling contexts.
    pub allocations: bool,
    /// Count calling contexts; the callee slot that callers pass takes the pinned register if nothing else does.
    pub contexts: bool,
    /// Keep the originating instruction of all code: [`MachineCode::positions`](crate::code::MachineCode::positions).
    pub positions: bool,
    /// Number of event kinds that call records count.
    pub events_in_records: u32,
    /// Number of measured metrics.
    pub metrics: u32,
    /// Whether code must request metric readings.
    pub reads_metrics: bool,
    /// By event kind, the metric to which lengths of bulk operations add, if any.
    pub lengths: Vec<Option<u32>>,
    /// The simulated cache that sees all loads and stores.
    pub cache: Option<CacheShape>,
    /// Count paths separately in each calling context.
    pub flow_contexts: bool,
    /// Canonicalize every NaN that arithmetic yields.
    pub canonical_nans: bool,
    /// Run Cranelift's verifier on everything, and prove that rewriting preserves machine code's behaviour (slow; for
    /// tests).
    pub verify: bool,
    /// Prove for each pass over a function's CLIF, and over its finished machine code, that it preserves the function's
    /// behaviour, and undo a pass without proof.
    pub proves: bool,
    /// Keep so many integer live ranges, and no float ones, in registers across calls in optimised code, whatever the
    /// cost; `None` keeps as many as pay off.
    pub across_calls: Option<u32>,
    /// Compile larger functions in parts, each on its first execution: see
    /// [`Compiler::parts`](crate::compile::Compiler::parts).
    pub part_sizes: PartSizes,
    /// Maximum number of basic blocks of compiled code, copies included: blocks dominate the compiler's memory use.
    pub max_blocks: usize,
    /// Optimised code of functions above this many bytes of bytecode can be entered at the header of their main loop.
    pub loop_entries_above: usize,
    /// Functions above this size have one OSR version, which frames enter at any of its loops: see
    /// [`Compiler::entered_at_loops`](crate::compile::Compiler::entered_at_loops).
    pub shared_loops_above: usize,
    /// Number of entries and loop rounds in baseline code after which optimising a small function pays off: see
    /// [`CompilerOptions::hot_after`]. `None` disables optimisation.
    pub hot: Option<u32>,
    /// The passes beyond plain Cranelift.
    pub passes: PassSet,
    /// Generate code as for a processor that only Cranelift supports: without a baseline code generator, passes over
    /// finished machine code, and a pinned register.
    pub plain: bool,
    /// Whether a register can be pinned while wasm code runs; the code generator decides.
    pub has_pinned_register: bool,
}

/// Bytes of bytecode whose optimisation [`CompilerOptions::hot`] rounds repay. With this value cc1, compiling a hundred
/// lines on one core, spends 0.6 of 8.5 s on optimised versions; with size ignored, 5.0 of 11.4 s.
const REPAID_BYTES: usize = 100;
/// Upper bound of the factor: a million rounds suffice for a function of any size.
const MOST_TIMES: usize = 1000;

impl Default for CompilerOptions {
    fn default() -> Self {
        CompilerOptions {
            memory: MemoryStyle::default(),
            spectre_guards: true,
            explicit_traps: false,
            polls: false,
            precise: false,
            limits_frames: false,
            capture_state: false,
            frames_hold_vmctx: false,
            metered: None,
            pinned: None,
            traced: false,
            references: false,
            logs_references: false,
            checked: false,
            predicts: false,
            allocations: false,
            contexts: false,
            positions: false,
            events_in_records: 0,
            metrics: 0,
            reads_metrics: false,
            lengths: Vec::new(),
            cache: None,
            flow_contexts: false,
            canonical_nans: false,
            verify: cfg!(debug_assertions),
            proves: false,
            across_calls: None,
            part_sizes: PartSizes::above(4000),
            max_blocks: MAX_BLOCKS,
            loop_entries_above: 4000,
            shared_loops_above: 1000,
            hot: Some(1000),
            passes: PassSet::all(),
            plain: false,
            has_pinned_register: true,
        }
    }
}

impl CompilerOptions {
    /// Returns the number of entries and loop rounds after which a function of `bytes` of bytecode is optimised. It
    /// grows with the size, as the compile time that it must repay does.
    pub fn hot_after(&self, bytes: usize) -> u32 {
        let times = (bytes / REPAID_BYTES).clamp(1, MOST_TIMES);
        // Code compares it as a signed number.
        self.hot.unwrap_or(u32::MAX).saturating_mul(times as u32).min(i32::MAX as u32)
    }

    /// Sets whether there is a pinned register; without one, everything stays in memory.
    pub(crate) fn with_pinned_register(self, has_pinned_register: bool) -> CompilerOptions {
        CompilerOptions { has_pinned_register, pinned: self.pinned.filter(|_| has_pinned_register), ..self }
    }

    /// Returns the offset in the store's context of the value in the pinned register while wasm code runs.
    pub fn pinned_cell(&self) -> Option<i32> {
        if !self.has_pinned_register {
            return None;
        }
        match (self.traced, self.pinned) {
            (true, _) => Some(store_context::TRACE_WORD),
            (false, Some(kind)) => Some(store_context::event(kind)),
            (false, None) if self.checked => Some(store_context::CHECKS),
            // Each access and each branch would wait for the one before if the place in the log were in memory.
            (false, None) if self.simulates() => Some(store_context::SIMULATION_NEXT),
            (false, None) => self.contexts.then_some(store_context::CALLEE_SLOT),
        }
    }

    /// Reports whether a counter in the store's context counts the events of `kind`. If calling contexts are counted,
    /// call records hold the counts, and only a budget also needs the counter.
    pub fn counts_in_store(&self, kind: u32) -> bool {
        self.events_in_records == 0 || self.metered == Some(kind)
    }

    /// Reports whether frames keep the address of their call record where the stack walk finds it.
    pub(crate) fn frames_hold_record(&self) -> bool {
        self.metrics > 0 || self.flow_contexts || self.events_in_records > 0
    }

    /// Reports whether each data reference is recorded.
    pub(crate) fn records_references(&self) -> bool {
        self.references || self.logs_references
    }

    /// Reports whether a simulation sees accesses or branches.
    pub(crate) fn simulates(&self) -> bool {
        self.cache.is_some() || self.predicts
    }

    /// Reports whether the pinned register holds the place of the next entry of the simulation log.
    pub(crate) fn pins_simulation_log(&self) -> bool {
        self.pinned_cell() == Some(store_context::SIMULATION_NEXT)
    }

    /// Reports whether the pinned register holds the callee slot.
    pub(crate) fn pins_callee_slot(&self) -> bool {
        self.pinned_cell() == Some(store_context::CALLEE_SLOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_functions_are_hot_later_but_never_at_once() {
        let hot_after = |hot, bytes| CompilerOptions { hot, ..CompilerOptions::default() }.hot_after(bytes);
        assert_eq!(
            [0, 199, 200, 1 << 30].map(|bytes| hot_after(Some(1000), bytes)),
            [1000, 1000, 2000, 1_000_000]
        );
        for hot in [Some(u32::MAX), Some(3_000_000), None] {
            assert_eq!(hot_after(hot, 1 << 30), i32::MAX as u32);
        }
    }
}
