//! Messages for OpenTelemetry, and exporters that make them from time to time.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wprof_profiler::Profile;
use wprof_profiler::export::{CodeMap, Origin, ProfileExporter, Samples, write_folded, write_otlp};

use super::{example, for_random_profiles, read_back, text, total};

/// Profiles of several origins.
fn of_tenants() -> Vec<(Origin, Samples, Profile)> {
    let (profile, code) = example();
    let origin = |tenant: &str| Origin::new([("service.name", "plug-ins"), ("tenant", tenant)]);
    let span = Some(([7; 16], [9; 8]));
    [origin("ada"), Origin { span, ..origin("bob") }]
        .map(|origin| (origin, Samples::new(&profile, &code), profile.clone()))
        .to_vec()
}

#[test]
fn a_message_for_opentelemetry_has_each_origin_with_its_stacks() {
    let all = of_tenants();
    let mut bytes = Vec::new();
    write_otlp(all.iter().map(|(origin, samples, profile)| (origin, samples, profile)), &mut bytes).unwrap();
    let found = read_back::otlp(&bytes);
    assert_eq!(found.len(), 2);
    for (found, (origin, samples, profile)) in found.iter().zip(&all) {
        assert_eq!(found.labels, origin.labels);
        let expected: Vec<_> =
            samples.metrics.iter().map(|metric| (metric.name.clone(), metric.total())).collect();
        assert_eq!(found.totals(), expected);
        assert!(found.profiles.iter().all(|profile| profile.span == origin.span));
        // The stacks are those of the folded ones, which begin at the other end.
        for (metric, found) in samples.metrics.iter().zip(&found.profiles) {
            let folded = text(|out| write_folded(samples, metric, out));
            let mut stacks: Vec<String> = found
                .stacks
                .iter()
                .map(|(stack, weight)| {
                    let names: Vec<String> = stack.iter().rev().map(|name| name.replace(';', ":")).collect();
                    format!("{} {weight}", names.join(";"))
                })
                .collect();
            stacks.sort();
            let mut lines: Vec<&str> = folded.lines().collect();
            lines.sort_unstable();
            assert_eq!(stacks, lines);
        }
        assert_eq!(found.profiles[0].started_ns / 1_000_000_000, profile.runs[0].started);
    }
}

#[test]
fn totals_for_opentelemetry_are_the_profiles() {
    for_random_profiles(|profile, code| {
        let (origin, samples) = (Origin::default(), Samples::new(profile, code));
        let mut bytes = Vec::new();
        write_otlp([(&origin, &samples, profile)], &mut bytes).unwrap();
        let expected: Vec<_> = samples
            .metrics
            .iter()
            .map(|metric| (metric.name.clone(), total(profile, &metric.name)))
            .collect();
        assert_eq!(read_back::otlp(&bytes)[0].totals(), expected);
    });
}

#[test]
fn an_exporter_gives_what_came_since_it_was_asked_last() {
    let mut exporter = ProfileExporter::new(2);
    let all = of_tenants();
    for (origin, _, profile) in all.iter().chain(&all[..1]) {
        exporter.add(origin.clone(), profile).unwrap();
    }
    let too_many = Origin::new([("tenant", "cyd")]);
    exporter.add(too_many, &all[0].2).unwrap();
    assert_eq!(exporter.dropped(), 1);
    let files = exporter.clone().take_pprof().unwrap();
    assert_eq!(files.len(), 2);
    let found = read_back::otlp(&exporter.take_otlp().unwrap());
    let instructions = |at: usize| {
        let totals = found[at].totals();
        totals.iter().find(|(name, _)| name == "instructions").unwrap().1
    };
    assert_eq!(
        (found[0].labels.clone(), found[1].labels.clone()),
        (all[0].0.labels.clone(), all[1].0.labels.clone())
    );
    assert_eq!(instructions(0), 2 * all[0].2.ops(), "ada had two");
    assert_eq!(instructions(1), all[1].2.ops());
    let of_file = read_back::pprof(&files[0].1).totals();
    assert!(of_file.contains(&("instructions".to_owned(), instructions(0))));
    assert!(exporter.is_empty() && read_back::otlp(&exporter.take_otlp().unwrap()).is_empty());
}

#[test]
fn files_of_an_exporter_have_the_labels_of_their_origins() {
    let (profile, _) = example();
    let mut exporter = ProfileExporter::new(2);
    let of_ada = Origin::new([("tenant", "ada"), ("instance", "7")]);
    let of_bob = Origin::new([("tenant", "bob")]).in_span([0xab; 16], [1; 8]);
    exporter.add(of_ada.clone(), &profile).unwrap();
    exporter.add(of_bob.clone(), &profile).unwrap();
    let files = exporter.take_pprof().unwrap();
    assert_eq!(files.iter().map(|(origin, _)| origin).collect::<Vec<_>>(), [&of_ada, &of_bob]);
    let labels = |at: usize| -> BTreeSet<(String, String)> {
        let all = read_back::pprof(&files[at].1).labels();
        all.into_iter().filter(|(name, _)| name != "thread").collect()
    };
    let expected = |labels: &[(&str, &str)]| -> BTreeSet<(String, String)> {
        labels.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    };
    assert_eq!(labels(0), expected(&[("tenant", "ada"), ("instance", "7")]));
    let (trace, span) = ("ab".repeat(16), "01".repeat(8));
    assert_eq!(labels(1), expected(&[("tenant", "bob"), ("trace_id", &trace), ("span_id", &span)]));
}

