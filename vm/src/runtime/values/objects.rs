//! The objects of a store: its heap, created with the first object type, the roots of objects, and collections.
//!
//! One collection serves objects, host values (`externs`) and exceptions, as each may refer to the others. It runs when
//! an allocation finds no room, when the host is entered and there are many host values or exceptions, or when the
//! embedder requests it. Roots are tables, globals, evaluated element segments, the embedder's references, and each
//! word of the stack and of registers: see `gc`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use wprof_jit::abi::object::{self, StructLayout};

use super::types::TypeEntry;
use crate::runtime::gc::{Bump, Heap, Shape, Statistics};
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store_opaque::StoreOpaque;
use crate::runtime::stacks::walk;
use crate::{RefType, Trap, arch};

/// The heap objects of a store.
#[derive(Debug, Default)]
pub struct Objects {
    heap: Option<Heap>,
    /// The place of the next object; machine code owns it while it runs, unless it must ask for each allocation.
    bump: Bump,
    /// The object types, which keep their ids alive.
    types: Vec<Arc<TypeEntry>>,
    /// Address of the type's display by type id, for machine code.
    displays: Vec<usize>,
    /// The words that the embedder holds, or has held.
    held: Mutex<Held>,
    /// Operands of constant expressions under evaluation.
    pub operands: Vec<VmValue>,
    /// The lowest stack pointer at a collection since the stack was cleared.
    lowest: Option<usize>,
}

#[derive(Debug, Default)]
struct Held {
    words: Vec<(u64, Weak<()>)>,
    /// Number of words after the most recent removal of released ones.
    known: usize,
}

impl Held {
    /// Number of words below which a search for released ones does not pay off.
    const FEW: usize = 1024;

    fn add(&mut self, word: u64, root: Weak<()>) {
        if self.words.len() >= 2 * self.known.max(Held::FEW) {
            self.drop_others();
        }
        self.words.push((word, root));
    }

    fn drop_others(&mut self) {
        self.words.retain(|(_, root)| root.strong_count() > 0);
        self.known = self.words.len();
    }
}

impl Objects {
    /// Keeps the referent of a word alive as long as the result is alive.
    pub fn hold(&self, word: u64) -> Arc<()> {
        let root = Arc::new(());
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.add(word, Arc::downgrade(&root));
        root
    }

    /// Returns the words that the embedder still holds.
    fn held(&mut self) -> impl Iterator<Item = u64> + '_ {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        held.drop_others();
        held.words.iter().map(|&(word, _)| word)
    }

    /// Returns from where on the stack has words of frames that have returned, if it was not cleared since.
    pub fn take_lowest(&mut self) -> Option<usize> {
        self.lowest.take()
    }

    /// Returns the heap.
    ///
    /// # Panics
    /// Panics if the store has no object types.
    pub fn heap(&self) -> &Heap {
        self.heap.as_ref().expect("a store with objects has a heap")
    }

    /// Returns the heap.
    ///
    /// # Panics
    /// Panics as [`Objects::heap`] does.
    pub fn heap_mut(&mut self) -> &mut Heap {
        self.heap.as_mut().expect("a store with objects has a heap")
    }

    /// Returns the type of an object.
    pub fn type_of(&self, word: u64) -> &Arc<TypeEntry> {
        let (id, _) = self.heap().head(word);
        self.types.iter().find(|entry| entry.id == id).expect("the types of objects are known")
    }
}

fn shape_of(entry: &TypeEntry) -> Option<Shape> {
    let keeps = |storage: wasmparser::StorageType| match storage {
        wasmparser::StorageType::Val(wasmparser::ValType::Ref(ty)) => {
            RefType::from_parser(ty, &entry.ty).is_collected()
        }
        _ => false,
    };
    match &entry.ty.definition().composite_type.inner {
        wasmparser::CompositeInnerType::Struct(of) => {
            let layout = StructLayout::new(&of.fields);
            let fields = of.fields.iter().zip(&layout.offsets);
            let references = fields.filter(|(field, _)| keeps(field.element_type)).map(|(_, &at)| at);
            Some(Shape::Struct { size: layout.size, references: references.collect() })
        }
        wasmparser::CompositeInnerType::Array(of) => Some(Shape::Array {
            element: object::size_of(of.0.element_type),
            are_references: keeps(of.0.element_type),
        }),
        _ => None,
    }
}

impl StoreOpaque {
    /// Allows objects of these types, as far as they are object types.
    ///
    /// # Errors
    /// Fails if the system has no room for a heap.
    pub fn add_object_types(&mut self, types: &[Arc<TypeEntry>]) -> crate::Result<()> {
        for entry in types {
            let Some(shape) = shape_of(entry) else { continue };
            if self.objects.heap.is_none() {
                let limit = usize::try_from(self.items.limits().heap_bytes).unwrap_or(usize::MAX);
                let heap = Heap::new(limit).map_err(|e| crate::Error::system("no memory for a heap", e))?;
                self.objects.heap = Some(heap);
            }
            if self.objects.heap().has_shape(entry.id) {
                continue;
            }
            self.objects.heap_mut().add_shape(entry.id, shape);
            let (index, displays) = (entry.id as usize, &mut self.objects.displays);
            displays.resize(displays.len().max(index + 1), 0);
            displays[index] = entry.display().expose_provenance();
            self.objects.types.push(entry.clone());
        }
        let displays = self.objects.displays.as_ptr();
        // SAFETY: the context lives as long as the store, which is borrowed exclusively.
        unsafe { (*self.context().as_ptr()).displays = displays };
        Ok(())
    }

