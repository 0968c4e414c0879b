//! The places of checks: programs reach a check often enough, and frames switch to other versions at every check.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use wprof::{Collect, Engine, ProfilingConfig, Strategy, Tracing};
use wprof_jit::cfg;
use wprof_jit::module::{ModuleInfo, parse};
use wprof_jit::plan::{Checks, FunctionChecks, ROUNDS_OF_STRIP, SmallLoop, SplitCfg, Strip};
use wprof_profiler::{
    BlockId, Cfg, DepthFirst, FunctionProfile, Loops, Path, Profile, TraceEvent, TraceReader,
};
use wprof_spec_tests::mode::{Mode, bursts};
use wprof_spec_tests::programs::{Ended, Program, own};

fn run(program: &Program, profiling: ProfilingConfig, traces: bool) -> Ended {
    let mut config = Mode::Tiered.config();
    config.strategy(Strategy::Optimized).profiling(profiling).reoptimization(None);
    if traces {
        config.trace(Tracing::Best);
    }
    let engine = Engine::new(&config).expect("an engine");
    let wasm = std::fs::read(&program.file).expect("a module");
    let out = tempfile::tempdir().expect("a folder");
    let ended = program.run(&engine, &wasm, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    program.verify(&ended, out.path()).unwrap_or_else(|e| panic!("{}: {e}", program.name));
    ended
}

/// Whether the entry of a function is checked, and the headers with a check in its split graph, each with the maximum
/// number of iterations per check.
type Checked = (bool, BTreeMap<u32, u32>);

/// Returns the places of checks by function.
fn checked(info: &ModuleInfo, checks: Checks) -> BTreeMap<u32, Checked> {
    let defined = info.imported_funcs..info.funcs.len() as u32;
    let of = |func: u32| {
        let cfg = cfg::build(info, func).expect("within limits");
        let found = FunctionChecks::new(info, &cfg, checks).expect("valid");
        let split = SplitCfg::new(info, &cfg).expect("valid");
        let small = SmallLoop::all(info, &cfg, None).expect("valid");
        let strips = match checks.unroll {
            true => Strip::all(info, &cfg, &found.headers, &small).expect("valid"),
            false => Vec::new(),
        };
        let part = |&header: &u32| {
            let rounds = if strips.iter().any(|strip| strip.header == header) { ROUNDS_OF_STRIP } else { 1 };
            (split.position(header, cfg.blocks[header as usize].start).part, rounds)
        };
        (func, (found.entry, found.headers.iter().map(part).collect()))
    };
    defined.map(of).collect()
}

/// Returns the maximum number of blocks, split at calls, that a traced run executes without reaching a check.
fn longest_stretch(program: &Program, trace: &[u8], checks: Checks) -> u64 {
    let wasm = std::fs::read(&program.file).expect("a module");
    let checked = checked(&parse(wasm).expect("valid"), checks);
    let mut reader = TraceReader::open(Cursor::new(trace)).expect("a trace");
    let (mut longest, mut stretch) = (0, 0_u64);
    let mut rounds: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut ends_strip = |func: u32, part: u32| {
        let Some(&most) = checked[&func].1.get(&part) else { return false };
        let rounds = rounds.entry((func, part)).or_default();
        *rounds = (*rounds + 1) % most;
        *rounds == 0
    };
    for event in reader.events_from(0) {
        let event = event.expect("not damaged");
        stretch += u64::from(matches!(event, TraceEvent::Block(..)));
        let is_check = match event {
            TraceEvent::Enter(func) => checked[&func].0,
            TraceEvent::Block(func, part) => ends_strip(func, part.0),
            _ => false,
        };
        if is_check {
            longest = longest.max(std::mem::take(&mut stretch));
        }
    }
    longest.max(stretch)
}

/// More blocks than any of our programs executes in short loops and leaf functions.
const FEW_BLOCKS: u64 = 200;

/// Returns the bound on the blocks between checks for a kind of checks; it is higher where several iterations of a
/// strip share a check.
fn few(name: &str) -> u64 {
    if name == "default" { 10 * FEW_BLOCKS } else { FEW_BLOCKS }
}

#[test]
fn programs_execute_few_blocks_between_two_checks() {
    let (mut most, mut without_loops) = (0, 0);
    for program in own() {
        let ended = run(&program, ProfilingConfig::Off, true);
        let trace = ended.trace.as_ref().expect("traced");
        for name in ["default", "orig", "EC", "ECL", "LT", "LB"] {
            let longest = longest_stretch(&program, trace, name.parse().expect("a name"));
            println!("{:<14} {name:<8} {longest}", program.name);
            assert!(longest < few(name), "{} {name}: {longest} blocks", program.name);
            most = most.max(longest);
        }
        without_loops = without_loops.max(longest_stretch(&program, trace, "LN".parse().expect("a name")));
    }
    // Loops without calls run long.
    assert!(without_loops > 2 * FEW_BLOCKS && most > 0, "{without_loops} {most}");
}

/// Loop headers: each its function and block.
type Headers = BTreeSet<(u32, u32)>;

/// Returns the loop headers at which bursts of a single check must be observed to begin and to end. A path between two
/// headers, or from a header to the exit, is such a burst; it must have run so often that some burst meets it.
fn expected(profile: &Profile) -> (Headers, Headers) {
    const OFTEN: u64 = 500;
    let (mut begins, mut ends) = (Headers::new(), Headers::new());
    for (function, path, count) in paths(profile) {
        let shape = function.cfg().expect("a graph");
        let headers = headers(&shape);
        let blocks = path.blocks(&shape);
        let inner = blocks.get(1..).unwrap_or_default();
        if count >= OFTEN && headers.contains(&path.start) && !inner.iter().any(|b| headers.contains(b)) {
            begins.insert((function.index, path.start.0));
        }
        let last = path.edges.last().map(|&last| shape.edge(last).to);
        if let Some(to) = last.filter(|to| count >= OFTEN && headers.contains(to)) {
            ends.insert((function.index, to.0));
        }
    }
    (begins, ends)
}

fn headers(shape: &Cfg) -> BTreeSet<BlockId> {
    Loops::new(shape, &DepthFirst::new(shape)).iter().map(|(_, found)| found.header).collect()
}

/// Returns the paths that ran to their end, each with its function and count.
fn paths(profile: &Profile) -> impl Iterator<Item = (&FunctionProfile, Path, u64)> {
    profile.functions.iter().flat_map(|function| {
        let numbering = function.path_numbering().expect("paths");
        let finished = function.paths().into_iter().flat_map(|paths| &paths.finished);
        finished.map(move |path| (function, numbering.path(path.id).expect("a path"), path.count))
    })
}

#[test]
fn frames_go_over_at_the_loop_headers_of_all_programs_in_both_directions() {
    let mut seen_headers = 0;
    for program in own().into_iter().filter(|program| !program.traps()) {
        let exact = run(&program, ProfilingConfig::Exact(Collect::Paths), false);
        let (begins, ends) = expected(&exact.instance.profile(&exact.store).expect("a profile"));
        let (mut begun, mut ended) = (Headers::new(), Headers::new());
        for checking in [1, 2, 3, 4, 7, 13] {
            if begins.is_subset(&begun) && ends.is_subset(&ended) {
                break;
            }
            // A burst of one check begins and ends with its path.
            let ran = run(&program, bursts(checking, 1, "orig"), false);
            let profile = ran.instance.profile(&ran.store).expect("a profile");
            for (function, path, _) in paths(&profile) {
                let shape = function.cfg().expect("a graph");
                begun.insert((function.index, path.start.0));
                ended.extend(path.edges.last().map(|&last| (function.index, shape.edge(last).to.0)));
            }
        }
        let missing: Vec<_> = begins.difference(&begun).collect();
        assert!(missing.is_empty(), "{}: no burst begins at {missing:?}", program.name);
        let missing: Vec<_> = ends.difference(&ended).collect();
        assert!(missing.is_empty(), "{}: no burst ends at {missing:?}", program.name);
        seen_headers += begins.union(&ends).count();
    }
    println!("{seen_headers} loop headers");
    assert!(seen_headers > 50, "{seen_headers}");
}
