//! Whole program paths: they tell what the trace tells, and what is hot in them is found without expanding them.

use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::ops::RangeInclusive;

use wprof_profiler::{
    BlockId, Compressor, PathItem, ReadLimits, ResidualError, SegmentResidual, Subpath, SubpathEnd,
    TraceEvent, TraceReader, WholePath,
};

use crate::rng::Rng;
use crate::trace_file::{example, write};
use crate::trace_machine::{random_program, run};

/// The whole path of a random run, and the run's events without those of the host.
fn whole(seed: u64, window: usize) -> (WholePath, Vec<TraceEvent>) {
    let (program, run) = example(seed, 12, 800);
    let bytes = write(&program, &run, u64::MAX);
    let mut reader = TraceReader::open(Cursor::new(&bytes[..])).unwrap();
    let events: Vec<TraceEvent> = reader.events_from(0).map(Result::unwrap).collect();
    let of_host = |event: &TraceEvent| matches!(event, TraceEvent::HostCall(..) | TraceEvent::HostReturn(..));
    let events = events.into_iter().filter(|event| !of_host(event)).collect();
    (WholePath::of_trace(&mut reader, window).unwrap(), events)
}

fn sequence(whole: &WholePath) -> Vec<PathItem> {
    whole.grammar().items().map(|item| whole.items()[item as usize]).collect()
}

/// The events that a sequence tells. What is live when the trace ends counts as unwound.
fn events_of(whole: &WholePath) -> Vec<TraceEvent> {
    let (mut events, mut frames) = (Vec::new(), Vec::new());
    for item in sequence(whole) {
        match item {
            PathItem::Enter(function) => {
                frames.push((function, BlockId::ENTRY));
                events.push(TraceEvent::Enter(function));
            }
            PathItem::Path { function, .. }
            | PathItem::Stopped { function, .. }
            | PathItem::Called { function, .. } => {
                let blocks = whole.blocks(item).expect("a path");
                let frame = frames.last_mut().expect("a frame");
                assert_eq!(frame.0, function);
                frame.1 = *blocks.last().expect("a path has a block");
                events.extend(blocks.iter().map(|&block| TraceEvent::Block(function, block)));
                if let PathItem::Stopped { block, .. } = item {
                    frames.pop();
                    events.push(TraceEvent::Unwound { function, block });
                }
            }
            PathItem::Leave => events.extend(frames.pop().map(|(function, _)| TraceEvent::Leave(function))),
            PathItem::Unwound => {
                let frame = frames.pop();
                events.extend(frame.map(|(function, block)| TraceEvent::Unwound { function, block }));
            }
        }
    }
    assert!(frames.is_empty());
    events
}

#[test]
fn every_block_is_told_in_order() {
    for seed in 0..80 {
        for window in [50, Compressor::WINDOW] {
            let (whole, events) = whole(seed, window);
            let told = events_of(&whole);
            assert_eq!(told[..events.len()], events, "seed {seed}");
            assert!(told[events.len()..].iter().all(|event| matches!(event, TraceEvent::Unwound { .. })));
        }
    }
}

#[test]
fn paths_end_at_calls_loops_and_returns() {
    let mut ends = HashSet::new();
    for seed in 0..40 {
        let whole = whole(seed, 1000).0;
        for pair in sequence(&whole).windows(2) {
            let Some(end) = whole.end_of(pair[0]) else { continue };
            ends.insert(end);
            let follows = match pair[1] {
                PathItem::Leave => end == SubpathEnd::Return || end == SubpathEnd::Call,
                PathItem::Enter(_) | PathItem::Unwound => end == SubpathEnd::Call,
                // The host's calls have no items.
                _ => end != SubpathEnd::Return,
            };
            assert!(follows, "{pair:?} {end:?}");
        }
    }
    assert_eq!(ends.len(), 3);
}

/// What a block costs.
fn cost(function: u32, block: BlockId) -> u64 {
    u64::from(function + 3 * block.0) % 7 + 1
}

