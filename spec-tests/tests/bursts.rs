//! Sampled profiles of programs agree with exact profiles.

use wprof::{Collect, Engine, ProfilingConfig, Strategy};
use wprof_profiler::{BurstLengths, Change, Comparison, PathChange, PathCount, Profile, overlap};
use wprof_spec_tests::mode::{Mode, bursts};
use wprof_spec_tests::programs::{Program, own};

fn profile(program: &Program, strategy: Strategy, profiling: ProfilingConfig) -> Profile {
    let mut config = Mode::Tiered.config();
    let engine = Engine::new(config.strategy(strategy).profiling(profiling)).expect("an engine");
    let wasm = std::fs::read(&program.file).expect("a module");
    let out = tempfile::tempdir().expect("a folder");
    let ended = program.run(&engine, &wasm, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    program.verify(&ended, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    ended.instance.profile(&ended.store).unwrap_or_else(|e| panic!("{}: {e}", program.name))
}

fn exact(program: &Program) -> Profile {
    profile(program, Strategy::Optimized, ProfilingConfig::Exact(Collect::Paths))
}

/// Returns the paths that ran to their end, by function.
fn finished(profile: &Profile) -> Vec<(u32, &[PathCount])> {
    let functions = profile.functions.iter();
    let paths = functions.filter_map(|f| Some((f.index, f.paths()?.finished.as_slice())));
    paths.filter(|(_, paths)| !paths.is_empty()).collect()
}

#[test]
fn a_burst_without_end_counts_every_path_of_a_program() {
    let forever = bursts(1, BurstLengths::FOREVER, "orig");
    for program in own() {
        let (expected, found) = (exact(&program), profile(&program, Strategy::Optimized, forever));
        assert_eq!(finished(&found), finished(&expected), "{}", program.name);
    }
}

#[test]
fn bursts_that_never_begin_see_nothing_of_any_program() {
    for program in own() {
        let never = bursts(BurstLengths::FOREVER, 1, "default");
        let found = profile(&program, Strategy::Tiered, never);
        assert!(found.functions.is_empty() && found.call_targets.is_empty(), "{}", program.name);
        assert_eq!((found.bursts, found.calls()), (Some(0), 0), "{}", program.name);
    }
}

/// The programs run long enough to be sampled.
#[test]
fn the_paths_of_samples_overlap_with_all_paths() {
    let mut overlaps = Vec::new();
    for program in own() {
        let (expected, found) =
            (exact(&program), profile(&program, Strategy::Optimized, bursts(37, 10, "default")));
        let paths = Comparison::new(&expected, &found).paths();
        let [by_instructions, by_executions] = [|path: &PathChange| path.ops, |path: &PathChange| path.count]
            .map(|figure| paths.iter().map(figure).collect::<Vec<Change>>());
        if by_executions.iter().map(|count| count.before).sum::<u64>() < 50_000 {
            continue;
        }
        let [overlap, executions] = [by_instructions, by_executions].map(|all| overlap(&all).unwrap_or(0.0));
        println!("{:<12} {overlap:.3} of {} paths, by executions {executions:.3}", program.name, paths.len());
        overlaps.push((overlap, program.name));
    }
    let mean = overlaps.iter().map(|(overlap, _)| overlap).sum::<f64>() / overlaps.len() as f64;
    assert!(overlaps.len() >= 8 && mean > 0.9, "{overlaps:?}");
}
