//! The metrics of a store: their readings, and the measurements of frames.
//!
//! Invariant: readings only grow, and exceed every possible measurement of a frame; see `wprof_jit::plan::Metric`.

use std::ptr::{self, NonNull};

use wprof_jit::abi::store_context::METRIC_KINDS;
use wprof_jit::plan::Metric;

use super::simulations::{Seen, Simulations};
use super::system_counter::SystemCounter;
use crate::runtime::entries;
use crate::runtime::instances::abi::VmStoreContext;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::store_ptr::StorePtr;
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

/// The state that metrics need.
#[derive(Debug)]
pub struct Metrics {
    /// Holds the readings, and the ends of the log for simulations.
    context: StorePtr<VmStoreContext>,
    metrics: Vec<Metric>,
    simulations: Simulations,
    /// Cycles of a reading that runs simulations, beyond those of one that does not and what it excludes itself; `None`
    /// until they are measured.
    cycles_of_simulating: Option<u64>,
    /// Cycles of a reading, measured before the program ran; `None` before that.
    cycles_of_reading: Option<u64>,
    /// The operating system's counter of each metric, if any.
    counters: Vec<Option<SystemCounter>>,
}

/// Measures what readings take, before the host enters wasm code of the store for the first time: of a reading that runs
/// simulations the minimum of many tries, as any other activity only adds to it.
///
/// # Safety
/// Nobody refers to the store, whose simulations the readings update, and it runs no machine code.
pub unsafe fn calibrate(store: NonNull<StoreOpaque>) {
    // SAFETY: the caller upholds this function's safety contract; the reference ends before a reading.
    let (is_due, context) = unsafe {
        let metrics = &mut (*store.as_ptr()).observed.metrics;
        (metrics.begin_calibration(), metrics.context.as_ptr())
    };
    if !is_due {
        return;
    }
    let took = |is_simulating| {
        // SAFETY: the context lives as long as the store, which runs no machine code; the log is empty.
        unsafe {
            entries::read_cycles_of(context);
            let before = ptr::read_volatile(&raw const (*context).metrics[0]);
            entries::read_cycles_and_empty_log(context, is_simulating);
            ptr::read_volatile(&raw const (*context).metrics[0]).saturating_sub(before)
        }
    };
    // In turns, so that a change of the processor's clock affects both.
    let tries = (0..TRIES).map(|_| [true, false].map(took));
    let least = |[a, b]: [u64; 2], [c, d]: [u64; 2]| [a.min(c), b.min(d)];
    let [with, without] = tries.reduce(least).unwrap_or_default();
    // SAFETY: as above.
    unsafe { (*store.as_ptr()).observed.metrics.cycles_of_simulating = Some(with.saturating_sub(without)) };
}

impl Metrics {
    /// Creates the metrics of a store.
    ///
    /// # Errors
    /// Fails if the operating system does not count one of them.
    pub fn new(metrics: &[Metric], context: StorePtr<VmStoreContext>) -> Result<Metrics> {
        let counters: Vec<Option<SystemCounter>> = metrics.iter().map(counter).collect::<Result<_>>()?;
        let simulations = Simulations::new(metrics);
        let metrics = metrics.to_vec();
        let (cycles_of_simulating, cycles_of_reading) = (None, None);
        Ok(Metrics { context, metrics, simulations, cycles_of_simulating, cycles_of_reading, counters })
    }

    /// Returns the metrics in the order of the readings.
    pub fn all(&self) -> &[Metric] {
        &self.metrics
    }

    /// Returns the simulations.
    pub fn simulations(&self) -> &Simulations {
        &self.simulations
    }

    /// Returns the initial readings.
    pub fn first_readings(&self) -> Measured {
        [FIRST; METRIC_KINDS as usize]
    }

    /// Returns the address of the code that updates readings. It is told whether the pinned register holds the place of the
    /// next entry of the log for simulations.
    pub fn reader(&self, is_log_pinned: bool) -> usize {
        let is_system = self.counters.iter().any(Option::is_some);
        let reader = match (is_system, self.simulations.are_any(), self.measures_cycles()) {
            (true, ..) if is_log_pinned => entries::read_metrics_and_pinned_log,
            (true, ..) => entries::read_metrics,
            (false, true, true) if is_log_pinned => entries::read_cycles_and_pinned_log,
            (false, true, true) => entries::read_cycles_and_log,
            (false, true, false) if is_log_pinned => entries::read_pinned_log,
            (false, true, false) => entries::read_log,
            (false, false, _) => entries::read_cycles,
        };
        reader as *const () as usize
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
        self.simulations.are_any() || self.counters.iter().any(Option::is_some)
    }
}

