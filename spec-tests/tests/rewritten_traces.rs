//! The trace that an instrumented module writes is the engine's of the same run, across traps, throws, exits, calls back
//! from the host, and whatever is too long for its memory.

use std::io::Cursor;

use wprof::{Caller, Config, Engine, Func, Instance, Module, Ref, Store, Tracing};
use wprof_instrument::{Collected, Error, Options, RawCounters, TraceRead, instrument, read_trace};
use wprof_profiler::{TraceEnding, TraceEvent, TraceReader};
use wprof_spec_tests::drive::Drive;
use wprof_spec_tests::engines::ours;
use wprof_spec_tests::generate::{Case, case, hot_case};
use wprof_spec_tests::mode::Mode;
use wprof_spec_tests::outcome::Outcome;
use wprof_spec_tests::recorded::Recorded;
use wprof_spec_tests::rng::Rng;
use wprof_spec_tests::volume::share;

fn options(single_memory: bool) -> Options<'static> {
    Options { collected: Collected::Trace, single_memory, ..Options::default() }
}

fn tracing_engine() -> Engine {
    let mut config = Config::new();
    config.trace(Tracing::Best);
    Engine::new(&config).expect("an engine for this machine")
}

/// Returns all events of a trace, and how it ends.
fn events(file: &[u8]) -> Result<(Vec<TraceEvent>, TraceEnding), String> {
    let mut reader = TraceReader::open(Cursor::new(file)).map_err(|e| e.to_string())?;
    let ending = reader.ending();
    let events = reader.events_from(0).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    Ok((events, ending))
}

/// Leaves out that the runtime comes back to a frame which then hands the exception on: in a rewritten module it does
/// not.
fn normal(events: &[TraceEvent]) -> Vec<TraceEvent> {
    let hands_on = |index: usize| {
        matches!(events[index], TraceEvent::HostReturn(..))
            && matches!(events.get(index + 1), Some(TraceEvent::Unwound { .. }))
    };
    (0..events.len()).filter(|index| !hands_on(*index)).map(|index| events[index]).collect()
}

/// Returns the trace file that a rewritten module's region gives.
fn written(original: &[u8], rewritten: &[u8], region: &[u8]) -> Result<(Vec<u8>, TraceRead), String> {
    let counters = RawCounters::new(rewritten, region).map_err(|e| e.to_string())?;
    let counters = RawCounters::from_bytes(&counters.to_bytes()).map_err(|e| e.to_string())?;
    let mut file = Vec::new();
    let read = read_trace(original, &counters, "", &mut file).map_err(|e| e.to_string())?;
    Ok((file, read))
}

/// The amount of work that has been compared.
#[derive(Debug, Default)]
struct Compared {
    modules: u64,
    events: u64,
    unwound: u64,
    calls_back: u64,
}

impl Compared {
    fn add(&mut self, events: &[TraceEvent]) {
        self.modules += 1;
        self.events += events.len() as u64;
        let unwound = events.iter().filter(|event| matches!(event, TraceEvent::Unwound { .. }));
        self.unwound += unwound.count() as u64;
        let back = |pair: &&[TraceEvent]| matches!(pair, [TraceEvent::HostCall(..), TraceEvent::Enter(_)]);
        self.calls_back += events.windows(2).filter(back).count() as u64;
    }
}

/// Checks that the first difference of two runs, if there is one, is told.
fn same(found: &[TraceEvent], expected: &[TraceEvent]) -> Result<(), String> {
    let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = at.unwrap_or(found.len().min(expected.len()));
    if found.len() == expected.len() && at == found.len() {
        return Ok(());
    }
    let around = |events: &[TraceEvent]| {
        let end = events.len().min(at + 4);
        format!("{:?}", &events[at.saturating_sub(4).min(end)..end])
    };
    Err(format!("event {at}: {}, the engine has {}", around(found), around(expected)))
}

fn compare(engines: (&Engine, &Engine), case: &Case, all: &mut Compared) -> Result<(), String> {
    let (traced, plain) = engines;
    let expected = ours::run(traced, &case.wasm, &case.drive)?;
    let single_memory = case.seed % 3 == 2;
    let rewritten = match instrument(&case.wasm, options(single_memory)) {
        Err(Error::NoCode) => return Ok(()),
        Err(Error::NoRoom(_)) if single_memory => {
            instrument(&case.wasm, options(false)).map_err(|e| e.to_string())?
        }
        rewritten => rewritten.map_err(|e| e.to_string())?,
    };
    let mut ran = ours::run(plain, &rewritten, &case.drive)?;
    if [&expected.outcome, &ran.outcome].into_iter().any(Outcome::overflowed) {
        return Ok(());
    }
    // An access beyond the end of the memory does not trap where the trace follows the memory.
    if !single_memory {
        expected.outcome.same_as(&ran.outcome)?;
    } else if expected.outcome.calls != ran.outcome.calls {
        return Ok(());
    }
    let (Some(trace), Some(region)) = (&expected.trace, ran.region()) else { return Ok(()) };
    let (file, read) = written(&case.wasm, &rewritten, &region)?;
    let ((found, ending), (expected, _)) = (events(&file)?, events(trace)?);
    let (found, expected) = (normal(&found), normal(&expected));
    same(&found, &expected).map_err(|e| format!("{e}; {read:?}"))?;
    if !read.is_whole || ending != TraceEnding::Finished {
        return Err(format!("{read:?}, {ending:?}"));
    }
    all.add(&found);
    Ok(())
}

