//! Types of references and of their referents.

use std::fmt;

use wasmparser as wp;
use wp::AbstractHeapType as Abstract;

use super::defined::{DefinedType, Others};
use super::{ArrayType, FuncType, StructType};

/// The type of a reference's referent. The types form four disjoint hierarchies, below [`HeapType::Func`],
/// [`HeapType::Extern`], [`HeapType::Exn`] and [`HeapType::Any`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HeapType {
    /// Functions of any type.
    Func,
    /// Functions of one type and of its subtypes.
    ConcreteFunc(FuncType),
    /// No function: the type of a null reference.
    NoFunc,
    /// Host values.
    Extern,
    /// No host value: the type of a null reference.
    NoExtern,
    /// Exceptions.
    Exn,
    /// No exception: the type of a null reference.
    NoExn,
    /// Any value that wasm code creates and can inspect.
    Any,
    /// Values that can be compared for identity.
    Eq,
    /// 31-bit integers.
    I31,
    /// Structures of any type.
    Struct,
    /// Structures of one type and of its subtypes.
    ConcreteStruct(StructType),
    /// Arrays of any type.
    Array,
    /// Arrays of one type and of its subtypes.
    ConcreteArray(ArrayType),
    /// No value that wasm code creates: the type of a null reference.
    None,
}

impl HeapType {
    /// Returns the top type of its hierarchy.
    pub fn top(&self) -> HeapType {
        match self {
            HeapType::Func | HeapType::ConcreteFunc(_) | HeapType::NoFunc => HeapType::Func,
            HeapType::Extern | HeapType::NoExtern => HeapType::Extern,
            HeapType::Exn | HeapType::NoExn => HeapType::Exn,
            HeapType::Any | HeapType::Eq | HeapType::I31 | HeapType::None => HeapType::Any,
            HeapType::Struct | HeapType::ConcreteStruct(_) => HeapType::Any,
            HeapType::Array | HeapType::ConcreteArray(_) => HeapType::Any,
        }
    }

    /// Returns whether it is a bottom type, which has no values.
    pub fn is_bottom(&self) -> bool {
        matches!(self, HeapType::NoFunc | HeapType::NoExtern | HeapType::NoExn | HeapType::None)
    }

    /// Returns whether this type is equal to `other` or a subtype of it.
    pub fn matches(&self, other: &HeapType) -> bool {
        if self == other || other == &self.top() || self.is_bottom() && self.top() == other.top() {
            return true;
        }
        match (self, other) {
            (HeapType::I31 | HeapType::Struct | HeapType::Array, HeapType::Eq) => true,
            (HeapType::ConcreteStruct(_), HeapType::Struct | HeapType::Eq) => true,
            (HeapType::ConcreteArray(_), HeapType::Array | HeapType::Eq) => true,
            _ => match (self.defined(), other.defined()) {
                (Some(own), Some(other)) => own.is_subtype_of(other),
                _ => false,
            },
        }
    }

    /// Returns the defined type, if it is a concrete one.
    pub(crate) fn defined(&self) -> Option<&DefinedType> {
        match self {
            HeapType::ConcreteFunc(ty) => Some(&ty.0),
            HeapType::ConcreteStruct(ty) => Some(&ty.0),
            HeapType::ConcreteArray(ty) => Some(&ty.0),
            _ => None,
        }
    }

    fn from_parser(ty: wp::HeapType, types: &(impl Resolve + ?Sized)) -> HeapType {
        match ty {
            wp::HeapType::Concrete(index) | wp::HeapType::Exact(index) => HeapType::new(types.resolve(index)),
            wp::HeapType::Abstract { ty, .. } => match ty {
                Abstract::Func => HeapType::Func,
                Abstract::NoFunc => HeapType::NoFunc,
                Abstract::Extern => HeapType::Extern,
                Abstract::NoExtern => HeapType::NoExtern,
                Abstract::Exn => HeapType::Exn,
                Abstract::NoExn => HeapType::NoExn,
                Abstract::Any => HeapType::Any,
                Abstract::Eq => HeapType::Eq,
                Abstract::I31 => HeapType::I31,
                Abstract::Struct => HeapType::Struct,
                Abstract::Array => HeapType::Array,
                Abstract::None => HeapType::None,
                Abstract::Cont | Abstract::NoCont => unreachable!("the proposal is off"),
            },
        }
    }

    pub(crate) fn new(ty: DefinedType) -> HeapType {
        match ty.definition().composite_type.inner {
            wp::CompositeInnerType::Func(_) => HeapType::ConcreteFunc(FuncType(ty)),
            wp::CompositeInnerType::Struct(_) => HeapType::ConcreteStruct(StructType(ty)),
            wp::CompositeInnerType::Array(_) => HeapType::ConcreteArray(ArrayType(ty)),
            wp::CompositeInnerType::Cont(_) => unreachable!("the proposal is off"),
        }
    }

