//! Modules with inlined calls do what their originals do; their paths are those of a trace of the original across these
//! calls, and the counts of functions those of the original.

#[path = "supergraphs/oracle.rs"]
mod oracle;

use std::sync::Arc;

use wprof::{Collect, Config, Engine, Interesting, ProfilingConfig, Strategy, Tracing};
use wprof_instrument::{Marks, Supergraphs};
use wprof_jit::module::parse;
use wprof_profiler::{EdgeKind, Profile};
use wprof_spec_tests::check::same_counts;
use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::engines::ours::{self, Ran};
use wprof_spec_tests::generate::{Case, case, hot_case, managed_case, wasm3_case};
use wprof_spec_tests::mode::Mode;

const STRATEGIES: [Strategy; 3] = [Strategy::Tiered, Strategy::Baseline, Strategy::Optimized];

/// What has been compared.
#[derive(Debug, Default)]
struct Compared {
    modules: u64,
    inlined: usize,
    paths: u64,
    /// Paths through more than one frame.
    across: u64,
    stopped: u64,
}

struct Engines {
    edges: Engine,
    traced: Engine,
    paths: [Engine; 3],
}

fn counting(strategy: Strategy, collect: Collect) -> Config {
    let mut config = Mode::Tiered.config();
    config.strategy(strategy).profiling(ProfilingConfig::Exact(collect));
    config
}

fn engine(config: &Config) -> Engine {
    Engine::new(config).expect("an engine for this machine")
}

impl Engines {
    fn new() -> Engines {
        let mut traced = Mode::Tiered.config();
        Engines {
            edges: engine(&counting(Strategy::Tiered, Collect::Edges)),
            traced: engine(traced.trace(Tracing::Best)),
            paths: STRATEGIES.map(|strategy| engine(&counting(strategy, Collect::Paths))),
        }
    }

    /// Checks one module; `depth` calls are inlined into one another.
    fn compare(&self, case: &Case, depth: u32, all: &mut Compared) -> Result<(), String> {
        let expected = ours::run(&self.edges, &case.wasm, &case.drive)?;
        let Some(counts) = profile(&expected)? else { return Ok(()) };
        let has_tail_calls = stops_in_tail_calls(&counts);
        let marks = match case.seed % 2 {
            0 => Marks::All(depth),
            _ => Marks::Ran(depth, &counts),
        };
        let graphs = match Supergraphs::new(&case.wasm, marks) {
            Err(wprof_instrument::Error::NoCode) => return Ok(()),
            graphs => graphs.map_err(|e| e.to_string())?,
        };
        let ran = ours::run(&self.paths[case.seed as usize / 2 % 3], graphs.module(), &case.drive)?;
        if ran.outcome.overflowed() || expected.outcome.overflowed() {
            return Ok(());
        }
        expected.outcome.same_as(&ran.outcome).map_err(|e| format!("original first: {e}"))?;
        let lower = profile(&ran)?.ok_or("no profile")?;
        let found = graphs.restored(&lower).map_err(|e| e.to_string())?;
        found.verify().map_err(|e| e.to_string())?;
        same_file(&found)?;
        if has_tail_calls {
            return Ok(());
        }
        same_counts(&found, &counts).map_err(|e| format!("original second: {e}"))?;
        let traced = ours::run(&self.traced, &case.wasm, &case.drive)?;
        if traced.outcome.overflowed() {
            return Ok(());
        }
        expected.outcome.same_as(&traced.outcome).map_err(|e| format!("original first, traced: {e}"))?;
        let trace = traced.trace.as_ref().ok_or("not traced")?;
        let info = parse(Arc::from(&*case.wasm)).map_err(|e| e.to_string())?;
        let supergraphs = found.supergraphs.as_ref().ok_or("no supergraphs")?;
        let ways = oracle::profiled(&info, &found)?;
        let Some(expected) = oracle::traced(&info, supergraphs, trace)? else { return Ok(()) };
        if let Some((way, count)) = expected.iter().find(|(way, count)| ways.get(*way) != Some(count)) {
            let others = |all: &oracle::Ways, than: &oracle::Ways| -> Vec<_> {
                let own =
                    all.iter().filter(|(other, count)| other.0 == way.0 && than.get(*other) != Some(count));
                own.map(|(way, count)| format!("{way:?}: {count}")).collect()
            };
            return Err(format!(
                "{way:?} {count} times by the trace, {:?} by the profile; by the trace {:?}, by the profile {:?}",
                ways.get(way),
                others(&expected, &ways),
                others(&ways, &expected),
            ));
        }
        if let Some(way) = ways.keys().find(|way| !expected.contains_key(*way)) {
            return Err(format!("{way:?} did not run"));
        }
        self.interesting(case, &graphs, &found, &lower)?;
        all.modules += 1;
        all.inlined += graphs.calls();
        all.paths += ways.len() as u64;
        all.across +=
            ways.keys().filter(|(_, places, _)| places.iter().any(|place| place.0 > 0)).count() as u64;
        all.stopped += ways.keys().filter(|(_, _, end)| *end == oracle::End::Stopped).count() as u64;
        Ok(())
    }

