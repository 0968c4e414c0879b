//! Rust types for WIT types.

use std::collections::HashMap;

use wit_parser::{Handle, InterfaceId, Resolve, Type, TypeDefKind, TypeId, TypeOwner};

use crate::options::Options;
use crate::{Error, names};

/// Where the interfaces of a world are, as paths of modules.
#[derive(Default)]
pub struct Places {
    pub imports: HashMap<InterfaceId, Vec<String>>,
    pub exports: HashMap<InterfaceId, Vec<String>>,
}

/// A module in which types are named.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub resolve: &'a Resolve,
    pub options: &'a Options,
    pub places: &'a Places,
    /// The interface of the module; `None` for the world's own.
    pub interface: Option<InterfaceId>,
    pub is_export: bool,
    /// The number of modules around it.
    pub depth: usize,
}

impl Scope<'_> {
    /// # Errors
    /// Fails if components of version 0.2 have no such type.
    pub fn ty(&self, ty: &Type) -> Result<String, Error> {
        Ok(match ty {
            Type::Bool => "bool".to_owned(),
            Type::U8 => "u8".to_owned(),
            Type::U16 => "u16".to_owned(),
            Type::U32 => "u32".to_owned(),
            Type::U64 => "u64".to_owned(),
            Type::S8 => "i8".to_owned(),
            Type::S16 => "i16".to_owned(),
            Type::S32 => "i32".to_owned(),
            Type::S64 => "i64".to_owned(),
            Type::F32 => "f32".to_owned(),
            Type::F64 => "f64".to_owned(),
            Type::Char => "char".to_owned(),
            Type::String => "::std::string::String".to_owned(),
            Type::ErrorContext => return Err(Error::Unsupported("an error context".to_owned())),
            Type::Id(id) if self.resolve.types[*id].name.is_some() => self.name(*id),
            Type::Id(id) => self.structure(&self.resolve.types[*id].kind)?,
        })
    }

    /// Returns the type of a payload that may be absent.
    ///
    /// # Errors
    /// Fails as [`Scope::ty`] does.
    pub fn payload(&self, ty: Option<&Type>) -> Result<String, Error> {
        ty.map_or_else(|| Ok("()".to_owned()), |ty| self.ty(ty))
    }

    /// Returns a type by its structure rather than its name.
    ///
    /// # Errors
    /// Fails as [`Scope::ty`] does.
    pub fn structure(&self, kind: &TypeDefKind) -> Result<String, Error> {
        Ok(match kind {
            TypeDefKind::Option(ty) => format!("::std::option::Option<{}>", self.ty(ty)?),
            TypeDefKind::List(ty) => format!("::std::vec::Vec<{}>", self.ty(ty)?),
            TypeDefKind::Result(result) => {
                let (ok, err) = (self.payload(result.ok.as_ref())?, self.payload(result.err.as_ref())?);
                format!("::std::result::Result<{ok}, {err}>")
            }
            TypeDefKind::Tuple(tuple) => {
                let types = tuple.types.iter().map(|ty| Ok(format!("{}, ", self.ty(ty)?)));
                format!("({})", types.collect::<Result<String, Error>>()?.trim_end())
            }
            TypeDefKind::Type(ty) => self.ty(ty)?,
            TypeDefKind::Handle(Handle::Own(id) | Handle::Borrow(id)) => self.handle(*id),
            other => return Err(Error::Unsupported(format!("the type {}", other.as_str()))),
        })
    }

    /// Returns the type of handles of a resource.
    fn handle(&self, id: TypeId) -> String {
        match self.resolve.types[self.origin(id)].owner {
            TypeOwner::Interface(interface) if self.is_of_export(interface) => {
                "::wprof::component::ResourceAny".to_owned()
            }
            _ => format!("::wprof::component::Resource<{}>", self.name(id)),
        }
    }

    /// Returns the type of which another is only a name.
    fn origin(&self, id: TypeId) -> TypeId {
        match self.resolve.types[id].kind {
            TypeDefKind::Type(Type::Id(other)) => self.origin(other),
            _ => id,
        }
    }

    /// Reports whether an interface here is the one that the world exports, if it imports it as well.
    fn is_of_export(&self, interface: InterfaceId) -> bool {
        self.is_export && self.places.exports.contains_key(&interface)
    }

    /// Returns the path of a type with a name.
    fn name(&self, id: TypeId) -> String {
        let def = &self.resolve.types[id];
        let name = names::ty(def.name.as_deref().unwrap_or_default());
        let root = "super::".repeat(self.depth);
        match def.owner {
            TypeOwner::Interface(interface) if self.interface == Some(interface) => name,
            TypeOwner::Interface(interface) => {
                let places =
                    if self.is_of_export(interface) { &self.places.exports } else { &self.places.imports };
                match self.options.with.get(&key(self.resolve, interface)) {
                    Some(path) => format!("{}::{name}", self.foreign(path)),
                    None => {
                        let path = places.get(&interface).map_or_else(String::new, |path| path.join("::"));
                        format!("{root}{path}::{name}")
                    }
                }
            }
            TypeOwner::World(_) | TypeOwner::None => format!("{root}{name}"),
        }
    }

    /// Returns a path of the options, as seen from here.
    pub fn foreign(&self, path: &str) -> String {
        match path.starts_with("::") || path.starts_with("crate::") {
            true => path.to_owned(),
            false => format!("{}{path}", "super::".repeat(self.depth)),
        }
    }

    /// Returns the option `with` for a type.
    pub fn with(&self, name: &str) -> Option<String> {
        let interface = key(self.resolve, self.interface?);
        self.options.with.get(&format!("{interface}.{name}")).map(|path| self.foreign(path))
    }

    /// Reports whether values of a type contain handles, of which there are no copies.
    pub fn has_handles(&self, ty: &Type) -> bool {
        let Type::Id(id) = ty else { return false };
        let has = |ty: &Type| self.has_handles(ty);
        match &self.resolve.types[*id].kind {
            TypeDefKind::Handle(_) | TypeDefKind::Resource => true,
            TypeDefKind::Record(record) => record.fields.iter().any(|field| has(&field.ty)),
            TypeDefKind::Tuple(tuple) => tuple.types.iter().any(has),
            TypeDefKind::Variant(variant) => {
                variant.cases.iter().filter_map(|case| case.ty.as_ref()).any(has)
            }
            TypeDefKind::Result(result) => result.ok.iter().chain(&result.err).any(has),
            TypeDefKind::Option(ty) | TypeDefKind::List(ty) | TypeDefKind::Type(ty) => self.has_handles(ty),
            _ => false,
        }
    }
}

/// Returns the name of an interface without its version: `a:b/c`. An interface that a world defines has its own name.
pub fn key(resolve: &Resolve, id: InterfaceId) -> String {
    let interface = &resolve.interfaces[id];
    let name = interface.name.clone().unwrap_or_default();
    match interface.package {
        Some(package) if interface.name.is_some() => {
            let package = &resolve.packages[package].name;
            format!("{}:{}/{name}", package.namespace, package.name)
        }
        _ => name,
    }
}
