//! Shared code of the benches: the tables of programs, runs of them in child processes and in this process, robust
//! statistics, plots, and programs of public suites.

pub mod baseline;
pub mod bootstrap;
pub mod growth;
pub mod instructions;
pub mod no_imports;
pub mod papers;
pub mod placements;
pub mod plot;
pub mod prefetching;
pub mod programs;
mod random;
pub mod regress;
pub mod runner;
pub mod session;
pub mod soak;
pub mod stats;
pub mod strangers;
pub mod table;
pub mod tables;
