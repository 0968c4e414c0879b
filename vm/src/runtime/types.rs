//! The function types of an engine: structurally equal types have one id.
//!
//! Entries live as long as somebody has them: modules, and host functions in stores. Each has the trampolines of its
//! signature once somebody needed them, and takes them along.
//!
//! Invariant: an id is of one type as long as anything that holds it is there (function references, constants in machine
//! code), since that goes with a module or a host function, which has the entry.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use hashbrown::HashMap;

use super::code::CodeArena;
use crate::FuncType;

/// One function type of an engine.
#[derive(Debug)]
pub struct FuncTypeEntry {
    /// What `func_ref` and indirect calls compare.
    pub id: u32,
    /// The type.
    pub ty: FuncType,
    /// Address of the trampoline by which the host calls wasm functions of this type.
    pub host_to_wasm: OnceLock<usize>,
    /// Address of the trampoline by which wasm calls host functions of this type.
    pub wasm_to_host: OnceLock<usize>,
    registry: Arc<Registry>,
}

/// All function types of an engine.
#[derive(Debug)]
pub struct TypeRegistry(Arc<Registry>);

#[derive(Debug)]
struct Registry {
    types: RwLock<Types>,
    /// Where the trampolines lie.
    trampolines: Arc<CodeArena>,
}

#[derive(Debug, Default)]
struct Types {
    ids: HashMap<wasmparser::FuncType, u32>,
    /// By id.
    entries: Vec<Weak<FuncTypeEntry>>,
    /// Ids that no type has.
    free: Vec<u32>,
}

impl TypeRegistry {
    /// No types yet.
    pub fn new(trampolines: Arc<CodeArena>) -> TypeRegistry {
        TypeRegistry(Arc::new(Registry { types: RwLock::default(), trampolines }))
    }

    /// The entry of `ty`, made now if there is none.
    pub fn entry(&self, ty: &wasmparser::FuncType) -> Arc<FuncTypeEntry> {
        let found = self.0.read().find(ty);
        if let Some(entry) = found {
            return entry;
        }
        let mut types = self.0.write();
        if let Some(entry) = types.find(ty) {
            return entry;
        }
        let id = types.free.pop().unwrap_or(types.entries.len() as u32);
        let (host_to_wasm, wasm_to_host) = Default::default();
        let (registry, of) = (self.0.clone(), FuncType(ty.clone()));
        let entry = Arc::new(FuncTypeEntry { id, ty: of, host_to_wasm, wasm_to_host, registry });
        types.ids.insert(ty.clone(), id);
        match types.entries.get_mut(id as usize) {
            Some(place) => *place = Arc::downgrade(&entry),
            None => types.entries.push(Arc::downgrade(&entry)),
        }
        entry
    }

    /// The entry with `id`.
    ///
    /// # Panics
    /// If nobody has it any more.
    pub fn get(&self, id: u32) -> Arc<FuncTypeEntry> {
        let entry = self.0.read().entries[id as usize].upgrade();
        entry.expect("who has the id of a type has its entry")
    }
}

impl Registry {
    fn read(&self) -> RwLockReadGuard<'_, Types> {
        self.types.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Types> {
        self.types.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Types {
    fn find(&self, ty: &wasmparser::FuncType) -> Option<Arc<FuncTypeEntry>> {
        self.entries[*self.ids.get(ty)? as usize].upgrade()
    }
}

impl Drop for FuncTypeEntry {
    fn drop(&mut self) {
        let mut types = self.registry.write();
        // The type may have got another entry since the last owner of this one let it go.
        if types.ids.get(&self.ty.0) == Some(&self.id) {
            types.ids.remove(&self.ty.0);
        }
        types.free.push(self.id);
        drop(types);
        let trampolines = [&self.host_to_wasm, &self.wasm_to_host].into_iter().filter_map(OnceLock::get);
        trampolines.for_each(|&address| self.registry.trampolines.free(address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValType;

    #[test]
    fn equal_types_have_one_id_as_long_as_somebody_has_it() {
        let registry = TypeRegistry::new(Arc::new(CodeArena::new(Arc::default(), None)));
        let a = registry.entry(&FuncType::new([ValType::I32], []).0);
        let b = registry.entry(&FuncType::new([ValType::I64], []).0);
        let c = registry.entry(&FuncType::new([ValType::I32], []).0);
        assert_eq!(a.id, c.id);
        assert_ne!(a.id, b.id);
        assert_eq!(registry.get(b.id).ty, b.ty);
        let id = a.id;
        drop(a);
        assert_eq!(registry.get(id).ty, c.ty);
        drop(c);
        for params in 2..1000 {
            let new = registry.entry(&FuncType::new(vec![ValType::F32; params], []).0);
            assert_eq!((new.id, registry.get(b.id).id), (id, b.id), "an id that nobody has is given again");
        }
        let types = registry.0.read();
        assert_eq!((types.entries.len(), types.ids.len()), (2, 1));
    }
}
