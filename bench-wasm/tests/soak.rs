//! The short form of `soak`: after some thousand requests nothing is left that was not left after as many before.

use wprof_bench::soak::{KEPT, Service, Usage, run_with_one_arena};

const THREADS: usize = 16;
const REQUESTS: u64 = 1500;
/// Phases in which caches fill and the allocator finds its size, and phases that are looked at.
const WARM_UP: usize = 3;
const PHASES: usize = 4;
/// A twentieth more memory, and what an allocator needs to share it out another way.
const TOLERANCE: f64 = 1.05;
const SLACK: u64 = 4 << 20;

#[test]
fn nothing_is_left_of_engines_stores_and_threads() -> anyhow::Result<()> {
    if let Some(status) = run_with_one_arena()? {
        assert!(status.success(), "{status}");
        return Ok(());
    }
    let before = Usage::now()?;
    let phase = || {
        let service = Service::new()?;
        service.serve(THREADS, |request| request >= REQUESTS)?;
        service.end(before.threads)
    };
    let mut warm = phase()?;
    for _ in 1..WARM_UP {
        warm = phase()?;
    }
    for _ in 0..PHASES {
        let left = phase()?;
        let most = (before.threads + KEPT, before.descriptors + KEPT);
        assert!(left.threads <= most.0 && left.descriptors <= most.1, "{left:?}, {before:?} before");
        let most = (warm.resident as f64 * TOLERANCE) as u64 + SLACK;
        assert!(left.resident <= most, "{left:?}, {warm:?} when warm");
        assert!(left.mappings <= warm.mappings + 2 * THREADS, "{left:?}, {warm:?} when warm");
    }
    Ok(())
}