fn cost_of(whole: &WholePath, items: &[PathItem]) -> u64 {
    let blocks = |&item: &PathItem| match item {
        PathItem::Enter(_) | PathItem::Leave | PathItem::Unwound => 0_u64,
        PathItem::Path { function, .. }
        | PathItem::Stopped { function, .. }
        | PathItem::Called { function, .. } => {
            whole.blocks(item).unwrap().iter().map(|&block| cost(function, block)).sum()
        }
    };
    items.iter().map(blocks).sum()
}

/// All parts of the sequence of so many paths, with how often they occur.
fn parts(items: &[PathItem], count: usize) -> HashMap<&[PathItem], u64> {
    let mut found = HashMap::new();
    let is_path = |item: &PathItem| matches!(item, PathItem::Path { .. } | PathItem::Called { .. });
    for at in (0..items.len()).filter(|&at| is_path(&items[at])) {
        let stops = |item: &PathItem| matches!(item, PathItem::Stopped { .. } | PathItem::Unwound);
        let whole = items[at..].iter().position(stops).map_or(items.len(), |stop| at + stop);
        let mut paths = (at..whole).filter(|&at| is_path(&items[at]));
        if let Some(last) = paths.nth(count - 1) {
            *found.entry(&items[at..=last]).or_default() += 1;
        }
    }
    found
}

/// By looking at every part of the sequence, shorter ones first.
fn hot_by_counting(whole: &WholePath, lengths: RangeInclusive<usize>, least: u64) -> Vec<Subpath> {
    let items = sequence(whole);
    let most = lengths.end() * 4;
    let mut found: Vec<Subpath> = Vec::new();
    for length in lengths {
        let mut hot: Vec<Subpath> = Vec::new();
        for (part, times) in parts(&items, length).into_iter().filter(|(part, _)| part.len() <= most) {
            let cost = cost_of(whole, part) * times;
            let has_hot = |hot: &Subpath| part.windows(hot.items.len()).any(|inner| inner == hot.items);
            if cost >= least && !found.iter().any(has_hot) {
                hot.push(Subpath { items: part.to_vec(), times, cost });
            }
        }
        found.extend(hot);
    }
    found.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.items.cmp(&b.items)));
    found
}

#[test]
fn minimal_hot_subpaths_are_those_of_the_expanded_sequence() {
    let mut lengths_seen = HashSet::new();
    for seed in 0..40 {
        for window in [40, Compressor::WINDOW] {
            let whole = whole(seed, window).0;
            let all = cost_of(&whole, &sequence(&whole));
            assert_eq!(whole.cost(cost), all);
            for (lengths, share) in [(2..=6, 20), (1..=4, 30), (3..=5, 50)] {
                let least = all / share;
                let found = whole.hot_subpaths(lengths.clone(), least, cost);
                assert_eq!(found, hot_by_counting(&whole, lengths, least), "seed {seed}");
                lengths_seen.extend(found.iter().map(|hot| hot.items.len()));
            }
        }
    }
    assert!(lengths_seen.len() > 4, "{lengths_seen:?}");
}

