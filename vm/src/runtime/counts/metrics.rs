//! The metrics of a store: their readings, the simulated cache, and the measurements of frames.
//!
//! Invariant: readings only grow, and exceed every possible measurement of a frame; see `wprof_jit::plan::Metric`.

use std::ptr;

use hashbrown::HashMap;
use wprof_jit::abi::store_context::METRIC_KINDS;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{Instrumentation, Metric};
use wprof_profiler::{BranchOutcome, BranchPredictor, DataCache};

use super::system_counter::SystemCounter;
use crate::runtime::entries;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::stacks::activation::TrapRecord;
use crate::{Error, Result, arch};

/// One figure per metric; 0 for unused metric numbers.
pub type Measured = [u64; METRIC_KINDS as usize];

/// The sums of a frame: negative while it measures.
pub type Sums = [i64; METRIC_KINDS as usize];

/// The first reading of a metric that counts from zero: above every possible count.
const FIRST: u64 = 1 << 62;

/// Number of measurements of a reading's cost.
const TRIES: u32 = 1000;

/// The branches that a simulated predictor has seen.
#[derive(Debug, Default)]
struct Branches {
    predictor: BranchPredictor,
    /// Outcomes by instance and byte offset; the function is determined later.
    outcomes: HashMap<(u32, u32), BranchOutcome>,
}

/// The state that metrics need.
#[derive(Debug)]
pub struct Metrics {
    metrics: Vec<Metric>,
    cache: Option<DataCache>,
    branches: Option<Branches>,
    /// Whether the cost of calling a simulation is known, if cycles are measured.
    is_calibrated: bool,
    /// The operating system's counter of each metric, if any.
    counters: Vec<Option<SystemCounter>>,
}

impl Metrics {
    /// Creates the metrics of a store.
    ///
    /// # Errors
    /// Fails if the operating system does not count one of them.
    pub fn new(metrics: &[Metric]) -> Result<Metrics> {
        let cache = metrics.iter().find_map(Metric::cache).map(DataCache::new);
        let counters: Vec<Option<SystemCounter>> = metrics.iter().map(counter).collect::<Result<_>>()?;
        let branches = metrics.contains(&Metric::Mispredictions).then(Branches::default);
        Ok(Metrics { metrics: metrics.to_vec(), cache, branches, is_calibrated: false, counters })
    }

    /// Returns the metrics in the order of the readings.
    pub fn all(&self) -> &[Metric] {
        &self.metrics
    }

    /// Returns the initial readings.
    pub fn first_readings(&self) -> Measured {
        [FIRST; METRIC_KINDS as usize]
    }

    /// Returns the address of the code that updates readings.
    pub fn reader(&self) -> usize {
        match self.counters.iter().any(Option::is_some) {
            true => entries::read_metrics as *const () as usize,
            false => entries::read_cycles as *const () as usize,
        }
    }

    /// Returns the addresses of the code that simulates the cache and the predictor. Only where cycles are measured does it
    /// read the counter around all that it does, which takes longer than the rest.
    pub fn simulations(&self) -> (usize, usize) {
        let (touch, see) = match self.measures_cycles() {
            true => (
                entries::touch_lines_off_the_clock as *const (),
                entries::see_branch_off_the_clock as *const (),
            ),
            false => (entries::touch_lines as *const (), entries::see_branch as *const ()),
        };
        (touch as usize, see as usize)
    }

    /// Reports whether cycles are measured; they are the first metric.
    fn measures_cycles(&self) -> bool {
        self.metrics.first() == Some(&Metric::Cycles)
    }

    /// Returns the reading of a metric that code must request; `None` if it is always up to date.
    fn read(&self, metric: usize) -> Option<u64> {
        match (&self.metrics[metric], &self.counters[metric]) {
            (Metric::Cycles, _) => Some(arch::cycles()),
            (_, Some(counter)) => Some(FIRST + counter.read()),
            (_, None) => None,
        }
    }

    /// Reports whether machine code calls the runtime for metrics, on the runtime's own stack.
    pub fn call_runtime(&self) -> bool {
        self.cache.is_some() || self.branches.is_some() || self.counters.iter().any(Option::is_some)
    }

