//! References to arrays, as the host holds them.

use std::ops::Range;

use wprof_jit::abi::object::FIELDS;

use super::anyref::AnyRef;
use super::place::{self, Place};
use super::val::Val;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::stored::StoreId;
use crate::{
    ArrayType, AsContext, AsContextMut, Error, ErrorKind, HeapType, Result, StorageType, Trap, ValType,
};

/// An array of a store, which lives as long as a reference to it exists.
#[derive(Clone, Debug)]
pub struct ArrayRef(pub(super) AnyRef);

/// The type of arrays that a store makes many of. To make one from it takes no look-up of the type.
#[derive(Clone, Debug)]
pub struct ArrayRefPre {
    ty: ArrayType,
    store: StoreId,
    id: u32,
    element: ValType,
}

impl ArrayRefPre {
    /// Prepares a store to make arrays of a type.
    ///
    /// # Errors
    /// Returns an error if the system has no room for a heap.
    pub fn new(mut store: impl AsContextMut, ty: &ArrayType) -> Result<ArrayRefPre> {
        ArrayRefPre::new_in(&mut store.as_context_mut().0.opaque, ty)
    }

    fn new_in(store: &mut StoreOpaque, ty: &ArrayType) -> Result<ArrayRefPre> {
        let id = place::register(store, &ty.0)?;
        Ok(ArrayRefPre { ty: ty.clone(), store: store.items.id(), id, element: ty.element_type().unpack() })
    }

    /// Returns the type.
    pub fn ty(&self) -> &ArrayType {
        &self.ty
    }

    /// Creates an array of `len` elements that are all `element`.
    ///
    /// # Errors
    /// Returns an error if the element has another type, or there is no memory.
    ///
    /// # Panics
    /// Panics if the store is another one, or the element refers to an item of another.
    pub fn allocate(&self, mut store: impl AsContextMut, element: &Val, len: u32) -> Result<ArrayRef> {
        self.allocate_in(&mut store.as_context_mut().0.opaque, &[element], len)
    }

    /// Creates an array of these elements.
    ///
    /// # Errors
    /// Returns an error if an element has another type, or there is no memory.
    ///
    /// # Panics
    /// Panics as [`ArrayRefPre::allocate`] does.
    pub fn allocate_fixed(&self, mut store: impl AsContextMut, elements: &[Val]) -> Result<ArrayRef> {
        self.allocate_fixed_in(&mut store.as_context_mut().0.opaque, elements)
    }

    fn allocate_fixed_in(&self, store: &mut StoreOpaque, elements: &[Val]) -> Result<ArrayRef> {
        let len = u32::try_from(elements.len()).map_err(|_| Trap::GcOutOfMemory)?;
        self.allocate_in(store, &elements.iter().collect::<Vec<_>>(), len)
    }

    /// Creates an array of `len` elements, which are these in turn.
    fn allocate_in(&self, store: &mut StoreOpaque, elements: &[&Val], len: u32) -> Result<ArrayRef> {
        assert!(self.store == store.items.id(), "type prepared for another store");
        elements.iter().try_for_each(|element| element.check_type(&self.element, store))?;
        let new = place::allocate(store, self.id, len)?;
        for (index, element) in (0..len).zip(elements.iter().cycle()) {
            place::of_element(&self.ty, index).write(new.object(), store, element);
        }
        Ok(ArrayRef(new))
    }
}

impl ArrayRef {
    /// Creates an array of `len` elements that are all `element`.
    ///
    /// # Errors
    /// Returns an error if the element has another type, or there is no memory.
    ///
    /// # Panics
    /// Panics if the element refers to an item of another store.
    pub fn new(mut store: impl AsContextMut, ty: &ArrayType, element: &Val, len: u32) -> Result<ArrayRef> {
        let opaque = &mut store.as_context_mut().0.opaque;
        ArrayRefPre::new_in(opaque, ty)?.allocate_in(opaque, &[element], len)
    }

    /// Creates an array of these elements.
    ///
    /// # Errors
    /// Returns an error if an element has another type, or there is no memory.
    ///
    /// # Panics
    /// Panics if an element refers to an item of another store.
    pub fn new_fixed(mut store: impl AsContextMut, ty: &ArrayType, elements: &[Val]) -> Result<ArrayRef> {
        let opaque = &mut store.as_context_mut().0.opaque;
        ArrayRefPre::new_in(opaque, ty)?.allocate_fixed_in(opaque, elements)
    }

    /// Creates an array of bytes.
    ///
    /// # Errors
    /// Returns an error if elements of the type are no bytes, or there is no memory.
    pub fn new_from_i8_slice(mut store: impl AsContextMut, ty: &ArrayType, bytes: &[u8]) -> Result<ArrayRef> {
        check_bytes(ty)?;
        let opaque = &mut store.as_context_mut().0.opaque;
        let len = u32::try_from(bytes.len()).map_err(|_| Trap::GcOutOfMemory)?;
        let id = place::register(opaque, &ty.0)?;
        let new = place::allocate(opaque, id, len)?;
        let word = new.object().word_in(opaque);
        opaque.collected.objects.heap_mut().bytes_mut(word, bytes_of(len)).copy_from_slice(bytes);
        Ok(ArrayRef(new))
    }

