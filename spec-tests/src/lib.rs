//! Shared code of the tests of the whole engine.
//!
//! * [`script`] runs a file of the official test suite, with the imports of [`spectest`] and under a [`mode`];
//!   [`skips`] lists the known failures.
//! * [`components`] runs a script of the component model.
//! * [`generate`] makes modules from seeds, and [`sweep`] checks many of them: [`check`] compares our engine with an
//!   interpreter, and its profile with an [`oracle`]; [`isolate`] does so in processes that may crash.
//! * [`nonsense`] invents profiles.
//! * [`shadow`] is the oracle of calling context trees.
//! * [`programs`] runs programs under WASI.
//! * [`command`] is the command line of programs that check.
//! * [`volume`] says how many cases a test runs, and [`skipped`] that it does not run.
#![forbid(unsafe_code)]

pub mod check;
pub mod command;
pub mod components;
pub mod drive;
pub mod engines;
pub mod fuel;
pub mod generate;
pub mod host;
pub mod isolate;
pub mod mode;
pub mod nonsense;
pub mod oracle;
pub mod outcome;
pub mod pairs;
pub mod patience;
pub mod programs;
pub mod recorded;
pub mod rng;
pub mod script;
pub mod settings;
pub mod shadow;
pub mod shrink;
pub mod skipped;
pub mod skips;
pub mod spectest;
pub mod splice;
pub mod sweep;
pub mod targets;
pub mod unfold;
pub mod values;
pub mod volume;
