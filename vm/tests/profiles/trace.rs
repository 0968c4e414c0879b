//! Traces: a replay equals the run, in every tier and with every method.

use std::collections::BTreeMap;

use wprof::profiler::{Profile, TraceEvent, TraceMethod};
use wprof::*;
use wprof_jit::cfg;
use wprof_jit::plan::SplitCfg;

use crate::memory_file::File;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const METHODS: [Tracing; 4] = [
    Tracing::Best,
    Tracing::Only(TraceMethod::Witnesses),
    Tracing::Only(TraceMethod::BitTracing),
    Tracing::Only(TraceMethod::EveryBranch),
];

/// Returns configurations for every method in every tier, with profiles for comparison.
fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    for method in METHODS {
        for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
            let mut config = Config::new();
            config.profiling(ProfilingConfig::Exact(Collect::Edges)).trace(method).strategy(strategy);
            config.promote_after(20).background_compilation(false);
            all.push(config.clone());
            // A chunk ends about every second word, so that chunks end everywhere.
            config.trace_buffer(8);
            all.push(config);
        }
    }
    // Without a pinned register, the current word is in memory.
    for strategy in [Strategy::Baseline, Strategy::Optimized, Strategy::Tiered] {
        let mut config = Config::conservative();
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).trace(Tracing::Best).strategy(strategy);
        all.push(config.promote_after(20).clone());
        all.push(config.trace_buffer(8).clone());
    }
    all
}

/// How often control went from one block to another, or out of the function: by function, source and target.
type Edges = BTreeMap<(u32, u32, u32), u64>;

/// Maps parts to blocks.
struct Splits<'a> {
    module: &'a Module,
    known: BTreeMap<u32, (SplitCfg, u32)>,
}

impl Splits<'_> {
    /// Returns the block of a part, and whether it is the block's first part; EXIT beyond the last part.
    fn block(&mut self, func: u32, part: usize) -> (u32, bool) {
        let (split, blocks) = self.known.entry(func).or_insert_with(|| {
            let cfg = cfg::build(self.module.info(), func).expect("builds");
            (SplitCfg::new(self.module.info(), &cfg).expect("reads"), cfg.blocks.len() as u32)
        });
        match split.parts.get(part) {
            Some(of) => (of.block, split.first_part[of.block as usize] as usize == part),
            None => (*blocks, true),
        }
    }
}

/// Returns the edges of a replay, followed separately in each frame.
fn replayed_edges(module: &Module, events: &[TraceEvent]) -> Edges {
    let mut splits = Splits { module, known: BTreeMap::new() };
    let (mut edges, mut stack) = (Edges::new(), Vec::new());
    for &event in events {
        match event {
            TraceEvent::Enter(func) => stack.push((func, None)),
            TraceEvent::Block(func, part) => {
                let (block, is_first) = splits.block(func, part.index());
                let top: &mut (u32, Option<u32>) = stack.last_mut().expect("a frame");
                assert_eq!(top.0, func);
                let from = top.1.replace(block);
                if let Some(from) = from.filter(|_| is_first) {
                    *edges.entry((func, from, block)).or_default() += 1;
                }
            }
            TraceEvent::Leave(func) => {
                let (of, from) = stack.pop().expect("a frame");
                assert_eq!(of, func);
                let exit = splits.block(func, usize::MAX).0;
                *edges.entry((func, from.expect("a block"), exit)).or_default() += 1;
            }
            TraceEvent::Unwound { function, .. } => {
                assert_eq!(stack.pop().map(|top| top.0), Some(function));
            }
            TraceEvent::HostCall(..) | TraceEvent::HostReturn(..) => {}
        }
    }
    assert!(stack.is_empty());
    edges
}

fn profiled_edges(profile: &Profile) -> Edges {
    let mut edges = Edges::new();
    for function in &profile.functions {
        for (edge, count) in function.counted_edges().filter(|(_, count)| *count > 0) {
            *edges.entry((function.index, edge.from.0, edge.to.0)).or_default() += count;
        }
    }
    edges
}

