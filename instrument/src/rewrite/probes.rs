//! Code generation for the probes of edges.

use wasm_encoder::{BlockType, InstructionSink};

use super::places::Place;
use super::{Arrives, Local, Writer};
use crate::layout::{FIGURES, FIRST_COUNTER, Support};
use crate::plan::{FunctionPlan, NUMBER, Probe, Rows};

impl Writer<'_, '_> {
    /// Writes the code of a block's edge, if it stands at `place`.
    pub(super) fn edge_code_at(&mut self, block: u32, edge: usize, place: Place) {
        if let Some(edge) = self.places.edge_at(block, edge, place) {
            self.edge_code(edge);
        }
    }

    /// Writes the code of an edge.
    pub(super) fn edge_code(&mut self, edge: usize) {
        for probe in self.places.probes(edge) {
            match probe {
                Probe::Count(counter) => {
                    let is_hot = self.is_hot() && !self.places.is_rare(edge);
                    self.count(counter, 1, is_hot);
                }
                Probe::Event(kind, amount) => self.add_events(kind, amount),
                Probe::Add(amount) => self.add(amount),
                Probe::Set(value) => self.set(value),
                Probe::Emit { value, bits } => self.code().emit(value.into(), bits.into()),
                Probe::Finish { add, restart } => {
                    self.count_path(add, 1);
                    if let Some(restart) = restart {
                        self.set(restart);
                    }
                }
            }
        }
    }

    /// Reports whether the code of an edge makes the path register forget its value.
    fn forgets(&self, edge: usize) -> bool {
        let forgets = |probe: &Probe| matches!(probe, Probe::Set(_) | Probe::Finish { restart: Some(_), .. });
        self.places.probes(edge).iter().any(forgets)
    }

    /// Writes the code of an edge before it is known whether the edge is taken.
    pub(super) fn guess(&mut self, edge: usize) {
        if self.forgets(edge) {
            let (path, before) = (self.locals.index(Local::Path), self.locals.index(Local::Before));
            self.sink().local_get(path).local_set(before);
        }
        self.edge_code(edge);
    }

    /// Writes the code that undoes [`Self::guess`].
    pub(super) fn undo(&mut self, edge: usize) {
        if self.forgets(edge) {
            let (path, before) = (self.locals.index(Local::Path), self.locals.index(Local::Before));
            self.sink().local_get(before).local_set(path);
        }
        for probe in self.places.probes(edge) {
            match probe {
                Probe::Count(counter) => {
                    let is_hot = self.is_hot() && !self.places.is_rare(edge);
                    self.count(counter, -1, is_hot);
                }
                Probe::Event(kind, amount) => self.add_events(kind, amount.wrapping_neg()),
                Probe::Add(amount) => self.add(amount.wrapping_neg()),
                Probe::Finish { add, .. } => self.count_path(add, -1),
                Probe::Emit { bits, .. } => {
                    let mut code = self.code();
                    code.sink.i32_const(bits.into());
                    code.call(Support::Retract);
                }
                Probe::Set(_) => {}
            }
        }
    }

    /// Adds events: to the sum in the frame's call record if contexts are counted, otherwise to the one sum of the kind.
    pub(super) fn add_events(&mut self, kind: u32, amount: i64) {
        self.add_pushed_events(kind, |sink| {
            sink.i64_const(amount);
        });
    }

