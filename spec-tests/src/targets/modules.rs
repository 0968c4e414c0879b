//! Targets for modules: from the parser to machine code, and the sources of names and lines.

use std::sync::LazyLock;

use arbtest::arbitrary::Unstructured;
use wasm_encoder::CustomSection;
use wprof::{Collect, Config, Engine, Module, ProfilingConfig, Strategy};
use wprof_instrument::{Collected, EventKind, Options};
use wprof_jit::module::parse;

use crate::check::{Engines, SEEDS_OF_ROW};
use crate::drive::Drive;
use crate::fuel;
use crate::generate::{Case, Maker, flow, hot, nans, smith};
use crate::rng::Rng;

/// Sections of debug information, in the order in which a target's bytes are divided.
const SECTIONS: [&str; 8] = [
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_line_str",
    ".debug_str_offsets",
];

/// Both tiers and exact counts, with Cranelift's verifier, as far as a short input gets.
static ENGINES: LazyLock<[Engine; 3]> = LazyLock::new(|| {
    let mut config = Config::new();
    config.verify(true).background_compilation(false);
    let mut exact = config.clone();
    exact.profiling(ProfilingConfig::Exact(Collect::Paths));
    let mut baseline = config.clone();
    baseline.strategy(Strategy::Baseline);
    [config.strategy(Strategy::Optimized), &mut baseline, &mut exact]
        .map(|config| Engine::new(config).expect("an engine for this machine"))
});

/// Compiles all functions of a possible module.
pub fn module(bytes: &[u8]) {
    for engine in &*ENGINES {
        let Ok(module) = Module::new(engine, bytes) else { return };
        // The code generator refuses functions that are too large.
        let _ = module.compile_all();
    }
}

/// Returns small modules of all generators.
pub fn some_modules() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(1);
    let new =
        [smith::wasm3(&mut Rng::new(2)), hot::managed_program(1).encode(), hot::managed_program(3).encode()];
    let old = [flow::module(&mut rng), smith::module(&mut rng), hot::program(1).encode()];
    old.into_iter().chain(new).collect()
}

/// Compiles a valid module that the bytes determine.
pub fn machine_code(bytes: &[u8]) {
    let mut rng = Rng::new(bytes.len() as u64);
    let config =
        if bytes.len().is_multiple_of(2) { smith::config(&mut rng) } else { smith::wasm3_config(&mut rng) };
    let Ok(made) = wasm_smith::Module::new(config, &mut Unstructured::new(bytes)) else { return };
    module(&made.to_bytes());
}

/// The interpreter, and engines with any settings.
static CHECKED: LazyLock<Engines> = LazyLock::new(Engines::default);

/// The number of different settings.
const SETTINGS: u8 = 32;

/// Fuel for each call, in calls and rounds of loops.
const FUEL: i32 = 300;

/// Runs a valid module that the bytes determine, with settings that the first byte determines. It must leave the same
/// state as in the interpreter.
pub fn behaviour(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let config = smith::config(&mut Rng::new(bytes.len() as u64));
    let Ok(made) = wasm_smith::Module::new(config, &mut Unstructured::new(bytes)) else { return };
    let made = nans::canonical(&made.to_bytes()).expect("a generated module is well formed");
    let wasm = fuel::limit(&made, FUEL).expect("a generated module is well formed");
    let seed = u64::from(first % SETTINGS) * SEEDS_OF_ROW;
    let drive = Drive::new(&wasm, seed, 2, FUEL).expect("valid");
    let case = Case { seed, maker: Maker::Smith, wasm, drive, tree: None };
    CHECKED.sampled(&case).expect("the same state");
}

/// Has a possible module count for itself, in each way. What comes of a valid module is valid.
pub fn instrument(bytes: &[u8]) {
    let is_valid = parse(bytes.to_vec()).is_ok();
    let every =
        EventKind { name: "steps".into(), entry: 1, back_edge: 1, costs: vec![1; 600], lengths: Vec::new() };
    let events = [every];
    let ways = [
        Options { collected: Collected::Edges, exact_traps: true, ..Options::default() },
        Options { collected: Collected::Blocks, contexts: Some(1 << 16), ..Options::default() },
        Options { collected: Collected::Paths, events: &events, ..Options::default() },
        Options {
            collected: Collected::Flow,
            contexts: Some(1 << 16),
            single_memory: true,
            ..Options::default()
        },
    ];
    for options in ways {
        if let Ok(made) = wprof_instrument::instrument(bytes, options)
            && is_valid
        {
            parse(made).expect("valid, as the module that it was");
        }
    }
}

