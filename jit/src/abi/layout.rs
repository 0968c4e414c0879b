//! Memory layout of everything that machine code accesses. All sizes and offsets are in bytes.

use crate::module::ModuleInfo;

/// A value in memory: the format of globals and of the arguments and results of host calls.
pub mod value {
    /// Size and alignment.
    pub const SIZE: u32 = 16;
}

/// The fixed head of an instance's vmctx. The rest depends on the module: see [`super::VmLayout`].
pub mod vmctx {
    /// `u32`: the kind of this context, [`MAGIC_INSTANCE`] or [`super::host_context::MAGIC`].
    pub const MAGIC: i32 = 0;
    /// Pointer to the store's [`super::store_context`]. Never changes.
    pub const STORE: i32 = 8;
    /// Pointer to the builtin table. Never changes.
    pub const BUILTINS: i32 = 16;
    /// Pointer to a byte that machine code reads at safepoint polls; the page is unmapped to stop the store. Never
    /// changes.
    pub const POLL: i32 = 24;
    /// Opaque pointer to the runtime's instance.
    pub const INSTANCE: i32 = 32;
    /// Size of the head.
    pub const HEAD: u32 = 48;
    /// The magic of an instance.
    pub const MAGIC_INSTANCE: u32 = 0x77_76_6d_69;
}

/// The context of a host function: the vmctx argument of its callers.
pub mod host_context {
    /// `u32` magic at offset 0, as in an instance's vmctx.
    pub const MAGIC: u32 = 0x77_76_6d_68;
    /// Address of the function with [`super::super::host_call_signature`].
    pub const FUNC: i32 = 8;
    /// Size of the part that machine code accesses.
    pub const HEAD: u32 = 16;
}