    /// Checks that the supergraphs of a profile are those that it was taken with, and that paths told apart as
    /// interesting ones are the same; if they are not counted, only others are.
    fn interesting(
        &self,
        case: &Case,
        graphs: &Supergraphs,
        found: &Profile,
        lower: &Profile,
    ) -> Result<(), String> {
        let supergraphs = found.supergraphs.as_ref().ok_or("no supergraphs")?;
        let again = Supergraphs::new(&case.wasm, Marks::Same(supergraphs)).map_err(|e| e.to_string())?;
        if again.module() != graphs.module() {
            return Err("the profile makes another module".to_owned());
        }
        let lowered = again.lowered(found).ok_or("other calls")?;
        if lowered.module_hash != lower.module_hash || !lowered.has_paths() {
            return Ok(());
        }
        let strategy = STRATEGIES[case.seed as usize % 3];
        let half = Arc::new(wprof_spec_tests::check::every_second_path(&lowered, case.seed));
        for (counted, interesting) in
            [(true, Interesting::new(half.clone())), (false, Interesting::uncounted(half.clone()))]
        {
            let mut config = counting(strategy, Collect::Paths);
            config.interesting_paths(Interesting { beyond: 0, ..interesting });
            let ran = ours::run(&engine(&config), again.module(), &case.drive)?;
            let some = again.restored(&profile(&ran)?.ok_or("no profile")?).map_err(|e| e.to_string())?;
            some.verify().map_err(|e| format!("counted {counted}: {e}"))?;
            same_file(&some)?;
            let across = |profile: &Profile| profile.across_calls().ok_or("no supergraphs");
            let all = across(found)?;
            let tests = wprof_spec_tests::check::every_second_path(&all, case.seed);
            let expected = match counted {
                true => all,
                false => all.only(&all.residual(&tests).map_err(|e| e.to_string())?),
            };
            let paths = |profile: &Profile| -> Vec<_> {
                profile.functions.iter().map(|function| (function.index, function.paths().cloned())).collect()
            };
            if paths(&across(&some)?) != paths(&expected) {
                return Err(format!("counted {counted}: other paths"));
            }
        }
        Ok(())
    }
}

fn profile(ran: &Ran) -> Result<Option<Profile>, String> {
    ran.profile().transpose().map_err(|e| e.to_string())
}

/// Checks that a file keeps a profile.
fn same_file(profile: &Profile) -> Result<(), String> {
    let bytes = profile.to_bytes().map_err(|e| e.to_string())?;
    match Profile::from_bytes(&bytes).map_err(|e| e.to_string())? == *profile {
        true => Ok(()),
        false => Err("the file has another profile".to_owned()),
    }
}

/// In traced code a tail call of a host function is a call and a return.
fn stops_in_tail_calls(profile: &Profile) -> bool {
    profile.functions.iter().any(|function| {
        let mut stopped = function.exits.iter().flat_map(|exit| function.out_edges(exit.block));
        stopped.any(|(_, edge)| edge.kind == EdgeKind::TailCall)
    })
}

