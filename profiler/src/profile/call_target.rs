//! A callee of an indirect call.

use serde::{Deserialize, Serialize};

use crate::{Callee, FigureKind};

/// How often an indirect call called one of its callees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTarget {
    /// Index of the function that makes the call.
    pub caller: u32,
    /// Byte offset of the call in the module.
    pub site: u32,
    /// What it called.
    pub callee: Callee,
    /// How often.
    pub count: u64,
    /// How the number was come by.
    pub kind: FigureKind,
}

impl CallTarget {
    /// What call targets are sorted by.
    pub(super) fn key(&self) -> (u32, u32, &Callee) {
        (self.caller, self.site, &self.callee)
    }

    /// Adds itself to what is kept, if that is of the same callee; whether it is.
    pub(super) fn merge_into(&mut self, kept: &mut CallTarget) -> bool {
        let same = self.key() == kept.key();
        if same {
            kept.count = kept.count.saturating_add(self.count);
            kept.kind = kept.kind.merged(self.kind);
        }
        same
    }
}
