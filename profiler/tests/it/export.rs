//! Exports against the profile that they are of: golden files of a small one, and totals, read back, of random ones.
//!
//! `UPDATE_EXPECT=1 cargo test` blesses the golden files. Readers that others wrote look at exports of real programs in
//! `cli/tests/it/export.rs`.

mod opentelemetry;
pub mod read_back;
mod sampled;

use std::collections::BTreeMap;

use arbtest::arbitrary::Unstructured;
use expect_test::expect_file;
use wprof_profiler::export::{
    CodeMap, Coverage, Differential, Frame, LineRow, Metric, PlaceInFunction, SampleProfile, Samples,
    SourceLine, Unit, executions, write_callgrind, write_chrome, write_cobertura, write_csv,
    write_differential_flamegraph, write_firefox, write_flamegraph, write_folded, write_lcov, write_pprof,
    write_speedscope,
};
use wprof_profiler::{BlockId, Callee, CodeRange, CodeVersion, FunctionCounts, FunctionProfile, Profile};

use crate::profile::{example_with_trap, profile_of, without_edges};
use crate::rng::Rng;
use crate::walk::{random_program, run};
use crate::{contexts, time, timeline};

/// Every instruction of the profile's functions at its own byte, from the start of its block on; four bytes a line, in
/// two files by turns.
fn code_map(profile: &Profile) -> CodeMap {
    let blocks = profile.functions.iter().flat_map(|function| &function.blocks);
    let instructions = blocks.flat_map(|block| block.code.start..block.code.start + block.ops);
    let end = profile.functions.iter().map(|function| function.code.end).max().unwrap_or(0);
    let row =
        |offset| LineRow { offset, line: Some(SourceLine { file: offset / 16 % 2, line: offset / 4 + 1 }) };
    CodeMap {
        files: vec!["src/a.c".to_owned(), "b \"&\" c.h".to_owned()],
        lines: (0..end).step_by(4).map(row).collect(),
        instructions: instructions.collect(),
        ..CodeMap::default()
    }
}

