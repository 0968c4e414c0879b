//! A memory of a store: its own, or one that it shares with other stores.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::image::Image;
use super::pages::WASM_PAGE;
use super::private_memory::LinearMemory;
use super::shared_data::SharedData;
use crate::MemoryType;
use crate::runtime::instances::abi::VmMemory;

/// Bytes that are copied at a time for a shared memory.
const CHUNK: usize = 64 << 10;

/// A linear memory of a store.
#[derive(Debug)]
pub enum StoreMemory {
    /// A memory that only this store has.
    Own(LinearMemory),
    /// A memory that other stores may have, too.
    Shared(Arc<SharedData>),
}

impl StoreMemory {
    /// Returns the memory, if it is the store's own.
    pub fn own(&self) -> Option<&LinearMemory> {
        if let StoreMemory::Own(memory) = self { Some(memory) } else { None }
    }

    /// Returns the memory, if it is the store's own, mutably.
    pub fn own_mut(&mut self) -> Option<&mut LinearMemory> {
        if let StoreMemory::Own(memory) = self { Some(memory) } else { None }
    }

    /// Returns the memory, if it is shared.
    pub fn shared(&self) -> Option<&Arc<SharedData>> {
        if let StoreMemory::Shared(memory) = self { Some(memory) } else { None }
    }

    /// Returns the type as declared.
    pub fn ty(&self) -> MemoryType {
        match self {
            StoreMemory::Own(memory) => memory.ty(),
            StoreMemory::Shared(memory) => memory.ty(),
        }
    }

    /// Returns the definition, which machine code reads.
    pub fn definition(&self) -> NonNull<VmMemory> {
        match self {
            StoreMemory::Own(memory) => memory.definition(),
            StoreMemory::Shared(memory) => memory.definition(),
        }
    }

    /// Returns the address of its contents.
    pub fn base(&self) -> NonNull<u8> {
        match self {
            StoreMemory::Own(memory) => memory.base(),
            StoreMemory::Shared(memory) => memory.base(),
        }
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> u64 {
        match self {
            StoreMemory::Own(memory) => memory.len(),
            StoreMemory::Shared(memory) => memory.len(),
        }
    }

    /// Returns the size in wasm pages.
    pub fn pages(&self) -> u64 {
        self.len() / WASM_PAGE
    }

    /// Grows the memory by `delta` pages and returns the old size in pages, or `None` if it cannot grow.
    pub fn grow(&mut self, delta: u64) -> Option<u64> {
        match self {
            StoreMemory::Own(memory) => memory.grow(delta),
            StoreMemory::Shared(memory) => memory.grow(delta),
        }
    }

    /// Checks that all of its pages that were touched could be read.
    ///
    /// # Errors
    /// Returns an error if some could not be read.
    pub fn check(&self) -> std::io::Result<()> {
        self.own().map_or(Ok(()), LinearMemory::check)
    }

    /// Copies bytes out of the memory.
    pub fn read(&self, at: usize, to: &mut [u8]) {
        match self {
            StoreMemory::Own(memory) => to.copy_from_slice(memory.part(at..at + to.len())),
            StoreMemory::Shared(memory) => memory.read(at, to),
        }
    }

    /// Copies bytes into the memory.
    pub fn write(&mut self, at: usize, from: &[u8]) {
        match self {
            StoreMemory::Own(memory) => memory.part_mut(at..at + from.len()).copy_from_slice(from),
            StoreMemory::Shared(memory) => memory.write(at, from),
        }
    }

    /// Sets bytes of the memory to `byte`.
    pub fn fill_with(&mut self, bytes: Range<usize>, byte: u8) {
        match self {
            StoreMemory::Own(memory) => memory.part_mut(bytes).fill(byte),
            StoreMemory::Shared(memory) => {
                let chunk = vec![byte; bytes.len().min(CHUNK)];
                for at in bytes.clone().step_by(CHUNK) {
                    memory.write(at, &chunk[..(bytes.end - at).min(CHUNK)]);
                }
            }
        }
    }

    /// Copies bytes within the memory, as if all were read before any are written.
    pub fn copy_within(&mut self, from: Range<usize>, to: usize) {
        match self {
            StoreMemory::Own(memory) => memory.copy_within(from, to),
            StoreMemory::Shared(memory) => {
                let mut bytes = vec![0; from.len()];
                memory.read(from.start, &mut bytes);
                memory.write(to, &bytes);
            }
        }
    }

    /// Copies bytes from another memory.
    pub fn copy_from(&mut self, to: usize, other: &StoreMemory, from: Range<usize>) {
        match other {
            StoreMemory::Own(memory) => self.write(to, memory.part(from)),
            StoreMemory::Shared(memory) => {
                let mut bytes = vec![0; from.len()];
                memory.read(from.start, &mut bytes);
                self.write(to, &bytes);
            }
        }
    }

    /// Fills in late `bytes` of a file from byte `at` on; immediately if the memory is shared.
    ///
    /// # Errors
    /// Returns an error if they cannot be read, or the file has changed.
    pub fn fill_late(&mut self, at: usize, image: &Arc<Image>, bytes: Range<usize>) -> std::io::Result<()> {
        match self {
            StoreMemory::Own(memory) => memory.fill_late(at, image, bytes),
            StoreMemory::Shared(memory) => {
                image.check()?;
                for start in bytes.clone().step_by(CHUNK) {
                    let mut chunk = vec![0; (bytes.end - start).min(CHUNK)];
                    image.read_late(start..start + chunk.len(), &mut chunk)?;
                    memory.write(at + start - bytes.start, &chunk);
                }
                Ok(())
            }
        }
    }
}
