//! The overlap that samples of our own programs predict of themselves, against the complete profiles of the same runs.

use anyhow::Result;
use wprof::profiler::{Change, Comparison, Profile, overlap};
use wprof::{Adaptive, Collect, Config, ProfilingConfig, Strategy};
use wprof_bench::instructions::WORK;
use wprof_bench::programs::{Program, own, words};
use wprof_bench::session::Loaded;

/// The fewest bursts for which a prediction is judged.
const FEWEST: u64 = 100;

/// Returns the profile of a run; code is compiled when it is called, so that each run is the same.
fn profile(program: &Program, args: &[String], profiling: ProfilingConfig) -> Result<Profile> {
    let mut config = Config::new();
    config.profiling(profiling).count_contexts(true).strategy(Strategy::Optimized).hash_ahead(false);
    config.reoptimization(None).background_compilation(false);
    Loaded::new(program, &config)?.run(args)?.profile()
}

/// Returns how many bursts there were, and the predicted and the real overlap of the instructions of functions.
fn compare(program: &Program, args: &[String]) -> Result<Option<(u64, f64, f64)>> {
    let lengths = "1000:50".parse().map_err(anyhow::Error::msg)?;
    let adaptive = Adaptive { lengths, ..Adaptive::default() };
    let seen = profile(program, args, ProfilingConfig::Adaptive(adaptive))?;
    let Some((bursts, accuracy)) = seen.bursts.zip(seen.accuracy) else { return Ok(None) };
    let complete = profile(program, args, ProfilingConfig::Exact(Collect::Edges))?;
    let functions = Comparison::new(&complete, &seen).functions();
    let functions: Vec<Change> = functions.into_iter().map(|function| function.ops).collect();
    Ok(Some((bursts, accuracy.overlap(), overlap(&functions).unwrap_or(0.0))))
}

#[test]
fn samples_of_programs_predict_their_overlap_within_two_points() {
    let (mut judged, mut wrong) = (0, Vec::new());
    for program in own().expect("a table of programs") {
        let Some((_, _, args)) = WORK.into_iter().find(|(name, ..)| *name == program.name) else { continue };
        let found = compare(&program, &words(args)).unwrap_or_else(|e| panic!("{}: {e:#}", program.name));
        let Some((bursts, predicted, real)) = found else { continue };
        println!("{}: {bursts} bursts, {predicted:.4} predicted, {real:.4}", program.name);
        judged += u32::from(bursts >= FEWEST);
        if bursts >= FEWEST && (predicted - real).abs() >= 0.02 {
            wrong.push((program.name, predicted, real));
        }
    }
    assert!(judged >= 6 && wrong.is_empty(), "{judged} predictions, wrong: {wrong:?}");
}