/// The example, a function that did not run, and names that formats must escape.
fn example() -> (Profile, CodeMap) {
    let mut profile = example_with_trap();
    let mut code = code_map(&profile);
    let idle = FunctionProfile {
        index: 3,
        name: None,
        counts: FunctionCounts::Edges(vec![0; profile.functions[0].edges.len()]),
        exits: Vec::new(),
        ..profile.functions[0].clone()
    };
    code.idle.push(idle);
    profile.functions[0].name = Some("operator<(a, \"b\"; c)".to_owned());
    (profile, code)
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// JSON, indented so that it can be read.
fn indented(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let value: serde_json::Value = serde_json::from_str(&text(write)).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn formats_of_stacks_are_as_they_were() {
    let (profile, code) = example();
    let (samples, timeline) = (Samples::new(&profile, &code), timeline::example());
    let metric = samples.metric(Some("calls")).unwrap();
    expect_file!["export/example.folded"].assert_eq(&text(|out| write_folded(&samples, metric, out)));
    expect_file!["export/example.svg"]
        .assert_eq(&text(|out| write_flamegraph(&samples, metric, "example", out)));
    let speedscope = indented(|out| write_speedscope(&samples, &profile.program, out));
    expect_file!["export/example.speedscope.json"].assert_eq(&speedscope);
    expect_file!["export/example.chrome.json"]
        .assert_eq(&indented(|out| write_chrome(&samples, Some(&timeline), out)));
    expect_file!["export/example.firefox.json"].assert_eq(&indented(|out| write_firefox(&samples, 5, out)));
    let mut pprof = Vec::new();
    write_pprof(&samples, &profile, &mut pprof).unwrap();
    expect_file!["export/example.pprof.txt"].assert_eq(&read_back::pprof(&pprof).to_text());
}

#[test]
fn formats_of_code_are_as_they_were() {
    let (profile, code) = example();
    let coverage = Coverage::new(&profile, &code);
    expect_file!["export/example.callgrind"].assert_eq(&text(|out| write_callgrind(&profile, &code, out)));
    expect_file!["export/example.lcov"].assert_eq(&text(|out| write_lcov(&coverage, out)));
    expect_file!["export/example.cobertura.xml"].assert_eq(&text(|out| write_cobertura(&coverage, 5, out)));
    expect_file!["export/example.csv"].assert_eq(&text(|out| write_csv(&profile, &code, out)));
}

/// Blocks where no two functions overlap.
fn spread_out(profile: &mut Profile) {
    for function in &mut profile.functions {
        let start = 1000 * function.index;
        function.code = CodeRange { start, end: start + 10 * function.blocks.len() as u32 };
        for (block, start) in function.blocks.iter_mut().zip((start..).step_by(10)) {
            block.code = CodeRange { start, end: start + 10 };
        }
    }
}

fn for_random_profiles(property: impl Fn(&Profile, &CodeMap)) {
    arbtest::arbtest(|u: &mut Unstructured<'_>| {
        let size = u.int_in_range(1..=15)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        let run = run(&program, &mut rng, 400);
        let mut profile = profile_of(&program, &run);
        spread_out(&mut profile);
        if u.arbitrary()? {
            profile = without_edges(&profile);
        }
        if u.arbitrary()? {
            profile.contexts = Some(contexts::log(&contexts::stacks(u)?).tree());
        }
        let code = if u.arbitrary()? { code_map(&profile) } else { CodeMap::default() };
        property(&profile, &code);
        Ok(())
    })
    .budget_ms(1500);
}

/// The total of a metric by the profile's own account.
fn total(profile: &Profile, metric: &str) -> u64 {
    let measured = profile.contexts.iter().find_map(|tree| {
        let column = tree.metrics.iter().position(|known| known.name == metric)?;
        Some(tree.amounts(column).iter().sum())
    });
    if let Some(total) = measured {
        return total;
    }
    let host: u64 = profile.host_calls.iter().map(|calls| calls.count).sum();
    match (metric, &profile.contexts) {
        ("calls", Some(tree)) => tree.calls().iter().sum(),
        ("calls", None) => profile.calls() + host,
        ("instructions", _) => profile.ops(),
        _ => profile.events.iter().find(|total| total.name == metric).unwrap().count,
    }
}

#[test]
fn totals_of_stacks_are_the_profiles() {
    for_random_profiles(|profile, code| {
        let samples = Samples::new(profile, code);
        let mut pprof = Vec::new();
        write_pprof(&samples, profile, &mut pprof).unwrap();
        let pprof = read_back::pprof(&pprof).totals();
        let speedscope = text(|out| write_speedscope(&samples, "p", out));
        let chrome = text(|out| write_chrome(&samples, Some(&timeline::example()), out));
        let firefox = text(|out| write_firefox(&samples, 0, out));
        let expected = |name: &str| (name.to_owned(), total(profile, name));
        let expected: Vec<_> = samples.metrics.iter().map(|metric| expected(&metric.name)).collect();
        assert_eq!(pprof, expected);
        assert_eq!(read_back::speedscope(&speedscope), expected);
        assert_eq!(read_back::chrome(&chrome), expected);
        assert_eq!(read_back::firefox(&firefox), expected);
        for (metric, (_, expected)) in samples.metrics.iter().zip(&expected) {
            let folded = text(|out| write_folded(&samples, metric, out));
            assert_eq!(read_back::folded(&folded), *expected);
        }
    });
}

#[test]
fn stacks_by_line_have_the_same_totals() {
    for_random_profiles(|profile, code| {
        let mut code = code.clone();
        let frame = |line| Frame {
            name: "inlined".to_owned(),
            place: Some(("i.h".to_owned(), line)),
            full_name: None,
        };
        let sites = profile.contexts.iter().flat_map(|tree| &tree.records).map(|record| record.site);
        for site in sites.filter(|site| site % 2 == 0) {
            code.inlined.insert(site, vec![frame(site), frame(site + 1)]);
            code.containing.insert(site, ("c.c".to_owned(), site));
        }
        let (samples, lines) = (Samples::new(profile, &code), Samples::by_line(profile, &code));
        let totals = |samples: &Samples| -> Vec<(String, u64)> {
            samples.metrics.iter().map(|metric| (metric.name.clone(), metric.total())).collect()
        };
        assert_eq!(totals(&lines), totals(&samples));
        let mut pprof = Vec::new();
        write_pprof(&lines, profile, &mut pprof).unwrap();
        let pprof = read_back::pprof(&pprof);
        assert_eq!(pprof.totals(), totals(&samples));
        // What is inlined is at the place of the function that contains it, not a caller of its own.
        let is_inlined = |caller: Option<u32>, metric: &Metric| {
            caller.is_some_and(|at| metric.nodes[at as usize].is_inlined)
        };
        let has_inlined = |metric: &Metric| {
            metric.nodes.iter().any(|node| node.weight > 0 && is_inlined(node.caller, metric))
        };
        let locations = pprof.lines_of_locations();
        assert!(!lines.metrics.iter().any(has_inlined) || locations.contains(&3));
        assert!(locations.iter().all(|&lines| lines == 1 || lines == 3));
    });
}

#[test]
fn executed_instructions_are_at_their_lines() {
    let (profile, code) = example();
    let samples = Samples::by_line(&profile, &code);
    let metric = samples.metric(Some("instructions")).unwrap();
    let mut expected: BTreeMap<(String, u32), u64> = BTreeMap::new();
    for row in profile.functions.iter().flat_map(|function| executions(function, &code)) {
        let line = code.line_at(row.offset).unwrap();
        *expected.entry((code.file(line).to_owned(), line.line)).or_default() += row.ops;
    }
    let mut found: BTreeMap<(String, u32), u64> = BTreeMap::new();
    for node in metric.nodes.iter().filter(|node| node.weight > 0) {
        *found.entry(samples.frames[node.frame as usize].place.clone().unwrap()).or_default() += node.weight;
    }
    expected.retain(|_, ops| *ops > 0);
    assert_eq!(found, expected);
}

/// Figures of the outermost frames of a flame graph, as tooltips have them: after, and before.
fn outermost(svg: &str) -> (u64, f64) {
    let (_, frames) = svg.split_once("</text>").unwrap();
    let row =
        |frame: &str| frame.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse::<u64>().unwrap();
    let frames: Vec<&str> = frames.split("<g data-x").skip(1).collect();
    let lowest = frames.iter().map(|frame| row(frame)).max();
    let figures = |frame: &&str| {
        let title = frame.split("</title>").next().unwrap();
        let (head, before) = title.rsplit_once(", before ").unwrap();
        let after = head.rsplit_once(" (").unwrap().0.rsplit_once(' ').unwrap().1;
        (after.parse::<u64>().unwrap(), before.parse::<f64>().unwrap())
    };
    let outer = frames.iter().filter(|frame| Some(row(frame)) == lowest).map(figures);
    outer.fold((0, 0.0), |sum, found| (sum.0 + found.0, sum.1 + found.1))
}

#[test]
fn differences_have_the_totals_of_both_profiles() {
    for_random_profiles(|profile, code| {
        let samples = Samples::new(profile, code);
        let metric = samples.metric(None).unwrap();
        let same = Differential::new((&samples, metric), (&samples, metric), 1.0);
        let svg = text(|out| write_differential_flamegraph(&same, "", out));
        let total = metric.total();
        assert_eq!(same.samples.metrics[0].total(), total);
        assert_eq!(same.total_before(), total as f64);
        if (1..10_000).contains(&total) {
            assert_eq!(outermost(&svg), (total, total as f64), "{svg}");
        }
        let halved = Differential::new((&samples, metric), (&samples, metric), 0.5);
        assert_eq!(halved.total_before(), total as f64 / 2.0);
    });
}

#[test]
fn differences_are_coloured_and_what_is_gone_is_counted() {
    let (after, code) = example();
    let mut before = after.clone();
    before.contexts =
        Some(contexts::log(&[vec![(0, 0)], vec![(0, 0), (1, 1)], vec![(0, 0), (1, 1)], vec![(3, 0)]]).tree());
    let (samples, earlier) = (Samples::new(&after, &code), Samples::new(&before, &code));
    let [of_samples, of_earlier] = [&samples, &earlier].map(|of| of.metric(Some("calls")).unwrap());
    let changes = Differential::new((&samples, of_samples), (&earlier, of_earlier), 1.0);
    assert_eq!(changes.total_before(), of_earlier.total() as f64);
    expect_file!["export/example.changes.svg"]
        .assert_eq(&text(|out| write_differential_flamegraph(&changes, "example", out)));
}

#[test]
fn contexts_are_whole_stacks() {
    for_random_profiles(|profile, code| {
        let Some(tree) = &profile.contexts else { return };
        let samples = Samples::new(profile, code);
        let folded = text(|out| write_folded(&samples, samples.metric(Some("calls")).unwrap(), out));
        let mut expected = Vec::new();
        for (record, index) in tree.records.iter().zip(0..).skip(1).filter(|(record, _)| record.calls > 0) {
            let (mut stack, mut at): (Vec<String>, u32) = (Vec::new(), index);
            while at != 0 {
                let routine = tree.records[at as usize].routine;
                let Callee::Function { index, .. } = tree.routines[routine as usize].callee else {
                    panic!("only functions call here");
                };
                stack.insert(0, format!("f{index}"));
                at = tree.records[at as usize].parent;
            }
            expected.push(format!("{} {}", stack.join(";"), record.calls));
        }
        assert_eq!(folded.lines().collect::<Vec<_>>(), expected);
    });
}

#[test]
fn instructions_add_up_to_their_blocks() {
    for_random_profiles(|profile, code| {
        for function in &profile.functions {
            let rows = executions(function, code);
            let (counts, ops) = (function.block_counts(), function.block_ops());
            for (block, (count, ops)) in function.blocks.iter().zip(counts.into_iter().zip(ops)) {
                let in_block =
                    || rows.iter().filter(|row| (block.code.start..block.code.end).contains(&row.offset));
                assert_eq!(in_block().map(|row| row.ops).sum::<u64>(), ops);
                let mut counted = in_block().map(|row| row.count);
                assert!(counted.clone().is_sorted_by(|a, b| a >= b) && counted.all(|found| found <= count));
            }
        }
        let callgrind = text(|out| write_callgrind(profile, code, out));
        assert_eq!(read_back::callgrind(&callgrind).sums, [profile.ops(), profile.calls()]);
        let csv = text(|out| write_csv(profile, code, out));
        let host: u64 = profile.host_calls.iter().map(|calls| calls.count).sum();
        assert_eq!(read_back::csv(&csv), [profile.ops(), profile.calls() + host]);
    });
}

/// The time of each function, and of each function with what it calls, is that of the sampled stacks.
#[test]
fn time_by_function_is_that_of_the_stacks() {
    let (mut profile, code) = example();
    arbtest::arbtest(|u: &mut Unstructured<'_>| {
        profile.time = Some(time::log(&time::stacks(u)?));
        let time = profile.time.as_ref().unwrap();
        if time.total().samples == 0 {
            return Ok(());
        }
        let found = read_back::callgrind(&text(|out| write_callgrind(&profile, &code, out)));
        assert_eq!(found.sums, [time.total().time_ns, profile.ops(), profile.calls()]);
        let csv = text(|out| write_csv(&profile, &code, out));
        let sum = |at: usize| -> u64 {
            csv.lines().skip(1).map(|row| row.rsplit(',').nth(at).unwrap().parse::<u64>().unwrap_or(0)).sum()
        };
        assert_eq!([sum(12), sum(9)], [time.total().time_ns, time.total().samples]);
        for routine in time.routines() {
            let name = match routine.callee {
                Callee::Function { index, .. } => profile.function(*index).and_then(|f| f.name.clone()),
                _ => None,
            };
            let name = name.unwrap_or_else(|| routine.callee.to_string());
            assert_eq!(found.own.get(&name).copied().unwrap_or(0), routine.own.time_ns, "{name}");
            let calls = found.calls.iter().filter(|((caller, _), _)| *caller == name);
            let with_callees = routine.own.time_ns + calls.map(|(_, time_ns)| time_ns).sum::<u64>();
            assert!(with_callees <= routine.total.time_ns, "{name}");
            let is_recursive =
                |at: usize| time.stack(at).skip(1).any(|above| time.callee(above) == time.callee(at));
            if !(0..time.nodes.len()).any(is_recursive) {
                assert_eq!(with_callees, routine.total.time_ns, "{name}");
            }
        }
        Ok(())
    })
    .budget_ms(800);
}

