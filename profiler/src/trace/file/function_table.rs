//! The data of a function that replay needs.

use serde::{Deserialize, Serialize};

use super::super::{Access, Call, Emit, TraceError, TraceMethod, TracePlan, TracedFunction};
use crate::{BlockId, Cfg, EdgeId};

/// One function of a trace: its graph, its calls and its emits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionTable {
    /// Index of the function.
    pub function: u32,
    /// [`Cfg::fingerprint`] of the function's graph.
    pub fingerprint: u64,
    /// Method by which the function is traced.
    pub method: TraceMethod,
    /// By block: its call, if it has one.
    pub calls: Vec<Option<Call>>,
    /// Source and target of each edge.
    pub edges: Vec<(BlockId, BlockId)>,
    /// The emits, ascending by edge.
    pub emits: Vec<Emit>,
    /// The accesses, ascending by block; none if data references are not recorded.
    pub accesses: Vec<Access>,
}

impl FunctionTable {
    /// Creates the table of a planned function.
    pub fn new(function: u32, cfg: &Cfg, calls: &[Option<Call>], plan: &TracePlan) -> Self {
        let edge = |edge| (cfg.edge(edge).from, cfg.edge(edge).to);
        Self {
            function,
            fingerprint: cfg.fingerprint(),
            method: plan.method,
            calls: cfg.blocks().map(|block| calls.get(block.index()).copied().flatten()).collect(),
            edges: cfg.edges().map(edge).collect(),
            emits: plan.emits.clone(),
            accesses: Vec::new(),
        }
    }

    /// Returns the table with the same graph and calls, but without emits and accesses.
    pub(in crate::trace) fn without_emits(&self) -> Self {
        Self {
            function: self.function,
            fingerprint: self.fingerprint,
            method: self.method,
            calls: self.calls.clone(),
            edges: self.edges.clone(),
            emits: Vec::new(),
            accesses: Vec::new(),
        }
    }

    /// Builds the graph; `None` if the table is damaged.
    pub fn cfg(&self) -> Option<Cfg> {
        let cfg = Cfg::new(u32::try_from(self.calls.len()).ok()?, &self.edges).ok()?;
        (cfg.fingerprint() == self.fingerprint).then_some(cfg)
    }

    /// Converts the table for the [`Regenerator`](crate::Regenerator).
    ///
    /// # Errors
    /// Returns an error if the table contradicts itself.
    pub fn traced(&self) -> Result<TracedFunction, TraceError> {
        let cfg = self.cfg().ok_or(TraceError::BadPlan(EdgeId(0)))?;
        TracedFunction::new(&cfg, &self.calls, &self.emits)?.with_accesses(&self.accesses)
    }
}
