//! Every reader of untrusted bytes survives its seeds, and slightly changed seeds.
//!
//! The coverage-guided fuzzer runs the same targets for longer: see `scripts/fuzz`. `WPROF_SEEDS` is the number of
//! changes of each seed.

use std::collections::BTreeMap;

use wprof_spec_tests::rng::Rng;
use wprof_spec_tests::targets::{TARGETS, run};
use wprof_spec_tests::volume::cases;

/// Small files in the repository, found by fuzzing.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus");

/// What fuzzing has run, and the policy that says how much it was.
const FUZZED: &str = include_str!("../fuzzed.tsv");
const POLICY: &str = include_str!("../../SECURITY.md");

/// Prints the target and its input when the target panics.
struct Named<'a>(&'static str, &'a [u8]);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("that was target {} with {:?}", self.0, self.1);
        }
    }
}

fn check(name: &'static str, bytes: &[u8]) {
    let _named = Named(name, bytes);
    run(name, bytes);
}

/// Returns the files of a target in the repository, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(format!("{CORPUS}/{name}")).unwrap_or_else(|error| {
        panic!("fuzz/corpus/{name}: {error}; fuzz/run {name} MINUTES, then fuzz/keep {name}, make it")
    });
    let mut files: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
    files.sort_unstable();
    files.iter().map(|file| std::fs::read(file).expect("readable")).collect()
}

/// Returns the seed with a few bytes changed, removed, duplicated or truncated.
fn changed(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            return bytes;
        }
        let (at, length) = (rng.below(bytes.len()), 1 + rng.below(8));
        let end = (at + length).min(bytes.len());
        match rng.below(6) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copied = bytes[at..end].to_vec();
                let to = rng.below(bytes.len());
                bytes.splice(to..to, copied);
            }
            4 => bytes[at] = rng.word() as u8,
            _ => bytes.truncate(at + 1),
        }
    }
    bytes
}

#[test]
fn changed_seeds_are_survived() {
    for target in TARGETS {
        survive(target.name, &(target.seeds)(), cases(160));
    }
}

/// Each of these files has something that the seeds and the others have not.
#[test]
fn inputs_that_fuzzing_found_are_survived_and_so_are_they_when_changed() {
    for target in TARGETS {
        survive(target.name, &corpus(target.name), (cases(160) / 40).max(1));
    }
}

fn survive(name: &'static str, inputs: &[Vec<u8>], times: u64) {
    for (number, input) in inputs.iter().enumerate() {
        check(name, input);
        let mut rng = Rng::new(number as u64);
        for _ in 0..times {
            check(name, &changed(input, &mut rng));
        }
    }
}

/// The repository takes them along for all time.
#[test]
fn the_corpus_of_each_target_is_small() {
    let sizes = TARGETS.map(|target| (target.name, corpus(target.name)));
    for (name, files) in &sizes {
        assert!(!files.is_empty(), "{name} has no files");
        assert!(files.iter().all(|file| file.len() <= 4096), "{name} has large files");
    }
    let all: usize = sizes.iter().flat_map(|(_, files)| files).map(Vec::len).sum();
    assert!(all <= 300_000, "{all} bytes");
}

/// Returns the packages that a manifest always depends on.
fn dependencies(manifest: &str) -> Vec<&str> {
    let begin = manifest.find("[dependencies]").map_or(manifest.len(), |at| at + "[dependencies]".len());
    let section = manifest[begin..].split("\n[").next().expect("there is a first part");
    let is_needed = |line: &&str| line.contains('=') && !line.contains("optional = true");
    let lines = section.lines().filter(|line| !line.starts_with('#')).filter(is_needed);
    lines.filter_map(|line| line.split(['.', ' ', '=']).next()).collect()
}

/// The fuzzer is built with `--locked`, apart from the workspace: it is not built at all if its lock file lacks a
/// dependency that one of our crates has since.
#[test]
fn the_lock_file_of_the_fuzzer_has_all_dependencies_of_our_crates() {
    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let read =
        |file: &str| std::fs::read_to_string(format!("{ROOT}/{file}")).expect("a file of the repository");
    let lock = read("fuzz/Cargo.lock");
    let crates = [("wprof-jit", "jit"), ("wprof", "vm"), ("wprof-profiler", "profiler")];
    let more = [("wprof-instrument", "instrument"), ("wprof-spec-tests", "spec-tests")];
    for (name, folder) in crates.into_iter().chain(more) {
        let begin = lock.find(&format!("name = \"{name}\"\n")).unwrap_or_else(|| panic!("{name} is there"));
        let package = lock[begin..].split("[[package]]").next().expect("there is a first part");
        let manifest = read(&format!("{folder}/Cargo.toml"));
        let wanted = dependencies(&manifest);
        assert!(wanted.len() > 2, "{name}: {wanted:?}");
        for dependency in wanted {
            let is_there = package.contains(&format!("\"{dependency}\""))
                || package.contains(&format!("\"{dependency} "));
            let is_renamed = dependency == "wasmtime-jit-icache-coherence";
            assert!(
                is_there || is_renamed,
                "{name} needs {dependency}: `cargo metadata` in fuzz renews its lock file"
            );
        }
    }
}

#[test]
fn each_target_has_a_file_for_the_fuzzer() {
    for target in TARGETS {
        let file = format!("{}/../fuzz/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), target.name);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(text.contains(&format!("run(\"{}\", bytes)", target.name)), "{file}: {text}");
    }
}

/// Returns the sums of all runs by target: cases, cases in release builds, and divergences.
fn volumes() -> BTreeMap<&'static str, [u64; 3]> {
    let mut sums = BTreeMap::new();
    for line in FUZZED.lines().filter(|line| line.starts_with('2')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [_, _, target, build, cases, divergences, _] = fields[..] else { panic!("seven fields: {line}") };
        let cases: u64 = cases.parse().expect("a number of cases");
        let found: u64 = divergences.parse().expect("a number of divergences");
        let sum: &mut [u64; 3] = sums.entry(target).or_default();
        let released = if build == "dev" { 0 } else { cases };
        *sum = [sum[0] + cases, sum[1] + released, sum[2] + found];
    }
    sums
}

#[test]
fn the_security_policy_says_what_fuzzing_has_run() {
    let rows = volumes();
    assert!(rows.len() > 3, "{rows:?}");
    for (target, [cases, released, found]) in rows {
        let row = format!("| `{target}` | {cases} | {released} | {found} | ");
        assert!(POLICY.contains(&row), "`{row}` is not in SECURITY.md: run scripts/fuzz totals");
    }
}