/// What is inlined at a place has the time there, in its own file and line.
#[test]
fn inlined_functions_are_called_in_callgrind() {
    let (mut profile, mut code) = example();
    profile.time = Some(time::log(&[(vec![(9, 40)], 2), (vec![(9, 0), (4, 0)], 1)]));
    let frame = |name: &str, line| Frame {
        name: name.to_owned(),
        place: Some(("inlined.h".to_owned(), line)),
        full_name: None,
    };
    code.inlined.insert(40, vec![frame("inner", 7), frame("outer", 8)]);
    code.containing.insert(40, ("own.c".to_owned(), 9));
    let written = text(|out| write_callgrind(&profile, &code, out));
    let found = read_back::callgrind(&written);
    let own =
        ["f9", "outer", "inner", "wasi::fd_write"].map(|name| found.own.get(name).copied().unwrap_or(0));
    assert_eq!(own, [0, 0, 8_000_000, 4_000_000], "{written}");
    let call = |caller: &str, callee: &str| found.calls[&(caller.to_owned(), callee.to_owned())];
    assert_eq!(call("f9", "outer"), 8_000_000);
    assert_eq!([call("outer", "inner"), call("f9", "wasi::fd_write")], [8_000_000, 4_000_000]);
    assert!(written.contains("\n0x28 7 8000000 0 0\n"), "{written}");
    assert!(written.contains("\ncalls=1 0x0 0\n0x28 9 8000000 0 0\n"), "{written}");
}

