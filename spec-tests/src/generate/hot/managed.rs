//! Object types and exception tags of hot programs.

use wasm_encoder::{
    AbstractHeapType, ArrayType, CompositeInnerType, CompositeType, FieldType, HeapType, RefType,
    StorageType, StructType, SubType, TypeSection, ValType,
};

use ValType::{F32, F64, I32, I64};

/// A structure with links to other nodes.
pub const NODE: u32 = super::SIGNATURES.len() as u32;
/// Subtype of [`NODE`] with more fields.
pub const LEAF: u32 = NODE + 1;
/// An array of i32s.
pub const INTS: u32 = NODE + 2;
/// An array of bytes.
pub const BYTES: u32 = NODE + 3;
/// An array of nodes.
pub const NODES: u32 = NODE + 4;
/// The structures.
pub const STRUCTS: [u32; 2] = [NODE, LEAF];
/// The arrays.
pub const ARRAYS: [u32; 3] = [INTS, BYTES, NODES];
/// Number of types, those of tags included.
pub const COUNT: u32 = 5 + TAGS.len() as u32;
/// The values that exceptions carry, by tag.
pub const TAGS: [&[Storage]; 3] = [&[Storage::I32], &[Storage::I64, Storage::F64], &[Storage::Node]];
/// A global after the others, which holds a node.
pub const NODE_GLOBAL: u32 = super::GLOBALS.len() as u32;
/// A global that holds any reference.
pub const ANY_GLOBAL: u32 = NODE_GLOBAL + 1;

/// The storage type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A byte.
    I8,
    /// An i32.
    I32,
    /// An i64.
    I64,
    /// An f32.
    F32,
    /// An f64.
    F64,
    /// A reference to a node, or null.
    Node,
}

impl Storage {
    /// Returns the type of its values on the operand stack.
    pub fn unpacked(self) -> ValType {
        match self {
            Storage::I8 | Storage::I32 => I32,
            Storage::I64 => I64,
            Storage::F32 => F32,
            Storage::F64 => F64,
            Storage::Node => reference(NODE),
        }
    }

    fn ty(self) -> StorageType {
        match self {
            Storage::I8 => StorageType::I8,
            other => StorageType::Val(other.unpacked()),
        }
    }
}

/// Returns the storage types in an object of a type: its fields, or its element.
pub fn contents(ty: u32) -> &'static [Storage] {
    use Storage as S;
    match ty {
        NODE => &[S::I32, S::I64, S::F64, S::I8, S::Node],
        LEAF => &[S::I32, S::I64, S::F64, S::I8, S::Node, S::F32, S::I32],
        INTS => &[S::I32],
        BYTES => &[S::I8],
        _ => &[S::Node],
    }
}

/// Returns the nullable reference type to a type.
pub const fn reference(ty: u32) -> ValType {
    ValType::Ref(RefType { nullable: true, heap_type: HeapType::Concrete(ty) })
}

/// References to any object.
pub const ANYREF: ValType = ValType::Ref(RefType::ANYREF);
/// References to unboxed 31-bit integers.
pub const I31REF: ValType = ValType::Ref(RefType::I31REF);

/// The heap type of all structures.
pub const STRUCT: HeapType = HeapType::Abstract { shared: false, ty: AbstractHeapType::Struct };
/// The heap type of all arrays.
pub const ARRAY: HeapType = HeapType::Abstract { shared: false, ty: AbstractHeapType::Array };
/// The heap type of all comparable references.
pub const EQ: HeapType = HeapType::Abstract { shared: false, ty: AbstractHeapType::Eq };

/// Returns the types of the values that exceptions of a tag carry.
pub fn carried(tag: u32) -> Vec<ValType> {
    TAGS[tag as usize].iter().map(|storage| storage.unpacked()).collect()
}

/// Returns the type index of a tag.
pub fn tag_type(tag: u32) -> u32 {
    NODE + 5 + tag
}

/// Adds all types after the function types.
pub fn define(section: &mut TypeSection) {
    section.ty().rec((NODE..NODE + 5).map(defined).collect::<Vec<_>>());
    for tag in 0..TAGS.len() as u32 {
        section.ty().function(carried(tag), []);
    }
}

fn defined(ty: u32) -> SubType {
    let field = |&storage: &Storage| FieldType { element_type: Storage::ty(storage), mutable: true };
    let fields: Vec<FieldType> = contents(ty).iter().map(field).collect();
    let inner = match STRUCTS.contains(&ty) {
        true => CompositeInnerType::Struct(StructType { fields: fields.into() }),
        false => CompositeInnerType::Array(ArrayType(fields[0])),
    };
    SubType {
        is_final: ty != NODE,
        supertype_idxs: (ty == LEAF).then_some(NODE).into_iter().collect(),
        composite_type: CompositeType { inner, shared: false, descriptor: None, describes: None },
    }
}
