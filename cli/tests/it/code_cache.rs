//! The code cache belongs to the program that wrote it, whichever file that is in.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use super::components::CALLS;
use super::{COUNT, Folder, Ran, command, program};

/// The head of the note that has the build id of 20 bytes, which follows.
const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).map_or_else(|_| Vec::new(), |entries| entries.collect());
    let paths = entries.into_iter().map(|entry| entry.expect("readable").path());
    paths.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

/// Has a shell do something: a file that this process had written itself, others that it starts could hold open.
fn shell(script: &str, args: &[&str]) {
    let status = Command::new("sh").args(["-c", script]).args(args).status().expect("there is a shell");
    assert!(status.success() && status.signal().is_none(), "{script}");
}

#[test]
fn a_copy_of_the_program_shares_the_cache_and_another_build_does_not() {
    let folder = Folder::new();
    let (module, cache) = (folder.file("count.wat", COUNT), folder.path("cache"));
    let (original, copy) = (env!("CARGO_BIN_EXE_wprof"), folder.path("copy"));
    let run = |program: &str| {
        let mut command = Command::new(program);
        command.args(["run", "-q", "--invoke", "count", &module, "10"]).env("XDG_CACHE_HOME", &cache);
        let output = command.output().expect("the program starts");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"5\n"[..]), "{output:?}");
        files(Path::new(&cache))
    };
    assert_eq!(run(original), 1);
    shell("cp \"$0\" \"$1\" && touch -d 2001-01-01 \"$1\"", &[original, &copy]);
    assert_eq!(run(&copy), 1, "it is the same program");
    let program = std::fs::read(original).expect("the program can be read");
    let Some(note) = program.windows(NOTE.len()).position(|bytes| bytes == NOTE) else {
        println!("the linker writes no build id");
        return;
    };
    let first = (note + NOTE.len()).to_string();
    let changed = format!("{:03o}", program[note + NOTE.len()] ^ 1);
    // Length and time stay as they are.
    let patch = "printf \"\\\\$2\" | dd of=\"$0\" bs=1 seek=\"$1\" conv=notrunc 2>/dev/null && touch -d 2001-01-01 \"$0\"";
    shell(patch, &[&copy, &first, &changed]);
    assert_eq!(run(&copy), 2, "it is another build");
}

/// The code of both core modules is kept, and that of the adapter between them; the next run takes it.
#[test]
fn the_code_of_all_core_modules_is_cached() {
    let folder = Folder::new();
    let (component, cache) = (folder.file("calls.wat", CALLS), folder.path("cache"));
    let run = || {
        let args = ["run", "-v", "--rate", "off", "--exact", "--invoke", "total(100)", &component];
        let ran =
            Ran::from(command(&args).env("XDG_CACHE_HOME", &cache).output().expect("the program starts"));
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "15150\n"), "{ran:?}");
        ran.err
    };
    let compiled = |err: &str| err.lines().find(|line| line.contains("compiled to")).map(str::to_owned);
    let first = run();
    assert!(compiled(&first).is_some_and(|line| line.contains("3 functions")), "{first}");
    assert_eq!(files(Path::new(&cache)), 3);
    let second = run();
    assert!(second.contains("m#1::total"), "{second}");
    assert_eq!(files(Path::new(&cache)), 3);
}

/// Returns how many functions ran, and of how many, as a run reports it.
fn ran(options: &[&str], cache: &str) -> String {
    let json = program("json");
    let args = [&["run"], options, &[&json, "2", "1"]].concat();
    let ran = Ran::from(command(&args).env("XDG_CACHE_HOME", cache).output().expect("the program starts"));
    let words = ran.err.split(" functions ran").next().expect("there is a first part");
    let count: Vec<&str> = words.rsplit(' ').take(3).collect();
    assert!(ran.code == Some(0) && count[1] == "of", "{ran:?}");
    format!("{} of {}", count[2], count[0])
}

#[test]
fn how_many_functions_ran_does_not_depend_on_what_was_compiled() {
    for options in [&["--exact"][..], &[]] {
        let (folder, eager) = (Folder::new(), [options, &["--eager"]].concat());
        let cache = folder.path("cache");
        let fresh = ran(options, &cache);
        assert!(!fresh.starts_with("58 "), "not all of them run: {fresh}");
        for options in [options, &eager, options] {
            assert_eq!(ran(options, &cache), fresh, "{options:?}");
        }
    }
}
