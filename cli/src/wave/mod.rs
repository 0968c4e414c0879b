//! Values of components as text, as WAVE (WebAssembly Value Encoding) has them: `f("text", [1, 2], {x: some(3)})`.
//!
//! Source: the README of the crate wasm-wave. Not there: strings over several lines, and comments.

mod parse;
mod write;

pub use parse::{arguments, call};
pub use write::shown;
