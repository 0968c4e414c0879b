//! The code arena: machine code of one owner (a module, or an engine's trampolines), packed into chunks. Cold
//! code has chunks of its own, so that hot code takes as few pages and cache lines as possible.
//!
//! Invariant: code once placed neither moves nor changes. It is freed with the arena, or piece by piece; its
//! space is then reused.

use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use wprof_jit::compile::MachineCode;

use super::libcalls;
use super::registry::{self, CodeObject};
use super::reservation::{PAGE, Reservation};
use crate::runtime::instances::loaded::Owner;
use crate::runtime::interruption::rlimits;

/// Size of the first chunk; each further chunk is twice as large, up to [`LAST_CHUNK`].
const FIRST_CHUNK: usize = 64 << 10;
const LAST_CHUNK: usize = 1 << 20;
/// Address space per reservation, unless address space is scarce.
const RESERVATION: usize = 256 << 20;

/// The least alignment of functions.
const LEAST_ALIGN: usize = 16;
/// The limit of the reach of a jump instruction.
const FARTHEST: usize = i32::MAX as usize;
/// The byte between functions: a trap, should control ever get there.
const PADDING: u8 = 0xcc;

/// What code of a code space is for, besides being executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeUse {
    /// Perf recognises it by its map, so its memory must not be backed by a file.
    pub perf_map: bool,
    /// The system's unwinder knows it.
    pub unwinding: bool,
}

/// Address space for code, which arenas share. A reservation is freed with the last chunk in it.
#[derive(Debug, Default)]
pub struct CodeSpace {
    kind: CodeUse,
    reservations: Mutex<Vec<Weak<Reservation>>>,
}

/// The code spaces of the process.
static SPACES: LazyLock<[Arc<CodeSpace>; 4]> = LazyLock::new(|| {
    [(false, false), (true, false), (false, true), (true, true)].map(|(perf_map, unwinding)| {
        Arc::new(CodeSpace { kind: CodeUse { perf_map, unwinding }, ..CodeSpace::default() })
    })
});