/// Per-store state that changes with every entry and exit.
pub mod store_context {
    /// Lowest stack pointer at which a host function may still be called.
    pub const STACK_LIMIT: i32 = 0;
    /// Frame pointer of the newest trampoline that left wasm for the host.
    pub const EXIT_FP: i32 = 8;
    /// Pointer to the OSR buffer of on-stack replacement (OSR), which has room for [`OSR_VALUES`] values. A
    /// frame that moves to another version of its function stores its locals and then its operand stack there.
    pub const OSR_BUFFER: i32 = 16;
    /// Event counters, one `u64` per kind. The counter of a metered kind holds the negated remaining budget.
    pub const EVENTS: i32 = 24;
    /// Maximum number of event kinds.
    pub const EVENT_KINDS: u32 = 16;
    /// Returns the offset of the counter of one kind.
    pub const fn event(kind: u32) -> i32 {
        EVENTS + 8 * kind as i32
    }
    /// `u64`: the trace bits that are not in the trace buffer yet, in the format of [`super::trace_word`].
    pub const TRACE_WORD: i32 = event(EVENT_KINDS);
    /// Address in the trace buffer of the next word. The page behind the buffer is not writable.
    pub const TRACE_NEXT: i32 = TRACE_WORD + 8;
    /// Address in the buffer of data references of the next reference. The page behind that buffer is not writable
    /// either.
    pub const REFERENCE_NEXT: i32 = TRACE_NEXT + 8;
    /// The hidden argument of a call: the address of the callee slot, see [`super::call_record`]. A frame that moves to
    /// another version by OSR passes its call record instead.
    pub const CALLEE_SLOT: i32 = REFERENCE_NEXT + 8;
    /// Address of the code with [`super::super::find_record_signature`].
    pub const FIND_RECORD: i32 = CALLEE_SLOT + 8;
    /// `u64`: the path register of a frame that moves to another version of its function by OSR.
    pub const PATH: i32 = FIND_RECORD + 8;
    /// The metric readings, one `u64` per metric number: see [`super::super::read_metrics_signature`].
    pub const METRICS: i32 = PATH + 8;
    /// Maximum number of metrics.
    pub const METRIC_KINDS: u32 = 6;
    /// Returns the offset of the reading of one metric.
    pub const fn metric(number: u32) -> i32 {
        METRICS + 8 * number as i32
    }
    /// The measurements of a frame, one `i64` per metric number: the input of the version that continues the frame, or
    /// of the path table.
    pub const MEASURED: i32 = metric(METRIC_KINDS);
    /// Returns the offset of the measurement of one metric.
    pub const fn measured(number: u32) -> i32 {
        MEASURED + 8 * number as i32
    }
    /// Address of the code with [`super::super::read_metrics_signature`].
    pub const READ_METRICS: i32 = measured(METRIC_KINDS);
    /// Address of the next entry of the [`super::simulation_log`].
    pub const SIMULATION_NEXT: i32 = READ_METRICS + 8;
    /// `i64`: the number of checks to pass before one fires.
    pub const CHECKS: i32 = SIMULATION_NEXT + 8;
    /// `i64`: the number of checks left in the current burst; 0 outside bursts.
    pub const BURST: i32 = CHECKS + 8;
    /// `i64`: 1 during a burst, 0 otherwise. A check in burst code copies it for its frame.
    pub const COUNTS: i32 = BURST + 8;
    /// `i64`: the increment, 1 or 0, that burst code of a function without a check at its entry adds to counters: the
    /// increment of its caller. A frame that moves to other burst code passes its own increment.
    pub const PASSED: i32 = COUNTS + 8;
    /// Address of the code with [`super::super::check_signature`].
    pub const CHECK: i32 = PASSED + 8;
    /// Address of the code with [`super::super::check_pinned_signature`].
    pub const CHECK_PINNED: i32 = CHECK + 8;
    /// Address of the code with [`super::super::leave_signature`].
    pub const LEAVE: i32 = CHECK_PINNED + 8;
    /// The vmctx of the frame that calls `LEAVE`.
    pub const LEAVING: i32 = LEAVE + 8;
    /// The decision of the check: the address of the version that continues the frame, 0 to stay, or one of
    /// [`super::check`].
    pub const GO_ON: i32 = LEAVING + 8;
    /// Address at which the next heap object begins.
    pub const HEAP_CURSOR: i32 = GO_ON + 8;
    /// Address at which the current hole of the heap ends; at or below the cursor if code must ask the runtime.
    pub const HEAP_LIMIT: i32 = HEAP_CURSOR + 8;
    /// Pointers to [`super::display`]s, indexed by the engine-wide type id of an object; moves as types are added.
    pub const DISPLAYS: i32 = HEAP_LIMIT + 8;
    /// `i64`: the number of further function frames allowed, if frames are limited.
    pub const FRAMES_LEFT: i32 = DISPLAYS + 8;
    /// The request of the allocator that was entered last, if allocations are counted: its call record, and three numbers
    /// whose meaning is that of [`Builtin::LeaveAllocator`](super::super::Builtin::LeaveAllocator).
    pub const ASKED: i32 = FRAMES_LEFT + 8;
    /// Number of `u64` of a request.
    pub const ASKED_WORDS: u32 = 4;
    /// Size.
    pub const SIZE: u32 = ASKED as u32 + 8 * ASKED_WORDS;
    /// Maximum number of locals and operands of a frame that OSR moves; larger frames stay in their version.
    pub const OSR_VALUES: u32 = 4096;
}

/// Values of [`store_context::GO_ON`] other than addresses.
pub mod check {
    /// Trap, with the reason that the host has stored.
    pub const TRAP: i64 = 1;
}

/// What a simulated cache and a simulated predictor have yet to see, in the order of execution. The log begins at a multiple
/// of its size. Code that fills it, and code that reads metrics, calls [`store_context::READ_METRICS`], which empties it.
///
/// An entry of an access: the host address of the memory's byte 0, a multiple of [`MOST_BYTES`](simulation_log::MOST_BYTES)
/// times two, plus the number of bytes; and the address in the memory. An entry of a branch: the vmctx, a multiple of 8, plus
/// [`BRANCH`](simulation_log::BRANCH); and the byte offset in the module in the lower half, nonzero in the upper half if the
/// branch is taken.
pub mod simulation_log {
    /// Size.
    pub const SIZE: u32 = 4096;
    /// Size of an entry.
    pub const ENTRY: u32 = 16;
    /// Maximum number of bytes of an access; all are powers of two.
    pub const MOST_BYTES: u64 = 16;
    /// The lowest three bits of the first word of a branch's entry.
    pub const BRANCH: u64 = 3;
}

