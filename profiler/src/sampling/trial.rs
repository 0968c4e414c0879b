//! Trials: two versions of a function, each timed in the same number of calls, to find out which is faster.
//!
//! Input: the cycles of calls, by version. Output: the cycles per call of each, and whether the newer one is slower.
//! Invariant: which version a call gets is decided at random, not by turns, as programs also make calls by turns.
//! Both versions get the same number of calls. The longest calls of each are left out: they contain interrupts and
//! bursts.
//! Rationale: ARCHITECTURE.md, "The reoptimizer" (never slower).

/// One call in this many of each version is left out, the longest first.
const LONGEST: usize = 16;
/// Number of standard errors by which the means must differ for a version to be called slower.
const SURE: f64 = 3.0;

/// A version of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The existing version.
    Before,
    /// The version that is to replace it.
    After,
}

/// A trial in progress.
#[derive(Clone, Debug)]
pub struct Trial {
    calls: usize,
    before: Vec<u64>,
    after: Vec<u64>,
    chance: u64,
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialResult {
    /// Number of calls of each version.
    pub calls: u32,
    /// Mean cycles of a call of the existing version.
    pub before: f64,
    /// Mean cycles of a call of the new version.
    pub after: f64,
    /// Standard error of the difference of the means, in cycles.
    pub noise: f64,
}

impl Trial {
    /// Starts a trial of `calls` calls of each version, at least two; `seed` initialises the random numbers.
    pub fn new(calls: u32, seed: u64) -> Trial {
        let calls = calls.max(2) as usize;
        Trial { calls, before: Vec::new(), after: Vec::new(), chance: seed | 1 }
    }

    /// Returns the version for the next call.
    pub fn next_call(&mut self) -> Side {
        match (self.before.len() < self.calls, self.after.len() < self.calls) {
            (true, false) => Side::Before,
            (false, _) => Side::After,
            (true, true) => match self.toss() {
                true => Side::Before,
                false => Side::After,
            },
        }
    }

    /// Tosses a coin with Marsaglia's xorshift.
    fn toss(&mut self) -> bool {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance >> 63 == 1
    }

    /// Records the cycles of a call. Further calls of a version that has had enough are ignored.
    pub fn add(&mut self, side: Side, cycles: u64) {
        let times = match side {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        };
        if times.len() < self.calls {
            times.push(cycles);
        }
    }

    /// Reports whether the newer version is faster by more than `margin`, a share of a call's time, beyond chance: by the
    /// share of pairs of calls in which it is (Mann & Whitney), which a few calls of any length hardly change. So a large
    /// gain is seen on a busy machine, too.
    pub fn is_faster(&self, margin: f64) -> bool {
        let (before, after) = (self.before.len() as f64, self.after.len() as f64);
        let bounds = self.before.iter().map(|&time| time as f64 * (1.0 - margin));
        let wins = |bound: f64| self.after.iter().filter(|&&time| (time as f64) < bound).count();
        let share = bounds.map(wins).sum::<usize>() as f64 / (before * after);
        let deviation = ((before + after + 1.0) / (12.0 * before * after)).sqrt();
        share - 0.5 > SURE * deviation
    }

    /// Returns the result once both versions have had their calls.
    pub fn result(&self) -> Option<TrialResult> {
        if self.before.len() < self.calls || self.after.len() < self.calls {
            return None;
        }
        let ((before, some), (after, more)) = (mean(&self.before), mean(&self.after));
        Some(TrialResult { calls: self.calls as u32, before, after, noise: (some + more).sqrt() })
    }
}

impl TrialResult {
    /// Reports whether the newer version is slower by more than `margin`, a share of a call's time, beyond chance.
    pub fn is_slower(&self, margin: f64) -> bool {
        self.after - self.before - margin * self.before > SURE * self.noise
    }

    /// Returns the cycles of a call of the new version, relative to the existing one.
    pub fn ratio(&self) -> f64 {
        self.after / self.before.max(1.0)
    }
}

/// Returns the mean of all but the longest times, and the square of its standard error.
fn mean(times: &[u64]) -> (f64, f64) {
    let mut kept = times.to_vec();
    kept.sort_unstable();
    kept.truncate(times.len() - times.len() / LONGEST);
    let count = kept.len() as f64;
    let mean = kept.iter().map(|&time| time as f64).sum::<f64>() / count;
    let squares: f64 = kept.iter().map(|&time| (time as f64 - mean).powi(2)).sum();
    (mean, squares / (count * count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a trial of versions with these times, some of which an interrupt lengthens.
    fn run(calls: u32, time: impl Fn(Side, u64) -> u64) -> TrialResult {
        let mut trial = Trial::new(calls, 7);
        for call in 0.. {
            let side = trial.next_call();
            let interrupt = if call % 50 == 0 { 1_000_000 } else { 0 };
            trial.add(side, time(side, call) + interrupt);
            if let Some(result) = trial.result() {
                return result;
            }
        }
        unreachable!("both versions get their calls")
    }

    /// Returns from 100 to 299 cycles, regardless of the version.
    fn input(call: u64) -> u64 {
        100 + call.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 200
    }

    #[test]
    fn a_slower_version_is_found_out_among_calls_that_differ() {
        let slower = run(256, |side, call| input(call) * if side == Side::After { 13 } else { 10 } / 10);
        assert!(slower.is_slower(0.01) && (1.2..1.4).contains(&slower.ratio()), "{slower:?}");
        let faster = run(256, |side, call| input(call) * if side == Side::After { 8 } else { 10 } / 10);
        assert!(!faster.is_slower(0.01) && (0.7..0.9).contains(&faster.ratio()), "{faster:?}");
    }

    #[test]
    fn equal_versions_are_not_told_apart() {
        for calls in [2, 3, 16, 256] {
            let equal = run(calls, |_, call| input(call));
            assert!(!equal.is_slower(0.01), "{equal:?}");
        }
        assert!(!run(64, |side, _| 1000 + u64::from(side == Side::After)).is_slower(0.01));
    }

    #[test]
    fn a_faster_version_is_found_out_on_a_busy_machine() {
        let trial = |percent: u64| {
            let mut trial = Trial::new(60, 7);
            for call in 0u64.. {
                // Every third call is interrupted, and then takes up to a hundred times as long.
                let delay = if call % 3 == 0 { 100 * input(call * 7) } else { 0 };
                let side = trial.next_call();
                let time = input(call) * if side == Side::After { percent } else { 100 } / 100;
                trial.add(side, time + delay);
                if trial.result().is_some() {
                    return trial;
                }
            }
            unreachable!("both versions get their calls")
        };
        assert!(trial(40).is_faster(0.02) && !trial(40).is_faster(0.9));
        assert!(!trial(100).is_faster(0.02) && !trial(130).is_faster(0.02));
        assert!(trial(130).is_faster(-1e12) && !trial(40).is_faster(1e12));
    }

    #[test]
    fn both_versions_have_as_many_calls_and_not_by_turns() {
        let mut trial = Trial::new(100, 1);
        let mut sides = Vec::new();
        while trial.result().is_none() {
            sides.push(trial.next_call());
            trial.add(*sides.last().expect("just added"), 10);
        }
        let before = sides.iter().filter(|&&side| side == Side::Before).count();
        assert_eq!((before, sides.len()), (100, 200));
        assert!(sides.windows(2).filter(|pair| pair[0] == pair[1]).count() > 50);
        assert_eq!(trial.next_call(), Side::After);
    }
}
