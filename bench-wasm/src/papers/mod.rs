//! The list of the tables and figures of the papers for our programs, and a page for each paper.
//!
//! Everything is counted, so that no quiet machine is needed: `compare` and the records have the times. To add an
//! item, add an entry to the file of its paper, with the function that makes its table.

mod across_calls;
mod bursts;
mod compactness;
mod experiment;
mod hot_paths;
mod instructions;
mod page;
mod perturbation;
mod quality;
mod rows;
mod runs;
mod s000;
mod s002;
mod s003;
mod s004;
mod segments;
mod sizes;
mod table_factors;
mod table_superblocks;
mod traces;
mod untested;

pub use experiment::{Experiment, How, Plot, Theirs};
pub use page::{renew, section, write_all};
pub use rows::{Row, rows};
pub use runs::Runs;

/// The papers: names in tables, and titles. The last one lists our own additional goals.
pub const PAPERS: [(&str, &str); 6] = [
    ("S000", "Ball & Larus, Optimally Profiling and Tracing Programs (TOPLAS 1994)"),
    ("S001", "Ball, Efficiently Counting Program Events with Support for On-Line Queries (TOPLAS 1994)"),
    (
        "S002",
        "Ammons, Ball & Larus, Exploiting Hardware Performance Counters with Flow and Context Sensitive Profiling (PLDI 1997)",
    ),
    ("S003", "Vaswani, Efficient Online Path Profiling (thesis, 2007)"),
    ("S004", "Hirzel & Chilimbi, Bursty Tracing (FDDO 2001)"),
    ("engine", "The engine around them"),
];

/// Returns all experiments, paper by paper.
pub fn experiments() -> impl Iterator<Item = &'static Experiment> {
    [s000::ALL, s002::ALL, s003::ALL, s004::ALL].into_iter().flatten()
}
