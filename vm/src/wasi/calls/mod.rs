//! The functions of the usual implementation, by what they are about.

mod descriptor;
mod file;
mod path;
mod poll;
mod program;
mod socket;
mod transfer;

pub use transfer::wait_for;