/// Loops, switches, calls of all kinds, recursion, traps, and a host that calls back.
const WAT: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (import "host" "look" (func $look (type $unary)))
    (memory 1)
    (table funcref (elem $even $odd $look $tail))
    (func $even (type $unary)
        (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 1))
            (else (call $odd (i32.sub (local.get 0) (i32.const 1))))))
    (func $odd (type $unary)
        (drop (call $look (i32.add (local.get 0) (i32.const 100))))
        (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
            (else (return_call $even (i32.sub (local.get 0) (i32.const 1))))))
    (func $tail (type $unary)
        (if (i32.eqz (i32.rem_u (local.get 0) (i32.const 5))) (then (return_call $look (local.get 0))))
        (if (i32.eqz (local.get 0)) (then (return (i32.const 7))))
        (return_call_indirect (type $unary)
            (i32.sub (local.get 0) (i32.const 1)) (i32.and (local.get 0) (i32.const 3))))
    (func $inner (export "inner") (type $unary)
        (i32.store8 (local.get 0) (call $look (i32.const 200)))
        (i32.load (local.get 0)))
    (func $deep (export "deep") (param i32) (result i32)
        (if (i32.eqz (local.get 0)) (then (return (call $look (i32.const 300)))))
        (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
    (func $deep_by_table (export "deep_by_table") (param i32) (result i32)
        (i32.add (call_indirect (type $unary) (local.get 0) (i32.const 0)) (call $deep (i32.const -1))))
    (func (export "run") (param $n i32) (result i32) (local $sum i32) (local $i i32)
        (loop $outer
            (local.set $i (i32.and (local.get $n) (i32.const 7)))
            (block $done
                (loop $again
                    (br_if $done (i32.eqz (local.get $i)))
                    (local.set $sum (i32.add (local.get $sum) (i32.div_s (i32.const 1000) (local.get $i))))
                    (local.set $i (i32.sub (local.get $i) (i32.const 1)))
                    (br $again)))
            (block $a (block $b (block $c (block $d
                (br_table $a $b $c $b $d (i32.rem_u (local.get $n) (i32.const 7))))
                (local.set $sum (i32.const 1)))
                (local.set $sum (call $even (i32.const 3))))
                (drop (call $look (i32.const 50))))
            (local.set $sum (i32.add
                (call_indirect (type $unary) (local.get $n) (i32.rem_u (local.get $n) (i32.const 4)))
                (i32.add (call $look (local.get $n)) (call $even (local.get $n)))))
            (if (i32.eq (local.get $n) (i32.const 41)) (then unreachable))
            (memory.fill (local.get $n) (i32.const 1) (local.get $n))
            (br_if $outer (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "forever") (loop $again (drop (call $even (i32.const 2))) (br $again))))"#;

/// Traces a run of `function`, and returns its results; the host calls back at 13, and if `fails` it fails at 42 and
/// interrupts at 102.
fn traced(config: &Config, function: &str, n: i32, fails: bool) -> Result<(File, Module, Profile)> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, WAT)?;
    let mut store = Store::new(&engine, 0);
    let mut linker = Linker::new(&engine);
    let handle = store.interrupt_handle();
    linker.func_wrap("host", "look", move |mut caller: Caller<'_, i32>, n: i32| -> Result<i32> {
        if n == 13 {
            let instance = caller.instance().expect("wasm calls it");
            let inner = instance.get_typed_func::<i32, i32>(&mut caller, "inner")?;
            inner.call(&mut caller, 8)?;
            assert!(inner.call(&mut caller, -1).is_err());
            let deep = instance.get_typed_func::<i32, i32>(&mut caller, "deep")?;
            assert_eq!(deep.call(&mut caller, 20)?, 320);
        }
        if n == 101 && fails {
            *caller.data_mut() += 1;
            if *caller.data() == 1000 {
                handle.interrupt();
            }
        }
        if fails && n == 42 { Err(Exit(3).into()) } else { Ok(n) }
    })?;
    let file = File::default();
    store.record_trace(&module, "sample", file.clone(), u64::MAX)?;
    let instance = linker.instantiate(&mut store, &module)?;
    match function {
        "forever" => {
            let forever = instance.get_typed_func::<(), ()>(&mut store, function)?;
            assert_eq!(forever.call(&mut store, ()).expect_err("stopped").trap(), Some(Trap::Interrupt));
        }
        _ => drop(instance.get_typed_func::<i32, i32>(&mut store, function)?.call(&mut store, n)),
    }
    assert!(!store.finish_trace()?.limit_reached);
    let profile = instance.profile(&store)?;
    Ok((file, module, profile))
}

