//! Wasmtime, and the interpreter wasmi, as libraries, set up to run WASI programs the way `wprof` does, so that they
//! can be compared on equal terms: same host functions, same process, same clocks.
//!
//! [`reference`] and [`components`] are Wasmtime as the second engine of generated modules and components.
//!
//! A package of its own, so that Wasmtime's features never unify with those of the engine under test.

pub mod components;
pub mod program;
pub mod reference;
pub mod settings;
mod wasi;
mod wasmi;

pub use program::{Fuel, Outcome, Program, Times, fuel, run};
pub use settings::{Settings, Startup};
pub use wasmi::run_in_wasmi;