/// Windows are of equal cost but for their last paths, and each is at most `difference` from the phase that it joined.
#[test]
fn phases_divide_the_whole_run() {
    let mut counts = HashSet::new();
    for seed in 0..40 {
        let whole = whole(seed, 1000).0;
        let items = sequence(&whole);
        let all = cost_of(&whole, &items);
        for (windows, difference) in [(1, 0.5), (10, 0.1), (10, 0.7), (50, 0.7), (10, 2.0)] {
            let found = whole.phases(windows, difference, cost);
            assert!(found.windows.len() as u64 <= windows, "seed {seed}");
            let sum: u64 = found.phases.iter().map(|phase| phase.cost).sum();
            assert_eq!(sum, all, "seed {seed}");
            let mut by_path: HashMap<PathItem, u64> = HashMap::new();
            for (number, phase) in found.phases.iter().enumerate() {
                assert_eq!(phase.windows, found.windows.iter().filter(|&&of| of == number).count());
                assert_eq!(phase.paths.iter().map(|path| path.1).sum::<u64>(), phase.cost);
                assert!(phase.paths.is_sorted_by(|a, b| a.1 >= b.1));
                phase.paths.iter().for_each(|&(item, cost)| *by_path.entry(item).or_default() += cost);
            }
            let mut expected: HashMap<PathItem, u64> = HashMap::new();
            for &item in &items {
                let cost = cost_of(&whole, &[item]);
                if cost > 0 {
                    *expected.entry(item).or_default() += cost;
                }
            }
            assert_eq!(by_path, expected, "seed {seed}");
            // Phases are numbered as they begin.
            let mut begun = 0;
            for &phase in &found.windows {
                assert!(phase <= begun, "seed {seed}");
                begun = begun.max(phase + 1);
            }
            assert!(difference < 2.0 || found.phases.len() == 1, "nothing differs by more than everything");
            counts.insert(found.phases.len());
        }
    }
    assert!(counts.len() > 3, "{counts:?}");
}

/// As section 3.4.2 of the thesis has it, item by item.
fn segment_at(whole: &WholePath, items: &[PathItem], most: usize) -> Option<usize> {
    let calls_at = |at: usize| {
        let calls = whole.end_of(items[at]) == Some(SubpathEnd::Call);
        calls && matches!(items.get(at + 1), Some(PathItem::Enter(_)))
    };
    if !calls_at(0) {
        return None;
    }
    let (mut calls, mut depth) = (0, 0);
    for (at, &item) in items.iter().enumerate() {
        match item {
            PathItem::Stopped { .. } | PathItem::Unwound => return None,
            PathItem::Enter(_) => (calls, depth) = (calls + 1, depth + 1),
            PathItem::Leave if depth == 0 => return None,
            PathItem::Leave => depth -= 1,
            PathItem::Path { .. } | PathItem::Called { .. } => {
                let end = whole.end_of(item).unwrap();
                let returns = end == SubpathEnd::Return && depth == 0;
                if returns || end == SubpathEnd::Loop || calls == most && calls_at(at) {
                    return Some(at + 1);
                }
                if end == SubpathEnd::Call && at + 1 == items.len() {
                    return None;
                }
            }
        }
    }
    None
}

#[test]
fn segments_are_those_of_the_expanded_sequence() {
    let mut depths = [0; 4];
    for seed in 0..40 {
        let whole = whole(seed, 60).0;
        for (depth, count) in depths.iter_mut().enumerate().skip(1) {
            let expected = segments_by_counting(&whole, depth);
            let found = whole.segments(depth, cost);
            *count += found.len();
            let found: HashMap<_, _> = found.into_iter().map(|found| (found.items, found.times)).collect();
            assert_eq!(found, expected, "seed {seed}, depth {depth}");
            let mut in_order: HashMap<Vec<PathItem>, u64> = HashMap::new();
            whole.for_each_segment(depth, |items| *in_order.entry(items).or_default() += 1);
            assert_eq!(in_order, expected, "seed {seed}, depth {depth}");
        }
    }
    assert!(depths[1] > 50 && depths[3] > depths[1], "{depths:?}");
}

/// The segments of the whole sequence, with their counts.
fn segments_by_counting(whole: &WholePath, depth: usize) -> HashMap<Vec<PathItem>, u64> {
    let (items, mut found) = (sequence(whole), HashMap::new());
    for at in 0..items.len() {
        // One item more may be looked at.
        if let Some(length) = segment_at(whole, &items[at..], depth).filter(|&l| l < 8 * (depth + 1)) {
            *found.entry(items[at..at + length].to_vec()).or_default() += 1;
        }
    }
    found
}

