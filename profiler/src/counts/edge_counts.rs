//! How often each edge and block of one function ran.

/// Exact counts of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeCounts {
    /// By real edge.
    pub edges: Vec<u64>,
    /// By real block: how often it began.
    pub blocks: Vec<u64>,
    /// Calls of the function: the count of the closing edge.
    pub entries: u64,
}
