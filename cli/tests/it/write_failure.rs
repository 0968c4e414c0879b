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
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let module = folder.path("count.wat");
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
        &["overlap", &profile, &profile],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = super::Ran::from(command(args).stdout(writer).output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
    }
}
