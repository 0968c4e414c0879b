//! The engines that run generated modules: our engine and an independent interpreter.

pub mod atomics;
pub mod heap;
pub mod ours;
pub mod reference;
