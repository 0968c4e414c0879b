//! The macro `flags!`, in the words of Wasmtime's.
//!
//! Input: `Name { const A; #[component(name = "b-c")] const B_C; }`. Output: the same for `component_types!`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, Result, Token, Visibility, braced};

use crate::derive::name;

/// A set of flags.
pub struct Flags {
    attrs: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    flags: Vec<(Vec<Attribute>, Ident)>,
}

impl Parse for Flags {
    fn parse(input: ParseStream<'_>) -> Result<Flags> {
        let attrs = input.call(Attribute::parse_outer)?;
        let (visibility, name) = (input.parse()?, input.parse()?);
        let (consts, mut flags);
        braced!(consts in input);
        flags = Vec::new();
        while !consts.is_empty() {
            flags.push(flag(&consts)?);
        }
        Ok(Flags { attrs, visibility, name, flags })
    }
}

/// Parses a flag; names of the component and of Rust have the same letters, as `component_types!` compares them.
fn flag(input: ParseStream<'_>) -> Result<(Vec<Attribute>, Ident)> {
    let attrs = input.call(Attribute::parse_outer)?;
    input.parse::<Token![const]>()?;
    let ident: Ident = input.parse()?;
    input.parse::<Token![;]>()?;
    let theirs = name(&attrs, &ident)?;
    let letters = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    if letters(&theirs) != letters(&ident.to_string()) {
        let rust = theirs.replace('-', "_").to_uppercase();
        return Err(Error::new(ident.span(), format!("the flag `{theirs}` is `{rust}` in Rust")));
    }
    let attrs = attrs.into_iter().filter(|attr| !attr.path().is_ident("component")).collect();
    Ok((attrs, ident))
}

impl Flags {
    /// Writes the definition.
    pub fn expand(&self) -> TokenStream {
        let Flags { attrs, visibility, name, flags } = self;
        let all = flags.iter().map(|(attrs, ident)| quote!(#(#attrs)* #ident));
        quote! {
            ::wprof::component_types! { #(#attrs)* #visibility flags #name { #(#all),* } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_keep_the_letters_of_their_names() {
        let parse = |text: &str| syn::parse_str::<Flags>(text).map_err(|error| error.to_string());
        let flags = parse("pub A { #[component(name = \"read-all\")] const READ_ALL; const B; }").unwrap();
        assert_eq!(flags.flags.len(), 2);
        let why = parse("A { #[component(name = \"read-all\")] const X; }").err().unwrap();
        assert_eq!(why, "the flag `read-all` is `READ_ALL` in Rust");
        assert!(parse("A { B }").is_err() && parse("A { const B }").is_err());
    }
}