#[test]
fn generated_modules_write_the_trace_that_the_engine_writes() {
    let (traced, plain) = (tracing_engine(), Mode::Off.engine());
    let mut all = Compared::default();
    let mut compare = |case: Case| {
        let what = format!("{:?} of seed {}", case.maker, case.seed);
        compare((&traced, &plain), &case, &mut all).err().map(|error| format!("{what}: {error}"))
    };
    let mut failures: Vec<String> = (0..share(400)).filter_map(|seed| compare(case(seed))).collect();
    failures.extend((0..share(8)).filter_map(|seed| compare(hot_case(seed))));
    let shown = &failures[..failures.len().min(10)];
    assert!(failures.is_empty(), "{}: {shown:#?}", failures.len());
    println!("{all:?}");
    assert!(all.modules > share(200) && all.events > share(100_000) && all.unwound > share(200), "{all:?}");
}

/// Runs a module in both ways, and returns the events of the rewritten one and of the engine.
fn both(wasm: &[u8], drive: &Drive, options: Options<'_>) -> (Vec<TraceEvent>, Vec<TraceEvent>, TraceRead) {
    let expected = ours::run(&tracing_engine(), wasm, drive).expect("it runs");
    let rewritten = instrument(wasm, options).expect("rewritten");
    let mut ran = ours::run(&Mode::Off.engine(), &rewritten, drive).expect("it runs");
    expected.outcome.same_as(&ran.outcome).expect("the same");
    let (file, read) = written(wasm, &rewritten, &ran.region().expect("a trace")).expect("a trace");
    let (found, ending) = events(&file).expect("it can be replayed");
    assert_eq!(ending == TraceEnding::Finished, read.is_whole);
    let (expected, _) = events(&expected.trace.expect("it traces")).expect("it can be replayed");
    (normal(&found), normal(&expected), read)
}

/// `run(n)` calls `$odd` and itself, directly, in tail position and through a table, and catches what they throw; a
/// function of the host is called in all these ways, too. `fail` throws to the host, and `trap` traps below all that.
const THROWS: &str = r#"(module
  (import "host" "value" (func $host (result i32)))
  (tag $odd (param i32))
  (table funcref (elem $odd $host_like $host $trap))
  (type $one (func (param i32) (result i32)))
  (func $host_like (param i32) (result i32) (drop (call $host)) (local.get 0))
  (func $odd (param i32) (result i32)
    (if (i32.and (local.get 0) (i32.const 1)) (then (throw $odd (local.get 0))))
    (return_call_indirect (type $one) (local.get 0) (i32.const 1)))
  (func $last (result i32) (return_call $host))
  (func $last_of_table (result i32) (return_call_indirect (result i32) (i32.const 2)))
  (func $trap (param i32) (result i32) (i32.div_u (i32.const 1) (i32.const 0)))
  (func $through (param i32) (result i32)
    (i32.add (call_indirect (type $one) (local.get 0) (i32.const 0)) (i32.add (call $last) (call $last_of_table))))
  (func $fail (export "fail") (result i32) (call $through (i32.const 3)))
  (func (export "trap") (result i32) (call_indirect (type $one) (i32.const 1) (i32.const 3)))
  (func (export "null") (result i32) (call_indirect (type $one) (i32.const 1) (i32.const 9)))
  (func $run (export "run") (param $n i32) (result i32)
    (local $sum i32)
    (if (i32.eqz (i32.and (local.get $n) (i32.const 15))) (then (return (call_indirect (result i32) (i32.const 2)))))
    (local.set $n (i32.and (local.get $n) (i32.const 15)))
    TRY
    (i32.add (local.get $sum) (call $run (i32.sub (local.get $n) (i32.const 1))))))"#;

const NEWER: &str = r#"(local.set $sum (block $caught (result i32)
      (try_table (result i32) (catch $odd $caught) (call $through (local.get $n)))))"#;

const OLDER: &str = "try (result i32) (call $through (local.get $n)) catch $odd end local.set $sum";

#[test]
fn calls_of_all_kinds_and_catches_are_traced() {
    for text in [NEWER, OLDER] {
        let wasm = wat::parse_str(THROWS.replace("TRY", text)).expect("text");
        let drive = Drive::new(&wasm, 0, 4, 0).expect("valid");
        let (found, expected, read) = both(&wasm, &drive, options(false));
        same(&found, &expected).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!(read.is_whole && read.bits > 500, "{read:?}");
    }
}

