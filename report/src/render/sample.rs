//! Descriptions of samples taken in bursts: their share of the run, and whether they suffice.

use wprof_profiler::{Profile, Rate, SkippedIn};

use super::numbers::{count_of, sampled_share};
use crate::names;

/// The number of bursts that suffice: shares are then rarely wrong by more than a tenth of the run.
const ENOUGH: f64 = 100.0;

/// The number of bursts that suffice for loops and paths. With fewer, shares may be wrong by a third of the run, so it
/// is chance which loops and paths are seen. Looking up their lines takes milliseconds.
const ENOUGH_FOR_PLACES: u64 = 10;

/// Describes the size of a sample.
pub fn size(rate: Rate) -> String {
    format!("a sample of {} of the run", sampled_share(rate.as_f64()))
}

/// The smallest part of a run that is worth telling about if it is not in the sample.
const LEAST_UNSEEN: f64 = 0.01;

/// Number of functions that are named of those that were not sampled.
const UNSEEN_FUNCTIONS: usize = 3;

/// Says which part of the run bursts could not count, and why, if it is a part worth telling about. Times, which a timer
/// samples, have it.
pub fn unseen(profile: &Profile) -> Option<String> {
    let (skipped, unseen) = (profile.skipped.as_ref()?, profile.unseen());
    if unseen < LEAST_UNSEEN {
        return None;
    }
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    let part = if unseen > 0.995 { "almost all".to_owned() } else { format!("about {}", percent(unseen)) };
    let mut functions: Vec<_> = skipped.functions.iter().filter(|of| of.ops > 0).collect();
    functions.sort_by_key(|of| std::cmp::Reverse(of.ops));
    let name = |of: &&SkippedIn| {
        let share = unseen * of.ops as f64 / skipped.ops() as f64;
        format!("{} ({})", names::shown(of.function, of.name.as_deref()), percent(share))
    };
    let named: Vec<String> = functions.iter().take(UNSEEN_FUNCTIONS).map(name).collect();
    let more = if functions.len() > UNSEEN_FUNCTIONS { " and others" } else { "" };
    let bursts = match skipped.bursts {
        0 => String::new(),
        1 => "; 1 burst was skipped".to_owned(),
        bursts => format!("; {} were skipped", count_of(bursts, "burst")),
    };
    // Advice about a small sample says the same.
    let remedy = match advice(profile) {
        Some(_) => "",
        None => "; `wprof run --exact` counts everything",
    };
    Some(format!(
        "instructions and calls lack {part} of the run, where there was no code yet that counts: {}{more}{bursts}{remedy}",
        named.join(", "),
    ))
}

/// Describes how far the sampled functions are expected to agree with the complete profile, if it is known.
pub fn accuracy(profile: &Profile) -> Option<String> {
    let (accuracy, overlap) = (profile.accuracy?, profile.expected_overlap()?);
    let unseen = match accuracy.unseen() {
        share if share < 0.001 => String::new(),
        share => format!("; {:.1}% of the run is in functions that no burst saw", 100.0 * share),
    };
    Some(format!("functions should overlap by {:.1}% with the complete profile{unseen}", 100.0 * overlap))
}

/// Returns the suffix for the title of a table of sampled figures.
pub fn mark(rate: Option<Rate>) -> String {
    rate.map_or_else(String::new, |rate| format!(" ({})", size(rate)))
}

/// Describes a run that ended before anything was sampled: a number, and its unit.
pub fn without_samples(profile: &Profile) -> (u64, String) {
    let functions = count_of(profile.code.functions, "function");
    let what = if profile.time.is_some() { "" } else { "; none of them was in a burst" };
    (profile.code.compiled, format!(" of {functions} ran{what}"))
}

/// Returns why loops and paths are not shown of a sample: there are too few bursts, or they could not see most of the run.
pub fn why_no_places(profile: &Profile) -> Option<&'static str> {
    let (bursts, rate) = profile.bursts.zip(profile.sampled())?;
    if is_too_small_for_places(bursts, rate) {
        return Some("too few bursts to show loops and paths");
    }
    let saw_little = "bursts saw less than half of the run, too little to show loops and paths";
    (!profile.saw_enough()).then_some(saw_little)
}

