//! A profile as JSON.
//!
//! Input: a [`Profile`]. Output: one JSON object of a documented, stable shape.
//! Invariant: fields are only ever added; the object says its `format`. Counts are integers up to 2^64 - 1,
//! beyond what readers that turn every number into a double can hold.
//! Oracle: the golden text in `tests/it/json.rs`.
//!
//! ```text
//! { "format": "wprof-profile-1", "program": str, "module_hash": hex,
//!   "runs": [{ "started": unix seconds, "tool", "machine", "args": [str], "wall_ns": int|null,
//!              "ending": {"how": "running"|"exited"|"trapped"|"interrupted"|"out-of-budget", "code"?, "message"?} }],
//!   "code": { "functions", "compiled", "counters" },
//!   "calls": int, "ops": int, "cost": COSTS,
//!   "functions": [{ "index", "name": str|null, "start", "end", "fingerprint": hex, "kind": KIND, "calls", "ops",
//!     "cost": COSTS,
//!     "blocks": [{ "start", "end", "size": instructions in it, "count", "ops": instructions executed }],
//!     "edges": [{ "from", "to": block|null for the exit, "kind": "jump"|"taken"|"not-taken"|"case"|"default"
//!                 |"return"|"tail-call", "case"?: int, "count", "probability": float|null }],
//!     "unfinished": [{ "block", "offset", "ops_executed", "count" }],
//!     "loops": [{ "header", "depth", "blocks": [block], "entries", "iterations", "average_trips", "ops" }] }],
//!   "host_calls": [{ "module", "name", "count", "kind": KIND }] }
//! KIND  = {"how": "exact"|"derived"} or {"how": "sampled", "counted", "of"}
//! COSTS = { "chords": COST, "per_block": COST, "per_edge": COST },  COST = { "counters", "increments" }
//! ```

use serde_json::{Value, json};

use crate::{CounterCost, CounterCosts, EdgeKind, EdgeProfile, Ending, FigureKind, FunctionProfile};
use crate::{HostCalls, LoopProfile, Profile, Run};

impl Profile {
    /// The whole profile, derived figures included.
    pub fn to_json(&self) -> Value {
        json!({
            "format": "wprof-profile-1",
            "program": self.program,
            "module_hash": hex(&self.module_hash),
            "runs": self.runs.iter().map(run).collect::<Vec<_>>(),
            "code": self.code,
            "calls": self.calls(),
            "ops": self.ops(),
            "cost": costs(self.counter_costs()),
            "functions": self.functions.iter().map(function).collect::<Vec<_>>(),
            "host_calls": self.host_calls.iter().map(host_calls).collect::<Vec<_>>(),
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn run(run: &Run) -> Value {
    json!({
        "started": run.started,
        "tool": run.tool,
        "machine": run.machine,
        "args": run.args,
        "ending": ending(&run.ending),
        "wall_ns": run.wall_ns,
    })
}

fn ending(ending: &Ending) -> Value {
    match ending {
        Ending::Running => json!({ "how": "running" }),
        Ending::Exited { code } => json!({ "how": "exited", "code": code }),
        Ending::Trapped { message } => json!({ "how": "trapped", "message": message }),
        Ending::Interrupted => json!({ "how": "interrupted" }),
        Ending::OutOfBudget => json!({ "how": "out-of-budget" }),
    }
}

fn kind(kind: FigureKind) -> Value {
    match kind {
        FigureKind::Exact => json!({ "how": "exact" }),
        FigureKind::Sampled { rate } => json!({ "how": "sampled", "counted": rate.counted, "of": rate.of }),
        FigureKind::Derived => json!({ "how": "derived" }),
    }
}

fn costs(costs: CounterCosts) -> Value {
    let cost = |cost: CounterCost| json!({ "counters": cost.counters, "increments": cost.increments });
    json!({
        "chords": cost(costs.chords),
        "per_block": cost(costs.per_block),
        "per_edge": cost(costs.per_edge),
    })
}

fn function(function: &FunctionProfile) -> Value {
    json!({
        "index": function.index,
        "name": function.name,
        "start": function.code.start,
        "end": function.code.end,
        "fingerprint": format!("{:016x}", function.fingerprint),
        "kind": kind(function.kind),
        "calls": function.calls(),
        "ops": function.ops(),
        "cost": costs(function.counter_costs()),
        "blocks": blocks(function),
        "edges": edges(function),
        "unfinished": function.exits,
        "loops": function.loops().iter().map(loop_profile).collect::<Vec<_>>(),
    })
}

fn blocks(function: &FunctionProfile) -> Vec<Value> {
    let figures = function.block_counts().into_iter().zip(function.block_ops());
    let block = |(block, (count, ops)): (&crate::BlockProfile, (u64, u64))| {
        json!({
            "start": block.code.start,
            "end": block.code.end,
            "size": block.ops,
            "count": count,
            "ops": ops,
        })
    };
    function.blocks.iter().zip(figures).map(block).collect()
}

fn edges(function: &FunctionProfile) -> Vec<Value> {
    let probabilities = function.branch_probabilities();
    let exit = function.exit();
    let edge = |(edge, probability): (&EdgeProfile, Option<f64>)| {
        let (name, case) = edge_kind(edge.kind);
        let to = (edge.to != exit).then_some(edge.to);
        let mut value = json!({
            "from": edge.from, "to": to, "kind": name, "count": edge.count, "probability": probability,
        });
        if let Some(case) = case {
            value["case"] = case.into();
        }
        value
    };
    function.edges.iter().zip(probabilities).map(edge).collect()
}

fn edge_kind(kind: EdgeKind) -> (&'static str, Option<u32>) {
    match kind {
        EdgeKind::Jump => ("jump", None),
        EdgeKind::Taken => ("taken", None),
        EdgeKind::NotTaken => ("not-taken", None),
        EdgeKind::Case(case) => ("case", Some(case)),
        EdgeKind::Default => ("default", None),
        EdgeKind::Return => ("return", None),
        EdgeKind::TailCall => ("tail-call", None),
    }
}

fn loop_profile(found: &LoopProfile) -> Value {
    json!({
        "header": found.header,
        "depth": found.depth,
        "blocks": found.blocks,
        "entries": found.entries,
        "iterations": found.iterations,
        "average_trips": found.average_trips(),
        "ops": found.ops,
    })
}

fn host_calls(calls: &HostCalls) -> Value {
    json!({ "module": calls.module, "name": calls.name, "count": calls.count, "kind": kind(calls.kind) })
}
