//! WASI preview 1 programs.
#![cfg(feature = "wasi")]

use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Runs `_start` and returns how that ended.
fn run(wat: &str, ctx: WasiCtx) -> Result<Result<()>> {
    let engine = Engine::default();
    let module = Module::new(&engine, wat)?;
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut store = Store::new(&engine, ctx);
    let instance = linker.instantiate(&mut store, &module)?;
    Ok(instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ()))
}

/// Writes the argument strings, each followed by a zero byte, to standard output, then exits with their number.
const ECHO: &str = r#"(module
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (drop (call $sizes (i32.const 0) (i32.const 4)))
        (drop (call $args (i32.const 64) (i32.const 1024)))
        (i32.store (i32.const 8) (i32.const 1024))
        (i32.store (i32.const 12) (i32.load (i32.const 4)))
        (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 16)))
        (call $exit (i32.load (i32.const 0)))
        unreachable))"#;

#[test]
fn a_program_gets_arguments_writes_output_and_exits() -> Outcome {
    let pipe = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().args(["echo", "one", "two"])?.stdout_pipe(&pipe).build();
    let error = run(ECHO, ctx)?.expect_err("it exits");
    assert_eq!((error.kind(), error.i32_exit()), (ErrorKind::Exit, Some(3)));
    assert_eq!(pipe.contents(), b"echo\0one\0two\0");
    Ok(())
}

#[test]
fn a_bad_pointer_ends_the_program_with_an_error() -> Outcome {
    let wat = ECHO
        .replace("(i32.store (i32.const 8) (i32.const 1024))", "(i32.store (i32.const 8) (i32.const -8))");
    let error = run(&wat, WasiCtxBuilder::new().arg("echo")?.build())?.expect_err("out of bounds");
    assert_eq!(error.kind(), ErrorKind::Host, "{error:?}");
    assert!(error.backtrace().is_some_and(|b| b.frames().len() == 1));
    Ok(())
}

#[test]
fn a_preopened_directory_is_readable() -> Outcome {
    let dir = std::env::temp_dir().join(format!("wprof-wasi-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("file"), "contents")?;
    let pipe = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().preopened_dir(&dir, "/data")?.stdout_pipe(&pipe).build();
    let outcome = run(
        r#"(module
            (import "wasi_snapshot_preview1" "path_open"
                (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1) (data (i32.const 100) "file")
            (data (i32.const 0) "\00\04\00\00\00\01\00\00")
            (func (export "_start")
                (if (call $open (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 4) (i32.const 0)
                        (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 8))
                    (then unreachable))
                (if (call $read (i32.load (i32.const 8)) (i32.const 0) (i32.const 1) (i32.const 12)) (then unreachable))
                (i32.store (i32.const 4) (i32.load (i32.const 12)))
                (if (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)) (then unreachable))))"#,
        ctx,
    )?;
    std::fs::remove_dir_all(&dir)?;
    outcome?;
    assert_eq!(pipe.contents(), b"contents");
    Ok(())
}

#[test]
fn standard_input_is_what_was_given() -> Outcome {
    let pipe = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().stdin_bytes("in").stderr_pipe(&pipe).build();
    run(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1) (data (i32.const 0) "\00\04\00\00\00\01\00\00")
            (func (export "_start")
                (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4)))
                (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 12)))))"#,
        ctx,
    )??;
    assert_eq!(pipe.contents(), b"in");
    Ok(())
}
