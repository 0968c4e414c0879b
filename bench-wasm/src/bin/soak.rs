//! `soak MINUTES`: runs a service on 16 threads for this long, in phases of a quarter of a minute. Prints the
//! resources of the process after each phase, and fails if the last phase has more than the first ones after the
//! warm-up.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use wprof_bench::soak::{KEPT, Service, Usage, run_with_one_arena};

const THREADS: usize = 16;
const PHASE: Duration = Duration::from_secs(15);
/// Number of phases that are not compared: caches fill, and the allocator reaches its size.
const WARM_UP: u32 = 4;
/// Permitted ratio of the resident memory at the end to that after the warm-up.
const TOLERANCE: f64 = 1.05;

fn main() -> Result<ExitCode> {
    if let Some(status) = run_with_one_arena()? {
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let minutes = std::env::args().nth(1).context("give the minutes to run: soak 60")?;
    let minutes: u64 = minutes.parse().context("the minutes are no whole number")?;
    let phases = (minutes * 60 / PHASE.as_secs()).max(u64::from(WARM_UP) + 1) as u32;
    let before = Usage::now()?;
    let (mut warm, mut requests) = (before, 0);
    for phase in 0..phases {
        let service = Service::new()?;
        let end = Instant::now() + PHASE;
        service.serve(THREADS, |_| Instant::now() >= end)?;
        requests += service.requests();
        let left = service.end(before.threads)?;
        println!("{phase} {requests} requests, left: {left:?}");
        ensure!(
            left.descriptors <= before.descriptors + KEPT,
            "descriptors are left: {left:?}, {before:?} before"
        );
        if phase < WARM_UP {
            warm.resident = warm.resident.max(left.resident);
        }
        let most = warm.resident as f64 * TOLERANCE;
        ensure!(left.resident as f64 <= most, "memory grows: {left:?}, {warm:?} when warm");
    }
    Ok(ExitCode::SUCCESS)
}
