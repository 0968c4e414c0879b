//! Programs that start threads.

use wprof_profiler::{Profile, ThreadProfile};

use super::html::{values, works};
use super::top::Running;
use super::{Folder, command, function, json, until, wprof};

/// Starts threads that each add their argument to a cell in a function, and waits for them; then does something as main.
fn program(in_thread: &str, in_main: &str) -> String {
    format!(
        r#"(module
            (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
            (import "env" "memory" (memory 1 1 shared))
            (export "memory" (memory 0))
            (func $add (param $n i32) (drop (i32.atomic.rmw.add (i32.const 0) (local.get $n))))
            (func (export "wasi_thread_start") (param $number i32) (param $arg i32)
                {in_thread}
                (call $add (local.get $arg))
                (drop (i32.atomic.rmw.sub (i32.const 4) (i32.const 1)))
                (drop (memory.atomic.notify (i32.const 4) (i32.const 1))))
            (func $start (param $arg i32)
                (drop (i32.atomic.rmw.add (i32.const 4) (i32.const 1)))
                (if (i32.le_s (call $spawn (local.get $arg)) (i32.const 0)) (then (unreachable))))
            (func (export "_start") (local $left i32)
                (call $start (i32.const 1)) (call $start (i32.const 20)) (call $start (i32.const 300))
                (loop $again
                    (if (local.tee $left (i32.atomic.load (i32.const 4)))
                        (then
                            (drop (memory.atomic.wait32 (i32.const 4) (local.get $left) (i64.const -1)))
                            (br $again))))
                {in_main}
                (call $exit (i32.rem_u (i32.atomic.load (i32.const 0)) (i32.const 256)))))"#
    )
}

#[test]
fn threads_share_the_memory_and_their_profiles_are_added_up() {
    let folder = Folder::new();
    let module = folder.file("threads.wat", program("", ""));
    let profile = folder.path("profile.wprof");
    let status = command(&["run", "-q", "--exact", "-o", &profile, &module]).status().unwrap();
    assert_eq!(status.code(), Some(321 % 256));
    let calls = |name: &str| function(&json(&profile), name)["calls"].as_u64().unwrap();
    assert_eq!((calls("add"), calls("start")), (3, 3));
    for profile in ["off", "adaptive"] {
        let status = command(&["run", "-q", "--profile", profile, &module]).status().unwrap();
        assert_eq!(status.code(), Some(321 % 256), "{profile}");
    }
}

#[test]
fn pages_show_threads_together_and_apart() {
    let folder = Folder::new();
    let module = folder.file("threads.wat", program("", ""));
    let (profile, page) = (folder.path("profile.wprof"), folder.path("page.html"));
    for collect in ["cct", "edges"] {
        let run = ["run", "-q", "--collect", collect, "-o", &profile, &module];
        assert_eq!(command(&run).status().unwrap().code(), Some(321 % 256));
        wprof(&["report", &profile, "--html", &page]).succeeded();
        works(&page);
        let threads = &values(&page, "data")[0]["threads"];
        let callees = threads["callees"].as_array().expect("it had threads").iter();
        let top = callees.filter(|callee| callee["function"].is_null());
        let named =
            top.clone().filter(|callee| callee["name"].as_str().unwrap().starts_with("<thread ")).count();
        assert!(named == 3 && top.clone().any(|callee| callee["name"] == "<main thread>"), "{threads}");
    }
    // A program without threads has none to choose.
    wprof(&["report", &folder.count_profile(), "--html", &page]).succeeded();
    assert!(values(&page, "data")[0]["threads"].is_null());
}

