//! Descriptions of samples taken in bursts: their share of the run, and whether they suffice.

use wprof_profiler::{Profile, Rate};

use super::numbers::count_of;

/// The number of bursts that suffice: shares are then rarely wrong by more than a tenth of the run.
const ENOUGH: u64 = 100;

/// The number of bursts that suffice for loops and paths. With fewer, shares may be wrong by a third of the run, so it
/// is chance which loops and paths are seen. Looking up their lines takes milliseconds.
const ENOUGH_FOR_PLACES: u64 = 10;

/// Describes the size of a sample.
pub fn size(rate: Rate) -> String {
    format!("a sample of {:.3}% of the run", rate.as_f64() * 100.0)
}

/// Describes how far the sampled functions are expected to agree with the complete profile, if it is known.
pub fn accuracy(profile: &Profile) -> Option<String> {
    let accuracy = profile.accuracy?;
    let unseen = match accuracy.unseen() {
        share if share < 0.001 => String::new(),
        share => format!("; {:.1}% of the run is in functions that no burst saw", 100.0 * share),
    };
    Some(format!(
        "functions should overlap by {:.1}% with the complete profile{unseen}",
        100.0 * accuracy.overlap()
    ))
}

/// Returns the suffix for the title of a table of sampled figures.
pub fn mark(rate: Option<Rate>) -> String {
    rate.map_or_else(String::new, |rate| format!(" ({})", size(rate)))
}

/// Describes a run that ended before anything was sampled: a number, and what it counts.
pub fn nothing(profile: &Profile) -> (u64, String) {
    let functions = count_of(profile.code.functions, "function");
    let what = if profile.time.is_some() { "" } else { "; none of them was in a burst" };
    (profile.code.compiled, format!(" of {functions} ran{what}"))
}

/// Reports whether a sample has too few bursts for loops and paths, unless the bursts are most of the run.
pub fn is_too_small_for_places(bursts: u64, rate: Rate) -> bool {
    bursts < ENOUGH_FOR_PLACES && rate.as_f64() < 0.5
}

/// Returns advice about a sample that is too small to be reliable.
pub fn advice(bursts: u64) -> Option<String> {
    match bursts {
        0 => Some("`wprof run --exact` counts everything, in short runs too".to_owned()),
        1..ENOUGH => {
            let (bursts, points) = (count_of(bursts, "burst"), uncertainty(bursts));
            Some(format!(
                "only {bursts}: shares may be wrong by {points:.0} points; `wprof run --exact` counts everything"
            ))
        }
        _ => None,
    }
}

/// Returns the largest error of the share of half of a run, in percentage points, in nineteen of twenty samples of
/// `bursts` bursts. Each burst is taken to be uniform, as in `wprof_profiler::comparison::significance`.
fn uncertainty(bursts: u64) -> f64 {
    (1.96 * 50.0 / (bursts.max(1) as f64).sqrt()).min(100.0)
}

#[cfg(test)]
mod tests {
    use wprof_profiler::Accuracy;

    use super::accuracy as accuracy_of;
    use super::*;

    #[test]
    fn samples_say_how_far_they_should_agree_with_the_whole() {
        let of = |accuracy| accuracy_of(&Profile { accuracy, ..Profile::default() });
        assert_eq!(of(None), None);
        let text = of(Some(Accuracy::new(10_000, 0.9871, 0.0004))).unwrap();
        assert_eq!(text, "functions should overlap by 98.7% with the complete profile");
        let text = of(Some(Accuracy::new(1000, 0.9, 0.021))).unwrap();
        assert!(text.ends_with("; 2.1% of the run is in functions that no burst saw"), "{text}");
    }

    #[test]
    fn small_samples_say_how_wrong_they_may_be() {
        assert!(advice(25).is_some_and(|advice| advice.contains("25 bursts: shares may be wrong by 20 ")));
        assert!(advice(0).is_some_and(|advice| advice.contains("`wprof run --exact`")));
        assert_eq!(advice(ENOUGH), None);
        let samples = [(1, 4), (9, 1), (10, 1), (1, 5), (1, 10)];
        let too_small =
            samples.map(|(bursts, counted)| is_too_small_for_places(bursts, Rate { counted, of: 10 }));
        assert_eq!(too_small, [true, true, false, false, false]);
        assert!((uncertainty(ENOUGH) - 9.8).abs() < 0.01);
    }
}
