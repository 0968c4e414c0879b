//! Types of references and of what they refer to.

use std::fmt;

use wasmparser as wp;
use wp::AbstractHeapType as Abstract;

use super::defined::{DefinedType, Others};
use super::{ArrayType, FuncType, StructType};

/// The type of what a reference refers to. The types form four hierarchies that share nothing, below [`HeapType::Func`],
/// [`HeapType::Extern`], [`HeapType::Exn`] and [`HeapType::Any`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HeapType {
    /// Functions of any type.
    Func,
    /// Functions of one type, and of its subtypes.
    ConcreteFunc(FuncType),
    /// No function: the type of a null reference.
    NoFunc,
    /// Values of the host's.
    Extern,
    /// No value of the host's.
    NoExtern,
    /// Exceptions.
    Exn,
    /// No exception.
    NoExn,
    /// Anything that wasm code makes and can look into.
    Any,
    /// What can be compared for identity.
    Eq,
    /// Integers of 31 bits.
    I31,
    /// Structures of any type.
    Struct,
    /// Structures of one type, and of its subtypes.
    ConcreteStruct(StructType),
    /// Arrays of any type.
    Array,
    /// Arrays of one type, and of its subtypes.
    ConcreteArray(ArrayType),
    /// Nothing that wasm code makes.
    None,
}

impl HeapType {
    /// The type that all others of its hierarchy are subtypes of.
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

    /// Whether it is a type that nothing is of.
    pub fn is_bottom(&self) -> bool {
        matches!(self, HeapType::NoFunc | HeapType::NoExtern | HeapType::NoExn | HeapType::None)
    }

    /// Whether all that is of this type is of the other one, too.
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

    /// The type that a module may define it as.
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
            wp::HeapType::Concrete(index) | wp::HeapType::Exact(index) => HeapType::of(types.resolve(index)),
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

    pub(crate) fn of(ty: DefinedType) -> HeapType {
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
    /// As in the text format; a type that a module defines is not written out, as it may refer to itself.
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
    /// `externref`: a value of the host's or null.
    pub const EXTERNREF: RefType = RefType::new(true, HeapType::Extern);
    /// `nullexternref`: null.
    pub const NULLEXTERNREF: RefType = RefType::new(true, HeapType::NoExtern);
    /// `exnref`: an exception or null.
    pub const EXNREF: RefType = RefType::new(true, HeapType::Exn);
    /// `nullexnref`: null.
    pub const NULLEXNREF: RefType = RefType::new(true, HeapType::NoExn);
    /// `anyref`: what wasm code has made, or null.
    pub const ANYREF: RefType = RefType::new(true, HeapType::Any);
    /// `nullref`: null.
    pub const NULLREF: RefType = RefType::new(true, HeapType::None);

    /// The type of references to `heap_type`, which may be null or not.
    pub const fn new(is_nullable: bool, heap_type: HeapType) -> RefType {
        RefType { is_nullable, heap_type }
    }

    /// Whether a reference of this type may be null.
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }

    /// What it refers to unless it is null.
    pub fn heap_type(&self) -> &HeapType {
        &self.heap_type
    }

    /// Whether all references of this type are of the other one, too.
    pub fn matches(&self, other: &RefType) -> bool {
        (other.is_nullable || !self.is_nullable) && self.heap_type.matches(&other.heap_type)
    }

    /// Whether a store frees what references of this type refer to when nobody holds them any more.
    pub(crate) fn is_collected(&self) -> bool {
        self.heap_type.top() != HeapType::Func
    }

    /// Whether it is of exceptions.
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

/// What a reference to a type means where it stands: in a module, or in the definition of a type.
pub(crate) trait Resolve {
    /// The type that it is to.
    fn resolve(&self, index: wp::UnpackedIndex) -> DefinedType;
}

impl Resolve for DefinedType {
    fn resolve(&self, index: wp::UnpackedIndex) -> DefinedType {
        DefinedType::resolve(self, index)
    }
}
