//! Headings under which `--help` groups options by purpose, and the layout of the texts behind them.

pub mod layout;

/// The program, and the resources that it may use.
pub const PROGRAM: &str = "Program";
/// The inputs.
pub const INPUT: &str = "Input";
/// The choice of what is counted.
pub const PROFILE: &str = "Profile";
/// The sampling by bursts.
pub const SAMPLING: &str = "Sampling";
/// The view of a profile.
pub const VIEW: &str = "View";
/// The destination of results, and the verbosity.
pub const OUTPUT: &str = "Output";
/// Limits that stop a program or a module that is too large.
pub const LIMITS: &str = "Limits";
/// The speed of startup and execution.
pub const SPEED: &str = "Speed";
/// Inspection of a run or its code.
pub const DEBUGGING: &str = "Debugging";
