//! The types of the fields of structures and of the elements of arrays.

use wasmparser as wp;

use super::ValType;
use super::defined::{DefinedType, Others};

/// Whether a field, or the elements of an array, can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutability {
    /// It keeps its first value.
    Const,
    /// It can be changed.
    Var,
}

/// Whether a type may have subtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finality {
    /// It has none.
    Final,
    /// Others may declare it as their supertype.
    NonFinal,
}

/// How a value is stored in a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StorageType {
    /// The lowest 8 bits of an i32.
    I8,
    /// The lowest 16 bits of an i32.
    I16,
    /// A whole value.
    ValType(ValType),
}

impl From<ValType> for StorageType {
    fn from(ty: ValType) -> StorageType {
        StorageType::ValType(ty)
    }
}

impl StorageType {
    /// Returns the type of the values that are read and written: an i32 for less than 32 bits.
    pub fn unpack(&self) -> ValType {
        match self {
            StorageType::I8 | StorageType::I16 => ValType::I32,
            StorageType::ValType(ty) => ty.clone(),
        }
    }

    /// Returns whether this type is equal to `other`, or the type of its values is a subtype of that of the other's.
    pub fn matches(&self, other: &StorageType) -> bool {
        match (self, other) {
            (StorageType::ValType(own), StorageType::ValType(other)) => own.matches(other),
            _ => self == other,
        }
    }
}

/// The type of a field of a structure, or of the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldType {
    mutability: Mutability,
    element_type: StorageType,
}

impl FieldType {
    /// Creates the type of fields that store values in this way.
    pub fn new(mutability: Mutability, element_type: impl Into<StorageType>) -> FieldType {
        FieldType { mutability, element_type: element_type.into() }
    }

    /// Returns whether it can be changed.
    pub fn mutability(&self) -> Mutability {
        self.mutability
    }

    /// Returns how values are stored.
    pub fn element_type(&self) -> &StorageType {
        &self.element_type
    }

    /// Returns whether a structure with this field can be used as one with the field `other`: its values are also values of
    /// the other, and if it can be changed, those of the other are also its own.
    pub fn matches(&self, other: &FieldType) -> bool {
        let (own, wanted) = (&self.element_type, &other.element_type);
        let is_read = self.mutability == other.mutability && own.matches(wanted);
        is_read && (self.mutability == Mutability::Const || wanted.matches(own))
    }

    pub(super) fn from_parser(ty: wp::FieldType, types: &DefinedType) -> FieldType {
        let element_type = match ty.element_type {
            wp::StorageType::I8 => StorageType::I8,
            wp::StorageType::I16 => StorageType::I16,
            wp::StorageType::Val(ty) => StorageType::ValType(ValType::from_parser(ty, types)),
        };
        let mutability = if ty.mutable { Mutability::Var } else { Mutability::Const };
        FieldType { mutability, element_type }
    }

    pub(super) fn to_parser(&self, others: &mut Others) -> wp::FieldType {
        let element_type = match &self.element_type {
            StorageType::I8 => wp::StorageType::I8,
            StorageType::I16 => wp::StorageType::I16,
            StorageType::ValType(ty) => wp::StorageType::Val(ty.to_parser(others)),
        };
        wp::FieldType { element_type, mutable: self.mutability == Mutability::Var }
    }
}
