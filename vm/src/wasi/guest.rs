//! The calling program: its memory, and whether it is to stop.
//!
//! **Invariant**: a program's memory is written only here, byte by byte: structures are built as [`Record`]s,
//! which start as zeros. A pointer that leads out of memory or is not aligned ends the program, as the
//! specification requires.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{IoSlice, IoSliceMut};
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::io::Errno;
use smallvec::SmallVec;

use super::fail::{Fail, Outcome, bad_pointer};
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::linear_memory::shared_data::SharedData;
use crate::{Error, ErrorKind, Memory, Result, Trap};

/// Maximum number of bytes that one call reads or writes, so that it ends soon; programs continue with the rest.
const MAX_TRANSFER: usize = 256 << 20;

/// Maximum number of bytes that one call transfers in a shared memory: the bytes go through a host buffer,
/// because no slice may be made of memory that other threads access.
const MAX_SHARED_TRANSFER: usize = 1 << 20;

/// Maximum number of buffers passed to the system at once: the system's own limit.
const MAX_BUFFERS: usize = 1024;

/// Number of list elements that are processed between two checks of whether the program is to stop.
pub const ELEMENTS_PER_CHECK: u32 = 1 << 16;

/// Longer paths are refused (Linux's `PATH_MAX`, which includes the terminating zero).
pub const MAX_PATH: u32 = 4095;

/// The version of WASI from which a function was imported. The versions differ in the layout of some structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preview {
    /// `wasi_unstable`
    Zero,
    /// `wasi_snapshot_preview1`
    One,
}

/// A program that calls a WASI function, for the duration of the call.
pub struct Guest<'a> {
    memory: Source<'a>,
    preview: Preview,
    turns: Turns,
}

/// The state of a call where several threads share the system interface in turns.
#[derive(Debug, Default)]
struct Turns {
    /// Whether a call is to give up where it would wait.
    are_taken: bool,
    /// Whether a call has given up.
    has_given_up: Cell<bool>,
    /// When the first attempt began, by the clocks that can be waited for.
    began: Option<[u64; 2]>,
}

enum Source<'a> {
    /// A memory of a store; parts of it may be filled only when they are touched.
    Store(&'a mut StoreOpaque, Memory),
    Bytes(&'a mut [u8]),
    /// A store without a memory: values are passed in another way.
    None(&'a mut StoreOpaque),
}

/// Buffers in memory; none of them is empty.
pub type Buffers = SmallVec<[Range<usize>; 4]>;

impl std::fmt::Debug for Guest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guest").field("preview", &self.preview).finish_non_exhaustive()
    }
}

