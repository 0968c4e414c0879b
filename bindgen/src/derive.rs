//! Derives of `ComponentType`, `Lift` and `Lower`, in the words of Wasmtime's.
//!
//! Input: a struct with named fields, which is a record, or an enum, which is a variant or an enum. Output: the trait for it,
//! as `component_types!` would implement it.
//!
//! Invariant: the order of fields and cases is the component's; whether their names and types are is checked when a
//! component is linked or a function is looked up.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, Generics, Ident, LitStr, Path, Result, Type, parse_quote,
};

/// A type for which traits are derived.
pub struct Definition {
    name: Ident,
    generics: Generics,
    kind: Kind,
}

enum Kind {
    Record(Vec<Field>),
    Cases(Vec<Case>),
}

struct Field {
    ident: Ident,
    /// The name that the component has for it.
    name: String,
    ty: Type,
}

struct Case {
    ident: Ident,
    name: String,
    payload: Option<Type>,
}

impl Definition {
    /// # Errors
    /// Fails if the type cannot represent a component's.
    pub fn new(input: DeriveInput) -> Result<Definition> {
        let wanted = wanted(&input.attrs)?;
        let is = |kind: &str| wanted.as_ref().is_none_or(|wanted| wanted == kind);
        let mismatch = |what: &str, kinds: &str| {
            Err(Error::new(input.ident.span(), format!("{what}: write `#[component({kinds})]`")))
        };
        let kind = match input.data {
            Data::Struct(data) if is("record") => Kind::Record(fields(&input.ident, data.fields)?),
            Data::Struct(_) => return mismatch("a struct represents a record", "record"),
            Data::Enum(data) if is("variant") || is("enum") => {
                let all: Vec<Case> = data.variants.into_iter().map(case).collect::<Result<_>>()?;
                if all.is_empty() {
                    return Err(Error::new(
                        input.ident.span(),
                        "an enum of a component has at least one case",
                    ));
                }
                if let Some(case) = all.iter().find(|case| case.payload.is_some() && !is("variant")) {
                    return Err(Error::new(
                        case.ident.span(),
                        "cases of an enum have no values: write `#[component(variant)]`",
                    ));
                }
                Kind::Cases(all)
            }
            Data::Enum(_) => return mismatch("an enum represents a variant or an enum", "variant"),
            Data::Union(_) => {
                return Err(Error::new(input.ident.span(), "a union represents no component's type"));
            }
        };
        Ok(Definition { name: input.ident, generics: input.generics, kind })
    }

    /// Writes the implementation of a trait, which type parameters must have as well.
    fn implement(&self, of: Path, items: TokenStream) -> TokenStream {
        let (name, mut generics) = (&self.name, self.generics.clone());
        for parameter in generics.type_params_mut() {
            parameter.bounds.push(parse_quote!(#of));
        }
        let (parameters, arguments, bounds) = generics.split_for_impl();
        quote! {
            #[automatically_derived]
            impl #parameters #of for #name #arguments #bounds { #items }
        }
    }
}

/// Returns the kind that `#[component(…)]` names.
fn wanted(attrs: &[Attribute]) -> Result<Option<String>> {
    let mut wanted = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("component")) {
        let kind = attr.parse_args_with(<Ident as syn::ext::IdentExt>::parse_any)?;
        match kind.to_string().as_str() {
            "record" | "variant" | "enum" => wanted = Some(kind.to_string()),
            "flags" => {
                return Err(Error::new(kind.span(), "sets of flags are defined by `component::flags!`"));
            }
            _ => return Err(Error::new(kind.span(), "expected `record`, `variant` or `enum`")),
        }
    }
    Ok(wanted)
}

/// Returns the name that `#[component(name = "…")]` gives, or that of the item.
///
/// # Errors
/// Fails if the attribute has something else.
pub fn name(attrs: &[Attribute], ident: &Ident) -> Result<String> {
    let mut name = ident.to_string();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("component")) {
        attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("expected `name = \"…\"`"));
            }
            name = meta.value()?.parse::<LitStr>()?.value();
            Ok(())
        })?;
    }
    Ok(name)
}

fn fields(ty: &Ident, fields: Fields) -> Result<Vec<Field>> {
    let Fields::Named(named) = fields else {
        return Err(Error::new(ty.span(), "a record has named fields: write `struct Name { field: Type }`"));
    };
    let field = |field: syn::Field| {
        let ident = field.ident.ok_or_else(|| Error::new(ty.span(), "a record has named fields"))?;
        Ok(Field { name: name(&field.attrs, &ident)?, ident, ty: field.ty })
    };
    named.named.into_iter().map(field).collect()
}

