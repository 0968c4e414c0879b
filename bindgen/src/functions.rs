//! Functions: methods of the traits that hosts implement, definitions in linkers, and calls of exports.

use wit_parser::{Function, FunctionKind, TypeId};

use crate::definitions::docs;
use crate::scope::Scope;
use crate::{Error, names};

/// A function as Rust text.
pub struct Func<'a> {
    docs: String,
    /// Its name in WIT, such as `[method]blob.read`.
    pub name: &'a str,
    /// The resource of a method, a constructor or a static function.
    pub resource: Option<TypeId>,
    is_constructor: bool,
    /// Its name without that of the resource.
    rust: String,
    params: Vec<(String, String)>,
    result: Option<String>,
    is_trappable: bool,
}

impl<'a> Func<'a> {
    /// # Errors
    /// Fails if components of version 0.2 have no such function.
    pub fn new(scope: &Scope<'_>, func: &'a Function) -> Result<Func<'a>, Error> {
        let (resource, rust) = match func.kind {
            FunctionKind::Freestanding => (None, func.name.as_str()),
            FunctionKind::Method(id) | FunctionKind::Static(id) => (Some(id), func.item_name()),
            FunctionKind::Constructor(id) => (Some(id), "new"),
            _ => {
                let what = format!("the function `{}`, which is async or a property", func.name);
                return Err(Error::Unsupported(what));
            }
        };
        let param = |param: &wit_parser::Param| Ok((param_name(&param.name), scope.ty(&param.ty)?));
        Ok(Func {
            docs: docs(&func.docs, "    "),
            name: &func.name,
            resource,
            is_constructor: matches!(func.kind, FunctionKind::Constructor(_)),
            rust: rust.to_owned(),
            params: func.params.iter().map(param).collect::<Result<_, _>>()?,
            result: func.result.as_ref().map(|ty| scope.ty(ty)).transpose()?,
            is_trappable: scope.options.is_trappable,
        })
    }

    fn list(&self) -> String {
        self.params.iter().map(|(name, ty)| format!(", {name}: {ty}")).collect()
    }

    fn result(&self) -> &str {
        self.result.as_deref().unwrap_or("()")
    }

    /// Returns the arguments as a tuple.
    fn tuple(&self) -> String {
        tuple(self.params.iter().map(|(name, _)| name))
    }

    fn types(&self) -> String {
        tuple(self.params.iter().map(|(_, ty)| ty))
    }

    /// Returns the method of a trait.
    pub fn method(&self) -> String {
        let (name, list) = (names::value(&self.rust), self.list());
        let result = match self.is_trappable {
            true => format!("::wprof::Result<{}>", self.result()),
            false => self.result().to_owned(),
        };
        format!("{}    fn {name}(&mut self{list}) -> {result};\n", self.docs)
    }

    /// Returns the definition in `names`, by a method of a trait.
    pub fn defined(&self, of: &str) -> String {
        let args: String = self.params.iter().map(|(name, _)| format!(", {name}")).collect();
        let mark = if self.is_trappable { "?" } else { "" };
        let call = format!("{of}::{}(get(store.data_mut()){args}){mark}", names::value(&self.rust));
        let body = match self.result {
            Some(_) => format!("Ok(({call},))"),
            None => format!("{call};\n        Ok(())"),
        };
        let (tuple, types) = (self.tuple(), self.types());
        format!(
            "    names.func_wrap(\"{}\", move |mut store: ::wprof::StoreContextMut<'_, T>, {tuple}: {types}| {{\n        \
             {body}\n    }})?;\n",
            self.name
        )
    }

    /// Returns the name of the field for an export.
    fn field_name(&self, scope: &Scope<'_>) -> String {
        let resource = self.resource.and_then(|id| scope.resolve.types[id].name.as_deref());
        match resource {
            Some(resource) => format!("func_{}_{}", names::snake(resource), names::snake(&self.rust)),
            None => format!("func_{}", names::snake(&self.rust)),
        }
    }

    /// Returns the field of an export.
    pub fn field(&self, scope: &Scope<'_>) -> String {
        let result = if let Some(result) = &self.result { format!("({result},)") } else { "()".to_owned() };
        let (name, types) = (self.field_name(scope), self.types());
        format!("    {name}: ::wprof::component::TypedFunc<{types}, {result}>,\n")
    }

    /// Returns the look-up of an export, in an instance if it is in one.
    pub fn found(&self, scope: &Scope<'_>, instance: Option<&str>) -> String {
        let path = instance.map_or_else(String::new, |instance| format!("{instance}#"));
        let field = self.field_name(scope);
        format!("            {field}: instance.get_typed_func(\"{path}{}\")?,\n", self.name)
    }

    /// Returns the method that calls an export; `of` is the struct whose field holds it.
    pub fn called(&self, scope: &Scope<'_>, of: &str) -> String {
        let name = if self.is_constructor { "constructor".to_owned() } else { names::snake(&self.rust) };
        let call = format!("{of}.{}.call(store, {})", self.field_name(scope), self.tuple());
        let body = match self.result {
            Some(_) => format!("{call}.map(|(result,)| result)"),
            None => call,
        };
        let (docs, list, result) = (&self.docs, self.list(), self.result());
        format!(
            "{docs}    ///\n    /// # Errors\n    /// Fails as `TypedFunc::call` does.\n    pub fn call_{name}(&self, \
             store: impl ::wprof::AsContextMut{list}) -> ::wprof::Result<{result}> {{\n        {body}\n    }}\n",
        )
    }
}

/// Returns the name of a parameter; some are those of the generated text itself.
fn param_name(name: &str) -> String {
    match names::value(name) {
        name if matches!(name.as_str(), "store" | "get") => format!("{name}_"),
        name => name,
    }
}

/// Returns a tuple of patterns, values or types.
fn tuple(parts: impl Iterator<Item = impl AsRef<str>>) -> String {
    let parts: String = parts.map(|part| format!("{}, ", part.as_ref())).collect();
    format!("({})", parts.trim_end())
}
