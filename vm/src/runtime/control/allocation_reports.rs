//! Builtins by which allocators, and code that allocates objects, report to the runtime if allocations are counted.

use wprof_jit::abi::call_record;
use wprof_jit::module::NewBlock;

use super::builtins::caller;
use crate::runtime::counts::call_records::Called;
use crate::runtime::instances::abi::VmContext;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::store_opaque::StoreOpaque;

/// What a call record has for the first context, see `call_record::allocates`.
const FIRST: u64 = call_record::NESTED + 1;

/// `Builtin::EnterAllocator`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn enter_allocator(vmctx: *const VmContext, record: u64) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, _) = unsafe { caller(vmctx) };
    let StoreOpaque { items, observed, .. } = store;
    let (Some(allocations), Some(contexts)) = (&mut observed.allocations, &observed.contexts) else {
        return 0;
    };
    let is_allocator = |called: &Called| match *called {
        Called::Wasm(instance, func) => items.instance(instance).module.info().allocators.contains_key(&func),
        Called::Root | Called::Host(_) | Called::Beyond => false,
    };
    let records = contexts.records();
    let is_nested = records.way_up(record).skip(1).any(is_allocator);
    let number = match is_nested {
        true => call_record::NESTED,
        false => FIRST + u64::from(allocations.context(record)),
    };
    records.set_allocates(record, number);
    0
}

/// `Builtin::LeaveAllocator`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn leave_allocator(
    vmctx: *const VmContext,
    record: u64,
    number: u64,
    new: u32,
    result: u64,
) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    // SAFETY: machine code, which writes to the context, waits.
    let asked = unsafe { std::mem::take(&mut (*(*vmctx).store).asked) };
    if asked.record != record {
        return 0;
    }
    let old = asked.old;
    let (freed, block) = match new {
        new if new == NewBlock::None.code() => (Some(old), None),
        new if new == NewBlock::Result.code() => match result {
            0 => (None, None),
            block => (Some(old), Some(block)),
        },
        _ if result == 0 => (None, pointer_at(&store.items, instance, old)),
        _ => (None, None),
    };
    if let Some(allocations) = &mut store.observed.allocations {
        if let Some(freed) = freed.filter(|&freed| freed != 0) {
            allocations.free(instance, freed);
        }
        if let Some((block, context)) = block.zip(number.checked_sub(FIRST)) {
            let context = context as u32;
            allocations.allocate(instance, block, context, asked.size.saturating_mul(asked.count));
        }
    }
    0
}

/// `Builtin::CountObject`.
///
/// # Safety
/// For machine code only, which passes its own vmctx.
pub unsafe extern "C" fn count_object(
    vmctx: *const VmContext,
    record: u64,
    func: u32,
    ty: u32,
    bytes: u64,
) -> u32 {
    // SAFETY: machine code passes its own vmctx.
    let (store, instance) = unsafe { caller(vmctx) };
    if let Some(allocations) = &mut store.observed.allocations {
        allocations.count_object(record, (instance, func, ty), bytes);
    }
    0
}

/// Reads the pointer at an address in memory 0 of an instance; `None` if it is out of bounds.
fn pointer_at(items: &Items, instance: u32, address: u64) -> Option<u64> {
    let memory = items.memory(*items.instance(instance).memories.first()?);
    let size = if memory.ty().is_64 { 8 } else { 4 };
    let mut bytes = [0; 8];
    if address.checked_add(size as u64)? > memory.len() {
        return None;
    }
    memory.read(address as usize, &mut bytes[..size]);
    Some(u64::from_le_bytes(bytes))
}
