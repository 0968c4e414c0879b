//! Component values as text in WAVE (WebAssembly Value Encoding): `f("text", [1, 2], {x: some(3)})`.
//!
//! Source: the README of the crate wasm-wave. Ours are `$name` for the result of an earlier call, as handles of resources
//! cannot be written, and `name = f(…)`, which names one.

mod parse;
mod write;

pub use parse::{Named, arguments, assignment, call, items, text};
pub use write::shown;
