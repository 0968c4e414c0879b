//! Core dumps, read by an independent reader of the format.

use wasmparser::{
    CoreDumpInstancesSection, CoreDumpModulesSection, CoreDumpStackSection, CoreDumpValue, DataKind,
    KnownCustom, Operator, Parser, Payload, Validator, WasmFeatures,
};
use wprof::*;

use super::{Outcome, engines};

const WAT: &str = r#"(module $program
    (import "env" "memory" (memory 1 3))
    (memory $own i64 2)
    (global $a (mut i32) (i32.const -5)) (global $b i64 (i64.const 0x123456789))
    (global (mut f32) (f32.const 1.5)) (global (mut f64) (f64.const -2.5))
    (global (mut funcref) (ref.null func)) (global v128 (v128.const i64x2 1 2))
    (func $inner (param i32)
        (i32.store (i32.const 70000) (i32.const 0x01020304))
        (i64.store $own (i64.const 131064) (i64.const -1))
        (global.set $a (local.get 0))
        unreachable)
    (func (export "run") (call $inner (i32.const 77)) (nop)))"#;

/// The contents of a dump.
#[derive(Debug, Default)]
struct Found {
    core: String,
    modules: Vec<String>,
    instances: Vec<(u32, Vec<u32>, Vec<u32>)>,
    frames: Vec<(u32, u32, u32)>,
    /// Locals and operands of each frame.
    values: Vec<(Vec<CoreDumpValue>, Vec<CoreDumpValue>)>,
    memories: Vec<(u64, Option<u64>, bool)>,
    globals: Vec<String>,
    data: Vec<(u32, i64, Vec<u8>)>,
}

fn read(dump: &[u8]) -> std::result::Result<Found, Box<dyn std::error::Error>> {
    Validator::new_with_features(WasmFeatures::all()).validate_all(dump)?;
    let mut found = Found::default();
    for payload in Parser::new(0).parse_all(dump) {
        match payload? {
            Payload::CustomSection(section) => match section.as_known() {
                KnownCustom::CoreDump(core) => found.core = core.name.to_owned(),
                KnownCustom::CoreDumpModules(CoreDumpModulesSection { modules }) => {
                    found.modules = modules.into_iter().map(str::to_owned).collect();
                }
                KnownCustom::CoreDumpInstances(CoreDumpInstancesSection { instances }) => {
                    let parts = |i: wasmparser::CoreDumpInstance| (i.module_index, i.memories, i.globals);
                    found.instances = instances.into_iter().map(parts).collect();
                }
                KnownCustom::CoreDumpStack(CoreDumpStackSection { name, frames }) => {
                    assert_eq!(name, "main");
                    let parts = |f: &wasmparser::CoreDumpStackFrame| (f.instanceidx, f.funcidx, f.codeoffset);
                    found.frames = frames.iter().map(parts).collect();
                    found.values = frames.into_iter().map(|frame| (frame.locals, frame.stack)).collect();
                }
                _ => return Err(format!("section {}", section.name()).into()),
            },
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    found.memories.push((memory.initial, memory.maximum, memory.memory64));
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    found.globals.push(format!("{:?}", global?.init_expr.get_operators_reader().read()?));
                }
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment?;
                    let DataKind::Active { memory_index, offset_expr } = segment.kind else {
                        return Err("passive".into());
                    };
                    let at = match offset_expr.get_operators_reader().read()? {
                        Operator::I32Const { value } => value.into(),
                        Operator::I64Const { value } => value,
                        other => return Err(format!("{other:?}").into()),
                    };
                    found.data.push((memory_index, at, segment.data.to_vec()));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

#[test]
fn a_dump_has_stack_memories_and_globals_of_the_trap() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, ());
        let memory = Memory::new(&mut store, MemoryType::new(2, Some(3)))?;
        let module = Module::new(&engine, WAT)?;
        let other = Module::new(&engine, "(module)")?;
        Instance::new(&mut store, &other, &[])?;
        let instance = Instance::new(&mut store, &module, &[memory.into()])?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        let error = run.call(&mut store, ()).expect_err("it traps");
        let dump = WasmCoreDump::new(&error).ok_or("wasm code has trapped")?;
        let found = read(&dump.serialize(&store, "name of the program"))?;
        assert_eq!(found.core, "name of the program");
        assert_eq!(found.modules, ["<module>", "program"]);
        assert_eq!(found.instances[0], (0, vec![], vec![]));
        assert_eq!(found.instances[1], (1, vec![0, 1], (0..6).collect()));
        assert_eq!(found.memories, [(2, Some(3), false), (2, None, true)]);
        let frames: Vec<_> =
            dump.frames().iter().map(|f| (1, f.func_index(), f.func_offset() as u32)).collect();
        assert_eq!(found.frames, frames);
        assert_eq!(frames.iter().map(|frame| frame.1).collect::<Vec<_>>(), [0, 1]);
        // How many there are is known; where code has them is not.
        let missing = |count| vec![CoreDumpValue::Missing; count];
        assert_eq!(
            format!("{:?}", found.values),
            format!("{:?}", [(missing(1), missing(0)), (missing(0), missing(1))])
        );
        assert!(found.globals[0].contains("77") && found.globals[1].contains("4886718345"), "{found:?}");
        assert!(found.globals[4].contains("RefNull"), "{found:?}");
        let [(0, first, own), (1, second, other)] = &found.data[..] else { panic!("{:?}", found.data) };
        assert_eq!(own[70000 - *first as usize..][..4], [4, 3, 2, 1]);
        assert_eq!(other[131064 - *second as usize..][..8], [0xff; 8]);
        assert!(own.len() + other.len() < 3 * 4096, "zeros are left out");
    }
    Ok(())
}