#[test]
fn a_running_program_shows_all_its_threads() {
    let folder = Folder::new();
    let forever =
        "(if (i32.eq (local.get $arg) (i32.const 1)) (then (loop $on (call $add (i32.const 0)) (br $on))))";
    let (module, profile) = (folder.file("threads.wat", program(forever, "")), folder.path("f.wprof"));
    let _running = Running::start(&module, &profile);
    // The first thread runs on; the others, which call once each, have ended.
    let of_thread = |profile: &Profile, number: u32| {
        let mut threads = profile.threads.iter().filter(|thread| thread.number == number);
        threads.next().map(|thread| thread.cpu_ns)
    };
    let seen = || {
        let profile = Profile::read(&profile).ok()?;
        (1..=3).all(|number| of_thread(&profile, number).is_some()).then_some(profile)
    };
    let first = until(seen);
    assert_eq!(first.runs.len(), 1);
    let grown = |more: &Profile| more.ops() > first.ops() && of_thread(more, 1) > of_thread(&first, 1);
    let more = until(|| seen().filter(grown));
    assert_eq!(of_thread(&more, 3), of_thread(&first, 3));
}

#[test]
fn names_where_a_thread_traps_are_as_full_as_the_user_says() {
    let folder = Folder::new();
    let long = "(func $\"void std::vector<int, std::allocator<int>>::f(int)\" (export \"wasi_thread_start\")";
    let text = program("(i32.store (i32.const -1) (i32.const 0))", "");
    let module = folder.file("traps.wat", text.replace("(func (export \"wasi_thread_start\")", long));
    for (options, name) in [
        (&[][..], "  std::vector<int>::f(int)"),
        (&["--full-names"], "  void std::vector<int, std::allocator<int>>::f(int)"),
    ] {
        let output = command(&[options, &["run", "-q", &module]].concat()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn the_first_thread_that_exits_or_traps_ends_all() {
    let folder = Folder::new();
    // The others wait for what never comes.
    let waits = "(drop (memory.atomic.wait32 (i32.const 64) (i32.const 0) (i64.const -1)))";
    let first = |what: &str| format!("(if (i32.eq (local.get $arg) (i32.const 20)) (then {what})) {waits}");
    let module = folder.file("exits.wat", program(&first("(call $exit (i32.const 9))"), ""));
    assert_eq!(command(&["run", "-q", &module]).status().unwrap().code(), Some(9));
    let module = folder.file("traps.wat", program(&first("(i32.store (i32.const -1) (i32.const 0))"), ""));
    let output = command(&["run", "-q", &module]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(134), "{text}");
    assert!(text.contains("out of bounds memory access"), "{text}");
    // So it does where the main thread is in a loop that looks at nothing.
    let exits = "(if (i32.eq (local.get $arg) (i32.const 20)) (then (call $exit (i32.const 7))))";
    let text = program(exits, "").replace(
        "(func (export \"_start\") (local $left i32)",
        "(func (export \"_start\")
        (local $left i32) (call $start (i32.const 20)) (loop $forever (br $forever))",
    );
    let module = folder.file("loops.wat", text);
    for options in [&["--profile", "off"][..], &["--profile", "adaptive"], &["--exact"]] {
        let args = [&["run", "-q"], options, &[module.as_str()]].concat();
        assert_eq!(command(&args).status().unwrap().code(), Some(7), "{options:?}");
    }
    // The main thread ends while others are in a loop.
    let spins = "(if (i32.eq (local.get $arg) (i32.const 20)) (then
        (drop (i32.atomic.rmw.sub (i32.const 4) (i32.const 1)))
        (drop (memory.atomic.notify (i32.const 4) (i32.const 1))) (loop $forever (br $forever))))";
    let module = folder.file("spins.wat", program(spins, ""));
    let file = folder.path("profile.wprof");
    for options in
        [&["--profile", "off"][..], &["--profile", "adaptive", "-o", &file], &["--exact", "-o", &file]]
    {
        let args = [&["run", "-q"], options, &[module.as_str()]].concat();
        assert_eq!(command(&args).status().unwrap().code(), Some(301 % 256), "{options:?}");
    }
}

/// While one thread sleeps others write.
#[test]
fn threads_share_the_system_interface() {
    let folder = Folder::new();
    let sleeps = r#"(if (i32.eq (local.get $arg) (i32.const 20))
        (then
            (i64.store (i32.const 1048) (i64.const 50000000))
            (i32.store (i32.const 1040) (i32.const 1))
            (if (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 2100)) (then (unreachable)))
            (if (i32.ne (i32.load (i32.const 2100)) (i32.const 1)) (then (unreachable))))
        (else
            (if (call $write (i32.const 1) (i32.const 512) (i32.const 1)
                    (i32.add (i32.const 600) (i32.mul (i32.const 4) (local.get $number)))) (then (unreachable)))))"#;
    let text = program(sleeps, "");
    let data = r#"(data (i32.const 512) "\10\02\00\00\06\00\00\00") (data (i32.const 528) "hello\n")"#;
    let module =
        folder.file("shared.wat", text.replace("(export \"memory\"", &format!("{data} (export \"memory\"")));
    let output = command(&["run", "-q", &module]).output().unwrap();
    assert_eq!(output.status.code(), Some(321 % 256), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"hello\nhello\n");
    let missing =
        folder.file("missing.wat", "(module (import \"wasi\" \"thread-spawn\" (func (param i64))))");
    assert!(wprof(&["run", &missing]).failed().contains("thread-spawn"));
}

