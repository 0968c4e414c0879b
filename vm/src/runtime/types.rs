//! The function types of an engine: structurally equal types have one id.
//!
//! Entries live as long as the engine. Each holds the trampolines of its signature once somebody needed them.

use std::sync::{Arc, OnceLock, RwLock};

use hashbrown::HashMap;

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
}

/// All function types of an engine.
#[derive(Debug, Default)]
pub struct TypeRegistry {
    types: RwLock<Types>,
}

#[derive(Debug, Default)]
struct Types {
    ids: HashMap<wasmparser::FuncType, u32>,
    entries: Vec<Arc<FuncTypeEntry>>,
}

impl TypeRegistry {
    /// The entry of `ty`, made now if there is none yet.
    pub fn entry(&self, ty: &wasmparser::FuncType) -> Arc<FuncTypeEntry> {
        let types = self.types.read().expect("no panic while it is held");
        if let Some(&id) = types.ids.get(ty) {
            return types.entries[id as usize].clone();
        }
        drop(types);
        let mut types = self.types.write().expect("no panic while it is held");
        let next = types.entries.len() as u32;
        let id = *types.ids.entry(ty.clone()).or_insert(next);
        if id == next {
            let (host_to_wasm, wasm_to_host) = Default::default();
            types.entries.push(Arc::new(FuncTypeEntry {
                id,
                ty: FuncType(ty.clone()),
                host_to_wasm,
                wasm_to_host,
            }));
        }
        types.entries[id as usize].clone()
    }

    /// The entry with `id`.
    pub fn get(&self, id: u32) -> Arc<FuncTypeEntry> {
        self.types.read().expect("no panic while it is held").entries[id as usize].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValType;

    #[test]
    fn equal_types_have_one_id() {
        let registry = TypeRegistry::default();
        let a = registry.entry(&FuncType::new([ValType::I32], []).0);
        let b = registry.entry(&FuncType::new([ValType::I64], []).0);
        let c = registry.entry(&FuncType::new([ValType::I32], []).0);
        assert_eq!(a.id, c.id);
        assert_ne!(a.id, b.id);
        assert_eq!(registry.get(b.id).ty, b.ty);
    }
}
