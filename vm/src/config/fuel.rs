//! Fuel: events with a budget, by the name that other engines have for them.

use wprof_jit::events::EventModel;

use super::Config;

/// The kind of events that fuel is.
pub(crate) const FUEL: &str = "fuel";

impl Config {
    /// Whether wasm code consumes fuel (default: no): see [`Store::set_fuel`](crate::Store::set_fuel). Fuel is the built-in
    /// kind of events of this name, which is counted besides those of [`Config::count_events`], and the budget is one of
    /// it: it costs what a budget does, and programs consume as much as they do in Wasmtime, or what [`Config::fuel_costs`] says.
    /// There is no other budget then.
    pub fn consume_fuel(&mut self, enable: bool) -> &mut Self {
        self.fuel = enable;
        self.events.retain(|model| model.name != FUEL);
        self.budget.take_if(|kind| kind == FUEL);
        self.keep_fuel();
        self
    }

    /// What instructions consume (default: `None`, as much as in Wasmtime), with the costs of any kind of events: a table of
    /// costs by instruction is an [`EventModel::custom`]. It has no effect without [`Config::consume_fuel`].
    ///
    /// ```
    /// use wprof::{Config, CustomModel, EventModel};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let costs = CustomModel {
    ///     name: "gas".into(),
    ///     default: 1,
    ///     cost: vec![("i64.div_*".into(), 20), ("call_indirect".into(), 10)],
    ///     per_unit: vec![("memory.grow".into(), 1000), ("memory.copy".into(), 1)],
    ///     ..CustomModel::default()
    /// };
    /// let mut config = Config::new();
    /// config.consume_fuel(true).fuel_costs(Some(EventModel::custom(&costs)?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn fuel_costs(&mut self, costs: Option<EventModel>) -> &mut Self {
        self.fuel_costs = costs.map(|costs| costs.named(FUEL));
        if self.fuel {
            self.consume_fuel(true);
        }
        self
    }

    /// Sees to it that fuel is counted if it is consumed.
    pub(super) fn keep_fuel(&mut self) {
        if !self.fuel {
            return;
        }
        if !self.counts(FUEL) {
            self.events.extend(self.fuel_costs.clone().or_else(|| EventModel::built_in(FUEL)));
        }
        self.budget = Some(FUEL.into());
    }

    /// Whether stores begin without fuel.
    pub(crate) fn consumes_fuel(&self) -> bool {
        self.fuel && self.meters(FUEL)
    }
}
