//! The lists in `docs/api` have the names that the sources have.
//!
//! `scripts/public-api` makes the lists of what rustdoc sees, which takes minutes. This looks at the sources: what the root of
//! a crate exports is listed, so is each public method of a listed type, and each listed method is somewhere in the sources.
//! It does not see signatures, fields, variants and traits, nor methods that macros define.

#[path = "layers/tokens.rs"]
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tokens::{tokens, without_tests};

/// The listed crates and the folders of their sources.
const CRATES: [(&str, &str); 3] =
    [("wprof", "vm"), ("wprof-profiler", "profiler"), ("wprof-report", "report")];
/// The folders of what these define and reexport.
const FOLDERS: [&str; 4] = ["jit", "profiler", "report", "vm"];

/// Methods of types inside a crate that only have the name of a listed type.
const OF_NAMESAKES: [&str; 9] = [
    "ComponentInstance::cell",
    "ComponentInstance::flags",
    "ComponentInstance::flags_type",
    "ComponentInstance::has",
    "ComponentInstance::new",
    "ComponentInstance::set",
    "Incoming::wish",
    "Tag::from_word",
    "Tag::word",
];

/// The listed methods by their types, and the names in the root of the crate.
struct List {
    methods: BTreeMap<String, BTreeSet<String>>,
    root: BTreeSet<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn list(name: &str) -> List {
    let path = repository().join("docs/api").join(name).with_extension("txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut list = List { methods: BTreeMap::new(), root: BTreeSet::new() };
    let mut ty = String::new();
    for line in text.lines() {
        if let Some(method) = line.strip_prefix("    ") {
            let method = tokens(method);
            let name = method.iter().position(|token| token == "fn").and_then(|at| method.get(at + 1));
            list.methods.entry(ty.clone()).or_default().extend(name.cloned());
            continue;
        }
        let path: Vec<&str> = line.split(": ").next().unwrap_or_default().split("::").collect();
        ty = (*path.last().expect("a name")).to_owned();
        list.methods.entry(ty.clone()).or_default();
        if path.len() == 2 {
            list.root.insert(ty.clone());
        }
    }
    list
}

/// Returns the tokens of each source in a folder, without tests.
fn sources(folder: &Path) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(without_tests(&tokens(&fs::read_to_string(&path).expect("it is a text"))));
        }
    }
    found
}

/// Returns the position behind the bracket that closes the one at `at`.
fn behind(tokens: &[String], at: usize) -> usize {
    let mut depth = 0_i32;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Returns the type of an `impl` that begins at `at`, and where its block begins; `None` if it implements a trait.
fn implemented(tokens: &[String], at: usize) -> Option<(&str, usize)> {
    let block = at + tokens[at..].iter().position(|token| token == "{")?;
    let head = &tokens[at + 1..block];
    if head.iter().any(|token| token == "for") {
        return None;
    }
    // The name is the last word outside of angle brackets, before any condition.
    let (mut depth, mut name) = (0_i32, None);
    for (index, token) in head.iter().enumerate() {
        match token.as_str() {
            "<" => depth += 1,
            ">" if index == 0 || head[index - 1] != "-" => depth -= 1,
            "where" => break,
            word if depth == 0 && word.starts_with(char::is_alphabetic) => name = Some(word),
            _ => {}
        }
    }
    name.map(|name| (name, block))
}

/// Returns the public methods of types in a source, which are not hidden in documentation.
fn methods(tokens: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|&at| tokens[at] == "impl") {
        // A type in a signature begins so, too.
        let begins_item = at == 0 || ["}", ";", "]", "{"].contains(&tokens[at - 1].as_str());
        let Some((ty, block)) = implemented(tokens, at).filter(|_| begins_item) else { continue };
        let (end, mut at, mut is_hidden) = (behind(tokens, block), block + 1, false);
        while at + 1 < end {
            let next = match tokens[at].as_str() {
                "#" => behind(tokens, at + 1),
                "{" => behind(tokens, at),
                _ => at + 1,
            };
            match tokens[at].as_str() {
                "#" => is_hidden |= tokens[at..next].iter().any(|token| token == "hidden"),
                "pub" if tokens[at + 1] != "(" => {
                    let words = tokens[at + 1..].iter().take(4);
                    let function = words.take_while(|word| *word != "(").position(|word| word == "fn");
                    if let Some(place) = function.filter(|_| !is_hidden) {
                        found.push((ty.to_owned(), tokens[at + 2 + place].clone()));
                    }
                }
                "{" | ";" => is_hidden = false,
                _ => {}
            }
            at = next;
        }
    }
    found
}

