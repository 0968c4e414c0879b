//! References to values that wasm code creates and can inspect: structures, arrays, 31-bit integers.

use std::fmt;
use std::sync::Arc;

use wprof_jit::abi::object::{HOST, I31 as I31_BIT, TAG_MASK, i31_word};

use super::array_ref::ArrayRef;
use super::struct_ref::StructRef;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::instances::stored::StoreId;
use crate::{AsContext, ExternRef, HeapType};

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
pub(super) struct Object {
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

    /// Returns whether it is an integer.
    pub fn is_i31(&self) -> bool {
        self.as_i31().is_some()
    }

    /// Returns the integer.
    ///
    /// # Panics
    /// Panics if it is none.
    pub fn unwrap_i31(&self) -> I31 {
        self.as_i31().expect("the reference is an i31")
    }

    /// Returns whether it is a structure.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn is_struct(&self, store: impl AsContext) -> bool {
        self.as_struct(store).is_some()
    }

    /// Returns the structure.
    ///
    /// # Panics
    /// Panics if it is none, or belongs to another store.
    pub fn unwrap_struct(&self, store: impl AsContext) -> StructRef {
        self.as_struct(store).expect("the reference is a structure")
    }

    /// Returns whether it is an array.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn is_array(&self, store: impl AsContext) -> bool {
        self.as_array(store).is_some()
    }

    /// Returns the array.
    ///
    /// # Panics
    /// Panics if it is none, or belongs to another store.
    pub fn unwrap_array(&self, store: impl AsContext) -> ArrayRef {
        self.as_array(store).expect("the reference is an array")
    }

    /// Returns whether it can be compared for identity: everything but host values can.
    pub fn is_eqref(&self) -> bool {
        !matches!(self.0, Kind::Host(_))
    }

    /// Returns the reference as an `eqref`, if it is one.
    pub fn as_eqref(&self) -> Option<EqRef> {
        self.is_eqref().then(|| EqRef(self.clone()))
    }

    /// Returns the reference as an `eqref`.
    ///
    /// # Panics
    /// Panics if it is a host value.
    pub fn unwrap_eqref(&self) -> EqRef {
        self.as_eqref().expect("the reference is no host value")
    }

    /// Returns whether it is of type `ty`.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn matches_ty(&self, store: impl AsContext, ty: &HeapType) -> bool {
        self.ty(store).matches(ty)
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

    pub(super) fn object(&self) -> &Object {
        match &self.0 {
            Kind::Object(object) => object,
            _ => unreachable!("a structure or array is an object"),
        }
    }
}

impl Object {
    pub(super) fn word_in(&self, store: &StoreOpaque) -> u64 {
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

/// An `eqref` that is not null: an integer, a structure or an array.
#[derive(Clone, Debug)]
pub struct EqRef(AnyRef);

impl From<I31> for EqRef {
    fn from(value: I31) -> EqRef {
        EqRef(value.into())
    }
}

impl From<EqRef> for AnyRef {
    fn from(value: EqRef) -> AnyRef {
        value.0
    }
}

impl EqRef {
    /// Returns the reference as an `anyref`, which has what can be asked of it.
    pub fn to_anyref(&self) -> AnyRef {
        self.0.clone()
    }

    /// Returns whether both are the same object, or equal integers, as `ref.eq` does.
    pub fn ref_eq(a: &EqRef, b: &EqRef) -> bool {
        AnyRef::ref_eq(&a.0, &b.0)
    }
}

/// Defines how a reference to an object becomes one of a more general type.
macro_rules! generalized {
    ($($ty:ident)*) => {
        $(
            impl From<$ty> for AnyRef {
                fn from(value: $ty) -> AnyRef {
                    value.0
                }
            }

            impl From<$ty> for EqRef {
                fn from(value: $ty) -> EqRef {
                    EqRef(value.0)
                }
            }

            impl $ty {
                /// Returns the reference as an `anyref`.
                pub fn to_anyref(&self) -> AnyRef {
                    self.0.clone()
                }

                /// Returns the reference as an `eqref`.
                pub fn to_eqref(&self) -> EqRef {
                    EqRef(self.0.clone())
                }
            }
        )*
    };
}

generalized! { StructRef ArrayRef }

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
