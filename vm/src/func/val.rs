//! Values of any type.
#![allow(unsafe_code, reason = "references in wasm are pointers into the store")]

use super::anyref::{self, AnyRef, EqRef, I31};
use super::array_ref::ArrayRef;
use super::struct_ref::StructRef;
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::{AsContext, Error, ErrorKind, ExnRef, ExternRef, Func, HeapType, RefType, Result, ValType};

/// A reference of any type.
#[derive(Clone, Debug)]
pub enum Ref {
    /// A function, or null.
    Func(Option<Func>),
    /// A host value, or null.
    Extern(Option<ExternRef>),
    /// An exception, or null.
    Exn(Option<ExnRef>),
    /// A value that wasm code has created, or null.
    Any(Option<AnyRef>),
}

/// A value of any type. Floats are bits, so that a NaN keeps its payload.
#[derive(Clone, Debug)]
pub enum Val {
    /// An i32.
    I32(i32),
    /// An i64.
    I64(i64),
    /// The bits of an f32.
    F32(u32),
    /// The bits of an f64.
    F64(u64),
    /// A v128, lane 0 lowest.
    V128(u128),
    /// A funcref.
    FuncRef(Option<Func>),
    /// An externref.
    ExternRef(Option<ExternRef>),
    /// An exnref.
    ExnRef(Option<ExnRef>),
    /// An anyref.
    AnyRef(Option<AnyRef>),
}

impl Ref {
    /// Returns the null reference of a type.
    pub fn null(ty: &RefType) -> Ref {
        match ty.heap_type().top() {
            HeapType::Extern => Ref::Extern(None),
            HeapType::Exn => Ref::Exn(None),
            HeapType::Any => Ref::Any(None),
            _ => Ref::Func(None),
        }
    }

    /// Returns the type, as precisely as is possible without the store; [`Ref::matches_ty`] is exact.
    pub fn ty(&self) -> RefType {
        match self {
            Ref::Func(_) => RefType::FUNCREF,
            Ref::Extern(_) => RefType::EXTERNREF,
            Ref::Exn(_) => RefType::EXNREF,
            Ref::Any(_) => RefType::ANYREF,
        }
    }

    /// Returns whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Ref::Func(None) | Ref::Extern(None) | Ref::Exn(None) | Ref::Any(None))
    }

    /// Returns the reference as a word, as in table elements.
    pub(crate) fn to_word(&self, store: &mut StoreOpaque) -> u64 {
        match self {
            Ref::Func(f) => store.items.func_word(f.map(|f| f.0)),
            Ref::Extern(value) => anyref::extern_word(value.clone(), store),
            Ref::Exn(value) => store.collected.exceptions.word(value.as_ref().map(|value| value.0.clone())),
            Ref::Any(value) => value.as_ref().map_or(0, |value| value.to_word(store)),
        }
    }

    /// # Safety
    /// The caller guarantees that `word` is a reference of type `ty` from wasm code of this store.
    pub(crate) unsafe fn from_word(word: u64, ty: &RefType, store: &StoreOpaque) -> Ref {
        match ty.heap_type().top() {
            HeapType::Extern => Ref::Extern(anyref::extern_of_word(word, store)),
            HeapType::Exn => Ref::Exn(store.collected.exceptions.get(word).map(ExnRef)),
            HeapType::Any => Ref::Any((word != 0).then(|| AnyRef::from_word(word, store))),
            // SAFETY: the caller guarantees it.
            _ => Ref::Func(unsafe { store.items.func_of_word(word) }.map(Func)),
        }
    }

    /// Returns whether the reference is of type `ty`.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn matches_ty(&self, store: impl AsContext, ty: &RefType) -> bool {
        self.is_of(ty, &store.as_context().0.opaque)
    }

    fn is_of(&self, ty: &RefType, store: &StoreOpaque) -> bool {
        if self.is_null() {
            return ty.is_nullable() && self.ty().heap_type().top() == ty.heap_type().top();
        }
        match (self, ty.heap_type()) {
            (Ref::Func(Some(func)), HeapType::ConcreteFunc(ty)) => {
                store.items.func_type(func.0).func_type().matches(ty)
            }
            (Ref::Any(Some(any)), of) => any.type_in(store).matches(of),
            (_, of) => self.ty().heap_type().matches(of),
        }
    }

    pub(crate) fn check_type(&self, ty: &RefType, store: &StoreOpaque) -> Result<()> {
        if self.is_of(ty, store) {
            return Ok(());
        }
        let message = format!("expected a reference of type {ty}, got one of type {}", self.told(store));
        Err(Error::new(ErrorKind::Type, message))
    }

    /// Returns the description of the reference for error messages.
    fn told(&self, store: &StoreOpaque) -> String {
        match self {
            Ref::Func(Some(func)) => format!("function {}", store.items.func_type(func.0).func_type()),
            Ref::Any(Some(any)) => format!("{}", any.type_in(store)),
            _ if self.is_null() => format!("{}, null", self.ty()),
            _ => self.ty().to_string(),
        }
    }
}

