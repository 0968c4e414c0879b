//! Files and folders that comments and documents name are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::book::{ROOT, files, is_made_by_tools, text};

/// Files of other projects that comments cite, and a pattern of names.
const ELSEWHERE: [&str; 4] =
    ["func_environ.rs", "tunables.rs", "runtime/store.rs", "bench-wasm/src/papers/sNNN.rs"];

/// Folders that commands make.
const MADE_BY_TOOLS: [&str; 3] = ["bench-wasm/downloads", "target/ci-release", "target/failures"];

/// All ends of the paths of our files and folders, such as `src/lib.rs` and `lib.rs` of `jit/src/lib.rs`.
fn ends_of_paths(folder: &Path, above: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if is_made_by_tools(&entry) {
            continue;
        }
        let path = format!("{above}/{}", entry.file_name().unwrap().to_str().unwrap());
        found.extend(path.match_indices('/').map(|(at, _)| path[at + 1..].to_owned()));
        if entry.is_dir() {
            ends_of_paths(&entry, &path, found);
        }
    }
}

/// What stands between backquotes in prose, if it consists of letters, digits and what paths have besides.
fn quoted(prose: &str) -> impl Iterator<Item = &str> {
    let words = prose.split('`').skip(1).step_by(2);
    words.filter(|word| word.chars().all(|letter| letter.is_alphanumeric() || "._/-".contains(letter)))
}

/// The comments of a file with code, or a document without its blocks of code.
fn prose(path: &Path) -> Vec<String> {
    let content = text(path);
    match path.extension().is_some_and(|extension| extension == "rs") {
        true => content.lines().filter_map(|line| Some(line.split_once("//")?.1.to_owned())).collect(),
        false => content.split("\n```").step_by(2).flat_map(str::lines).map(str::to_owned).collect(),
    }
}

/// A name that ends in `.rs`, or begins with a folder at the top. Records and the change log name files as they were
/// called on their day.
#[test]
fn files_that_comments_and_documents_name_are_there() {
    let root = Path::new(ROOT);
    let mut known = BTreeSet::new();
    ends_of_paths(root, "", &mut known);
    let is_ours = |name: &&str| {
        let is_folder = |first: &str| !["", ".", ".."].contains(&first) && root.join(first).is_dir();
        name.ends_with(".rs") || name.split_once('/').is_some_and(|(first, _)| is_folder(first))
    };
    let is_left_out =
        |name: &str| ELSEWHERE.contains(&name) || MADE_BY_TOOLS.iter().any(|folder| name.starts_with(folder));
    let (mut count, mut missing) = (0, Vec::new());
    let documents = files(root, "md").into_iter();
    let documents = documents.filter(|path| {
        !path.ends_with("CHANGELOG.md") && !path.parent().unwrap().ends_with("bench-wasm/records")
    });
    for path in documents.chain(files(root, "rs")) {
        for line in prose(&path) {
            for name in
                quoted(&line).filter(|name| *name != ".rs").filter(is_ours).filter(|name| !is_left_out(name))
            {
                count += 1;
                let name = name.trim_end_matches('/');
                if !known.contains(name) && !known.contains(&format!("{name}.rs")) {
                    missing.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "these files are named and not there:\n{}", missing.join("\n"));
    assert!(count > 400, "{count} names");
}
