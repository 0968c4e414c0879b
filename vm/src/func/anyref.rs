//! References to values that wasm code creates and can inspect: structures, arrays, 31-bit integers.

use std::fmt;
use std::sync::Arc;

use wprof_jit::abi::object::{self, FIELDS, HOST, I31 as I31_BIT, StructLayout, TAG_MASK, i31_word};

use super::val::Val;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::stored::StoreId;
use crate::types::defined::DefinedType;
use crate::types::{ArrayType, HeapType, StructType};
use crate::{AsContext, AsContextMut, Error, ErrorKind, ExternRef, Result, Trap, ValType};

/// A 31-bit integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct I31(u32);

impl I31 {
    /// Creates an integer from the low 31 bits of `value`.
    pub fn wrapping_u32(value: u32) -> I31 {
        I31(value & (u32::MAX >> 1))
    }

    /// Creates an integer from the low 31 bits of `value`.
    pub fn wrapping_i32(value: i32) -> I31 {
        I31::wrapping_u32(value as u32)
    }

    /// Returns the integer, zero-extended.
    pub fn get_u32(self) -> u32 {
        self.0
    }

    /// Returns the integer, sign-extended.
    pub fn get_i32(self) -> i32 {
        (self.0 << 1) as i32 >> 1
    }
}

/// An `anyref` that is not null: an integer, a host value that wasm code has converted, or an object of a store,
/// which lives as long as a reference to it exists.
#[derive(Clone)]
pub struct AnyRef(Kind);

#[derive(Clone)]
enum Kind {
    I31(I31),
    Host(ExternRef),
    Object(Object),
}

#[derive(Clone)]
struct Object {
    store: StoreId,
    word: u64,
    /// The store keeps the object alive while this root exists.
    _root: Arc<()>,
}

impl From<I31> for AnyRef {
    fn from(value: I31) -> AnyRef {
        AnyRef(Kind::I31(value))
    }
}

impl AnyRef {
    /// Converts a host value as `any.convert_extern` does.
    pub fn convert_extern(value: ExternRef) -> AnyRef {
        match value.downcast_ref::<AnyRef>() {
            Some(any) => any.clone(),
            None => AnyRef(Kind::Host(value)),
        }
    }

    /// Converts the reference as `extern.convert_any` does. For a value that did not come from the host, the data
    /// of the result is this reference.
    pub fn convert_to_extern(&self) -> ExternRef {
        match &self.0 {
            Kind::Host(value) => value.clone(),
            _ => ExternRef::new(self.clone()),
        }
    }

    /// Returns the reference for a word that is not 0.
    pub(crate) fn from_word(word: u64, store: &StoreOpaque) -> AnyRef {
        AnyRef(match word & TAG_MASK {
            _ if word & I31_BIT != 0 => Kind::I31(I31(word as u32 >> 1)),
            HOST => Kind::Host(store.collected.externs.get(word).expect("it is not null")),
            _ => Kind::Object(Object {
                store: store.items.id(),
                word,
                _root: store.collected.objects.hold(word),
            }),
        })
    }

