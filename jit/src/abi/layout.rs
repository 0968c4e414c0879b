//! Where everything that machine code touches lies in memory. All sizes and offsets in bytes.

use crate::module::ModuleInfo;

/// A value in memory: globals, arguments and results of host calls.
pub mod value {
    /// Size and alignment.
    pub const SIZE: u32 = 16;
}

/// The fixed head of an instance's vmctx. What follows it depends on the module: see [`super::VmLayout`].
pub mod vmctx {
    /// `u32`: what kind of context this is, [`MAGIC_INSTANCE`] or [`super::host_context::MAGIC`].
    pub const MAGIC: i32 = 0;
    /// Pointer to the store's [`super::store_context`]. Never changes.
    pub const STORE: i32 = 8;
    /// Pointer to the builtin table. Never changes.
    pub const BUILTINS: i32 = 16;
    /// Pointer to a byte that machine code reads at polls; unmapped when the store is asked to stop. Never changes.
    pub const POLL: i32 = 24;
    /// Opaque pointer to the runtime's instance.
    pub const INSTANCE: i32 = 32;
    /// Size of the head.
    pub const HEAD: u32 = 48;
    /// The magic of an instance.
    pub const MAGIC_INSTANCE: u32 = 0x77_76_6d_69;
}

/// The context of a host function: what its callers pass as vmctx.
pub mod host_context {
    /// `u32` magic at offset 0, as in an instance's vmctx.
    pub const MAGIC: u32 = 0x77_76_6d_68;
    /// Address of the function with [`super::super::host_call_signature`].
    pub const FUNC: i32 = 8;
    /// Size of what machine code knows of it.
    pub const HEAD: u32 = 16;
}

