//! Exceptions of a store: their representation in memory, and which of them wasm code still holds.
//!
//! An exception is a row of values, the first of which holds the number of its tag (`abi::exception`); an `exnref` in
//! wasm is the address of that row. The host holds exceptions by reference counts, wasm code through the store's table
//! of all exceptions that it knows. Collection, which runs together with that of externrefs (`externs`), removes the
//! exceptions to which no table, global, frame or other exception refers and which the host does not hold.

use std::fmt;
use std::sync::{Arc, OnceLock};

use hashbrown::{HashMap, HashSet};
use wprof_jit::abi::object::{I31, TAG_MASK};

use super::externs::{Charge, next_threshold};
use crate::runtime::instances::abi::VmValue;
use crate::runtime::instances::stored::{StoreId, Stored};
use crate::{Error, ErrorKind, FuncType, HeapType, RefType, ValType};

/// A tag: the kind of an exception.
#[derive(Debug)]
pub struct TagData {
    /// The tag's handle.
    pub handle: Stored,
    /// The number that machine code compares.
    pub number: u64,
    /// The types of its exceptions' values.
    pub ty: FuncType,
    /// Its display name.
    pub name: String,
}

/// An exception.
#[derive(Debug)]
pub struct Exception {
    /// The number of its tag, and its values.
    words: Box<[VmValue]>,
    /// The exception's tag.
    pub tag: Arc<TagData>,
    /// Return addresses of the frames in which it was first thrown, innermost first.
    pub thrown: OnceLock<Box<[usize]>>,
    /// What it is charged for.
    _charge: Charge,
}

impl Exception {
    /// Returns the bytes that an exception of a tag takes, its places in tables included.
    pub fn size(tag: &TagData) -> u64 {
        let words = (1 + tag.ty.params().len()) * size_of::<VmValue>();
        (size_of::<Exception>() + words + BESIDE) as u64
    }

    /// Creates an exception with these values, which match the tag's types; references belong to its store.
    pub fn new(tag: Arc<TagData>, carried: &[VmValue], charge: Charge) -> Exception {
        let head = VmValue::from_u64(tag.number);
        Exception {
            words: [head].into_iter().chain(carried.iter().copied()).collect(),
            tag,
            thrown: OnceLock::new(),
            _charge: charge,
        }
    }

    /// Returns the store that the exception belongs to.
    pub fn store(&self) -> StoreId {
        self.tag.handle.store()
    }

    /// Returns the exception's values.
    pub fn carried(&self) -> &[VmValue] {
        &self.words[1..]
    }

    /// Returns the exception's values with their types.
    pub fn typed(&self) -> impl Iterator<Item = (ValType, VmValue)> + '_ {
        self.tag.ty.params().zip(self.carried().iter().copied())
    }

    fn address(&self) -> usize {
        self.words.as_ptr().expose_provenance()
    }
}

/// Writes a non-null reference, as far as its word and its type determine its referent.
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

/// Writes the tag and the values: for references, their referents.
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

/// An uncaught exception of wasm code, or one that a host function throws: see [`Store::throw`](crate::Store::throw).
#[derive(Clone, Debug, thiserror::Error)]
#[error("uncaught exception: {0}")]
pub struct ThrownException(pub(crate) Arc<Exception>);

impl ThrownException {
    /// Converts the exception to an error.
    pub(crate) fn into_error(self) -> Error {
        Error::with_source(ErrorKind::Exception, Box::new(self))
    }
}

/// The exceptions that wasm code may hold.
#[derive(Debug)]
pub struct Exceptions {
    store: StoreId,
    by_address: HashMap<usize, Arc<Exception>>,
    /// Number of exceptions at which the next collection is due.
    threshold: usize,
    /// Exceptions that the running collection keeps; `pending` holds those whose values have not been traced.
    marked: HashSet<usize>,
    pending: Vec<usize>,
}

/// Maximum number of frames recorded for the place where an exception was thrown.
pub const THROWN_FRAMES: usize = 64;

