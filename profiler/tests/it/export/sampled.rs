//! Exports of samples: each format says that counts are those of a part of the run, and adds no exact count to them.

use serde_json::Value;
use wprof_profiler::export::{
    CodeMap, Origin, Samples, write_chrome, write_cpuprofile, write_firefox, write_otlp, write_pprof,
    write_speedscope,
};
use wprof_profiler::{FigureKind, Profile, Rate, ThreadProfile};

use super::{indented, read_back};
use crate::profile::{example, example_with_trap};
use crate::time;

const RATE: FigureKind = FigureKind::Sampled { rate: Rate { counted: 1, of: 32 } };
const SAMPLE: &str = "a sample of 3.125% of the run";

/// A sample in bursts whose contexts were not counted; the host was called 3 times in all of the run.
fn sampled() -> Profile {
    let mut profile = example();
    profile.functions[0].kind = RATE;
    profile.time = Some(time::log(&[(vec![(2, 10)], 3)]));
    profile
}

fn samples(profile: &Profile) -> Samples {
    Samples::new(profile, &CodeMap::default())
}

/// By metric: its name, its total, and whether it is a sample.
fn totals(samples: &Samples) -> Vec<(&str, u64, bool)> {
    let metrics = samples.metrics.iter();
    metrics.map(|metric| (metric.name.as_str(), metric.total(), metric.sampled.is_some())).collect()
}

#[test]
fn exact_calls_to_the_host_are_not_added_to_a_sample() {
    let profile = sampled();
    let (calls, ops) = (profile.calls(), profile.ops());
    let found = samples(&profile);
    let expected = [("instructions", ops, true), ("calls", calls, true), ("host-calls", 3, false)];
    assert_eq!(totals(&found)[1..4], expected);
    let exact = samples(&Profile { contexts: None, ..example() });
    assert_eq!(totals(&exact)[..2], [("instructions", ops, false), ("calls", calls + 3, false)]);
    // The sum of a sample and an exact profile is neither.
    let mut sum = sampled();
    sum.functions[0].kind = FigureKind::Derived;
    assert_eq!(totals(&samples(&sum))[2..4], [("calls", calls, false), ("host-calls", 3, false)]);
}

#[test]
fn exact_calls_to_the_host_are_not_added_to_sampled_contexts() {
    let mut profile = example_with_trap();
    profile.functions[0].kind = RATE;
    let tree = profile.contexts.as_mut().unwrap();
    tree.kind = RATE;
    let calls: u64 = tree.calls().iter().sum();
    let samples = samples(&profile);
    let found: Vec<_> = totals(&samples).into_iter().filter(|(name, ..)| name.ends_with("calls")).collect();
    assert_eq!(found, [("calls", calls, true), ("host-calls", 3, false)]);
}

#[test]
fn exact_calls_to_the_host_are_not_added_to_sampled_threads() {
    let mut profile = Profile { time: None, ..sampled() };
    profile.threads = [0, 1].map(|number| ThreadProfile::new(number, 1, &profile)).to_vec();
    let samples = samples(&profile.by_thread().unwrap());
    let found: Vec<_> = totals(&samples).into_iter().filter(|(name, ..)| name.ends_with("calls")).collect();
    assert_eq!(found, [("calls", 2 * profile.calls(), true), ("host-calls", 3, false)]);
}

#[test]
fn every_format_says_that_counts_are_a_sample() {
    let profile = sampled();
    let samples = samples(&profile);
    let value = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let expected = [
        "time",
        &format!("instructions ({SAMPLE})"),
        &format!("calls ({SAMPLE})"),
        "host-calls",
        "fuel",
        "loads",
    ];
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let speedscope = value(indented(|out| write_speedscope(&samples, "p", out)));
    assert_eq!(names(&speedscope["profiles"]), expected);
    let firefox = value(indented(|out| write_firefox(&samples, 0, out)));
    assert_eq!(names(&firefox["threads"]), expected);
    let chrome = value(indented(|out| write_chrome(&samples, None, out)));
    let labels =
        chrome["traceEvents"].as_array().unwrap().iter().filter(|event| event["name"] == "process_labels");
    let labels: Vec<_> =
        labels.map(|event| (event["pid"].as_u64(), event["args"]["labels"].as_str())).collect();
    assert_eq!(labels, [(Some(2), Some(SAMPLE)), (Some(3), Some(SAMPLE))]);
    let mut pprof = Vec::new();
    write_pprof(&samples, &profile, &mut pprof).unwrap();
    let comments = ["instructions", "calls"].map(|metric| format!("{metric}: {SAMPLE}, not scaled up"));
    assert_eq!(read_back::pprof(&pprof).comments()[1..], comments);
    let mut otlp = Vec::new();
    write_otlp([(&Origin::default(), &samples, &profile)], &mut otlp).unwrap();
    let found = read_back::otlp(&otlp).swap_remove(0).profiles;
    let shares: Vec<_> = found.iter().map(|found| (found.metric.as_str(), found.sampled_share)).collect();
    let (told, none) = (Some(1.0 / 32.0), None);
    let metrics = ["time", "instructions", "calls", "host-calls", "fuel", "loads"];
    assert_eq!(shares, metrics.into_iter().zip([none, told, told, none, none, none]).collect::<Vec<_>>());
    let cpuprofile = |metric: &str| {
        let metric = samples.metric(Some(metric)).unwrap();
        value(indented(|out| write_cpuprofile(&samples, metric, out)))["$wprof"]["sample"].clone()
    };
    assert_eq!([cpuprofile("calls"), cpuprofile("time")], [Value::from(SAMPLE), Value::Null]);
}

#[test]
fn time_in_pprof_has_its_number_of_samples() {
    let profile = sampled();
    let mut pprof = Vec::new();
    write_pprof(&samples(&profile), &profile, &mut pprof).unwrap();
    let totals = read_back::pprof(&pprof).totals();
    let expected = [("time", 12_000_000), ("samples", 3), ("instructions", profile.ops())];
    assert_eq!(totals[..3], expected.map(|(name, total)| (name.to_owned(), total)));
}
