//! Bursts keep to their budget, on machines of which the times are known.

use wprof_profiler::{BurstBudget, Overhead, Phase};

use crate::rng::Rng;

/// How many bursts are not kept to any budget, from the beginning on.
const COLD: u32 = 16;

/// Runs phases of a program in which a check takes so long between bursts, and so long in one. Gives the share of
/// bursts in the time of the second half.
fn share(budget: &str, (check, in_burst): (u64, u64), rounds: u32, mut noise: impl FnMut() -> u64) -> f64 {
    let mut bursts = BurstBudget::new(budget.parse().unwrap());
    let (mut checks, burst, mut in_bursts, mut all) = (1000, 100, 0, 0);
    for round in 0..rounds {
        let took = [u64::from(checks) * check + noise(), u64::from(burst) * in_burst + noise()];
        if round >= rounds / 2 {
            in_bursts += u64::from(burst) * in_burst;
            all += took[0] + took[1];
        }
        checks =
            bursts.checks_between(Phase { checks, time: took[0] }, Phase { checks: burst, time: took[1] });
    }
    in_bursts as f64 / all as f64
}

#[test]
fn bursts_take_the_budget_where_that_is_possible() {
    for (budget, wanted) in [("2%", 0.02_f64), ("0.5%", 0.005), ("10%", 0.1)] {
        for times in [(10, 40), (3, 200), (50, 75), (1000, 100_000)] {
            let found = share(budget, times, 100, || 0);
            let least = 0.98 * wanted.min(times.1 as f64 / (times.1 + 10 * times.0) as f64);
            assert!((least..=1.001 * wanted).contains(&found), "{budget} {times:?}: {found}");
        }
    }
}

#[test]
fn waits_now_and_then_make_bursts_rarer_for_a_while_only() {
    let mut rng = Rng::new(1);
    let found = share("2%", (10, 40), 2000, || if rng.once_in(20) { 1_000_000 } else { 0 });
    assert!((0.001..0.02).contains(&found), "{found}");
}

#[test]
fn times_that_make_no_sense_still_give_lengths() {
    let mut bursts = BurstBudget::new(Overhead { millionths: 20_000 });
    let usual = Phase { checks: 500, time: 5000 };
    for _ in 0..COLD {
        assert_eq!(bursts.checks_between(usual, Phase { checks: 7, time: 70_000 }), 500);
    }
    for (between, burst) in [(0, 0), (u64::MAX, 1), (1, u64::MAX), (5, 3)] {
        let checks =
            bursts.checks_between(Phase { checks: 0, time: between }, Phase { checks: 7, time: burst });
        assert!((70..=1_000_000_000).contains(&checks), "{checks}");
    }
}

#[test]
fn budgets_are_percent() {
    assert_eq!("2%".parse(), Ok(Overhead { millionths: 20_000 }));
    assert_eq!("0.5 %".parse(), Ok(Overhead { millionths: 5_000 }));
    for text in ["", "2", "0%", "-1%", "51%", "x%", "nan%"] {
        assert!(text.parse::<Overhead>().is_err(), "{text}");
    }
}
