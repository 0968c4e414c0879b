//! The overlap that samples of our own programs predict of themselves, against the complete profiles of the same runs.

use anyhow::Result;
use wprof::profiler::{BurstPolicy, BurstSite, Change, Comparison, Profile, overlap};
use wprof::{Adaptive, Collect, Config, ProfilingConfig, Strategy};
use wprof_bench::instructions::WORK;
use wprof_bench::programs::{Program, own, words};
use wprof_bench::session::Loaded;

/// The fewest bursts of which a sample may predict anything.
const FEWEST: u64 = 100;

/// Leaves out the first bursts, as happens while there is no code for them yet.
#[derive(Debug)]
struct Late {
    due: u64,
    first: u64,
}

impl BurstPolicy for Late {
    fn begins(&mut self, _site: BurstSite) -> bool {
        self.due += 1;
        self.due > self.first
    }
}

/// Returns the configuration of a run whose code is compiled when it is called, so that each run is the same.
fn configured(profiling: ProfilingConfig) -> Config {
    let mut config = Config::new();
    config.profiling(profiling).count_contexts(true).strategy(Strategy::Optimized).hash_ahead(false);
    config.reoptimization(None).background_compilation(false);
    config
}

fn profile(program: &Program, args: &[String], config: &Config) -> Result<Profile> {
    Loaded::new(program, config)?.run(args)?.profile()
}

/// What a sample says of itself, and the truth.
struct Compared {
    bursts: u64,
    skipped: u64,
    predicted: f64,
    real: f64,
}

/// Compares the predicted and the real overlap of the instructions of functions, where the sample predicts it; the
/// first `late` bursts are left out, if any are.
fn compare(program: &Program, args: &[String], late: Option<u64>) -> Result<Option<Compared>> {
    let lengths = "1000:50".parse().map_err(anyhow::Error::msg)?;
    let mut config = configured(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    if let Some(first) = late {
        config.burst_policy(move || Box::new(Late { due: 0, first }));
    }
    let seen = profile(program, args, &config)?;
    let Some((bursts, predicted)) = seen.bursts.zip(seen.expected_overlap()) else { return Ok(None) };
    let complete = profile(program, args, &configured(ProfilingConfig::Exact(Collect::Edges)))?;
    let functions = Comparison::new(&complete, &seen).functions();
    let functions: Vec<Change> = functions.into_iter().map(|function| function.ops).collect();
    let real = overlap(&functions).unwrap_or(0.0);
    Ok(Some(Compared { bursts, skipped: seen.skipped_bursts(), predicted, real }))
}

/// Returns how many predictions there are, and the programs for which they are not within two points.
fn judge(late: Option<u64>) -> (u32, Vec<String>) {
    let (mut judged, mut wrong) = (0, Vec::new());
    for program in own().expect("a table of programs") {
        let Some((_, _, args)) = WORK.into_iter().find(|(name, ..)| *name == program.name) else { continue };
        let found =
            compare(&program, &words(args), late).unwrap_or_else(|e| panic!("{}: {e:#}", program.name));
        let Some(found) = found else { continue };
        let Compared { bursts, skipped, predicted, real } = found;
        println!("{}: {bursts} bursts, {skipped} skipped, {predicted:.4} predicted, {real:.4}", program.name);
        assert!(bursts >= FEWEST, "{}: predicted from {bursts} bursts", program.name);
        assert_eq!(skipped, late.unwrap_or(0), "{}", program.name);
        judged += 1;
        if (predicted - real).abs() >= 0.02 {
            wrong.push(program.name);
        }
    }
    (judged, wrong)
}

#[test]
fn samples_of_programs_predict_their_overlap_within_two_points() {
    let (judged, wrong) = judge(None);
    assert!(judged >= 6 && wrong.is_empty(), "{judged} predictions, wrong: {wrong:?}");
}

#[test]
fn samples_with_skipped_bursts_predict_their_overlap_within_two_points() {
    let (judged, wrong) = judge(Some(4));
    assert!(judged >= 6 && wrong.is_empty(), "{judged} predictions, wrong: {wrong:?}");
}
