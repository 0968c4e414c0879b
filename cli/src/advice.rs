//! Tests that messages and documents only advise existing options: those of the subcommand itself, or of the subcommand
//! that the advice names.
//!
//! Input: the text of all messages, from the sources, and the pages of the book. Messages that several subcommands
//! share quote the whole command: `wprof run --exact`; only a subcommand's own file may name its options alone.
//! Attributes are left out; they hold the help of options and the examples of subcommands (`reference.rs` tests them).

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};

/// By folder or file: the subcommands whose options may be advised there, if not only the subcommand of that name.
const SHARED: [(&str, &[&str]); 9] = [
    // Only a command that has the option can fail there.
    (
        "modules.rs",
        &[
            "annotate",
            "export",
            "rank",
            "report",
            "residual",
            "trace bursts",
            "trace cat",
            "trace hot",
            "trace replay",
            "trace streams",
            "view",
        ],
    ),
    ("commands/run/collect", &["run", "explain"]),
    ("core_module.rs", &["explain"]),
    ("wave", &["run", "residual", "trace record"]),
    ("commands/run/ending.rs", &["run", "residual", "trace record"]),
    ("commands/run/invoke.rs", &["run", "residual", "trace record"]),
    ("commands/run/program.rs", &["run", "residual", "trace record"]),
    ("commands/run/reoptimize.rs", &["run", "explain"]),
    // The file passes these arguments to a process.
    ("commands/top/process.rs", &["run"]),
];

/// The file that passes arguments of its own to a browser.
const BROWSER: &str = "commands/collect/browser.rs";

#[test]
fn errors_advise_options_that_there_are() {
    let (mut looked_at, mut all) = (0, Vec::new());
    for krate in ["cli", "report", "vm", "jit", "profiler"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("src");
        for file in files(&folder, "rs").into_iter().filter(|file| !file.ends_with(file!())) {
            let name = file.strip_prefix(&folder).expect("in the folder");
            let text = fs::read_to_string(&file).expect("a source");
            let is_foreign = |message: &String| name == Path::new(BROWSER) && message.starts_with("--");
            for message in messages(&text).into_iter().filter(|message| !is_foreign(message)) {
                let wrong = wrong_options(&message, &commands_of(name));
                looked_at += usize::from(message.contains("--"));
                all.extend(
                    (!wrong.is_empty()).then(|| format!("{}: {message:?}: {wrong:?}", name.display())),
                );
            }
        }
    }
    assert!(looked_at > 30, "only {looked_at} messages with options were found");
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn documents_name_options_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut looked_at, mut all) = (0, Vec::new());
    let pages = files(&root.join("docs"), "md").into_iter().chain([root.join("README.md")]);
    // The pages of the reference repeat the help.
    let pages = pages.filter(|page| !page.parent().is_some_and(|folder| folder.ends_with("reference")));
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        // Only command lines of wprof count: other programs have options too.
        for line in text.split(['`', '\n']).filter_map(|line| line.find("wprof ").map(|at| &line[at..])) {
            looked_at += usize::from(line.contains("--") && is_of_ours(line));
            let wrong = if is_of_ours(line) { wrong_options(line, &[]) } else { Vec::new() };
            all.extend((!wrong.is_empty()).then(|| format!("{}: {line:?}: {wrong:?}", page.display())));
        }
    }
    assert!(looked_at > 60, "only {looked_at} command lines with options were found");
    assert!(all.is_empty(), "{all:#?}");
}

/// Reports whether a line is a wprof command with a subcommand, followed by nothing that belongs to another program.
fn is_of_ours(line: &str) -> bool {
    let is_known = |name: &str| {
        let mut cli = crate::Cli::command();
        cli.build();
        let known = name.split(' ').try_fold(cli, |within, name| within.find_subcommand(name).cloned());
        known.is_some()
    };
    let own = line.split([';', '|', '&']).next().unwrap_or_default();
    own.len() == line.len() && is_known(&named(line.strip_prefix("wprof ").unwrap_or(line)))
}

