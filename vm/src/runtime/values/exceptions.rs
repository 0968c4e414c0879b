//! Exceptions of a store: what they are in memory, and which of them wasm code still holds.
//!
//! An exception is a row of values, the first of which has the number of its tag (`abi::exception`); in wasm an `exnref`
//! is the address of that row. The host holds it by counting, wasm code through the store's table of all exceptions that
//! it knows. Collection, which goes with that of externrefs (`externs`), takes those out that no table, global, frame or
//! other exception refers to, and nobody in the host holds.

use std::fmt;
use std::sync::{Arc, OnceLock};

use hashbrown::{HashMap, HashSet};
use wprof_jit::abi::object::{I31, TAG_MASK};

use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::store::{StoreId, StoreOpaque, Stored};
use crate::{Error, ErrorKind, FuncType, HeapType, RefType, ValType};

/// A tag: what kind of exception it is.
#[derive(Debug)]
pub struct TagData {
    /// Its handle.
    pub handle: Stored,
    /// What machine code compares.
    pub number: u64,
    /// What its exceptions carry.
    pub ty: FuncType,
    /// What people call it.
    pub name: String,
}

/// An exception.
#[derive(Debug)]
pub struct Exception {
    /// The number of its tag, and what it carries.
    words: Box<[VmValue]>,
    /// Its tag.
    pub tag: Arc<TagData>,
    /// Where the frames go on that it was thrown in first, the innermost first.
    pub thrown: OnceLock<Box<[usize]>>,
}

impl Exception {
    /// One that carries these values, which are of the tag's types and, where references, of its store.
    pub fn new(tag: Arc<TagData>, carried: &[VmValue]) -> Exception {
        let head = VmValue::from_u64(tag.number);
        Exception {
            words: [head].into_iter().chain(carried.iter().copied()).collect(),
            tag,
            thrown: OnceLock::new(),
        }
    }

    /// The store that it belongs to.
    pub fn store(&self) -> StoreId {
        self.tag.handle.store()
    }

    /// What it carries.
    pub fn carried(&self) -> &[VmValue] {
        &self.words[1..]
    }

    /// The same, with the type of each.
    pub fn typed(&self) -> impl Iterator<Item = (ValType, VmValue)> + '_ {
        self.tag.ty.params().zip(self.carried().iter().copied())
    }

    fn address(&self) -> usize {
        self.words.as_ptr().expose_provenance()
    }
}

/// A reference that is not null, as far as its word and its type tell what it is to.
fn shown(f: &mut fmt::Formatter<'_>, ty: &RefType, word: u64) -> fmt::Result {
    let heap_type = ty.heap_type();
    f.write_str(match heap_type.top() {
        HeapType::Func => "a function",
        HeapType::Exn => "an exception",
        _ if word & I31 != 0 => return write!(f, "i31 {}", word as i32 >> 1),
        _ if word & TAG_MASK != 0 => "a value of the host's",
        _ => match heap_type {
            HeapType::Struct | HeapType::ConcreteStruct(_) => "a struct",
            HeapType::Array | HeapType::ConcreteArray(_) => "an array",
            _ => "an object",
        },
    })
}

/// The tag, and what it carries: of references, what they are to.
impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tag {}", self.tag.name)?;
        for (index, (ty, value)) in self.typed().enumerate() {
            f.write_str(if index == 0 { " with " } else { ", " })?;
            match ty {
                ValType::I32 => write!(f, "{}", value.u32() as i32)?,
                ValType::I64 => write!(f, "{}", value.u64() as i64)?,
                ValType::F32 => write!(f, "{}", f32::from_bits(value.u32()))?,
                ValType::F64 => write!(f, "{}", f64::from_bits(value.u64()))?,
                ValType::V128 => write!(f, "{:#x}", value.u128())?,
                ValType::Ref(_) if value.u64() == 0 => f.write_str("null")?,
                ValType::Ref(ty) => shown(f, &ty, value.u64())?,
            }
        }
        Ok(())
    }
}

/// An exception that wasm code has not caught, or that a host function throws: see [`Store::throw`](crate::Store::throw).
#[derive(Clone, Debug, thiserror::Error)]
#[error("uncaught exception: {0}")]
pub struct ThrownException(pub(crate) Arc<Exception>);

impl ThrownException {
    /// The error that it is.
    pub(crate) fn into_error(self) -> Error {
        Error::with_source(ErrorKind::Exception, Box::new(self))
    }
}

/// The exceptions that wasm code may hold.
#[derive(Debug)]
pub struct Exceptions {
    by_address: HashMap<usize, Arc<Exception>>,
    /// How many there are when the next collection is due.
    threshold: usize,
    /// Which of them the collection that runs keeps, and which of these have not been looked into.
    marked: HashSet<usize>,
    pending: Vec<usize>,
}