#[test]
fn a_program_that_stops_at_an_instruction_is_dumped_with_its_values() -> Outcome {
    let text = r#"(module (func $inner (param i32 f64) (result i64) (local v128 i64)
            (local.set 3 (i64.const -9))
            (i64.add (i64.extend_i32_s (local.get 0)) (local.get 3)))
        (func (export "run") (result i64) (call $inner (i32.const -5) (f64.const 1.5))))"#;
    let mut seen = Vec::new();
    for budget in 1..=8 {
        let mut config = Config::new();
        config.count_events(EventModel::built_in("instructions")).budget("instructions");
        let engine = Engine::new(config.event_counting(Counting::PerInstruction))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, text)?, &[])?;
        let run = instance.get_typed_func::<(), i64>(&mut store, "run")?;
        store.set_budget("instructions", budget)?;
        let error = run.call(&mut store, ()).expect_err("the budget is too small");
        let dump = WasmCoreDump::new(&error).ok_or("wasm code was stopped")?;
        let (locals, operands) = &read(&dump.serialize(&store, "stopped"))?.values[0];
        let stop = store.stop()?.ok_or("each instruction checks")?;
        assert_eq!((locals.len(), operands.len()), (stop.locals.len(), stop.operands.len()), "{budget}");
        seen.push(format!("{locals:?} {operands:?}"));
    }
    let all = seen.join("\n");
    for part in ["[I32(-5), F64(", "Missing, I64(-9)]", "[I64(-5)]", "[I64(-5), I64(-9)]", "[] [I32(-5)]"] {
        assert!(all.contains(part), "{part}:\n{all}");
    }
    Ok(())
}

#[test]
fn only_who_ends_early_is_dumped() -> Outcome {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "exit", || -> Result<()> { Err(Exit(0).into()) })?;
    let text = r#"(module (import "host" "exit" (func $exit)) (func (export "run") (call $exit)))"#;
    let instance = linker.instantiate(&mut store, &Module::new(&engine, text)?)?;
    let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    let exited = run.call(&mut store, ()).expect_err("it exits");
    assert!(WasmCoreDump::new(&exited).is_none());
    assert!(WasmCoreDump::new(&Error::msg("of the host's")).is_none());
    Ok(())
}

#[test]
fn a_dump_has_the_frames_of_all_instances_that_call_each_other() -> Outcome {
    for engine in engines()? {
        let mut store = Store::new(&engine, ());
        let inner = r#"(module $inner (memory (export "memory") 1) (data (i32.const 16) "inner")
            (func (export "first")) (func (export "traps") unreachable))"#;
        let inner = Instance::new(&mut store, &Module::new(&engine, inner)?, &[])?;
        let traps = inner.get_func(&mut store, "traps").ok_or("exported")?;
        // The host stands between the outer instance and the inner one.
        let host =
            Func::wrap(&mut store, move |mut caller: Caller<'_, ()>| traps.call(&mut caller, &[], &mut []));
        let outer = r#"(module $outer (import "" "" (func $host)) (memory 1) (data (i32.const 16) "outer")
            (func $calls (call $host)) (func (export "run") (call $calls)))"#;
        let outer = Instance::new(&mut store, &Module::new(&engine, outer)?, &[host.into()])?;
        let run = outer.get_typed_func::<(), ()>(&mut store, "run")?;
        let error = run.call(&mut store, ()).expect_err("it traps");
        let dump = WasmCoreDump::new(&error).ok_or("wasm code has trapped")?;
        let found = read(&dump.serialize(&store, "nested"))?;
        assert_eq!(found.modules, ["inner", "outer"]);
        let frames: Vec<_> = found.frames.iter().map(|frame| (frame.0, frame.1)).collect();
        let of_error: Vec<_> = dump.frames().iter().map(FrameInfo::func_index).collect();
        assert_eq!(frames.iter().map(|frame| frame.1).collect::<Vec<_>>(), of_error);
        // The innermost frames are always there.
        assert_eq!(frames[0], (0, 1));
        assert_eq!(found.data.iter().map(|(memory, ..)| *memory).collect::<Vec<_>>(), [0, 1]);
        assert!(found.data[0].2.windows(5).any(|at| at == b"inner"));
        assert!(found.data[1].2.windows(5).any(|at| at == b"outer"));
    }
    Ok(())
}