/// Per store: what changes with every entry and exit.
pub mod store_context {
    /// Lowest stack pointer at which a host function may still be called.
    pub const STACK_LIMIT: i32 = 0;
    /// Frame pointer of the newest trampoline that left wasm for the host.
    pub const EXIT_FP: i32 = 8;
    /// Pointer to the transfer buffer, which has room for [`TRANSFER_VALUES`] values. A frame that goes on in another
    /// version of its function leaves its locals and then its operand stack there.
    pub const TRANSFER: i32 = 16;
    /// Counters of events, `u64` each, by kind. That of a metered kind lies below zero by what is left of the budget.
    pub const EVENTS: i32 = 24;
    /// How many kinds of events there can be.
    pub const EVENT_KINDS: u32 = 16;
    /// The counter of one kind.
    pub const fn event(kind: u32) -> i32 {
        EVENTS + 8 * kind as i32
    }
    /// `u64`: the bits of the trace that are not in its buffer yet, as [`super::trace_word`] has them.
    pub const TRACE_WORD: i32 = event(EVENT_KINDS);
    /// Where in the trace's buffer the next word goes. Behind the buffer lies a page that cannot be written.
    pub const TRACE_NEXT: i32 = TRACE_WORD + 8;
    /// Where in the buffer of data references the next one goes; the same behind it.
    pub const REFERENCE_NEXT: i32 = TRACE_NEXT + 8;
    /// What a caller passes to its callee besides the arguments: the address of the callee slot, see
    /// [`super::call_record`]. A frame that goes on in another version passes its call record instead.
    pub const CALLEE_SLOT: i32 = REFERENCE_NEXT + 8;
    /// Address of the code with [`super::super::find_record_signature`].
    pub const FIND_RECORD: i32 = CALLEE_SLOT + 8;
    /// `u64`: the path register of a frame that goes on in another version of its function.
    pub const PATH: i32 = FIND_RECORD + 8;
    /// The readings of metrics, `u64` each, by number: see [`super::super::read_metrics_signature`].
    pub const METRICS: i32 = PATH + 8;
    /// How many metrics there can be.
    pub const METRIC_KINDS: u32 = 6;
    /// The reading of one metric.
    pub const fn metric(number: u32) -> i32 {
        METRICS + 8 * number as i32
    }
    /// What a frame has measured, `i64` each, by number of the metric: for the version in which it goes on, or for the
    /// table of paths.
    pub const MEASURED: i32 = metric(METRIC_KINDS);
    /// What was measured of one metric.
    pub const fn measured(number: u32) -> i32 {
        MEASURED + 8 * number as i32
    }
    /// Address of the code with [`super::super::read_metrics_signature`].
    pub const READ_METRICS: i32 = measured(METRIC_KINDS);
    /// Address of the code with [`super::super::touch_lines_signature`].
    pub const TOUCH_LINES: i32 = READ_METRICS + 8;
    /// Address in the host of the line of memory that was touched last.
    pub const LAST_LINE: i32 = TOUCH_LINES + 8;
    /// Address of the code with [`super::super::see_branch_signature`].
    pub const SEE_BRANCH: i32 = LAST_LINE + 8;
    /// `i64`: how many checks are passed before one fires.
    pub const CHECKS: i32 = SEE_BRANCH + 8;
    /// `i64`: how many checks the burst that runs still has; 0 if none does.
    pub const BURST: i32 = CHECKS + 8;
    /// `i64`: whether a burst runs, 1 or 0: what a check in code for bursts takes over for its frame.
    pub const COUNTS: i32 = BURST + 8;
    /// `i64`: what code for bursts adds to a counter, 1 or 0, in a frame whose function has no check at its entry: what
    /// the caller adds. A frame that goes on in other code for bursts passes its own.
    pub const PASSED: i32 = COUNTS + 8;
    /// Address of the code with [`super::super::check_signature`].
    pub const CHECK: i32 = PASSED + 8;
    /// Address of the code with [`super::super::check_pinned_signature`].
    pub const CHECK_PINNED: i32 = CHECK + 8;
    /// Address of the code with [`super::super::leave_signature`].
    pub const LEAVE: i32 = CHECK_PINNED + 8;
    /// The vmctx of the frame that calls it.
    pub const LEAVING: i32 = LEAVE + 8;
    /// What that has decided: the address of the version to go on in, 0 to stay, or one of [`super::check`].
    pub const GO_ON: i32 = LEAVING + 8;
    /// Where the next object of the heap begins, and where the hole ends that it goes into: addresses.
    pub const HEAP_CURSOR: i32 = GO_ON + 8;
    /// See there; not above it where code is to ask the runtime.
    pub const HEAP_LIMIT: i32 = HEAP_CURSOR + 8;
    /// By engine-wide id of the type of an object, pointers to [`super::display`]s; moves as types are added.
    pub const DISPLAYS: i32 = HEAP_LIMIT + 8;
    /// `i64`: how many more frames of functions there may be, where their number is limited.
    pub const FRAMES_LEFT: i32 = DISPLAYS + 8;
    /// Size.
    pub const SIZE: u32 = FRAMES_LEFT as u32 + 8;
    /// Frames with more locals and operands than this stay in the version they are in.
    pub const TRANSFER_VALUES: u32 = 4096;
}

/// What may be in [`store_context::GO_ON`] besides an address.
pub mod check {
    /// Trap, for the reason that the host has left.
    pub const TRAP: i64 = 1;
}

/// The heat of a function's baseline code, a counter: rounds of loops and calls in its lower half, calls in its upper
/// one.
pub mod heat {
    /// What a round adds, and a call.
    pub const ROUND: u64 = 1;
    /// What a call adds besides.
    pub const CALL: u64 = 1 << 32;
    /// A function that asks for a better version asks again when it has become hotter by what it took the first time,
    /// divided by this.
    pub const ASKS: u32 = 4;
}

/// Which version of a function a call gets while two are timed; both bits may be there.
pub mod trial {
    /// The newer one; else the one before it.
    pub const AFTER: u32 = 1;
    /// The call is timed: the runtime is to be told when it has returned.
    pub const TIMED: u32 = 2;
}

