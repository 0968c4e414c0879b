//! CLIF passes of optimised code, for opportunities that Cranelift's own optimiser and register allocator leave.
//!
//! Passes over finished machine code belong to the target. All passes have their names and switches in
//! [`options`](crate::options).

mod allocation;
mod checks;
mod constants;
mod extends;
mod facts;
mod invariants;
mod loads;
mod masks;
mod merged;
mod params;
mod pipeline;
mod products;
mod results;
mod spilling;
mod vectors;

pub(crate) use allocation::takes_long;
pub(crate) use pipeline::{Pipeline, PipelineOutput, Unproven};
pub(crate) use spilling::Preserved;