#[test]
fn coverage_has_all_calls_and_ways() {
    for_random_profiles(|profile, code| {
        let coverage = Coverage::new(profile, code);
        if code.lines.is_empty() {
            return assert_eq!(coverage, Coverage::default());
        }
        let calls = coverage.files.iter().flat_map(|file| file.functions.values());
        assert_eq!(calls.sum::<u64>(), profile.calls());
        let ran = |function: &FunctionProfile| {
            executions(function, code)
                .into_iter()
                .filter(|row| row.count > 0)
                .map(|row| code.line_at(row.offset))
        };
        let ran: std::collections::BTreeSet<_> = profile.functions.iter().flat_map(ran).collect();
        assert_eq!(coverage.files.iter().map(|file| file.lines_hit()).sum::<usize>(), ran.len());
        let lcov = text(|out| write_lcov(&coverage, out));
        let has_ways = profile.functions.iter().all(FunctionProfile::has_edge_counts);
        assert_eq!(read_back::lcov_branches(&lcov), if has_ways { branch_counts(profile) } else { 0 });
    });
}

/// How often control left blocks that have instructions and several ways out.
fn branch_counts(profile: &Profile) -> u64 {
    let of = |function: &FunctionProfile| -> u64 {
        let is_branch =
            |from: BlockId| function.out_edges(from).count() > 1 && function.blocks[from.index()].ops > 0;
        function.counted_edges().filter(|(edge, _)| is_branch(edge.from)).map(|(_, count)| count).sum()
    };
    profile.functions.iter().map(of).sum()
}

