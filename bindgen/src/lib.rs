//! The macro `bindgen!`: Rust interfaces of components, from WIT. And derives for Rust types that stand for a component's
//! (`derive`).
//!
//! Input of `bindgen!`: its options, and a WIT file or folder. Output: a Rust module with the types of a world, a trait
//! for each interface that it imports, which the host implements, and functions that call what it exports. The text
//! uses nothing but the crate `wprof`, which exports the macro and documents it.
//!
//! Steps: `options` parses the macro's input, `source` finds the world, `world` writes the text.
#![forbid(unsafe_code)]

mod definitions;
mod derive;
mod exports;
mod flags;
mod functions;
mod imports;
mod names;
mod options;
mod scope;
mod source;
mod tree;
mod world;

use std::path::Path;

use options::Options;
use proc_macro::TokenStream;

/// The reason why there is no interface for a world.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The WIT cannot be read, or has no such world.
    #[error("{0}")]
    Wit(String),
    /// The world uses something that components of version 0.2 do not have.
    #[error("the world uses {0}, which is not supported yet")]
    Unsupported(String),
    /// Two interfaces have the same name in Rust.
    #[error("two interfaces are the module `{0}`: rename one, or leave out one of its versions")]
    Ambiguous(String),
    /// An option names something that the world does not have.
    #[error("`{option}` names `{name}`, which the world does not use: it uses {known}")]
    Unused { option: &'static str, name: String, known: String },
}

/// Generates the Rust interface of a world: see the documentation of `wprof::component::bindgen!`.
#[proc_macro]
pub fn bindgen(input: TokenStream) -> TokenStream {
    let parsed = syn::parse::<Options>(input);
    let expanded = parsed.and_then(|options| {
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        let generated = generate(&options, Path::new(&folder));
        let text = generated.map_err(|error| syn::Error::new(options.span, error))?;
        text.parse::<proc_macro2::TokenStream>()
            .map_err(|error| syn::Error::new(options.span, format!("the generated text is no Rust: {error}")))
    });
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Derives `ComponentType`: see the documentation of `wprof::component::ComponentType`.
#[proc_macro_derive(ComponentType, attributes(component))]
pub fn component_type(input: TokenStream) -> TokenStream {
    derived(input, derive::component_type)
}

/// Derives `Lift`: see the documentation of `wprof::component::ComponentType`.
#[proc_macro_derive(Lift, attributes(component))]
pub fn lift(input: TokenStream) -> TokenStream {
    derived(input, derive::lift)
}

/// Derives `Lower`: see the documentation of `wprof::component::ComponentType`.
#[proc_macro_derive(Lower, attributes(component))]
pub fn lower(input: TokenStream) -> TokenStream {
    derived(input, derive::lower)
}

fn derived(input: TokenStream, derive: fn(&derive::Definition) -> proc_macro2::TokenStream) -> TokenStream {
    let definition = syn::parse(input).and_then(derive::Definition::new);
    definition.map_or_else(|error| error.to_compile_error(), |definition| derive(&definition)).into()
}

/// Defines a set of flags: see the documentation of `wprof::component::flags!`.
#[proc_macro]
pub fn flags(input: TokenStream) -> TokenStream {
    let flags = syn::parse::<flags::Flags>(input);
    flags.map_or_else(|error| error.to_compile_error(), |flags| flags.expand()).into()
}

/// Returns the text of the module.
fn generate(options: &Options, folder: &Path) -> Result<String, Error> {
    let source = source::load(options, folder)?;
    let mut text = world::generate(&source.resolve, &source.resolve.worlds[source.world], options)?;
    for path in &source.files {
        // The compiler expands the macro again when a file changes.
        text.push_str(&format!("const _: &str = include_str!({path:?});\n"));
    }
    Ok(text)
}
