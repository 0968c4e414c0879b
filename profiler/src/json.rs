//! A profile as JSON.
//!
//! Input: a [`Profile`]. Output: one JSON object of a documented, stable shape, written incrementally: at most
//! one function is in memory twice.
//! If only blocks were counted, figures that follow from edge counts are null.
//! Invariant: fields are only ever added; the object states its `format`. Counts are integers up to 2^64 - 1,
//! which readers that convert every number to a double cannot hold.
//! Oracle: the golden text in `tests/it/json.rs`.
//!
//! ```text
//! { "format": "wprof-profile-1", "program": str, "module_hash": hex,
//!   "modules"?: of a component with several, in the order of their code [{ "name", "module_hash": hex, "first_function": the
//!       index of its first function here, "first_offset": that of its first byte, "code": as below }],
//!   "runs": [{ "started": unix seconds, "tool", "machine", "args": [str], "wall_ns": int|null, "ending": ENDING }],
//!   "code": { "functions", "compiled", "counters" },
//!   "calls": int, "ops": int, "cost": COSTS, "bursts"?: how many sampled figures are from,
//!   "skipped_bursts"?: { "bursts": due where nothing could count, "functions": [{ "function", "name": str|null, "bursts",
//!       "ops": that they would probably have counted in it }] },
//!   "expected_overlap"?: of the sampled instructions of functions with the whole run's, from 0 to 1,
//!   "host_calls": [{ "module", "name", "count", "kind": KIND, "time_ns"?: in the function itself }],
//!   "events": [{ "name", "count", "kind": KIND }],
//!   "metrics"?: [{ "name", "taken_off": what measuring itself had added, which is in no figure }],
//!   "contexts"?: { "routines": [{ "what": "root"|"function"|"elsewhere"|"host"|"beyond"|"engine"|"collector", "index"?, "name"?: str|null,
//!       "instance"?, "module"?: str, "sites": [offset] }],
//!     "records": [{ "routine", "parent": record, "site": offset, "calls", "inclusive_calls",
//!       "back_edges": [{ "site": offset, "to": record }], "metrics"?: FIGURES of the function itself,
//!       "paths"?: [{ "id": that of one of the function's paths, "count", "metrics"?: FIGURES }] }],
//!     "metrics"?: as above, "merges_sites"?: true: sites are 0, and those of routines are of callee slots },
//!   "call_targets"?: [{ "caller": index, "site": offset, "callee": { "what" and so on as of routines }, "count",
//!       "kind": KIND }],
//!   "extended_paths"?: { "extension": "back-edges:N"|"calls:N", "paths": [{ "pieces": [[function, id of a path]], in the
//!       order in which they end, "count" }], the most frequent first },
//!   "timeline"?: { "versions": [{ "function", "name": str|null, "tier": str, "began_ns", "took_ns", "bytes",
//!       "bytes_before": int|null, "predicted": part of the work that it was to save|null, "measured": part of the time of
//!       a call that it saves|null, "decisions": [{ "offset", "kind": "superblock"|"inlined"|"declined"|"tried"|"predicted",
//!       "text" }] }],
//!     "bursts": [{ "began_ns", "took_ns", "checks": passed before }] },
//!   "time"?: { "rate": samples a second that were asked for, 0 if of several rates, "lost": samples, "samples", "time_ns",
//!     "routines": [{ "what" and so on as of contexts, "own": PART, "total": PART while it was on the stack }], that with
//!       most time of its own first,
//!     "loops"?: [{ "function": index, "header": block, "own": PART without inner loops and callees, "total": PART with them }],
//!     "stacks": [{ "caller": stack|null, "routine", "offset": of the instruction, "inlined": bool, "own": TIME }] },
//!   "lines"?: [{ "file": path in the debug information, "line", "time"?: { "own": PART, "total": PART with callees },
//!     "ops"?: instructions without callees, if they are exact and time is not sampled }], the hottest first,
//!   "threads"?: [{ "number": 0 for the main thread, "cpu_ns", "calls", "ops", "functions": [{ "index", "calls", "ops" }],
//!     "time"?: as above, "contexts"?: as above, without paths }],
//!   "garbage_collector"?: { "collections", "paused_ns", "longest_ns", "live": bytes that the last collection has kept },
//!   "predicted_branches"?: [{ "function", "offset", "executed", "taken", "mispredicted" }],
//!   "allocations"?: { "allocated": BLOCKS, "freed": BLOCKS, "live": BLOCKS in the end, "peak": BLOCKS, "untracked",
//!     "unknown_frees", "lives": [freed blocks by bytes allocated meanwhile: 0, 1, 2 and 3, 4 to 7, …],
//!     "memories": [{ "at_ns", "allocated": bytes before, "memory", "pages" }],
//!     "objects": [{ "function", "type", "count", "bytes" }] },
//!   "paths_across_calls"?: { "depth", "marked_calls", "paths": [{ "function": with the marked calls, "id", "count",
//!     "blocks": [[function, block]], where a block is named again behind a marked call in it }] },
//!   "functions": [{ "index", "name": str|null, "start", "end", "fingerprint": hex, "kind": KIND,
//!     "calls", "ops", "share"?: of a sample, SHARE of the run's instructions, "cost": COSTS,
//!     "blocks": [{ "start", "end", "size": instructions in it, "count", "ops": instructions executed }],
//!     "edges": [{ "from", "to": block|null for the exit, "kind": "jump"|"taken"|"not-taken"|"case"|"default"
//!                 |"return"|"tail-call", "case"?: int, "count": int|null, "probability": float|null }],
//!     "unfinished": [{ "block", "offset", "ops_executed", "count" }],
//!     "loops": [{ "header", "depth", "blocks": [block], "entries": int|null, "iterations", "average_trips": float|null,
//!                 "ops" }],
//!     "paths"?: { "possible", "finished": [{ "id", "blocks": [block], "to": block|null for the exit, "count",
//!                  "metrics"?: FIGURES }],
//!                "unfinished": [{ "blocks": [block], "offset", "ops_executed", "count", "metrics"?: FIGURES }] } }] }
//! ENDING = {"how": "running"|"interrupted"|"out-of-budget"}, {"how": "exited", "code"}
//!          or {"how": "trapped", "message"}
//! KIND  = {"how": "exact"|"derived"|"selected"} or {"how": "sampled", "counted", "of"}
//! COSTS = { "chords": COST of what was counted with, "per_block": COST, "per_edge": COST }
//! FIGURES = one integer for each of "metrics"
//! COST  = { "counters", "increments" }
//! BLOCKS = { "blocks", "bytes" }
//! TIME  = { "time_ns", "samples" }
//! PART  = TIME and SHARE
//! SHARE = { "share", "least", "most": the ends of the 95% interval, from 0 to 1 }
//! ```
//!
//! The paths that no test ran ([`Residual`]), most frequent first:
//!
//! ```text
//! { "format": "wprof-residual-1", "program": str, "module_hash": hex, "ran": different paths|null if unknown,
//!   "untested": paths, "beyond_edges": of them in functions without an untested edge, "functions": with untested paths,
//!   "paths": [{ "function": index, "name": str|null, "id": int|null if unfinished, "blocks": [block],
//!     "to": block|null for the exit, or if unfinished, "offset"?: where it ended unfinished, "count", "ops",
//!     "new_edges": [{ "from", "to": block|null for the exit, "kind", "case"? as above }] }] }
//! ```

