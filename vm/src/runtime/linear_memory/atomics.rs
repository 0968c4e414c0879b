//! `memory.atomic.wait` and `memory.atomic.notify`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::shared_data::SharedData;
use super::store_memory::StoreMemory;
use crate::Trap;
use crate::runtime::instances::items::Items;
use crate::runtime::interruption::parking::Woken;

/// Returns the shared memory of an instance, after checking that a thread may wait at `bytes` bytes at the
/// address.
///
/// # Errors
/// Returns an error if the address is not in the memory or not a multiple of the size, or the memory is not
/// shared.
pub fn to_wait_at(
    items: &Items,
    instance: u32,
    memory: u32,
    address: u64,
    bytes: u32,
) -> Result<Arc<SharedData>, Trap> {
    let memory = checked(items, instance, (memory, address), bytes)?;
    memory.shared().cloned().ok_or(Trap::ExpectedSharedMemory)
}

/// Performs `memory.atomic.wait32` or `wait64` at an address checked by [`to_wait_at`]: waits, if the value of
/// `bytes` bytes is `expected`, until the thread is notified or the time elapses, unless the time is negative.
///
/// # Errors
/// Returns the error of `check`, which tells several times a second whether the store is to stop.
pub fn wait<E>(
    memory: &SharedData,
    address: u64,
    (bytes, expected): (u32, u64),
    nanoseconds: i64,
    check: impl FnMut() -> Result<(), E>,
) -> Result<Woken, E> {
    // A time beyond the range of the system's clock never ends.
    let time = u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
    let until = time.and_then(|time| Instant::now().checked_add(time));
    let is_expected = || memory.number(address as usize, bytes == 8) == expected;
    memory.parking.wait(address, is_expected, until, check)
}

/// Performs `memory.atomic.notify`: wakes at most `most` threads that wait at the address, and returns their
/// number. No thread waits at a memory that is not shared.
///
/// # Errors
/// Returns an error if the address is not in the memory, or is not a multiple of four.
pub fn notify(items: &Items, instance: u32, memory: u32, address: u64, most: u32) -> Result<u32, Trap> {
    let memory = checked(items, instance, (memory, address), 4)?;
    Ok(memory.shared().map_or(0, |memory| memory.parking.notify(address, most)))
}

/// Returns the memory, if a thread may wait at the address.
fn checked(
    items: &Items,
    instance: u32,
    (memory, address): (u32, u64),
    bytes: u32,
) -> Result<&StoreMemory, Trap> {
    if !address.is_multiple_of(bytes.into()) {
        return Err(Trap::UnalignedAtomic);
    }
    let memory = items.memory(items.instance(instance).memories[memory as usize]);
    let end = address.checked_add(bytes.into()).filter(|&end| end <= memory.len());
    end.map(|_| memory).ok_or(Trap::MemoryOutOfBounds)
}
