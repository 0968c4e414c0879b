//! Parsing of a binary component: the definitions of each component of the file, in order, with the validator's
//! types.
//!
//! Invariant: all indices in a [`Body`] are valid, because the validator has checked them.

use std::ops::Range;
use std::rc::Rc;

use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentEntityType, ComponentFuncTypeId, ComponentInstanceTypeId, ResourceId,
};
use wasmparser::types::{Types, TypesRef};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentType, Encoding as FileEncoding, ExternalKind, Instance, Payload,
    ValidPayload, Validator, WasmFeatures,
};

use super::plan::Encoding;
use super::unsupported;
use crate::{Error, ErrorKind, Result};

/// The definitions of a component, in order. Each adds an item to an index space.
#[derive(Default)]
pub struct Body<'a>(pub Vec<Definition<'a>>);

/// An item by its kind and index; of types only resources matter.
#[derive(Clone, Copy)]
pub enum Item {
    Module(u32),
    Func(u32),
    Instance(u32),
    Component(u32),
    Type(Option<ResourceId>),
}

/// A core item by its kind and index.
pub type CoreItem = (ExternalKind, u32);

pub enum Definition<'a> {
    /// The number of the core module in the file.
    Module(u32),
    Component(Rc<Body<'a>>),
    Resource(ResourceId, Option<u32>),
    Import(&'a str, ComponentEntityType),
    Export(&'a str, Item, ComponentEntityType),
    CoreInstantiate(u32, Vec<(&'a str, u32)>),
    CoreInstance(Vec<(&'a str, CoreItem)>),
    CoreAlias(u32, &'a str, ExternalKind),
    Instantiate(u32, Vec<(&'a str, Item)>, ComponentInstanceTypeId),
    Instance(Vec<(&'a str, Item)>, ComponentInstanceTypeId),
    /// The type is present if the item is an instance.
    Alias(u32, &'a str, Option<ComponentInstanceTypeId>),
    OuterModule(u32, u32),
    OuterComponent(u32, u32),
    Lift(u32, ComponentFuncTypeId, Options),
    Lower(u32, ComponentFuncTypeId, Options),
    ResourceNew(ResourceId),
    ResourceDrop(ResourceId),
    ResourceRep(ResourceId),
}

/// The options of the canonical ABI, by indices.
#[derive(Clone, Copy)]
pub struct Options {
    pub encoding: Encoding,
    pub memory: Option<u32>,
    pub realloc: Option<u32>,
    pub post_return: Option<u32>,
}

/// A parsed file.
pub struct Parsed<'a> {
    pub body: Body<'a>,
    /// The ranges of the core modules in the file, in order.
    pub modules: Vec<Range<usize>>,
    pub types: Types,
}

/// Parses and validates everything except the code of core modules.
///
/// # Errors
/// Returns an error if it is malformed, invalid, or uses an unsupported feature.
pub fn parse(bytes: &[u8]) -> Result<Parsed<'_>> {
    let features = wprof_jit::module::features() | WasmFeatures::COMPONENT_MODEL;
    let mut validator = Validator::new_with_features(features);
    let mut open: Vec<Option<Body<'_>>> = Vec::new();
    let mut modules = Vec::new();
    for payload in wprof_jit::module::parser(features).parse_all(bytes) {
        let payload = payload.map_err(invalid)?;
        let valid = validator.payload(&payload).map_err(invalid)?;
        match &payload {
            Payload::Version { encoding: FileEncoding::Component, .. } => open.push(Some(Body::default())),
            Payload::Version { encoding: FileEncoding::Module, .. } => open.push(None),
            Payload::End(_) => {
                let closed = open.pop().flatten();
                match (closed, open.last_mut()) {
                    (Some(body), Some(Some(outer))) => outer.0.push(Definition::Component(Rc::new(body))),
                    (Some(body), _) => {
                        let ValidPayload::End(types) = valid else { return Err(not_one()) };
                        return Ok(Parsed { body, modules, types });
                    }
                    (None, None) => return Err(not_one()),
                    (None, Some(_)) => {}
                }
            }
            _ => {
                let (Some(Some(body)), Some(types)) = (open.last_mut(), validator.types(0)) else { continue };
                if let Payload::ModuleSection { unchecked_range, .. } = &payload {
                    body.0.push(Definition::Module(modules.len() as u32));
                    let Range { start, end } = unchecked_range;
                    modules.push(*start as usize..*end as usize);
                } else {
                    section(&payload, &types, &mut body.0)?;
                }
            }
        }
    }
    Err(not_one())
}

fn invalid(error: wasmparser::Error) -> Error {
    Error::with_source(ErrorKind::Module, Box::new(error)).context("invalid component")
}

fn not_one() -> Error {
    Error::new(ErrorKind::Module, "this is not a component: load it as a module")
}

fn section<'a>(payload: &Payload<'a>, types: &TypesRef<'_>, body: &mut Vec<Definition<'a>>) -> Result<()> {
    match payload {
        Payload::ComponentTypeSection(section) => {
            let first = types.component_type_count() - section.count();
            for (index, ty) in (first..).zip(section.clone()) {
                if let ComponentType::Resource { dtor, .. } = ty.map_err(invalid)?
                    && let Some(id) = resource(types, index)
                {
                    body.push(Definition::Resource(id, dtor));
                }
            }
        }
        Payload::ComponentImportSection(section) => {
            for import in section.clone() {
                let name = import.map_err(invalid)?.name.name;
                let item = types.component_item_for_import(name).ok_or_else(not_one)?;
                body.push(Definition::Import(name, item.ty));
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section.clone() {
                let export = export.map_err(invalid)?;
                let item = types.component_item_for_export(export.name.name).ok_or_else(not_one)?;
                let exported = self::item(types, export.kind, export.index)?;
                body.push(Definition::Export(export.name.name, exported, item.ty));
            }
        }
        Payload::InstanceSection(section) => {
            for instance in section.clone() {
                body.push(core_instance(instance.map_err(invalid)?));
            }
        }
        Payload::ComponentInstanceSection(section) => {
            let first = types.component_instance_count() - section.count();
            for (index, instance) in (first..).zip(section.clone()) {
                let ty = types.component_instance_at(index);
                body.push(component_instance(types, instance.map_err(invalid)?, ty)?);
            }
        }
        Payload::ComponentAliasSection(section) => aliases(section.clone(), types, body)?,
        Payload::ComponentCanonicalSection(section) => {
            let lifts = section
                .clone()
                .into_iter()
                .filter(|canon| matches!(canon, Ok(CanonicalFunction::Lift { .. })));
            let mut next = types.component_function_count() - lifts.count() as u32;
            for canon in section.clone() {
                body.push(canonical(canon.map_err(invalid)?, types, &mut next)?);
            }
        }
        Payload::ComponentStartSection { .. } => return Err(unsupported("a start function of its own")),
        _ => {}
    }
    Ok(())
}

fn resource(types: &TypesRef<'_>, index: u32) -> Option<ResourceId> {
    match types.component_any_type_at(index) {
        ComponentAnyTypeId::Resource(id) => Some(id.resource()),
        _ => None,
    }
}

fn item(types: &TypesRef<'_>, kind: ComponentExternalKind, index: u32) -> Result<Item> {
    Ok(match kind {
        ComponentExternalKind::Module => Item::Module(index),
        ComponentExternalKind::Func => Item::Func(index),
        ComponentExternalKind::Instance => Item::Instance(index),
        ComponentExternalKind::Component => Item::Component(index),
        ComponentExternalKind::Type => Item::Type(resource(types, index)),
        ComponentExternalKind::Value => return Err(unsupported("a value as an import or export")),
    })
}

fn core_instance(instance: Instance<'_>) -> Definition<'_> {
    match instance {
        Instance::Instantiate { module_index, args } => {
            let args = args.iter().map(|arg| (arg.name, arg.index)).collect();
            Definition::CoreInstantiate(module_index, args)
        }
        Instance::FromExports(exports) => {
            Definition::CoreInstance(exports.iter().map(|e| (e.name, (e.kind, e.index))).collect())
        }
    }
}

fn component_instance<'a>(
    types: &TypesRef<'_>,
    instance: ComponentInstance<'a>,
    ty: ComponentInstanceTypeId,
) -> Result<Definition<'a>> {
    Ok(match instance {
        ComponentInstance::Instantiate { component_index, args } => {
            let arg = |arg: &wasmparser::ComponentInstantiationArg<'a>| {
                Ok((arg.name, item(types, arg.kind, arg.index)?))
            };
            Definition::Instantiate(component_index, args.iter().map(arg).collect::<Result<_>>()?, ty)
        }
        ComponentInstance::FromExports(exports) => {
            let export = |export: &wasmparser::ComponentExport<'a>| {
                Ok((export.name.name, item(types, export.kind, export.index)?))
            };
            Definition::Instance(exports.iter().map(export).collect::<Result<_>>()?, ty)
        }
    })
}

fn aliases<'a>(
    section: wasmparser::ComponentAliasSectionReader<'a>,
    types: &TypesRef<'_>,
    body: &mut Vec<Definition<'a>>,
) -> Result<()> {
    let all: Vec<ComponentAlias<'a>> = section.into_iter().collect::<Result<_, _>>().map_err(invalid)?;
    let is_instance = |alias: &&ComponentAlias<'_>| {
        matches!(alias, ComponentAlias::InstanceExport { kind: ComponentExternalKind::Instance, .. })
    };
    let mut next = types.component_instance_count() - all.iter().filter(is_instance).count() as u32;
    for alias in all {
        body.push(match alias {
            ComponentAlias::InstanceExport { kind, instance_index, name } => {
                let ty = (kind == ComponentExternalKind::Instance).then(|| {
                    next += 1;
                    types.component_instance_at(next - 1)
                });
                Definition::Alias(instance_index, name, ty)
            }
            ComponentAlias::CoreInstanceExport { kind, instance_index, name } => {
                Definition::CoreAlias(instance_index, name, kind)
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, count, index } => {
                Definition::OuterModule(count, index)
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                Definition::OuterComponent(count, index)
            }
            ComponentAlias::Outer { .. } => continue,
        });
    }
    Ok(())
}

fn canonical<'a>(
    canon: CanonicalFunction,
    types: &TypesRef<'_>,
    next_func: &mut u32,
) -> Result<Definition<'a>> {
    let resource = |index: u32| resource(types, index).ok_or_else(not_one);
    Ok(match canon {
        CanonicalFunction::Lift { core_func_index, options, .. } => {
            let ty = types.component_function_at(*next_func);
            *next_func += 1;
            Definition::Lift(core_func_index, ty, self::options(&options)?)
        }
        CanonicalFunction::Lower { func_index, options } => {
            Definition::Lower(func_index, types.component_function_at(func_index), self::options(&options)?)
        }
        CanonicalFunction::ResourceNew { resource: index } => Definition::ResourceNew(resource(index)?),
        CanonicalFunction::ResourceDrop { resource: index } => Definition::ResourceDrop(resource(index)?),
        CanonicalFunction::ResourceRep { resource: index } => Definition::ResourceRep(resource(index)?),
        other => {
            let text = format!("{other:?}");
            let name = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            return Err(unsupported(format_args!("the built-in function {name}")));
        }
    })
}

fn options(all: &[CanonicalOption]) -> Result<Options> {
    let mut options = Options { encoding: Encoding::Utf8, memory: None, realloc: None, post_return: None };
    for option in all {
        match *option {
            CanonicalOption::UTF8 => options.encoding = Encoding::Utf8,
            CanonicalOption::UTF16 => options.encoding = Encoding::Utf16,
            CanonicalOption::CompactUTF16 => options.encoding = Encoding::Latin1OrUtf16,
            CanonicalOption::Memory(index) => options.memory = Some(index),
            CanonicalOption::Realloc(index) => options.realloc = Some(index),
            CanonicalOption::PostReturn(index) => options.post_return = Some(index),
            CanonicalOption::Async | CanonicalOption::Callback(_) => {
                return Err(unsupported("an async function"));
            }
            CanonicalOption::CoreType(_) | CanonicalOption::Gc => {
                return Err(unsupported("garbage collection in its canonical ABI"));
            }
        }
    }
    Ok(options)
}