/// Reports whether a sample has too few bursts for loops and paths, unless the bursts are most of the run.
fn is_too_small_for_places(bursts: u64, rate: Rate) -> bool {
    bursts < ENOUGH_FOR_PLACES && rate.as_f64() < 0.5
}

/// Returns advice about a sample that is too small to be reliable.
pub fn advice(profile: &Profile) -> Option<String> {
    // If a sample is most of the run, little is left to chance.
    about(profile.bursts?, profile.effective_bursts(), 100.0 * profile.most_left_out())
}

/// Returns advice about a number of bursts that are as good a sample as `enough` would be of a run without end, and left out
/// at most `most` percent of the run.
fn about(bursts: u64, enough: f64, most: f64) -> Option<String> {
    if bursts == 0 {
        return Some("`wprof run --exact` counts everything, in short runs too".to_owned());
    }
    let (bursts, points) = (count_of(bursts, "burst"), uncertainty(enough).min(most));
    (enough < ENOUGH).then(|| {
        format!(
            "only {bursts}: shares may be wrong by {points:.0} points; `wprof run --exact` counts everything"
        )
    })
}

/// Returns the largest error of the share of half of a run, in percentage points, in nineteen of twenty samples of
/// `bursts` bursts. Each burst is taken to be uniform, as in `wprof_profiler::comparison::significance`.
fn uncertainty(bursts: f64) -> f64 {
    (1.96 * 50.0 / bursts.max(1.0).sqrt()).min(100.0)
}

#[cfg(test)]
mod tests {
    use wprof_profiler::{Accuracy, SkippedBursts};

    use super::accuracy as accuracy_of;
    use super::*;

    #[test]
    fn what_no_burst_saw_is_told() {
        let of = |function: u32, name: Option<&str>, bursts, ops| SkippedIn {
            function,
            name: name.map(str::to_owned),
            bursts,
            ops,
        };
        let functions = vec![of(3, Some("parse"), 4, 100), of(5, None, 2, 300)];
        let skipped = Some(SkippedBursts { bursts: 7, functions });
        let profile = Profile { skipped, bursts: Some(9), ..Profile::default() };
        let text = unseen(&profile).expect("all of it is unseen");
        let told =
            "instructions and calls lack almost all of the run, where there was no code yet that counts: ";
        assert!(text.starts_with(told), "{text}");
        assert!(text.ends_with(" (75%), parse (25%); 7 bursts were skipped"), "{text}");
        let many = unseen(&Profile { bursts: Some(999), ..profile }).expect("all of it is unseen");
        assert!(many.ends_with(" were skipped; `wprof run --exact` counts everything"), "{many}");
        assert_eq!(unseen(&Profile::default()), None);
    }

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
        assert!(
            about(25, 25.0, 100.0).is_some_and(|text| text.contains("25 bursts: shares may be wrong by 20 "))
        );
        assert!(
            about(1, 10.0, 100.0).is_some_and(|text| text.contains("1 burst: shares may be wrong by 31 "))
        );
        assert!(about(1, 29.0, 6.6).is_some_and(|text| text.contains("1 burst: shares may be wrong by 7 ")));
        assert!(about(0, 0.0, 100.0).is_some_and(|text| text.contains("`wprof run --exact`")));
        assert_eq!(
            [about(100, 100.0, 99.0), about(1, 1000.0, 0.1), about(1, f64::INFINITY, 0.0)],
            [None, None, None]
        );
        let samples = [(1, 4), (9, 1), (10, 1), (1, 5), (1, 10)];
        let too_small =
            samples.map(|(bursts, counted)| is_too_small_for_places(bursts, Rate { counted, of: 10 }));
        assert_eq!(too_small, [true, true, false, false, false]);
        assert!((uncertainty(ENOUGH) - 9.8).abs() < 0.01);
    }
}
