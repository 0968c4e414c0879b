//! What a world imports: traits that the host implements, and their functions in linkers.

use wit_parser::{Function, TypeDefKind, TypeId};

use crate::functions::Func;
use crate::scope::Scope;
use crate::{Error, names};

/// Functions and types that are imported under one name, or without one.
pub struct Imports<'a> {
    /// The name of the instance in linkers.
    pub instance: Option<&'a str>,
    /// The name of the trait.
    pub name: &'a str,
    pub types: Vec<(&'a str, TypeId)>,
    pub functions: Vec<&'a Function>,
}

/// The text for imports, in parts.
pub struct Written {
    /// The traits.
    pub traits: String,
    /// The statements that define all in `linker`.
    pub defined: String,
}

/// Writes the traits and the definitions; `None` if there is nothing to implement.
///
/// # Errors
/// Fails if components of version 0.2 have no such function.
pub fn write(scope: &Scope<'_>, imports: &Imports<'_>) -> Result<Option<Written>, Error> {
    let funcs = imports.functions.iter().map(|func| Func::new(scope, func));
    let funcs: Vec<Func<'_>> = funcs.collect::<Result<_, _>>()?;
    let mut defined = match imports.instance {
        Some(name) => format!("    let mut names = linker.instance(\"{name}\")?;\n"),
        None => "    let mut names = linker.root();\n".to_owned(),
    };
    let (mut above, mut traits) = (Vec::new(), String::new());
    for (name, id) in &imports.types {
        if !matches!(scope.resolve.types[*id].kind, TypeDefKind::Resource) {
            continue;
        }
        let own: Vec<&Func<'_>> = funcs.iter().filter(|func| func.resource == Some(*id)).collect();
        let rust = names::ty(name);
        traits += &of_resource(&rust, &own);
        defined += &resource(name, &rust);
        defined.extend(own.iter().map(|func| func.defined(&format!("Host{rust}"))));
        above.push(format!("Host{rust}"));
    }
    if funcs.is_empty() && above.is_empty() {
        return Ok(None);
    }
    let free = || funcs.iter().filter(|func| func.resource.is_none());
    let methods: String = free().map(Func::method).collect();
    let above = if above.is_empty() { String::new() } else { format!(": {}", above.join(" + ")) };
    defined.extend(free().map(|func| func.defined(imports.name)));
    let name = imports.name;
    traits +=
        &format!("/// Functions that the component imports.\npub trait {name}{above} {{\n{methods}}}\n\n");
    Ok(Some(Written { traits, defined }))
}

/// Returns the trait of a resource.
fn of_resource(rust: &str, funcs: &[&Func<'_>]) -> String {
    let methods: String = funcs.iter().map(|func| func.method()).collect();
    format!(
        "/// Functions of the resource `{rust}`.\npub trait Host{rust} {{\n{methods}    /// Is called when the component \
         drops a resource.\n    ///\n    /// # Errors\n    /// An error ends the component's call.\n    fn drop(&mut self, \
         resource: ::wprof::component::Resource<{rust}>) -> ::wprof::Result<()>;\n}}\n\n"
    )
}

/// Returns the definition of a resource.
fn resource(name: &str, rust: &str) -> String {
    format!(
        "    let ty = ::wprof::component::ResourceType::host::<{rust}>();\n    names.resource(\"{name}\", ty, move |mut \
         store, rep| {{\n        Host{rust}::drop(get(store.data_mut()), \
         ::wprof::component::Resource::new_own(rep))\n    }})?;\n"
    )
}

/// Returns the function that defines imports by a trait.
pub fn adder(bounds: &str, body: &str) -> String {
    format!(
        "/// Defines these imports; `get` finds their implementation in a store's data.\n///\n/// # Errors\n/// Fails if one \
         of the names is taken.\npub fn add_to_linker<T: 'static, U: {bounds}>(\n    linker: &mut \
         ::wprof::component::Linker<T>,\n    get: impl Fn(&mut T) -> &mut U + Copy + Send + Sync + 'static,\n) -> \
         ::wprof::Result<()> {{\n{body}    Ok(())\n}}\n"
    )
}
