//! The JSON shape, which must not change. `UPDATE_EXPECT=1 cargo test` blesses it.

use expect_test::expect_file;
use wprof_profiler::{Ending, FigureKind, Profile, Rate, Run};

use crate::profile::example_with_trap;

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
