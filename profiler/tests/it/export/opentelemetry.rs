//! Messages for OpenTelemetry, and exporters that make them from time to time.

use wprof_profiler::Profile;
use wprof_profiler::export::{Origin, ProfileExporter, Samples, write_folded, write_otlp};

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
