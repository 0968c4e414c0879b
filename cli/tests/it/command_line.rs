//! The command line teaches.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use super::readers::{accepted, foreign};
use super::{COUNT, Folder, program, until, wprof};

/// The names of the commands in a help text.
fn commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = list.filter_map(|line| line.split_whitespace().next());
    names.filter(|&name| name != "help").map(str::to_owned).collect()
}

/// All commands, those of `trace` as `trace record` and so on.
fn all_commands() -> Vec<String> {
    let of_trace = commands(&wprof(&["trace", "--help"]).succeeded());
    let mut all = commands(&wprof(&["--help"]).succeeded());
    all.retain(|name| name != "trace");
    all.extend(of_trace.iter().map(|name| format!("trace {name}")));
    assert!(all.len() > 15, "{all:?}");
    all
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in all_commands() {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = wprof(&args).succeeded();
        assert!(help.contains(&format!("\n  wprof {command} ")), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    wprof(&["man", &folder.path("man/man1")]).succeeded();
    for command in all_commands() {
        let name = format!("wprof-{}", command.replace(' ', "-"));
        let page = std::fs::read_to_string(folder.path(&format!("man/man1/{name}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS") && page.contains("Example"), "{page}");
    }
    let mut man = Command::new("man");
    if let Some(output) = foreign(man.args(["--warnings", "-l", &folder.path("man/man1/wprof.1")])) {
        assert!(accepted(output).contains("wprof"));
    }
}

#[test]
fn completions_know_every_command_and_shells_read_them() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = wprof(&["completions", shell]).succeeded();
        for name in all_commands().iter().map(|command| command.rsplit(' ').next().unwrap()) {
            assert!(script.contains(name), "{shell}: {name}");
        }
        if ["bash", "zsh", "fish"].contains(&shell) {
            for value in ["speedscope", "cct", "events=fuel", "cache-misses", "superblocks", "jitdump"] {
                assert!(script.contains(value), "{shell}: {value}");
            }
            let file = folder.file(shell, script);
            foreign(Command::new(shell).args(["-n", &file])).map(accepted);
        }
    }
}

#[test]
fn usage_errors_exit_with_2() {
    for args in [&["run"][..], &["run", "--no-such", "x"], &["fly"], &["run", "--max-memory", "1Q", "x"], &[]]
    {
        let ran = wprof(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    }
}

#[test]
fn a_file_in_place_of_a_subcommand_is_run() {
    let hello = program("hello");
    let expected = wprof(&["run", "-q", &hello]).succeeded();
    for args in [&[hello.as_str()][..], &["--color", "never", &hello]] {
        let ran = wprof(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), expected.as_str()), "{ran:?}");
        assert!(ran.err.contains("hello.wasm exited with code 0"), "{ran:?}");
    }
    let exit = wprof(&[program("exit").as_str(), "42", "100"]);
    assert_eq!(exit.code, Some(42), "arguments behind it are the program's: {exit:?}");
    assert!(wprof(&["none.wasm"]).failed().contains("none.wasm"));
}

#[test]
fn what_is_neither_a_subcommand_nor_a_file_is_said_to_be() {
    for (name, advice) in [("fly", "`wprof help` lists the commands"), ("reprot", "`report`?")] {
        let ran = wprof(&[name, "x"]);
        let said = format!("error: `{name}` is neither a command nor a file");
        assert!(ran.code == Some(2) && ran.err.starts_with(&said) && ran.err.contains(advice), "{ran:?}");
    }
}

#[test]
fn short_help_has_examples_and_says_where_the_rest_is() {
    for command in all_commands() {
        let args: Vec<&str> = command.split(' ').chain(["-h"]).collect();
        let help = wprof(&args).succeeded();
        assert!(help.contains("\nExamples:\n  wprof "), "{help}");
        let options = help.lines().filter(|line| line.starts_with("  -") || line.starts_with("      --"));
        let options = options.count();
        assert!(options <= 10, "{command}: {options} options: {help}");
    }
    let (short, long) = (wprof(&["run", "-h"]).succeeded(), wprof(&["run", "--help"]).succeeded());
    assert!(!short.contains("--max-locals") && short.contains("see more with '--help'"), "{short}");
    for heading in ["Program:", "Profile:", "Sampling:", "Output:", "Limits:", "Speed:", "Debugging:"] {
        assert!(long.contains(&format!("\n{heading}\n")), "{heading}: {long}");
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in [&["--help"][..], &["run", "--help"], &["--version"], &["help", "top"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = Command::new(env!("CARGO_BIN_EXE_wprof")).args(args).stdout(full).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("No space left"), "{args:?}: {said}");
    }
    let said = wprof(&["man", "/dev/full"]).failed();
    assert!(said.contains("/dev/full is not a folder"), "{said}");
}

#[test]
fn top_says_that_it_shows_samples() {
    for option in ["--exact", "--profile=off"] {
        let said = wprof(&["top", option, "none.wasm"]).failed();
        assert!(said.contains(&format!("leave out {option}")), "{said}");
    }
}

#[test]
fn what_takes_long_is_told_on_a_terminal_only() {
    let folder = Folder::new();
    let module = folder.path("slow.wat");
    // A pipe delays the command until the spinner is there; only then does the shell write to it.
    let Some(made) = foreign(Command::new("mkfifo").arg(&module)) else { return };
    accepted(made);
    let (wprof, log) = (env!("CARGO_BIN_EXE_wprof"), folder.file("log", ""));
    let line = format!("exec {wprof} explain {module} count --stage cfg");
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--flush", "--return", "--command", &line, &log]);
    terminal.stdin(Stdio::null()).stdout(Stdio::null());
    let mut running = match terminal.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return eprintln!("skipped: script is not installed");
        }
        running => running.expect("it starts"),
    };
    let shown = || String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    until(|| shown().contains("loading slow.wat").then_some(()));
    std::fs::write(&module, COUNT).unwrap();
    assert!(running.wait().unwrap().success());
    let (_, behind) = shown().rsplit_once("loading").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(
        behind.contains("\x1b[2K") && behind.contains("block0"),
        "it is cleared, and what was asked for follows: {behind:?}"
    );
}
