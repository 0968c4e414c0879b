//! What the collector knows of the types of objects: their sizes, and where they have references.

use wprof_jit::abi::object::{ALIGN, FIELDS};

/// The objects of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Structures.
    Struct {
        /// Bytes, with the head.
        size: u32,
        /// Where they have references that keep something alive, counted from the head.
        references: Box<[u32]>,
    },
    /// Arrays.
    Array {
        /// Bytes of an element.
        element: u32,
        /// Whether elements are such references.
        are_references: bool,
    },
}

impl Shape {
    /// Bytes that an object takes, an array one of this length.
    pub fn size(&self, length: u32) -> usize {
        match self {
            Shape::Struct { size, .. } => *size as usize,
            Shape::Array { element, .. } => {
                (FIELDS as usize + *element as usize * length as usize).next_multiple_of(ALIGN as usize)
            }
        }
    }
}

/// Those of a store, by the engine-wide id of their type.
#[derive(Debug, Default)]
pub struct Shapes(Vec<Option<Shape>>);

impl Shapes {
    /// Objects of type `id` have this shape.
    pub fn add(&mut self, id: u32, shape: Shape) {
        let index = id as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        debug_assert!(self.0[index].as_ref().is_none_or(|known| *known == shape));
        self.0[index] = Some(shape);
    }

    /// Whether a type is known.
    pub fn has(&self, id: u32) -> bool {
        self.0.get(id as usize).is_some_and(Option::is_some)
    }

    /// The shape of objects of type `id`.
    ///
    /// # Panics
    /// If the type was not added.
    pub fn get(&self, id: u32) -> &Shape {
        self.0[id as usize].as_ref().expect("a type of which the store has objects is known")
    }
}
