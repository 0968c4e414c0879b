//! Layout of the region of counters, and of the additions at the ends of the module's index spaces.
//!
//! The region is a memory of its own, or the end of the program's memory. It holds, in this order: a head that
//! [`FLUSH`] fills in; the counters (64 bits each; [`FLUSH`] fills in those that are variables); the stack of calls in
//! flight; the trace; and the table, which moves behind the end of the region when it grows.

use std::ops::Range;

use crate::module::Source;

/// The export of the memory that holds the region.
pub const COUNTERS: &str = "wprof_counters";
/// The export of the region's version, [`REGION_VERSION`].
pub const VERSION: &str = "wprof_version";
/// The export of the first four bytes of the original module's hash.
pub const FINGERPRINT: &str = "wprof_fingerprint";
/// The export of the function that fills in the head and returns the address of the region.
pub const FLUSH: &str = "wprof_flush";
/// The export of the variable that says under which record the host calls in, if contexts are counted.
pub const CURRENT: &str = "wprof_current";
/// The export of the variable by which a caller tells its callee where it was called, if contexts are counted.
pub const SLOT: &str = "wprof_slot";
/// All names that instrumentation exports.
pub const RESERVED: [&str; 6] = [COUNTERS, VERSION, FINGERPRINT, FLUSH, CURRENT, SLOT];

/// The value of the export [`VERSION`].
pub const REGION_VERSION: u32 = 2;

/// The first word of a region, once its head is filled in: "wprf". While a thread waits in wasm, others can read its
/// region: then the head is filled in, and the word is 0 again when the thread goes on.
pub const MAGIC: u32 = 0x6672_7077;
/// Offset of the region's length.
pub const LENGTH: u32 = 4;
/// Offset of the height of the stack of calls in flight.
pub const HEIGHT: u32 = 8;
/// Offset of the table's place.
pub const TABLE: u32 = 12;
/// Offset of the number of rows of the table.
pub const ROWS: u32 = 16;
/// Offset of the flags.
pub const FLAGS: u32 = 20;

/// The flag that some counts are missing for want of memory.
pub const FULL: u32 = 1;
/// The flag that frames were booked that may not have ended.
pub const GUESSED: u32 = 2;
/// The flag that the trace has only the beginning of the run for want of memory.
pub const TRACE_FULL: u32 = 4;

/// Offset of the word of the trace that is being filled, 64 bits.
pub const TRACE_WORD: u32 = 24;
/// Offset of the number of bits in that word.
pub const TRACE_BITS: u32 = 32;
/// Offset of the number of bytes of full words of the trace.
pub const TRACE_BYTES: u32 = 36;
/// Offset of the number of bytes that notes of the trace take: they lie behind the words, the newest first.
pub const TRACE_NOTES: u32 = 40;
/// Offset of the number of bits that a tail call's edge writes behind its callee.
pub const TAIL_BITS: u32 = 44;
/// Offset of these bits, 64 bits; traced modules have no calling contexts.
pub const TAIL_VALUE: u32 = 48;
/// Offset of the place behind the memory of the trace.
pub const TRACE_END: u32 = 56;

/// Bytes of the head of a note: a position in bits, a number of entries or [`IS_MENDED`], and how many of them stay. The
/// first half of each entry follows.
pub const NOTE: u32 = 16;
/// In place of a note's number of entries: the call at this position, of the entry with the next number, was of a
/// function of the host, which called the function that the trace has there.
pub const IS_MENDED: u32 = u32::MAX;

/// Offset of the callee slot of the outermost host: the functions that it calls have no calling record.
pub const ROOT_SLOT: u32 = 48;
/// Offset of the callee slot of calls in contexts for which there was no memory.
pub const BEYOND_SLOT: u32 = 56;

/// Offset of the first counter.
pub const FIRST_COUNTER: u32 = 64;

/// Bytes per entry of the stack: a site at offset 0, the frame's call record at offset 4 if figures are kept there,
/// and the path register at offset 8. In a traced module: the byte offset of the instruction, a state at offset 4, and
/// at offset 8 the position in the trace where the callee of an indirect call is named.
pub const ENTRY: u32 = 16;
/// Bytes of the stack, besides an entry for each function. The frame of a live entry takes more than that on the host's
/// stack, for which browsers and Node provide a MiB or a few.
const STACK: u32 = 8 << 20;
/// If the stack is higher than this when the host calls in, its entries are booked as ended.
const SOFT_LIMIT: u32 = 1 << 20;
/// The two behind the program's memory if at most one frame of each function is live, so that only frames that were left
/// behind accumulate.
const SMALL_STACK: u32 = 1 << 18;
const SMALL_SOFT_LIMIT: u32 = 1 << 17;

