//! The same for CLIF: whether a pass over it left what the function does as it was.
//!
//! Input: a function before a pass and behind it. Output: nothing, or the first difference.
//!
//! Theory: both versions are taken for one program that executes block after block of both. It is in SSA form, as each
//! of them is, and its values are put into classes: two are in one class if they are the same term over the classes of
//! what they are computed from; two parameters of a block if what they are given is in one class on each way into it;
//! and a parameter is in the class of what it is given, if that is the same on all ways, and was computed in a block
//! that strictly dominates its own. Values of one class are equal wherever both are known, by induction over the steps
//! of a run. Classes begin as large as can be and are divided until they are stable. Then the events of each block,
//! stores, calls, what may trap, and where control goes, must be the same one by one, with values of the same classes;
//! and the version behind may load nothing that the one before does not load in the same block.
//! Source: Alpern, Wegman & Zadeck, *Detecting Equality of Variables in Programs*, POPL 1988; Click, PLDI 1995 (§2.2),
//! for parameters that are always another value.
//!
//! What the frame has behind a pass that it did not have before is taken for variables: nothing else has their addresses, which
//! is checked. Integers of up to 64 bits are terms of 64 bits, extended with zeros; `rules` has what is known of them.
//! Invariant: nothing here is shared with the passes.
//! Assumed: both versions pass Cranelift's verifier, so that what is used is known there; and that memory is only changed by what is
//! an event.
//! Oracle: the tests here, each of which has a fault that it finds or a change that it allows.

mod classes;
mod execute;
mod rules;
mod symbols;
#[cfg(test)]
mod tests;

pub(crate) use classes::check;
