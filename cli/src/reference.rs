//! Generator of the book's reference from `--help`: a page for each subcommand, made from the same definitions.
//!
//! `UPDATE_EXPECT=1 cargo test -p wprof-cli --bin wprof reference` regenerates the pages.
//!
//! The tests here need the same definitions: short help is short, options stand under headings, and examples are
//! command lines that parse.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory};

use crate::help::layout;

/// The maximum number of options that `-h` shows.
const MAX_SHORT: usize = 10;

/// Returns all subcommands that perform an action, by their full name.
fn subcommands() -> Vec<(String, Command)> {
    let mut cli = crate::Cli::command();
    cli.build();
    let mut all = Vec::new();
    for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
        let inner: Vec<_> = command.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
        if inner.is_empty() {
            all.push((command.get_name().to_owned(), command.clone()));
        }
        all.extend(
            inner
                .into_iter()
                .map(|inner| (format!("{} {}", command.get_name(), inner.get_name()), inner.clone())),
        );
    }
    all
}

/// Returns the options and positional arguments that help shows.
fn shown(command: &Command, is_short: bool) -> impl Iterator<Item = &Arg> {
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    args.filter(move |arg| !is_short || !arg.is_hide_short_help_set())
}

#[test]
fn short_help_is_short() {
    for (name, command) in subcommands() {
        let options: Vec<_> = shown(&command, true).filter(|arg| !arg.is_positional()).collect();
        assert!(options.len() <= MAX_SHORT, "{name}: {} options", options.len());
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let count = examples.lines().filter(|line| line.starts_with("  wprof ")).count();
        assert!((2..=5).contains(&count), "{name}: {count} examples:\n{examples}");
    }
}

#[test]
fn help_ends_with_examples() {
    let mut cli = crate::Cli::command();
    cli.build();
    let groups = cli.get_subcommands().filter(|command| command.has_subcommands());
    let groups = groups.filter(|group| group.get_name() != "help").cloned();
    let named = groups.map(|group| (group.get_name().to_owned(), group));
    for (name, command) in subcommands().into_iter().chain(named).chain([("wprof".to_owned(), cli.clone())]) {
        for help in [command.clone().render_help(), command.clone().render_long_help()] {
            let help = help.to_string();
            let (_, last) = help.trim_end().rsplit_once("\n\n").expect("paragraphs");
            assert!(last.lines().next().is_some_and(|line| line.ends_with("xamples:")), "{name}:\n{last}");
        }
    }
}

#[test]
fn help_is_laid_out_for_narrow_terminals() {
    for width in [60, 80, 100] {
        let mut cli = layout::for_width(crate::Cli::command(), width);
        cli.build();
        let inner = cli.get_subcommands().flat_map(Command::get_subcommands);
        for command in cli.get_subcommands().chain(inner).chain([&cli]) {
            let mut command = command.clone();
            let help = [command.render_help().to_string(), command.render_long_help().to_string()];
            let short = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long = command.get_after_long_help().map(ToString::to_string);
            let long = long.unwrap_or_else(|| short.clone());
            // Clap would wrap it if a line were too long.
            let name = command.get_name();
            assert!(help[0].contains(&short) && help[1].contains(&long), "{name}, {width} columns:\n{long}");
        }
    }
}

#[test]
fn many_options_stand_under_headings() {
    for (name, command) in subcommands() {
        let options: Vec<_> = shown(&command, false).filter(|arg| !arg.is_positional()).collect();
        let is_own = |arg: &&&Arg| !["help", "color"].contains(&arg.get_id().as_str());
        let bare: Vec<_> =
            options.iter().filter(is_own).filter(|arg| arg.get_help_heading().is_none()).collect();
        assert!(options.len() <= MAX_SHORT + 3 || bare.is_empty(), "{name}: no heading: {bare:?}");
    }
}

#[test]
fn examples_in_help_are_command_lines() {
    // A cost model is read during parsing, so the file must exist.
    const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/tutorials/programs/costs.toml");
    let mut count = 0;
    for (name, mut command) in subcommands() {
        let help = command.render_long_help().to_string();
        for line in help.lines().filter_map(|line| line.strip_prefix("  wprof ")) {
            let args = ["wprof".to_owned()].into_iter().chain(words(&own(line).replace("costs.toml", MODEL)));
            let parsed = crate::parse(args.map(Into::into).collect());
            assert!(parsed.is_ok(), "{name}: {line}: {}", parsed.unwrap_err());
            count += 1;
        }
    }
    assert!(count > 90, "only {count} examples were found");
}

/// Returns the command's own part of a line: a remark follows three spaces, other commands follow `&` or `|`.
fn own(line: &str) -> &str {
    let line = line.split("   ").next().unwrap_or_default();
    let end = [" &", " | ", ";"].iter().filter_map(|end| line.find(end)).min();
    &line[..end.unwrap_or(line.len())]
}

