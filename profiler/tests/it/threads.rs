//! Threads against the profiles that they were made of, and in the formats of other tools.

use std::collections::BTreeMap;

use wprof_profiler::export::{
    CodeMap, Metric, Samples, write_chrome, write_firefox, write_folded, write_pprof, write_speedscope,
};
use wprof_profiler::{Callee, Collector, Profile, ThreadProfile};

use crate::profile::{example, profile_of};
use crate::rng::Rng;
use crate::walk::{random_program, run};
use crate::{contexts, export, time};

/// The profile of a thread with this number, with random stacks of time and of calls.
fn of_thread(number: u32, rng: &mut Rng, program: &[crate::walk::Function]) -> Profile {
    let mut profile = profile_of(program, &run(program, rng, 200));
    let stack = |rng: &mut Rng| (0..1 + rng.below(4)).map(|_| (rng.below(6) as u32, 10)).collect();
    let stacks: Vec<(time::Stack, u64)> = (0..6).map(|_| (stack(rng), 1 + rng.below(9) as u64)).collect();
    profile.time = Some(time::log(&stacks));
    let mut bytes = vec![0; 400];
    bytes.iter_mut().for_each(|byte| *byte = rng.next() as u8);
    let stacks = contexts::stacks(&mut arbtest::arbitrary::Unstructured::new(&bytes)).unwrap();
    profile.contexts = Some(contexts::log(&stacks).tree());
    profile.threads = vec![ThreadProfile::new(number, 1000 + u64::from(number), &profile)];
    profile
}

/// Three threads, and the sum of their profiles.
fn threads(seed: u64) -> ([Profile; 3], Profile) {
    let mut rng = Rng::new(seed);
    let program = random_program(&mut rng, 6);
    let all = [0, 1, 7].map(|number| of_thread(number, &mut rng, &program));
    let mut sum = all[0].clone();
    all[1..].iter().for_each(|other| sum.merge(other).unwrap());
    sum.verify().unwrap();
    (all, sum)
}

#[test]
fn a_sum_tells_its_threads_apart_and_is_read_back() {
    for seed in 0..30 {
        let (all, sum) = threads(seed);
        assert!(sum.has_threads() && !all[0].has_threads());
        assert_eq!(sum.threads.iter().map(|thread| thread.number).collect::<Vec<_>>(), [0, 1, 7]);
        for (thread, of) in sum.threads.iter().zip(&all) {
            assert_eq!((thread.ops(), thread.calls()), (of.ops(), of.calls()));
            assert_eq!((&thread.time, &thread.contexts), (&of.time, &of.contexts));
        }
        let together = sum.threads.iter().map(ThreadProfile::ops).sum::<u64>();
        assert_eq!((together, Profile::from_bytes(&sum.to_bytes().unwrap()).unwrap()), (sum.ops(), sum));
    }
}

#[test]
fn threads_of_two_runs_add_up_by_number_and_are_unknown_without_those_of_one() {
    let ([main, first, _], whole) = threads(3);
    let mut twice = whole.clone();
    twice.merge(&whole).unwrap();
    let cpu = |profile: &Profile| profile.threads.iter().map(|thread| thread.cpu_ns).collect::<Vec<_>>();
    assert_eq!((cpu(&whole), cpu(&twice)), (vec![1000, 1001, 1007], vec![2000, 2002, 2014]));
    assert_eq!(twice.threads[0].ops(), 2 * main.ops());
    let without = Profile { threads: Vec::new(), ..main };
    let mut sum = without.clone();
    sum.merge(&first).unwrap();
    assert_eq!((sum.threads.len(), sum.by_thread()), (0, None));
    // What the sum does not have, its threads do not have either.
    let mut untimed = whole.clone();
    untimed.merge(&Profile { time: None, contexts: None, ..first }).unwrap();
    assert!(untimed.threads.iter().all(|thread| thread.time.is_none() && thread.contexts.is_none()));
}

#[test]
fn threads_from_some_number_on_are_one() {
    let profile = example();
    let late = [300, ThreadProfile::MOST, u32::MAX].map(|number| ThreadProfile::new(number, 5, &profile));
    assert!(late.iter().all(|thread| thread.number == ThreadProfile::MOST));
    let names = [0, 3, ThreadProfile::MOST].map(|number| Callee::Thread { number }.to_string());
    assert_eq!(names, ["<main thread>", "<thread 3>", "<threads from 256 on>"]);
}

/// The weights of a metric by the outermost frame.
fn by_root(samples: &Samples, metric: &Metric) -> BTreeMap<String, u64> {
    let mut folded = Vec::new();
    write_folded(samples, metric, &mut folded).unwrap();
    let mut sums = BTreeMap::new();
    for line in String::from_utf8(folded).unwrap().lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let root = stack.split(';').next().unwrap().to_owned();
        *sums.entry(root).or_default() += weight.parse::<u64>().unwrap();
    }
    sums
}

