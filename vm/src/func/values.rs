//! Rust types that stand for wasm types.

use super::anyref::{self, AnyRef};
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{ExnRef, ExternRef, Func, ValType};

/// A Rust type that stands for a wasm type: `i32`, `u32`, `i64`, `u64`, `f32`, `f64`, `u128` (v128),
/// `Option<Func>` (funcref), `Option<ExternRef>` (externref), `Option<ExnRef>` (exnref), `Option<AnyRef>` (anyref).
pub trait WasmTy: Send + sealed::Sealed + 'static {
    #[doc(hidden)]
    const TYPE: ValType;

    #[doc(hidden)]
    fn to_vm(self, store: &mut StoreOpaque) -> VmValue;

    /// # Safety
    /// The caller guarantees that `value` is of type `TYPE` and, if a reference, comes from wasm code of this
    /// store.
    #[doc(hidden)]
    unsafe fn from_vm(value: VmValue, store: &StoreOpaque) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! wasm_types {
    ($($rust:ty = $ty:expr, |$v:ident, $s:ident| $to:expr, |$w:ident, $t:ident| $from:expr;)*) => {
        $(
            impl sealed::Sealed for $rust {}

            impl WasmTy for $rust {
                const TYPE: ValType = $ty;

                fn to_vm(self, $s: &mut StoreOpaque) -> VmValue {
                    let $v = self;
                    $to
                }

                unsafe fn from_vm($w: VmValue, $t: &StoreOpaque) -> Self {
                    $from
                }
            }
        )*
    };
}

wasm_types! {
    i32 = ValType::I32, |v, _s| VmValue::from_u32(v as u32), |v, _s| v.u32() as i32;
    u32 = ValType::I32, |v, _s| VmValue::from_u32(v), |v, _s| v.u32();
    i64 = ValType::I64, |v, _s| VmValue::from_u64(v as u64), |v, _s| v.u64() as i64;
    u64 = ValType::I64, |v, _s| VmValue::from_u64(v), |v, _s| v.u64();
    f32 = ValType::F32, |v, _s| VmValue::from_u32(v.to_bits()), |v, _s| f32::from_bits(v.u32());
    f64 = ValType::F64, |v, _s| VmValue::from_u64(v.to_bits()), |v, _s| f64::from_bits(v.u64());
    u128 = ValType::V128, |v, _s| VmValue::from_u128(v), |v, _s| v.u128();
    Option<ExternRef> = ValType::EXTERNREF,
        |v, store| VmValue::from_u64(anyref::extern_word(v, store)),
        |v, store| anyref::extern_of_word(v.u64(), store);
    Option<AnyRef> = ValType::ANYREF,
        |v, store| VmValue::from_u64(v.map_or(0, |v| v.to_word(store))),
        |v, store| (v.u64() != 0).then(|| AnyRef::from_word(v.u64(), store));
    Option<ExnRef> = ValType::EXNREF,
        |v, store| VmValue::from_u64(store.collected.exceptions.word(v.map(|e| e.0))),
        |v, store| store.collected.exceptions.get(v.u64()).map(ExnRef);
    Option<Func> = ValType::FUNCREF,
        |v, store| VmValue::from_u64(store.items.func_word(v.map(|f| f.0))),
        // SAFETY: the caller guarantees that the value is a funcref of this store.
        |v, store| unsafe { store.items.func_of_word(v.u64()) }.map(Func);
}

/// The parameters of a [`TypedFunc`](crate::TypedFunc): one value, or a tuple of them.
pub trait WasmParams: Send + 'static {
    /// Number of parameters.
    #[doc(hidden)]
    const LEN: usize;

    #[doc(hidden)]
    fn types() -> Vec<ValType>;

    /// Stores the values in an array that has room for them.
    #[doc(hidden)]
    fn store(self, to: &mut [VmValue], store: &mut StoreOpaque);
}

/// The results of a [`TypedFunc`](crate::TypedFunc): nothing, one value, or a tuple of them.
pub trait WasmResults: WasmParams {
    /// # Safety
    /// The caller guarantees that the values have these types and that references come from wasm code of this
    /// store.
    #[doc(hidden)]
    unsafe fn load(from: &[VmValue], store: &StoreOpaque) -> Self;
}

impl<A: WasmTy> WasmParams for A {
    const LEN: usize = 1;

    fn types() -> Vec<ValType> {
        vec![A::TYPE]
    }

    fn store(self, to: &mut [VmValue], store: &mut StoreOpaque) {
        to[0] = self.to_vm(store);
    }
}

impl<A: WasmTy> WasmResults for A {
    unsafe fn load(from: &[VmValue], store: &StoreOpaque) -> Self {
        // SAFETY: the caller guarantees it.
        unsafe { A::from_vm(from[0], store) }
    }
}

macro_rules! tuples {
    ($(($($a:ident $i:tt),*))*) => {
        $(
            #[allow(non_snake_case, reason = "type parameters double as variables")]
            impl<$($a: WasmTy),*> WasmParams for ($($a,)*) {
                const LEN: usize = <[usize]>::len(&[$($i),*]);

                fn types() -> Vec<ValType> {
                    vec![$($a::TYPE),*]
                }

                fn store(self, _to: &mut [VmValue], _store: &mut StoreOpaque) {
                    let ($($a,)*) = self;
                    $(_to[$i] = $a.to_vm(_store);)*
                }
            }

            #[allow(clippy::unused_unit, reason = "the empty tuple is one of the tuples")]
            impl<$($a: WasmTy),*> WasmResults for ($($a,)*) {
                unsafe fn load(_from: &[VmValue], _store: &StoreOpaque) -> Self {
                    // SAFETY: the caller guarantees it.
                    ($(unsafe { $a::from_vm(_from[$i], _store) },)*)
                }
            }
        )*
    };
}

tuples! { () }
each_tuple!(tuples);
