//! The identity of things in a store.

use wprof::{Func, Global, Instance, Memory, Table};

/// The identity of a thing in a store: equal exactly for references to the same thing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    Func(Func),
    Global(Global),
    Table(Table),
    Memory(Memory),
    Instance(Instance),
}
