//! Runs generated modules in wprof and in Wasmtime, and compares what they leave behind.
//!
//! `cargo run --release -p wprof-peers --bin second-engine -- wasm3 --seeds 10000 --isolate`

use std::process::ExitCode;

use wprof_peers::{components, reference};
use wprof_spec_tests::check::{Engines, Summary};
use wprof_spec_tests::command;
use wprof_spec_tests::generate::Case;
use wprof_spec_tests::sweep::{ATOMICS, Check, HOT, HOT_OBJECTS, SAMPLED, WASM3};

const USAGE: &str = "\
Usage: second-engine [CHECK] [--seeds COUNT] [--start SEED] [--minutes M] [--isolate [--jobs N]]
       second-engine CHECK --replay SEED FILE
Runs generated modules in wprof, in plain Cranelift code and in several other ways, and in Wasmtime, and compares what
they leave behind.
  CHECK       wasmtime-wasm3 (the default): modules with exceptions, function references and objects,
              wasmtime-atomics: these, and shared memories, wasmtime-hot-objects and wasmtime-hot: programs that are
              optimised in every way, wasmtime-sampled: small modules without such features, wasmtime-components: calls
              between components with random types and values";

const CHECKS: [(&str, Check); 6] = [
    ("wasmtime-wasm3", against_wasmtime(WASM3)),
    ("wasmtime-atomics", against_wasmtime(ATOMICS)),
    ("wasmtime-hot-objects", against_wasmtime(HOT_OBJECTS)),
    ("wasmtime-hot", against_wasmtime(HOT)),
    ("wasmtime-sampled", against_wasmtime(SAMPLED)),
    ("wasmtime-components", Check { case: components::case, check: component, ..against_wasmtime(WASM3) }),
];

const fn against_wasmtime(check: Check) -> Check {
    Check { check: agree, settings: None, ..check }
}

fn agree(engines: &Engines, case: &Case) -> Result<Summary, String> {
    match reference::run(&case.wasm, &case.drive) {
        Ok(theirs) => engines.agree(case, &theirs, "Wasmtime"),
        // Wasmtime has no legacy exceptions.
        Err(error) if error.contains("legacy_exceptions feature required") => {
            Ok(Summary { refused: 1, ..Summary::default() })
        }
        Err(error) => Err(format!("Wasmtime: {error}")),
    }
}

fn component(_: &Engines, case: &Case) -> Result<Summary, String> {
    components::agree(case).map(|()| Summary { modules: 1, ..Summary::default() })
}

fn main() -> ExitCode {
    command::run(&CHECKS, USAGE)
}
