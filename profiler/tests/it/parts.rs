//! Profiles of core modules are joined, and taken apart again.

use wprof_profiler::{
    CallRecord, CallTarget, Callee, CodeStats, ContextLog, FigureKind, Joining, ModulePart, Profile, Routine,
    TimeLog, Timed,
};

use crate::profile::{example, example_with_trap};

/// Where the second module's functions and code begin.
const FUNCTIONS: u32 = 100;
const OFFSETS: u32 = 5000;

fn parts() -> Vec<ModulePart> {
    let part = |name: &str, number: u32| ModulePart {
        name: name.to_owned(),
        module_hash: [number as u8 + 1; 32],
        first_function: number * FUNCTIONS,
        first_offset: 8 + number * OFFSETS,
        code: CodeStats { functions: 9, ..CodeStats::default() },
    };
    vec![part("main", 0), part("lib", 1), part("idle", 2)]
}

fn named(index: u32) -> Callee {
    Callee::Function { index, name: Some(format!("f{index}")) }
}

/// A run in which function 1 of instance 4 calls function 2 of instance 5 at byte 30, and that one function 3 of instance 6
/// at byte 20, as instance 4 sees it.
fn run(profile: Profile) -> Profile {
    let elsewhere = |instance, index| Callee::Elsewhere { instance, index, name: None };
    let callees = [named(1), elsewhere(5, 2), elsewhere(6, 3)];
    let routine = |callee: &Callee, sites: &[u32]| Routine { callee: callee.clone(), sites: sites.to_vec() };
    let record = |routine, parent, site| CallRecord {
        routine,
        parent,
        site,
        calls: 7,
        back_edges: Vec::new(),
        metrics: Vec::new(),
        paths: Vec::new(),
        unfinished: Vec::new(),
    };
    let root = routine(&Callee::Root, &[]);
    let routines =
        vec![root, routine(&callees[0], &[30]), routine(&callees[1], &[20]), routine(&callees[2], &[])];
    let records = vec![record(0, 0, 0), record(1, 0, 0), record(2, 1, 30), record(3, 2, 20)];
    let log = ContextLog { routines, records, ..ContextLog::default() };
    let mut time = TimeLog::new(1000);
    let own = Timed { time_ns: 10, samples: 1 };
    let outer = time.add(None, (&callees[0], 30, false), Timed::default());
    time.add(Some(outer), (&callees[1], 21, false), own);
    let target =
        CallTarget { caller: 1, site: 30, callee: callees[1].clone(), count: 7, kind: FigureKind::Exact };
    let mut profile = Profile {
        contexts: Some(log.tree()),
        time: Some(time.tree()),
        call_targets: vec![target],
        ..profile
    };
    profile.normalize();
    profile
}

/// Instance 4 is of the first module, 5 and 6 are of the second, of which 6 is the newer one.
fn joined() -> Profile {
    let place = |instance: u32| match instance {
        4 => Some((0, true)),
        5 => Some((1, false)),
        6 => Some((1, true)),
        _ => None,
    };
    let by = Joining { place: &place, demangle: &|name| name.to_uppercase() };
    let profiles = vec![(0, run(example())), (1, example_with_trap())];
    let joined = Profile::join([9; 32], parts(), profiles, &by);
    joined.verify().unwrap();
    joined
}

#[test]
fn functions_of_all_modules_have_indices_and_offsets_of_their_own() {
    let (joined, first, second) = (joined(), example(), example_with_trap());
    assert_eq!(joined.functions.len(), first.functions.len() + second.functions.len());
    assert_eq!((joined.ops(), joined.calls()), (first.ops() + second.ops(), first.calls() + second.calls()));
    for (profile, part) in [(&first, 0), (&second, 1)] {
        for function in &profile.functions {
            let found = joined.function(function.index + part * FUNCTIONS).unwrap();
            let shift = 8 + part * OFFSETS;
            assert_eq!(found.code.start, function.code.start + shift);
            assert_eq!(found.blocks[0].code.end, function.blocks[0].code.end + shift);
            assert_eq!(found.block_counts(), function.block_counts());
            let offsets = |exits: &[wprof_profiler::UnfinishedExit], shift: u32| -> Vec<u32> {
                exits.iter().map(|exit| exit.offset + shift).collect()
            };
            assert_eq!(offsets(&found.exits, 0), offsets(&function.exits, shift));
            let own = function
                .name
                .clone()
                .map_or(format!("wasm-function[{}]", function.index), |name| name.to_uppercase());
            assert_eq!(found.name, Some(format!("{}::{own}", ["main", "lib"][part as usize])));
        }
    }
    assert_eq!(joined.parts[0].code, first.code);
    assert_eq!(joined.code.functions, first.code.functions + second.code.functions + 9);
}