#[test]
fn replayed_edges_are_those_of_the_profile() -> Outcome {
    let mut chunks = 0;
    for config in configs() {
        for (n, fails) in [(60, false), (60, true), (13, false), (40, false), (5, false), (25, true)] {
            let (file, module, profile) = traced(&config, "run", n, fails)?;
            let edges = replayed_edges(&module, &file.events());
            assert_eq!(edges, profiled_edges(&profile), "{n} {fails} {config:?}");
            assert!(edges.len() > 20 || n == 5, "{edges:?}");
            chunks += file.trace().chunk_count();
        }
    }
    assert!(chunks > 10_000, "{chunks}");
    Ok(())
}

#[test]
fn an_interrupted_run_is_replayed_to_where_it_stopped() -> Outcome {
    for config in configs() {
        let (file, module, profile) = traced(&config, "forever", 0, true)?;
        let edges = replayed_edges(&module, &file.events());
        assert_eq!(edges, profiled_edges(&profile));
        assert!(edges.values().any(|&count| count >= 999), "{edges:?}");
    }
    Ok(())
}

#[test]
fn a_stack_that_overflowed_is_replayed() -> Outcome {
    for config in configs() {
        for function in ["deep", "deep_by_table"] {
            // This many frames with this many chunks would take too long.
            let mut config = config.clone();
            config.trace_buffer(1 << 16);
            let config = &config;
            let (file, module, profile) = traced(config, function, -1, false)?;
            let events = file.events();
            assert_eq!(replayed_edges(&module, &events), profiled_edges(&profile));
            let unwound = events.iter().filter(|event| matches!(event, TraceEvent::Unwound { .. })).count();
            assert!(unwound > 1000, "{unwound}");
        }
    }
    Ok(())
}

/// Recursion to some depth, then a call of a function that has not been compiled, and cannot be with so little stack
/// left.
#[test]
fn a_callee_that_cannot_be_compiled_is_named() -> Outcome {
    let wat = r#"(module
        (type $unary (func (param i32) (result i32)))
        (table funcref (elem $fresh $tail))
        (func $fresh (type $unary) (local.get 0))
        (func $tail (type $unary)
            (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
            (return_call_indirect (type $unary) (local.get 0) (i32.const 0)))
        (func $rec (export "rec") (param $n i32) (param $how i32) (result i32)
            (if (i32.eqz (local.get $n)) (then
                (block $direct (block $indirect (block $tail
                    (br_table $direct $indirect $tail (local.get $how)))
                    (return (call_indirect (type $unary) (i32.const 1) (i32.const 1))))
                    (return (call_indirect (type $unary) (i32.const 1) (i32.const 0))))
                (return (call $fresh (i32.const 1)))))
            (i32.add (i32.const 1) (call $rec (i32.sub (local.get $n) (i32.const 1)) (local.get $how))))
        (func (export "warm") (drop (call $tail (i32.const 0)))))"#;
    for method in METHODS {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Exact(Collect::Edges)).trace(method).strategy(Strategy::Optimized);
        let engine = Engine::new(&config)?;
        let mut deepest = -1;
        for how in [-1, 0, 1, 2] {
            let module = Module::new(&engine, wat)?;
            let (mut store, file) = (Store::new(&engine, ()), File::default());
            let instance = Instance::new(&mut store, &module, &[])?;
            store.record_trace(&module, "deep", file.clone(), u64::MAX)?;
            instance.get_typed_func::<(), ()>(&mut store, "warm")?.call(&mut store, ())?;
            let rec = instance.get_typed_func::<(i32, i32), i32>(&mut store, "rec")?;
            let error = rec.call(&mut store, (deepest, how)).expect_err("no stack");
            assert_eq!(error.trap(), Some(Trap::StackOverflow));
            store.finish_trace()?;
            let events = file.events();
            assert_eq!(replayed_edges(&module, &events), profiled_edges(&instance.profile(&store)?));
            let unwound = events.iter().filter(|event| matches!(event, TraceEvent::Unwound { .. })).count();
            match how {
                -1 => deepest = unwound as i32 * 95 / 100,
                // The frames of `rec`, and the entered callee, no part of which has run.
                _ => assert_eq!(unwound as i32, deepest + 2, "{how}"),
            }
            let last = events.iter().rev().find(|event| matches!(event, TraceEvent::Enter(_)));
            assert_eq!(last, Some(&TraceEvent::Enter(if how < 0 { 2 } else { 0 })));
        }
    }
    Ok(())
}

