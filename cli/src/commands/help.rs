//! The headings under which `--help` lists options, by what they are for.

/// What the program is, and what it may use.
pub const PROGRAM: &str = "Program";
/// What is read.
pub const INPUT: &str = "Input";
/// What is counted.
pub const PROFILE: &str = "Profile";
/// How bursts sample.
pub const SAMPLING: &str = "Sampling";
/// What is shown of a profile.
pub const VIEW: &str = "View";
/// Where results go, and how much is said.
pub const OUTPUT: &str = "Output";
/// What stops a program or a module that is too large.
pub const LIMITS: &str = "Limits";
/// How fast the program starts and runs.
pub const SPEED: &str = "Speed";
/// How to look into a run or its code.
pub const DEBUGGING: &str = "Debugging";