/// The heat counter of a function's baseline code: loop rounds and calls in its lower half, calls in its upper half.
pub mod heat {
    /// Increment for a loop round or a call.
    pub const ROUND: u64 = 1;
    /// Additional increment for a call.
    pub const CALL: u64 = 1 << 32;
    /// A function that has requested a better version requests one again after its heat has grown by the first
    /// threshold divided by this.
    pub const ASKS: u32 = 4;
}

/// Bits that select the version for a call while two versions are timed; both may be set.
pub mod trial {
    /// The call gets the newer version; otherwise the previous one.
    pub const AFTER: u32 = 1;
    /// The call is timed: the caller reports its return to the runtime.
    pub const TIMED: u32 = 2;
}

/// A word of the trace: a one bit, and below it up to 63 trace bits, the first one highest. Appending is therefore a
/// shift, and a sign test detects a full word. A value that does not fit goes into the next word as a whole.
pub mod trace_word {
    /// A word without bits.
    pub const EMPTY: u64 = 1;

    /// Returns the `bits` low bits of `value`, lowest first in the trace, in the bit order of a word.
    pub const fn in_word(value: u32, bits: u8) -> u64 {
        (value as u64).reverse_bits() >> (64 - bits as u32)
    }

    /// Returns the number of bits that a word holds.
    pub const fn len(word: u64) -> u32 {
        63 - word.leading_zeros()
    }
}

/// A call record: the counts of a function in one calling context, a node of the calling context tree. The head is
/// followed by a *callee slot* for each call in the function: the address of the record of the most recent callee,
/// initially the root's record.
pub mod call_record {
    use wprof_profiler::{CALLEE_SLOT_BYTES, RECORD_HEAD_BYTES};

    /// `u64`: identifies the function. The key of a wasm function is the sum of its vmctx address and its index, which
    /// is an address inside that vmctx and therefore unique; all other records have 0.
    pub const KEY: i32 = 0;
    /// `u64`: the number of calls.
    pub const CALLS: i32 = 8;
    /// `u64`, before the record: the number of times that the function started to measure, if anything is measured.
    pub const STARTS: i32 = -8;
    /// Returns the offset of a `u64` before the record: the measurement of one metric.
    pub const fn metric(number: u32) -> i32 {
        STARTS - 8 - 8 * number as i32
    }
    /// Returns the offset of a `u64` before the record: the instructions counted in bursts, given the number of
    /// metrics.
    pub const fn ops(metrics: u32) -> i32 {
        metric(metrics)
    }
    /// Returns the offset of a `u64` before the record: the events of one kind, given the number of metrics. Bursts
    /// count no events.
    pub const fn event(metrics: u32, kind: u32) -> i32 {
        metric(metrics + kind)
    }
    /// Returns the number of words before a record with so many metrics and event kinds, where instructions in bursts
    /// count as one kind.
    pub const fn words_before(metrics: u32, counted: u32) -> u32 {
        match metrics + counted {
            0 => 0,
            figures => figures + 1,
        }
    }
    /// Returns the offset of a `u64` before the record, behind all others and only if allocations are counted: whether its
    /// function allocates in this context, given the number of metrics and event kinds.
    pub const fn allocates(metrics: u32, counted: u32) -> i32 {
        -8 - 8 * words_before(metrics, counted) as i32
    }
    /// The value of [`allocates`] before the runtime was asked.
    pub const UNKNOWN: u64 = 0;
    /// The value of [`allocates`] where another allocator calls the function: what it does is not counted. Greater values
    /// are numbers of the runtime's.
    pub const NESTED: u64 = 1;
    /// Returns the offset of the callee slot of call number `site`.
    pub const fn slot(site: u32) -> u32 {
        RECORD_HEAD_BYTES as u32 + CALLEE_SLOT_BYTES as u32 * site
    }
}

