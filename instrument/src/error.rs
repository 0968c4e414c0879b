//! Reasons why a module cannot be instrumented, or counters cannot be read.

use std::borrow::Cow;

use wprof_profiler::PropagateError;

/// An error, whose message also says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are neither a module nor a component.
    #[error("not a WebAssembly module")]
    NotAModule,
    /// The bytes are a component where a module is needed.
    #[error("a component, not a module: give the component's module that counted")]
    Component,
    /// The module is malformed or invalid.
    #[error("{0}")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// The module has no function with a body.
    #[error("the module has no code, so there is nothing to count")]
    NoCode,
    /// A module in a component cannot be instrumented.
    #[error("module {index} of the component: {error}")]
    InComponent {
        /// The module's index, counted from 0 through nested components.
        index: usize,
        /// The error of that module.
        error: Box<Error>,
    },
    /// The module is already instrumented.
    #[error("the module is already instrumented: give the original module")]
    Instrumented,
    /// The module exports a name that instrumentation reserves.
    #[error("the module exports {0}, a name that wprof needs: rename that export")]
    NameTaken(String),
    /// The module uses a feature that cannot be instrumented.
    #[error("cannot instrument {0}")]
    Unsupported(&'static str),
    /// Paths are interesting where none are counted.
    #[error("--interesting needs path counts: add --collect paths")]
    InterestingWithoutPaths,
    /// Something is to be counted beside a trace.
    #[error("a module that writes a trace cannot count: instrument it twice, once for each")]
    TraceAndCounts,
    /// A trace is to have too little memory, or too much.
    #[error("a trace has from 1 KiB to 128 MiB of memory: give a size between these")]
    TraceMemory,
    /// Counters are to be read as a profile, and the module has written a trace.
    #[error(
        "the module wrote a trace, not counters of a profile: read it with `wprof collect -o FILE.wtrace`"
    )]
    IsTrace,
    /// A trace is to be read, and the module has counted.
    #[error("the module wrote no trace, but counts: instrument it with --trace")]
    NoTrace,
    /// The trace could not be written to its file.
    #[error("cannot write the trace: {0}")]
    Trace(#[from] wprof_profiler::TraceFileError),
    /// The program's memory leaves no room for the region.
    #[error("{0}: leave out --single-memory, so that counters get a memory of their own")]
    NoRoom(Cow<'static, str>),
    /// There are too many counters for a memory.
    #[error("the module needs {0} counters, more than a memory holds: count edges instead of paths")]
    TooManyCounters(u64),
    /// The counters are not those of an instrumented module.
    #[error("these are not the counters of an instrumented module: {0}")]
    BadCounters(&'static str),
    /// The counters belong to another module.
    #[error(
        "the counters are those of another module, or it has changed since: give the module that was instrumented"
    )]
    OtherModule,
    /// The marked calls are not the module's.
    #[error(
        "the calls that the profile marks are not those of the module: take it anew with --depth, with this version"
    )]
    OtherCalls,
    /// Another version instrumented the module.
    #[error(
        "the module was instrumented by wprof {found}, but this is wprof {expected}: instrument it again"
    )]
    OtherVersion {
        /// The version that instrumented the module.
        found: String,
        /// The version of this crate.
        expected: &'static str,
    },
    /// There was no memory for some of the counters.
    #[error("the memory for path counters ran out: count edges instead")]
    Full,
    /// The counters contradict each other.
    #[error("function {func}: {error}: if the program trapped, instrument it with --exact-traps")]
    Contradiction {
        /// The function's index.
        func: u32,
        /// The contradiction.
        error: PropagateError,
    },
}

impl From<postcard::Error> for Error {
    fn from(_: postcard::Error) -> Self {
        Error::BadCounters("their description is damaged")
    }
}
