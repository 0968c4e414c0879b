//! Worlds with interfaces of WASI 0.2, whether the engine or the host implements them.

use wprof::component::{Component, Linker};
use wprof::wasi::{OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{Engine, Store, wasi2};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// The engine implements WASI.
mod skipped {
    wprof::component::bindgen!({ world: "host", path: "tests/bindgen/wit/wasi", skip: ["wasi"] });
}

/// Nobody implements it: the text compiles, with a trait for each interface.
mod whole {
    wprof::component::bindgen!("host" in "tests/bindgen/wit/wasi");
}

/// A host of one of its interfaces.
struct Fixed;

impl whole::wasi::random::random::Host for Fixed {
    fn get_random_bytes(&mut self, len: u64) -> Vec<u8> {
        vec![4; len as usize]
    }

    fn get_random_u64(&mut self) -> u64 {
        4
    }
}

struct State {
    wasi: WasiCtx,
    log: Vec<String>,
}

impl skipped::HostImports for State {
    fn log(&mut self, text: String) {
        self.log.push(text);
    }
}

/// A command that writes a line to its host, and the same to standard output.
const COMMAND: &str = r#"(component
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "output-stream" (type $out (sub resource)))
    (export "[method]output-stream.check-write" (func (param "self" (borrow $out)) (result (result u64))))))
  (alias export $streams "output-stream" (type $out))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (export "get-stdout" (func (result (own $out))))))
  (import "log" (func $log (param "text" string)))
  (core module $libc (memory (export "memory") 1) (data (i32.const 8) "hello"))
  (core instance $libc (instantiate $libc))
  (core func $log (canon lower (func $log) (memory (core memory $libc "memory"))))
  (core func $stdout (canon lower (func $stdout "get-stdout")))
  (core module $m
    (import "" "log" (func $log (param i32 i32)))
    (import "" "stdout" (func $stdout (result i32)))
    (func (export "run") (result i32)
      (call $log (i32.const 8) (i32.const 5))
      (i32.eqz (call $stdout))))
  (core instance $m (instantiate $m (with "" (instance (export "log" (func $log)) (export "stdout" (func $stdout))))))
  (func $run (result (result)) (canon lift (core func $m "run")))
  (instance $run (export "run" (func $run)))
  (export "wasi:cli/run@0.2.3" (instance $run)))"#;

#[test]
fn what_the_engine_defines_is_skipped() -> Outcome {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    wasi2::add_to_linker(&mut linker, |state: &mut State| &mut state.wasi)?;
    skipped::add_to_linker(&mut linker, |state: &mut State| state)?;
    let out = OutputPipe::new();
    let wasi = WasiCtxBuilder::new().stdout_pipe(&out).build();
    let mut store = Store::new(&engine, State { wasi, log: Vec::new() });
    let text = COMMAND.replace(
        r#"
    (export "[method]output-stream.check-write" (func (param "self" (borrow $out)) (result (result u64))))"#,
        "",
    );
    let component = Component::new(&engine, text)?;
    let host = skipped::Host::instantiate(&mut store, &component, &linker)?;
    assert_eq!(host.wasi_cli_run().call_run(&mut store)?, Ok(()));
    assert_eq!(store.data().log, ["hello"]);
    Ok(())
}

#[test]
fn a_host_may_implement_a_part_itself() -> Outcome {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    whole::wasi::random::random::add_to_linker(&mut linker, |fixed: &mut Fixed| fixed)?;
    let component = Component::new(
        &engine,
        r#"(component
            (import "wasi:random/random@0.2.0" (instance $random (export "get-random-u64" (func (result u64)))))
            (export "random" (func $random "get-random-u64")))"#,
    )?;
    let mut store = Store::new(&engine, Fixed);
    let instance = linker.instantiate(&mut store, &component)?;
    assert_eq!(instance.get_typed_func::<(), (u64,)>("random")?.call(&mut store, ())?, (4,));
    Ok(())
}