/// The rows among a function's counters that count its paths if it has too many paths for a counter each. The path
/// number selects the row, which belongs to one path at a time; the counts of evicted paths are in the instance's path
/// table. Where each calling context counts paths separately, the number holds the number of the call record above its
/// low 32 bits.
pub mod path_row {
    use wprof_profiler::MAX_PATHS;

    /// Number of rows of a function.
    pub const COUNT: u32 = 1 << 10;
    /// `u64`: one more than the number of the path, 0 for none.
    pub const KEY: i32 = 0;
    /// Returns the number of path 0 in a call record: the record number above the bits of path numbers.
    pub const fn first_in(record: u32) -> u64 {
        record as u64 * MAX_PATHS
    }
    /// Splits a number into the call record, 0 for none, and the path.
    pub const fn split(number: u64) -> (u32, u64) {
        ((number / MAX_PATHS) as u32, number % MAX_PATHS)
    }
    /// Returns the offset of a `u64` figure: the execution count of the path, then its measurements.
    pub const fn figure(number: u32) -> i32 {
        8 + 8 * number as i32
    }
    /// Returns the number of words of a row with so many figures.
    pub const fn words(figures: u32) -> u32 {
        1 + figures
    }
    /// Multiplier of a path number, an odd factor near 2^64 over the golden ratio; the high bits of the product select
    /// the row (Knuth, The Art of Computer Programming 3, section 6.4).
    pub const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    /// Number of bits of the product below the row index.
    pub const SHIFT: u32 = 64 - COUNT.ilog2();
}

/// The stream of a loop that follows pointers, in counters of the instance: see `translate/follow.rs`.
pub mod stream {
    /// `u64`: the number of addresses that the loop has recorded; the next one goes to this entry of the log.
    pub const NEXT: i32 = 0;
    /// `u64`: the number of entries by which what the loop repeats lies behind, modulo the length of the log.
    pub const LAG: i32 = 8;
    /// `u32` for each hash of an address: a number of an entry of the log that held such an address once.
    pub const INDEX: i32 = 16;
    /// The number of bits of a hash.
    pub const INDEX_BITS: u32 = 14;
    /// The factor of the hash of an address.
    pub const FACTOR: u32 = 0x9e37_79b1;
    /// `u32` for each entry of the log: an address that the loop followed.
    pub const LOG: i32 = INDEX + (4 << INDEX_BITS);
    /// The number of entries of the log, a power of two: lists of so many nodes are recognised.
    pub const ENTRIES: u32 = 1 << 19;
    /// The number of rounds ahead for which an address is prefetched: so far ahead memory is in time, and the caches
    /// have room for what is between.
    pub const AHEAD: u32 = 16;
    /// The entries of the index are made for one address in this many, a power of two, so that those of the beginning
    /// of a long list are still there when it comes around.
    pub const INDEXED: u32 = 32;
    /// The number of counters of a stream.
    pub const COUNTERS: u32 = (LOG as u32 + 4 * ENTRIES) / 8;
}

/// A data reference in its buffer. The short form is one word: the site, a byte offset in the module, above an index of
/// 32 bits. The long form has the highest bit set and holds the site and the number of words that follow: an index, and
/// perhaps a length.
pub mod reference {
    /// The bit that marks the long form.
    pub const IS_LONG: u64 = 1 << 63;
    /// Maximum number of words of a reference.
    pub const MAX_WORDS: usize = 3;

    /// Returns the first word, with its low half zero.
    pub const fn head(site: u32) -> u64 {
        (site as u64) << 32
    }
}

/// An entry from the host into wasm, with the state that an exit restores. Written by the host-to-wasm trampoline.
pub mod activation {
    /// Stack pointer to restore.
    pub const SP: i32 = 0;
    /// Frame pointer to restore; also the end of the frame walk.
    pub const FP: i32 = 8;
    /// Address at which execution continues after a trap.
    pub const HANDLER: i32 = 16;
    /// Size.
    pub const SIZE: u32 = 24;
}

/// The code slots of one function: addresses of its versions. Each module has an array of slots, indexed by *function*
/// index (imports included, whose rows stay unused).
pub mod code_slots {
    /// The entry for ordinary callers.
    pub const ENTRY: i32 = 0;
    /// The entry for instrumented callers.
    pub const INSTRUMENTED_ENTRY: i32 = 8;
    /// Size of a row.
    pub const SIZE: u32 = 16;
}