#[test]
fn a_writer_that_refuses_is_an_error() {
    let (profile, code) = example();
    let samples = Samples::new(&profile, &code);
    let coverage = Coverage::new(&profile, &code);
    let mut none: [u8; 0] = [];
    assert!(write_folded(&samples, &samples.metrics[0], &mut none[..]).is_err());
    assert!(write_pprof(&samples, &profile, &mut none[..]).is_err());
    assert!(write_firefox(&samples, 0, &mut none[..]).is_err());
    assert!(write_lcov(&coverage, &mut none[..]).is_err());
    assert!(write_callgrind(&profile, &code, &mut none[..]).is_err());
}

#[test]
fn inlined_lines_stand_below_the_line_of_the_call() {
    let place = |function: &str, line, discriminator| PlaceInFunction {
        function: function.to_owned(),
        line,
        discriminator,
    };
    let mut profile = SampleProfile::default();
    assert!(profile.is_empty());
    profile.add_calls("main", 1);
    profile.add_instruction(&[place("main", 2, 0)], 7);
    profile.add_instruction(&[place("main", 2, 0)], 9);
    profile.add_instruction(&[place("leaf", 1, 0), place("middle", 3, 0), place("main", 4, 0)], 20);
    profile.add_instruction(&[place("middle", 5, 0), place("main", 4, 0)], 2);
    profile.add_instruction(&[place("leaf", 0x1_0001, 0)], 100);
    profile.add_instruction(&[], 5);
    let expected = "leaf:100:0\n 1: 100\nmain:31:1\n 2: 9\n 4: middle:22\n  5: 2\n  3: leaf:20\n   1: 20\n";
    assert_eq!(text(|out| profile.write(out)), expected);
}

