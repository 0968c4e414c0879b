//! What the macros of `bindgen` generate, beside components. These tests are here, since all crates that tests of a crate of macros need
//! are built again, for the compiler.

mod derived;
mod example;
mod generated;
mod wasi_worlds;