/// Enough bits for several chunks, with recursion and callbacks on the stack when chunks end.
#[test]
fn chunks_that_end_anywhere_follow_each_other() -> Outcome {
    let wat = r#"(module
        (type $unary (func (param i32) (result i32)))
        (import "host" "back" (func $back (type $unary)))
        (table funcref (elem $spin $back $tail))
        (func $tail (type $unary)
            (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
            (return_call_indirect (type $unary) (i32.sub (local.get 0) (i32.const 1)) (i32.const 2)))
        (func $spin (export "spin") (type $unary) (local $i i32)
            (local.set $i (i32.const 3000))
            (loop $again
                (if (i32.and (local.get $i) (local.get 0)) (then (local.set 0 (i32.xor (local.get 0) (local.get $i)))))
                (drop (call_indirect (type $unary) (i32.const 0) (i32.const 1)))
                (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
            (i32.add (local.get 0) (call_indirect (type $unary) (i32.const 3000) (i32.const 2))))
        (func (export "run") (type $unary)
            (if (i32.gt_u (local.get 0) (i32.const 0)) (then
                (drop (call $back (local.get 0)))
                (drop (call_indirect (type $unary) (local.get 0) (i32.const 0)))))
            (local.get 0)))"#;
    for method in METHODS {
        let mut config = Config::new();
        let engine = Engine::new(config.trace(method).profiling(ProfilingConfig::Exact(Collect::Edges)))?;
        let module = Module::new(&engine, wat)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "back", |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
            if n == 0 {
                return Ok(0);
            }
            let instance = caller.instance().expect("wasm calls it");
            instance.get_typed_func::<i32, i32>(&mut caller, "run")?.call(&mut caller, n - 1)
        })?;
        let (mut store, file) = (Store::new(&engine, ()), File::default());
        let instance = linker.instantiate(&mut store, &module)?;
        store.record_trace(&module, "chunks", file.clone(), u64::MAX)?;
        instance.get_typed_func::<i32, i32>(&mut store, "run")?.call(&mut store, 80)?;
        store.finish_trace()?;
        assert!(file.trace().chunk_count() > 2, "{}", file.trace().chunk_count());
        assert_eq!(replayed_edges(&module, &file.events()), profiled_edges(&instance.profile(&store)?));
    }
    Ok(())
}

#[test]
fn a_small_run_is_replayed_step_by_step() -> Outcome {
    use TraceEvent::{Block, Enter, HostCall, HostReturn, Leave, Unwound};
    let wat = r#"(module
        (import "host" "f" (func $f))
        (func $g (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
        (func (export "run") (param i32) (call $g (local.get 0)) (call $f)))"#;
    let b = wprof::profiler::BlockId;
    for method in METHODS {
        let engine = Engine::new(Config::new().trace(method))?;
        let module = Module::new(&engine, wat)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "f", || ())?;
        let (mut store, file) = (Store::new(&engine, ()), File::default());
        let instance = linker.instantiate(&mut store, &module)?;
        store.record_trace(&module, "small", file.clone(), u64::MAX)?;
        let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
        run.call(&mut store, 1)?;
        assert!(run.call(&mut store, 0).is_err());
        store.finish_trace()?;
        let start = [Enter(2), Block(2, b(0)), Enter(1), Block(1, b(0))];
        let mut expected = start.to_vec();
        expected.extend([Block(1, b(2)), Leave(1), Block(2, b(1)), HostCall(2, b(1)), HostReturn(2, b(1))]);
        expected.extend([Block(2, b(2)), Leave(2)]);
        expected.extend(start);
        expected.push(Block(1, b(1)));
        expected.extend([Unwound { function: 1, block: b(1) }, Unwound { function: 2, block: b(0) }]);
        assert_eq!(file.events(), expected);
    }
    Ok(())
}

