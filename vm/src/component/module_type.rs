//! Translation of the types of core modules that a component imports.

use wasmparser as wp;
use wasmparser::component_types::ComponentCoreModuleTypeId;
use wasmparser::types::{EntityType, Types};

use super::plan::ModuleType;
use super::unsupported;
use crate::types::Resolve;
use crate::types::defined::DefinedType;
use crate::{ExternType, FuncType, GlobalType, MemoryType, Result, TableType, TagType, ValType};

/// # Errors
/// Fails if the type refers to types of its own other than those of functions.
pub fn module_type(types: &Types, id: ComponentCoreModuleTypeId) -> Result<ModuleType> {
    let ty = &types[id];
    let import = |((module, name), ty): (&(String, String), &EntityType)| {
        Ok((module.clone(), name.clone(), extern_type(types, ty)?))
    };
    let export = |(name, ty): (&String, &EntityType)| Ok((name.clone(), extern_type(types, ty)?));
    let imports = ty.imports.iter().map(import).collect::<Result<_>>()?;
    let mut exports: Vec<_> = ty.exports.iter().map(export).collect::<Result<_>>()?;
    exports.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(ModuleType { imports, exports })
}

fn extern_type(types: &Types, ty: &EntityType) -> Result<ExternType> {
    Ok(match ty {
        EntityType::Func(id) | EntityType::FuncExact(id) => ExternType::Func(func_type(types, *id)?),
        EntityType::Tag(id) => ExternType::Tag(TagType::new(func_type(types, *id)?)),
        EntityType::Memory(ty) => ExternType::Memory(MemoryType::from_parser(ty)),
        EntityType::Table(ty) => {
            check(wp::ValType::Ref(ty.element_type))?;
            ExternType::Table(TableType::from_parser(ty, &Nothing))
        }
        EntityType::Global(ty) => {
            check(ty.content_type)?;
            ExternType::Global(GlobalType::from_parser(ty, &Nothing))
        }
    })
}

fn func_type(types: &Types, id: wp::types::CoreTypeId) -> Result<FuncType> {
    let wp::CompositeInnerType::Func(ty) = &types[id].composite_type.inner else {
        return Err(named());
    };
    let vals = |all: &[wp::ValType]| {
        let val = |&ty: &wp::ValType| check(ty).map(|()| ValType::from_parser(ty, &Nothing));
        all.iter().map(val).collect::<Result<Vec<ValType>>>()
    };
    Ok(FuncType::new(vals(ty.params())?, vals(ty.results())?))
}

/// Fails if a type refers to a defined type.
fn check(ty: wp::ValType) -> Result<()> {
    match ty {
        wp::ValType::Ref(ty) if matches!(ty.heap_type(), wp::HeapType::Abstract { .. }) => Ok(()),
        wp::ValType::Ref(_) => Err(named()),
        _ => Ok(()),
    }
}

fn named() -> crate::Error {
    unsupported("a reference to a defined type in the type of an imported core module")
}

/// The scope of types that refer to no others.
struct Nothing;

impl Resolve for Nothing {
    fn resolve(&self, _: wp::UnpackedIndex) -> DefinedType {
        unreachable!("`check` has refused defined types")
    }
}
