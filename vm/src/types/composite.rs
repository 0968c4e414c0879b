//! Composite types: those of functions, structures and arrays.

use std::{fmt, iter};

use wasmparser as wp;

use super::ValType;
use super::defined::{DefinedType, Others};
use super::fields::{FieldType, Finality, Mutability, StorageType};
use crate::{Error, ErrorKind, Result};

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

/// Maximum number of fields of a structure, as in modules.
const MOST_FIELDS: usize = 10_000;
/// Maximum number of supertypes of a type, as in modules.
const MOST_SUPERTYPES: usize = 63;

/// The type of a structure. Two types are equal if their definitions are, whoever has made them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructType(pub(crate) DefinedType);

impl StructType {
    /// Creates the type of structures with these fields; final, and without a supertype.
    ///
    /// # Errors
    /// Fails if there are more than 10,000 fields.
    pub fn new(fields: impl IntoIterator<Item = FieldType>) -> Result<StructType> {
        StructType::with_finality_and_supertype(Finality::Final, None, fields)
    }

    /// Creates the type of structures with these fields, those of its supertype first.
    ///
    /// # Errors
    /// Fails as [`StructType::new`] does, or if the supertype is final, has other fields or too many supertypes.
    pub fn with_finality_and_supertype(
        finality: Finality,
        supertype: Option<&StructType>,
        fields: impl IntoIterator<Item = FieldType>,
    ) -> Result<StructType> {
        let fields: Vec<FieldType> = fields.into_iter().take(MOST_FIELDS + 1).collect();
        if fields.len() > MOST_FIELDS {
            return Err(Error::new(
                ErrorKind::Limit,
                format_args!("a structure has at most {MOST_FIELDS} fields"),
            ));
        }
        if let Some(above) = supertype {
            let inherited = above.fields();
            let fits = inherited.len() <= fields.len();
            let fits = fits && inherited.zip(&fields).all(|(above, own)| own.matches(&above));
            check_supertype(&above.0, fits)?;
        }
        let inner = |others: &mut Others| {
            let fields = fields.iter().map(|field| field.to_parser(others)).collect();
            wp::CompositeInnerType::Struct(wp::StructType { fields })
        };
        Ok(StructType(alone(finality, supertype.map(|above| &above.0), inner)))
    }

    /// Returns the types of the fields.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = FieldType> + '_ {
        let fields = &self.0.definition().unwrap_struct().fields;
        fields.iter().map(|&field| FieldType::from_parser(field, &self.0))
    }

    /// Returns the type of a field, if there is one with this number.
    pub fn field(&self, number: usize) -> Option<FieldType> {
        self.fields().nth(number)
    }

    /// Returns whether it may have subtypes.
    pub fn finality(&self) -> Finality {
        finality(&self.0)
    }

    /// Returns the supertype that it declares.
    pub fn supertype(&self) -> Option<StructType> {
        self.0.supertype().map(StructType)
    }

    /// Returns whether this type is equal to `other` or a subtype of it.
    pub fn matches(&self, other: &StructType) -> bool {
        self.0.is_subtype_of(&other.0)
    }
}

/// The type of an array. Two types are equal if their definitions are, whoever has made them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayType(pub(crate) DefinedType);

impl ArrayType {
    /// Creates the type of arrays with such elements; final, and without a supertype.
    pub fn new(element: FieldType) -> ArrayType {
        ArrayType::make(Finality::Final, None, &element)
    }

    /// Creates the type of arrays with such elements.
    ///
    /// # Errors
    /// Fails if the supertype is final, has other elements or too many supertypes.
    pub fn with_finality_and_supertype(
        finality: Finality,
        supertype: Option<&ArrayType>,
        element: FieldType,
    ) -> Result<ArrayType> {
        if let Some(above) = supertype {
            check_supertype(&above.0, element.matches(&above.field_type()))?;
        }
        Ok(ArrayType::make(finality, supertype, &element))
    }

    fn make(finality: Finality, supertype: Option<&ArrayType>, element: &FieldType) -> ArrayType {
        let inner =
            |others: &mut Others| wp::CompositeInnerType::Array(wp::ArrayType(element.to_parser(others)));
        ArrayType(alone(finality, supertype.map(|above| &above.0), inner))
    }

    /// Creates the type of arrays of UTF-16 code units, `(array (mut i16))`; final, and without a supertype.
    pub(crate) fn of_units() -> ArrayType {
        ArrayType::new(FieldType::new(Mutability::Var, StorageType::I16))
    }

    /// Returns the type of the elements.
    pub fn field_type(&self) -> FieldType {
        FieldType::from_parser(self.0.definition().unwrap_array().0, &self.0)
    }

    /// Returns whether the elements can be changed.
    pub fn mutability(&self) -> Mutability {
        self.field_type().mutability()
    }

    /// Returns how the elements are stored.
    pub fn element_type(&self) -> StorageType {
        self.field_type().element_type().clone()
    }

    /// Returns whether it may have subtypes.
    pub fn finality(&self) -> Finality {
        finality(&self.0)
    }

    /// Returns the supertype that it declares.
    pub fn supertype(&self) -> Option<ArrayType> {
        self.0.supertype().map(ArrayType)
    }

    /// Returns whether this type is equal to `other` or a subtype of it.
    pub fn matches(&self, other: &ArrayType) -> bool {
        self.0.is_subtype_of(&other.0)
    }
}

/// Creates a type that is alone in its group. Its supertype is the first type that it refers to, as in modules.
fn alone(
    finality: Finality,
    supertype: Option<&DefinedType>,
    inner: impl FnOnce(&mut Others) -> wp::CompositeInnerType,
) -> DefinedType {
    let mut others = Others::default();
    let above = supertype.map(|above| others.reference(above).pack().expect("the first index is small"));
    let inner = inner(&mut others);
    let composite_type =
        wp::CompositeType { inner, shared: false, descriptor_idx: None, describes_idx: None };
    let (is_final, supertype_idxs) = (finality == Finality::Final, above.into_iter().collect());
    DefinedType::alone(wp::SubType { is_final, supertype_idxs, composite_type }, others)
}

fn finality(ty: &DefinedType) -> Finality {
    if ty.definition().is_final { Finality::Final } else { Finality::NonFinal }
}

/// Checks that a type may be a supertype of one whose fields fit or not.
fn check_supertype(above: &DefinedType, fits: bool) -> Result<()> {
    let depth = iter::successors(above.supertype(), DefinedType::supertype).take(MOST_SUPERTYPES).count();
    let why = match (finality(above), fits) {
        (Finality::Final, _) => "it is final",
        (_, false) => "the fields do not fit to those of the supertype",
        _ if depth + 1 > MOST_SUPERTYPES => "it has too many supertypes itself",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::Type, format_args!("the type cannot be a supertype: {why}")))
}
