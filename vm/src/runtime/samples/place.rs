//! Places in wasm code and beside it, at which samples find a thread.

/// The place of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// An instruction of wasm code.
    Wasm {
        /// The number of the module in [`TimedStacks::modules`](super::TimedStacks::modules).
        module: u32,
        /// The instance in which the host has entered wasm.
        entered: u32,
        /// The byte offset of the instruction in the module.
        offset: u32,
        /// Whether the function was inlined into its caller's code.
        is_inlined: bool,
    },
    /// A host function, by its number in the store.
    Host(u32),
    /// The engine.
    Engine,
    /// The garbage collector.
    Collector,
    /// Callers that are unknown, between those around them or outermost.
    Unknown,
}
