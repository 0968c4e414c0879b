//! Components: values, linking, resources, typed calls, hostile components.

mod artifacts;
mod fused;
mod host;
mod hostile;
mod linking;
#[path = "../shared/random.rs"]
mod random;
mod random_calls;
mod real;
mod resources;
mod typed;
mod values;
