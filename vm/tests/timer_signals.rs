//! Timer signals change nothing, in any state of a program, however many there are.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wprof::profiler::{BurstLengths, CacheShape, Profile};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A change of the configuration.
type Change = fn(&mut Config) -> &mut Config;

/// More signals per second than any kernel has ticks.
const OFTEN: u32 = 20_000;

fn adaptive() -> ProfilingConfig {
    ProfilingConfig::Adaptive(Adaptive { lengths: BurstLengths::new(1000, 50), ..Adaptive::default() })
}

/// Returns the signals that this process handles.
fn handled() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has one");
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("it says");
    u64::from_str_radix(line.trim(), 16).expect("a set of signals")
}

/// Loops with and without calls, recursion, tail calls, traps, calls through a table and of the host, growing memory.
const ALL_KINDS: &str = concat!(
    r#"(module
    (import "host" "id" (func $id (param i64) (result i64)))
    (type $unary (func (param i64) (result i64)))
    (memory 1 40)
    (table 4 funcref) (elem (i32.const 0) $fib $collatz $id $down)
"#,
    include_str!("programs/all_kinds.wat"),
    r#"    (func $deep (export "deep") (param $n i64) (result i64)
        (i64.add (call $deep (i64.add (local.get $n) (i64.const 1))) (i64.const 1)))
    (func (export "trap") (result i64)
        (drop (call $fib (i64.const 12)))
        (i64.load (i32.const 0x7fff0000)))
    (func (export "run") (result i64) (local $i i64) (local $sum i64)
        (loop $again
            (memory.fill (i32.const 64) (i32.wrap_i64 (local.get $i)) (i32.const 1000))
            (drop (memory.grow (i32.const 0)))
            (local.set $sum (i64.add (local.get $sum)
                (call_indirect (type $unary) (i64.rem_u (local.get $i) (i64.const 14))
                    (i32.and (i32.wrap_i64 (local.get $i)) (i32.const 3)))))
            (local.set $sum (i64.add (local.get $sum) (i64.load (i32.const 100))))
            (br_if $again (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (i64.const 300))))
        (local.get $sum)))"#
);

/// Returns the outcome of a store: results, traps, and counts.
fn outcome(engine: &Engine, module: &Module) -> Result<(Vec<String>, Option<Profile>, u64)> {
    let mut linker: Linker<()> = Linker::new(engine);
    linker.func_wrap("host", "id", |x: i64| x)?;
    let mut store = Store::new(engine, ());
    if engine.config().meters("instructions") {
        store.set_budget("instructions", 1000)?;
        store.on_out_of_budget(|_, _| Some(1000));
    }
    if engine.config().traces() {
        store.record_trace(module, "kinds", std::io::sink(), 1 << 30)?;
    }
    let instance = linker.instantiate(&mut store, module)?;
    let mut all = Vec::new();
    for name in ["run", "trap", "run", "deep", "run"] {
        let result = match name {
            "deep" => instance.get_typed_func::<i64, i64>(&mut store, name)?.call(&mut store, 0),
            _ => instance.get_typed_func::<(), i64>(&mut store, name)?.call(&mut store, ()),
        };
        all.push(result.map_or_else(|error| error.to_string(), |result| result.to_string()));
    }
    let samples = instance.profile(&store).ok();
    let taken =
        samples.as_ref().and_then(|profile| profile.time.as_ref()).map_or(0, |time| time.total().samples);
    Ok((all, samples.map(|profile| Profile { time: None, ..profile }), taken))
}

#[test]
fn signals_in_every_state_change_nothing() -> Outcome {
    let kinds: [(&str, Change); 8] = [
        ("plain", |config| config),
        ("baseline", |config| config.strategy(Strategy::Baseline)),
        ("edges", |config| config.profiling(ProfilingConfig::Exact(Collect::Edges))),
        ("paths", |config| config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true)),
        ("budget", |config| config.count_events(EventModel::built_in("instructions")).budget("instructions")),
        ("trace", |config| config.trace(Tracing::Best)),
        ("adaptive", |config| config.profiling(adaptive()).count_contexts(true)),
        ("metrics", |config| {
            config.profiling(ProfilingConfig::Exact(Collect::Paths)).count_contexts(true);
            config.measure([Metric::CacheMisses(CacheShape::USUAL)])
        }),
    ];
    // The first store with samples installs the handler.
    let before = handled();
    let mut sampled = Config::new();
    Store::new(&Engine::new(sampled.sample_time(Some(1)))?, ());
    let signals = handled() & !before;
    // Another test of this process may have installed it; then it is the highest handled signal.
    let signal = 64 - if signals != 0 { signals } else { handled() }.leading_zeros();
    assert!(signal as i32 >= libc::SIGRTMIN(), "{signal}");
    let mut taken_in_all = 0;
    for (name, change) in kinds {
        let config = |rate| {
            let mut config = Config::new();
            change(config.sample_time(rate));
            // The same code at the same time, so that counts are comparable.
            config.background_compilation(false);
            config
        };
        let (engine, sampling) = (Engine::new(&config(None))?, Engine::new(&config(Some(OFTEN)))?);
        let module = Module::new(&engine, ALL_KINDS)?;
        let (expected, counted, none) = outcome(&engine, &module)?;
        assert_eq!(none, 0);
        let stop = AtomicBool::new(false);
        let sent = AtomicU64::new(0);
        let thread = thread_id();
        let found = thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    send(thread, signal as i32);
                    sent.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(30));
                }
            });
            let module = Module::new(&sampling, ALL_KINDS);
            let found = module.and_then(|module| {
                let mut all = Vec::new();
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(400) || all.is_empty() {
                    all.push(outcome(&sampling, &module)?);
                }
                Ok(all)
            });
            stop.store(true, Ordering::Relaxed);
            found
        })?;
        for (results, profile, taken) in found {
            assert_eq!(results, expected, "{name}");
            // The beginnings of bursts and the addresses of code differ in each store.
            if let (Some(profile), Some(counted), false) = (profile, &counted, name == "adaptive") {
                let but_deep = |profile: &Profile| {
                    let found = profile.functions.iter().filter(|f| f.name.as_deref() != Some("deep"));
                    found.cloned().collect::<Vec<_>>()
                };
                // The start of the stack decides how deep the recursion goes.
                assert!(but_deep(&profile) == but_deep(counted), "{name}: other counts");
            }
            taken_in_all += taken;
        }
        assert!(sent.load(Ordering::Relaxed) > 10, "{name}");
    }
    assert!(taken_in_all > 200, "{taken_in_all}");
    Ok(())
}

/// Returns this thread's id.
fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Sends a signal to a thread.
fn send(thread: i32, signal: i32) {
    // SAFETY: the call has no preconditions; if the thread is gone, it returns an error, which does not matter.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}