/// An engine as `engine` whose errors have core dumps.
fn dumping(engine: &Engine) -> Result<Engine> {
    Engine::new(engine.config().clone().coredump_on_trap(true))
}

#[test]
fn errors_have_dumps_with_the_items_of_their_store() -> Outcome {
    for engine in engines()? {
        let engine = dumping(&engine)?;
        let mut store = Store::new(&engine, ());
        let memory = Memory::new(&mut store, MemoryType::new(2, Some(3)))?;
        let module = Module::new(&engine, WAT)?;
        let other = Module::new(&engine, "(module $other)")?;
        let first = Instance::new(&mut store, &other, &[])?;
        let instance = Instance::new(&mut store, &module, &[memory.into()])?;
        let second = Instance::new(&mut store, &other, &[])?;
        let run = instance.get_func(&mut store, "run").ok_or("exported")?;
        let error = run.call(&mut store, &[], &mut []).expect_err("it traps");
        assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
        let dump = error.downcast_ref::<WasmCoreDump>().ok_or("the engine dumps core")?;
        assert_eq!(
            dump.modules().iter().map(Module::name).collect::<Vec<_>>(),
            [Some("other"), Some("program")]
        );
        assert_eq!(dump.instances().collect::<Vec<_>>(), [first, instance, second]);
        assert_eq!(dump.memories().map(|memory| memory.size(&store)).collect::<Vec<_>>(), [2, 2]);
        let values: Vec<Val> = dump.globals().map(|global| global.get(&mut store)).collect();
        assert!(matches!(values[..], [Val::I32(77), Val::I64(0x1_2345_6789), ..]) && values.len() == 6);
        let again = WasmCoreDump::new(&error).ok_or("wasm code has trapped")?;
        assert!(again.modules().is_empty() && again.instances().len() == 0);
        assert_eq!(dump.serialize(&store, "name"), again.serialize(&store, "name"));
        assert!(dump.to_string().contains("2 frames, 3 instances and 2 memories"), "{dump}");
        // It can be taken out of the error.
        assert!(error.is::<WasmCoreDump>() && error.is::<Trap>());
        assert_eq!(error.downcast::<WasmCoreDump>().map_err(|_| "it has one")?.frames().len(), 2);
    }
    Ok(())
}

#[test]
fn errors_of_the_host_have_dumps_and_exits_have_none() -> Outcome {
    for dumps in [false, true] {
        let engine = Engine::new(Config::new().coredump_on_trap(dumps))?;
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "end", |how: i32| -> Result<()> {
            if how == 0 { Err(Exit(0).into()) } else { Err(Error::msg("of the host's")) }
        })?;
        let text = r#"(module (import "host" "end" (func $end (param i32)))
            (func (export "run") (param i32) (call $end (local.get 0))))"#;
        let instance = linker.instantiate(&mut store, &Module::new(&engine, text)?)?;
        let run = instance.get_typed_func::<i32, ()>(&mut store, "run")?;
        let error = run.call(&mut store, 0).expect_err("it exits");
        assert!(!error.is::<WasmCoreDump>() && error.i32_exit() == Some(0));
        let error = run.call(&mut store, 1).expect_err("it fails");
        assert_eq!((error.is::<WasmCoreDump>(), error.to_string().as_str()), (dumps, "of the host's"));
        let error = error.downcast::<Exit>().expect_err("it is no exit");
        assert_eq!(error.downcast::<WasmCoreDump>().is_ok(), dumps);
    }
    Ok(())
}