/// A word of the trace: a one, and below it up to 63 bits, the first one highest. So appending is a shift and a test of
/// the sign tells that there is no room for another bit. What does not fit goes into the next word as a whole.
pub mod trace_word {
    /// A word without bits.
    pub const EMPTY: u64 = 1;

    /// The `bits` low bits of `value`, of which the lowest comes first in the trace, as they are in a word.
    pub const fn in_word(value: u32, bits: u8) -> u64 {
        (value as u64).reverse_bits() >> (64 - bits as u32)
    }

    /// How many bits a word holds.
    pub const fn len(word: u64) -> u32 {
        63 - word.leading_zeros()
    }
}

/// What is counted of a function in one calling context. Behind the head comes a *callee slot* for each call in the
/// function: the address of the record of the last callee there, at first that of the root.
pub mod call_record {
    use wprof_profiler::{CALLEE_SLOT_BYTES, RECORD_HEAD_BYTES};

    /// `u64`: whose it is. That of a wasm function is the sum of its vmctx's address and its index, which is an
    /// address in that vmctx and so nobody else's; others have 0.
    pub const KEY: i32 = 0;
    /// `u64`: the number of calls.
    pub const CALLS: i32 = 8;
    /// `u64`, before the record: how often the function has started to measure, if anything is measured.
    pub const STARTS: i32 = -8;
    /// `u64`, before the record: what was measured of one metric.
    pub const fn metric(number: u32) -> i32 {
        STARTS - 8 - 8 * number as i32
    }
    /// `u64`, before the record: how many instructions were counted in bursts, if so many metrics are measured.
    pub const fn ops(metrics: u32) -> i32 {
        metric(metrics)
    }
    /// `u64`, before the record: the events of one kind, if so many metrics are measured. Bursts count none.
    pub const fn event(metrics: u32, kind: u32) -> i32 {
        metric(metrics + kind)
    }
    /// How many words there are before a record with so many metrics and kinds of events, instructions in bursts
    /// counted as one.
    pub const fn words_before(metrics: u32, counted: u32) -> u32 {
        match metrics + counted {
            0 => 0,
            figures => figures + 1,
        }
    }
    /// The callee slot of call number `site`.
    pub const fn slot(site: u32) -> u32 {
        RECORD_HEAD_BYTES as u32 + CALLEE_SLOT_BYTES as u32 * site
    }
}

/// The rows among a function's counters in which its paths are counted if it has too many for a counter each. The
/// number of a path chooses its row; the row is that of one path at a time, what others have counted in it is in the
/// instance's table. Where paths are counted in each calling context, the number has that of the call record above
/// its 32 bits.
pub mod path_row {
    use wprof_profiler::MAX_PATHS;

    /// How many a function has.
    pub const COUNT: u32 = 1 << 10;
    /// `u64`: one more than the number of the path, 0 for none.
    pub const KEY: i32 = 0;
    /// The number of path 0 in a call record: the record's above those that paths have.
    pub const fn first_in(record: u32) -> u64 {
        record as u64 * MAX_PATHS
    }
    /// The call record, 0 for none, and the path that a number stands for.
    pub const fn split(number: u64) -> (u32, u64) {
        ((number / MAX_PATHS) as u32, number % MAX_PATHS)
    }
    /// `u64` each: how often the path ran, then what was measured along it.
    pub const fn figure(number: u32) -> i32 {
        8 + 8 * number as i32
    }
    /// How many words a row of so many figures has.
    pub const fn words(figures: u32) -> u32 {
        1 + figures
    }
    /// The high bits of the product with a path's number, an odd factor near 2^64 over the golden ratio, choose its row
    /// (Knuth, The Art of Computer Programming 3, section 6.4).
    pub const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    /// How many bits of the product lie below them.
    pub const SHIFT: u32 = 64 - COUNT.ilog2();
}

