//! Profiles of samples that the embedder takes.

use std::fmt;
use std::io::{BufWriter, Write};
use std::time::{Duration, SystemTime};

use hashbrown::HashMap;
use wprof_profiler::export::{Frame, Metric, Samples, StackNode, Unit, write_firefox};

use crate::runtime::instances::loaded;
use crate::{
    AsContext, CallHook, Engine, Error, ErrorKind, FrameInfo, Module, Result, WasmBacktrace, demangle,
};

/// Collects stacks at moments that the embedder chooses, and writes them for the
/// [Firefox Profiler](https://profiler.firefox.com), as Wasmtime's profiler of this name does. Any engine will do, also one that
/// profiles nothing.
///
/// The engine's own timers ([`Config::sample_time`](crate::Config::sample_time)) cost less, sample code where it is and not where it
/// polls, and give a [`Profile`](crate::profiler::Profile), which has exporters to this format and others. This is for embedders
/// that have a `GuestProfiler` already, and for those who want to say themselves when a sample is due.
///
/// Stacks are summed, so the time line has the proportions of the stacks, not their order. A sample takes time in proportion to
/// the depth of the stack, of which no more than a few thousand frames are kept; memory grows with the number of different stacks.
/// It may be sent to other threads.
///
/// ```
/// use std::time::Duration;
/// use wprof::{Config, Engine, GuestProfiler, Instance, Module, Store, UpdateDeadline};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::new(Config::new().epoch_interruption(true))?;
/// let module = Module::new(&engine, r#"(module (func (export "work") (param $n i32)
///     (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#)?;
/// let interval = Duration::from_millis(10);
/// let profiler = GuestProfiler::new(&engine, "worker", interval, [("main".to_owned(), module.clone())])?;
/// let mut store = Store::new(&engine, profiler);
/// store.set_epoch_deadline(1)?;
/// store.epoch_deadline_callback(|mut program| {
///     let stack = program.backtrace();
///     program.data_mut().sample_backtrace(&stack, Duration::ZERO);
///     Ok(UpdateDeadline::ContinueEpochs(1))
/// });
/// let instance = Instance::new(&mut store, &module, &[])?;
/// engine.increment_epoch(); // As a thread of the embedder does from time to time.
/// instance.get_typed_func::<i32, ()>(&mut store, "work")?.call(&mut store, 1000)?;
/// let mut file = Vec::new();
/// store.into_data().finish(&mut file)?;
/// # Ok(())
/// # }
/// ```
pub struct GuestProfiler {
    interval: Duration,
    started: SystemTime,
    modules: Vec<(String, Module)>,
    frames: Vec<Frame>,
    /// The numbers of frames, by their module's number and the function.
    numbers: HashMap<(usize, u32), u32>,
    time: Tree,
    host_calls: Tree,
}

/// Stacks with weights.
struct Tree {
    metric: Metric,
    numbers: HashMap<(Option<u32>, u32), u32>,
}

impl Tree {
    fn new(name: &str, unit: Unit) -> Tree {
        let metric = Metric { name: name.to_owned(), unit, sampled: None, nodes: Vec::new() };
        Tree { metric, numbers: HashMap::new() }
    }

    /// Adds a weight to a stack, whose outermost frame comes first.
    fn add(&mut self, stack: &[u32], weight: u64) {
        let nodes = &mut self.metric.nodes;
        let mut caller = None;
        for &frame in stack {
            let number = *self.numbers.entry((caller, frame)).or_insert_with(|| {
                nodes.push(StackNode { caller, frame, weight: 0, samples: 0, is_inlined: false });
                nodes.len() as u32 - 1
            });
            caller = Some(number);
        }
        if let Some(node) = caller.map(|number| &mut nodes[number as usize]) {
            node.weight = node.weight.saturating_add(weight);
            node.samples = node.samples.saturating_add(1);
        }
    }
}

