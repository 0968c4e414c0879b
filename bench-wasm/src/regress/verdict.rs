//! Decides which figures of two builds differ beyond noise, and which of these are worse.

use std::collections::BTreeMap;

use super::figures::{Better, direction};
use crate::bootstrap::{Interval, ratio_of_medians};
use crate::table::Table;

/// The values of a figure of a program, one per round.
pub type Samples = BTreeMap<(String, String), Vec<f64>>;

/// The result of comparing a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not distinguishable from before.
    Same,
    /// Better, beyond noise and the tolerance.
    Better,
    /// Worse, beyond noise and the tolerance.
    Worse,
    /// Missing, though it was present before.
    Gone,
}

/// A figure of a program, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The program.
    pub program: String,
    /// The figure.
    pub figure: String,
    /// The ratio to the figure before; `None` if the figure is missing.
    pub interval: Option<Interval>,
    /// The medians before and after.
    pub medians: (f64, f64),
    /// The verdict on the change.
    pub verdict: Verdict,
}

/// The thresholds of a significant difference.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The confidence of intervals, a fraction of 1.
    pub confidence: f64,
    /// The fraction by which times may grow.
    pub margin: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { confidence: 0.99, margin: 0.02 }
    }
}

/// Compares all earlier figures with the current ones, round by round.
pub fn compare(before: &Samples, after: &Samples, limits: Limits) -> Vec<Change> {
    before.iter().map(|(key, values)| change(key, values, after.get(key), limits)).collect()
}

fn change(
    (program, figure): &(String, String),
    before: &[f64],
    after: Option<&Vec<f64>>,
    limits: Limits,
) -> Change {
    let pairs: Vec<(f64, f64)> = before.iter().copied().zip(after.into_iter().flatten().copied()).collect();
    let interval = (!pairs.is_empty()).then(|| ratio_of_medians(&pairs, limits.confidence));
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let (first, second) = pairs.into_iter().unzip();
    let medians =
        if interval.is_some() { (median(first), median(second)) } else { (median(before.to_vec()), 0.0) };
    let (better, allowed) = direction(figure);
    let allowed = if figure.ends_with(", ms") { limits.margin } else { allowed };
    let verdict = interval.map_or(Verdict::Gone, |interval| judge(interval, better, allowed));
    Change { program: program.clone(), figure: figure.clone(), interval, medians, verdict }
}

/// Judges an interval: only an interval entirely beyond the tolerance is worse, or better.
fn judge(interval: Interval, better: Better, allowed: f64) -> Verdict {
    let is_more = interval.low > 1.0 + allowed;
    let is_less = interval.high < 1.0 - allowed;
    match better {
        Better::Less if is_more => Verdict::Worse,
        Better::More if is_less => Verdict::Worse,
        _ if is_more || is_less => Verdict::Better,
        _ => Verdict::Same,
    }
}

impl Change {
    /// Reports whether the change is a regression.
    pub fn is_regression(&self) -> bool {
        matches!(self.verdict, Verdict::Worse | Verdict::Gone)
    }
}

/// Returns the changes as a table, the regressions first; unchanged figures are included only if `all` is set.
pub fn table(changes: &[Change], all: bool) -> Table {
    let mut table = Table::new(["figure", "before", "after", "ratio", "interval", ""]);
    let mut shown: Vec<&Change> =
        changes.iter().filter(|change| all || change.verdict != Verdict::Same).collect();
    shown.sort_by_key(|change| !change.is_regression());
    for change in shown {
        table.row(&change.program, change.cells());
    }
    table
}

impl Change {
    fn cells(&self) -> [String; 6] {
        let (before, after) = self.medians;
        let (ratio, interval) = self.interval.map_or(("-".to_owned(), "-".to_owned()), |interval| {
            let Interval { low, ratio, high } = interval;
            (format!("{ratio:.3}"), format!("{low:.3}–{high:.3}"))
        });
        let verdict = match self.verdict {
            Verdict::Same => "",
            Verdict::Better => "better",
            Verdict::Worse => "**worse**",
            Verdict::Gone => "**gone**",
        };
        [self.figure.clone(), number(before), number(after), ratio, interval, verdict.to_owned()]
    }
}

/// Formats milliseconds with decimals, counts without.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(figures: &[(&str, &[f64])]) -> Samples {
        figures.iter().map(|&(name, values)| (("p".to_owned(), name.to_owned()), values.to_vec())).collect()
    }

    fn verdicts(before: &[(&str, &[f64])], after: &[(&str, &[f64])]) -> Vec<Verdict> {
        let changes = compare(&samples(before), &samples(after), Limits::default());
        changes.iter().map(|change| change.verdict).collect()
    }

    #[test]
    fn times_are_worse_only_beyond_their_noise() {
        let noisy: &[f64] = &[1.0, 1.2, 0.9, 1.1, 1.3, 0.95, 1.05];
        let slower: Vec<f64> = noisy.iter().rev().map(|time| time * 1.02).collect();
        let much: Vec<f64> = noisy.iter().map(|time| time * 1.5).collect();
        let name = "run, ms";
        assert_eq!(verdicts(&[(name, noisy)], &[(name, &slower)]), [Verdict::Same]);
        assert_eq!(verdicts(&[(name, noisy)], &[(name, &much)]), [Verdict::Worse]);
        assert_eq!(verdicts(&[(name, &much)], &[(name, noisy)]), [Verdict::Better]);
    }

    #[test]
    fn one_decision_fewer_is_worse_and_a_byte_more_is_not() {
        let one = |name, before: f64, after: f64| verdicts(&[(name, &[before])], &[(name, &[after])]);
        assert_eq!(one("inlined calls", 10.0, 9.0), [Verdict::Worse]);
        assert_eq!(one("superblocks", 0.0, 1.0), [Verdict::Better]);
        assert_eq!(one("superblocks", 0.0, 0.0), [Verdict::Same]);
        assert_eq!(one("code, optimised, bytes", 1000.0, 1001.0), [Verdict::Same]);
        assert_eq!(one("code, optimised, bytes", 1000.0, 1100.0), [Verdict::Worse]);
        assert_eq!(verdicts(&[("superblocks", &[1.0])], &[]), [Verdict::Gone]);
    }

    #[test]
    fn what_is_worse_stands_first() {
        let before = samples(&[("a", &[1.0]), ("superblocks", &[4.0]), ("x", &[1.0])]);
        let after = samples(&[("a", &[0.5]), ("superblocks", &[2.0]), ("x", &[1.0])]);
        let changes = compare(&before, &after, Limits::default());
        let shown = table(&changes, false);
        let figures: Vec<&str> = shown.rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(figures, ["superblocks", "a"]);
        assert_eq!(table(&changes, true).rows.len(), 3);
    }
}
