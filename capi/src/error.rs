//! Errors, as C is told of them.

use std::mem::MaybeUninit;

use wprof::Error;

use crate::vector::{Bytes, message};

/// Where an error is told, if C wants to know it.
pub type Message<'a> = Option<&'a mut MaybeUninit<Bytes>>;

/// What has come of something; an error is told. Where there is none, nothing is written.
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

/// An error of who calls this API.
pub fn wrong(message: impl std::fmt::Display) -> Error {
    Error::msg(message)
}