impl From<Ref> for Val {
    fn from(r: Ref) -> Val {
        match r {
            Ref::Func(f) => Val::FuncRef(f),
            Ref::Extern(e) => Val::ExternRef(e),
            Ref::Exn(e) => Val::ExnRef(e),
            Ref::Any(a) => Val::AnyRef(a),
        }
    }
}

impl Val {
    /// Returns zero or null of a type; null even for a type that excludes it.
    pub fn default_for(ty: &ValType) -> Val {
        match ty {
            ValType::I32 => Val::I32(0),
            ValType::I64 => Val::I64(0),
            ValType::F32 => Val::F32(0),
            ValType::F64 => Val::F64(0),
            ValType::V128 => Val::V128(0),
            ValType::Ref(r) => Ref::null(r).into(),
        }
    }

    /// Returns the type, as precisely as is possible without the store; [`Val::matches_ty`] is exact.
    pub fn ty(&self) -> ValType {
        match self {
            Val::I32(_) => ValType::I32,
            Val::I64(_) => ValType::I64,
            Val::F32(_) => ValType::F32,
            Val::F64(_) => ValType::F64,
            Val::V128(_) => ValType::V128,
            Val::FuncRef(_) => ValType::FUNCREF,
            Val::ExternRef(_) => ValType::EXTERNREF,
            Val::ExnRef(_) => ValType::EXNREF,
            Val::AnyRef(_) => ValType::ANYREF,
        }
    }

    /// Returns the i32, if it is one.
    pub fn i32(&self) -> Option<i32> {
        if let Val::I32(v) = self { Some(*v) } else { None }
    }

    /// Returns the i64, if it is one.
    pub fn i64(&self) -> Option<i64> {
        if let Val::I64(v) = self { Some(*v) } else { None }
    }

    /// Returns the f32, if it is one.
    pub fn f32(&self) -> Option<f32> {
        if let Val::F32(bits) = self { Some(f32::from_bits(*bits)) } else { None }
    }

    /// Returns the f64, if it is one.
    pub fn f64(&self) -> Option<f64> {
        if let Val::F64(bits) = self { Some(f64::from_bits(*bits)) } else { None }
    }

    /// Returns the v128, if it is one.
    pub fn v128(&self) -> Option<u128> {
        if let Val::V128(v) = self { Some(*v) } else { None }
    }

    /// Returns the reference, if it is one.
    pub fn to_ref(&self) -> Option<Ref> {
        match self {
            Val::FuncRef(f) => Some(Ref::Func(*f)),
            Val::ExternRef(e) => Some(Ref::Extern(e.clone())),
            Val::ExnRef(e) => Some(Ref::Exn(e.clone())),
            Val::AnyRef(a) => Some(Ref::Any(a.clone())),
            _ => None,
        }
    }

