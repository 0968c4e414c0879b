//! The C API of the engine: `include/wasm.h`, which engines have in common, and `include/wprof.h`, which adds profiles,
//! limits, WASI and the other features that only this engine has.
//!
//! C holds pointers to boxed values of this crate's types. Pointers that C owns are passed as `Box`es, others as
//! references, and null is `None`, so most functions need no unsafe code of their own. One type,
//! `Reference`, represents all kinds of references, and one type, `ExternType`, all types of
//! imports and exports, so a cast between kinds only checks the kind.
//!
//! Invariant: no panic unwinds into C. Misuse by C (see the headers) ends the process.
//! Invariant: one thread at a time uses a store, as C guarantees; any thread may use engines and shared modules.
//! Oracle: `tests/examples.rs` compiles and runs `examples/*.c`.

/// Defines functions of C, by parts of their C names. No other library has functions of these names, except the
/// libraries that this one replaces.
macro_rules! export {
    ($([$($name:literal),+] fn($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {
        $(const _: () = {
            #[unsafe(export_name = concat!($($name),+))]
            extern "C" fn function($($arg: $ty),*) $(-> $result)? $body
        };)*
    };
}

mod attached;
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
mod wasi;
