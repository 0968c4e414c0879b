//! What a world exports: structs with functions that call it.

use wit_parser::{Interface, TypeDefKind};

use crate::functions::Func;
use crate::scope::Scope;
use crate::{Error, names};

/// Returns the struct of an exported interface.
///
/// # Errors
/// Fails if components of version 0.2 have no such function.
pub fn interface(scope: &Scope<'_>, name: &str, interface: &Interface) -> Result<String, Error> {
    let funcs = interface.functions.values().map(|func| Func::new(scope, func));
    let funcs: Vec<Func<'_>> = funcs.collect::<Result<_, _>>()?;
    let fields: String = funcs.iter().map(|func| func.field(scope)).collect();
    let found: String = funcs.iter().map(|func| func.found(scope, Some(name))).collect();
    let free = funcs.iter().filter(|func| func.resource.is_none());
    let mut called: String = free.map(|func| func.called(scope, "self")).collect();
    let mut resources = String::new();
    for (name, id) in &interface.types {
        let own: Vec<&Func<'_>> = funcs.iter().filter(|func| func.resource == Some(*id)).collect();
        if !matches!(scope.resolve.types[*id].kind, TypeDefKind::Resource) || own.is_empty() {
            continue;
        }
        let (rust, method) = (names::ty(name), names::value(name));
        called += &format!(
            "    /// Returns the functions of the resource `{name}`.\n    pub fn {method}(&self) -> Guest{rust}<'_> {{\n        \
             Guest{rust}(self)\n    }}\n"
        );
        let methods: String = own.iter().map(|func| func.called(scope, "self.0")).collect();
        resources += &format!(
            "/// Functions of the resource `{name}`.\n#[derive(Clone, Copy, Debug)]\npub struct Guest{rust}<'a>(&'a \
             Guest);\n\nimpl Guest{rust}<'_> {{\n{methods}}}\n\n"
        );
    }
    Ok(guest("Guest", &fields, &found, &called) + "\n" + &resources)
}

/// Returns the struct of a world, which exports these functions, and interfaces with names and paths.
pub fn world(scope: &Scope<'_>, name: &str, funcs: &[Func<'_>], interfaces: &[(String, String)]) -> String {
    let mut fields: String = funcs.iter().map(|func| func.field(scope)).collect();
    let mut found: String = funcs.iter().map(|func| func.found(scope, None)).collect();
    let mut called = format!(
        "    /// Instantiates a component, and finds its exports.\n    ///\n    /// # Errors\n    /// Fails as \
         `Linker::instantiate` and `new` do.\n    pub fn instantiate<T: 'static>(\n        store: impl \
         ::wprof::AsContextMut<Data = T>,\n        component: &::wprof::component::Component,\n        linker: \
         &::wprof::component::Linker<T>,\n    ) -> ::wprof::Result<{name}> {{\n        \
         {name}::new(&linker.instantiate(store, component)?)\n    }}\n"
    );
    for (field, path) in interfaces {
        fields += &format!("    interface_{field}: {path}::Guest,\n");
        found += &format!("            interface_{field}: {path}::Guest::new(instance)?,\n");
        called += &format!(
            "    /// Returns the exported interface.\n    pub fn {field}(&self) -> &{path}::Guest {{\n        \
             &self.interface_{field}\n    }}\n"
        );
    }
    called.extend(funcs.iter().map(|func| func.called(scope, "self")));
    guest(name, &fields, &found, &called)
}

/// Returns a struct of exports.
fn guest(name: &str, fields: &str, found: &str, called: &str) -> String {
    format!(
        "/// The exports of an instance.\n#[derive(Debug)]\npub struct {name} {{\n{fields}}}\n\nimpl {name} {{\n    /// Finds \
         the exports of an instance.\n    ///\n    /// # Errors\n    /// Fails if one is missing, or has another type.\n    \
         #[allow(unused_variables)]\n    pub fn new(instance: &::wprof::component::Instance) -> ::wprof::Result<{name}> \
         {{\n        Ok({name} {{\n{found}        }})\n    }}\n{called}}}\n"
    )
}
