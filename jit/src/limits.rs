//! The implementation limits of the parser and the compiler, in one place.
//!
//! What exceeds one is refused with an error that names the limit, or compiled in a simpler way, as each says. Limits
//! that embedders set (the size of modules, functions and their locals) are in `Config` of the crate `wprof`; those of
//! the format itself are wasmparser's. What an optimisation declines for its own sake stands where it does so.

/// Edges of one function's CFG, and values that they carry; more is refused as too large.
pub const MAX_EDGES: usize = 4_000_000;

/// Basic blocks of which code is made at once, of a function or a part of one, unless `CompilerOptions` say otherwise;
/// more is refused as too large.
pub const MAX_BLOCKS: usize = 500_000;

/// Values on the operand stack of a function; a function that needs more is refused as invalid.
pub const MAX_OPERANDS: u32 = 1_000_000;

/// Types that are recorded for the operand stacks of one function while its CFG is built; more is refused as too
/// large. Code without blocks and calls of hundreds of results needs less than one a byte.
pub const MAX_STACK_CELLS: usize = 16_000_000;

/// Where frames can go on in another version, in a part, or in a burst, they store their locals and operands. All these
/// places of a version store no more than so many values together, and so many for each byte of bytecode; code for more
/// would grow with the product of locals and loops. The function can then be left at some of its loops only, or has
/// fewer and larger parts.
pub const TRANSFERRED_ALWAYS: usize = 1 << 14;

/// See [`TRANSFERRED_ALWAYS`]. A value that is stored takes some 25 bytes of code, so transfers take no more than a few
/// times as much as the rest.
pub const TRANSFERRED_PER_BYTE: usize = 1;

/// Words of all sets of live locals of a function together; a function that needs more is taken to need all its locals.
pub const MAX_LIVENESS_WORDS: usize = 1 << 22;

/// Words that the analysis of live locals may look at, edges times words of a set; a function that needs more is taken
/// to need all its locals.
pub const MAX_LIVENESS_STEPS: usize = 1 << 28;

/// How many calls the values of a function are alive across, all together, in optimised code: the register allocator's
/// work grows with that. Registers of a function that has more, and more than [`CROSSINGS_PER_INSTRUCTION`] for each of
/// its instructions, are given out by an allocator that makes slower code in linear time.
pub const CROSSINGS_ALWAYS: usize = 1 << 21;

/// See [`CROSSINGS_ALWAYS`].
pub const CROSSINGS_PER_INSTRUCTION: usize = 32;

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
