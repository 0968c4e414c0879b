//! The implementation limits of the compiler, in one place.

/// Sum over the edges of one function's CFG; more is refused as too large.
pub const MAX_EDGES: usize = 4_000_000;

/// Largest offset from the vmctx that machine code uses (a signed 32-bit displacement).
pub const MAX_VMCTX_OFFSET: u64 = i32::MAX as u64;
