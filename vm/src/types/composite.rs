//! Composite types: those of functions, structures and arrays.

use std::fmt;

use wasmparser as wp;

use super::ValType;
use super::defined::{DefinedType, Others};

/// The type of a function. Two types are equal if their definitions are, whatever module they come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FuncType(pub(crate) DefinedType);

impl FuncType {
    /// Creates the type of functions from `params` to `results`; final, and without a supertype.
    pub fn new(
        params: impl IntoIterator<Item = ValType>,
        results: impl IntoIterator<Item = ValType>,
    ) -> FuncType {
        let mut others = Others::default();
        let params: Vec<_> = params.into_iter().map(|ty| ty.to_parser(&mut others)).collect();
        let results: Vec<_> = results.into_iter().map(|ty| ty.to_parser(&mut others)).collect();
        let ty = wp::SubType::func(wp::FuncType::new(params, results), false);
        FuncType(DefinedType::alone(ty, others))
    }

    /// Returns the types of the parameters.
    pub fn params(&self) -> impl ExactSizeIterator<Item = ValType> + '_ {
        self.signature().params().iter().map(|&ty| ValType::from_parser(ty, &self.0))
    }

    /// Returns the types of the results.
    pub fn results(&self) -> impl ExactSizeIterator<Item = ValType> + '_ {
        self.signature().results().iter().map(|&ty| ValType::from_parser(ty, &self.0))
    }

    /// Returns the supertype that it declares.
    pub fn supertype(&self) -> Option<FuncType> {
        self.0.supertype().map(FuncType)
    }

    /// Returns whether this type is equal to `other` or a subtype of it.
    pub fn matches(&self, other: &FuncType) -> bool {
        self.0.is_subtype_of(&other.0)
    }

    /// Returns the signature that machine code sees; it does not tell which types references refer to.
    pub(crate) fn signature(&self) -> &wp::FuncType {
        self.0.definition().unwrap_func()
    }

    /// As [`DefinedType::array_len`].
    pub(crate) fn array_len(&self) -> usize {
        self.0.array_len()
    }
}

impl DefinedType {
    /// Returns the length that the array of a call's arguments and results must have.
    ///
    /// # Panics
    /// Panics if it is not a function type.
    pub(crate) fn array_len(&self) -> usize {
        let signature = self.definition().unwrap_func();
        signature.params().len().max(signature.results().len())
    }
}

impl fmt::Display for FuncType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: Vec<ValType>| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "({}) -> ({})", list(self.params().collect()), list(self.results().collect()))
    }
}

/// The type of a structure, as a module defines it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructType(pub(crate) DefinedType);

/// The type of an array, as a module defines it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayType(pub(crate) DefinedType);

impl ArrayType {
    /// Creates the type of arrays of UTF-16 code units, `(array (mut i16))`; final, and without a supertype.
    pub(crate) fn of_units() -> ArrayType {
        let element = wp::FieldType { element_type: wp::StorageType::I16, mutable: true };
        let inner = wp::CompositeInnerType::Array(wp::ArrayType(element));
        let composite_type =
            wp::CompositeType { inner, shared: false, descriptor_idx: None, describes_idx: None };
        let ty = wp::SubType { is_final: true, supertype_idxs: Vec::new(), composite_type };
        ArrayType(DefinedType::alone(ty, Others::default()))
    }
}
