//! Rewritten modules count paths as the engine does where a function has too many for a counter each: in rows, which paths
//! take from one another, and in a table; interesting paths in rows of their own.

use std::fmt::Write;

use wprof::{Collect, Engine, ProfilingConfig};
use wprof_instrument::{Collected, Options, RawCounters, instrument, read};
use wprof_profiler::Profile;
use wprof_spec_tests::check::same_counts;
use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::engines::ours;
use wprof_spec_tests::mode::Mode;

/// Returns a module whose function `run` has a loop of 2^20 paths that depend on its argument, on some of which it calls.
/// `fail` does the same and traps, in the callee and in the middle of a path. The loop runs `rounds` times.
fn many_paths(rounds: u32) -> Vec<u8> {
    let mut branches = String::new();
    for bit in 0..20 {
        let more = if bit == 9 { "(call $callee (local.get $x) (local.get $mask))" } else { "(i32.const 3)" };
        write!(
            branches,
            "(if (i32.and (i32.shr_u (local.get $x) (i32.const {bit})) (i32.const 1))
               (then (local.set $sum (i32.add (local.get $sum) {more})))
               (else (local.set $sum (i32.mul (local.get $sum) (i32.const 5)))))"
        )
        .expect("text");
    }
    let text = format!(
        "(module
          (func $callee (param $x i32) (param $mask i32) (result i32)
            (if (i32.eq (i32.and (local.get $x) (local.get $mask)) (local.get $mask)) (then (unreachable)))
            (i32.add (local.get $x) (i32.const 1)))
          (func $many (param $state i32) (param $mask i32) (result i32)
            (local $x i32) (local $sum i32) (local $n i32)
            (local.set $n (i32.const {rounds}))
            (loop $next
              (local.set $state (i32.add (i32.mul (local.get $state) (i32.const 1103515245)) (i32.const 12345)))
              ;; Some rounds have few bits, others many: hot paths, and such that run once.
              (local.set $x (i32.and (i32.shr_u (local.get $state) (i32.const 8))
                (i32.shr_u (i32.const -1) (i32.and (local.get $n) (i32.const 31)))))
              {branches}
              (local.set $n (i32.sub (local.get $n) (i32.const 1)))
              (br_if $next (local.get $n)))
            (local.get $sum))
          (func (export \"run\") (param i32) (result i32) (call $many (local.get 0) (i32.const -1)))
          (func (export \"fail\") (param i32) (result i32) (call $many (local.get 0) (i32.const 0x201))))"
    );
    wat::parse_str(text).expect("text")
}

/// Runs the module as it is, and returns what the engine counts.
fn expected(wasm: &[u8], drive: &Drive) -> Profile {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Paths)).expect("an engine");
    let ran = ours::run(&engine, wasm, drive).expect("it runs");
    ran.profile().expect("an instance").expect("a profile")
}

/// Runs the module rewritten, and returns what it counts.
fn found(wasm: &[u8], drive: &Drive, options: Options<'_>) -> Profile {
    let rewritten = instrument(wasm, options).expect("rewritten");
    let mut ran = ours::run(&Mode::Off.engine(), &rewritten, drive).expect("it runs");
    let counters = RawCounters::new(&rewritten, &ran.region().expect("counters")).expect("counters");
    read(wasm, &counters).expect("counts").profile
}

fn paths(profile: &Profile) -> usize {
    profile.functions.iter().filter_map(|function| function.paths()).map(|it| it.finished.len()).sum()
}

#[test]
fn paths_that_take_rows_from_one_another_are_all_counted() {
    let wasm = many_paths(3_000);
    let (mut seen, mut stopped) = (0, 0);
    for seed in 0..4 {
        let drive = Drive::new(&wasm, seed, 4, 0).expect("valid");
        let expected = expected(&wasm, &drive);
        seen += paths(&expected);
        stopped += expected.functions.iter().map(|function| function.exits.len()).sum::<usize>();
        for (collected, contexts, single_memory) in [
            (Collected::Paths, None, false),
            (Collected::Paths, None, true),
            (Collected::Paths, Some(1 << 20), false),
            (Collected::Flow, None, false),
            (Collected::Flow, None, true),
        ] {
            let options = Options { collected, contexts, single_memory, ..Options::default() };
            let found = found(&wasm, &drive, options);
            same_counts(&found, &expected)
                .unwrap_or_else(|e| panic!("{options:?}, the engine's second: {e}"));
        }
    }
    // More than there are rows, so that rows are taken.
    assert!(seen > 4 * 128 && stopped > 0, "{seen}, {stopped}");
}

#[test]
fn interesting_paths_are_counted_as_all_others_are() {
    let wasm = many_paths(500);
    let earlier = expected(&wasm, &Drive::new(&wasm, 0, 4, 0).expect("valid"));
    for seed in 0..3 {
        let drive = Drive::new(&wasm, seed, 4, 0).expect("valid");
        let expected = expected(&wasm, &drive);
        for (single_memory, contexts) in [(false, None), (true, None), (false, Some(1 << 20))] {
            let collected = Collected::Paths;
            let options = Options { collected, single_memory, contexts, ..Options::default() };
            let interesting = Options { interesting: Some(&earlier), ..options };
            let weights = Options { weights: Some(&earlier), ..options };
            let code = |options| instrument(&wasm, options).expect("rewritten");
            assert!(code(interesting) != code(weights), "the same counters");
            let found = found(&wasm, &drive, interesting);
            same_counts(&found, &expected)
                .unwrap_or_else(|e| panic!("{interesting:?}, the engine's second: {e}"));
        }
    }
}

#[test]
fn interesting_paths_need_paths() {
    let wasm = many_paths(1);
    let earlier = Profile::default();
    for collected in [Collected::Edges, Collected::Flow, Collected::Trace] {
        let options = Options { collected, interesting: Some(&earlier), ..Options::default() };
        let error = instrument(&wasm, options).expect_err("nothing to distinguish").to_string();
        assert!(error.contains("--collect paths"), "{error}");
    }
}
