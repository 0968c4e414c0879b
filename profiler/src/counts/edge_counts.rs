//! Execution counts of the edges and blocks of one function.

/// Exact counts of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Count of each real edge.
    pub edges: Vec<u64>,
    /// Executions of each real block, counted at its beginning.
    pub blocks: Vec<u64>,
    /// Calls of the function: the count of the closing edge.
    pub entries: u64,
}
