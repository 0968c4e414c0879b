//! Time lines: kept by files, lost by sums, and the speed that they tell.

use wprof_profiler::{
    Benefit, BurstSpan, CodeDecision, CodeTier, CodeVersion, DecisionKind, InvalidProfile, Profile, Timeline,
};

use crate::profile::example_with_trap;

/// Two versions of a function, the second by what a profile told, and three bursts.
pub fn example() -> Timeline {
    let first = CodeVersion {
        function: 2,
        name: Some("main".to_owned()),
        tier: CodeTier::Baseline,
        began_ns: 1_500,
        took_ns: 20_000,
        bytes: 300,
        bytes_before: None,
        decisions: Vec::new(),
        benefit: Benefit::default(),
    };
    let decision = |kind, text: &str| CodeDecision { offset: 13, kind, text: text.to_owned() };
    let second = CodeVersion {
        tier: CodeTier::Reoptimized,
        began_ns: 2_000_000,
        bytes: 200,
        bytes_before: Some(300),
        decisions: vec![
            decision(
                DecisionKind::Superblock,
                "superblock of 3 blocks, 1 of them copied, 60.0% of the function",
            ),
            decision(DecisionKind::Declined, "<leaf> not inlined: it is nested deep enough"),
            decision(
                DecisionKind::Predicted,
                "predicted: 12.5% less work; 30.0 joins fewer per 1000 instructions",
            ),
        ],
        benefit: Benefit { predicted: Some(125_000), measured: Some(-20_000) },
        ..first.clone()
    };
    let burst = |began_ns, checks| BurstSpan { began_ns, took_ns: 10_000, checks };
    let bursts = vec![burst(1_000_000, 100), burst(2_000_000, 300), burst(2_500_000, 700)];
    Timeline { versions: vec![first, second], bursts }
}

fn with_timeline() -> Profile {
    Profile { timeline: Some(example()), ..example_with_trap() }
}

#[test]
fn a_file_keeps_it() {
    let profile = with_timeline();
    assert_eq!(Profile::from_bytes(&profile.to_bytes().unwrap()).unwrap(), profile);
    let has_section = |profile: &Profile| profile.to_bytes().unwrap().windows(4).any(|tag| tag == b"TIME");
    assert!(has_section(&profile) && !has_section(&example_with_trap()));
}

#[test]
fn two_runs_have_none() {
    let mut sum = with_timeline();
    sum.merge(&with_timeline()).unwrap();
    assert_eq!(sum.timeline, None);
}

#[test]
fn it_is_in_the_order_of_time() {
    let mut profile = with_timeline();
    profile.timeline.as_mut().unwrap().versions.reverse();
    let unsorted = InvalidProfile::Unsorted { list: "events of the time line" };
    assert_eq!(profile.verify(), Err(unsorted));
    profile.normalize();
    assert_eq!(profile, with_timeline());
}

#[test]
fn speed_is_checks_passed_from_burst_to_burst() {
    assert_eq!(example().checks_per_ms(), [(2_000_000, 200.0), (2_500_000, 800.0)]);
    let mut at_once = example();
    at_once.bursts.iter_mut().for_each(|burst| burst.began_ns = 7);
    assert_eq!(at_once.checks_per_ms(), []);
}