#[test]
fn an_exporter_that_knows_the_code_gives_its_lines() {
    let (profile, code) = example();
    let origin = Origin::new([("tenant", "ada")]);
    let taken = |known: bool| {
        let mut exporter = ProfileExporter::new(1);
        exporter.add(origin.clone(), &profile).unwrap();
        let mut other = exporter.clone();
        let mut asked = 0;
        let mut code_of = |of: &Profile| {
            asked += 1;
            assert_eq!(of.module_hash, profile.module_hash);
            if known { code.clone() } else { CodeMap::default() }
        };
        let file = exporter.take_pprof_with(&mut code_of).unwrap().swap_remove(0).1;
        let message = other.take_otlp_with(&mut code_of).unwrap();
        assert_eq!(asked, 2);
        (read_back::pprof(&file), read_back::otlp(&message).swap_remove(0), message)
    };
    let ((file, message, bytes), (plain_file, plain_message, plain_bytes)) = (taken(true), taken(false));
    assert_eq!((file.totals(), message.totals()), (plain_file.totals(), plain_message.totals()));
    let source = code.files[0].as_bytes();
    let has_source = |bytes: &[u8]| bytes.windows(source.len()).any(|part| part == source);
    assert!(has_source(&bytes) && !has_source(&plain_bytes));
    assert!(file.to_text().contains(&code.files[0]) && !plain_file.to_text().contains(&code.files[0]));
}

/// An embedder's profiles, which have no runs, are of the time since the export before.
#[test]
fn what_does_not_say_when_it_was_taken_is_of_the_time_since_the_export_before() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let second = 1_000_000_000;
    let mut all = of_tenants();
    all[0].2.runs.clear();
    let before = now();
    let mut exporter = ProfileExporter::new(2);
    for _ in 0..2 {
        for (origin, _, profile) in &all {
            exporter.add(origin.clone(), profile).unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
        let file = exporter.clone().take_pprof().unwrap().swap_remove(0).1;
        let found = read_back::otlp(&exporter.take_otlp().unwrap());
        let of_embedder = &found[0].profiles[0];
        let times = [(of_embedder.started_ns, of_embedder.duration_ns), read_back::pprof(&file).time()];
        for (started, duration) in times {
            // A start is in whole seconds.
            assert!((before / second * second..=now()).contains(&started), "{started} {before}");
            assert!((2_000_000..=now() - before).contains(&duration), "{duration}");
        }
        assert_eq!(found[1].profiles[0].started_ns, all[1].2.runs[0].started * second, "it says when");
    }
}

/// Reads a message as the generated parser of OpenTelemetry does; gives `service.name`, start, duration, unit, weight and the
/// first stack of each profile.
const PARSER: &str = "
import sys
try:
    from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
except ImportError:
    sys.exit('skipped: the Python package opentelemetry-proto is not installed')
data = ProfilesData.FromString(sys.stdin.buffer.read())
names = data.dictionary
for resource in data.resource_profiles:
    labels = {label.key: label.value.string_value for label in resource.resource.attributes}
    for profile in resource.scope_profiles[0].profiles:
        kind = names.string_table[profile.sample_type.type_strindex]
        weight = sum(sum(sample.values) for sample in profile.samples)
        depth = max(len(names.stack_table[sample.stack_index].location_indices) for sample in profile.samples)
        print(labels['tenant'], kind, profile.time_unix_nano, profile.duration_nano, weight, depth)
";

#[test]
fn the_parser_of_opentelemetry_reads_what_exporters_make() {
    let mut all = of_tenants();
    all[0].2.runs.clear();
    let mut exporter = ProfileExporter::new(2);
    for (origin, _, profile) in &all {
        exporter.add(origin.clone(), profile).unwrap();
    }
    let message = exporter.take_otlp().unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", PARSER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = python.spawn() else {
        eprintln!("skipped: python3 is not installed");
        return;
    };
    // A parser that is not there reads nothing.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), &message);
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    if complaint.starts_with("skipped: ") {
        eprint!("{complaint}");
        return;
    }
    assert!(output.status.success(), "{complaint}");
    let expected: String = read_back::otlp(&message)
        .iter()
        .zip(["ada", "bob"])
        .flat_map(|(found, tenant)| {
            found.profiles.iter().zip(found.totals()).map(move |(profile, (metric, total))| {
                let depth = profile.stacks.iter().map(|(stack, _)| stack.len()).max().unwrap();
                let (started, duration) = (profile.started_ns, profile.duration_ns);
                assert!(started > 0, "{tenant}: {metric}");
                format!("{tenant} {metric} {started} {duration} {total} {depth}\n")
            })
        })
        .collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