/// Splits a command line up to a redirection into words, as a shell does.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars().chain([' ']) {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted && !word.is_empty() => words.push(std::mem::take(&mut word)),
            ' ' if !quoted => {}
            letter => word.push(letter),
        }
    }
    words.into_iter().take_while(|word| word != ">").collect()
}

#[test]
fn the_reference_in_the_book_is_what_help_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference");
    let pages: BTreeMap<PathBuf, String> =
        subcommands().iter().map(|(name, command)| (folder.join(file(name)), page(name, command))).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(&folder).unwrap();
        pages.iter().for_each(|(path, text)| fs::write(path, text).unwrap());
    }
    for (path, text) in &pages {
        let found = fs::read_to_string(path).unwrap_or_default();
        assert!(found == *text, "{} is out of date: run this test with UPDATE_EXPECT=1", path.display());
    }
    let stale: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let stale: Vec<_> = stale.into_iter().filter(|path| !pages.contains_key(path)).collect();
    assert!(stale.is_empty(), "these pages are of no subcommand: {stale:?}");
}

fn file(name: &str) -> String {
    format!("{}.md", name.replace(' ', "-"))
}

/// Returns a page in Markdown.
fn page(name: &str, command: &Command) -> String {
    let mut command = command.clone();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut text = format!("# wprof {name}\n\n{about}.\n\n```text\n{usage}\n```\n");
    for (heading, args) in by_heading(&command) {
        write!(text, "\n## {heading}\n\n").unwrap();
        args.into_iter().for_each(|arg| text.push_str(&entry(arg)));
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    text + &details(&after.map(ToString::to_string).unwrap_or_default())
}

/// Returns arguments by heading, in the order of `--help`.
fn by_heading(command: &Command) -> Vec<(String, Vec<&Arg>)> {
    let mut found: Vec<(String, Vec<&Arg>)> = Vec::new();
    for arg in shown(command, false) {
        let usual = if arg.is_positional() { "Arguments" } else { "Options" };
        let heading = arg.get_help_heading().unwrap_or(usual);
        match found.iter_mut().find(|(known, _)| known == heading) {
            Some((_, args)) => args.push(arg),
            None => found.push((heading.to_owned(), vec![arg])),
        }
    }
    found.sort_by_key(|(heading, _)| match heading.as_str() {
        "Arguments" => 0,
        "Options" => 2,
        _ => 1,
    });
    found
}

/// Formats an argument as a list item.
fn entry(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("* `{}`: {}\n", signature(arg), escaped(&in_one_line(&help)));
    for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
        let is_listed = !arg.is_hide_possible_values_set() && arg.get_action().takes_values();
        let help = value.get_help().map(|help| format!(": {help}")).unwrap_or_default();
        if is_listed {
            writeln!(text, "  * `{}`{}", value.get_name(), escaped(&help)).unwrap();
        }
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        writeln!(text, "  * default: `{}`", defaults.join(" ")).unwrap();
    }
    text
}

/// Joins the paragraphs of a text by blanks. A paragraph without a full stop gets one, unless it is the last.
fn in_one_line(text: &str) -> String {
    let paragraphs: Vec<&str> = text.split("\n\n").map(str::trim).filter(|text| !text.is_empty()).collect();
    let ended = |text: &str| {
        if text.ends_with(['.', '!', '?', ':']) { text.to_owned() } else { format!("{text}.") }
    };
    match paragraphs.split_last() {
        Some((last, before)) => before.iter().map(|text| ended(text) + " ").collect::<String>() + last,
        None => String::new(),
    }
}

fn signature(arg: &Arg) -> String {
    let names: Vec<_> =
        arg.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>")).collect();
    let values = if arg.get_action().takes_values() { names.join(" ") } else { String::new() };
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let long = arg.get_long().map(|long| format!("--{long} ")).unwrap_or_default();
    format!("{short}{long}{values}").trim().to_owned()
}

/// Escapes Markdown in a text.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*").replace('|', "\\|")
}

/// Formats the text behind the options: paragraphs, lists in columns, and examples.
fn details(after: &str) -> String {
    let mut text = String::new();
    for paragraph in after.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        match rest.starts_with("  ") {
            true if first.ends_with("xamples:") => {
                let title = first.trim_end_matches(':');
                write!(text, "\n## {title}\n\n```text\n{}\n```\n", unindented(rest)).unwrap();
            }
            true => write!(text, "\n{}\n\n```text\n{}\n```\n", escaped(first), unindented(rest)).unwrap(),
            false => write!(text, "\n{}\n", escaped(&paragraph.replace('\n', " "))).unwrap(),
        }
    }
    text
}

fn unindented(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    lines.join("\n")
}
