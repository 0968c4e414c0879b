//! Reports on profiles of WebAssembly programs, as text, as HTML, and for other tools.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod code_map;
#[doc(hidden)]
pub mod cost_model;
#[doc(hidden)]
pub mod disassembly;
#[doc(hidden)]
pub mod fitted_name;
#[doc(hidden)]
pub mod html;
#[doc(hidden)]
pub mod inlined;
#[doc(hidden)]
pub mod names;
#[doc(hidden)]
pub mod ownership;
#[doc(hidden)]
pub mod render;
mod short_name;
#[doc(hidden)]
pub mod source_line;
#[doc(hidden)]
pub mod sources;
#[doc(hidden)]
pub mod threshold;
mod tries;
