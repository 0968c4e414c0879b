//! Samples of the default configuration: tiers, compilation in the background, a reoptimizer, long bursts within a limit of
//! cost, and bursts that are skipped. Shares lie where they are said to: see [`crate::unbiased`].

use wprof::*;

use crate::shares::{Judged, phases};
use crate::unbiased::{exact, profile_in, programs};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Factor of the number of iterations: default bursts are seldom.
const LONGER: i32 = 60;

/// Returns an engine as `wprof run` has it.
fn engine() -> Result<Engine> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Adaptive(Adaptive::default())).count_contexts(true);
    Engine::new(&config)
}

#[test]
#[ignore = "of 144 shares 18 are outside of their intervals: programs with phases, and calls through a table"]
fn shares_of_the_default_configuration_lie_where_they_are_said_to() -> Outcome {
    let (mut judged, mut bursts, mut skipped) = (Judged::default(), 0, 0);
    for (name, functions, count) in programs() {
        let count = count * LONGER;
        let exact = exact(&functions, count)?;
        for phase in 0..phases() {
            let engine = engine()?;
            // Bursts of a store go on from those of the one before, in which some of the checks until a burst pass.
            if phase > 0 {
                profile_in(&engine, &functions, 17 + 31 * phase.cast_signed())?;
            }
            let sampled = profile_in(&engine, &functions, count)?;
            // A short program on a busy machine may have none.
            if sampled.bursts.is_none_or(|bursts| bursts == 0) {
                continue;
            }
            bursts += sampled.bursts.unwrap_or(0);
            skipped += sampled.skipped_bursts();
            judged.add(name, phase, &exact, &sampled);
        }
    }
    println!("{bursts} bursts, {skipped} were skipped");
    // The limit of cost decides how many there are.
    assert!(bursts >= u64::from(phases()), "{bursts} bursts are too few to be judged");
    judged.hold(20 * phases() as usize)
}
