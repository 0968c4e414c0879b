//! Samples of the default configuration: tiers, compilation in the background, a reoptimizer, long bursts within a limit of
//! cost, and bursts that are skipped or call what they cannot count. Shares lie where they are said to: see
//! [`crate::unbiased`].

use wprof::*;

use crate::shares::{Judged, phases};
use crate::unbiased::{exact, profile_in, programs};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Factor of the number of iterations: default bursts are seldom.
const LONGER: i32 = 60;

/// Samples of time per second, as `wprof run` takes them.
const RATE: u32 = 1000;

/// Returns an engine as `wprof run` has it; with `--rate off`, if there are to be no samples of time.
fn engine(has_time: bool) -> Result<Engine> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive::default())).count_contexts(true);
    config.sample_time(has_time.then_some(RATE));
    Engine::new(&config)
}

#[test]
fn shares_of_the_default_configuration_lie_where_they_are_said_to() -> Outcome {
    let (mut judged, mut bursts, mut skipped) = (Judged::default(), 0, 0);
    for (name, functions, count) in programs() {
        let count = count * LONGER;
        let exact = exact(&functions, count)?;
        for phase in 0..phases() {
            let engine = engine(phase % 2 == 1)?;
            // Bursts of a store go on from those of the one before, in which some of the checks until a burst pass.
            if phase > 0 {
                profile_in(&engine, &functions, 17 + 31 * phase.cast_signed())?;
            }
            let sampled = profile_in(&engine, &functions, count)?;
            // A short program on a busy machine may have none, and shares between 0 and 1.
            bursts += sampled.bursts.unwrap_or(0);
            skipped += sampled.skipped_bursts();
            judged.add(name, phase, &exact, &sampled);
        }
    }
    println!("{bursts} bursts, {skipped} were skipped");
    judged.hold(25 * phases() as usize)
}