impl<'a> Guest<'a> {
    /// Creates a guest for a program in another engine.
    pub fn new(memory: &'a mut [u8], preview: Preview) -> Guest<'a> {
        Guest { memory: Source::Bytes(memory), preview, turns: Turns::default() }
    }

    pub(super) fn in_store(store: &'a mut StoreOpaque, memory: Memory, preview: Preview) -> Guest<'a> {
        Guest { memory: Source::Store(store, memory), preview, turns: Turns::default() }
    }

    /// Creates a guest without a memory, for a program that passes values in another way.
    pub(crate) fn without_memory(store: &'a mut StoreOpaque) -> Guest<'a> {
        Guest { memory: Source::None(store), preview: Preview::One, turns: Turns::default() }
    }

    /// Takes the trap that ends the current call, if the program is to stop.
    pub(crate) fn take_interruption(&mut self) -> Option<Trap> {
        match &mut self.memory {
            Source::Store(store, _) | Source::None(store) => store.control.interrupt().take().map(Trap::from),
            Source::Bytes(_) => None,
        }
    }

    /// Returns the version of WASI that it uses.
    pub fn preview(&self) -> Preview {
        self.preview
    }

    /// Returns the whole memory.
    ///
    /// # Errors
    /// Returns an error if a part of the memory cannot be read from the module's file, or if it is shared with
    /// other threads.
    pub fn memory(&mut self) -> Result<&mut [u8]> {
        self.fill(std::iter::once(0..usize::MAX))?;
        let shared = "a shared memory has no slice, as other threads may write to it";
        self.bytes_on_demand().ok_or_else(|| Error::new(ErrorKind::Host, shared))
    }

    /// Returns whether the program is to stop; functions that wait return then.
    pub fn is_interrupted(&self) -> bool {
        match &self.memory {
            Source::Store(store, _) | Source::None(store) => store.control.interrupt().is_requested(),
            Source::Bytes(_) => false,
        }
    }

    /// # Errors
    /// Returns an error if the program is to stop. The function's result does not matter then.
    pub(crate) fn check(&self) -> Outcome {
        if self.is_interrupted() { Err(Errno::INTR.into()) } else { Ok(()) }
    }

    /// Makes calls that would wait give up from now on.
    pub(super) fn take_turns(&mut self) {
        self.turns.are_taken = true;
    }

    /// Returns whether a call has given up since the last time this was asked.
    pub(super) fn has_given_up(&self) -> bool {
        self.turns.has_given_up.take()
    }

    /// Returns whether a call that would wait is to give up.
    pub(super) fn are_turns_taken(&self) -> bool {
        self.turns.are_taken
    }

    /// Gives up, and returns the error of the call.
    pub(super) fn give_up(&self) -> Fail {
        self.turns.has_given_up.set(true);
        Errno::AGAIN.into()
    }

    /// Returns when the call first began, even if it has given up since; a call that begins now began at `now`.
    pub(super) fn began(&mut self, now: [u64; 2]) -> [u64; 2] {
        *self.turns.began.get_or_insert(now)
    }

    /// Returns the memory, unless it is shared. Parts of it are filled when they are touched, which the system
    /// cannot do: see [`Guest::fill`].
    fn bytes_on_demand(&mut self) -> Option<&mut [u8]> {
        match &mut self.memory {
            Source::Store(store, memory) => {
                let index = store.items.index(memory.0);
                store.items.memory_mut(index).own_mut().map(|memory| memory.data_on_demand())
            }
            Source::Bytes(bytes) => Some(bytes),
            Source::None(_) => Some(&mut []),
        }
    }

    fn shared(&self) -> Option<&SharedData> {
        let Source::Store(store, memory) = &self.memory else { return None };
        store.items.memory(store.items.index(memory.0)).shared().map(|memory| &**memory)
    }

    /// Returns the current size of the memory in bytes.
    fn len(&self) -> u64 {
        match &self.memory {
            Source::Store(store, memory) => store.items.memory(store.items.index(memory.0)).len(),
            Source::Bytes(bytes) => bytes.len() as u64,
            Source::None(_) => 0,
        }
    }

    /// Copies bytes out of memory; the range must be in memory.
    fn copy_out(&self, at: usize, to: &mut [u8]) {
        match &self.memory {
            Source::Store(store, memory) => store.items.memory(store.items.index(memory.0)).read(at, to),
            Source::Bytes(bytes) => to.copy_from_slice(&bytes[at..at + to.len()]),
            Source::None(_) => {}
        }
    }

    /// Copies bytes into memory; the range must be in memory.
    fn copy_in(&mut self, at: usize, from: &[u8]) {
        match &mut self.memory {
            Source::Store(store, memory) => {
                let index = store.items.index(memory.0);
                store.items.memory_mut(index).write(at, from);
            }
            Source::Bytes(bytes) => bytes[at..at + from.len()].copy_from_slice(from),
            Source::None(_) => {}
        }
    }

    /// Fills parts of memory, before they are passed to the system.
    ///
    /// # Errors
    /// Returns an error if they cannot be read from the module's file.
    fn fill(&mut self, parts: impl IntoIterator<Item = Range<usize>>) -> Result<()> {
        let Source::Store(store, memory) = &mut self.memory else { return Ok(()) };
        let Some(memory) = store.items.memory(store.items.index(memory.0)).own() else { return Ok(()) };
        if memory.is_there() {
            return Ok(());
        }
        let len = memory.len() as usize;
        parts.into_iter().for_each(|part| memory.fill(&(part.start.min(len)..part.end.min(len))));
        store.items.check_data()
    }

    fn range(&mut self, at: u64, len: u64) -> Outcome<Range<usize>> {
        let all = self.len();
        match at.checked_add(len) {
            Some(end) if end <= all => Ok(at as usize..end as usize),
            _ => Err(bad_pointer("are not in memory", at, len)),
        }
    }

    /// Checks that a range is in memory.
    ///
    /// # Errors
    /// Returns an error if a part of the range is not in memory.
    pub(super) fn check_bytes(&mut self, at: u32, len: u32) -> Outcome {
        self.range(at.into(), len.into()).map(drop)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// Returns an error if they do not all fit in memory.
    pub(super) fn put(&mut self, at: u32, bytes: &[u8]) -> Outcome {
        let range = self.range(at.into(), bytes.len() as u64)?;
        self.copy_in(range.start, bytes);
        Ok(())
    }

    /// Lets the system write bytes through `write`.
    ///
    /// # Errors
    /// Returns the error of `write`, and an error if the bytes do not all fit in memory, or cannot be read from
    /// the module's file.
    pub(super) fn put_by(
        &mut self,
        at: u32,
        len: u32,
        write: impl FnOnce(&mut [u8]) -> std::result::Result<(), Errno>,
    ) -> Outcome {
        let range = self.range(at.into(), len.into())?;
        self.fill([range.clone()])?;
        if let Some(bytes) = self.bytes_on_demand() {
            return Ok(write(&mut bytes[range])?);
        }
        let mut bytes = vec![0; range.len()];
        write(&mut bytes)?;
        self.copy_in(range.start, &bytes);
        Ok(())
    }

    /// Returns the range of an array of structures at an address that must be a multiple of `align`.
    ///
    /// # Errors
    /// Returns an error if the address is not aligned, or the array is not all in memory.
    pub(super) fn array(&mut self, at: u32, count: u32, size: u32, align: u32) -> Outcome<Range<usize>> {
        let len = u64::from(count) * u64::from(size);
        if !at.is_multiple_of(align) {
            return Err(bad_pointer("are not aligned", at.into(), len));
        }
        self.range(at.into(), len)
    }

    /// Reads a structure from an array that is in memory.
    pub(super) fn read<const N: usize>(&mut self, array: &Range<usize>, index: u32) -> Record<N> {
        let start = array.start + index as usize * N;
        let mut record = Record::new();
        self.copy_out(start, &mut record.0);
        record
    }

    /// Writes a structure.
    ///
    /// # Errors
    /// Returns an error as [`Guest::array`] does.
    pub(super) fn write<const N: usize>(&mut self, at: u32, align: u32, record: &Record<N>) -> Outcome {
        let range = self.array(at, 1, N as u32, align)?;
        self.copy_in(range.start, &record.0);
        Ok(())
    }

    /// Writes a 32-bit number.
    ///
    /// # Errors
    /// Returns an error as [`Guest::array`] does.
    pub(super) fn write_u32(&mut self, at: u32, value: u32) -> Outcome {
        self.write(at, 4, &Record::<4>::new().u32(0, value))
    }

    /// Writes a 64-bit number.
    ///
    /// # Errors
    /// Returns an error as [`Guest::array`] does.
    pub(super) fn write_u64(&mut self, at: u32, value: u64) -> Outcome {
        self.write(at, 8, &Record::<8>::new().u64(0, value))
    }

    /// Reads a path. Its bytes are the host's, UTF-8 or not, so a program can open whatever it sees in a folder.
    ///
    /// # Errors
    /// Returns an error if the path is not in memory, or is longer than any path.
    pub(super) fn path(&mut self, at: u32, len: u32) -> Outcome<PathBuf> {
        let range = self.range(at.into(), len.into())?;
        if len > MAX_PATH {
            return Err(Errno::NAMETOOLONG.into());
        }
        let mut path = vec![0; range.len()];
        self.copy_out(range.start, &mut path);
        Ok(PathBuf::from(OsString::from_vec(path)))
    }

    /// Reads a list of buffers, as many from the start as one call transfers. Empty buffers are left out, so a
    /// list of any length takes no more memory than the system's longest list.
    ///
    /// # Errors
    /// Returns an error if the list, or one of these buffers, is not all in memory; if reading a long list is
    /// interrupted.
    pub(super) fn buffers(&mut self, at: u32, count: u32) -> Outcome<Buffers> {
        let (array, mut buffers) = (self.array(at, count, 8, 4)?, Buffers::new());
        let mut left = if self.shared().is_some() { MAX_SHARED_TRANSFER } else { MAX_TRANSFER };
        for index in 0..count {
            if index % ELEMENTS_PER_CHECK == ELEMENTS_PER_CHECK - 1 {
                self.check()?;
            }
            let vector = self.read::<8>(&array, index);
            let (start, len) = (vector.get_u32(0), vector.get_u32(4));
            let range = self.range(start.into(), len.into())?;
            let end = range.end.min(range.start.saturating_add(left));
            if range.start < end {
                left -= end - range.start;
                buffers.push(range.start..end);
            }
            if buffers.len() == MAX_BUFFERS || left == 0 {
                break;
            }
        }
        self.fill(buffers.iter().cloned())?;
        Ok(buffers)
    }

    /// Passes the buffers to the system to write from.
    pub(super) fn write_from<R>(
        &mut self,
        buffers: &[Range<usize>],
        write: impl FnOnce(&[IoSlice<'_>]) -> R,
    ) -> R {
        if let Some(bytes) = self.bytes_on_demand() {
            let slices = buffers.iter().map(|range| IoSlice::new(&bytes[range.clone()]));
            return write(&slices.collect::<SmallVec<[IoSlice<'_>; 4]>>());
        }
        let mut bytes = vec![0; buffers.iter().map(Range::len).sum()];
        let mut filled = 0;
        for range in buffers {
            self.copy_out(range.start, &mut bytes[filled..filled + range.len()]);
            filled += range.len();
        }
        write(&[IoSlice::new(&bytes)])
    }

    /// Passes the buffers to the system to read into. It passes buffers up to the first that overlaps an earlier
    /// one, so that their contents are well-defined.
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub(super) fn read_into<R: Filled, E>(
        &mut self,
        buffers: &[Range<usize>],
        read: impl FnOnce(&mut [IoSliceMut<'_>]) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let buffers = &buffers[..disjoint(buffers)];
        if let Some(bytes) = self.bytes_on_demand() {
            return read(&mut slices_of(bytes, buffers));
        }
        let mut bytes = vec![0; buffers.iter().map(Range::len).sum()];
        let done = read(&mut [IoSliceMut::new(&mut bytes)])?;
        let mut rest = &bytes[..done.filled()];
        for range in buffers {
            let (part, behind) = rest.split_at(range.len().min(rest.len()));
            self.copy_in(range.start, part);
            rest = behind;
        }
        Ok(done)
    }
}

/// The result of reading, which tells how many bytes were read.
pub trait Filled {
    /// Returns the number of bytes that were read.
    fn filled(&self) -> usize;
}

impl Filled for usize {
    fn filled(&self) -> usize {
        *self
    }
}

impl<T> Filled for (usize, T) {
    fn filled(&self) -> usize {
        self.0
    }
}

/// Returns the slices of buffers that do not overlap, in their order.
fn slices_of<'a>(bytes: &'a mut [u8], buffers: &[Range<usize>]) -> SmallVec<[IoSliceMut<'a>; 4]> {
    let mut ordered: SmallVec<[(usize, &Range<usize>); 4]> = buffers.iter().enumerate().collect();
    ordered.sort_unstable_by_key(|(_, range)| range.start);
    let (mut rest, mut begin) = (bytes, 0);
    let mut slices: SmallVec<[(usize, IoSliceMut<'_>); 4]> = SmallVec::new();
    for (index, range) in ordered {
        let (part, tail) = rest[range.start - begin..].split_at_mut(range.len());
        slices.push((index, IoSliceMut::new(part)));
        (rest, begin) = (tail, range.end);
    }
    slices.sort_unstable_by_key(|&(index, _)| index);
    slices.into_iter().map(|(_, slice)| slice).collect()
}

/// Returns how many buffers from the first on do not overlap.
fn disjoint(buffers: &[Range<usize>]) -> usize {
    let overlaps = |index: &usize| {
        let new = &buffers[*index];
        buffers[..*index].iter().any(|old| old.start < new.end && new.start < old.end)
    };
    (0..buffers.len()).find(overlaps).unwrap_or(buffers.len())
}

/// The bytes of a structure, zero where no field is set.
pub struct Record<const N: usize>(pub [u8; N]);

impl<const N: usize> Record<N> {
    /// Creates a record of zeros.
    pub fn new() -> Record<N> {
        Record([0; N])
    }

    fn with<const M: usize>(mut self, at: usize, bytes: [u8; M]) -> Record<N> {
        self.0[at..at + M].copy_from_slice(&bytes);
        self
    }

    /// Sets an 8-bit field.
    pub fn u8(self, at: usize, value: u8) -> Record<N> {
        self.with(at, [value])
    }

    /// Sets a 16-bit field.
    pub fn u16(self, at: usize, value: u16) -> Record<N> {
        self.with(at, value.to_le_bytes())
    }

    /// Sets a 32-bit field.
    pub fn u32(self, at: usize, value: u32) -> Record<N> {
        self.with(at, value.to_le_bytes())
    }

    /// Sets a 64-bit field.
    pub fn u64(self, at: usize, value: u64) -> Record<N> {
        self.with(at, value.to_le_bytes())
    }

    fn get<const M: usize>(&self, at: usize) -> [u8; M] {
        std::array::from_fn(|i| self.0[at + i])
    }

    /// Returns a 16-bit field.
    pub fn get_u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.get(at))
    }

    /// Returns a 32-bit field.
    pub fn get_u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.get(at))
    }

    /// Returns a 64-bit field.
    pub fn get_u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(list: &[(u32, u32)]) -> Vec<u8> {
        list.iter().flat_map(|&(at, len)| Record::<8>::new().u32(0, at).u32(4, len).0).collect()
    }

    #[test]
    fn buffers_to_read_into_keep_their_order_and_do_not_overlap() {
        let mut memory = vectors(&[(90, 5), (0, 0), (70, 10), (80, 4), (72, 1), (60, 1)]);
        memory.resize(100, 0);
        let mut guest = Guest::new(&mut memory, Preview::One);
        let buffers = guest.buffers(0, 6).expect("all in memory");
        assert_eq!(&buffers[..], [90..95, 70..80, 80..84, 72..73, 60..61]);
        let fill = |slices: &mut [IoSliceMut<'_>]| {
            slices.iter_mut().enumerate().for_each(|(index, slice)| slice.fill(index as u8 + 1));
            Ok::<usize, Errno>(19)
        };
        assert_eq!(guest.read_into(&buffers, fill), Ok(19));
        assert_eq!(memory[60..61], [0], "it comes after one that overlaps");
        assert_eq!(memory[70..84], [[2; 10].as_slice(), &[3; 4]].concat());
        assert_eq!(memory[90..95], [1; 5]);
    }

    #[test]
    fn long_lists_take_as_many_buffers_as_the_system_does() {
        let mut memory = vectors(&vec![(0, 0); 3000]);
        memory.extend(vectors(&vec![(8, 1); 3000]));
        let mut guest = Guest::new(&mut memory, Preview::One);
        assert_eq!(guest.buffers(0, 3000).expect("all in memory").len(), 0);
        assert_eq!(guest.buffers(0, 6000).expect("all in memory").len(), MAX_BUFFERS);
        assert!(matches!(guest.buffers(4, 6000), Err(Fail::End(_))), "the last is not in memory");
        assert!(matches!(guest.buffers(2, 1), Err(Fail::End(_))), "it is not aligned");
        assert!(matches!(guest.buffers(0, u32::MAX), Err(Fail::End(_))));
    }
}