/// Bytes of a row of the table: an id plus 1 (0 if the row is free), a call record or 0 at offset 4, a key at offset 8,
/// a count at offset 16.
pub const ROW: u32 = 24;
/// Initial number of rows of the table; a power of two.
pub const FIRST_ROWS: u32 = 1 << 10;
/// The most rows of the table, and bytes for call records, behind the program's memory. There they do not grow: growing the memory
/// would take its buffer away from JavaScript, which looks for that only where the program itself grows it.
pub const ROWS_IN_PROGRAM: u32 = 1 << 17;
pub const RECORDS_IN_PROGRAM: u32 = 8 << 20;
/// The note of the host in the last bytes of an imported memory, if it has made that larger: the number of pages that the
/// program does not know of, and behind it [`SPARE`].
pub const SPARE_NOTE: u32 = 16;
/// The last 64 bits of an imported memory with spare pages.
pub const SPARE: u64 = 0x6572_6170_732d_7077;
/// The custom section of a module whose region is behind an imported memory: the number of its pages, 32 bits.
pub const REGION: &str = "wprof.region";
/// The bit of an id that distinguishes a site from a function.
pub const IS_SITE: u32 = 1 << 31;
/// The bit of an id of rows that lead from a callee slot, instead of a call record, to the record of a function.
pub const IS_LINK: u32 = 1 << 30;
/// The function that stands for all functions of the host whose names are unknown.
pub const UNNAMED: u32 = IS_LINK - 2;

/// Offset in a call record of the function's index plus 1.
pub const KEY: u32 = 0;
/// Offset in a call record of the caller's record: [`NO_RECORD`] for the host outside, or [`BEYOND`].
pub const PARENT: u32 = 4;
/// Offset in a call record of the number of calls.
pub const CALLS: u32 = 8;
/// Offset in a call record of the caller's slot at which the function was first called.
pub const FROM: u32 = 16;
/// Offset in a call record of the first figure: a cell for each kind of event, and then for each path.
pub const FIGURES: u32 = 24;
/// Bytes of a callee slot: the record of the latest callee, and the record that the slot belongs to.
pub const SLOT_BYTES: u32 = 8;
/// In place of a record: the host outside.
pub const NO_RECORD: u32 = 0;
/// In place of a record: contexts for which there was no memory. No record has this offset.
pub const BEYOND: u32 = 1;

/// Bytes of a WebAssembly page.
pub const PAGE: u32 = 1 << 16;

/// The layout of the region and of the index spaces.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Index of the memory that holds the region.
    pub memory: u32,
    /// Whether that memory is the program's, so that the region moves.
    pub is_shared: bool,
    /// Whether the host makes that memory, so that the region must be allocated at the start.
    pub gets_region: bool,
    /// Number of counters; the last ones are the sums of events that are not counted in call records.
    pub counters: u32,
    /// Number of those sums.
    pub sums: u32,
    /// Whether threads share the program's memory: then others can read the region, which each thread has its own of.
    pub is_threaded: bool,
    /// The call records, if contexts are counted.
    pub records: Option<Records>,
    /// The bytes for a trace, if the module is traced.
    pub trace: Option<u32>,
    /// The part of the region that depends on the program, if it is behind the program's memory.
    needs: Option<Needs>,
    functions: u32,
    first_global: u32,
    first_func: u32,
}

/// Facts about a program that decide how large a region behind its memory is.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The most rows of the table that can be taken.
    pub rows: u64,
    /// Whether more frames than there are functions may be live.
    pub nest: bool,
}

/// Facts about all call records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Number of kinds of events that each record counts.
    pub events: u32,
    /// Bytes of the largest record.
    pub largest: u32,
    /// Whether frames that stop owe figures to their records.
    pub are_owed: bool,
    /// Bytes of one record of each function.
    pub one_of_each: u32,
}

impl Records {
    /// Returns the offset of the callee slots in the record of a function of the host.
    pub fn host_slots(&self) -> u32 {
        FIGURES + 8 * self.events
    }
}

/// The globals that are added to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// Offset of the topmost entry of the stack in the region.
    Height,
    /// Offset of the table.
    Table,
    /// Number of rows of the table.
    Rows,
    /// Number of rows in use.
    Taken,
    /// The flags, [`FULL`] and [`GUESSED`].
    Flags,
    /// Number of pages of the region.
    Pages,
    /// The constant [`REGION_VERSION`].
    Version,
    /// The constant hash of the original module.
    Fingerprint,
    /// In a shared memory: the address of the region.
    Base,
    /// In a shared memory: the size in pages of the whole memory when the region last moved.
    Whole,
    /// With contexts: the callee slot of the call that is being made, or 0. In a traced module: how the call is made.
    Slot,
    /// With contexts: the callee slot for what the host calls. In a traced module: the height of the stack below what
    /// the host calls, and [`ROOT_SLOT`] if that is empty.
    Current,
    /// With contexts: the offset of the next call record.
    Next,
    /// With contexts: the end of the memory for call records.
    End,
    /// With contexts: the number of bytes that call records may still take.
    Room,
}