/// A data reference in its buffer: one word with the site, a byte offset in the module, and below it an index of 32
/// bits; or, with the highest bit set, the site and the number of words that follow: an index, and perhaps a length.
pub mod reference {
    /// The bit that tells that words follow.
    pub const IS_LONG: u64 = 1 << 63;
    /// Words of the longest one.
    pub const MAX_WORDS: usize = 3;

    /// The first word without what goes into its low half.
    pub const fn head(site: u32) -> u64 {
        (site as u64) << 32
    }
}

/// One entry from the host into wasm: how to get back. Written by the host-to-wasm trampoline.
pub mod activation {
    /// Stack pointer to restore.
    pub const SP: i32 = 0;
    /// Frame pointer to restore; also the end of the frame walk.
    pub const FP: i32 = 8;
    /// Where to continue after a trap.
    pub const HANDLER: i32 = 16;
    /// Size.
    pub const SIZE: u32 = 24;
}

/// The code slots of one function: addresses of its versions. An array of these per module, indexed by *function*
/// index (imports included, whose rows stay unused).
pub mod code_slots {
    /// What ordinary callers call.
    pub const ENTRY: i32 = 0;
    /// What instrumented code calls.
    pub const INSTRUMENTED_ENTRY: i32 = 8;
    /// Size of a row.
    pub const SIZE: u32 = 16;
}

/// A dispatch cell: the address of a row of code slots, which is below 4 GiB then. See `module::ConstantTables`.
pub mod dispatch_cell {
    /// Size.
    pub const SIZE: u32 = 4;
}

/// A function value: what a `funcref` points to.
pub mod func_ref {
    /// Pointer to the function's code slots.
    pub const SLOTS: i32 = 0;
    /// The vmctx to pass: an instance's or a host context.
    pub const VMCTX: i32 = 8;
    /// `u32`: the function type's id, unique in the engine.
    pub const TYPE: i32 = 16;
    /// `u32`: the function's index as it is in a word of the trace, or that of `HOST_CALLEE`.
    pub const TRACE_TOKEN: i32 = 20;
    /// Pointer to the [`super::display`] of the type.
    pub const DISPLAY: i32 = 24;
    /// Size.
    pub const SIZE: u32 = 32;
}

/// The types that one is a subtype of: how many there are, itself included, then the id of each, the uppermost first,
/// all `u32`. A type with so many above it that its id is number `n` is above another one if that has more than `n`
/// ids and number `n` is its.
pub mod display {
    /// How many ids follow.
    pub const LEN: i32 = 0;
    /// The first id.
    pub const IDS: i32 = 4;
    /// Bytes of an id.
    pub const ID_SIZE: i32 = 4;
}

/// An imported function.
pub mod func_import {
    /// Pointer to the callee's code slots.
    pub const SLOTS: i32 = 0;
    /// The vmctx to pass.
    pub const VMCTX: i32 = 8;
    /// Pointer to the function's [`super::func_ref`].
    pub const FUNC_REF: i32 = 16;
    /// Size.
    pub const SIZE: u32 = 24;
}

/// A linear memory's definition.
pub mod memory {
    /// Address of byte 0. Constant for memories that never move (see `MemoryStyle`).
    pub const BASE: i32 = 0;
    /// Current size in bytes, `u64`.
    pub const LEN: i32 = 8;
    /// Size.
    pub const SIZE: u32 = 16;
}

/// A table's definition. Elements take 8 bytes each.
pub mod table {
    /// Address of element 0.
    pub const BASE: i32 = 0;
    /// Current number of elements, `u64`.
    pub const LEN: i32 = 8;
    /// Size.
    pub const SIZE: u32 = 16;
}

