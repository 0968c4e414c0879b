//! Tests that are skipped where something is not there.

use std::io::{self, Write};

/// Says on standard error that a test is skipped, and how to have it run. The test harness keeps what the macros print of tests
/// that pass, and so nobody would see it.
pub fn tell(why: &str) {
    // Without standard error there is nobody to tell.
    let _ = writeln!(io::stderr(), "skipped: {why}");
}
