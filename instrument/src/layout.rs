//! Layout of the region of counters, and of the additions at the ends of the module's index spaces.
//!
//! The region is a memory of its own, or the end of the program's memory. It holds, in this order: a head that
//! [`FLUSH`] fills in; the counters (64 bits each; [`FLUSH`] fills in those that are variables); the stack of calls in
//! flight; and the table, which moves behind the end of the region when it grows.

use crate::module::Source;

/// The export of the memory that holds the region.
pub const COUNTERS: &str = "wprof_counters";
/// The export of the region's version, [`REGION_VERSION`].
pub const VERSION: &str = "wprof_version";
/// The export of the first four bytes of the original module's hash.
pub const FINGERPRINT: &str = "wprof_fingerprint";
/// The export of the function that fills in the head and returns the address of the region.
pub const FLUSH: &str = "wprof_flush";
/// All names that instrumentation exports.
pub const RESERVED: [&str; 4] = [COUNTERS, VERSION, FINGERPRINT, FLUSH];

/// The value of the export [`VERSION`].
pub const REGION_VERSION: u32 = 1;

/// The first word of a region, once its head is filled in: "wprf".
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

/// Offset of the first counter.
pub const FIRST_COUNTER: u32 = 64;

/// Bytes per entry of the stack: a site at offset 0, and the path register at offset 8.
pub const ENTRY: u32 = 16;
/// Bytes of the stack, besides an entry for each function. The frame of a live entry takes more than that on the host's
/// stack, for which browsers and Node provide a MiB or a few.
pub const STACK: u32 = 8 << 20;
/// If the stack is higher than this when the host calls in, its entries are booked as ended: only frames that were left
/// behind accumulate to so many.
pub const SOFT_LIMIT: u32 = 1 << 20;

/// Bytes of a row of the table: an id plus 1 (0 if the row is free), a key at offset 8, a count at offset 16.
pub const ROW: u32 = 24;
/// Initial number of rows of the table; a power of two.
pub const FIRST_ROWS: u32 = 1 << 10;
/// The bit of an id that distinguishes a site from a function.
pub const IS_SITE: u32 = 1 << 31;

/// Bytes of a WebAssembly page.
pub const PAGE: u32 = 1 << 16;

/// The layout of the region and of the index spaces.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Index of the memory that holds the region.
    pub memory: u32,
    /// Whether that memory is the program's, so that the region moves.
    pub is_shared: bool,
    /// Number of counters.
    pub counters: u32,
    functions: u32,
    first_global: u32,
    first_func: u32,
}

/// The globals that are added to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
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
}

/// The functions that are added to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Support {
    /// Adds to a row of the table.
    Bump,
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
}

impl Layout {
    /// Returns the layout of a module with `counters` counters.
    pub fn new(source: &Source<'_>, counters: u32, in_program_memory: bool) -> Layout {
        let is_shared = in_program_memory && !source.memories.is_empty();
        Layout {
            memory: if is_shared { 0 } else { source.memories.len() as u32 },
            is_shared,
            counters,
            functions: source.bodies.len() as u32,
            first_global: source.globals,
            first_func: source.funcs.len() as u32,
        }
    }

    /// Returns the offset of the stack.
    pub fn stack(&self) -> u32 {
        (FIRST_COUNTER + 8 * self.counters).next_multiple_of(ENTRY)
    }

    /// Returns the value of [`Global::Height`] for an empty stack.
    pub fn no_entry(&self) -> u32 {
        self.stack() - ENTRY
    }

    /// Returns the initial offset of the table. Functions that do not recur do not check whether the stack has room for
    /// them.
    pub fn first_table(&self) -> u32 {
        self.stack() + STACK + ENTRY * self.functions
    }

    /// Returns the initial number of pages of the region.
    pub fn pages(&self) -> u32 {
        (self.first_table() + FIRST_ROWS * ROW).div_ceil(PAGE)
    }

    /// Returns the index of an added global.
    pub fn global(&self, global: Global) -> u32 {
        self.first_global + global as u32
    }

    /// Returns the index behind the last added global.
    pub fn globals_end(&self) -> u32 {
        self.first_global
            + if self.is_shared { Global::Whole as u32 + 1 } else { Global::Fingerprint as u32 + 1 }
    }

    /// Returns the index of an added function.
    pub fn func(&self, func: Support) -> u32 {
        self.first_func + func as u32
    }
}

/// The maximum number of counters: their region fits into a memory that also holds the program and the table.
pub const MOST_COUNTERS: u64 = 1 << 27;
