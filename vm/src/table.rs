//! Tables, as the embedder sees them.
#![allow(unsafe_code, reason = "references in wasm are pointers into the store")]

use std::ops::Range;
use std::ptr::NonNull;

use crate::limiter;
use crate::runtime::instances::stored::Stored;
use crate::runtime::linear_memory::growth;
use crate::store::{StoreContextMut, StoreInner};
use crate::waiting::on_fiber;
use crate::{AsContext, AsContextMut, Error, ErrorKind, Ref, Result, TableType};

/// A table in a store: a small value, valid as long as the store, which may be sent to other threads; access needs the
/// store. An element takes 8 bytes. To get and set one takes constant time; growing may copy all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table(pub(crate) Stored);

impl Table {
    /// Creates a table filled with `init`.
    ///
    /// # Errors
    /// Fails if `init` has another type, or the table's minimum exceeds the limits.
    pub fn new(mut store: impl AsContextMut, ty: TableType, init: Ref) -> Result<Table> {
        Table::new_in(store.as_context_mut().0, ty, init, false)
    }

    /// Creates a table as a future, in which the limiter of [`Store::limiter_async`](crate::Store::limiter_async) may
    /// wait.
    ///
    /// # Errors
    /// Fails as [`Table::new`] does, or if the system has no memory for a stack.
    pub fn new_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        store: S,
        ty: TableType,
        init: Ref,
    ) -> impl Future<Output = Result<Table>> + Send + use<'a, T, S> {
        on_fiber(store.into().0, move |store| Table::new_in(store, ty, init, true))
    }

    fn new_in<T: 'static>(
        inner: &mut StoreInner<T>,
        ty: TableType,
        init: Ref,
        may_wait: bool,
    ) -> Result<Table> {
        init.check_type(&ty.element, &inner.opaque)?;
        limiter::admit_table(inner, &ty, may_wait)?;
        let opaque = &mut inner.opaque;
        let word = init.to_word(opaque);
        let index = opaque.items.add_table(ty, word, None, None)?;
        Ok(Table(opaque.items.handle(index)))
    }

    /// Returns the table's type, with the current size as the minimum.
    pub fn ty(&self, store: impl AsContext) -> TableType {
        let items = &store.as_context().0.opaque.items;
        let table = items.table(items.index(self.0));
        TableType { minimum: table.len(), ..table.ty().clone() }
    }

    /// Returns the number of elements.
    pub fn size(&self, store: impl AsContext) -> u64 {
        let items = &store.as_context().0.opaque.items;
        items.table(items.index(self.0)).len()
    }

    /// Returns an element; `None` beyond the end.
    pub fn get(&self, mut store: impl AsContextMut, index: u64) -> Option<Ref> {
        let opaque = &store.as_context_mut().0.opaque;
        let table = opaque.items.table(opaque.items.index(self.0));
        let word = *table.elements().get(usize::try_from(index).ok()?)?;
        // SAFETY: a table of this store holds references of its element type.
        Some(unsafe { Ref::from_word(word, &table.ty().element, opaque) })
    }

    /// Sets an element.
    ///
    /// # Errors
    /// Fails if the index is beyond the end, or `value` has another type.
    pub fn set(&self, mut store: impl AsContextMut, index: u64, value: Ref) -> Result<()> {
        let opaque = &mut store.as_context_mut().0.opaque;
        let table = opaque.items.index(self.0);
        value.check_type(&opaque.items.table(table).ty().element, opaque)?;
        let size = opaque.items.table(table).len();
        if index >= size {
            return Err(Error::new(ErrorKind::Type, format_args!("element {index} of a table of {size}")));
        }
        let word = value.to_word(opaque);
        opaque.items.table_mut(table).elements_mut()[index as usize] = word;
        Ok(())
    }

    /// Sets `len` elements from `start` on.
    ///
    /// # Errors
    /// Fails if the range is not within the table, or `value` has another type; nothing is set then.
    pub fn fill(&self, mut store: impl AsContextMut, start: u64, value: Ref, len: u64) -> Result<()> {
        let opaque = &mut store.as_context_mut().0.opaque;
        let table = opaque.items.index(self.0);
        value.check_type(&opaque.items.table(table).ty().element, opaque)?;
        let range = range(start, len, opaque.items.table(table).len())?;
        let word = value.to_word(opaque);
        opaque.items.table_mut(table).elements_mut()[range].fill(word);
        Ok(())
    }

    /// Copies `len` elements of table `from`, from `from_start` on, to `to_start` of table `to`, which may be the same.
    ///
    /// # Errors
    /// Fails if a range is not within its table, or `to` cannot hold elements of the type of `from`; nothing is copied
    /// then.
    pub fn copy(
        mut store: impl AsContextMut,
        to: &Table,
        to_start: u64,
        from: &Table,
        from_start: u64,
        len: u64,
    ) -> Result<()> {
        let items = &mut store.as_context_mut().0.opaque.items;
        let (to, from) = (items.index(to.0), items.index(from.0));
        let (target, source) = (&items.table(to).ty().element, &items.table(from).ty().element);
        if !source.matches(target) {
            let message = format_args!("elements of type {source} do not fit into a table of {target}");
            return Err(Error::new(ErrorKind::Type, message));
        }
        let target = range(to_start, len, items.table(to).len())?;
        let source = range(from_start, len, items.table(from).len())?;
        if to == from {
            items.table_mut(to).elements_mut().copy_within(source, target.start);
        } else {
            let (to, from) = items.two_tables(to, from);
            to.elements_mut()[target].copy_from_slice(&from.elements()[source]);
        }
        Ok(())
    }

    /// Grows the table by `delta` elements of value `init` and returns the old size.
    ///
    /// # Errors
    /// Fails if the new size exceeds the maximum or a limit, if a limiter denies it, or if `init` has another type.
    pub fn grow(&self, mut store: impl AsContextMut, delta: u64, init: Ref) -> Result<u64> {
        self.grow_in(store.as_context_mut().0, delta, init, false)
    }

    /// Grows the table as a future, in which the limiter of [`Store::limiter_async`](crate::Store::limiter_async) may
    /// wait.
    ///
    /// # Errors
    /// Fails as [`Table::grow`] does, or if the system has no memory for a stack.
    pub fn grow_async<'a, T: Send + 'static, S: Into<StoreContextMut<'a, T>>>(
        &self,
        store: S,
        delta: u64,
        init: Ref,
    ) -> impl Future<Output = Result<u64>> + Send + use<'a, T, S> {
        let table = *self;
        on_fiber(store.into().0, move |store| table.grow_in(store, delta, init, true))
    }

    fn grow_in<T: 'static>(
        &self,
        inner: &mut StoreInner<T>,
        delta: u64,
        init: Ref,
        may_wait: bool,
    ) -> Result<u64> {
        let table = inner.opaque.items.index(self.0);
        init.check_type(&inner.opaque.items.table(table).ty().element, &inner.opaque)?;
        let word = init.to_word(&mut inner.opaque);
        // SAFETY: the store is whole, and this function borrows it exclusively. What may wait is alone on its fiber.
        let old = unsafe { growth::table(NonNull::from(inner).cast(), table, delta, word, false, may_wait)? };
        old.ok_or_else(|| {
            let message = format!("table cannot grow by {delta} elements: it has a maximum, or a limit");
            Error::new(ErrorKind::Limit, message)
        })
    }
}

/// Returns the elements from `start` on.
///
/// # Errors
/// Fails if they are not all within a table of `size`.
fn range(start: u64, len: u64, size: u64) -> Result<Range<usize>> {
    match start.checked_add(len).filter(|&end| end <= size) {
        Some(end) => Ok(start as usize..end as usize),
        None => {
            let message = format_args!("{len} elements from {start} on in a table of {size}");
            Err(Error::new(ErrorKind::Type, message))
        }
    }
}
