//! What profiling may take.

use std::time::Duration;

use wprof_profiler::Allowance;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_short_program_pays_little_of_what_is_for_the_start() {
    let granted = [0, 50, 500, 10_000].map(|had| Allowance::default().granted(ms(had)));
    assert_eq!(granted, [ms(0), ms(1), ms(10), ms(105)]);
}

#[test]
fn a_share_is_kept_from_the_beginning_on() {
    let share = Allowance::share_only("5%".parse().unwrap());
    assert_eq!([0, 20, 1000].map(|had| share.granted(ms(had))), [ms(0), ms(1), ms(50)]);
}
