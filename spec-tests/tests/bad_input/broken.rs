//! Damaged real programs.

use std::path::Path;

use wasm_mutate::WasmMutate;
use wprof::Engine;
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::rng::Rng;
use wprof_spec_tests::volume::{cases, share};

use crate::visit::{engine, visit};

/// A small module with every feature, so that most of its bytes matter.
const EVERYTHING: &str = include_str!("everything.wat");

/// Returns the benchmark programs without sections that only debuggers read.
fn programs() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-wasm/programs");
    let mut programs = vec![("everything".to_string(), wat::parse_str(EVERYTHING).expect("valid"))];
    for entry in std::fs::read_dir(folder).expect("the benchmark programs") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|e| e == "wasm") {
            programs.push((path.display().to_string(), std::fs::read(&path).expect("readable")));
        }
    }
    programs.sort();
    programs
}

/// Returns the seeds of this run: a share of `all`, unless a long run is requested.
fn seeds(all: u64) -> std::ops::Range<u64> {
    let first = std::env::var("WPROF_FIRST_SEED")
        .map_or(0, |first| first.parse().expect("WPROF_FIRST_SEED is a number"));
    first..first + cases(all)
}

/// Runs `test`, and prints the case if the test panics.
fn case<R>(name: &str, seed: u64, test: impl FnOnce() -> R) -> R {
    struct Case<'a>(&'a str, u64);
    impl Drop for Case<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("in {}, WPROF_FIRST_SEED={} WPROF_SEEDS=1", self.0, self.1);
            }
        }
    }
    let _case = Case(name, seed);
    test()
}

fn engines() -> [Engine; Mode::ALL.len()] {
    Mode::ALL.map(engine)
}

#[test]
fn the_whole_programs_are_modules() {
    let engine = engine(Mode::Exact);
    for (name, bytes) in programs() {
        assert!(visit(&engine, &bytes), "{name}");
    }
}

/// A truncated program is refused, unless the cut is between custom sections at its end.
#[test]
fn truncated_programs_are_refused() {
    let engine = engine(Mode::Off);
    for (name, bytes) in programs() {
        let step = (bytes.len() / share(1000) as usize).max(1);
        for len in (0..bytes.len()).step_by(step) {
            case(&name, len as u64, || visit(&engine, &bytes[..len]));
        }
    }
}

#[test]
fn flipped_bits_are_survived() {
    let (engines, programs) = (engines(), programs());
    for seed in seeds(150) {
        let mut rng = Rng::new(seed);
        // Half of the cases use the small program.
        let program = if rng.chance(50) { 0 } else { rng.below(programs.len()) };
        let (name, mut bytes) = programs[program].clone();
        for _ in 0..=rng.below(4) {
            let at = rng.below(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
        }
        case(&name, seed, || visit(&engines[rng.below(engines.len())], &bytes));
    }
}

#[test]
fn damaged_texts_are_survived() {
    let engines = engines();
    for seed in seeds(300) {
        let mut rng = Rng::new(seed);
        let mut text = EVERYTHING.as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let (from, to, len) = (rng.below(text.len()), rng.below(text.len()), rng.below(20));
            let piece: Vec<u8> = text[from..].iter().copied().take(len).collect();
            text.splice(to..(to + rng.below(20)).min(text.len()), piece);
        }
        case("everything.wat", seed, || visit(&engines[rng.below(engines.len())], &text));
    }
}

/// The modules that `wasm-mutate` makes are valid, and far from those that a compiler would write.
#[test]
fn mutants_are_survived() {
    let (engines, programs) = (engines(), programs());
    for seed in seeds(60) {
        let mut rng = Rng::new(seed);
        let program = if rng.chance(50) { 0 } else { rng.below(programs.len()) };
        let (name, bytes) = &programs[program];
        let Some(mutant) = mutate(bytes, seed, 1 + rng.below(8)) else { continue };
        case(name, seed, || visit(&engines[rng.below(engines.len())], &mutant));
    }
}

/// Mutates `bytes` `rounds` times; `None` if the first mutant cannot be made.
fn mutate(bytes: &[u8], seed: u64, rounds: usize) -> Option<Vec<u8>> {
    let mut mutant = None;
    for round in 0..rounds as u64 {
        let bytes = mutant.as_deref().unwrap_or(bytes);
        let mut mutator = WasmMutate::default();
        mutator.seed(seed << 8 | round).fuel(300).preserve_semantics(false);
        let next = mutator.run(bytes).ok().and_then(|mut all| all.next()?.ok());
        mutant = next.or(mutant);
    }
    mutant
}