/// Bytes that a store has for each exception: its entry in a table that is half full, its counts, and its frames.
const BESIDE: usize = 128 + THROWN_FRAMES * size_of::<usize>();

/// Minimum number of exceptions for which a collection pays off.
const FIRST_THRESHOLD: usize = 1024;

impl Exceptions {
    /// Creates the exceptions of a new store: none.
    pub fn new(store: StoreId) -> Exceptions {
        let (by_address, marked) = Default::default();
        Exceptions { store, by_address, threshold: FIRST_THRESHOLD, marked, pending: Vec::new() }
    }

    /// Returns the word by which wasm refers to an exception, or to none.
    ///
    /// # Panics
    /// Panics if the exception belongs to another store.
    pub fn word(&mut self, exception: Option<Arc<Exception>>) -> u64 {
        exception.map_or(0, |exception| {
            self.store.index(exception.tag.handle);
            self.insert(exception)
        })
    }

    /// Registers an exception and returns the word by which wasm refers to it.
    pub fn insert(&mut self, exception: Arc<Exception>) -> u64 {
        let address = exception.address();
        self.by_address.insert(address, exception);
        address as u64
    }

    /// Returns the exception of a word of wasm; `None` if it is null.
    ///
    /// # Panics
    /// Panics if wasm does not hold this word.
    pub fn get(&self, word: u64) -> Option<Arc<Exception>> {
        (word != 0)
            .then(|| self.by_address.get(&(word as usize)).cloned().expect("one that wasm holds is kept"))
    }

    /// Returns the number of exceptions.
    #[inline]
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Reports whether it is time to collect: see [`Exceptions::end_collection`].
    #[inline]
    pub fn is_due(&self) -> bool {
        self.len() >= self.threshold
    }

    /// Begins a collection, which keeps the exceptions in `live` and those that the host holds.
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

    /// Also keeps the exception with this word, if it is an exception's.
    pub fn keep(&mut self, word: u64) {
        let address = word as usize;
        if self.by_address.contains_key(&address) && self.marked.insert(address) {
            self.pending.push(address);
        }
    }

    /// Also keeps the exceptions that kept ones carry, and visits all collected references among their values.
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

    /// Ends the collection and frees all other exceptions, or none if unknown references may exist. The next one is due
    /// when there are twice as many, and they take as much as the `live` bytes of the heap that it has to mark.
    pub fn end_collection(&mut self, are_all_known: bool, live: u64) {
        if are_all_known {
            let marked = &self.marked;
            self.by_address.retain(|address, _| marked.contains(address));
        }
        self.threshold = next_threshold(self.len(), live).max(FIRST_THRESHOLD);
    }
}

#[cfg(test)]
mod tests {
    use super::super::externs::ExternArena;
    use super::*;

    #[test]
    fn what_a_kept_exception_carries_is_kept_and_nothing_else_is() {
        let store = StoreId::fresh();
        let ty = FuncType::new([ValType::EXNREF, ValType::EXTERNREF], []);
        let tag = Arc::new(TagData { handle: store.handle(0), number: 1, ty, name: "e".to_owned() });
        let mut exceptions = Exceptions::new(store);
        let mut throw = |inner: u64, held: u64| {
            let carried = [VmValue::from_u64(inner), VmValue::from_u64(held)];
            let charge = ExternArena::default().charge(1, u64::MAX).expect("no limit");
            exceptions.insert(Arc::new(Exception::new(tag.clone(), &carried, charge)))
        };
        let (inner, other) = (throw(0, 7), throw(0, 8));
        let outer = throw(inner, 9);
        let held = exceptions.get(other);
        let mut collect = |root: u64, are_all_known: bool| {
            let mut seen = Vec::new();
            exceptions.begin_collection(&[0, root, u64::MAX]);
            exceptions.trace(|word| seen.push(word));
            exceptions.end_collection(are_all_known, 0);
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
