//! Translation of the validator's types.

use std::sync::Arc;

use hashbrown::HashMap;
use wasmparser::PrimitiveValType;
use wasmparser::component_types::{
    ComponentDefinedType, ComponentDefinedTypeId, ComponentFuncTypeId, ComponentValType, ResourceId,
};
use wasmparser::types::Types;

use super::types::{FuncType, Type, TypeKind};
use super::unsupported;
use crate::{Error, ErrorKind, Result};

/// The plan's resource for each resource of the validator.
pub type Resources = HashMap<ResourceId, u32>;

/// The translated types of a component instance, one for each type of the validator.
#[derive(Default)]
pub struct Known(HashMap<ComponentDefinedTypeId, Type>);

impl Known {
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// A translator of types, given the known resources.
pub struct Resolver<'a> {
    pub types: &'a Types,
    pub resources: &'a Resources,
    pub known: &'a mut Known,
}

impl Resolver<'_> {
    pub fn func(&mut self, id: ComponentFuncTypeId) -> Result<Arc<FuncType>> {
        let ty = &self.types[id];
        if ty.async_ {
            return Err(unsupported("an async function"));
        }
        let params = ty
            .params
            .iter()
            .map(|(name, ty)| Ok((name.to_string(), self.value(ty)?)))
            .collect::<Result<_>>()?;
        let result = self.optional(ty.result.as_ref())?;
        Ok(Arc::new(FuncType::new(params, result)))
    }

    fn optional(&mut self, ty: Option<&ComponentValType>) -> Result<Option<Type>> {
        ty.map(|ty| self.value(ty)).transpose()
    }

    pub fn value(&mut self, ty: &ComponentValType) -> Result<Type> {
        match ty {
            ComponentValType::Primitive(ty) => primitive(*ty).map(Type::new),
            ComponentValType::Type(id) => {
                if let Some(known) = self.known.0.get(id) {
                    return Ok(known.clone());
                }
                let new = Type::new(self.defined(*id)?);
                self.known.0.insert(*id, new.clone());
                Ok(new)
            }
        }
    }

    fn defined(&mut self, id: ComponentDefinedTypeId) -> Result<TypeKind> {
        Ok(match &self.types[id] {
            ComponentDefinedType::Primitive(ty) => primitive(*ty)?,
            ComponentDefinedType::Record(record) => {
                let field = |(name, ty): (&wasmparser::names::KebabString, _)| {
                    Ok((name.to_string(), self.value(ty)?))
                };
                TypeKind::Record(record.fields.iter().map(field).collect::<Result<_>>()?)
            }
            ComponentDefinedType::Tuple(tuple) => {
                TypeKind::Tuple(tuple.types.iter().map(|ty| self.value(ty)).collect::<Result<_>>()?)
            }
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.iter();
                let cases =
                    cases.map(|(name, case)| Ok((name.to_string(), self.optional(case.ty.as_ref())?)));
                TypeKind::Variant(cases.collect::<Result<_>>()?)
            }
            ComponentDefinedType::List { element, .. } => TypeKind::List(self.value(element)?),
            ComponentDefinedType::Option { ty, .. } => TypeKind::Option(self.value(ty)?),
            ComponentDefinedType::Result { ok, err, .. } => {
                TypeKind::Result { ok: self.optional(ok.as_ref())?, err: self.optional(err.as_ref())? }
            }
            ComponentDefinedType::Flags(names) => {
                TypeKind::Flags(names.iter().map(ToString::to_string).collect())
            }
            ComponentDefinedType::Enum(names) => {
                TypeKind::Enum(names.iter().map(ToString::to_string).collect())
            }
            ComponentDefinedType::Own(id) => TypeKind::Own(self.resource(id.resource())?),
            ComponentDefinedType::Borrow(id) => TypeKind::Borrow(self.resource(id.resource())?),
            ComponentDefinedType::Map { .. } => return Err(unsupported("a map")),
            ComponentDefinedType::FixedLengthList { .. } => {
                return Err(unsupported("a list of fixed length"));
            }
            ComponentDefinedType::Future { .. } => return Err(unsupported("a future")),
            ComponentDefinedType::Stream { .. } => return Err(unsupported("a stream")),
        })
    }

    fn resource(&self, id: ResourceId) -> Result<u32> {
        resource(self.resources, id)
    }
}

pub fn resource(resources: &Resources, id: ResourceId) -> Result<u32> {
    let unknown = || Error::new(ErrorKind::Module, "the component uses a resource that comes from nowhere");
    resources.get(&id).copied().ok_or_else(unknown)
}

fn primitive(ty: PrimitiveValType) -> Result<TypeKind> {
    Ok(match ty {
        PrimitiveValType::Bool => TypeKind::Bool,
        PrimitiveValType::S8 => TypeKind::S8,
        PrimitiveValType::U8 => TypeKind::U8,
        PrimitiveValType::S16 => TypeKind::S16,
        PrimitiveValType::U16 => TypeKind::U16,
        PrimitiveValType::S32 => TypeKind::S32,
        PrimitiveValType::U32 => TypeKind::U32,
        PrimitiveValType::S64 => TypeKind::S64,
        PrimitiveValType::U64 => TypeKind::U64,
        PrimitiveValType::F32 => TypeKind::Float32,
        PrimitiveValType::F64 => TypeKind::Float64,
        PrimitiveValType::Char => TypeKind::Char,
        PrimitiveValType::String => TypeKind::String,
        PrimitiveValType::ErrorContext => return Err(unsupported("an error context")),
    })
}
