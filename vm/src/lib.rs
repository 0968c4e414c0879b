//! A WebAssembly engine that profiles the programs it runs.
//!
//! The terms are those of the specification and of Wasmtime: an [`Engine`] loads [`Module`]s; a [`Store`] holds
//! [`Instance`]s and their parts; a [`Linker`] finds imports by name.
//!
//! ```
//! use wprof::{Engine, Linker, Module, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::default();
//! let module = Module::new(&engine, r#"(module
//!     (import "host" "double" (func $double (param i32) (result i32)))
//!     (func (export "run") (param i32) (result i32) (call $double (local.get 0))))"#)?;
//! let mut linker = Linker::new(&engine);
//! linker.func_wrap("host", "double", |x: i32| x * 2)?;
//! let mut store = Store::new(&engine, ());
//! let instance = linker.instantiate(&mut store, &module)?;
//! let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
//! assert_eq!(run.call(&mut store, 21)?, 42);
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]
#![deny(missing_docs)]

#[allow(unsafe_code, reason = "assembly")]
mod arch;
mod artifact;
mod background;
mod backtrace;
mod bursts;
mod caller;
mod code_cache;
pub mod component;
mod config;
mod core_dump;
mod dump;
mod engine;
mod error;
mod events;
mod exception;
mod exnref;
mod externals;
mod externref;
mod fuel;
mod func;
mod global;
#[cfg(feature = "exporters")]
mod guest_profiler;
mod hooks;
mod imports;
mod instance;
mod instance_pre;
mod interrupt;
mod js_string;
mod limiter;
mod limits;
mod linker;
mod memory;
mod module;
mod perf;
mod profile;
mod runtime;
mod shared_memory;
mod snapshots;
mod store;
mod table;
mod trace;
mod trap;
mod types;
mod waiting;
#[cfg(feature = "wasi")]
pub mod wasi;
#[cfg(feature = "wasi")]
pub mod wasi2;

pub use artifact::Precompiled;
pub use backtrace::{FrameInfo, WasmBacktrace};
pub use caller::Caller;
pub use config::{
    Adaptive, AdaptiveProfile, Collect, Config, ExactProfile, InstanceAllocationStrategy, PerfFormat,
    PoolingConfig, ProfilingConfig, Strategy, Trigger,
};
pub use dump::WasmCoreDump;
pub use engine::{Engine, EngineWeak};
pub use error::{Error, ErrorKind, Exit, Result};
pub use events::{Stop, StoppedValue, event_count, event_counts};
pub use exception::{Tag, ThrownException};
pub use exnref::ExnRef;
pub use externals::Extern;
pub use externref::ExternRef;
pub use func::{
    AnyRef, ArrayRef, ArrayRefPre, EqRef, Func, I31, IntoFunc, Ref, StructRef, StructRefPre, TypedFunc, Val,
    ValRaw, WasmParams, WasmResults, WasmRet, WasmTy,
};
pub use global::Global;
#[cfg(feature = "exporters")]
pub use guest_profiler::GuestProfiler;
pub use instance::{Export, Instance};
pub use instance_pre::InstancePre;
pub use interrupt::InterruptHandle;
pub use js_string::JsString;
pub use limits::{ResourceLimiter, ResourceLimiterAsync, StoreLimits, StoreLimitsBuilder};
pub use linker::Linker;
pub use memory::Memory;
pub use module::{
    ExportType, FrameSymbol, ImportType, Module, OwnArtifacts, Reoptimization, ResourcesRequired, SourceRow,
    VectorizedLoop, demangle,
};
pub use runtime::control::call_hooks::CallHook;
pub use runtime::counts::account::ProfilingCost;
pub use runtime::gc::Statistics as GcStatistics;
pub use runtime::interruption::allocator::ProcessAllocator;
pub use runtime::interruption::deadline::UpdateDeadline;
pub use shared_memory::{MemoryAccessError, SharedMemory, WaitOutcome};
pub use store::{
    AsContext, AsContextMut, CallHookHandler, DeadlineContext, Store, StoreContext, StoreContextMut,
};
pub use table::Table;
pub use trace::TraceSummary;
pub use trap::{OutOfBudget, Trap};
pub use types::{
    ArrayType, ExternType, FieldType, Finality, FuncType, GlobalType, HeapType, MemoryType, Mutability,
    RefType, StorageType, StructType, TableType, TagType, ValType,
};
pub use wprof_jit::compile::{Lanes, NoVectors, Pass, PassSet, PassesError, Stage};
pub use wprof_jit::events::{BUILT_IN as BUILT_IN_EVENTS, CustomModel, EventModel, ModelError};
pub use wprof_jit::module::AllocatorKind;
pub use wprof_jit::plan::{Checks, Counting, EntryChecks, Interesting, Metric, SystemEvent, Tracing};
pub use wprof_jit::reoptimize::{Decision, Estimate, LittleGain, Policy, Refusal, SideExits, Verdict};
pub use wprof_profiler as profiler;

/// Tests the example in the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
