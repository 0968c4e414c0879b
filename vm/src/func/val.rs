//! Values of any type.
#![allow(unsafe_code, reason = "references in wasm are pointers into the store")]

use crate::runtime::abi::VmValue;
use crate::runtime::store::StoreOpaque;
use crate::{Error, ErrorKind, ExnRef, ExternRef, Func, RefType, Result, ValType};

/// A reference of any type.
#[derive(Clone, Debug)]
pub enum Ref {
    /// A function, or null.
    Func(Option<Func>),
    /// A value of the host's, or null.
    Extern(Option<ExternRef>),
    /// An exception, or null.
    Exn(Option<ExnRef>),
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
}

impl Ref {
    /// The null reference of a type.
    pub fn null(ty: RefType) -> Ref {
        match ty {
            RefType::Func => Ref::Func(None),
            RefType::Extern => Ref::Extern(None),
            RefType::Exn | RefType::NoExn => Ref::Exn(None),
        }
    }

    /// Its type.
    pub fn ty(&self) -> RefType {
        match self {
            Ref::Func(_) => RefType::Func,
            Ref::Extern(_) => RefType::Extern,
            Ref::Exn(_) => RefType::Exn,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Ref::Func(None) | Ref::Extern(None) | Ref::Exn(None))
    }

    /// As a table element.
    pub(crate) fn to_word(&self, store: &mut StoreOpaque) -> u64 {
        match self {
            Ref::Func(f) => store.func_word(f.map(|f| f.0)),
            Ref::Extern(value) => store.externs.insert(value.clone()),
            Ref::Exn(value) => store.exception_word(value.as_ref().map(|value| value.0.clone())),
        }
    }

    /// # Safety
    /// `word` is a reference of type `ty` of wasm code of this store.
    pub(crate) unsafe fn from_word(word: u64, ty: RefType, store: &StoreOpaque) -> Ref {
        match ty {
            // SAFETY: as required above.
            RefType::Func => Ref::Func(unsafe { store.func_of_word(word) }.map(Func)),
            RefType::Extern => Ref::Extern(store.externs.get(word)),
            RefType::Exn | RefType::NoExn => Ref::Exn(store.exceptions.get(word).map(ExnRef)),
        }
    }
}

impl From<Ref> for Val {
    fn from(r: Ref) -> Val {
        match r {
            Ref::Func(f) => Val::FuncRef(f),
            Ref::Extern(e) => Val::ExternRef(e),
            Ref::Exn(e) => Val::ExnRef(e),
        }
    }
}

impl Val {
    /// Zero or null of a type.
    pub fn default_for(ty: ValType) -> Val {
        match ty {
            ValType::I32 => Val::I32(0),
            ValType::I64 => Val::I64(0),
            ValType::F32 => Val::F32(0),
            ValType::F64 => Val::F64(0),
            ValType::V128 => Val::V128(0),
            ValType::Ref(r) => Ref::null(r).into(),
        }
    }

    /// Its type.
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
        }
    }

    /// The i32, if it is one.
    pub fn i32(&self) -> Option<i32> {
        if let Val::I32(v) = self { Some(*v) } else { None }
    }

    /// The i64, if it is one.
    pub fn i64(&self) -> Option<i64> {
        if let Val::I64(v) = self { Some(*v) } else { None }
    }

    /// The f32, if it is one.
    pub fn f32(&self) -> Option<f32> {
        if let Val::F32(bits) = self { Some(f32::from_bits(*bits)) } else { None }
    }

    /// The f64, if it is one.
    pub fn f64(&self) -> Option<f64> {
        if let Val::F64(bits) = self { Some(f64::from_bits(*bits)) } else { None }
    }

    /// The v128, if it is one.
    pub fn v128(&self) -> Option<u128> {
        if let Val::V128(v) = self { Some(*v) } else { None }
    }

    /// The reference, if it is one.
    pub fn to_ref(&self) -> Option<Ref> {
        match self {
            Val::FuncRef(f) => Some(Ref::Func(*f)),
            Val::ExternRef(e) => Some(Ref::Extern(e.clone())),
            Val::ExnRef(e) => Some(Ref::Exn(e.clone())),
            _ => None,
        }
    }

    pub(crate) fn check_type(&self, ty: ValType) -> Result<()> {
        let is_null_exception = ty == ValType::Ref(RefType::NoExn) && matches!(self, Val::ExnRef(None));
        if self.ty() == ty || is_null_exception {
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
            Val::FuncRef(f) => VmValue::from_u64(store.func_word(f.map(|f| f.0))),
            Val::ExternRef(e) => VmValue::from_u64(store.externs.insert(e.clone())),
            Val::ExnRef(e) => VmValue::from_u64(store.exception_word(e.as_ref().map(|e| e.0.clone()))),
        }
    }

    /// # Safety
    /// `value` is of type `ty` and, if a reference, one of wasm code of this store.
    pub(crate) unsafe fn from_vm(value: VmValue, ty: ValType, store: &StoreOpaque) -> Val {
        match ty {
            ValType::I32 => Val::I32(value.u32() as i32),
            ValType::I64 => Val::I64(value.u64() as i64),
            ValType::F32 => Val::F32(value.u32()),
            ValType::F64 => Val::F64(value.u64()),
            ValType::V128 => Val::V128(value.u128()),
            // SAFETY: as required above.
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
    ExnRef => |v| Val::ExnRef(Some(v));
    Option<ExnRef> => |v| Val::ExnRef(v);
}