/// Returns a module with custom sections.
fn with_sections<'a>(sections: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut wasm = wasm();
    for (name, data) in sections {
        let section = CustomSection { name: name.into(), data: data.into() };
        wasm_encoder::Section::append_to(&section, &mut wasm);
    }
    wasm
}

/// Returns a module with a few functions.
fn wasm() -> Vec<u8> {
    flow::module(&mut Rng::new(5))
}

/// Calls every reader of names and lines.
fn read_symbols(module: &Module) {
    let end = module.info().bytes.len() as u32;
    for offset in (0..end).step_by(37) {
        module.symbols_at(offset);
    }
    module.source_rows();
    module.definition_lines();
    module.discriminators();
}

/// Reads DWARF sections: each is a length byte in units of eight, and the section.
pub fn dwarf(bytes: &[u8]) {
    let mut rest = bytes;
    let mut sections = Vec::new();
    for name in SECTIONS {
        let Some((&length, behind)) = rest.split_first() else { break };
        let (section, behind) = behind.split_at(behind.len().min(usize::from(length) * 8));
        sections.push((name, section));
        rest = behind;
    }
    let wasm = with_sections(sections.into_iter());
    let module = Module::new(&ENGINES[0], &wasm).expect("custom sections make no module invalid");
    read_symbols(&module);
}

/// Returns a compilation unit with a function and an inlined call, and its abbreviations.
pub fn some_dwarf() -> Vec<Vec<u8>> {
    let info: &[u8] = &[
        41, 0, 0, 0, 4, 0, 0, 0, 0, 0, 4, // length, version 4, abbreviations at 0, addresses of 4 bytes
        1, b'u', 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, // unit: name, low_pc, size, lines
        2, b'f', 0, 0, 0, 0, 0, 50, 0, 0, 0, // function: name, low_pc, size
        3, 26, 0, 0, 0, 1, 0, // inlined: origin, line, end
        0,
    ];
    let abbreviations: &[u8] = &[
        1, 0x11, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0, //
        2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, //
        3, 0x1d, 0, 0x31, 0x13, 0x59, 0x0b, 0, 0, 0,
    ];
    let lines: &[u8] = &[
        40, 0, 0, 0, 4, 0, 22, 0, 0, 0, 1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, b'a',
        0, 0, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 0x13, 0x4b, 0, 1, 1,
    ];
    let packed = |sections: &[&[u8]]| {
        let mut all = Vec::new();
        for section in sections {
            let units = section.len().div_ceil(8);
            all.push(units as u8);
            all.extend_from_slice(section);
            all.resize(all.len() + units * 8 - section.len(), 0);
        }
        all
    };
    vec![packed(&[info, abbreviations, lines]), packed(&[info, abbreviations, lines, b"name\0", &[0; 16]])]
}

/// Reads a source map in a file beside a module that names it.
pub fn source_map(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("m.wasm");
    let name = b"\x05m.map";
    let wasm = with_sections([("sourceMappingURL", &name[..])].into_iter());
    let write = std::fs::write(&file, wasm).and_then(|()| std::fs::write(folder.path().join("m.map"), bytes));
    write.expect("a folder of ours");
    let module = Module::from_file(&ENGINES[0], &file).expect("custom sections make no module invalid");
    read_symbols(&module);
}

/// Returns source maps as compilers write them, with and without sections.
pub fn some_source_maps() -> Vec<Vec<u8>> {
    let plain = r#"{"version":3,"sources":["a.c","b.c"],"names":["f"],"mappings":"AAAA,oBACA,gBAIEA,4BCCF"}"#;
    let sections =
        format!(r#"{{"version":3,"sections":[{{"offset":{{"line":0,"column":9}},"map":{plain}}}]}}"#);
    vec![plain.as_bytes().to_vec(), sections.into_bytes()]
}
