//! Runs the generated tests for many seeds.
//!
//! `cargo run --release -p wprof-spec-tests --bin differential -- hot --seeds 10000 --isolate`

use std::process::ExitCode;

use wprof_spec_tests::{command, sweep};

const USAGE: &str = "\
Usage: differential [CHECK] [--seeds COUNT] [--start SEED] [--minutes M] [--isolate [--jobs N]]
       differential CHECK --replay SEED FILE
Runs generated modules in all modes and in an interpreter, and compares what they leave behind.
  CHECK       modules (the default), hot: programs that are optimised in every way, wasm3 and hot-objects: both
              with exceptions, function references and objects, atomics: wasm3 with threads' instructions, hot-atomics: hot with those, superblocks: by invented
              profiles, oracle: profiles with what modules count of themselves, overflow: that with modules
              that use up the stack, throwing-counts and others: see `sweep.rs`";

fn main() -> ExitCode {
    command::run(&sweep::CHECKS, USAGE)
}
