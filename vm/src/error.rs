//! The error type of this crate: one pointer, whatever went wrong.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;

use crate::Trap;

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The category of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The module is malformed, invalid, or larger than allowed.
    Module,
    /// A function of the module could not be compiled.
    Compile,
    /// A module could not be compiled ahead of time, or a compiled module cannot be used because it is damaged or
    /// was compiled for something else.
    Artifact,
    /// Imports are missing or do not fit.
    Link,
    /// Wasm code trapped: see [`Error::trap`].
    Trap,
    /// The program asked to exit: see [`Error::i32_exit`].
    Exit,
    /// An exception was not caught: see [`Error::exception`](crate::Error::exception).
    Exception,
    /// A host function failed; [`Error::downcast_ref`] gives its error.
    Host,
    /// A configured limit is reached.
    Limit,
    /// A value or a handle was used as another type than its own.
    Type,
    /// The operating system refused something.
    System,
}

/// The exit code with which a program exited (WASI's `proc_exit`). A host function that returns it as an error
/// ends the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("exited with code {0}")]
pub struct Exit(pub i32);

/// An error, the size of a pointer.
///
/// It converts from any `std::error::Error` by `?` or `From`, so that host functions can return their own errors,
/// and [`Error::downcast_ref`] returns them. Like `anyhow::Error` it therefore does not implement
/// `std::error::Error` itself; it converts into `Box<dyn std::error::Error>`.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    source: Box<dyn StdError + Send + Sync>,
    /// The actions that failed, outermost last.
    context: Vec<String>,
    backtrace: Option<Box<dyn Backtrace>>,
    /// The state in which it occurred, in the form of a layer above.
    state: Option<Box<dyn Any + Send + Sync>>,
}

/// The position of wasm code, in the form of the layer that knows its names.
pub(crate) trait Backtrace: fmt::Display + Any + Send + Sync {
    /// Returns whether the backtrace has no frames.
    fn is_empty(&self) -> bool;
}

/// An error that is only a message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Message(String);

impl Error {
    /// Creates an error of a host function that is only a message.
    pub fn msg(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Host, message)
    }

    pub(crate) fn new(kind: ErrorKind, message: impl fmt::Display) -> Error {
        Error::with_source(kind, Box::new(Message(message.to_string())))
    }

    pub(crate) fn with_source(kind: ErrorKind, source: Box<dyn StdError + Send + Sync>) -> Error {
        Error(Box::new(Inner { kind, source, context: Vec::new(), backtrace: None, state: None }))
    }

    pub(crate) fn system(what: &str, e: impl fmt::Display) -> Error {
        Error::new(ErrorKind::System, format_args!("{what}: {e}"))
    }

    /// Adds a line of context that says which action failed.
    #[must_use]
    pub fn context(mut self, what: impl fmt::Display) -> Error {
        self.0.context.push(what.to_string());
        self
    }

    /// Attaches a backtrace, unless the error has the one of its origin already.
    pub(crate) fn with_backtrace(mut self, backtrace: impl Backtrace) -> Error {
        self.0.backtrace.get_or_insert_with(|| Box::new(backtrace));
        self
    }

    /// Attaches the state in which the error occurred, unless it has that of its origin already.
    pub(crate) fn with_state<S: Any + Send + Sync>(mut self, state: impl FnOnce() -> S) -> Error {
        self.0.state.get_or_insert_with(|| Box::new(state()));
        self
    }

    /// Returns the category of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the trap, if wasm code trapped.
    pub fn trap(&self) -> Option<Trap> {
        self.downcast_ref::<Trap>().copied()
    }

    /// Returns the exit code, if the program ended itself.
    pub fn i32_exit(&self) -> Option<i32> {
        self.downcast_ref::<Exit>().map(|e| e.0)
    }

    /// Returns the attached backtrace, if it is a `B`.
    pub(crate) fn backtrace_as<B: Backtrace>(&self) -> Option<&B> {
        let backtrace: &dyn Any = &**self.0.backtrace.as_ref()?;
        backtrace.downcast_ref()
    }

    /// Returns the underlying error, if it is an `E`, or the attached [`WasmCoreDump`](crate::WasmCoreDump), if `E` is that.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.source.downcast_ref().or_else(|| self.0.state.as_ref()?.downcast_ref())
    }

    /// Returns what [`downcast_ref`](Self::downcast_ref) refers to.
    ///
    /// # Errors
    /// Returns the error itself if there is no `E`.
    pub fn downcast<E: StdError + 'static>(self) -> Result<E, Error> {
        if !self.is::<E>() {
            return Err(self);
        }
        let Inner { source, state, .. } = *self.0;
        let found = source.downcast().ok().or_else(|| state?.downcast().ok());
        Ok(*found.unwrap_or_else(|| unreachable!("checked above")))
    }

    /// Returns whether [`downcast_ref`](Self::downcast_ref) finds an `E`.
    pub fn is<E: StdError + 'static>(&self) -> bool {
        self.downcast_ref::<E>().is_some()
    }

    /// Returns the underlying error.
    pub fn root_cause(&self) -> &(dyn StdError + 'static) {
        &*self.0.source
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(e: E) -> Error {
        let source: Box<dyn StdError + Send + Sync> = Box::new(e);
        let kind = if source.is::<Trap>() {
            ErrorKind::Trap
        } else if source.is::<Exit>() {
            ErrorKind::Exit
        } else if source.is::<wprof_jit::module::ModuleError>() {
            ErrorKind::Module
        } else if source.is::<wprof_jit::CompileError>() {
            ErrorKind::Compile
        } else {
            ErrorKind::Host
        };
        Error::with_source(kind, source)
    }
}

impl From<Error> for Box<dyn StdError + Send + Sync> {
    fn from(e: Error) -> Self {
        Box::new(Standalone(e))
    }
}

impl From<Error> for Box<dyn StdError> {
    fn from(e: Error) -> Self {
        Box::new(Standalone(e))
    }
}

/// An [`Error`] as a `std::error::Error`.
struct Standalone(Error);

impl fmt::Display for Standalone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Standalone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl StdError for Standalone {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.0.source.source()
    }
}

/// Writes the context and the error in one line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.0.context.iter().rev() {
            write!(f, "{line}: ")?;
        }
        write!(f, "{}", self.0.source)
    }
}

/// Writes the error with its causes and the backtrace, in several lines.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut cause = self.0.source.source();
        while let Some(e) = cause {
            write!(f, "\ncaused by: {e}")?;
            cause = e.source();
        }
        match &self.0.backtrace {
            Some(backtrace) if !backtrace.is_empty() => write!(f, "\n{backtrace}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_and_remembers_what_it_was() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        let e = Error::from(Trap::Interrupt).context("running");
        assert_eq!((e.kind(), e.trap()), (ErrorKind::Trap, Some(Trap::Interrupt)));
        assert_eq!(e.to_string(), "running: wasm trap: interrupt");
        let e = Error::from(Exit(3));
        assert_eq!(e.i32_exit(), Some(3));
        assert!(e.downcast::<std::io::Error>().is_err());
    }
}
