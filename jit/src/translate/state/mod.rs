//! The state of a translation, in parts that each keep their own invariants.
//!
//! The fields of a part are private to its file, so that only its methods can break what it promises. No part knows
//! another: the translator passes them what they need of each other, and the CLIF builder.

mod addresses;
mod around_calls;
mod blocks;
mod homes;
mod input;
mod interned;
mod locals;
mod operands;
mod output;
mod path;
mod position;
mod preheaders;
mod slots;
mod strips;

pub use addresses::AddressCache;
pub use blocks::Blocks;
pub use input::Input;
pub use interned::Interned;
pub use locals::Locals;
pub use operands::OperandStack;
pub use output::{Output, Translated};
pub use path::PathRegister;
pub use position::Position;
pub use preheaders::{Preheader, Preheaders};
pub use slots::FrameSlots;
