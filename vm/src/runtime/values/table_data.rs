//! Tables: arrays of references, 8 bytes each, in the form that machine code reads.
//!
//! Invariant: the definition that machine code reads always matches the elements. Machine code reads base and
//! length anew for each access, so the elements may move when the table grows.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::runtime::instances::abi::VmTable;
use crate::runtime::instances::pool::Pool;
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::interruption::allocator::or_fail;
use crate::runtime::linear_memory::bulk::ELEMENTS;
use crate::{Error, ErrorKind, Result, StoreLimits, TableType};

/// A table of a store.
#[derive(Debug)]
pub struct TableData {
    ty: TableType,
    /// Only owns the memory: elements are accessed through the definition, as machine code does.
    memory: Vec<u64>,
    limit: u64,
    definition: StorePtr<VmTable>,
    owns_definition: bool,
    /// Where its memory comes from and goes to, if it is kept.
    pool: Option<Arc<Pool>>,
}

impl TableData {
    /// Creates a table of `ty` full of `init`. Its definition is `definition`, in a vmctx of the same store, or
    /// else its own; its memory is the pool's, if there is one.
    ///
    /// # Errors
    /// Returns an error if its minimum exceeds the limits.
    pub fn new(
        ty: TableType,
        init: u64,
        limits: &StoreLimits,
        definition: Option<NonNull<VmTable>>,
        pool: Option<Arc<Pool>>,
    ) -> Result<TableData> {
        let limit = ty.maximum.unwrap_or(u64::MAX).min(limits.table_elements);
        if ty.minimum > limit {
            let message = format!("table of {} elements is above the limit of {limit}", ty.minimum);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let owns_definition = definition.is_none();
        let empty = VmTable { base: NonNull::dangling().as_ptr(), len: 0 };
        let definition = definition.unwrap_or_else(|| NonNull::from(Box::leak(Box::new(empty))));
        // SAFETY: the definition lies inside the store's vmctx, or belongs to the table; it lives as long as the
        // store, which owns the table.
        let definition = unsafe { StorePtr::new(definition) };
        let len = ty.minimum as usize;
        let memory = match &pool {
            Some(pool) => {
                let mut memory = pool.table(len);
                memory.resize(len, init);
                memory
            }
            None => vec![init; len],
        };
        let mut table = TableData { ty, memory, limit, definition, owns_definition, pool };
        table.define();
        Ok(table)
    }

    /// Returns the type as declared.
    pub fn ty(&self) -> &TableType {
        &self.ty
    }

    /// Returns the definition, which machine code reads.
    pub fn definition(&self) -> NonNull<VmTable> {
        *self.definition
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        // SAFETY: the definition lives as long as the store that owns this table.
        unsafe { self.definition.read() }.len
    }

    /// Returns the elements.
    pub fn elements(&self) -> &[u64] {
        // SAFETY: base and length describe `memory`; the borrow keeps the store, and with it all code that could
        // write the elements, from running.
        unsafe {
            let VmTable { base, len } = self.definition.read();
            std::slice::from_raw_parts(base, len as usize)
        }
    }

    /// Returns the elements, mutably.
    pub fn elements_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `elements`, and the borrow is exclusive.
        unsafe {
            let VmTable { base, len } = self.definition.read();
            std::slice::from_raw_parts_mut(base, len as usize)
        }
    }

    /// Grows the table by `delta` elements of value `init` and returns the old size, or `None` if it cannot grow,
    /// or is to stop before that is done; the table is then unchanged.
    pub fn grow(&mut self, delta: u64, init: u64, is_to_stop: impl Fn() -> bool) -> Option<u64> {
        let old = self.len();
        let new = old.checked_add(delta).filter(|&n| n <= self.limit)?;
        or_fail(|| self.memory.try_reserve((new - old) as usize)).ok()?;
        let mut len = old;
        while len < new && (len == old || !is_to_stop()) {
            len = new.min(len + ELEMENTS);
            self.memory.resize(len as usize, init);
        }
        if len < new {
            self.memory.truncate(old as usize);
        }
        // The elements may have moved, even if the table has not grown.
        self.define();
        (len == new).then_some(old)
    }

    fn define(&mut self) {
        let content = VmTable { base: self.memory.as_mut_ptr(), len: self.memory.len() as u64 };
        // SAFETY: as in `len`; no machine code of the store runs at the same time.
        unsafe { self.definition.write(content) };
    }
}

impl Drop for TableData {
    fn drop(&mut self) {
        if self.owns_definition {
            // SAFETY: `new` leaked it; the instances that import the table are dropped with the same store.
            drop(unsafe { Box::from_raw(self.definition.as_ptr()) });
        }
        if let Some(pool) = self.pool.take() {
            pool.put_table(std::mem::take(&mut self.memory), self.ty.minimum as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefType;

    #[test]
    fn a_table_that_is_to_stop_growing_is_as_it_was() {
        let ty = TableType::new(RefType::FUNCREF, 2, None);
        let mut table = TableData::new(ty, 1, &StoreLimits::default(), None, None).expect("made");
        assert_eq!(table.grow(2 * ELEMENTS, 5, || true), None);
        assert_eq!(table.elements(), [1, 1]);
        assert_eq!(table.grow(ELEMENTS / 2, 5, || true), Some(2), "it is done before anybody looks");
        assert_eq!(table.grow(2 * ELEMENTS, 7, || false), Some(2 + ELEMENTS / 2));
        assert_eq!((table.elements()[2], table.elements().last()), (5, Some(&7)));
    }
}
