//! Globals: cells that machine code reads and writes.

use std::ptr::NonNull;

use crate::GlobalType;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_ptr::StorePtr;

/// A global of a store.
#[derive(Debug)]
pub struct GlobalData {
    ty: GlobalType,
    cell: StorePtr<VmValue>,
    owns_cell: bool,
}

impl GlobalData {
    /// Creates a global with this value. Its cell is `cell`, in a vmctx of the same store or of an instance of a
    /// component there, or else its own.
    pub fn new(ty: GlobalType, value: VmValue, cell: Option<NonNull<VmValue>>) -> GlobalData {
        let owns_cell = cell.is_none();
        let cell = cell.unwrap_or_else(|| NonNull::from(Box::leak(Box::new(value))));
        // SAFETY: the cell is in a vmctx or of a component of the global's store, or is the global's own, which is dropped
        // with the store.
        let cell = unsafe {
            cell.write(value);
            StorePtr::new(cell)
        };
        GlobalData { ty, cell, owns_cell }
    }

    /// Returns the type.
    pub fn ty(&self) -> &GlobalType {
        &self.ty
    }

    /// Returns the cell that machine code accesses.
    pub fn cell(&self) -> NonNull<VmValue> {
        *self.cell
    }

    /// Returns the value.
    pub fn get(&self) -> VmValue {
        // SAFETY: the cell lives as long as the store; machine code does not run while the store is borrowed.
        unsafe { self.cell.read() }
    }

    /// Sets the value.
    pub fn set(&mut self, value: VmValue) {
        // SAFETY: as in `get`, and the borrow is exclusive.
        unsafe { self.cell.write(value) };
    }
}

impl Drop for GlobalData {
    fn drop(&mut self) {
        if self.owns_cell {
            // SAFETY: `new` leaked the cell; the instances that import it are dropped with the same store.
            drop(unsafe { Box::from_raw(self.cell.as_ptr()) });
        }
    }
}