/// Returns the names that the root of a crate exports, which are not hidden in documentation.
fn exports(root: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for at in
        (0..root.len()).filter(|&at| root[at] == "pub" && root.get(at + 1).is_some_and(|next| next == "use"))
    {
        let is_hidden = root[at.saturating_sub(3)..at].iter().any(|token| token == "hidden");
        let path: Vec<&str> =
            root[at + 2..].iter().take_while(|token| *token != ";").map(String::as_str).collect();
        for (index, word) in path.iter().enumerate() {
            let is_last = matches!(path.get(index + 1), None | Some(&"," | &"}"));
            let is_type = word.starts_with(char::is_uppercase) && !word.chars().all(|c| !c.is_lowercase());
            if is_last && is_type && !is_hidden {
                names.insert((*word).to_owned());
            }
        }
    }
    names
}

#[test]
fn what_is_public_is_listed() {
    let mut missing = Vec::new();
    for (name, folder) in CRATES {
        let (list, folder) = (list(name), repository().join(folder).join("src"));
        let lib = without_tests(&tokens(&fs::read_to_string(folder.join("lib.rs")).expect("a library")));
        missing.extend(exports(&lib).difference(&list.root).map(|missing| format!("{name}: {missing}")));
        for (ty, method) in sources(&folder).iter().flat_map(|source| methods(source)) {
            let (of_macro, path) = (method == "$", format!("{ty}::{method}"));
            let is_missing = list.methods.get(&ty).is_some_and(|listed| !listed.contains(&method));
            if is_missing && !of_macro && !OF_NAMESAKES.contains(&path.as_str()) {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "run scripts/public-api: the lists lack\n{}", missing.join("\n"));
}

#[test]
fn what_is_listed_is_in_the_sources() {
    let folders = FOLDERS.map(|folder| repository().join(folder).join("src"));
    let words: BTreeSet<String> = folders.iter().flat_map(|folder| sources(folder)).flatten().collect();
    let mut gone = Vec::new();
    for (name, _) in CRATES {
        for (ty, methods) in list(name).methods {
            let is_gone = |word: &&String| !words.contains(*word);
            gone.extend(methods.iter().filter(is_gone).map(|method| format!("{name}: {ty}::{method}")));
        }
    }
    assert!(gone.is_empty(), "run scripts/public-api: there is no more\n{}", gone.join("\n"));
}

#[test]
fn methods_are_those_that_others_can_call() {
    let text = "impl<T: A<B>> S<T> where T: C { pub fn a(&self) { fn x() {} } fn b() {} #[doc(hidden)] pub fn c() {}
        pub(crate) fn d() {} pub const fn e() {} #[must_use] pub async fn f(x: impl G) -> H {} pub const I: u8 = 1; }
        impl J for S<u8> { fn k() {} } fn l() -> impl M { N { pub_o: 1 } }";
    let found: Vec<String> =
        methods(&tokens(text)).into_iter().map(|(ty, name)| format!("{ty}::{name}")).collect();
    assert_eq!(found, ["S::a", "S::e", "S::f"]);
    let root = "pub use a::{Bee, c, Dee as Eve}; #[doc(hidden)] pub use f::Gas; use h::Ink; pub use j::Jar; pub use k::L_MAX;";
    assert_eq!(exports(&tokens(root)).into_iter().collect::<Vec<_>>(), ["Bee", "Eve", "Jar"]);
}
