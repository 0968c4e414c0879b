//! Modules written by wasm-smith: any supported instruction, in odd combinations.

use arbtest::arbitrary::Unstructured;
use wasm_smith::{Config, InstructionKind, InstructionKinds, Module};

use super::{nans, waits};
use crate::rng::Rng;

/// Returns a module that exports all its items.
pub fn module(rng: &mut Rng) -> Vec<u8> {
    made(rng, config)
}

/// Returns a module with little code that exports all its items.
pub fn small_module(rng: &mut Rng) -> Vec<u8> {
    made(rng, small_config)
}

/// Returns a module with exceptions, function references and garbage collection that exports all its items.
pub fn wasm3(rng: &mut Rng) -> Vec<u8> {
    made(rng, wasm3_config)
}

/// Returns a module as [`wasm3`] does, with atomic instructions and shared memories. No thread waits in it.
pub fn atomics(rng: &mut Rng) -> Vec<u8> {
    let config = |rng: &mut Rng| {
        let mut config = wasm3_config(rng);
        config.threads_enabled = true;
        config.min_memories = 1;
        config.max_memories = config.max_memories.max(1);
        config
    };
    waits::expired(&made(rng, config)).expect("a generated module is well formed")
}

/// Returns the options of wasm-smith for such modules.
pub fn wasm3_config(rng: &mut Rng) -> Config {
    let mut config = config(rng);
    config.gc_enabled = true;
    config.exceptions_enabled = rng.chance(70);
    config.max_types = 10 + rng.below(30);
    config.max_type_size = 1000;
    config.allowed_instructions = InstructionKinds::all();
    config
}

fn small_config(rng: &mut Rng) -> Config {
    let mut config = config(rng);
    config.max_funcs = 1 + rng.below(3);
    config.max_instructions = rng.pick(&[20, 50, 100]);
    config
}

fn made(rng: &mut Rng, config: impl Fn(&mut Rng) -> Config) -> Vec<u8> {
    loop {
        let size = 500 + rng.below(3500);
        let bytes = rng.bytes(size);
        if let Ok(module) = Module::new(config(rng), &mut Unstructured::new(&bytes)) {
            return nans::canonical(&module.to_bytes()).expect("a generated module is well formed");
        }
    }
}

/// Returns the options of wasm-smith, a part of which the random numbers choose.
pub fn config(rng: &mut Rng) -> Config {
    let mut config = features();
    config.min_funcs = 1;
    config.max_funcs = 10;
    config.max_imports = rng.below(6);
    config.max_instructions = rng.pick(&[60, 200, 600]);
    config.max_memories = rng.below(4);
    config.max_tables = rng.below(3);
    config.max_data_segments = rng.below(4);
    config.max_element_segments = rng.below(5);
    config.max_type_size = 100;
    // Unless traps are excluded, a module rarely gets far.
    config.disallow_traps = rng.chance(40);
    if rng.chance(30) {
        let kinds = [InstructionKind::Control, InstructionKind::Parametric, InstructionKind::Variable];
        let more = [InstructionKind::NumericInt, InstructionKind::MemoryInt, InstructionKind::Table];
        config.allowed_instructions = InstructionKinds::new(&[kinds, more].concat());
    }
    config
}

/// Returns the supported features whose results do not depend on the engine; memories and tables stay small.
fn features() -> Config {
    Config {
        canonicalize_nans: true,
        export_everything: true,
        memory_max_size_required: true,
        table_max_size_required: true,
        max_memory32_bytes: 3 << 16,
        max_memory64_bytes: 3 << 16,
        max_table_elements: 100,
        exceptions_enabled: false,
        gc_enabled: false,
        compact_imports_enabled: false,
        custom_descriptors_enabled: false,
        relaxed_simd_enabled: false,
        threads_enabled: false,
        shared_everything_threads_enabled: false,
        wide_arithmetic_enabled: false,
        ..Config::default()
    }
}
