//! The tables and figures of the papers, for our programs: which there are, and a page for each.

mod experiments;
mod page;
mod rows;

pub use experiments::{EXPERIMENTS, Experiment, How, Runs};
pub use page::{index, write};
pub use rows::{Row, rows};
