//! What cannot be written is an error, and costs no old file.

use std::process::Command;

use super::{Folder, command, program, wprof};

#[test]
fn a_full_disk_is_an_error() {
    let ran = wprof(&["run", "-q", "-o", "/dev/full", &program("hello")]);
    assert!(!ran.out.is_empty(), "the program ran");
    let said = ran.failed();
    assert!(said.contains("/dev/full") && said.contains("No space left"), "{said}");
}

#[test]
fn an_old_profile_survives_a_new_one_that_cannot_be_written() {
    let folder = Folder::new();
    let old = folder.file("f.wprof", "old");
    // A limit on the size of files stands for a full disk: writing fails after the temporary file is made.
    let script = "ulimit -f 0; trap '' XFSZ; exec \"$0\" run -q -o \"$1\" \"$2\"";
    let bin = env!("CARGO_BIN_EXE_wprof");
    let output = Command::new("sh").args(["-c", script, bin, &old, &program("hello")]).output().unwrap();
    super::Ran::from(output).failed();
    assert_eq!(std::fs::read(&old).unwrap(), b"old");
    assert_eq!(folder.names().len(), 1, "no temporary file is left");
}

#[test]
fn a_profile_that_could_not_be_written_is_refused_before_the_run() {
    let folder = Folder::new();
    let (nowhere, hello) = (folder.path("none/f.wprof"), program("hello"));
    for options in [&["-o", &nowhere][..], &["-o", "/"], &["--profile", "off", "-o", "f"]] {
        let args = [&["run"], options, &[&hello]].concat();
        let ran = wprof(&args);
        assert_eq!(ran.out, "", "nothing ran");
        ran.failed();
    }
}

#[test]
fn a_closed_pipe_is_no_error_and_a_full_disk_is() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let (module, trace) = (folder.path("count.wat"), folder.path("count.wtrace"));
    wprof(&["trace", "record", "-o", &trace, "--invoke", "count", &module, "10"]).succeeded();
    let commands = [
        &["report", &profile][..],
        &["report", "--json", &profile],
        &["annotate", &profile, "count"],
        &["explain", &module, "count"],
        &["export", "--to", "json", &profile],
        &["export", "--to", "pprof", &profile],
        &["export", "--to", "folded", &profile],
        &["report", "--html", "-", &profile],
        &["diff", &profile, &profile],
        &["diff", "--json", &profile, &profile],
        &["export", "--to", "speedscope", &profile],
        &["export", "--to", "flamegraph", &profile],
        &["export", "--to", "firefox", &profile],
        &["export", "--to", "chrome", &profile],
        &["export", "--to", "callgrind", &profile],
        &["export", "--to", "csv", &profile],
        &["overlap", &profile, &profile],
        &["explain", &module, "count", "--stage", "asm"],
        &["trace", "replay", &trace],
        &["trace", "stats", &trace],
        &["trace", "cat", &trace],
        &["completions", "bash"],
        &["--help"],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = super::Ran::from(command(args).stdout(writer).output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = super::Ran::from(command(args).stdout(full).output().unwrap());
        assert!(args == ["--help"] || ran.failed().contains("No space left"), "{args:?}");
    }
}

#[test]
fn every_file_that_is_written_is_missed_on_a_full_disk() {
    let folder = Folder::new();
    let (json, profile) = (program("json"), folder.path("f.wprof"));
    wprof(&["run", "-q", "--collect", "paths", "-o", &profile, &json, "2", "1"]).succeeded();
    for args in [
        &["merge", &profile, &profile, "-o", "/dev/full"][..],
        &["export", "--to", "json", &profile, "-o", "/dev/full"],
        &["hints", &json, &profile, "-o", "/dev/full"],
        &["hints", &json, &profile, "--order", "/dev/full"],
        &["hints", &json, &profile, "--autofdo", "/dev/full"],
        &["hints", &json, &profile, "--split", "/dev/full"],
        &["residual", "--tested", &profile, "-o", "/dev/full", &json, "3", "1"],
        &["trace", "record", "-o", "/dev/full", &json, "2", "1"],
        &["man", "/dev/full"],
    ] {
        let ran = wprof(args);
        assert!(ran.code != Some(0) && ran.err.contains("error: "), "{args:?}: {ran:?}");
    }
}

#[test]
fn an_old_export_survives_a_new_one_that_cannot_be_written() {
    let folder = Folder::new();
    let (profile, module) = (folder.count_profile(), folder.path("count.wat"));
    let old = folder.file("old", "old");
    let before = folder.names().len();
    for args in [
        &["export", "--to", "json", "-o", &old, &profile][..],
        &["hints", &module, &profile, "-o", &old],
        &["hints", &module, &profile, "--order", &old],
        &["hints", &module, &profile, "--split", &old],
    ] {
        let script = "ulimit -f 0; trap '' XFSZ; exec \"$0\" \"$@\"";
        let mut limited = Command::new("sh");
        let output = limited.args(["-c", script, env!("CARGO_BIN_EXE_wprof")]).args(args).output().unwrap();
        super::Ran::from(output).failed();
        assert_eq!(
            (std::fs::read(&old).unwrap(), folder.names().len()),
            (b"old".to_vec(), before),
            "{args:?}"
        );
    }
}

#[test]
fn nobody_has_to_listen_to_what_is_said() {
    let folder = Folder::new();
    let (profile, module) = (folder.count_profile(), folder.path("count.wat"));
    let (kept, hinted) = (folder.path("kept.wprof"), folder.path("hinted.wasm"));
    for (args, code) in [
        (&["run", "--exact", "-v", "-o", &kept, "--invoke", "count", &module, "10"][..], 0),
        (&["run", &program("crash"), "divide", "3"], 134),
        (&["hints", &module, &profile, "-o", &hinted], 0),
        (&["diff", "--fail-on", "calls>-1", &profile, &profile], 3),
        (&["report", "none.wprof"], 1),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = super::Ran::from(command(args).stderr(writer).output().unwrap());
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
    }
    let kept = [kept, hinted].map(|path| std::path::Path::new(&path).exists());
    assert_eq!(kept, [true, true], "files are written all the same");
}
