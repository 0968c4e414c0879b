//! Where things are: in the region of counters, and at the ends of the module's index spaces.
//!
//! The region is a memory of its own, or the end of the program's. It holds, in this order, a head that
//! [`FLUSH`] fills in, the counters (64 bits each; it fills in those that are variables), the stack of calls in flight, and the table, which moves behind the
//! end of the region when it grows.

use crate::module::Source;

/// The memory with the region.
pub const COUNTERS: &str = "wprof_counters";
/// The version of what stands in the region: [`REGION_VERSION`].
pub const VERSION: &str = "wprof_version";
/// The first four bytes of the original's hash.
pub const FINGERPRINT: &str = "wprof_fingerprint";
/// A function that fills in the head, and gives the region's first byte in the memory.
pub const FLUSH: &str = "wprof_flush";
/// All names that are exported.
pub const RESERVED: [&str; 4] = [COUNTERS, VERSION, FINGERPRINT, FLUSH];

/// The value of the export [`VERSION`].
pub const REGION_VERSION: u32 = 1;

/// The first word of a region, once its head is filled in: "wprf".
pub const MAGIC: u32 = 0x6672_7077;
/// Where its length is.
pub const LENGTH: u32 = 4;
/// Where the height of the stack of calls in flight is.
pub const HEIGHT: u32 = 8;
/// Where the place of the table is.
pub const TABLE: u32 = 12;
/// Where the number of its rows is.
pub const ROWS: u32 = 16;
/// Where flags are.
pub const FLAGS: u32 = 20;

/// The flag that something was not counted, for want of memory.
pub const FULL: u32 = 1;
/// The flag that frames were booked that may not have ended.
pub const GUESSED: u32 = 2;

/// Where counters begin.
pub const FIRST_COUNTER: u32 = 64;

/// Bytes of an entry of the stack: a site, and the path register behind 8 bytes.
pub const ENTRY: u32 = 16;
/// Bytes of the stack, besides an entry for each function. A live entry belongs to a frame that takes more of the host's stack, of which browsers and Node
/// give a MiB or a few.
pub const STACK: u32 = 8 << 20;
/// What the stack is found to hold when somebody else calls in is booked as ended beyond this height: only frames that
/// were left behind come to be so many.
pub const SOFT_LIMIT: u32 = 1 << 20;

/// Bytes of a row of the table: an id plus 1 (0 if the row is free), a key behind 8 bytes, a count behind 16.
pub const ROW: u32 = 24;
/// Rows of the table at first; a power of two.
pub const FIRST_ROWS: u32 = 1 << 10;
/// The bit of an id that tells a site from a function.
pub const IS_SITE: u32 = 1 << 31;

/// Bytes of a page.
pub const PAGE: u32 = 1 << 16;

/// Where everything is.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The memory that holds the region.
    pub memory: u32,
    /// Whether that is the program's, so that the region moves.
    pub is_shared: bool,
    /// How many counters there are.
    pub counters: u32,
    functions: u32,
    first_global: u32,
    first_func: u32,
}

/// The globals that are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Global {
    /// Where the topmost entry of the stack is in the region.
    Height,
    /// Where the table is.
    Table,
    /// How many rows it has.
    Rows,
    /// How many are taken.
    Taken,
    /// Flags.
    Flags,
    /// How many pages the region has.
    Pages,
    /// The constant [`REGION_VERSION`].
    Version,
    /// The constant hash.
    Fingerprint,
    /// In a shared memory: where the region begins.
    Base,
    /// In a shared memory: how many pages all of it had when the region was moved last.
    Whole,
}

/// The functions that are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Support {
    /// Adds to a row of the table.
    Bump,
    /// Books the entries above one, or above none.
    Left,
    /// Fills in the head.
    Flush,
    /// Makes the table larger.
    Rehash,
    /// Books all entries.
    Clear,
    /// Adds 1 to a counter.
    Count,
    /// Writes an entry, which becomes the topmost one.
    Mark,
    /// Behind a call of the host: books what it has left behind.
    Returned,
    /// In a shared memory: moves the region behind what the host has grown.
    Settle,
    /// In a shared memory: grows the program's part.
    Grow,
    /// In an imported memory: gets the region, and starts the program.
    Start,
}

impl Layout {
    /// The layout of a module with so many counters.
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

    /// Where the stack begins.
    pub fn stack(&self) -> u32 {
        (FIRST_COUNTER + 8 * self.counters).next_multiple_of(ENTRY)
    }

    /// What [`Global::Height`] is if the stack is empty.
    pub fn no_entry(&self) -> u32 {
        self.stack() - ENTRY
    }

    /// Where the table begins at first. Functions that do not recur do not look whether the stack has room for them.
    pub fn first_table(&self) -> u32 {
        self.stack() + STACK + ENTRY * self.functions
    }

    /// How many pages the region has at first.
    pub fn pages(&self) -> u32 {
        (self.first_table() + FIRST_ROWS * ROW).div_ceil(PAGE)
    }

    /// The index of a global.
    pub fn global(&self, global: Global) -> u32 {
        self.first_global + global as u32
    }

    /// The first global behind these.
    pub fn globals_end(&self) -> u32 {
        self.first_global
            + if self.is_shared { Global::Whole as u32 + 1 } else { Global::Fingerprint as u32 + 1 }
    }

    /// The index of a function.
    pub fn func(&self, func: Support) -> u32 {
        self.first_func + func as u32
    }
}

/// The most counters for which a region fits into a memory with room for the program and the table.
pub const MOST_COUNTERS: u64 = 1 << 27;
