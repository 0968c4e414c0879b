//! Component values as text in WAVE (WebAssembly Value Encoding): `f("text", [1, 2], {x: some(3)})`.
//!
//! Source: the README of the crate wasm-wave.

mod parse;
mod write;

pub use parse::{arguments, call, items, text};
pub use write::shown;