    /// Returns the outcomes of the simulated predictor in the functions of an instance, in no order.
    pub fn branches(&self, instance: u32, info: &ModuleInfo) -> Vec<BranchOutcome> {
        let all = self.branches.iter().flat_map(|branches| &branches.outcomes);
        let own = all.filter(|((of, _), _)| *of == instance);
        own.map(|(_, found)| BranchOutcome {
            function: info.func_at(found.offset as usize).unwrap_or(0),
            ..*found
        })
        .collect()
    }

    /// Reports whether anything is simulated.
    fn simulates(&self) -> bool {
        self.cache.is_some() || self.branches.is_some()
    }

    fn position(&self, is_wanted: impl Fn(&Metric) -> bool) -> Option<usize> {
        self.metrics.iter().position(is_wanted)
    }
}

impl StoreOpaque {
    /// Returns the measurements of the trapped frame since its path began.
    pub fn measured_at_trap(&self, record: &TrapRecord) -> Measured {
        // SAFETY: the context lives as long as the store; machine code is not running.
        let mut readings = unsafe { ptr::read(&raw const (*self.context().as_ptr()).metrics) };
        for ((number, metric), reading) in self.metrics.all().iter().enumerate().zip(&mut readings) {
            *reading = match metric {
                // SAFETY: as above.
                Metric::Cycles => record.cycles - unsafe { (*self.context().as_ptr()).cycles_off },
                _ => self.metrics.read(number).unwrap_or(*reading),
            };
        }
        let mut measured = record.top.sums.map(i64::cast_unsigned);
        for ((measured, sum), reading) in measured.iter_mut().zip(record.top.sums).zip(readings) {
            if sum < 0 {
                *measured = reading.wrapping_add_signed(sum);
            }
        }
        measured
    }

    /// Reports whether paths are counted.
    pub fn counts_paths(&self) -> bool {
        self.engine().counted().counters == Instrumentation::Paths
    }

    /// Returns the growth of a metric between a start and an immediate stop of measuring.
    pub fn cost_of_start(&self, metric: &Metric) -> u64 {
        match metric {
            Metric::Cycles => self.cycles_of_reading(),
            Metric::CacheMisses(_) | Metric::Mispredictions | Metric::Lengths(_) => 0,
            Metric::System(_) => self.cost_of_reading(metric),
        }
    }

    /// Prepares the readings when the host enters wasm code, while no frame of the store measures. Bulk operations that
    /// trapped with lengths beyond any memory may have left a reading too large to subtract from.
    pub fn enter_metrics(&mut self) {
        for (number, metric) in self.metrics.metrics.iter().enumerate() {
            if matches!(metric, Metric::Lengths(_)) {
                // SAFETY: as above.
                unsafe { (*self.context().as_ptr()).metrics[number] = FIRST };
            }
        }
        if !self.metrics.is_calibrated && self.metrics.simulates() && self.metrics.measures_cycles() {
            self.calibrate();
            self.metrics.is_calibrated = true;
        }
        self.read_metrics();
    }

    /// Runs a simulation within a builtin, whose other cycles are the program's.
    fn unmeasured(&mut self, work: impl FnOnce(&mut StoreOpaque)) {
        let began = arch::cycles();
        work(self);
        let took = arch::cycles().saturating_sub(began);
        // SAFETY: the context lives as long as the store; machine code is not running.
        unsafe { (*self.context().as_ptr()).cycles_off += took };
    }

    /// Finds the cycles of calling a simulation that its own readings miss: the way there and back, and a part of the
    /// readings. The store gets most of the minimum of many tries, since a reading must never be below a previous one.
    fn calibrate(&mut self) {
        let context = self.context().as_ptr();
        let off = || {
            // SAFETY: the context lives as long as the store; machine code is not running.
            unsafe { ptr::read_volatile(&raw const (*context).cycles_off) }
        };
        let before = off();
        let took = |is_called: bool| {
            let (began, inside) = (arch::cycles(), off());
            if is_called {
                // SAFETY: as above, and the store's metrics call the runtime.
                unsafe { entries::touch_nothing(context) };
            }
            arch::cycles().saturating_sub(began).saturating_sub(off() - inside)
        };
        let least = |is_called| (0..TRIES).map(|_| took(is_called)).min().unwrap_or(0);
        let each = least(true).saturating_sub(least(false));
        // SAFETY: as above.
        unsafe { ((*context).cycles_off, (*context).cycles_off_each) = (before, each / 4 * 3) };
    }

