//! Components, ready to be instantiated.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::module::ModuleBytes;

use super::core_modules::{self, CoreModule};
use super::fuse::fuse;
use super::inline::inline;
use super::parse::parse;
use super::plan::{Export, Plan};
use super::types::{self, FuncType};
use crate::artifact::{CodeSource, Numbers};
use crate::module::{binary, check_size, of_another_module, part};
use crate::{Engine, Error, ErrorKind, Module, Result};

/// The header that distinguishes a binary component from a binary module.
const HEAD: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// A validated component. It is cheap to clone; all clones share the code of its core modules.
#[derive(Clone, Debug)]
pub struct Component(Arc<Inner>);

struct Inner {
    engine: Engine,
    /// The binary, parts of which are the core modules.
    bytes: ModuleBytes,
    plan: Plan,
    /// The core modules and adapters, each once.
    core_modules: Vec<CoreModule>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Component {
    /// Loads a binary component or, with feature `wat`, one in the text format.
    ///
    /// # Errors
    /// Returns an error if it is malformed, invalid, larger than the configuration allows, or uses an unsupported
    /// feature, which the error names.
    pub fn new(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Component> {
        let bytes = bytes.as_ref();
        check_size(engine, bytes.len() as u64)?;
        Component::load(engine, bytes.into(), &mut CodeSource::Cache(Numbers::default()))
    }

    /// Loads a binary component.
    ///
    /// # Errors
    /// Returns an error if it is text, and as [`Component::new`].
    pub fn from_binary(engine: &Engine, binary: &[u8]) -> Result<Component> {
        if !binary.starts_with(&HEAD[..4]) {
            let message = "not a binary component, which begins with the bytes 00 61 73 6d";
            return Err(Error::new(ErrorKind::Module, message));
        }
        Component::new(engine, binary)
    }

    /// Loads a component whose size has been checked.
    pub(super) fn load(engine: &Engine, bytes: ModuleBytes, source: &mut CodeSource) -> Result<Component> {
        let bytes = binary(bytes)?;
        let parsed = parse(&bytes)?;
        let modules = modules(engine, &bytes, &parsed.modules, source)?;
        if engine.config().tiers.advice.is_some() && !modules.iter().any(Module::is_advised) {
            return Err(of_another_module("hot paths"));
        }
        let mut plan = inline(&parsed, modules)?;
        if engine.config().modules.fuses {
            fuse(engine, &mut plan, source);
        }
        let begins: Vec<usize> = parsed.modules.iter().map(|range| range.start).collect();
        drop(parsed);
        let (own, adapters) =
            (begins.into_iter().zip(&plan.modules), plan.adapters.iter().map(|of| &of.module));
        let core_modules = core_modules::place(bytes.len(), own, adapters);
        Ok(Component(Arc::new(Inner { engine: engine.clone(), bytes, plan, core_modules })))
    }

    /// Loads a component from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, and as [`Component::new`].
    pub fn from_file(engine: &Engine, path: impl AsRef<Path>) -> Result<Component> {
        let path = path.as_ref();
        let most = engine.config().modules.max_size as u64;
        let read = || {
            let mut bytes = Vec::new();
            // One byte beyond the limit shows that the file is too large.
            File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let read = read().map_err(|e: io::Error| Error::with_source(ErrorKind::System, Box::new(e)));
        let load = |bytes: Vec<u8>| {
            check_size(engine, bytes.len() as u64)?;
            Component::load(engine, bytes.into(), &mut CodeSource::Cache(Numbers::default()))
        };
        read.and_then(load).map_err(|e| e.context(path.display()))
    }

    /// Returns the engine it was loaded into.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Returns the core modules, including those of nested components, in the order of the file; one that is in the file
    /// several times is returned as often. There are also [`adapters`](Component::adapters) between them.
    pub fn modules(&self) -> &[Module] {
        &self.0.plan.modules
    }

    /// Returns the modules of the adapters by which its components call each other, as machine code that is profiled as
    /// that of its core modules. The same component has the same ones in each engine with the same configuration.
    pub fn adapters(&self) -> impl Iterator<Item = &Module> {
        self.0.plan.adapters.iter().map(|adapters| &adapters.module)
    }

    /// Returns how many instances of core modules one instance of it consists of, those of adapters included.
    pub fn core_instances(&self) -> usize {
        self.0.plan.core_instances.len() + self.0.plan.adapters.len()
    }

    /// Returns the exported functions with their types: `name`, or `instance#name` for a function of an exported
    /// instance.
    pub fn funcs(&self) -> Vec<(String, &FuncType)> {
        let mut all = Vec::new();
        list(&self.0.plan.exports, "", &mut all);
        all
    }

    /// Returns its type: what it imports and exports.
    pub fn component_type(&self) -> types::Component {
        self.0.plan.ty.clone()
    }

    /// Returns whether both are clones of one component.
    pub(super) fn is_same(&self, other: &Component) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the names of its imports: `name`, or `instance#name` for items of an imported instance.
    pub fn imports(&self) -> impl Iterator<Item = String> {
        self.0.plan.imports.iter().map(|import| import.path.join("#"))
    }

    /// Returns the binary component.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    pub(super) fn shared_bytes(&self) -> &ModuleBytes {
        &self.0.bytes
    }

    pub(super) fn placed(&self) -> &[CoreModule] {
        &self.0.core_modules
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.0.plan
    }
}

/// Loads the core modules, which lie at `ranges`. Those with the same bytes, as in a component that contains another one
/// twice, are one module.
fn modules(
    engine: &Engine,
    bytes: &ModuleBytes,
    ranges: &[Range<usize>],
    source: &mut CodeSource,
) -> Result<Vec<Module>> {
    let mut known: HashMap<&[u8], Module> = HashMap::new();
    let load = |(index, range): (usize, &Range<usize>)| {
        let own = bytes.get(range.clone()).unwrap_or_default();
        if let Some(module) = known.get(own) {
            return Ok(module.clone());
        }
        let module = Module::of_component(engine, part(bytes, range.clone()), source)
            .map_err(|e| e.context(format_args!("core module {index}")))?;
        known.insert(own, module.clone());
        Ok(module)
    };
    ranges.iter().enumerate().map(load).collect()
}

fn list<'p>(exports: &'p [(String, Export)], prefix: &str, all: &mut Vec<(String, &'p FuncType)>) {
    for (name, export) in exports {
        match export {
            Export::Func(_, ty) => all.push((format!("{prefix}{name}"), ty)),
            Export::Module(_) => {}
            Export::Instance(inner) => list(inner, &format!("{prefix}{name}#"), all),
        }
    }
}

/// Returns whether bytes are a component rather than a module, by the header of a binary or the first word of a
/// text.
pub fn is_component(bytes: &[u8]) -> bool {
    bytes.starts_with(&HEAD) || bytes.first().is_some_and(|&first| first != 0) && is_component_text(bytes)
}

fn is_component_text(mut text: &[u8]) -> bool {
    loop {
        text = text.trim_ascii_start();
        match text {
            [b';', b';', ..] => {
                let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
                text = &text[end..];
            }
            [b'(', b';', ..] => {
                let end = text.windows(2).position(|pair| pair == b";)").map_or(text.len(), |at| at + 2);
                text = &text[end..];
            }
            [b'(', rest @ ..] => {
                let word = rest.trim_ascii_start().strip_prefix(b"component");
                return word.is_some_and(|rest| rest.first().is_none_or(|b| !b.is_ascii_alphanumeric()));
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_told_from_modules() {
        for component in [&HEAD[..], b"(component)", b" ;; x\n(; y ;) ( component $a)"] {
            assert!(is_component(component), "{component:?}");
        }
        for other in
            [&b""[..], b"\0asm\x01\0\0\0", b"(module)", b"(components)", b"(", b";; (component)", b"(;"]
        {
            assert!(!is_component(other), "{other:?}");
        }
    }
}