#[test]
fn a_trace_that_its_memory_has_no_room_for_has_the_beginning_of_the_run() {
    let wasm = wat::parse_str(THROWS.replace("TRY", NEWER)).expect("text");
    let drive = Drive::new(&wasm, 0, 40, 0).expect("valid");
    let (whole, ..) = both(&wasm, &drive, options(false));
    for memory in [1024, 2048, 4096] {
        let (found, expected, read) = both(&wasm, &drive, Options { trace_memory: memory, ..options(false) });
        assert_eq!(expected, whole);
        assert!(!read.is_whole && found.len() > 100 && found.len() < expected.len(), "{memory}: {read:?}");
        same(&found, &expected[..found.len()]).unwrap_or_else(|e| panic!("{memory}: {e}"));
    }
    let few = Options { trace_memory: 100, ..options(false) };
    assert!(instrument(&wasm, few).expect_err("too little").to_string().contains("from 1 KiB to 128 MiB"));
    let both = Options { contexts: Some(1 << 20), ..options(false) };
    assert!(instrument(&wasm, both).expect_err("two things").to_string().contains("instrument it twice"));
}

/// Calls a function of the host in a table, which the module does not know; that calls back.
const FOREIGN: &str = r#"(module
  (table (export "table") 1 funcref)
  (func (export "a") (param i32) (result i32) (if (result i32) (local.get 0) (then (i32.const 1)) (else (i32.const 2))))
  (func (export "b") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (unreachable)))
    (i32.const 3))
  (func (export "run") (result i32)
    (i32.add (call_indirect (result i32) (i32.const 0)) (call_indirect (result i32) (i32.const 0)))))"#;

/// Runs [`FOREIGN`], whose table has a function that calls `a` twice and `b`.
fn run_foreign(engine: &Engine, wasm: &[u8]) -> (Store<()>, Instance, Option<Vec<u8>>) {
    let module = Module::new(engine, wasm).expect("valid");
    let mut store = Store::new(engine, ());
    let trace = Recorded::start(&mut store, &module).expect("it starts");
    let instance = Instance::new(&mut store, &module, &[]).expect("an instance");
    let foreign = Func::wrap(&mut store, move |mut caller: Caller<'_, ()>| -> i32 {
        let mut sum = 0;
        for (name, arg) in [("a", 1), ("a", 0), ("b", 1)] {
            let func = instance.get_typed_func::<i32, i32>(&mut caller, name).expect("exported");
            sum += func.call(&mut caller, arg).expect("it returns");
        }
        sum
    });
    let table = instance.get_table(&mut store, "table").expect("exported");
    table.set(&mut store, 0, Ref::Func(Some(foreign))).expect("a place");
    let run = instance.get_typed_func::<(), i32>(&mut store, "run").expect("exported");
    assert_eq!(run.call(&mut store, ()).expect("it returns"), 12);
    let trace = trace.finish(&mut store).expect("it ends");
    (store, instance, trace)
}

#[test]
fn what_a_function_of_the_host_in_a_table_calls_is_called_by_the_host() {
    let wasm = wat::parse_str(FOREIGN).expect("text");
    let (_, _, trace) = run_foreign(&tracing_engine(), &wasm);
    let rewritten = instrument(&wasm, options(false)).expect("rewritten");
    let (mut store, instance, _) = run_foreign(&Mode::Off.engine(), &rewritten);
    let region = ours::region(&mut store, instance).expect("a trace");
    let (file, read) = written(&wasm, &rewritten, &region).expect("a trace");
    let (found, expected) =
        (events(&file).expect("events").0, events(&trace.expect("a trace")).expect("events").0);
    same(&found, &expected).expect("the same");
    let back = |event: &&TraceEvent| matches!(event, TraceEvent::HostReturn(..));
    assert!(read.is_whole && found.iter().filter(back).count() == 2, "{found:?}");
}

#[test]
fn damaged_traces_are_refused() {
    let wasm = wat::parse_str(THROWS.replace("TRY", OLDER)).expect("text");
    let drive = Drive::new(&wasm, 0, 4, 0).expect("valid");
    let rewritten = instrument(&wasm, options(false)).expect("rewritten");
    let mut ran = ours::run(&Mode::Off.engine(), &rewritten, &drive).expect("it runs");
    let region = ran.region().expect("a trace");
    let whole = RawCounters::new(&rewritten, &region).expect("counters").to_bytes();
    assert!(RawCounters::from_bytes(&whole).expect("counters").are_trace().expect("a description"));
    let mut rng = Rng::new(1);
    let mut changed = 0;
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            let at = rng.below(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
        }
        // No panic, whatever the bytes are, and what is written can be replayed.
        let Ok(counters) = RawCounters::from_bytes(&bytes) else { continue };
        let mut file = Vec::new();
        match read_trace(&wasm, &counters, "", &mut file) {
            Ok(_) => drop(events(&file).expect("it can be replayed")),
            Err(_) => changed += 1,
        }
    }
    assert!(changed > 0);
}