    /// Returns the word by which wasm code refers to this value.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub(crate) fn to_word(&self, store: &mut StoreOpaque) -> u64 {
        match &self.0 {
            Kind::I31(value) => i31_word(value.0),
            Kind::Host(value) => store.collected.externs.insert(Some(value.clone())),
            Kind::Object(object) => object.word_in(store),
        }
    }

    /// Returns the integer, if it is one.
    pub fn as_i31(&self) -> Option<I31> {
        if let Kind::I31(value) = self.0 { Some(value) } else { None }
    }

    /// Returns the structure, if it is one.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn as_struct(&self, store: impl AsContext) -> Option<StructRef> {
        matches!(self.ty(store), HeapType::ConcreteStruct(_)).then(|| StructRef(self.clone()))
    }

    /// Returns the array, if it is one.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn as_array(&self, store: impl AsContext) -> Option<ArrayRef> {
        matches!(self.ty(store), HeapType::ConcreteArray(_)).then(|| ArrayRef(self.clone()))
    }

    /// Returns the type.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn ty(&self, store: impl AsContext) -> HeapType {
        self.type_in(&store.as_context().0.opaque)
    }

    pub(crate) fn type_in(&self, store: &StoreOpaque) -> HeapType {
        match &self.0 {
            Kind::I31(_) => HeapType::I31,
            Kind::Host(_) => HeapType::Any,
            Kind::Object(object) => {
                HeapType::new(store.collected.objects.type_of(object.word_in(store)).ty.clone())
            }
        }
    }

    /// Returns whether both are the same object, or equal integers, as `ref.eq` does.
    pub fn ref_eq(a: &AnyRef, b: &AnyRef) -> bool {
        match (&a.0, &b.0) {
            (Kind::I31(a), Kind::I31(b)) => a == b,
            (Kind::Object(a), Kind::Object(b)) => (a.store, a.word) == (b.store, b.word),
            (Kind::Host(a), Kind::Host(b)) => ExternRef::ptr_eq(a, b),
            _ => false,
        }
    }

    fn object(&self) -> &Object {
        match &self.0 {
            Kind::Object(object) => object,
            _ => unreachable!("a structure or array is an object"),
        }
    }
}

impl Object {
    fn word_in(&self, store: &StoreOpaque) -> u64 {
        assert!(
            self.store == store.items.id(),
            "object used with the wrong store: it belongs to another one"
        );
        self.word
    }
}

impl fmt::Debug for AnyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::I31(value) => value.fmt(f),
            Kind::Host(value) => value.fmt(f),
            Kind::Object(object) => f.debug_tuple("AnyRef").field(&(object.word as *const ())).finish(),
        }
    }
}

/// A structure.
#[derive(Clone, Debug)]
pub struct StructRef(AnyRef);

/// An array.
#[derive(Clone, Debug)]
pub struct ArrayRef(AnyRef);

macro_rules! any {
    ($($ty:ident)*) => {
        $(
            impl From<$ty> for AnyRef {
                fn from(value: $ty) -> AnyRef {
                    value.0
                }
            }

            impl $ty {
                /// Returns the reference as an `anyref`.
                pub fn to_anyref(&self) -> AnyRef {
                    self.0.clone()
                }
            }
        )*
    };
}

any! { StructRef ArrayRef }

/// The offset and type of a field or element.
struct Place {
    at: usize,
    storage: wasmparser::StorageType,
    ty: ValType,
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

    fn bytes(&self) -> std::ops::Range<usize> {
        self.at..self.at + object::size_of(self.storage) as usize
    }

    fn read(&self, object: &Object, store: &StoreOpaque) -> Val {
        let mut value = VmValue::default();
        let bytes = store.collected.objects.heap().bytes(object.word_in(store), self.bytes());
        value.0[..bytes.len()].copy_from_slice(bytes);
        Val::of_field(value, &self.ty, store)
    }

    fn write(&self, object: &Object, store: &mut StoreOpaque, value: &Val) {
        let (word, value) = (object.word_in(store), value.to_vm(store));
        let bytes = store.collected.objects.heap_mut().bytes_mut(word, self.bytes());
        let len = bytes.len();
        bytes.copy_from_slice(&value.0[..len]);
    }

    fn change(&self, object: &Object, store: &mut StoreOpaque, value: &Val) -> Result<()> {
        if !self.mutable {
            return Err(Error::new(ErrorKind::Type, "the field cannot be changed: it is not mutable"));
        }
        value.check_type(&self.ty, store)?;
        self.write(object, store, value);
        Ok(())
    }
}

fn beyond(what: &str, index: usize, len: usize) -> Error {
    Error::new(ErrorKind::Type, format_args!("{what} {index} of {len}"))
}

