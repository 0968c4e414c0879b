//! What SECURITY.md says of dependencies is so.

use std::path::Path;

/// Crates that are published.
const CRATES: [&str; 7] = ["profiler", "jit", "instrument", "bindgen", "vm", "capi", "cli"];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names in the table of dependencies of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let table: toml::Table = manifest.parse().expect("a manifest");
    table["dependencies"].as_table().expect("dependencies").keys().cloned().collect()
}

#[test]
fn each_dependency_of_what_ships_is_listed_with_its_purpose() {
    let page = read("SECURITY.md");
    // The volumes of fuzzing are a table, too.
    let is_end = |line: &&str| !line.starts_with("<!-- end of volumes");
    let (before, after) = page.split_once("<!-- volumes").expect("the volumes of fuzzing");
    let rows = before.lines().chain(after.lines().skip_while(is_end));
    let mut listed: Vec<&str> = rows.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for name in CRATES {
        for dependency in dependencies(&read(&format!("{name}/Cargo.toml"))) {
            let is_own = dependency.starts_with("wprof");
            assert!(is_own || page.contains(&format!("| `{dependency}` |")), "{dependency} of {name}");
            listed.retain(|&listed| listed != dependency);
        }
    }
    assert_eq!(listed, [""; 0], "listed, but nothing depends on it");
}
