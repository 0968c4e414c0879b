//! Fuel: events with a budget, by the name that other engines have for them.

use wprof_jit::events::EventModel;

use super::Config;

/// The kind of events that fuel is.
pub(crate) const FUEL: &str = "fuel";

impl Config {
    /// Whether wasm code consumes fuel (default: no): see [`Store::set_fuel`](crate::Store::set_fuel). Fuel is the built-in
    /// kind of events of this name, which is counted besides those of [`Config::count_events`], and the budget is one of
    /// it: it costs what a budget does, and programs consume as much as they do in Wasmtime. There is no other budget
    /// then.
    pub fn consume_fuel(&mut self, enable: bool) -> &mut Self {
        self.fuel = enable;
        self.events.retain(|model| model.name != FUEL);
        self.budget.take_if(|kind| kind == FUEL);
        self.keep_fuel();
        self
    }

    /// Sees to it that fuel is counted if it is consumed.
    pub(super) fn keep_fuel(&mut self) {
        if !self.fuel {
            return;
        }
        if !self.counts(FUEL) {
            self.events.extend(EventModel::built_in(FUEL));
        }
        self.budget = Some(FUEL.into());
    }

    /// Whether stores begin without fuel.
    pub(crate) fn consumes_fuel(&self) -> bool {
        self.fuel && self.meters(FUEL)
    }
}
