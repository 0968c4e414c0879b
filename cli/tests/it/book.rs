//! The book in `docs` and the README: what they say that commands print is what they print, all pages are in the
//! summary, and all links lead somewhere.
//!
//! In a block that begins with `$ `, each line with `$` is a command, and what follows is its output, `...` being any
//! lines. Times differ from run to run, so all are taken for the same, and so is what took most of one. Commands run
//! in a folder with the tutorials' programs, a new one for each page.

#[path = "../../../vm/examples/tenants.rs"]
mod tenants;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::readers::{accepted, foreign};
use super::{Folder, program, wprof};

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src");

/// A command and the lines that it prints.
struct Shown {
    command: String,
    lines: Vec<String>,
}

/// The blocks of a page, each with the language that it is said to be in.
fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
}

fn shown(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for (_, block) in blocks(text).filter(|(language, block)| *language == "text" && block.starts_with("$ "))
    {
        for line in block.lines() {
            match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => all.push(Shown { command: command.to_owned(), lines: Vec::new() }),
                (None, Some(last)) => last.lines.push(line.to_owned()),
                (None, None) => panic!("output without a command: {line}"),
            }
        }
    }
    all
}

/// A line in which all times and dates are the same, and spaces do not count.
fn timeless(line: &str) -> String {
    const HOST: &str = " to the host, ";
    let line = line.find(HOST).map_or(line, |found| &line[..found + HOST.len()]);
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let is_time = |unit: &str| matches!(unit.trim_end_matches(','), "µs" | "ms" | "s");
    for unit in 1..words.len() {
        if is_time(words[unit]) && words[unit - 1].starts_with(|c: char| c.is_ascii_digit()) {
            words[unit - 1] = "TIME";
            words[unit] = "";
        }
    }
    words.retain(|word| !word.is_empty());
    // Where the timer found the program is chance; in the margin of code there is nothing else in front of counts.
    words.drain(..usize::from(words.first() == Some(&"TIME")));
    // A page that `wprof view` has made.
    words.iter_mut().filter(|word| word.ends_with(".html")).for_each(|word| *word = "PAGE");
    words.join(" ")
}

/// Whether two lines are the same as far as both are there: a margin of times leaves less room for the rest.
fn is_same(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (shown.trim_end_matches('…'), (printed.trim_end_matches('…'), printed));
    shown == printed.0 || printed.0 != printed.1 && shown.starts_with(printed.0)
}

/// Whether lines are as shown.
fn agree(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=printed.len()).any(|skipped| agree(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| is_same(&timeless(first), &timeless(line)) && agree(rest, others)),
    }
}

/// A folder with the tutorials' programs, and with the repository's folders beside them.
fn folder() -> Folder {
    let folder = Folder::new();
    for entry in fs::read_dir(format!("{BOOK}/tutorials/programs")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    for name in ["bench-wasm", "docs"] {
        symlink(Path::new(ROOT).join(name), folder.path(name)).unwrap();
    }
    folder
}

/// Runs the commands of a page in a folder, and compares what they print. Gives their number.
fn check(page: &Path, folder: &Folder) -> usize {
    let bin = Path::new(env!("CARGO_BIN_EXE_wprof")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let all = shown(&fs::read_to_string(page).expect("the page is there"));
    let count = all.len();
    for Shown { command, lines } in all {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(folder.path(""));
        shell
            .env("PATH", &path)
            .env("COLUMNS", "80")
            .env("LC_ALL", "C")
            .env("XDG_CACHE_HOME", "/dev/null")
            .env("BROWSER", "true")
            .env("TMPDIR", folder.path(""))
            .env_remove("NO_COLOR");
        let output = shell.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<String> =
            printed.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
        assert!(agree(&lines, &printed), "{}: {command}:\n{}", page.display(), printed.join("\n"));
    }
    count
}

/// Reports whether tools have made a folder: cargo marks its own.
pub fn is_made_by_tools(path: &Path) -> bool {
    path.ends_with("downloads") || path.ends_with(".git") || path.join("CACHEDIR.TAG").exists()
}

/// All files below a folder whose name ends so; not those that tools have made.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let entries = entries.filter(|path| !is_made_by_tools(path));
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path, extension),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    found
}

/// The pages of the book in this folder.
fn pages(folder: &str) -> Vec<PathBuf> {
    files(&Path::new(BOOK).join(folder), "md")
}

pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn tutorials_show_what_commands_print() {
    for page in pages("tutorials") {
        let is_run = check(&page, &folder()) > 0;
        assert!(is_run || page.ends_with("plug-in-host.md"), "{}", page.display());
    }
}

#[test]
fn the_readme_and_first_pages_show_what_commands_print() {
    assert!(check(&Path::new(ROOT).join("README.md"), &folder()) > 2);
    assert!(check(&Path::new(BOOK).join("getting-started.md"), &folder()) > 2);
}

#[test]
fn explanations_show_what_commands_print() {
    let count: usize = pages("explanation").iter().map(|page| check(page, &folder())).sum();
    assert!(count > 1, "{count} commands");
}

#[test]
fn how_to_pages_show_what_commands_print() {
    let (formats, others): (Vec<_>, Vec<_>) =
        pages("how-to").into_iter().partition(|page| page.parent().unwrap().ends_with("exports"));
    let mut count: usize = others.iter().map(|page| check(page, &folder())).sum();
    // The pages of formats go on with the profile that the page above them takes.
    let folder = folder();
    check(&Path::new(BOOK).join("how-to/exports.md"), &folder);
    count += formats.iter().map(|page| check(page, &folder)).sum::<usize>();
    assert!(count > 25, "{count} commands");
    for format in super::export::FORMATS.into_iter().chain(["json"]) {
        let page = text(&Path::new(BOOK).join(format!("how-to/exports/{format}.md")));
        assert!(
            shown(&page).iter().any(|shown| shown.command.contains(&format!("--to {format}"))),
            "{format}"
        );
    }
}

