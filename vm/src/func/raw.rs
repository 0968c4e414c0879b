//! Values as machine code passes them, for callers that know the types.

use std::sync::Arc;

use super::{Func, HostFunc, error};
use crate::caller::Caller;
use crate::runtime::control::{enter, host_calls};
use crate::runtime::instances::abi::VmValue;
use crate::store::StoreInner;
use crate::{AsContext, AsContextMut, FuncType, Result, Val, ValType};

/// A value without its type: 16 bytes, of which narrow values have the lowest. Reading it as another type gives some bits
/// of it. References are words that mean something to their store alone, and only until it runs wasm code or collects
/// garbage.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct ValRaw(VmValue);

impl ValRaw {
    /// Creates an i32.
    pub fn i32(value: i32) -> ValRaw {
        ValRaw(VmValue::from_u32(value.cast_unsigned()))
    }

    /// Creates an i64.
    pub fn i64(value: i64) -> ValRaw {
        ValRaw(VmValue::from_u64(value.cast_unsigned()))
    }

    /// Creates an f32 from its bits.
    pub fn f32(bits: u32) -> ValRaw {
        ValRaw(VmValue::from_u32(bits))
    }

    /// Creates an f64 from its bits.
    pub fn f64(bits: u64) -> ValRaw {
        ValRaw(VmValue::from_u64(bits))
    }

    /// Creates a v128, lane 0 lowest.
    pub fn v128(value: u128) -> ValRaw {
        ValRaw(VmValue::from_u128(value))
    }

    /// Returns the lowest 32 bits as an i32.
    pub fn get_i32(self) -> i32 {
        self.0.u32().cast_signed()
    }

    /// Returns the lowest 64 bits as an i64.
    pub fn get_i64(self) -> i64 {
        self.0.u64().cast_signed()
    }

    /// Returns the lowest 32 bits, those of an f32.
    pub fn get_f32(self) -> u32 {
        self.0.u32()
    }

    /// Returns the lowest 64 bits, those of an f64.
    pub fn get_f64(self) -> u64 {
        self.0.u64()
    }

    /// Returns all bits.
    pub fn get_v128(self) -> u128 {
        self.0.u128()
    }
}

/// Returns values as machine code has them.
fn as_vm(values: &mut [ValRaw]) -> &mut [VmValue] {
    // SAFETY: a `ValRaw` is nothing but a `VmValue`, any bits of which are valid.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}

/// Returns values of machine code as the embedder has them.
fn as_raw(values: &mut [VmValue]) -> &mut [ValRaw] {
    // SAFETY: as in `as_vm`.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}

impl Val {
    /// Returns the value without its type.
    ///
    /// # Panics
    /// Panics if it is a reference of another store.
    pub fn to_raw(&self, mut store: impl AsContextMut) -> ValRaw {
        ValRaw(self.to_vm(&mut store.as_context_mut().0.opaque))
    }

    /// Returns a value of type `ty`.
    ///
    /// # Safety
    /// The caller guarantees that a reference is of this type, and comes from this store, which has neither run wasm code nor
    /// collected garbage since.
    pub unsafe fn from_raw(store: impl AsContext, raw: ValRaw, ty: &ValType) -> Val {
        // SAFETY: the caller guarantees it.
        unsafe { Val::from_vm(raw.0, ty, &store.as_context().0.opaque) }
    }
}

impl Func {
    /// Calls the function without any check of types. `values` has the arguments, and then the results, from its begin on.
    ///
    /// # Errors
    /// Fails if the function traps, or if a host function that it calls fails.
    ///
    /// # Panics
    /// Panics if there are fewer values than arguments, or than results; if the function belongs to another store, or if a
    /// host function that it calls panics.
    ///
    /// # Safety
    /// The caller guarantees that references among the arguments are of the types of the parameters, and come from this
    /// store, which has neither run wasm code nor collected garbage since.
    pub unsafe fn call_unchecked(&self, mut store: impl AsContextMut, values: &mut [ValRaw]) -> Result<()> {
        let store = store.as_context_mut().0;
        let len = store.opaque.items.func_type(self.0).ty.array_len();
        assert!(values.len() >= len, "room for {len} values");
        // SAFETY: there is room, and the caller guarantees the types.
        let called = unsafe { enter::call(store, self.0, as_vm(values)) };
        called.map_err(|ended| error(ended, &store.opaque))
    }

    /// Creates a host function of type `ty` that gets its arguments, and stores its results, without their types: both
    /// from the begin of the values on, of which there are as many as are needed for the longer list.
    ///
    /// # Panics
    /// Panics if the system has no memory for it.
    ///
    /// # Safety
    /// The caller guarantees that references that the closure stores as results are of the types of the results, and come from
    /// the store that calls it, which has neither run wasm code nor collected garbage since.
    pub unsafe fn new_unchecked<T: 'static>(
        mut store: impl AsContextMut<Data = T>,
        ty: FuncType,
        func: impl Fn(Caller<'_, T>, &mut [ValRaw]) -> Result<()> + Send + Sync + 'static,
    ) -> Func {
        let func = Arc::new(unchecked(ty, func));
        Func(host_calls::add(store.as_context_mut().0, &func, None).expect("memory for a stub"))
    }
}

/// Creates a host function of type `ty` that knows the types of its values.
pub fn unchecked<T: 'static>(
    ty: FuncType,
    func: impl Fn(Caller<'_, T>, &mut [ValRaw]) -> Result<()> + Send + Sync + 'static,
) -> HostFunc<T> {
    let code = Box::new(move |store: &mut StoreInner<T>, instance, values: &mut [VmValue]| {
        func(Caller::new(store, instance), as_raw(values))
    });
    HostFunc { ty, code }
}
