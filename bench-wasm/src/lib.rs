//! What the benches share: the tables of programs, runs of them in child processes and in this one, and robust statistics.

pub mod instructions;
pub mod programs;
pub mod runner;
pub mod session;
pub mod stats;
