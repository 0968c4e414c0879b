//! The machine code of one owner (a module, or an engine's trampolines), packed into chunks.
//!
//! Invariant: code once placed neither moves nor changes; it is freed with the arena.

use std::sync::{Arc, Mutex, Weak};

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

/// Functions start at least at such addresses.
const LEAST_ALIGN: usize = 16;
/// Between functions: a trap, should anything ever get there.
const PADDING: u8 = 0xcc;

/// The function that a piece of code is of.
pub type Owner = (Weak<ModuleInner>, u32);

/// All code address space of an engine.
#[derive(Debug, Default)]
pub struct CodeSpace {
    /// Whether it must have no file.
    is_anonymous: bool,
    reservations: Mutex<Vec<Arc<Reservation>>>,
}

impl CodeSpace {
    /// An empty one, in which perf knows code by its map.
    pub fn anonymous() -> CodeSpace {
        CodeSpace { is_anonymous: true, reservations: Mutex::default() }
    }

    fn allocate(&self, size: usize) -> std::io::Result<(Arc<Reservation>, usize)> {
        let mut all = self.reservations.lock().expect("no panic while it is held");
        if let Some(found) = all.iter().find_map(|r| Some((r.clone(), r.allocate(size)?))) {
            return Ok(found);
        }
        let new = if self.is_anonymous { Reservation::anonymous } else { Reservation::new };
        let fresh = Arc::new(new(RESERVATION.max(size))?);
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
    pub fn place(&self, code: MachineCode, function: Option<Owner>) -> std::io::Result<usize> {
        Ok(self.place_all(vec![(code, function)])?[0])
    }

    /// Places several pieces of code at once, as [`CodeArena::place`] does one.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn place_all(&self, mut pieces: Vec<(MachineCode, Option<Owner>)>) -> std::io::Result<Vec<usize>> {
        let (mut image, mut offsets, mut align) = (Vec::new(), Vec::with_capacity(pieces.len()), LEAST_ALIGN);
        for (code, _) in &mut pieces {
            link(code)?;
            align = align.max(code.align as usize);
            image.resize(image.len().next_multiple_of(LEAST_ALIGN.max(code.align as usize)), PADDING);
            offsets.push(image.len());
            image.extend_from_slice(&code.bytes);
        }
        let mut chunks = self.chunks.lock().expect("no panic while it is held");
        let base = self.reserve(&mut chunks, image.len(), align)?;
        chunks.all.last().expect("just reserved in it").reservation.write(base, &image)?;
        let starts: Vec<usize> = offsets.iter().map(|offset| base + offset).collect();
        registry::insert(pieces.into_iter().zip(&starts).map(|((mut code, function), &start)| {
            let len = std::mem::take(&mut code.bytes).len();
            Arc::new(CodeObject { start, len, function, code })
        }));
        Ok(starts)
    }

    /// The code that was placed at `start`.
    pub fn copy_of(&self, start: usize) -> Option<MachineCode> {
        let object = registry::find(start).filter(|object| object.start == start)?;
        let chunks = self.chunks.lock().expect("no panic while it is held");
        let is_ours = chunks.all.iter().any(|c| (c.start..c.start + c.size).contains(&start));
        is_ours.then(|| {
            // SAFETY: the registry has it as a piece of one of our chunks, which stay mapped while we live, and code
            // once placed does not change.
            let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, object.len) };
            MachineCode { bytes: bytes.to_vec(), ..object.code.clone() }
        })
    }

    /// Bytes of address space taken.
    pub fn size(&self) -> usize {
        self.chunks.lock().expect("no panic while it is held").all.iter().map(|c| c.size).sum()
    }

    fn reserve(&self, chunks: &mut Chunks, len: usize, align: usize) -> std::io::Result<usize> {
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

/// Writes the addresses into `code` that it asks for.
fn link(code: &mut MachineCode) -> std::io::Result<()> {
    for reloc in &code.relocs {
        let address = libcalls::address(&reloc.target.to_string())
            .ok_or_else(|| std::io::Error::other(format!("this machine needs {:?}", reloc.target)))?;
        let at = reloc.offset as usize;
        let value = (address as u64).wrapping_add_signed(reloc.addend);
        code.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    Ok(())
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
