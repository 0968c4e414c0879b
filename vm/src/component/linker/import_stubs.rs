//! Stand-ins for undefined imports.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{Definition, Linker, LinkerInstance};
use crate::component::component::Component;
use crate::component::plan::Imported;
use crate::component::resource::{ResourceAny, ResourceType};
use crate::component::types::{FuncType, Type, TypeKind};
use crate::component::val::Val;
use crate::{Error, ErrorKind, Result, Trap};

/// Host resources, by their numbers in the component.
type Resources = HashMap<u32, ResourceType>;

impl<T: 'static> Linker<T> {
    /// Defines each undefined import of a component: functions trap, and resources have no values.
    ///
    /// # Errors
    /// Fails if an import has the name of another kind of item, or is a core module.
    pub fn define_unknown_imports_as_traps(&mut self, component: &Component) -> Result<()> {
        self.define_unknown(component, |names, name, shown, _, _| {
            names.func_new(name, move |_, _, _| {
                let trap = Error::from(Trap::UnreachableCodeReached);
                Err(trap.context(format_args!("unknown import `{shown}` called")))
            })
        })
    }

    /// Defines each undefined import of a component: functions return zeros or the nearest equivalents: empty
    /// strings and lists, the first case, `none`, success, and resources with the number 0.
    ///
    /// # Errors
    /// Fails if an import has the name of another kind of item, or is a core module.
    pub fn define_unknown_imports_as_zeros(&mut self, component: &Component) -> Result<()> {
        self.define_unknown(component, |names, name, _, ty, resources| {
            let (ty, resources) = (ty.clone(), resources.clone());
            names.func_new(name, move |_, _, results| {
                if let (Some(result), Some(ty)) = (results.first_mut(), ty.result()) {
                    *result = zero(ty, &resources)?;
                }
                Ok(())
            })
        })
    }

    fn define_unknown(
        &mut self,
        component: &Component,
        define: impl Fn(&mut LinkerInstance<'_, T>, &str, String, &Arc<FuncType>, &Resources) -> Result<()>,
    ) -> Result<()> {
        let mut resources = Resources::new();
        for import in &component.plan().imports {
            let Some((name, instances)) = import.path.split_last() else { continue };
            if let Some(defined) = self.find(&import.path) {
                if let (Definition::Resource(ty, _), Imported::Resource(number)) = (defined, &import.item) {
                    resources.insert(*number, ty.clone());
                }
                continue;
            }
            let shown = import.path.join("#");
            let mut names = self.root();
            for instance in instances {
                // Other functions of the same interface may be defined under another version.
                let known = names.names.known(instance).unwrap_or(instance).to_owned();
                names = names.into_instance(&known)?;
            }
            match &import.item {
                Imported::Func(ty) => define(&mut names, name, shown, ty, &resources)?,
                Imported::Module(_) => {
                    let message =
                        format!("`{shown}` is a core module, for which there is no stand-in: define it");
                    return Err(Error::new(ErrorKind::Link, message));
                }
                Imported::Resource(number) => {
                    let ty = ResourceType::named(&shown);
                    resources.insert(*number, ty.clone());
                    names.resource(name, ty, |_, _| Ok(()))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the value of a type that is most like zero.
fn zero(ty: &Type, resources: &Resources) -> Result<Val> {
    let boxed = |ty: &Option<Type>| ty.as_ref().map(|ty| zero(ty, resources).map(Box::new)).transpose();
    Ok(match ty.kind() {
        TypeKind::Bool => Val::Bool(false),
        TypeKind::S8 => Val::S8(0),
        TypeKind::U8 => Val::U8(0),
        TypeKind::S16 => Val::S16(0),
        TypeKind::U16 => Val::U16(0),
        TypeKind::S32 => Val::S32(0),
        TypeKind::U32 => Val::U32(0),
        TypeKind::S64 => Val::S64(0),
        TypeKind::U64 => Val::U64(0),
        TypeKind::Float32 => Val::Float32(0.0),
        TypeKind::Float64 => Val::Float64(0.0),
        TypeKind::Char => Val::Char('\0'),
        TypeKind::String => Val::String(String::new()),
        TypeKind::List(_) => Val::List(Vec::new()),
        TypeKind::Record(_) | TypeKind::Tuple(_) => {
            let fields = ty.fields().map(|(_, ty)| zero(ty, resources)).collect::<Result<_>>()?;
            Val::of_fields(ty, fields)
        }
        TypeKind::Variant(cases) => {
            let Some((name, held)) = cases.first() else { return Err(none(ty)) };
            Val::Variant(name.clone(), boxed(held)?)
        }
        TypeKind::Enum(names) => Val::Enum(names.first().ok_or_else(|| none(ty))?.clone()),
        TypeKind::Option(_) => Val::Option(None),
        TypeKind::Result { ok, .. } => Val::Result(Ok(boxed(ok)?)),
        TypeKind::Flags(_) => Val::Flags(Vec::new()),
        TypeKind::Own(number) | TypeKind::Borrow(number) => {
            let ty = resources.get(number).ok_or_else(|| none(ty))?;
            Val::Resource(ResourceAny::host(ty, 0))
        }
    })
}

/// Creates the error for a type without such a value, for instance a resource of the component's own.
fn none(ty: &Type) -> Error {
    let trap = Error::from(Trap::UnreachableCodeReached);
    trap.context(format_args!(
        "an unknown import that returns {ty} was called, of which there is none for it"
    ))
}
