//! Derived figures of a profile against the log, and what is no valid profile.

use wprof_profiler::{
    Accuracy, BlockCounts, BlockId, BlockProfile, CodeRange, CodeStats, CounterCost, EdgeKind, EdgeProfile,
    Ending, EventTotal, FigureKind, FunctionCounts, FunctionProfile, HostCalls, InvalidProfile, Profile,
    Rate, Run, UnfinishedExit, propagate,
};

use crate::edge_weights::figure_one;
use crate::rng::Rng;
use crate::walk::{self, Event, Function, random_program, run};

/// The profile of a run, made as the runtime makes it: from counters and unfinished frames alone.
pub fn profile_of(program: &[Function], run: &walk::Run) -> Profile {
    let functions =
        program.iter().enumerate().map(|(index, function)| function_profile(function, index, run));
    let mut profile = Profile {
        program: "walk".to_owned(),
        module_hash: [3; 32],
        runs: vec![some_run()],
        code: CodeStats { functions: 9, compiled: program.len() as u64, counters: 5 },
        functions: functions.filter(|function| function.calls() > 0).collect(),
        host_calls: vec![host_calls("fd_write", 2), host_calls("clock", 1), host_calls("clock", 4)],
        events: vec![events("loads", run.log.len() as u64), events("fuel", 7)],
        metrics: Vec::new(),
        contexts: None,
        bursts: None,
        skipped: None,
        accuracy: Some(Accuracy::new(1000, 0.98, 0.005)),
        call_targets: Vec::new(),
        extended: None,
        time: None,
        allocations: None,
        branches: Vec::new(),
        timeline: None,
        supergraphs: None,
        parts: Vec::new(),
        threads: Vec::new(),
        collector: None,
    };
    profile.normalize();
    profile.verify().unwrap();
    profile
}

fn some_run() -> Run {
    let ending = Ending::Trapped { message: "integer divide by zero".to_owned() };
    Run {
        started: 5,
        tool: "wprof 0.1.0".to_owned(),
        machine: "here".to_owned(),
        args: vec!["-v".to_owned()],
        ending,
        wall_ns: Some(9),
    }
}

pub fn host_calls(name: &str, count: u64) -> HostCalls {
    let (module, name, kind) = ("wasi".to_owned(), name.to_owned(), FigureKind::Exact);
    HostCalls { module, name, count, kind, time_ns: None }
}

pub fn events(name: &str, count: u64) -> EventTotal {
    EventTotal { name: name.to_owned(), count, kind: FigureKind::Exact }
}

fn function_profile(function: &Function, index: usize, run: &walk::Run) -> FunctionProfile {
    let counters = &run.counters[index];
    let counts = propagate(&function.cfg, &function.plan, counters, &run.exits(index)).unwrap();
    let block = |(block, ops): (usize, &Vec<walk::Op>)| {
        let start = 100 * index as u32 + 10 * block as u32;
        BlockProfile { code: CodeRange { start, end: start + 10 }, ops: ops.len() as u32 }
    };
    let edge = |edge: wprof_profiler::EdgeId| {
        let ends = function.cfg.edge(edge);
        EdgeProfile { from: ends.from, to: ends.to, kind: EdgeKind::Case(edge.0) }
    };
    let unfinished = run.unfinished.iter().filter(|frame| frame.function == index);
    let exit = |frame: &walk::Frame| {
        let ops_executed = frame.ops_executed as u32;
        UnfinishedExit {
            block: frame.block,
            offset: 10 * frame.block.0 + ops_executed,
            ops_executed,
            count: 1,
        }
    };
    FunctionProfile {
        index: index as u32,
        name: Some(format!("f{index}")),
        code: CodeRange { start: 100 * index as u32, end: 100 * index as u32 + 100 },
        fingerprint: function.cfg.fingerprint(),
        kind: FigureKind::Exact,
        blocks: function.ops.iter().enumerate().map(block).collect(),
        edges: function.cfg.edges().map(edge).collect(),
        exits: unfinished.map(exit).collect(),
        cost: CounterCost { counters: counters.len() as u64, increments: counters.iter().sum() },
        counts: FunctionCounts::Edges(counts.edges),
    }
}

fn for_random_runs(property: impl Fn(&[Function], &walk::Run, &Profile)) {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=15)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        let run = run(&program, &mut rng, 400);
        property(&program, &run, &profile_of(&program, &run));
        Ok(())
    })
    .budget_ms(1500);
}

