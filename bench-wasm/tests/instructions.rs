//! The machine code of some programs executes no more instructions than the committed baseline says; all programs are
//! for `cargo run --release -p wprof-bench --bin instructions`.

use std::path::Path;

use wprof_bench::baseline::{Baseline, processor};
use wprof_bench::instructions::{FILE, KINDS, TOLERANCE, WORK, has_valgrind, of_work};

/// The number of runs of which one must be as good as the baseline.
const TRIES: usize = 5;

#[test]
fn code_is_as_good_as_the_baseline() {
    let baseline = Baseline::committed(FILE).expect("a baseline");
    if !has_valgrind() || baseline.processor != processor() {
        eprintln!(
            "skipped: needs valgrind, and a processor as that of the baseline ({})",
            baseline.processor
        );
        return;
    }
    let own = Path::new(env!("CARGO_BIN_EXE_wprof-run"));
    for work in WORK.into_iter().filter(|(program, ..)| ["fib", "json"].contains(program)) {
        for (kind, options) in KINDS.into_iter().filter(|(kind, _)| ["off", "checks", "edges"].contains(kind))
        {
            let measure = || {
                let count = of_work(own, work, options).expect("it runs under valgrind");
                let ratio = baseline.ratio(work.0, kind, count).expect("the baseline has it");
                let better = if ratio < 1.0 - TOLERANCE { "; write a new baseline" } else { "" };
                eprintln!("{} {kind}: {count} instructions, {ratio:.4} of the baseline{better}", work.0);
                ratio
            };
            // Start and compilation, which cancel out, are not quite the same in every run, the less so where other
            // programs keep the compiler's thread waiting. Worse code is worse in each run.
            let least = (0..TRIES).map(|_| measure()).find(|&ratio| ratio <= 1.0 + TOLERANCE);
            assert!(least.is_some(), "{} {kind}: more than the baseline in {TRIES} runs", work.0);
        }
    }
}
