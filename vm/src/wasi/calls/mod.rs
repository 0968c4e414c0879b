//! The functions of the default implementation, by subject.

mod descriptor;
mod file;
mod path;
mod poll;
mod program;
mod socket;
mod transfer;

pub use transfer::wait_for;
