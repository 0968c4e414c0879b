//! Counts every place where `unsafe` code begins, by file, so that a new place is noticed and reviewed.
//!
//! Input: the sources of the shipped crates. Output: a comparison with `unsafe.tsv`, which `UPDATE_EXPECT=1` rewrites:
//! review the difference. Clippy (`undocumented_unsafe_blocks`) checks that each block states why it is sound; the
//! compiler checks which crates and modules may have unsafe code.

#[path = "layers/tokens.rs"]
mod tokens;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The shipped crates.
const CRATES: [&str; 8] = ["profiler", "jit", "instrument", "bindgen", "vm", "report", "capi", "cli"];

/// Number of unsafe blocks, functions and implementations in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    blocks: u32,
    functions: u32,
    implementations: u32,
}

fn count(text: &str) -> Count {
    let tokens = tokens::tokens(text);
    let mut count = Count::default();
    for (word, next) in tokens.iter().zip(tokens.iter().skip(1)) {
        match (word.as_str(), next.as_str()) {
            ("unsafe", "{") => count.blocks += 1,
            ("unsafe", "fn" | "extern") => count.functions += 1,
            ("unsafe", "impl") => count.implementations += 1,
            _ => {}
        }
    }
    count
}

fn sources(folder: &Path, to: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, to);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            to.push(path);
        }
    }
}

/// Returns the counts by file, without files that have none.
fn counts() -> BTreeMap<String, Count> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    CRATES.iter().for_each(|name| sources(&root.join(name).join("src"), &mut files));
    let count = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("it is in there").to_string_lossy().into_owned();
        (name, count(&fs::read_to_string(&path).expect("readable")))
    };
    files.into_iter().map(count).filter(|(_, count)| *count != Count::default()).collect()
}

fn table(counts: &BTreeMap<String, Count>) -> String {
    let mut text = String::from("file\tblocks\tfunctions\timplementations\n");
    for (file, Count { blocks, functions, implementations }) in counts {
        writeln!(text, "{file}\t{blocks}\t{functions}\t{implementations}").expect("a text grows");
    }
    text
}

#[test]
fn no_unsafe_code_comes_unnoticed() {
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unsafe.tsv");
    let found = table(&counts());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&known, &found).expect("the folder can be written to");
    }
    let known = fs::read_to_string(&known).unwrap_or_default();
    let new: Vec<&str> = found.lines().filter(|line| !known.lines().any(|other| other == *line)).collect();
    assert!(
        known == found,
        "unsafe code changed: read it, then run this with UPDATE_EXPECT=1\n{}",
        new.join("\n")
    );
}

#[test]
fn it_is_in_the_runtime_and_where_the_api_calls_it() {
    // The C API may have unsafe code, too.
    let may_have = |file: &String| ["vm/src/", "capi/src/"].iter().any(|folder| file.starts_with(folder));
    let outside = counts().into_keys().filter(|file| !may_have(file));
    assert_eq!(outside.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn blocks_functions_and_implementations_are_told_apart() {
    let text = "// unsafe { }\nunsafe impl Send for A {}\nunsafe fn f() { unsafe { g() } }\nlet a = \"unsafe {\"; unsafe { h() }";
    assert_eq!(count(text), Count { blocks: 2, functions: 1, implementations: 1 });
}
