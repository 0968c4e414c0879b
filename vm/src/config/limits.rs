//! How much a module may ask for, and how memories lie.

use wprof_jit::compile::MemoryStyle;

use super::Config;
use crate::StoreLimits;

/// Memories are reserved whole if so many of them fit into the address space that the process may have.
const MEMORIES_WITHIN_LIMIT: u64 = 4;
/// What is inaccessible behind memories that are not: all indices into them are checked.
const SMALL_GUARD: u64 = 1 << 16;

impl Config {
    /// Address space reserved per 32-bit memory, in bytes (default: 4 GiB, which saves all bounds checks).
    pub fn memory_reservation(&mut self, bytes: u64) -> &mut Self {
        self.compiler.memory = MemoryStyle { reservation: round(bytes), ..self.compiler.memory };
        self
    }

    /// Inaccessible address space behind a memory, in bytes (default: 32 MiB).
    pub fn memory_guard_size(&mut self, bytes: u64) -> &mut Self {
        self.compiler.memory = MemoryStyle { guard: round(bytes), ..self.compiler.memory };
        self
    }

    /// The same where this process may have no more than `limit` bytes of address space: memories are reserved whole only
    /// if that is room for several.
    #[must_use]
    pub(crate) fn within(&self, limit: Option<u64>) -> Config {
        let mut config = self.clone();
        let MemoryStyle { reservation, guard } = config.compiler.memory;
        if limit.is_some_and(|limit| (reservation + guard).saturating_mul(MEMORIES_WITHIN_LIMIT) > limit) {
            config.memory_reservation(0).memory_guard_size(guard.min(SMALL_GUARD));
        }
        // What is inlined has no frame that could count.
        if let Some(policy) = config.reoptimization.as_mut().filter(|_| config.max_call_depth.is_some()) {
            (policy.inlining, policy.guesses) = (false, false);
        }
        config
    }

    /// Limits of stores that do not set their own.
    pub fn limits(&mut self, limits: StoreLimits) -> &mut Self {
        self.limits = limits;
        self
    }

    /// The largest binary module accepted, in bytes (default: 1 GiB).
    pub fn max_module_size(&mut self, bytes: usize) -> &mut Self {
        self.max_module_size = bytes;
        self
    }

    /// The most functions that a module may have, imports included (default: 1,000,000).
    pub fn max_functions(&mut self, count: u32) -> &mut Self {
        self.max_functions = count;
        self
    }

    /// The largest body of a function, in bytes (default: 7,654,321, as browsers have it). The time to compile a
    /// function grows with its size: this is how to bound it.
    pub fn max_function_size(&mut self, bytes: u32) -> &mut Self {
        self.max_function_size = bytes;
        self
    }

    /// The most basic blocks of which code is made at once (default: 500,000), of a function or of a part of one. They
    /// take most of the memory while a function is compiled, and a block may have as few as two bytes. A function that
    /// has more cannot be called.
    pub fn max_blocks(&mut self, count: usize) -> &mut Self {
        self.compiler.max_blocks = count;
        self
    }

    /// The most locals that a function may have, parameters included (default: 50,000, which is the format's own
    /// limit).
    pub fn max_locals(&mut self, count: u32) -> &mut Self {
        self.max_locals = count;
        self
    }
}

/// Up to a whole number of wasm pages.
fn round(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(1 << 16).unwrap_or(bytes & !0xffff)
}