/// Each thread that has ended leaves nothing: the stacks of all of them would not fit into the address space.
#[test]
fn threads_one_after_another_take_the_room_of_one() {
    let folder = Folder::new();
    let module = folder.file(
        "many.wat",
        program("", "").replace("(local $left i32)", "(local $left i32) (local $n i32)").replace(
            "(call $start (i32.const 1)) (call $start (i32.const 20)) (call $start (i32.const 300))",
            "(loop $next
            (call $start (i32.const 1))
            (loop $ends (if (local.tee $left (i32.atomic.load (i32.const 4))) (then
                (drop (memory.atomic.wait32 (i32.const 4) (local.get $left) (i64.const -1))) (br $ends))))
            (br_if $next (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 2560))))",
        ),
    );
    for options in [&["--profile", "off"][..], &["--exact", "--max-threads", "64"]] {
        let script = "ulimit -v 16000000 && exec \"$0\" \"$@\"";
        let args =
            [&["-c", script, env!("CARGO_BIN_EXE_wprof"), "run", "-q"], options, &[module.as_str()]].concat();
        let output = std::process::Command::new("bash").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2560 % 256), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// As where the system has no more threads, the program goes on and decides what to do.
#[test]
fn a_thread_too_many_is_not_started() {
    let folder = Folder::new();
    let waits = "(drop (memory.atomic.wait32 (i32.const 64) (i32.const 0) (i64.const 2000000000)))";
    let module = folder.file("threads.wat", program(waits, ""));
    let code = |most: &str| command(&["run", "-q", "--max-threads", most, &module]).status().unwrap().code();
    assert_eq!(code("3"), Some(321 % 256));
    // The program traps if a thread is not started.
    assert_eq!(code("2"), Some(134));
    assert_eq!(code("0"), Some(134));
}

/// Counts in a function of its own, for a while.
const WORKS: &str = "(call $count (i32.mul (local.get $arg) (i32.const 10000)))";

fn working(in_main: &str) -> String {
    program(WORKS, in_main).replace(
        "(func $add",
        "(func $count (param $n i32)
            (loop $again (br_if $again (i32.gt_s (local.tee $n (i32.sub (local.get $n) (i32.const 1))) (i32.const 0)))))
        (func $add",
    )
}

