//! What code generators are told.

mod part_sizes;
mod passes;

use wprof_profiler::CacheShape;

use crate::abi::store_context;
use crate::limits::MAX_BLOCKS;
pub use part_sizes::PartSizes;
pub use passes::{Pass, PassSet, Passes, PassesError, Stage};

/// How linear memories are laid out; every memory of an engine is laid out so, and code relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStyle {
    /// Address space reserved for a 32-bit memory, in bytes. With 4 GiB or more a memory never moves and an index
    /// needs no check.
    pub reservation: u64,
    /// Inaccessible bytes behind the reservation: constant offsets below this need no check either.
    pub guard: u64,
}

impl Default for MemoryStyle {
    fn default() -> Self {
        MemoryStyle { reservation: 4 << 30, guard: 32 << 20 }
    }
}

impl MemoryStyle {
    /// Whether 32-bit memories are fully reserved, so that they never move and guard pages catch bad indices.
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
    /// Poll for interruption at function entries and loop headers.
    pub polls: bool,
    /// Stop at known instructions only, as exact counts need, but not those of bursts: stacks overflow at entries,
    /// and every access has a trap site of its own.
    pub precise: bool,
    /// Count the frames of functions, and let their number have a limit.
    pub limits_frames: bool,
    /// Leave locals and operands in the transfer buffer where the budget is used up.
    pub capture_state: bool,
    /// Frames of precise code hold their vmctx, so that what they count belongs to the right instance.
    pub frames_hold_vmctx: bool,
    /// The kind of events of which there is a budget.
    pub metered: Option<u32>,
    /// The kind of events whose counter is kept in the pinned register while wasm code runs, instead of in memory:
    /// there an update does not have to wait for the one before it to come back from the store buffer.
    pub pinned: Option<u32>,
    /// Write traces. The word that is being filled takes the pinned register, and no counter may be there.
    pub traced: bool,
    /// Write the data references of traces.
    pub references: bool,
    /// Record data references in bursts that are recorded.
    pub logs_references: bool,
    /// Code checks whether to go on in another version, and counts checks in the pinned register.
    pub checked: bool,
    /// A simulated predictor sees all conditional branches.
    pub predicts: bool,
    /// Objects that are made are counted in their calling contexts.
    pub allocations: bool,
    /// Calling contexts are counted, and what callers pass for that takes the pinned register if nothing else does.
    pub contexts: bool,
    /// Keep of all code which instruction it comes from: [`MachineCode::positions`](crate::code::MachineCode::positions).
    pub positions: bool,
    /// How many kinds of events are counted in call records.
    pub events_in_records: u32,
    /// How many metrics are measured.
    pub metrics: u32,
    /// Whether their readings must be asked for.
    pub reads_metrics: bool,
    /// By kind of events, the metric that lengths of bulk operations add to, if there is one.
    pub lengths: Vec<Option<u32>>,
    /// The simulated cache that sees all loads and stores.
    pub cache: Option<CacheShape>,
    /// Paths are counted in each calling context of their own.
    pub flow_contexts: bool,
    /// Make every NaN that arithmetic yields the canonical one.
    pub canonical_nans: bool,
    /// Run Cranelift's verifier on everything, and prove that rewritten machine code does what it did (slow; tests do).
    pub verify: bool,
    /// Prove of each pass over a function's CLIF, and of those over its finished machine code, that it left what the
    /// function does as it was; what cannot be proven is undone.
    pub proves: bool,
    /// Let so many integers be alive across calls in optimised code, and no floats, whatever that costs; as many as pay
    /// with `None`.
    pub across_calls: Option<u32>,
    /// Larger functions are compiled in parts, where control comes to them: see [`Compiler::parts`](crate::compile::Compiler::parts).
    pub part_sizes: PartSizes,
    /// No code is made of more basic blocks, copies included: they take most of the memory that compiling needs.
    pub max_blocks: usize,
    /// Optimised code of larger functions, in bytes of bytecode, can be entered at the header of their main loop.
    pub loop_entries_above: usize,
    /// Larger functions have one version for frames, which these enter at any of its loops: see
    /// [`Compiler::entered_at_loops`](crate::compile::Compiler::entered_at_loops).
    pub shared_loops_above: usize,
    /// After how many entries and rounds of loops in baseline code a small function is worth optimising: see
    /// [`CompilerOptions::hot_after`]. `None` if none ever is.
    pub hot: Option<u32>,
    /// What is done beyond plain Cranelift.
    pub passes: PassSet,
    /// Make code as for a processor of which only Cranelift knows: without a baseline code generator, passes over
    /// finished machine code, and a pinned register.
    pub plain: bool,
    /// Whether there is a register to keep something in while wasm code runs; the code generator says so.
    pub has_pinned_register: bool,
}

/// The bytecode whose optimisation [`CompilerOptions::hot`] rounds repay. So cc1, compiling a hundred lines on one
/// core, spends 0.6 of 8.5 s on optimised versions; where size does not count, 5.0 of 11.4 s.
const REPAID_BYTES: usize = 100;
/// However large a function is, a million rounds are enough.
const MOST_TIMES: usize = 1000;

impl Default for CompilerOptions {
    fn default() -> Self {
        CompilerOptions {
            memory: MemoryStyle::default(),
            spectre_guards: true,
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
    /// After how many entries and rounds of loops a function of `bytes` of bytecode is optimised: what compiling it
    /// takes, which they have to repay, grows with its size.
    pub fn hot_after(&self, bytes: usize) -> u32 {
        let times = (bytes / REPAID_BYTES).clamp(1, MOST_TIMES);
        // Code compares it as a number with a sign.
        self.hot.unwrap_or(u32::MAX).saturating_mul(times as u32).min(i32::MAX as u32)
    }

    /// The same where there is a pinned register, or none: then all is in memory.
    pub(crate) fn with_pinned_register(self, has_pinned_register: bool) -> CompilerOptions {
        CompilerOptions { has_pinned_register, pinned: self.pinned.filter(|_| has_pinned_register), ..self }
    }

    /// The offset in the store's context of what is kept in the pinned register while wasm code runs.
    pub fn pinned_cell(&self) -> Option<i32> {
        if !self.has_pinned_register {
            return None;
        }
        match (self.traced, self.pinned) {
            (true, _) => Some(store_context::TRACE_WORD),
            (false, Some(kind)) => Some(store_context::event(kind)),
            (false, None) if self.checked => Some(store_context::CHECKS),
            (false, None) => self.contexts.then_some(store_context::CALLEE_SLOT),
        }
    }

    /// Whether a counter in the store's context has the events of `kind`. Where calling contexts are counted, call records
    /// have them, and only a budget needs the counter as well.
    pub fn counts_in_store(&self, kind: u32) -> bool {
        self.events_in_records == 0 || self.metered == Some(kind)
    }

    /// Whether frames keep the address of their call record where the walk of a stack finds it.
    pub(crate) fn frames_hold_record(&self) -> bool {
        self.metrics > 0 || self.flow_contexts || self.events_in_records > 0
    }

    /// Whether anybody wants to know of each data reference.
    pub(crate) fn records_references(&self) -> bool {
        self.references || self.logs_references
    }

    /// Whether that is what callers pass to their callees.
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
