//! The types of an engine, with the ids that code compares: equal types have one id.
//!
//! [`DefinedType`] determines which types are equal. Entries live as long as their holders: modules, and host
//! functions in stores. Each entry keeps that of its supertype, so that the ids in its *display* stay in use: the
//! ids of all its supertypes, from the top type on, followed by its own. Whether a value of one type has another
//! type, whose number of supertypes is known, is thus one comparison with the length, one load and one more
//! comparison (Cohen 1991, "Type-extension type tests can be performed in constant time"). An entry of a function
//! type has the trampolines of its signature, compiled on demand and freed with the entry.
//!
//! Invariant: an id belongs to one type as long as anything that contains it exists (function references,
//! constants in machine code), because that is freed with a module or a host function, which holds the entry. The
//! same is true of a display, whose address function references contain.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use hashbrown::HashMap;

use crate::runtime::code::CodeArena;
use crate::types::Resolve;
use crate::types::defined::DefinedType;
use crate::{FuncType, ValType};

/// The number of words in front of a display.
const ADDRESS: usize = size_of::<usize>() / size_of::<u32>();

/// A type of an engine.
#[derive(Debug)]
pub struct TypeEntry {
    /// The id that `func_ref` and indirect calls compare.
    pub id: u32,
    /// The type.
    pub ty: DefinedType,
    /// The address of this entry, in two halves, by which the holder of a display finds it ([`TypeEntry::of_display`]).
    /// Then the display: the number of the ids that follow, and the ids: those of its supertypes, the top one first, and
    /// its own. See `abi::display`.
    words: Box<[u32]>,
    /// Keeps the supertypes' ids in use.
    _supertype: Option<Arc<TypeEntry>>,
    /// Address of the trampoline by which the host calls wasm functions of this type.
    pub host_to_wasm: OnceLock<usize>,
    /// Address of the trampoline by which wasm calls host functions of this type.
    pub wasm_to_host: OnceLock<usize>,
    /// See [`TypeEntry::numbers`].
    numbers: OnceLock<Option<(usize, bool)>>,
    registry: Arc<Registry>,
}

/// All types of an engine.
#[derive(Debug)]
pub struct TypeRegistry(Arc<Registry>);

#[derive(Debug)]
struct Registry {
    types: RwLock<Types>,
    /// The arena of the trampolines.
    trampolines: Arc<CodeArena>,
}

#[derive(Debug, Default)]
struct Types {
    ids: HashMap<DefinedType, u32>,
    /// The entries, by id.
    entries: Vec<Weak<TypeEntry>>,
    /// Unused ids.
    free: Vec<u32>,
}

impl TypeEntry {
    /// Returns the type as a function type.
    ///
    /// # Panics
    /// Panics when the result is used, if it is not a function type.
    pub fn func_type(&self) -> FuncType {
        FuncType(self.ty.clone())
    }

    /// Returns the number of parameters, and whether there is a result, of the type of a function with numbers only and at
    /// most one result.
    ///
    /// # Panics
    /// Panics if it is not a function type.
    pub fn numbers(&self) -> Option<(usize, bool)> {
        *self.numbers.get_or_init(|| {
            let ty = self.func_type();
            let is_number = |ty| matches!(ty, ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64);
            let (params, results) = (ty.params().len(), ty.results().len());
            (results <= 1 && ty.params().chain(ty.results()).all(is_number)).then_some((params, results == 1))
        })
    }

    /// Returns the display, which machine code reads to find the supertypes.
    pub fn display(&self) -> *const u32 {
        self.words[ADDRESS..].as_ptr()
    }

    /// Returns the entry with this display. Unlike [`TypeRegistry::get`] it takes no lock.
    ///
    /// # Safety
    /// The caller guarantees that an entry returned the display, and is held as long as the result is used.
    pub unsafe fn of_display<'a>(display: *const u32) -> &'a TypeEntry {
        // SAFETY: the caller guarantees that the entry exists, so its address lies in front of the display. The entry
        // exposed it, and never moves.
        unsafe {
            let address = display.sub(ADDRESS).cast::<usize>().read_unaligned();
            &*std::ptr::with_exposed_provenance::<TypeEntry>(address)
        }
    }
}

/// Resolves the types of a module, by type index.
impl Resolve for [Arc<TypeEntry>] {
    fn resolve(&self, index: wasmparser::UnpackedIndex) -> DefinedType {
        let index = index.as_module_index().expect("a type as it was read");
        self[index as usize].ty.clone()
    }
}

