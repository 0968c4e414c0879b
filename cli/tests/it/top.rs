//! `wprof top`: looks at programs while they run, its own and others'.

use std::process::{Command, Stdio};
use std::time::Duration;

use wprof_profiler::{Ending, Profile};

use super::interrupt::{FOREVER, send, start};
use super::readers::foreign;
use super::{Folder, command, json, program, until, wprof};

/// Takes a while, by calls and loops that bursts see; `main` is what WASI runs.
const BUSY: &str = r#"(module
  (memory (export "memory") 1)
  (func $work (param $n i32) (result i32)
    (local $sum i32)
    (loop $again
      (local.set $sum (i32.xor (local.get $sum) (i32.mul (local.get $n) (i32.const 7))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    local.get $sum)
  (func $main (export "_start")
    (local $round i32)
    (local.set $round (i32.const ROUNDS))
    (loop $again
      (drop (call $work (i32.const 100000)))
      (br_if $again (local.tee $round (i32.sub (local.get $round) (i32.const 1)))))))"#;

/// About a tenth of a second each on any machine of these years.
fn busy(folder: &Folder, rounds: u32) -> String {
    folder.file("busy.wat", BUSY.replace("ROUNDS", &rounds.to_string()))
}

/// A program that is being run for others to follow, killed in the end.
pub struct Running(std::process::Child);

impl Running {
    pub fn start(module: &str, profile: &str) -> Self {
        Self::start_at_rate("1000", module, profile)
    }

    fn start_at_rate(rate: &str, module: &str, profile: &str) -> Self {
        let mode = ["run", "-q", "--profile", "adaptive", "--rate", rate];
        let run = [&mode[..], &["--live", "20ms", "-o", profile, module]].concat();
        let child = command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_program_has_a_profile_that_grows() {
    let folder = Folder::new();
    let (module, profile) = (busy(&folder, 10_000_000), folder.path("f.wprof"));
    let _running = Running::start(&module, &profile);
    let seen = || Profile::read(&profile).ok().filter(|profile| profile.ops() > 0);
    let first = until(seen);
    assert_eq!(first.runs[0].ending, Ending::Running);
    assert_eq!(first.runs[0].args, ["busy.wat"]);
    let more = until(|| seen().filter(|more| more.ops() > first.ops()));
    assert!(more.runs[0].wall_ns > first.runs[0].wall_ns);
    assert!(more.timeline.is_some_and(|timeline| !timeline.bursts.is_empty()));
    let report = wprof(&["report", &profile]).succeeded();
    assert!(report.contains("still running") && report.contains("work"), "{report}");
}

#[test]
fn somebody_elses_program_is_followed() {
    let shown = followed("off");
    assert_eq!(shown.matches("busy.wat still running after ").count(), 3, "{shown}");
    assert_eq!(shown.matches("instructions/s").count(), 3, "{shown}");
    let share = |text: &str| text.trim_start_matches('>').trim_end_matches('%').parse::<f64>().unwrap();
    // On a busy machine the program may not have run in one of the intervals.
    let is_hot = |row: &str| {
        let figures: Vec<&str> = row.split_whitespace().collect();
        let ops: u64 = figures[1].replace(',', "").parse().unwrap();
        share(figures[0]) > 90.0 && share(figures[3]) > 90.0 && ops > 1_000_000
    };
    assert!(shown.lines().filter(|line| line.ends_with("  work")).any(is_hot), "{shown}");
    assert!(!shown.contains('\x1b'), "{shown}");
}

/// Snapshots take the program's thread some time, too.
#[test]
fn somebody_elses_program_is_followed_by_time() {
    let shown = followed("1000");
    let rows: Vec<&str> = shown.lines().filter(|line| line.ends_with("  work")).collect();
    let hottest = rows.last().expect("it is shown");
    let share = hottest.split_whitespace().next().and_then(|share| share.strip_suffix('%'));
    assert!(share.and_then(|share| share.parse::<f64>().ok()).is_some_and(|share| share > 50.0), "{shown}");
    assert!(hottest.contains(" ms ") || hottest.contains(" s "), "{hottest}");
}

/// What three looks at a program show that is sampled so often.
fn followed(rate: &str) -> String {
    let folder = Folder::new();
    let (module, profile) = (busy(&folder, 10_000_000), folder.path("f.wprof"));
    let _running = Running::start_at_rate(rate, &module, &profile);
    until(|| Profile::read(&profile).ok().filter(|profile| profile.ops() > 0));
    wprof(&["top", "--follow", &profile, "--looks", "3", "-n", "5"]).succeeded()
}

#[test]
fn a_program_that_has_ended_is_looked_at_once() {
    let folder = Folder::new();
    let profile = folder.count_profile();
    let shown = wprof(&["top", "--follow", &profile]).succeeded();
    assert_eq!(shown.matches("exited with code 0 after ").count(), 1, "{shown}");
    assert!(wprof(&["top", "--follow", &folder.path("none")]).failed().contains("wprof run --live"));
    let other = folder.file("other.wprof", "text");
    assert!(wprof(&["top", "--follow", &other]).failed().contains("not a wprof profile"));
}

#[test]
fn a_program_that_is_started_has_its_own_output_and_exit_code() {
    let folder = Folder::new();
    let (module, profile) = (program("json"), folder.path("f.wprof"));
    let alone = wprof(&["run", "-q", &module, "20", "2"]);
    let top = wprof(&["top", "--every", "10ms", "-o", &profile, &module, "20", "2"]);
    assert_eq!((top.code, &top.out), (alone.code, &alone.out), "{top:?}");
    assert!(top.err.contains("json.wasm exited with code 0 after "), "{}", top.err);
    assert_ne!(Profile::read(&profile).unwrap().runs[0].ending, Ending::Running);
    // What goes wrong is said, and a trap is one.
    let trapped = wprof(&["top", &program("crash"), "unreachable", "3"]);
    assert!(trapped.code == Some(134) && trapped.err.contains("unreachable"), "{trapped:?}");
    let missing = wprof(&["top", &folder.path("none.wasm")]);
    assert!(missing.code == Some(1) && missing.err.contains("none.wasm"), "{missing:?}");
}

#[test]
fn a_program_that_runs_for_ever_is_stopped_after_some_looks() {
    let folder = Folder::new();
    let module = busy(&folder, 0);
    let top = wprof(&["top", "--every", "20ms", "--looks", "2", &module]);
    assert_eq!(top.code, Some(128 + 9), "{top:?}");
    assert!(top.err.matches("still running").count() >= 2, "{top:?}");
}

#[test]
fn a_signal_to_top_alone_stops_the_program_and_keeps_its_profile() {
    let folder = Folder::new();
    let (module, profile) = (folder.file("forever.wat", FOREVER), folder.path("f.wprof"));
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let top = start(&["top", "-o", &profile, &module]);
        std::thread::sleep(Duration::from_millis(200));
        send(signal, &top);
        let output = top.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(json(&profile)["runs"][0]["ending"]["how"], "interrupted");
    }
}

#[test]
fn on_a_terminal_each_look_takes_the_place_of_the_last() {
    let folder = Folder::new();
    let (module, profile) = (busy(&folder, 10_000_000), folder.path("f.wprof"));
    let _running = Running::start(&module, &profile);
    until(|| Profile::read(&profile).ok().filter(|profile| profile.ops() > 0));
    let wprof = env!("CARGO_BIN_EXE_wprof");
    let line = format!("stty rows 12 cols 60; exec {wprof} top --follow {profile} --looks 2");
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env_remove("NO_COLOR");
    let Some(output) = foreign(&mut terminal) else { return };
    let shown = String::from_utf8(output.stdout).unwrap();
    let (first, second) = shown.split_once("\x1b[J").expect("the screen is cleared from there");
    let (first, up) = first.rsplit_once("\x1b[").unwrap();
    let lines = first.lines().count();
    assert_eq!(up, format!("{lines}F"), "{shown:?}");
    assert!(lines < 12 && second.contains("work"), "{shown:?}");
    assert!(shown.contains("\x1b[1m"), "a terminal has colours: {shown:?}");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let hello = program("hello");
    for args in [
        &["run", "--exact", "--live", "1s", "-o", "f", &hello][..],
        &["run", "--profile", "exact", "--live", "1s", "-o", "f", &hello],
    ] {
        assert!(wprof(args).failed().contains("leave out --live"), "{args:?}");
    }
    for args in [
        &["run", "--profile", "adaptive", "--live", "1s", &hello][..],
        &["top"],
        &["top", "--follow", "f", &hello],
    ] {
        assert_eq!(wprof(args).code, Some(2), "{args:?}");
    }
}