#[test]
fn options_of_other_subcommands_are_found() {
    let hints = ["hints".to_owned()];
    assert_eq!(wrong_options("say where it is with --module", &hints), ["--module"]);
    assert_eq!(wrong_options("take one by `wprof run --collect edges`, or leave out --all", &hints), [""; 0]);
    assert_eq!(wrong_options("take one by `wprof run --module`", &hints), ["--module"]);
    assert_eq!(wrong_options("`wprof trace record --addresses`; --quick", &[]), ["--quick"]);
    let source = "#[arg(help = \"--a ]\")] /* \"--b\" */ x('\"', \"--c \\\n   \\\"d\"); // \"--e\"\n\"f\"";
    assert_eq!(messages(source), ["--c \"d", "f"]);
}

fn files(folder: &Path, kind: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path, kind),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|found| found == kind))
        .collect()
}

/// Returns the subcommands whose options a file may mention.
fn commands_of(file: &Path) -> Vec<String> {
    if let Some((_, shared)) = SHARED.iter().find(|(path, _)| file.starts_with(path)) {
        return shared.iter().map(|&name| name.to_owned()).collect();
    }
    let names = file.strip_prefix("commands").unwrap_or(Path::new("")).with_extension("");
    let mut names = names.iter().map(|name| name.to_str().expect("UTF-8"));
    match (names.next(), names.next()) {
        (Some("trace"), Some(name)) => vec![format!("trace {name}")],
        (Some(name), _) => vec![name.replace('_', "-")],
        _ => Vec::new(),
    }
}

/// Returns the options in a message that neither the command line around them has, nor all of `own`.
fn wrong_options(message: &str, own: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_of_others = |part: &&str| part.starts_with("clang ") || part.starts_with("node ");
    for part in message.split(['`', '\n']).filter(|part| !is_of_others(part)) {
        let named = part.trim_start().strip_prefix("wprof ").map(named);
        let commands = named.map_or_else(|| own.to_vec(), |name| vec![name]);
        let all = !commands.is_empty();
        let has = |option: &str| all && commands.iter().all(|command| has_option(command, option));
        wrong.extend(options(part).filter(|option| !has(option)).map(str::to_owned));
    }
    wrong
}

/// Returns the subcommand at the start of a command line.
fn named(line: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let words = line.split(' ').take_while(|word| !word.starts_with('-') && word.chars().all(is_part));
    let words: Vec<&str> = words.collect();
    words[..words.len().min(if words.first() == Some(&"trace") { 2 } else { 1 })].join(" ")
}

/// Returns the options in a text.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter == '-' || letter.is_ascii_lowercase();
    let words = text.split(move |letter| !is_part(letter));
    words.filter(|word| word.strip_prefix("--").is_some_and(|name| name.starts_with(|l: char| l != '-')))
}

fn has_option(command: &str, option: &str) -> bool {
    let mut cli = crate::Cli::command();
    cli.build();
    let find = |within: Option<Command>, name: &str| within?.find_subcommand(name).cloned();
    let found = command.split(' ').fold(Some(cli), find);
    let found = found.unwrap_or_else(|| panic!("there is no subcommand {command}"));
    found.get_arguments().any(|arg| arg.get_long() == option.strip_prefix("--"))
}

/// Returns the string literals of a source, without those in attributes.
fn messages(source: &str) -> Vec<String> {
    let (mut found, mut rest, mut depth) = (Vec::new(), source, 0_u32);
    while let Some(letter) = rest.chars().next() {
        let mut taken = letter.len_utf8();
        match letter {
            '"' => {
                let (text, len) = literal(rest);
                taken = len;
                found.extend((depth == 0 && !text.starts_with("Examples:")).then_some(text));
            }
            '/' if rest.starts_with("//") => taken = rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => taken = rest.find("*/").map_or(rest.len(), |end| end + 2),
            '\'' if rest.starts_with("'\"'") => taken = 3,
            '#' if rest.starts_with("#[") => (depth, taken) = (depth + 1, 2),
            '[' if depth > 0 => depth += 1,
            ']' if depth > 0 => depth -= 1,
            _ => {}
        }
        rest = &rest[taken..];
    }
    found
}

/// Returns the text of the literal that `rest` begins with, and its length including the quotes.
fn literal(rest: &str) -> (String, usize) {
    let (mut text, mut letters) = (String::new(), rest.char_indices().skip(1).peekable());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (text, at + 1),
            '\\' => match letters.next() {
                Some((_, '\n')) => while letters.next_if(|(_, next)| next.is_whitespace()).is_some() {},
                Some((_, escaped)) => text.push(escaped),
                None => {}
            },
            _ => text.push(letter),
        }
    }
    (text, rest.len())
}