/// An exception: what an `exnref` points to.
pub mod exception {
    /// `u64`: the number of its tag, unique in the store.
    pub const TAG: i32 = 0;
    /// What it carries: value number `index`.
    pub const fn value(index: u32) -> i32 {
        ((1 + index) * super::value::SIZE) as i32
    }
}

/// A global's cell.
pub mod global {
    /// Size and alignment: one value.
    pub const SIZE: u32 = super::value::SIZE;
}

/// Offsets into the vmctx of one module's instances. Counters come last, so that a counter is one instruction with
/// a constant displacement from the vmctx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmLayout {
    imported_funcs: u32,
    imported_tables: u32,
    imported_memories: u32,
    imported_globals: u32,
    tags: u32,
    tables: u32,
    memories: u32,
    globals: u32,
    func_refs: u32,
    counters: u32,
}

impl VmLayout {
    /// The layout of `module`'s instances.
    ///
    /// # Panics
    /// If the module is larger than wasmparser's implementation limits allow.
    pub fn new(module: &ModuleInfo) -> VmLayout {
        let mut next = vmctx::HEAD;
        let mut region = |count: usize, size: u32, align: u32| {
            let start = next.next_multiple_of(align);
            let bytes =
                u32::try_from(count).ok().and_then(|n| n.checked_mul(size)).expect("validated limits");
            next = start.checked_add(bytes).expect("validated limits");
            start
        };
        VmLayout {
            imported_funcs: region(module.imported_funcs as usize, func_import::SIZE, 8),
            imported_tables: region(module.imported_tables as usize, 8, 8),
            imported_memories: region(module.imported_memories as usize, 8, 8),
            imported_globals: region(module.imported_globals as usize, 8, 8),
            tags: region(module.tags.len(), 8, 8),
            tables: region(module.tables.len() - module.imported_tables as usize, table::SIZE, 8),
            memories: region(module.memories.len() - module.imported_memories as usize, memory::SIZE, 8),
            globals: region(module.globals.len() - module.imported_globals as usize, global::SIZE, 16),
            func_refs: region(module.escaped_funcs.len(), func_ref::SIZE, 8),
            counters: region(0, 8, 64),
        }
    }

    /// The [`func_import`] of imported function `index`.
    pub fn func_import(&self, index: u32) -> u32 {
        self.imported_funcs + index * func_import::SIZE
    }

    /// The pointer to imported table `index`'s definition.
    pub fn table_import(&self, index: u32) -> u32 {
        self.imported_tables + index * 8
    }

    /// The pointer to imported memory `index`'s definition.
    pub fn memory_import(&self, index: u32) -> u32 {
        self.imported_memories + index * 8
    }

    /// The pointer to imported global `index`'s cell.
    pub fn global_import(&self, index: u32) -> u32 {
        self.imported_globals + index * 8
    }

    /// The number, unique in the store, of tag `index`: a `u64`. Never changes.
    pub fn tag(&self, index: u32) -> u32 {
        self.tags + index * 8
    }

    /// The definition of the module's own table number `defined` (imports not counted).
    pub fn table(&self, defined: u32) -> u32 {
        self.tables + defined * table::SIZE
    }

    /// The definition of the module's own memory number `defined`; of one that is shared the pointer to it.
    pub fn memory(&self, defined: u32) -> u32 {
        self.memories + defined * memory::SIZE
    }

    /// The cell of the module's own global number `defined`.
    pub fn global(&self, defined: u32) -> u32 {
        self.globals + defined * global::SIZE
    }

    /// The [`func_ref`] number `escaped`, an index into `ModuleInfo::escaped_funcs`.
    pub fn func_ref(&self, escaped: u32) -> u32 {
        self.func_refs + escaped * func_ref::SIZE
    }

    /// Counter number `index`, a `u64`.
    pub fn counter(&self, index: u32) -> u64 {
        u64::from(self.counters) + u64::from(index) * 8
    }

    /// Size of everything but the counters.
    pub fn size_without_counters(&self) -> u32 {
        self.counters
    }
}