mod across_calls;
mod allocations;
mod contexts;
mod lines;
mod residual;
mod shape;
mod threads;
mod time;
mod timeline;

use std::io::{self, Write};

pub use lines::LineFigures;
use residual::ResidualShape;
use shape::Shape;

use crate::{Profile, Residual};

impl Profile {
    /// Writes the profile, including derived figures, as one line of JSON.
    ///
    /// # Errors
    /// Fails if writing to `out` fails.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        self.write_json_with_lines(&[], out)
    }

    /// Writes the same, with source lines, the hottest first, which the profile itself does not know.
    ///
    /// # Errors
    /// Fails if writing to `out` fails.
    pub fn write_json_with_lines(&self, lines: &[LineFigures], out: impl Write) -> io::Result<()> {
        Ok(serde_json::to_writer(out, &Shape::new(self, lines))?)
    }

    /// Writes the part of this profile that no test ran, as one line of JSON.
    ///
    /// # Errors
    /// Fails if writing to `out` fails.
    pub fn write_residual_json(&self, residual: &Residual, out: impl Write) -> io::Result<()> {
        Ok(serde_json::to_writer(out, &ResidualShape::new(self, residual))?)
    }

    /// Returns the text of [`write_json`](Self::write_json), indented for people.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&Shape::new(self, &[])).expect("the shape has only string keys")
    }
}