    fn to_parser(&self, others: &mut Others) -> wp::HeapType {
        let ty = match self {
            HeapType::Func => Abstract::Func,
            HeapType::NoFunc => Abstract::NoFunc,
            HeapType::Extern => Abstract::Extern,
            HeapType::NoExtern => Abstract::NoExtern,
            HeapType::Exn => Abstract::Exn,
            HeapType::NoExn => Abstract::NoExn,
            HeapType::Any => Abstract::Any,
            HeapType::Eq => Abstract::Eq,
            HeapType::I31 => Abstract::I31,
            HeapType::Struct => Abstract::Struct,
            HeapType::Array => Abstract::Array,
            HeapType::None => Abstract::None,
            HeapType::ConcreteFunc(FuncType(ty))
            | HeapType::ConcreteStruct(StructType(ty))
            | HeapType::ConcreteArray(ArrayType(ty)) => return wp::HeapType::Concrete(others.reference(ty)),
        };
        wp::HeapType::Abstract { shared: false, ty }
    }
}

impl fmt::Display for HeapType {
    /// Writes the type as in the text format. A type that a module defines is not written out, because it may
    /// refer to itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeapType::Func => "func",
            HeapType::ConcreteFunc(_) => "concrete func",
            HeapType::NoFunc => "nofunc",
            HeapType::Extern => "extern",
            HeapType::NoExtern => "noextern",
            HeapType::Exn => "exn",
            HeapType::NoExn => "noexn",
            HeapType::Any => "any",
            HeapType::Eq => "eq",
            HeapType::I31 => "i31",
            HeapType::Struct => "struct",
            HeapType::ConcreteStruct(_) => "concrete struct",
            HeapType::Array => "array",
            HeapType::ConcreteArray(_) => "concrete array",
            HeapType::None => "none",
        })
    }
}

/// The type of a reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefType {
    is_nullable: bool,
    heap_type: HeapType,
}

impl RefType {
    /// `funcref`: a function or null.
    pub const FUNCREF: RefType = RefType::new(true, HeapType::Func);
    /// `nullfuncref`: null.
    pub const NULLFUNCREF: RefType = RefType::new(true, HeapType::NoFunc);
    /// `externref`: a host value or null.
    pub const EXTERNREF: RefType = RefType::new(true, HeapType::Extern);
    /// `nullexternref`: null.
    pub const NULLEXTERNREF: RefType = RefType::new(true, HeapType::NoExtern);
    /// `exnref`: an exception or null.
    pub const EXNREF: RefType = RefType::new(true, HeapType::Exn);
    /// `nullexnref`: null.
    pub const NULLEXNREF: RefType = RefType::new(true, HeapType::NoExn);
    /// `anyref`: a value that wasm code has created, or null.
    pub const ANYREF: RefType = RefType::new(true, HeapType::Any);
    /// `eqref`: a value that can be compared for identity, or null.
    pub const EQREF: RefType = RefType::new(true, HeapType::Eq);
    /// `i31ref`: a 31-bit integer, or null.
    pub const I31REF: RefType = RefType::new(true, HeapType::I31);
    /// `structref`: a structure, or null.
    pub const STRUCTREF: RefType = RefType::new(true, HeapType::Struct);
    /// `arrayref`: an array, or null.
    pub const ARRAYREF: RefType = RefType::new(true, HeapType::Array);
    /// `nullref`: null.
    pub const NULLREF: RefType = RefType::new(true, HeapType::None);

    /// Creates the type of references to `heap_type`, nullable or not.
    pub const fn new(is_nullable: bool, heap_type: HeapType) -> RefType {
        RefType { is_nullable, heap_type }
    }

    /// Returns whether a reference of this type may be null.
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }

    /// Returns the type of its referents.
    pub fn heap_type(&self) -> &HeapType {
        &self.heap_type
    }

    /// Returns whether this type is equal to `other` or a subtype of it.
    pub fn matches(&self, other: &RefType) -> bool {
        (other.is_nullable || !self.is_nullable) && self.heap_type.matches(&other.heap_type)
    }

    /// Returns whether the store collects the referents of this type.
    pub(crate) fn is_collected(&self) -> bool {
        self.heap_type.top() != HeapType::Func
    }

    /// Returns whether it refers to exceptions.
    pub(crate) fn is_exn(&self) -> bool {
        self.heap_type.top() == HeapType::Exn
    }

    pub(crate) fn from_parser(ty: wp::RefType, types: &(impl Resolve + ?Sized)) -> RefType {
        RefType::new(ty.is_nullable(), HeapType::from_parser(ty.heap_type(), types))
    }

    pub(crate) fn to_parser(&self, others: &mut Others) -> wp::RefType {
        let ty = wp::RefType::new(self.is_nullable, self.heap_type.to_parser(others));
        ty.expect("no more types than wasmparser allows")
    }
}

impl fmt::Display for RefType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heap_type = &self.heap_type;
        let null = if self.is_nullable { "null " } else { "" };
        match heap_type {
            _ if !self.is_nullable || heap_type.defined().is_some() => write!(f, "(ref {null}{heap_type})"),
            HeapType::NoFunc => f.write_str("nullfuncref"),
            HeapType::NoExtern => f.write_str("nullexternref"),
            HeapType::NoExn => f.write_str("nullexnref"),
            HeapType::None => f.write_str("nullref"),
            _ => write!(f, "{heap_type}ref"),
        }
    }
}

/// Resolves references to types in their scope: a module, or the definition of a type.
pub(crate) trait Resolve {
    /// Returns the type that `index` refers to.
    fn resolve(&self, index: wp::UnpackedIndex) -> DefinedType;
}

impl Resolve for DefinedType {
    fn resolve(&self, index: wp::UnpackedIndex) -> DefinedType {
        DefinedType::resolve(self, index)
    }
}
