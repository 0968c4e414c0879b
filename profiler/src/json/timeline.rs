//! The JSON shape of a timeline.

use serde::Serialize;

use crate::{CodeDecision, CodeVersion, Timeline};

#[derive(Serialize)]
pub(super) struct TimelineShape<'a> {
    versions: Vec<VersionShape<'a>>,
    bursts: Vec<BurstShape>,
}

#[derive(Serialize)]
struct VersionShape<'a> {
    function: u32,
    name: Option<&'a str>,
    tier: &'static str,
    began_ns: u64,
    took_ns: u64,
    bytes: u64,
    bytes_before: Option<u64>,
    predicted: Option<f64>,
    measured: Option<f64>,
    decisions: Vec<DecisionShape<'a>>,
}

#[derive(Serialize)]
struct DecisionShape<'a> {
    offset: u32,
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct BurstShape {
    began_ns: u64,
    took_ns: u64,
    checks: u64,
}

impl<'a> TimelineShape<'a> {
    pub(super) fn new(timeline: &'a Timeline) -> Self {
        let burst = |burst: &crate::BurstSpan| BurstShape {
            began_ns: burst.began_ns,
            took_ns: burst.took_ns,
            checks: burst.checks,
        };
        Self {
            versions: timeline.versions.iter().map(VersionShape::new).collect(),
            bursts: timeline.bursts.iter().map(burst).collect(),
        }
    }
}

impl<'a> VersionShape<'a> {
    fn new(version: &'a CodeVersion) -> Self {
        let decision = |decision: &'a CodeDecision| DecisionShape {
            offset: decision.offset,
            kind: decision.kind.name(),
            text: &decision.text,
        };
        Self {
            function: version.function,
            name: version.name.as_deref(),
            tier: version.tier.name(),
            began_ns: version.began_ns,
            took_ns: version.took_ns,
            bytes: version.bytes,
            bytes_before: version.bytes_before,
            predicted: version.benefit.predicted.map(part),
            measured: version.benefit.measured.map(part),
            decisions: version.decisions.iter().map(decision).collect(),
        }
    }
}

fn part(millionths: i32) -> f64 {
    f64::from(millionths) / 1e6
}
