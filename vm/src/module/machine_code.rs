//! The machine code of a module, as the embedder sees it.

use std::ops::Range;
use std::ptr;

use crate::Module;

impl Module {
    /// Returns a copy of the machine code that callers of the compiled functions run, by ascending function index:
    /// [`Module::code_bytes`] many bytes, as long as no function is compiled meanwhile. A function's parts follow it. Code
    /// contains addresses, so it runs only where it lies; it is here to be disassembled or measured.
    pub fn text(&self) -> Vec<u8> {
        self.inner().code.text()
    }

    /// Returns a range of addresses in which all machine code of this module lies, so far; empty if none is compiled. Code of
    /// other modules may lie in it, too, and it grows as functions are compiled.
    pub fn image_range(&self) -> Range<*const u8> {
        let Range { start, end } = self.inner().code.arena.range();
        ptr::without_provenance(start)..ptr::without_provenance(end)
    }
}
