//! Hot programs that once made reoptimized code jump outside its function, under the configurations in which they did.
//!
//! Both were generated: counted loops, indirect calls, tables that change. `regressions/*.wat` are their texts.

use wprof::profiler::BurstLengths;
use wprof::{Adaptive, Config, Engine, Policy, ProfilingConfig, Strategy};
use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::engines::{ours, reference};

/// Reoptimizes whatever bursts of these lengths record, at once, on the thread that runs the program.
fn at_once(lengths: BurstLengths) -> Config {
    let adaptive = Adaptive { lengths, ..Adaptive::default() };
    let mut config = Config::new();
    config
        .strategy(Strategy::Tiered)
        .background_compilation(false)
        .canonical_nans(true)
        .loop_entries_above(0)
        .shared_loops_above(0)
        .profiling(ProfilingConfig::Adaptive(adaptive));
    config
}

fn eager() -> Config {
    let mut config = at_once(BurstLengths::new(3, 5));
    config.promote_after(2).reoptimization(Some(Policy::eager()));
    config
}

fn roomy() -> Config {
    let policy =
        Policy { room: 6000, large_callee: 2000, depth: 8, recursion: 3, path_growth: 6, ..Policy::eager() };
    let mut config = at_once(BurstLengths::new(211, 53));
    config.promote_after(30).parts_above(50).reoptimization(Some(policy));
    config
}

/// Checks that the program behaves as in the interpreter, under both configurations, with arguments from several
/// seeds.
fn does_as_the_interpreter(text: &str) {
    let wasm = wat::parse_str(text).expect("the text of a module");
    for config in [eager(), roomy()] {
        let engine = Engine::new(&config).expect("an engine for this machine");
        for seed in 0..6 {
            let drive = Drive::new(&wasm, seed, 3, 0).expect("valid");
            let expected = reference::run(&reference::engine(), &wasm, &drive).expect("it runs").outcome;
            let ran = ours::run(&engine, &wasm, &drive).expect("it runs");
            assert_eq!(expected.same_as(&ran.outcome), Ok(()), "seed {seed}, the interpreter first");
        }
    }
}

#[test]
fn a_jump_to_an_emptied_end_of_the_hot_part_stays_in_its_function() {
    does_as_the_interpreter(include_str!("../regressions/hot-2061.wat"));
}

#[test]
fn the_same_holds_where_loops_are_unrolled_and_functions_lie_in_parts() {
    does_as_the_interpreter(include_str!("../regressions/hot-3066.wat"));
}
