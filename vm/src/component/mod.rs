//! Components: core modules that are linked together, with functions over values of the component model.
//!
//! Input: a binary component of the component model 0.2, or its text. Output: a [`Component`], from which a [`Linker`]
//! creates an [`Instance`], whose [`Func`]s take and return [`Val`]s.
//!
//! Three steps, each of which yields a value: `parse` validates and lists what each component of the file does;
//! `inline` expands nested components statically, which leaves a flat `plan` of core modules only; `state` executes the
//! plan in a store. All core modules run like any others, and are profiled likewise.
//!
//! Calls between two components of one file are code of adapters (`fuse`), which copy arguments from one memory to the
//! other. Where there is none, they go through the host: arguments are lifted to [`Val`]s and lowered again.
//!
//! Source: the component model's *Binary.md* and *CanonicalABI.md*. Not supported yet: async functions, streams and
//! futures, maps and lists of fixed length, components as imports, 64-bit memories for values.
//! Components that need one of them are rejected at load.
//!
//! ```
//! use wprof::component::{Component, Linker, Val};
//! use wprof::{Engine, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::default();
//! let component = Component::new(&engine, r#"(component
//!     (import "double" (func $double (param "x" u32) (result u32)))
//!     (core func $lowered (canon lower (func $double)))
//!     (core module $m
//!         (import "host" "double" (func $double (param i32) (result i32)))
//!         (func (export "run") (param i32) (result i32) (call $double (local.get 0))))
//!     (core instance $i (instantiate $m (with "host" (instance (export "double" (func $lowered))))))
//!     (func (export "run") (param "x" u32) (result u32) (canon lift (core func $i "run"))))"#)?;
//! let mut linker = Linker::new(&engine);
//! linker.root().func_new("double", |_, params, results| {
//!     let [Val::U32(x)] = params else { unreachable!("arguments have the import's types") };
//!     results[0] = Val::U32(x * 2);
//!     Ok(())
//! })?;
//! let mut store = Store::new(&engine, ());
//! let instance = linker.instantiate(&mut store, &component)?;
//! let run = instance.get_func("run").expect("it is exported");
//! let mut results = [Val::Bool(false)];
//! run.call(&mut store, &[Val::U32(21)], &mut results)?;
//! assert_eq!(results, [Val::U32(42)]);
//! # Ok(())
//! # }
//! ```

mod artifact;
mod awaited;
mod bridge;
mod call;
#[allow(clippy::module_inception, reason = "it is named after the file format")]
mod component;
mod core_modules;
mod export_index;
mod faults;
mod func;
mod fuse;
mod host_func;
mod inline;
mod instance;
mod instance_pre;
mod lift;
mod linker;
mod lower;
mod module_type;
mod names;
mod parse;
mod plan;
mod profiles;
mod resolve;
mod resource;
mod state;
mod strings;
mod table;
mod trampoline;
mod typed;
mod typed_func;
pub mod types;
mod val;
mod versions;

