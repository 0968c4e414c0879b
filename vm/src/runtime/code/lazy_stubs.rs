//! Lazy stubs: the code that a code slot points to until its function is compiled.
//!
//! Stub `i` puts `i` where the common part (`entries::lazy_common`) expects it and jumps there. Stubs know no
//! module: the callee's vmctx, which every wasm function is passed, determines the module of function `i`. So one
//! growing table serves a whole engine, or rather two, because the vmctx is in another register where results go
//! to memory.

use std::sync::{Arc, Mutex, PoisonError};

use wprof_jit::compile::MachineCode;

use super::arena::{CodeArena, CodeSpace};
use crate::arch;
use crate::runtime::entries;

/// Number of stubs per chunk.
const CHUNK: u32 = 1024;

/// The stubs of an engine.
#[derive(Debug)]
pub struct Stubs {
    arena: CodeArena,
    /// The address of stub 0 of each chunk, for functions that return in registers, and in memory.
    chunks: [Mutex<Vec<usize>>; 2],
}

impl Stubs {
    /// Creates an empty table.
    pub fn new(space: Arc<CodeSpace>) -> Stubs {
        Stubs { arena: CodeArena::new(space, None), chunks: Default::default() }
    }

    /// Ensures that stubs for indices below `count` exist, and returns a function that finds them. `in_memory` is
    /// for functions that return in memory, see `Compiler::returns_in_memory`.
    ///
    /// # Errors
    /// Returns an error if there is no memory for the stubs.
    pub fn up_to(&self, count: u32, in_memory: bool) -> std::io::Result<impl Fn(u32) -> usize + use<>> {
        let mut chunks = self.chunks[usize::from(in_memory)].lock().unwrap_or_else(PoisonError::into_inner);
        while (chunks.len() as u32) * CHUNK < count {
            let first = chunks.len() as u32 * CHUNK;
            let bytes = arch::lazy_stubs(entries::lazy_common(in_memory), first, CHUNK);
            let start = self.arena.place(MachineCode { bytes, align: 16, ..MachineCode::default() }, None)?;
            chunks.push(start + arch::STUBS_HEADER);
        }
        let known = chunks.clone();
        Ok(move |index: u32| known[(index / CHUNK) as usize] + (index % CHUNK) as usize * arch::STUB_SIZE)
    }
}
