//! Metrics of a store: their readings, the simulated cache, and what frames have measured.
//!
//! Invariant: readings only grow, and are above whatever a frame can measure; see `wprof_jit::plan::Metric`.

use std::ptr;

use wprof_jit::abi::store_context::METRIC_KINDS;
use wprof_jit::plan::Metric;
use wprof_profiler::DataCache;

use super::activation::TrapRecord;
use super::store::StoreOpaque;
use crate::{Collect, ProfilingConfig, arch};

/// One figure for each metric; 0 for those that there are not.
pub type Measured = [u64; METRIC_KINDS as usize];

/// A frame's sums: negative while it measures.
pub type Sums = [i64; METRIC_KINDS as usize];

/// The first reading of what is counted from zero: above anything that can be counted.
const FIRST: u64 = 1 << 62;

/// Enough for the deepest call of the runtime's on its own stack.
const OWN_STACK: usize = 64 << 10;

/// How often the cost of a reading is measured.
const TRIES: u32 = 1000;

/// What metrics need.
#[derive(Debug)]
pub struct Metrics {
    metrics: Vec<Metric>,
    cache: Option<DataCache>,
    /// The stack that the simulation runs on.
    own_stack: Box<[u128]>,
}

impl Metrics {
    /// Of a store that measures these.
    pub fn new(metrics: &[Metric]) -> Metrics {
        let cache = metrics.iter().find_map(Metric::cache).map(DataCache::new);
        let room = if cache.is_some() { OWN_STACK / size_of::<u128>() } else { 0 };
        Metrics { metrics: metrics.to_vec(), cache, own_stack: vec![0; room].into() }
    }

    /// What is measured, in the order of the readings.
    pub fn all(&self) -> &[Metric] {
        &self.metrics
    }

    /// The readings when nothing has run.
    pub fn first_readings(&self) -> Measured {
        [FIRST; METRIC_KINDS as usize]
    }

    /// Where the runtime's own stack begins, which grows down.
    pub fn own_stack(&self) -> usize {
        self.own_stack.as_ptr_range().end.expose_provenance()
    }

    fn position(&self, is_wanted: impl Fn(&Metric) -> bool) -> Option<usize> {
        self.metrics.iter().position(is_wanted)
    }
}

impl StoreOpaque {
    /// What was measured along the path that machine code asks to count.
    pub fn measured(&self) -> Measured {
        // SAFETY: the context lives as long as the store; machine code does not run now.
        let sums = unsafe { ptr::read(&raw const (*self.context().as_ptr()).measured) };
        sums.map(i64::cast_unsigned)
    }

    /// What the frame that has trapped had measured since its path began.
    pub fn measured_at_trap(&self, record: &TrapRecord) -> Measured {
        // SAFETY: as above.
        let mut readings = unsafe { ptr::read(&raw const (*self.context().as_ptr()).metrics) };
        if let Some(cycles) = self.metrics.position(|metric| *metric == Metric::Cycles) {
            readings[cycles] = record.cycles;
        }
        let mut measured = record.top.sums.map(i64::cast_unsigned);
        for ((measured, sum), reading) in measured.iter_mut().zip(record.top.sums).zip(readings) {
            if sum < 0 {
                *measured = reading.wrapping_add_signed(sum);
            }
        }
        measured
    }

    /// Whether paths are counted.
    pub fn counts_paths(&self) -> bool {
        self.engine().config().profiling == ProfilingConfig::Exact(Collect::Paths)
    }

    /// What a metric grows by when measuring starts and stops with nothing in between.
    pub fn cost_of_start(&self, metric: &Metric) -> u64 {
        match metric {
            Metric::Cycles => self.cycles_of_reading(),
            Metric::CacheMisses(_) => 0,
        }
    }

    /// The least of many tries, as anything else that happens only adds to it.
    fn cycles_of_reading(&self) -> u64 {
        let context = self.context().as_ptr();
        let read = || {
            // SAFETY: the context lives as long as the store; the code changes the reading only, and registers that it
            // may.
            unsafe {
                arch::read_cycles_of(context);
                ptr::read_volatile(&raw const (*context).metrics[0])
            }
        };
        let between = || {
            let first = read();
            read().wrapping_sub(first)
        };
        (0..TRIES).map(|_| between()).min().unwrap_or(0)
    }

    /// Lets the simulated cache, if there is one, see an access to the memory whose byte 0 is at `start`.
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

    /// The same for a bulk operation, which has succeeded, on memory `memory` of an instance.
    pub fn touch_memory(&mut self, instance: u32, memory: u32, address: u64, bytes: u64) {
        let memory = self.instances[instance as usize].memories[memory as usize];
        let start = self.memory(memory).data().as_ptr().addr() as u64;
        self.touch_lines(start, address, bytes);
    }
}
