//! What an embedder pays: calls between host and wasm, instances, calls that wait.
//!
//! `embedding` prints the time of each operation without and with an adaptive profile: the least of many batches, in time of this
//! thread, since a machine that is shared makes batches longer, never shorter. `embedding OPERATION COUNT` does one of them so often
//! and prints nothing: under `valgrind --tool=cachegrind` the difference of two counts is exact.

use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use rustix::time::{ClockId, clock_gettime};
use wprof::{Caller, Config, Engine, InstancePre, Linker, Module, PoolingConfig, ProfilingConfig};
use wprof::{Store, Strategy, TypedFunc, Val};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Small functions, and a megabyte of data, of which a request reads a byte.
fn program() -> String {
    format!(
        r#"(module
            (import "host" "next" (func $next (param i32) (result i32)))
            (import "host" "wait" (func $wait (param i32) (result i32)))
            (memory 17) (data (i32.const 0) "{}")
            (func (export "nothing"))
            (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
            (func (export "host") (param i32)
                (loop $again (br_if $again (local.tee 0 (call $next (local.get 0))))))
            (func (export "waits") (param i32) (result i32) (call $wait (local.get 0)))
            (func (export "request") (result i32)
                (i32.store8 (i32.const 9) (i32.const 1)) (i32.load8_u (i32.const 500000))))"#,
        "x".repeat(1 << 20)
    )
}

/// Calls to the host that one batch of them consists of.
const HOST_CALLS: i32 = 1000;

const OPERATIONS: [&str; 8] = [
    "call wasm, typed",
    "call wasm with two arguments, typed",
    "call wasm with two arguments, as values",
    "call the host",
    "a store and nothing else",
    "an instance from the pool, a call, its end",
    "an awaited call that does not wait",
    "an awaited call that waits once",
];

/// Is pending once.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

struct Bench {
    engine: Engine,
    pre: InstancePre<()>,
    store: Store<()>,
    nothing: TypedFunc<(), ()>,
    add: TypedFunc<(i32, i32), i32>,
    host: TypedFunc<i32, ()>,
    waits: TypedFunc<i32, i32>,
}

impl Bench {
    fn new(profiling: ProfilingConfig) -> Result<Bench> {
        let mut config = Config::new();
        // Nothing else runs: what is compiled later would count as well.
        config.profiling(profiling).strategy(Strategy::Optimized);
        let engine = Engine::new(config.pooling(Some(PoolingConfig::for_instances(2))))?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "next", |n: i32| n - 1)?;
        linker.func_wrap_async("host", "wait", |_: Caller<'_, ()>, n: i32| {
            Box::new(async move {
                Once(false).await;
                n
            })
        })?;
        let module = Module::new(&engine, program())?;
        let pre = linker.instantiate_pre(&module)?;
        let mut store = Store::new(&engine, ());
        let instance = pre.instantiate(&mut store)?;
        module.compile_all()?;
        Ok(Bench {
            nothing: instance.get_typed_func(&mut store, "nothing")?,
            add: instance.get_typed_func(&mut store, "add")?,
            host: instance.get_typed_func(&mut store, "host")?,
            waits: instance.get_typed_func(&mut store, "waits")?,
            engine,
            pre,
            store,
        })
    }

    /// Does an operation `count` times; calls of the host are so many whole batches.
    fn run(&mut self, operation: &str, count: u32) -> Result<()> {
        let number = OPERATIONS.iter().position(|known| *known == operation);
        let store = &mut self.store;
        for _ in 0..count {
            match number {
                Some(0) => self.nothing.call(&mut *store, ())?,
                Some(1) => drop(black_box(self.add.call(&mut *store, (black_box(1), 2))?)),
                Some(2) => {
                    let mut results = [Val::I32(0)];
                    self.add.func().call(
                        &mut *store,
                        &[Val::I32(black_box(1)), Val::I32(2)],
                        &mut results,
                    )?;
                    black_box(&results);
                }
                Some(3) => self.host.call(&mut *store, HOST_CALLS)?,
                Some(4) => drop(black_box(Store::new(&self.engine, ()))),
                Some(5) => {
                    let mut store = Store::new(&self.engine, ());
                    let instance = self.pre.instantiate(&mut store)?;
                    let request = instance.get_typed_func::<(), i32>(&mut store, "request")?;
                    black_box(request.call(&mut store, ())?);
                }
                Some(6) => drop(black_box(finish(self.add.call_async(&mut *store, (black_box(1), 2)))?)),
                Some(7) => drop(black_box(finish(self.waits.call_async(&mut *store, black_box(1)))?)),
                _ => {
                    let all = OPERATIONS.join("; ");
                    return Err(format!("no operation is called `{operation}`: there are {all}").into());
                }
            }
        }
        Ok(())
    }

    /// Returns the nanoseconds of one operation: the least of many batches.
    fn time(&mut self, operation: &str) -> Result<f64> {
        const BATCHES: usize = 300;
        let (batch, each) = match operation {
            "call the host" => (2, HOST_CALLS as f64),
            "a store and nothing else" | "an instance from the pool, a call, its end" => (50, 1.0),
            _ => (2000, 1.0),
        };
        let mut least = f64::INFINITY;
        for _ in 0..BATCHES {
            let before = now();
            self.run(operation, batch)?;
            least = least.min((now() - before) / f64::from(batch) / each);
        }
        Ok(least)
    }
}

/// The processor time of this thread, in nanoseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if let Some(operation) = arguments.next() {
        let count = arguments.next().ok_or("how often?")?.parse()?;
        return Bench::new(ProfilingConfig::Off)?.run(&operation, count);
    }
    let mut plain = Bench::new(ProfilingConfig::Off)?;
    let mut adaptive = Bench::new(ProfilingConfig::Adaptive(wprof::Adaptive::default()))?;
    println!("| operation | ns | ns with an adaptive profile |\n|---|---:|---:|");
    for operation in OPERATIONS {
        println!("| {operation} | {:.1} | {:.1} |", plain.time(operation)?, adaptive.time(operation)?);
    }
    Ok(())
}
