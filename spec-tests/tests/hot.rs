//! Hot programs behave as in an independent interpreter, and undergo every optimisation while they run.
//!
//! `WPROF_SEEDS` is the number of programs. The program `differential` does long runs.

use std::collections::BTreeMap;

use wprof::{BUILT_IN_EVENTS, Checks, Config, EventModel, Module, Verdict};
use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, ModuleEnv, Tier};
use wprof_jit::plan::{Collection, FunctionPlan, Instrumentation};
use wprof_profiler::CodeTier;
use wprof_spec_tests::check::{Hot, hot_ways};
use wprof_spec_tests::engines::ours;
use wprof_spec_tests::generate::hot::reduce::{Grain, edited};
use wprof_spec_tests::generate::{Case, hot_case};
use wprof_spec_tests::outcome::Stop;
use wprof_spec_tests::sweep::{HOT, passed};
use wprof_spec_tests::volume::cases;

/// The programs whose optimisations are known.
const KNOWN: std::ops::Range<u64> = 0..16;

#[test]
fn hot_programs_leave_behind_what_they_do_in_an_interpreter() {
    let summary = passed(cases(240), HOT, env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(summary.refused, 0);
    assert!(summary.stopped > 0 && summary.stopped * 2 < summary.calls, "{summary:?}");
}

#[test]
fn they_run_long_and_nearly_all_to_their_end() {
    let mut config = Config::new();
    config.count_events(BUILT_IN_EVENTS.iter().filter_map(|name| EventModel::built_in(name)));
    let engine = wprof::Engine::new(&config).expect("an engine for this machine");
    let mut long = 0;
    for case in KNOWN.map(hot_case) {
        let ran = ours::run(&engine, &case.wasm, &case.drive).expect("valid");
        let executed = ran.events("instructions");
        println!(
            "seed {}: {executed} instructions, {} of {} calls stopped",
            case.seed,
            ran.outcome.stopped(),
            case.drive.calls.len()
        );
        assert!(executed < 5_000_000, "seed {}: {executed} instructions", case.seed);
        long += u64::from(executed > 100_000);
        let odd = ran.outcome.calls.iter().any(|call| matches!(call, Err(Stop::Other(_))));
        assert!(!odd && !ran.outcome.overflowed(), "seed {}: {:?}", case.seed, ran.outcome.calls);
    }
    assert!(long * 4 > 3 * (KNOWN.end - KNOWN.start), "only {long} run long");
}

/// The optimisations of a program while it runs.
#[derive(Default, Debug)]
struct Done {
    tiers: BTreeMap<&'static str, u32>,
    verdicts: BTreeMap<&'static str, u32>,
}

impl Done {
    fn add(&mut self, way: &Hot, case: &Case) {
        let mut config = way.config.clone();
        let engine = wprof::Engine::new(config.time_line(true)).expect("an engine for this machine");
        let ran = ours::run(&engine, &case.wasm, &case.drive).expect("valid");
        let profile = ran.profile().expect("instantiated").expect("profiled");
        for version in profile.timeline.iter().flat_map(|line| &line.versions) {
            *self.tiers.entry(version.tier.name()).or_default() += 1;
        }
        let vectors = ran.vectorized_loops().iter().filter(|found| found.outcome.is_ok()).count();
        *self.verdicts.entry("vectors").or_default() += vectors as u32;
        for decision in ran.reoptimizations().iter().flat_map(|done| &done.decisions) {
            let what = match &decision.verdict {
                Verdict::Superblock { .. } => "superblock",
                Verdict::Inlined { guess: Some(_), .. } => "guessed call",
                Verdict::Inlined { guess: None, .. } => "inlined call",
                Verdict::PhaseChange { .. } => "new phase",
                Verdict::NoSuperblock { .. } | Verdict::Refused { .. } | Verdict::NotVectorized(_) => {
                    "refused"
                }
                Verdict::Vectorized { .. } => "many rounds",
                Verdict::Prefetched => "prefetching",
                Verdict::Predicted(_) | Verdict::Tried { .. } => "measured",
            };
            *self.verdicts.entry(what).or_default() += 1;
        }
    }
}

#[test]
fn every_tier_and_every_kind_of_decision_happens() {
    let mut done = Done::default();
    for way in hot_ways().iter().take(2) {
        KNOWN.for_each(|seed| done.add(way, &hot_case(seed)));
    }
    println!("{done:#?}");
    for tier in CodeTier::ALL {
        assert!(
            done.tiers.get(tier.name()).is_some_and(|&count| count >= 10),
            "no code {}: {done:?}",
            tier.name()
        );
    }
    for what in ["superblock", "guessed call", "inlined call", "new phase", "refused", "vectors"] {
        assert!(done.verdicts.get(what).is_some_and(|&count| count >= 5), "{what} too seldom: {done:?}");
    }
}

#[test]
fn loops_are_unrolled_and_split_and_cold_code_lies_apart() {
    // Loops are unrolled where they count or check; after unrolling, checks that fire lead to cold code.
    let checked = Collection { checks: Some(Checks::default()), ..Collection::default() };
    let options = CompilerOptions::default().collecting(&checked);
    let compiler = Compiler::new(options).expect("a compiler for this machine");
    let counting = Compiler::new(CompilerOptions::default()).expect("a compiler for this machine");
    let (mut unrolled, mut split, mut apart) = (0, 0, 0);
    for case in KNOWN.map(hot_case) {
        let module = Module::new(&wprof::Engine::default(), &case.wasm).expect("valid");
        let info = module.info();
        let layout = VmLayout::new(info);
        let type_ids: Vec<u32> = (0..info.types.len()).collect();
        let events = &[];
        let env = ModuleEnv {
            info,
            layout: &layout,
            type_ids: &type_ids,
            events,
            slots: 0,
            dispatch_cells: Some(0),
        };
        for func in info.imported_funcs..info.funcs.len() as u32 {
            let plan = FunctionPlan::new(info, func, &checked, 0).expect("validated");
            unrolled += plan.loops.len();
            let code = compiler.function(&env, &plan, Tier::Optimized).expect("within limits");
            apart += usize::from(code.cold.is_some());
            let paths = Collection { counters: Instrumentation::Paths, ..Collection::default() };
            let counted = FunctionPlan::new(info, func, &paths, 0).expect("validated");
            let graph = counting.version(&counted, Tier::Optimized);
            split += usize::from(graph.nodes.len() > counted.cfg.blocks.len() + counted.loops.len());
        }
    }
    println!("{unrolled} loops unrolled, {split} functions with split loops, {apart} with cold parts");
    assert!(unrolled >= 20 && split >= 10 && apart >= 10, "{unrolled}, {split}, {apart}");
}

#[test]
fn each_edit_of_a_program_makes_it_smaller_and_leaves_it_valid() {
    let mut edits = 0;
    for case in (0..4).map(hot_case) {
        let tree = case.tree.expect("it has a tree");
        for grain in Grain::ALL {
            for number in (0..).step_by(7) {
                let Some(smaller) = edited(&tree, grain, number) else { break };
                let wasm = smaller.encode();
                assert!(case.drive.fits(&wasm), "seed {}, {grain:?} {number}", case.seed);
                edits += 1;
            }
        }
    }
    assert!(edits > 500, "{edits} edits");
}
