//! Objects of the garbage-collected heap: how they lie in memory, and what a word that refers to one looks like.
//!
//! A reference of the `any` or `extern` hierarchy is a word, which its low bits tell apart: so `any.convert_extern` and
//! `extern.convert_any` change nothing.
//!
//! | low bits | it is |
//! |---|---|
//! | all zero | null |
//! | `…1` | an [`i31`](i31_word), the number above that bit |
//! | `…010` | a value of the host's: its [handle](HOST) |
//! | `…000` | the address of an object |
//!
//! An object is a head, [`TYPE`] and [`LENGTH`], and then its fields, each aligned to its size, or to 8 if that is larger.
//! The fields of a type begin as those of its supertype do, so they lie at the same offsets.

use wasmparser::{FieldType, StorageType, ValType};

/// `u32`: its [`type_word`].
pub const TYPE: i32 = 0;
/// `u32`: the length of an array; 0 for a structure.
pub const LENGTH: i32 = 4;
/// Where fields and elements begin.
pub const FIELDS: u32 = 8;
/// Addresses and sizes of objects are multiples of this.
pub const ALIGN: u32 = 8;

/// The bit of a [`type_word`] that tells an array from a structure.
pub const IS_ARRAY: u32 = 1;

/// What an object's head says of its type, of which this is the engine-wide id.
pub const fn type_word(id: u32, is_array: bool) -> u32 {
    id << 1 | is_array as u32
}

/// The id in a [`type_word`].
pub const fn type_of_word(word: u32) -> u32 {
    word >> 1
}

/// The lowest bit of an i31.
pub const I31: u64 = 1;
/// The low three bits of a handle of the host's.
pub const HOST: u64 = 2;
/// The bits that tell words apart.
pub const TAG_BITS: u32 = 3;
/// All of them.
pub const TAG_MASK: u64 = (1 << TAG_BITS) - 1;

/// The word of an i31.
pub const fn i31_word(value: u32) -> u64 {
    (value << 1 | 1) as u64
}

/// Bytes that a field or element takes.
pub fn size_of(storage: StorageType) -> u32 {
    match storage {
        StorageType::I8 => 1,
        StorageType::I16 => 2,
        StorageType::Val(ValType::I32 | ValType::F32) => 4,
        StorageType::Val(ValType::I64 | ValType::F64 | ValType::Ref(_)) => 8,
        StorageType::Val(ValType::V128) => 16,
    }
}

/// Where the fields of a structure lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// By field, counted from the head.
    pub offsets: Box<[u32]>,
    /// Size, with the head.
    pub size: u32,
}

impl StructLayout {
    /// Of a structure with these fields.
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
