//! Fuel: events with a budget, under the name that other engines use.

use wprof_jit::events::EventModel;
use wprof_jit::plan::Counting;

use super::Config;

/// The event kind of fuel.
pub(crate) const FUEL: &str = "fuel";

impl Config {
    /// Sets whether wasm code consumes fuel (default: no): see [`Store::set_fuel`](crate::Store::set_fuel). Fuel is the
    /// built-in event kind of this name, counted in addition to those of [`Config::count_events`], with a budget: it
    /// costs what a budget costs, and programs consume as much as in Wasmtime, or according to [`Config::fuel_costs`].
    /// No other budget is possible then.
    pub fn consume_fuel(&mut self, enable: bool) -> &mut Self {
        self.events.fuel = enable;
        self.events.models.retain(|model| model.name != FUEL);
        self.events.budget.take_if(|kind| kind == FUEL);
        self.keep_fuel();
        self
    }

    /// Sets the fuel consumption of instructions (default: `None`, as in Wasmtime) to the costs of any event kind: a
    /// table of costs by instruction is an [`EventModel::custom`]. It needs [`Config::consume_fuel`].
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
        self.events.fuel_costs = costs.map(|costs| costs.named(FUEL));
        if self.events.fuel {
            self.consume_fuel(true);
        }
        self
    }

    /// Ensures that fuel is counted if it is consumed.
    pub(super) fn keep_fuel(&mut self) {
        if !self.events.fuel {
            return;
        }
        if !self.counts(FUEL) {
            self.events.models.extend(self.events.fuel_costs.clone().or_else(|| EventModel::built_in(FUEL)));
        }
        self.events.budget = Some(FUEL.into());
    }

    /// Reports whether stores start without fuel.
    pub(crate) fn consumes_fuel(&self) -> bool {
        self.events.fuel && self.meters(FUEL)
    }

    /// Reports whether a program stops where Wasmtime would stop it, unless it was asked to stop at an instruction.
    pub(crate) fn checks_as_fuel(&self) -> bool {
        self.consumes_fuel() && matches!(self.events.counting, Counting::Chords | Counting::PerBlock)
    }
}
