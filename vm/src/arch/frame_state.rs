//! How far a function has set up its frame, as far as the frame walk has to know.

/// How much of a frame exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameState {
    /// All of it.
    Whole,
    /// The caller's frame pointer is on the stack, and still in the register.
    Saved,
    /// Nothing of it: the frame pointer is the caller's.
    None,
}
