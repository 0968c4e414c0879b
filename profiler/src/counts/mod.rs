//! Counts of edges, blocks and paths, and the kinds of figures.

pub mod edge_counts;
pub mod edge_weights;
pub mod figure_kind;
pub mod metric;
pub mod path_counts;