/// The command of another program on the page of lcov, where that program is installed.
#[test]
fn genhtml_shows_the_coverage_of_the_tutorials_program() {
    let (folder, page) = (folder(), Path::new(BOOK).join("how-to/exports/lcov.md"));
    check(&Path::new(BOOK).join("how-to/exports.md"), &folder);
    check(&page, &folder);
    let content = text(&page);
    let (_, block) = blocks(&content).find(|(language, _)| *language == "sh").expect("it has a block");
    let words: Vec<&str> = block.split_whitespace().collect();
    assert_eq!(words[0], "genhtml", "{block}");
    // The source lies in the folder, to which paths in the debug information are relative.
    let mut genhtml = Command::new(words[0]);
    let Some(output) = foreign(genhtml.args(&words[1..]).current_dir(folder.path(""))) else { return };
    let (said, lcov) = (accepted(output), text(Path::new(&folder.path("words.info"))));
    let sum = |key: &str| -> u64 {
        lcov.lines().filter_map(|line| line.strip_prefix(key)).map(|n| n.parse::<u64>().unwrap()).sum()
    };
    let expected = format!("({} of {} lines)", sum("LH:"), sum("LF:"));
    assert!(said.contains(&expected), "{expected}: {said}");
    let shown = files(Path::new(&folder.path("coverage")), "html");
    let of_source = |path: &&PathBuf| path.file_name().is_some_and(|name| name == "words.c.gcov.html");
    let source = text(shown.iter().find(of_source).unwrap_or_else(|| panic!("no words.c: {shown:?}")));
    assert!(source.contains("strlen"), "{source}");
}

/// Commands of ours stand in blocks that are run. In others they would age.
#[test]
fn all_commands_in_the_book_are_run() {
    let all = pages("").into_iter().chain([Path::new(ROOT).join("README.md")]);
    for page in all.filter(|page| !page.parent().unwrap().ends_with("reference")) {
        for (language, block) in blocks(&text(&page)) {
            let is_run = language == "text" && block.starts_with("$ ");
            let stray = block.lines().find(|line| line.trim_start_matches("$ ").starts_with("wprof "));
            assert!(is_run || stray.is_none(), "{}: {stray:?} is not run", page.display());
        }
    }
}

#[test]
fn the_example_of_tenants_is_the_one_that_is_compiled() {
    let page = text(&Path::new(BOOK).join("tutorials/plug-in-host.md"));
    let find = |wanted: &str| blocks(&page).find(|(language, _)| *language == wanted).unwrap().1.to_owned();
    assert_eq!(find("rust").trim_end(), text(&Path::new(ROOT).join("vm/examples/tenants.rs")).trim_end());
    assert_eq!(find("text").trim_end(), tenants::bill().unwrap().join("\n"));
}

/// The picture in the README is made by these commands. `UPDATE_EXPECT=1` makes it anew.
#[test]
fn the_picture_in_the_readme_is_of_a_real_run() {
    let folder = Folder::new();
    let (profile, image) = (folder.path("sort.wprof"), Path::new(BOOK).join("images/sort.svg"));
    wprof(&["run", "-q", "--collect", "flow", "-o", &profile, &program("sort"), "2000", "2"]).succeeded();
    let export = ["export", "--to", "flamegraph", "--weight", "instructions", &profile];
    let drawn = wprof(&export).succeeded();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&image, &drawn).unwrap();
    }
    assert!(drawn.len() < 60_000, "{} bytes", drawn.len());
    // The title tells when the program ran.
    let frames =
        |svg: &str| svg.lines().filter(|line| !line.contains("id=\"title\"")).collect::<Vec<_>>().concat();
    let is_same = frames(&text(&image)) == frames(&drawn);
    assert!(is_same, "{} is out of date: run this test with UPDATE_EXPECT=1", image.display());
    assert!(text(&Path::new(ROOT).join("README.md")).contains("(docs/src/images/sort.svg)"));
}

#[test]
fn the_summary_has_every_page_once() {
    let summary = text(&Path::new(BOOK).join("SUMMARY.md"));
    let listed: Vec<PathBuf> = links(&summary).iter().map(|link| Path::new(BOOK).join(link)).collect();
    let distinct: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(listed.len(), distinct.len(), "a page is listed twice");
    let all = pages("").into_iter().filter(|page| !page.ends_with("SUMMARY.md"));
    let unlisted: Vec<PathBuf> = all.filter(|page| !distinct.contains(page)).collect();
    assert!(unlisted.is_empty(), "these pages are not in SUMMARY.md: {unlisted:?}");
}

/// Where the links of a page lead, without blocks of code.
fn links(page: &str) -> Vec<String> {
    let prose: Vec<&str> = page.split("\n```").step_by(2).collect();
    let prose = prose.join("\n");
    let found = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    found.collect()
}

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for page in files(Path::new(ROOT), "md") {
        let content = text(&page);
        for link in links(&content).iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            assert!(anchor.is_empty() || has_heading(&text(&target), anchor), "{}: {link}", page.display());
            count += 1;
        }
    }
    assert!(count > 150, "{count} links");
}

/// Whether a page has a heading or a mark with this anchor.
fn has_heading(page: &str, anchor: &str) -> bool {
    let anchor_of = |line: &str| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        kept.replace(|letter: char| !letter.is_alphanumeric() && letter != ' ' && letter != '-', "")
            .replace(' ', "-")
    };
    page.contains(&format!("<a id=\"{anchor}\">"))
        || page.lines().filter(|line| line.starts_with('#')).any(|line| anchor_of(line) == anchor)
}
