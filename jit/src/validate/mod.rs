//! An independent checker of the passes over finished machine code: translation validation.
//!
//! The passes are not proven correct once for all code, but checked for each function: Cranelift's code and the
//! rewritten code are executed side by side on terms, and must do the same. This module is independent of the
//! processor; a target executes its instructions through [`Machine`].
//!
//! Theory: the two versions are in *lockstep* if a relation holds between their states wherever both stop in the same
//! pair of places, and if from each such pair both do the same until the next: the same stores of the same values to
//! the same addresses in the same order, the same loads that may trap, the same calls of the same targets with the same
//! arguments in the registers that their signatures name, the same branches under the same conditions, the same entries
//! of jump tables for each value of the index, the same traps with the same codes and origins, and returns of the same
//! values. By induction, every observation of a run of one version is then possible for the other. The relation is a
//! partition of registers and places in the frame into classes of equal values (`state`), the greatest that holds on
//! all paths; values are terms (`terms`); pairs are found by walking (`product`), not reported by the passes. The
//! passes only hint where blocks went, and a wrong hint makes the check fail, never pass.
//! Source: translation validation, Pnueli, Siegel & Singerman, TACAS 1998; Necula, PLDI 2000; the checker of regalloc2;
//! value numbering by partition refinement, Alpern, Wegman & Zadeck, POPL 1988; Kildall, POPL 1973. Oracle: the tests
//! of each target, and faults put into each pass, all of which the validator finds.

pub(crate) mod clif;
mod memory;
mod product;
mod state;
mod terms;

pub(crate) use memory::SharedPart;
pub(crate) use product::{Event, Exit, Machine, Mismatch, Place, Side, Step, SymbolicRun, What, walk};
pub(crate) use terms::{Args, Op, Term, Terms};
