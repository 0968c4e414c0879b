//! Errors as they are reported to C.

use std::mem::MaybeUninit;

use wprof::Error;

use crate::vector::{Bytes, message};

/// Where an error message is written, if the C caller wants one.
pub type Message<'a> = Option<&'a mut MaybeUninit<Bytes>>;

/// Returns the value of a result, or writes its error message to `out`. Without an error nothing is written.
pub fn report<T, E: std::fmt::Display>(result: Result<T, E>, out: Message<'_>) -> Option<T> {
    match (result, out) {
        (Ok(value), _) => Some(value),
        (Err(error), Some(out)) => {
            out.write(message(&error.to_string()));
            None
        }
        (Err(_), None) => None,
    }
}

/// Creates an error that says how the caller misused this API.
pub fn wrong(message: impl std::fmt::Display) -> Error {
    Error::msg(message)
}
