//! Fuzz targets: arbitrary bytes for every reader of untrusted input.
//!
//! Each target is a function of bytes that must neither panic nor crash nor run forever. Two programs run the targets:
//! the coverage-guided fuzzer, by `fuzz/fuzz_targets`, and `tests/targets.rs`, which changes each target's seeds a
//! little.
//!
//! A new target is a function here, a row in [`TARGETS`], a file of a few lines in `fuzz/fuzz_targets` and its row in
//! `fuzz/Cargo.toml`.

mod components;
mod files;
mod modules;
mod wasi;

use std::path::Path;

/// A reader of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also the name of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Reads the bytes.
    pub run: fn(&[u8]),
    /// Returns the initial inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target { name: "module", run: modules::module, seeds: modules::some_modules },
    Target { name: "machine_code", run: modules::machine_code, seeds: random },
    Target { name: "behaviour", run: modules::behaviour, seeds: random },
    Target { name: "instrument", run: modules::instrument, seeds: modules::some_modules },
    Target { name: "component", run: components::component, seeds: components::some_components },
    Target { name: "generated_component", run: components::generated_component, seeds: components::choices },
    Target { name: "profile", run: files::profile, seeds: files::some_profiles },
    Target { name: "trace", run: files::trace, seeds: files::some_traces },
    Target { name: "dwarf", run: modules::dwarf, seeds: modules::some_dwarf },
    Target { name: "source_map", run: modules::source_map, seeds: modules::some_source_maps },
    Target { name: "wasi", run: wasi::calls, seeds: random },
    Target { name: "code_cache", run: files::code_cache, seeds: files::some_changes },
];

/// Runs the target `name`.
///
/// # Panics
/// Panics if there is no such target, or if it finds a fault.
pub fn run(name: &str, bytes: &[u8]) {
    (target(name).run)(bytes);
}

/// Writes the initial inputs of the target `name` into the folder that `WPROF_SEEDS_TO` names, if it is set. The fuzzer
/// calls this before it reads its folders.
///
/// # Panics
/// Panics if there is no such target, or if a file cannot be written.
pub fn write_seeds(name: &str) {
    let Some(folder) = std::env::var_os("WPROF_SEEDS_TO") else { return };
    for (number, seed) in (target(name).seeds)().iter().enumerate() {
        let file = Path::new(&folder).join(format!("seed-{number}"));
        std::fs::write(&file, seed).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
}

fn target(name: &str) -> Target {
    *TARGETS.iter().find(|target| target.name == name).expect("a target of this name")
}

/// Returns random bytes for choices.
fn random() -> Vec<Vec<u8>> {
    (0..4).map(|seed| crate::rng::Rng::new(seed).bytes(600)).collect()
}
