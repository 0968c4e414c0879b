//! How many cases a test runs.
//!
//! Code with assertions is about five times as slow, so tests with assertions run a quarter of their cases;
//! `scripts/test` then runs all of them as wprof is released.

/// Returns a quarter of `all`, rounded up, if assertions are compiled in, else `all`.
#[must_use]
pub const fn share(all: u64) -> u64 {
    if cfg!(debug_assertions) { all.div_ceil(4) } else { all }
}

/// Returns the number of cases that the variable `WPROF_SEEDS` requests, else the [`share`] of `all`.
///
/// # Panics
/// Panics if the variable is not a number.
#[must_use]
pub fn cases(all: u64) -> u64 {
    std::env::var("WPROF_SEEDS").map_or(share(all), |count| count.parse().expect("WPROF_SEEDS is a number"))
}
