//! Reports on profiles of the WebAssembly engine [`wprof`]: the reports of the command `wprof`, as a library.
//!
//! A [`View`] is a profile together with the code of its [`Program`], if that is there. Reports as text are added to a
//! [`Page`](page::Page), which becomes a `String`; pages for the browser, and formats of other tools, are written to any
//! [`Write`](std::io::Write).
//!
//! ```
//! use wprof::{Collect, Engine, Linker, Module, ProfilingConfig, Store};
//! use wprof_report::page::{Page, Style};
//! use wprof_report::text::{self, ReportOptions};
//! use wprof_report::{Program, View, hints, html};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
//! let module = Module::new(&engine, r#"(module (func $double (export "double") (param i32) (result i32)
//!     (i32.add (local.get 0) (local.get 0))))"#)?;
//! let mut store = Store::new(&engine, ());
//! let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
//! instance.get_typed_func::<i32, i32>(&mut store, "double")?.call(&mut store, 21)?;
//! let profile = instance.profile(&store)?;
//!
//! let program = Program::from(&module);
//! let view = View::new(&profile, Some(&program));
//! let mut page = Page::new(Style::default());
//! text::report(&mut page, &view, &ReportOptions::default());
//! assert!(page.into_text().contains("3 instructions in 1 call"));
//!
//! let mut file = Vec::new();
//! html::HtmlPage::new(&view, html::Options::default())?.write(&mut file)?;
//! assert!(file.starts_with(b"<!doctype html>"));
//!
//! let hinted = hints::write(&module, &profile, &hints::Options::default())?;
//! assert!(Module::validate(&engine, &hinted.bytes).is_ok());
//! # Ok(())
//! # }
//! ```
//!
//! Names in modules and profiles may be hostile: what is shown has no control characters, and pages hold them only as
//! text.
#![forbid(unsafe_code)]

pub mod annotate;
mod code_map;
pub mod cost_model;
pub mod diff;
mod disassembly;
mod error;
pub mod explain;
pub mod export;
mod fitted_name;
pub mod hints;
pub mod html;
mod inlined;
pub mod names;
mod ownership;
mod program;
pub mod rank;
mod render;
pub mod residual;
mod short_name;
mod source_line;
mod sources;
pub mod text;
mod threshold;
mod tries;

pub use code_map::of_functions_that_ran as code_map;
pub use error::{Error, Result};
pub use ownership::Ownership;
pub use program::Program;
pub use render::view::View;
pub use render::{numbers, page};
pub use source_line::SourceLine;
pub use sources::Sources;

/// Tests the example in the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
