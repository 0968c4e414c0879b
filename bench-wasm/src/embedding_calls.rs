//! The costs of embedding, in any engine with Wasmtime's names: calls between host and wasm, instances, calls that wait.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use rustix::time::{ClockId, clock_gettime};

/// Small functions, and a megabyte of data, of which a request reads a byte; or, if `waits`, a function whose host
/// function waits. They are two modules: an engine may refuse ordinary calls of a module that can wait.
pub fn program(waits: bool) -> String {
    if waits {
        return r#"(module
            (import "host" "wait" (func $wait (param i32) (result i32)))
            (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
            (func (export "waits") (param i32) (result i32) (call $wait (local.get 0))))"#
            .to_string();
    }
    format!(
        r#"(module
            (import "host" "next" (func $next (param i32) (result i32)))
            (memory 17) (data (i32.const 0) "{}")
            (func (export "nothing"))
            (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
            (func (export "host") (param i32)
                (loop $again (br_if $again (local.tee 0 (call $next (local.get 0))))))
            (func (export "request") (result i32)
                (i32.store8 (i32.const 9) (i32.const 1)) (i32.load8_u (i32.const 500000))))"#,
        "x".repeat(1 << 20)
    )
}

/// Calls to the host that one batch of them consists of.
pub const HOST_CALLS: i32 = 1000;

pub const OPERATIONS: [&str; 8] = [
    "call wasm, typed",
    "call wasm with two arguments, typed",
    "call wasm with two arguments, as values",
    "call the host",
    "a store and nothing else",
    "an instance from the pool, a call, its end",
    "an awaited call that does not wait",
    "an awaited call that waits once",
];

/// Returns how many times a batch does an operation, and how many figures that counts as.
pub fn batch(operation: usize) -> (u32, f64) {
    match operation {
        3 => (2, f64::from(HOST_CALLS)),
        4 | 5 => (50, 1.0),
        _ => (2000, 1.0),
    }
}

/// Is pending once.
pub struct Once(pub bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Polls a future until it is ready.
pub fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

/// The processor time of this thread, in nanoseconds.
pub fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Implements the bench for an engine, whose crate is named. `$wait` is the host function that waits once, `$ready` is
/// called with each module before anything is measured.
macro_rules! embedding_calls {
    ($name:ident, $engine:ident, $wait:expr, $ready:expr) => {
        struct $name {
            engine: $engine::Engine,
            pre: $engine::InstancePre<()>,
            store: $engine::Store<()>,
            nothing: $engine::TypedFunc<(), ()>,
            add: $engine::TypedFunc<(i32, i32), i32>,
            host: $engine::TypedFunc<i32, ()>,
            waiting: $engine::Store<()>,
            awaited: $engine::TypedFunc<(i32, i32), i32>,
            waits: $engine::TypedFunc<i32, i32>,
        }

        impl $name {
            fn new(engine: $engine::Engine) -> $engine::Result<$name> {
                let mut linker = $engine::Linker::new(&engine);
                linker.func_wrap("host", "next", |n: i32| n - 1)?;
                let ready: fn(&$engine::Module) -> $engine::Result<()> = $ready;
                let module = $engine::Module::new(&engine, program(false))?;
                ready(&module)?;
                let pre = linker.instantiate_pre(&module)?;
                let mut store = $engine::Store::new(&engine, ());
                let instance = pre.instantiate(&mut store)?;
                let mut linker = $engine::Linker::new(&engine);
                linker.func_wrap_async("host", "wait", $wait)?;
                let module = $engine::Module::new(&engine, program(true))?;
                ready(&module)?;
                let mut waiting = $engine::Store::new(&engine, ());
                let other = finish(linker.instantiate_async(&mut waiting, &module))?;
                Ok($name {
                    nothing: instance.get_typed_func(&mut store, "nothing")?,
                    add: instance.get_typed_func(&mut store, "add")?,
                    host: instance.get_typed_func(&mut store, "host")?,
                    awaited: other.get_typed_func(&mut waiting, "add")?,
                    waits: other.get_typed_func(&mut waiting, "waits")?,
                    engine,
                    pre,
                    store,
                    waiting,
                })
            }

            /// Does an operation `count` times; for calls of the host, `count` batches.
            fn run(&mut self, operation: usize, count: u32) -> $engine::Result<()> {
                let (store, waiting) = (&mut self.store, &mut self.waiting);
                for _ in 0..count {
                    match operation {
                        0 => self.nothing.call(&mut *store, ())?,
                        1 => _ = black_box(self.add.call(&mut *store, (black_box(1), 2))?),
                        2 => {
                            let mut results = [$engine::Val::I32(0)];
                            let arguments = [$engine::Val::I32(black_box(1)), $engine::Val::I32(2)];
                            self.add.func().call(&mut *store, &arguments, &mut results)?;
                            black_box(&results);
                        }
                        3 => self.host.call(&mut *store, HOST_CALLS)?,
                        4 => _ = black_box($engine::Store::new(&self.engine, ())),
                        5 => {
                            let mut store = $engine::Store::new(&self.engine, ());
                            let instance = self.pre.instantiate(&mut store)?;
                            let request = instance.get_typed_func::<(), i32>(&mut store, "request")?;
                            black_box(request.call(&mut store, ())?);
                        }
                        6 => {
                            _ = black_box(finish(self.awaited.call_async(&mut *waiting, (black_box(1), 2)))?);
                        }
                        _ => _ = black_box(finish(self.waits.call_async(&mut *waiting, black_box(1)))?),
                    }
                }
                Ok(())
            }

            /// Returns the nanoseconds of one operation in one batch.
            fn time(&mut self, operation: usize) -> $engine::Result<f64> {
                let (times, each) = batch(operation);
                let before = now();
                self.run(operation, times)?;
                Ok((now() - before) / f64::from(times) / each)
            }
        }
    };
}
pub(crate) use embedding_calls;

/// Implements the bench for wprof, as `Ours`.
macro_rules! our_embedding_calls {
    () => {
        embedding_calls!(
            Ours,
            wprof,
            |_: wprof::Caller<'_, ()>, n: i32| Box::new(async move {
                Once(false).await;
                n
            }),
            |module| module.compile_all()
        );
    };
}
pub(crate) use our_embedding_calls;
