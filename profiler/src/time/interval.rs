//! How far a sampled share may be from the true one.
//!
//! Samples are taken to be independent of each other: what the program does at one has nothing to do with the next. That
//! holds where it does many things between two of them; a program in step with the timer is beyond what figures can tell.
//! Source: Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927): the interval of
//! shares that a sample like this one would not surprise. Unlike the normal one it holds for few samples and small shares,
//! and stays within 0 and 1.

use super::Timed;

/// Beyond so many standard errors, on both sides together, lie 5% of the normal distribution.
const STANDARD_ERRORS: f64 = 1.96;

/// A share, and where the true one is in nineteen of twenty cases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The share that was sampled, from 0 to 1.
    pub share: f64,
    /// The least that it may be.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Interval {
    /// Of a part of all time.
    pub fn of(part: Timed, all: Timed) -> Self {
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

    /// Half of its width, in percentage points: by how much the share may be wrong, about.
    pub fn points(&self) -> f64 {
        50.0 * (self.most - self.least)
    }

    /// Whether it has no share in common with another.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.most < other.least || other.most < self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(part: u64, all: u64) -> Interval {
        let timed = |samples| Timed { samples, time_ns: samples * 1_000_000 };
        Interval::of(timed(part), timed(all))
    }

    #[test]
    fn intervals_are_those_of_the_paper() {
        // Of ten samples five: 0.2366 to 0.7634; none: 0 to 0.2775.
        let half = of(5, 10);
        assert!((half.least - 0.2366).abs() < 1e-3 && (half.most - 0.7634).abs() < 1e-3, "{half:?}");
        let none = of(0, 10);
        assert!(none.least == 0.0 && (none.most - 0.2775).abs() < 1e-3, "{none:?}");
        assert!(of(1, 1).least > 0.2 && of(1, 1).most == 1.0);
        assert_eq!(of(0, 0), Interval { share: 0.0, least: 0.0, most: 1.0 });
        assert!((of(500, 1000).points() - 3.1).abs() < 0.05);
    }

    #[test]
    fn apart_is_what_is_more_than_chance() {
        assert!(of(700, 1000).is_apart_from(&of(500, 1000)));
        assert!(!of(7, 10).is_apart_from(&of(5, 10)));
    }
}
