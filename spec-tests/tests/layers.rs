//! The modules of a crate are layered: no module imports, directly or indirectly, a module that imports it.
//!
//! Input: the sources. Output: for each crate the graph of its top-level modules, with an edge for each import, and
//! its cycles: strongly connected components (Tarjan, SIAM J. Computing 1(2), 1972). Imports in tests do not count,
//! because no other code can reach them.
//!
//! A name that the crate's root reexports stands for the module that defines it. So do the modules in each folder form graphs
//! (`layers/folders.rs`), which have no circles but those in `layers/known.tsv`.
//!
//! Functions of crates in which people look things up are short, too.

#[path = "layers/folders.rs"]
mod folders;
#[path = "layers/imports.rs"]
mod imports;
#[path = "layers/length.rs"]
mod length;
#[path = "layers/names.rs"]
mod names;
#[path = "layers/paths.rs"]
mod paths;
#[path = "layers/tokens.rs"]
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imports::imports;
use length::long_functions;
use names::Root;
use tokens::{test_modules, tokens};

/// The imported modules, by module.
type Graph = BTreeMap<String, BTreeSet<String>>;
/// The module of a file, as a path from the root, and the tokens of its text.
type File = (Vec<String>, Vec<String>);

/// The layers of `jit`: each module imports only modules of lower layers.
const FLOORS_OF_JIT: [&[&str]; 9] = [
    &["error", "limits", "parallel"],
    &["module"],
    &["abi"],
    &["cfg", "code", "options", "validate"],
    &["clif", "events", "hints", "target"],
    &["passes", "plan"],
    &["graph"],
    &["reoptimize", "translate"],
    &["compile"],
];

/// The modules on which the runtime of `vm` is built. The runtime runs machine code and contains the unsafe code, so
/// it must be readable without the modules above it: see `vm/src/runtime/mod.rs`.
const GROUND_OF_VM: &[&str] = &["arch", "config", "error", "externref", "limits", "trap", "types"];

#[test]
fn profiler_has_no_circles() {
    assert_no_circles("profiler");
}

#[test]
fn jit_has_no_circles() {
    assert_no_circles("jit");
}

#[test]
fn the_c_api_has_no_circles() {
    assert_no_circles("capi");
}

#[test]
fn bindgen_has_no_circles() {
    assert_no_circles("bindgen");
}

#[test]
fn instrument_has_no_circles() {
    assert_no_circles("instrument");
}

#[test]
fn the_command_line_has_no_circles() {
    assert_no_circles("cli");
}

#[test]
fn reports_have_no_circles() {
    assert_no_circles("report");
}

#[test]
fn vm_has_no_circles() {
    assert_no_circles("vm");
}

#[test]
fn the_runtime_of_vm_imports_the_ground_alone() {
    let graph = graph("vm");
    let ground: BTreeSet<String> = GROUND_OF_VM.iter().map(ToString::to_string).collect();
    let upward = |module: &str| graph[module].difference(&ground).cloned().collect::<Vec<_>>();
    for module in GROUND_OF_VM.iter().chain(&["runtime"]) {
        assert_eq!(upward(module), Vec::<String>::new(), "imports of `{module}` that do not lead down");
    }
    assert!(graph["arch"].is_empty(), "what depends on the processor depends on nothing of ours");
}

#[test]
fn modules_of_jit_import_from_floors_below_alone() {
    let floors: BTreeMap<&str, usize> = FLOORS_OF_JIT
        .iter()
        .enumerate()
        .flat_map(|(floor, names)| names.iter().map(move |&name| (name, floor)))
        .collect();
    let graph = graph("jit");
    let floor =
        |module: &str| *floors.get(module).unwrap_or_else(|| panic!("`{module}` is on no floor: add it"));
    let is_upward = |from: &str, to: &str| floor(from) <= floor(to);
    let pairs = graph.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
    let upward: Vec<String> =
        pairs.filter(|(from, to)| is_upward(from, to)).map(|(from, to)| format!("{from} -> {to}")).collect();
    assert!(upward.is_empty(), "imports that do not lead down: {}", upward.join(", "));
    let gone: Vec<&&str> = floors.keys().filter(|&&name| !graph.contains_key(name)).collect();
    assert!(gone.is_empty(), "there are no such modules any more: {gone:?}");
}

/// The most lines of a function where those that decide and those that show live.
const MOST_LINES: usize = 80;

#[test]
fn functions_that_decide_and_show_are_short() {
    for name in ["cli", "profiler", "report"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        for file in files(&source) {
            let text = fs::read_to_string(&file).expect("it is a text");
            let long = long_functions(&text, MOST_LINES);
            assert!(long.is_empty(), "{}: split these functions: {long:?}", file.display());
        }
    }
}

/// The crates whose folders are looked at.
const CRATES: [&str; 8] = ["bindgen", "capi", "cli", "instrument", "jit", "profiler", "report", "vm"];
/// The circles in folders that are known, with reasons.
const KNOWN: &str = include_str!("layers/known.tsv");

/// Returns each circle of a table: crate, folder, and the modules in it.
fn known_circles() -> BTreeSet<String> {
    let rows = KNOWN.lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('\t').collect();
        let [name, folder, circle, reason] = cells[..] else { panic!("known.tsv: four cells, not `{row}`") };
        assert!(!reason.is_empty(), "known.tsv: no reason in `{row}`");
        format!("{name} {folder}: {circle}")
    })
    .collect()
}

