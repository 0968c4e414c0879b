//! The implementation limits of the parser and the compiler, in one place.
//!
//! Input that exceeds a limit is refused with an error that names the limit, or compiled in a simpler way, as each one
//! says. Limits that embedders set (the size of modules, functions and their locals) are in `Config` of the crate
//! `wprof`; those of the format itself are wasmparser's. The limits of a single optimisation are defined in its module.

/// The maximum number of edges of one function's CFG, and of the values that they carry; more is refused as too large.
pub const MAX_EDGES: usize = 4_000_000;

/// The maximum number of basic blocks that are compiled at once, of a function or a part of one, unless
/// `CompilerOptions` say otherwise; more is refused as too large.
pub const MAX_BLOCKS: usize = 500_000;

/// The maximum number of values on the operand stack of a function; a function that needs more is refused as invalid.
pub const MAX_OPERANDS: u32 = 1_000_000;

/// The maximum number of types recorded for the operand stacks of one function while its CFG is built; more is refused
/// as too large. Code without blocks and calls of hundreds of results needs less than one per byte.
pub const MAX_STACK_CELLS: usize = 16_000_000;

/// Where frames can leave for another version, a part, or a burst, they store their locals and operands. All these
/// places of a version together store at most this many values, plus [`OSR_VALUES_PER_BYTE`] for each byte of
/// bytecode; more code would grow with the product of locals and loops. A function that exceeds the limit can be left
/// at some of its loops only, or has fewer and larger parts.
pub const OSR_VALUES_ALWAYS: usize = 1 << 14;

/// See [`OSR_VALUES_ALWAYS`]. Storing a value takes some 25 bytes of code, so OSR takes at most a few times as
/// much code as the rest.
pub const OSR_VALUES_PER_BYTE: usize = 1;

/// The maximum number of words of all sets of live locals of a function; in a function that needs more, all locals
/// count as live.
pub const MAX_LIVENESS_WORDS: usize = 1 << 22;

/// The maximum number of words that the analysis of live locals examines: edges times words of a set; in a function
/// that needs more, all locals count as live.
pub const MAX_LIVENESS_STEPS: usize = 1 << 28;

/// The work of optimising a function, in values that edges pass on, each for every second loop around: a function with
/// more, and with more than [`WORK_PER_BYTE`] for each byte of bytecode, keeps its values in the frame in all tiers.
pub const WORK_ALWAYS: usize = 1 << 16;

/// See [`WORK_ALWAYS`]. Functions of real programs have less: `jit/tests/it/growth.rs` checks those in the repository, and
/// of the 59,580 in cc1, CPython, QuickJS, SQLite and esbuild none has more than 8 for each byte, if it has 1,000 bytes.
pub const WORK_PER_BYTE: usize = 24;

/// The arguments that the edges of a function pass on to block parameters: a function with more, and with more than
/// [`MERGED_PER_BYTE`] for each byte of bytecode, keeps its values in the frame in all tiers.
pub const MERGED_ALWAYS: usize = 1 << 15;

/// See [`MERGED_ALWAYS`]. Each takes about a kilobyte while a function is optimised. Of the functions of those programs none
/// has more than 0.6 for each byte.
pub const MERGED_PER_BYTE: usize = 2;

/// The maximum number of cells, edges times locals, for which these arguments are counted; in a function that has more,
/// all live locals count as arguments.
pub const MAX_MERGED_CELLS: usize = 1 << 24;

/// The largest function, in bytes of bytecode, whose values may be in registers: optimising takes some thousand times its
/// length in memory, and larger functions keep their values in the frame in all tiers. The largest function of those
/// programs has 428,016.
pub const LARGEST_IN_REGISTERS: usize = 1 << 19;

/// The maximum total number of calls that the values of a function are live across, in optimised code: the register
/// allocator's work grows with it. A function with more, and with more than [`CROSSINGS_PER_INSTRUCTION`] for each of
/// its instructions, uses an allocator that produces slower code in linear time.
pub const CROSSINGS_ALWAYS: usize = 1 << 21;

/// See [`CROSSINGS_ALWAYS`].
pub const CROSSINGS_PER_INSTRUCTION: usize = 32;

/// The largest offset from the vmctx that machine code uses (a signed 32-bit displacement).
pub const MAX_VMCTX_OFFSET: u64 = i32::MAX as u64;

/// The largest cost of an instruction, entry, back edge or unit in a kind of event. A function of 4 GiB still has less
/// than 2^64 events.
pub const MAX_EVENT_COST: u64 = u32::MAX as u64;

/// The maximum number of rules in one table of a user's kind of event; there are fewer opcodes.
pub const MAX_EVENT_RULES: usize = 1000;

/// Functions with at most this many paths have a counter for each, which always takes address space and takes memory
/// where paths run; other functions count in rows of a table.
pub const MAX_DENSE_PATHS: u64 = 1 << 14;

/// Where paths are counted per calling context, call records of functions with at most this many paths have a counter
/// for each, unless the user wants it otherwise; other functions count in rows of a table.
pub const RECORD_PATHS: u64 = 64;