/// Collections with fewer exceptions than this are not worth it.
const FIRST_THRESHOLD: usize = 1024;

impl Default for Exceptions {
    fn default() -> Self {
        let (by_address, marked) = Default::default();
        Exceptions { by_address, threshold: FIRST_THRESHOLD, marked, pending: Vec::new() }
    }
}

impl Exceptions {
    /// The word by which wasm knows an exception from now on.
    pub fn insert(&mut self, exception: Arc<Exception>) -> u64 {
        let address = exception.address();
        self.by_address.insert(address, exception);
        address as u64
    }

    /// The exception of a word of wasm's; none if it is null.
    ///
    /// # Panics
    /// If it is no word that wasm holds.
    pub fn get(&self, word: u64) -> Option<Arc<Exception>> {
        (word != 0)
            .then(|| self.by_address.get(&(word as usize)).cloned().expect("one that wasm holds is kept"))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Whether there are twice as many as after the last collection.
    pub fn is_due(&self) -> bool {
        self.len() >= self.threshold
    }

    /// A collection begins, which keeps those in `live`, and what the host holds.
    pub fn begin_collection(&mut self, live: &[u64]) {
        self.marked.clear();
        self.pending.clear();
        let held: Vec<usize> =
            self.by_address.iter().filter(|(_, e)| Arc::strong_count(e) > 1).map(|(&a, _)| a).collect();
        live.iter()
            .copied()
            .chain(held.into_iter().map(|address| address as u64))
            .for_each(|word| self.keep(word));
    }

    /// It also keeps the one with this word, if it is one's.
    pub fn keep(&mut self, word: u64) {
        let address = word as usize;
        if self.by_address.contains_key(&address) && self.marked.insert(address) {
            self.pending.push(address);
        }
    }

    /// It also keeps those that the kept ones carry, and shows all references that they do.
    pub fn trace(&mut self, mut visit: impl FnMut(u64)) {
        while let Some(address) = self.pending.pop() {
            let exception = self.by_address[&address].clone();
            for (ty, value) in exception.typed() {
                match ty {
                    ValType::Ref(ty) if ty.is_exn() => self.keep(value.u64()),
                    ValType::Ref(ty) if ty.is_collected() && value.u64() != 0 => visit(value.u64()),
                    _ => {}
                }
            }
        }
    }

    /// It ends, and frees all others, or nothing if some may be held that nobody has named.
    pub fn end_collection(&mut self, are_all_known: bool) {
        if are_all_known {
            let marked = &self.marked;
            self.by_address.retain(|address, _| marked.contains(address));
        }
        self.threshold = (self.len() * 2).max(FIRST_THRESHOLD);
    }
}

impl StoreOpaque {
    /// Adds a tag, and gives its index.
    pub fn add_tag(&mut self, ty: FuncType, name: String) -> u32 {
        let index = self.tags.len() as u32;
        let tag = TagData { handle: self.handle(index), number: 1 + u64::from(index), ty, name };
        self.tags.push(Arc::new(tag));
        index
    }

    /// The word by which wasm knows an exception.
    ///
    /// # Panics
    /// If it is another store's.
    pub fn exception_word(&mut self, exception: Option<Arc<Exception>>) -> u64 {
        exception.map_or(0, |exception| {
            self.index(exception.tag.handle);
            self.exceptions.insert(exception)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::runtime::instances::engine::EngineCore;

    #[test]
    fn what_a_kept_exception_carries_is_kept_and_nothing_else_is() {
        let engine = Arc::new(EngineCore::new(&Config::default()).expect("an engine"));
        let mut store = StoreOpaque::new(&engine, |_, _, round| round).expect("a store");
        let ty = FuncType::new([ValType::EXNREF, ValType::EXTERNREF], []);
        store.add_tag(ty, "e".to_owned());
        let mut throw = |inner: u64, held: u64| {
            let carried = [VmValue::from_u64(inner), VmValue::from_u64(held)];
            store.exceptions.insert(Arc::new(Exception::new(store.tags[0].clone(), &carried)))
        };
        let (inner, other) = (throw(0, 7), throw(0, 8));
        let outer = throw(inner, 9);
        let exceptions = &mut store.exceptions;
        let held = exceptions.get(other);
        let mut collect = |root: u64, are_all_known: bool| {
            let mut seen = Vec::new();
            exceptions.begin_collection(&[0, root, u64::MAX]);
            exceptions.trace(|word| seen.push(word));
            exceptions.end_collection(are_all_known);
            seen.sort_unstable();
            (exceptions.len(), seen)
        };
        assert_eq!(collect(outer, true), (3, vec![7, 8, 9]), "the host holds one");
        drop(held);
        assert_eq!(collect(outer, false), (3, vec![7, 9]), "who knows who holds what");
        assert_eq!(collect(outer, true), (2, vec![7, 9]));
        assert_eq!(collect(0, true), (0, vec![]));
    }
}