    /// Adds events, whose number `push` pushes.
    pub(super) fn add_pushed_events(&mut self, kind: u32, push: impl FnOnce(&mut InstructionSink<'_>)) {
        let layout = self.input.layout;
        if layout.records.is_none() {
            let counter = layout.first_sum() + kind;
            let sum = self.hot.variable(counter);
            let mut sink = self.sink();
            sink.global_get(sum);
            push(&mut sink);
            sink.i64_add().global_set(sum);
            return;
        }
        let record = self.locals.index(Local::Record);
        let mut code = self.code();
        let at = code.at(FIGURES + 8 * kind, 3);
        for _ in 0..2 {
            code.sink.local_get(record);
            code.address();
        }
        code.sink.i64_load(at);
        push(&mut code.sink);
        code.sink.i64_add().i64_store(at);
    }

    /// Adds the events that are added before the call or throw at a byte offset.
    pub(super) fn events_before(&mut self, offset: u32) {
        let added = self.input.events.and_then(|events| events.before_call.get(&offset));
        for &(kind, amount) in added.into_iter().flatten() {
            self.add_events(kind, amount);
        }
    }

    /// Adds to a counter of the function.
    pub(super) fn count(&mut self, counter: u32, by: i64, is_hot: bool) {
        let counter = self.input.first_counter + counter;
        if let Some(global) = self.hot.global(counter, is_hot) {
            self.sink().global_get(global).i64_const(by).i64_add().global_set(global);
            return;
        }
        if by == 1 && !is_hot {
            self.sink().i32_const(counter as i32);
            return self.code().call(Support::Count);
        }
        let place = FIRST_COUNTER + 8 * counter;
        let mut code = self.code();
        code.region();
        code.region();
        let at = code.at(place, 3);
        code.sink.i64_load(at).i64_const(by).i64_add().i64_store(at);
    }

    /// Reports whether the current code seems to be hot, so that its time matters more than its length.
    pub(super) fn is_hot(&self) -> bool {
        let in_loop = self.frames.iter().any(|frame| matches!(frame.arrives, Arrives::Params(_)));
        in_loop || self.input.calls.is_hot(self.input.cfg.func)
    }

    fn add(&mut self, amount: i64) {
        let path = self.locals.index(Local::Path);
        self.sink().local_get(path).i64_const(amount).i64_add().local_set(path);
    }

    fn set(&mut self, value: i64) {
        let path = self.locals.index(Local::Path);
        self.sink().i64_const(value).local_set(path);
    }

    /// Counts the path whose number is the register plus `add`.
    fn count_path(&mut self, add: i64, by: i64) {
        match self.input.plan.rows() {
            None => self.count_path_by_counter(add, by),
            Some(Rows::Hashed) if self.is_hot() => self.count_path_in_row(add, by),
            Some(Rows::Preferential(rows)) if self.is_hot() => self.count_preferential_path(rows, add, by),
            Some(rows) => self.count_path_in_table(rows, add, by),
        }
    }

    /// Pushes the register plus `add`.
    fn push_number(&mut self, add: i64) {
        let path = self.locals.index(Local::Path);
        self.sink().local_get(path);
        if add != 0 {
            self.sink().i64_const(add).i64_add();
        }
    }

    /// Returns the local of the frame's call record, if each counts its paths.
    fn record_of_paths(&mut self) -> Option<u32> {
        matches!(self.input.plan, FunctionPlan::Flow(_)).then(|| self.locals.index(Local::Record))
    }

    fn count_path_in_table(&mut self, rows: Rows, add: i64, by: i64) {
        let func = self.input.cfg.func;
        let record = self.record_of_paths();
        self.sink().i32_const(func as i32);
        self.push_record_of_row(record.is_some());
        self.push_number(add);
        if let Rows::Preferential(_) = rows {
            self.sink().i64_const(NUMBER.cast_signed()).i64_and();
        }
        let mut code = self.code();
        code.sink.i64_const(by);
        code.call(Support::Bump);
    }

    /// Counts a path in the row that a hash selects.
    fn count_path_in_row(&mut self, add: i64, by: i64) {
        let (func, record) = (self.input.cfg.func, self.record_of_paths());
        let place = FIRST_COUNTER + 8 * self.input.first_counter;
        self.sink().i32_const(place.cast_signed()).i32_const(func.cast_signed());
        self.push_number(add);
        let mut code = self.code();
        if let Some(record) = record {
            code.sink.local_get(record).i64_extend_i32_u().i64_const(32).i64_shl().i64_or();
        }
        code.sink.i64_const(by);
        code.call(Support::Row);
    }

    /// Counts a path in the row of its preferential number, which is taken from another path if that was counted there last.
    fn count_preferential_path(&mut self, rows: u32, add: i64, by: i64) {
        let (number, address) = (self.locals.index(Local::Number), self.locals.index(Local::Address));
        let func = self.input.cfg.func;
        let place = FIRST_COUNTER + 8 * self.input.first_counter;
        self.push_number(add);
        let mut code = self.code();
        // Rows take 16 bytes: the preferential number is shifted to a multiple of that.
        code.sink.local_tee(number).i64_const(28).i64_shr_u().i32_wrap_i64();
        code.sink.i32_const((16 * (rows - 1)).cast_signed()).i32_and();
        code.sink.local_get(number).i64_const(NUMBER.cast_signed()).i64_and().local_set(number);
        code.address();
        let [key, count] = [code.at(place, 3), code.at(place + 8, 3)];
        code.sink.local_tee(address).i64_load(key).local_get(number).i64_eq().if_(BlockType::Empty);
        code.sink.local_get(address).local_get(address).i64_load(count).i64_const(by).i64_add();
        code.sink.i64_store(count).else_();
        code.sink.local_get(address).i32_const(place.cast_signed()).i32_add().i32_const(func.cast_signed());
        code.sink.local_get(number).i64_const(by);
        code.call(Support::Evict);
        code.sink.end();
    }

    /// Counts a path in its counter, or in its figure of the call record.
    fn count_path_by_counter(&mut self, add: i64, by: i64) {
        let record = self.record_of_paths();
        self.push_number(add);
        if by == 1 && !self.is_hot() && record.is_none() {
            let first = self.input.first_counter as i32;
            self.sink().i32_wrap_i64();
            if first != 0 {
                self.sink().i32_const(first).i32_add();
            }
            return self.code().call(Support::Count);
        }
        let address = self.locals.index(Local::Address);
        let place = match self.input.layout.records {
            Some(records) if record.is_some() => records.host_slots(),
            _ => FIRST_COUNTER + 8 * self.input.first_counter,
        };
        let mut code = self.code();
        code.sink.i32_wrap_i64().i32_const(3).i32_shl();
        if let Some(record) = record {
            code.sink.local_get(record).i32_add();
        }
        code.address();
        let at = code.at(place, 3);
        code.sink.local_tee(address).local_get(address).i64_load(at).i64_const(by).i64_add().i64_store(at);
    }
}