/// Readings.
impl Metrics {
    /// Returns the measurements of the trapped frame since its path began.
    pub fn measured_at_trap(&mut self, record: &TrapRecord) -> Measured {
        self.simulate();
        let context = self.context.as_ptr();
        // SAFETY: the context lives as long as the store; machine code is not running.
        let (mut readings, off) =
            unsafe { (ptr::read(&raw const (*context).metrics), (*context).cycles_off) };
        for ((number, metric), reading) in self.metrics.iter().enumerate().zip(&mut readings) {
            *reading = match metric {
                Metric::Cycles => record.cycles.wrapping_sub(off),
                _ => self.read(number).unwrap_or(*reading),
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

    /// Returns the growth of a metric between a start and an immediate stop of measuring.
    pub fn cost_of_start(&self, metric: &Metric) -> u64 {
        match metric {
            // A reading takes longer while another thread has the same core, or the clock of the processor is low. Only what
            // it takes at its fastest is the same in each run.
            Metric::Cycles => {
                let now = self.measure_reading();
                self.cycles_of_reading.map_or(now, |before| before.min(now))
            }
            Metric::System(_) => self.cost_of_reading(metric),
            _ => 0,
        }
    }

    /// Prepares the readings when the host enters wasm code, while no frame of the store measures. Bulk operations that
    /// trapped with lengths beyond any memory may have left a reading too large to subtract from.
    pub fn enter(&mut self) {
        for (number, metric) in self.metrics.iter().enumerate() {
            if matches!(metric, Metric::Lengths(_)) {
                // SAFETY: as above.
                unsafe { (*self.context.as_ptr()).metrics[number] = FIRST };
            }
        }
        self.read_all();
    }

    /// Measures a reading, the first time. Reports whether one that runs simulations is to be measured as well.
    fn begin_calibration(&mut self) -> bool {
        if !self.measures_cycles() || self.cycles_of_reading.is_some() {
            return false;
        }
        self.cycles_of_reading = Some(self.measure_reading());
        self.empty_simulation_log();
        self.simulations.are_any()
    }

    /// Runs a simulation within a builtin, whose other cycles are the program's.
    fn unmeasured(&mut self, work: impl FnOnce(&mut Metrics)) {
        let began = arch::cycles();
        work(self);
        let took = arch::cycles().saturating_sub(began);
        // SAFETY: the context lives as long as the store; machine code is not running.
        unsafe { (*self.context.as_ptr()).cycles_off += took };
    }

    /// Shows simulations what they have yet to see. Cycles are not the program's.
    pub fn empty_simulation_log(&mut self) {
        if self.simulations.are_any() {
            self.unmeasured(Metrics::simulate);
        }
    }

    /// Shows simulations what they have yet to see, and updates their readings.
    fn simulate(&mut self) {
        let context = self.context.as_ptr();
        // SAFETY: the context lives as long as the store; machine code, which has written the log, is not running.
        let seen = unsafe {
            let next = (*context).simulation_next;
            (*context).simulation_next = (*context).simulation_log;
            self.simulations.see(next)
        };
        self.add_to_readings(&seen);
    }

    /// Simulates as [`simulate`](Self::simulate) does, while `entries` takes a reading of cycles. The reading leaves out the
    /// cost of simulating, and is never below the previous one.
    pub fn simulate_in_reading(&mut self) {
        self.simulate();
        let cost = self.cycles_of_simulating.unwrap_or(0);
        if cost > 0 {
            // SAFETY: as above; cycles are the first metric.
            unsafe {
                let context = self.context.as_ptr();
                let least = (*context).cycles_before;
                (*context).metrics[0] = (*context).metrics[0].saturating_sub(cost).max(least);
            }
        }
    }

    fn add_to_readings(&mut self, seen: &Seen) {
        let context = self.context.as_ptr();
        for (at, metric) in self.metrics.iter().enumerate() {
            let more = self.simulations.growth(metric, seen);
            // SAFETY: as above.
            unsafe { (*context).metrics[at] += more };
        }
    }

    /// Updates the readings that code must request. This ends, without charge, all work of the host between the end of
    /// one function's measuring and the beginning of another's.
    ///
    /// The log for simulations has been emptied before, or its end is known to the store: wasm code does not wait for a
    /// builtin with entries in a log whose end only the pinned register tells.
    pub fn read_all(&mut self) {
        self.empty_simulation_log();
        for metric in 0..self.metrics.len() {
            if let Some(mut reading) = self.read(metric) {
                if self.metrics[metric] == Metric::Cycles {
                    // SAFETY: as above.
                    reading -= unsafe { (*self.context.as_ptr()).cycles_off };
                }
                // SAFETY: as above.
                unsafe { (*self.context.as_ptr()).metrics[metric] = reading };
            }
        }
    }

    /// Returns what the operating system counts between two immediate readings of a metric: the minimum of many tries.
    fn cost_of_reading(&self, metric: &Metric) -> u64 {
        let at = self.metrics.iter().position(|known| known == metric);
        let read = || at.and_then(|at| self.read(at)).unwrap_or(0);
        let between = || {
            let first = read();
            read().saturating_sub(first)
        };
        (0..TRIES).map(|_| between()).min().unwrap_or(0)
    }

    /// Returns the cycles of a reading: the minimum of many tries, as any other activity only adds to it.
    fn measure_reading(&self) -> u64 {
        let context = self.context.as_ptr();
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

    /// Shows the simulated cache, if there is one, an access to so many bytes of a memory that starts at `start`.
    pub fn touch(&mut self, start: u64, address: u64, bytes: u64) {
        self.unmeasured(|metrics| {
            let lines = metrics.simulations.touch(start, address, bytes);
            metrics.add_to_readings(&Seen { lines, ..Seen::default() });
        });
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
