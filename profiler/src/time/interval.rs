//! Confidence intervals of sampled shares.
//!
//! Samples are assumed to be independent: what the program does at one says nothing of the next. This holds if the
//! program does many things between two samples; a program in step with the timer cannot be recognised from the
//! figures.
//! Source: Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927): the interval
//! of the true shares that are compatible with the sample. Unlike the normal interval it holds for few samples and
//! small shares, and stays within 0 and 1.

use super::Timed;

/// Beyond this many standard errors, both sides together, lie 5% of a normal distribution.
const STANDARD_ERRORS: f64 = 1.96;

/// A sampled share, and the interval that contains the true share in nineteen of twenty cases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The sampled share, from 0 to 1.
    pub share: f64,
    /// Lower end of the interval.
    pub least: f64,
    /// Upper end of the interval.
    pub most: f64,
}

impl Interval {
    /// Computes the interval of a part's share of all time.
    pub fn of_share(part: Timed, all: Timed) -> Self {
        if all.samples == 0 || all.time_ns == 0 {
            return Self { share: 0.0, least: 0.0, most: 1.0 };
        }
        let share = (part.time_ns as f64 / all.time_ns as f64).min(1.0);
        let (samples, squared) = (all.samples as f64, STANDARD_ERRORS * STANDARD_ERRORS);
        let scale = 1.0 / (1.0 + squared / samples);
        let centre = (share + squared / (2.0 * samples)) * scale;
        let variance = share * (1.0 - share) / samples + squared / (4.0 * samples * samples);
        let half = STANDARD_ERRORS * variance.sqrt() * scale;
        Self { share, least: (centre - half).clamp(0.0, share), most: (centre + half).clamp(share, 1.0) }
    }

    /// Returns how far the true share may be from the sampled one, in percentage points: the distance of the farther end.
    /// With few samples the interval of a share near 0 or 1 lies on one side of it.
    pub fn points(&self) -> f64 {
        100.0 * (self.most - self.share).max(self.share - self.least)
    }

    /// Reports whether the interval is disjoint from another.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.most < other.least || other.most < self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wilson(part: u64, all: u64) -> Interval {
        let timed = |samples| Timed { samples, time_ns: samples * 1_000_000 };
        Interval::of_share(timed(part), timed(all))
    }

    #[test]
    fn intervals_are_those_of_the_paper() {
        // Five of ten samples: 0.2366 to 0.7634; none of ten: 0 to 0.2775.
        let half = wilson(5, 10);
        assert!((half.least - 0.2366).abs() < 1e-3 && (half.most - 0.7634).abs() < 1e-3, "{half:?}");
        let none = wilson(0, 10);
        assert!(none.least == 0.0 && (none.most - 0.2775).abs() < 1e-3, "{none:?}");
        assert!(wilson(1, 1).least > 0.2 && wilson(1, 1).most == 1.0);
        assert_eq!(wilson(0, 0), Interval { share: 0.0, least: 0.0, most: 1.0 });
        assert!((wilson(500, 1000).points() - 3.1).abs() < 0.05);
        // The only sample says little, and none of ten does not say that there is nothing.
        assert!(wilson(1, 1).points() > 79.0 && (wilson(0, 10).points() - 27.75).abs() < 0.1);
    }

    #[test]
    fn apart_is_what_is_more_than_chance() {
        assert!(wilson(700, 1000).is_apart_from(&wilson(500, 1000)));
        assert!(!wilson(7, 10).is_apart_from(&wilson(5, 10)));
    }
}
