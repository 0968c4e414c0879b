//! What the system's limits refuse is an error, or makes a run slower: it is never a signal, and costs no profile.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use super::{COUNT, Folder, command, json, program};

/// Runs the program in a shell that has set a limit of its own.
fn limited(limit: &str, cache: &str, args: &[&str]) -> Output {
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_wprof")]).args(args);
    shell.env("XDG_CACHE_HOME", cache).output().expect("there is a shell")
}

/// Checks that a process ended by itself, without a panic; gives its exit code and what it said.
fn ended(output: &Output, what: &str) -> (i32, String) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code();
    let code = code.unwrap_or_else(|| panic!("{what}: signal {:?}: {said}", output.status.signal()));
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert!(code == 0 || said.contains("error: "), "{what}: {code}: {said}");
    (code, said)
}

fn counted(folder: &Folder, limit: &str) -> (i32, String) {
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("count.wprof"));
    let _ = std::fs::remove_file(&profile);
    let args = ["run", "-q", "--exact", "-o", &profile, "--invoke", "count", &module, "10"];
    ended(&limited(limit, &folder.path("cache"), &args), limit)
}

/// A module of which a profile is a few hundred bytes: with a limit above that it is there, below it is an error.
#[test]
fn a_limit_of_file_sizes_costs_no_run_and_no_profile_that_fits() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("count.wprof"));
    for options in [&["--exact"][..], &[], &["--profile", "off"]] {
        let args = [&["run"], options, &["--invoke", "count", &module, "10"]].concat();
        for blocks in ["-f 0", "-f 1", "-f 64"] {
            let output = limited(blocks, &folder.path("cache"), &args);
            assert_eq!(ended(&output, blocks).0, 0, "{blocks} {options:?}: {output:?}");
            assert_eq!(output.stdout, b"5\n");
        }
    }
    assert_eq!(counted(&folder, "-f 64").0, 0);
    assert_eq!(json(&profile)["functions"].as_array().map(Vec::len), Some(2));
    let (code, said) = counted(&folder, "-f 0");
    assert!(code == 1 && said.contains("count.wprof") && said.contains("too large"), "{code}: {said}");
}

/// What the program itself writes beyond the limit is an error for it, as on a full disk.
#[test]
fn a_program_that_writes_too_large_a_file_goes_on() {
    let folder = Folder::new();
    let out = folder.path("out");
    let script = "ulimit -f 0 && exec \"$0\" run --exact -o \"$1\" \"$2\" > \"$3\"";
    let args = ["-c", script, env!("CARGO_BIN_EXE_wprof"), "/dev/null", &program("hello"), &out];
    let mut shell = Command::new("sh");
    let output = shell.args(args).env("XDG_CACHE_HOME", "/dev/null").output().expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some() && said.contains("hello.wasm "), "{output:?}");
}

#[test]
fn little_address_space_makes_runs_slower_or_is_an_error() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("count.wprof"));
    let json_program = program("json");
    let mut succeeded = 0;
    for megabytes in [64, 128, 256, 384, 512, 768, 1024, 2048, 4096] {
        let limit = format!("-v {}", megabytes << 10);
        for options in [&["--exact"][..], &[], &["--profile", "off"], &["--exact", "--collect", "paths"]] {
            let args = [&["run", "-q"], options, &[&json_program, "2", "1"]].concat();
            let output = limited(&limit, &folder.path("cache"), &args);
            // Whoever cannot even be loaded is ended by the system.
            if output.status.code() != Some(127) && (megabytes > 64 || output.status.signal().is_none()) {
                succeeded += i32::from(ended(&output, &format!("{limit} {options:?}")).0 == 0);
            }
        }
    }
    assert!(succeeded >= 12, "{succeeded}");
    let args = ["run", "-q", "--exact", "-o", &profile, "--invoke", "count", &module, "10"];
    assert_eq!(ended(&limited("-v 1048576", "/dev/null", &args), "1 GiB").0, 0);
    assert_eq!(json(&profile)["functions"].as_array().map(Vec::len), Some(2));
}

/// A process whose heap gets no memory says so: it raises no signal.
#[test]
fn a_process_without_memory_ends_with_an_error() {
    let folder = Folder::new();
    // As a tree this text takes more than a gibibyte.
    let module = folder.file("many.wat", format!("(module{})", " (func)".repeat(6_000_000)));
    let output = limited("-v 524288", &folder.path("cache"), &["run", "-q", &module]);
    let (code, said) = ended(&output, "512 MiB");
    assert!(
        code == 1 && said.contains("error: out of memory: the system refuses another "),
        "{code}: {said}"
    );
}

/// Takes all the memory that it gets, and then calls a function for the first time.
const GREEDY: &str = r#"(module
    (memory 1)
    (func $last (result i32) (memory.size))
    (func (export "take") (result i32)
        (loop $again (br_if $again (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))
        (i32.lt_u (call $last) (i32.const 0x4000))))"#;

