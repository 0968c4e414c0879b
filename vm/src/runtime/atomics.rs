//! `memory.atomic.wait` and `memory.atomic.notify`.

use super::store::StoreOpaque;
use crate::Trap;

/// `memory.atomic.wait32` and `wait64` at an address of a memory of an instance: as long as `expected`, of so many bytes,
/// is there, until it is notified or the time has passed, if it is not negative.
///
/// # Errors
/// If the address is not in the memory or no multiple of the size, or the memory is not shared.
pub fn wait(
    store: &mut StoreOpaque,
    instance: u32,
    (memory, address): (u32, u64),
    (bytes, _expected): (u32, u64),
    _nanoseconds: i64,
) -> Result<u32, Trap> {
    check(store, instance, memory, address, bytes)?;
    Err(Trap::ExpectedSharedMemory)
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
    _most: u32,
) -> Result<u32, Trap> {
    check(store, instance, memory, address, 4)?;
    Ok(0)
}

fn check(store: &StoreOpaque, instance: u32, memory: u32, address: u64, bytes: u32) -> Result<(), Trap> {
    if !address.is_multiple_of(bytes.into()) {
        return Err(Trap::UnalignedAtomic);
    }
    let index = store.instances[instance as usize].memories[memory as usize];
    let end = address.checked_add(bytes.into()).filter(|&end| end <= store.memory(index).len());
    end.map(drop).ok_or(Trap::MemoryOutOfBounds)
}
