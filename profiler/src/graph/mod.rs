//! Control-flow and call graphs, and analyses that depend on the graph alone.

pub mod call_graph;
pub mod cfg;
pub mod csr;
pub mod depth_first;
pub mod dominators;
pub mod forest;
pub mod id;
pub mod loops;
pub mod union_find;
