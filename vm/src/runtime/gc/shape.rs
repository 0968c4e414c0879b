//! Shapes: the sizes of objects by type, and the positions of their references.

use wprof_jit::abi::object::{ALIGN, FIELDS};

/// The shape of the objects of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Structures.
    Struct {
        /// Size in bytes, including the header.
        size: u32,
        /// Offsets from the header of the references that keep their referents alive.
        references: Box<[u32]>,
    },
    /// Arrays.
    Array {
        /// Size of an element in bytes.
        element: u32,
        /// Whether elements are references that keep their referents alive.
        are_references: bool,
    },
}

impl Shape {
    /// Returns the size of an object in bytes; `length` is that of an array.
    pub fn size(&self, length: u32) -> usize {
        match self {
            Shape::Struct { size, .. } => *size as usize,
            Shape::Array { element, .. } => {
                (FIELDS as usize + *element as usize * length as usize).next_multiple_of(ALIGN as usize)
            }
        }
    }
}

/// The shapes of a store, by the engine-wide id of their type.
#[derive(Debug, Default)]
pub struct Shapes(Vec<Option<Shape>>);

impl Shapes {
    /// Adds the shape of objects of type `id`.
    pub fn add(&mut self, id: u32, shape: Shape) {
        let index = id as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        debug_assert!(self.0[index].as_ref().is_none_or(|known| *known == shape));
        self.0[index] = Some(shape);
    }

    /// Returns whether the shape of a type is known.
    pub fn has(&self, id: u32) -> bool {
        self.0.get(id as usize).is_some_and(Option::is_some)
    }

    /// Returns the shape of objects of type `id`.
    ///
    /// # Panics
    /// Panics if the type was not added.
    pub fn get(&self, id: u32) -> &Shape {
        self.0[id as usize].as_ref().expect("a type of which the store has objects is known")
    }
}