    /// Copies the elements of an array of bytes.
    ///
    /// # Errors
    /// Returns an error if the elements are no bytes, or there is not exactly room for them; nothing is copied then.
    ///
    /// # Panics
    /// Panics if the array belongs to another store.
    pub fn copy_to_i8_slice(&self, store: impl AsContext, to: &mut [u8]) -> Result<()> {
        let opaque = &store.as_context().0.opaque;
        check_bytes(&self.type_in(opaque))?;
        let len = self.len_in(opaque);
        if to.len() != len as usize {
            let message = format_args!("room for {} bytes of an array of {len}", to.len());
            return Err(Error::new(ErrorKind::Type, message));
        }
        let word = self.0.object().word_in(opaque);
        to.copy_from_slice(opaque.collected.objects.heap().bytes(word, bytes_of(len)));
        Ok(())
    }

    /// Returns the type.
    ///
    /// # Panics
    /// Panics if the array belongs to another store.
    pub fn ty(&self, store: impl AsContext) -> ArrayType {
        self.type_in(&store.as_context().0.opaque)
    }

    fn type_in(&self, store: &StoreOpaque) -> ArrayType {
        let HeapType::ConcreteArray(ty) = self.0.type_in(store) else { unreachable!("it is an array") };
        ty
    }

    /// Returns whether it is of type `ty`.
    ///
    /// # Panics
    /// Panics if the array belongs to another store.
    pub fn matches_ty(&self, store: impl AsContext, ty: &ArrayType) -> bool {
        self.ty(store).matches(ty)
    }

    /// Returns the number of elements.
    ///
    /// # Panics
    /// Panics if the array belongs to another store.
    pub fn len(&self, store: impl AsContext) -> u32 {
        self.len_in(&store.as_context().0.opaque)
    }

    fn len_in(&self, store: &StoreOpaque) -> u32 {
        store.collected.objects.heap().head(self.0.object().word_in(store)).1
    }

    fn place(&self, store: &StoreOpaque, index: u32) -> Result<Place> {
        let len = self.len_in(store);
        match index < len {
            true => Ok(place::of_element(&self.type_in(store), index)),
            false => Err(place::beyond("element", index as usize, len as usize)),
        }
    }

    /// Returns an element.
    ///
    /// # Errors
    /// Returns an error if the index is beyond the end.
    ///
    /// # Panics
    /// Panics if the array belongs to another store.
    pub fn get(&self, store: impl AsContext, index: u32) -> Result<Val> {
        let opaque = &store.as_context().0.opaque;
        Ok(self.place(opaque, index)?.read(self.0.object(), opaque))
    }

    /// Returns all elements, in order.
    ///
    /// # Panics
    /// Panics if the array belongs to another store.
    pub fn elems(&self, store: impl AsContext) -> std::vec::IntoIter<Val> {
        let opaque = &store.as_context().0.opaque;
        let (ty, object) = (self.type_in(opaque), self.0.object());
        let places = (0..self.len_in(opaque)).map(|index| place::of_element(&ty, index));
        let elements: Vec<Val> = places.map(|place| place.read(object, opaque)).collect();
        elements.into_iter()
    }

    /// Changes an element.
    ///
    /// # Errors
    /// Returns an error if the index is beyond the end, the elements are not mutable, or the value has another
    /// type.
    ///
    /// # Panics
    /// Panics if the array belongs to another store.
    pub fn set(&self, mut store: impl AsContextMut, index: u32, value: Val) -> Result<()> {
        let opaque = &mut store.as_context_mut().0.opaque;
        self.place(opaque, index)?.change(self.0.object(), opaque, &value)
    }
}

fn check_bytes(ty: &ArrayType) -> Result<()> {
    match ty.element_type() {
        StorageType::I8 => Ok(()),
        _ => Err(Error::new(ErrorKind::Type, "the elements of the array are no bytes")),
    }
}

/// Returns the byte range, counted from the object's header, of `len` elements that are bytes.
fn bytes_of(len: u32) -> Range<usize> {
    FIELDS as usize..FIELDS as usize + len as usize
}

/// Methods for arrays of UTF-16 code units.
impl ArrayRef {
    /// Returns the code units from `start` to `end`.
    ///
    /// # Errors
    /// Returns an error if the range exceeds the array.
    ///
    /// # Panics
    /// Panics if its elements have another size.
    pub(crate) fn units(&self, store: &StoreOpaque, start: u32, end: u32) -> Result<Vec<u16>, Trap> {
        if start > end || end > self.len_in(store) {
            return Err(Trap::ArrayOutOfBounds);
        }
        let bytes = store
            .collected
            .objects
            .heap()
            .bytes(self.0.object().word_in(store), bytes_of_units(start, end - start));
        Ok(bytes.as_chunks().0.iter().map(|&unit| u16::from_le_bytes(unit)).collect())
    }

    /// Writes code units from `start` on.
    ///
    /// # Errors
    /// Returns an error if they exceed the array; nothing is written then.
    ///
    /// # Panics
    /// Panics as [`ArrayRef::units`] does.
    pub(crate) fn set_units(&self, store: &mut StoreOpaque, start: u32, units: &[u16]) -> Result<(), Trap> {
        let room = self.len_in(store).checked_sub(start).ok_or(Trap::ArrayOutOfBounds)?;
        if units.len() > room as usize {
            return Err(Trap::ArrayOutOfBounds);
        }
        let word = self.0.object().word_in(store);
        let bytes =
            store.collected.objects.heap_mut().bytes_mut(word, bytes_of_units(start, units.len() as u32));
        for (bytes, unit) in bytes.as_chunks_mut().0.iter_mut().zip(units) {
            *bytes = unit.to_le_bytes();
        }
        Ok(())
    }
}

/// Returns the byte range, counted from the object's header, of `len` UTF-16 code units of an array.
fn bytes_of_units(start: u32, len: u32) -> Range<usize> {
    let at = |index: usize| FIELDS as usize + index * size_of::<u16>();
    at(start as usize)..at(start as usize + len as usize)
}
