//! What is said of figures that were seen in bursts: of how much of the run they are, and whether that is enough.

use wprof_profiler::{Profile, Rate};

use super::numbers::count_of;

/// How many bursts are enough: then shares are hardly wrong by more than a tenth of the run.
const ENOUGH: u64 = 100;

/// How many bursts are enough to tell loops and paths: with fewer, shares may be wrong by a third of the run, so that it
/// is chance which of them are seen. To look up their lines takes milliseconds.
const ENOUGH_FOR_PLACES: u64 = 10;

/// How large a sample is.
pub fn size(rate: Rate) -> String {
    format!("a sample of {:.3}% of the run", rate.as_f64() * 100.0)
}

/// What stands behind the title of a table of figures that are sampled.
pub fn mark(rate: Option<Rate>) -> String {
    rate.map_or_else(String::new, |rate| format!(" ({})", size(rate)))
}

/// What there is to say if nothing was seen, since the program ended first: a number, and of what.
pub fn nothing(profile: &Profile) -> (u64, String) {
    let functions = count_of(profile.code.functions, "function");
    let what = if profile.time.is_some() { "" } else { "; none of them was in a burst" };
    (profile.code.compiled, format!(" of {functions} ran{what}"))
}

/// Whether a sample has so few bursts that loops and paths in it mean nothing; unless they are most of the run.
pub fn is_too_small_for_places(bursts: u64, rate: Rate) -> bool {
    bursts < ENOUGH_FOR_PLACES && rate.as_f64() < 0.5
}

/// What to do about a sample of so many bursts, if it is too small to say much.
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

/// By how many percentage points the share of half of a run may be wrong, at worst, in nineteen of twenty samples of
/// so many bursts: what runs in one is taken to be all alike, as in `wprof_profiler::comparison::significance`.
fn uncertainty(bursts: u64) -> f64 {
    (1.96 * 50.0 / (bursts.max(1) as f64).sqrt()).min(100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