#[test]
fn calls_blocks_and_instructions_are_those_of_the_log() {
    for_random_runs(|_, run, profile| {
        for function in &profile.functions {
            let index = function.index as usize;
            assert_eq!(function.calls(), run.count(Event::Call(index)));
            let (counts, ops) = (function.block_counts(), function.block_ops());
            for block in (0..function.blocks.len()).map(|block| BlockId(block as u32)) {
                assert_eq!(counts[block.index()], run.count(Event::Block(index, block)));
                assert_eq!(ops[block.index()], run.count(Event::Op(index, block)));
            }
        }
        let in_log = |wanted: fn(&Event) -> bool| run.log.iter().filter(|event| wanted(event)).count() as u64;
        assert_eq!(profile.ops(), in_log(|event| matches!(event, Event::Op(..))));
        assert_eq!(profile.calls(), in_log(|event| matches!(event, Event::Call(_))));
        let costs = profile.counter_costs();
        assert_eq!(costs.chords.increments, run.counters.iter().flatten().sum::<u64>());
        assert_eq!(costs.per_block.increments, in_log(|event| matches!(event, Event::Block(..))));
        assert_eq!(costs.per_edge.increments, in_log(|event| matches!(event, Event::Edge(..))));
    });
}

/// The profile as it would be if only blocks had been counted.
pub fn without_edges(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    for function in &mut profile.functions {
        let (blocks, entries) = (function.block_counts(), function.calls());
        function.counts = FunctionCounts::Blocks(BlockCounts { blocks, entries });
    }
    profile.verify().unwrap();
    profile
}

#[test]
fn counts_of_blocks_give_all_but_the_ways_taken() {
    for_random_runs(|_, _, profile| {
        let blocks = without_edges(profile);
        assert_eq!((blocks.ops(), blocks.calls()), (profile.ops(), profile.calls()));
        assert_eq!(blocks.hottest_blocks(99), profile.hottest_blocks(99));
        assert_eq!(blocks.counter_costs(), profile.counter_costs());
        for (found, truth) in blocks.functions.iter().zip(&profile.functions) {
            assert_eq!(found.edge_counts(), None);
            assert!(found.branch_probabilities().iter().all(Option::is_none));
            for (found, truth) in found.loops().iter().zip(truth.loops()) {
                assert_eq!((found.entries, found.average_trips()), (None, None));
                assert_eq!((found.iterations, found.ops), (truth.iterations, truth.ops));
            }
        }
    });
}

#[test]
fn branch_probabilities_are_shares_of_the_block() {
    for_random_runs(|program, run, profile| {
        for function in &profile.functions {
            let index = function.index as usize;
            let crossed = |edge: &wprof_profiler::EdgeId| run.count(Event::Edge(index, *edge)) as f64;
            for (edge, found) in program[index].cfg.edges().zip(function.branch_probabilities()) {
                let out = program[index].cfg.out_edges(function.edges[edge.index()].from);
                let total: f64 = out.iter().map(crossed).sum();
                assert_eq!(found, (total > 0.0).then(|| crossed(&edge) / total));
                assert!(
                    function
                        .out_edges(function.edges[edge.index()].from)
                        .map(|(edge, _)| edge)
                        .eq(out.iter().copied())
                );
            }
        }
    });
}

#[test]
fn loops_have_the_rounds_of_the_log() {
    for_random_runs(|_, run, profile| {
        for function in &profile.functions {
            let index = function.index as usize;
            for found in function.loops() {
                assert_eq!(found.iterations, run.count(Event::Block(index, found.header)));
                let ops = found.blocks.iter().map(|&block| run.count(Event::Op(index, block)));
                assert_eq!(found.ops, ops.sum::<u64>());
                let inside = |block: BlockId| found.blocks.contains(&block);
                let edges = function.counted_edges();
                let again = edges.filter(|(edge, _)| edge.to == found.header && inside(edge.from));
                let again: u64 = again.map(|(_, count)| count).sum();
                assert_eq!(found.entries, Some(found.iterations - again));
            }
        }
    });
}

