//! Every command that reads a profile, with profiles that it cannot use.

use super::{COUNT, Folder, wprof};

/// The commands: `P` is the profile, `GOOD` a good one with paths, `M` its module.
const READERS: [&str; 32] = [
    "report P",
    "report P --cct",
    "report P --json",
    "report GOOD --interesting P",
    "report P --html OUT",
    "report GOOD --html OUT --diff P",
    "top --follow P",
    "export P --to flamegraph",
    "export GOOD --to flamegraph --against P",
    "run -q --profile off --profile-use P --invoke count M 3",
    "annotate P count",
    "merge P GOOD -o OUT",
    "merge GOOD P -o OUT",
    "diff P GOOD",
    "diff GOOD P",
    "overlap P GOOD",
    "overlap GOOD P",
    "hints M P -o OUT",
    "residual --tested P --run GOOD",
    "residual --tested GOOD --run P",
    "run -q --weights P --invoke count M 3",
    "run -q --collect paths --interesting P --invoke count M 3",
    "export P --to json",
    "export P --to pprof",
    "export P --to lcov",
    "export P --to folded",
    "export P --to csv",
    "export P --to speedscope",
    "export P --to firefox",
    "export P --to chrome",
    "export P --to callgrind",
    "export P --to cobertura",
];

/// A command with its placeholders filled in.
fn args(folder: &Folder, command: &str, profile: &str) -> Vec<String> {
    let place = |word: &str| match word {
        "P" => profile.to_owned(),
        "GOOD" => folder.path("good.wprof"),
        "M" => folder.path("count.wat"),
        "OUT" => folder.path("out"),
        other => other.to_owned(),
    };
    command.split(' ').map(place).collect()
}

/// The good profile, with paths and contexts.
fn good(folder: &Folder) -> Vec<u8> {
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("good.wprof"));
    wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, "--invoke", "count", &module, "10"])
        .succeeded();
    std::fs::read(profile).unwrap()
}

#[test]
fn what_is_no_whole_profile_is_refused_by_every_command() {
    let folder = Folder::new();
    let whole = good(&folder);
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] ^= byte;
        bytes
    };
    let cases = [
        ("truncated.wprof", whole[..whole.len() - 9].to_vec(), "ends too early"),
        ("header.wprof", whole[..10].to_vec(), "ends too early"),
        ("flipped.wprof", changed(whole.len() / 2, 1), "damaged"),
        ("longer.wprof", [&whole[..], b"\n"].concat(), "damaged"),
        ("newer.wprof", changed(8, 3), "use a newer wprof"),
        ("older.wprof", changed(8, 1), "use an older wprof"),
        ("foreign.wprof", b"\0asm\x01\0\0\0".to_vec(), "not a wprof profile"),
        ("empty.wprof", Vec::new(), "not a wprof profile"),
    ];
    for (name, bytes, expected) in cases {
        let path = folder.file(name, bytes);
        for command in READERS {
            let ran = wprof(&args(&folder, command, &path));
            assert_eq!(ran.out, "", "{command}");
            let said = ran.failed();
            assert!(said.contains(expected) && said.contains(name), "{command}: {said}");
        }
    }
    assert!(!std::path::Path::new(&folder.path("out")).exists(), "nothing was written");
}

#[test]
fn what_is_no_file_is_named_by_every_command() {
    let folder = Folder::new();
    good(&folder);
    for path in [folder.path("none.wprof"), folder.path("")] {
        for command in READERS {
            let said = wprof(&args(&folder, command, &path)).failed();
            assert!(said.contains(&path), "{command}: {said}");
        }
    }
}

#[test]
fn a_profile_is_not_applied_to_another_module() {
    let folder = Folder::new();
    good(&folder);
    let other = folder.file("other.wat", COUNT.replace("i32.const 1)", "i32.const 2)"));
    let profile = folder.path("other.wprof");
    wprof(&["run", "-q", "--collect", "paths,cct", "-o", &profile, "--invoke", "count", &other, "4"])
        .succeeded();
    for command in [
        "annotate P count -m M",
        "report P -m M",
        "report P --html OUT -m M",
        "run -q --profile off --profile-use P --invoke count M 3",
        "export P --to csv -m M",
        "export P --to lcov -m M",
        "hints M P -o OUT",
        "hints M P --order OUT",
        "hints M P --split OUT",
        "merge P GOOD -o OUT",
        "residual --tested P --run GOOD",
        "residual --tested P --invoke count M 3",
        "report GOOD --interesting P",
        "run -q --weights P --invoke count M 3",
        "run -q --collect paths --interesting P --invoke count M 3",
    ] {
        let said = wprof(&args(&folder, command, &profile)).failed();
        assert!(said.contains("module"), "{command}: {said}");
    }
    assert!(!std::path::Path::new(&folder.path("out")).exists(), "nothing was written");
}
