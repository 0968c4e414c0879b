//! The engines that run generated modules: ours, an independent interpreter, and one in another process.

pub mod judge;
pub mod ours;
pub mod reference;
