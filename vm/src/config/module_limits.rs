//! Limits of modules, and the layout of memories.

use wprof_jit::compile::MemoryStyle;

use super::Config;
use crate::StoreLimits;

/// Number of memories that must fit into the process's address space for memories to be reserved whole.
const MEMORIES_WITHIN_LIMIT: u64 = 4;
/// Inaccessible bytes behind memories that are not reserved whole, whose indices are all checked.
const SMALL_GUARD: u64 = 1 << 16;

impl Config {
    /// Sets the address space reserved per 32-bit memory, in bytes (default: 4 GiB, which saves all bounds checks).
    ///
    /// Embedders cannot provide the memory itself, as Wasmtime's `MemoryCreator` does: data that is read on demand, pages of
    /// data that instances share, and what pools take back all rely on mappings that the engine has made and may map anew,
    /// and faults in them are told from other faults by that.
    pub fn memory_reservation(&mut self, bytes: u64) -> &mut Self {
        self.compiler.memory = MemoryStyle { reservation: round(bytes), ..self.compiler.memory };
        self
    }

    /// Sets the inaccessible address space behind a memory, in bytes (default: 32 MiB).
    pub fn memory_guard_size(&mut self, bytes: u64) -> &mut Self {
        self.compiler.memory = MemoryStyle { guard: round(bytes), ..self.compiler.memory };
        self
    }

    /// Sets whether traps, and interruptions, are found by signals (default: yes). A process that owns its signals, such as
    /// another runtime, turns that off: then no signal handler is installed and no signal is sent. Instead wasm code tests
    /// indices, divisors and its stack, and polls compare; memories are not reserved whole. Programs do the same, more
    /// slowly, and exact profiles are the same. An interruption or a deadline does not wake a host function that waits in
    /// the system: it takes effect when that returns. What needs signals is refused together with this: traces, budgets and
    /// fuel, samples of time, bursts that a timer begins; so are functions whose frame exceeds 128 KiB. Files of large
    /// modules are read whole, as without [`Config::demand_paging`].
    pub fn signals_based_traps(&mut self, enable: bool) -> &mut Self {
        self.compiler.explicit_traps = !enable;
        self
    }

    /// Sets whether calls between the components of a file are machine code of adapters (default: yes). Otherwise they go
    /// through the host, which does the same: this is there to compare them.
    #[doc(hidden)]
    pub fn fused_adapters(&mut self, enable: bool) -> &mut Self {
        self.modules.fuses = enable;
        self
    }

    /// Adapts the settings to a process limit of `limit` bytes of address space, where memories are reserved whole only
    /// if several of them fit; and to a process without signals, where they are not.
    #[must_use]
    pub(crate) fn within(&self, limit: Option<u64>) -> Config {
        let mut config = self.clone();
        if config.compiler.explicit_traps {
            let guard = config.compiler.memory.guard;
            config.memory_reservation(0).memory_guard_size(guard.min(SMALL_GUARD)).demand_paging(false);
        }
        let MemoryStyle { reservation, guard } = config.compiler.memory;
        if limit.is_some_and(|limit| (reservation + guard).saturating_mul(MEMORIES_WITHIN_LIMIT) > limit) {
            config.memory_reservation(0).memory_guard_size(guard.min(SMALL_GUARD));
        }
        // Inlined calls have no frame that could be counted.
        if let Some(policy) =
            config.tiers.reoptimization.as_mut().filter(|_| config.stack.max_depth.is_some())
        {
            (policy.inlining, policy.guesses) = (false, false);
        }
        config
    }

    /// Sets the limits of stores that do not set their own.
    pub fn limits(&mut self, limits: StoreLimits) -> &mut Self {
        self.limits = limits;
        self
    }

    /// Sets the maximum size of a binary module, in bytes (default: 1 GiB).
    pub fn max_module_size(&mut self, bytes: usize) -> &mut Self {
        self.modules.max_size = bytes;
        self
    }

    /// Sets the maximum number of functions of a module, including imports (default: 1,000,000).
    pub fn max_functions(&mut self, count: u32) -> &mut Self {
        self.modules.max_functions = count;
        self
    }

    /// Sets the maximum size of a function body, in bytes (default: 7,654,321, as in browsers). The time to compile a
    /// function grows with its size, so this limit bounds it.
    pub fn max_function_size(&mut self, bytes: u32) -> &mut Self {
        self.modules.max_function_size = bytes;
        self
    }

    /// Sets the maximum number of basic blocks compiled at once (default: 500,000), of a function or of a part of one.
    /// Blocks take most of the memory during compilation, and a block may have as few as two bytes. A function with
    /// more blocks cannot be called.
    pub fn max_blocks(&mut self, count: usize) -> &mut Self {
        self.compiler.max_blocks = count;
        self
    }

    /// Sets the maximum number of locals of a function, including parameters (default: 50,000, the format's own
    /// limit).
    pub fn max_locals(&mut self, count: u32) -> &mut Self {
        self.modules.max_locals = count;
        self
    }

    /// Sets the maximum size of a separate file with debug information, or of a source map, in bytes (default: 4 GiB).
    /// Larger ones are not read. What is read, wherever it lies, takes time and memory in proportion to its size.
    pub fn max_debug_file(&mut self, bytes: u64) -> &mut Self {
        self.modules.max_debug_file = bytes;
        self
    }
}

/// Rounds up to a whole number of wasm pages.
fn round(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(1 << 16).unwrap_or(bytes & !0xffff)
}
