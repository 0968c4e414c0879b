//! Scripts of the component model: our own in `component-scripts`, and those of the component model's repository, if
//! `bench-wasm/downloads/component-model` is a checkout of it (git ignores that folder).

use std::path::Path;

use wprof_spec_tests::components::{Tally, run, scripts};
use wprof_spec_tests::skipped;

/// Directives of the repository's scripts that fail: script, line, reason.
const KNOWN: [(&str, usize, &str); 1] = [(
    "validation/kebab.wast",
    4,
    "wasmparser 0.263 takes `a1` and `a-1` for the same name, which the specification no longer does",
)];

/// Runs all scripts below a folder, and returns the results with the failures that are not known.
fn all(folder: &Path) -> (Tally, Vec<String>) {
    let (mut total, mut failed) = (Tally::default(), Vec::new());
    for path in scripts(folder) {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let tally = run(&path);
        let unknown = |(line, _): &&(usize, String)| {
            !KNOWN.iter().any(|(script, known, _)| (*script, *known) == (name.as_str(), *line))
        };
        failed.extend(tally.failed.iter().filter(unknown).map(|(line, why)| format!("{name}:{line}: {why}")));
        total.add(&tally);
    }
    (total, failed)
}

#[test]
fn our_own_scripts_pass() {
    let (total, failed) = all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("component-scripts"));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(total.passed > 0 && total.refused.is_empty(), "{total:?}");
}

#[test]
fn scripts_of_the_component_model_pass_or_need_what_came_after_0_2() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-wasm/downloads/component-model/test");
    if !folder.is_dir() {
        skipped::tell(
            "scripts of the component model; `git clone https://github.com/WebAssembly/component-model \
             bench-wasm/downloads/component-model` gets them",
        );
        return;
    }
    let (total, failed) = all(&folder);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(total.passed >= 1000, "{total:?}");
    let later = ["async", "threading", "map", "fixed-length lists", "`cm-implements`", "`cancellable`"];
    for feature in total.refused.keys() {
        assert!(later.iter().any(|name| feature.contains(name)), "{feature}");
    }
}
