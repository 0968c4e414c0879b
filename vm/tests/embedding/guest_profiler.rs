//! Samples that the embedder takes, as the Firefox Profiler reads them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use wprof::*;

use super::{Outcome, engines};

const WAT: &str = r#"(module $program
    (import "host" "sample" (func $sample (param i32)))
    (func $inner (param i32) (call $sample (local.get 0)))
    (func $outer (param i32) (call $inner (local.get 0)) (call $sample (i32.const 1)))
    (func (export "run") (call $outer (i32.const 2)) (call $inner (i32.const 0)))
    (func (export "spin") (param $n i32)
        (call $sample (i32.const 0))
        (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;

/// Weights by stack, outermost function first.
type Weights = BTreeMap<String, f64>;

/// Returns the name and the weights of each process in a file.
fn read(file: &[u8]) -> std::result::Result<Vec<(String, Weights)>, Box<dyn std::error::Error>> {
    let file: Value = serde_json::from_slice(file)?;
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for thread in all(&file["threads"]) {
        let number = |table: &str, column: &str, row: u64| thread[table][column][row as usize].as_u64();
        let mut weights = Weights::new();
        let (stacks, amounts) = (all(&thread["samples"]["stack"]), all(&thread["samples"]["weight"]));
        for (stack, weight) in stacks.iter().zip(&amounts) {
            let (mut at, mut names) = (stack.as_u64(), Vec::new());
            while let Some(node) = at {
                let frame = number("stackTable", "frame", node).ok_or("a frame")?;
                let func = number("frameTable", "func", frame).ok_or("a function")?;
                let name = number("funcTable", "name", func).ok_or("a name")?;
                names.push(thread["stringArray"][name as usize].as_str().ok_or("a text")?.to_owned());
                at = number("stackTable", "prefix", node);
            }
            names.reverse();
            *weights.entry(names.join(";")).or_default() += weight.as_f64().ok_or("a weight")?;
        }
        found.push((thread["name"].as_str().unwrap_or_default().to_owned(), weights));
    }
    Ok(found)
}

fn weights<const N: usize>(all: [(&str, f64); N]) -> Weights {
    all.into_iter().map(|(stack, weight)| (stack.to_owned(), weight)).collect()
}

#[test]
fn samples_in_host_functions_are_weighed_by_their_stacks() -> Outcome {
    for engine in engines()? {
        let module = Module::new(&engine, WAT)?;
        let interval = Duration::from_millis(10);
        let profiler =
            GuestProfiler::new(&engine, "program", interval, [("main".to_owned(), module.clone())])?;
        let mut store = Store::new(&engine, Some(profiler));
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "sample", |mut caller: Caller<'_, Option<GuestProfiler>>, time: u32| {
            let mut profiler = caller.data_mut().take().expect("it is there");
            profiler.sample(&caller, Duration::from_millis(time.into()));
            *caller.data_mut() = Some(profiler);
        })?;
        store.call_hook(|mut store, passage| {
            let mut profiler = store.data_mut().take().expect("it is there");
            profiler.call_hook(&store, passage);
            *store.data_mut() = Some(profiler);
            Ok(())
        });
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        run.call(&mut store, ())?;
        run.call(&mut store, ())?;
        // No wasm code is on the stack here.
        let mut profiler = store.data_mut().take().expect("it is there");
        profiler.sample(&store, Duration::from_secs(1));
        let mut file = Vec::new();
        profiler.finish(&mut file)?;
        let [(time, times), (calls, counts)] = &read(&file)?[..] else { panic!("two processes") };
        assert_eq!((time.as_str(), calls.as_str()), ("program", "program: calls of the host"));
        // Where no time is given, a sample stands for the interval.
        assert_eq!(*times, weights([("run;outer", 2.0), ("run;outer;inner", 4.0), ("run;inner", 20.0)]));
        assert_eq!(*counts, weights([("run;outer", 2.0), ("run;outer;inner", 2.0), ("run;inner", 2.0)]));
    }
    Ok(())
}

#[test]
fn samples_at_epochs_are_of_the_code_that_runs_then() -> Outcome {
    let engine = Engine::new(Config::new().epoch_interruption(true))?;
    let modules = ["first", "second"].map(|name| {
        let text = WAT.replace("$program", &format!("${name}"));
        (name.to_owned(), Module::new(&engine, text).expect("valid"))
    });
    let module = modules[1].1.clone();
    let profiler = GuestProfiler::new(&engine, "epochs", Duration::from_millis(3), modules)?;
    let mut store = Store::new(&engine, profiler);
    store.set_epoch_deadline(1)?;
    store.epoch_deadline_callback(|mut program| {
        let stack = program.backtrace();
        program.data_mut().sample_backtrace(&stack, Duration::ZERO);
        Ok(UpdateDeadline::ContinueEpochs(1))
    });
    let mut linker = Linker::new(&engine);
    let weak = engine.weak();
    linker.func_wrap("host", "sample", move |_: u32| {
        weak.upgrade().expect("the store has it").increment_epoch();
    })?;
    let instance = linker.instantiate(&mut store, &module)?;
    let spin = instance.get_typed_func::<i32, ()>(&mut store, "spin")?;
    for _ in 0..2 {
        spin.call(&mut store, 100_000)?;
    }
    let mut file = Vec::new();
    store.into_data().finish(&mut file)?;
    let [(_, times)] = &read(&file)?[..] else { panic!("nobody called the host") };
    assert_eq!(*times, weights([("second!spin", 6.0)]));
    Ok(())
}

#[test]
fn modules_of_other_engines_are_refused() -> Outcome {
    let module = Module::new(&Engine::default(), "(module)")?;
    let made = GuestProfiler::new(&Engine::default(), "x", Duration::ZERO, [("other".to_owned(), module)]);
    assert_eq!(made.expect_err("of another engine").kind(), ErrorKind::Link);
    Ok(())
}