#[test]
fn a_program_that_takes_all_address_space_has_its_profile() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("greedy.wat", GREEDY), folder.path("greedy.wprof"));
    for options in [&["--exact"][..], &[]] {
        let args = [&["run", "-q", "-o", &profile], options, &["--invoke", "take", &module]].concat();
        let output = limited("-v 1048576", "/dev/null", &args);
        assert_eq!(ended(&output, "greedy").0, 0);
        assert_eq!(output.stdout, b"1\n", "there is less than a gibibyte");
        let functions = json(&profile)["functions"].as_array().map(Vec::len);
        assert!(options.is_empty() || functions == Some(2), "{functions:?}");
    }
}

#[test]
fn few_descriptors_are_errors_or_enough() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("count.wat", COUNT), folder.path("count.wprof"));
    let run = |most: i32| {
        let args = ["run", "-q", "--exact", "-o", &profile, "--invoke", "count", &module, "10"];
        let output = limited(&format!("-n {most}"), &folder.path("cache"), &args);
        let code = ended(&output, &format!("{most} descriptors")).0;
        assert_eq!(output.stdout.is_empty(), code != 0, "what runs has its profile: {output:?}");
        code
    };
    // With three the program cannot be loaded.
    let codes: Vec<i32> = (4..16).map(run).collect();
    assert!(codes.contains(&0), "{codes:?}");
    let first = codes.iter().position(|&code| code == 0).expect("just seen");
    assert!(codes[first..].iter().all(|&code| code == 0), "{codes:?}");
}

#[test]
fn a_small_stack_is_enough() {
    let folder = Folder::new();
    for kilobytes in [256, 512, 1024] {
        assert_eq!(counted(&folder, &format!("-s {kilobytes}")).0, 0, "{kilobytes}");
    }
}

#[test]
fn no_home_or_one_that_cannot_be_written_costs_nothing() {
    let folder = Folder::new();
    let module = folder.file("count.wat", COUNT);
    let file = folder.file("file", "");
    for (home, cache) in
        [(None, None), (Some("/proc"), None), (Some(file.as_str()), None), (None, Some("/proc/none"))]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wprof"));
        command.args(["run", "-q", "--invoke", "count", &module, "10"]);
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
        command.envs(home.map(|home| ("HOME", home))).envs(cache.map(|cache| ("XDG_CACHE_HOME", cache)));
        let output = command.output().expect("the program starts");
        assert_eq!(
            (ended(&output, "home").0, output.stdout.as_slice()),
            (0, &b"5\n"[..]),
            "{home:?} {cache:?}"
        );
    }
}

/// In a name space of its own, where that can be made, the folder of the cache and of the profile is a file system of 64 KiB.
#[test]
fn a_small_file_system_costs_no_run() {
    let folder = Folder::new();
    let place = folder.path("small");
    std::fs::create_dir(&place).expect("the folder can be written");
    let (module, json_program) = (folder.file("count.wat", COUNT), program("json"));
    let script = "mount -t tmpfs -o size=64k small \"$1\" || exit 99
        export XDG_CACHE_HOME=\"$1\"
        \"$0\" run -q --exact -o \"$1/f.wprof\" --invoke count \"$2\" 10 || exit 98
        head -c 1000000 /dev/zero > \"$1/full\" 2>/dev/null
        \"$0\" run -q -o \"$1/g.wprof\" \"$3\" 2 1; code=$?
        test -s \"$1/f.wprof\" || exit 97
        ls \"$1\" | grep -q tmp && exit 96
        exit $code";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c", script, env!("CARGO_BIN_EXE_wprof")]);
    let Ok(output) = unshare.args([&place, &module, &json_program]).output() else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(99) || said.starts_with("unshare: ") {
        println!("no file system can be mounted here: {said}");
        return;
    }
    assert!(
        output.status.code() == Some(1) && said.contains("g.wprof") && said.contains("No space left"),
        "{output:?}"
    );
}

/// The code generator cannot be interrupted, and what it makes of this function takes longer than the program may.
#[test]
fn compiling_ahead_takes_of_the_time_that_the_program_has() {
    let folder = Folder::new();
    let step = "(local.set $x (i32.mul (i32.add (local.get $x) (global.get $g)) (i32.const 77)))";
    let module = folder.file(
        "huge.wat",
        format!(
            r#"(module (global $g (mut i32) (i32.const 0))
                (func (export "_start") (local $x i32)
                    (if (i32.eqz (global.get $g)) (then (return)))
                    {} (global.set $g (local.get $x))))"#,
            step.repeat(100_000)
        ),
    );
    let run = |options: &[&str]| {
        let args =
            [&["run", "-q", "--profile", "off", "--no-code-cache"], options, &[module.as_str()]].concat();
        command(&args).status().expect("it runs").code()
    };
    assert_eq!(run(&[]), Some(0), "in parts it starts at once");
    assert_eq!(run(&["--eager", "--timeout", "100ms"]), Some(134));
}
