//! Objects of the garbage-collected heap: their layout in memory, and the words that refer to them.
//!
//! A reference of the `any` or `extern` hierarchy is a word whose low bits are a tag: so `any.convert_extern` and
//! `extern.convert_any` change nothing.
//!
//! | low bits | it is |
//! |---|---|
//! | all zero | null |
//! | `…1` | an [`i31`](i31_word), the number above that bit |
//! | `…010` | a value of the host's: its [handle](HOST) |
//! | `…000` | the address of an object |
//!
//! An object is a header, [`TYPE`] and [`LENGTH`], followed by its fields, each aligned to its size, but to 8 bytes at
//! most. The fields of a type begin with those of its supertype, which therefore lie at the same offsets.

use wasmparser::{FieldType, StorageType, ValType};

/// `u32`: the [`type_word`] of the object.
pub const TYPE: i32 = 0;
/// `u32`: the length of an array; 0 for a structure.
pub const LENGTH: i32 = 4;
/// The offset of the first field or element.
pub const FIELDS: u32 = 8;
/// Addresses and sizes of objects are multiples of this.
pub const ALIGN: u32 = 8;

/// The bit of a [`type_word`] that distinguishes an array from a structure.
pub const IS_ARRAY: u32 = 1;

/// Returns the type word of an object's header, given the engine-wide id of its type.
pub const fn type_word(id: u32, is_array: bool) -> u32 {
    id << 1 | is_array as u32
}

/// Returns the id in a [`type_word`].
pub const fn type_of_word(word: u32) -> u32 {
    word >> 1
}

/// The tag bit of an i31.
pub const I31: u64 = 1;
/// The tag of a host handle, in the low three bits.
pub const HOST: u64 = 2;
/// The number of tag bits.
pub const TAG_BITS: u32 = 3;
/// The mask of the tag bits.
pub const TAG_MASK: u64 = (1 << TAG_BITS) - 1;

/// Returns the word of an i31.
pub const fn i31_word(value: u32) -> u64 {
    (value << 1 | 1) as u64
}

/// Returns the size of a field or element in bytes.
pub fn size_of(storage: StorageType) -> u32 {
    match storage {
        StorageType::I8 => 1,
        StorageType::I16 => 2,
        StorageType::Val(ValType::I32 | ValType::F32) => 4,
        StorageType::Val(ValType::I64 | ValType::F64 | ValType::Ref(_)) => 8,
        StorageType::Val(ValType::V128) => 16,
    }
}

/// The layout of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// The offset of each field, counted from the header.
    pub offsets: Box<[u32]>,
    /// The size, including the header.
    pub size: u32,
}

impl StructLayout {
    /// Lays out a structure with these fields.
    pub fn new(fields: &[FieldType]) -> StructLayout {
        let mut end = FIELDS;
        let mut place = |field: &FieldType| {
            let size = size_of(field.element_type);
            let at = end.next_multiple_of(size.min(ALIGN));
            end = at + size;
            at
        };
        let offsets = fields.iter().map(&mut place).collect();
        StructLayout { offsets, size: end.next_multiple_of(ALIGN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_aligned_and_begin_as_those_of_a_supertype() {
        let field = |element_type| FieldType { element_type, mutable: true };
        let all = [
            StorageType::I8,
            StorageType::I16,
            StorageType::Val(ValType::I32),
            StorageType::I8,
            StorageType::Val(ValType::V128),
            StorageType::Val(ValType::EXTERNREF),
        ];
        let fields: Vec<FieldType> = all.into_iter().map(field).collect();
        let layout = StructLayout::new(&fields);
        assert_eq!(*layout.offsets, [8, 10, 12, 16, 24, 40]);
        assert_eq!(layout.size, 48);
        for shorter in 0..fields.len() {
            let of = StructLayout::new(&fields[..shorter]);
            assert_eq!(*of.offsets, layout.offsets[..shorter]);
        }
        assert_eq!(StructLayout::new(&[]).size, FIELDS);
    }

    #[test]
    fn words_tell_what_they_are() {
        assert_eq!(i31_word(0), 1);
        assert_eq!(i31_word(u32::MAX), 0xffff_ffff, "the top bit is dropped");
        assert_eq!((HOST & I31, HOST & TAG_MASK), (0, HOST));
    }
}
