//! The time line: when which code was compiled, what was decided about it, and how fast the program went.
//!
//! Invariant: columns have the same length, one row for each version, ordered by time.

use std::collections::BTreeMap;

use serde::Serialize;
use wprof_profiler::{CodeTier, CodeVersion, Profile};

use crate::names;

/// The time line.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// The end of the time line.
    end_ns: u64,
    /// The kinds of code.
    tiers: Vec<&'static str>,
    versions: Versions,
    /// The names of functions that have versions but are not among those that ran.
    names: BTreeMap<u32, String>,
    /// The beginnings and durations of a selection of bursts.
    bursts: Vec<(u64, u64)>,
    /// Points in time, and the number of checks per millisecond.
    speed: Vec<(u64, f64)>,
}

/// The compiled versions, column by column.
#[derive(Debug, Default, Serialize)]
struct Versions {
    function: Vec<u32>,
    /// The version's index in `tiers`.
    tier: Vec<usize>,
    began: Vec<u64>,
    took: Vec<u64>,
    bytes: Vec<u64>,
    /// The size in bytes of the replaced version, if it is known.
    before: Vec<Option<u64>>,
    /// The predicted savings, as a share of the work, and the measured ones, as a share of a call's time, if known.
    predicted: Vec<Option<f64>>,
    measured: Vec<Option<f64>>,
    decisions: Vec<Vec<Decision>>,
}

#[derive(Debug, Serialize)]
struct Decision {
    kind: &'static str,
    offset: u32,
    text: String,
}

impl Timeline {
    /// Returns the time line of a profile, if it has one.
    pub fn new(profile: &Profile) -> Option<Self> {
        let timeline = profile.timeline.as_ref()?;
        let wall = profile.runs.iter().filter_map(|run| run.wall_ns).max().unwrap_or(0);
        let ends = timeline.versions.iter().map(|version| version.began_ns.saturating_add(version.took_ns));
        let bursts = timeline.bursts.iter();
        let mut versions = Versions::default();
        timeline.versions.iter().for_each(|version| versions.push(version));
        Some(Self {
            end_ns: ends.chain(bursts.clone().map(|burst| burst.began_ns)).fold(wall, u64::max),
            tiers: CodeTier::ALL.map(CodeTier::name).into(),
            versions,
            names: names_of(profile, &timeline.versions),
            bursts: bursts.map(|burst| (burst.began_ns, burst.took_ns)).collect(),
            speed: timeline.checks_per_ms(),
        })
    }
}

impl Versions {
    fn push(&mut self, version: &CodeVersion) {
        let decision = |decision: &wprof_profiler::CodeDecision| Decision {
            kind: decision.kind.name(),
            offset: decision.offset,
            text: names::harmless(&decision.text),
        };
        self.function.push(version.function);
        self.tier.push(CodeTier::ALL.iter().position(|&tier| tier == version.tier).unwrap_or(0));
        self.began.push(version.began_ns);
        self.took.push(version.took_ns);
        self.bytes.push(version.bytes);
        self.before.push(version.bytes_before);
        let part = |millionths: i32| f64::from(millionths) / 1e6;
        self.predicted.push(version.benefit.predicted.map(part));
        self.measured.push(version.benefit.measured.map(part));
        self.decisions.push(version.decisions.iter().map(decision).collect());
    }
}

fn names_of(profile: &Profile, versions: &[CodeVersion]) -> BTreeMap<u32, String> {
    let others = versions.iter().filter(|version| profile.function(version.function).is_none());
    let name = |version: &CodeVersion| names::shown(version.function, version.name.as_deref());
    others.map(|version| (version.function, name(version))).collect()
}