/// Allocates an object with its header and no contents.
fn allocate(store: &mut StoreOpaque, ty: &DefinedType, len: u32) -> Result<AnyRef> {
    let entry = store.engine().types().entry(ty);
    let limit = store.items.limits().heap_bytes;
    store.collected.objects.add_types(std::slice::from_ref(&entry), limit)?;
    let word = store.allocate(entry.id, len)?;
    Ok(AnyRef::from_word(word, store))
}

impl StructRef {
    /// Creates a structure with these fields.
    ///
    /// # Errors
    /// Returns an error if the fields have other types, or there is no memory.
    pub fn new(mut store: impl AsContextMut, ty: &StructType, fields: &[Val]) -> Result<StructRef> {
        let opaque = &mut store.as_context_mut().0.opaque;
        let places = places(ty);
        if places.len() != fields.len() {
            return Err(beyond("field", fields.len(), places.len()));
        }
        for (place, value) in places.iter().zip(fields) {
            value.check_type(&place.ty, opaque)?;
        }
        let new = allocate(opaque, &ty.0, 0)?;
        for (place, value) in places.iter().zip(fields) {
            place.write(new.object(), opaque, value);
        }
        Ok(StructRef(new))
    }

    fn place(&self, store: &StoreOpaque, field: usize) -> Result<Place> {
        let HeapType::ConcreteStruct(ty) = self.0.type_in(store) else { unreachable!("it is a structure") };
        let mut places = places(&ty);
        match field < places.len() {
            true => Ok(places.swap_remove(field)),
            false => Err(beyond("field", field, places.len())),
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

fn places(ty: &StructType) -> Vec<Place> {
    let fields = &ty.0.definition().unwrap_struct().fields;
    let layout = StructLayout::new(fields);
    let places = fields.iter().zip(&layout.offsets);
    places.map(|(&field, &at)| Place::new(&ty.0, field, at as usize)).collect()
}

impl ArrayRef {
    /// Creates an array of `len` elements that are all `element`.
    ///
    /// # Errors
    /// Returns an error if the element has another type, or there is no memory.
    pub fn new(mut store: impl AsContextMut, ty: &ArrayType, element: &Val, len: u32) -> Result<ArrayRef> {
        let opaque = &mut store.as_context_mut().0.opaque;
        element.check_type(&place_in(ty, 0).ty, opaque)?;
        let new = allocate(opaque, &ty.0, len)?;
        (0..len).for_each(|index| place_in(ty, index).write(new.object(), opaque, element));
        Ok(ArrayRef(new))
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
        let HeapType::ConcreteArray(ty) = self.0.type_in(store) else { unreachable!("it is an array") };
        let len = self.len_in(store);
        match index < len {
            true => Ok(place_in(&ty, index)),
            false => Err(beyond("element", index as usize, len as usize)),
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
fn bytes_of_units(start: u32, len: u32) -> std::ops::Range<usize> {
    let at = |index: usize| FIELDS as usize + index * size_of::<u16>();
    at(start as usize)..at(start as usize + len as usize)
}

fn place_in(ty: &ArrayType, index: u32) -> Place {
    let field = ty.0.definition().unwrap_array().0;
    let at = FIELDS as usize + index as usize * object::size_of(field.element_type) as usize;
    Place::new(&ty.0, field, at)
}

/// Returns the word by which wasm code refers to a host value.
pub(crate) fn extern_word(value: Option<ExternRef>, store: &mut StoreOpaque) -> u64 {
    match value.as_ref().and_then(ExternRef::downcast_ref::<AnyRef>) {
        Some(any) => any.to_word(store),
        None => store.collected.externs.insert(value),
    }
}

/// Returns the host value of a wasm word; `None` if the word is 0.
pub(crate) fn extern_of_word(word: u64, store: &StoreOpaque) -> Option<ExternRef> {
    (word != 0).then(|| AnyRef::from_word(word, store).convert_to_extern())
}
