//! Writes a comparison as JSON.
//!
//! Invariant: fields are only ever added; the object names its `format`.
//!
//! ```text
//! { "format": "wprof-comparison-1", "same_module": bool, "totals": [{ "name", "total": CHANGE, "may_be_chance": bool }],
//!   "functions": [{ "index_before": int|null, "index_after": int|null, "name": str|null, "was_reshaped": bool,
//!                   "ops": CHANGE, "calls": CHANGE, "ops_may_be_chance": bool, "calls_may_be_chance": bool }],
//!   "paths": [{ "index_before", "index_after", "id", "count": CHANGE, "ops": CHANGE, "may_be_chance": bool }],
//!   "contexts": [{ "stack": [str], "calls": CHANGE }] }
//! CHANGE = { "before": int, "after": int } of the whole runs, estimated where they were sampled
//! ```

use std::io::{self, Write};

use serde::{Serialize, Serializer};

use super::{Change, Comparison, ContextChange, ContextChanges, FunctionChange, PathChange, TotalChange};
use crate::Callee;

#[derive(Serialize)]
struct Shape<'a> {
    format: &'static str,
    same_module: bool,
    totals: Vec<TotalChange>,
    functions: Vec<FunctionChange>,
    paths: Vec<PathChange>,
    #[serde(serialize_with = "one_by_one")]
    contexts: &'a ContextChanges,
}

#[derive(Serialize)]
struct ContextShape {
    stack: Vec<String>,
    calls: Change,
}

/// Serializes the contexts one at a time, so that only one stack of names is in memory.
fn one_by_one<S: Serializer>(contexts: &ContextChanges, serializer: S) -> Result<S::Ok, S::Error> {
    let shape = |change: &ContextChange| ContextShape {
        stack: contexts.stack(change.context).into_iter().map(Callee::to_string).collect(),
        calls: change.calls,
    };
    serializer.collect_seq(contexts.changes.iter().map(shape))
}

impl Comparison<'_> {
    /// Writes all changes as one line of JSON.
    ///
    /// # Errors
    /// Returns the error of `out` if a write fails.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        let shape = Shape {
            format: "wprof-comparison-1",
            same_module: self.is_of_one_module(),
            totals: self.totals(),
            functions: self.functions(),
            paths: self.paths(),
            contexts: &self.contexts(),
        };
        Ok(serde_json::to_writer(out, &shape)?)
    }
}
