//! References to structures, as the host holds them.

use super::anyref::AnyRef;
use super::place::{self, Place};
use super::val::Val;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::stored::StoreId;
use crate::{AsContext, AsContextMut, HeapType, Result, StructType};

/// A structure of a store, which lives as long as a reference to it exists.
#[derive(Clone, Debug)]
pub struct StructRef(pub(super) AnyRef);

/// The type of structures that a store makes many of. To make one from it takes no look-up of the type and no computation
/// of its layout.
#[derive(Clone, Debug)]
pub struct StructRefPre {
    ty: StructType,
    store: StoreId,
    id: u32,
    places: Vec<Place>,
}

impl StructRefPre {
    /// Prepares a store to make structures of a type.
    ///
    /// # Errors
    /// Returns an error if the system has no room for a heap.
    pub fn new(mut store: impl AsContextMut, ty: &StructType) -> Result<StructRefPre> {
        StructRefPre::new_in(&mut store.as_context_mut().0.opaque, ty)
    }

    fn new_in(store: &mut StoreOpaque, ty: &StructType) -> Result<StructRefPre> {
        let id = place::register(store, &ty.0)?;
        Ok(StructRefPre { ty: ty.clone(), store: store.items.id(), id, places: place::of_fields(ty) })
    }

    /// Returns the type.
    pub fn ty(&self) -> &StructType {
        &self.ty
    }

    /// Creates a structure with these fields.
    ///
    /// # Errors
    /// Returns an error if the fields have other types, or there is no memory.
    ///
    /// # Panics
    /// Panics if the store is another one, or a field refers to an item of another.
    pub fn allocate(&self, mut store: impl AsContextMut, fields: &[Val]) -> Result<StructRef> {
        self.allocate_in(&mut store.as_context_mut().0.opaque, fields)
    }

    fn allocate_in(&self, store: &mut StoreOpaque, fields: &[Val]) -> Result<StructRef> {
        assert!(self.store == store.items.id(), "type prepared for another store");
        if self.places.len() != fields.len() {
            return Err(place::beyond("field", fields.len(), self.places.len()));
        }
        for (place, value) in self.places.iter().zip(fields) {
            value.check_type(&place.ty, store)?;
        }
        let new = place::allocate(store, self.id, 0)?;
        for (place, value) in self.places.iter().zip(fields) {
            place.write(new.object(), store, value);
        }
        Ok(StructRef(new))
    }
}

impl StructRef {
    /// Creates a structure with these fields. [`StructRefPre`] does so faster for many.
    ///
    /// # Errors
    /// Returns an error if the fields have other types, or there is no memory.
    ///
    /// # Panics
    /// Panics if a field refers to an item of another store.
    pub fn new(mut store: impl AsContextMut, ty: &StructType, fields: &[Val]) -> Result<StructRef> {
        let opaque = &mut store.as_context_mut().0.opaque;
        StructRefPre::new_in(opaque, ty)?.allocate_in(opaque, fields)
    }

    /// Returns the type.
    ///
    /// # Panics
    /// Panics if the structure belongs to another store.
    pub fn ty(&self, store: impl AsContext) -> StructType {
        self.type_in(&store.as_context().0.opaque)
    }

    fn type_in(&self, store: &StoreOpaque) -> StructType {
        let HeapType::ConcreteStruct(ty) = self.0.type_in(store) else { unreachable!("it is a structure") };
        ty
    }

    /// Returns whether it is of type `ty`.
    ///
    /// # Panics
    /// Panics if the structure belongs to another store.
    pub fn matches_ty(&self, store: impl AsContext, ty: &StructType) -> bool {
        self.ty(store).matches(ty)
    }

    fn place(&self, store: &StoreOpaque, field: usize) -> Result<Place> {
        let mut places = place::of_fields(&self.type_in(store));
        match field < places.len() {
            true => Ok(places.swap_remove(field)),
            false => Err(place::beyond("field", field, places.len())),
        }
    }

    /// Returns a field.
    ///
    /// # Errors
    /// Returns an error if there is no field with this number.
    ///
    /// # Panics
    /// Panics if the structure belongs to another store.
    pub fn field(&self, store: impl AsContext, field: usize) -> Result<Val> {
        let opaque = &store.as_context().0.opaque;
        Ok(self.place(opaque, field)?.read(self.0.object(), opaque))
    }

    /// Returns all fields, in order.
    ///
    /// # Panics
    /// Panics if the structure belongs to another store.
    pub fn fields(&self, store: impl AsContext) -> std::vec::IntoIter<Val> {
        let opaque = &store.as_context().0.opaque;
        let places = place::of_fields(&self.type_in(opaque));
        let fields: Vec<Val> = places.iter().map(|place| place.read(self.0.object(), opaque)).collect();
        fields.into_iter()
    }

    /// Changes a field.
    ///
    /// # Errors
    /// Returns an error if there is no field with this number, it is not mutable, or the value has another type.
    ///
    /// # Panics
    /// Panics if the structure belongs to another store.
    pub fn set_field(&self, mut store: impl AsContextMut, field: usize, value: Val) -> Result<()> {
        let opaque = &mut store.as_context_mut().0.opaque;
        self.place(opaque, field)?.change(self.0.object(), opaque, &value)
    }
}
