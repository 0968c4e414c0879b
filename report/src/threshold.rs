//! Thresholds for changes in a comparison: `instructions>+1%`.

use std::str::FromStr;

use wprof_profiler::{Change, TotalChange};

use crate::error::{Context, Result};

/// The limit of a total's change.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The total's name.
    name: String,
    /// Whether growth beyond the limit fails, rather than shrinkage.
    is_upper: bool,
    limit: Limit,
}

/// The amount of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Absolute(f64),
    /// A percentage of the earlier total.
    Percent(f64),
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || "give a total and a change, such as 'instructions>+1%' or 'calls>+100'".to_owned();
        let at = text.find(['>', '<']).ok_or_else(usage)?;
        let (name, number) = (text[..at].trim(), text[at + 1..].trim().replace('_', ""));
        let (number, is_percent) = number.strip_suffix('%').map_or((number.as_str(), false), |n| (n, true));
        let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(usage)?;
        if name.is_empty() {
            return Err(usage());
        }
        let limit = if is_percent { Limit::Percent(number) } else { Limit::Absolute(number) };
        Ok(Self { name: name.to_owned(), is_upper: text[at..].starts_with('>'), limit })
    }
}

impl Threshold {
    /// Returns the total, if it changed more than allowed.
    ///
    /// # Errors
    /// Returns an error if there is no such total.
    pub fn exceeded<'a>(&self, totals: &'a [TotalChange]) -> Result<Option<&'a TotalChange>> {
        let found = totals.iter().find(|total| total.name == self.name);
        let known: Vec<&str> = totals.iter().map(|total| total.name.as_str()).collect();
        let found = found.with_context(|| {
            format!("`{}` is not in both profiles: give one of {}", self.name, known.join(", "))
        })?;
        Ok(self.is_exceeded(found.total).then_some(found))
    }

    fn is_exceeded(&self, change: Change) -> bool {
        let delta = change.delta() as f64;
        let limit = match self.limit {
            Limit::Absolute(number) => number,
            Limit::Percent(percent) => change.before as f64 * percent / 100.0,
        };
        if self.is_upper { delta > limit } else { delta < limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(threshold: &str, before: u64, after: u64) -> bool {
        threshold.parse::<Threshold>().unwrap().is_exceeded(Change { before, after })
    }

    #[test]
    fn growth_and_shrinkage_have_limits() {
        assert!(!fails("calls>+1%", 1000, 1010) && fails("calls>+1%", 1000, 1011));
        assert!(!fails("calls>10", 1000, 1010) && fails("calls > 10", 1000, 1011));
        assert!(!fails("calls<-1%", 1000, 990) && fails("calls<-1%", 1000, 989));
        assert!(fails("calls>0", 7, 8) && !fails("calls>0", 7, 7) && fails("calls<0", 7, 6));
        assert!(fails("calls>+1%", 0, 1) && !fails("calls>+1%", 0, 0));
        assert!(fails("a b>-5%", 100, 96) && !fails("a b>-5%", 100, 95));
    }

    #[test]
    fn what_is_no_threshold_is_refused() {
        for text in ["", "calls", "calls=1", ">1", "calls>", "calls>many", "calls>1%%", "calls>nan"] {
            assert!(text.parse::<Threshold>().unwrap_err().contains("instructions>+1%"), "{text}");
        }
    }
}
