//! What the tests of the whole engine share.
//!
//! * [`script`] runs a file of the official test suite, with the imports of [`spectest`] and under a [`mode`];
//!   [`skips`] says what is known not to pass.
#![forbid(unsafe_code)]

pub mod mode;
pub mod script;
pub mod skips;
pub mod spectest;
pub mod values;