#[test]
fn lists_are_sorted_by_heat_and_complete() {
    for_random_runs(|_, _, profile| {
        let blocks = profile.hottest_blocks(usize::MAX);
        assert!(blocks.is_sorted_by(|a, b| a.ops >= b.ops));
        assert_eq!(blocks.iter().map(|hot| hot.ops).sum::<u64>(), profile.ops());
        assert_eq!(profile.hottest_blocks(2), blocks[..blocks.len().min(2)]);
        let loops = profile.hottest_loops(usize::MAX);
        assert!(loops.is_sorted_by(|a, b| a.found.ops >= b.found.ops));
        assert!(loops.iter().all(|hot| hot.found.average_trips().is_none_or(|trips| trips >= 1.0)));
        let functions = profile.functions_by_ops();
        assert!(functions.is_sorted_by(|a, b| a.1 >= b.1) && functions.len() == profile.functions.len());
        assert!(profile.functions_by_calls().is_sorted_by(|a, b| a.1 >= b.1));
    });
}

/// A profile of [`figure_one`], entered once, three rounds, broken out of.
pub fn example() -> Profile {
    let cfg = figure_one();
    let kinds = [
        EdgeKind::Taken,
        EdgeKind::NotTaken,
        EdgeKind::Taken,
        EdgeKind::NotTaken,
        EdgeKind::Jump,
        EdgeKind::Jump,
        EdgeKind::Return,
        EdgeKind::Case(7),
        EdgeKind::Jump,
    ];
    let counts = [3, 0, 2, 1, 2, 1, 1, 2, 2];
    let edge = |edge: wprof_profiler::EdgeId| {
        let ends = cfg.edge(edge);
        EdgeProfile { from: ends.from, to: ends.to, kind: kinds[edge.index()] }
    };
    let block =
        |block: u32| BlockProfile { code: CodeRange { start: 10 * block, end: 10 * block + 10 }, ops: 4 };
    let function = FunctionProfile {
        index: 2,
        name: Some("main".to_owned()),
        code: CodeRange { start: 0, end: 60 },
        fingerprint: cfg.fingerprint(),
        kind: FigureKind::Exact,
        blocks: (0..6).map(block).collect(),
        edges: cfg.edges().map(edge).collect(),
        exits: Vec::new(),
        cost: CounterCost { counters: 4, increments: 4 },
        counts: FunctionCounts::Edges(counts.to_vec()),
    };
    Profile {
        program: "figure-one.wasm".to_owned(),
        module_hash: [0xab; 32],
        runs: vec![some_run()],
        code: CodeStats { functions: 3, compiled: 1, counters: 4 },
        functions: vec![function],
        host_calls: vec![host_calls("fd_write", 3)],
        events: vec![events("fuel", 12), events("loads", 5)],
        metrics: Vec::new(),
        contexts: None,
        bursts: None,
        skipped: None,
        accuracy: None,
        call_targets: Vec::new(),
        extended: None,
        time: None,
        allocations: None,
        branches: Vec::new(),
        timeline: None,
        supergraphs: None,
        parts: Vec::new(),
        threads: Vec::new(),
        collector: None,
    }
}

/// [`example`] with a second call that trapped in block 1 after one of its four instructions, and calling contexts.
pub fn example_with_trap() -> Profile {
    let mut profile = example();
    let function = &mut profile.functions[0];
    function.counts.edges_mut().unwrap()[0] += 1;
    function.exits.push(UnfinishedExit { block: BlockId(1), offset: 13, ops_executed: 1, count: 1 });
    profile.contexts = Some(crate::contexts::example());
    profile.verify().unwrap();
    profile
}

#[test]
fn figures_of_the_example() {
    let profile = example_with_trap();
    let function = profile.function(2).unwrap();
    assert_eq!(function.calls(), 2);
    assert_eq!(function.block_counts(), [4, 4, 2, 1, 3, 2]);
    assert_eq!(function.block_ops(), [16, 13, 8, 4, 12, 8]);
    let [found] = &function.loops()[..] else { panic!("one loop") };
    assert_eq!((found.header, found.entries, found.iterations), (BlockId(0), Some(2), 4));
    assert_eq!(found.average_trips(), Some(2.0));
    assert_eq!(profile.function(1), None);
}

/// Breaks a valid profile and tells what is found.
fn broken(damage: impl FnOnce(&mut Profile)) -> InvalidProfile {
    let mut profile = example_with_trap();
    damage(&mut profile);
    profile.verify().unwrap_err()
}