    /// Allocates an object of the type with this id, with default fields, and returns its address. All live references
    /// must be known: see [`StoreOpaque::collect`].
    ///
    /// # Errors
    /// Fails if there is no room besides all reachable objects.
    pub fn allocate(&mut self, id: u32, length: u32) -> Result<u64, Trap> {
        self.take_bump();
        if self.engine().config().gc_stress {
            self.collect(&[]);
        }
        let mut object = self.allocate_here(id, length);
        if object.is_none() {
            self.collect(&[]);
            self.objects.heap_mut().allow(id, length);
            object = self.allocate_here(id, length);
        }
        self.give_bump();
        object.ok_or(Trap::GcOutOfMemory)
    }

    fn allocate_here(&mut self, id: u32, length: u32) -> Option<u64> {
        let Objects { heap, bump, .. } = &mut self.objects;
        heap.as_mut().expect("a type of objects is known").allocate(bump, id, length)
    }

    /// Takes back the cursor, so that the heap knows what machine code has allocated.
    fn take_bump(&mut self) {
        if !self.engine().config().gc_stress {
            // SAFETY: the context lives as long as the store, which is borrowed exclusively.
            self.objects.bump = unsafe { (*self.context().as_ptr()).heap };
        }
    }

    fn give_bump(&mut self) {
        if !self.engine().config().gc_stress {
            // SAFETY: as above.
            unsafe { (*self.context().as_ptr()).heap = self.objects.bump };
        }
    }

    /// Returns the statistics of allocations and collections; `None` if there are no object types.
    pub fn count_objects(&mut self) -> Option<&Statistics> {
        self.take_bump();
        let Objects { heap, bump, .. } = &mut self.objects;
        if let Some(heap) = heap {
            heap.count(bump);
        }
        self.give_bump();
        self.objects.heap.as_ref().map(Heap::statistics)
    }

    /// Reports whether there are so many host values or exceptions that it is time to collect.
    #[inline]
    pub fn is_collection_due(&self) -> bool {
        self.externs.is_due() || self.exceptions.is_due()
    }

    /// Collects if it is time: see [`StoreOpaque::collect`].
    #[inline]
    pub fn collect_if_due(&mut self) {
        if self.is_collection_due() {
            self.collect(&[]);
        }
    }

    /// Frees objects, externrefs and exceptions without references from a table, a global, a frame of wasm code, a live
    /// object or exception, or `held`. Must be called in host code, when no other word is in transit except on the
    /// stack below entries into wasm code.
    pub fn collect(&mut self, held: &[u64]) {
        let here = arch::stack_pointer();
        self.objects.lowest = Some(self.objects.lowest.map_or(here, |lowest| lowest.min(here)));
        self.take_bump();
        let live = self.roots(held);
        let StoreOpaque { externs, exceptions, objects, depth, .. } = self;
        let Objects { heap, bump, .. } = objects;
        externs.begin_collection(&live);
        exceptions.begin_collection(&live);
        let mut heap = heap.as_mut();
        if let Some(heap) = &mut heap {
            heap.begin_collection(bump);
            live.iter().for_each(|&word| heap.mark_ambiguous(word));
        }
        let mut keep = |word| {
            externs.keep(word);
            exceptions.keep(word);
            if let Some(heap) = &mut heap {
                heap.mark_ambiguous(word);
            }
        };
        // SAFETY: this is host code.
        let are_all_known = *depth == 0 || unsafe { walk::words_of_stack(&mut keep) };
        loop {
            if let Some(heap) = &mut heap {
                heap.trace(|word| {
                    externs.keep(word);
                    exceptions.keep(word);
                });
            }
            exceptions.trace(|word| {
                let is_object = heap.as_mut().is_some_and(|heap| heap.mark(word));
                if !is_object {
                    externs.keep(word);
                }
            });
            if heap.as_ref().is_none_or(|heap| heap.is_traced()) {
                break;
            }
        }
        externs.end_collection(are_all_known);
        exceptions.end_collection(are_all_known);
        if let Some(heap) = heap {
            heap.end_collection(are_all_known);
        }
        self.give_bump();
    }

    /// Returns all words that keep values alive, except those of frames. The OSR buffer has none: no frame is between two
    /// versions in host code, and what an earlier frame left there would keep its objects.
    fn roots(&mut self, held: &[u64]) -> Vec<u64> {
        let mut live: Vec<u64> = held.to_vec();
        live.extend(self.objects.held());
        live.extend(self.objects.operands.iter().map(|value| value.u64()));
        self.items.add_roots_to(&mut live);
        live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_any_more_takes_no_room() {
        let objects = Objects::default();
        let held: Vec<Arc<()>> = (0..2000).map(|word| objects.hold(word)).collect();
        (0..100_000).for_each(|word| drop(objects.hold(word)));
        let mut objects = objects;
        let kept: Vec<u64> = objects.held().collect();
        assert!(kept.iter().copied().eq(0..2000));
        let room = objects.held.get_mut().expect("not poisoned").words.capacity();
        assert!(room < 20_000, "{room}");
        drop(held);
        assert_eq!(objects.held().count(), 0);
    }
}