#[test]
fn stacks_begin_with_threads_that_have_the_weights_of_their_profiles() {
    for seed in 0..20 {
        let (all, sum) = threads(seed);
        let by_thread = sum.by_thread().unwrap();
        let names = ["<main thread>", "<thread 1>", "<thread 7>"];
        let samples = Samples::new(&by_thread, &CodeMap::default());
        for metric in ["time", "calls", "m"] {
            let of_thread = |profile: &Profile| {
                Samples::new(profile, &CodeMap::default()).metric(Some(metric)).map_or(0, Metric::total)
            };
            let mut expected: BTreeMap<String, u64> =
                names.iter().map(|name| (*name).to_owned()).zip(all.iter().map(of_thread)).collect();
            expected.retain(|_, weight| *weight > 0);
            assert_eq!(by_root(&samples, samples.metric(Some(metric)).unwrap()), expected, "{metric}");
        }
        // Without contexts and time, threads call what they ran.
        let flat = Profile { contexts: None, time: None, ..sum };
        let flat = Profile { threads: flat.threads.clone(), ..flat };
        let samples = Samples::new(&flat.by_thread().unwrap(), &CodeMap::default());
        let metric = samples.metric(Some("instructions")).unwrap();
        assert_eq!(metric.total(), flat.ops());
        assert_eq!(by_root(&samples, metric).get("<thread 7>").copied().unwrap_or(0), all[2].ops());
    }
}

#[test]
fn formats_with_threads_have_each_with_its_name() {
    let (_, sum) = threads(5);
    let by_thread = sum.by_thread().unwrap();
    let samples = Samples::new(&by_thread, &CodeMap::default());
    let names = ["<main thread>", "<thread 1>", "<thread 7>"];
    let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        serde_json::from_slice::<serde_json::Value>(&out).unwrap()
    };
    let list = |value: &serde_json::Value, field: &str, has: &dyn Fn(&serde_json::Value) -> bool| {
        let all = value[field].as_array().unwrap().iter();
        all.filter(|found| has(found)).cloned().collect::<Vec<_>>()
    };
    let timed = |part: &serde_json::Value| part["name"].as_str().unwrap().starts_with("time, ");
    let speedscope = text(&|out| write_speedscope(&samples, "p", out));
    let firefox = text(&|out| write_firefox(&samples, 0, out));
    for parts in [list(&speedscope, "profiles", &timed), list(&firefox, "threads", &timed)] {
        let found: Vec<&str> = parts.iter().map(|part| &part["name"].as_str().unwrap()[6..]).collect();
        assert_eq!(found, names);
    }
    let ids: Vec<u64> =
        list(&firefox, "threads", &|_| true).iter().map(|t| t["tid"].as_u64().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    let chrome = text(&|out| write_chrome(&samples, None, out));
    let named = |event: &serde_json::Value| event["name"] == "thread_name" && event["pid"] == 1;
    let found = list(&chrome, "traceEvents", &named);
    assert_eq!(found.iter().map(|event| event["args"]["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let mut pprof = Vec::new();
    write_pprof(&samples, &sum, &mut pprof).unwrap();
    let pprof = export::read_back::pprof(&pprof);
    let labels = pprof.labels();
    assert!(labels.iter().all(|(key, _)| key == "thread"));
    assert!(names.iter().all(|name| labels.iter().any(|(_, text)| text == name)), "{labels:?}");
    assert!(!pprof.to_text().contains("<thread"), "a thread is no function");
    let whole = Samples::new(&sum, &CodeMap::default());
    let totals = |samples: &Samples| samples.metrics.iter().map(Metric::total).collect::<Vec<_>>();
    // Beside time stands the number of its samples.
    let mut found = pprof.totals();
    found.retain(|(name, _)| name != "samples");
    assert_eq!(found.into_iter().map(|(_, total)| total).collect::<Vec<_>>(), totals(&samples));
    assert_eq!(totals(&whole), totals(&samples), "nothing is lost");
}

#[test]
fn the_work_of_collectors_adds_up_and_is_read_back() {
    let of = |collections, longest_ns| {
        Some(Collector { collections, paused_ns: 10 * collections, longest_ns, live: 5 })
    };
    let mut profile = Profile { collector: of(3, 4), ..example() };
    profile.merge(&Profile { collector: of(2, 9), ..example() }).unwrap();
    let expected = Collector { collections: 5, paused_ns: 50, longest_ns: 9, live: 10 };
    assert_eq!(profile.collector, Some(expected));
    // Readers of older versions would take time that has the collector for damaged.
    let mut log = wprof_profiler::TimeLog::new(100);
    let samples = wprof_profiler::Timed { time_ns: 7, samples: 1 };
    log.add(None, (&Callee::Collector, 0, false), samples);
    profile.time = Some(log.tree());
    let bytes = profile.to_bytes().unwrap();
    assert_eq!(Profile::from_bytes(&bytes).unwrap(), profile);
    let has = |tag: &[u8]| bytes.windows(4).any(|found| found == tag);
    assert!(has(b"SMPC") && has(b"GARB") && !has(b"SMPL"));
    profile.merge(&example()).unwrap();
    assert_eq!(profile.collector, None, "of one run it is unknown");
}
