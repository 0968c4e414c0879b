//! Imports and exports of any kind.

use crate::{AsContext, ExternType, Func, Global, Memory, Table, Tag};

/// A function, global, table, memory or tag.
#[derive(Clone, Copy, Debug)]
pub enum Extern {
    /// A function.
    Func(Func),
    /// A global.
    Global(Global),
    /// A table.
    Table(Table),
    /// A linear memory.
    Memory(Memory),
    /// A tag.
    Tag(Tag),
}

impl Extern {
    /// Returns the function, if it is one.
    pub fn into_func(self) -> Option<Func> {
        if let Extern::Func(f) = self { Some(f) } else { None }
    }

    /// Returns the global, if it is one.
    pub fn into_global(self) -> Option<Global> {
        if let Extern::Global(g) = self { Some(g) } else { None }
    }

    /// Returns the table, if it is one.
    pub fn into_table(self) -> Option<Table> {
        if let Extern::Table(t) = self { Some(t) } else { None }
    }

    /// Returns the memory, if it is one.
    pub fn into_memory(self) -> Option<Memory> {
        if let Extern::Memory(m) = self { Some(m) } else { None }
    }

    /// Returns the tag, if it is one.
    pub fn into_tag(self) -> Option<Tag> {
        if let Extern::Tag(t) = self { Some(t) } else { None }
    }

    /// Returns the type, with the current size of a table or memory as the minimum.
    pub fn ty(&self, store: impl AsContext) -> ExternType {
        match self {
            Extern::Func(f) => ExternType::Func(f.ty(store)),
            Extern::Global(g) => ExternType::Global(g.ty(store)),
            Extern::Table(t) => ExternType::Table(t.ty(store)),
            Extern::Memory(m) => ExternType::Memory(m.ty(store)),
            Extern::Tag(t) => ExternType::Tag(t.ty(store)),
        }
    }
}

impl From<Func> for Extern {
    fn from(f: Func) -> Self {
        Extern::Func(f)
    }
}

impl From<Global> for Extern {
    fn from(g: Global) -> Self {
        Extern::Global(g)
    }
}

impl From<Table> for Extern {
    fn from(t: Table) -> Self {
        Extern::Table(t)
    }
}

impl From<Memory> for Extern {
    fn from(m: Memory) -> Self {
        Extern::Memory(m)
    }
}

impl From<Tag> for Extern {
    fn from(t: Tag) -> Self {
        Extern::Tag(t)
    }
}
