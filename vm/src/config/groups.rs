//! The settings of [`Config`](super::Config), by what they are about. Each group's default is valid.

use std::path::PathBuf;
use std::sync::Arc;

use wprof_jit::events::EventModel;
use wprof_jit::limits::RECORD_PATHS;
use wprof_jit::module::AllocatorKind;
use wprof_jit::plan::{Counting, Interesting, Metric, Tracing};
use wprof_jit::reoptimize::Policy;
use wprof_profiler::{Extension, Profile, TableShape};

use super::{Strategy, cores};

/// How large modules may be, and whether components get modules of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModuleLimits {
    /// Bytes.
    pub(crate) max_size: usize,
    pub(crate) max_functions: u32,
    /// Bytes of a function's body.
    pub(crate) max_function_size: u32,
    /// Locals of a function, parameters included.
    pub(crate) max_locals: u32,
    /// Bytes of a separate file with debug information.
    pub(crate) max_debug_file: u64,
    /// Whether calls between the components of a file are code of adapters.
    pub(crate) fuses: bool,
}

impl Default for ModuleLimits {
    fn default() -> Self {
        ModuleLimits {
            max_size: 1 << 30,
            max_functions: 1_000_000,
            max_function_size: 7_654_321,
            max_locals: 50_000,
            max_debug_file: 4 << 30,
            fuses: true,
        }
    }
}

/// In which versions functions are compiled, when, and on what advice.
#[derive(Clone, Debug)]
pub(crate) struct Tiers {
    pub(crate) strategy: Strategy,
    pub(crate) background: bool,
    pub(crate) speculative: bool,
    /// `None`: hot functions are not reoptimized.
    pub(crate) reoptimization: Option<Policy>,
    /// A profile of an earlier run.
    pub(crate) advice: Option<Arc<Profile>>,
    /// The seed of the bytes between functions, for benchmarks.
    pub(crate) padding: Option<u32>,
}

impl Default for Tiers {
    fn default() -> Self {
        Tiers {
            strategy: Strategy::default(),
            background: true,
            speculative: cores() > 1,
            reoptimization: Some(Policy::default()),
            advice: None,
            padding: None,
        }
    }
}

/// Which files are read and written, and when.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// The folder of the code cache.
    pub(crate) code_cache: Option<PathBuf>,
    /// What identifies programs that may run a module compiled ahead.
    pub(crate) module_version: Option<String>,
    pub(crate) hash_ahead: bool,
    pub(crate) demand_paging: bool,
}

impl Default for Files {
    fn default() -> Self {
        Files { code_cache: None, module_version: None, hash_ahead: true, demand_paging: true }
    }
}

/// How much stack calls may use; `None` means no limit but the thread's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StackLimits {
    /// Bytes, in whole pages.
    pub(crate) max_bytes: Option<usize>,
    /// Frames of wasm functions.
    pub(crate) max_depth: Option<u32>,
}

/// Which events are counted, how, and with what bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// Fuel is one of them if stores have fuel.
    pub(crate) models: Vec<EventModel>,
    pub(crate) counting: Counting,
    /// The name of the kind that has a budget.
    pub(crate) budget: Option<String>,
    pub(crate) fuel: bool,
    pub(crate) fuel_costs: Option<EventModel>,
}

/// What is recorded by calling context, and of calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contexts {
    pub(crate) counted: bool,
    pub(crate) merges_sites: bool,
    /// Bytes of an instance's tree at most.
    pub(crate) memory: usize,
    /// Whether paths are counted by context.
    pub(crate) with_paths: bool,
    pub(crate) call_targets: bool,
    pub(crate) times_host_calls: bool,
}

impl Default for Contexts {
    fn default() -> Self {
        Contexts {
            counted: false,
            merges_sites: false,
            memory: 256 << 20,
            with_paths: false,
            call_targets: false,
            times_host_calls: false,
        }
    }
}

/// What a trace contains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace {
    /// `None`: there is no trace.
    pub(crate) what: Option<Tracing>,
    pub(crate) references: bool,
    /// Bytes of a chunk.
    pub(crate) buffer: usize,
}

impl Default for Trace {
    fn default() -> Self {
        Trace { what: None, references: false, buffer: 1 << 20 }
    }
}

/// Which paths are counted, and where.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// `None`: all paths are.
    pub(crate) interesting: Option<Interesting>,
    /// How many paths a function may have for a counter in each context's record.
    pub(crate) recorded: u64,
    pub(crate) extension: Option<Extension>,
    pub(crate) table: TableShape,
}

impl Default for Paths {
    fn default() -> Self {
        Paths { interesting: None, recorded: RECORD_PATHS, extension: None, table: TableShape::USUAL }
    }
}

/// What is observed beside counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) metrics: Vec<Metric>,
    /// Functions that allocate, in addition to those known by name; `None`: allocations are not observed.
    pub(crate) allocators: Option<Vec<(String, AllocatorKind)>>,
    pub(crate) time_line: bool,
    /// Timer samples a second.
    pub(crate) sample_rate: Option<u32>,
    /// Whether what bursts see is recorded whole.
    pub(crate) bursts: bool,
}
