//! The tutorial and the pages of exporters: what they say that commands print is what they print.
//!
//! In a block that begins with `$ wprof`, each line with `$` is a command, and what follows is its output, `...`
//! being any lines. Times differ from run to run, so all are taken for the same, and so is what took most of one.

use std::process::Command;

use super::Folder;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

/// A command and the lines that it prints.
struct Shown {
    command: String,
    lines: Vec<String>,
}

fn shown(page: &str) -> Vec<Shown> {
    let text = std::fs::read_to_string(format!("{DOCS}/{page}")).expect("the page is there");
    let mut all: Vec<Shown> = Vec::new();
    for block in text.split("```").filter(|block| block.starts_with("text\n$ wprof ")) {
        for line in block.lines().skip(1) {
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
    words.join(" ")
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
            .is_some_and(|(line, others)| timeless(first) == timeless(line) && agree(rest, others)),
    }
}

/// A folder with the tutorial's programs.
fn folder() -> Folder {
    let folder = Folder::new();
    for entry in std::fs::read_dir(format!("{DOCS}/tutorial")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    folder
}

/// Runs the commands of a page in a folder, and compares what they print.
fn check(page: &str, folder: &Folder) {
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_wprof")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let all = shown(page);
    assert!(!all.is_empty(), "{page} has commands");
    for Shown { command, lines } in all {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(folder.path(""));
        shell
            .env("PATH", &path)
            .env("COLUMNS", "80")
            .env("LC_ALL", "C")
            .env("XDG_CACHE_HOME", "/dev/null")
            .env_remove("NO_COLOR");
        let output = shell.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<String> =
            printed.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
        assert!(agree(&lines, &printed), "{page}: {command}:\n{}", printed.join("\n"));
    }
}

#[test]
fn the_tutorial_shows_what_commands_print() {
    check("tutorial.md", &folder());
}

#[test]
fn pages_of_exporters_show_what_they_write() {
    let folder = folder();
    check("exports.md", &folder);
    for format in super::export::FORMATS.into_iter().chain(["json"]) {
        check(&format!("exports/{format}.md"), &folder);
    }
}