    /// Returns whether the value is of type `ty`.
    ///
    /// # Panics
    /// Panics if it belongs to another store.
    pub fn matches_ty(&self, store: impl AsContext, ty: &ValType) -> bool {
        self.check_type(ty, &store.as_context().0.opaque).is_ok()
    }

    pub(crate) fn check_type(&self, ty: &ValType, store: &StoreOpaque) -> Result<()> {
        if let (Some(reference), ValType::Ref(ty)) = (self.to_ref(), ty) {
            return reference.check_type(ty, store);
        }
        if self.ty() == *ty {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Type,
            format_args!("expected a value of type {ty}, got one of type {}", self.ty()),
        ))
    }

    pub(crate) fn to_vm(&self, store: &mut StoreOpaque) -> VmValue {
        match self {
            Val::I32(v) => VmValue::from_u32(*v as u32),
            Val::I64(v) => VmValue::from_u64(*v as u64),
            Val::F32(bits) => VmValue::from_u32(*bits),
            Val::F64(bits) => VmValue::from_u64(*bits),
            Val::V128(v) => VmValue::from_u128(*v),
            Val::FuncRef(f) => VmValue::from_u64(store.items.func_word(f.map(|f| f.0))),
            Val::ExternRef(e) => VmValue::from_u64(anyref::extern_word(e.clone(), store)),
            Val::ExnRef(e) => {
                VmValue::from_u64(store.collected.exceptions.word(e.as_ref().map(|e| e.0.clone())))
            }
            Val::AnyRef(a) => VmValue::from_u64(a.as_ref().map_or(0, |a| a.to_word(store))),
        }
    }

    /// Returns the value of a field of type `ty` of an object of this store.
    pub(crate) fn of_field(value: VmValue, ty: &ValType, store: &StoreOpaque) -> Val {
        // SAFETY: only code that knows the types of the fields writes to objects.
        unsafe { Val::from_vm(value, ty, store) }
    }

    /// # Safety
    /// The caller guarantees that `value` is of type `ty` and, if a reference, comes from wasm code of this
    /// store.
    pub(crate) unsafe fn from_vm(value: VmValue, ty: &ValType, store: &StoreOpaque) -> Val {
        match ty {
            ValType::I32 => Val::I32(value.u32() as i32),
            ValType::I64 => Val::I64(value.u64() as i64),
            ValType::F32 => Val::F32(value.u32()),
            ValType::F64 => Val::F64(value.u64()),
            ValType::V128 => Val::V128(value.u128()),
            // SAFETY: the caller guarantees it.
            ValType::Ref(r) => unsafe { Ref::from_word(value.u64(), r, store) }.into(),
        }
    }
}

macro_rules! conversions {
    ($($from:ty => |$v:ident| $val:expr;)*) => {
        $(impl From<$from> for Val {
            fn from($v: $from) -> Val {
                $val
            }
        })*
    };
}

conversions! {
    i32 => |v| Val::I32(v);
    i64 => |v| Val::I64(v);
    f32 => |v| Val::F32(v.to_bits());
    f64 => |v| Val::F64(v.to_bits());
    u128 => |v| Val::V128(v);
    Func => |v| Val::FuncRef(Some(v));
    Option<Func> => |v| Val::FuncRef(v);
    ExternRef => |v| Val::ExternRef(Some(v));
    Option<ExternRef> => |v| Val::ExternRef(v);
    AnyRef => |v| Val::AnyRef(Some(v));
    Option<AnyRef> => |v| Val::AnyRef(v);
    I31 => |v| Val::AnyRef(Some(v.into()));
    EqRef => |v| Val::AnyRef(Some(v.into()));
    StructRef => |v| Val::AnyRef(Some(v.into()));
    ArrayRef => |v| Val::AnyRef(Some(v.into()));
    ExnRef => |v| Val::ExnRef(Some(v));
    Option<ExnRef> => |v| Val::ExnRef(v);
}
