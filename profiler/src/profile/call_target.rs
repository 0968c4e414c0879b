//! A callee of an indirect call.

use serde::{Deserialize, Serialize};

use crate::{Callee, FigureKind};

/// The number of times an indirect call called one of its callees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTarget {
    /// Index of the function that makes the call.
    pub caller: u32,
    /// Byte offset of the call instruction in the module.
    pub site: u32,
    /// The callee.
    pub callee: Callee,
    /// Number of calls. In a sample, calls that bursts saw made: the function called counts them as its own only if it had
    /// code for bursts, and if a check at its entry was in a burst, too.
    pub count: u64,
    /// The kind of the count: exact, sampled, or other.
    pub kind: FigureKind,
}

impl CallTarget {
    /// Returns the sort key of call targets.
    pub(super) fn key(&self) -> (u32, u32, &Callee) {
        (self.caller, self.site, &self.callee)
    }

    /// Merges the count into `kept` if both have the same site and callee; returns whether they do.
    pub(super) fn merge_into(&mut self, kept: &mut CallTarget) -> bool {
        let same = self.key() == kept.key();
        if same {
            kept.count = kept.count.saturating_add(self.count);
            kept.kind = kept.kind.merged(self.kind);
        }
        same
    }
}
