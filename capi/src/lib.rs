//! The engine for C and what calls C: `include/wasm.h`, the API that engines have in common, and `include/wprof.h`, which adds
//! profiles, limits and what else only this one has.
//!
//! What C has are pointers to boxes of types of this crate. Pointers that C owns come and go as `Box`es, others as
//! references, and null is `None`: so most functions need no unsafe code of their own. All kinds of references are one
//! type, [`Reference`](reference::Reference), and all types of what can be imported are one, `ExternType`, so that casts
//! between them are nothing but a look at the kind.
//!
//! Invariant: no panic gets into C. What C must not do (see the headers) ends the process.
//! Invariant: a store is used by one thread at a time, which C promises; engines and shared modules by any.
//! Oracle: `tests/examples.rs` compiles and runs `examples/*.c`.

/// Defines functions of C, by the parts of the names that they have there. No other library has functions of these names, but
/// those that this one is to take the place of.
macro_rules! export {
    ($([$($name:literal),+] fn($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {
        $(const _: () = {
            #[unsafe(export_name = concat!($($name),+))]
            extern "C" fn function($($arg: $ty),*) $(-> $result)? $body
        };)*
    };
}

mod config;
mod error;
mod func;
mod identity;
mod instance;
mod memory;
mod module;
mod profile;
mod raised;
mod reference;
mod store;
mod trap;
mod types;
mod value;
mod vector;
