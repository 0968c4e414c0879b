//! The lowered form of hot programs, for the interpreter, which has no objects, exceptions or typed references.
//!
//! References become numbers: null is 0, a small number is odd, other numbers are object names that the host assigns.
//! An operation on an object is a call of the host, which keeps the objects in a list
//! ([`heap`](crate::engines::heap)). A function reference is an index in a table. An exception is also a host object:
//! while it propagates, a global holds its name, and every call is followed by a test of that global and a branch to
//! the enclosing handler or a return. [Atomic instructions](super::atomics) are calls of the host, too. So one tree yields two
//! modules that share no implementation of these features.

use std::fmt;
use std::sync::LazyLock;

use wasm_encoder::{HeapType, Instruction as I, RefType, ValType};

use super::atomics::{Atomic, helpers};
use super::managed::{
    ARRAY, ARRAYS, BYTES, EQ, INTS, LEAF, NODE, NODES, STRUCT, STRUCTS, Storage, TAGS, contents,
};
use super::{IMPORTS, PASSIVE};
use ValType::I32;

/// The module from which helpers are imported.
pub const MODULE: &str = "heap";
/// The global that holds the propagating exception.
pub const PENDING: u32 = super::managed::ANY_GLOBAL + 1;
/// The export name of this global.
pub const PENDING_NAME: &str = "wprof.pending";
/// The table of all functions: a null element, then each function.
pub const ALL_FUNCTIONS: u32 = 2;

/// An operation that the host performs.
#[derive(Clone, Debug)]
pub enum Action {
    /// Performs an instruction.
    Op(I<'static>),
    /// Performs an atomic instruction.
    Atomic(Atomic),
    /// Makes an exception with this tag.
    NewException(u32),
    /// Returns the tag of an exception.
    Tag,
    /// Returns a value that an exception carries: the exception's tag and the index of the value.
    Carried(u32, u32),
}

/// A host function that performs an action.
#[derive(Clone, Debug)]
pub struct Helper {
    /// Its action.
    pub action: Action,
    /// The types of its parameters.
    pub params: Vec<ValType>,
    /// The type of its result, if it has one.
    pub result: Option<ValType>,
}

impl fmt::Display for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.action)
    }
}

/// Returns the number type that represents a type.
pub fn lower(ty: ValType) -> ValType {
    match ty {
        ValType::Ref(RefType::FUNCREF) => ty,
        ValType::Ref(_) => I32,
        other => other,
    }
}

/// All helpers, in import order.
pub static HELPERS: LazyLock<Vec<Helper>> = LazyLock::new(|| {
    let mut all = Vec::new();
    STRUCTS.into_iter().for_each(|ty| of_struct(&mut all, ty));
    ARRAYS.into_iter().for_each(|ty| of_array(&mut all, ty));
    let abstracts = [HeapType::I31, EQ, STRUCT, ARRAY];
    let concrete = [NODE, LEAF, INTS, BYTES, NODES].map(HeapType::Concrete);
    for heap_type in concrete.into_iter().chain(abstracts) {
        let ops = [I::RefTestNonNull(heap_type), I::RefTestNullable(heap_type)];
        let casts = [I::RefCastNonNull(heap_type), I::RefCastNullable(heap_type)];
        ops.into_iter().chain(casts).for_each(|op| add(&mut all, op, vec![I32], Some(I32)));
    }
    let unary = [I::ArrayLen, I::RefAsNonNull, I::I31GetS, I::I31GetU];
    unary.into_iter().for_each(|op| add(&mut all, op, vec![I32], Some(I32)));
    for (tag, carried) in (0..).zip(TAGS) {
        let params = carried.iter().map(|storage| lower(storage.unpacked()));
        all.push(Helper { action: Action::NewException(tag), params: params.collect(), result: Some(I32) });
        for (number, storage) in (0..).zip(carried) {
            let result = Some(lower(storage.unpacked()));
            all.push(Helper { action: Action::Carried(tag, number), params: vec![I32], result });
        }
    }
    all.push(Helper { action: Action::Tag, params: vec![I32], result: Some(I32) });
    all.extend(helpers());
    all
});

fn add(all: &mut Vec<Helper>, op: I<'static>, params: Vec<ValType>, result: Option<ValType>) {
    all.push(Helper { action: Action::Op(op), params, result });
}

fn of_struct(all: &mut Vec<Helper>, struct_type_index: u32) {
    let fields: Vec<ValType> =
        contents(struct_type_index).iter().map(|field| lower(field.unpacked())).collect();
    for (field_index, &storage) in (0..).zip(contents(struct_type_index)) {
        let ty = fields[field_index as usize];
        let gets = match storage {
            Storage::I8 => vec![
                I::StructGetS { struct_type_index, field_index },
                I::StructGetU { struct_type_index, field_index },
            ],
            _ => vec![I::StructGet { struct_type_index, field_index }],
        };
        gets.into_iter().for_each(|op| add(all, op, vec![I32], Some(ty)));
        add(all, I::StructSet { struct_type_index, field_index }, vec![I32, ty], None);
    }
    add(all, I::StructNew(struct_type_index), fields, Some(I32));
    add(all, I::StructNewDefault(struct_type_index), Vec::new(), Some(I32));
}

fn of_array(all: &mut Vec<Helper>, ty: u32) {
    let element = lower(contents(ty)[0].unpacked());
    let gets = match contents(ty)[0] {
        Storage::I8 => vec![I::ArrayGetS(ty), I::ArrayGetU(ty)],
        _ => vec![I::ArrayGet(ty)],
    };
    gets.into_iter().for_each(|op| add(all, op, vec![I32, I32], Some(element)));
    add(all, I::ArraySet(ty), vec![I32, I32, element], None);
    add(all, I::ArrayNew(ty), vec![element, I32], Some(I32));
    add(all, I::ArrayNewDefault(ty), vec![I32], Some(I32));
    let fixed = I::ArrayNewFixed { array_type_index: ty, array_size: 3 };
    add(all, fixed, vec![element; 3], Some(I32));
    add(all, I::ArrayFill(ty), vec![I32, I32, element, I32], None);
    let copy = I::ArrayCopy { array_type_index_dst: ty, array_type_index_src: ty };
    add(all, copy, vec![I32; 5], None);
    if contents(ty)[0] != Storage::Node {
        let data = I::ArrayNewData { array_type_index: ty, array_data_index: PASSIVE };
        add(all, data, vec![I32, I32], Some(I32));
    }
}

/// Returns the function index of the helper for an action; `None` if the action needs no helper.
pub fn helper(action: &Action) -> Option<u32> {
    let name = format!("{action:?}");
    let at = HELPERS.iter().position(|helper| helper.to_string() == name)?;
    Some((IMPORTS.len() + at) as u32)
}

/// Returns the index of a function after the helpers.
pub fn shifted(func: u32) -> u32 {
    let is_import = (func as usize) < IMPORTS.len();
    func + if is_import { 0 } else { HELPERS.len() as u32 }
}

/// Returns the function's element in the table of all functions.
pub fn element(func: u32) -> i32 {
    (func as usize - IMPORTS.len() + 1) as i32
}