/// Keeps the code spaces unchanged: see [`hold`].
pub struct Held {
    _spaces: [MutexGuard<'static, Vec<Weak<Reservation>>>; 4],
}

/// Waits until no thread allocates address space for code, and keeps all threads from doing so until the result
/// is dropped.
pub fn hold() -> Held {
    Held { _spaces: SPACES.each_ref().map(|space| space.lock()) }
}

impl CodeSpace {
    /// Returns the code space of the process for code of this use; one per engine would take a file descriptor and 256 MiB
    /// of address space each.
    pub fn of_process(kind: CodeUse) -> Arc<CodeSpace> {
        SPACES[usize::from(kind.perf_map) + 2 * usize::from(kind.unwinding)].clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Reservation>>> {
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allocate(&self, size: usize) -> std::io::Result<(Arc<Reservation>, usize)> {
        let mut all = self.lock();
        all.retain(|reservation| reservation.strong_count() > 0);
        let place = |of: &Weak<Reservation>| of.upgrade().and_then(|of| of.allocate(size).map(|at| (of, at)));
        if let Some(found) = all.iter().find_map(place) {
            return Ok(found);
        }
        let fresh = Arc::new(self.reserve(reservation().max(size))?);
        let address = fresh.allocate(size).ok_or(std::io::ErrorKind::OutOfMemory)?;
        all.push(Arc::downgrade(&fresh));
        Ok((fresh, address))
    }

    /// Reserves memory without a file where the process may not have so large a file, or the system provides
    /// none.
    fn reserve(&self, size: usize) -> std::io::Result<Reservation> {
        let reservation = match self.kind.perf_map || rlimits::check_file_size(size as u64).is_err() {
            true => Reservation::anonymous(size),
            false => Reservation::new(size).or_else(|error| Reservation::anonymous(size).map_err(|_| error)),
        }?;
        Ok(if self.kind.unwinding { reservation.described() } else { reservation })
    }
}

/// Returns the bytes to reserve at a time: a small part of the address space, if that is limited.
fn reservation() -> usize {
    let most = rlimits::address_space().map_or(usize::MAX, |limit| limit as usize / 16);
    RESERVATION.min(most).next_multiple_of(LAST_CHUNK)
}

#[derive(Debug)]
struct Chunk {
    reservation: Arc<Reservation>,
    start: usize,
    size: usize,
}

/// Chunks that are filled one after the other.
#[derive(Debug, Default)]
struct Area {
    chunks: Vec<Chunk>,
    /// Bytes used of the last chunk.
    used: usize,
    /// The free gaps of freed pieces as (address, length), ascending, no two of them adjacent.
    free: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
struct Areas {
    hot: Area,
    cold: Area,
}

impl Areas {
    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.hot.chunks.iter().chain(&self.cold.chunks)
    }
}

/// The contents to place in an area.
struct Image {
    bytes: Vec<u8>,
    align: usize,
}

impl Image {
    fn new() -> Image {
        Image { bytes: Vec::new(), align: LEAST_ALIGN }
    }

    /// Makes room for `len` bytes; returns their offset.
    fn add(&mut self, len: usize, align: usize) -> usize {
        let align = align.max(LEAST_ALIGN);
        self.align = self.align.max(align);
        let at = self.bytes.len().next_multiple_of(align);
        self.bytes.resize(at + len, PADDING);
        at
    }

    fn fill(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// The machine code of one owner.
#[derive(Debug)]
pub struct CodeArena {
    space: Arc<CodeSpace>,
    /// The seed of the padding behind functions: see [`Config::padding`](crate::Config::padding).
    padding: Option<u32>,
    areas: Mutex<Areas>,
}

impl CodeArena {
    /// Creates an empty arena.
    pub fn new(space: Arc<CodeSpace>, padding: Option<u32>) -> CodeArena {
        CodeArena { space, padding, areas: Mutex::default() }
    }

    /// Places `code`, registers it as belonging to `function`, and returns its address.
    ///
    /// # Errors
    /// Returns an error if there is no memory for the code.
    pub fn place(&self, code: MachineCode, function: Option<Owner>) -> std::io::Result<usize> {
        Ok(self.place_all(vec![(code, function)])?[0])
    }

    /// Places several pieces of code at once, as [`CodeArena::place`] does one.
    ///
    /// # Errors
    /// Returns an error if there is no memory for the code.
    pub fn place_all(&self, mut pieces: Vec<(MachineCode, Option<Owner>)>) -> std::io::Result<Vec<usize>> {
        let (mut hot, mut cold) = (Image::new(), Image::new());
        let add = |(code, function): &(MachineCode, Option<Owner>)| {
            let (align, hot_len) = (code.align as usize, code.hot_len());
            let cold_len = code.bytes.len() - hot_len;
            // One more byte follows it, so that no other code begins where it ends.
            let in_cold = (cold_len > 0).then(|| cold.add(cold_len + 1, align));
            (hot.add(hot_len + self.padding_behind(function.as_ref()), align), in_cold)
        };
        let offsets: Vec<(usize, Option<usize>)> = pieces.iter().map(add).collect();
        let mut areas = self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        let hot_base = self.reserve(&mut areas.hot, &hot)?;
        let cold_base = self.reserve(&mut areas.cold, &cold)?;
        let shift = i32::try_from(cold_base as i64 - hot_base as i64).ok();
        let is_near = |shift: i32| {
            (shift.unsigned_abs() as usize) < FARTHEST.saturating_sub(hot.bytes.len() + cold.bytes.len())
        };
        if !cold.bytes.is_empty() && !shift.is_some_and(is_near) {
            drop(areas);
            pieces.iter_mut().for_each(|(code, _)| code.cold = None);
            return self.place_all(pieces);
        }
        let mut objects = Vec::with_capacity(pieces.len());
        for ((mut code, function), (in_hot, in_cold)) in pieces.into_iter().zip(offsets) {
            link(&mut code)?;
            let (start, len) = (hot_base + in_hot, code.hot_len());
            let cold_start = in_cold.map_or(start + len, |at| cold_base + at);
            code.shift_cold(distance(start + len, cold_start));
            let bytes = std::mem::take(&mut code.bytes);
            hot.fill(in_hot, &bytes[..len]);
            if let Some(at) = in_cold {
                cold.fill(at, &bytes[len..]);
            }
            let cold = cold_start..cold_start + (bytes.len() - len);
            objects.push(Arc::new(CodeObject { start, len, cold, function, code }));
        }
        areas.hot.write(hot_base, &hot)?;
        areas.cold.write(cold_base, &cold)?;
        let starts = objects.iter().map(|object| object.start).collect();
        registry::insert(objects.into_iter());
        Ok(starts)
    }

    /// Returns the number of padding bytes behind the hot code of a function, up to 15 times 16.
    fn padding_behind(&self, function: Option<&Owner>) -> usize {
        let mixed =
            |seed, func| (u64::from(seed) << 32 | u64::from(func)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.padding.zip(function).map_or(0, |(seed, &(_, func))| (mixed(seed, func) >> 60) as usize * 16)
    }

    /// Returns the code that was placed at `start`.
    pub fn copy_of(&self, start: usize) -> Option<MachineCode> {
        let (bytes, object) = self.placed(start)?;
        Some(MachineCode { bytes, ..object.code.clone() })
    }

    /// Returns the code that was placed at `start`, its bytes separate from the rest.
    pub fn placed(&self, start: usize) -> Option<(Vec<u8>, Arc<CodeObject>)> {
        let areas = self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        let object = registry::find(start).filter(|object| object.start == start)?;
        if !areas.chunks().any(|c| (c.start..c.start + c.size).contains(&start)) {
            return None;
        }
        // SAFETY: the registry has both ranges as parts of this arena's chunks, which stay mapped while `self`
        // lives; freed space is reused only under the lock that is held here.
        let part = |at: usize, len| unsafe { std::slice::from_raw_parts(at as *const u8, len) };
        let (hot, cold) = (part(start, object.len), part(object.cold.start, object.cold.len()));
        let mut bytes = [hot, cold].concat();
        if let Some(cold) = &object.code.cold {
            cold.shift(&mut bytes, distance(object.cold.start, start + object.len));
        }
        Some((bytes, object))
    }

    /// Frees a piece of code without a cold part, which was placed at `start` and never runs again. Its space may
    /// be reused.
    pub fn free(&self, start: usize) {
        let mut areas = self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ours = areas.hot.chunks.iter().any(|c| (c.start..c.start + c.size).contains(&start));
        let Some(object) = registry::find(start).filter(|object| is_ours && object.start == start) else {
            return;
        };
        registry::remove(start, 1);
        areas.hot.give_back(start, object.len);
    }

    /// Returns the bytes of address space taken.
    pub fn size(&self) -> usize {
        self.areas.lock().unwrap_or_else(PoisonError::into_inner).chunks().map(|c| c.size).sum()
    }

    /// Returns a range of addresses in which all its code lies; empty if it has none.
    pub fn range(&self) -> Range<usize> {
        let areas = self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        let start = areas.chunks().map(|chunk| chunk.start).min().unwrap_or(0);
        start..areas.chunks().map(|chunk| chunk.start + chunk.size).max().unwrap_or(0)
    }

    /// Reserves space for an image in the area and returns its address; 0 for an empty image.
    fn reserve(&self, area: &mut Area, image: &Image) -> std::io::Result<usize> {
        let len = image.bytes.len();
        if len == 0 {
            return Ok(0);
        }
        if let Some(at) = area.take_free(len, image.align) {
            return Ok(at);
        }
        let fits = area.chunks.last().and_then(|chunk| {
            let at = (chunk.start + area.used).next_multiple_of(image.align);
            (at + len <= chunk.start + chunk.size).then_some(at)
        });
        let start = match fits {
            Some(at) => at,
            None => self.grow(area, len)?,
        };
        let chunk = area.chunks.last().expect("there is one now");
        area.used = start + len - chunk.start;
        Ok(start)
    }

    fn grow(&self, area: &mut Area, len: usize) -> std::io::Result<usize> {
        let usual = area.chunks.last().map_or(FIRST_CHUNK, |c| (c.size * 2).min(LAST_CHUNK));
        let size = usual.max(len.next_multiple_of(PAGE));
        let (reservation, start) = self.space.allocate(size)?;
        area.chunks.push(Chunk { reservation, start, size });
        area.used = 0;
        Ok(start)
    }
}

impl Area {
    /// Writes an image to the space that was reserved for it.
    fn write(&self, base: usize, image: &Image) -> std::io::Result<()> {
        match self.chunks.iter().rfind(|chunk| (chunk.start..chunk.start + chunk.size).contains(&base)) {
            Some(chunk) if !image.bytes.is_empty() => chunk.reservation.write(base, &image.bytes),
            _ => Ok(()),
        }
    }

    /// Takes `len` contiguous bytes from the gaps of freed pieces, if there are so many.
    fn take_free(&mut self, len: usize, align: usize) -> Option<usize> {
        let place = |start: usize| start.next_multiple_of(align);
        let i = self.free.iter().position(|&(start, free)| place(start) + len <= start + free)?;
        let (start, free) = self.free.remove(i);
        let at = place(start);
        for (from, to) in [(start, at), (at + len, start + free)] {
            if from < to {
                self.give_back(from, to - from);
            }
        }
        Some(at)
    }

    fn give_back(&mut self, start: usize, len: usize) {
        let i = self.free.partition_point(|&(other, _)| other < start);
        self.free.insert(i, (start, len));
        if self.free.get(i + 1).is_some_and(|&(next, _)| next == start + len) {
            self.free[i].1 += self.free.remove(i + 1).1;
        }
        if i > 0 && self.free[i - 1].0 + self.free[i - 1].1 == start {
            self.free[i - 1].1 += self.free.remove(i).1;
        }
    }
}

/// Returns the distance from one address to another near it.
fn distance(from: usize, to: usize) -> i32 {
    (to as isize - from as isize) as i32
}

/// Writes the addresses of the relocations into `code`.
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
        let Areas { hot, cold } = self.areas.get_mut().unwrap_or_else(PoisonError::into_inner);
        for chunk in hot.chunks.drain(..).chain(cold.chunks.drain(..)) {
            registry::remove(chunk.start, chunk.size);
            chunk.reservation.free(chunk.start, chunk.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use wprof_jit::abi::TrapCode;
    use wprof_jit::compile::{ColdPart, TrapSite};

    use super::*;
    use crate::module::ModuleInner;
    use crate::runtime::instances::loaded::LoadedModule;

    /// Returns a jump into a cold part, which traps.
    fn jump() -> MachineCode {
        let mut bytes = vec![0xe9, 11, 0, 0, 0];
        bytes.resize(16, PADDING);
        bytes.extend([0x0f, 0x0b]);
        let traps = vec![TrapSite { pc: 16, code: TrapCode::Unreachable, origin: None }];
        let cold = Some(ColdPart { start: 16, distances: vec![1] });
        MachineCode { bytes, align: 16, traps, cold, ..MachineCode::default() }
    }

    #[test]
    fn cold_parts_lie_together_and_are_found() {
        let arena = CodeArena::new(Arc::default(), None);
        let starts = arena.place_all(vec![(jump(), None), (jump(), None)]).expect("placed");
        // The hot parts are contiguous.
        assert_eq!(starts[1] - starts[0], 16);
        let objects = starts.iter().map(|&start| registry::find(start).expect("known"));
        let cold: Vec<usize> = objects.map(|object| object.cold.start).collect();
        for (&start, &cold) in starts.iter().zip(&cold) {
            let found = registry::find(cold).expect("known");
            assert_eq!((found.start, found.size()), (start, 18));
            assert_eq!(found.trap_at(cold).map(|site| site.code), Some(TrapCode::Unreachable));
            assert!(found.trap_at(start).is_none());
            // SAFETY: these are the first five bytes of a function that was just placed.
            let distance = unsafe { ((start + 1) as *const i32).read_unaligned() };
            assert_eq!(start + 5 + distance as usize, cold);
            // The copy is contiguous again.
            assert_eq!(arena.copy_of(start).expect("it is there").bytes, jump().bytes);
        }
        // There is no code behind the end, so a pc there belongs to no other function.
        assert!(registry::find(cold[1] + 2).is_none());
        drop(arena);
        assert!(registry::find(cold[0]).is_none() && registry::find(starts[0]).is_none());
    }

    #[test]
    fn the_place_of_code_that_is_gone_is_used_again() {
        let arena = CodeArena::new(Arc::default(), None);
        let code = |len| MachineCode { bytes: vec![PADDING; len], align: 16, ..MachineCode::default() };
        let place = |len| arena.place(code(len), None).expect("placed");
        let (first, second, third) = (place(100), place(100), place(100));
        let size = arena.size();
        for _ in 0..10_000 {
            arena.free(first);
            assert!(registry::find(first).is_none());
            assert_eq!((place(30), place(60)), (first, first + 32));
            arena.free(first);
            arena.free(first + 32);
            assert_eq!(place(90), first);
        }
        assert_eq!(arena.size(), size);
        assert!(
            [second, third].into_iter().all(|at| registry::find(at).is_some_and(|object| object.start == at))
        );
    }

    #[test]
    fn padding_moves_hot_code_by_function_and_seed_and_keeps_it_aligned() {
        let starts = |seed| {
            let arena = CodeArena::new(Arc::default(), Some(seed));
            let nobody: Weak<dyn LoadedModule> = Weak::<ModuleInner>::new();
            let pieces = (0..64).map(|func| (jump(), Some((nobody.clone(), func))));
            let starts = arena.place_all(pieces.collect()).expect("placed");
            starts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
        };
        assert!(starts(1).iter().all(|apart| apart % 16 == 0 && (16..=256).contains(apart)));
        assert!(starts(1).iter().min() < starts(1).iter().max());
        assert!(starts(1) != starts(2) && starts(1) == starts(1));
    }
}
