//! The figures of tiered compilation in a run: how much of each kind was compiled, what was decided, and when it was
//! done.
//!
//! Input: a profile with its time line. Output: figures by name; also as lines of text, which a runner prints.

use std::collections::BTreeMap;
use std::fmt;

use wprof::profiler::{CodeTier, DecisionKind, Profile};

/// Figures by name.
pub type Figures = BTreeMap<String, f64>;

/// The direction in which a figure should change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Smaller is better: times, bytes, instructions.
    Less,
    /// Larger is better: decisions of the optimiser.
    More,
}

/// A named figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Its value, in bytes or milliseconds if the name says so, otherwise a count.
    pub value: f64,
}

/// The prefix of lines that are figures.
const MARK: &str = "figure\t";

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}\t{}", self.name, self.value)
    }
}

/// Parses the figures among lines of text.
pub fn parse(text: &str) -> Figures {
    let figure = |line: &str| {
        let (name, value) = line.strip_prefix(MARK)?.split_once('\t')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().filter_map(figure).collect()
}

/// Milliseconds from the start until the last reoptimized version was ready.
pub const PEAK: &str = "time to peak, ms";
/// Milliseconds from a function's first code to its optimised code: the median of the functions that have both.
pub const LATENCY: &str = "promotion latency, ms";

/// Returns the figures of a run; none if the profile has no time line.
pub fn of_run(profile: &Profile) -> Vec<Figure> {
    let Some(timeline) = &profile.timeline else { return Vec::new() };
    let mut figures: Vec<Figure> =
        CodeTier::ALL.into_iter().flat_map(|tier| of_tier(profile, tier)).collect();
    let decided = timeline.versions.iter().flat_map(|version| &version.decisions);
    for (name, kind) in [("superblocks", DecisionKind::Superblock), ("inlined calls", DecisionKind::Inlined)]
    {
        let count = decided.clone().filter(|decision| decision.kind == kind).count();
        figures.push(Figure { name: name.to_owned(), value: count as f64 });
    }
    let times = [(PEAK, peak(profile)), (LATENCY, latency(profile))];
    figures.extend(
        times
            .into_iter()
            .filter_map(|(name, ns)| Some(Figure { name: name.to_owned(), value: ns? as f64 / 1e6 })),
    );
    figures
}

/// Returns the number of versions of a kind, and their bytes.
fn of_tier(profile: &Profile, tier: CodeTier) -> [Figure; 2] {
    let versions = profile.timeline.iter().flat_map(|timeline| &timeline.versions);
    let bytes: Vec<u64> =
        versions.filter(|version| version.tier == tier).map(|version| version.bytes).collect();
    let name = tier.name();
    [
        Figure { name: format!("versions, {name}"), value: bytes.len() as f64 },
        Figure { name: format!("code, {name}, bytes"), value: bytes.iter().sum::<u64>() as f64 },
    ]
}

fn is_better(tier: CodeTier) -> bool {
    matches!(tier, CodeTier::Optimized | CodeTier::Loop | CodeTier::Reoptimized)
}

/// Returns when the last reoptimized version was ready, in nanoseconds from the start.
pub fn peak(profile: &Profile) -> Option<u64> {
    let versions = profile.timeline.iter().flat_map(|timeline| &timeline.versions);
    versions.filter(|version| is_better(version.tier)).map(|version| version.began_ns + version.took_ns).max()
}

/// Returns the median wait of functions from their first code to their optimised code, in nanoseconds.
pub fn latency(profile: &Profile) -> Option<u64> {
    let mut first: BTreeMap<u32, (Option<u64>, Option<u64>)> = BTreeMap::new();
    for version in profile.timeline.iter().flat_map(|timeline| &timeline.versions) {
        let ready = version.began_ns + version.took_ns;
        let (baseline, better) = first.entry(version.function).or_default();
        let known = match version.tier {
            CodeTier::Baseline => baseline,
            tier if is_better(tier) => better,
            _ => continue,
        };
        *known = Some(known.map_or(ready, |known| known.min(ready)));
    }
    let waited = first.values().filter_map(|&(baseline, better)| better?.checked_sub(baseline?));
    let mut waited: Vec<u64> = waited.collect();
    waited.sort_unstable();
    waited.get(waited.len() / 2).copied()
}

/// Returns the direction in which a figure should change, and the fraction by which it may change the other way
/// without being worse. For counts this fraction is zero: one decision fewer is a change that somebody wanted, or did
/// not.
pub fn direction(name: &str) -> (Better, f64) {
    match name {
        _ if name.ends_with(", bytes") => (Better::Less, 0.02),
        super::INSTRUCTIONS => (Better::Less, 0.01),
        "superblocks" | "inlined calls" => (Better::More, 0.0),
        // Fewer versions of baseline code and burst code are better.
        "versions, baseline" | "versions, for bursts" => (Better::Less, 0.0),
        _ if name.starts_with("versions, ") => (Better::More, 0.0),
        _ => (Better::Less, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        let written = Figure { name: PEAK.to_owned(), value: 1.25 };
        let text = format!("something else\n{written}\nload 1 ms\n");
        assert_eq!(parse(&text), Figures::from([(PEAK.to_owned(), 1.25)]));
    }
}