#[test]
fn modules_in_folders_form_only_circles_that_are_known() {
    let (known, mut found, mut new) = (known_circles(), BTreeSet::new(), Vec::new());
    for name in CRATES {
        // The root has tests of its own.
        for (folder, graph) in
            folders::graphs(&sources(name)).into_iter().filter(|(folder, _)| !folder.is_empty())
        {
            for circle in circles(&graph) {
                let modules: Vec<&str> = circle.iter().map(String::as_str).collect();
                let row = format!("{name} {}: {}", folder.join("::"), modules.join(" "));
                if !known.contains(&row) {
                    new.push(format!("{row}\n{}", show(&graph, &circle)));
                }
                found.insert(row);
            }
        }
    }
    assert!(new.is_empty(), "these circles are new, or have other modules:\n{}", new.join("\n"));
    let gone: Vec<&String> = known.difference(&found).collect();
    assert!(gone.is_empty(), "known.tsv has circles that are gone: {gone:?}");
}

/// Asserts that the modules of a crate form no cycles.
#[track_caller]
fn assert_no_circles(name: &str) {
    let graph = graph(name);
    let shown: Vec<String> = circles(&graph).iter().map(|circle| show(&graph, circle)).collect();
    assert!(shown.is_empty(), "{name} has these circles of modules:\n{}", shown.join("\n"));
}

/// Formats a cycle, with the imports that form it.
fn show(graph: &Graph, circle: &BTreeSet<String>) -> String {
    let line = |module: &String| {
        let inside: Vec<&str> = graph[module].intersection(circle).map(String::as_str).collect();
        format!("  {module} -> {}", inside.join(", "))
    };
    circle.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the graph of a crate's modules.
fn graph(name: &str) -> Graph {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    let read =
        |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let roots = ["lib.rs", "main.rs"].map(|name| source.join(name));
    let root = roots.iter().find(|file| file.exists()).expect("a library or a program");
    let root = Root::new(&read(root), &|module| {
        let files = [source.join(format!("{module}.rs")), source.join(module).join("mod.rs")];
        read(files.iter().find(|file| file.exists()).expect("each module has a file"))
    });
    let mut graph: Graph = root.modules().map(|module| (module.to_string(), BTreeSet::new())).collect();
    for (place, tokens) in sources(name) {
        let Some(top) = place.first().filter(|top| graph.contains_key(*top)).cloned() else { continue };
        for name in imports(&tokens, &place) {
            let module = root.module_of(&name).unwrap_or_else(|| {
                panic!("{}: there is no `{name}` in the root of the crate", place.join("::"))
            });
            if let Some(module) = module.filter(|module| *module != top) {
                graph.get_mut(&top).expect("it is there").insert(module.to_string());
            }
        }
    }
    graph
}

/// Returns the files of a crate that are not for tests only.
fn sources(name: &str) -> Vec<File> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (modules(file.strip_prefix(&source).expect("it is inside")), tokens(&text))
    };
    without_test_files(files(&source).iter().map(read))
}

/// Returns the module of a file, as a path from the root.
fn modules(file: &Path) -> Vec<String> {
    let mut path: Vec<String> = file
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// Returns the files that are not for tests only, by module, with their tokens.
fn without_test_files(files: impl Iterator<Item = File>) -> Vec<File> {
    let mut all: Vec<File> = files.collect();
    let of_file = |(place, tokens): &File| -> Vec<Vec<String>> {
        test_modules(tokens).map(|name| [&place[..], &[name.to_string()]].concat()).collect()
    };
    let tests: Vec<Vec<String>> = all.iter().flat_map(of_file).collect();
    all.retain(|(place, _)| !tests.iter().any(|test| place.starts_with(test)));
    all
}

/// Returns the sources in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the strongly connected components of more than one module, and the modules that import themselves.
fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|module| (module, reachable(graph, module))).collect();
    let circle = |module: &String| -> BTreeSet<String> {
        let is_in_it = |other: &&&String| reached[*other].contains(module);
        reached[module].iter().filter(is_in_it).map(ToString::to_string).collect()
    };
    let all: BTreeSet<BTreeSet<String>> =
        graph.keys().map(circle).filter(|circle| !circle.is_empty()).collect();
    all.into_iter().collect()
}

/// Returns the modules that are reachable from a module by imports.
fn reachable<'a>(graph: &'a Graph, from: &'a String) -> BTreeSet<&'a String> {
    let (mut seen, mut pending) = (BTreeSet::new(), vec![from]);
    while let Some(module) = pending.pop() {
        pending.extend(graph[module].iter().filter(|&to| seen.insert(to)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*from).into()).or_default().insert((*to).into());
            graph.entry((*to).into()).or_default();
        }
        graph
    }

    #[test]
    fn circles_are_found_and_what_only_leads_to_one_is_in_none() {
        let found = circles(&graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "e")]));
        let names: Vec<String> = found.iter().map(|circle| circle.iter().cloned().collect()).collect();
        assert_eq!(names, ["bc", "e"]);
    }

    #[test]
    fn files_are_modules() {
        let of = |path: &str| modules(Path::new(path)).join("::");
        assert_eq!([of("a.rs"), of("a/mod.rs"), of("a/b.rs"), of("lib.rs")], ["a", "a", "a::b", ""]);
    }
}
