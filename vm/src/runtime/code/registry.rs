//! The registry of machine code by pc, for the signal handler and backtraces.
//!
//! It has two levels. [`is_code`] is lock-free, so a fault in host code never waits. [`find`] takes a lock; it is
//! called only for a pc inside a reservation, that is by a thread that runs or returns into wasm code, and such a
//! thread never holds that lock.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use wprof_jit::compile::{MachineCode, Origin, TrapSite};

use crate::runtime::instances::loaded::Owner;

/// A piece of machine code: a function, a trampoline, or stubs.
#[derive(Debug, Default)]
pub struct CodeObject {
    /// Address of its first instruction.
    pub start: usize,
    /// Size in bytes of the part at `start`.
    pub len: usize,
    /// The addresses of its cold part, if that is placed elsewhere. Invariant: no code ends where `start` is.
    pub cold: Range<usize>,
    /// The module and function index of a wasm function.
    pub function: Option<Owner>,
    /// Everything except the bytes; pcs in it are [offsets](CodeObject::offset).
    pub code: MachineCode,
}

impl CodeObject {
    /// Returns the total size in bytes.
    pub fn size(&self) -> usize {
        self.len + self.cold.len()
    }

    /// Returns the offset of `pc`, an address in the code or the return address of a call in it.
    pub fn offset(&self, pc: usize) -> u32 {
        let is_hot = (self.start..=self.start + self.len).contains(&pc);
        (if is_hot { pc - self.start } else { self.len + (pc - self.cold.start) }) as u32
    }

    /// Returns the address of the instruction at an offset; the inverse of [`CodeObject::offset`].
    pub fn address(&self, offset: u32) -> usize {
        match (offset as usize).checked_sub(self.len) {
            None => self.start + offset as usize,
            Some(in_cold) => self.cold.start + in_cold,
        }
    }

    /// Returns the trap site at `pc`.
    pub fn trap_at(&self, pc: usize) -> Option<&TrapSite> {
        let pc = self.offset(pc);
        self.code.traps.binary_search_by_key(&pc, |t| t.pc).ok().map(|i| &self.code.traps[i])
    }

    /// Returns the first trap site at `pc` or behind it.
    pub fn trap_from(&self, pc: usize) -> Option<&TrapSite> {
        let pc = self.offset(pc);
        self.code.traps.get(self.code.traps.partition_point(|t| t.pc < pc))
    }

    /// Returns the wasm instruction of the call that returns to `pc`.
    pub fn origin_of_return(&self, pc: usize) -> Option<Origin> {
        let pc = self.offset(pc);
        let i = self.code.calls.binary_search_by_key(&pc, |c| c.return_pc).ok()?;
        self.code.calls[i].origin
    }

    /// Returns the wasm instruction of a frame that faulted at `pc`; `None` for trampolines.
    pub fn origin_of_fault(&self, pc: usize) -> Option<Origin> {
        match self.trap_at(pc).and_then(|site| site.origin) {
            Some(origin) => Some(origin),
            None if pc == self.start => self.code.entry,
            None => self.origin_near(pc).or(self.code.entry),
        }
    }

    /// Returns whether a frame that ran out of stack at `pc` did so before it executed anything, rather than at a
    /// call that it made.
    pub fn is_entry(&self, pc: usize) -> bool {
        let place = |origin| Origin { path: None, ..origin };
        self.origin_of_fault(pc).map(place) == self.code.entry.map(place)
    }

    /// Returns the byte offset in the module of the wasm instruction that the code at `pc` comes from, and the
    /// frame that it belongs to: exact if positions are kept, otherwise a nearby one; `None` for trampolines.
    pub fn position_of(&self, pc: usize) -> Option<(u32, u32)> {
        let exact = self.code.positions.at(self.offset(pc)).map(|position| (position.offset, position.frame));
        let of = |origin: Origin| (origin.offset, origin.frame);
        let near = || match self.code.positions.is_empty() {
            true => self.origin_of_fault(pc),
            false => self.code.entry,
        };
        exact.or_else(|| near().map(of))
    }

    /// Returns the wasm instruction that `pc` belongs to, where that is not recorded exactly: that of the next
    /// site, or else of the last one.
    pub fn origin_near(&self, pc: usize) -> Option<Origin> {
        let pc = self.offset(pc);
        let call =
            self.code.calls.iter().filter(|c| c.return_pc > pc).find_map(|c| Some((c.return_pc, c.origin?)));
        let trap = self.code.traps.iter().filter(|t| t.pc >= pc).find_map(|t| Some((t.pc, t.origin?)));
        let next = call.into_iter().chain(trap).min_by_key(|&(at, _)| at).map(|(_, origin)| origin);
        next.or_else(|| self.code.calls.iter().rev().find_map(|c| c.origin))
            .or_else(|| self.code.traps.iter().rev().find_map(|t| t.origin))
    }
}

/// Number of rows in a table of address ranges.
const ROWS: usize = 64;

