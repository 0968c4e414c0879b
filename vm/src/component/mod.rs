//! Components: core modules that are linked together, with functions over values of the component model.
//!
//! Input: a binary component of the component model 0.2, or its text. Output: a [`Component`], from which a [`Linker`]
//! creates an [`Instance`], whose [`Func`]s take and return [`Val`]s.
//!
//! Three steps, each of which yields a value: `parse` validates and lists what each component of the file does;
//! `inline` expands nested components statically, which leaves a flat `plan` of core modules only; `state` executes the
//! plan in a store. All core modules run like any others, and are profiled likewise.
//!
//! Calls between two components of one file go through the host: arguments are lifted to [`Val`]s and lowered again.
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

mod bridge;
mod call;
#[allow(clippy::module_inception, reason = "it is named after the file format")]
mod component;
mod func;
mod handles;
mod host_func;
mod inline;
mod instance;
mod lift;
mod linker;
mod lower;
mod module_type;
mod parse;
mod plan;
mod resolve;
mod resource;
mod state;
mod strings;
mod table;
mod trampoline;
mod typed;
mod typed_func;
mod types;
mod val;

pub use component::{Component, is_component};
pub use func::Func;
pub use instance::Instance;
pub use linker::{Linker, LinkerInstance};
pub use resource::{ResourceAny, ResourceType};
pub use table::{Resource, ResourceTable, ResourceTableError};
#[doc(hidden)]
pub use typed::custom;
pub use typed::{Args, ComponentType, Lift, Lower, Params, Results, Returns};
pub use typed_func::TypedFunc;
pub use types::{FuncType, Type, TypeKind};
pub use val::Val;

use crate::{Error, ErrorKind};

/// Creates a trap that the canonical ABI prescribes.
fn trap(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Trap, format_args!("wasm trap: {why}"))
}

/// Creates the error for an unsupported feature of a component.
fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Module, format_args!("the component uses {what}, which is not supported yet"))
}
