//! The implementation limits of the compiler, in one place.

/// Edges of one function's CFG, and values that they carry; more is refused as too large.
pub const MAX_EDGES: usize = 4_000_000;

/// Values on the operand stack of a function; a function that needs more is refused as invalid.
pub const MAX_OPERANDS: u32 = 1_000_000;

/// Types that are recorded for the operand stacks of one function while its CFG is built; more is refused as too
/// large. Code without blocks and calls of hundreds of results needs less than one a byte.
pub const MAX_STACK_CELLS: usize = 16_000_000;

/// Largest offset from the vmctx that machine code uses (a signed 32-bit displacement).
pub const MAX_VMCTX_OFFSET: u64 = i32::MAX as u64;

/// Largest cost of an instruction, entry, back edge or unit in a kind of event. A function of 4 GiB still has less
/// than 2^64 events.
pub const MAX_EVENT_COST: u64 = u32::MAX as u64;

/// Rules in one table of a user's kind of event; there are fewer opcodes.
pub const MAX_EVENT_RULES: usize = 1000;

/// Functions with at most so many paths have a counter for each, which takes address space always and memory where
/// paths run; the others count in rows of a table.
pub const MAX_DENSE_PATHS: u64 = 1 << 14;

/// Where paths are counted in each calling context, call records of functions with at most so many have a counter for
/// each, unless the user wants it otherwise; the others count in rows of a table.
pub const RECORD_PATHS: u64 = 64;
