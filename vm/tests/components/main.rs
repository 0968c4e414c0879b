//! Components: values, linking, resources, typed calls, hostile components.

mod artifacts;
mod async_calls;
mod budgets;
mod fused;
mod host;
mod hostile;
mod interface;
mod linking;
mod real;
mod resources;
mod typed;
mod values;
