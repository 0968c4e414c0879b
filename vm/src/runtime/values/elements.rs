//! Element segments, and the words that they contain.
//!
//! Most words are computed when they are used. An expression that creates an object must return the same object
//! each time, so segments with such expressions are evaluated once, when their instance is created.

use std::ops::Range;

use wprof_jit::module::{ConstExpr, ElementItems};

use super::const_eval::eval;
use crate::Trap;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::store_opaque::StoreOpaque;

/// Evaluates the segments of instance `i` that create objects.
///
/// # Errors
/// Returns an error if there is no memory for the objects.
pub fn make(store: &mut StoreOpaque, i: u32) -> Result<(), Trap> {
    let module = store.items.instance(i).module.clone();
    for (segment, elements) in (0..).zip(&module.info().elements) {
        let ElementItems::Exprs(exprs) = &elements.items else { continue };
        if !exprs.iter().any(ConstExpr::allocates) {
            continue;
        }
        for expr in exprs {
            let word = eval(store, i, expr)?.u64();
            // From here on a collection finds the word.
            store.items.instance_mut(i).elements.entry(segment).or_default().push(word);
        }
    }
    Ok(())
}

/// Returns the number of elements of a segment; 0 if it was dropped.
pub fn len(items: &Items, i: u32, segment: u32) -> usize {
    let instance = items.instance(i);
    match &instance.module.info().elements[segment as usize].items {
        _ if instance.is_elem_dropped(segment) => 0,
        ElementItems::Funcs(funcs) => funcs.len(),
        ElementItems::Exprs(exprs) => exprs.len(),
    }
}

/// Returns the words of some elements, which the segment or globals keep alive.
///
/// # Errors
/// Never returns an error, because expressions that can fail have been evaluated.
///
/// # Panics
/// Panics if the segment has fewer elements.
pub fn words(store: &mut StoreOpaque, i: u32, segment: u32, range: Range<usize>) -> Result<Vec<u64>, Trap> {
    let instance = store.items.instance(i);
    if let Some(words) = instance.elements.get(&segment) {
        return Ok(words[range].to_vec());
    }
    let module = instance.module.clone();
    match &module.info().elements[segment as usize].items {
        ElementItems::Funcs(funcs) => {
            Ok(funcs[range].iter().map(|&f| instance.func_ref(f).as_ptr() as u64).collect())
        }
        ElementItems::Exprs(exprs) => {
            exprs[range].iter().map(|expr| eval(store, i, expr).map(|value| value.u64())).collect()
        }
    }
}
