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

/// Returns the seeds of a target, and its files in the repository.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let mut seeds = (target.seeds)();
    let files = std::fs::read_dir(format!("{CORPUS}/{name}")).into_iter().flatten();
    seeds.extend(files.map(|file| std::fs::read(file.expect("readable").path()).expect("readable")));
    seeds
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
    let times = cases(160);
    for target in TARGETS {
        for (number, seed) in seeds(target.name).iter().enumerate() {
            check(target.name, seed);
            let mut rng = Rng::new(number as u64);
            for _ in 0..times {
                check(target.name, &changed(seed, &mut rng));
            }
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