    /// Updates the readings that code must request. This ends, without charge, all work of the host between the end of
    /// one function's measuring and the beginning of another's.
    pub fn read_metrics(&mut self) {
        for metric in 0..self.metrics.all().len() {
            if let Some(mut reading) = self.metrics.read(metric) {
                if self.metrics.metrics[metric] == Metric::Cycles {
                    // SAFETY: as above.
                    reading -= unsafe { (*self.context().as_ptr()).cycles_off };
                }
                // SAFETY: as above.
                unsafe { (*self.context().as_ptr()).metrics[metric] = reading };
            }
        }
    }

    /// Returns what the operating system counts between two immediate readings of a metric: the minimum of many tries.
    fn cost_of_reading(&self, metric: &Metric) -> u64 {
        let at = self.metrics.position(|known| known == metric);
        let read = || at.and_then(|at| self.metrics.read(at)).unwrap_or(0);
        let between = || {
            let first = read();
            read().saturating_sub(first)
        };
        (0..TRIES).map(|_| between()).min().unwrap_or(0)
    }

    /// Returns the cycles of a reading: the minimum of many tries, as any other activity only adds to it.
    fn cycles_of_reading(&self) -> u64 {
        let context = self.context().as_ptr();
        let read = || {
            // SAFETY: the context lives as long as the store; the code changes only the reading, and registers that it
            // may change.
            unsafe {
                entries::read_cycles_of(context);
                ptr::read_volatile(&raw const (*context).metrics[0])
            }
        };
        let between = || {
            let first = read();
            read().wrapping_sub(first)
        };
        (0..TRIES).map(|_| between()).min().unwrap_or(0)
    }

    /// Shows the simulated predictor a branch of an instance.
    pub fn see_branch(&mut self, instance: u32, offset: u32, is_taken: bool) {
        let at = self.metrics.position(|metric| *metric == Metric::Mispredictions);
        let (Some(at), Some(branches)) = (at, &mut self.metrics.branches) else { return };
        let missed = u64::from(!branches.predictor.predict(offset, is_taken));
        let none = BranchOutcome { offset, ..BranchOutcome::default() };
        let found = branches.outcomes.entry((instance, offset)).or_insert(none);
        found.executed += 1;
        found.taken += u64::from(is_taken);
        found.mispredicted += missed;
        // SAFETY: the context lives as long as the store; machine code is not running.
        unsafe { (*self.context().as_ptr()).metrics[at] += missed };
    }

    /// Shows the simulated cache, if there is one, an access to the memory whose byte 0 is at `start`.
    pub fn touch_lines(&mut self, start: u64, address: u64, bytes: u64) {
        let at = self.metrics.position(|metric| matches!(metric, Metric::CacheMisses(_)));
        let (Some(at), Some(cache), true) = (at, &mut self.metrics.cache, bytes > 0) else { return };
        let misses = cache.touch(start, address, bytes);
        let last = start.wrapping_add(address).wrapping_add(bytes - 1);
        let line = last & !u64::from(cache.shape().line() - 1);
        // SAFETY: as above.
        unsafe {
            let context = self.context().as_ptr();
            (*context).metrics[at] += misses;
            (*context).last_line = line as usize;
        }
    }

    /// Shows it a successful bulk operation on memory `memory` of an instance.
    pub fn touch_memory(&mut self, instance: u32, memory: u32, address: u64, bytes: u64) {
        if !self.counts_in_burst() {
            return;
        }
        let memory = self.instances[instance as usize].memories[memory as usize];
        let start = self.memory(memory).base().addr().get() as u64;
        self.unmeasured(|store| store.touch_lines(start, address, bytes));
    }
}

/// Opens the operating system's counter of a metric, if the metric is one of the system's.
fn counter(metric: &Metric) -> Result<Option<SystemCounter>> {
    let Metric::System(event) = metric else { return Ok(None) };
    let refused = |error| {
        let name = event.name();
        let message = format!(
            "this machine does not count {name} for us; page-faults, task-clock and context-switches are counted everywhere"
        );
        Error::system(&message, error)
    };
    SystemCounter::open(*event).map(Some).map_err(refused)
}