impl Global {
    /// All globals, in order.
    const ALL: [Global; 15] = [
        Global::Height,
        Global::Table,
        Global::Rows,
        Global::Taken,
        Global::Flags,
        Global::Pages,
        Global::Version,
        Global::Fingerprint,
        Global::Base,
        Global::Whole,
        Global::Slot,
        Global::Current,
        Global::Next,
        Global::End,
        Global::Room,
    ];

    fn is_in(self, layout: &Layout) -> bool {
        match self {
            Global::Base | Global::Whole => layout.is_shared,
            Global::Slot | Global::Current => layout.records.is_some() || layout.trace.is_some(),
            Global::Next | Global::End | Global::Room => layout.records.is_some(),
            _ => true,
        }
    }
}

/// The functions that are added to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Finds a row of the table, or takes a free one.
    Locate,
    /// Adds to a row of the table.
    Bump,
    /// Counts a path in the row that a hash selects.
    Row,
    /// Gives a row to another path.
    Evict,
    /// Books the entries above a given one, or all of them.
    Left,
    /// Fills in the head.
    Flush,
    /// Enlarges the table.
    Rehash,
    /// Books all entries.
    Clear,
    /// Increments a counter.
    Count,
    /// Writes an entry and makes it the topmost one.
    Mark,
    /// Runs after a call of the host: books the entries that the host has left behind.
    Returned,
    /// In a shared memory: moves the region to the end of the memory that the host has grown.
    Settle,
    /// In a shared memory: grows the program's part.
    Grow,
    /// In an imported memory: allocates the region, and starts the program.
    Start,
    /// With contexts: counts a call in the callee's record.
    Enter,
    /// With contexts: finds the record of a callee that was not the latest one.
    Find,
    /// With contexts: makes a record.
    Make,
    /// With contexts: counts a call of the host.
    Host,
    /// With contexts: runs after a call through a table or a reference: counts it if the callee has not.
    Unnamed,
    /// In a traced module: appends bits.
    Emit,
    /// In a traced module: takes back the bits that were appended last.
    Retract,
    /// In a traced module: the beginning of a function that may be called from outside.
    Begin,
    /// In a traced module: runs after a call whose callee may have left or called the host.
    Back,
    /// In a traced module: runs when an exception is caught.
    Caught,
    /// In a traced module: notes that a call was of the host's.
    Mend,
}

impl Support {
    /// All functions, in order.
    pub const ALL: [Support; 25] = [
        Support::Locate,
        Support::Bump,
        Support::Row,
        Support::Evict,
        Support::Left,
        Support::Flush,
        Support::Rehash,
        Support::Clear,
        Support::Count,
        Support::Mark,
        Support::Returned,
        Support::Settle,
        Support::Grow,
        Support::Start,
        Support::Enter,
        Support::Find,
        Support::Make,
        Support::Host,
        Support::Unnamed,
        Support::Emit,
        Support::Retract,
        Support::Begin,
        Support::Back,
        Support::Caught,
        Support::Mend,
    ];

    /// Reports whether a module of this layout has the function.
    pub fn is_in(self, layout: &Layout) -> bool {
        match self {
            Support::Settle | Support::Grow => layout.is_shared,
            Support::Start => layout.gets_region,
            Support::Enter | Support::Find | Support::Make | Support::Host | Support::Unnamed => {
                layout.records.is_some()
            }
            Support::Emit
            | Support::Retract
            | Support::Begin
            | Support::Back
            | Support::Caught
            | Support::Mend => layout.trace.is_some(),
            _ => true,
        }
    }
}

impl Layout {
    /// Returns the layout of a module with so many counters, and sums of events.
    pub fn new(
        source: &Source<'_>,
        (counters, sums): (u32, u32),
        in_program_memory: Option<Needs>,
        (records, trace): (Option<Records>, Option<u32>),
    ) -> Layout {
        let needs = in_program_memory.filter(|_| !source.memories.is_empty());
        let is_shared = needs.is_some();
        Layout {
            memory: if is_shared { 0 } else { source.memories.len() as u32 },
            is_shared,
            gets_region: is_shared && source.imported_memories > 0,
            counters: counters + sums,
            sums,
            is_threaded: !is_shared && source.memories.iter().any(|memory| memory.shared),
            records,
            trace,
            needs,
            functions: source.bodies.len() as u32,
            first_global: source.globals,
            first_func: source.funcs.len() as u32,
        }
    }