/// Each kind of access with its kind, memory, address and bytes, in order, including those that trap.
#[test]
fn data_references_are_replayed_in_step() -> Outcome {
    use wprof::profiler::{AccessKind, TraceStep};
    let wat = r#"(module
        (memory $m 1) (memory $n i64 1)
        (data $d "abcd")
        (func $g (param i32) (result i32) (i32.load16_u $m offset=2 (local.get 0)))
        (func (export "run") (param i32)
            (v128.store $m offset=16 (i32.const 32) (v128.load32_splat $m (i32.const 8)))
            (drop (call $g (local.get 0)))
            (i64.store8 $n offset=1 (i64.const 70) (i64.const 1))
            (drop (i32.atomic.rmw16.cmpxchg_u $m offset=6 (local.get 0) (i32.const 0) (i32.const 0)))
            (i64.atomic.store $n (i64.const 72) (i64.const 1))
            (drop (memory.atomic.notify $n (i64.const 72) (i32.const 1)))
            (memory.init $m $d (i32.const 5) (i32.const 0) (i32.const 4))
            (memory.copy $n $m (i64.const 9) (i32.const 5) (i32.const 3))
            (memory.fill $n (i64.const 100) (i32.const 1) (i64.const 0))
            (drop (i32.div_u (i32.const 1) (local.get 0)))
            (drop (i64.load $n (i64.const -1)))
            (drop (f64.load $m (i32.const 0)))))"#;
    let (load, store) = (AccessKind::Load, AccessKind::Store);
    let common = |arg: u64| {
        let first = [(load, 0, 8, 4), (store, 0, 48, 16), (load, 0, arg + 2, 2), (store, 1, 71, 1)];
        let atomic = [(load, 0, arg + 6, 2), (store, 0, arg + 6, 2), (store, 1, 72, 8)];
        [&first[..], &atomic, &[(store, 0, 5, 4)]].concat()
    };
    let bulk = [(load, 0, 5, 3), (store, 1, 9, 3), (store, 1, 100, 0)];
    for (strategy, buffer) in
        [(Strategy::Optimized, 8), (Strategy::Baseline, 64), (Strategy::Tiered, 1 << 16)]
    {
        let mut config = Config::new();
        config.trace(Tracing::Best).trace_references(true).strategy(strategy).trace_buffer(buffer);
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, wat)?;
        let (mut store, file) = (Store::new(&engine, ()), File::default());
        let instance = Instance::new(&mut store, &module, &[])?;
        store.record_trace(&module, "touch", file.clone(), u64::MAX)?;
        let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
        assert_eq!(run.call(&mut store, 2).expect_err("beyond").trap(), Some(Trap::MemoryOutOfBounds));
        assert_eq!(run.call(&mut store, 0).expect_err("by zero").trap(), Some(Trap::IntegerDivisionByZero));
        store.finish_trace()?;
        let mut reader = file.trace();
        let steps: Vec<_> = reader.steps_from(0).collect::<std::result::Result<_, _>>()?;
        let touched = steps.iter().filter_map(|step| match step {
            TraceStep::Reference(r) => Some((r.access.kind, r.access.memory, r.address, r.bytes)),
            TraceStep::Event(_) => None,
        });
        let first = [&common(2)[..], &bulk, &[(load, 1, u64::MAX, 8)]].concat();
        assert_eq!(touched.collect::<Vec<_>>(), [first, common(0), bulk.to_vec()].concat());
        let events = steps.iter().filter_map(|step| match step {
            TraceStep::Event(event) => Some(*event),
            TraceStep::Reference(_) => None,
        });
        assert_eq!(events.collect::<Vec<_>>(), file.events());
        // From each chunk on, the replay equals the rest.
        for chunk in 0..reader.chunk_count() {
            let rest: Vec<_> = reader.steps_from(chunk).collect::<std::result::Result<_, _>>()?;
            assert!(steps.ends_with(&rest), "{chunk}");
        }
        assert_eq!(reader.chunk_count() > 3, buffer == 8, "{}", reader.chunk_count());
    }
    Ok(())
}