pub use component::{Component, is_component};
pub use core_modules::CoreModule;
pub use export_index::{ComponentExportIndex, ExportLookup};
pub use func::Func;
pub use instance::Instance;
pub use instance_pre::InstancePre;
pub use linker::{Linker, LinkerInstance};
pub use resource::{ResourceAny, ResourceType};
pub use table::{Resource, ResourceTable, ResourceTableError};
#[doc(hidden)]
pub use typed::custom;
pub use typed::{Args, ComponentType, Lift, Lower, Params, Results, Returns};
pub use typed_func::TypedFunc;
#[doc(inline)]
pub use types::{FuncType, Type, TypeKind};
pub use val::Val;
/// Generates the Rust interface of a component from WIT: types, traits that the host implements for imports, and
/// functions that call exports. Needs the feature `bindgen`.
///
/// ```
/// use wprof::component::{Component, Linker};
/// use wprof::{Engine, Store};
///
/// mod bindings {
///     wprof::component::bindgen!({ inline: "
///         package example:shop;
///         interface prices {
///             record item { name: string, cents: u32 }
///             find: func(name: string) -> option<item>;
///         }
///         world till {
///             import prices;
///             export total: func(first: u32, second: u32) -> u32;
///         }" });
/// }
/// use bindings::example::shop::prices::{Host, Item};
///
/// struct Shop(Vec<Item>);
///
/// impl Host for Shop {
///     fn find(&mut self, name: String) -> Option<Item> {
///         self.0.iter().find(|item| item.name == name).cloned()
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::default();
/// let mut linker = Linker::new(&engine);
/// bindings::add_to_linker(&mut linker, |shop: &mut Shop| shop)?;
/// # let component = Component::new(&engine, r#"(component
/// #     (core module $m (func (export "total") (param i32 i32) (result i32)
/// #         (i32.add (local.get 0) (local.get 1))))
/// #     (core instance $i (instantiate $m))
/// #     (func (export "total") (param "first" u32) (param "second" u32) (result u32)
/// #         (canon lift (core func $i "total"))))"#)?;
/// let mut store = Store::new(&engine, Shop(Vec::new()));
/// let till = bindings::Till::instantiate(&mut store, &component, &linker)?;
/// assert_eq!(till.call_total(&mut store, 40, 2)?, 42);
/// # Ok(())
/// # }
/// ```
///
/// The macro takes `"world" in "path"`, or options, all of which may be left out:
///
/// * `world`: the name of the world, if there are several.
/// * `path`: a WIT file or folder, relative to the crate's; by default `wit`. Dependencies are in its folder `deps`.
/// * `inline`: WIT text; with `path` it may use the packages there.
/// * `imports: { default: trappable }`: functions of the host return [`Result`](crate::Result), and an error ends the
///   component's call.
/// * `with: { "a:b/c": crate::c, "a:b/c.r": crate::R }`: modules for interfaces that are then not generated, types for
///   those of an interface. Paths are seen from the place of the macro, so other crates begin with `::`.
/// * `skip: ["wasi", "a:b/c"]`: namespaces, packages and interfaces that something else defines in linkers, as
///   [`wasi2::add_to_linker`](crate::wasi2::add_to_linker) does: there are types, but no traits.
/// * `additional_derives: [Eq]`: what types without handles derive beside `Clone`, `Debug` and `PartialEq`.
///
/// What it generates:
///
/// * Interface `a:b/c` is the module `a::b::c`, or `exports::a::b::c` if the world exports it.
/// * Records, variants, enums and flags are types of [`component_types!`](crate::component_types).
/// * A resource that the world imports is an empty enum `R`, unless `with` has a type, and its handles are
///   [`Resource<R>`](Resource). Handles of resources that the world exports are [`ResourceAny`].
/// * The host implements `Host` for each imported interface, `HostR` for each resource `R` in it, and `WorldImports`
///   for functions that the world itself imports; `add_to_linker` of each module defines them, that outside of all
///   modules all of them.
/// * The struct with the world's name has `instantiate` and `new`, a function `call_f` for each function `f` that the
///   world exports, and a function for each interface `a:b/c`, `a_b_c`, which returns such functions; those of a
///   resource `r` are in what `r` returns: `world.a_b_c().r().call_constructor(&mut store)`.
///
/// Arguments are passed by value, and functions are synchronous: this is what differs from Wasmtime's macro.
#[cfg(feature = "bindgen")]
pub use wprof_bindgen::bindgen;
/// Defines a set of flags, as [`component_types!`](crate::component_types) does, in the words of Wasmtime's macro. Needs
/// the feature `bindgen`.
///
/// ```
/// wprof::component::flags! {
///     pub Permissions {
///         #[component(name = "read-all")]
///         const READ_ALL;
///         const WRITE;
///     }
/// }
/// assert!((Permissions::READ_ALL | Permissions::WRITE) == Permissions::all());
/// ```
#[cfg(feature = "bindgen")]
pub use wprof_bindgen::flags;
/// Derives the trait of the same name.
#[cfg(feature = "bindgen")]
pub use wprof_bindgen::{ComponentType, Lift, Lower};

use crate::runtime::values::handles::trap;
use crate::{Error, ErrorKind};

/// Creates the error for an unsupported feature of a component.
fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Module, format_args!("the component uses {what}, which is not supported yet"))
}
