//! Translation validation of CLIF passes: checks that a pass preserves the behaviour of a function.
//!
//! Input: a function before and after a pass. Output: nothing, or the first difference.
//!
//! Theory: both versions are combined to one program that executes block after block of both. It is in SSA form, as
//! each of them is, and its values are divided into classes: two values are in one class if they are the same term over
//! the classes of their operands; two parameters of a block, if their arguments are in one class on each incoming edge;
//! and a parameter is in the class of its argument, if that is the same on all edges, and was computed in a block that
//! strictly dominates its own. Values of one class are equal wherever both are known, by induction over the steps of a
//! run. Classes begin as large as possible and are divided until they are stable. Then the events of each block, that
//! is stores, calls, possible traps, and branches, must be the same one by one, with values of the same classes; and
//! the new version may load nothing that the old one does not load in the same block.
//! Source: Alpern, Wegman & Zadeck, *Detecting Equality of Variables in Programs*, POPL 1988; Click, PLDI 1995 (§2.2),
//! for parameters that are always another value.
//!
//! Stack slots that a pass added count as variables: no other code knows their addresses, which is checked. Integers of
//! up to 64 bits are zero-extended 64-bit terms; `rules` defines their arithmetic.
//! Invariant: the validator shares no code with the passes. Assumed: both versions pass Cranelift's verifier, so that
//! values are known where they are used; and only events change memory. Oracle: the tests here, each of which has a
//! fault that it finds or a change that it allows.

mod classes;
mod execute;
mod rules;
mod symbols;
#[cfg(test)]
mod tests;

pub(crate) use classes::check;