/// Several runs of one random program.
fn runs_of_one_program(seed: u64, count: usize) -> Vec<WholePath> {
    let mut rng = Rng::new(seed);
    let program = random_program(&mut rng, 8);
    let mut one = || {
        let bytes = write(&program, &run(&program, &mut rng, 500), u64::MAX);
        let mut reader = TraceReader::open(Cursor::new(&bytes[..])).unwrap();
        WholePath::of_trace(&mut reader, 1000).unwrap()
    };
    (0..count).map(|_| one()).collect()
}

#[test]
fn untested_segments_are_those_that_no_test_has() {
    let (mut new, mut old, mut combined) = (0, 0, 0);
    for seed in 0..40 {
        let runs = runs_of_one_program(seed, 3);
        let (field, tests) = (&runs[0], &runs[1..]);
        let tested_paths: HashSet<PathItem> = tests.iter().flat_map(sequence).collect();
        for depth in 1..3 {
            let ran = segments_by_counting(field, depth);
            let tested = tests.iter().flat_map(|test| segments_by_counting(test, depth).into_keys());
            let tested: HashSet<Vec<PathItem>> = tested.collect();
            let found = field.untested_segments(tests, depth, cost).unwrap();
            assert_eq!(found.ran, ran.len() as u64, "seed {seed}");
            assert_eq!(found.executions, ran.values().sum::<u64>(), "seed {seed}");
            assert!(found.untested.is_sorted_by(|a, b| a.segment.times >= b.segment.times));
            let mut expected = ran.clone();
            expected.retain(|items, _| !tested.contains(items));
            assert_eq!(found.untested_executions(), expected.values().sum::<u64>(), "seed {seed}");
            for untested in &found.untested {
                let items = &untested.segment.items;
                let is_new =
                    |item: &&PathItem| field.end_of(**item).is_some() && !tested_paths.contains(item);
                let expected: HashSet<PathItem> = items.iter().filter(is_new).copied().collect();
                assert_eq!(untested.new_paths.len(), expected.len());
                assert_eq!(untested.new_paths.iter().copied().collect::<HashSet<_>>(), expected);
            }
            let by_items = |found: &SegmentResidual| -> HashMap<Vec<PathItem>, u64> {
                let all = found.untested.iter();
                all.map(|untested| (untested.segment.items.clone(), untested.segment.times)).collect()
            };
            assert_eq!(by_items(&found), expected, "seed {seed}, depth {depth}");
            new += expected.len();
            old += ran.len() - expected.len();
            combined += found.beyond_paths();
            let by_itself = field.untested_segments(&runs, depth, cost).unwrap();
            assert_eq!((by_itself.ran, by_itself.untested.len()), (found.ran, 0));
        }
    }
    assert!(new > 50 && old > 50 && combined > 10, "{new} new, {old} old, {combined} combined");
}

#[test]
fn segments_of_other_programs_are_not_compared() {
    let (one, other) = (runs_of_one_program(1, 1), runs_of_one_program(2, 1));
    let error = one[0].untested_segments(&other, 1, cost).unwrap_err();
    assert!(matches!(error, ResidualError::OtherShape { .. }), "{error}");
}

#[test]
fn a_file_is_read_back_and_damage_is_an_error() {
    let whole = whole(7, 300).0;
    let mut bytes = Vec::new();
    assert_eq!(whole.write(&mut bytes).unwrap(), bytes.len() as u64);
    let limits = ReadLimits::default();
    let read = |bytes: &[u8]| WholePath::read(Cursor::new(bytes), &limits);
    let back = read(&bytes).unwrap();
    assert_eq!((back.head(), back.items(), back.grammar()), (whole.head(), whole.items(), whole.grammar()));
    assert_eq!(events_of(&back), events_of(&whole));
    assert_eq!(back.ending(), whole.ending());
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "cut at {length}");
    }
    for byte in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 1 << (byte % 8);
        // A newer minor version may be read.
        assert!(read(&damaged).is_err() || byte == 10 || byte == 11, "bit flipped in byte {byte}");
    }
    let small = ReadLimits { unpacked_bytes: 100, ..limits };
    assert!(WholePath::read(Cursor::new(&bytes[..]), &small).is_err());
}
