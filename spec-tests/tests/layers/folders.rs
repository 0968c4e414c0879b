//! The graphs of the modules in each folder of a crate.
//!
//! Two modules of one folder are joined if anything in the one uses anything that is defined in the other, at whatever depth
//! and through whatever names it is reexported. What a folder's own file defines is beside its modules: they may use it.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::ITEMS;
use crate::paths::{Path, Use, uses};
use crate::{File, Graph};

/// The modules of a crate, and what is imported and defined in each.
struct Crate {
    modules: BTreeSet<Path>,
    imports: BTreeMap<Path, Vec<Use>>,
    items: BTreeMap<Path, BTreeSet<String>>,
}

/// Returns the graph of the modules in each folder, by the path of the folder; that of the root is empty.
pub fn graphs(files: &[File]) -> BTreeMap<Path, Graph> {
    let modules: BTreeSet<Path> = files.iter().map(|(place, _)| place.clone()).collect();
    let of_file = |(place, tokens): &File| {
        let is_child = |name: &str| modules.contains(&[&place[..], &[name.to_owned()]].concat());
        (place.clone(), uses(tokens, place, &is_child))
    };
    let imports: BTreeMap<Path, Vec<Use>> = files.iter().map(of_file).collect();
    let items = files.iter().map(|(place, tokens)| (place.clone(), items(tokens))).collect();
    let all = Crate { modules, imports, items };
    let mut graphs: BTreeMap<Path, Graph> = BTreeMap::new();
    for place in all.modules.iter() {
        if let Some((name, folder)) = place.split_last() {
            graphs.entry(folder.to_vec()).or_default().entry(name.clone()).or_default();
        }
        for used in &all.imports[place] {
            let defined = all.defining(&used.path, 0);
            let common = place.iter().zip(&defined).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (place.get(common), defined.get(common)) {
                let graph = graphs.entry(place[..common].to_vec()).or_default();
                graph.entry(from.clone()).or_default().insert(to.clone());
                graph.entry(to.clone()).or_default();
            }
        }
    }
    graphs
}

/// Returns the names of all items of a file, those of its types among them.
fn items(tokens: &[String]) -> BTreeSet<String> {
    let is_item = |pair: &&[String]| ITEMS.contains(&pair[0].as_str());
    tokens.windows(2).filter(is_item).map(|pair| pair[1].clone()).collect()
}

/// The longest chain of names that reexport each other.
const LONGEST: usize = 16;

impl Crate {
    /// Returns the module that defines what a path names.
    fn defining(&self, path: &[String], depth: usize) -> Path {
        let mut module = Path::new();
        for (at, name) in path.iter().enumerate() {
            let inside = [&module[..], std::slice::from_ref(name)].concat();
            if self.modules.contains(&inside) {
                module = inside;
                continue;
            }
            if depth < LONGEST
                && let Some(original) = self.reexported(&module, name, depth)
            {
                return self.defining(&[&original[..], &path[at + 1..]].concat(), depth + 1);
            }
            break;
        }
        module
    }

    /// Returns the path by which a module imports a name; `None` if it defines the name itself.
    fn reexported(&self, module: &[String], name: &str, depth: usize) -> Option<Path> {
        let imports = self.imports.get(module)?;
        let by_name = imports.iter().find(|one| one.name.as_deref() == Some(name));
        if let Some(one) = by_name.filter(|one| one.path.last().is_none_or(|last| last != "*")) {
            return Some(one.path.clone())
                .filter(|path| path[..] != [module, &[name.to_owned()]].concat()[..]);
        }
        let of_all = imports.iter().filter(|one| one.path.last().is_some_and(|last| last == "*"));
        let through = |one: &Use| {
            let folder = &one.path[..one.path.len() - 1];
            let target = self.defining(folder, depth + 1);
            let whole = [&target[..], &[name.to_owned()]].concat();
            let is_imported =
                || self.imports.get(&target)?.iter().find(|one| one.name.as_deref() == Some(name));
            let is_there = self.modules.contains(&whole)
                || self.items.get(&target).is_some_and(|items| items.contains(name))
                || is_imported().is_some();
            (is_there && target != module).then_some(whole)
        };
        of_all.filter_map(through).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(place: &str, text: &str) -> File {
        let place = place.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        (place, crate::tokens::tokens(text))
    }

    fn edges(files: &[File]) -> String {
        let mut shown = Vec::new();
        for (folder, graph) in graphs(files) {
            for (from, all) in graph {
                shown.extend(all.iter().map(|to| format!("{}: {from}>{to}", folder.join("::"))));
            }
        }
        shown.join(", ")
    }

    #[test]
    fn an_edge_is_where_two_paths_part() {
        let files = [
            file("", "mod a; mod b;"),
            file("a", "mod x; mod y; pub use y::Y; struct Own;"),
            file("a::x", "use super::{Own, y::Z}; use crate::b::B;"),
            file("a::y", "pub struct Y; pub struct Z; fn f() { super::x::g() }"),
            file("b", "use crate::a::Y; pub struct B;"),
        ];
        assert_eq!(edges(&files), ": a>b, : b>a, a: x>y, a: y>x");
    }

    #[test]
    fn names_are_from_where_they_are_defined() {
        let files = [
            file("", "pub use a::deep::Thing; pub use a::Other as Renamed;"),
            file("a", "mod deep; mod user; mod more; use deep::*; pub use more::Other;"),
            file("a::deep", "pub use super::more::Third; pub struct Thing;"),
            file("a::more", "pub struct Third; pub struct Other;"),
            file("a::user", "use crate::{Thing, Renamed}; use super::Third;"),
        ];
        assert_eq!(edges(&files), "a: deep>more, a: user>deep, a: user>more");
    }
}
