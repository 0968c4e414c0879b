//! What a store frees before its end: objects, host values (`externs`) and exceptions to which nothing refers.
//!
//! One collection serves all three, as each may refer to the others. It runs when an allocation finds no room, when the
//! host is entered and there are many host values or exceptions, or when the embedder requests it. Roots are tables,
//! globals, evaluated element segments, the embedder's references, and each word of the stack and of registers: see
//! `gc`. The OSR buffer has none: no frame is between two versions in host code, and what an earlier frame left there
//! would keep its objects.

use super::exceptions::Exceptions;
use super::externs::ExternArena;
use super::objects::Objects;
use crate::runtime::instances::abi::VmStoreContext;
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::instances::stored::StoreId;
use crate::runtime::stacks::walk;

/// The collected values of a store.
#[derive(Debug)]
pub struct Collected {
    pub externs: ExternArena,
    pub objects: Objects,
    pub exceptions: Exceptions,
}

impl Collected {
    /// Creates the values of a new store: none.
    pub fn new(store: StoreId, context: StorePtr<VmStoreContext>, is_stressed: bool) -> Collected {
        Collected {
            externs: ExternArena::default(),
            objects: Objects::new(context, is_stressed),
            exceptions: Exceptions::new(store),
        }
    }

    /// Reports whether there are so many host values or exceptions that it is time to collect.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.externs.is_due() || self.exceptions.is_due()
    }

    /// Frees what neither `live` nor, if wasm code is running, a word of the stack leads to. Must be called in host code,
    /// when no other word is in transit except on the stack below entries into wasm code. Frees nothing if `stop` says to
    /// stop before all objects are marked.
    pub fn collect(&mut self, live: &[u64], is_running: bool, stop: impl Fn() -> bool) {
        let Collected { externs, exceptions, objects } = self;
        externs.begin_collection(live);
        exceptions.begin_collection(live);
        let mut heap = objects.begin_collection(live);
        let mut keep = |word| {
            externs.keep(word);
            exceptions.keep(word);
            if let Some(heap) = &mut heap {
                heap.mark_ambiguous(word);
            }
        };
        // SAFETY: this is host code.
        let mut are_all_known = !is_running || unsafe { walk::words_of_stack(&mut keep) };
        loop {
            if let Some(heap) = &mut heap {
                let is_done = heap.trace(&stop, |word| {
                    externs.keep(word);
                    exceptions.keep(word);
                });
                if !is_done {
                    are_all_known = false;
                    break;
                }
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
        objects.end_collection(are_all_known);
        let live = objects.live();
        externs.end_collection(are_all_known, live);
        exceptions.end_collection(are_all_known, live);
    }
}
