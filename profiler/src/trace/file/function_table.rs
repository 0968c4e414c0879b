//! What replay must know of a function.

use serde::{Deserialize, Serialize};

use super::super::{Access, Call, Emit, TraceError, TraceMethod, TracePlan, TracedFunction};
use crate::{BlockId, Cfg, EdgeId};

/// One function of a trace: its graph, its calls, its emits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionTable {
    /// Its index.
    pub function: u32,
    /// [`Cfg::fingerprint`] of its graph.
    pub fingerprint: u64,
    /// How it is traced.
    pub method: TraceMethod,
    /// By block.
    pub calls: Vec<Option<Call>>,
    /// Source and target of each edge.
    pub edges: Vec<(BlockId, BlockId)>,
    /// Ascending by edge.
    pub emits: Vec<Emit>,
    /// Ascending by block; none if data references are not recorded.
    pub accesses: Vec<Access>,
}

impl FunctionTable {
    /// The table of a planned function.
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

    /// The same graph and calls, without what is written.
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

    /// The graph; `None` if the table is damaged.
    pub fn cfg(&self) -> Option<Cfg> {
        let cfg = Cfg::new(u32::try_from(self.calls.len()).ok()?, &self.edges).ok()?;
        (cfg.fingerprint() == self.fingerprint).then_some(cfg)
    }

    /// The function as [`Regenerator`](crate::Regenerator) wants it.
    ///
    /// # Errors
    /// If the table contradicts itself.
    pub fn traced(&self) -> Result<TracedFunction, TraceError> {
        let cfg = self.cfg().ok_or(TraceError::BadPlan(EdgeId(0)))?;
        TracedFunction::new(&cfg, &self.calls, &self.emits)?.with_accesses(&self.accesses)
    }
}
