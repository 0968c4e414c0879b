//! Why a module cannot be instrumented, or counters not be read.

use wprof_profiler::PropagateError;

/// What is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are something else.
    #[error("not a WebAssembly module")]
    NotAModule,
    /// A component.
    #[error("a component, not a module: give the module that counted, which the component is made of")]
    Component,
    /// The module is malformed or invalid.
    #[error("{0}")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// It has no function with a body.
    #[error("the module has no code, so there is nothing to count")]
    NoCode,
    /// A module in a component cannot be instrumented.
    #[error("module {index} of the component: {error}")]
    InComponent {
        /// Which one, counted from 0 through nested components.
        index: usize,
        /// Why not.
        error: Box<Error>,
    },
    /// It has been through this already.
    #[error("the module is instrumented already: give the module that it was made of")]
    Instrumented,
    /// It exports a name that is needed.
    #[error("the module exports {0}, a name that wprof needs: rename that export")]
    NameTaken(String),
    /// Something that it uses is not known.
    #[error("cannot instrument {0}")]
    Unsupported(&'static str),
    /// There is no room behind its memory.
    #[error("{0}: leave out --single-memory, so that counters get a memory of their own")]
    NoRoom(&'static str),
    /// There are too many counters for a memory.
    #[error("the module needs {0} counters, more than a memory holds: count edges instead of paths")]
    TooManyCounters(u64),
    /// The counters are not those of an instrumented module.
    #[error("not counters of an instrumented module: {0}")]
    BadCounters(&'static str),
    /// They are those of another module.
    #[error(
        "the counters are those of another module, or it has changed since: give the module that was instrumented"
    )]
    OtherModule,
    /// They were made by another version.
    #[error("the module was instrumented by wprof {found}, and this is {expected}: instrument it anew")]
    OtherVersion {
        /// Which one.
        found: String,
        /// What this is.
        expected: &'static str,
    },
    /// More was counted than there was room for.
    #[error("there was no memory for all counters of paths: count edges instead")]
    Full,
    /// The counters contradict each other.
    #[error("function {func}: {error}: if the program trapped, instrument it with --exact-traps")]
    Contradiction {
        /// Its index.
        func: u32,
        /// How.
        error: PropagateError,
    },
}

impl From<postcard::Error> for Error {
    fn from(_: postcard::Error) -> Self {
        Error::BadCounters("their description is damaged")
    }
}