#[test]
fn ways_through_a_line_and_targets_of_calls_are_told_apart() {
    let place = |discriminator| [PlaceInFunction { function: "f".to_owned(), line: 3, discriminator }];
    let mut profile = SampleProfile::default();
    // As LLVM encodes 2; the same with a copy's number behind it; none with such a number; 70, which takes two parts.
    for (discriminator, count) in [(4, 10), (4 | 3 << 8, 12), (1 | 3 << 2, 5), (0x14c, 1)] {
        profile.add_instruction(&place(discriminator), count);
    }
    profile.add_targets(&place(4), "callee", 8);
    profile.add_targets(&place(4), "callee", 1);
    profile.add_targets(&place(4), "another", 3);
    let expected = "f:18:0\n 3: 5\n 3.2: 12 another:3 callee:9\n 3.70: 1\n";
    assert_eq!(text(|out| profile.write(out)), expected);
}

/// Readers want spans of a thread to be one in the other, or one behind the other.
#[test]
fn what_was_compiled_at_the_same_time_is_on_threads_of_its_own() {
    let mut timeline = timeline::example();
    let at = |began_ns| CodeVersion { began_ns, ..timeline.versions[1].clone() };
    timeline.versions = vec![at(1_000), at(21_000), at(21_500), at(41_001)];
    let samples = Samples::new(&Profile::default(), &CodeMap::default());
    let text = text(|out| write_chrome(&samples, Some(&timeline), out));
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let versions = events.iter().filter(|event| event["name"] == "main");
    let found = versions.map(|event| (event["tid"].as_u64().unwrap(), event["ts"].as_f64().unwrap()));
    assert_eq!(found.collect::<Vec<_>>(), [(2, 1.0), (2, 21.5), (3, 21.0), (3, 41.001)]);
}

#[test]
fn exporters_have_time_first_with_what_is_inlined() {
    let mut profile = crate::profile::example();
    // Of f0, whose code at 20 is that of an inlined function, which itself calls f1, and the engine.
    profile.time = Some(time::log(&[
        (vec![(0, 20)], 2),
        (vec![(0, 20), (1, 5)], 3),
        (vec![(0, 10), (0, 20), (0, 30)], 1),
        (vec![(0, 10), (5, 0)], 4),
    ]));
    let mut code = CodeMap::default();
    code.inlined.insert(
        20,
        vec![Frame {
            name: "inner".to_owned(),
            place: Some(("a.c".to_owned(), 7)),
            full_name: Some("void inner<int>()".to_owned()),
        }],
    );
    let samples = Samples::new(&profile, &code);
    assert_eq!((samples.metrics[0].name.as_str(), samples.metrics[0].unit), ("time", Unit::Nanoseconds));
    let mut folded = Vec::new();
    write_folded(&samples, samples.metric(None).unwrap(), &mut folded).unwrap();
    let lines: BTreeMap<String, u64> = String::from_utf8(folded)
        .unwrap()
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(stack, weight)| (stack.to_owned(), weight.parse().unwrap()))
        .collect();
    let expected = [
        ("f0", 4_000_000),
        ("f0;<wprof itself>", 16_000_000),
        ("f0;inner", 8_000_000),
        ("f0;inner;f1", 12_000_000),
    ];
    assert_eq!(lines, expected.map(|(stack, weight)| (stack.to_owned(), weight)).into());
    let mut speedscope = Vec::new();
    write_speedscope(&samples, "p", &mut speedscope).unwrap();
    let speedscope: serde_json::Value = serde_json::from_slice(&speedscope).unwrap();
    assert_eq!(speedscope["profiles"][0]["unit"], "nanoseconds");
    assert_eq!(speedscope["profiles"][0]["endValue"], 40_000_000);
    let mut pprof = Vec::new();
    write_pprof(&samples, &profile, &mut pprof).unwrap();
    let totals = read_back::pprof(&pprof).totals();
    assert_eq!(totals[0], ("time".to_owned(), 40_000_000));
}
