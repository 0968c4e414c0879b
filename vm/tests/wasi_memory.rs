//! Lists whose length the program chooses take no host memory. There is only one test, because it measures the
//! process.
#![cfg(feature = "wasi")]

use wprof::wasi::{self, WasiCtxBuilder};
use wprof::*;

const WAT: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 8200)
    (func (export "run")
        ;; 64 million empty buffers
        (if (call $write (i32.const 1) (i32.const 65536) (i32.const 64000000) (i32.const 8)) (then unreachable))
        (if (call $read (i32.const 0) (i32.const 65536) (i32.const 64000000) (i32.const 8)) (then unreachable))
        ;; as many subscriptions as there is room for, of which the last has an unknown type
        (i32.store8 (i32.const 480065496) (i32.const 9))
        (if (i32.ne (call $poll (i32.const 65536) (i32.const 65536) (i32.const 10000000) (i32.const 8)) (i32.const 28))
            (then unreachable))))"#;

/// Returns the private memory of this process in bytes; zero pages that were only read do not count.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is one");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("it is there");
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .map_or(0, |kilobytes: u64| kilobytes << 10)
}

#[test]
fn long_lists_take_no_memory_of_the_hosts() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut store = Store::new(&engine, WasiCtxBuilder::new().build());
    let instance = linker.instantiate(&mut store, &Module::new(&engine, WAT)?)?;
    let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    let before = own_memory();
    run.call(&mut store, ())?;
    let taken = own_memory() - before;
    assert!(taken < 64 << 20, "{taken} bytes");
    Ok(())
}
