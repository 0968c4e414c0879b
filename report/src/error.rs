//! The error of reports: a message for people, and what caused it.

use std::error::Error as StdError;
use std::fmt::{self, Display};

/// The reason why something cannot be shown or written: lower case, without a full stop.
///
/// The message is that of the outermost level; [`source`](StdError::source) leads to what caused it.
#[derive(Debug)]
pub struct Error {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A result, or the reason why there is none.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The message of reports on paths, if the profile has none.
pub(crate) const NO_PATHS: &str = "the profile has no paths: record one with `wprof run --collect paths`";

impl Error {
    /// Creates an error without a cause.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Creates an error with the message of another one, of whose type callers need not know.
    pub(crate) fn told(error: impl Display) -> Self {
        Self::new(error.to_string())
    }

    /// Creates an error with a cause.
    pub(crate) fn caused(
        message: impl Into<String>,
        cause: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { message: message.into(), source: Some(cause.into()) }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

impl From<wprof::Error> for Error {
    fn from(error: wprof::Error) -> Self {
        Self::told(error)
    }
}

impl From<wprof_profiler::ResidualError> for Error {
    fn from(error: wprof_profiler::ResidualError) -> Self {
        Self::told(error)
    }
}

/// Adds a message in front of a cause, or instead of nothing.
pub(crate) trait Context<T> {
    /// Returns the value, or an error with this message.
    fn context(self, message: impl Display) -> Result<T>;

    /// Returns the value, or an error with the message that `message` returns.
    fn with_context<M: Display>(self, message: impl FnOnce() -> M) -> Result<T>;
}

impl<T> Context<T> for Option<T> {
    fn context(self, message: impl Display) -> Result<T> {
        self.with_context(|| message)
    }

    fn with_context<M: Display>(self, message: impl FnOnce() -> M) -> Result<T> {
        self.ok_or_else(|| Error::new(message().to_string()))
    }
}

impl<T, E: StdError + Send + Sync + 'static> Context<T> for Result<T, E> {
    fn context(self, message: impl Display) -> Result<T> {
        self.with_context(|| message)
    }

    fn with_context<M: Display>(self, message: impl FnOnce() -> M) -> Result<T> {
        self.map_err(|cause| Error::caused(message().to_string(), cause))
    }
}

/// Returns an error with a formatted message from the function around it.
macro_rules! bail {
    ($($message:tt)*) => {
        return Err($crate::Error::new(format!($($message)*)))
    };
}

/// Returns an error with a formatted message from the function around it, unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            $crate::error::bail!($($message)*);
        }
    };
}

pub(crate) use {bail, ensure};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_cause_behind_it() {
        let nothing: Option<u32> = None;
        let cause = nothing.context("no weight").unwrap_err();
        assert!(cause.source().is_none());
        let error = Err::<(), _>(cause).with_context(|| format!("{} of it", "a.wprof")).unwrap_err();
        let cause = error.source().map(ToString::to_string);
        assert_eq!((error.to_string().as_str(), cause.as_deref()), ("a.wprof of it", Some("no weight")));
    }
}