impl GuestProfiler {
    /// Creates an empty profile of a program. `interval` is about the time between samples. Functions of the modules are shown
    /// with the names given here, if there are several; others have the names that they have themselves.
    ///
    /// # Errors
    /// Returns an error if a module is one of another engine.
    pub fn new(
        engine: &Engine,
        module_name: &str,
        interval: Duration,
        modules: impl IntoIterator<Item = (String, Module)>,
    ) -> Result<GuestProfiler> {
        let modules: Vec<(String, Module)> = modules.into_iter().collect();
        if let Some((name, _)) = modules.iter().find(|(_, module)| !Engine::same(module.engine(), engine)) {
            let message = format_args!("module `{name}` is one of another engine");
            return Err(Error::new(ErrorKind::Link, message));
        }
        Ok(GuestProfiler {
            interval,
            started: SystemTime::now(),
            modules,
            frames: Vec::new(),
            numbers: HashMap::new(),
            time: Tree::new(module_name, Unit::Nanoseconds),
            host_calls: Tree::new(&format!("{module_name}: calls of the host"), Unit::Count),
        })
    }

    /// Adds a sample of the wasm code that waits for the host function that calls this; without wasm code on the stack nothing is
    /// added. `delta` is the processor time that the program has used since the last sample; with [`Duration::ZERO`] the sample
    /// stands for the interval.
    pub fn sample(&mut self, store: impl AsContext, delta: Duration) {
        self.sample_backtrace(&WasmBacktrace::capture(store), delta);
    }

    /// Adds a sample of frames, as [`GuestProfiler::sample`] does. A callback of deadlines has them from
    /// [`DeadlineContext::backtrace`](crate::DeadlineContext::backtrace).
    pub fn sample_backtrace(&mut self, frames: &WasmBacktrace, delta: Duration) {
        let delta = if delta.is_zero() { self.interval } else { delta };
        let stack = self.stack(frames);
        self.time.add(&stack, u64::try_from(delta.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a call of a host function by the stack that makes it; other transitions change nothing. It is for hooks of
    /// [`Store::call_hook`](crate::Store::call_hook).
    pub fn call_hook(&mut self, store: impl AsContext, kind: CallHook) {
        if kind == CallHook::CallingHost {
            let stack = self.stack(&WasmBacktrace::capture(store));
            self.host_calls.add(&stack, 1);
        }
    }

    /// Writes the profile: a process for the time, and one for the calls of the host if there were any.
    ///
    /// # Errors
    /// Returns an error if `output` fails.
    pub fn finish(self, output: impl Write) -> Result<()> {
        let trees = [self.time, self.host_calls].into_iter().map(|tree| tree.metric).enumerate();
        let metrics = trees.filter(|(at, metric)| *at == 0 || !metric.nodes.is_empty());
        let metrics = metrics.map(|(_, metric)| metric).collect();
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut output = BufWriter::new(output);
        write_firefox(&Samples { frames: self.frames, metrics, threads: Vec::new() }, started, &mut output)?;
        Ok(output.flush()?)
    }

    /// Returns the numbers of frames, the outermost first.
    fn stack(&mut self, frames: &WasmBacktrace) -> Vec<u32> {
        frames.frames().iter().rev().map(|frame| self.number(frame)).collect()
    }

    fn number(&mut self, frame: &FrameInfo) -> u32 {
        let is_it = |(_, module): &(String, Module)| loaded::same(&module.loaded(), &frame.module().loaded());
        let module = self.modules.iter().position(is_it).unwrap_or_else(|| {
            let name = frame.module().name().unwrap_or("<module>").to_owned();
            self.modules.push((name, frame.module().clone()));
            self.modules.len() - 1
        });
        let (frames, modules) = (&mut self.frames, &self.modules);
        *self.numbers.entry((module, frame.func_index())).or_insert_with(|| {
            frames.push(shown(frame, Some(modules[module].0.as_str()).filter(|_| modules.len() > 1)));
            frames.len() as u32 - 1
        })
    }
}

/// Returns the name and place of a frame's function.
fn shown(frame: &FrameInfo, module: Option<&str>) -> Frame {
    let own = frame.func_name().map(demangle);
    let own = own.unwrap_or_else(|| format!("wasm-function[{}]", frame.func_index()));
    let name = module.map_or_else(|| own.clone(), |module| format!("{module}!{own}"));
    let start = frame.module().info().body(frame.func_index()).start as u32;
    let symbols = frame.module().symbols_at(start);
    let place = symbols.last().and_then(|symbol| Some((symbol.file()?.to_owned(), symbol.line()?)));
    Frame { name, place, full_name: None }
}

impl fmt::Debug for GuestProfiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples: u64 = self.time.metric.nodes.iter().map(|node| node.samples).sum();
        f.debug_struct("GuestProfiler").field("samples", &samples).finish_non_exhaustive()
    }
}
