//! Kinds of events: each defines a cost for every opcode, which an executed instruction adds.
//!
//! Input: a kind of event ([`EventModel`]) and a function's [`Cfg`](crate::cfg::Cfg).
//! Output: the events of each block, or of a block's first instructions.
//! Invariant: costs depend on the opcode alone, never on operands. The length of a bulk operation, which an operand
//! decides, is charged per unit ([`EventModel::per_unit`]), on top of the opcode's cost. Only executed instructions
//! have a cost: `block`, `loop`, `else` and `end` are structure, do not belong to any block for certain, and are free.
//! Source: Ball, *Efficiently Counting Program Events with Support for On-line Queries*, TOPLAS 1994, which takes the
//! events of blocks as given; this module computes them. Oracle: `tests/it/events.rs` (hand-counted functions;
//! `instructions` is `Block::ops` in whole programs); for [`fuel`] also Wasmtime itself.
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
