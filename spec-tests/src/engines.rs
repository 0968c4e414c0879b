//! The engines that run generated modules: ours, and an independent interpreter.

pub mod heap;
pub mod ours;
pub mod reference;
