//! Fields of structures and elements of arrays: where they lie, and what they hold.

use std::ops::Range;

use wprof_jit::abi::object::{self, FIELDS, StructLayout};

use super::anyref::{AnyRef, Object};
use super::val::Val;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::types::defined::DefinedType;
use crate::{ArrayType, Error, ErrorKind, Result, StructType, ValType};

/// The offset and type of a field or element.
#[derive(Clone, Debug)]
pub struct Place {
    at: usize,
    storage: wasmparser::StorageType,
    pub ty: ValType,
    mutable: bool,
}

impl Place {
    fn new(ty: &DefinedType, field: wasmparser::FieldType, at: usize) -> Place {
        let storage = field.element_type;
        let ty = match storage {
            wasmparser::StorageType::Val(value) => ValType::from_parser(value, ty),
            _ => ValType::I32,
        };
        Place { at, storage, ty, mutable: field.mutable }
    }

    fn bytes(&self) -> Range<usize> {
        self.at..self.at + object::size_of(self.storage) as usize
    }

    /// Returns the value there.
    pub fn read(&self, object: &Object, store: &StoreOpaque) -> Val {
        let mut value = VmValue::default();
        let bytes = store.collected.objects.heap().bytes(object.word_in(store), self.bytes());
        value.0[..bytes.len()].copy_from_slice(bytes);
        Val::of_field(value, &self.ty, store)
    }

    /// Stores a value of the type of the field.
    pub fn write(&self, object: &Object, store: &mut StoreOpaque, value: &Val) {
        let (word, value) = (object.word_in(store), value.to_vm(store));
        let bytes = store.collected.objects.heap_mut().bytes_mut(word, self.bytes());
        let len = bytes.len();
        bytes.copy_from_slice(&value.0[..len]);
    }

    /// Changes the value.
    ///
    /// # Errors
    /// Returns an error if the field is not mutable, or the value has another type.
    pub fn change(&self, object: &Object, store: &mut StoreOpaque, value: &Val) -> Result<()> {
        if !self.mutable {
            return Err(Error::new(ErrorKind::Type, "the field cannot be changed: it is not mutable"));
        }
        value.check_type(&self.ty, store)?;
        self.write(object, store, value);
        Ok(())
    }
}

/// Returns the error of a number that is too large.
pub fn beyond(what: &str, index: usize, len: usize) -> Error {
    Error::new(ErrorKind::Type, format_args!("{what} {index} of {len}"))
}

/// Makes it possible to allocate objects of a type, from now on; returns the type's id, which stays in use as long as the
/// store.
///
/// # Errors
/// Returns an error if the system has no room for a heap.
pub fn register(store: &mut StoreOpaque, ty: &DefinedType) -> Result<u32> {
    let entry = store.engine().types().entry(ty);
    let limit = store.items.limits().heap_bytes;
    store.collected.objects.add_types(std::slice::from_ref(&entry), limit)?;
    Ok(entry.id)
}

/// Allocates an object of a registered type, with its header and no contents.
///
/// # Errors
/// Returns an error if there is no memory.
pub fn allocate(store: &mut StoreOpaque, id: u32, len: u32) -> Result<AnyRef> {
    let word = store.allocate(id, len)?;
    Ok(AnyRef::from_word(word, store))
}

/// Returns the places of the fields of a structure.
pub fn of_fields(ty: &StructType) -> Vec<Place> {
    let fields = &ty.0.definition().unwrap_struct().fields;
    let layout = StructLayout::new(fields);
    let places = fields.iter().zip(&layout.offsets);
    places.map(|(&field, &at)| Place::new(&ty.0, field, at as usize)).collect()
}

/// Returns the place of an element of an array.
pub fn of_element(ty: &ArrayType, index: u32) -> Place {
    let field = ty.0.definition().unwrap_array().0;
    Place::new(&ty.0, field, FIELDS as usize + index as usize * object::size_of(field.element_type) as usize)
}
