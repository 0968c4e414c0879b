//! The machine code of one owner (a module, or an engine's trampolines), packed into chunks.
//!
//! Invariant: code once placed neither moves nor changes; it is freed with the arena.

use std::sync::{Arc, Mutex};

use wprof_jit::compile::MachineCode;

use super::libcalls;
use super::registry::{self, CodeObject};
use super::reservation::{PAGE, Reservation};
use crate::module::ModuleInner;

/// Size of the first chunk; each further one is twice as large, up to [`LAST_CHUNK`].
const FIRST_CHUNK: usize = 64 << 10;
const LAST_CHUNK: usize = 1 << 20;
/// Address space per reservation.
const RESERVATION: usize = 256 << 20;

/// All code address space of an engine.
#[derive(Debug, Default)]
pub struct CodeSpace {
    reservations: Mutex<Vec<Arc<Reservation>>>,
}

impl CodeSpace {
    fn allocate(&self, size: usize) -> std::io::Result<(Arc<Reservation>, usize)> {
        let mut all = self.reservations.lock().expect("no panic while it is held");
        if let Some(found) = all.iter().find_map(|r| Some((r.clone(), r.allocate(size)?))) {
            return Ok(found);
        }
        let fresh = Arc::new(Reservation::new(RESERVATION.max(size))?);
        let address = fresh.allocate(size).expect("it fits by construction");
        all.push(fresh.clone());
        Ok((fresh, address))
    }
}

#[derive(Debug)]
struct Chunk {
    reservation: Arc<Reservation>,
    start: usize,
    size: usize,
}

#[derive(Debug, Default)]
struct Chunks {
    all: Vec<Chunk>,
    /// Bytes used of the last one.
    used: usize,
}

/// One owner's code.
#[derive(Debug)]
pub struct CodeArena {
    space: Arc<CodeSpace>,
    chunks: Mutex<Chunks>,
}

impl CodeArena {
    /// An empty arena.
    pub fn new(space: Arc<CodeSpace>) -> CodeArena {
        CodeArena { space, chunks: Mutex::default() }
    }

    /// Places `code`, makes it known to the registry as belonging to `function`, and returns its address.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn place(
        &self,
        mut code: MachineCode,
        function: Option<(std::sync::Weak<ModuleInner>, u32)>,
    ) -> std::io::Result<usize> {
        for reloc in &code.relocs {
            let address = libcalls::address(&reloc.target.to_string())
                .ok_or_else(|| std::io::Error::other(format!("this machine needs {:?}", reloc.target)))?;
            let at = reloc.offset as usize;
            let value = (address as u64).wrapping_add_signed(reloc.addend);
            code.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let mut chunks = self.chunks.lock().expect("no panic while it is held");
        let start = self.reserve(&mut chunks, code.bytes.len(), code.align as usize)?;
        let chunk = chunks.all.last().expect("just reserved in it");
        chunk.reservation.write(start, &code.bytes)?;
        let len = code.bytes.len();
        registry::insert(Arc::new(CodeObject {
            start,
            len,
            function,
            traps: code.traps,
            calls: code.calls,
            entry: code.entry,
        }));
        Ok(start)
    }

    /// Bytes of address space taken.
    pub fn size(&self) -> usize {
        self.chunks.lock().expect("no panic while it is held").all.iter().map(|c| c.size).sum()
    }

    fn reserve(&self, chunks: &mut Chunks, len: usize, align: usize) -> std::io::Result<usize> {
        let align = align.max(16);
        let fits = chunks.all.last().map(|c| (c.start + chunks.used).next_multiple_of(align)).filter(|&at| {
            let c = chunks.all.last().expect("same as above");
            at + len <= c.start + c.size
        });
        let start = match fits {
            Some(at) => at,
            None => self.grow(chunks, len)?,
        };
        let chunk = chunks.all.last().expect("there is one now");
        chunks.used = start + len - chunk.start;
        Ok(start)
    }

    fn grow(&self, chunks: &mut Chunks, len: usize) -> std::io::Result<usize> {
        let usual = chunks.all.last().map_or(FIRST_CHUNK, |c| (c.size * 2).min(LAST_CHUNK));
        let size = usual.max(len.next_multiple_of(PAGE));
        let (reservation, start) = self.space.allocate(size)?;
        chunks.all.push(Chunk { reservation, start, size });
        chunks.used = 0;
        Ok(start)
    }
}

impl Drop for CodeArena {
    fn drop(&mut self) {
        let chunks = self.chunks.get_mut().expect("no panic while it is held");
        for chunk in chunks.all.drain(..) {
            registry::remove(chunk.start, chunk.size);
            chunk.reservation.free(chunk.start, chunk.size);
        }
    }
}