fn compare(cases: impl Iterator<Item = Case>) -> Compared {
    let (engines, mut all) = (Engines::new(), Compared::default());
    let mut failures = Vec::new();
    for case in cases {
        let depth = 1 + (case.seed / 3 % 3) as u32;
        if let Err(error) = engines.compare(&case, depth, &mut all) {
            failures.push(format!("{:?} {} to depth {depth}: {error}", case.maker, case.seed));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    println!("{all:?}");
    all
}

#[test]
fn generated_modules_have_the_paths_of_their_traces() {
    let all = compare((0..200).filter(|seed| seed % 2 == 0 || seed % 4 == 1).map(case));
    assert!(all.modules > 80 && all.across > 200 && all.stopped > 50, "{all:?}");
}

#[test]
fn so_have_hot_programs_that_change_tiers_in_their_loops() {
    let all = compare((0..8).map(hot_case));
    assert!(all.modules > 6 && all.across > 50, "{all:?}");
}

#[test]
fn so_have_modules_with_exceptions_and_objects() {
    let all = compare((0..40).map(wasm3_case).chain((0..4).map(managed_case)));
    assert!(all.modules > 10 && all.across > 10, "{all:?}");
}

/// Runs a module in text, all of whose calls are marked to a depth.
fn across(text: &str, depth: u32) -> (Profile, Vec<u8>) {
    let wasm = wat::parse_str(text).expect("text");
    let drive = Drive::new(&wasm, 0, 1, 0).expect("valid");
    let graphs = Supergraphs::new(&wasm, Marks::All(depth)).expect("supergraphs");
    let ran = ours::run(&engine(&counting(Strategy::Optimized, Collect::Paths)), graphs.module(), &drive);
    let lower = ran.expect("it runs").profile().expect("an instance").expect("a profile");
    (graphs.restored(&lower).expect("of this module"), wasm)
}

/// Figure 3.12 of the thesis: a path from `foo` through `bar` and back. `foo` calls `bar` twice in one of four ways.
const FOO: &str = r#"(module
  (func $bar (param i32) (result i32)
    (if (result i32) (i32.and (local.get 0) (i32.const 1)) (then (i32.const 7)) (else (i32.const 9))))
  (func (export "foo") (result i32) (local $n i32) (local $sum i32)
    (local.set $n (i32.const 8))
    (loop $next
      (if (i32.and (local.get $n) (i32.const 2))
        (then (local.set $sum (i32.add (local.get $sum) (call $bar (local.get $n))))))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))"#;

#[test]
fn a_path_leads_through_the_callee_and_back() {
    let (profile, wasm) = across(FOO, 1);
    let foo = oracle::function(&profile, 1).expect("it ran");
    let counts = |function: &wprof_profiler::FunctionProfile| -> Vec<u64> {
        function.paths().into_iter().flat_map(|paths| &paths.finished).map(|path| path.count).collect()
    };
    // The first iteration (8) and the last (1) take no call; 7 and 3 are odd, 6 and 2 even.
    let mut found = counts(foo);
    found.sort_unstable();
    assert_eq!(found, [1, 1, 2, 2, 2]);
    // All calls are inlined, and yet the callee has its counts.
    assert!(oracle::function(&profile, 0).is_none());
    assert_eq!(profile.function(0).expect("it ran").calls(), 4);
    let info = parse(Arc::from(&*wasm)).expect("valid");
    assert_eq!(oracle::profiled(&info, &profile).expect("paths").values().sum::<u64>(), 8);
}

#[test]
fn calls_of_another_module_are_refused() {
    let (profile, _) = across(FOO, 1);
    let other = wat::parse_str(FOO.replace("call $bar (local.get $n)", "local.get $n")).expect("text");
    let graphs = profile.supergraphs.as_ref().expect("paths across calls");
    let error = Supergraphs::new(&other, Marks::Same(graphs)).expect_err("other calls").to_string();
    assert!(error.contains("not those of the module"), "{error}");
}