/// A dispatch cell: the address of a row of code slots, which lies below 4 GiB. See `module::ConstantTables`.
pub mod dispatch_cell {
    /// Size.
    pub const SIZE: u32 = 4;
}

/// A function value: the target of a `funcref`.
pub mod func_ref {
    /// Pointer to the function's code slots.
    pub const SLOTS: i32 = 0;
    /// The vmctx argument of a call: the vmctx of an instance or a host context.
    pub const VMCTX: i32 = 8;
    /// `u32`: the function type's id, unique in the engine.
    pub const TYPE: i32 = 16;
    /// `u32`: the function's index in the format of a trace word, or that of `HOST_CALLEE`.
    pub const TRACE_TOKEN: i32 = 20;
    /// Pointer to the [`super::display`] of the type.
    pub const DISPLAY: i32 = 24;
    /// Size.
    pub const SIZE: u32 = 32;
}

/// The supertypes of a type: their number, the type itself included, then their ids, topmost first, all `u32`. Type A
/// with `n` proper supertypes is a supertype of type B if B's display has more than `n` ids and its id number `n` is
/// A's.
pub mod display {
    /// Number of ids that follow.
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

/// An exception: the target of an `exnref`.
pub mod exception {
    /// `u64`: the store-wide unique number of the exception's tag.
    pub const TAG: i32 = 0;
    /// Returns the offset of value number `index` of the exception.
    pub const fn value(index: u32) -> i32 {
        ((1 + index) * super::value::SIZE) as i32
    }
}

/// A global's cell.
pub mod global {
    /// Size and alignment: one value.
    pub const SIZE: u32 = super::value::SIZE;
}

/// Offsets into the vmctx of one module's instances. Counters come last, so that a counter update is one instruction
/// with a constant displacement from the vmctx.
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
    /// Computes the layout of `module`'s instances.
    ///
    /// # Panics
    /// Panics if the module is larger than wasmparser's implementation limits allow.
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

    /// Returns the offset of the [`func_import`] of imported function `index`.
    pub fn func_import(&self, index: u32) -> u32 {
        self.imported_funcs + index * func_import::SIZE
    }

    /// Returns the offset of the pointer to the definition of imported table `index`.
    pub fn table_import(&self, index: u32) -> u32 {
        self.imported_tables + index * 8
    }

    /// Returns the offset of the pointer to the definition of imported memory `index`.
    pub fn memory_import(&self, index: u32) -> u32 {
        self.imported_memories + index * 8
    }

    /// Returns the offset of the pointer to the cell of imported global `index`.
    pub fn global_import(&self, index: u32) -> u32 {
        self.imported_globals + index * 8
    }

    /// Returns the offset of the store-wide unique number of tag `index`: a `u64` that never changes.
    pub fn tag(&self, index: u32) -> u32 {
        self.tags + index * 8
    }

    /// Returns the offset of the definition of the module's own table number `defined` (imports not counted).
    pub fn table(&self, defined: u32) -> u32 {
        self.tables + defined * table::SIZE
    }

    /// Returns the offset of the definition of the module's own memory number `defined`, or of the pointer to a shared
    /// one.
    pub fn memory(&self, defined: u32) -> u32 {
        self.memories + defined * memory::SIZE
    }

    /// Returns the offset of the cell of the module's own global number `defined`.
    pub fn global(&self, defined: u32) -> u32 {
        self.globals + defined * global::SIZE
    }

    /// Returns the offset of [`func_ref`] number `escaped`, an index into `ModuleInfo::escaped_funcs`.
    pub fn func_ref(&self, escaped: u32) -> u32 {
        self.func_refs + escaped * func_ref::SIZE
    }

    /// Returns the offset of counter number `index`, a `u64`.
    pub fn counter(&self, index: u32) -> u64 {
        u64::from(self.counters) + u64::from(index) * 8
    }

    /// Returns the size of the vmctx without the counters.
    pub fn size_without_counters(&self) -> u32 {
        self.counters
    }
}
