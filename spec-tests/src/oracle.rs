//! The independent, stupid profile: a module that counts itself.
//!
//! Input: a module. Output: the same module with a global for each block, each way out of a block and, for small
//! modules, each instruction; each global is incremented right before what it counts. Any engine can run it, also one
//! that knows nothing of profiles: that its counts agree with a [`Profile`](wprof_profiler::Profile) is the proof of
//! the profile ([`compare`]).
//! Where the module stands in a block is taken from the [`Cfg`] under test, but that an instruction is executed, or a
//! branch taken, is not: a block too few or an edge too many shows as counts that differ.
//! Source: algorithms.md, section 12.

mod compare;
mod count;

use wprof_jit::cfg::{Cfg, End, build};
use wprof_jit::module::{self, ModuleInfo, is_structure_free};

pub use compare::{Compared, compare};
use count::Counters;

use crate::splice::{Located, Splice};
