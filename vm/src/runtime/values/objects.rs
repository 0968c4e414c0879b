//! The objects of a store: its heap, created with the first object type, and the roots that only objects have.
//!
//! See [`Collected`](super::collected::Collected) for collections.

use std::sync::Arc;

use wprof_jit::abi::object::{self, StructLayout};

use super::held::Held;
use super::type_ids::TypeEntry;
use crate::runtime::gc::{Bump, Heap, Shape, Statistics};
use crate::runtime::instances::abi::{VmStoreContext, VmValue};
use crate::runtime::instances::store_ptr::StorePtr;
use crate::{RefType, arch};

/// The heap objects of a store.
#[derive(Debug)]
pub struct Objects {
    /// Holds the displays, and the cursor while machine code owns it.
    context: StorePtr<VmStoreContext>,
    heap: Option<Heap>,
    /// The place of the next object; machine code owns it while it runs, unless it must ask for each allocation.
    bump: Bump,
    /// Whether each allocation collects before.
    is_stressed: bool,
    /// The object types, which keep their ids alive.
    types: Vec<Arc<TypeEntry>>,
    /// Address of the type's display by type id, for machine code.
    displays: Vec<usize>,
    held: Held,
    /// Operands of constant expressions under evaluation.
    operands: Vec<VmValue>,
    /// The lowest stack pointer at a collection since the stack was cleared.
    lowest: Option<usize>,
}

impl Objects {
    /// Creates an empty heap's worth of objects. If the store is stressed, machine code asks for each allocation.
    pub fn new(context: StorePtr<VmStoreContext>, is_stressed: bool) -> Objects {
        Objects {
            context,
            heap: None,
            bump: Bump::default(),
            is_stressed,
            types: Vec::new(),
            displays: Vec::new(),
            held: Held::default(),
            operands: Vec::new(),
            lowest: None,
        }
    }

    /// Keeps the referent of a word alive as long as the result is alive.
    pub fn hold(&self, word: u64) -> Arc<()> {
        self.held.hold(word)
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

    /// Allows objects of these types, as far as they are object types, in at most `limit` bytes.
    ///
    /// # Errors
    /// Fails if the system has no room for a heap.
    pub fn add_types(&mut self, types: &[Arc<TypeEntry>], limit: u64) -> crate::Result<()> {
        for entry in types {
            let Some(shape) = shape_of(entry) else { continue };
            if self.heap.is_none() {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                let heap = Heap::new(limit).map_err(|e| crate::Error::system("no memory for a heap", e))?;
                self.heap = Some(heap);
            }
            if self.heap().has_shape(entry.id) {
                continue;
            }
            self.heap_mut().add_shape(entry.id, shape);
            let (index, displays) = (entry.id as usize, &mut self.displays);
            displays.resize(displays.len().max(index + 1), 0);
            displays[index] = entry.display().expose_provenance();
            self.types.push(entry.clone());
        }
        // SAFETY: the context lives as long as the store, which is borrowed exclusively.
        unsafe { (*self.context.as_ptr()).displays = self.displays.as_ptr() };
        Ok(())
    }

    /// Allocates an object of the type with this id, with default fields, and returns its address; `None` if there is no
    /// room without a collection.
    pub fn allocate(&mut self, id: u32, length: u32) -> Option<u64> {
        self.take_bump();
        let Objects { heap, bump, .. } = self;
        let object = heap.as_mut().expect("a type of objects is known").allocate(bump, id, length);
        self.give_bump();
        object
    }

    /// Allocates after a collection; `None` if there is no room besides all reachable objects.
    pub fn allocate_after_collection(&mut self, id: u32, length: u32) -> Option<u64> {
        self.heap_mut().allow(id, length);
        self.allocate(id, length)
    }

    /// Takes back the cursor, so that the heap knows what machine code has allocated.
    fn take_bump(&mut self) {
        if !self.is_stressed {
            // SAFETY: the context lives as long as the store, which is borrowed exclusively.
            self.bump = unsafe { (*self.context.as_ptr()).heap };
        }
    }

    fn give_bump(&mut self) {
        if !self.is_stressed {
            // SAFETY: as above.
            unsafe { (*self.context.as_ptr()).heap = self.bump };
        }
    }

    /// Returns the statistics of allocations and collections; `None` if there are no object types.
    pub fn statistics(&mut self) -> Option<&Statistics> {
        self.take_bump();
        let Objects { heap, bump, .. } = self;
        if let Some(heap) = heap {
            heap.count(bump);
        }
        self.give_bump();
        self.heap.as_ref().map(Heap::statistics)
    }

    /// Returns the statistics, up to date as far as collections go; `None` if there are no object types.
    pub fn statistics_of_collections(&self) -> Option<&Statistics> {
        self.heap.as_ref().map(Heap::statistics)
    }

    /// Adds the words that the embedder and constant expressions hold.
    pub fn add_roots_to(&mut self, live: &mut Vec<u64>) {
        live.extend(self.held.words());
        live.extend(self.operands.iter().map(|value| value.u64()));
    }

    /// Begins a collection, which keeps the objects in `live`, and returns the heap, if there is one.
    pub fn begin_collection(&mut self, live: &[u64]) -> Option<&mut Heap> {
        let here = arch::stack_pointer();
        self.lowest = Some(self.lowest.map_or(here, |lowest| lowest.min(here)));
        self.take_bump();
        let heap = self.heap.as_mut()?;
        heap.begin_collection(&mut self.bump);
        live.iter().for_each(|&word| heap.mark_ambiguous(word));
        Some(heap)
    }

    /// Ends the collection and frees all other objects, or none if unknown references may exist.
    pub fn end_collection(&mut self, are_all_known: bool) {
        if let Some(heap) = &mut self.heap {
            heap.end_collection(are_all_known);
        }
        self.give_bump();
    }

    /// Returns the bytes of the objects that the last collection has kept.
    pub fn live(&self) -> u64 {
        self.heap.as_ref().map_or(0, |heap| heap.statistics().live)
    }

    /// Returns the number of operands of constant expressions under evaluation.
    pub fn operand_count(&self) -> usize {
        self.operands.len()
    }

    /// Adds an operand, which a collection finds.
    pub fn push_operand(&mut self, value: VmValue) {
        self.operands.push(value);
    }

    /// Removes the last operand.
    pub fn pop_operand(&mut self) -> Option<VmValue> {
        self.operands.pop()
    }

    /// Removes all operands but the first `count`, and returns the last one.
    pub fn end_operands(&mut self, count: usize) -> Option<VmValue> {
        let last = self.operands.last().copied();
        self.operands.truncate(count);
        last
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