/// Address ranges that hold code. The signal handler reads them without a lock. A full table links to another
/// one; tables are never freed, so a reader never follows a dangling pointer.
struct Ranges {
    starts: [AtomicUsize; ROWS],
    ends: [AtomicUsize; ROWS],
    next: OnceLock<Box<Ranges>>,
}

static RANGES: Ranges = Ranges::new();
static OBJECTS: RwLock<BTreeMap<usize, Arc<CodeObject>>> = RwLock::new(BTreeMap::new());

impl Ranges {
    const fn new() -> Ranges {
        Ranges {
            starts: [const { AtomicUsize::new(0) }; ROWS],
            ends: [const { AtomicUsize::new(0) }; ROWS],
            next: OnceLock::new(),
        }
    }

    fn rows(&self) -> impl Iterator<Item = (&AtomicUsize, &AtomicUsize)> {
        self.starts.iter().zip(&self.ends)
    }

    /// Takes a free row; returns whether there was one.
    fn add(&self, start: usize, size: usize) -> bool {
        let take =
            |start_of: &AtomicUsize| start_of.compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed);
        let free = self.rows().find(|(start_of, _)| take(start_of).is_ok());
        free.inspect(|(_, end)| end.store(start + size, Ordering::Release)).is_some()
    }

    fn tables() -> impl Iterator<Item = &'static Ranges> {
        std::iter::successors(Some(&RANGES), |table| table.next.get().map(|next| &**next))
    }
}

/// Registers the address range of a reservation.
pub fn add_range(start: usize, size: usize) {
    let mut table = &RANGES;
    while !table.add(start, size) {
        table = table.next.get_or_init(|| Box::new(Ranges::new()));
    }
}

/// Removes the range of the reservation at `start`.
pub fn remove_range(start: usize) {
    for (s, e) in Ranges::tables().flat_map(Ranges::rows) {
        if s.load(Ordering::Acquire) == start {
            e.store(0, Ordering::Release);
            s.store(0, Ordering::Release);
        }
    }
}

/// Returns whether `pc` lies in a reservation. Async-signal-safe: it only loads, even from a table that is being
/// added.
pub fn is_code(pc: usize) -> bool {
    Ranges::tables().flat_map(Ranges::rows).any(|(s, e)| {
        let start = s.load(Ordering::Acquire);
        start != 0 && start <= pc && pc < e.load(Ordering::Acquire)
    })
}

/// Keeps the registry unchanged: see [`hold`].
pub struct Held {
    _objects: RwLockWriteGuard<'static, BTreeMap<usize, Arc<CodeObject>>>,
}

/// Waits until no thread uses the registry, and keeps all threads from using it until the result is dropped.
pub fn hold() -> Held {
    Held { _objects: OBJECTS.write().unwrap_or_else(PoisonError::into_inner) }
}

/// Registers pieces of code. The caller must do so before it publishes their addresses.
pub fn insert(objects: impl Iterator<Item = Arc<CodeObject>>) {
    let mut all = OBJECTS.write().unwrap_or_else(PoisonError::into_inner);
    for object in objects {
        if !object.cold.is_empty() {
            all.insert(object.cold.start, object.clone());
        }
        all.insert(object.start, object);
    }
}

/// Removes all code in an address range.
pub fn remove(start: usize, size: usize) {
    let mut objects = OBJECTS.write().unwrap_or_else(PoisonError::into_inner);
    let gone: Vec<usize> = objects.range(start..start + size).map(|(&s, _)| s).collect();
    let dropped: Vec<_> = gone.into_iter().filter_map(|s| objects.remove(&s)).collect();
    // Dropping may take other locks, so it must not happen under this one.
    drop(objects);
    drop(dropped);
}

/// Returns the piece of code at `pc`.
pub fn find(pc: usize) -> Option<Arc<CodeObject>> {
    if !is_code(pc) {
        return None;
    }
    let objects = OBJECTS.read().unwrap_or_else(PoisonError::into_inner);
    let (_, object) = objects.range(..=pc).next_back()?;
    let is_in = (object.start..object.start + object.len).contains(&pc) || object.cold.contains(&pc);
    is_in.then(|| object.clone())
}

/// Returns the piece of code that contains the call that returns to `pc`. A call may be the last instruction of
/// its function, so that `pc` itself is already outside.
pub fn find_return(pc: usize) -> Option<Arc<CodeObject>> {
    find(pc.wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_fixed_number_of_ranges() {
        // Addresses that no process has.
        let start = |i: usize| (1 << 60) + i * 16;
        (0..1000).for_each(|i| add_range(start(i), 8));
        let are_known =
            |expected| (0..1000).all(|i| is_code(start(i) + 7) == expected && !is_code(start(i) + 8));
        assert!(are_known(true));
        (0..1000).for_each(|i| remove_range(start(i)));
        assert!(are_known(false));
        let tables = Ranges::tables().count();
        (0..1000).for_each(|i| add_range(start(i), 8));
        assert_eq!(Ranges::tables().count(), tables, "free rows are used again");
        (0..1000).for_each(|i| remove_range(start(i)));
    }
}
