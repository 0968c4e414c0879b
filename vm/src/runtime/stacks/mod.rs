//! Stacks: frames of machine code, and how they are walked.

pub mod activation;
pub mod alt_stack;
pub mod fiber;
pub mod frames;
pub mod guarded_stack;
pub mod many_frames;
pub mod raw_frame;
pub mod stack;
pub mod walk;
