//! Components: values, linking, resources, typed calls, hostile components.

mod fused;
mod host;
mod hostile;
mod linking;
mod random_calls;
mod real;
mod resources;
mod typed;
mod values;