impl TypeRegistry {
    /// Creates an empty registry.
    pub fn new(trampolines: Arc<CodeArena>) -> TypeRegistry {
        TypeRegistry(Arc::new(Registry { types: RwLock::default(), trampolines }))
    }

    /// Returns the entry of `ty`, creating it if there is none.
    pub fn entry(&self, ty: &DefinedType) -> Arc<TypeEntry> {
        let found = self.0.read().find(ty);
        if let Some(entry) = found {
            return entry;
        }
        let supertype = ty.supertype().map(|above| self.entry(&above));
        let mut types = self.0.write();
        if let Some(entry) = types.find(ty) {
            // The supertype's entry may be dropped here, which takes the lock.
            drop(types);
            return entry;
        }
        let id = types.free.pop().unwrap_or(types.entries.len() as u32);
        let words = words(supertype.as_deref(), id);
        let (host_to_wasm, wasm_to_host, numbers) = Default::default();
        let (registry, of) = (self.0.clone(), ty.clone());
        let _supertype = supertype;
        let entry =
            TypeEntry { id, ty: of, words, _supertype, host_to_wasm, wasm_to_host, numbers, registry };
        let entry = with_address(Arc::new(entry));
        types.ids.insert(ty.clone(), id);
        match types.entries.get_mut(id as usize) {
            Some(place) => *place = Arc::downgrade(&entry),
            None => types.entries.push(Arc::downgrade(&entry)),
        }
        entry
    }

    /// Returns the entry with `id`.
    ///
    /// # Panics
    /// Panics if nobody holds it any more.
    #[cfg(test)]
    fn get(&self, id: u32) -> Arc<TypeEntry> {
        let entry = self.0.read().entries[id as usize].upgrade();
        entry.expect("who has the id of a type has its entry")
    }
}

/// Returns the words of an entry whose address is not known yet.
fn words(supertype: Option<&TypeEntry>, id: u32) -> Box<[u32]> {
    let above = supertype.map_or(&[][..], |above| &above.words[ADDRESS + 1..]);
    let address = [0; ADDRESS];
    address.iter().chain([&(above.len() as u32 + 1)]).chain(above).chain([&id]).copied().collect()
}

/// Writes the address of an entry in front of its display.
fn with_address(mut entry: Arc<TypeEntry>) -> Arc<TypeEntry> {
    let address = Arc::as_ptr(&entry).expose_provenance();
    let words = &mut Arc::get_mut(&mut entry).expect("nobody else has it yet").words;
    for (word, half) in words.iter_mut().zip(address.to_ne_bytes().as_chunks::<4>().0) {
        *word = u32::from_ne_bytes(*half);
    }
    entry
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
    fn find(&self, ty: &DefinedType) -> Option<Arc<TypeEntry>> {
        self.entries[*self.ids.get(ty)? as usize].upgrade()
    }
}

impl Drop for TypeEntry {
    fn drop(&mut self) {
        let mut types = self.registry.write();
        // The type may have got another entry since the last owner of this one released it.
        if types.ids.get(&self.ty) == Some(&self.id) {
            types.ids.remove(&self.ty);
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

    #[test]
    fn a_display_has_the_ids_of_all_types_above_and_keeps_them_in_use() {
        let registry = TypeRegistry::new(Arc::new(CodeArena::new(Arc::default(), None)));
        let text =
            "(module (type $a (sub (func))) (type $b (sub $a (func))) (type $c (sub final $b (func))))";
        let info = wprof_jit::module::parse(wat::parse_str(text).expect("valid text")).expect("valid module");
        let types = DefinedType::all_of(&info.types);
        let lowest = registry.entry(&types[2]);
        let ids: Vec<u32> = types.iter().map(|ty| registry.entry(ty).id).collect();
        assert_eq!(lowest.words[ADDRESS..], [3, ids[0], ids[1], ids[2]]);
        // SAFETY: the entry exists.
        let found = unsafe { TypeEntry::of_display(lowest.display()) };
        assert!(std::ptr::eq(found, &*lowest));
        assert_eq!(registry.get(ids[0]).ty, types[0], "nobody else has it");
        drop(lowest);
        let types = registry.0.read();
        assert!(types.ids.is_empty() && types.free.len() == 3);
    }
}
