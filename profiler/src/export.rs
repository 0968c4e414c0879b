//! Exports of profiles to the formats of other tools.
//!
//! Input: a [`Profile`](crate::Profile), and a [`CodeMap`], the module's information about its code. Output: text or
//! bytes, written incrementally.
//! Three intermediate forms keep each format a short file: [`Samples`] (weights by stack),
//! [`executions`] (counts by instruction) and [`Coverage`] (counts by source line).
//! Invariant: the weights of a metric add up to the profile's total, in every format that shows stacks or
//! instructions. Data that a format cannot express is omitted, never invented; `docs/src/how-to/exports.md` lists it.
//! Names are written as in the profile; a caller that wants them demangled does so first.
//! Oracle: `tests/it/export.rs`, which reads each format back.

mod autofdo;
mod callgrind;
mod chrome;
mod cobertura;
mod code_map;
mod continuous;
mod coverage;
mod cpuprofile;
mod csv;
mod differential;
mod executions;
mod firefox;
mod flamegraph;
mod folded;
mod frame;
mod gzip;
mod lcov;
mod otlp;
mod pprof;
mod protobuf;
mod samples;
mod spans;
mod speedscope;
mod xml;

pub use autofdo::{PlaceInFunction, SampleProfile};
pub use callgrind::write_callgrind;
pub use chrome::write_chrome;
pub use cobertura::write_cobertura;
pub use code_map::{CodeMap, LineRow, SourceLine};
pub use continuous::ProfileExporter;
pub use coverage::{BranchCoverage, Coverage, FileCoverage, Ways};
pub use cpuprofile::write_cpuprofile;
pub use csv::write_csv;
pub use differential::Differential;
pub use executions::{Execution, executions};
pub use firefox::write_firefox;
pub use flamegraph::{write_differential_flamegraph, write_flamegraph};
pub use folded::write_folded;
pub use frame::Frame;
pub use lcov::write_lcov;
pub use otlp::{Origin, write_otlp};
pub use pprof::{write_pprof, write_pprof_of};
pub use samples::{Metric, Samples, StackNode, Unit};
pub use speedscope::write_speedscope;

/// The name of the generating tool in exported files.
const TOOL: &str = concat!("wprof ", env!("CARGO_PKG_VERSION"));