#[test]
fn what_contradicts_itself_is_found() {
    let index = 2;
    assert_eq!(broken(|p| p.functions[0].fingerprint ^= 1), InvalidProfile::WrongFingerprint { index });
    assert!(matches!(
        broken(|p| p.functions[0].edges[3].to = BlockId(7)),
        InvalidProfile::BadGraph { index: 2, .. }
    ));
    assert!(matches!(broken(|p| p.functions[0].blocks.clear()), InvalidProfile::BadGraph { index: 2, .. }));
    assert_eq!(
        broken(|p| p.functions[0].exits[0].ops_executed = 5),
        InvalidProfile::BadExit { index, block: BlockId(1) }
    );
    assert_eq!(
        broken(|p| p.functions[0].exits[0].block = BlockId(6)),
        InvalidProfile::BadExit { index, block: BlockId(6) }
    );
    assert_eq!(
        broken(|p| p.functions[0].counts.edges_mut().unwrap().push(0)),
        InvalidProfile::WrongCounts { index }
    );
    // All but edge 1, which alone is a whole call: from ENTRY to EXIT.
    for edge in [0, 2, 3, 4, 5, 6, 7, 8] {
        let found = broken(|p| p.functions[0].counts.edges_mut().unwrap()[edge] += 1);
        assert!(matches!(found, InvalidProfile::Imbalance { .. }));
    }
    // A call that never ended: one more left ENTRY than came to it.
    let unfinished = broken(|p| p.functions[0].exits.clear());
    assert_eq!(unfinished, InvalidProfile::Imbalance { index, block: BlockId::ENTRY });
    assert_eq!(
        broken(|p| p.functions.push(p.functions[0].clone())),
        InvalidProfile::Unsorted { list: "functions" }
    );
    assert_eq!(
        broken(|p| p.host_calls.push(host_calls("a", 1))),
        InvalidProfile::Unsorted { list: "host calls" }
    );
    assert_eq!(broken(|p| p.events.push(events("loads", 1))), InvalidProfile::Unsorted { list: "events" });
    assert_eq!(broken(|p| p.runs.push(Run::default())), InvalidProfile::Unsorted { list: "runs" });
    let doubled = |p: &mut Profile| p.functions[0].exits.extend_from_within(..);
    assert_eq!(broken(doubled), InvalidProfile::Unsorted { list: "unfinished exits" });
}

#[test]
fn counts_of_blocks_that_contradict_themselves_are_found() {
    let broken = |damage: fn(&mut FunctionProfile, &mut BlockCounts)| {
        let mut profile = without_edges(&example_with_trap());
        let mut counts = profile.functions[0].counts.blocks().cloned().unwrap();
        damage(&mut profile.functions[0], &mut counts);
        profile.functions[0].counts = FunctionCounts::Blocks(counts);
        profile.verify().unwrap_err()
    };
    let index = 2;
    let imbalance = |block| InvalidProfile::Imbalance { index, block: BlockId(block) };
    assert_eq!(broken(|_, counts| counts.blocks.push(0)), InvalidProfile::WrongCounts { index });
    assert_eq!(broken(|function, _| function.exits[0].count = 5), imbalance(1));
    assert_eq!(broken(|_, counts| counts.entries = 5), imbalance(0));
}

#[test]
fn sampled_counts_need_not_balance() {
    let mut profile = example();
    profile.functions[0].counts.edges_mut().unwrap()[0] += 1;
    assert!(profile.verify().is_err());
    profile.functions[0].kind = FigureKind::Sampled { rate: Rate { counted: 1, of: 100 } };
    assert_eq!(profile.verify(), Ok(()));
}

/// Derived figures are total even on what `verify` refuses.
#[test]
fn figures_of_nonsense_do_not_panic() {
    let mut profile = example_with_trap();
    let function = &mut profile.functions[0];
    function.edges[0] = EdgeProfile { from: BlockId(90), to: BlockId(91), kind: EdgeKind::Jump };
    function.counts.edges_mut().unwrap()[0] = u64::MAX;
    function.exits.push(UnfinishedExit {
        block: BlockId(77),
        offset: 0,
        ops_executed: u32::MAX,
        count: u64::MAX,
    });
    function.exits.push(UnfinishedExit {
        block: BlockId(0),
        offset: 0,
        ops_executed: u32::MAX,
        count: u64::MAX,
    });
    assert!(profile.verify().is_err());
    let (ops, calls) = (profile.ops(), profile.calls());
    assert_eq!((ops, calls), (u64::MAX, u64::MAX));
    profile.hottest_loops(3);
    profile.hottest_blocks(3);
    profile.to_json();
}
