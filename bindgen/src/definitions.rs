//! Definitions of Rust types for the types that an interface or a world names.

use std::fmt::Write;

use wit_parser::{Docs, Type, TypeDefKind, TypeId};

use crate::scope::Scope;
use crate::{Error, names};

/// Returns the derives that the options add.
fn extra<'a>(scope: &Scope<'a>) -> impl Iterator<Item = &'a str> {
    scope.options.derives.iter().map(String::as_str)
}

/// Writes the definition of a type with a name.
///
/// # Errors
/// Fails if components of version 0.2 have no such type.
pub fn define(scope: &Scope<'_>, id: TypeId, to: &mut String) -> Result<(), Error> {
    let def = &scope.resolve.types[id];
    let name = names::ty(def.name.as_deref().unwrap_or_default());
    if let Some(path) = def.name.as_deref().and_then(|name| scope.with(name)) {
        // A `String` takes all text.
        let _ = write!(to, "pub use {path} as {name};\n\n");
        return Ok(());
    }
    let derives = match scope.has_handles(&Type::Id(id)) {
        true => "Debug".to_owned(),
        false => {
            ["Clone", "Debug", "PartialEq"].into_iter().chain(extra(scope)).collect::<Vec<_>>().join(", ")
        }
    };
    let text = match &def.kind {
        TypeDefKind::Record(record) => {
            let field = |field: &wit_parser::Field| {
                Ok(format!("        pub {}: {},\n", names::value(&field.name), scope.ty(&field.ty)?))
            };
            let fields: String = record.fields.iter().map(field).collect::<Result<_, Error>>()?;
            compound(&def.docs, &format!("#[derive({derives})]"), &format!("struct {name}"), &fields)
        }
        TypeDefKind::Variant(variant) => {
            let case = |case: &wit_parser::Case| {
                let held = case.ty.as_ref().map(|ty| scope.ty(ty)).transpose()?;
                let held = held.map_or_else(String::new, |held| format!("({held})"));
                Ok(format!("        {}{held},\n", names::ty(&case.name)))
            };
            let cases: String = variant.cases.iter().map(case).collect::<Result<_, Error>>()?;
            compound(&def.docs, &format!("#[derive({derives})]"), &format!("enum {name}"), &cases)
        }
        TypeDefKind::Enum(of) => {
            let cases: String =
                of.cases.iter().map(|c| format!("        {},\n", names::ty(&c.name))).collect();
            let all = ["Clone", "Copy", "Debug", "PartialEq", "Eq"].into_iter();
            let all_derives: Vec<&str> =
                all.chain(extra(scope).filter(|name| *name != "Eq" && *name != "Copy")).collect();
            let derives = format!("#[derive({})]", all_derives.join(", "));
            compound(&def.docs, &derives, &format!("enum {name}"), &cases)
        }
        TypeDefKind::Flags(flags) if flags.flags.len() > 32 => {
            return Err(Error::Unsupported(format!("more than 32 flags in `{name}`")));
        }
        TypeDefKind::Flags(flags) => {
            let all: String =
                flags.flags.iter().map(|f| format!("        {},\n", names::flag(&f.name))).collect();
            compound(&def.docs, "", &format!("flags {name}"), &all)
        }
        TypeDefKind::Resource if scope.is_export => {
            format!("{}pub type {name} = ::wprof::component::ResourceAny;\n", docs(&def.docs, ""))
        }
        TypeDefKind::Resource => {
            format!("{}#[derive(Clone, Copy, Debug)]\npub enum {name} {{}}\n", docs(&def.docs, ""))
        }
        other => format!("{}pub type {name} = {};\n", docs(&def.docs, ""), scope.structure(other)?),
    };
    to.push_str(&text);
    to.push('\n');
    Ok(())
}

fn compound(about: &Docs, derives: &str, head: &str, parts: &str) -> String {
    let mut text = format!("::wprof::component_types! {{\n{}", docs(about, "    "));
    if !derives.is_empty() {
        let _ = writeln!(text, "    {derives}");
    }
    text + &format!("    pub {head} {{\n{parts}    }}\n}}\n")
}

/// Returns the lines of a comment.
pub fn docs(docs: &Docs, indent: &str) -> String {
    let lines = docs.contents.as_deref().unwrap_or_default().trim().lines();
    lines.map(|line| format!("{}\n", format!("{indent}/// {line}").trim_end())).collect()
}
