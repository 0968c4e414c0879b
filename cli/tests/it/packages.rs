//! Packages of npm with their own JavaScript do the same when they are profiled, and their profiles can be read. They
//! are there after `bench-wasm/download.sh --packages`; without them, or without Node, this is skipped, with a note.

use std::path::Path;
use std::process::Command;

use super::browser::{collect_page, has_browser};
use super::{Folder, command, json, wprof};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/downloads/npm");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/packages.mjs");

/// Those that need a host with several memories in a module: one is linked while it runs, one has threads.
const OF_MANY_MEMORIES: [&str; 2] = ["web-tree-sitter", "@node-rs/argon2-wasm32-wasi"];

fn has_packages() -> bool {
    let has = Path::new(FOLDER).join("node_modules").exists() && super::node::has_node();
    if !has {
        println!("skipped: bench-wasm/download.sh --packages gets the packages");
    }
    has
}

/// Demands that a profile has counts, and can be shown and exported.
fn is_readable(folder: &Folder, profile: &str, what: &str) {
    assert!(json(profile)["ops"].as_u64().is_some_and(|ops| ops > 10_000), "{what}");
    let (page, table) = (folder.path("page.html"), folder.path("table.csv"));
    wprof(&["report", profile, "--html", &page]).succeeded();
    assert!(std::fs::read_to_string(page).expect("a page").contains("</html>"), "{what}");
    wprof(&["export", profile, "--to", "csv", "-o", &table]).succeeded();
    assert!(std::fs::read_to_string(table).expect("a table").lines().count() > 10, "{what}");
    // Packages are shipped without debug information, so that there are no lines to cover.
    let said = wprof(&["export", profile, "--to", "lcov", "-o", &folder.path("lcov.info")]).failed();
    assert!(said.contains("has no source lines"), "{what}: {said}");
}

#[test]
fn packages_do_the_same_in_node_and_have_profiles() {
    if !has_packages() {
        return;
    }
    let folder = Folder::new();
    let node = |args: &[&str]| {
        let ran = Command::new("node").args([&["--no-warnings", SCRIPT, FOLDER], args].concat()).output();
        String::from_utf8(ran.expect("node starts").stdout).expect("text")
    };
    let names = node(&[]);
    assert!(names.lines().count() >= 10, "{names}");
    for name in names.lines() {
        let expected = node(&[name]);
        assert!(expected.len() > 2, "{name} does not run");
        let profile = folder.path(&format!("{}.wprof", name.replace('/', "-")));
        let args = ["collect", "-q", "-o", &profile, "--", "node", "--no-warnings", SCRIPT, FOLDER, name];
        let ran = command(&args).output().expect("it starts");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{name}: {said}");
        if OF_MANY_MEMORIES.contains(&name) && said.contains("counters get a memory of their own") {
            println!("skipped: {name}, as this version of Node has one memory in a module");
            continue;
        }
        is_readable(&folder, &profile, name);
    }
}

/// Pages that use a package: its name, the files that they need, and a script that ends by `wprof.done()`.
const PAGES: [(&str, &[&str], &str); 3] = [
    (
        "sql.js",
        &["sql.js/dist/sql-wasm.js", "sql.js/dist/sql-wasm.wasm"],
        r#"<script src="sql-wasm.js"></script><script type="module">
        const db = new (await initSqlJs()).Database();
        db.run("create table t(a)");
        for (let i = 0; i < 200; i++) db.run("insert into t values (?)", [i]);
        if (db.exec("select sum(a) from t")[0].values[0][0] !== 19900) throw "wrong";
        wprof.done();</script>"#,
    ),
    (
        "web-tree-sitter",
        &[
            "web-tree-sitter/web-tree-sitter.js",
            "web-tree-sitter/web-tree-sitter.wasm",
            "tree-sitter-python/tree-sitter-python.wasm",
        ],
        r#"<script type="module">
        import { Language, Parser } from "./web-tree-sitter.js";
        await Parser.init();
        const parser = new Parser();
        parser.setLanguage(await Language.load("tree-sitter-python.wasm"));
        if (parser.parse("def f(x):\n  return x\n".repeat(100)).rootNode.childCount !== 100) throw "wrong";
        wprof.done();</script>"#,
    ),
    (
        "brotli-wasm",
        &["brotli-wasm/pkg.web/brotli_wasm.js", "brotli-wasm/pkg.web/brotli_wasm_bg.wasm"],
        r#"<script type="module">
        import init, { compress, decompress } from "./brotli_wasm.js";
        await init();
        const text = new TextEncoder().encode("text ".repeat(1000));
        if (decompress(compress(text)).length !== text.length) throw "wrong";
        wprof.done();</script>"#,
    ),
];

#[test]
fn packages_have_profiles_in_a_browser() {
    if !has_packages() || !has_browser() {
        return;
    }
    for (name, files, script) in PAGES {
        let folder = Folder::new();
        for file in files {
            let from = Path::new(FOLDER).join("node_modules").join(file);
            let bytes = std::fs::read(&from).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
            folder.file(from.file_name().unwrap().to_str().unwrap(), bytes);
        }
        let page = folder
            .file("page.html", format!("<!doctype html><html><head></head><body>{script}</body></html>"));
        let profile = folder.path("f.wprof");
        let ran = collect_page(&page, &profile, &[]);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        is_readable(&folder, &profile, name);
    }
}
