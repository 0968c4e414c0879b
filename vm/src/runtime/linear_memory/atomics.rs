//! `memory.atomic.wait` and `memory.atomic.notify`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::shared_memory::SharedData;
use super::store_memory::StoreMemory;
use crate::Trap;
use crate::runtime::instances::store::StoreOpaque;
use crate::runtime::interruption::parking::Woken;

/// The shared memory of an instance with so many bytes at an address that may be waited at.
///
/// # Errors
/// If the address is not in the memory or no multiple of the size, or the memory is not shared.
pub fn to_wait_at(
    store: &StoreOpaque,
    instance: u32,
    memory: u32,
    address: u64,
    bytes: u32,
) -> Result<Arc<SharedData>, Trap> {
    let memory = checked(store, instance, (memory, address), bytes)?;
    memory.shared().cloned().ok_or(Trap::ExpectedSharedMemory)
}

/// `memory.atomic.wait32` and `wait64` at an address [`to_wait_at`]: as long as `expected`, of so many bytes, is there,
/// until it is notified or the time has passed, if it is not negative.
///
/// # Errors
/// That of `check`, which says several times a second if the store is to stop.
pub fn wait<E>(
    memory: &SharedData,
    address: u64,
    (bytes, expected): (u32, u64),
    nanoseconds: i64,
    check: impl FnMut() -> Result<(), E>,
) -> Result<Woken, E> {
    // A time beyond what the system counts does not end.
    let time = u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
    let until = time.and_then(|time| Instant::now().checked_add(time));
    let is_expected = || memory.number(address as usize, bytes == 8) == expected;
    memory.parking.wait(address, is_expected, until, check)
}

/// `memory.atomic.notify`: wakes at most so many of those that wait there, and says how many. Nobody waits at a memory
/// that is not shared.
///
/// # Errors
/// If the address is not in the memory or no multiple of four.
pub fn notify(
    store: &mut StoreOpaque,
    instance: u32,
    memory: u32,
    address: u64,
    most: u32,
) -> Result<u32, Trap> {
    let memory = checked(store, instance, (memory, address), 4)?;
    Ok(memory.shared().map_or(0, |memory| memory.parking.notify(address, most)))
}

/// The memory, if the address is one that may be waited at.
fn checked(
    store: &StoreOpaque,
    instance: u32,
    (memory, address): (u32, u64),
    bytes: u32,
) -> Result<&StoreMemory, Trap> {
    if !address.is_multiple_of(bytes.into()) {
        return Err(Trap::UnalignedAtomic);
    }
    let memory = store.memory(store.instances[instance as usize].memories[memory as usize]);
    let end = address.checked_add(bytes.into()).filter(|&end| end <= memory.len());
    end.map(|_| memory).ok_or(Trap::MemoryOutOfBounds)
}
