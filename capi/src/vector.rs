//! Vectors as C represents them: a length and an array.

use std::mem::MaybeUninit;
use std::ptr;

/// The C type `wasm_…_vec_t`. Its elements are initialised; C may overwrite them, and fill places that were empty.
#[repr(C)]
pub struct Vector<T> {
    size: usize,
    data: *mut T,
}

/// Bytes; names and messages are bytes too.
pub type Bytes = Vector<u8>;
/// A pointer that the vector owns.
pub type Owned<T> = Option<Box<T>>;

impl<T> Vector<T> {
    /// Creates a vector for C to own.
    pub fn new(elements: Vec<T>) -> Vector<T> {
        let elements = elements.into_boxed_slice();
        let size = elements.len();
        if size == 0 {
            return Vector { size, data: ptr::null_mut() };
        }
        Vector { size, data: Box::into_raw(elements).cast() }
    }

    /// Returns the elements.
    pub fn as_slice(&self) -> &[T] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: this crate allocated the array, or C guarantees that its own array has `size` elements.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    /// Returns places for elements, which need not be initialised.
    pub fn places(&mut self) -> &mut [MaybeUninit<T>] {
        if self.data.is_null() {
            return &mut [];
        }
        // SAFETY: as above; any bytes are valid as elements that need not be initialised.
        unsafe { std::slice::from_raw_parts_mut(self.data.cast(), self.size) }
    }

    /// Takes the elements and leaves an empty vector.
    pub fn take(&mut self) -> Vec<T> {
        let (size, data) =
            (std::mem::take(&mut self.size), std::mem::replace(&mut self.data, ptr::null_mut()));
        if data.is_null() {
            return Vec::new();
        }
        // SAFETY: a caller that takes the elements owns the array, which `new` allocated.
        unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, size)) }.into_vec()
    }
}

impl<T: Clone> Clone for Vector<T> {
    fn clone(&self) -> Self {
        Vector::new(self.as_slice().to_vec())
    }
}

/// Creates a name or message from a text, with a terminating zero.
pub fn message(text: &str) -> Bytes {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    Vector::new(bytes)
}

/// Returns the text of a name or message, without a terminating zero.
pub fn text(bytes: &Bytes) -> String {
    let bytes = bytes.as_slice();
    String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned()
}

/// Writes bytes for C to own, or none, and returns whether there are any to give.
pub fn give(bytes: Option<Vec<u8>>, out: &mut MaybeUninit<Bytes>) -> bool {
    let is_there = bytes.is_some();
    out.write(Vector::new(bytes.unwrap_or_default()));
    is_there
}

/// Moves `count` elements out of an array that C gives away.
pub fn given<T>(count: usize, elements: *const T) -> Vec<T> {
    if elements.is_null() {
        return Vec::new();
    }
    // SAFETY: C guarantees `count` elements, and does not use them any more.
    (0..count).map(|index| unsafe { elements.add(index).read() }).collect()
}

/// Defines the functions of one type of vector.
macro_rules! vector {
    ($name:literal, $element:ty) => {
        export! {
            ["wasm_", $name, "_vec_new_empty"] fn(out: &mut std::mem::MaybeUninit<$crate::vector::Vector<$element>>) {
                out.write($crate::vector::Vector::new(Vec::new()));
            }
            ["wasm_", $name, "_vec_new_uninitialized"] fn(out: &mut std::mem::MaybeUninit<$crate::vector::Vector<$element>>, size: usize) {
                out.write($crate::vector::Vector::new((0..size).map(|_| <$element>::default()).collect()));
            }
            ["wasm_", $name, "_vec_new"] fn(
                out: &mut std::mem::MaybeUninit<$crate::vector::Vector<$element>>,
                size: usize,
                elements: *const $element,
            ) {
                out.write($crate::vector::Vector::new($crate::vector::given(size, elements)));
            }
            ["wasm_", $name, "_vec_copy"] fn(
                out: &mut std::mem::MaybeUninit<$crate::vector::Vector<$element>>,
                vector: &$crate::vector::Vector<$element>,
            ) {
                out.write(vector.clone());
            }
            ["wasm_", $name, "_vec_delete"] fn(vector: Option<&mut $crate::vector::Vector<$element>>) {
                drop(vector.map($crate::vector::Vector::take));
            }
        }
    };
}

vector!("byte", u8);
pub(crate) use vector;
