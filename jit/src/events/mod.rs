//! What an executed instruction counts for: kinds of events, each with a cost for every opcode.
//!
//! Input: a kind of event ([`EventModel`]) and a function's [`Cfg`](crate::cfg::Cfg).
//! Output: the events of each block, or of a block's first instructions.
//! Invariant: costs depend on the opcode alone, never on operands. What an operand decides, the length of a bulk
//! operation, is charged per unit ([`EventModel::per_unit`]), on top of the opcode's cost. Only instructions that are
//! executed cost anything: `block`, `loop`, `else` and `end` are structure, belong to no block for sure, and are
//! free.
//! Source: Ball, *Efficiently Counting Program Events with Support for On-line Queries*, TOPLAS 1994, which takes the
//! events of blocks as given; they are made here.
//! Oracle: `tests/events.rs` (hand-counted functions; `instructions` is `Block::ops` in whole programs); for [`fuel`]
//! also Wasmtime itself.
//!
//! A run's total under a model is `entry` for each function entry, `back_edge` for each back edge taken, the costs of
//! the instructions, and `per_unit` times the length of each bulk operation.

mod builtin;
mod custom;
pub mod fuel;
mod model;
mod opcode;
mod sums;

pub use builtin::BUILT_IN;
pub use custom::{CustomModel, ModelError};
pub use model::EventModel;
pub use opcode::{Unit, is_dynamic, length_unit, names};
pub use sums::executed;
pub(crate) use sums::sum;
