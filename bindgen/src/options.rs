//! The options of the macro.

use std::collections::BTreeMap;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Token, braced, bracketed};

const NAMES: &str = "`world`, `path`, `inline`, `imports`, `with`, `skip` and `additional_derives`";

/// What the macro is to generate.
pub struct Options {
    /// Where errors are shown.
    pub span: Span,
    /// The name of the world; may be left out if there is only one.
    pub world: Option<String>,
    /// A WIT file or folder, relative to the crate's folder.
    pub path: Option<String>,
    /// WIT text, instead of a file or beside a folder of dependencies.
    pub inline: Option<String>,
    /// Whether host functions return `wprof::Result`s, whose errors end the calls of components.
    pub is_trappable: bool,
    /// Rust types and modules for resources and interfaces.
    pub with: BTreeMap<String, String>,
    /// Interfaces, packages and namespaces that something else defines in linkers.
    pub skip: Vec<String>,
    /// Traits that types without handles derive beside `Clone`, `Debug` and `PartialEq`.
    pub derives: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            span: Span::call_site(),
            world: None,
            path: None,
            inline: None,
            is_trappable: false,
            with: BTreeMap::new(),
            skip: Vec::new(),
            derives: Vec::new(),
        }
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Options> {
        let mut options = Options::default();
        if input.peek(LitStr) {
            options.world = Some(text(input)?);
            if input.parse::<Option<Token![in]>>()?.is_some() {
                options.path = Some(text(input)?);
            }
        } else if !input.is_empty() {
            let fields;
            braced!(fields in input);
            while !fields.is_empty() {
                options.field(&fields)?;
                if !fields.is_empty() {
                    fields.parse::<Token![,]>()?;
                }
            }
        }
        if input.is_empty() { Ok(options) } else { Err(input.error("expected nothing after the options")) }
    }
}

impl Options {
    fn field(&mut self, fields: ParseStream<'_>) -> Result<()> {
        let name = fields.call(Ident::parse_any)?;
        fields.parse::<Token![:]>()?;
        match name.to_string().as_str() {
            "world" => self.world = Some(text(fields)?),
            "path" => self.path = Some(text(fields)?),
            "inline" => self.inline = Some(text(fields)?),
            "imports" => self.is_trappable = is_trappable(fields)?,
            "skip" => self.skip = list(fields, text)?,
            "additional_derives" => self.derives = list(fields, path)?,
            "with" => {
                let pairs;
                braced!(pairs in fields);
                let pair = |pair: ParseStream<'_>| {
                    let name = text(pair)?;
                    pair.parse::<Token![:]>()?;
                    Ok((name, path(pair)?))
                };
                self.with = pairs.parse_terminated(pair, Token![,])?.into_iter().collect();
            }
            "async" | "exports" | "store" | "require_store_data_send" => {
                let message = format!("functions are synchronous: leave out `{name}`; there are {NAMES}");
                return Err(Error::new(name.span(), message));
            }
            _ => {
                return Err(Error::new(name.span(), format!("unknown option `{name}`: there are {NAMES}")));
            }
        }
        Ok(())
    }
}

fn text(input: ParseStream<'_>) -> Result<String> {
    Ok(input.parse::<LitStr>()?.value())
}

fn list<R>(input: ParseStream<'_>, item: fn(ParseStream<'_>) -> Result<R>) -> Result<Vec<R>> {
    let items;
    bracketed!(items in input);
    Ok(items.parse_terminated(item, Token![,])?.into_iter().collect())
}

/// Parses a path of Rust, up to a comma.
fn path(input: ParseStream<'_>) -> Result<String> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    if tokens.is_empty() {
        Err(input.error("expected a path of Rust"))
    } else {
        Ok(tokens.to_string().replace(' ', ""))
    }
}

/// Parses `{ default: trappable }`.
fn is_trappable(input: ParseStream<'_>) -> Result<bool> {
    let flags;
    braced!(flags in input);
    let unknown = |span| Error::new(span, "expected `imports: { default: trappable }`, or nothing");
    let name = flags.call(Ident::parse_any)?;
    flags.parse::<Token![:]>()?;
    let value = flags.call(Ident::parse_any)?;
    flags.parse::<Option<Token![,]>>()?;
    if name != "default" || !flags.is_empty() {
        return Err(unknown(name.span()));
    }
    if value == "trappable" { Ok(true) } else { Err(unknown(value.span())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_wasmtime() {
        let all: Options = syn::parse_str(
            r#"{ world: "w", path: "p", inline: "i", imports: { default: trappable }, skip: ["wasi", "a:b/c"],
                with: { "a:b/c.d": crate::D, "a:b/e": super::e }, additional_derives: [Eq, std::hash::Hash], }"#,
        )
        .unwrap();
        assert_eq!((all.world.as_deref(), all.path.as_deref()), (Some("w"), Some("p")));
        assert_eq!((all.inline.as_deref(), all.is_trappable), (Some("i"), true));
        assert_eq!(all.skip, ["wasi", "a:b/c"]);
        assert_eq!(all.derives, ["Eq", "std::hash::Hash"]);
        assert_eq!((all.with["a:b/c.d"].as_str(), all.with["a:b/e"].as_str()), ("crate::D", "super::e"));
        let short: Options = syn::parse_str(r#""w" in "p""#).unwrap();
        assert_eq!((short.world.as_deref(), short.path.as_deref()), (Some("w"), Some("p")));
        assert!(syn::parse_str::<Options>("").unwrap().world.is_none());
    }

    #[test]
    fn errors_name_what_there_is() {
        let why = |text: &str| syn::parse_str::<Options>(text).map(drop).unwrap_err().to_string();
        assert!(why(r#"{ wrold: "w" }"#).contains("unknown option `wrold`: there are `world`, `path`"));
        assert!(why("{ async: true }").contains("synchronous"));
        assert!(why("{ imports: { default: async } }").contains("trappable"));
        assert!(why(r#"{ world: "w" } x"#).contains("expected nothing"));
    }
}
