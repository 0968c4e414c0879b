//! How many cases a test runs.
//!
//! Each landing runs a quarter of them, with assertions and as wprof is released; `scripts/test --all` runs all, and
//! `scripts/fuzz` as many as there is time for.

/// Returns a quarter of `all`, rounded up, or `all` if the variable `WPROF_ALL_CASES` is set.
#[must_use]
pub fn share(all: u64) -> u64 {
    if std::env::var_os("WPROF_ALL_CASES").is_some() { all } else { all.div_ceil(4) }
}

/// Returns the number of cases that the variable `WPROF_SEEDS` requests, else the [`share`] of `all`.
///
/// # Panics
/// Panics if the variable is not a number.
#[must_use]
pub fn cases(all: u64) -> u64 {
    std::env::var("WPROF_SEEDS").map_or(share(all), |count| count.parse().expect("WPROF_SEEDS is a number"))
}
