//! Linear memories shared by several threads, as the embedder sees them.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::runtime::interruption::parking::Woken;
use crate::runtime::linear_memory::pages::WASM_PAGE;
use crate::runtime::linear_memory::shared_data::SharedData;
use crate::{Engine, Error, ErrorKind, MemoryType, Result};

/// An access beyond the end of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of bounds memory access")]
pub struct MemoryAccessError;

/// A linear memory that several stores may share, on any threads. It belongs to none of them, and lives as long
/// as a reference to it exists.
///
/// Its contents may change at any time, so there are no slices of it: accesses copy, and only
/// [`SharedMemory::notify`] and [`SharedMemory::wait32`] order the actions of threads.
///
/// ```
/// use wprof::{Engine, Linker, MemoryType, Module, SharedMemory, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::default();
/// let memory = SharedMemory::new(&engine, MemoryType::shared(1, 1))?;
/// let module = Module::new(&engine, r#"(module
///     (import "env" "memory" (memory 1 1 shared))
///     (func (export "add") (drop (i32.atomic.rmw.add (i32.const 0) (i32.const 1)))))"#)?;
/// let mut linker = Linker::<()>::new(&engine);
/// linker.define_shared_memory("env", "memory", &memory)?;
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| -> wprof::Result<()> {
///             let mut store = Store::new(&engine, ());
///             let instance = linker.instantiate(&mut store, &module)?;
///             instance.get_typed_func::<(), ()>(&mut store, "add")?.call(&mut store, ())
///         });
///     }
/// });
/// let mut sum = [0; 4];
/// memory.read(0, &mut sum)?;
/// assert_eq!(u32::from_le_bytes(sum), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SharedMemory {
    engine: Engine,
    data: Arc<SharedData>,
}

impl SharedMemory {
    /// Creates a zeroed memory for instances in stores of an engine, within the engine's limits.
    ///
    /// # Errors
    /// Returns an error if the type is not that of a shared memory with a maximum, its minimum exceeds the
    /// limits, or the system has no address space for its maximum size.
    pub fn new(engine: &Engine, ty: MemoryType) -> Result<SharedMemory> {
        if !ty.is_shared {
            let message = "the type is not of a shared memory: see MemoryType::shared";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let style = engine.compiler().options().memory;
        let data = Arc::new(SharedData::new(ty, style, &engine.config().limits)?);
        Ok(SharedMemory { engine: engine.clone(), data })
    }

    pub(crate) fn of_data(engine: &Engine, data: Arc<SharedData>) -> SharedMemory {
        SharedMemory { engine: engine.clone(), data }
    }

    pub(crate) fn data(&self) -> &Arc<SharedData> {
        &self.data
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the type, with the current size as the minimum.
    pub fn ty(&self) -> MemoryType {
        MemoryType { minimum: self.size(), ..self.data.ty() }
    }

    /// Returns the size in bytes.
    pub fn data_size(&self) -> usize {
        self.data.len() as usize
    }

    /// Returns the size in pages of 64 KiB.
    pub fn size(&self) -> u64 {
        self.data.len() / WASM_PAGE
    }

    /// Grows the memory by `delta` pages for all its users, and returns the old size.
    ///
    /// # Errors
    /// Returns an error if the new size would exceed its maximum or a limit.
    pub fn grow(&self, delta: u64) -> Result<u64> {
        self.data.grow(delta).ok_or_else(|| {
            Error::new(
                ErrorKind::Limit,
                format_args!("memory cannot grow by {delta} pages: it has a maximum"),
            )
        })
    }

    /// Copies bytes out of the memory, in unspecified order.
    ///
    /// # Errors
    /// Returns an error if they do not all lie in the memory.
    pub fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), MemoryAccessError> {
        let bytes = self.range(offset, to.len())?;
        self.data.read(bytes.start, to);
        Ok(())
    }

    /// Copies bytes into the memory, in unspecified order.
    ///
    /// # Errors
    /// Returns an error if they do not all fit in the memory.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), MemoryAccessError> {
        let bytes = self.range(offset, from.len())?;
        self.data.write(bytes.start, from);
        Ok(())
    }

    /// Wakes at most `most` threads that wait at an address, as `memory.atomic.notify` does, and returns their
    /// number.
    ///
    /// # Errors
    /// Returns an error if the four bytes at the address are not all in the memory, or the address is not a
    /// multiple of four.
    pub fn notify(&self, address: usize, most: u32) -> Result<u32, MemoryAccessError> {
        self.waiting_place(address)?;
        Ok(self.data.parking.notify(address as u64, most))
    }

    /// Waits at an address until it is notified, or for a time, as `memory.atomic.wait32` does. Returns at once
    /// if the value at the address differs from `expected`.
    ///
    /// # Errors
    /// Returns an error as [`SharedMemory::notify`] does.
    pub fn wait32(
        &self,
        address: usize,
        expected: u32,
        time: Option<Duration>,
    ) -> Result<WaitOutcome, MemoryAccessError> {
        self.waiting_place(address)?;
        let until = time.and_then(|time| Instant::now().checked_add(time));
        let is_expected = || self.data.number(address, false) == u64::from(expected);
        let never = || Ok::<(), std::convert::Infallible>(());
        let Ok(woken) = self.data.parking.wait(address as u64, is_expected, until, never);
        Ok(match woken {
            Woken::Notified => WaitOutcome::Notified,
            Woken::NotEqual => WaitOutcome::NotEqual,
            Woken::TimedOut => WaitOutcome::TimedOut,
        })
    }

    fn waiting_place(&self, address: usize) -> Result<(), MemoryAccessError> {
        self.range(address, 4)?;
        if address.is_multiple_of(4) { Ok(()) } else { Err(MemoryAccessError) }
    }

    fn range(&self, offset: usize, len: usize) -> Result<Range<usize>, MemoryAccessError> {
        let end = offset.checked_add(len).filter(|&end| end <= self.data_size());
        Ok(offset..end.ok_or(MemoryAccessError)?)
    }
}

/// The reason why a thread that waited at a shared memory continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// The thread was notified.
    Notified,
    /// The value at the address was not the expected one.
    NotEqual,
    /// The time elapsed.
    TimedOut,
}
