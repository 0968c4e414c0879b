//! Values.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;

use wprof::{Ref, Result, ValType};

use crate::error::wrong;
use crate::reference::Reference;
use crate::store::StoreRef;
use crate::types::Kind;
use crate::vector::{Owned, vector};

/// The C type `wasm_val_t`; it owns the reference that it holds.
#[repr(C)]
pub struct Val {
    kind: u8,
    of: Of,
}

/// The payload, which the kind selects. A reference is null or the only pointer to its box.
#[repr(C)]
#[derive(Clone, Copy)]
union Of {
    i32: i32,
    i64: i64,
    f32: u32,
    f64: u64,
    reference: *mut Reference,
}

impl Default for Val {
    fn default() -> Self {
        Val { kind: Kind::I32.0, of: Of { i64: 0 } }
    }
}

impl Val {
    /// Creates a reference of a kind; `None` is null.
    fn reference(kind: Kind, reference: Option<Reference>) -> Val {
        let reference = reference.map_or(ptr::null_mut(), |reference| Box::into_raw(Box::new(reference)));
        Val { kind: kind.0, of: Of { reference } }
    }

    /// Converts a WebAssembly value. A value that the API does not name becomes null, of kind `WPROF_OTHER`.
    pub fn new(store: &StoreRef, value: &wprof::Val) -> Val {
        let (kind, of) = match value {
            wprof::Val::I32(value) => (Kind::I32, Of { i32: *value }),
            wprof::Val::I64(value) => (Kind::I64, Of { i64: *value }),
            wprof::Val::F32(bits) => (Kind::F32, Of { f32: *bits }),
            wprof::Val::F64(bits) => (Kind::F64, Of { f64: *bits }),
            wprof::Val::FuncRef(func) => {
                return Val::reference(Kind::FUNCREF, Reference::to_value(store, &Ref::Func(*func)));
            }
            wprof::Val::ExternRef(value) => {
                return Val::reference(
                    Kind::EXTERNREF,
                    Reference::to_value(store, &Ref::Extern(value.clone())),
                );
            }
            _ => return Val::reference(Kind::OTHER, None),
        };
        Val { kind: kind.0, of }
    }

    /// Returns the referenced object, if the value is a reference and not null.
    fn referred(&self) -> Option<&Reference> {
        if self.kind < Kind::EXTERNREF.0 {
            return None;
        }
        // SAFETY: the kind says that the field holds a reference, which the value owns.
        unsafe { self.of.reference.as_ref() }
    }

    /// Converts the value into a WebAssembly value.
    ///
    /// # Errors
    /// Returns an error if the reference cannot be a value, or the kind is unknown.
    pub fn value(&self) -> Result<wprof::Val> {
        Ok(match Kind(self.kind) {
            // SAFETY: the kind says which field was written, and any bits are a valid number.
            Kind::I32 => wprof::Val::I32(unsafe { self.of.i32 }),
            // SAFETY: as above.
            Kind::I64 => wprof::Val::I64(unsafe { self.of.i64 }),
            // SAFETY: as above.
            Kind::F32 => wprof::Val::F32(unsafe { self.of.f32 }),
            // SAFETY: as above.
            Kind::F64 => wprof::Val::F64(unsafe { self.of.f64 }),
            kind => return to_ref(self.referred(), kind).map(Into::into),
        })
    }
}

/// Converts a reference into a WebAssembly value of reference kind `kind`.
///
/// # Errors
/// Returns an error if the referent cannot be a value, or is of another kind.
pub fn to_ref(reference: Option<&Reference>, kind: Kind) -> Result<Ref> {
    let Some(ValType::Ref(ty)) = kind.ty() else {
        return Err(wrong(format_args!("values of kind {} cannot be passed in this API", kind.0)));
    };
    let Some(reference) = reference else { return Ok(Ref::null(&ty)) };
    let value = reference.value().filter(|value| value.ty() == ty);
    value.ok_or_else(|| wrong(format_args!("it cannot be a {ty}: give a function or a foreign object")))
}

impl Clone for Val {
    fn clone(&self) -> Self {
        match self.kind < Kind::EXTERNREF.0 {
            true => Val { kind: self.kind, of: self.of },
            false => Val::reference(Kind(self.kind), self.referred().cloned()),
        }
    }
}

impl Drop for Val {
    fn drop(&mut self) {
        // SAFETY: the kind says that the field holds a reference, which the value owns.
        if self.kind >= Kind::EXTERNREF.0 && !unsafe { self.of.reference }.is_null() {
            // SAFETY: as above; the value is being dropped, so nobody uses the reference any more.
            drop(unsafe { Box::from_raw(self.of.reference) });
        }
    }
}

vector!("val", Val);

export! {
    ["wasm_val_delete"] fn(value: Option<&mut ManuallyDrop<Val>>) {
        if let Some(value) = value {
            drop(std::mem::take(&mut **value));
        }
    }
    ["wasm_val_copy"] fn(out: &mut MaybeUninit<Val>, value: &Val) {
        out.write(value.clone());
    }
}

/// Boxes a reference for C to own, or returns null.
pub fn given(reference: Option<Reference>) -> Owned<Reference> {
    reference.map(Box::new)
}
