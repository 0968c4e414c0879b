//! The module of a world.

use wit_parser::{Function, Interface, InterfaceId, Resolve, World, WorldItem, WorldKey};

use crate::definitions::define;
use crate::functions::Func;
use crate::imports::{self, Imports};
use crate::options::Options;
use crate::scope::{Places, Scope, key};
use crate::tree::Tree;
use crate::{Error, exports, names};

/// Generates the text.
///
/// # Errors
/// Fails if the world uses what is not supported, or the options name what it does not use.
pub fn generate(resolve: &Resolve, world: &World, options: &Options) -> Result<String, Error> {
    check_options(resolve, world, options)?;
    let mut places = Places::default();
    for (key, item) in &world.imports {
        place(resolve, &mut places, (key, item), false)?;
    }
    for (key, item) in &world.exports {
        place(resolve, &mut places, (key, item), true)?;
    }
    let own = Scope { resolve, options, places: &places, interface: None, is_export: false, depth: 0 };
    let mut tree = Tree::default();
    write_imports(&own, world, &mut tree)?;
    write_exports(&own, world, &mut tree)?;
    let mut text = String::new();
    tree.write(0, &mut text);
    Ok(text)
}

fn write_imports(own: &Scope<'_>, world: &World, tree: &mut Tree) -> Result<(), Error> {
    let (mut bounds, mut body) = (Vec::new(), String::new());
    let (mut types, mut functions) = (Vec::new(), Vec::new());
    for (key, item) in &world.imports {
        match (key, item) {
            (WorldKey::Name(name), WorldItem::Type { id, .. }) => {
                define(own, *id, &mut tree.text)?;
                types.push((name.as_str(), *id));
            }
            (_, WorldItem::Function(func)) => functions.push(func),
            (_, WorldItem::Interface { id, .. })
                if own.options.with.contains_key(&of_interface(own, *id)) => {}
            (_, WorldItem::Interface { id, .. }) => {
                let path = &own.places.imports[id];
                let scope = Scope { interface: Some(*id), depth: path.len(), ..*own };
                let name = own.resolve.name_world_key(key);
                let (text, is_implemented) = imported(&scope, &name, &own.resolve.interfaces[*id])?;
                tree.at(path).text = text;
                if is_implemented {
                    let path = path.join("::");
                    body += &format!("    {path}::add_to_linker(linker, get)?;\n");
                    bounds.push(format!("{path}::Host"));
                }
            }
            _ => {}
        }
    }
    let name = format!("{}Imports", names::ty(&world.name));
    let all = Imports { instance: None, name: &name, types, functions };
    if let Some(written) = imports::write(own, &all)? {
        tree.text.push_str(&written.traits);
        body += &written.defined;
        bounds.push(name);
    }
    if !bounds.is_empty() {
        tree.text.push_str(&imports::adder(&bounds.join(" + "), &body));
    }
    Ok(())
}

/// Returns the module of an imported interface, and whether the host is to implement it.
fn imported(scope: &Scope<'_>, name: &str, interface: &Interface) -> Result<(String, bool), Error> {
    let mut text = String::new();
    interface.types.values().try_for_each(|id| define(scope, *id, &mut text))?;
    if scope.interface.is_some_and(|id| is_skipped(scope.options, &key(scope.resolve, id))) {
        return Ok((text, false));
    }
    let types = interface.types.iter().map(|(name, id)| (name.as_str(), *id)).collect();
    let functions = interface.functions.values().collect();
    let all = Imports { instance: Some(name), name: "Host", types, functions };
    let Some(written) = imports::write(scope, &all)? else { return Ok((text, false)) };
    text += &written.traits;
    text += &imports::adder("Host", &written.defined);
    Ok((text, true))
}