#[test]
fn a_limit_keeps_the_beginning() -> Outcome {
    let engine = Engine::new(Config::new().trace(Tracing::Best))?;
    let wat = r#"(module (func (export "run") (param i32)
        (loop $again (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#;
    let module = Module::new(&engine, wat)?;
    let (mut store, file) = (Store::new(&engine, ()), File::default());
    let instance = Instance::new(&mut store, &module, &[])?;
    store.record_trace(&module, "endless", file.clone(), 2500)?;
    instance.get_typed_func::<i32, ()>(&mut store, "run")?.call(&mut store, 300_000_000)?;
    let summary = store.finish_trace()?;
    assert!(summary.limit_reached && summary.bytes <= 2500, "{summary:?}");
    assert_eq!(file.0.lock().expect("no panic").len() as u64, summary.bytes);
    assert!((1..30).contains(&file.trace().chunk_count()), "{}", file.trace().chunk_count());
    Ok(())
}

#[test]
fn a_trace_is_of_one_instance() -> Outcome {
    let plain = Engine::default();
    let module = Module::new(&plain, "(module)")?;
    assert!(Store::new(&plain, ()).record_trace(&module, "", File::default(), 0).is_err());
    let engine = Engine::new(Config::new().trace(Tracing::Best))?;
    let module = Module::new(&engine, "(module)")?;
    let mut store = Store::new(&engine, ());
    assert!(store.finish_trace().is_err());
    store.record_trace(&module, "", File::default(), u64::MAX)?;
    assert!(store.record_trace(&module, "", File::default(), u64::MAX).is_err());
    Instance::new(&mut store, &module, &[])?;
    assert!(Instance::new(&mut store, &module, &[]).is_err());
    store.finish_trace()?;
    Instance::new(&mut store, &module, &[])?;
    assert!(store.record_trace(&module, "", File::default(), u64::MAX).is_err());
    Ok(())
}

/// Runs a program with a trace, and compares them.
#[cfg(feature = "wasi")]
fn compare_program(config: &Config, file: &str, args: &str) -> Result<u64> {
    use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
    let engine = Engine::new(config)?;
    let module = Module::from_file(&engine, format!("{PROGRAMS}/{file}.wasm"))?;
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut context = WasiCtxBuilder::new();
    context.stdout_pipe(&OutputPipe::new()).stderr_pipe(&OutputPipe::new());
    context.arg(file)?.args(args.split_whitespace().filter(|&arg| arg != "-"))?;
    let (mut store, trace) = (Store::new(&engine, context.build()), File::default());
    store.record_trace(&module, file, trace.clone(), u64::MAX)?;
    let instance = linker.instantiate(&mut store, &module)?;
    // The comparison is valid however the program ends.
    let _ = instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ());
    store.finish_trace()?;
    let edges = replayed_edges(&module, &trace.events());
    assert_eq!(edges, profiled_edges(&instance.profile(&store)?), "{file} {args} {config:?}");
    Ok(edges.values().sum())
}

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/programs");

#[test]
#[cfg(feature = "wasi")]
fn programs_are_replayed_as_they_ran() -> Outcome {
    let manifest = std::fs::read_to_string(format!("{PROGRAMS}/manifest.tsv"))?;
    let (configs, mut crossed) = (configs(), Vec::new());
    let lines = manifest.lines().filter(|line| !line.starts_with('#')).skip(1);
    for (number, line) in lines.enumerate() {
        let [_, program, args, ..] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("bad line: {line}")
        };
        // Some programs run under every configuration, the others under one each, in turn.
        let step = if ["vcall", "interp", "exit"].contains(&program) { 1 } else { configs.len() };
        for config in configs.iter().skip(number % step).step_by(step) {
            let mut config = config.clone();
            config.trace_buffer(1 << 14);
            let config = &config;
            crossed.push(compare_program(config, program, args)?);
        }
    }
    assert!(crossed.len() > 50 && crossed.iter().sum::<u64>() > 10_000_000, "{crossed:?}");
    Ok(())
}
