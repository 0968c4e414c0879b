//! A server whose requests wait for each other inside of wasm, thousands at a time on two threads, with an executor of a few lines.
//!
//! `cargo run -p wprof --example async_server`

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use wprof::{Caller, Config, Engine, Error, InstancePre, Linker, Module, PoolingConfig, Store};

/// Fetches something from the host, which takes its time, and adds one.
const HANDLER: &str = r#"(module
    (import "host" "fetch" (func $fetch (param i32) (result i32)))
    (memory 1)
    (func (export "handle") (param i32) (result i32)
        (i32.store (i32.const 0) (local.get 0))
        (i32.add (call $fetch (i32.load (i32.const 0))) (i32.const 1))))"#;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What requests wait for: that so many of them are there.
struct Gate {
    wanted: usize,
    waiting: Mutex<(usize, Vec<Waker>)>,
}

/// Waits at a gate.
struct Pass {
    gate: Arc<Gate>,
    is_counted: bool,
}

impl Future for Pass {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let gate = self.gate.clone();
        let mut waiting = lock(&gate.waiting);
        waiting.0 += usize::from(!std::mem::replace(&mut self.is_counted, true));
        if waiting.0 < gate.wanted {
            waiting.1.push(context.waker().clone());
            return Poll::Pending;
        }
        waiting.1.drain(..).for_each(Waker::wake);
        Poll::Ready(())
    }
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Futures that want to be polled, and how many are not done.
#[derive(Default)]
struct Executor {
    ready: Mutex<(VecDeque<Arc<Task>>, usize)>,
    changed: Condvar,
}

struct Task {
    work: Mutex<Option<Work>>,
    executor: Arc<Executor>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        lock(&self.executor.ready).0.push_back(self.clone());
        self.executor.changed.notify_one();
    }
}

impl Executor {
    fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        lock(&self.ready).1 += 1;
        let work: Work = Box::pin(work);
        Arc::new(Task { work: Mutex::new(Some(work)), executor: self.clone() }).wake();
    }

    /// Polls until all is done.
    fn run(&self) {
        let mut ready = lock(&self.ready);
        while ready.1 > 0 {
            let Some(task) = ready.0.pop_front() else {
                ready = self.changed.wait(ready).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(ready);
            let mut work = lock(&task.work);
            let waker = Waker::from(task.clone());
            let is_done =
                work.as_mut().is_some_and(|w| w.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
            if is_done {
                *work = None;
            }
            drop(work);
            ready = lock(&self.ready);
            ready.1 -= usize::from(is_done);
            if ready.1 == 0 {
                self.changed.notify_all();
            }
        }
    }
}

async fn handle(handler: InstancePre<Arc<Gate>>, gate: Arc<Gate>, request: i32) -> Result<i32, Error> {
    let mut store = Store::new(handler.module().engine(), gate);
    let instance = handler.instantiate(&mut store)?;
    instance.get_typed_func::<i32, i32>(&mut store, "handle")?.call_async(&mut store, request).await
}

/// Serves so many requests, all of which wait until the last one has come; gives the sum of the answers, and how many waited at
/// once.
pub fn serve(requests: i32) -> Result<(i64, usize), Error> {
    let wanted = usize::try_from(requests)?;
    let engine = Engine::new(Config::new().pooling(Some(PoolingConfig::for_instances(wanted))))?;
    let mut linker: Linker<Arc<Gate>> = Linker::new(&engine);
    linker.func_wrap_async("host", "fetch", |caller: Caller<'_, Arc<Gate>>, n: i32| {
        Box::new(async move {
            Pass { gate: caller.data().clone(), is_counted: false }.await;
            2 * n
        })
    })?;
    let handler = linker.instantiate_pre(&Module::new(&engine, HANDLER)?)?;
    let gate = Arc::new(Gate { wanted, waiting: Mutex::default() });
    let answers: Arc<Mutex<Vec<Result<i32, Error>>>> = Arc::default();
    let executor = Arc::new(Executor::default());
    for request in 0..requests {
        let (handler, gate, answers) = (handler.clone(), gate.clone(), answers.clone());
        executor.spawn(async move {
            let answer = handle(handler, gate, request).await;
            lock(&answers).push(answer);
        });
    }
    std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(|| executor.run())));
    });
    let answers = std::mem::take(&mut *lock(&answers));
    let sum = answers.into_iter().map(|answer| answer.map(i64::from)).sum::<Result<i64, Error>>()?;
    let at_once = lock(&gate.waiting).0;
    Ok((sum, at_once))
}

#[allow(dead_code, reason = "a test includes this file for `serve`")]
fn main() -> Result<(), Error> {
    let (sum, at_once) = serve(5000)?;
    println!("the answers sum up to {sum}; {at_once} requests waited at once");
    Ok(())
}