#[test]
fn profiles_tell_threads_apart() {
    let folder = Folder::new();
    let module = folder.file("works.wat", working(""));
    let profile = folder.path("profile.wprof");
    let status = command(&["run", "-q", "--collect", "edges,cct", "-o", &profile, &module]).status().unwrap();
    assert_eq!(status.code(), Some(321 % 256));
    let found = json(&profile);
    let threads = found["threads"].as_array().unwrap();
    let numbers: Vec<u64> = threads.iter().map(|thread| thread["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let ops = |number: usize| threads[number]["ops"].as_u64().unwrap();
    assert!(20 * ops(1) > ops(2) && ops(2) > 10 * ops(1) && ops(3) > 10 * ops(2), "{threads:?}");
    assert_eq!((0..4).map(ops).sum::<u64>(), found["ops"].as_u64().unwrap());
    assert!(threads.iter().all(|thread| thread["cpu_ns"].as_u64().unwrap() > 0));
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("Threads") && report.contains("<main thread>") && report.contains("<thread 3>"));
    let tree =
        wprof(&["report", &profile, "--cct", "--by-thread", "--by", "calls", "--least", "0"]).succeeded();
    let line = |name: &str| tree.lines().position(|line| line.contains(name)).unwrap();
    assert!(
        line("<thread 3>") < line("wasi_thread_start") || line("<main thread>") < line("_start"),
        "{tree}"
    );
    let folded =
        wprof(&["export", "--to", "folded", "--by-thread", "--weight", "calls", &profile]).succeeded();
    assert!(folded.lines().any(|line| line.starts_with("<main thread>;")), "{folded}");
    assert!(folded.lines().any(|line| line.starts_with("<thread 2>;") && line.contains("count")), "{folded}");
    let whole = wprof(&["export", "--to", "folded", "--weight", "calls", &profile]).succeeded();
    assert!(!whole.contains("thread 2"), "only if asked for");
    assert!(wprof(&["export", "--to", "speedscope", &profile]).succeeded().contains("calls, <thread 1>"));
    assert!(wprof(&["report", &profile, "--html", "-"]).succeeded().contains("\\u003cthread 3>"));
    let both = folder.path("both.wprof");
    wprof(&["merge", &profile, &profile, "-o", &both]).succeeded();
    assert_eq!(json(&both)["threads"][3]["ops"].as_u64().unwrap(), 2 * ops(3));
    let alone = folder.file("alone.wat", "(module (func (export \"_start\")))");
    wprof(&["run", "-q", "--exact", "-o", &profile, &alone]).succeeded();
    assert!(wprof(&["report", &profile, "--cct", "--by-thread"]).failed().contains("threads apart"));
}

#[test]
fn each_thread_has_the_whole_budget() {
    let folder = Folder::new();
    let module = folder.file("works.wat", working(""));
    let run = |limit: &str| command(&["run", "-q", "--budget", limit, &module]).output().unwrap();
    // The thread with most work takes 300 times 10,000 rounds of seven instructions.
    let output = run("instructions=4000000");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(134), "{text}");
    assert!(
        text.contains("out of budget: 4,000,000 instructions were allowed") && text.contains("count"),
        "{text}"
    );
    // All of them together take more than the thread that takes most.
    let output = run("instructions=21800000");
    assert_eq!(output.status.code(), Some(321 % 256), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn each_thread_has_a_trace_of_its_own() {
    let folder = Folder::new();
    let module = folder.file("works.wat", program("", ""));
    let trace = folder.path("t.wtrace");
    let output = command(&["trace", "record", "-o", &trace, &module]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(321 % 256), "{text}");
    for number in 1..=3 {
        let file = folder.path(&format!("t.thread{number}.wtrace"));
        assert!(text.contains(&format!("t.thread{number}.wtrace")), "{text}");
        let ran = wprof(&["trace", "replay", &file]).succeeded();
        assert!(ran.contains("wasi_thread_start") && ran.contains("add"), "{ran}");
    }
    assert!(wprof(&["trace", "replay", &trace]).succeeded().contains("start"));
}

/// The calls of named functions in each thread but the main one, whose waiting depends on the others.
fn calls_by_thread(profile: &str) -> Vec<Vec<u64>> {
    let profile = Profile::read(profile).unwrap();
    let calls = |thread: &ThreadProfile, name: &str| {
        let index = profile.functions.iter().find(|f| f.name.as_deref() == Some(name)).unwrap().index;
        thread.functions.iter().find(|function| function.index == index).map_or(0, |function| function.calls)
    };
    let names = ["wasi_thread_start", "count", "add"];
    let of_thread = |thread: &ThreadProfile| names.map(|name| calls(thread, name)).to_vec();
    profile.threads.iter().filter(|thread| thread.number > 0).map(of_thread).collect()
}

#[test]
fn bursts_without_end_see_what_exact_counts_see_of_each_thread() {
    let folder = Folder::new();
    let module = folder.file("works.wat", working(""));
    let (exact, sampled, bursts) =
        (folder.path("exact.wprof"), folder.path("sampled.wprof"), folder.path("b.wbursts"));
    let ran = |options: &[&str], to: &str| {
        let run = [&["run", "-q"], options, &["-o", to, &module]].concat();
        assert_eq!(command(&run).status().unwrap().code(), Some(321 % 256), "{options:?}");
    };
    ran(&["--collect", "edges,cct"], &exact);
    ran(&["--profile", "adaptive", "--checks", "orig", "--burst", "1:inf", "--bursts", &bursts], &sampled);
    assert_eq!(calls_by_thread(&sampled), [[1, 1, 1]; 3]);
    assert_eq!(calls_by_thread(&sampled), calls_by_thread(&exact));
    // Together and apart, in text and for other tools.
    for profile in [&exact, &sampled] {
        let tree =
            wprof(&["report", profile, "--cct", "--by-thread", "--by", "calls", "--least", "0"]).succeeded();
        assert!((1..=3).all(|number| tree.contains(&format!("<thread {number}>"))), "{tree}");
        let folded = |more: &[&str]| {
            let export = ["export", "--to", "folded", "--weight", "calls"];
            wprof(&[&export, more, &[profile.as_str()]].concat()).succeeded()
        };
        let calls = |text: &str| -> u64 {
            let stacks = text.lines().filter_map(|line| line.rsplit_once(' '));
            let of_count = stacks.filter(|(stack, _)| stack.ends_with(";count"));
            of_count.map(|(_, calls)| calls.parse::<u64>().unwrap()).sum()
        };
        let (together, apart) = (folded(&[]), folded(&["--by-thread"]));
        assert_eq!((calls(&together), calls(&apart)), (3, 3), "{together}{apart}");
        let of_threads = apart.lines().filter(|line| line.starts_with("<thread ") && line.contains(";count"));
        assert_eq!(of_threads.count(), 3, "{apart}");
    }
    // Each thread has a file of its bursts beside that of the main thread.
    for number in 1..=3 {
        let text =
            wprof(&["trace", "bursts", &folder.path(&format!("b.thread{number}.wbursts"))]).succeeded();
        assert!(text.contains("enter count") && !text.contains("enter start"), "{text}");
    }
    let main = wprof(&["trace", "bursts", &bursts]).succeeded();
    assert!(main.contains("enter start") && !main.contains("enter count"), "{main}");
}

/// Timers count the processor time of their own thread, and the sum of all threads is the program's.
#[test]
fn samples_of_threads_add_up_to_those_of_the_program() {
    let folder = Folder::new();
    // The thread with most work takes 200 million rounds: on any processor many samples.
    let module = folder.file("works.wat", working("").replace("(i32.const 10000)", "(i32.const 700000)"));
    let path = folder.path("profile.wprof");
    for options in [&["--profile", "adaptive"][..], &["--profile", "adaptive", "--burst", "1000:10"]] {
        let run = [&["run", "-q", "-o", &path], options, &[module.as_str()]].concat();
        assert_eq!(command(&run).status().unwrap().code(), Some(321 % 256), "{options:?}");
        let profile = Profile::read(&path).unwrap();
        let samples = profile.time.as_ref().expect("sampled").total();
        let of_threads = profile.threads.iter().filter_map(ThreadProfile::sampled);
        let (count, time) = of_threads.fold((0, 0), |(n, ns), one| (n + one.samples, ns + one.time_ns));
        assert_eq!((count, time), (samples.samples, samples.time_ns), "{options:?}");
        let busiest = profile.threads.iter().find(|thread| thread.number == 3).expect("it ran");
        assert!(busiest.sampled().is_some_and(|one| one.samples > 0), "{options:?}");
        let report = wprof(&["report", &path]).succeeded();
        assert!(report.contains("<main thread>") && report.contains("<thread 3>"), "{report}");
        let folded =
            wprof(&["export", "--to", "folded", "--by-thread", "--weight", "time", &path]).succeeded();
        assert!(
            folded.lines().any(|line| line.starts_with("<thread 3>;") && line.contains("count")),
            "{folded}"
        );
    }
}