#[test]
fn trees_name_functions_of_all_modules() {
    let joined = joined();
    let contexts = joined.contexts.as_ref().unwrap();
    let own = |index, name: &str| Callee::Function { index, name: Some(name.to_owned()) };
    let other = Callee::Elsewhere {
        instance: 5,
        index: FUNCTIONS + 2,
        name: Some("lib::wasm-function[2]".to_owned()),
    };
    let called: Vec<(Callee, u32)> = (1..4)
        .map(|record| (contexts.callee(record).clone(), contexts.records[record as usize].site))
        .collect();
    let expected = [
        (own(1, "main::F1"), 0),
        (other.clone(), 30 + 8),
        (own(FUNCTIONS + 3, "lib::wasm-function[3]"), 20 + 8 + OFFSETS),
    ];
    assert_eq!(called, expected);
    let time = joined.time.as_ref().unwrap();
    let places: Vec<(&Callee, u32)> =
        (0..2).map(|node| (time.callee(node), time.nodes[node].offset)).collect();
    assert_eq!(places, [(&own(1, "main::F1"), 38), (&other, 21 + 8 + OFFSETS)]);
    let [target] = &joined.call_targets[..] else { panic!("{:?}", joined.call_targets) };
    assert_eq!((target.caller, target.site, &target.callee), (1, 38, &other));
}

#[test]
fn a_joined_profile_comes_apart() {
    let joined = joined();
    for (mut profile, hash) in [(run(example()), [1; 32]), (example_with_trap(), [2; 32])] {
        let found = joined.of_module(|of| *of == hash).unwrap();
        found.verify().unwrap();
        // Names are display names.
        profile.rename(|_, name| name.map(str::to_uppercase));
        assert_eq!(found.functions, profile.functions);
        assert_eq!((found.module_hash, found.code), (hash, profile.code));
        assert!(found.parts.is_empty());
    }
    let first = joined.of_module(|of| *of == [1; 32]).unwrap();
    assert_eq!(first.call_targets.len(), 1);
    assert_eq!((first.call_targets[0].caller, first.call_targets[0].site), (1, 30));
    let sites: Vec<u32> = first.contexts.as_ref().unwrap().records.iter().map(|record| record.site).collect();
    assert_eq!(sites, [0, 0, 30, 20]);
    assert!(joined.of_module(|_| false).is_none());
    assert!(joined.of_module(|of| *of == [3; 32]).unwrap().functions.is_empty());
}

#[test]
fn modules_of_the_same_code_have_one_sum() {
    let mut joined = joined();
    // The first module twice.
    let profiles = vec![(0, example()), (1, example())];
    let by = Joining { place: &|_| None, demangle: &|name| name.to_owned() };
    let mut twins = parts();
    twins[1].module_hash = twins[0].module_hash;
    let twice = Profile::join([9; 32], twins, profiles, &by);
    let sum = twice.of_module(|of| *of == [1; 32]).unwrap();
    sum.verify().unwrap();
    assert_eq!(sum.calls(), 2 * example().calls());
    assert_eq!(sum.functions.len(), example().functions.len());
    // Runs of one component have a sum; files keep the parts.
    let again = joined.clone();
    joined.merge(&again).unwrap();
    assert_eq!(joined.calls(), 2 * again.calls());
    assert_eq!(joined.parts, again.parts);
    assert_eq!(Profile::from_bytes(&again.to_bytes().unwrap()).unwrap(), again);
    joined.parts.swap(0, 1);
    assert!(joined.verify().is_err());
}