fn write_exports(own: &Scope<'_>, world: &World, tree: &mut Tree) -> Result<(), Error> {
    let mut fields = Vec::new();
    for (key, item) in &world.exports {
        if let WorldItem::Interface { id, .. } = item {
            let path = &own.places.exports[id];
            let scope = Scope { interface: Some(*id), is_export: true, depth: path.len(), ..*own };
            let interface = &own.resolve.interfaces[*id];
            let mut text = String::new();
            interface.types.values().try_for_each(|id| define(&scope, *id, &mut text))?;
            text += &exports::interface(&scope, &own.resolve.name_world_key(key), interface)?;
            tree.at(path).text = text;
            fields.push((path[1..].join("_").replace("r#", ""), path.join("::")));
        }
    }
    let funcs = world.exports.values().filter_map(function).map(|func| Func::new(own, func));
    let funcs: Vec<Func<'_>> = funcs.collect::<Result<_, _>>()?;
    tree.text.push_str(&exports::world(own, &names::ty(&world.name), &funcs, &fields));
    Ok(())
}

fn function(item: &WorldItem) -> Option<&Function> {
    match item {
        WorldItem::Function(func) => Some(func),
        _ => None,
    }
}

fn of_interface(scope: &Scope<'_>, id: InterfaceId) -> String {
    key(scope.resolve, id)
}

/// Reports whether something else defines an interface, such as `wasi:io/streams`: `skip` has it, its package or its
/// namespace.
fn is_skipped(options: &Options, interface: &str) -> bool {
    options.skip.iter().any(|name| covers(name, interface))
}

fn covers(name: &str, interface: &str) -> bool {
    let rest = interface.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}

/// Fails if an option names something that the world does not use: it may be misspelt.
fn check_options(resolve: &Resolve, world: &World, options: &Options) -> Result<(), Error> {
    let id = |item: &WorldItem| if let WorldItem::Interface { id, .. } = item { Some(*id) } else { None };
    let ids: Vec<InterfaceId> = world.imports.values().filter_map(id).collect();
    let all: Vec<String> = ids.iter().map(|id| key(resolve, *id)).collect();
    let unused = |option: &'static str, name: &str| {
        let list: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
        let known = if list.is_empty() { "no interface".to_owned() } else { list.join(", ") };
        Error::Unused { option, name: name.to_owned(), known }
    };
    for name in &options.skip {
        if !all.iter().any(|interface| covers(name, interface)) {
            return Err(unused("skip", name));
        }
    }
    for name in options.with.keys() {
        let has = |id: &InterfaceId| {
            let interface = key(resolve, *id);
            let rest = name.strip_prefix(&interface).map(|rest| rest.strip_prefix('.').unwrap_or(rest));
            rest.is_some_and(|ty| ty.is_empty() || resolve.interfaces[*id].types.contains_key(ty))
        };
        if !ids.iter().any(has) {
            return Err(unused("with", name));
        }
    }
    Ok(())
}

/// Finds the module of an interface.
fn place(
    resolve: &Resolve,
    places: &mut Places,
    (key, item): (&WorldKey, &WorldItem),
    is_export: bool,
) -> Result<(), Error> {
    let WorldItem::Interface { id, .. } = item else { return Ok(()) };
    let mut path = if is_export { vec!["exports".to_owned()] } else { Vec::new() };
    match key {
        WorldKey::Name(name) => path.push(names::value(name)),
        WorldKey::Interface(id) => path.extend(path_of(resolve, *id)),
    }
    let places = if is_export { &mut places.exports } else { &mut places.imports };
    if places.values().any(|other| *other == path) {
        return Err(Error::Ambiguous(path.join("::")));
    }
    places.insert(*id, path);
    Ok(())
}

fn path_of(resolve: &Resolve, id: InterfaceId) -> Vec<String> {
    let interface = &resolve.interfaces[id];
    let package = interface.package.map(|package| &resolve.packages[package].name);
    let package =
        package.into_iter().flat_map(|name| [names::value(&name.namespace), names::value(&name.name)]);
    package.chain(interface.name.as_deref().map(names::value)).collect()
}
