//! Bytes from anywhere, for every place where bytes from anywhere are read.
//!
//! Each target is a function of bytes that must neither panic nor crash nor take for ever. Two run them: the
//! coverage-guided fuzzer, by `fuzz/fuzz_targets`, and `tests/targets.rs`, which changes each target's seeds a little.
//!
//! A new target is a function here, a row in [`TARGETS`], a file of three lines in `fuzz/fuzz_targets` and its row in
//! `fuzz/Cargo.toml`.

mod files;
mod modules;
mod wasi;

/// A place where bytes are read.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// What is done with them.
    pub run: fn(&[u8]),
    /// What to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 8] = [
    Target { name: "module", run: modules::module, seeds: modules::some_modules },
    Target { name: "machine_code", run: modules::machine_code, seeds: random },
    Target { name: "profile", run: files::profile, seeds: files::some_profiles },
    Target { name: "trace", run: files::trace, seeds: files::some_traces },
    Target { name: "dwarf", run: modules::dwarf, seeds: modules::some_dwarf },
    Target { name: "source_map", run: modules::source_map, seeds: modules::some_source_maps },
    Target { name: "wasi", run: wasi::calls, seeds: random },
    Target { name: "code_cache", run: files::code_cache, seeds: files::some_changes },
];

/// Runs the target of a name.
///
/// # Panics
/// If there is none, or it has found a fault.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    (target.run)(bytes);
}

/// Bytes to make choices by.
fn random() -> Vec<Vec<u8>> {
    (0..4).map(|seed| crate::rng::Rng::new(seed).bytes(600)).collect()
}