fn case(variant: syn::Variant) -> Result<Case> {
    let payload = match variant.fields {
        Fields::Unit => None,
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            fields.unnamed.into_iter().next().map(|f| f.ty)
        }
        _ => {
            let message =
                "a case has one value without a name, or none: put several into a tuple or a record";
            return Err(Error::new(variant.ident.span(), message));
        }
    };
    Ok(Case { name: name(&variant.attrs, &variant.ident)?, ident: variant.ident, payload })
}

/// Derives `ComponentType`.
pub fn component_type(definition: &Definition) -> TokenStream {
    let check = match &definition.kind {
        Kind::Record(fields) => {
            let all = fields.iter().map(
                |Field { name, ty, .. }| quote!((#name, <#ty as ::wprof::component::ComponentType>::check)),
            );
            quote!(::wprof::component::custom::check_fields(ty, resources, &[#(#all),*]))
        }
        Kind::Cases(cases) => {
            let all = cases.iter().map(|Case { name, payload, .. }| {
                let check =
                    payload.as_ref().map(|ty| quote!(<#ty as ::wprof::component::ComponentType>::check));
                let check = check.into_iter();
                quote!((#name, ::wprof::component::custom::only([#(#check)*])))
            });
            quote!(::wprof::component::custom::check_cases(ty, resources, &[#(#all),*]))
        }
    };
    let items = quote! {
        fn check(
            ty: &::wprof::component::Type,
            resources: &[::wprof::component::ResourceType],
        ) -> ::wprof::Result<()> {
            #check
        }
    };
    definition.implement(parse_quote!(::wprof::component::ComponentType), items)
}

/// Derives `Lift`.
pub fn lift(definition: &Definition) -> TokenStream {
    let (flat, load) = match &definition.kind {
        Kind::Record(fields) => (lift_fields(fields, false), lift_fields(fields, true)),
        Kind::Cases(cases) => (lift_cases(cases, false), lift_cases(cases, true)),
    };
    let items = quote! {
        fn flat(
            lift: &mut ::wprof::component::custom::Lifting<'_>,
            ty: &::wprof::component::Type,
            values: &mut ::wprof::component::custom::Flat<'_>,
        ) -> ::wprof::Result<Self> {
            #flat
        }

        fn load(
            lift: &mut ::wprof::component::custom::Lifting<'_>,
            ty: &::wprof::component::Type,
            at: u64,
        ) -> ::wprof::Result<Self> {
            #load
        }
    };
    definition.implement(parse_quote!(::wprof::component::Lift), items)
}

fn lift_fields(fields: &[Field], is_loaded: bool) -> TokenStream {
    let all = fields.iter().map(|Field { ident, ty, .. }| {
        let lift = match is_loaded {
            true => quote!(<#ty as ::wprof::component::Lift>::load(lift, ty, at + u64::from(offset))?),
            false => quote!(<#ty as ::wprof::component::Lift>::flat(lift, ty, values)?),
        };
        quote! {
            #ident: {
                let (offset, ty) = ::wprof::component::custom::next(&mut fields)?;
                let _ = offset;
                #lift
            }
        }
    });
    quote! {
        let mut fields = ::wprof::component::custom::fields(ty);
        ::wprof::Result::Ok(Self { #(#all),* })
    }
}

fn lift_cases(cases: &[Case], is_loaded: bool) -> TokenStream {
    let arms = (0_u32..).zip(cases).map(|(number, Case { ident, payload, .. })| match (payload, is_loaded) {
        (None, _) => quote!(#number => Self::#ident),
        (Some(ty), true) => {
            quote!(#number => Self::#ident(<#ty as ::wprof::component::Lift>::load_case(lift, held, rest)?))
        }
        (Some(ty), false) => {
            quote!(#number => Self::#ident(<#ty as ::wprof::component::Lift>::flat_case(lift, held, &mut rest)?))
        }
    });
    let (begin, mutable) = match is_loaded {
        true => (quote!(::wprof::component::custom::loaded_case(lift, ty, at)?), quote!()),
        false => (quote!(::wprof::component::custom::flat_case(ty, values)?), quote!(mut)),
    };
    quote! {
        #[allow(unused_mut, reason = "there may be no case with a value")]
        let (number, held, #mutable rest) = #begin;
        let _ = (&lift, held, &rest);
        ::wprof::Result::Ok(match number {
            #(#arms,)*
            _ => return ::wprof::Result::Err(::wprof::component::custom::no_case(ty)),
        })
    }
}

/// Derives `Lower`.
pub fn lower(definition: &Definition) -> TokenStream {
    let (flat, store) = match &definition.kind {
        Kind::Record(fields) => (lower_fields(fields, false), lower_fields(fields, true)),
        Kind::Cases(cases) => (flat_cases(cases), store_cases(cases)),
    };
    let items = quote! {
        fn flat<__Data: 'static>(
            self,
            lower: &mut ::wprof::component::custom::Lowering<'_, '_, __Data>,
            ty: &::wprof::component::Type,
            to: &mut ::wprof::component::custom::CoreValues,
        ) -> ::wprof::Result<()> {
            #flat
        }

        fn store<__Data: 'static>(
            self,
            lower: &mut ::wprof::component::custom::Lowering<'_, '_, __Data>,
            ty: &::wprof::component::Type,
            at: u32,
        ) -> ::wprof::Result<()> {
            #store
        }
    };
    definition.implement(parse_quote!(::wprof::component::Lower), items)
}

fn lower_fields(fields: &[Field], is_stored: bool) -> TokenStream {
    let all = fields.iter().map(|Field { ident, .. }| match is_stored {
        true => quote!(::wprof::component::Lower::store(self.#ident, lower, ty, at + offset)?;),
        false => quote!(::wprof::component::Lower::flat(self.#ident, lower, ty, to)?;),
    });
    quote! {
        let mut fields = ::wprof::component::custom::fields(ty);
        #({
            let (offset, ty) = ::wprof::component::custom::next(&mut fields)?;
            let _ = offset;
            #all
        })*
        ::wprof::Result::Ok(())
    }
}

fn flat_cases(cases: &[Case]) -> TokenStream {
    let arms = (0_u32..).zip(cases).map(|(number, Case { ident, payload, .. })| match payload {
        None => quote!(Self::#ident => to.push(u64::from(#number))),
        Some(ty) => quote!(Self::#ident(value) => {
            to.push(u64::from(#number));
            let held = ::wprof::component::custom::held(ty, #number);
            <#ty as ::wprof::component::Lower>::flat_case(value, lower, held, to)?;
        }),
    });
    quote! {
        let _ = &lower;
        // All cases have as many core values as the largest.
        let end = to.len() + ::wprof::component::custom::flat_count(ty);
        match self { #(#arms,)* }
        to.resize(end, 0);
        ::wprof::Result::Ok(())
    }
}

fn store_cases(cases: &[Case]) -> TokenStream {
    let arms = (0_u32..).zip(cases).map(|(number, Case { ident, payload, .. })| match payload {
        None => quote! {
            Self::#ident => ::wprof::component::custom::store_case(lower, ty, (#number, at)).map(|_| ())
        },
        Some(payload) => quote!(Self::#ident(value) => {
            let at = ::wprof::component::custom::store_case(lower, ty, (#number, at))?;
            let held = ::wprof::component::custom::held(ty, #number);
            <#payload as ::wprof::component::Lower>::store_case(value, lower, held, at)
        }),
    });
    quote!(match self { #(#arms,)* })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        let parsed = syn::parse_str(text).and_then(Definition::new);
        parsed.err().expect("it is refused").to_string()
    }

    #[test]
    fn what_represents_no_type_is_refused_with_advice() {
        for (text, expected) in [
            ("struct A(u32);", "a record has named fields: write `struct Name { field: Type }`"),
            (
                "#[component(variant)] struct A { a: u32 }",
                "a struct represents a record: write `#[component(record)]`",
            ),
            ("#[component(record)] enum A { B }", "a variant or an enum: write `#[component(variant)]`"),
            ("enum A {}", "at least one case"),
            ("enum A { B(u32, u32) }", "put several into a tuple or a record"),
            ("enum A { B { c: u32 } }", "put several into a tuple or a record"),
            ("#[component(enum)] enum A { B, C(u8) }", "cases of an enum have no values"),
            ("#[component(flags)] struct A {}", "`component::flags!`"),
            ("#[component(list)] struct A {}", "expected `record`, `variant` or `enum`"),
            ("struct A { #[component(nam = \"b\")] b: u8 }", "expected `name"),
            ("union A { a: u8 }", "a union represents no component's type"),
        ] {
            let why = why(text);
            assert!(why.contains(expected), "{text}: {why}");
        }
    }
}
