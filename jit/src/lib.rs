//! Compiles wasm to machine code, by way of block graphs.
//!
//! ```text
//! bytes -> module::parse -> ModuleInfo
//!       -> cfg::build    -> Cfg          one function, basic blocks over its bytecode
//!       -> plan          -> FunctionPlan what is counted where
//!       -> graph         -> BlockGraph   copies of blocks, wires with probes
//!       -> translate     -> CLIF
//!       -> passes        -> better CLIF
//!       -> target        -> machine code with its trap sites and call sites
//! ```
//!
//! Everything here is pure: code is *emitted*, never run, and nothing is `unsafe`. The memory layout that running code
//! expects is defined once, in [`abi`], for the translator and the `vm` crate alike.
#![forbid(unsafe_code)]

pub mod abi;
pub mod cfg;
mod clif;
pub mod code;
pub mod compile;
mod error;
pub mod events;
pub mod graph;
pub mod hints;
pub mod limits;
pub mod module;
pub mod options;
pub mod parallel;
mod passes;
pub mod plan;
pub mod reoptimize;
mod target;
mod translate;
mod validate;

pub use error::CompileError;
