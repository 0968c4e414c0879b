//! What the engine itself costs: loading, instantiating, compiling, and calls between host and wasm.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use wprof::{Collect, Config, Engine, Instance, Linker, Module, PoolingConfig, ProfilingConfig, Store};

/// A function that calls itself, and one that calls the host, `n` times.
const CALLS: &str = r#"(module
    (import "host" "next" (func $next (param i32) (result i32)))
    (func $fib (export "fib") (param i32) (result i32)
        (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
            (then (local.get 0))
            (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                           (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
    (func (export "host") (param i32) (result i32)
        (loop $again (br_if $again (local.tee 0 (call $next (local.get 0)))))
        (local.get 0))
    (func (export "nothing")))"#;

fn program(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
}

fn engine(profiling: ProfilingConfig) -> Engine {
    Engine::new(Config::new().profiling(profiling)).expect("this machine is supported")
}

fn load(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    let engine = engine(ProfilingConfig::Off);
    for name in ["hello.wasm", "json.wasm"] {
        let bytes = program(name);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |b| b.iter(|| Module::new(&engine, &bytes).expect("valid")));
    }
    group.finish();
}

fn compile(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    let bytes = program("sort.wasm");
    group.sample_size(10).throughput(Throughput::Bytes(bytes.len() as u64));
    for (name, profiling) in
        [("off", ProfilingConfig::Off), ("exact", ProfilingConfig::Exact(Collect::Edges))]
    {
        let engine = engine(profiling);
        group.bench_function(name, |b| {
            let fresh = || Module::new(&engine, &bytes).expect("valid");
            b.iter_batched(fresh, |module| module.compile_all().expect("compiles"), BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn calls(c: &mut Criterion) {
    let engine = engine(ProfilingConfig::Off);
    let module = Module::new(&engine, CALLS).expect("valid");
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "next", |n: i32| n - 1).expect("is new");
    c.bench_function("instantiate", |b| {
        b.iter(|| {
            let mut store = Store::new(&engine, ());
            linker.instantiate(&mut store, &module).expect("links")
        });
    });
    let mut store = Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module).expect("links");
    let nothing = instance.get_typed_func::<(), ()>(&mut store, "nothing").expect("is exported");
    c.bench_function("call from host", |b| b.iter(|| nothing.call(&mut store, ()).expect("returns")));
    let host = instance.get_typed_func::<i32, i32>(&mut store, "host").expect("is exported");
    c.bench_function("1000 calls to host", |b| {
        b.iter(|| host.call(&mut store, black_box(1000)).expect("returns"))
    });
    let fib = instance.get_typed_func::<i32, i32>(&mut store, "fib").expect("is exported");
    c.bench_function("fib(20)", |b| b.iter(|| fib.call(&mut store, black_box(20)).expect("returns")));
}

/// A store with an instance of a module of 1 MB of data, of which it reads one byte and writes another; and the end of both.
fn instances(c: &mut Criterion) {
    let mut group = c.benchmark_group("instance with 1 MB of data");
    let text = format!(
        r#"(module (memory 17) (data (i32.const 0) "{}")
            (func (export "touch") (result i32)
                (i32.store8 (i32.const 9) (i32.const 1)) (i32.load8_u (i32.const 500000))))"#,
        "x".repeat(1 << 20)
    );
    for (name, pooling) in [("new", None), ("from the pool", Some(PoolingConfig::default()))] {
        let engine = Engine::new(Config::new().pooling(pooling)).expect("this machine is supported");
        let module = Module::new(&engine, &text).expect("valid");
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut store = Store::new(&engine, ());
                let instance = Instance::new(&mut store, &module, &[]).expect("has no imports");
                let touch = instance.get_typed_func::<(), i32>(&mut store, "touch").expect("is exported");
                touch.call(&mut store, ()).expect("returns")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, load, compile, calls, instances);
criterion_main!(benches);
