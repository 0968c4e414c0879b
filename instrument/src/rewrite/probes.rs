//! Code generation for the probes of edges.

use super::places::Place;
use super::{Arrives, Local, Writer};
use crate::layout::{FIRST_COUNTER, Support};
use crate::plan::Probe;

impl Writer<'_, '_> {
    /// Writes the code of a block's edge, if it stands at `place`.
    pub(super) fn edge_code_at(&mut self, block: u32, edge: usize, place: Place) {
        if let Some(edge) = self.places.edge_at(block, edge, place) {
            self.edge_code(edge);
        }
    }

    /// Writes the code of an edge.
    pub(super) fn edge_code(&mut self, edge: usize) {
        match self.places.probe(edge) {
            Probe::Count(counter) => self.count(counter, 1),
            Probe::Add(amount) => self.add(amount),
            Probe::Set(value) => self.set(value),
            Probe::Finish { add, restart } => {
                self.count_path(add, 1);
                if let Some(restart) = restart {
                    self.set(restart);
                }
            }
        }
    }

    /// Writes the code of an edge before it is known whether the edge is taken.
    pub(super) fn guess(&mut self, edge: usize) {
        if matches!(self.places.probe(edge), Probe::Set(_) | Probe::Finish { restart: Some(_), .. }) {
            let (path, before) = (self.locals.index(Local::Path), self.locals.index(Local::Before));
            self.sink().local_get(path).local_set(before);
        }
        self.edge_code(edge);
    }

    /// Writes the code that undoes [`Self::guess`].
    pub(super) fn undo(&mut self, edge: usize) {
        let probe = self.places.probe(edge);
        if matches!(probe, Probe::Set(_) | Probe::Finish { restart: Some(_), .. }) {
            let (path, before) = (self.locals.index(Local::Path), self.locals.index(Local::Before));
            self.sink().local_get(before).local_set(path);
        }
        match probe {
            Probe::Count(counter) => self.count(counter, -1),
            Probe::Add(amount) => self.add(amount.wrapping_neg()),
            Probe::Finish { add, .. } => self.count_path(add, -1),
            Probe::Set(_) => {}
        }
    }

    fn count(&mut self, counter: u32, by: i64) {
        let counter = self.input.first_counter + counter;
        let is_hot = self.is_hot();
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
        let path = self.locals.index(Local::Path);
        let func = self.input.cfg.func;
        let is_sparse = self.input.plan.is_sparse();
        if is_sparse {
            self.sink().i32_const(func as i32);
        }
        self.sink().local_get(path);
        if add != 0 {
            self.sink().i64_const(add).i64_add();
        }
        if is_sparse {
            let mut code = self.code();
            code.sink.i64_const(by);
            return code.call(Support::Bump);
        }
        if by == 1 && !self.is_hot() {
            let first = self.input.first_counter as i32;
            self.sink().i32_wrap_i64();
            if first != 0 {
                self.sink().i32_const(first).i32_add();
            }
            return self.code().call(Support::Count);
        }
        let address = self.locals.index(Local::Address);
        let place = FIRST_COUNTER + 8 * self.input.first_counter;
        let mut code = self.code();
        code.sink.i32_wrap_i64().i32_const(3).i32_shl();
        code.address();
        let at = code.at(place, 3);
        code.sink.local_tee(address).local_get(address).i64_load(at).i64_const(by).i64_add().i64_store(at);
    }
}
