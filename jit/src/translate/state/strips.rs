//! Open strips: strip-mined loops whose latches are not all translated. See `translate/strip.rs`.

use cranelift_codegen::ir::{self, Value};
use cranelift_frontend::FunctionBuilder;
use hashbrown::HashMap;

/// A strip-mined loop whose latches are not all translated.
struct OpenStrip {
    /// The header of the inner loop.
    inner: ir::Block,
    /// The value of the local at which the inner loop ends.
    stop: Value,
    /// The nodes of the latches that are still to come.
    latches: Vec<u32>,
}

/// The open strips.
///
/// **Invariant**: the header of the inner loop is sealed when its last latch is translated, and the strip is then closed.
#[derive(Default)]
pub struct Strips {
    /// By the header's node.
    open: HashMap<u32, OpenStrip>,
}

impl Strips {
    /// Opens the strip of the loop at node `header`.
    pub fn open(&mut self, header: u32, (inner, stop): (ir::Block, Value), latches: Vec<u32>) {
        self.open.insert(header, OpenStrip { inner, stop, latches });
    }

    /// Reports whether there is an open strip at node `header` with this latch.
    pub fn has_latch(&self, header: u32, latch: u32) -> bool {
        self.open.get(&header).is_some_and(|strip| strip.latches.contains(&latch))
    }

    /// Returns the header of the inner loop of an open strip, and the value of the local at which the loop ends.
    ///
    /// # Panics
    /// If no strip is open there.
    pub fn inner(&self, header: u32) -> (ir::Block, Value) {
        let strip = &self.open[&header];
        (strip.inner, strip.stop)
    }

    /// Records that a latch is translated, with its branch to the header of the inner loop.
    ///
    /// # Panics
    /// If no strip is open there.
    pub fn latched(&mut self, header: u32, latch: u32, builder: &mut FunctionBuilder<'_>) {
        let strip = self.open.get_mut(&header).expect("it is open");
        strip.latches.retain(|&other| other != latch);
        if strip.latches.is_empty() {
            builder.seal_block(strip.inner);
            self.open.remove(&header);
        }
    }
}
