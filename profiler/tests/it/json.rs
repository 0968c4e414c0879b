//! The JSON shape, which must not change. `UPDATE_EXPECT=1 cargo test` blesses it.

use expect_test::expect_file;
use wprof_profiler::{Ending, FigureKind, LineFigures, Profile, Rate, Run, Timed};

use crate::profile::example_with_trap;
use crate::time;

#[test]
fn the_shape_is_stable() {
    let mut profile = example_with_trap();
    let endings = [Ending::Exited { code: 3 }, Ending::Interrupted, Ending::OutOfBudget, Ending::Running];
    profile.runs.extend(endings.map(|ending| Run { ending, ..Run::default() }));
    profile.host_calls[0].kind = FigureKind::Sampled { rate: Rate { counted: 1, of: 20 } };
    profile.normalize();
    expect_file!["profile.json"].assert_eq(&profile.to_json());
}

#[test]
fn counts_beyond_doubles_are_exact() {
    let mut profile = Profile::default();
    profile.host_calls.push(crate::profile::host_calls("f", u64::MAX - 1));
    assert!(profile.to_json().contains("18446744073709551614"));
}

#[test]
fn the_line_and_the_indented_text_say_the_same() {
    let (profile, mut line) = (example_with_trap(), Vec::new());
    profile.write_json(&mut line).unwrap();
    let parse = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(&line), parse(profile.to_json().as_bytes()));
    assert!(!line.contains(&b'\n'));
}

#[test]
fn sampled_figures_have_intervals_and_loops_their_time() {
    let mut profile = example_with_trap();
    let value = |profile: &Profile| serde_json::from_str::<serde_json::Value>(&profile.to_json()).unwrap();
    assert_eq!(value(&profile)["functions"][0].get("share"), None);
    profile.functions[0].kind = FigureKind::Sampled { rate: Rate { counted: 1, of: 20 } };
    profile.bursts = Some(10);
    // The header of the loop is at 0. What it calls is in its total.
    profile.time = Some(time::log(&[(vec![(2, 0)], 3), (vec![(2, 0), (5, 0)], 1)]));
    let found = value(&profile);
    let is_between = |part: &serde_json::Value| {
        let [least, share, most] = ["least", "share", "most"].map(|field| part[field].as_f64().unwrap());
        least < share && share < most
    };
    let own = &found["time"]["routines"][0]["own"];
    assert_eq!((&own["samples"], &own["share"]), (&3.into(), &0.75.into()));
    assert!(is_between(own), "{own}");
    let in_loop = &found["time"]["loops"][0];
    assert_eq!((&in_loop["function"], &in_loop["header"]), (&2.into(), &0.into()));
    assert_eq!((&in_loop["own"]["samples"], &in_loop["total"]["samples"]), (&3.into(), &4.into()));
    // The only function has all instructions, and the interval lies below.
    let share = &found["functions"][0]["share"];
    assert!(share["share"] == 1.0 && share["least"].as_f64() < Some(1.0), "{share}");
}

#[test]
fn lines_have_shares_of_all_time_or_instructions() {
    let mut profile = example_with_trap();
    profile.time = Some(time::log(&[(vec![(2, 0)], 3), (vec![(2, 0), (5, 0)], 1)]));
    let timed = |samples: u64| Timed { samples, time_ns: 1_000_000 * samples };
    let lines = [
        LineFigures { file: "a.c".to_owned(), line: 7, time: Some((timed(1), timed(2))), ops: None },
        LineFigures { file: "a.c".to_owned(), line: 9, time: None, ops: Some(40) },
    ];
    let mut text = Vec::new();
    profile.write_json_with_lines(&lines, &mut text).unwrap();
    let found = serde_json::from_slice::<serde_json::Value>(&text).unwrap();
    let [first, second] = [0, 1].map(|at| &found["lines"][at]);
    assert_eq!((&first["file"], &first["line"], first.get("ops")), (&"a.c".into(), &7.into(), None));
    let own = &first["time"]["own"];
    let expected = 1e6 / found["time"]["time_ns"].as_f64().unwrap();
    assert_eq!((&own["samples"], own["share"].as_f64()), (&1.into(), Some(expected)));
    assert!(own["most"].as_f64() > own["share"].as_f64() && first["time"]["total"]["samples"] == 2);
    assert_eq!((&second["ops"], second.get("time")), (&40.into(), None));
    assert!(serde_json::from_str::<serde_json::Value>(&profile.to_json()).unwrap().get("lines").is_none());
}
