//! The pages of the papers: every table is made, with figures, and every link leads somewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use wprof_bench::papers::{How, PAPERS, experiments, rows};
use wprof_bench::programs::home;

/// Pages by file name.
type Pages = BTreeMap<String, String>;

fn read(folder: &Path) -> Pages {
    let files = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("a file"));
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().expect("a name of ours");
    files.map(|entry| (name(&entry), fs::read_to_string(entry.path()).expect("text"))).collect()
}

/// All links of the pages lead to something on them, or to a file; each row has a place.
fn check_links(pages: &Pages) {
    for (name, page) in pages.iter().filter(|(name, _)| name.ends_with(".md")) {
        for link in page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let leads = match file.strip_prefix("../../") {
                Some(file) => home().join("..").join(file).exists(),
                None => pages.get(file).is_some_and(|page| {
                    anchor.is_empty() || page.contains(&format!("<a id=\"{anchor}\"></a>"))
                }),
            };
            assert!(leads, "{name}: {link}");
        }
    }
    for row in rows().expect("a table of rows") {
        let place = format!("<a id=\"row-{}\"></a>", row.number);
        assert!(pages[&format!("{}.md", row.paper)].contains(&place), "{row:?}");
    }
}

#[test]
fn the_committed_pages_have_every_row_and_table() {
    let pages = read(&home().join("../docs/papers"));
    check_links(&pages);
    for experiment in experiments() {
        let place = format!("<a id=\"{}\"></a>", experiment.item);
        assert!(pages[&format!("{}.md", experiment.paper)].contains(&place), "{}", experiment.item);
    }
}

#[test]
fn all_tables_are_made_with_figures() {
    let folder = std::env::temp_dir().join(format!("wprof-papers-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_papers"));
    command.args(["--all", "--only", "fib", "--out"]).arg(&folder);
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = read(&folder);
    fs::remove_dir_all(&folder).expect("it was made");
    check_links(&pages);
    for (paper, _) in PAPERS {
        let page = &pages[&format!("{paper}.md")];
        assert!(!page.contains("| NaN") && !page.contains("| inf"), "{page}");
        let counted = experiments().filter(|e| e.paper == paper && matches!(e.how, How::Counted(_))).count();
        // Figures 3.17 and 3.20 have classes of functions.
        let by_class = 2 * usize::from(paper == "S003");
        assert_eq!(page.matches("\n| fib | ").count(), counted - by_class, "{page}");
    }
}

/// A simulated cache sees what the program does and nothing else, so its misses are those of a trace's addresses.
#[test]
fn counting_paths_or_contexts_changes_no_misses() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_papers"));
    let output = command.args(["S002", "table2-counts", "--only", "json,sieve"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    for program in ["json", "sieve"] {
        let row = text.lines().find(|line| line.starts_with(&format!("| {program} |")));
        assert!(row.is_some_and(|row| row.ends_with(" | 1.000 | 1.000 |")), "{text}");
    }
}

#[test]
fn one_table_is_printed() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_papers"));
    let output = command.args(["S002", "table3", "--only", "fib"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("S002 table3: ") && text.contains("\n| fib | "), "{text}");
    let unknown = Command::new(env!("CARGO_BIN_EXE_papers")).args(["S002", "table99"]).output();
    assert!(!unknown.expect("it starts").status.success());
}
