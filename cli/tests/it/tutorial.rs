//! The tutorial: what it says that commands print is what they print.
//!
//! In a block that begins with `$ wprof`, each line with `$` is a command, and what follows is its output, `...` being any
//! lines. Times differ from run to run, so all are taken for the same, and so is what took most of one.

use std::process::Command;

use super::Folder;

const TUTORIAL: &str = include_str!("../../../docs/tutorial.md");

/// A command and the lines that it prints.
struct Shown {
    command: String,
    lines: Vec<String>,
}

fn shown() -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for block in TUTORIAL.split("```").filter(|block| block.starts_with("text\n$ wprof ")) {
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

#[test]
fn the_tutorial_shows_what_commands_print() {
    let folder = Folder::new();
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tutorial");
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_wprof")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let all = shown();
    assert!(all.len() >= 6, "the tutorial has commands");
    for Shown { command, lines } in all {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(folder.path(""));
        shell
            .env("PATH", &path)
            .env("COLUMNS", "80")
            .env("XDG_CACHE_HOME", "/dev/null")
            .env_remove("NO_COLOR");
        let output = shell.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<String> =
            printed.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
        assert!(agree(&lines, &printed), "{command}:\n{}", printed.join("\n"));
    }
}