    /// Returns the number of the counter that is the sum of the first kind of events.
    pub fn first_sum(&self) -> u32 {
        self.counters - self.sums
    }

    /// Returns the offset of the stack.
    pub fn stack(&self) -> u32 {
        (FIRST_COUNTER + 8 * self.counters).next_multiple_of(ENTRY)
    }

    /// Returns the bytes of the stack, besides an entry for each function.
    pub fn stack_bytes(&self) -> u32 {
        if self.has_small_stack() { SMALL_STACK } else { STACK }
    }

    /// Returns the offset of the entry above which the stack is too high when the host calls in: only frames that were
    /// left behind accumulate to so many.
    pub fn soft_limit(&self) -> u32 {
        self.stack() + if self.has_small_stack() { SMALL_SOFT_LIMIT } else { SOFT_LIMIT }
    }

    /// Reports whether the stack is small. Where records or the trace follow, their places are the same in any memory.
    fn has_small_stack(&self) -> bool {
        self.needs.is_some_and(|needs| !needs.nest) && self.records.is_none() && self.trace.is_none()
    }

    /// Returns the value of [`Global::Height`] for an empty stack.
    pub fn no_entry(&self) -> u32 {
        self.stack() - ENTRY
    }

    /// Returns the offset of the record that takes the calls for which there is no record at all. Functions that do not
    /// recur do not check whether the stack has room for them.
    pub fn spare_record(&self) -> u32 {
        self.stack() + self.stack_bytes() + ENTRY * self.functions
    }

    /// Returns the offset of the trace.
    pub fn trace_start(&self) -> u32 {
        let spare = self.records.map_or(0, |records| records.largest.next_multiple_of(ENTRY));
        self.spare_record() + spare
    }

    /// Returns the initial offset of the table.
    pub fn first_table(&self) -> u32 {
        self.trace_start() + self.trace.unwrap_or(0).next_multiple_of(ENTRY)
    }

    /// Returns the initial number of rows of the table.
    pub fn first_rows(&self) -> u32 {
        match self.needs {
            None => FIRST_ROWS,
            Some(_) if self.records.is_some() => ROWS_IN_PROGRAM,
            // No more than half of the rows are taken.
            Some(needs) => (2 * needs.rows.min(u64::from(ROWS_IN_PROGRAM)) as u32 + 2)
                .next_power_of_two()
                .min(ROWS_IN_PROGRAM),
        }
    }

    /// Returns the place of the first call records, and the place behind it: nothing in a memory that grows for them.
    pub fn first_records(&self) -> Range<u32> {
        let start = (self.first_table() + self.first_rows() * ROW).next_multiple_of(ENTRY);
        // When the limit is reached, each function has one more record.
        let room = |records: Records| RECORDS_IN_PROGRAM.saturating_add(records.one_of_each);
        start..start + self.records.filter(|_| self.is_shared).map_or(0, room)
    }

    /// Returns the initial number of pages of the region.
    pub fn pages(&self) -> u32 {
        self.first_records().end.div_ceil(PAGE)
    }

    /// Returns the globals that the module has, in order.
    pub fn globals(&self) -> impl Iterator<Item = Global> + '_ {
        Global::ALL.into_iter().filter(|global| global.is_in(self))
    }

    /// Returns the index of an added global.
    pub fn global(&self, global: Global) -> u32 {
        self.first_global + self.globals().take_while(|other| *other != global).count() as u32
    }

    /// Returns the index behind the last added global.
    pub fn globals_end(&self) -> u32 {
        self.first_global + self.globals().count() as u32
    }

    /// Returns the functions that the module has, in order.
    pub fn support(&self) -> impl Iterator<Item = Support> + '_ {
        Support::ALL.into_iter().filter(|func| func.is_in(self))
    }

    /// Returns the index of an added function.
    pub fn func(&self, func: Support) -> u32 {
        self.first_func + self.support().take_while(|other| *other != func).count() as u32
    }

    /// Returns the index of the first shim, behind the support functions.
    pub fn first_shim(&self) -> u32 {
        self.first_func + self.support().count() as u32
    }

    /// Reports whether entries hold the records of their frames.
    pub fn owes_records(&self) -> bool {
        self.records.is_some_and(|records| records.are_owed)
    }
}

/// The maximum number of counters: their region fits into a memory that also holds the program and the table.
pub const MOST_COUNTERS: u64 = 1 << 27;
