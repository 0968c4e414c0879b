//! What SECURITY.md says of dependencies is so, and the workspace names none that it does not have.

use std::path::Path;
use std::process::Command;

use super::Folder;

/// Crates that are published.
const CRATES: [&str; 8] = ["profiler", "jit", "instrument", "bindgen", "vm", "report", "capi", "cli"];

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

#[test]
fn each_dependency_that_the_workspace_names_is_one_of_a_member() {
    let workspace: toml::Table = read("Cargo.toml").parse().expect("a manifest");
    let members = workspace["workspace"]["members"].as_array().expect("members");
    let manifests: Vec<toml::Table> = members
        .iter()
        .map(|member| format!("{}/Cargo.toml", member.as_str().expect("a folder")))
        .map(|manifest| read(&manifest).parse().expect("a manifest"))
        .collect();
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let has = |name: &str, manifest: &toml::Table| {
        kinds.iter().any(|kind| manifest.get(*kind).is_some_and(|table| table.get(name).is_some()))
    };
    let named = workspace["workspace"]["dependencies"].as_table().expect("dependencies");
    let idle: Vec<&String> =
        named.keys().filter(|name| !manifests.iter().any(|manifest| has(name, manifest))).collect();
    assert!(idle.is_empty(), "{idle:?}");
}

/// An advisory in the form that the database has.
fn advisory(id: &str, rest: &str) -> String {
    format!("```toml\n[advisory]\nid = \"{id}\"\n{rest}\n```\n\n# What it is\n")
}

#[test]
fn advisories_that_concern_what_ships_are_found() {
    let folder = Folder::new();
    let libc = std::path::PathBuf::from(folder.path("crates/libc"));
    std::fs::create_dir_all(&libc).expect("a folder");
    let said = |text: &str| {
        std::fs::write(libc.join("A-1.md"), text).expect("a file");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/advisories");
        let output = Command::new(script).arg(folder.path("")).output().expect("Python is there");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, found) =
        said(&advisory("A-1", "[versions]\npatched = [\">= 0.3, < 0.4\", \"^1.0\", \"=0.2.1\"]"));
    assert!(code == Some(1) && found.contains("ships: libc 0.2."), "{found}");
    let (code, found) = said(&advisory("A-1", "informational = \"unmaintained\"\n[versions]\npatched = []"));
    assert!(code == Some(0) && found.contains("unmaintained: A-1"), "{found}");
    for fine in [
        "withdrawn = \"2026-01-01\"",
        "[versions]\npatched = [\"^0.2.1\"]",
        "[versions]\nunaffected = [\"<0.3.0-a\"]",
    ] {
        let (code, found) = said(&advisory("A-1", fine));
        assert!(code == Some(0) && !found.contains("libc"), "{fine}: {found}");
    }
}
