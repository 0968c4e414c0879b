//! Metrics: the sums of the frame, and the log of what simulations have yet to see.
//!
//! Code only appends to the log: what a simulation costs is paid where readings are taken, which exclude it. The sums stay in the frame, where the stack walk finds them; see `plan::metrics` for their meaning.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use smallvec::SmallVec;

use super::Translator;
use crate::abi::{call_record, read_metrics_signature, simulation_log, store_context};

/// Measurements by metric.
pub(super) type Measured = SmallVec<[Value; 2]>;

impl Translator<'_> {
    /// Creates the function's sums, if anything is measured: zero, or those of the frame that OSR moved here.
    pub(super) fn begin_metrics(&mut self) {
        if self.input.options().metrics == 0 {
            return;
        }
        self.slots.make_sums(self.input.options().metrics, &mut self.builder);
        for metric in self.metrics() {
            let first = match self.input.graph().is_continued {
                true => self.load_metric_cell(store_context::measured(metric)),
                false => self.builder.ins().iconst(types::I64, 0),
            };
            self.set_sum(metric, first);
        }
    }

    /// Starts or resumes measuring from the most recent reading: the caller's, or that of the callee that has returned.
    /// In bursts these may not measure, so the code takes a new reading.
    pub(super) fn start_metrics(&mut self) {
        self.count_start();
        if self.input.graph().in_bursts {
            self.read_metrics();
        }
        for metric in self.metrics() {
            let (sum, reading) = (self.sum(metric), self.reading(metric));
            let sum = self.builder.ins().isub(sum, reading);
            self.set_sum(metric, sum);
        }
    }

    /// Suspends measuring until the next start.
    pub(super) fn stop_metrics(&mut self) {
        for (metric, sum) in self.measured().into_iter().enumerate() {
            self.set_sum(metric as u32, sum);
        }
    }

    /// Returns the measurements, zeroed if they do not count in bursts.
    pub(super) fn counted_measured(&mut self) -> Measured {
        let mut measured = self.measured();
        if self.input.graph().in_bursts {
            let once = self.once();
            measured.iter_mut().for_each(|value| *value = self.builder.ins().imul(*value, once));
        }
        measured
    }

    /// Returns the measurements at the end of a path, without changing the sums.
    fn measured(&mut self) -> Measured {
        self.read_metrics();
        let measured = |translator: &mut Self, metric| {
            let (sum, reading) = (translator.sum(metric), translator.reading(metric));
            translator.builder.ins().iadd(sum, reading)
        };
        self.metrics().map(|metric| measured(self, metric)).collect()
    }

    /// Restarts measuring from the most recent reading: the probe that ends a path belongs to the next path, and needs
    /// no further reading.
    pub(super) fn restart_metrics(&mut self) {
        self.count_start();
        for metric in self.metrics() {
            let reading = self.reading(metric);
            let sum = self.builder.ins().ineg(reading);
            self.set_sum(metric, sum);
        }
    }

    /// Charges the call record with the measurements.
    pub(super) fn end_measuring(&mut self) {
        let measured = self.counted_measured();
        self.charge_record(&measured);
    }

    /// Charges the call record with `measured`, if calling contexts are counted.
    pub(super) fn charge_record(&mut self, measured: &[Value]) {
        if self.input.options().contexts {
            for (metric, &value) in (0..).zip(measured) {
                self.add_to_record(call_record::metric(metric), value);
            }
        }
    }

    /// Counts a start of measuring.
    fn count_start(&mut self) {
        if self.input.options().contexts && self.input.options().metrics > 0 {
            let once = self.once();
            self.add_to_record(call_record::STARTS, once);
        }
    }

    /// Passes measurements to another version of the function.
    pub(super) fn pass_measured(&mut self, measured: &[Value]) {
        for (metric, &value) in (0..).zip(measured) {
            self.store_metric_cell(store_context::measured(metric), value);
        }
    }

    /// Passes the current sums to another version by OSR.
    pub(super) fn hand_over_metrics(&mut self) {
        let sums: Measured = self.metrics().map(|metric| self.sum(metric)).collect();
        self.pass_measured(&sums);
    }

    /// Logs an access at `address` in the memory whose byte 0 is at `start`, if there is a simulated cache.
    pub(super) fn touch(&mut self, start: Value, address: Value, bytes: u64) {
        if self.input.options().cache.is_some() {
            let what = self.builder.ins().iadd_imm_s(start, bytes as i64);
            self.log_for_simulation(what, address);
        }
    }

    /// Logs the branch at the end of a block, if there is a simulated predictor.
    pub(super) fn see_branch(&mut self, is_taken: Value) {
        if !self.input.options().predicts {
            return;
        }
        let what = self.builder.ins().iadd_imm_s(self.vmctx, simulation_log::BRANCH as i64);
        let is_taken = self.builder.ins().uextend(types::I64, is_taken);
        let is_taken = self.builder.ins().ishl_imm_u(is_taken, 32);
        let place = self.builder.ins().iadd_imm_s(is_taken, i64::from(self.position.offset()));
        self.log_for_simulation(what, place);
    }

    /// Has the log emptied before the runtime shows the simulated cache a bulk operation itself.
    pub(super) fn empty_simulation_log(&mut self) {
        if self.input.options().cache.is_some() {
            self.read_metrics();
        }
    }

    /// Appends to the simulation log, and has it emptied when it is full.
    fn log_for_simulation(&mut self, what: Value, place: Value) {
        let flags = self.counter_flags();
        let is_pinned = self.input.options().pins_simulation_log();
        let next = match is_pinned {
            true => self.builder.ins().get_pinned_reg(types::I64),
            false => self.load_metric_cell(store_context::SIMULATION_NEXT),
        };
        self.builder.ins().store(flags, what, next, 0);
        self.builder.ins().store(flags, place, next, 8);
        let next = self.builder.ins().iadd_imm_s(next, i64::from(simulation_log::ENTRY));
        match is_pinned {
            true => _ = self.builder.ins().set_pinned_reg(next),
            false => self.store_metric_cell(store_context::SIMULATION_NEXT, next),
        }
        let place = self.builder.ins().band_imm_s(next, i64::from(simulation_log::SIZE - 1));
        let (full, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(place, go_on, &[], full, &[]);
        self.builder.seal_block(full);
        self.builder.set_cold_block(full);
        self.builder.switch_to_block(full);
        self.read_metrics();
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }

    fn metrics(&self) -> std::ops::Range<u32> {
        0..self.input.options().metrics
    }

    fn read_metrics(&mut self) {
        if !self.input.options().reads_metrics {
            return;
        }
        let context = self.store_context();
        let code = self.load_constant(types::I64, context, store_context::READ_METRICS);
        let signature = self.builder.import_signature(read_metrics_signature());
        self.builder.ins().call_indirect(signature, code, &[context]);
    }

    /// Adds an amount to the reading of a metric.
    pub(super) fn add_to_reading(&mut self, metric: u32, amount: Value) {
        let old = self.reading(metric);
        let new = self.builder.ins().iadd(old, amount);
        self.store_metric_cell(store_context::metric(metric), new);
    }

    fn reading(&mut self, metric: u32) -> Value {
        self.load_metric_cell(store_context::metric(metric))
    }

    fn sum(&mut self, metric: u32) -> Value {
        self.slots.sum(metric, &mut self.builder)
    }

    fn set_sum(&mut self, metric: u32, value: Value) {
        self.slots.set_sum(metric, value, &mut self.builder);
    }

    fn load_metric_cell(&mut self, offset: i32) -> Value {
        let (flags, context) = self.metric_cell();
        self.builder.ins().load(types::I64, flags, context, offset)
    }

    fn store_metric_cell(&mut self, offset: i32, value: Value) {
        let (flags, context) = self.metric_cell();
        self.builder.ins().store(flags, value, context, offset);
    }

    fn metric_cell(&mut self) -> (MemFlagsData, Value) {
        (self.counter_flags(), self.store_context())
    }
}
