//! Types that are made of others: those of functions, structures and arrays.

use std::fmt;

use wasmparser as wp;

use super::ValType;
use super::defined::{DefinedType, Others};

/// The type of a function. Types are equal if their definitions are, wherever they come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FuncType(pub(crate) DefinedType);

impl FuncType {
    /// A function from `params` to `results`; final, and without a supertype.
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

    /// Types of the parameters.
    pub fn params(&self) -> impl ExactSizeIterator<Item = ValType> + '_ {
        self.signature().params().iter().map(|&ty| ValType::from_parser(ty, &self.0))
    }

    /// Types of the results.
    pub fn results(&self) -> impl ExactSizeIterator<Item = ValType> + '_ {
        self.signature().results().iter().map(|&ty| ValType::from_parser(ty, &self.0))
    }

    /// The type that it names as its supertype.
    pub fn supertype(&self) -> Option<FuncType> {
        self.0.supertype().map(FuncType)
    }

    /// Whether a function of this type is one of the other type, too: both are equal, or the other one is above it.
    pub fn matches(&self, other: &FuncType) -> bool {
        self.0.is_subtype_of(&other.0)
    }

    /// What machine code passes for it; which types its references are to is not said.
    pub(crate) fn signature(&self) -> &wp::FuncType {
        self.0.definition().unwrap_func()
    }

    /// As [`DefinedType::array_len`].
    pub(crate) fn array_len(&self) -> usize {
        self.0.array_len()
    }
}

impl DefinedType {
    /// How many values the array of a call's arguments and results must hold.
    ///
    /// # Panics
    /// If it is no type of functions.
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
    /// The type of arrays of UTF-16 code units, `(array (mut i16))`; final, and without a supertype.
    pub(crate) fn of_units() -> ArrayType {
        let element = wp::FieldType { element_type: wp::StorageType::I16, mutable: true };
        let inner = wp::CompositeInnerType::Array(wp::ArrayType(element));
        let composite_type =
            wp::CompositeType { inner, shared: false, descriptor_idx: None, describes_idx: None };
        let ty = wp::SubType { is_final: true, supertype_idxs: Vec::new(), composite_type };
        ArrayType(DefinedType::alone(ty, Others::default()))
    }
}
