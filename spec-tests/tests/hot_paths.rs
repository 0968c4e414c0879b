//! The hot path table holds nearly all executed paths in little memory.

use std::sync::Arc;

use wprof::{Collect, Config, Engine, ProfilingConfig, Tracing};
use wprof_jit::module::parse;
use wprof_profiler::{Change, HotPathTable, overlap};
use wprof_spec_tests::oracle::hot_paths;
use wprof_spec_tests::programs::{Program, own};

/// Returns the paths of a program, and those that remain in tables of these sizes: entries, and entries per set.
fn paths(program: &Program, sizes: &[(usize, usize)]) -> Result<Vec<Vec<Change>>, String> {
    let mut config = Config::new();
    config.profiling(ProfilingConfig::Exact(Collect::Paths)).trace(Tracing::Best);
    let engine = Engine::new(&config).map_err(|e| e.to_string())?;
    let wasm = std::fs::read(&program.file).map_err(|e| e.to_string())?;
    let out = tempfile::tempdir().map_err(|e| e.to_string())?;
    let ended = program.run(&engine, &wasm, out.path()).map_err(|e| e.to_string())?;
    let profile = ended.instance.profile(&ended.store).map_err(|e| e.to_string())?;
    let info = parse(Arc::from(wasm)).map_err(|e| e.to_string())?;
    let trace = ended.trace.as_ref().ok_or("no trace")?;
    let tables = sizes.iter().map(|&(entries, ways)| HotPathTable::new(entries, ways));
    tables.map(|mut table| hot_paths(&info, &profile, trace, &mut table)).collect()
}

/// The thesis reports 88% for 512 entries in sets of 4, with programs that are far larger; these sizes are enough for
/// ours.
#[test]
fn the_hot_paths_of_programs_are_in_the_table() {
    let sizes = [(64, 4), (512, 4), (512, 1), (1 << 16, 4)];
    let mut sums = [0.0; 4];
    let mut programs = 0.0;
    for program in own() {
        let all = paths(&program, &sizes).unwrap_or_else(|e| panic!("{}: {e}", program.name));
        let overlaps: Vec<f64> = all.iter().filter_map(|changes| overlap(changes)).collect();
        println!("{:<14} {:>6} paths, overlap {overlaps:.3?}", program.name, all[0].len());
        if let [_, _, _, unbounded] = overlaps[..] {
            assert!(unbounded > 0.999_999, "{}: {unbounded}", program.name);
            sums.iter_mut().zip(overlaps).for_each(|(sum, overlap)| *sum += overlap);
            programs += 1.0;
        }
    }
    let means = sums.map(|sum| sum / programs);
    println!("mean of {programs} programs: {means:.3?}");
    assert!(programs >= 10.0 && means[1] > 0.88 && means[0] < means[1], "{means:?}");
}
